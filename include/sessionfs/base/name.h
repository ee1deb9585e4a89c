/* SPDX-License-Identifier: MIT */
/* name: any text to one path component and back, by the encoding of the namespace ("Names"): `/`, `%`, bytes below
 * 0x20, 0x7f, a leading `.`, a leading `~` and every byte that is not valid UTF-8 become %XX (upper case). The empty
 * text is `%`. Lone surrogates in WTF-8 are not valid UTF-8: three %XX. A component longer than NAME_BYTES, prefix and
 * suffix included, is cut between characters (never inside a %XX). It then ends in `~` and the first 8 hex digits of
 * SHA-256 over prefix, text before encoding, and suffix. */
#ifndef SESSIONFS_NAME_H
#define SESSIONFS_NAME_H

#include "sessionfs/base/buf.h"

#include <stdint.h>

#define NAME_BYTES 255

/* Appends the component for prefix + text + suffix. Prefix and suffix are names already (not encoded again). After a
 * prefix, a leading `.` or `~` of the text is not encoded. */
void name_encode(const char *prefix, struct span text, const char *suffix, struct buf *out);

/* Appends the text that a component encodes. Returns false and appends nothing unless name_encode("", ...) gives
 * exactly this component for the text. Also false for a cut component, which is not reversible. */
bool name_decode(struct span component, struct buf *out);

/* Writes the first 8 hex digits of SHA-256 over the three spans one after the other, and a NUL. */
void name_hash8(struct span a, struct span b, struct span c, char ret[9]);

/* Returns the first 8 bytes of SHA-256 over the name. Unlike the hashes of hash.h, equal in every process. */
uint64_t name_hash64(struct span name);

#endif
