/* SPDX-License-Identifier: MIT */
/* The sessions of a list by a key. A group is a row of `keys`. Names are given in byte order of the files, so that of
 * equal ones the first file has the plain name. */
#include "sessionfs/base/clock.h"
#include "sessionfs/base/map.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/find/dates.h"
#include "sessionfs/find/groups.h"
#include "find_impl.h"

#include <stdio.h>

/* --- keys ------------------------------------------------------------------------- */

/* The number of a session's group, which must always stand for the same name, and its name there but for ~2. Appends
 * the group's name to `name` unless it is NULL. False: it is in no group. */
typedef bool (*key_of_session)(const struct fact *f, uint32_t *number, struct span *link, struct buf *name);

/* No day that JavaScript knows is further from 1970. */
#define DAYS_BEFORE UINT32_C(100000001)
_Static_assert(2 * DAYS_BEFORE < UINT32_C(1) << GROUP_NUMBER_BITS, "a day has a number");

static bool key_date(const struct fact *f, uint32_t *number, struct span *link, struct buf *name)
{
	char day[DATE_NAME];
	if (f->of->date == NO_DATE)
		return false;
	*number = (uint32_t)f->of->date + DAYS_BEFORE;
	*link = f->of->date_name;
	date_name(f->of->date, day);
	if (name)
		buf_adds(name, day);
	return true;
}

static const key_of_session keys[GROUP_KEYS] = {[GROUP_BY_DATE] = key_date};

/* --- the sessions under them ------------------------------------------------------ */

struct made {
	struct groups shown; /* first: groups that were handed out are this */
	struct group *groups;
	struct group_link *v;
	char **names; /* of the groups, and of links that have not the plain one */
	size_t n_names, names_cap;
	struct map found; /* by name: the group's place */
	struct map taken; /* by a group's place and name: the session */
	struct map tails; /* the last ~N given to a plain name */
};

void groups_free(struct groups *g)
{
	struct made *m = (struct made *)g;
	if (!m)
		return;
	for (size_t i = 0; i < m->n_names; i++)
		free(m->names[i]);
	free(m->names);
	map_release(&m->found);
	map_release(&m->taken);
	map_release(&m->tails);
	free(m->groups);
	free(m->v);
	free(m);
}

/* By group, then file. */
static int file_cmp(const void *pa, const void *pb, void *arg)
{
	const struct group_link *a = pa, *b = pb;
	const struct fact *v = arg;
	return a->number != b->number ? (a->number < b->number ? -1 : 1) : strcmp(v[a->fact].file, v[b->fact].file);
}

/* By group, then slot. */
static int slot_cmp(const void *pa, const void *pb, void *arg)
{
	const struct group_link *a = pa, *b = pb;
	const struct fact *v = arg;
	uint32_t x = a->number != b->number ? a->number : v[a->fact].slot;
	uint32_t y = a->number != b->number ? b->number : v[b->fact].slot;
	return (x > y) - (x < y);
}

/* Takes over the text. p NULL without memory. */
static struct span keep_name(struct made *m, struct buf *name)
{
	if (!buf_cstr(name) || !vec_grow(&m->names, &m->names_cap, m->n_names + 1, sizeof *m->names))
		return (struct span){NULL, 0};
	struct span kept = buf_span(name);
	m->names[m->n_names++] = name->p;
	*name = (struct buf)BUF_INIT;
	return kept;
}

/* The place of the group of v[i], which is that of the session before it or a new one; MAP_NONE without memory. */
static uint32_t add_to_group(struct made *m, const struct fact_list *list, key_of_session key, size_t i)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	const struct fact *f = &list->v[m->v[i].fact];
	struct group *g = m->shown.n ? &m->groups[m->shown.n - 1] : NULL;
	if (!g || g->number != m->v[i].number) {
		g = &m->groups[m->shown.n++];
		*g = (struct group){.number = m->v[i].number, .first = i, .mtime = f->mtime};
		key(f, &g->number, &(struct span){0}, &name);
		g->name = keep_name(m, &name);
		if (!g->name.p || map_put(&m->found, 0, g->name, (uint32_t)m->shown.n - 1) < 0)
			return MAP_NONE;
	}
	g->n++;
	if (time_is_before(g->mtime, f->mtime))
		g->mtime = f->mtime;
	return (uint32_t)m->shown.n - 1;
}

/* The name of session `fact` in a group: plain, or with ~2, ~3, ... A key leaves room for that. p NULL without
 * memory. */
static struct span give_link_name(struct made *m, uint32_t group, uint32_t fact, struct span plain)
{
	struct span name = plain;
	uint32_t tail = map_get(&m->tails, group, plain), n = tail == MAP_NONE ? 1 : tail;
	while (name.p && map_get(&m->taken, group, name) != MAP_NONE) {
		struct buf numbered CLEANUP_BUF = BUF_INIT;
		buf_addspan(&numbered, plain);
		buf_addf(&numbered, "~%u", ++n);
		name = keep_name(m, &numbered);
	}
	if (!name.p || map_put(&m->taken, group, name, fact) < 0 || (n > 1 && map_put(&m->tails, group, plain, n) < 0))
		return (struct span){NULL, 0};
	return name;
}

static bool groups_fill(struct made *m, const struct fact_list *list, key_of_session key)
{
	size_t n = 0;
	for (uint32_t i = 0; i < list->n; i++) {
		m->v[n].fact = i;
		n += key(&list->v[i], &m->v[n].number, &m->v[n].name, NULL);
	}
	qsort_r(m->v, n, sizeof *m->v, file_cmp, (void *)list->v);
	for (size_t i = 0; i < n; i++) {
		uint32_t group = add_to_group(m, list, key, i);
		if (group != MAP_NONE)
			m->v[i].name = give_link_name(m, group, m->v[i].fact, m->v[i].name);
		if (group == MAP_NONE || !m->v[i].name.p)
			return false;
	}
	qsort_r(m->v, n, sizeof *m->v, slot_cmp, (void *)list->v);
	return true;
}

struct groups *groups_make(const struct fact_list *list, enum group_key key)
{
	struct made *m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	m->groups = calloc(list->n + 1, sizeof *m->groups);
	m->v = calloc(list->n + 1, sizeof *m->v);
	if (!m->groups || !m->v || !groups_fill(m, list, keys[key])) {
		groups_free(&m->shown);
		return NULL;
	}
	m->shown.groups = m->groups;
	m->shown.v = m->v;
	return &m->shown;
}

const struct group *groups_find(const struct groups *g, uint32_t number)
{
	size_t lo = 0, hi = g->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (g->groups[mid].number == number)
			return &g->groups[mid];
		if (g->groups[mid].number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

const struct group *groups_find_name(const struct groups *g, struct span name)
{
	uint32_t i = map_get(&((const struct made *)g)->found, 0, name);
	return i == MAP_NONE ? NULL : &g->groups[i];
}

uint32_t groups_find_link(const struct groups *g, const struct group *group, struct span name)
{
	return map_get(&((const struct made *)g)->taken, (uint32_t)(group - g->groups), name);
}
