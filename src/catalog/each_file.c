/* SPDX-License-Identifier: MIT */
/* Lists every file under the source, for --check. */
#include "catalog_impl.h"

struct listed {
	const char *path;
	uint32_t file, dir;
};

static int listed_path_cmp(const void *pa, const void *pb)
{
	const struct listed *a = pa, *b = pb;
	return strcmp(a->path, b->path);
}

static int dir_last_error(const struct dir *d)
{
	return d->scanned.err ? d->scanned.err : d->err;
}

/* Lists all candidates and the unreadable directories, sorted. Returns their number, or a negative errno. */
static ssize_t list_files(struct catalog *c, struct listed **ret)
{
	struct listed *l = calloc(c->file_count + c->dir_count, sizeof *l);
	size_t n = 0;

	if (!l)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->file_count; i++) {
		if (c->files[i].state != FILE_GONE)
			l[n++] = (struct listed){.path = c->files[i].path, .file = i, .dir = NONE};
	}
	for (uint32_t i = 0; i < c->dir_count; i++) {
		int err = dir_last_error(&c->dirs[i]);
		if ((err && !error_is_absence(err)) || (c->dirs[i].reason && !c->dirs[i].gone))
			l[n++] = (struct listed){.path = i ? c->dirs[i].name : ".", .file = NONE, .dir = i};
	}
	qsort(l, n, sizeof *l, listed_path_cmp);
	*ret = l;
	return (ssize_t)n;
}

/* Returns why the file or directory is not a session; NULL if it is one, or with *ret_err. */
static const char *why_no_session(const struct catalog *c, const struct listed *l, uint32_t *ret_slot, int *ret_err)
{
	const struct file *f = l->file == NONE ? NULL : &c->files[l->file];
	*ret_slot = f ? f->slot : NO_SLOT;
	*ret_err = 0;
	if (*ret_slot != NO_SLOT)
		return NULL;
	*ret_err = f ? f->scanned.err ? f->scanned.err : f->err : dir_last_error(&c->dirs[l->dir]);
	if (*ret_err)
		return NULL;
	if (!f)
		return c->dirs[l->dir].reason;
	if (f->state == FILE_SESSION)
		return "too many sessions";
	return f->state == FILE_OTHER && f->reason ? f->reason : "changed while it was read";
}

int catalog_each_file(struct catalog *c, catalog_file_fn fn, void *arg)
{
	struct listed *l CLEANUP_FREE = NULL;
	struct sync a = sync_begin(c, AGE_NONE);
	names_ensure_project(&a, NO_SLOT);
	ssize_t n = list_files(c, &l);
	sync_close(&a, 0);
	if (n < 0)
		return (int)n;
	for (ssize_t i = 0; i < n; i++) {
		uint32_t slot;
		int err;
		lock_acquire(&c->lock);
		char *path CLEANUP_FREE = strdup(l[i].path); /* another file can get the place of one that is gone */
		bool is_gone = l[i].file != NONE && c->files[l[i].file].state == FILE_GONE;
		const char *reason = why_no_session(c, &l[i], &slot, &err);
		lock_release(&c->lock);
		int rc = is_gone ? 0 : path ? fn(arg, path, slot, err, reason) : -ENOMEM;
		if (rc)
			return rc;
	}
	return 0;
}
