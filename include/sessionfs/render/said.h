/* SPDX-License-Identifier: MIT */
/* said: what an entry says, part by part: what all.txt shows of it, and what a search looks at. Pure: a record in,
 * spans out. Rules: sessionfs(5), all.txt. */
#ifndef SESSIONFS_SAID_H
#define SESSIONFS_SAID_H

#include "sessionfs/session/part.h"

enum said_of {
	SAID_TEXT,      /* text.md */
	SAID_THINKING,  /* thinking.md */
	SAID_ARGUMENTS, /* a call's arguments.txt */
	SAID_ERROR,     /* error, where text.md does not say it */
	SAID_VALUE,     /* of a label record the label, of session_info the name */
};

/* One part of an entry after the other. Ready when all is zero. Each uses the memory of the one before it again, those
 * of further entries, too; release it with said_release. */
struct said {
	enum said_of of;
	struct part_call call; /* SAID_ARGUMENTS: whose */
	struct buf what;       /* the WHAT of its lines: user, thinking, call NAME, ... */
	struct buf text;       /* clean (JSON_CLEAN), in whole lines: it ends in a newline */
	const struct record *r;
	unsigned next, end; /* enum said_of */
};
void said_release(struct said *s);
#define CLEANUP_SAID CLEANUP(said_release)

/* Begins with an entry; the record must stay. */
void said_begin(struct said *s, const struct record *r);
/* Goes to the next part, in the order of all.txt, and asks stop_check. 1, 0 behind the last one, or a negative errno.
 */
int said_next(struct said *s);

/* Appends to s->what what the entry is: the role of a message, else the type. */
void said_kind(struct said *s);

/* arguments.txt: the arguments of a call as lines of text. 0 or a negative errno. */
int said_arguments(const struct part_call *call, struct buf *out);
/* Whether there is anything in it. */
bool said_any_arguments(const struct part_call *call);

/* Whether entries of this type can say anything. */
bool said_any_of(enum record_type type);

#endif
