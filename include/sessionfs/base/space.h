/* SPDX-License-Identifier: MIT */
/* space: white space of JavaScript's trim(): ASCII's, Unicode's, and the byte order mark. */
#ifndef SESSIONFS_SPACE_H
#define SESSIONFS_SPACE_H

#include "sessionfs/base/span.h"

/* Returns the length of the white-space character at the start of s, or 0. */
size_t space_size(struct span s);

/* Returns the text without the white space at both ends. */
struct span space_trim(struct span s);

/* Returns the length of the control character at the start of s (or U+2028, U+2029, which also end lines), or 0. */
size_t control_size(struct span s);
/* Replaces each control character by `instead`. For a terminal, `keep` is not NULL: control characters in it stay, and
 * bytes from 0x80 to 0x9f that are not UTF-8 are replaced, too. Returns the new length. */
size_t space_flatten(char *p, size_t n, char instead, const char *keep);

#endif
