/* by-date/: the sessions by the day they were begun. */
#include "sessionfs/find/dates.h"
#include "rows.h"

#include <errno.h>

/* A day is numbered in a node by the bits of slot and entry; no day that JavaScript knows is further from 1970. */
#define DATES_BEFORE UINT32_C(100000001)
#define DATE_LOW_BITS 20

static uint32_t date_number(date_t day)
{
	return (uint32_t)day + DATES_BEFORE;
}

static struct node date_node(date_t day)
{
	uint32_t n = date_number(day);
	return (struct node){.slot = n >> DATE_LOW_BITS, .entry = n & ((1 << DATE_LOW_BITS) - 1)};
}

static date_t date_of_node(struct node n)
{
	return (date_t)((n.slot << DATE_LOW_BITS | n.entry) - DATES_BEFORE);
}

/* The days as of now; NULL and *ret_err if they cannot be made. */
static const struct dates *all_dates(struct ctx *c, int *ret_err)
{
	*ret_err = ctx_facts(c);
	const struct dates *all = *ret_err == 0 ? facts_dates(c->facts) : NULL;
	if (*ret_err == 0 && !all)
		*ret_err = -ENOMEM;
	return all;
}

/* What is not found may be among the sessions that could not be read. */
static int not_found(const struct ctx *c)
{
	return c->facts->missed ? c->facts->missed : -ENOENT;
}

/* The day of c's node; NULL and *ret_err if there is none. */
static const struct date *find_date(struct ctx *c, int *ret_err)
{
	const struct dates *all = all_dates(c, ret_err);
	const struct date *day = all ? dates_find(all, date_of_node(c->node)) : NULL;
	if (all && !day)
		*ret_err = not_found(c);
	return day;
}

static bool date_has(struct ctx *c)
{
	int rc;
	const struct date *day = find_date(c, &rc);
	fault_note(day || rc == -ENOENT ? 0 : rc);
	return day;
}

struct timespec date_mtime(struct ctx *c)
{
	int rc;
	const struct date *day = find_date(c, &rc);
	return day ? day->mtime : (struct timespec){0};
}

static int date_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	int rc;
	const struct dates *all = all_dates(dir, &rc);
	for (size_t i = 0; all && i < all->n && rc == 0; i++) {
		date_t day = all->days[i].date;
		char name[DATE_NAME];
		if (date_number(day) < cookie)
			continue;
		date_name(day, name);
		rc = list_child(dir, l, date_node(day), span_of(name), COOKIE_FAMILY + date_number(day) + 1);
	}
	return rc == 0 ? dir->facts->missed : rc < 0 ? rc : 0;
}

static int date_match(struct ctx *dir, struct span name, struct node *ret)
{
	int rc;
	const struct dates *all = all_dates(dir, &rc);
	if (!all)
		return rc;
	date_t day = date_of_name(name);
	if (day == NO_DATE || !dates_find(all, day))
		return not_found(dir);
	struct node n = date_node(day);
	ret->slot = n.slot;
	ret->entry = n.entry;
	return 0;
}

static uint32_t slot_at(const struct ctx *c, const struct dates *all, size_t i)
{
	return c->facts->v[all->v[i].fact].slot;
}

/* The first of the day's sessions whose slot is not below this one. */
static size_t first_from(const struct ctx *c, const struct dates *all, const struct date *day, uint64_t slot)
{
	size_t lo = day->first, hi = day->first + day->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (slot_at(c, all, mid) < slot)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int date_link_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	int rc;
	const struct date *day = find_date(dir, &rc);
	if (!day)
		return rc == -ENOENT ? -ESTALE : rc;
	const struct dates *all = facts_dates(dir->facts);
	for (size_t i = first_from(dir, all, day, cookie); i < day->first + day->n && rc == 0; i++) {
		uint32_t slot = slot_at(dir, all, i);
		/* One that went just now is missed by the next listing. */
		if (l->want == TREE_ATTRS && catalog_slot(dir->tree->catalog, slot, &dir->slot) < 0)
			continue;
		rc = list_child(dir, l, (struct node){.slot = slot}, all->v[i].name, COOKIE_FAMILY + slot + 1);
	}
	return rc == 0 ? dir->facts->missed : rc < 0 ? rc : 0;
}

static int date_link_match(struct ctx *dir, struct span name, struct node *ret)
{
	int rc;
	const struct date *day = find_date(dir, &rc);
	if (!day)
		return rc;
	uint32_t fact = dates_find_name(facts_dates(dir->facts), day, name);
	if (fact == NO_FACT)
		return not_found(dir);
	*ret = (struct node){.kind = ret->kind, .slot = dir->facts->v[fact].slot};
	return 0;
}

static int date_link_show(struct ctx *c, struct buf *out)
{
	return link_session(c, "../../projects/", &c->slot, out);
}

static const struct kind in_by_date[] = {
    {NULL, .doc = "the sessions begun on this day", .from = &from_all, .make = DIR(date), .has = date_has,
     .names = {"DAY", date_list, date_match, NULL}, .time = STAMP_DATE},
};
const struct rows rows_by_date = ROWS(in_by_date);

static const struct kind in_date[] = {
    {NULL, .doc = "a session (a link)", .from = &from_file, .make = LINK(date_link_show), .flags = OF_ALL,
     .names = {"TIME TITLE", date_link_list, date_link_match, NULL}},
};
const struct rows rows_date = ROWS(in_date);
