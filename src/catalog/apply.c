/* SPDX-License-Identifier: MIT */
/* Applies what a scan found: files appear, disappear, turn out to be sessions or not, and get other attributes.
 *
 * A directory's mtime comes from a coarse clock: a name made right after a scan may leave it unchanged.
 * So the scan of a directory that changed less than RACY_S before is not trusted, and repeated. */
#include "catalog_impl.h"

#include "sessionfs/base/limits.h"
#include "sessionfs/base/log.h"

#define RACY_S 2
/* How many names are applied under the lock at once. */
#define NAMES_AT_ONCE LIMIT(512, 1)

static const char is_a_directory[] = "is a directory";

/* If one ACL is unreadable, they all are: logs that once. */
static void acl_is_unread(struct catalog *c, const char *path, int err)
{
	if (err && log_once(&c->logged, LOGGED_ACL, ""))
		log_warning("%s: ACL: %s: files with unreadable ACLs: owner only", path, strerror(-err));
}

static bool failed_reserve(struct catalog *c)
{
	return vec_reserve(&c->failed, c->file_count + c->dir_count + 1 - c->failed.n);
}

/* Passes hold while a failure lasts. */
void failed_update(struct catalog *c, uint32_t dir, uint32_t file)
{
	struct scan_state *s = scan_state_of(c, dir, file);
	int before = s->failed_err, err = s->err;
	size_t i = 0;
	if (err == before)
		return;
	s->failed_err = err;
	mark_dir_stale(c, dir);
	/* A listing from before the failure, or from during it, is not valid. */
	c->epoch += !before || !err;
	if (!before) {
		c->failed.v[c->failed.n++] = (struct place){dir, file};
	} else if (!err) {
		while (c->failed.v[i].dir != dir || c->failed.v[i].file != file)
			i++;
		c->failed.v[i] = c->failed.v[--c->failed.n];
		log_forget(&c->logged, LOGGED_FAILURE, place_path(c, dir, file));
	}
}

static void path_in(const struct catalog *c, uint32_t dir, const char *name, struct buf *out)
{
	buf_adds(out, c->dirs[dir].name);
	if (dir != 0)
		buf_addc(out, '/');
	buf_adds(out, name);
}

uint32_t dir_of_name(struct catalog *c, uint32_t parent, const char *name)
{
	struct buf path CLEANUP_BUF = BUF_INIT;
	path_in(c, parent, name, &path);
	return buf_err(&path) ? NONE : map_get(&c->dir_names, 0, buf_span(&path));
}

/* Finds a directory that is gone, and that only its parent knows, among the next few. */
static uint32_t dir_find_gone(struct catalog *c)
{
	for (size_t n = 0; n < 8; n++) {
		uint32_t dir = (uint32_t)(c->next_gone++ % c->dir_count);
		const struct dir *d = &c->dirs[dir];
		if (d->gone && !d->files.n && d->child == NONE && d->namesake == NONE && !d->scanned.scan)
			return dir;
	}
	return (uint32_t)c->dir_count;
}

static void dir_forget(struct catalog *c, uint32_t dir)
{
	struct dir *d = &c->dirs[dir];
	uint32_t *at = &c->dirs[d->parent].child;
	while (*at != dir)
		at = &c->dirs[*at].sibling;
	*at = d->sibling;
	map_remove(&c->dir_names, 0, span_of(d->name));
	if (d->depth == 1)
		c->projects[d->project].dir = NONE;
	list_release(&d->files);
}

