/* SPDX-License-Identifier: MIT */
/* A name is stable once it was shown: a project's belongs to its directory, a STEM and a SID to their file, as long as
 * that file exists. So names are assigned in batches, after a scan of every file that could claim the same name. Of the
 * files found together, the one with the smallest path gets the plain name. */
#include "catalog_impl.h"

#include "sessionfs/base/log.h"
#include "sessionfs/base/name.h"

#include <stdio.h>

static int file_path_cmp(const void *pa, const void *pb, void *arg)
{
	const struct catalog *c = arg;
	return strcmp(c->files[*(const uint32_t *)pa].path, c->files[*(const uint32_t *)pb].path);
}

static void files_sort(struct catalog *c, struct u32_list *l)
{
	if (l->n > 1)
		qsort_r(l->v, l->n, sizeof *l->v, file_path_cmp, c);
}

/* ---- making a name unique ---- */

/* One kind of name: where its names are. */
struct name_rule {
	struct map *taken; /* component to owner */
	struct map *tails; /* plain component to the last ~N: a thousand equal names must not cost a million tries */
	uint32_t scope;
	const char *reserved;
	bool of_files; /* the owners are files, which can lose their names */
};

/* Returns whether the file still has the name, as far as is known. */
static bool file_holds_name(struct sync *a, const struct name_rule *how, uint32_t file, struct span component)
{
	bool is_stem = how->taken == &a->c->stems;
	require_file_now(a, file);
	const struct file *f = &a->c->files[file];
	const char *name = is_stem ? f->stem : f->sid_name;
	return file_may_be_session(f) && name && span_is(component, name) &&
	       (!is_stem || (f->project == how->scope && f->stem_project == how->scope));
}

/* Gives `owner` the name for `text`: plain, or with ~2, ~3, ... Returns NULL if out of memory, or if it is not current
 * whether another owner still has it. */
static const char *assign_name(struct sync *a, const struct name_rule *how, struct span text, uint32_t owner)
{
	struct catalog *c = a->c;
	struct buf name CLEANUP_BUF = BUF_INIT, plain CLEANUP_BUF = BUF_INIT;

	name_encode("", text, "", &plain);
	if (buf_err(&plain))
		return NULL;
	/* If the file came from another path, it was there until now: a holder was scanned too early to show that. */
	if (how->of_files && c->files[owner].scanned.began > a->asof)
		a->asof = c->files[owner].scanned.began;
	uint32_t tail = map_get(how->tails, how->scope, buf_span(&plain));
	for (uint32_t n = 1;; n = n == 1 && tail != NONE ? tail + 1 : n + 1) {
		char suffix[16] = "";
		if (n > 1)
			snprintf(suffix, sizeof suffix, "~%u", n);
		buf_reset(&name);
		name_encode("", text, suffix, &name);
		if (buf_err(&name))
			return NULL;
		if (how->reserved && span_is(buf_span(&name), how->reserved))
			continue;
		uint32_t holder = map_get(how->taken, how->scope, buf_span(&name));
		if (holder != NONE && holder != owner &&
		    (!how->of_files || file_holds_name(a, how, holder, buf_span(&name))))
			continue;
		if (a->n > 0)
			return NULL;
		const char *stem = how->of_files ? c->files[owner].stem : NULL;
		const char *kept = pool_copy(c->strings, buf_span(&name), span_of(stem ? stem : ""));
		if (!kept || map_put(how->taken, how->scope, span_of(kept), owner) < 0)
			return NULL;
		if (n > 1) {
			const char *base = pool_copy(c->strings, buf_span(&plain), (struct span){0});
			if (!base || map_put(how->tails, how->scope, span_of(base), n) < 0)
				return NULL;
		}
		return kept;
	}
}

/* ---- projects ---- */

static bool key_has_dashes(struct span key)
{
	return key.n >= 4 && memcmp(key.p, "--", 2) == 0 && memcmp(key.p + key.n - 2, "--", 2) == 0;
}

/* Keys without dashes come first. */
static int project_key_cmp(const void *pa, const void *pb, void *arg)
{
	const struct catalog *c = arg;
	struct span a = c->projects[*(const uint32_t *)pa].key, b = c->projects[*(const uint32_t *)pb].key;
	return key_has_dashes(a) == key_has_dashes(b) ? span_compare(a, b) : key_has_dashes(a) ? 1 : -1;
}

static bool project_has_sessions(const struct catalog *c, uint32_t project)
{
	struct project_walk at = {0};
	return project_next_file(c, project, &at) != NONE;
}

/* The name of a project is the text between the dashes, unless another project has that name without dashes. */
static struct span project_display_text(struct catalog *c, uint32_t project)
{
	struct span key = c->projects[project].key;
	if (!key_has_dashes(key))
		return key;
	struct span inside = {key.p + 2, key.n - 4};
	uint32_t plain = map_get(&c->project_keys, 0, inside);
	/* A directory that cannot be read can have sessions. */
	bool is_unread = plain != NONE && c->projects[plain].dir != NONE &&
	                 c->dirs[c->projects[plain].dir].scanned.err && !c->dirs[c->projects[plain].dir].gone;
	if (is_unread || (plain != NONE && (c->projects[plain].name || project_has_sessions(c, plain))))
		return key;
	return inside;
}

