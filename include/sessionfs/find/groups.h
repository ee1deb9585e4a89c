/* SPDX-License-Identifier: MIT */
/* groups: the sessions of a list, or their labelled entries, by a key, each under the name that it has in its group. */
#ifndef SESSIONFS_GROUPS_H
#define SESSIONFS_GROUPS_H

#include "sessionfs/find/facts.h"

/* The keys: a row of `keys` in groups.c each. */
enum group_key { GROUP_BY_DATE = 1, GROUP_BY_PROJECT, GROUP_BY_LABEL, GROUP_KEYS };
#define GROUP_NUMBER_BITS 56

/* A session, or an entry of it, in its group. */
struct group_link {
	uint64_t number;  /* the group's */
	uint32_t fact;    /* the session's in the list */
	uint32_t entry;   /* 0 for a session */
	uint32_t label;   /* of a labelled entry its place in `labels` of the facts */
	struct span name; /* component, unlike all others of the group */
};

struct group {
	uint64_t number; /* stands for the name, now and in later lists */
	struct span name;
	size_t first, n;       /* of its links in `v`, by slot and entry */
	struct timespec mtime; /* newest session's */
};

struct groups {
	size_t n, memory;
	const struct group *groups; /* by number */
	const struct group_link *v;
};

/* Of this list, and for as long. NULL without memory. */
const struct groups *facts_groups(const struct fact_list *list, enum group_key key);
/* The group with this number, or with this name; NULL if nothing is in it. */
const struct group *groups_find(const struct groups *g, uint64_t number);
const struct group *groups_find_name(const struct groups *g, struct span name);
/* The link with that name in the group; NULL if there is none. */
const struct group_link *groups_find_link(const struct groups *g, const struct group *group, struct span name);

#endif