/* Makes what is known of a directory in the source, or deeper. False without memory. */
static bool dir_make(struct catalog *c, uint32_t parent, const char *name)
{
	struct buf path CLEANUP_BUF = BUF_INIT;
	uint32_t dir = dir_find_gone(c);
	if (!vec_grow(&c->dirs, &c->dir_cap, c->dir_count + 1, sizeof *c->dirs) || !failed_reserve(c))
		return false;
	struct dir *p = &c->dirs[parent];
	struct dir d = {.parent = parent,
	                .child = NONE,
	                .top = parent ? p->top : dir,
	                .namesake = NONE,
	                .listed = p->scan,
	                .depth = p->depth + 1,
	                .project = parent ? p->project : project_for(c, span_of(name)),
	                .scan = p->scan > 1,
	                .gone = true};
	path_in(c, parent, name, &path);
	d.name = buf_err(&path) || d.project == NONE ? NULL : pool_copy(c->strings, buf_span(&path), (struct span){0});
	buf_adds(&path, ".jsonl");
	if (parent == 0 && !buf_err(&path))
		d.namesake = map_get(&c->paths, 0, buf_span(&path));
	if (!d.name || map_put(&c->dir_names, 0, span_of(d.name), dir) < 0)
		return false;
	if (dir < c->dir_count)
		dir_forget(c, dir);
	else
		c->dir_count++;
	d.sibling = p->child;
	p->child = dir;
	c->dirs[dir] = d;
	if (parent == 0)
		c->projects[d.project].dir = dir;
	dir_set_gone(c, dir, false);
	return true;
}

/* A name was seen that can be a directory; an unknown one counts as a directory if it `is_new`. Returns 0 or -ENOMEM.
 */
static int apply_dir_name(struct catalog *c, uint32_t parent, const char *name, bool is_new)
{
	struct dir *p = &c->dirs[parent];
	uint32_t dir = *name == '.' ? NONE : dir_of_name(c, parent, name);
	if (dir != NONE) {
		c->dirs[dir].listed = p->scan;
		if (c->dirs[dir].gone)
			dir_set_gone(c, dir, false);
	} else if (*name != '.' && is_new && p->depth < DIR_LEVELS_MAX && !dir_make(c, parent, name)) {
		return -ENOMEM;
	}
	return 0;
}

/* ---- files ---- */

static void file_reject(struct catalog *c, struct file *f, const char *reason, int err)
{
	if (f->slot != NONE)
		slot_retire(c, f->slot);
	else if (f->state != FILE_OTHER)
		c->epoch++;
	f->state = FILE_OTHER;
	f->reason = reason;
	f->err = err;
}

/* The scan of the file failed: marks its state unknown. */
static void file_failed(struct file *f, int err)
{
	f->scanned.err = err;
	f->reread = true;
}

/* Returns whether the file or directory stays as it was known to be: it is not seen to be gone. */
static bool error_keeps_state(const struct catalog *c, int err)
{
	return error_is_transient(err) || (c->strict && error_meaning(err) == MEANS_REFUSED);
}

/* Applies the error of a file that cannot be reached or read. */
static void file_refuse(struct catalog *c, struct file *f, int err)
{
	if (error_keeps_state(c, err))
		file_failed(f, err);
	else
		file_reject(c, f, err == -EPERM ? RESOLVER_REFUSED : NULL, err == -EPERM ? 0 : err);
}

/* As of a scan that began then. */
static void file_removed(struct catalog *c, struct file *f, uint64_t began)
{
	if (f->state == FILE_GONE && !f->scanned.err && !f->scanned.scan)
		return;
	if (f->slot != NONE) {
		slot_retire(c, f->slot);
	} else if (f->state != FILE_GONE) {
		c->epoch++;
		watch_add_change(c, (uint32_t)(f - c->files), NONE, true);
	}
	f->state = FILE_GONE;
	f->scanned.began = began;
	f->scanned.err = 0;
	scan_abandon(c, &f->scanned, began);
	failed_update(c, f->dir, (uint32_t)(f - c->files));
	f->mtime = f->ctime = (struct timespec){0};
}

/* A new name appeared. */
static void file_appeared(struct catalog *c, struct file *f, ino_t listed)
{
	for (uint32_t dir = f->dir; c->dirs[dir].gone; dir = c->dirs[dir].parent)
		dir_set_gone(c, dir, false);
	f->state = FILE_UNKNOWN;
	f->project = NONE;
	f->listed_ino = listed;
	c->epoch++;
	mark_dir_stale(c, f->dir);
}

/* Applies the attributes of a regular file. Returns true if they changed: then a header that was read must be
 * compared, because a file that was rewritten in place, or removed and made again with the same inode, may look like
 * one that grew. */
