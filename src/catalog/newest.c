/* SPDX-License-Identifier: MIT */
/* Finds the newest session, by the attributes seen so far. */
#include "catalog_impl.h"

static struct span name_of(const struct file *f)
{
	size_t at;
	header_name(f->path, &at);
	return (struct span){f->path + f->base, at - f->base};
}

/* Newer by mtime, then the greater stem, then the greater path. */
bool newest_is_newer(const struct file *a, const struct file *b)
{
	if (!time_is_same(a->mtime, b->mtime))
		return time_is_before(b->mtime, a->mtime);
	int order = span_compare(name_of(a), name_of(b));
	return order ? order > 0 : strcmp(a->path, b->path) > 0;
}

/* `best` can be NONE. */
static uint32_t newest_of_two(const struct catalog *c, uint32_t best, uint32_t file, int which)
{
	const struct file *f = &c->files[file];
	bool is_hidden = f->scanned.err && f->state != FILE_SESSION;
	bool is_deeper = c->dirs[f->dir].depth > 1 || (f->dir != 0 && f->stem_at == 0);
	if (!file_may_be_session(f) || f->scanned.began == 0 || is_hidden)
		return best;
	if (which == NEWEST_LISTED && (is_deeper || header_name(f->path, NULL) != NAME_SESSION))
		return best;
	return best == NONE || newest_is_newer(f, &c->files[best]) ? file : best;
}

static void newest_add_file(const struct catalog *c, struct newest *n, uint32_t file, struct timespec before)
{
	for (int which = 0; which < 2; which++, n++) {
		if (n->file == file && time_is_before(c->files[file].mtime, before))
			n->epoch = 0;
		n->file = newest_of_two(c, n->file, file, which);
	}
}

void newest_file_changed(struct catalog *c, uint32_t file, struct timespec before)
{
	const struct file *f = &c->files[file];
	uint32_t project = dir_is_flat(c, f->dir) ? f->project : c->dirs[f->dir].project;
	newest_add_file(c, c->newest, file, before);
	if (project != NONE)
		newest_add_file(c, c->projects[project].newest, file, before);
}

uint32_t newest_known(const struct catalog *c, uint32_t project, int which)
{
	struct project_walk at = {0};
	uint32_t best = NONE, file;
	for (uint32_t i = 0; project == NO_SLOT && i < c->file_count; i++)
		best = newest_of_two(c, best, i, which);
	while (project != NO_SLOT && (file = project_next_file(c, project, &at)) != NONE)
		best = newest_of_two(c, best, file, which);
	return best;
}
