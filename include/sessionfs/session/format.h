/* format: the versions of pi's session files, and all that differs between them. A version is one row of format.c. */
#ifndef SESSIONFS_FORMAT_H
#define SESSIONFS_FORMAT_H

#include "sessionfs/session/record.h"

struct format {
	double below;        /* the header's version is less than this, and no row before says that */
	int version;         /* as it is shown; 0: as the header says */
	bool has_ids;        /* false: each entry is the child of the one before, and its id is made of its place */
	bool has_kept_index; /* a compaction may say by number what it keeps */
	bool takes_appends;  /* false: before pi writes it makes the file one of FORMAT_WRITTEN, and so do we */
	bool has_old_custom; /* the role custom may have its old name */
};

/* The version that is written. */
#define FORMAT_WRITTEN "3"

/* What JavaScript makes of a header's version when it compares it with a number: 1 if it is absent or null, and NaN,
 * which is neither below 2 nor below 3, for what is no number. */
double format_version(struct json_value v);

/* The row for a header's version, of any type. Compared as JavaScript does; what is no number is the newest. */
const struct format *format_of(struct json_value version);

/* A header's version as a number that can be shown. */
int format_number(const struct format *f, struct json_value version);

/* Whether a message's role is the old name of custom, and what that is now. */
bool format_is_old_custom(struct json_value role);
#define FORMAT_CUSTOM "custom"

/* Why a file whose first entry is this is no session; NULL: it is one. *ret_is_later: it is a session of a version that
 * is not known yet. */
const char *format_refuses(const struct record *first, bool *ret_is_later);

#endif
