/* SPDX-License-Identifier: MIT */
/* Appending with every system call made to fail, one after the other: a failure must leave the file as it was, byte for
 * byte. */
#include "cases.h"
#include "store_fixture.h"
#include "linux_only.h"

#include <semaphore.h>
#include <sys/resource.h>

/* ---- appending ---- */

/* The lines to append: "line ATTEMPT", or those that a test sets. */
struct maker {
	unsigned asked;
	int rc;
	void (*during)(unsigned attempt);
	const char *lines;
};

static int make(void *arg, unsigned attempt, struct buf *out)
{
	struct maker *m = arg;

	assert_int_equal(attempt, m->asked);
	m->asked++;
	if (m->during)
		m->during(attempt);
	if (m->lines)
		buf_adds(out, m->lines);
	else
		buf_addf(out, "line %u\n", attempt);
	return m->rc;
}

static int add(struct maker *m, bool sync)
{
	struct stat synced = {0};
	m->asked = 0;
	return store_append(&place.leaf, &place.id, sync ? &synced : NULL, make, m);
}

/* Asserts the result, and the file afterwards. */
static void assert_adds(struct maker *m, bool sync, int rc, const char *text)
{
	assert_int_equal(add(m, sync), rc);
	assert_file(text);
}

static int sync_now(void)
{
	return store_sync(&place.leaf, &(struct stat){0});
}

CASE_WITH(lines_are_appended, set_up, tear_down)
{
	struct maker m = {0}, nothing = {.lines = ""}, refused = {.rc = -EPERM};

	start(OLD);
	assert_adds(&m, false, 0, OLD "line 0\n");
	assert_int_equal(m.asked, 1);
	assert_int_equal(add(&nothing, true), 0);
	assert_adds(&refused, false, -EPERM, OLD "line 0\n");
	start("");
	assert_adds(&m, true, 0, "line 0\n");
}

CASE_WITH(append_after_torn_line_starts_new_line, set_up, tear_down)
{
	struct maker m = {0}, nothing = {.lines = ""};

	start(OLD TORN);
	assert_adds(&nothing, false, 0, OLD TORN);
	assert_adds(&m, false, 0, OLD TORN "\nline 0\n");
}

CASE_WITH(append_is_one_write, set_up, tear_down)
{
	char lines[4000] = "one\n";
	struct maker m = {.lines = lines};

	memset(lines + 4, 'x', sizeof lines - 6);
	lines[sizeof lines - 2] = '\n';
	start(OLD TORN);
	plan.on = true;
	assert_int_equal(add(&m, false), 0);
	assert_int_equal(plan.calls[WRITE].seen, 1);
	/* The end of the torn line, some times, and the new lines. */
	assert_in_range(plan.calls[PREAD].seen, 2, 30);
	assert_int_equal(plan.calls[FDATASYNC].seen, 0);
	assert_int_equal(add(&(struct maker){0}, true), 0);
	assert_int_equal(plan.calls[FDATASYNC].seen, 1);
}

CASE_WITH(append_follows_a_link, set_up, tear_down)
{
	struct maker m = {0};

	start(OLD);
	assert_int_equal(symlink(place.path, place.away), 0);
	assert_int_equal(store_append(&(struct source_path){NULL, place.away}, &place.id, NULL, make, &m), 0);
	assert_file(OLD "line 0\n");
}

/* ---- pi writes at the same time ---- */

static void pi_appends_once(unsigned attempt)
{
	if (attempt == 0)
		add_file(place.path, PI);
}

static void pi_appends(unsigned attempt)
{
	add_file(place.path, PI);
}

/* What another program does before a call: it cuts the file, and appends to it; or replaces it. */
static struct other {
	enum call call;
	unsigned nth;
	size_t keeps;     /* 0: all of the file */
	const char *text; /* NULL: of another file */
} other;

static void other_writes(enum call c, unsigned nth)
{
	if (c != other.call || nth != other.nth)
		return;
	if (other.keeps > 0)
		assert_int_equal(truncate(place.path, (off_t)other.keeps), 0);
	if (other.text)
		add_file(place.path, other.text);
	else
		replaced();
}

static void let_other_write(enum call c, unsigned nth, size_t keeps, const char *text)
{
	other = (struct other){c, nth, keeps, text};
	plan.on = true;
	plan.before = other_writes;
}

/* A line of pi's comes in between: the maker is called again and sees it. */
CASE_WITH(foreign_line_between_retries, set_up, tear_down)
{
	struct maker m = {.during = pi_appends_once};

	start(OLD);
	assert_adds(&m, false, 0, OLD PI "line 0\nline 1\n");
	assert_int_equal(m.asked, 2);
	m = (struct maker){0};
	start(OLD TORN);
	let_other_write(WRITE, 1, 0, PI);
	assert_adds(&m, true, 0, OLD TORN PI "\nline 0\nline 1\n");
	assert_int_equal(m.asked, 2);
}

