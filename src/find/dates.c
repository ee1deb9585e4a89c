/* The sessions of a list by day. Names are given in byte order of the files, so that of equal ones the first file has
 * the plain name. */
#include "find_impl.h"

#include "sessionfs/base/clock.h"
#include "sessionfs/base/map.h"
#include "sessionfs/base/vec.h"

#include <math.h>
#include <stdio.h>

/* --- days and their names ------------------------------------------------------- */

enum { SECONDS_PER_DAY = 86400 };

bool date_local(double ms, struct tm *ret)
{
	int64_t whole = (int64_t)ms;
	time_t t = (time_t)(whole / 1000 - (whole % 1000 < 0));
	return localtime_r(&t, ret) != NULL;
}

date_t date_at(double ms)
{
	struct tm tm;
	if (isnan(ms) || !date_local(ms, &tm))
		return NO_DATE;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	return (date_t)(timegm(&tm) / SECONDS_PER_DAY);
}

void date_name(date_t day, char ret[DATE_NAME])
{
	struct tm tm = {0};
	time_t t = (time_t)day * SECONDS_PER_DAY;
	gmtime_r(&t, &tm);
	snprintf(ret, DATE_NAME, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}

date_t date_of_name(struct span name)
{
	char text[DATE_NAME], again[DATE_NAME];
	struct tm tm = {0};
	if (name.n >= sizeof text)
		return NO_DATE;
	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	if (sscanf(text, "%d-%d-%d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday) != 3 || abs(tm.tm_year) > 1000000 ||
	    tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31)
		return NO_DATE;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	date_t day = (date_t)(timegm(&tm) / SECONDS_PER_DAY);
	date_name(day, again);
	return strcmp(text, again) == 0 ? day : NO_DATE;
}

/* --- the sessions under them ------------------------------------------------------ */

struct made {
	struct dates shown; /* first: days that were handed out are this */
	struct date *days;
	struct dated *v;
	char **names; /* those that are not the plain ones */
	size_t n_names, names_cap;
	struct map taken; /* by day (its number in `days`) and name: the session */
	struct map tails; /* the last ~N given to a plain name */
};

void dates_free(struct dates *d)
{
	struct made *m = (struct made *)d;
	if (!m)
		return;
	for (size_t i = 0; i < m->n_names; i++)
		free(m->names[i]);
	free(m->names);
	map_release(&m->taken);
	map_release(&m->tails);
	free(m->days);
	free(m->v);
	free(m);
}

/* By day, then file. */
static int file_cmp(const void *pa, const void *pb, void *arg)
{
	const struct fact *v = arg;
	const struct fact *a = &v[((const struct dated *)pa)->fact], *b = &v[((const struct dated *)pb)->fact];
	if (a->of->date != b->of->date)
		return a->of->date < b->of->date ? -1 : 1;
	return strcmp(a->file, b->file);
}

/* By day, then slot. */
static int slot_cmp(const void *pa, const void *pb, void *arg)
{
	const struct fact *v = arg;
	const struct fact *a = &v[((const struct dated *)pa)->fact], *b = &v[((const struct dated *)pb)->fact];
	if (a->of->date != b->of->date)
		return a->of->date < b->of->date ? -1 : 1;
	return (a->slot > b->slot) - (a->slot < b->slot);
}

/* The number of the day of v[i], which is that of the session before it or a new one. */
static uint32_t add_to_day(struct made *m, const struct fact_list *list, size_t i)
{
	const struct fact *f = &list->v[m->v[i].fact];
	struct date *d = m->shown.n ? &m->days[m->shown.n - 1] : NULL;
	if (!d || d->date != f->of->date) {
		d = &m->days[m->shown.n++];
		*d = (struct date){.date = f->of->date, .first = i, .mtime = f->mtime};
	}
	d->n++;
	if (time_is_before(d->mtime, f->mtime))
		d->mtime = f->mtime;
	return (uint32_t)m->shown.n - 1;
}

/* The name with ~n behind it, kept; p NULL without memory. */
static struct span numbered(struct made *m, struct span plain, uint32_t n)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	char suffix[16];
	snprintf(suffix, sizeof suffix, "~%u", n);
	buf_addspan(&name, plain);
	buf_adds(&name, suffix);
	if (!buf_cstr(&name) || !vec_grow(&m->names, &m->names_cap, m->n_names + 1, sizeof *m->names))
		return (struct span){NULL, 0};
	struct span made = buf_span(&name);
	m->names[m->n_names++] = name.p;
	name = (struct buf)BUF_INIT;
	return made;
}
/* The name of session `fact` on a day: plain, or with ~2, ~3, ... A name of at most 60 characters and a time has room
 * for that. p NULL without memory. */
static struct span dates_give_name(struct made *m, uint32_t day, uint32_t fact, struct span plain)
{
	struct span name = plain;
	uint32_t tail = map_get(&m->tails, day, plain), n = tail == MAP_NONE ? 1 : tail;
	while (name.p && map_get(&m->taken, day, name) != MAP_NONE)
		name = numbered(m, plain, ++n);
	if (!name.p || map_put(&m->taken, day, name, fact) < 0 || (n > 1 && map_put(&m->tails, day, plain, n) < 0))
		return (struct span){NULL, 0};
	return name;
}

static bool fill(struct made *m, const struct fact_list *list)
{
	size_t n = 0;
	for (uint32_t i = 0; i < list->n; i++)
		if (list->v[i].of->date != NO_DATE)
			m->v[n++].fact = i;
	qsort_r(m->v, n, sizeof *m->v, file_cmp, (void *)list->v);
	for (size_t i = 0; i < n; i++) {
		uint32_t day = add_to_day(m, list, i);
		m->v[i].name = dates_give_name(m, day, m->v[i].fact, list->v[m->v[i].fact].of->date_name);
		if (!m->v[i].name.p)
			return false;
	}
	qsort_r(m->v, n, sizeof *m->v, slot_cmp, (void *)list->v);
	return true;
}

struct dates *dates_make(const struct fact_list *list)
{
	struct made *m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	m->days = calloc(list->n + 1, sizeof *m->days);
	m->v = calloc(list->n + 1, sizeof *m->v);
	if (!m->days || !m->v || !fill(m, list)) {
		dates_free(&m->shown);
		return NULL;
	}
	m->shown.days = m->days;
	m->shown.v = m->v;
	return &m->shown;
}

const struct date *dates_find(const struct dates *d, date_t day)
{
	size_t lo = 0, hi = d->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (d->days[mid].date == day)
			return &d->days[mid];
		if (d->days[mid].date < day)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

uint32_t dates_find_name(const struct dates *d, const struct date *day, struct span name)
{
	return map_get(&((const struct made *)d)->taken, (uint32_t)(day - d->days), name);
}