static bool apply_attrs(struct catalog *c, struct file *f, const struct stat *st)
{
	/* A write that found no room is taken back: a file that shrinks to what the index has read is not rewritten. */
	off_t least = f->slot == NONE ? f->size : open_indexes_known_size(c, f->slot);
	bool is_other_file =
	    f->dev != st->st_dev || f->ino != st->st_ino || (st->st_size < f->size && st->st_size < least);
	bool changed = is_other_file || st->st_size != f->size || !time_is_same(f->mtime, st->st_mtim) ||
	               !time_is_same(f->ctime, st->st_ctim);
	uint32_t file = (uint32_t)(f - c->files);
	struct timespec before = f->mtime;
	/* The kernel keeps fixed nodes of its entries with the old owner and mode. */
	bool is_owned = f->mode == st->st_mode && f->uid == st->st_uid && f->gid == st->st_gid;
	if (changed && f->ino)
		watch_add_change(c, file, NONE, !is_owned || f->state == FILE_OTHER);
	if (st->st_nlink > 1)
		watch_hard_link(c, file);
	if (is_other_file && f->slot != NONE)
		slot_retire(c, f->slot);
	else if (is_other_file && f->state == FILE_SESSION)
		f->state = FILE_UNKNOWN;
	else if (f->state == FILE_OTHER && changed) {
		f->state = FILE_UNKNOWN;
		c->epoch++;
	}
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->size = st->st_size;
	f->mtime = st->st_mtim;
	f->ctime = st->st_ctim;
	/* Take rights away at once. Whether an ACL does is known only after the header was read again. */
	f->shown = is_owned ? f->shown & st->st_mode : st->st_mode & 0700;
	f->mode = st->st_mode;
	f->uid = st->st_uid;
	f->gid = st->st_gid;
	if (f->size == 0)
		file_reject(c, f, "empty file", 0);
	if (changed) {
		c->changes++;
		newest_file_changed(c, file, before);
	}
	return changed;
}

/* The project of a flat file; NONE without memory. */
static uint32_t project_of(struct catalog *c, const struct header *h)
{
	struct buf scratch CLEANUP_BUF = BUF_INIT;
	struct span key = flat_project_key(buf_span(&h->cwd), &scratch);
	return buf_err(&scratch) ? NONE : project_for(c, key);
}

/* Returns the offset of the stem in the path of a file in this directory, unless X.jsonl is next to X. */
static uint32_t stem_in(const struct catalog *c, uint32_t dir)
{
	return dir ? (uint32_t)strlen(c->dirs[c->dirs[dir].top].name) + 1 : 0;
}

/* Returns the project of a file in a directory: if X.jsonl next to X is a session, that one's. Returns NONE if that is
 * not known yet. */
static uint32_t project_below(const struct catalog *c, struct file *f)
{
	const struct dir *top = &c->dirs[c->dirs[f->dir].top];
	const struct file *namesake = top->namesake == NONE ? NULL : &c->files[top->namesake];
	bool has_namesake = namesake && namesake->state == FILE_SESSION;
	f->stem_at = has_namesake ? 0 : stem_in(c, f->dir);
	if (has_namesake)
		return namesake->project;
	return namesake && namesake->state == FILE_UNKNOWN ? NONE : top->project;
}

/* A name that was shown does not change. */
static void file_set_project(struct catalog *c, struct file *f, uint32_t project)
{
	project = f->dir == 0 ? project : f->project != NONE ? f->project : project_below(c, f);
	if (project == NONE)
		return;
	f->waits = f->waits && project == f->project;
	f->project = project;
	newest_file_changed(c, (uint32_t)(f - c->files), f->mtime);
}

/* The kept text if it is the same, else the end of `of` or a new copy; p NULL without memory. */
static struct span text_keep(struct catalog *c, struct span before, const struct buf *text, struct span of)
{
	if (before.p && span_eq(before, buf_span(text)))
		return before;
	return (struct span){pool_copy(c->strings, buf_span(text), of), text->n};
}

