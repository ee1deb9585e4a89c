/* SPDX-License-Identifier: MIT */
/* Scratch files are few and short-lived: one list, in creation order, is enough for all lookups, and ids are stable
 * readdir cookies. */
#include "sessionfs/base/clock.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/write/scratch.h"

#include <errno.h>
#include <limits.h>

/* Never a setuid, setgid or sticky bit: anyone who can write to a session can create one, with any contents. */
#define SCRATCH_MODE 0777

struct scratch_file {
	struct scratch_file *next;
	struct scratch_attr attr;
	struct buf name;  /* empty: unlinked */
	struct buf bytes; /* a link's target */
	unsigned open_count;
	int64_t closed_ms; /* when it was created or last closed; 0: never reported */
	bool is_retired, is_reported;
};

struct scratch {
	struct lock lock;
	struct scratch_file *first, **end; /* `end`: where the next one goes */
	uint64_t created_count;
	size_t files, bytes;
	size_t max_files, max_bytes;
};

int scratch_open(size_t most_files, size_t most_bytes, struct scratch **ret)
{
	struct scratch *sc = calloc(1, sizeof *sc);
	if (!sc)
		return -ENOMEM;
	lock_init(&sc->lock, LOCK_SCRATCH);
	sc->end = &sc->first;
	sc->max_files = most_files;
	sc->max_bytes = most_bytes;
	*ret = sc;
	return 0;
}

static void scratch_file_free(struct scratch_file *f)
{
	buf_release(&f->name);
	buf_release(&f->bytes);
	free(f);
}

void scratch_close(struct scratch *sc)
{
	if (!sc)
		return;
	while (sc->first) {
		struct scratch_file *f = sc->first;
		sc->first = f->next;
		scratch_file_free(f);
	}
	lock_destroy(&sc->lock);
	free(sc);
}

static struct scratch_file *scratch_by_name(struct scratch *sc, node_t dir, struct span name)
{
	for (struct scratch_file *f = sc->first; f; f = f->next)
		if (f->attr.dir == dir && f->name.n > 0 && span_eq(buf_span(&f->name), name))
			return f;
	return NULL;
}

static struct scratch_file *scratch_by_id(struct scratch *sc, uint64_t id)
{
	for (struct scratch_file *f = sc->first; f; f = f->next)
		if (f->attr.id == id)
			return f;
	return NULL;
}

/* Frees a file with neither a name nor an opener. */
static void scratch_free_unused(struct scratch *sc, struct scratch_file *f)
{
	if (f->name.n > 0 || f->open_count > 0)
		return;
	struct scratch_file **at = &sc->first;
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	if (sc->end == &f->next)
		sc->end = at;
	sc->files--;
	sc->bytes -= f->bytes.n;
	scratch_file_free(f);
}

static void scratch_drop_name(struct scratch *sc, struct scratch_file *f)
{
	buf_release(&f->name);
	scratch_free_unused(sc, f);
}

int scratch_create(struct scratch *sc, node_t dir, struct span name, mode_t mode, uid_t uid, gid_t gid,
                   struct span bytes, bool replace, struct scratch_attr *ret)
{
	LOCKED(&sc->lock);
	if (name.n > NAME_MAX)
		return -ENAMETOOLONG;
	struct scratch_file *old = scratch_by_name(sc, dir, name);
	if (old && !replace)
		return -EEXIST;
	if (sc->files >= sc->max_files || bytes.n > sc->max_bytes - sc->bytes)
		return -ENOSPC;
	struct scratch_file *f = calloc(1, sizeof *f);
	if (!f)
		return -ENOMEM;
	buf_addspan(&f->name, name);
	if (bytes.n > 0)
		buf_addspan(&f->bytes, bytes);
	if (buf_err(&f->name) || buf_err(&f->bytes)) {
		scratch_file_free(f);
		return -ENOMEM;
	}
	f->attr = (struct scratch_attr){
	    .id = ++sc->created_count, .mode = mode & (S_IFMT | SCRATCH_MODE), .uid = uid, .gid = gid, .size = bytes.n};
	f->attr.dir = dir;
	f->attr.mtime = clock_now(CLOCK_REALTIME);
	f->attr.atime = f->attr.mtime;
	/* Emacs keeps its locks, which are links, as long as it edits. */
	if (!S_ISLNK(mode) || name.n < 2 || memcmp(name.p, ".#", 2) != 0)
		f->closed_ms = clock_ms(CLOCK_MONOTONIC);
	*sc->end = f;
	sc->end = &f->next;
	sc->files++;
	sc->bytes += bytes.n;
	*ret = f->attr;
	if (old)
		scratch_drop_name(sc, old);
	return 0;
}

