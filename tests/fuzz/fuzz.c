/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

#include <time.h>

unsigned feed_byte(struct feed *f)
{
	struct span s = feed_bytes(f, 1);
	return s.n ? (unsigned char)*s.p : 0;
}

struct span feed_bytes(struct feed *f, size_t n)
{
	struct span s = {f->p, n < f->n ? n : f->n};
	f->p += s.n;
	f->n -= s.n;
	return s;
}

struct span feed_step(struct feed *f)
{
	const char *end = f->n ? memchr(f->p, FUZZ_STEP, f->n) : NULL;
	struct span s = feed_bytes(f, end ? (size_t)(end - f->p) : f->n);
	feed_bytes(f, 1);
	return s;
}

/* --- files ---------------------------------------------------------------------- */

static char dir[64];

static void leave(void)
{
	remove_all(dir);
}

const char *fuzz_dir(void)
{
	if (dir[0]) {
		remove_all(dir);
		assert_int_equal(mkdir(dir, 0755), 0);
		return dir;
	}
	/* On a disk each input would take ten times as long. */
	snprintf(dir, sizeof dir, "%s/sessionfs-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	make_temporary(dir);
	atexit(leave);
	return dir;
}

void fuzz_file(const char *path, struct span bytes, int flags, long age)
{
	struct timespec times[2];
	write_at(path, flags, bytes.p, bytes.n);
	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= age;
	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* --- assertions ------------------------------------------------------------------- */

/* Without a test to fail, cmocka would continue: end the program instead. */
__attribute__((constructor)) static void abort_at_failure(void)
{
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	setenv("SESSIONFS_LOCK_CHECK", "/dev/stderr", 1);
}
