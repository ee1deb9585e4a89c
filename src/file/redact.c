/* SPDX-License-Identifier: MIT */
/* Hides what looks like a key in what is read of a file. Whole lines in a read are looked through where they are. Of
 * the lines at its two ends the rest is read, too: a key can be cut there, and what is in front of it decides, too.
 * Nothing is taken from an earlier look at a line but while the file is the same: whoever reads a long line piece by
 * piece has it looked through once. */
#include "opened_impl.h"

#include "sessionfs/base/buf.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/secret.h"

#include <errno.h>
#include <string.h>

/* Of a line with more parts to hide than this none are remembered. */
enum { MASKS = LIMIT(4096, 4), AHEAD = 4096 };

/* What is read, and where it is in the file. */
struct reading {
	struct opened *file;
	char *p;
	uint64_t off;
};

static void range_hide(const struct reading *r, struct range part, struct range hidden)
{
	uint64_t at = hidden.at > part.at ? hidden.at : part.at, end = hidden.end < part.end ? hidden.end : part.end;
	if (at < end)
		memset(r->p + (at - r->off), '*', (size_t)(end - at));
}

/* Finds the bytes to hide of a text that begins at `off` in the file. */
static int find_masks(struct span text, uint64_t off, struct masked_line *m)
{
	struct secrets found CLEANUP(secrets_release) = {0};
	struct span part;
	int rc = secrets_find(text, &found);
	for (size_t i = 0; i < found.n && rc == 0; i++) {
		for (size_t from = 0; (part = secret_part(&found.v[i], text.p, from)).n > 0;) {
			from = (size_t)(part.p - text.p) - found.v[i].at + part.n;
			uint64_t at = off + (uint64_t)(part.p - text.p);
			if (!vec_reserve(&m->masks, 1))
				return -ENOMEM;
			m->masks.v[m->masks.n++] = (struct range){at, at + part.n};
		}
	}
	return rc;
}

static void line_hide(const struct reading *r, struct range part, const struct masked_line *m)
{
	size_t low = 0, high = m->masks.n;
	if (m->is_hidden)
		range_hide(r, part, part);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (m->masks.v[middle].end <= part.at)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < m->masks.n && m->masks.v[low].at < part.end; low++)
		range_hide(r, part, m->masks.v[low]);
}

/* --- the line at an end of what is read ------------------------------------------- */

/* Whether the line was the last one that was looked through; then its part is hidden. A line that is too long goes on
 * where its known part ends. */
static bool hide_as_known(const struct reading *r, struct range part, const struct stat *now)
{
	struct masked_line *m = opened_mask(r->file);
	LOCKED(&m->lock);
	bool is_long = m->line.end - m->line.at > SECRET_LINE;
	if (m->st.st_size != now->st_size || !time_is_same(m->st.st_mtim, now->st_mtim) ||
	    !time_is_same(m->st.st_ctim, now->st_ctim) || part.at < m->line.at ||
	    (is_long ? part.at > m->line.end : part.end > m->line.end))
		return false;
	if (part.end > m->line.end)
		m->line.end = part.end;
	line_hide(r, part, m);
	return true;
}

/* Looks for the end of the line behind `end`. 1: a newline is there, 0: the file ends; or a negative errno. */
static int find_end(struct opened *o, uint64_t *end, uint64_t most)
{
	char piece[AHEAD];
	while (*end < most) {
		ssize_t got = opened_stored(o, piece, sizeof piece, *end);
		int rc = cancel_check();
		if (got <= 0 || rc < 0)
			return got < 0 ? (int)got : rc;
		const char *newline = memchr(piece, '\n', (size_t)got);
		*end += (uint64_t)(newline ? newline - piece : got);
		if (newline)
			return 1;
	}
	return 1;
}

/* Looks through the line that a part is of, and finds what to hide of it. The part is read again with it, so that it is
 * the text that was looked through. */