bool file_waits(struct catalog *c, uint32_t file)
{
	struct file *f = &c->files[file];
	file_set_project(c, f, f->project);
	if (f->waits || f->project == NONE)
		return true;
	f->waits = list_add(&c->projects[f->project].waiting, file) == 0;
	c->waiting += f->waits;
	return f->waits;
}

/* Applies the header. The slot stays if nothing differs. */
static void apply_header(struct catalog *c, uint32_t file, const struct header *h)
{
	struct file *f = &c->files[file];
	uint32_t project = f->dir == 0 ? project_of(c, h) : f->project;
	struct span path = {.p = f->path};
	header_name(path.p, &path.n);
	struct span sid = text_keep(c, f->sid, &h->id, path);
	struct span parent = h->parent.n ? text_keep(c, f->parent, &h->parent, path) : (struct span){NULL, 0};
	if ((project == NONE && f->dir == 0) || !sid.p || (h->parent.n && !parent.p)) {
		file_failed(f, -ENOMEM);
		return;
	}
	bool differs = sid.p != f->sid.p || parent.p != f->parent.p || project != f->project;
	if (differs && f->slot != NONE)
		slot_retire(c, f->slot);
	if (sid.p != f->sid.p)
		f->sid_name = NULL;
	f->sid = sid;
	f->parent = parent;
	f->unread = false;
	f->has_ids = h->has_ids;
	c->epoch += f->state == FILE_OTHER; /* it was refused */
	f->state = FILE_SESSION;
	file_set_project(c, f, project);
	if (f->slot == NONE && !file_waits(c, file))
		file_failed(f, -ENOMEM);
}

/* Applies what header_read found in the file. */
static void apply_contents(struct catalog *c, uint32_t file, bool is_session, const struct header *h)
{
	struct file *f = &c->files[file];
	if (S_ISREG(h->st.st_mode)) {
		apply_attrs(c, f, &h->st);
		if (f->state == FILE_SESSION && f->shown != h->mode)
			watch_add_change(c, file, NONE, true);
		f->shown = h->mode;
		f->acl_unread = h->acl_err;
		acl_is_unread(c, f->path, h->acl_err);
	}
	if (h->is_later && watching_is_on(&c->watching) && f->reason != h->reason)
		log_warning("%s: %s", f->path, h->reason);
	if (is_session)
		apply_header(c, file, h);
	else if (h->err)
		file_refuse(c, f, h->err);
	else
		file_reject(c, f, h->reason, 0);
}

/* Applies the target of the name. Returns true if that is a regular file, and so perhaps a session. */
static bool apply_target(struct catalog *c, uint32_t file, int rc, const struct stat *st)
{
	struct file *f = &c->files[file];
	f->unseen = rc < 0;
	if (rc == 0 && S_ISREG(st->st_mode))
		return true;
	if (rc < 0) {
		file_refuse(c, f, rc);
		return false;
	}
	file_reject(c, f, S_ISDIR(st->st_mode) ? is_a_directory : "not a regular file", 0);
	if (S_ISDIR(st->st_mode) && apply_dir_name(c, f->dir, f->path + f->base, true) < 0)
		file_failed(f, -ENOMEM);
	return false;
}

static void apply_file(struct catalog *c, const struct disk_scan *l)
{
	uint32_t file = l->file;
	struct file *f = &c->files[file];
	bool was_marked = scan_state_is_marked(&f->scanned);
	f->scanned.began = l->began;
	f->scanned.at = l->at;
	f->scanned.foreign = l->is_far;
	f->scanned.err = 0;
	f->reread = false;
	if (l->is_far || l->linked)
		watch_hard_link(c, file);
	if (l->rc == -ENOENT && !l->linked) {
		file_removed(c, f, l->began);
		c->dirs[f->dir].trusted = false; /* the whole directory can have been away for a moment */
		return;
	}
	if (f->state == FILE_GONE) {
		file_appeared(c, f, 0);
		watch_add_change(c, file, NONE, true);
	}
	/* An event: also of a write that leaves the attributes as they are. */
	if (was_marked && file_is_watched(c, f))
		watch_add_change(c, file, NONE, false);
	if (!apply_target(c, file, l->rc, &l->st))
		return;
	bool changed = apply_attrs(c, f, &l->st);
	f->unread = f->unread || changed;
	if (l->reads == SCAN_READ) {
		apply_contents(c, file, l->found.err == 0 && !l->found.reason, &l->found);
	} else if (changed && f->state == FILE_SESSION) {
		/* It became a session after the scan began. */
		f->reread = true;
		mark_file_stale(c, file);
	}
}

