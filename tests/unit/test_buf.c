/* SPDX-License-Identifier: MIT */
/* buf: bytes in order, growth, and an error that persists. */
#include "cases.h"
#include "failing_alloc.h"
#include "linux_only.h"
#include "sessionfs/base/buf.h"
#include "sessionfs/base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

enum { LONG = 48 << 20 };

/* The error of reserving space, if not 0. */
static int disk_error;

int posix_fallocate64(int fd, off64_t off, off64_t n);
int posix_fallocate64(int fd, off64_t off, off64_t n)
{
	if (disk_error)
		return disk_error;
	return fallocate64(fd, 0, off, n) < 0 ? errno : 0;
}

/* Huge requests must fail, not abort, under the sanitizers. */
#define ALLOW_NULL(options)                                                                                            \
	const char *options(void);                                                                                     \
	const char *options(void)                                                                                      \
	{                                                                                                              \
		return "allocator_may_return_null=1";                                                                  \
	}
ALLOW_NULL(__asan_default_options)
ALLOW_NULL(__tsan_default_options)

CASE(appends_in_order)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	buf_add(&b, NULL, 0);
	buf_addspan(&b, (struct span){NULL, 0});
	buf_adds(&b, "");
	buf_addf(&b, "%s", "");
	assert_int_equal(b.n, 0);
	assert_int_equal(buf_err(&b), 0);
	assert_string_equal(buf_cstr(&b), "");
	buf_add(&b, "ab", 2);
	buf_addc(&b, '\0');
	buf_adds(&b, "cd");
	buf_addspan(&b, SPAN_LIT("ef"));
	buf_addf(&b, "%d-%s", 42, "x");
	assert_int_equal(buf_err(&b), 0);
	assert_int_equal(b.n, 11);
	assert_memory_equal(b.p, "ab\0cdef42-x", 11);
}

CASE(formats_long_text)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	for (int width = 5000; width >= 250; width = width > 260 ? 260 : width - 1) {
		buf_reset(&b);
		buf_adds(&b, "x");
		buf_addf(&b, "%*d|", width, 7);
		assert_int_equal(b.n, width + 2);
		assert_memory_equal(b.p, "x ", 2);
		assert_memory_equal(b.p + width, "7|", 2);
	}
}

CASE(reset_keeps_memory_release_frees)
{
	struct buf b = BUF_INIT;
	buf_adds(&b, "text");
	size_t cap = b.cap;
	buf_reset(&b);
	assert_int_equal(b.n, 0);
	assert_int_equal(b.cap, cap);
	errno = EXDEV;
	buf_release(&b);
	assert_int_equal(errno, EXDEV);
	assert_null(b.p);
	assert_int_equal(b.cap, 0);
	buf_adds(&b, "again");
	assert_string_equal(buf_cstr(&b), "again");
	buf_release(&b);
}

CASE(impossible_sizes_fail)
{
	const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 2, SIZE_MAX / 4 + 1};
	for (size_t i = 0; i < COUNT(sizes); i++) {
		CLEANUP_BUF struct buf b = BUF_INIT;
		buf_adds(&b, "kept");
		assert_null(buf_reserve(&b, sizes[i]));
		assert_int_equal(buf_err(&b), -ENOMEM);
		buf_adds(&b, "lost");
		buf_addf(&b, "lost");
		assert_null(buf_cstr(&b));
		assert_int_equal(b.n, 4);
		assert_memory_equal(b.p, "kept", 4);
		buf_reset(&b);
		buf_adds(&b, "new");
		assert_int_equal(buf_err(&b), 0);
		assert_string_equal(buf_cstr(&b), "new");
	}
}

CASE(failed_growth_sticks)
{
	for (long left = 0; left < 6; left++) {
		CLEANUP_BUF struct buf b = BUF_INIT;
		size_t good = 0;
		allocs_left = left;
		for (int i = 0; i < 4000; i++) {
			buf_addc(&b, 'a');
			if (!buf_err(&b))
				good = b.n;
		}
		buf_addf(&b, "%500d", 1);
		allocs_left = -1;
		buf_adds(&b, "never");
		assert_int_equal(buf_err(&b), -ENOMEM);
		assert_int_equal(b.n, good);
		assert_int_equal(b.n, left ? 32u << left : 0);
		for (size_t i = 0; i < b.n; i++)
			assert_int_equal(b.p[i], 'a');
	}
}

static char byte_at(size_t i)
{
	return (char)(i * 7 + i / 4096);
}

static void fill(struct buf *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_addc(b, byte_at(i));
	assert_int_equal(buf_err(b), 0);
	assert_int_equal(b->n, n);
}

