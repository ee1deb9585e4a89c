/* SPDX-License-Identifier: MIT */
/* entry_text: the text of an entry, part by part: what all.txt shows of it, and what a search looks at. Pure: a record
 * in, spans out. Rules: sessionfs(5), all.txt. */
#ifndef SESSIONFS_ENTRY_TEXT_H
#define SESSIONFS_ENTRY_TEXT_H

#include "sessionfs/session/part.h"

enum text_of {
	TEXT_OF_MESSAGE,   /* text.md */
	TEXT_OF_THINKING,  /* thinking.md */
	TEXT_OF_ARGUMENTS, /* a call's arguments.txt */
	TEXT_OF_ERROR,     /* error, where text.md does not say it; a nested call's, if call.n is not 0 */
	TEXT_OF_VALUE,     /* of a label record the label, of session_info the name */
};

/* One part of an entry after the other. Ready when all is zero. Each uses the memory of the one before it again, those
 * of further entries, too; release it with entry_text_release. */
struct entry_text {
	enum text_of kind;
	struct part_call call; /* TEXT_OF_ARGUMENTS, TEXT_OF_ERROR: whose */
	struct buf what;       /* the WHAT of its lines: user, thinking, call NAME, ... */
	struct buf text;       /* clean (JSON_CLEAN), in whole lines: it ends in a newline */
	const struct record *r;
	unsigned next_kind, end_kind; /* enum text_of */
};
void entry_text_release(struct entry_text *s);
#define CLEANUP_ENTRY_TEXT CLEANUP(entry_text_release)

/* Begins with an entry; the record must stay. */
void entry_text_begin(struct entry_text *s, const struct record *r);
/* Goes to the next part, in the order of all.txt, and asks cancel_check. 1, 0 behind the last one, or a negative
 * errno. */
int entry_text_next(struct entry_text *s);

/* Appends to s->what what the entry is: the role of a message, else the type. */
void entry_text_kind(struct entry_text *s);

/* arguments.txt: the arguments of a call as lines of text. 0 or a negative errno. */
int entry_text_arguments(const struct part_call *call, struct buf *out);
/* Whether there is anything in it. */
bool entry_text_has_arguments(const struct part_call *call);

/* Whether entries of this type can say anything. */
bool entry_text_type_has_any(enum record_type type);

#endif
