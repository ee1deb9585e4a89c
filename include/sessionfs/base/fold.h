/* SPDX-License-Identifier: MIT */
/* fold: what text is compared as by who searches it. Composed (NFC), so that it does not matter how a letter and its
 * accents are written; typographic quotes, hyphens and blanks as those of ASCII (the list: sessionfs(5), "Search");
 * then case is folded by the simple case folding of Unicode (one character for one; CaseFolding.txt, status C and S),
 * and what that has made is composed. No locale has a say in it. */
#ifndef SESSIONFS_FOLD_H
#define SESSIONFS_FOLD_H

#include "sessionfs/base/buf.h"

/* What the character folds to, by its case alone; most fold to themselves. */
uint32_t fold_char(uint32_t c);

/* Whether the character is part of a word: a letter, a mark on one, a digit or `_`. */
bool fold_is_word(uint32_t c);

/* What the character is compared as where nothing joins it; FOLD_MANY if that is several, or if it joins others. */
#define FOLD_MANY UINT32_MAX
uint32_t fold_char_full(uint32_t c);

/* Characters of which any text has at least one that, folded, has `folded`, which is one of them and joins nothing;
 * returns how many. FOLD_VARIANTS_MAX: there may be more. Takes some 100 us. */
#define FOLD_VARIANTS_MAX 16
size_t fold_variants(uint32_t folded, uint32_t ret[FOLD_VARIANTS_MAX]);

/* Writes at least the first `most` bytes of *rest folded, as UTF-8, and returns how many; *rest is what is left, and
 * folds to the same as in the whole text. Bytes that are no UTF-8 stay as they are. Of more marks than FOLD_MARKS in a
 * row so many are composed at a time. `to` has room for FOLD_ROOM(most). */
#define FOLD_MARKS 30
#define FOLD_ROOM(n) (3 * ((n) + 4 * (1 + FOLD_MARKS) + 16))
size_t fold_write(struct span *rest, size_t most, char *to);
/* Appends the whole text folded; so many bytes at a time. */
#define FOLD_PIECE 4096
void fold_add(struct span text, struct buf *out);

#endif
