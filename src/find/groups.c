/* SPDX-License-Identifier: MIT */
/* The sessions of a list by a key. A group is a row of `keys`. Names are given in byte order of the files, so that of
 * equal ones the first file has the plain name. */
#include "sessionfs/base/clock.h"
#include "sessionfs/base/map.h"
#include "sessionfs/base/name.h"
#include "sessionfs/base/node.h"
#include "sessionfs/base/utf8.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/find/groups.h"
#include "find_impl.h"

#include <errno.h>
#include <stdio.h>

/* --- keys ------------------------------------------------------------------------- */

#define LINK_TITLE_CHARACTERS 60

struct key {
	/* The number of a session's group, which must always stand for the same name. */
	uint32_t (*number)(const struct fact *f);
	void (*add_name)(const struct fact *f, struct buf *out);
	bool is_dated; /* the names in it begin with the day */
};

/* No day that JavaScript knows is further from 1970. */
#define DAYS_BEFORE UINT32_C(100000001)
_Static_assert(2 * DAYS_BEFORE < UINT32_C(1) << GROUP_NUMBER_BITS, "a day has a number");
_Static_assert(NODE_SLOT_BITS <= GROUP_NUMBER_BITS, "a project has a number");

static uint32_t date_number(const struct fact *f)
{
	return (uint32_t)f->of->date + DAYS_BEFORE;
}

static void date_add_name(const struct fact *f, struct buf *out)
{
	char day[DATE_NAME];
	date_name(f->of->date, day);
	buf_adds(out, day);
}

static uint32_t project_number(const struct fact *f)
{
	return f->project_number;
}

static void project_add_name(const struct fact *f, struct buf *out)
{
	buf_adds(out, f->project);
}

static const struct key keys[GROUP_KEYS] = {
    [GROUP_BY_DATE] = {date_number, date_add_name, false},
    [GROUP_BY_PROJECT] = {project_number, project_add_name, true},
};

/* Appends "HH.MM TITLE" or "DAY HH.MM TITLE", and what tells it from equal ones. */
static void add_link_name(const struct fact *f, bool is_dated, const char *tail, struct buf *out)
{
	struct buf prefix CLEANUP_BUF = BUF_INIT;
	char at[16] = "";
	struct tm tm;
	if (is_dated) {
		date_add_name(f, &prefix);
		buf_addc(&prefix, ' ');
	}
	if (date_local(f->of->created, &tm))
		strftime(at, sizeof at, "%H.%M ", &tm);
	buf_adds(&prefix, at);
	if (!buf_cstr(&prefix))
		out->err = -ENOMEM;
	else
		name_encode(prefix.p, utf8_first(f->of->title, LINK_TITLE_CHARACTERS), tail, out);
}

/* --- the sessions under them ------------------------------------------------------ */

struct made {
	struct groups shown; /* first: groups that were handed out are this */
	struct group *groups;
	struct group_link *v;
	char **names; /* of the groups and links */
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
static uint32_t add_to_group(struct made *m, const struct fact_list *list, const struct key *key, size_t i)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	const struct fact *f = &list->v[m->v[i].fact];
	struct group *g = m->shown.n ? &m->groups[m->shown.n - 1] : NULL;
	if (!g || g->number != m->v[i].number) {
		g = &m->groups[m->shown.n++];
		*g = (struct group){.number = m->v[i].number, .first = i, .mtime = f->mtime};
		key->add_name(f, &name);
		g->name = keep_name(m, &name);
		if (!g->name.p || map_put(&m->found, 0, g->name, (uint32_t)m->shown.n - 1) < 0)
			return MAP_NONE;
	}
	g->n++;
	if (time_is_before(g->mtime, f->mtime))
		g->mtime = f->mtime;
	return (uint32_t)m->shown.n - 1;
}

static bool link_is_taken(const struct made *m, uint32_t group, const struct buf *name)
{
	return !buf_err(name) && map_get(&m->taken, group, buf_span(name)) != MAP_NONE;
}

/* Gives v[i] its name in the group: plain, or with ~2, ~3, ... False without memory. */
static bool give_link_name(struct made *m, const struct fact_list *list, const struct key *key, uint32_t group,
                           size_t i)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	struct group_link *l = &m->v[i];
	add_link_name(&list->v[l->fact], key->is_dated, "", &name);
	if (link_is_taken(m, group, &name)) {
		struct span plain = keep_name(m, &name);
		if (!plain.p)
			return false;
		uint32_t given = map_get(&m->tails, group, plain), n = given == MAP_NONE ? 1 : given;
		do {
			char tail[16];
			snprintf(tail, sizeof tail, "~%u", ++n);
			buf_reset(&name);
			add_link_name(&list->v[l->fact], key->is_dated, tail, &name);
		} while (link_is_taken(m, group, &name));
		if (map_put(&m->tails, group, plain, n) < 0)
			return false;
	}
	l->name = keep_name(m, &name);
	return l->name.p && map_put(&m->taken, group, l->name, l->fact) == 0;
}

static bool groups_fill(struct made *m, const struct fact_list *list, const struct key *key)
{
	size_t n = 0;
	for (uint32_t i = 0; i < list->n; i++)
		if (list->v[i].of->date != NO_DATE)
			m->v[n++] = (struct group_link){.number = key->number(&list->v[i]), .fact = i};
	qsort_r(m->v, n, sizeof *m->v, file_cmp, (void *)list->v);
	for (size_t i = 0; i < n; i++) {
		uint32_t group = add_to_group(m, list, key, i);
		if (group == MAP_NONE || !give_link_name(m, list, key, group, i))
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
	if (!m->groups || !m->v || !groups_fill(m, list, &keys[key])) {
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