/* Memory that the kernel could only free by swapping, in bytes. */
static size_t unreclaimable(void)
{
	char line[128];
	size_t sum = 0, kb;
	FILE *f = fopen("/proc/self/status", "re");
	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "RssAnon: %zu", &kb) == 1 || sscanf(line, "RssShmem: %zu", &kb) == 1)
			sum += kb << 10;
	fclose(f);
	return sum;
}

CASE(long_buf_is_file_backed)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	size_t before = unreclaimable();
	fill(&b, LONG);
	assert_true(b.file > 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which keep freed memory */
	assert_true(unreclaimable() < before + BUF_MAPPED + LONG / 8);
#else
	(void)before;
#endif
	assert_in_range(buf_memory(&b), LONG / 16, LONG / 8);
	b.p[3] = 'x';
	for (size_t i = 4; i < LONG; i++)
		assert_int_equal(b.p[i], byte_at(i));
	assert_int_equal(b.p[3], 'x');
	buf_reset(&b);
	buf_adds(&b, "short");
	assert_string_equal(buf_cstr(&b), "short");
}

CASE(system_calls_accept_mapped_buf)
{
	CLEANUP_BUF struct buf b = BUF_INIT, again = BUF_INIT;
	char name[] = "/tmp/sessionfs-test-XXXXXX";
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	unlink(name);
	fill(&b, LONG);
	assert_int_equal(write(fd, b.p, b.n), b.n);
	char *to = buf_reserve(&again, LONG);
	assert_non_null(to);
	assert_true(again.file > 0);
	assert_int_equal(pread(fd, to, LONG, 0), LONG);
	assert_memory_equal(to, b.p, LONG);
	close(fd);
}

static unsigned messages;

void __wrap_log_message(enum log_level level, const char *fmt, ...);
void __wrap_log_message(enum log_level level, const char *fmt, ...)
{
	assert_int_equal(level, LOG_LEVEL_ERROR);
	assert_non_null(strstr(fmt, "no space"));
	messages++;
}

/* Space is reserved before use: a failed reservation is an error, and earlier bytes stay. The error is logged once each
 * time the disk becomes full. */
CASE(full_disk_is_enospc)
{
	messages = 0;
	for (size_t had = 0; had <= LONG; had += LONG) {
		CLEANUP_BUF struct buf b = BUF_INIT;
		fill(&b, had);
		disk_error = ENOSPC;
		assert_null(buf_reserve(&b, LONG));
		assert_int_equal(buf_err(&b), -ENOSPC);
		buf_reset(&b);
		b.n = had;
		assert_null(buf_reserve(&b, LONG));
		disk_error = 0;
		assert_int_equal(b.n, had);
		for (size_t i = 0; i < had; i += 4099)
			assert_int_equal(b.p[i], byte_at(i));
		buf_reset(&b);
		fill(&b, LONG);
	}
	assert_int_equal(messages, 2);
}

/* Some file systems cannot reserve space. */
CASE(no_fallocate_stays_in_memory)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	disk_error = EINVAL;
	fill(&b, LONG);
	disk_error = 0;
	assert_int_equal(b.file, 0);
}

CASE(tmpfs_is_not_used_for_files)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	const char *before = getenv("TMPDIR");
	if (IS_PORTABLE || access("/dev/shm", W_OK) < 0)
		skip(); /* POSIX does not say what is in memory */
	setenv("TMPDIR", "/dev/shm", 1);
	fill(&b, LONG);
	char path[64], to[64] = "";
	snprintf(path, sizeof path, "/proc/self/fd/%d", b.file);
	if (b.file)
		assert_true(readlink(path, to, sizeof to - 1) > 0);
	assert_int_not_equal(strncmp(to, "/dev/shm", 8), 0);
	if (before)
		setenv("TMPDIR", before, 1);
	else
		unsetenv("TMPDIR");
}

static void *sum_all(void *arg)
{
	const struct buf *b = arg;
	uintptr_t sum = 0;
	for (size_t i = 0; i < b->n; i += 509)
		sum += (unsigned char)b->p[i];
	return (void *)sum;
}

CASE(threads_read_equal_bytes)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	pthread_t threads[6];
	void *sum;
	fill(&b, LONG);
	uintptr_t expected = (uintptr_t)sum_all(&b);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, sum_all, &b), 0);
	for (size_t i = 0; i < 6; i++) {
		pthread_join(threads[i], &sum);
		assert_int_equal((uintptr_t)sum, expected);
	}
}

RUN_CASES(NULL, NULL)
