/* SPDX-License-Identifier: MIT */
/* Finds the parent of each fork. The header of a fork names its parent by a path on the machine that made it, or in a
 * mount there. Sessions are copied and moved: if the source has no such file, only the file name at its end counts.
 *
 * The forks of all sessions are found together, and again when a session appears or disappears. Files of the same name
 * are a range of a sorted list. */
#include "catalog_impl.h"

#include "sessionfs/base/cancel.h"

/* All live sessions, sorted by file name, then by directory. */
struct fork_lookup {
	const struct catalog *c;
	const uint32_t *slots;
	size_t n;
};

/* Paths on disk can come from Windows. Paths in a mount cannot, and a name there can contain a backslash. */
#define SLASHES SPAN_LIT("/\\")
#define SLASH SPAN_LIT("/")

/* The name of each session's file in a mount, and of the file of each branch. */
#define IN_MOUNT SPAN_LIT("session.jsonl")

static const struct file *slot_file(const struct catalog *c, uint32_t slot)
{
	return &c->files[c->slots[slot].file];
}

/* Returns the part after the last of these separators and cuts it off *path. */
static struct span path_split_last(struct span *path, struct span separators)
{
	size_t at = path->n;
	while (at > 0 && !memchr(separators.p, path->p[at - 1], separators.n))
		at--;
	struct span part = {path->p + at, path->n - at};
	path->n = at ? at - 1 : 0;
	return part;
}

static struct span file_dir_name(const struct catalog *c, const struct file *f)
{
	struct span path = span_of(f->dir ? c->dirs[f->dir].name : c->source);
	return path_split_last(&path, SLASHES);
}

static struct span file_base_name(const struct file *f)
{
	return span_of(f->path + f->base);
}

/* A file by its name and its directory's name (p NULL: any). */
struct fork_key {
	struct span base, dir;
};

static int file_key_cmp(const struct catalog *c, const struct file *f, const struct fork_key *key)
{
	int order = span_compare(file_base_name(f), key->base);
	return order || !key->dir.p ? order : span_compare(file_dir_name(c, f), key->dir);
}

static int fork_slot_cmp(const void *pa, const void *pb, void *arg)
{
	const struct file *a = slot_file(arg, *(const uint32_t *)pa), *b = slot_file(arg, *(const uint32_t *)pb);
	const struct fork_key key = {file_base_name(b), file_dir_name(arg, b)};
	return file_key_cmp(arg, a, &key);
}

/* Returns the slots of the live sessions, sorted by fork_slot_cmp; NULL if out of memory. */
static uint32_t *sort_slots(struct catalog *c, size_t *ret_n)
{
	uint32_t *slots = calloc(c->slot_count + 1, sizeof *slots);
	*ret_n = 0;
	for (uint32_t slot = 0; slots && slot < c->slot_count; slot++)
		if (c->slots[slot].file != NONE)
			slots[(*ret_n)++] = slot;
	if (slots)
		qsort_r(slots, *ret_n, sizeof *slots, fork_slot_cmp, c);
	return slots;
}

/* Returns the first session, other than `self`, whose file has this key; or NONE. Sets *ret_many if there are several.
 */
