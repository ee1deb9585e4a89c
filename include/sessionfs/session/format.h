/* SPDX-License-Identifier: MIT */
/* format: the versions of pi's session files and their differences. A version is one row of format.c. */
#ifndef SESSIONFS_FORMAT_H
#define SESSIONFS_FORMAT_H

#include "sessionfs/session/record.h"

struct format {
	double below; /* the row is for versions below this, unless an earlier row matches */
	int version;  /* as shown; 0: as in the header */
	bool has_ids; /* false: each entry is the child of the previous one, its id is derived from its place, and the
	               * file is never written: no record can name an entry */
	bool has_kept_index; /* a compaction can name its first kept entry by number */
	bool has_old_custom; /* the role custom can have its old name */
};

/* Returns a header's version as JavaScript compares it with a number: 1 if it is absent or null. Returns NaN, which is
 * below no number, for anything but a number, a string of digits, true and false. */
double format_version(struct json_value v);

/* Returns the row for a header's version, of any type. Compares as JavaScript does; NaN selects the newest. */
const struct format *format_of(struct json_value version);

/* Returns whether pi converts a file of this version when it opens it. When pi forks a file, it does not convert it. */
bool format_is_old(const struct format *f);

/* Returns a header's version as a number to show. */
int format_number(const struct format *f, struct json_value version);

/* Returns whether a message's role is the old name of custom. */
bool format_is_old_custom(struct json_value role);

/* Returns why pi rejects a file with this first entry, or NULL if it is a session. *ret_is_later: it is a session, of a
 * later version. */
const char *format_rejects_file(const struct record *first, bool *ret_is_later);

#endif
