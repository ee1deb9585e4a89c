/* SPDX-License-Identifier: MIT */
/* edit_fixture: compares records with expected ones. Ids are random, so `@0`, `@1`, ... match ids of 8 hex digits: the
 * same one each time, and all different. */
#ifndef EDIT_FIXTURE_H
#define EDIT_FIXTURE_H

#include "session_fixture.h"

#include <string.h>

#define NOW INT64_C(1767323045678)

static inline void assert_pattern(struct span text, const char *pattern)
{
	char ids[10][9] = {{0}};
	const char *p = text.p, *end = text.p + text.n, *q = pattern;
	while (*q && p < end) {
		if (*q != '@') {
			if (*p++ != *q++)
				break;
			continue;
		}
		char *id = ids[q[1] - '0'];
		if (end - p < 8 || strspn(p, "0123456789abcdef") < 8 || (*id && memcmp(id, p, 8) != 0))
			break;
		memcpy(id, p, 8);
		p += 8;
		q += 2;
	}
	if (*q || p < end)
		fail_msg("\"%.*s\" is not \"%s\"", (int)text.n, text.p ? text.p : "", pattern);
	for (unsigned i = 0; i < 10; i++)
		for (unsigned k = 0; k < i; k++)
			assert_true(!*ids[i] || strcmp(ids[i], ids[k]) != 0);
}

#endif
