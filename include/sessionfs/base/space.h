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
/* Replaces each control character by `instead`. Returns the new length. */
size_t space_flatten(char *p, size_t n, char instead);
/* Replaces by `?` what a terminal obeys: each control character except TAB and newline, and each byte from 0x80 to 0x9f
 * that is not UTF-8. Returns the new length. */
size_t control_replace(char *p, size_t n);

#endif