int scratch_lookup(struct scratch *sc, node_t dir, struct span name, struct scratch_attr *ret)
{
	LOCKED(&sc->lock);
	const struct scratch_file *f = scratch_by_name(sc, dir, name);
	if (!f)
		return -ENOENT;
	*ret = f->attr;
	return 0;
}

int scratch_getattr(struct scratch *sc, uint64_t id, struct scratch_attr *ret)
{
	LOCKED(&sc->lock);
	const struct scratch_file *f = scratch_by_id(sc, id);
	if (!f)
		return -ESTALE;
	*ret = f->attr;
	return 0;
}

int scratch_setattr(struct scratch *sc, uint64_t id, const struct scratch_attr *a)
{
	LOCKED(&sc->lock);
	struct scratch_file *f = scratch_by_id(sc, id);
	if (!f)
		return -ESTALE;
	f->attr.mode = (f->attr.mode & S_IFMT) | (a->mode & SCRATCH_MODE);
	f->attr.uid = a->uid;
	f->attr.gid = a->gid;
	f->attr.atime = a->atime;
	f->attr.mtime = a->mtime;
	return 0;
}

bool scratch_next(struct scratch *sc, node_t dir, uint64_t after, struct buf *ret_name, struct scratch_attr *ret)
{
	LOCKED(&sc->lock);
	for (const struct scratch_file *f = sc->first; f; f = f->next) {
		if (f->attr.dir != dir || f->attr.id <= after || f->name.n == 0)
			continue;
		buf_reset(ret_name);
		buf_addspan(ret_name, buf_span(&f->name));
		*ret = f->attr;
		return buf_err(ret_name) == 0;
	}
	return false;
}

void scratch_sync(struct scratch *sc, uint64_t id)
{
	LOCKED(&sc->lock);
	struct scratch_file *f = scratch_by_id(sc, id);
	if (f)
		f->attr.synced = true;
}

int scratch_unlink(struct scratch *sc, uint64_t id)
{
	LOCKED(&sc->lock);
	struct scratch_file *f = scratch_by_id(sc, id);
	if (!f || f->name.n == 0)
		return -ENOENT;
	scratch_drop_name(sc, f);
	return 0;
}

int scratch_rename(struct scratch *sc, uint64_t id, node_t to_dir, struct span to_name)
{
	LOCKED(&sc->lock);
	struct buf fresh CLEANUP_BUF = BUF_INIT;
	struct scratch_file *f = scratch_by_id(sc, id);
	if (!f || f->name.n == 0)
		return -ENOENT;
	if (to_name.n > NAME_MAX)
		return -ENAMETOOLONG;
	struct scratch_file *old = scratch_by_name(sc, to_dir, to_name);
	if (old == f)
		return 0;
	buf_addspan(&fresh, to_name);
	if (buf_err(&fresh))
		return -ENOMEM;
	if (old)
		scratch_drop_name(sc, old);
	struct buf swap = f->name;
	f->name = fresh;
	fresh = swap;
	f->attr.dir = to_dir;
	return 0;
}

int scratch_ref(struct scratch *sc, uint64_t id)
{
	LOCKED(&sc->lock);
	struct scratch_file *f = scratch_by_id(sc, id);
	if (!f)
		return -ESTALE;
	f->open_count++;
	return 0;
}

