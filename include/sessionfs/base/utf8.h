/* utf8: well-formed or not, by the WHATWG decoder (Unicode table 3-7), so that
 * a U+FFFD stands where pi, which reads files through that decoder, has one. */
#ifndef SESSIONFS_UTF8_H
#define SESSIONFS_UTF8_H

#include "sessionfs/base/span.h"

/* The character at p, of n > 0 bytes: its length if it is well-formed, else
 * minus the length of the maximal ill-formed subpart (1 to 3). */
int utf8_next(const char *p, size_t n);

/* How many bytes at the beginning are well-formed. */
size_t utf8_prefix(struct span s);

/* The first characters of text, at most so many. */
struct span utf8_first(struct span text, size_t characters);

#endif