/* ---- directories ---- */

/* Returns the directory X if this is the path of X.jsonl in the source; or NONE. */
static uint32_t dir_namesake(const struct catalog *c, const char *path)
{
	size_t at;
	bool is_flat = !strchr(path, '/') && header_name(path, &at) == NAME_SESSION;
	return is_flat ? map_get(&c->dir_names, 0, (struct span){path, at}) : NONE;
}

/* Finds a file that is gone, and that nothing outside the directory knows, among the next few of the directory: so
 * there are few more than ever existed at one time. */
static uint32_t dir_find_unused(struct catalog *c, struct dir *d)
{
	for (size_t n = 0; n < 8 && n < d->files.n; n++) {
		uint32_t file = d->files.v[d->next_unused++ % d->files.n];
		const struct file *f = &c->files[file];
		bool was_shown = f->slot != NONE || f->stem || f->sid_name || f->waits;
		if (f->state == FILE_GONE && !was_shown && !f->noted && !f->scanned.scan && !f->scanned.err &&
		    !scan_state_is_marked(&f->scanned) && dir_namesake(c, f->path) == NONE)
			return file;
	}
	return NONE;
}

uint32_t file_for(struct catalog *c, uint32_t dir, const char *name)
{
	struct buf path CLEANUP_BUF = BUF_INIT;
	path_in(c, dir, name, &path);
	if (!buf_cstr(&path))
		return NONE;
	uint32_t found = map_get(&c->paths, 0, buf_span(&path));
	if (found != NONE)
		return found;

	struct u32_list *files = &c->dirs[dir].files;
	uint32_t file = dir_find_unused(c, &c->dirs[dir]);
	const char *kept = NULL;
	if (file != NONE) {
		char *before = (char *)c->files[file].path;
		map_remove(&c->paths, 0, span_of(before));
		kept = strlen(before) < path.n ? NULL : memcpy(before, path.p, path.n + 1);
	} else if (c->file_count >= NONE || !vec_grow(&c->files, &c->file_cap, c->file_count + 1, sizeof *c->files) ||
	           !vec_reserve(files, 1) || !failed_reserve(c)) {
		return NONE;
	}
	kept = kept ? kept : pool_copy(c->strings, buf_span(&path), (struct span){0});
	if (!kept || map_put(&c->paths, 0, span_of(kept), file != NONE ? file : (uint32_t)c->file_count) < 0)
		return NONE;
	if (file == NONE) {
		file = (uint32_t)c->file_count++;
		files->v[files->n++] = file;
	}
	c->files[file] = (struct file){.path = kept,
	                               .base = (uint32_t)(path.n - strlen(name)),
	                               .stem_at = stem_in(c, dir),
	                               .dir = dir,
	                               .project = NONE,
	                               .stem_project = NONE,
	                               .slot = NONE};
	uint32_t namesake = dir_namesake(c, kept);
	if (namesake != NONE) {
		c->dirs[namesake].namesake = file;
		c->flat.unwatched += c->dirs[namesake].tree.unwatched;
		mark_dir_stale(c, namesake);
	}
	return file;
}

bool file_is_candidate(const char *name)
{
	return header_name(name, NULL) != NAME_OTHER;
}

