/* SPDX-License-Identifier: MIT */
/* page_fixture: the page of a session of these lines. */
#ifndef PAGE_FIXTURE_H
#define PAGE_FIXTURE_H

#include "render_fixture.h"

#define PREFIX "../../projects/p/s s/"

static inline void page_of_bytes(const char *lines, size_t n, struct buf *out)
{
	view_of(&producer_page_html, lines, n, PREFIX, out);
}

static inline void page_of(const char *lines, struct buf *out)
{
	page_of_bytes(lines, strlen(lines), out);
}

static inline size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
		n++;
	return n;
}

#define assert_has(text, what) assert_non_null(strstr((text)->p, (what)))
#define assert_has_not(text, what) assert_null(strstr((text)->p, (what)))

#endif
