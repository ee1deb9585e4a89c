/* SPDX-License-Identifier: MIT */
/* Directories are moved away, come back, and are replaced while a scan of something below them runs. */
#include "cases.h"
#include "sessionfs/catalog/catalog.h"
#include "catalog_fixture.h"
#include "linux_only.h"

#include <linux/openat2.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UP "--w--/up"
#define MID UP "/mid"
#define DEEP MID "/deep"

/* Called once, before or after the next call that opens this path. */
struct step {
	const char *_Atomic path; /* directories are scanned on all cores */
	void (*run)(struct source_fixture *p);
};
static struct {
	struct source_fixture *p;
	struct step before, after;
	const char *moved;     /* by move_away and move_back */
	const char *unwatched; /* directories that end with this path, or the next one, get no watch */
	pthread_t other;
} world;

static void step_run(struct step *s, const char *path)
{
	const char *at = s->path;
	if (!at || strcmp(at, path) != 0)
		return;
	s->path = NULL;
	s->run(world.p);
}

int sys_openat2(int dir, const char *path, const struct open_how *how, size_t size)
{
	step_run(&world.before, path);
	int fd = (int)syscall(SYS_openat2, dir, path, how, size), err = errno;
	step_run(&world.after, path);
	errno = err;
	return fd;
}

static int watch_or_not(int inotify, const char *path, uint32_t mask)
{
	char to[PATH_MAX] = "";
	if (readlink(path, to, sizeof to - 1) < 0)
		return -1;
	const char *at = world.unwatched ? strstr(to, world.unwatched) : NULL;
	errno = EACCES;
	return at && !strstr(at, "deep") ? -1 : inotify_add_watch(inotify, path, mask);
}
__typeof__(inotify_add_watch) *const sys_inotify_add_watch = watch_or_not;

static const char *away(const struct source_fixture *p)
{
	static char path[128];
	snprintf(path, sizeof path, "%s.away", p->root);
	return path;
}

static void move_away(struct source_fixture *p)
{
	assert_int_equal(rename(at(p, world.moved), away(p)), 0);
}

static void move_back(struct source_fixture *p)
{
	assert_int_equal(rename(away(p), at(p, world.moved)), 0);
}

/* Another directory gets the path, in which the names of directories are the same. */
static void replace_mid(struct source_fixture *p)
{
	assert_int_equal(rename(at(p, MID), away(p)), 0);
	put(p, DEEP "/other.jsonl", HEADER_OF("other", "/w"));
}

static void begin(struct source_fixture *p, bool poll)
{
	put(p, "--w--/a.jsonl", HEADER_OF("a", "/w"));
	put(p, MID "/2.jsonl", HEADER_OF("2", "/w"));
	put(p, DEEP "/1.jsonl", HEADER_OF("1", "/w"));
	/* Names are not read again only because they were made just now. */
	for (size_t i = 0; i < 3; i++)
		set_mtime(p, (const char *[]){UP, MID, DEEP}[i], 1000);
	open_watched(p, poll);
}

static int forget(void **state)
{
	struct source_fixture *p = *state;
	if (access(away(p), F_OK) == 0)
		remove_all(away(p));
	return tear_down(state);
}

static int prepare(void **state)
{
	set_up(state);
	memset(&world, 0, sizeof world);
	world.p = *state;
	world.moved = UP;
	return 0;
}

static bool has(struct source_fixture *p, const char *stem)
{
	return slot_of(p, "w", stem) != NO_SLOT;
}

#define REPLACE(f) STATE_CASE(f, prepare, forget)

REPLACE(polled_directory_comes_back)
{
	begin(p, true);
	assert_true(has(p, "up+mid+deep+1"));
	wait_stale();
	world.before = (struct step){DEEP, move_away};
	world.after = (struct step){DEEP, move_back};
	has(p, "up+mid+deep+1");
	wait_stale();
	assert_true(has(p, "up+mid+deep+1"));
}

REPLACE(polled_file_comes_back)
{
	begin(p, true);
	assert_true(has(p, "up+mid+2"));
	wait_stale();
	world.before = (struct step){MID "/2.jsonl", move_away};
	has(p, "up+mid+2");
	if (!world.before.path)
		move_back(p);
	wait_stale();
	assert_true(has(p, "up+mid+2"));
}

