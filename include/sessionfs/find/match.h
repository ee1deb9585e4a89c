/* SPDX-License-Identifier: MIT */
/* match: which entries of one session match a query, and their lines in hits.txt.
 *
 * First, the raw bytes of the file are scanned for what each matching line must contain: most files need neither more
 * nor an index. Only lines that contain it are parsed and checked. Every function calls cancel_check regularly.
 *
 * A matcher belongs to one thread; it keeps buffers that are reused for each session. */
#ifndef SESSIONFS_MATCH_H
#define SESSIONFS_MATCH_H

#include "sessionfs/base/hash.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/find/query.h"
#include "sessionfs/session/session.h"

#include <sys/types.h>

struct matcher;

/* q must outlive the matcher. Returns 0 or -ENOMEM. */
int matcher_open(const struct query *q, struct matcher **ret);
void matcher_close(struct matcher *m);

/* The bytes of a session file. read() works like pread(2), but returns a negative errno. */
struct match_file {
	ssize_t (*read)(void *arg, void *p, size_t n, uint64_t off);
	void *arg;
};
/* Searches for the first line at or after `from`, the start of a line, that can match. `has_ids`: as in struct format.
 * Returns 1 and sets *ret_at (or NULL) to an offset in that line, 0 if no line can match, or a negative errno.
 *
 * With in:session, one word after the other is searched in the file, the first one from `from` on: *words (or NULL),
 * at first 0, counts those that the file can have. Lines before `from` cannot have the next one. *ret_at is 0. */
int match_next_candidate(struct matcher *m, const struct match_file *file, bool has_ids, uint64_t from, size_t *words,
                         uint64_t *ret_at);

/* The texts of matching entries: lines of hits.txt, one row of entries.tsv, and the WHAT TEXT of the link. */
enum found_text { FOUND_HITS, FOUND_ROWS, FOUND_NAMES, FOUND_TEXTS };
/* A matching entry. `lines` (of hits.txt) and `ends` (bytes of each text) include all entries before it. */
struct found {
	uint64_t copy_key; /* the same for copies of one entry in several sessions; 0 if the list has no secret */
	uint32_t entry, lines;
	uint32_t ends[FOUND_TEXTS];
};
struct found_list {
	struct found *v;
	size_t n, cap;
	const char *project, *stem;    /* names of the session */
	const struct hash_key *secret; /* for copy_key; or NULL */
	struct buf texts[FOUND_TEXTS];
};
void found_release(struct found_list *f);
/* Returns where entry number i begins. */
struct found found_entry_begin(const struct found_list *f, size_t i);

/* Appends matching entries to *out with their texts, in order from entry `from`, until *out has `most`. Sets *ret_next
 * to the entry to continue with: session_count(s) at the end. The caller holds the session's read lock, and has called
 * query_may_match_session. Returns 0 or a negative errno; *out then keeps the entries found so far.
 *
 * With in:session, entry 0 is the only one to begin with until an entry of the session was found.
 *
 * An entry without a time is as old as the session file. If a filter compared such a time, *ret_undated (or NULL) is
 * set: the result is valid for this mtime only. */
int match_session(struct matcher *m, const struct session *s, uint32_t from, size_t most, struct found_list *out,
                  uint32_t *ret_next, bool *ret_undated);

/* Returns the entry of the line at a file offset, or of the next line; session_count(s) at the end. */
uint32_t match_entry_at(const struct session *s, uint64_t offset);

/* Limits: lines of an entry in hits.txt; characters of a line in hits.txt, in entries.tsv and in the name of a link. */
#define HIT_LINES 3
#define HIT_CHARACTERS 300
#define ROW_CHARACTERS 160
#define NAME_CHARACTERS 60

/* A line with words of the query: the file (relative to the session's directory), the line number from 1, the line as
 * in hits.txt (words_cut) and in full, and the kind of text as in all.txt. The caller owns all until the callback
 * returns. */
struct hit {
	struct span path, text, whole, what;
	uint64_t line;
};
/* Receives a line, and the list with the names of its session. Returns at least 0, or a negative errno. */
typedef int hit_fn(void *arg, const struct found_list *of, const struct hit *hit);
/* Calls fn for the `most` lines of a matching entry with the most different words, in their order; without words, for
 * the first lines. Stops at the first negative result of fn, and returns it. Returns 0 or a negative errno. */
int match_each_hit_line(struct matcher *m, const struct session *s, const struct found_list *of, uint32_t entry,
                        size_t most, hit_fn *fn, void *arg);
/* Appends the name of a link to a matching entry: WHAT TEXT as in its row, with a long WHAT cut. Returns 0 or a
 * negative errno. */
int match_name(struct matcher *m, const struct session *s, uint32_t entry, struct buf *out);

#endif