static int64_t pauses[16], paused; /* ns */
static unsigned pause_count;

static int note_pause(const struct timespec *t, struct timespec *rest)
{
	int64_t ns = t->tv_sec * INT64_C(1000000000) + t->tv_nsec;
	paused += ns;
	if (pause_count < COUNT(pauses))
		pauses[pause_count++] = ns;
	return nanosleep(t, rest);
}

__typeof__(nanosleep) *const sys_nanosleep = note_pause;

/* Appends line after line, each before ours, until there were pauses of some milliseconds. */
static void pi_appends_many(unsigned attempt)
{
	if (paused < 3000000)
		add_file(place.path, PI);
}

/* Many lines come in between, one after the other: ours ends up last. */
CASE_WITH(many_foreign_lines_between_retry, set_up, tear_down)
{
	struct maker m = {.during = pi_appends_many};

	start(OLD);
	paused = 0;
	assert_adds(&m, false, 0, OLD PI "line 0\n" PI "line 1\n" PI "line 2\nline 3\n");
}

/* A half-written line is waited for; only its writer ends it, or removes it. */
CASE_WITH(half_written_line_is_waited_for, set_up, tear_down)
{
	struct maker m = {0};

	start(OLD TORN);
	let_other_write(PREAD, 3, 0, "\"}\n");
	assert_adds(&m, false, 0,
	            OLD TORN "\"}\n"
	                     "line 0\n");
	assert_int_equal(m.asked, 1);
	start(OLD TORN);
	let_other_write(PREAD, 1, strlen(OLD), "");
	assert_adds(&m, false, 0, OLD "line 0\n");
}

CASE_WITH(retries_are_bounded, set_up, tear_down)
{
	struct maker m = {.during = pi_appends};

	start(OLD);
	assert_int_equal(add(&m, false), 0);
	assert_in_range(m.asked, 2, 16);
}

/* The repair fails: the first line remains, with its original meaning. */
CASE_WITH(failed_undo_keeps_first_line, set_up, tear_down)
{
	struct maker m = {.during = pi_appends_once};

	start(OLD);
	let_fail(WRITE, 2, 1, ENOSPC);
	assert_adds(&m, false, 0, OLD PI "line 0\n");
}

/* A line of pi's after a part of ours is kept whole; our part becomes a line of its own. */
CASE_WITH(foreign_line_after_short_write_is_kept, set_up, tear_down)
{
	struct maker m = {0};

	/* The rest was written after pi's line. */
	start(OLD);
	plan.most[0] = 3;
	let_other_write(WRITE, 2, 0, PI);
	assert_adds(&m, false, -EIO, OLD "li\n" PI);
	/* The rest did not fit. */
	start(OLD TORN);
	let_fail(WRITE, 2, 1, ENOSPC);
	plan.most[0] = 4;
	let_other_write(WRITE, 2, 0, PI);
	assert_adds(&m, false, -ENOSPC, OLD TORN "\nli\n" PI);
	/* Bytes of another program in place of ours stay. */
	start(OLD);
	let_fail(WRITE, 2, 1, ENOSPC);
	plan.most[0] = 3;
	let_other_write(WRITE, 2, strlen(OLD), "{}\n");
	assert_adds(&m, false, -ENOSPC, OLD "{}\n");
	/* A part that ends with a newline stays as it is. */
	m = (struct maker){.lines = "one\ntwo\n"};
	start(OLD);
	let_fail(WRITE, 2, 1, ENOSPC);
	plan.most[0] = 4;
	let_other_write(WRITE, 2, 0, PI);
	assert_adds(&m, false, -ENOSPC, OLD "one\n" PI);
}

/* ---- the file is another one ---- */

static void replace_it(unsigned attempt)
{
	replaced();
}

static void remove_it(unsigned attempt)
{
	assert_int_equal(unlink(place.path), 0);
}