void scratch_unref(struct scratch *sc, uint64_t id)
{
	LOCKED(&sc->lock);
	struct scratch_file *f = scratch_by_id(sc, id);
	if (!f)
		return;
	f->open_count--;
	f->closed_ms = clock_ms(CLOCK_MONOTONIC);
	scratch_free_unused(sc, f);
}

int scratch_read(struct scratch *sc, uint64_t id, uint64_t off, size_t n, struct buf *out)
{
	LOCKED(&sc->lock);
	const struct scratch_file *f = scratch_by_id(sc, id);
	if (!f)
		return -ESTALE;
	buf_add_slice(out, buf_span(&f->bytes), off, n);
	return buf_err(out);
}

/* Makes the file `size` bytes long if it is shorter; the new bytes are NUL. */
static int scratch_file_grow(struct scratch *sc, struct scratch_file *f, uint64_t size)
{
	if (size <= f->bytes.n)
		return 0;
	uint64_t more = size - f->bytes.n;
	if (more > sc->max_bytes - sc->bytes)
		return -ENOSPC;
	char *to = buf_reserve(&f->bytes, (size_t)more);
	if (!to) {
		f->bytes.err = 0;
		return -ENOSPC;
	}
	memset(to, 0, (size_t)more);
	f->bytes.n += (size_t)more;
	sc->bytes += (size_t)more;
	return 0;
}

static void scratch_touch(struct scratch_file *f)
{
	f->attr.size = f->bytes.n;
	f->attr.mtime = clock_now(CLOCK_REALTIME);
}

int scratch_write(struct scratch *sc, uint64_t id, struct span bytes, uint64_t off)
{
	LOCKED(&sc->lock);
	struct scratch_file *f = scratch_by_id(sc, id);
	if (!f)
		return -ESTALE;
	if (f->is_retired)
		return -EIO;
	if (off > sc->max_bytes)
		return -ENOSPC;
	int rc = scratch_file_grow(sc, f, off + bytes.n);
	if (rc < 0 || bytes.n == 0)
		return rc;
	memcpy(f->bytes.p + off, bytes.p, bytes.n);
	scratch_touch(f);
	return 0;
}

int scratch_resize(struct scratch *sc, uint64_t id, uint64_t size)
{
	LOCKED(&sc->lock);
	struct scratch_file *f = scratch_by_id(sc, id);
	if (!f)
		return -ESTALE;
	if (f->is_retired)
		return -EIO;
	int rc = scratch_file_grow(sc, f, size);
	if (rc < 0)
		return rc;
	sc->bytes -= f->bytes.n - (size_t)size;
	f->bytes.n = (size_t)size;
	/* `bytes` bounds the memory only while a file takes about its size. */
	if (size < f->bytes.cap / 2) {
		struct buf rest CLEANUP_BUF = BUF_INIT, all = f->bytes;
		buf_addspan(&rest, buf_span(&all));
		if (buf_err(&rest) == 0) {
			f->bytes = rest;
			rest = all;
		}
	}
	scratch_touch(f);
	return 0;
}

void scratch_detach(struct scratch *sc, uint64_t id)
{
	LOCKED(&sc->lock);
	struct scratch_file *f = scratch_by_id(sc, id);
	if (!f)
		return;
	f->is_retired = true;
	scratch_drop_name(sc, f);
}

bool scratch_next_leftover(struct scratch *sc, int64_t now_ms, int64_t *next_ms, node_t *ret_dir, struct buf *ret_name)
{
	LOCKED(&sc->lock);
	for (struct scratch_file *f = sc->first; f; f = f->next) {
		if (f->is_reported || f->open_count > 0 || f->closed_ms == 0)
			continue;
		if (f->closed_ms + SCRATCH_LEFTOVER_MS > now_ms) {
			if (f->closed_ms + SCRATCH_LEFTOVER_MS < *next_ms)
				*next_ms = f->closed_ms + SCRATCH_LEFTOVER_MS;
			continue;
		}
		f->is_reported = true;
		*ret_dir = f->attr.dir;
		buf_reset(ret_name);
		buf_addspan(ret_name, buf_span(&f->name));
		return true;
	}
	return false;
}
