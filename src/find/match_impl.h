/* SPDX-License-Identifier: MIT */
/* The members of a matcher. Private to find. */
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
	struct entry_text parts; /* the text of an entry, part by part */
	struct buf value;        /* what a filter compares */
	struct buf path;         /* of an entry's file */
	struct buf cut;          /* a part of a line */
};

/* Call before reading another session, or the same after it changed: the reader knows lines by offset only. */
void matcher_reset(struct matcher *m);

/* Like match_show, for an entry that was already read: r is its record. */
int hit_append_texts(struct matcher *m, const struct session *s, uint32_t i, const struct record *r,
                     const struct found_list *of, struct buf texts[FOUND_TEXTS], uint32_t *ret_lines);

#endif