/* The name of a candidate was seen in the directory by this scan. Returns 0 or -ENOMEM. */
static int apply_file_name(struct catalog *c, const struct disk_scan *l, const struct name *e)
{
	uint32_t file = file_for(c, l->dir, e->text);
	if (file == NONE)
		return -ENOMEM;
	struct file *f = &c->files[file];
	struct dir *d = &c->dirs[l->dir];
	f->scan = d->scan;
	if (f->scanned.began > l->began) {
		/* It was absent later, but can have come before these names were read, and before there was a watch. */
		if (f->state == FILE_GONE)
			mark_file_stale(c, file);
		return 0;
	}
	bool is_new = f->state == FILE_GONE;
	bool is_same = !is_new && f->listed_ino == e->ino;
	if (is_new) {
		f->scanned.began = f->scanned.marked = 0;
		file_appeared(c, f, e->ino);
		if (d->scan > 1)
			watch_add_change(c, file, NONE, true);
	}
	f->listed_ino = e->ino;
	if (e->type != DT_REG && e->type != DT_DIR)
		watch_hard_link(c, file);
	/* A regular file is scanned when a call needs it. Other types can be something else; and a scan of it that
	 * began earlier, and has not ended yet, may have seen nothing there. */
	bool is_early = f->scanned.scan && f->scanned.scan->began < l->began;
	if (e->type != DT_REG || is_early || !(is_new || is_same))
		mark_file_stale(c, file);
	return 0;
}

/* Returns 0, or -ENOMEM if a name is missing. The lock is released from time to time: others need not wait
 * until all names are in. */
static int apply_names(struct catalog *c, const struct disk_scan *l)
{
	struct span rest = buf_span(&l->names);
	struct name e;
	int err = 0;
	for (size_t n = 1; names_next(&rest, &e); n++) {
		bool is_candidate = file_is_candidate(e.text);
		int rc = is_candidate ? apply_file_name(c, l, &e) : 0;
		if (rc == 0 && (e.type == DT_DIR || e.type == DT_UNKNOWN || (e.type == DT_LNK && l->dir == 0)))
			rc = apply_dir_name(c, l->dir, e.text, e.type == DT_DIR || !is_candidate);
		if (rc < 0)
			log_error("%s: out of memory", e.text);
		err = rc < 0 ? rc : err;
		struct dir *d = &c->dirs[l->dir];
		if (d->depth == DIR_LEVELS_MAX && e.type == DT_DIR && e.text[0] != '.')
			d->reason = "deeper directories are not searched";
		if (n % NAMES_AT_ONCE == 0) {
			lock_release(&c->lock);
			lock_acquire(&c->lock);
		}
	}
	return err;
}

/* The directory and all below it no longer exist. */
static void dir_removed(struct catalog *c, uint32_t dir, uint64_t began)
{
	for (uint32_t i = dir; i != NONE; i = dir_next(c, dir, i)) {
		struct dir *d = &c->dirs[i];
		bool was_seen = d->scanned.began >= began;
		for (size_t k = 0; k < d->files.n && !d->gone && !was_seen; k++) {
			struct file *f = &c->files[d->files.v[k]];
			if (f->scanned.began < began)
				file_removed(c, f, began);
			was_seen = f->state != FILE_GONE;
		}
		if (was_seen)
			mark_names_stale(c, i); /* later, or a file in it: it is scanned itself */
		if (d->gone || was_seen)
			continue;
		dir_set_gone(c, i, true);
		d->scanned.began = began;
		d->scanned.err = d->err = 0;
		scan_abandon(c, &d->scanned, began);
		failed_update(c, i, NONE);
	}
}

/* Files and directories that are not among the names are gone, but for those that were scanned later. */
static void dir_remove_unlisted(struct catalog *c, const struct disk_scan *l)
{
	const struct dir *d = &c->dirs[l->dir];
	for (size_t i = 0; i < d->files.n; i++) {
		struct file *f = &c->files[d->files.v[i]];
		if (f->scan != d->scan && f->scanned.began < l->began)
			file_removed(c, f, l->began);
	}
	for (uint32_t i = d->child; i != NONE; i = c->dirs[i].sibling)
		if (c->dirs[i].listed != d->scan)
			dir_removed(c, i, l->began);
}

