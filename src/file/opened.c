/* SPDX-License-Identifier: MIT */
/* A request to the pool has its own buffer and a reference to the file: when the answer arrives, the reader can be
 * gone, but the descriptor must still be open. */
#include "opened_impl.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/base/sys.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

/* The maximum of one request: any live server delivers it before the pool gives up. */
#define POOL_READ_MAX ((size_t)LIMIT(128 << 10, 64))

struct opened {
	struct resolver *resolver; /* has a reference; or NULL */
	int fd;
	bool foreign;
	bool redacts;
	dev_t device;
	atomic_uint refs;
	struct redact_cache known; /* if it redacts */
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
	                     .redacts = r && resolver_redacts(r),
	                     .device = file->st.st_dev,
	                     .refs = 1,
	                     .known.lines.st = {.st_size = -1}};
	lock_init(&o->known.lock, LOCK_REDACT);
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
	lock_destroy(&o->known.lock);
	vec_release(&o->known.lines.masks);
	free(o);
}

/* ---- asked directly ---- */

ssize_t file_pread(int fd, void *p, size_t n, uint64_t off)
{
	ssize_t got;
	lock_may_block();
	do
		got = sys_pread(fd, p, n, (off_t)off);
	while (got < 0 && errno == EINTR);
	return got < 0 ? error_of_source(errno) : got;
}

/* Operations on a file. */
enum file_op { FILE_OP_PREAD, FILE_OP_SEEK_DATA, FILE_OP_FSTAT };

static int64_t file_op_run(const struct opened *o, enum file_op what, void *p, size_t n, uint64_t off)
{
	if (what == FILE_OP_PREAD)
		return file_pread(o->fd, p, n, off);
	if (what == FILE_OP_FSTAT)
		return fstat(o->fd, p) < 0 ? error_of_source(errno) : (int64_t)n;
	off_t data = lseek(o->fd, (off_t)off, SEEK_DATA);
	return data < 0 ? error_of_source(errno) : data;
}

/* ---- asked by the pool ---- */

struct read_request {
	struct blocking_call call;
	struct opened *file;
	enum file_op what;
	uint64_t off;
	size_t n;
	int64_t rc;
	char bytes[];
};

static void read_request_run(struct blocking_call *p)
{
	struct read_request *q = (struct read_request *)p;
	q->rc = blocking_check_device(q->file->device);
	if (q->rc == 0)
		q->rc = file_op_run(q->file, q->what, q->bytes, q->n, q->off);
}

static void read_request_free(struct blocking_call *p)
{
	struct read_request *q = (struct read_request *)p;
	opened_put(q->file);
	free(q);
}

/* As file_op_run, but in the pool if the file is foreign. Copies the data or attributes to `to`. */
static int64_t opened_do_op(struct opened *o, enum file_op what, void *to, size_t n, uint64_t off)
{
	if (!o->foreign || blocking_on_pool_thread())
		return file_op_run(o, what, to, n, off);
	struct read_request *q = malloc(sizeof *q + n);
	if (!q)
		return -ENOMEM;
	*q = (struct read_request){.call = {.run = read_request_run, .free = read_request_free},
	                           .file = opened_get(o),
	                           .what = what,
	                           .off = off,
	                           .n = n};
	struct blocking_pool *pool = resolver_blocking_pool(o->resolver);
	int rc = blocking_run(pool, &q->call);
	int64_t answer = rc < 0 ? rc : q->rc;
	if (answer > 0 && what != FILE_OP_SEEK_DATA)
		memcpy(to, q->bytes, (size_t)answer);
	blocking_put(pool, &q->call);
	return answer;
}

size_t opened_memory(struct opened *o)
{
	LOCKED(&o->known.lock);
	return vec_held(&o->known.lines.masks);
}

bool opened_is_foreign(const struct opened *o)
{
	return o->foreign;
}

bool opened_redacts(const struct opened *o)
{
	return o->redacts;
}

struct redact_cache *opened_redact_cache(struct opened *o)
{
	return o->redacts ? &o->known : NULL;
}

ssize_t opened_pread_raw(struct opened *o, void *p, size_t n, uint64_t off)
{
	return (ssize_t)opened_do_op(o, FILE_OP_PREAD, p, o->foreign && n > POOL_READ_MAX ? POOL_READ_MAX : n, off);
}

int64_t opened_seek_data(struct opened *o, uint64_t off)
{
	return opened_do_op(o, FILE_OP_SEEK_DATA, NULL, 0, off);
}

int opened_stat(struct opened *o, struct stat *ret)
{
	int64_t rc = opened_do_op(o, FILE_OP_FSTAT, ret, sizeof *ret, 0);
	return rc < 0 ? (int)rc : 0;
}

int opened_find_line_start(struct opened *o, uint64_t off, uint64_t most, uint64_t *ret)
{
	char piece[4096];
	uint64_t least = off > most ? off - most : 0;
	while (off > least) {
		size_t n = off - least < sizeof piece ? (size_t)(off - least) : sizeof piece;
		ssize_t got = opened_pread_raw(o, piece, n, off - n);
		if (got < (ssize_t)n)
			return got < 0 ? (int)got : -ESTALE;
		const char *end = memrchr(piece, '\n', n);
		off -= n;
		if (end) {
			off += (uint64_t)(end + 1 - piece);
			break;
		}
		int rc = cancel_check();
		if (rc < 0)
			return rc;
	}
	*ret = off;
	return 0;
}
