/* value: what may be written to a writable file, judged early and whole.
 *
 * Rules: the namespace's "Writing". One trailing newline is dropped, CRLF and a
 * BOM are accepted, text must be UTF-8 without NUL. */
#ifndef SESSIONFS_VALUE_H
#define SESSIONFS_VALUE_H

#include "sessionfs/base/buf.h"

enum value_kind {
	VALUE_NONE,
	VALUE_LABEL,   /* one line, at most 4,096 bytes; white space only clears */
	VALUE_NAME,    /* runs of CR and LF become one space, then trimmed, as pi does */
	VALUE_SUMMARY, /* many lines, at most 1 MiB */
	VALUE_TABLE,   /* labels.tsv */
};

/* The largest text of a kind, in bytes. */
size_t value_limit(enum value_kind kind);

/* What can be said of a text of which only the beginning is here: 0, or -EFBIG, -EINVAL with the reason in
 * *ret_why (static text). A writer that goes on cannot make it good. */
int value_prefix(enum value_kind kind, struct span text, const char **ret_why);

/* Judges the whole and appends the value: without BOM and final newline, line ends as \n, a label or
 * name trimmed. Empty: clears. Errors as above. */
int value_parse(enum value_kind kind, struct span text, struct buf *out, const char **ret_why);

/* Judges a text that is to be a label as it is, which no other spelling leads to: a name in labels/, a cell of
 * labels.tsv. Errors as above; -EINVAL also for what a label's file would take for something else. */
int value_label(struct span text, const char **ret_why);

/* Whether these bytes, as the first that are written, look like a whole value of one line. */
bool value_is_line(enum value_kind kind, struct span text);

#endif