CASE_WITH(replaced_file_is_stale, set_up, tear_down)
{
	struct maker m = {0};

	/* Files of two disks can have one inode number. */
	start(OLD);
	place.id.dev++;
	assert_adds(&m, false, -ESTALE, OLD);
	start(OLD);
	replaced();
	assert_int_equal(add(&m, false), -ESTALE);
	assert_int_equal(store_check(&place.leaf, &place.id, 1), -ESTALE);
	assert_int_equal(m.asked, 0);
	assert_file("another\n");
	assert_file_at(place.away, OLD);
	unlink(place.path);
	assert_int_equal(add(&m, false), -ESTALE);
	assert_int_equal(store_check(&place.leaf, &place.id, 1), -ESTALE);
	m.during = replace_it;
	start(OLD);
	assert_adds(&m, false, -ESTALE, "another\n");
	/* By the holder of the lock. */
	m = (struct maker){0};
	start(OLD);
	let_other_write(FLOCK, 1, 0, NULL);
	assert_adds(&m, false, -ESTALE, "another\n");
	assert_int_equal(m.asked, 0);
	assert_file_at(place.away, OLD);
	m = (struct maker){.during = remove_it};
	start(OLD);
	assert_int_equal(add(&m, false), -ESTALE);
}

CASE_WITH(unwritable_files_are_refused, set_up, tear_down)
{
	struct maker m = {0};
	struct stat st;
	struct store_id id;

	assert_int_equal(stat("/dev/null", &st), 0);
	id = (struct store_id){st.st_dev, st.st_ino};
	assert_int_equal(store_append(&(struct source_path){NULL, "/dev/null"}, &id, NULL, make, &m), -ESTALE);
	assert_int_equal(store_append(&(struct source_path){NULL, "/tmp"}, &id, NULL, make, &m), -ESTALE);
	assert_int_equal(m.asked, 0);
	start(OLD);
	if (geteuid() == 0)
		return;
	assert_int_equal(chmod(place.path, 0444), 0);
	assert_int_equal(add(&m, false), -EACCES);
	assert_int_equal(store_check(&place.leaf, &place.id, 1), -EACCES);
}

/* ---- failures ---- */

CASE_WITH(interrupted_calls_are_repeated, set_up, tear_down)
{
	struct maker m = {0};

	start(OLD);
	let_fail(FLOCK, 1, 3, EINTR);
	let_fail(WRITE, 1, 3, EINTR);
	assert_adds(&m, false, 0, OLD "line 0\n");
	/* fsync(2) is repeated after EINTR. */
	start(OLD);
	let_fail(PREAD, 1, 3, EINTR);
	let_fail(FDATASYNC, 1, 3, EINTR);
	assert_adds(&m, true, 0, OLD "line 0\n");
	let_fail(FSYNC, 1, 3, EINTR);
	assert_int_equal(sync_now(), 0);
}

CASE_WITH(short_write_is_continued, set_up, tear_down)
{
	struct maker m = {0};

	start(OLD);
	plan.on = true;
	plan.most[0] = 2;
	plan.most[1] = 1;
	assert_adds(&m, false, 0, OLD "line 0\n");
	assert_int_equal(plan.calls[WRITE].seen, 3);
	assert_int_equal(m.asked, 1);
	start(OLD);
	let_fail(WRITE, 2, 2, EINTR);
	plan.most[0] = 2;
	assert_adds(&m, false, 0, OLD "line 0\n");
}

/* Part of the line was written: it is removed. */
CASE_WITH(partial_write_is_undone, set_up, tear_down)
{
	static const int errs[] = {ENOSPC, EDQUOT, EFBIG, EIO};

	for (size_t i = 0; i < sizeof errs / sizeof *errs; i++) {
		struct maker m = {0};
		start(OLD TORN);
		let_fail(WRITE, 1, 1, errs[i]);
		assert_adds(&m, false, -errs[i], OLD TORN);
		start(OLD TORN);
		let_fail(WRITE, 2, 1, errs[i]);
		let_fail(FTRUNCATE, 1, 2, EINTR);
		plan.most[0] = 3;
		assert_adds(&m, false, -errs[i], OLD TORN);
	}
}

/* A part that cannot be removed gets a newline, since pi appends without looking. */
CASE_WITH(failed_undo_ends_line, set_up, tear_down)
{
	struct maker m = {0};

	start(OLD);
	let_fail(WRITE, 2, 1, ENOSPC);
	let_fail(FTRUNCATE, 1, 1, EIO);
	plan.most[0] = 3;
	assert_adds(&m, false, -ENOSPC, OLD "li\n");
	/* If that fails too, the next append starts a new line. */
	start(OLD);
	let_fail(WRITE, 2, 1, ENOSPC);
	let_fail(FTRUNCATE, 1, 1, EIO);
	let_fail(PWRITE, 1, 1, EIO);
	plan.most[0] = 3;
	assert_adds(&m, false, -ENOSPC, OLD "lin");
	plan.on = false;
	assert_adds(&m, false, 0, OLD "lin\nline 0\n");
}

