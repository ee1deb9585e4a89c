/* SPDX-License-Identifier: MIT */
/* Mistakes in the rules of the catalog, planted one at a time: the checks of schedule_checks.h find each of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "mistakes.h"

#include "schedule_catalog.h"
#include "seed.h"

#include <sys/wait.h>

enum catalog_mistake catalog_mistake;

static const struct planted {
	const char *name, *text;
	bool needs_server, needs_dirs; /* found in worlds that have more of these */
} planted[MISTAKES] = {
    [NO_MISTAKE] = {"none", "the rules as they are"},
    [BEGAN_LATE] = {"began late", "the tick of a scan is drawn when it ends"},
    [COMES_OLD] = {"comes old", "a name that appears keeps the result of an earlier scan"},
    [RACY] = {"racy", "names read in the second in which they changed are trusted, also without a watch"},
    [TICK_LATE] = {"tick late", "a scan of a directory draws its tick after its path was resolved", false, true},
    [WATCH_LATE] = {"watch late", "names are read before the directory has a watch", false, true},
    [KEEP_WATCH] = {"keep watch", "a directory that was replaced keeps the watch of the former one"},
    [OVERFLOW] = {"overflow", "lost events mark the files, but not the names"},
    [NO_CLIMB] = {"no climb", "a mark does not reach the trees above"},
    [VALID_LONG] = {"valid long", "a tree without watches is valid for as long as a watched one"},
    [NO_DRAIN] = {"no drain", "a call reads no events while another one scans the source"},
    [NO_WAKE] = {"no wake", "a result does not wake the calls that wait for it"},
    [NO_RETRY] = {"no retry", "a scan that was late is never made again", true},
    [KEEPS_SLOT] = {"keeps slot", "a file that was replaced keeps its slot"},
    [ERROR_ABSENT] = {"error absent", "a failure counts as an absence"},
    [KEEPS_SCAN] = {"keeps scan", "a call waits for the server, although a file of the disk is there now", true},
    [STALE_INDEX] = {"stale index", "an open index is not compared with the attributes of its file"},
};

/* A mistake is found within this many interleavings; the right rules pass RIGHT of them. */
#define INTERLEAVINGS 60000
#define RIGHT 10000

/* In a process of its own, since a mistake can leave threads that wait. */
static struct result {
	unsigned interleavings;
	char wrong[200];
} result;
static int result_fd;

static void count(uint64_t hash)
{
	(void)hash;
	result.interleavings++;
}

static void report(const char *why)
{
	snprintf(result.wrong, sizeof result.wrong, "%s", why);
	_exit(write(result_fd, &result, sizeof result) != sizeof result);
}

static void run_worlds(uint64_t seed)
{
	schedule_begin(report);
	world_threads_start();
	unsigned most = catalog_mistake == NO_MISTAKE ? RIGHT : INTERLEAVINGS;
	while (result.interleavings < most && !run.wrong[0])
		world_run(seed++, count);
	report(run.wrong);
}

static struct result run_with(enum catalog_mistake mistake)
{
	struct result r = {0};
	int fds[2], status;
	assert_int_equal(pipe(fds), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		catalog_mistake = mistake;
		world_has_server = planted[mistake].needs_server;
		world_writes_dirs = planted[mistake].needs_dirs;
		result_fd = fds[1];
		run_worlds(seed_of_run());
	}
	close(fds[1]);
	ssize_t n = read(fds[0], &r, sizeof r);
	close(fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(n, sizeof r);
	return r;
}

static void a_mistake_is_found(void **state)
{
	const struct planted *p = *state;
	struct result r = run_with((enum catalog_mistake)(p - planted));
	print_message("%s (%s): %u interleavings: %s\n", p->name, p->text, r.interleavings, r.wrong);
	assert_string_not_equal(r.wrong, "");
}

static void right_rules_are_not_reported(void **state)
{
	(void)state;
	struct result r = run_with(NO_MISTAKE);
	assert_string_equal(r.wrong, "");
	assert_true(r.interleavings >= RIGHT);
}

/* An argument is a pattern for the name of a mistake. */
int main(int argc, char **argv)
{
	struct CMUnitTest tests[MISTAKES] = {cmocka_unit_test(right_rules_are_not_reported)};
	for (int i = 1; i < MISTAKES; i++)
		tests[i] = (struct CMUnitTest){planted[i].name, a_mistake_is_found, NULL, NULL,
		                               (void *)(uintptr_t)&planted[i]};
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	log_setup(LOG_LEVEL_ERROR, LOG_TO_STDERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
