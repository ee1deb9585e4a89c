/* SPDX-License-Identifier: MIT */
/* tool: what a tool call did, according to its name and arguments. Pure: values in, text out.
 *
 * It knows pi's own tools, some tools of agents built on pi, and the variants that models send. A call whose arguments
 * do not fit its kind is TOOL_OTHER: a name alone is never trusted. All appended text is clean (JSON_CLEAN). */
#ifndef SESSIONFS_TOOL_H
#define SESSIONFS_TOOL_H

#include "sessionfs/session/record.h"

enum tool_form {
	TOOL_OTHER,
	TOOL_EDIT,  /* replaces texts in the file `path`: tool_diff */
	TOOL_WRITE, /* writes the whole file `path` with `content` */
	TOOL_READ,  /* reads lines `first` to `last` of the file `path` */
	TOOL_BASH,  /* runs `command` in a shell */
};

/* A value that the form does not have, or that is not a string, is JSON_NONE. */
struct tool_use {
	enum tool_form form;
	struct json_value name, arguments;        /* the arguments as an object, also if they were stored as text */
	struct json_value path, command, content; /* strings */
	struct json_value edits;                  /* an object or array of them, each with its texts */
	struct json_value old_text, new_text;     /* one more edit */
	unsigned first, last;                     /* 0: from the first line, to the last */
	unsigned shown_arguments;                 /* the arguments that the form shows */
	size_t argument_count;                    /* how many arguments there are */
	struct buf arguments_text, edits_text;    /* decoded, if stored as text */
};
#define TOOL_USE_INIT                                                                                                  \
	{                                                                                                              \
		.arguments_text = BUF_INIT, .edits_text = BUF_INIT                                                     \
	}

/* The values point into `name`, `arguments` and the memory of *ret, which the next call reuses. If out of memory, the
 * form is TOOL_OTHER, and one of the two bufs has the error. */
void tool_read(struct json_value name, struct json_value arguments, struct tool_use *ret);
void tool_release(struct tool_use *u);
#define CLEANUP_TOOL CLEANUP(tool_release)

/* Returns the path among the arguments, if they are an object: a non-empty string, or JSON_NONE. */
struct json_value tool_path(struct json_value arguments);

/* Calls fn with the two texts of each edit, in order; stops at and returns the first non-zero result. Returns 0 or a
 * negative errno. */
typedef int tool_edit(void *arg, struct span old_text, struct span new_text);
int tool_edits(const struct tool_use *u, tool_edit *fn, void *arg);

/* Appends the edits as a diff: lines that begin with ' ', '-' or '+', with at most three unchanged lines around each
 * change; "@@" replaces omitted lines and separates edits. Counts the lines with '+' and '-'. With `out` NULL, only
 * counts. Appends nothing for other forms and for edits that change nothing. Returns 0 or a negative errno (-EINTR:
 * cancel_check). */
int tool_diff(const struct tool_use *u, struct buf *out, unsigned *ret_added, unsigned *ret_removed);

/* Appends the range of lines that was read, `:10-20`; nothing if it was the whole file. */
void tool_add_line_range(const struct tool_use *u, struct buf *out);

/* Appends a summary of the call on one line of at most TOOL_SUMMARY characters, without a newline: `edit src/a.ts +4
 * -1`, `bash npm test`, `read src/b.c:10-20`, `write src/c.c, 12 lines`. */
#define TOOL_SUMMARY 288
void tool_add_summary(const struct tool_use *u, struct buf *out);

/* Appends as JSON, laid out as by json_pretty, the arguments that path, command, content, lines and diff do not show;
 * nothing if all are shown. This includes a path that the summary cannot show exactly in TOOL_PATH bytes. A caller that
 * shows nothing of the form, such as an empty diff, sets `shown_arguments` to 0 and gets all arguments. Short numbers,
 * true and false go into `facts` instead, each as " · KEY VALUE", unless that is NULL. */
#define TOOL_PATH 200
void tool_add_remaining(const struct tool_use *u, struct buf *facts, struct buf *out);

/* Returns the language of a file by its name, as highlighters call it ("ts", "python", "c"): for the line of a fence
 * and for a class ([a-z0-9-]). Returns "" if it is unknown. */
const char *file_language(struct span path);
/* Returns the language of the file that a call reads or writes. */
const char *tool_file_language(const struct tool_use *u);

#endif
