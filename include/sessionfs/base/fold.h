/* SPDX-License-Identifier: MIT */
/* fold: text whose case is to be ignored, by the simple case folding of Unicode (one character for one;
 * CaseFolding.txt, status C and S). No locale has a say in it. */
#ifndef SESSIONFS_FOLD_H
#define SESSIONFS_FOLD_H

#include "sessionfs/base/buf.h"

/* What the character folds to; most fold to themselves. */
uint32_t fold_char(uint32_t c);

/* The characters that fold to `folded`, which is one of them; returns how many, at most FOLD_ALIKE. */
#define FOLD_ALIKE 4
size_t fold_alike(uint32_t folded, uint32_t ret[FOLD_ALIKE]);

/* Writes UTF-8 folded and returns how many bytes; bytes that are no UTF-8 stay as they are. `to` has room for
 * FOLD_ROOM(n). */
#define FOLD_ROOM(n) ((n) + (n) / 2 + 16)
size_t fold_write(const char *p, size_t n, char *to);
/* The same, appended. */
void fold_add(struct span text, struct buf *out);

#endif
