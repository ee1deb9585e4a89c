/* SPDX-License-Identifier: MIT */
/* What a matcher holds. Private to find. */
#ifndef SESSIONFS_MATCH_IMPL_H
#define SESSIONFS_MATCH_IMPL_H

#include "sessionfs/find/match.h"
#include "sessionfs/render/entry_text.h"

#include "scan.h"
#include "words.h"

struct matcher {
	const struct query *q;
	struct needles needles;
	struct scanner scanner;
	struct words words;
	struct reader reader;
	struct line label;       /* the record of one */
	struct entry_text parts; /* what an entry says, part by part */
	struct buf value;        /* of what a filter asks for */
	struct buf path;         /* of a file of an entry */
};

/* Before another session is read, or the same after it changed: the reader knows lines by their offsets only. */
void matcher_forget(struct matcher *m);

/* Hands each line of hits.txt of entry i, the record of which is r, to add(). */
int hits_each(struct matcher *m, const struct session *s, uint32_t i, const struct record *r,
              int (*add)(void *arg, const struct hit *hit), void *arg);
/* How many lines that are, and their bytes. */
int hits_count(struct matcher *m, const struct session *s, uint32_t i, const struct record *r, struct found *ret);

#endif
