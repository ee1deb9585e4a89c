/* SPDX-License-Identifier: MIT */
/* Masks likely keys in reads of a file. Each line of a read is searched as a whole: a read can cut a key, and the bytes
 * before a key matter, too. The masks are cached while the file is unchanged: reading lines piece by piece searches
 * them once. */
#include "opened_impl.h"

#include "sessionfs/base/buf.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/file/secret.h"

#include <errno.h>
#include <string.h>

enum { AHEAD = 4096 };
/* Bytes read between two calls of cancel_check. */
#define PIECE ((size_t)LIMIT(1 << 20, 100))
/* The max number of attempts to read a file that keeps changing. */
#define REDACT_TRIES 8

/* Returns whether the next change of the file will change its time: two changes in one clock tick do not. */
static bool redact_is_settled(const struct stat *st)
{
	return st->st_ctim.tv_sec < clock_ago(1);
}

static void redact_apply(const struct masked_lines *m, char *p, size_t n, uint64_t off)
{
	for (size_t i = 0; i < m->masks.n; i++) {
		struct masked_range hidden = m->masks.v[i];
		uint64_t at = hidden.at > off ? hidden.at : off, end = hidden.end < off + n ? hidden.end : off + n;
		if (at < end)
			memset(p + (at - off), '*', (size_t)(end - at));
	}
}

/* Returns how many of n bytes at `off` are in the cached lines, and masks them in p, unless NULL. If they reach the end
 * of these lines, sets *line to the start of the line there. */
static size_t redact_from_cache(struct redact_cache *known, const struct stat *now, char *p, size_t n, uint64_t off,
                                uint64_t *line)
{
	LOCKED(&known->lock);
	const struct masked_lines *m = &known->lines;
	if (!stat_is_unchanged(&m->st, now) || off < m->at || off > m->end)
		return 0;
	if (n >= m->end - off) {
		n = (size_t)(m->end - off);
		*line = m->line;
	}
	if (p)
		redact_apply(m, p, n, off);
	return n;
}

static int redact_add_mask(struct masked_lines *m, uint64_t at, uint64_t end)
{
	if (!vec_reserve(&m->masks, 1))
		return -ENOMEM;
	m->masks.v[m->masks.n++] = (struct masked_range){at, end};
	return 0;
}

/* Reads from m->at, where m->line starts or continues, to the end of the line that contains the byte before `end`, or
 * until that line is too long. */
static int redact_read_line_ends(struct opened *o, uint64_t end, struct masked_lines *m, struct buf *text)
{
	for (m->end = m->at; m->end < end || (m->line < end && m->end - m->line <= SECRET_LINE);) {
		size_t n = m->end >= end ? AHEAD : end - m->end < PIECE ? (size_t)(end - m->end) : PIECE;
		char *p = buf_reserve(text, n);
		ssize_t got = p ? opened_pread_raw(o, p, n, m->end) : buf_err(text);
		int rc = cancel_check();
		if (got <= 0 || rc < 0)
			return got < 0 ? (int)got : rc;
		const char *newline = memrchr(p, '\n', (size_t)got);
		if (newline)
			m->line = m->end + (uint64_t)(newline + 1 - p);
		text->n += (size_t)got;
		m->end += (uint64_t)got;
	}
	if (m->line >= end)
		m->end = m->line;
	return 0;
}

/* Finds the masks of the text, whose first line starts at `line`: keys, lines that are too long, and an incomplete last
 * line. */
static int redact_find_masks(struct span text, uint64_t line, struct masked_lines *m)
{
	struct secrets found CLEANUP(secrets_release) = {0};
	struct span part;
	int rc = secrets_find(text, &found);
	for (size_t i = 0; i < found.n; i++) {
		for (size_t from = 0; rc == 0 && (part = secret_hidden_part(&found.v[i], text.p, from)).n > 0;) {
			from = (size_t)(part.p - text.p) - found.v[i].at + part.n;
			rc = redact_add_mask(m, m->at + (uint64_t)(part.p - text.p), m->at + found.v[i].at + from);
		}
	}
	while (rc == 0 && m->end - line > SECRET_LINE) {
		const char *from = text.p + (line > m->at ? line - m->at : 0);
		const char *newline = memchr(from, '\n', (size_t)(text.p + text.n - from));
		uint64_t end = newline ? m->at + (uint64_t)(newline - text.p) : m->end;
		if (end - line > SECRET_LINE)
			rc = redact_add_mask(m, line, end);
		line = end + 1;
		if (!newline)
			return rc;
	}
	while (text.n > 0 && strchr(" \t\r", text.p[text.n - 1]))
		text.n--;
	if (rc == 0 && m->line < m->end && (text.n == 0 || text.p[text.n - 1] != '}'))
		rc = redact_add_mask(m, m->line, m->end);
	return rc;
}

