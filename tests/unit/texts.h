/* SPDX-License-Identifier: MIT */
/* texts: compares a text with the expected one; prints both if they differ. */
#ifndef TEST_TEXTS_H
#define TEST_TEXTS_H

#include "sessionfs/base/buf.h"

#include <string.h>

static inline void assert_span(struct span s, const char *text)
{
	if (!span_is(s, text))
		fail_msg("\"%.*s\" is not \"%s\"", (int)s.n, s.n ? s.p : "", text);
}

/* For texts that can contain a NUL. */
static inline void assert_spans_equal(struct span a, struct span b)
{
	if (!span_eq(a, b))
		fail_msg("\"%.*s\" is not \"%.*s\"", (int)a.n, a.n ? a.p : "", (int)b.n, b.n ? b.p : "");
}

static inline void assert_buf(const struct buf *b, struct span want)
{
	assert_int_equal(buf_err(b), 0);
	assert_spans_equal(buf_span(b), want);
}

static inline void assert_text(const struct buf *b, const char *text)
{
	assert_span(buf_span(b), text);
}

#endif