static uint32_t find_by_key(const struct fork_lookup *l, const struct fork_key *key, uint32_t self, bool *ret_many)
{
	const uint32_t *slots = l->slots;
	uint32_t found = NONE;
	size_t low = 0, high = l->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (file_key_cmp(l->c, slot_file(l->c, slots[middle]), key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_many = false;
	for (; low < l->n && !*ret_many && file_key_cmp(l->c, slot_file(l->c, slots[low]), key) == 0; low++) {
		if (slots[low] == self)
			continue;
		*ret_many = found != NONE;
		if (found == NONE)
			found = slots[low];
	}
	return found;
}

/* Returns the session, other than `self`, whose file has this absolute path. */
static uint32_t find_by_path(const struct catalog *c, struct span path, uint32_t self)
{
	struct span source = span_of(c->source);
	if (!span_begins(path, source) || path.n == source.n || path.p[source.n] != '/')
		return NONE;
	path.p += source.n + 1;
	path.n -= source.n + 1;
	uint32_t file = map_get(&c->paths, 0, path);
	uint32_t slot = file == NONE ? NONE : c->files[file].slot;
	return slot == self ? NONE : slot;
}

/* Returns the session, other than `self`, that a mount path names: projects/PROJECT/STEM/session.jsonl or
 * sessions/SID/session.jsonl, with an optional branches/ID before the last part. */
static uint32_t find_by_mount_path(const struct catalog *c, struct span path, uint32_t self)
{
	if (!span_eq(path_split_last(&path, SLASH), IN_MOUNT))
		return NONE;
	for (int branch = 0; branch < 2; branch++) {
		struct span name = path_split_last(&path, SLASH), rest = path, above = path_split_last(&rest, SLASH);
		uint32_t file = NONE, project;
		if (span_is(above, "sessions")) {
			file = map_get(&c->sids, 0, name);
		} else if (span_is(path_split_last(&rest, SLASH), "projects")) {
			project = map_get(&c->project_names, 0, above);
			file = project == NONE ? NONE : map_get(&c->stems, project, name);
		}
		uint32_t slot = file == NONE ? NONE : c->files[file].slot;
		if (slot != NONE && slot != self)
			return slot;
		if (!span_is(path_split_last(&path, SLASH), "branches"))
			return NONE;
	}
	return NONE;
}

/* Returns the session whose directory contains the file: the nearest directory above for which NAME.jsonl is a
 * session. */
static uint32_t find_parent_by_dir(const struct catalog *c, const struct file *f)
{
	uint32_t found = NONE;
	for (uint32_t dir = f->dir; dir != 0 && found == NONE; dir = c->dirs[dir].parent) {
		struct buf path CLEANUP_BUF = BUF_INIT;
		buf_addf(&path, "%s.jsonl", c->dirs[dir].name);
		uint32_t file = buf_err(&path) ? NONE : map_get(&c->paths, 0, buf_span(&path));
		found = file == NONE ? NONE : c->files[file].slot;
	}
	return found;
}

/* Returns the only session with that file name, or the only one of them in a directory of the same name. */
static uint32_t find_by_name(const struct fork_lookup *l, struct span path, uint32_t self)
{
	struct fork_key key = {.base = path_split_last(&path, SLASHES)};
	struct span dir = path_split_last(&path, SLASHES);
	bool many;

	if (key.base.n == 0 || memchr(key.base.p, '\0', key.base.n) || span_eq(key.base, IN_MOUNT))
		return NONE;
	uint32_t found = find_by_key(l, &key, self, &many);
	key.dir = dir;
	if (many && dir.n)
		found = find_by_key(l, &key, self, &many);
	return many ? NONE : found;
}

static void report_session_changed(struct catalog *c, uint32_t slot)
{
	if (slot != NONE && c->slots[slot].file != NONE)
		watch_add_change(c, c->slots[slot].file, NONE, false);
}

/* A session shows its parent and forks, so a new parent changes both sessions. No reader has seen any parent before all
 * are known. */
static void slot_set_parent(struct catalog *c, uint32_t slot, uint32_t parent)
{
	uint32_t before = c->slots[slot].parent;
	if (before == parent)
		return;
	c->slots[slot].parent = parent;
	if (!c->forks_epoch)
		return;
	c->epoch++;
	report_session_changed(c, slot);
	report_session_changed(c, before);
	report_session_changed(c, parent);
}

/* Builds each slot's list of its forks, in their order. */
static void build_fork_lists(struct catalog *c)
{
	for (uint32_t slot = 0; slot < c->slot_count; slot++)
		c->slots[slot].first_fork = NONE;
	for (uint32_t slot = (uint32_t)c->slot_count; slot-- > 0;) {
		struct slot *s = &c->slots[slot];
		if (s->parent == NONE)
			continue;
		s->next_fork = c->slots[s->parent].first_fork;
		c->slots[s->parent].first_fork = slot;
	}
}

/* Sets the parent of each slot. */
static int find_parents(struct catalog *c)
{
	size_t n;
	uint32_t *slots CLEANUP_FREE = sort_slots(c, &n);
	const struct fork_lookup l = {c, slots, n};
	int rc = slots ? 0 : -ENOMEM;
	for (uint32_t slot = 0; rc == 0 && slot < c->slot_count; slot++) {
		struct span path = c->slots[slot].file == NONE ? (struct span){NULL, 0} : slot_file(c, slot)->parent;
		uint32_t parent = path.p ? find_by_mount_path(c, path, slot) : NONE;
		if (path.p && parent == NONE)
			parent = find_by_path(c, path, slot);
		if (path.p && parent == NONE)
			parent = find_by_name(&l, path, slot);
		if (parent == NONE && c->slots[slot].file != NONE)
			parent = find_parent_by_dir(c, slot_file(c, slot));
		slot_set_parent(c, slot, parent);
		/* Without a name in the header, this was one lookup for each directory above. */
		rc = path.p ? cancel_check() : 0;
	}
	build_fork_lists(c);
	return rc;
}

bool slot_is_started(const struct catalog *c, uint32_t slot)
{
	uint32_t parent = c->slots[slot].parent;
	if (parent == NONE || c->slots[parent].file == NONE || c->slots[slot].file == NONE)
		return false;
	struct span path = {.p = slot_file(c, parent)->path}, of = span_of(slot_file(c, slot)->path);
	return header_name(path.p, &path.n) == NAME_SESSION && span_begins(of, path) && of.p[path.n] == '/';
}

bool forks_refresh(struct sync *a)
{
	struct catalog *c = a->c;
	if (!names_ensure_project(a, NO_SLOT))
		return false;
	names_ensure_projects(a);
	if (c->forks_epoch == c->epoch)
		return true;
	int rc = find_parents(c);
	if (rc == 0) {
		c->forks_epoch = c->epoch;
	} else {
		a->err = rc;
		a->needs_all = true;
	}
	return true;
}

/* Returns whether the session exists as far as is known: one that cannot be read now is not gone. */
static bool slot_is_known(struct sync *a, uint32_t slot)
{
	int rc = slot_check_file(a, slot);
	return rc == 0 || error_is_transient(rc);
}

static uint32_t parent_of_slot(struct sync *a, uint32_t slot)
{
	const struct catalog *c = a->c;
	if (slot_check_file(a, slot) < 0)
		return NO_SLOT;
	const struct dir *dir = &c->dirs[slot_file(c, slot)->dir];
	if (!slot_file(c, slot)->parent.p && dir->depth < 2 && dir->namesake == NONE)
		return NO_SLOT;
	forks_refresh(a);
	uint32_t parent = c->slots[slot].parent;
	return parent != NONE && slot_is_known(a, parent) ? parent : NO_SLOT;
}

uint32_t catalog_parent(struct catalog *c, uint32_t slot)
{
	struct sync a = sync_begin(c, AGE_NONE);
	uint32_t parent = parent_of_slot(&a, slot);
	sync_end(&a, parent != NO_SLOT);
	return parent;
}

/* Returns whether the directory exists in which it starts others. Without it, no header is needed. */
static bool slot_has_dir(struct sync *a, uint32_t slot)
{
	const struct catalog *c = a->c;
	if (slot_check_file(a, slot) < 0)
		return false;
	require(a, OF_TREE, slot_file(c, slot)->dir, NAMES);
	/* The scan can have found that the file is gone. */
	if (c->slots[slot].file == NONE)
		return false;
	struct span path = {.p = slot_file(c, slot)->path};
	uint32_t dir = header_name(path.p, &path.n) == NAME_SESSION ? map_get(&c->dir_names, 0, path) : NONE;
	return dir != NONE && !c->dirs[dir].gone;
}

static bool forks_next(struct sync *a, uint32_t slot, bool below, uint64_t *cookie, struct slot_info *ret)
{
	const struct catalog *c = a->c;
	bool found = false;

	if ((below && !slot_has_dir(a, slot)) || !forks_refresh(a) || slot >= c->slot_count)
		return false;
	/* Continues after the last one returned, if that is still a fork of this one. */
	uint32_t fork = c->slots[slot].first_fork, last = (uint32_t)*cookie - 1;
	if (*cookie && last < c->slot_count && c->slots[last].parent == slot)
		fork = c->slots[last].next_fork;
	for (; !found && fork != NONE && c->slots[fork].parent == slot; fork = c->slots[fork].next_fork) {
		if (fork < *cookie)
			continue;
		*cookie = (uint64_t)fork + 1;
		if (c->slots[slot].file == NONE || c->slots[fork].file == NONE)
			continue;
		found = slot_is_started(c, fork) == below && slot_is_known(a, fork);
		if (found)
			slot_fill_info(c, fork, ret);
	}
	return found;
}

bool catalog_fork_next(struct catalog *c, uint32_t slot, bool below, uint64_t *cookie, struct slot_info *ret)
{
	struct sync a = sync_begin(c, AGE_NONE);
	a.needs_all = true;
	return sync_end(&a, forks_next(&a, slot, below, cookie, ret));
}

void catalog_report_forks(struct catalog *c)
{
	struct sync a = sync_begin(c, AGE_NONE);
	if (c->forks_epoch && c->forks_epoch != c->epoch && c->dirs[0].tree.unwatched == 0)
		forks_refresh(&a);
	sync_close(&a, 0);
}
