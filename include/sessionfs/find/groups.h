/* SPDX-License-Identifier: MIT */
/* groups: the sessions of a list, or their labelled entries, grouped by a key. Each has a name that is unique in its
 * group. */
#ifndef SESSIONFS_GROUPS_H
#define SESSIONFS_GROUPS_H

#include "sessionfs/find/facts.h"

/* The keys. groups.c has a row of `keys` for each. */
enum group_key { GROUP_BY_DATE = 1, GROUP_BY_PROJECT, GROUP_BY_LABEL, GROUP_KEYS };
#define GROUP_NUMBER_BITS 56

/* A session, or an entry of it, in its group. */
struct group_link {
	uint64_t number;  /* the group's */
	uint32_t fact;    /* index of the session in the list */
	uint32_t entry;   /* 0 for a session */
	uint32_t label;   /* of a labelled entry: its index in `labels` of the facts */
	uint32_t n_equal; /* links that share this name, with ~2, ~3, ... */
	struct span name; /* a path component, unique in the group */
};

struct group {
	uint64_t number; /* identifies the name in all lists */
	struct span name;
	size_t first, n;       /* range of its links in `v`, by slot and entry */
	struct timespec mtime; /* newest session's */
};

struct groups {
	size_t n, memory;
	struct group *groups; /* by number */
	struct group_link *v;
};

/* The groups of this list; valid as long as it. NULL if out of memory. */
const struct groups *facts_groups(const struct fact_list *list, enum group_key key);
/* Return the group with this number or name; NULL if it does not exist. */
const struct group *groups_find(const struct groups *g, uint64_t number);
const struct group *groups_find_name(const struct groups *g, struct span name);
/* Returns the link with this name; NULL if it does not exist. */
const struct group_link *groups_find_link(const struct groups *g, const struct group *group, struct span name);

#endif
