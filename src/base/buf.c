/* SPDX-License-Identifier: MIT */
/* Growth doubles, so n appends cost O(n). An append that cannot grow changes only `err`: half a value is never mistaken
 * for a whole one. */
#include "sessionfs/base/buf.h"

#include "sessionfs/base/deferred.h"
#include "sessionfs/base/log.h"
#include "sessionfs/base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Sizes in a file are multiples of this, which is a multiple of every page size. There is some spare room after the
 * requested size: a newline added to a text of known size does not change its file. */
#define BUF_STEP ((size_t)1 << 16)
/* No text is longer than this: a larger request is a bug. */
#define BUF_MAX (SIZE_MAX > UINT32_MAX ? (size_t)(UINT64_C(1) << 36) : SIZE_MAX / 4)

void buf_release(struct buf *b)
{
	if (b->file) {
		munmap(b->p, b->cap);
		close(b->file);
	} else {
		free(b->p);
	}
	*b = (struct buf)BUF_INIT;
}

static char *buf_fail(struct buf *b, int err)
{
	b->err = err;
	deferred_set(err);
	return NULL;
}

/* Returns the descriptor of the buf's file or of a new one, with room for n bytes, and where it is mapped; or a
 * negative errno. */
static int map_file(const struct buf *b, size_t n, char **ret)
{
	const char *dir = getenv("TMPDIR");
	int fd = b->file;
	if (!fd && (!dir || (fd = sys_open_unnamed(dir)) < 0) && (fd = sys_open_unnamed("/var/tmp")) < 0)
		return -ENOTSUP;
	int rc;
	do
		rc = -posix_fallocate(fd, 0, (off_t)n);
	while (rc == -EINTR);
	/* Logs a full disk once, until there is room again. */
	static atomic_bool is_full;
	if (atomic_exchange(&is_full, rc == -ENOSPC) < (rc == -ENOSPC))
		log_error("$TMPDIR and /var/tmp: no space for a long text; free some, or set TMPDIR to another disk");
	char *p = rc < 0 ? MAP_FAILED : mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		if (b->file)
			munmap(b->p, b->cap);
		*ret = p;
		return fd;
	}
	if (!b->file)
		close(fd);
	return rc < 0 ? rc : -ENOMEM;
}

/* Backs the buf by a file with room for at least n bytes. Returns 0 or a negative errno. */
static int buf_grow_mapped(struct buf *b, size_t n)
{
	char *p;
	size_t cap = b->file && n < b->cap + b->cap / 2 ? b->cap + b->cap / 2 : n;
	if (cap > BUF_MAX)
		return -ENOMEM;
	cap = (cap / BUF_STEP + 2) * BUF_STEP;
	int fd = map_file(b, cap, &p);
	if (fd < 0)
		return fd;
	if (!b->file && b->n)
		memcpy(p, b->p, b->n);
	if (!b->file)
		free(b->p);
	b->p = p;
	b->cap = cap;
	b->file = fd;
	return 0;
}

char *buf_reserve(struct buf *b, size_t more)
{
	if (b->err)
		return NULL;
	if (b->cap - b->n >= more && b->p)
		return b->p + b->n;
	if (more > SIZE_MAX / 2 - b->n)
		return buf_fail(b, -ENOMEM);
	if (b->n + more > BUF_MAPPED) {
		int rc = buf_grow_mapped(b, b->n + more);
		if (rc == 0)
			return b->p + b->n;
		/* If no file can be created, or none of that size (RLIMIT_FSIZE), it stays in memory. A full disk is an
		 * error. */
		if (b->file || (rc != -ENOTSUP && rc != -EINVAL && rc != -ENODEV && rc != -EFBIG))
			return buf_fail(b, rc);
	}
	size_t cap = b->cap ? b->cap : 64;
	while (cap - b->n < more)
		cap *= 2;
	char *p = realloc(b->p, cap);
	if (!p)
		return buf_fail(b, -ENOMEM);
	b->p = p;
	b->cap = cap;
	return p + b->n;
}

size_t buf_memory(const struct buf *b)
{
	const size_t least = (size_t)1 << 20;
	if (!b->file)
		return b->cap;
	return b->cap / 16 > least ? b->cap / 16 : least;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	char *to = buf_reserve(b, n);
	if (!to || n == 0)
		return;
	memcpy(to, p, n);
	b->n += n;
}

void buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	char small[256];

	va_start(ap, fmt);
	int n = vsnprintf(small, sizeof small, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->err = -ENOMEM;
		return;
	}
	if ((size_t)n < sizeof small) {
		buf_add(b, small, (size_t)n);
		return;
	}
	char *to = buf_reserve(b, (size_t)n + 1);
	if (!to)
		return;
	va_start(ap, fmt);
	vsnprintf(to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
}

const char *buf_cstr(struct buf *b)
{
	char *end = buf_reserve(b, 1);
	if (!end)
		return NULL;
	*end = '\0';
	return b->p;
}
