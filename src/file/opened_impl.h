/* SPDX-License-Identifier: MIT */
/* What an open file remembers of the lines that were read last, if it redacts. Private to file. */
#ifndef SESSIONFS_OPENED_IMPL_H
#define SESSIONFS_OPENED_IMPL_H

#include "sessionfs/base/lock.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/file/opened.h"

/* Bytes of the file. */
struct masked_range {
	uint64_t at, end;
};

struct masked_lines {
	struct stat st;   /* of the file when they were read; another one may have other lines */
	uint64_t at, end; /* the lines as a whole, but for a long one's begin and end */
	uint64_t line;    /* where the line begins that the byte at `end` is of */
	VEC(struct masked_range) masks;
};

struct redact_cache {
	struct lock lock;
	struct masked_lines lines;
};

/* NULL: it does not redact. */
struct redact_cache *opened_redact_cache(struct opened *o);
/* As fstat(2), with a negative errno. */
int opened_stat(struct opened *o, struct stat *ret);

#endif
