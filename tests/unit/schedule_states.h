/* SPDX-License-Identifier: MIT */
/* The states in catalog_impl.h and open_index.h: checks that each is a possible one whenever a thread releases the
 * catalog's lock.
 */
#ifndef SCHEDULE_STATES_H
#define SCHEDULE_STATES_H

#include "../../src/catalog/open_index.h"

#define CANNOT(condition, text, number)                                                                                \
	if (condition)                                                                                                 \
	wrong("%s %u: %s", text, (unsigned)(number), #condition)

static bool list_has(const struct u32_list *l, uint32_t value)
{
	size_t i = 0;
	while (i < l->n && l->v[i] != value)
		i++;
	return i < l->n;
}

static void check_scan(const struct scan_state *s, const char *what, uint32_t i)
{
	CANNOT(s->scan && s->scan->phase == SCAN_LATE && !s->scan->foreign, what, i);
}

static void check_file(const struct catalog *c, uint32_t i)
{
	const struct file *f = &c->files[i];
	check_scan(&f->scanned, "file", i);
	CANNOT(f->slot != NONE && f->state != FILE_SESSION, "file", i);
	CANNOT(f->slot != NONE && (f->project == NONE || !f->stem || c->slots[f->slot].file != i), "file", i);
	CANNOT(f->waits && f->project != NONE && !list_has(&c->projects[f->project].waiting, i), "file", i);
	CANNOT(f->state == FILE_SESSION && f->slot == NONE && !f->waits && f->project != NONE && !f->scanned.err,
	       "file", i);
	CANNOT(f->reread && f->state == FILE_SESSION && !f->scanned.err && !scan_state_is_marked(&f->scanned), "file",
	       i);
}

static void check_dir(const struct catalog *c, uint32_t i)
{
	const struct dir *d = &c->dirs[i];
	uint32_t unwatched = 0;
	check_scan(&d->scanned, "directory", i);
	CANNOT(d->gone && (d->wd || d->scanned.err), "directory", i);
	CANNOT(d->gone && d->scanned.scan && d->scanned.scan->phase == SCAN_LATE, "directory", i);
	CANNOT(d->wd > 0 && watch_dir_of(&c->watching, d->wd) != i, "directory", i);
	CANNOT(d->wd > 0 && d->err && !d->scanned.scan && !d->scanned.err, "directory", i);
	CANNOT(d->trusted && (d->err || d->scan == 0), "directory", i);
	for (uint32_t k = i; k != NONE; k = dir_next(c, i, k))
		unwatched += !c->dirs[k].gone && (!c->dirs[k].wd || c->dirs[k].linked);
	CANNOT(d->tree.unwatched != unwatched, "directory", i);
}

static void check_index(const struct catalog *c, const struct open_index *x)
{
	bool is_forgotten = open_index_is_forgotten(c, x);
	CANNOT(x->opening && (x->session || x->refs == 0), "index of slot", x->slot);
	CANNOT(!x->opening && !x->session != !!x->err, "index of slot", x->slot);
	CANNOT(!x->opening && x->err && !is_forgotten, "index of slot", x->slot);
	CANNOT(is_forgotten && x->refs == 0, "index of slot", x->slot);
	CANNOT(!is_forgotten && c->slots[x->slot].file == NONE, "index of slot", x->slot);
}

static void check_states(const struct catalog *c)
{
	size_t failed = 0, waiting = 0, indexes = 0;
	for (uint32_t i = 0; i < c->file_count; i++) {
		check_file(c, i);
		failed += c->files[i].scanned.err != 0;
	}
	for (uint32_t i = 0; i < c->dir_count; i++) {
		check_dir(c, i);
		failed += c->dirs[i].scanned.err != 0;
	}
	for (uint32_t i = 0; i < c->slot_count; i++)
		CANNOT(c->slots[i].file != NONE && c->files[c->slots[i].file].slot != i, "slot", i);
	for (uint32_t i = 0; i < c->project_count; i++)
		waiting += c->projects[i].waiting.n;
	for (const struct open_index *x = c->open.newest; x; x = x->older, indexes++)
		check_index(c, x);
	CANNOT(failed != c->failed.n, "failures", failed);
	CANNOT(waiting != c->waiting, "waiting files", waiting);
	CANNOT(indexes != c->open.count, "indexes", indexes);
	CANNOT(c->forks_epoch > c->epoch || c->named_epoch > c->epoch, "epoch", c->epoch);
}

static void check_states_at_unlock(const void *mutex)
{
	if (run.c && mutex == &run.c->lock.mutex && !run.wrong[0])
		check_states(run.c);
}

#endif
