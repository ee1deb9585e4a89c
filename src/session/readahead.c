/* SPDX-License-Identifier: MIT */
/* Bytes of the file near the last reads. A program that walks through a session reads one line after the other, each
 * with its own request, so more than the line is read. Several places are cached: a result and its call are apart, and
 * the directory of a branch needs its entry, the first entry and the last one.
 *
 * If an index is made for the tables of all sessions, the lines with calls that have a file are read next, and a few
 * others. These are cached while they are scanned, until the index is put back: the file is not read twice. A short
 * file is cached as a whole.
 *
 * Only indexed bytes are cached. They do not change while the file's attributes stay the same; session_grow drops them
 * if these change. Nothing is cached of a server's file: while the server is silent, reading must fail. */
#include "sessionfs/base/limits.h"
#include "session_impl.h"

enum { READAHEAD_BYTES = LIMIT(32 * 1024, 512) }; /* of a place */
enum { SCANNED_MAX = LIMIT(8 << 20, 8192) };      /* bytes cached of one scan */

void scanned_add(const struct session *s, uint64_t off, struct span line)
{
	struct scanned *k = &s->derived->scanned;
	if (!k->wanted || s->whole.n || k->bytes.n + line.n > SCANNED_MAX || opened_is_foreign(s->file))
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
	uint64_t off = *(const uint64_t *)pa;
	const struct scanned_line *l = pb;
	return off < l->off ? -1 : off >= l->off + l->n;
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

static void readahead_move_to_front(struct derived *d, unsigned i)
{
	struct readahead_bytes used = d->readahead[i];
	memmove(d->readahead + 1, d->readahead, i * sizeof used);
	d->readahead[0] = used;
}

/* Exchanges *a for the place used least recently. */
static void readahead_swap(struct derived *d, struct readahead_bytes *a)
{
	LOCKED(&d->readahead_lock);
	struct readahead_bytes *last = &d->readahead[READAHEAD_PLACES - 1], before = *last;
	*last = *a;
	if (a->bytes.n)
		readahead_move_to_front(d, READAHEAD_PLACES - 1);
	*a = before;
}

/* Appends the bytes if they are cached. */
static bool readahead_add_cached(struct derived *d, uint64_t off, size_t n, size_t more, struct buf *out)
{
	LOCKED(&d->readahead_lock);
	const struct scanned *k = &d->scanned;
	const struct scanned_line *l =
	    k->lines.n ? bsearch(&off, k->lines.v, k->lines.n, sizeof *k->lines.v, scanned_cmp) : NULL;
	if (l && off + n <= l->off + l->n) {
		buf_add(out, k->bytes.v + l->at + (off - l->off), n);
		return true;
	}
	for (unsigned i = 0; i < READAHEAD_PLACES; i++)
		if (readahead_add(&d->readahead[i], off, n, more, out)) {
			readahead_move_to_front(d, i);
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
	if (n + more > READAHEAD_BYTES / 2 || off + n > s->extent.end || opened_is_foreign(s->file))
		return false;
	readahead_swap(d, &a);
	buf_reset(&a.bytes);
	/* At the end of the file, the bytes before the line are as likely to be read next. */
	uint64_t end = s->extent.end, last = end > READAHEAD_BYTES ? end - READAHEAD_BYTES : 0;
	a.at = off < last ? off : last;
	size_t want = end - a.at < READAHEAD_BYTES ? (size_t)(end - a.at) : READAHEAD_BYTES;
	char *p = buf_reserve(&a.bytes, want);
	ssize_t got = p ? opened_pread(s->file, p, want, a.at) : -ENOMEM;
	a.bytes.n = got > 0 ? (size_t)got : 0;
	bool is_there = readahead_add(&a, off, n, more, out);
	readahead_swap(d, &a);
	buf_release(&a.bytes);
	return is_there;
}

void readahead_drop(struct derived *d)
{
	LOCKED(&d->readahead_lock);
	for (unsigned i = 0; i < READAHEAD_PLACES; i++)
		buf_release(&d->readahead[i].bytes);
	scanned_release(&d->scanned);
}

size_t readahead_memory(struct derived *d)
{
	LOCKED(&d->readahead_lock);
	size_t bytes = vec_held(&d->scanned.bytes) + vec_held(&d->scanned.lines);
	for (unsigned i = 0; i < READAHEAD_PLACES; i++)
		bytes += buf_memory(&d->readahead[i].bytes);
	return bytes;
}