static int look_through(const struct reading *r, struct range part, struct masked_line *m)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	int rc = opened_line_begin(r->file, part.at, SECRET_LINE + 1, &m->line.at);
	m->line.end = part.end;
	int is_whole = rc < 0 ? rc : find_end(r->file, &m->line.end, m->line.at + SECRET_LINE + 1);
	if (is_whole < 0)
		return is_whole;
	m->is_hidden = m->line.end - m->line.at > SECRET_LINE;
	if (m->is_hidden)
		return 0;
	/* With the newline in front, to see that it is one still. */
	const size_t front = m->line.at > 0;
	rc = opened_take(r->file, m->line.at - front, (size_t)(m->line.end - m->line.at) + front, &text);
	if (rc < 0)
		return rc;
	struct span line = {text.p + front, text.n - front};
	if ((front && *text.p != '\n') || memchr(line.p, '\n', line.n))
		return -ESTALE;
	memcpy(r->p + (part.at - r->off), line.p + (part.at - m->line.at), (size_t)(part.end - part.at));
	struct span shown = line;
	while (shown.n > 0 && strchr(" \t\r", shown.p[shown.n - 1]))
		shown.n--;
	m->is_hidden = !is_whole && (shown.n == 0 || shown.p[shown.n - 1] != '}');
	return m->is_hidden ? 0 : find_masks(line, m->line.at, m);
}

static int hide_in_part(const struct reading *r, struct range part)
{
	struct masked_line *known = opened_mask(r->file), m = {.is_hidden = false};
	int rc = part.at == part.end ? 0 : opened_stat(r->file, &m.st);
	if (rc < 0 || part.at == part.end || hide_as_known(r, part, &m.st))
		return rc;
	rc = look_through(r, part, &m);
	if (rc == 0)
		line_hide(r, part, &m);
	if (rc == 0 && m.masks.n <= MASKS) {
		LOCKED(&known->lock);
		vec_release(&known->masks);
		known->st = m.st;
		known->line = m.line;
		known->is_hidden = m.is_hidden;
		known->masks.v = m.masks.v;
		known->masks.n = m.masks.n;
		known->masks.cap = m.masks.cap;
		m.masks.v = NULL;
	}
	vec_release(&m.masks);
	return rc;
}

/* --- all of it -------------------------------------------------------------------- */

/* Hides keys in n bytes from `at` on: whole lines. */
static int hide_in_lines(const struct reading *r, size_t at, size_t n)
{
	struct masked_line m = {.is_hidden = false};
	const struct range all = {r->off + at, r->off + at + n};
	int rc = find_masks((struct span){r->p + at, n}, all.at, &m);
	if (rc == 0)
		line_hide(r, all, &m);
	vec_release(&m.masks);
	const char *p = r->p + at, *end = p + n;
	for (const char *newline; n > SECRET_LINE && p < end; p = newline + 1) {
		newline = memchr(p, '\n', (size_t)(end - p));
		if ((size_t)(newline - p) > SECRET_LINE)
			memset(r->p + (p - r->p), '*', (size_t)(newline - p));
	}
	return rc;
}

ssize_t opened_pread(struct opened *o, void *p, size_t n, uint64_t off)
{
	ssize_t got = opened_stored(o, p, n, off);
	if (got <= 0 || !opened_redacts(o))
		return got;
	const struct reading r = {o, p, off};
	const char *first = memchr(p, '\n', (size_t)got), *last = first ? memrchr(p, '\n', (size_t)got) : NULL;
	/* From byte `begin` to `end` lines are whole. */
	size_t begin = off == 0 ? 0 : first ? (size_t)(first - r.p) + 1 : (size_t)got;
	size_t end = last ? (size_t)(last - r.p) + 1 : begin;
	int rc = hide_in_part(&r, (struct range){off, off + begin - (begin > 0 && first)});
	if (rc == 0 && end > begin)
		rc = hide_in_lines(&r, begin, end - begin);
	if (rc == 0)
		rc = hide_in_part(&r, (struct range){off + end, off + (size_t)got});
	return rc < 0 ? rc : got;
}
