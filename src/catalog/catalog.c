/* The catalog's calls: projects, slots, the newest session. One lock guards them.
 *
 * There are three depths of looking, each done only when needed: the names (readdir), the attributes (stat), the
 * headers. Listing projects needs the first two; headers are read for the files of one project when
 * somebody looks into it, and for flat files, since only their header says where they belong. */
#include "catalog_impl.h"

#include "sessionfs/base/log.h"

int catalog_open(const char *source, const struct catalog_options *o, struct catalog **ret)
{
	struct stat st;
	char *real CLEANUP_FREE = realpath(source, NULL);
	if (!real || stat(real, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	struct catalog *c = calloc(1, sizeof *c);
	struct dir *root = calloc(1, sizeof *root);
	if (c)
		c->budget = o->budget;
	if (!c || !root || open_indexes_init(c) < 0) {
		free(root);
		free(c);
		return -ENOMEM;
	}
	int rc = watching_init(&c->watching, o);
	if (rc < 0) {
		open_indexes_release(c);
		free(root);
		free(c);
		return rc;
	}
	rc = reach_open(real, &c->reach);
	if (rc < 0) {
		watching_release(&c->watching);
		open_indexes_release(c);
		free(root);
		free(c);
		return rc;
	}
	lock_init(&c->lock, LOCK_CATALOG);
	c->source = real;
	real = NULL;
	c->uid = geteuid();
	c->fresh_ms = o->fresh_ms ? o->fresh_ms : CATALOG_FRESH_MS;
	c->tidy = o->tidy;
	c->header = (struct header)HEADER_INIT;
	*root = (struct dir){.name = "", .project = NONE};
	c->dirs = root;
	c->dir_count = c->dir_cap = 1;
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
		rights_release(&c->dirs[i].rights);
		look_put(c, c->dirs[i].look);
	}
	for (size_t i = 0; i < c->project_count; i++) {
		list_release(&c->projects[i].slots);
		list_release(&c->projects[i].waiting);
	}
	for (size_t i = 0; i < c->file_count; i++)
		look_put(c, c->files[i].look);
	for (size_t i = 0; i < c->wanted_count; i++)
		look_put(c, c->wanted[i]);
	free(c->wanted);
	struct map *maps[] = {&c->paths, &c->dir_names, &c->project_keys, &c->project_names,
	                      &c->stems, &c->sids,      &c->stem_tails,   &c->sid_tails};
	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		map_release(maps[i]);
	list_release(&c->nameless);
	header_release(&c->header);
	strings_release(&c->strings);
	free(c->files);
	free(c->dirs);
	free(c->projects);
	free(c->slots);
	free(c->forks);
	free(c->source);
	reach_close(c->reach);
	lock_destroy(&c->lock);
	free(c);
}

const char *catalog_source(const struct catalog *c)
{
	return c->source;
}

struct reach *catalog_reach(const struct catalog *c)
{
	return c->reach;
}

/* ---- how deep to look ---- */

void catalog_load_projects(struct catalog *c, int64_t now)
{
	scan_refresh(c, now);
	scan_headers(c, 0, now);
	if (catalog_is_void(c))
		return;
	if (c->named_epoch != c->epoch && names_projects(c))
		c->named_epoch = c->epoch;
}

void catalog_load_project(struct catalog *c, uint32_t project, int64_t now)
{
	scan_dir(c, 0, now);
	scan_headers(c, 0, now);
	if (c->projects[project].dir != NONE) {
		scan_dir(c, c->projects[project].dir, now);
		scan_headers(c, c->projects[project].dir, now);
	}
	if (c->projects[project].waiting.n && !catalog_is_void(c))
		names_slots(c, project);
}

void catalog_load_all(struct catalog *c, int64_t now)
{
	if (is_fresh_all(c, c->loaded_at, now) && c->nameless.n == 0)
		return;
	scan_refresh(c, now);
	for (uint32_t i = 0; i < c->dir_count; i++)
		scan_headers(c, i, now);
	if (catalog_is_void(c))
		return;
	for (uint32_t i = 0; i < c->project_count; i++) {
		if (c->projects[i].waiting.n)
			names_slots(c, i);
	}
	if (catalog_is_void(c))
		return;
	names_sids(c);
	c->named_all = true;
	c->loaded_at = c->missed ? 0 : now;
}

void catalog_stat_all(struct catalog *c, int64_t now)
{
	if (is_fresh_all(c, c->statted_at, now))
		return;
	int64_t begin = catalog_now();
	for (uint32_t i = 0; i < c->dir_count; i++)
		scan_files(c, i, now);
	c->statted_at = c->missed ? 0 : scan_rest(begin, catalog_now());
}

/* Flat files may belong to any project. */
static bool project_is_told(const struct catalog *c, uint32_t project)
{
	uint32_t dir = c->projects[project].dir;
	const struct dir *flat = &c->dirs[0], *own = &c->dirs[dir == NONE ? 0 : dir];
	return flat->told && !flat->linked && own->told && !own->linked;
}

/* ---- the newest ---- */

/* A newest file that turns out to be no session costs a new search. After so many, all headers are read. */
#define FEW 8

/* The file of the newest session; NONE if there is none. Its header was read. */
static uint32_t newest_of_project(struct catalog *c, uint32_t project, int64_t now)
{
	scan_dir(c, 0, now);
	scan_headers(c, 0, now);
	scan_files(c, 0, now);
	if (c->projects[project].dir != NONE) {
		scan_dir(c, c->projects[project].dir, now);
		scan_files(c, c->projects[project].dir, now);
	}
	struct project *p = &c->projects[project];
	bool told = project_is_told(c, project);
	if (!is_fresh(c, p->newest_at, now, told) || p->newest_epoch != c->epoch) {
		p->newest = newest_seen(c, project);
		p->newest_at = now;
	}
	for (unsigned tries = 0; p->newest != NONE && c->files[p->newest].state != FILE_SESSION; tries++) {
		if (tries == FEW)
			catalog_load_project(c, project, now);
		scan_header(c, p->newest, now);
		p = &c->projects[project];
		if (c->files[p->newest].state != FILE_SESSION)
			p->newest = tries < 2 * FEW ? newest_seen(c, project) : NONE;
	}
	p->newest_epoch = c->epoch;
	if (c->missed)
		p->newest_at = 0;
	return p->newest;
}

static uint32_t newest_of_all(struct catalog *c, int64_t now)
{
	scan_refresh(c, now);
	catalog_stat_all(c, now);
	for (unsigned tries = 0;; tries++) {
		if (!is_fresh_all(c, c->newest_at, now) || c->newest_epoch != c->epoch) {
			c->newest = NONE;
			for (uint32_t i = 0; i < c->file_count; i++)
				c->newest = newest_of_both(c, c->newest, i);
			c->newest_at = now;
			c->newest_epoch = c->epoch;
		}
		if (c->newest == NONE || c->files[c->newest].state == FILE_SESSION)
			return c->newest;
		if (tries > 2 * FEW)
			return NONE;
		if (tries == FEW)
			catalog_load_all(c, now);
		scan_header(c, c->newest, now);
	}
}

/* ---- projects ---- */

static bool is_of_project(const struct catalog *c, uint32_t dir, uint32_t project)
{
	return project == NO_SLOT || dir == 0 || c->dirs[dir].project == project;
}

static void fill_project(struct catalog *c, uint32_t project, struct project_info *ret)
{
	const struct project *p = &c->projects[project];
	*ret = (struct project_info){
	    .project = project,
	    .name = p->name,
	    .told = project_is_told(c, project),
	};
	ret->mode = rights_of_project(c, project, &ret->gid);
	if (p->newest != NONE)
		ret->mtime = c->files[p->newest].mtime;
}

/* The end of a listing: false. Notes as missed what could not be looked at on the way; `hides`: and so hides a project.
 */
static bool list_ends(struct catalog *c, uint32_t project, bool hides, int64_t now)
{
	for (uint32_t i = 0; i < c->file_count; i++) {
		uint32_t dir = c->files[i].dir;
		bool is_lacking = !hides || dir == 0 || c->projects[c->dirs[dir].project].newest == NONE;
		if (c->files[i].trouble && is_of_project(c, dir, project) && is_lacking)
			scan_header(c, i, now);
	}
	return false;
}

static bool next_project(struct catalog *c, uint64_t *cookie, int64_t now, struct project_info *ret)
{
	catalog_load_projects(c, now);
	while (*cookie < c->project_count) {
		uint32_t project = (uint32_t)(*cookie)++;
		if (!c->projects[project].name || newest_of_project(c, project, now) == NONE)
			continue;
		fill_project(c, project, ret);
		return true;
	}
	return list_ends(c, NO_SLOT, true, now);
}

bool catalog_project_next(struct catalog *c, uint64_t *cookie, struct project_info *ret)
{
	struct call call = {0};
	uint64_t from = *cookie;
	bool found = false;

	while (call_round(c, &call)) {
		*cookie = from;
		found = next_project(c, cookie, call.now, ret);
		catalog_doubts(c, c->missed);
	}
	return call_answer(&call, found);
}

static bool get_project(struct catalog *c, uint32_t project, int64_t now, struct project_info *ret)
{
	if (project >= c->project_count || !c->projects[project].name)
		return false;
	if (newest_of_project(c, project, now) == NONE)
		return false;
	fill_project(c, project, ret);
	return true;
}

bool catalog_project_by_name(struct catalog *c, struct span name, struct project_info *ret)
{
	struct call call = {0};
	bool found = false;

	while (call_round(c, &call)) {
		catalog_load_projects(c, call.now);
		found = get_project(c, map_get(&c->project_names, 0, name), call.now, ret);
	}
	return call_answer(&call, found);
}

bool catalog_project(struct catalog *c, uint32_t project, struct project_info *ret)
{
	struct call call = {0};
	bool found = false;

	while (call_round(c, &call)) {
		if (project >= c->project_count || !c->projects[project].name)
			catalog_load_projects(c, call.now);
		*ret = (struct project_info){.project = project};
		found = get_project(c, project, call.now, ret);
		if (!found && project < c->project_count)
			ret->name = c->projects[project].name;
	}
	return call_answer(&call, found);
}

/* ---- slots ---- */

static void fill_slot(const struct catalog *c, uint32_t slot, struct slot_info *ret)
{
	const struct file *f = &c->files[c->slots[slot].file];
	*ret = (struct slot_info){
	    .slot = slot,
	    .project = f->project,
	    .stem = f->stem,
	    .sid = f->sid_name,
	    .file = f->path,
	    .place = c->slots[slot].file,
	    .told = is_told_file(c, f),
	    .mode = rights_of_slot(c, f),
	};
	ret->st.st_dev = f->dev;
	ret->st.st_ino = f->ino;
	ret->st.st_nlink = 1;
	ret->st.st_mode = f->mode;
	ret->st.st_uid = f->uid;
	ret->st.st_gid = f->gid;
	ret->st.st_size = f->size;
	ret->st.st_mtim = f->mtime;
	ret->st.st_atim = f->mtime;
	ret->st.st_ctim = f->ctime;
}

int slot_look(struct catalog *c, uint32_t slot, int64_t now)
{
	if (slot >= c->slot_count || c->slots[slot].file == NONE)
		return -ESTALE;
	uint32_t file = c->slots[slot].file;
	scan_file(c, file, now);
	return c->slots[slot].file == NONE ? -ESTALE : c->files[file].trouble;
}

int slot_get(struct catalog *c, uint32_t slot, int64_t now, struct slot_info *ret)
{
	int rc = slot_look(c, slot, now);
	if (rc == 0)
		fill_slot(c, slot, ret);
	return rc;
}

static bool next_of_project(struct catalog *c, uint32_t project, uint64_t *cookie, int64_t now, struct slot_info *ret)
{
	catalog_load_project(c, project, now);
	for (size_t i = list_below(&c->projects[project].slots, *cookie); i < c->projects[project].slots.n; i++) {
		uint32_t slot = c->projects[project].slots.v[i];
		*cookie = (uint64_t)slot + 1;
		if (slot_get(c, slot, now, ret) == 0)
			return true;
	}
	return list_ends(c, project, false, now);
}

static bool next_of_all(struct catalog *c, uint64_t *cookie, int64_t now, struct slot_info *ret)
{
	catalog_load_all(c, now);
	while (*cookie < c->slot_count) {
		/* A slot has no SID only if there was no memory for one. */
		if (slot_get(c, (uint32_t)(*cookie)++, now, ret) == 0 && ret->sid)
			return true;
	}
	return list_ends(c, NO_SLOT, false, now);
}

bool catalog_slot_next(struct catalog *c, uint32_t project, uint64_t *cookie, struct slot_info *ret)
{
	struct call call = {0};
	uint64_t from = *cookie;
	bool found = false;

	while (call_round(c, &call)) {
		*cookie = from;
		if (project == NO_SLOT)
			found = next_of_all(c, cookie, call.now, ret);
		else if (project < c->project_count)
			found = next_of_project(c, project, cookie, call.now, ret);
		catalog_doubts(c, c->missed);
	}
	return call_answer(&call, found);
}

/* The slot of the file with that name. If the file turns out to have been replaced, the new one is taken in at once
 * under the old name: the name never disappears in between. */
static bool projects_by_name(struct catalog *c, const struct map *names, uint32_t project, struct span name,
                             int64_t now, struct slot_info *ret)
{
	for (int tries = 0; tries < 2; tries++) {
		if (project == NO_SLOT)
			catalog_load_all(c, now);
		else
			catalog_load_project(c, project, now);
		uint32_t file = map_get(names, project == NO_SLOT ? 0 : project, name);
		if (file == NONE)
			return false;
		const struct file *f = &c->files[file];
		const char *given = project == NO_SLOT ? f->sid_name : f->stem;
		if (f->slot != NONE && (project == NO_SLOT || f->project == project) && given && span_is(name, given) &&
		    slot_get(c, f->slot, now, ret) == 0)
			return true;
	}
	return false;
}

bool catalog_slot_by_stem(struct catalog *c, uint32_t project, struct span stem, struct slot_info *ret)
{
	struct call call = {0};
	bool found = false;

	while (call_round(c, &call))
		found = project < c->project_count && projects_by_name(c, &c->stems, project, stem, call.now, ret);
	return call_answer(&call, found);
}

bool catalog_slot_by_sid(struct catalog *c, struct span sid, struct slot_info *ret)
{
	struct call call = {0};
	bool found = false;

	while (call_round(c, &call))
		found = projects_by_name(c, &c->sids, NO_SLOT, sid, call.now, ret);
	return call_answer(&call, found);
}

int catalog_slot(struct catalog *c, uint32_t slot, struct slot_info *ret)
{
	struct call call = {0};
	int rc = -ESTALE;

	while (call_round(c, &call))
		rc = slot_get(c, slot, call.now, ret);
	return rc;
}

/* The session that is at the file's place now. */
static int slot_of_place(struct catalog *c, uint32_t file, int64_t now, struct slot_info *ret)
{
	scan_file(c, file, 0);
	scan_header(c, file, now);
	if (c->files[file].slot == NONE && c->files[file].project != NONE)
		catalog_load_project(c, c->files[file].project, now);
	if (c->files[file].trouble)
		return c->files[file].trouble;
	return c->files[file].slot == NONE ? -ESTALE : slot_get(c, c->files[file].slot, now, ret);
}

/* Whether the slot ever belonged to the project. */
static bool was_in_project(const struct catalog *c, uint32_t slot, uint32_t project)
{
	const struct list *l = &c->projects[project].slots;
	size_t i = list_below(l, slot);
	return i < l->n && l->v[i] == slot;
}

int catalog_slot_now(struct catalog *c, uint32_t slot, struct slot_info *ret)
{
	struct call call = {0};
	int rc = -ESTALE;

	while (call_round(c, &call)) {
		rc = slot < c->slot_count ? slot_of_place(c, c->slots[slot].place, call.now, ret) : -ESTALE;
		if (rc == 0 && !was_in_project(c, slot, ret->project))
			rc = -ESTALE;
	}
	return rc;
}

/* The error of a file that could not be looked at and may be newer than this one; 0 if there is none. A file that waits
 * for somebody else does not count until it answers. */
static int newer_in_trouble(const struct catalog *c, uint32_t project, uint32_t file)
{
	for (uint32_t i = 0; i < c->dir_count; i++) {
		int err = c->dirs[i].trouble;
		if (err && err != -ETIMEDOUT && is_of_project(c, i, project))
			return err;
	}
	for (uint32_t i = 0; i < c->file_count; i++) {
		const struct file *f = &c->files[i];
		if (!f->trouble || f->trouble == -ETIMEDOUT || !is_of_project(c, f->dir, project))
			continue;
		if (f->unseen || newest_is_newer(f, &c->files[file]))
			return f->trouble;
	}
	/* There was no memory for some names. */
	return c->missed == -ENOMEM ? -ENOMEM : 0;
}

static bool get_latest(struct catalog *c, uint32_t project, int64_t now, struct slot_info *ret)
{
	if (project != NO_SLOT && project >= c->project_count)
		return false;
	uint32_t file = project == NO_SLOT ? newest_of_all(c, now) : newest_of_project(c, project, now);
	if (file == NONE)
		return false;
	if (c->missed)
		catalog_doubts(c, newer_in_trouble(c, project, file));
	catalog_load_project(c, c->files[file].project, now);
	return c->files[file].slot != NONE && slot_get(c, c->files[file].slot, now, ret) == 0;
}

bool catalog_latest(struct catalog *c, uint32_t project, struct slot_info *ret)
{
	struct call call = {0};
	bool found = false;

	while (call_round(c, &call))
		found = get_latest(c, project, call.now, ret);
	return call_answer(&call, found);
}

struct timespec catalog_mtime(struct catalog *c)
{
	struct call call = {0};
	struct timespec newest = {0};

	while (call_round(c, &call)) {
		uint32_t file = newest_of_all(c, call.now);
		newest = file == NONE ? c->dirs[0].st.st_mtim : c->files[file].mtime;
	}
	return newest;
}

/* ---- every file, for --check ---- */

struct listed {
	const char *path;
	uint32_t file, dir;
};

static int by_listed_path(const void *pa, const void *pb)
{
	const struct listed *a = pa, *b = pb;
	return strcmp(a->path, b->path);
}

static int dir_fault(const struct dir *d)
{
	return d->trouble ? d->trouble : d->err;
}

/* All candidates and the directories that cannot be read, sorted. Returns how many, or a negative errno. */
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
		int err = dir_fault(&c->dirs[i]);
		if (err && err != -ENOENT && err != -ENOTDIR && err != -ELOOP)
			l[n++] = (struct listed){.path = i ? c->dirs[i].name : ".", .file = NONE, .dir = i};
	}
	qsort(l, n, sizeof *l, by_listed_path);
	*ret = l;
	return (ssize_t)n;
}