/* Written data is synced before the lock is released, each time. */
CASE_WITH(written_data_is_synced, set_up, tear_down)
{
	struct maker m = {0}, nothing = {.lines = ""}, raced = {.during = pi_appends_once};
	struct stat synced = {0};

	start(OLD);
	note_calls();
	assert_int_equal(add(&m, true), 0);
	assert_calls("flock write fdatasync fsync flock");
	assert_int_equal(add(&m, false), 0);
	assert_calls("flock write flock");
	assert_int_equal(add(&nothing, true), 0);
	assert_calls("flock fdatasync fsync flock");
	assert_int_equal(add(&raced, true), 0);
	assert_calls("flock write fdatasync fsync write fdatasync fsync flock");
	/* Data already synced is not synced again until the file is written. */
	assert_int_equal(store_sync(&place.leaf, &synced), 0);
	assert_calls("fsync fsync");
	assert_int_equal(store_sync(&place.leaf, &synced), 0);
	assert_calls("");
	add_file(place.path, PI);
	assert_int_equal(store_sync(&place.leaf, &synced), 0);
	assert_calls("fsync fsync");
	assert_int_equal(store_append(&place.leaf, &place.id, &synced, make, &(struct maker){0}), 0);
	assert_calls("flock write fdatasync fsync flock");
	assert_int_equal(store_sync(&place.leaf, &synced), 0);
	assert_calls("");
	add_file(place.path, PI);
	plan.calls[FSYNC].seen = 0;
	let_fail(FSYNC, 1, 1, EIO);
	assert_int_equal(store_sync(&place.leaf, &synced), -EIO);
	assert_int_equal(store_sync(&place.leaf, &synced), 0);
	assert_calls("fsync fsync fsync");
	/* So is a failed sync of the directory, unless directories cannot be synced, or it is gone or unreadable. */
	static const int errs[] = {EIO, EINVAL, ENOENT, EACCES};
	for (size_t i = 0; i < COUNT(errs); i++) {
		add_file(place.path, PI);
		plan.calls[FSYNC].seen = 0;
		let_fail(FSYNC, 2, 1, errs[i]);
		assert_int_equal(store_sync(&place.leaf, &synced), i ? 0 : -EIO);
		assert_calls("fsync fsync");
		assert_int_equal(store_sync(&place.leaf, &synced), 0);
		assert_calls(i ? "" : "fsync fsync");
	}
}

CASE_WITH(failed_fsync_is_undone, set_up, tear_down)
{
	struct maker m = {0}, nothing = {.lines = ""}, raced = {.during = pi_appends_once}, behind = {0};

	start(OLD TORN);
	let_fail(FDATASYNC, 1, 1, EIO);
	assert_adds(&m, true, -EIO, OLD TORN);
	start(OLD);
	let_fail(FDATASYNC, 1, 1, EIO);
	assert_int_equal(add(&nothing, true), -EIO);
	start(OLD);
	let_fail(FDATASYNC, 1, 1, EIO);
	assert_adds(&raced, true, -EIO, OLD PI);
	/* Lines of pi's are never removed, so our lines stay. */
	start(OLD);
	let_fail(FDATASYNC, 1, 1, EIO);
	let_other_write(FDATASYNC, 1, 0, PI);
	assert_adds(&behind, true, -EIO, OLD "line 0\n" PI);
	start(OLD);
	assert_int_equal(sync_now(), 0);
	let_fail(FSYNC, 1, 1, EIO);
	assert_int_equal(sync_now(), -EIO);
	plan.on = false;
	assert_int_equal(store_sync(&(struct source_path){NULL, place.away}, &(struct stat){0}), -ENOENT);
}

/* Each call fails in turn, each time it is made: the whole line is written, or none of it and an error is returned. */
CASE_WITH(append_survives_each_failing_call, set_up, tear_down)
{
	unsigned kinds = 0;

	for (enum call c = 0; c < CALLS; c++) {
		bool made = true;
		for (unsigned nth = 1; made; nth++) {
			struct maker m = {0};
			start(OLD TORN);
			let_fail(c, nth, 1, EIO);
			int rc = add(&m, true);
			made = plan.calls[c].seen >= nth;
			assert_true(rc == 0 || (made && rc == -EIO));
			assert_file(rc == 0 ? OLD TORN "\nline 0\n" : OLD TORN);
		}
		kinds += plan.calls[c].seen > 0;
	}
	assert_int_equal(kinds, IS_PORTABLE ? 9 : 8); /* fstatat(2) takes the place of a handle */
}

/* ---- a file on another device, which a thread of the pool closes ---- */

static sem_t gate;

static void wait_at_gate(struct blocking_call *p)
{
	sem_wait(&gate);
}