/* The directory cannot be read. Its files are gone, unless they can still be there. */
static void dir_failed(struct catalog *c, const struct disk_scan *l)
{
	struct dir *d = &c->dirs[l->dir];
	int err = l->rc;
	if (error_keeps_state(c, err)) {
		d->scanned.err = err;
		return;
	}
	watch_drop(c, l->dir);
	if (err != d->err && !error_is_absence(err))
		log_warning("%s: %s", d->name[0] ? d->name : c->source, resolver_error_text(err));
	d->err = err;
	d->trusted = false;
	d->st = (struct stat){0};
	d->scan++;
	dir_remove_unlisted(c, l);
	/* On the first level it can be a link. If it was marked since the look began, it can be back already. */
	if (d->depth > 1 && (err == -ENOENT || err == -ENOTDIR) && d->scanned.marked <= l->began) {
		dir_removed(c, l->dir, l->began);
		c->dirs[d->parent].trusted = false; /* as for a file */
	}
}

static void apply_rights(struct catalog *c, uint32_t dir, const struct rights *now, int acl_err)
{
	struct dir *d = &c->dirs[dir];
	d->acl_err = acl_err;
	acl_is_unread(c, d->name[0] ? d->name : c->source, acl_err);
	/* The kernel keeps nodes of the sessions below with the old modes. */
	bool differs = d->scan > 0 && !rights_are_equal(now, &d->rights);
	for (uint32_t i = differs ? dir : NONE; i != NONE; i = dir_next(c, dir, i))
		for (size_t k = 0; k < c->dirs[i].files.n; k++)
			if (c->files[c->dirs[i].files.v[k]].state == FILE_SESSION)
				watch_add_change(c, c->dirs[i].files.v[k], NONE, true);
	d->rights = *now;
}

static void apply_dir(struct catalog *c, struct disk_scan *l)
{
	struct dir *d = &c->dirs[l->dir];
	c->dir_scans++;
	if (d->gone)
		return; /* if it came back, it is scanned again once it is seen among the names */
	/* While names are applied, the lock is released from time to time: an earlier error still holds then. */
	if (l->rc < 0 || l->reads != SCAN_READ)
		d->scanned.err = 0;
	d->scanned.foreign = l->is_far;
	if (l->is_far)
		watch_drop(c, l->dir); /* its server changes it without an event */
	if (l->rc < 0) {
		dir_failed(c, l);
	} else if (l->reads == SCAN_READ) {
		time_t wall = clock_now(CLOCK_REALTIME).tv_sec;
		apply_rights(c, l->dir, &l->rights, l->acl_err);
		d->scan++;
		d->reason = NULL;
		int rc = apply_names(c, l);
		d = &c->dirs[l->dir];
		if (d->gone)
			return; /* another call found that meanwhile */
		/* A change within the same tick of the clock leaves the mtime as it is. */
		bool is_racy = !d->wd && llabs((long long)wall - (long long)l->st.st_mtim.tv_sec) <= RACY_S;
		d->st = l->st;
		d->trusted = rc == 0 && !is_racy && d->scanned.marked <= l->began;
		d->err = 0;
		d->scanned.err = rc;
		dir_remove_unlisted(c, l);
	}
	d->scanned.began = l->began;
	d->scanned.at = l->at;
	c->dir_scans++;
}

/* ---- both ---- */

void apply_scan(struct catalog *c, struct disk_scan *l)
{
	bool is_dir = l->file == NONE;
	l->phase = SCAN_APPLYING;
	if (l->began >= scan_state_of(c, l->dir, l->file)->began) {
		if (is_dir)
			apply_dir(c, l);
		else
			apply_file(c, l);
	}
	failed_update(c, l->dir, l->file);
	scan_state_of(c, l->dir, l->file)->scan = NULL;
	pthread_cond_broadcast(&c->scanned);
	scan_put(c, l);
}

void apply_failure(struct catalog *c, uint32_t dir, uint32_t file, int err)
{
	struct scan_state *s = scan_state_of(c, dir, file);
	if (file == NONE && c->dirs[dir].gone)
		return;
	s->began = ++c->tick;
	s->at = catalog_now();
	if (file == NONE)
		s->err = err;
	else
		file_failed(&c->files[file], err);
	failed_update(c, dir, file);
}
