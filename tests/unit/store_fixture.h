/* SPDX-License-Identifier: MIT */
/* A session file in a directory of its own, for the tests of store. */
#ifndef STORE_FIXTURE_H
#define STORE_FIXTURE_H

#include "sessionfs/file/store.h"

#include <errno.h>
#include <sys/mman.h>

#include "failing_calls.h"
#include "session_fixture.h"

/* The input is an unnamed file: a call that gets descriptor 0 by mistake must not change /dev/null. */
static __attribute__((constructor)) void have_harmless_input(void)
{
	int fd = memfd_create("input", MFD_CLOEXEC);
	if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
		abort();
	close(fd);
}

/* ---- a session file ---- */

#define OLD HEADER USER("a", null, "hi")
#define TORN "{\"type\":\"torn"
#define PI USER("pi", "a", "hi")

/* The file has its own directory. */
static struct render_target {
	char dir[64], path[80], away[80];
	struct store_id id;
	struct source_path leaf;
} place;

static inline void start(const char *text)
{
	struct stat st;

	plan = (struct plan){0};
	unlink(place.path);
	unlink(place.away);
	put_file(place.path, text);
	assert_int_equal(stat(place.path, &st), 0);
	place.id = (struct store_id){st.st_dev, st.st_ino};
}

static inline int set_up(void **state)
{
	plan = (struct plan){0};
	strcpy(place.dir, "/tmp/sessionfs-store-XXXXXX");
	make_temporary(place.dir);
	snprintf(place.path, sizeof place.path, "%s/s.jsonl", place.dir);
	snprintf(place.away, sizeof place.away, "%s/away", place.dir);
	place.leaf = (struct source_path){NULL, place.path};
	return 0;
}

static inline int tear_down(void **state)
{
	plan.on = false;
	return remove_all(place.dir);
}

static inline void assert_file_at(const char *path, const char *text)
{
	CLEANUP_BUF struct buf b = BUF_INIT;

	assert_true(read_file(path, &b));
	assert_text(&b, text);
}

static inline void assert_file(const char *text)
{
	assert_file_at(place.path, text);
}

/* ---- the order of calls ---- */

static char noted[256];

/* Calls that change the file or sync it. */
static inline void note_call(enum call c, unsigned nth)
{
	static const char *const names[CALLS] = {
	    [FLOCK] = "flock",   [WRITE] = "write",         [FSYNC] = "fsync",
	    [PWRITE] = "pwrite", [FDATASYNC] = "fdatasync", [FTRUNCATE] = "truncate"};

	(void)nth;
	if (!names[c])
		return;
	size_t n = strlen(noted);
	snprintf(noted + n, sizeof noted - n, "%s%s", n > 0 ? " " : "", names[c]);
}

static inline void note_calls(void)
{
	plan.on = true;
	plan.before = note_call;
	noted[0] = '\0';
}

/* Checks that exactly these calls were made since the last check, in this order. */
static inline void assert_calls(const char *expected)
{
	assert_string_equal(noted, expected);
	noted[0] = '\0';
}

static inline void replaced(void)
{
	assert_int_equal(rename(place.path, place.away), 0);
	put_file(place.path, "another\n");
}

#endif
