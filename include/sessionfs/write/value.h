/* SPDX-License-Identifier: MIT */
/* value: checks on the values of writable files, early and whole.
 *
 * Rules: sessionfs(5), "Writing". One trailing newline is dropped, CRLF and a BOM are accepted, text must be UTF-8
 * without NUL. */
#ifndef SESSIONFS_VALUE_H
#define SESSIONFS_VALUE_H

#include "sessionfs/base/buf.h"

/* The form that a text must have to be a value. */
struct value_form {
	size_t limit;         /* the largest value, in bytes */
	const char *too_long; /* the reason for a larger one */
	bool is_line;         /* a second line is refused at once */
	bool is_trimmed;      /* trimming can still shorten a text that is too long */
	bool is_table;        /* checked when complete: checking all of it for each piece would be quadratic */
	/* Appends the value of a text without BOM. Returns the length to compare with the limit. */
	size_t (*parse)(struct span text, struct buf *out);
	const char *clear_error; /* why an empty value is refused; NULL: it clears */
};

extern const struct value_form form_label;   /* one line, at most 4,096 bytes; white space only clears */
extern const struct value_form form_name;    /* runs of CR and LF become one space, then trimmed, as in pi */
extern const struct value_form form_summary; /* many lines, at most 1 MiB */
extern const struct value_form form_context; /* JSON, at most 1 MiB; edit_context checks it */
extern const struct value_form form_table;   /* labels.tsv */

/* Checks the beginning of a text. Returns 0, or -EFBIG or -EINVAL with the reason in *ret_why (static text) if no
 * continuation can make it valid. */
int value_check_prefix(const struct value_form *form, struct span text, const char **ret_why);

/* Checks the whole text and appends the value: without BOM and final newline, line ends as \n, a label or name trimmed.
 * Empty: clears, where allowed. Errors as above. */
int value_parse(const struct value_form *form, struct span text, struct buf *out, const char **ret_why);

/* Checks a text that must be the label unchanged: a name in labels/, a cell of labels.tsv. Errors as above; -EINVAL
 * also if writing the text to a label's file would set another label. */
int value_check_label(struct span text, const char **ret_why);

/* Returns whether these bytes, if written first, look like a whole value of one line. */
bool value_is_line(const struct value_form *form, struct span text);

#endif
