/* SPDX-License-Identifier: MIT */
/* files: what tool calls did to files. Rules: sessionfs(5), "Files". The session is locked for reading by the caller;
 * functions that return an int return 0 or a negative errno. */
#ifndef SESSIONFS_FILES_H
#define SESSIONFS_FILES_H

#include "sessionfs/session/part.h"
#include "sessionfs/session/session.h"

/* A longer path is none: no kernel would take it. */
#define FILE_PATH_MAX ((size_t)4096)
/* Appends the path of the file that a call reads, writes or edits. False, and nothing: there is none. */
bool call_file_path(const struct session *s, const struct part_call *call, struct buf *out);

/* How a call ended: a nested one by itself, any other by its result (NO_ENTRY: none). */
enum nested call_ending(const struct session *s, const struct part_call *call, uint32_t result);

/* A call that has a file. */
struct file_use {
	uint32_t entry, result; /* result: NO_ENTRY if there is none, as of a nested call */
	const struct part_call *call;
	struct span path; /* clean */
};
/* Calls fn for each, in file order, until it returns other than 0: this is returned then. */
int session_each_file_use(const struct session *s, int (*fn)(void *arg, const struct file_use *use), void *arg);

/* The rows of files.tsv (1: `out` became longer than `max`, and the rest is missing), and all of it; nothing if there
 * is no row. */
#define FILES_HEADING "time\tentry\tcall\taction\toutcome\tpath\n"
int render_files_rows(const struct session *s, size_t max, struct buf *out);
int render_files(const struct session *s, struct buf *out);

/* change.c. Whether a call changed its file, if it has one: it writes or edits, and its result says that it is done. */
bool change_succeeded(const struct session *s, const struct part_call *call, uint32_t result);
/* Appends what a call changed as a unified diff; nothing if that is not known. */
int render_change(const struct session *s, const struct part_call *call, uint32_t result, struct buf *out);
/* Counts the lines that such a diff adds and removes, on top of what was counted before. */
void change_count_lines(struct span diff, uint64_t *added, uint64_t *removed);

#endif
