/* SPDX-License-Identifier: MIT */
/* tool: what a tool call did, read from its name and arguments. Pure: values in, text out.
 *
 * pi's own tools are known, some of agents that are built on pi, and what models send instead of what they were told
 * to. Whatever does not have the arguments of its kind is TOOL_OTHER: nothing here trusts a name. All text that is
 * appended is clean (JSON_CLEAN). */
#ifndef SESSIONFS_TOOL_H
#define SESSIONFS_TOOL_H

#include "sessionfs/session/record.h"

enum tool_form {
	TOOL_OTHER,
	TOOL_EDIT,  /* texts of the file `path` replaced by others: tool_diff */
	TOOL_WRITE, /* the file `path` made anew with `content` */
	TOOL_READ,  /* the lines from `first` to `last` of the file `path` */
	TOOL_BASH,  /* `command` run by a shell */
};

/* A value that the form does not have, or that is no string, is JSON_NONE. */
struct tool_use {
	enum tool_form form;
	struct json_value name, arguments;        /* the arguments as an object, also if they were stored as text */
	struct json_value path, command, content; /* strings */
	struct json_value edits;                  /* an object or array of them, each with its texts */
	struct json_value old_text, new_text;     /* one more edit */
	unsigned first, last;                     /* 0: from the first line, to the last */
	unsigned shown_arguments;                 /* which of the arguments the form says */
	size_t argument_count;                    /* how many arguments there are */
	struct buf arguments_text, edits_text;    /* what was stored as text, decoded */
};
#define TOOL_USE_INIT                                                                                                  \
	{                                                                                                              \
		.arguments_text = BUF_INIT, .edits_text = BUF_INIT                                                     \
	}

/* The values point into `name`, `arguments` and the memory of *ret, which is used again by the next call. Without
 * memory the form is TOOL_OTHER, and the error that of the two bufs. */
void tool_read(struct json_value name, struct json_value arguments, struct tool_use *ret);
void tool_release(struct tool_use *u);
#define CLEANUP_TOOL CLEANUP(tool_release)

/* The path among the arguments, if they are an object: a string that is not empty, or JSON_NONE. */
struct json_value tool_path(struct json_value arguments);

/* Calls fn with the two texts of each edit, in order, until it returns other than 0: this is returned then. 0 or a
 * negative errno. */
typedef int tool_edit(void *arg, struct span old_text, struct span new_text);
int tool_edits(const struct tool_use *u, tool_edit *fn, void *arg);

/* Appends the edits as a diff: lines that begin with ' ', '-' or '+', at most three unchanged ones around each change;
 * "@@" where lines are left out, and between edits. Counts the lines with '+' and '-'.
 * `out` may be NULL, to count only. Nothing for other forms, and for edits that change nothing. Returns 0 or a negative
 * errno. Time and memory are linear in the size of the texts. */
int tool_diff(const struct tool_use *u, struct buf *out, unsigned *ret_added, unsigned *ret_removed);

/* Appends the lines that were read, `:10-20`; nothing if it was the whole file. */
void tool_add_line_range(const struct tool_use *u, struct buf *out);

/* Appends the summary of the call: what it did as one line of at most TOOL_SUMMARY characters, without a newline: `edit
 * src/a.ts +4 -1`, `bash npm test`, `read src/b.c:10-20`, `write src/c.c, 12 lines`. */
#define TOOL_SUMMARY 288
void tool_add_summary(const struct tool_use *u, struct buf *out);

/* Appends as JSON, laid out as by json_pretty, the arguments that path, command, content, lines and diff do not say;
 * nothing if there are none. A path that the summary cannot say exactly in TOOL_PATH bytes is among them. Who shows
 * nothing of the form itself, such as a diff that is empty, sets `shown` to 0 and gets all arguments. Those that are
 * short numbers, true or false go into `facts`, each as " · KEY VALUE", unless that is NULL. */
#define TOOL_PATH 200
void tool_add_remaining(const struct tool_use *u, struct buf *facts, struct buf *out);

/* The language of a file by its name, as highlighters call it ("ts", "python", "c"): right after a fence, and in a
 * class ([a-z0-9-]). "" if it is unknown. */
const char *file_language(struct span path);

#endif