/* Returns -ESTALE if the text, read in pieces, was never in the file as a whole: half of a key written meanwhile does
 * not look like a key. Appended lines do not matter. */
static int redact_check(struct opened *o, const struct masked_lines *m, struct span text)
{
	char there[16384];
	struct stat now;
	int rc = opened_stat(o, &now);
	if (rc < 0 || (stat_is_unchanged(&m->st, &now) && redact_is_settled(&now)))
		return rc;
	for (size_t done = 0; done < text.n && rc == 0; rc = cancel_check()) {
		size_t n = text.n - done < sizeof there ? text.n - done : sizeof there;
		ssize_t got = opened_pread_raw(o, there, n, m->at + done);
		if (got <= 0 || memcmp(there, text.p + done, (size_t)got) != 0)
			return got < 0 ? (int)got : -ESTALE;
		done += (size_t)got;
	}
	return rc;
}

/* Reads as opened_pread; m->line is the start of the line at `off`, or UINT64_MAX. Returns only bytes that were
 * searched. */
static ssize_t redact_scan(struct opened *o, char *p, size_t n, uint64_t off, struct masked_lines *m)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	int rc = m->line == UINT64_MAX ? opened_find_line_start(o, off, SECRET_LINE + 1, &m->line) : 0;
	if (rc < 0)
		/* A read after the end of the file returns 0. */
		return rc == -ESTALE && opened_pread_raw(o, p, 1, off) == 0 ? 0 : rc;
	/* Includes the newline before the line, to check that it is still there. */
	const bool is_long = off - m->line > SECRET_LINE, front = m->line > 0 && !is_long;
	uint64_t line = m->line;
	m->at = is_long ? off : line - front;
	rc = redact_read_line_ends(o, off + n, m, &text);
	if (rc < 0 || m->end <= off)
		return rc;
	if (front && *text.p != '\n')
		return -ESTALE;
	text.n = (size_t)(m->end - m->at);
	rc = redact_check(o, m, buf_span(&text));
	if (rc == 0)
		rc = redact_find_masks(buf_span(&text), line, m);
	if (rc < 0)
		return rc;
	n = n < m->end - off ? n : (size_t)(m->end - off);
	memcpy(p, text.p + (off - m->at), n);
	redact_apply(m, p, n, off);
	return (ssize_t)n;
}

/* Reads as opened_pread, in one attempt: -ESTALE if the file changes meanwhile. */
static ssize_t redact_read(struct opened *o, struct redact_cache *known, void *p, size_t n, uint64_t off)
{
	struct masked_lines m = {.line = UINT64_MAX};
	struct stat now;
	int rc = opened_stat(o, &m.st);
	if (rc < 0)
		return rc;
	size_t begun = redact_from_cache(known, &m.st, NULL, n, off, &m.line);
	if (begun > 0) {
		ssize_t got = opened_pread_raw(o, p, begun, off);
		if (got <= 0)
			return got;
		rc = opened_stat(o, &now);
		if (rc < 0 || !stat_is_unchanged(&m.st, &now))
			return rc < 0 ? rc : -ESTALE;
		/* Another reader can have replaced the cached lines meanwhile. */
		m.line = UINT64_MAX;
		begun = redact_from_cache(known, &m.st, p, (size_t)got, off, &m.line);
	}
	if (begun == n || (begun > 0 && m.line == UINT64_MAX))
		return (ssize_t)begun;
	ssize_t rest = redact_scan(o, (char *)p + begun, n - begun, off + begun, &m);
	if (rest > 0 && redact_is_settled(&m.st)) {
		LOCKED(&known->lock);
		vec_release(&known->lines.masks);
		known->lines = m;
	} else {
		vec_release(&m.masks);
	}
	return rest < 0 ? rest : (ssize_t)begun + rest;
}

ssize_t opened_pread(struct opened *o, void *p, size_t n, uint64_t off)
{
	struct redact_cache *known = opened_redact_cache(o);
	ssize_t got = -ESTALE;
	if (!known)
		return opened_pread_raw(o, p, n, off);
	for (int tries = 0; got == -ESTALE && tries < REDACT_TRIES; tries++)
		got = redact_read(o, known, p, n, off);
	return got;
}
