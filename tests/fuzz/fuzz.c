#include "fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
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

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type;
	return ftw->level > 0 ? remove(path) : 0;
}

static void empty(void)
{
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void leave(void)
{
	empty();
	rmdir(dir);
}

const char *fuzz_dir(void)
{
	if (dir[0]) {
		empty();
		return dir;
	}
	/* On a disk each input would take ten times as long. */
	snprintf(dir, sizeof dir, "%s/sessionfs-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(dir));
	atexit(leave);
	return dir;
}

void fuzz_file(const char *path, struct span bytes, int flags, long age)
{
	struct timespec times[2];
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);
	assert_true(fd >= 0);
	assert_true(bytes.n == 0 || write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n);
	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= age;
	times[1] = times[0];
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

bool fuzz_read_file(const char *path, struct buf *out)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	if (fd < 0)
		return false;
	do {
		char *to = buf_reserve(out, 65536);
		assert_non_null(to);
		n = read(fd, to, 65536);
		assert_true(n >= 0);
		out->n += (size_t)n;
	} while (n > 0);
	return true;
}

/* --- assertions ------------------------------------------------------------------- */

/* cmocka ends no test here, since there is none: it is to end the program. */
__attribute__((constructor)) static void abort_at_failure(void)
{
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	setenv("SESSIONFS_LOCK_CHECK", "/dev/stderr", 1);
}

void assert_spans_equal(struct span a, struct span b)
{
	if (!span_eq(a, b))
		fail_msg("\"%.*s\" is not \"%.*s\"", (int)a.n, a.n ? a.p : "", (int)b.n, b.n ? b.p : "");
}
