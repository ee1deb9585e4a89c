/* SPDX-License-Identifier: MIT */
/* Which session is the newest, by the attributes seen so far. */
#include "catalog_impl.h"

/* Newer by mtime, then the greater stem, then the greater path. */
bool newest_is_newer(const struct file *a, const struct file *b)
{
	if (!time_is_same(a->mtime, b->mtime))
		return time_is_before(b->mtime, a->mtime);
	struct span sa = span_of(a->path + a->base), sb = span_of(b->path + b->base);
	sa.n -= strlen(".jsonl");
	sb.n -= strlen(".jsonl");
	int order = memcmp(sa.p, sb.p, sa.n < sb.n ? sa.n : sb.n);
	if (order == 0)
		order = (sa.n > sb.n) - (sa.n < sb.n);
	return order ? order > 0 : strcmp(a->path, b->path) > 0;
}

/* `best` may be NONE. */
static uint32_t newest_of_both(const struct catalog *c, uint32_t best, uint32_t file)
{
	const struct file *f = &c->files[file];
	bool is_hidden = f->seen.err && f->state != FILE_SESSION;
	if (!file_may_be_session(f) || f->seen.began == 0 || is_hidden)
		return best;
	return best == NONE || newest_is_newer(f, &c->files[best]) ? file : best;
}

static void newest_takes(const struct catalog *c, struct newest *n, uint32_t file, struct timespec before)
{
	n->ages = n->ages || (n->file == file && time_is_before(c->files[file].mtime, before));
	n->file = newest_of_both(c, n->file, file);
}

void newest_ages(struct catalog *c, uint32_t file, struct timespec before)
{
	const struct file *f = &c->files[file];
	uint32_t project = f->dir ? c->dirs[f->dir].project : f->project;
	newest_takes(c, &c->newest, file, before);
	if (project != NONE)
		newest_takes(c, &c->projects[project].newest, file, before);
}

uint32_t newest_seen(const struct catalog *c, uint32_t project)
{
	uint32_t best = NONE;
	for (uint32_t i = 0; project == NO_SLOT && i < c->file_count; i++)
		best = newest_of_both(c, best, i);
	if (project == NO_SLOT)
		return best;
	const struct project *p = &c->projects[project];
	if (p->dir != NONE) {
		const struct list *files = &c->dirs[p->dir].files;
		for (size_t i = 0; i < files->n; i++)
			best = newest_of_both(c, best, files->v[i]);
	}
	for (size_t i = 0; i < p->waiting.n; i++) {
		if (c->files[p->waiting.v[i]].project == project)
			best = newest_of_both(c, best, p->waiting.v[i]);
	}
	for (size_t i = 0; i < p->slots.n; i++) {
		uint32_t file = c->slots[p->slots.v[i]].file;
		if (file != NONE)
			best = newest_of_both(c, best, file);
	}
	return best;
}
