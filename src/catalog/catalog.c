/* SPDX-License-Identifier: MIT */
/* The catalog's calls: projects, slots, the newest session. No other file here calls them.
 *
 * There are three depths of scanning, each done only when required: names (readdir), attributes (stat), headers.
 * Listing projects requires the first two. Headers are read for the files of one project when a call asks for its
 * sessions, and for flat files, since only their header names their project. */
#include "catalog_impl.h"

int catalog_open(const char *source, const struct catalog_options *o, struct catalog **ret)
{
	struct stat st;
	char *real CLEANUP_FREE = realpath(source, NULL);
	if (!real || stat(real, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	struct catalog *c = calloc(1, sizeof *c);
	if (!c)
		return -ENOMEM;
	lock_init(&c->lock, LOCK_CATALOG);
	lock_cond_init(&c->scanned);
	c->source = real;
	real = NULL;
	c->uid = geteuid();
	c->fresh_ms = o->fresh_ms ? o->fresh_ms : CATALOG_FRESH_MS;
	c->epoch = 1;
	c->flat.unwatched = 1;
	c->newest[0].file = c->newest[1].file = NONE;
	c->budget = o->budget;
	c->strict = o->strict;
	open_indexes_init(c);
	c->strings = pool_new(false);
	int rc = c->strings ? watching_init(&c->watching, o) : -ENOMEM;
	if (rc == 0)
		rc = vec_grow(&c->dirs, &c->dir_cap, 1, sizeof *c->dirs) && vec_reserve(&c->failed, 1)
		         ? resolver_open(c->source, &c->resolver)
		         : -ENOMEM;
	if (rc < 0) {
		catalog_close(c);
		return rc;
	}
	if (o->redact)
		resolver_set_redact(c->resolver);
	c->dirs[c->dir_count++] = (struct dir){.name = "",
	                                       .tree.unwatched = 1,
	                                       .project = NONE,
	                                       .parent = NONE,
	                                       .child = NONE,
	                                       .sibling = NONE,
	                                       .namesake = NONE};
	*ret = c;
	return 0;
}

void catalog_close(struct catalog *c)
{
	if (!c)
		return;
	open_indexes_release(c);
	watching_release(&c->watching);
	for (size_t i = 0; i < c->dir_count; i++) {
		list_release(&c->dirs[i].files);
		scan_put(c, c->dirs[i].scanned.scan);
	}
	for (size_t i = 0; i < c->project_count; i++) {
		list_release(&c->projects[i].slots);
		list_release(&c->projects[i].waiting);
	}
	for (size_t i = 0; i < c->file_count; i++)
		scan_put(c, c->files[i].scanned.scan);
	struct map *maps[] = {&c->paths, &c->dir_names,  &c->project_keys, &c->project_names, &c->stems,
	                      &c->sids,  &c->stem_tails, &c->sid_tails,    &c->logged};
	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		map_release(maps[i]);
	list_release(&c->nameless);
	vec_release(&c->failed);
	pool_put(c->strings);
	free(c->files);
	free(c->dirs);
	free(c->projects);
	free(c->slots);
	free(c->source);
	resolver_close(c->resolver);
	pthread_cond_destroy(&c->scanned);
	lock_destroy(&c->lock);
	free(c);
}

const char *catalog_source(const struct catalog *c)
{
	return c->source;
}

struct resolver *catalog_resolver(const struct catalog *c)
{
	return c->resolver;
}

/* ---- the newest ---- */

/* A newest file that is not a session costs a new search. After this many, all headers are read. */
#define HEADER_TRIES_MAX 8

/* Returns the file of the newest session of a project (NO_SLOT: of all projects), or NONE. The file's header has been
 * read. Most files are sessions, so at first only the newest one's own header is read. */
static uint32_t newest_session_file(struct sync *a, uint32_t project, int which)
{
	struct catalog *c = a->c;
	uint32_t file, other = NONE; /* the last one that is not a session */
	if (project != NO_SLOT)
		require(a, OF_TREE, FLAT, HEADERS);
	require(a, OF_PROJECT, project, ATTRS);
	for (int tries = 0;; tries++) {
		struct newest *n = project == NO_SLOT ? &c->newest[which] : &c->projects[project].newest[which];
		if (n->epoch != c->epoch || other != NONE)
			n->file = newest_known(c, project, which);
		file = n->file;
		bool found = file != NONE && c->files[file].state == FILE_SESSION;
		n->epoch = a->err == 0 && found ? c->epoch : 0;
		if (found)
			return file;
		if (file == NONE || file == other)
			return a->timed_out ? file : NONE;
		other = file;
		if (tries < HEADER_TRIES_MAX)
			require(a, OF_FILE, file, HEADERS);
		else
			require(a, OF_PROJECT, project, HEADERS);
	}
}

/* ---- projects ---- */

static bool project_is_known(const struct catalog *c, uint32_t project)
{
	return project < c->project_count && c->projects[project].name &&
	       c->projects[project].newest[NEWEST_OF_ALL].file != NONE;
}

static bool is_of_project(const struct catalog *c, uint32_t dir, uint32_t project)
{
	return project == NO_SLOT || dir_is_flat(c, dir) || c->dirs[dir].project == project;
}

static void project_fill_info(struct catalog *c, uint32_t project, struct project_info *ret)
{
	const struct project *p = &c->projects[project];
	*ret = (struct project_info){
	    .project = project,
	    .name = p->name,
	    .dir = p->key,
	    .watched = c->flat.unwatched == 0 && (p->dir == NONE || c->dirs[p->dir].tree.unwatched == 0),
	};
	ret->mode = rights_of_project(c, project, &ret->gid);
	ret->names_mode = rights_to_list(c, project, ret->gid);
	if (p->newest[NEWEST_OF_ALL].file != NONE)
		ret->mtime = c->files[p->newest[NEWEST_OF_ALL].file].mtime;
}

/* Returns whether the failed scan of a place can hide a project. One that was known stays in the list. */
static bool place_hides_project(const struct catalog *c, struct place p)
{
	return dir_is_flat(c, p.dir) || !project_is_known(c, c->dirs[p.dir].project);
}

/* Ends a listing: returns false. Scans the files again whose scan failed; with `hides`, only if that hides a project. A
 * file that can be read now makes place for the last one. */
static bool listing_end(struct sync *a, uint32_t project, bool hides)
{
	struct catalog *c = a->c;
	for (size_t i = c->failed.n; i-- > 0;) {
		struct place p = i < c->failed.n ? c->failed.v[i] : (struct place){0, NONE};
		if (p.file != NONE && is_of_project(c, p.dir, project) && (!hides || place_hides_project(c, p)))
			require(a, OF_FILE, p.file, HEADERS);
	}
	return false;
}

static bool projects_next(struct sync *a, uint64_t *cookie, struct project_info *ret)
{
	struct catalog *c = a->c;
	names_ensure_projects(a);
	bool hides = !error_is_of_source(a->err);
	for (size_t i = 0; i < c->failed.n && !hides; i++)
		hides = place_hides_project(c, c->failed.v[i]);
	a->err = hides ? a->err : 0;
	while (*cookie < c->project_count) {
		uint32_t project = (uint32_t)(*cookie)++;
		int before = a->err;
		if (!c->projects[project].name || newest_session_file(a, project, NEWEST_OF_ALL) == NONE)
			continue;
		a->err = error_is_of_source(a->err) ? before : a->err;
		project_fill_info(c, project, ret);
		return true;
	}
	return listing_end(a, NO_SLOT, true);
}

bool catalog_project_next(struct catalog *c, uint64_t *cookie, struct project_info *ret)
{
	struct sync a = sync_begin(c, AGE_NONE);
	a.needs_all = true;
	return sync_end(&a, projects_next(&a, cookie, ret));
}

static bool project_get(struct sync *a, uint32_t project, struct project_info *ret)
{
	struct catalog *c = a->c;
	bool found = project < c->project_count && c->projects[project].name &&
	             newest_session_file(a, project, NEWEST_OF_ALL) != NONE;
	if (found)
		project_fill_info(c, project, ret);
	return found;
}

bool catalog_project_by_name(struct catalog *c, struct span name, struct project_info *ret)
{
	struct sync a = sync_begin(c, AGE_RECENT);
	/* Recent results will do for a project with sessions. */
	if (!project_is_known(c, map_get(&c->project_names, 0, name)))
		a.max_age = AGE_NONE;
	names_ensure_projects(&a);
	return sync_end(&a, project_get(&a, map_get(&c->project_names, 0, name), ret));
}

bool catalog_project(struct catalog *c, uint32_t project, struct project_info *ret)
{
	struct sync a = sync_begin(c, AGE_RECENT);
	if (!project_is_known(c, project))
		a.max_age = AGE_NONE;
	if (project >= c->project_count || !c->projects[project].name)
		names_ensure_projects(&a);
	*ret = (struct project_info){.project = project};
	bool found = project_get(&a, project, ret);
	if (!found && project < c->project_count)
		ret->name = c->projects[project].name;
	return sync_end(&a, found);
}

/* ---- slots ---- */

static bool next_slot(struct sync *a, uint32_t project, uint64_t *cookie, struct slot_info *ret)
{
	const struct catalog *c = a->c;
	bool all = project == NO_SLOT;
	names_ensure_project(a, project);
	require(a, OF_PROJECT, project, ATTRS);
	names_ensure_project(a, project); /* files that were replaced get a slot */
	const struct u32_list *slots = all ? NULL : &c->projects[project].slots;
	size_t i = all ? (size_t)*cookie : list_count_below(slots, *cookie);
	for (; i < (all ? c->slot_count : slots->n); i++) {
		uint32_t slot = all ? (uint32_t)i : slots->v[i];
		uint32_t file = c->slots[slot].file;
		*cookie = (uint64_t)slot + 1;
		/* All files were scanned together. A slot has no SID only if memory ran out. */
		int err = file == NONE ? -ESTALE : file_error(&c->files[file]);
		if (err || (all && !c->files[file].sid_name))
			continue;
		slot_fill_info(c, slot, ret);
		return true;
	}
	return listing_end(a, project, false);
}

bool catalog_slot_next(struct catalog *c, uint32_t project, uint64_t *cookie, struct slot_info *ret)
{
	struct sync a = sync_begin(c, AGE_NONE);
	a.needs_all = true;
	return sync_end(&a, (project == NO_SLOT || project < c->project_count) && next_slot(&a, project, cookie, ret));
}

/* Finds the slot of the file with that name. If the file was replaced, the new one gets the old name at once: the name
 * never disappears in between. */
static bool slot_find_by_name(struct sync *a, const struct map *names, uint32_t project, struct span name,
                              struct slot_info *ret)
{
	const struct catalog *c = a->c;
	bool found = false;
	for (int tries = 0; tries < 2 && !found; tries++) {
		uint32_t file = map_get(names, project == NO_SLOT ? 0 : project, name);
		if (file == NONE || c->files[file].slot == NONE)
			a->max_age = AGE_NONE; /* recent results will do for a session */
		names_ensure_project(a, project);
		file = map_get(names, project == NO_SLOT ? 0 : project, name);
		const struct file *f = file == NONE ? NULL : &c->files[file];
		const char *given = !f ? NULL : project == NO_SLOT ? f->sid_name : f->stem;
		found = given && f->slot != NONE && (project == NO_SLOT || f->project == project) &&
		        span_is(name, given) && slot_get(a, f->slot, ret) == 0;
	}
	return found;
}

bool catalog_slot_by_stem(struct catalog *c, uint32_t project, struct span stem, struct slot_info *ret)
{
	struct sync a = sync_begin(c, AGE_RECENT);
	return sync_end(&a, project < c->project_count && slot_find_by_name(&a, &c->stems, project, stem, ret));
}

bool catalog_slot_by_sid(struct catalog *c, struct span sid, struct slot_info *ret)
{
	struct sync a = sync_begin(c, AGE_RECENT);
	return sync_end(&a, slot_find_by_name(&a, &c->sids, NO_SLOT, sid, ret));
}

int catalog_slot(struct catalog *c, uint32_t slot, struct slot_info *ret)
{
	struct sync a = sync_begin(c, AGE_RECENT);
	return sync_close(&a, slot_get(&a, slot, ret));
}

/* Returns the current session at the file's place. */
static int slot_at_place_now(struct sync *a, uint32_t file, struct slot_info *ret)
{
	const struct catalog *c = a->c;
	require(a, OF_FILE_NOW, file, ATTRS);
	require(a, OF_FILE, file, HEADERS);
	if (c->files[file].slot == NONE && c->files[file].project != NONE)
		names_ensure_project(a, c->files[file].project);
	if (c->files[file].scanned.err)
		return c->files[file].scanned.err;
	return c->files[file].slot == NONE ? -ESTALE : slot_get(a, c->files[file].slot, ret);
}

int catalog_slot_now(struct catalog *c, uint32_t slot, struct slot_info *ret)
{
	struct sync a = sync_begin(c, AGE_NONE);
	int rc = slot < c->slot_count ? slot_at_place_now(&a, c->slots[slot].place, ret) : -ESTALE;
	if (rc == 0) { /* whether the slot ever belonged to this project */
		const struct u32_list *l = &c->projects[ret->project].slots;
		size_t i = list_count_below(l, slot);
		rc = i < l->n && l->v[i] == slot ? 0 : -ESTALE;
	}
	return sync_close(&a, rc);
}

/* Returns the error of a failed scan of a file that could be newer than this one; or 0. A file on another
 * server, or without permission to read it, does not count. */
static int newer_file_error(const struct sync *a, uint32_t project, uint32_t file)
{
	const struct catalog *c = a->c;
	for (size_t i = 0; i < c->failed.n; i++) {
		struct place p = c->failed.v[i];
		const struct file *f = p.file == NONE ? NULL : &c->files[p.file];
		const struct scan_state *s = scan_state_of(c, p.dir, p.file);
		bool is_apart = (s->foreign && !c->dirs[0].scanned.foreign) || error_meaning(s->err) == MEANS_REFUSED;
		int err = is_apart || s->err == -ETIMEDOUT ? 0 : s->err;
		if (err && is_of_project(c, p.dir, project) && (!f || f->unseen || newest_is_newer(f, &c->files[file])))
			return err;
	}
	/* Memory for some names ran out; or the failure has ended, but the files that it hid were not read. */
	return a->err == -ENOMEM || (c->failed.n == 0 && a->err != -ETIMEDOUT) ? a->err : 0;
}

/* The newest session can be removed or replaced before it has its slot: then another one is the newest. */
static bool latest_session(struct sync *a, uint32_t project, struct slot_info *ret)
{
	const struct catalog *c = a->c;
	bool found = false;
	if (project != NO_SLOT && project >= c->project_count)
		return false;
	for (int tries = 0; !found && tries < HEADER_TRIES_MAX; tries++) {
		uint32_t file = newest_session_file(a, project, NEWEST_LISTED);
		if (file == NONE)
			return false;
		int err = a->err ? newer_file_error(a, project, file) : 0;
		if (c->files[file].project != NONE)
			names_ensure_project(a, c->files[file].project);
		found = c->files[file].slot != NONE && slot_get(a, c->files[file].slot, ret) == 0;
		if (!found && a->err)
			return false;
		if (found)
			a->err = err;
	}
	a->needs_all = a->needs_all || found;
	return found;
}

bool catalog_latest(struct catalog *c, uint32_t project, struct slot_info *ret)
{
	struct sync a = sync_begin(c, AGE_NONE);
	return sync_end(&a, latest_session(&a, project, ret));
}

struct timespec catalog_mtime(struct catalog *c)
{
	struct sync a = sync_begin(c, AGE_ANY);
	uint32_t file = newest_session_file(&a, NO_SLOT, NEWEST_OF_ALL);
	struct timespec newest = file == NONE ? c->dirs[0].st.st_mtim : c->files[file].mtime;
	sync_close(&a, 0);
	return newest;
}
