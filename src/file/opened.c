/* SPDX-License-Identifier: MIT */
/* A request to the pool has its own buffer and a reference to the file: when the answer comes, the reader may be gone,
 * but the descriptor must still be that of the file. */
#include "sessionfs/file/opened.h"

#include "sessionfs/base/cleanup.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/sys.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

/* The most that one request reads: any live server delivers it before the pool gives up. */
#define MOST_ASKED ((size_t)LIMIT(128 << 10, 64))

struct opened {
	struct resolver *resolver; /* held; or NULL */
	int fd;
	bool foreign;
	dev_t device;
	atomic_uint refs;
};

int opened_new(struct resolver *r, struct resolved *file, struct opened **ret)
{
	struct opened *o = malloc(sizeof *o);
	if (!o) {
		resolved_release(r, file);
		return -ENOMEM;
	}
	*o = (struct opened){.resolver = r ? resolver_get(r) : NULL,
	                     .fd = file->fd,
	                     .foreign = r && file->foreign,
	                     .device = file->st.st_dev,
	                     .refs = 1};
	file->fd = -1;
	*ret = o;
	return 0;
}

struct opened *opened_get(struct opened *o)
{
	atomic_fetch_add(&o->refs, 1);
	return o;
}

void opened_put(struct opened *o)
{
	if (!o || atomic_fetch_sub(&o->refs, 1) > 1)
		return;
	resolver_close_fd(o->resolver, o->fd, o->foreign);
	resolver_put(o->resolver);
	free(o);
}

/* ---- asked directly ---- */

ssize_t contents_read(int fd, void *p, size_t n, uint64_t off)
{
	ssize_t got;
	lock_may_block();
	do
		got = sys_pread(fd, p, n, (off_t)off);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static int64_t find_data_now(const struct opened *o, uint64_t off)
{
	off_t data = lseek(o->fd, (off_t)off, SEEK_DATA);
	return data < 0 ? -errno : data;
}

/* ---- asked by the pool ---- */

struct question {
	struct blocking_call call;
	struct opened *file;
	bool is_read; /* false: asks where data begins */
	uint64_t off;
	size_t n;
	int64_t rc;
	char bytes[];
};

static void question_run(struct blocking_call *p)
{
	struct question *q = (struct question *)p;
	q->rc = blocking_asks(q->file->device);
	if (q->rc == 0)
		q->rc =
		    q->is_read ? contents_read(q->file->fd, q->bytes, q->n, q->off) : find_data_now(q->file, q->off);
}

static void question_free(struct blocking_call *p)
{
	struct question *q = (struct question *)p;
	opened_put(q->file);
	free(q);
}

/* Reads n bytes to `to`, or (NULL) finds where data begins. */
static int64_t opened_ask(struct opened *o, void *to, size_t n, uint64_t off)
{
	struct question *q = malloc(sizeof *q + n);
	if (!q)
		return -ENOMEM;
	*q = (struct question){.call = {.run = question_run, .free = question_free},
	                       .file = opened_get(o),
	                       .is_read = to != NULL,
	                       .off = off,
	                       .n = n};
	struct blocking_pool *pool = resolver_pool(o->resolver);
	int rc = blocking_run(pool, &q->call);
	int64_t answer = rc < 0 ? rc : q->rc;
	if (answer > 0 && q->is_read)
		memcpy(to, q->bytes, (size_t)answer);
	blocking_put(pool, &q->call);
	return answer;
}

bool opened_is_foreign(const struct opened *o)
{
	return o->foreign;
}

ssize_t opened_pread(struct opened *o, void *p, size_t n, uint64_t off)
{
	if (!o->foreign || blocking_is_here())
		return contents_read(o->fd, p, n, off);
	return (ssize_t)opened_ask(o, p, n < MOST_ASKED ? n : MOST_ASKED, off);
}

int64_t opened_data(struct opened *o, uint64_t off)
{
	return !o->foreign || blocking_is_here() ? find_data_now(o, off) : opened_ask(o, NULL, 0, off);
}
