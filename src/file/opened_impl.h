/* SPDX-License-Identifier: MIT */
/* What an open file remembers of the line that was read last, if it redacts. Private to file. */
#ifndef SESSIONFS_OPENED_IMPL_H
#define SESSIONFS_OPENED_IMPL_H

#include "sessionfs/base/lock.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/file/opened.h"

/* Bytes of the file. */
struct range {
	uint64_t at, end;
};

struct masked_line {
	struct lock lock;
	struct stat st;    /* of the file when the line was read; another one may have another line */
	struct range line; /* without newline; of a line that is too long the part that is known */
	bool is_hidden;    /* all of it */
	VEC(struct range) masks;
};

/* NULL: it does not redact. */
struct masked_line *opened_mask(struct opened *o);
/* As fstat(2), with a negative errno. */
int opened_stat(struct opened *o, struct stat *ret);

#endif
