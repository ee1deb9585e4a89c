/* SPDX-License-Identifier: MIT */
/* space: white space as JavaScript's trim() knows it: that of ASCII and of Unicode, and the byte order mark. */
#ifndef SESSIONFS_SPACE_H
#define SESSIONFS_SPACE_H

#include "sessionfs/base/span.h"

/* The length of the white-space character that s begins with, or 0. */
size_t space_size(struct span s);

/* The text without the white space at both ends. */
struct span space_trim(struct span s);

/* The length of the control character that s begins with (or U+2028, U+2029, which end lines, too), or 0. */
size_t control_size(struct span s);
/* Puts `instead` in place of each of these. Returns how many bytes there are then. */
size_t space_flatten(char *p, size_t n, char instead);

#endif