static void free_call(struct blocking_call *p)
{
	free(p);
}

static void occupy_all(unsigned attempt)
{
	struct blocking_pool *pool = resolver_blocking_pool(place.leaf.resolver);
	for (int i = 0; i < BLOCKING_THREADS; i++) {
		struct blocking_call *p = calloc(1, sizeof *p);
		*p = (struct blocking_call){.run = wait_at_gate, .free = free_call};
		assert_int_equal(blocking_start(pool, p), 0);
		blocking_put(pool, p);
	}
}

/* Although no thread is free to close the file, the next caller gets the lock. */
CASE_WITH(lock_is_released_before_close, set_up, tear_down)
{
	struct maker m = {.during = occupy_all};
	struct stat here, there;
	char target[] = "/dev/shm/sessionfs-store-XXXXXX";
	CLEANUP_CLOSE int fd = mkstemp(target);

	if (fd < 0 || stat(place.dir, &here) < 0 || fstat(fd, &there) < 0 || here.st_dev == there.st_dev) {
		unlink(target);
		skip();
	}
	assert_int_equal(symlink(target, place.path), 0);
	place.id = (struct store_id){there.st_dev, there.st_ino};
	assert_int_equal(resolver_open(place.dir, &place.leaf.resolver), 0);
	place.leaf.path = "s.jsonl";
	sem_init(&gate, 0, 0);
	assert_int_equal(add(&m, false), 0);
	assert_file_at(target, "line 0\n");
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	for (int i = 0; i < BLOCKING_THREADS; i++)
		sem_post(&gate);
	resolver_close(place.leaf.resolver);
	unlink(target);
}

CASE_WITH(check_reports_room_and_errors, set_up, tear_down)
{
	start(OLD);
	assert_int_equal(store_check(&place.leaf, &place.id, 4096), 0);
	/* With 32-bit sizes the disk could have room for any size. */
	if (sizeof(size_t) > 4)
		assert_int_equal(store_check(&place.leaf, &place.id, SIZE_MAX / 2), -ENOSPC);
	let_fail(OPENAT, IS_PORTABLE ? 4 : 5, 1, EROFS); /* only a directory has a handle */
	assert_int_equal(store_check(&place.leaf, &place.id, 1), -EROFS);
	plan = (struct plan){0};
	let_fail(FSTAT, 1, 1, EIO);
	assert_int_equal(store_check(&place.leaf, &place.id, 1), -EIO);
	/* An unknown amount of free space refuses nothing. */
	let_fail(FSTATVFS, 1, 1, ENOSYS);
	assert_int_equal(store_check(&place.leaf, &place.id, 1), 0);
	plan.no_blocks = true;
	assert_int_equal(store_check(&place.leaf, &place.id, 4096), 0);
	plan.no_blocks = false;
	/* On a full disk there is still the rest of the last block. */
	struct statvfs fs;
	assert_int_equal(statvfs(place.path, &fs), 0);
	size_t rest = fs.f_frsize - strlen(OLD) % fs.f_frsize;
	plan.no_room = true;
	if (geteuid() == 0) {
		assert_int_equal(store_check(&place.leaf, &place.id, rest + 1), 0);
		assert_true(chown(place.path, 1000, 1000) == 0 && seteuid(1000) == 0);
	}
	int fits = store_check(&place.leaf, &place.id, rest), full = store_check(&place.leaf, &place.id, rest + 1);
	assert_int_equal(seteuid(getuid()), 0);
	assert_int_equal(fits, 0);
	assert_int_equal(full, -ENOSPC);
	plan.no_room = false;
	assert_file(OLD);
}

/* Each wait for the lock is twice as long, up to some 10 ms. */
CASE_WITH(lock_is_polled_less_and_less, set_up, tear_down)
{
	static const int64_t expected[] = {200000, 400000, 800000, 1600000, 3200000, 6400000, 12800000, 12800000};
	struct maker m = {0};
	start(OLD);
	pause_count = 0;
	let_fail(FLOCK, 1, 9, EWOULDBLOCK);
	assert_int_equal(add(&m, false), 0);
	assert_int_equal(pause_count, 8);
	assert_memory_equal(pauses, expected, sizeof expected);
	assert_file(OLD "line 0\n");
}

CASE_WITH(check_reports_the_size_limit, set_up, tear_down)
{
	struct rlimit before, small;
	start(OLD);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){strlen(OLD) + 10, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int fits = store_check(&place.leaf, &place.id, 10), large = store_check(&place.leaf, &place.id, 11);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(fits, 0);
	assert_int_equal(large, -EFBIG);
}

RUN_CASES(NULL, NULL)
