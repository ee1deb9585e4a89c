/* SPDX-License-Identifier: MIT */
/* format: the versions of pi's session files, and all that differs between them. A version is one row of format.c. */
#ifndef SESSIONFS_FORMAT_H
#define SESSIONFS_FORMAT_H

#include "sessionfs/session/record.h"

struct format {
	double below;        /* the row is for versions below this that no row before is for */
	int version;         /* as it is shown; 0: as the header says */
	bool has_ids;        /* false: each entry is the child of the one before, and its id is made of its place */
	bool has_kept_index; /* a compaction may name its first kept entry by number */
	bool is_appendable;  /* false: pi migrates the file to FORMAT_WRITTEN before it writes, and so do we */
	bool has_old_custom; /* the role custom may have its old name */
};

/* The version that is written. */
#define FORMAT_WRITTEN "3"

/* A header's version as JavaScript compares it with a number: 1 if it is absent or null. NaN, which is below nothing,
 * if it is no number. */
double format_version(struct json_value v);

/* The row for a header's version, of any type. Compares as JavaScript does; a version that is no number is the newest.
 */
const struct format *format_of(struct json_value version);

/* A header's version as a number that can be shown. */
int format_number(const struct format *f, struct json_value version);

/* Whether a message's role is the old name of custom, and what that is now. */
bool format_is_old_custom(struct json_value role);
#define FORMAT_CUSTOM "custom"

/* Why a file with this first entry is no session; NULL if it is one. *ret_is_later: it is a session, of a version that
 * is not known yet. */
const char *format_rejects_file(const struct record *first, bool *ret_is_later);

#endif
