/* SPDX-License-Identifier: MIT */
/* The members of a matcher. Private to find. */
#ifndef SESSIONFS_MATCH_IMPL_H
#define SESSIONFS_MATCH_IMPL_H

#include "sessionfs/find/match.h"
#include "sessionfs/render/entry_text.h"

#include "query_impl.h"
#include "scan.h"
#include "words.h"

/* A line of an entry that was kept; `order` counts them. */
struct kept_line {
	size_t rank, order;
	struct hit hit; /* without `text` */
};

struct matcher {
	const struct query *q;
	const struct session *s; /* that is read */
	uint32_t entry;          /* of it, and its record */
	struct record r;
	const struct term *term; /* that is checked */
	bool is_undated;         /* a filter compared the time of the file */
	struct needles needles;
	struct scanner scanner;
	struct words words;
	struct reader reader;
	struct line label;           /* the record of one */
	struct entry_text parts;     /* the text of an entry, part by part */
	struct buf value;            /* what a filter compares */
	struct buf path;             /* of an entry's file */
	struct buf cut;              /* a part of a line */
	VEC(struct kept_line) lines; /* the best ones of the entry that was read last */
	VEC(struct buf) kept;        /* what they point to */
	struct hit best;             /* the first line with the most different words, or an empty one */
	uint64_t copy_key;           /* a hash of the name, time and all text of the entry, not 0; 0 without a secret */
	bool is_named;               /* the query is the id of the session that is read */
	bool may_name;               /* or can be the name of an entry that is not in its file */
};

/* Call before reading session s, if it is another one or changed: the reader knows lines by offset only. */
void matcher_reset(struct matcher *m, const struct session *s);

/* Reads the values of the entry that the filter of m->term compares: m->value has them, each with a NUL after it.
 * Returns 0 or a negative errno. */
int match_read_values(struct matcher *m);
/* Begins the parts of the entry. */
void match_begin_parts(struct matcher *m);
/* Returns whether the query searches the current part of m->parts. */
bool match_searches_part(const struct matcher *m);
/* Returns whether the query is the id of the entry, or of its session. */
bool match_names_entry(struct matcher *m);

/* Reads the texts of the entry, and keeps their best lines, at most `most`. `is_named`: it matches by its id. Returns
 * 1 if the texts match the words, or 0, or a negative errno. */
int match_read_texts(struct matcher *m, size_t most, bool is_named, const struct hash_key *secret);
/* Frees the lines and texts that were kept. */
void match_drop_lines(struct matcher *m);
/* After match_read_texts: appends the texts of a matching entry. */
int hit_append_texts(struct matcher *m, struct found_list *found);

#endif
