/* SPDX-License-Identifier: MIT */
/* The lines that an open file read last, if it redacts. Private to file. */
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
	struct stat st;   /* of the file at the time; after a change, lines can differ */
	uint64_t at, end; /* whole lines, except the beginning and end of a long one */
	uint64_t line;    /* the start of the line that continues at `end` */
	VEC(struct masked_range) masks;
};

struct redact_cache {
	struct lock lock;
	struct masked_lines lines;
};

/* Returns NULL if it does not redact. */
struct redact_cache *opened_redact_cache(struct opened *o);
/* As fstat(2), with a negative errno. */
int opened_stat(struct opened *o, struct stat *ret);

#endif
