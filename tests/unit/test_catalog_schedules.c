/* SPDX-License-Identifier: MIT */
/* The catalog's calls in many orders of their threads: schedule_catalog.h has the checks. */
#include "cases.h"
#include "linux_only.h"
#include "schedule_catalog.h"
#include "seed.h"

/* SCHEDULES=n runs another number. */
#define INTERLEAVINGS 100000

static uint64_t seen[1 << 22];
static unsigned interleavings, distinct;

static void count_interleaving(uint64_t hash)
{
	size_t i = hash % (COUNT(seen));
	interleavings++;
	while (seen[i] && seen[i] != hash)
		i = (i + 1) % (COUNT(seen));
	distinct += seen[i] == 0;
	seen[i] = hash;
}

static void report(const char *why)
{
	fprintf(stderr, "world %ju (%s%s%sa queue of %u events), round %u: %s\n", (uintmax_t)run.seed,
	        run.is_polled ? "no watch, " : "", run.can_fail ? "failures, " : "",
	        world.writes_far ? "a server, " : "", disk.queue_max, run.round, why);
	schedule_print(stderr);
	world_print(stderr);
	fprintf(stderr, "  now %jd ms\n", (intmax_t)world_ms());
	fprintf(stderr, "repeat: SESSIONFS_TEST_SEED=%ju build/unit/test_catalog_schedules\n", (uintmax_t)run.seed);
}

static void stop(const char *why)
{
	report(why);
	_exit(1);
}

CASE(every_answer_was_true)
{
	uint64_t seed = seed_of_run();
	const char *text = getenv("SCHEDULES");
	unsigned most = text ? (unsigned)strtoul(text, NULL, 10) : INTERLEAVINGS;
	schedule_begin(stop);
	world_threads_start();
	while (interleavings < most && !run.wrong[0])
		world_run(seed++, count_interleaving);
	if (run.wrong[0])
		report(run.wrong);
	print_message("figure orders of the catalog's calls that were drawn; different ones: %u; %u\n", interleavings,
	              distinct);
	assert_string_equal(run.wrong, "");
}

int main(void)
{
	if (IS_PORTABLE) {
		puts("skipped: a portable build has no inotify");
		return 77;
	}
	log_setup(LOG_LEVEL_ERROR, LOG_TO_STDERR);
	return run_cases(NULL, NULL);
}
