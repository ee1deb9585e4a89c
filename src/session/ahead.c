/* SPDX-License-Identifier: MIT */
/* Bytes of the file where lines were read last. A program that walks through a session has one line read after the
 * other, each by a request of its own: so more is read than the line. Two places are kept: a result and its call stand
 * apart.
 *
 * Only what the index has taken in is kept. It does not change while the file's attributes stay; session_grow drops it
 * when they do not. Of a server's file nothing is kept: while that is silent, reading is an error. */
#include "sessionfs/base/limits.h"
#include "session_impl.h"

enum { AHEAD = LIMIT(32 * 1024, 512) };

/* Adds n bytes of the file, and of the `more` behind them those that are there. */
static bool ahead_add(const struct ahead *a, uint64_t off, size_t n, size_t more, struct buf *out)
{
	if (off < a->at || off + n > a->at + a->bytes.n)
		return false;
	size_t begin = (size_t)(off - a->at), rest = a->bytes.n - begin;
	buf_add(out, a->bytes.p + begin, n + more < rest ? n + more : rest);
	return true;
}

/* Puts the bytes in the place that was used less recently; the caller gets what was there. */
static void ahead_swap(struct derived *d, struct ahead *a)
{
	LOCKED(&d->ahead_lock);
	struct ahead *to = &d->ahead[1 - d->ahead_used], before = *to;
	if (a->bytes.n)
		d->ahead_used = 1 - d->ahead_used;
	*to = *a;
	*a = before;
}

bool ahead_take(const struct session *s, uint64_t off, size_t n, size_t more, struct buf *out)
{
	struct derived *d = s->derived;
	struct ahead a = {.bytes = BUF_INIT};
	bool is_there = false;
	if (n + more > AHEAD / 2 || off + n > s->at.end || opened_is_foreign(s->file))
		return false;
	lock_acquire(&d->ahead_lock);
	for (unsigned i = 0; i < 2 && !is_there; i++)
		if ((is_there = ahead_add(&d->ahead[i], off, n, more, out)))
			d->ahead_used = i;
	lock_release(&d->ahead_lock);
	if (is_there)
		return true;
	size_t want = s->at.end - off < AHEAD ? (size_t)(s->at.end - off) : AHEAD;
	ahead_swap(d, &a);
	buf_reset(&a.bytes);
	char *p = buf_reserve(&a.bytes, want);
	ssize_t got = p ? opened_pread(s->file, p, want, off) : -ENOMEM;
	a.bytes.n = got > 0 ? (size_t)got : 0;
	a.at = off;
	is_there = ahead_add(&a, off, n, more, out);
	ahead_swap(d, &a);
	buf_release(&a.bytes);
	return is_there;
}

void ahead_drop(struct derived *d)
{
	LOCKED(&d->ahead_lock);
	for (unsigned i = 0; i < 2; i++)
		buf_release(&d->ahead[i].bytes);
}

size_t ahead_memory(struct derived *d)
{
	LOCKED(&d->ahead_lock);
	return buf_memory(&d->ahead[0].bytes) + buf_memory(&d->ahead[1].bytes);
}
