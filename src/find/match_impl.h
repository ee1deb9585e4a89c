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
	struct buf cut;          /* a part of a line */
};

/* Before another session is read, or the same after it changed: the reader knows lines by their offsets only. */
void matcher_reset(struct matcher *m);

/* The same as match_show, of an entry that was read: r is its record. */
int hit_append_texts(struct matcher *m, const struct session *s, uint32_t i, const struct record *r,
                     const struct found_list *of, struct buf texts[FOUND_TEXTS], uint32_t *ret_lines);

#endif
