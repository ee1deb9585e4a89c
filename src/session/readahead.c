/* SPDX-License-Identifier: MIT */
/* Bytes of the file near the last reads. A program that walks through a session reads one line after the other, each
 * with its own request, so more than the line is read. Two places are cached, because a result and its call are apart.
 *
 * If an index is made for the tables of all sessions, the lines with calls that have a file are read next, and a few
 * others. These are cached while they are scanned, until the index is put back: the file is not read twice.
 *
 * Only indexed bytes are cached. They do not change while the file's attributes stay the same; session_grow drops them
 * if these change. Nothing is cached of a server's file: while the server is silent, reading must fail. */
#include "sessionfs/base/limits.h"
#include "session_impl.h"

enum { READAHEAD_PLACES = LIMIT(32 * 1024, 512) };
enum { SCANNED_MAX = LIMIT(8 << 20, 8192) }; /* bytes cached of one scan */

void scanned_add(const struct session *s, uint64_t off, struct span line)
{
	struct scanned *k = &s->derived->scanned;
	if (!k->wanted || k->bytes.n + line.n > SCANNED_MAX || opened_is_foreign(s->file))
		return;
	if (!vec_reserve(&k->bytes, line.n) || !vec_reserve(&k->lines, 1))
		return;
	k->lines.v[k->lines.n++] = (struct scanned_line){off, (uint32_t)k->bytes.n, (uint32_t)line.n};
	memcpy(k->bytes.v + k->bytes.n, line.p, line.n);
	k->bytes.n += line.n;
}

static void scanned_release(struct scanned *k)
{
	vec_release(&k->bytes);
	vec_release(&k->lines);
	*k = (struct scanned){0};
}

void session_drop_lines(struct session *s)
{
	LOCKED(&s->derived->readahead_lock);
	scanned_release(&s->derived->scanned);
}

static int scanned_cmp(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = ((const struct scanned_line *)pb)->off;
	return (a > b) - (a < b);
}

/* Appends n bytes of the file, and up to `more` of the bytes after them. */
static bool readahead_add(const struct readahead_bytes *a, uint64_t off, size_t n, size_t more, struct buf *out)
{
	if (off < a->at || off + n > a->at + a->bytes.n)
		return false;
	size_t begin = (size_t)(off - a->at), rest = a->bytes.n - begin;
	buf_add(out, a->bytes.p + begin, n + more < rest ? n + more : rest);
	return true;
}

/* Puts the bytes in the place used less recently; the caller gets the previous contents. */
static void readahead_swap(struct derived *d, struct readahead_bytes *a)
{
	LOCKED(&d->readahead_lock);
	struct readahead_bytes *to = &d->readahead[1 - d->readahead_newest], before = *to;
	if (a->bytes.n)
		d->readahead_newest = 1 - d->readahead_newest;
	*to = *a;
	*a = before;
}

/* Appends the bytes if they are cached. */
static bool readahead_add_cached(struct derived *d, uint64_t off, size_t n, size_t more, struct buf *out)
{
	LOCKED(&d->readahead_lock);
	const struct scanned *k = &d->scanned;
	const struct scanned_line *l =
	    k->lines.n ? bsearch(&off, k->lines.v, k->lines.n, sizeof *k->lines.v, scanned_cmp) : NULL;
	if (l && l->n == n) {
		buf_add(out, k->bytes.v + l->at, n);
		return true;
	}
	for (unsigned i = 0; i < 2; i++)
		if (readahead_add(&d->readahead[i], off, n, more, out)) {
			d->readahead_newest = i;
			return true;
		}
	return false;
}

bool readahead_get(const struct session *s, uint64_t off, size_t n, size_t more, struct buf *out)
{
	struct derived *d = s->derived;
	struct readahead_bytes a = {.bytes = BUF_INIT};
	if (readahead_add_cached(d, off, n, more, out))
		return true;
	if (n + more > READAHEAD_PLACES / 2 || off + n > s->extent.end || opened_is_foreign(s->file))
		return false;
	size_t want = s->extent.end - off < READAHEAD_PLACES ? (size_t)(s->extent.end - off) : READAHEAD_PLACES;
	readahead_swap(d, &a);
	buf_reset(&a.bytes);
	char *p = buf_reserve(&a.bytes, want);
	ssize_t got = p ? opened_pread(s->file, p, want, off) : -ENOMEM;
	a.bytes.n = got > 0 ? (size_t)got : 0;
	a.at = off;
	bool is_there = readahead_add(&a, off, n, more, out);
	readahead_swap(d, &a);
	buf_release(&a.bytes);
	return is_there;
}

void readahead_drop(struct derived *d)
{
	LOCKED(&d->readahead_lock);
	for (unsigned i = 0; i < 2; i++)
		buf_release(&d->readahead[i].bytes);
	scanned_release(&d->scanned);
}

size_t readahead_memory(struct derived *d)
{
	LOCKED(&d->readahead_lock);
	return buf_memory(&d->readahead[0].bytes) + buf_memory(&d->readahead[1].bytes) + vec_held(&d->scanned.bytes) +
	       vec_held(&d->scanned.lines);
}
