/* SPDX-License-Identifier: MIT */
/* The sessions of a list, or their labelled entries, by a key: a row of `keys`. Names of sessions are assigned in byte
 * order of the files, so that among equal names the first file has the plain one. Entries are numbered. */
#include "sessionfs/base/budget.h"
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

enum link_naming {
	LINK_NAME_TIME,     /* HH.MM TITLE */
	LINK_NAME_DAY_TIME, /* DAY HH.MM TITLE */
	LINK_NAME_NUMBER,   /* NNNN WHAT TEXT */
};

/* `i` is the number of the session's link: 0, or the index of a label. */
struct group_key_ops {
	size_t (*links)(const struct fact *f); /* number of links of the session in all groups */
	/* Returns the number of the group; equal numbers mean equal names. */
	uint64_t (*number)(const struct fact *f, size_t i);
	void (*add_name)(const struct fact *f, size_t i, struct buf *out);
	enum link_naming naming;
};

/* JavaScript has no day further from 1970. */
#define DAYS_BEFORE UINT32_C(100000001)
_Static_assert(2 * DAYS_BEFORE < UINT64_C(1) << GROUP_NUMBER_BITS, "a day has a number");
_Static_assert(NODE_SLOT_BITS <= GROUP_NUMBER_BITS, "a project has a number");

/* Only a person's conversations, if they have a time, are in a group. */
static size_t date_link_count(const struct fact *f)
{
	return f->facts->date != NO_DATE && fact_is_by_person(f);
}

static uint64_t date_group_number(const struct fact *f, size_t i)
{
	(void)i;
	return (uint64_t)((int64_t)f->facts->date + DAYS_BEFORE);
}

static void date_add_name(const struct fact *f, size_t i, struct buf *out)
{
	char day[DATE_NAME];
	(void)i;
	date_name(f->facts->date, day);
	buf_adds(out, day);
}

static uint64_t project_group_number(const struct fact *f, size_t i)
{
	(void)i;
	return f->project_number;
}

static void project_add_name(const struct fact *f, size_t i, struct buf *out)
{
	(void)i;
	buf_adds(out, f->project);
}

static size_t label_link_count(const struct fact *f)
{
	return f->facts->n_labels;
}

static uint64_t label_group_number(const struct fact *f, size_t i)
{
	return f->facts->labels[i].number;
}

static void label_add_name(const struct fact *f, size_t i, struct buf *out)
{
	name_encode("", f->facts->labels[i].text, "", out);
}

static const struct group_key_ops keys[GROUP_KEYS] = {
    [GROUP_BY_DATE] = {date_link_count, date_group_number, date_add_name, LINK_NAME_TIME},
    [GROUP_BY_PROJECT] = {date_link_count, project_group_number, project_add_name, LINK_NAME_DAY_TIME},
    [GROUP_BY_LABEL] = {label_link_count, label_group_number, label_add_name, LINK_NAME_NUMBER},
};

/* Appends the name of link `n` of its group, counted from 1; `tail` distinguishes equal names. */
static void add_link_name(const struct fact *f, const struct group_link *l, enum link_naming naming, size_t n,
                          const char *tail, struct buf *out)
{
	struct span text = naming == LINK_NAME_NUMBER ? f->facts->labels[l->label].name
	                                              : utf8_first(f->facts->title, LINK_TITLE_CHARACTERS);
	struct buf prefix CLEANUP_BUF = BUF_INIT;
	char at[16] = "";
	struct tm tm;
	if (naming == LINK_NAME_NUMBER)
		buf_addf(&prefix, "%04zu ", n);
	if (naming == LINK_NAME_DAY_TIME) {
		date_add_name(f, 0, &prefix);
		buf_addc(&prefix, ' ');
	}
	if (naming != LINK_NAME_NUMBER && date_local(f->facts->created, &tm))
		strftime(at, sizeof at, "%H.%M ", &tm);
	buf_adds(&prefix, at);
	if (!buf_cstr(&prefix))
		out->err = -ENOMEM;
	else
		name_encode(prefix.p, text, tail, out);
}

/* --- the groups --------------------------------------------------------------------- */

struct group_builder {
	struct groups result; /* first member: callers have pointers to it */
	struct map found;     /* by name: the group's index */
	struct map taken;     /* by the group's index and a name: the link's index in `v` */
	struct pool *pool;    /* of `v` and the names */
};

void groups_free(struct groups *g)
{
	struct group_builder *m = (struct group_builder *)g;
	if (!m)
		return;
	map_release(&m->found);
	map_release(&m->taken);
	free(m->result.groups);
	pool_put(m->pool);
	free(m);
}

/* The order in which names are assigned. */
struct group_order {
	const struct fact *facts;
	enum link_naming naming;
};

/* By group; then by file or, for numbered names, by list order. */
static int group_name_cmp(const void *pa, const void *pb, void *arg)
{
	const struct group_link *a = pa, *b = pb;
	const struct group_order *o = arg;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (o->naming != LINK_NAME_NUMBER)
		return strcmp(o->facts[a->fact].file, o->facts[b->fact].file);
	return a->fact != b->fact ? (a->fact < b->fact ? -1 : 1) : (a->entry > b->entry) - (a->entry < b->entry);
}

/* By group, then slot and entry. */
static int group_slot_cmp(const void *pa, const void *pb, void *arg)
{
	const struct group_link *a = pa, *b = pb;
	const struct fact *v = arg;
	uint64_t x = a->number != b->number ? a->number : v[a->fact].slot;
	uint64_t y = a->number != b->number ? b->number : v[b->fact].slot;
	return x != y ? (x > y) - (x < y) : (a->entry > b->entry) - (a->entry < b->entry);
}

