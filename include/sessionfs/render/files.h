/* SPDX-License-Identifier: MIT */
/* files: what tool calls did to files. Rules: sessionfs(5), "Files". The session is locked for reading by the caller;
 * functions that return an int return 0 or a negative errno. */
#ifndef SESSIONFS_FILES_H
#define SESSIONFS_FILES_H

#include "sessionfs/session/part.h"
#include "sessionfs/session/session.h"

/* Appends the path of the file that a call reads, writes or edits. False, and nothing: there is none. */
bool file_of_call(const struct session *s, const struct part_call *call, struct buf *out);

enum file_outcome { FILE_OPEN, FILE_FAILED, FILE_DONE };
/* What the result says of its call; NO_ENTRY: there is none. */
enum file_outcome file_outcome_of(const struct session *s, uint32_t result);

/* A call that has a file. */
struct file_use {
	uint32_t entry, result; /* result: or NO_ENTRY */
	enum file_action action;
	enum file_outcome outcome;
	const struct part_call *call;
	struct span path; /* clean */
};
/* Calls fn for each, in file order, until it returns other than 0: this is returned then. */
int files_each(const struct session *s, int (*fn)(void *arg, const struct file_use *use), void *arg);

/* files.tsv; nothing if it would have no row. The rows alone. */
#define FILES_HEADING "time\tentry\tcall\taction\toutcome\tpath\n"
int render_files(const struct session *s, struct buf *out);
/* Whether it surely has a row. If not, only its contents can tell, unless *ret_any is false. */
bool render_files_begins(const struct session *s, bool *ret_any);
int render_files_rows(const struct session *s, struct buf *out);

/* change.c. Appends what a call changed as a unified diff; nothing if that is not known. `result` as in file_use. */
int render_change(const struct session *s, const struct part_call *call, uint32_t result, struct buf *out);
/* How many lines a unified diff adds and removes. */
void change_count(struct span diff, uint64_t *ret_added, uint64_t *ret_removed);

#endif