static bool name_projects(struct sync *a)
{
	struct catalog *c = a->c;
	struct u32_list fresh CLEANUP(list_release) = {0};
	struct map tails CLEANUP(map_release) = {0};
	struct name_rule how = {.taken = &c->project_names, .tails = &tails};
	bool all = true;

	for (uint32_t i = 0; i < c->project_count && all; i++)
		if (!c->projects[i].name && project_has_sessions(c, i))
			all = list_add(&fresh, i) == 0;
	if (fresh.n > 1)
		qsort_r(fresh.v, fresh.n, sizeof *fresh.v, project_key_cmp, c);
	for (size_t i = 0; i < fresh.n && all; i++) {
		struct project *p = &c->projects[fresh.v[i]];
		p->name = assign_name(a, &how, project_display_text(c, fresh.v[i]), fresh.v[i]);
		all = p->name != NULL;
	}
	if (!all)
		sync_fail(a, -ENOMEM);
	return all;
}

/* ---- slots and their stems ---- */

void catalog_stem_text(const char *file, uint32_t stem_at, struct buf *out)
{
	static const char last[] = "/session";
	size_t at, end = sizeof last - 1;
	header_name(file, &at);
	const char *rest = file + at + strlen(".jsonl");
	size_t n = at - stem_at;
	if (n > end && memcmp(file + at - end, last, end) == 0 && !*rest)
		n -= end;
	for (size_t i = 0; i < n; i++)
		buf_addc(out, file[stem_at + i] == '/' ? '+' : file[stem_at + i]);
	buf_adds(out, rest);
}

/* Returns false as assign_name returns NULL. */
static bool stem_assign(struct sync *a, uint32_t file)
{
	struct catalog *c = a->c;
	struct file *f = &c->files[file];
	if (f->stem && f->stem_project == f->project && map_get(&c->stems, f->project, span_of(f->stem)) == file)
		return true;
	struct name_rule how = {&c->stems, &c->stem_tails, f->project, "latest", true};
	struct buf text CLEANUP_BUF = BUF_INIT;
	catalog_stem_text(f->path, f->stem_at, &text);
	const char *stem = buf_err(&text) ? NULL : assign_name(a, &how, buf_span(&text), file);
	if (!stem)
		return false;
	f = &c->files[file];
	f->stem = stem;
	f->stem_project = f->project;
	return true;
}

static bool name_sessions(struct sync *a, uint32_t project)
{
	struct catalog *c = a->c;
	struct u32_list *waiting = &c->projects[project].waiting;
	size_t n = 0;

	if (waiting->n == 0)
		return true;
	files_sort(c, waiting);
	for (; n < waiting->n; n++) {
		uint32_t file = waiting->v[n];
		struct file *f = &c->files[file];
		if (f->state != FILE_SESSION || f->slot != NONE || f->project != project) {
			f->waits = false;
			continue;
		}
		if (!stem_assign(a, file) || !slot_create(c, file))
			break;
		c->files[file].waits = false;
	}
	c->waiting -= n;
	bool all = n == waiting->n;
	if (!all && a->n == 0) {
		log_error("%s: out of memory", c->files[waiting->v[n]].path);
		sync_fail(a, -ENOMEM);
		mark_dir_stale(c, c->files[waiting->v[n]].dir);
	}
	list_drop_first(waiting, n);
	return all;
}

/* ---- SIDs ---- */

bool name_sids(struct sync *a)
{
	struct catalog *c = a->c;
	struct u32_list *l = &c->nameless;
	size_t named = 0;

	files_sort(c, l);
	for (; named < l->n; named++) {
		uint32_t file = l->v[named];
		const struct file *f = &c->files[file];
		if (f->slot == NONE || (f->sid_name && map_get(&c->sids, 0, span_of(f->sid_name)) == file))
			continue;
		struct name_rule how = {&c->sids, &c->sid_tails, 0, NULL, true};
		const char *name = assign_name(a, &how, f->sid, file);
		c->files[file].sid_name = name;
		if (!name)
			break;
	}
	bool all = named == l->n;
	list_drop_first(l, named);
	if (!all && a->n == 0)
		sync_fail(a, -ENOMEM);
	return all;
}

/* ---- everything that names require ---- */

void names_ensure_projects(struct sync *a)
{
	struct catalog *c = a->c;
	bool current = require(a, OF_TREE, 0, NAMES);
	current = require(a, OF_TREE, FLAT, HEADERS) && current;
	if (current && c->named_epoch != c->epoch && name_projects(a))
		c->named_epoch = c->epoch;
}

bool names_ensure_project(struct sync *a, uint32_t project)
{
	struct catalog *c = a->c;
	bool all = project == NO_SLOT, named = false, scanned = require(a, OF_PROJECT, project, HEADERS);
	while (scanned && !named) {
		named = true;
		for (uint32_t i = all ? 0 : project; named && i < (all ? c->project_count : project + 1); i++)
			named = c->waiting == 0 || name_sessions(a, i);
		named = named && (!all || name_sids(a));
		scanned = named || sync_scan(a);
	}
	c->named_all = c->named_all || (all && named);
	return named;
}
