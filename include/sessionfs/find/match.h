/* SPDX-License-Identifier: MIT */
/* match: which entries of one session match a query, and what hits.txt says of them.
 *
 * First the raw bytes of the file are scanned for what must be in a line that can match: most files need no more, not
 * even an index. Only lines in which it is are parsed and checked. Every function asks cancel_check in between.
 *
 * A matcher is one thread's: it holds the memory that is used again from session to session. */
#ifndef SESSIONFS_MATCH_H
#define SESSIONFS_MATCH_H

#include "sessionfs/base/vec.h"
#include "sessionfs/find/query.h"
#include "sessionfs/session/session.h"

#include <sys/types.h>

struct matcher;

/* q is borrowed until matcher_close. 0 or -ENOMEM. */
int matcher_open(const struct query *q, struct matcher **ret);
void matcher_close(struct matcher *m);

/* A session file's bytes: read() answers as pread(2) does, with a negative errno; 0 at the end. */
struct match_file {
	ssize_t (*read)(void *arg, void *p, size_t n, uint64_t off);
	void *arg;
};
/* Whether a line of the file can match that begins at `from` or behind it: 1, and *ret_at (may be NULL) is a place in
 * the first such line; 0: none; or a negative errno. `from` is where a line begins. */
int match_next_candidate(struct matcher *m, const struct match_file *file, uint64_t from, uint64_t *ret_at);

/* What is shown of the entries that match, entry after entry: lines of hits.txt, and each a row of entries.tsv and the
 * WHAT TEXT of its link. */
enum found_text { FOUND_HITS, FOUND_ROWS, FOUND_NAMES, FOUND_TEXTS };
/* An entry that matches, and where it ends: after so many lines of hits.txt, and bytes of each text. */
struct found {
	uint32_t entry, lines;
	uint32_t ends[FOUND_TEXTS];
};
struct found_list {
	struct found *v;
	size_t n, cap;
	const char *project, *stem;    /* of the session, as it is named */
	struct buf texts[FOUND_TEXTS]; /* empty if they are not kept */
	bool texts_dropped;
};
void found_release(struct found_list *f);
/* Where entry number i begins. */
struct found found_entry_begin(const struct found_list *f, size_t i);

/* Appends the entries from number `from` on that match to *out, in order, until that holds `most`, and their texts.
 * *ret_next is the entry to go on with: session_count(s) at the end. The session is locked for reading by the caller;
 * what query_may_match_session asks is not asked again. 0 or a negative errno; then what was found before stays.
 *
 * An entry without a time is taken to be as old as the session file; *ret_undated (may be NULL) is set if that was
 * asked for, so that the result holds for this mtime only. */
int match_session(struct matcher *m, const struct session *s, uint32_t from, size_t most, struct found_list *out,
                  uint32_t *ret_next, bool *ret_undated);

/* The entry of the line at, or next behind, an offset of the file; session_count(s) if there is none. */
uint32_t match_entry_at(const struct session *s, uint64_t offset);

/* Of an entry hits.txt has so many lines, and of a line so many characters; of its best line entries.tsv has so many,
 * and the name of its link. */
#define HIT_LINES 3
#define HIT_CHARACTERS 300
#define ROW_CHARACTERS 160
#define NAME_CHARACTERS 60

/* A line that has words of the query: the file below the session's directory, the number of the line from 1, the line
 * as hits.txt has it (words_cut) and whole, and what it is as all.txt says it. All are the caller's until it returns.
 */
struct hit {
	struct span path, text, whole, what;
	uint64_t line;
	bool is_best; /* the first of those with the most different words */
};
/* Hands the `most` lines with the most different words of an entry that matches (without words the first ones) to
 * `add`, in their order, until that returns other than 0: this is returned then. 0, or a negative errno. */
int match_each_hit_line(struct matcher *m, const struct session *s, uint32_t entry, size_t most,
                        int (*add)(void *arg, const struct hit *hit), void *arg);
/* Appends what is shown of an entry that matches: `of` says of which session. *ret_lines are the lines of hits.txt. */
int match_show(struct matcher *m, const struct session *s, uint32_t entry, const struct found_list *of,
               struct buf texts[FOUND_TEXTS], uint32_t *ret_lines);
/* Appends what names the entry in a link to it, WHAT TEXT, as its row says them (of a long WHAT the beginning). 0 or a
 * negative errno. */
int match_name(struct matcher *m, const struct session *s, uint32_t entry, struct buf *out);

#endif
