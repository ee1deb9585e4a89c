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
int match_may(struct matcher *m, const struct match_file *file, uint64_t from, uint64_t *ret_at);

/* An entry that matches, and what it takes in hits.txt without the prefix of its lines. */
struct found {
	uint32_t entry, lines;
	uint64_t bytes;
};
struct found_list {
	struct found *v;
	size_t n, cap;
};

/* Appends the entries from number `from` on that match to *out, in order, until that holds `most`. *ret_next is the
 * entry to go on with: session_count(s) at the end. The session is locked for reading by the caller; what
 * query_wants_session asks is not asked again. 0 or a negative errno; then what was found before stays.
 *
 * An entry without a time is taken to be as old as the session file; *ret_undated (may be NULL) is set if that was
 * asked for, so that the result holds for this mtime only. */
int match_session(struct matcher *m, const struct session *s, uint32_t from, size_t most, struct found_list *out,
                  uint32_t *ret_next, bool *ret_undated);

/* The entry of the line at, or next behind, an offset of the file; session_count(s) if there is none. */
uint32_t match_entry_at(const struct session *s, uint64_t offset);

/* One line of hits.txt: the file below the session's directory, the number of the line from 1, and the line. All are
 * the caller's until it returns. */
struct hit {
	struct span path, text;
	uint64_t line;
};
/* Hands each line of hits.txt of an entry that matches to `add`, in their order, until that returns other than 0: this
 * is returned then. 0, or a negative errno. */
int match_hits(struct matcher *m, const struct session *s, uint32_t entry, int (*add)(void *arg, const struct hit *hit),
               void *arg);
/* Appends them as text: prefix PATH:LINE:TEXT newline. */
int match_lines(struct matcher *m, const struct session *s, uint32_t entry, struct span prefix, struct buf *out);

#endif
