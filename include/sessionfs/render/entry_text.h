/* SPDX-License-Identifier: MIT */
/* entry_text: the text of an entry, part by part, as all.txt shows it and a search reads it. Pure: a record in, spans
 * out. Rules: sessionfs(5), all.txt. */
#ifndef SESSIONFS_ENTRY_TEXT_H
#define SESSIONFS_ENTRY_TEXT_H

#include "sessionfs/session/part.h"

enum text_of {
	TEXT_OF_MESSAGE,   /* text.md */
	TEXT_OF_THINKING,  /* thinking.md */
	TEXT_OF_ARGUMENTS, /* a call's arguments.txt */
	TEXT_OF_ERROR, /* error, if text.md does not have it (or repeats_error); the error of a nested call if call.n is
	                  not 0 */
	TEXT_OF_VALUE, /* the label of a label record, the name of a session_info */
};

/* Iterates over the parts of an entry. Zeroed memory is ready for use. Each part reuses the memory of the one before
 * it, also across entries; release it with entry_text_release. */
struct entry_text {
	enum text_of kind;
	struct part_call call; /* the call of TEXT_OF_ARGUMENTS and TEXT_OF_ERROR */
	struct buf what;       /* the WHAT of its lines: user, thinking, call NAME, ... */
	struct buf text;       /* clean (JSON_CLEAN), in whole lines: it ends in a newline */
	bool repeats_error;    /* the caller wants the error also if text.md has it */
	const struct record *r;
	unsigned next_kind, end_kind; /* enum text_of */
};
void entry_text_release(struct entry_text *s);
#define CLEANUP_ENTRY_TEXT CLEANUP(entry_text_release)

/* Begins an entry. The record must outlive the iteration. */
void entry_text_begin(struct entry_text *s, const struct record *r);
/* Goes to the next part, in the order of all.txt, and asks cancel_check. Returns 1, 0 after the last part, or a
 * negative errno. */
int entry_text_next(struct entry_text *s);

/* Appends the kind of the entry to s->what: the role of a message, else the type. */
void entry_text_kind(struct entry_text *s);

/* Appends arguments.txt: the arguments of a call as lines of text. Returns 0 or a negative errno. */
int entry_text_arguments(const struct part_call *call, struct buf *out);
/* Returns whether arguments.txt has any text. */
bool entry_text_has_arguments(const struct part_call *call);

/* Returns whether entries of this type can have text. */
bool entry_text_type_has_any(enum record_type type);

#endif
