/* Base64 as Node's Buffer.from(text, "base64") reads it: both alphabets; characters that
 * belong to neither are skipped; the first `=` ends it. A character beyond U+00FF
 * counts as the low byte of each of its UTF-16 units, as in Node. */
#ifndef SESSIONFS_PART_BASE64_H
#define SESSIONFS_PART_BASE64_H

#include "sessionfs/base/span.h"

/* The most bytes that a text of this length can decode to. */
static inline size_t base64_most(struct span text)
{
	return text.n / 4 * 3 + 3;
}

/* Writes the decoded bytes to `to`, or only counts them if it is NULL. Returns how many. */
size_t base64_decode(struct span text, char *to);

#endif
