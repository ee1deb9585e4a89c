/* SPDX-License-Identifier: MIT */
/* files: the files that tool calls read, write and edit. Rules: sessionfs(5), "Files". The caller locks the session for
 * reading. Functions that return an int return 0 or a negative errno. */
#ifndef SESSIONFS_FILES_H
#define SESSIONFS_FILES_H

#include "sessionfs/session/part.h"
#include "sessionfs/session/session.h"

/* A longer path is ignored: no kernel would accept it. */
#define FILE_PATH_MAX ((size_t)4096)
/* Appends the path of the file that a call reads, writes or edits. Returns false and appends nothing if it has no file.
 */
bool call_file_path(const struct session *s, const struct part_call *call, struct buf *out);

/* Returns how a call ended: a nested call has its own state, any other the state of its result (NO_ENTRY: no result).
 */
enum nested call_ending(const struct session *s, const struct part_call *call, uint32_t result);

/* A call that has a file. */
struct file_use {
	uint32_t entry, result; /* result: NO_ENTRY without one, as for a nested call */
	const struct part_call *call;
	struct span path; /* clean */
};
/* Calls fn for each in file order; stops at and returns the first non-zero result. */
int session_each_file_use(const struct session *s, int (*fn)(void *arg, const struct file_use *use), void *arg);

/* Append the rows of files.tsv, and the whole file; nothing if it has no rows. */
#define FILES_HEADING "time\tentry\tcall\taction\toutcome\tpath\n"
int render_files_rows(const struct session *s, struct buf *out);
int render_files(const struct session *s, struct buf *out);

/* change.c. Returns whether a call changed its file, if it has one: the call writes or edits, and its result reports
 * success. */
bool change_succeeded(const struct session *s, const struct part_call *call, uint32_t result);
/* Appends the change that a call made as a unified diff; nothing if it is unknown. */
int render_change(const struct session *s, const struct part_call *call, uint32_t result, struct buf *out);
/* Adds the numbers of lines that such a diff adds and removes. */
void change_count_lines(struct span diff, uint64_t *added, uint64_t *removed);

#endif
