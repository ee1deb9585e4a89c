/* SPDX-License-Identifier: MIT */
/* groups: the sessions of a list by a key, each under the name that it has in its group. */
#ifndef SESSIONFS_GROUPS_H
#define SESSIONFS_GROUPS_H

#include "sessionfs/find/facts.h"

/* The keys: a row of `keys` in groups.c each. */
enum group_key { GROUP_BY_DATE = 1, GROUP_BY_PROJECT, GROUP_KEYS };
#define GROUP_NUMBER_BITS 28

/* A session in its group. */
struct group_link {
	uint32_t number;  /* the group's */
	uint32_t fact;    /* the session's in the list */
	struct span name; /* component, unlike all others of the group */
};

struct group {
	uint32_t number; /* stands for the name, now and in later lists */
	struct span name;
	size_t first, n;       /* of its sessions in `v`, in the order of their slots */
	struct timespec mtime; /* newest session's */
};

struct groups {
	size_t n;
	const struct group *groups; /* by number */
	const struct group_link *v;
};

/* Of this list, and for as long. NULL without memory. */
const struct groups *facts_groups(const struct fact_list *list, enum group_key key);
/* The group with this number, or with this name; NULL if no session is in it. */
const struct group *groups_find(const struct groups *g, uint32_t number);
const struct group *groups_find_name(const struct groups *g, struct span name);
/* The number in the list of the session with that name in the group; NO_FACT if there is none. */
#define NO_FACT UINT32_MAX
uint32_t groups_find_link(const struct groups *g, const struct group *group, struct span name);

#endif
