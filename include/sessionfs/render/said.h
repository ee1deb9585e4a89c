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

/* One part. The spans live until the next part. */
struct said {
	enum said_of of;
	const struct part_call *call; /* SAID_ARGUMENTS: whose; else NULL */
	struct span what;             /* the WHAT of its lines: user, thinking, call NAME, ... */
	struct span text;             /* clean (JSON_CLEAN), in whole lines: it ends in a newline */
};

/* Memory for the parts of one entry after the other. Release with said_room_release. */
struct said_room {
	struct buf what, text;
};
#define SAID_ROOM_INIT                                                                                                 \
	{                                                                                                              \
		BUF_INIT, BUF_INIT                                                                                     \
	}
void said_room_release(struct said_room *room);
#define CLEANUP_SAID_ROOM CLEANUP(said_room_release)

/* Calls part() for each part, in the order of all.txt, until it returns something else than 0, and returns that. Else 0
 * or a negative errno. */
int said_each(const struct record *r, struct said_room *room, int (*part)(void *arg, const struct said *said),
              void *arg);

/* arguments.txt: the arguments of a call as lines of text. 0 or a negative errno. */
int said_arguments(const struct part_call *call, struct buf *out);
/* Whether there is anything in it. */
bool said_any_arguments(const struct part_call *call);

/* Whether entries of this type can say anything. */
bool said_any_of(enum record_type type);

#endif