/* Returns a copy; p is NULL if out of memory. */
static struct span group_keep_name(struct group_builder *m, const struct buf *name)
{
	return (struct span){buf_err(name) ? NULL : pool_copy(m->pool, buf_span(name), (struct span){0}), name->n};
}

/* Returns the index of the group of v[i]: the group of the link before it, or a new one. MAP_NONE if out of memory. */
static uint32_t add_to_group(struct group_builder *m, const struct fact_list *list, const struct group_key_ops *key,
                             size_t i)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	const struct fact *f = &list->v[m->result.v[i].fact];
	struct group *g = m->result.n ? &m->result.groups[m->result.n - 1] : NULL;
	if (!g || g->number != m->result.v[i].number) {
		g = &m->result.groups[m->result.n++];
		*g = (struct group){.number = m->result.v[i].number, .first = i, .mtime = f->mtime};
		key->add_name(f, m->result.v[i].label, &name);
		g->name = group_keep_name(m, &name);
		if (!g->name.p || map_put(&m->found, 0, g->name, (uint32_t)m->result.n - 1) < 0)
			return MAP_NONE;
	}
	g->n++;
	if (time_is_before(g->mtime, f->mtime))
		g->mtime = f->mtime;
	return (uint32_t)m->result.n - 1;
}

/* Assigns v[i] its name in the group: plain, or with ~2, ~3, ... Returns false if out of memory. */
static bool link_assign_name(struct group_builder *m, const struct fact_list *list, const struct group_key_ops *key,
                             uint32_t group, size_t i)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	struct group_link *l = &m->result.v[i];
	size_t n_in_group = m->result.groups[group].n;
	char tail[16] = "";
	uint32_t first = MAP_NONE, taken;
	do {
		buf_reset(&name);
		add_link_name(&list->v[l->fact], l, key->naming, n_in_group, tail, &name);
		taken = buf_err(&name) ? MAP_NONE : map_get(&m->taken, group, buf_span(&name));
		first = first == MAP_NONE ? taken : first;
		if (taken != MAP_NONE)
			snprintf(tail, sizeof tail, "~%u", ++m->result.v[first].n_equal + 1);
	} while (taken != MAP_NONE);
	l->name = group_keep_name(m, &name);
	return l->name.p && map_put(&m->taken, group, l->name, (uint32_t)i) == 0;
}

static bool groups_fill(struct group_builder *m, const struct fact_list *list, const struct group_key_ops *key)
{
	const struct group_order order = {list->v, key->naming};
	size_t n = 0;
	for (uint32_t i = 0; i < list->n; i++) {
		const struct fact *f = &list->v[i];
		for (uint32_t k = 0; k < key->links(f); k++)
			m->result.v[n++] = (struct group_link){
			    .number = key->number(f, k),
			    .fact = i,
			    .label = k,
			    .entry = key->naming == LINK_NAME_NUMBER ? f->facts->labels[k].entry : 0,
			};
	}
	qsort_r(m->result.v, n, sizeof *m->result.v, group_name_cmp, (void *)&order);
	for (size_t i = 0; i < n; i++) {
		uint32_t group = add_to_group(m, list, key, i);
		if (group == MAP_NONE || !link_assign_name(m, list, key, group, i))
			return false;
	}
	qsort_r(m->result.v, n, sizeof *m->result.v, group_slot_cmp, (void *)list->v);
	/* Update the indexes after sorting; the names exist already. */
	for (uint32_t k = 0; k < m->result.n; k++)
		for (size_t i = 0; i < m->result.groups[k].n; i++)
			if (map_put(&m->taken, k, m->result.v[m->result.groups[k].first + i].name,
			            (uint32_t)(m->result.groups[k].first + i)) < 0)
				return false;
	return true;
}

struct groups *groups_make(const struct fact_list *list, enum group_key key)
{
	struct group_builder *m = calloc(1, sizeof *m);
	size_t n = 1;
	if (!m)
		return NULL;
	for (size_t i = 0; i < list->n; i++)
		n += keys[key].links(&list->v[i]);
	m->pool = pool_new(true);
	m->result.groups = calloc(n, sizeof *m->result.groups);
	m->result.v = m->pool ? pool_alloc(m->pool, n * sizeof *m->result.v) : NULL;
	if (!m->result.groups || !m->result.v || !groups_fill(m, list, &keys[key])) {
		groups_free(&m->result);
		return NULL;
	}
	m->result.memory = sizeof *m + m->result.n * sizeof *m->result.groups + map_memory(&m->found) +
	                   map_memory(&m->taken) + m->pool->memory;
	return &m->result;
}

static int group_number_cmp(const void *number, const void *group)
{
	uint64_t a = *(const uint64_t *)number, b = ((const struct group *)group)->number;
	return (a > b) - (a < b);
}

const struct group *groups_find(const struct groups *g, uint64_t number)
{
	return bsearch(&number, g->groups, g->n, sizeof *g->groups, group_number_cmp);
}

const struct group *groups_find_name(const struct groups *g, struct span name)
{
	uint32_t i = map_get(&((const struct group_builder *)g)->found, 0, name);
	return i == MAP_NONE ? NULL : &g->groups[i];
}

const struct group_link *groups_find_link(const struct groups *g, const struct group *group, struct span name)
{
	uint32_t i = map_get(&((const struct group_builder *)g)->taken, (uint32_t)(group - g->groups), name);
	return i == MAP_NONE ? NULL : &g->v[i];
}