/* Why the file or directory is no session, in `text` or static; NULL if it is one. */
static const char *why_not(const struct catalog *c, const struct listed *l, char *text, size_t size, uint32_t *ret_slot)
{
	const struct file *f = l->file == NONE ? NULL : &c->files[l->file];
	*ret_slot = f ? f->slot : NO_SLOT;
	if (*ret_slot != NO_SLOT)
		return NULL;
	int err = f ? f->trouble ? f->trouble : f->err : dir_fault(&c->dirs[l->dir]);
	if (err == -EPERM)
		return REACH_REFUSED;
	if (err)
		return strerror_r(-err, text, size);
	if (f && f->state == FILE_SESSION)
		return "more sessions than can be numbered";
	return f && f->state == FILE_OTHER && f->reason ? f->reason : "changed while it was looked at";
}

int catalog_each_file(struct catalog *c, int (*fn)(void *arg, const char *file, uint32_t slot, const char *reason),
                      void *arg)
{
	struct listed *l CLEANUP_FREE = NULL;

	struct call call = {0};
	ssize_t n = 0;
	while (call_round(c, &call)) {
		free(l);
		l = NULL;
		catalog_load_all(c, call.now);
		n = list_files(c, &l);
	}
	if (n < 0)
		return (int)n;
	for (ssize_t i = 0; i < n; i++) {
		char text[128];
		uint32_t slot;
		lock_take(&c->lock);
		bool is_gone = l[i].file != NONE && c->files[l[i].file].state == FILE_GONE;
		const char *reason = why_not(c, &l[i], text, sizeof text, &slot);
		lock_give(&c->lock);
		int rc = is_gone ? 0 : fn(arg, l[i].path, slot, reason);
		if (rc)
			return rc;
	}
	return 0;
}
