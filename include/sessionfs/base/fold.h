/* SPDX-License-Identifier: MIT */
/* fold: the form that searched text is compared in. It is composed (NFC), so that it does not matter how a letter and
 * its accents are written. Typographic quotes, hyphens and blanks compare as the ASCII ones (listed in sessionfs(5),
 * "Search"). Then Unicode's simple case folding applies (one character to one; CaseFolding.txt, status C and S), and
 * the result is composed. The locale has no effect. */
#ifndef SESSIONFS_FOLD_H
#define SESSIONFS_FOLD_H

#include "sessionfs/base/buf.h"

/* Returns the simple case folding of the character; most fold to themselves. */
uint32_t fold_char(uint32_t c);

/* Returns whether the character is part of a word: a letter, a mark on one, a digit or `_`. */
bool fold_is_word(uint32_t c);

/* Returns the form a character on its own compares as; FOLD_MANY if that is several characters, or if it joins
 * others. */
#define FOLD_MANY UINT32_MAX
uint32_t fold_char_full(uint32_t c);

/* Returns the number of characters in `ret`. Any text whose folded form has `folded` has at least one of them. `folded`
 * must be a folded character that joins no other. FOLD_VARIANTS_MAX: the list can be incomplete. Takes about 1 ms. */
#define FOLD_VARIANTS_MAX 16
size_t fold_variants(uint32_t folded, uint32_t ret[FOLD_VARIANTS_MAX]);

/* Folds at least the first `most` bytes of *rest to UTF-8 in `to`, which has room for FOLD_ROOM(most). Returns the
 * length, and sets *rest to the remainder, which folds as it does in the whole text. Bytes that are not UTF-8 stay.
 * Composes at most FOLD_MARKS marks in a row at a time. */
#define FOLD_MARKS 30
#define FOLD_ROOM(n) (3 * ((n) + 4 * (1 + FOLD_MARKS) + 16))
size_t fold_write(struct span *rest, size_t most, char *to);
/* Appends the whole text folded, FOLD_PIECE bytes at a time. */
#define FOLD_PIECE 4096
void fold_add(struct span text, struct buf *out);

#endif
