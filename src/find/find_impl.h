/* SPDX-License-Identifier: MIT */
/* find_impl: what the files of this folder share. */
#ifndef SESSIONFS_FIND_IMPL_H
#define SESSIONFS_FIND_IMPL_H

#include "sessionfs/find/groups.h"

#include <stdatomic.h>

/* The facts of one session, and the version of its file that they describe. What they point to follows in the same
 * block. */
struct kept {
	_Atomic unsigned refs;
	uint32_t slot;
	off_t size;
	struct timespec mtime, ctime;
	size_t memory;
	struct session_facts of;
	_Atomic(struct places *) places; /* NULL: nobody has asked for secrets.tsv */
	struct fact_label *labels;       /* `of` has them, too */
	struct fact_use uses[];
};

/* The order of sessions.tsv: newest first, then by path. */
struct rank {
	double modified;
	const char *file;
};
int rank_cmp(struct rank a, struct rank b);

/* secrets.c: what looks like a key in one session, found when it is first asked for */
struct places;
size_t places_memory(const struct places *p);
void places_free(struct places *p);

/* kept.c */

/* A time that info.json shows, in whole ms as there; NAN if it shows none. */
double fact_time(double ms);
/* The rows of files.tsv are kept while those of all sessions fit. */
struct files_room {
	_Atomic size_t used;
	size_t most;
};
/* Reads a session. 0 or a negative errno; -ESTALE if it is gone. Release with kept_release. */
int kept_make(struct catalog *c, uint32_t slot, struct files_room *room, struct kept **ret);
void kept_release(struct kept *k);
/* Whether the facts are those of the file as it is now. */
bool kept_is_of(const struct kept *k, const struct slot_state *now);

/* groups.c: the groups of a list, made when they are first asked for */
struct groups *groups_make(const struct fact_list *list, enum group_key key); /* NULL without memory */
void groups_free(struct groups *g);

#endif
