/* SPDX-License-Identifier: MIT */
/* A session file in a temporary place, opened and locked for reading, for the tests of the renderers. */
#ifndef RENDER_FIXTURE_H
#define RENDER_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "produce.h"
#include "session_file.h"

static inline void fixture_open(struct fixture *f, const char *bytes, size_t n)
{
	assert_int_equal(open_bytes(f, bytes, n), 0);
	session_rdlock(f->s);
}

static inline void fixture_close(struct fixture *f)
{
	session_unlock(f->s);
	fixture_release(f);
}

#define CLEANUP_OPENED CLEANUP(fixture_close)

/* Sets `out` to the view of the leaf. */
static inline void view_of(const struct producer *producer, const char *lines, size_t n, const char *prefix,
                           struct buf *out)
{
	struct fixture f;

	buf_reset(out);
	fixture_open(&f, lines, n);
	assert_int_equal(produce(producer, f.s, session_leaf(f.s), prefix, out), 0);
	assert_non_null(buf_cstr(out));
	fixture_close(&f);
}

/* Runs `make` on a session of these lines and compares the output. */
static inline void assert_renders(int (*make)(const struct session *, struct buf *), const char *lines,
                                  const char *want)
{
	struct fixture f;
	struct buf out CLEANUP_BUF = BUF_INIT;

	fixture_open(&f, lines, strlen(lines));
	assert_int_equal(make(f.s, &out), 0);
	assert_string_equal(buf_cstr(&out), want);
	fixture_close(&f);
}

/* Returns true if a line of the text is exactly this. */
static inline bool has_line(const struct buf *text, const char *line, size_t n)
{
	const char *end = text->p + text->n;

	for (const char *p = text->p; p < end;) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			return false;
		if ((size_t)(eol - p) == n && memcmp(p, line, n) == 0)
			return true;
		p = eol + 1;
	}
	return false;
}

#define assert_line(text, line) assert_true(has_line((text), (line), strlen(line)))

#endif