static void find_other(struct source_fixture *p)
{
	assert_int_equal(unlink(at(p, "--w--/x.jsonl")), 0);
	for (int i = 0; i < 2; i++) {
		wait_stale();
		catalog_list_all_mode(p->c, 0, 0);
		put_all(p, "--w--/y.jsonl");
	}
}

/* While a file is scanned, it is removed, and another name appears in its directory. */
REPLACE(late_failure_is_of_its_name)
{
	put_all(p, "--w--/x.jsonl");
	open_place(p);
	world.before = (struct step){"--w--/x.jsonl", find_other};
	assert_false(has(p, "x"));
	assert_true(has(p, "y"));
}

static void *scan_all(void *arg)
{
	struct source_fixture *p = arg;
	catalog_epoch(p->c);
	return NULL;
}

/* Has another thread scan everything but the directory that this one scans. */
static void scan_elsewhere(struct source_fixture *p, size_t watches, size_t sessions)
{
	struct catalog_status status;
	assert_int_equal(pthread_create(&world.other, NULL, scan_all, p), 0);
	do
		catalog_status(p->c, &status);
	while (status.watches != watches || status.sessions != sessions);
}

static void come_back_and_scan(struct source_fixture *p)
{
	move_back(p);
	put(p, MID "/3.jsonl", HEADER_OF("3", "/w")); /* shows when its directory was scanned */
	scan_elsewhere(p, 4, 4);
}

static void replace_and_scan(struct source_fixture *p)
{
	replace_mid(p);
	world.unwatched = NULL;
	wait_stale();
	scan_elsewhere(p, 5, 2);
}

static void end_scan(void)
{
	if (world.other)
		pthread_join(world.other, NULL);
}

/* A scan finds nothing, and ends after a later scan of the directory above has found the name. */
REPLACE(late_failure_hides_nothing)
{
	begin(p, false);
	assert_true(has(p, "up+mid+deep+1"));
	make_dir(p, DEEP "/new");
	world.moved = MID;
	world.before = (struct step){DEEP, move_away};
	world.after = (struct step){DEEP, come_back_and_scan};
	has(p, "up+mid+deep+1");
	end_scan();
	assert_true(has(p, "up+mid+deep+1"));
}

/* A watch reports no change of the path above it. */
REPLACE(directory_below_unwatched_is_polled)
{
	world.unwatched = "/up";
	begin(p, false);
	assert_true(has(p, "up+mid+deep+1"));
	replace_mid(p);
	wait_stale();
	assert_false(has(p, "up+mid+deep+1"));
	assert_true(has(p, "up+mid+deep+other"));
}

/* A directory is replaced before the directory above it gets a watch, and after a scan below has found the old one. */
REPLACE(replacement_before_watch_is_seen)
{
	NEEDS_WATCHES();
	world.unwatched = "/up";
	begin(p, false);
	assert_true(has(p, "up+mid+deep+1"));
	make_dir(p, DEEP "/new");
	world.after = (struct step){DEEP, replace_and_scan};
	has(p, "up+mid+deep+1");
	end_scan();
	assert_false(has(p, "up+mid+deep+1"));
	assert_true(has(p, "up+mid+deep+other"));
}

/* A session is removed after its own check, while its directory is scanned for sessions that it started. */
REPLACE(removed_session_has_no_subagents)
{
	struct slot_info found;
	begin(p, true);
	uint32_t slot = slot_of(p, "w", "up+mid+2");
	assert_int_not_equal(slot, NO_SLOT);
	for (int i = 0; i < 4; i++) {
		static const char *const scanned[] = {"--w--", UP, MID, DEEP};
		uint64_t cookie = 0;
		wait_stale();
		world.moved = MID "/2.jsonl";
		world.before = (struct step){scanned[i], move_away};
		assert_false(catalog_fork_next(p->c, slot, true, &cookie, &found));
		if (!world.before.path)
			move_back(p);
		world.before = (struct step){NULL, NULL};
		wait_stale();
		slot = slot_of(p, "w", "up+mid+2");
		assert_int_not_equal(slot, NO_SLOT);
	}
}

RUN_CASES(NULL, NULL)
