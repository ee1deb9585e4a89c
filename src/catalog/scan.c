/* Looking at the disk. Only what can have changed is read again: a directory when its
 * identity, mtime or ctime differs, a file's header when its
 * attributes differ. Nothing is looked at again while the last look is fresh (is_fresh).
 *
 * A directory's mtime comes from a coarse clock: a name made right after a scan may leave it unchanged.
 * So the scan of a directory that changed less than RACY_S before is not trusted, and repeated. */
#include "catalog_impl.h"

#include "sessionfs/base/crew.h"
#include "sessionfs/base/log.h"
#include "sessionfs/file/store.h"

#include <fcntl.h>

#define RACY_S 2

enum { HEADERS = 32 }; /* read at once */

static const char is_a_directory[] = "is a directory";

/* Where ACLs cannot be read, that is so of every file: it is said once. */
static void acl_is_unread(struct catalog *c, const char *path, int err)
{
	if (err && !c->acl_said)
		log_warning("%s: ACL: %s: what has an ACL that cannot be read is shown to its owner alone", path,
		            strerror(-err));
	c->acl_said = c->acl_said || err;
}

/* ---- files ---- */

static void file_is_other(struct catalog *c, struct file *f, const char *reason, int err)
{
	if (f->slot != NONE)
		slot_kill(c, f->slot);
	else if (f->state != FILE_OTHER)
		c->epoch++;
	f->state = FILE_OTHER;
	f->reason = reason;
	f->err = err;
}

/* Looks at many files do not count as made: this one is to be looked at again. */
static void ages_with(struct catalog *c, const struct file *f)
{
	c->dirs[f->dir].headed = c->dirs[f->dir].statted = 0;
	c->loaded_at = c->statted_at = 0;
}

/* The file could not be looked at or read: nobody knows for now what it is. */
static void file_fails(struct catalog *c, struct file *f, int err)
{
	f->trouble = err;
	f->tried = c->call;
	f->ctime = (struct timespec){0}; /* so that it differs, and its header is read again */
	ages_with(c, f);
	catalog_misses(c, err);
}

/* Takes in the error of a file that cannot be reached or read. */
static void file_is_refused(struct catalog *c, struct file *f, int err)
{
	if (is_transient(err))
		file_fails(c, f, err);
	else
		file_is_other(c, f, err == -EPERM ? REACH_REFUSED : NULL, err == -EPERM ? 0 : err);
}

static void file_vanishes(struct catalog *c, struct file *f)
{
	if (f->slot != NONE) {
		slot_kill(c, f->slot);
	} else if (f->state != FILE_GONE) {
		c->epoch++;
		watch_note(c, (uint32_t)(f - c->files), NONE, true);
	}
	f->state = FILE_GONE;
	f->checked = 0;
	f->trouble = 0;
	look_put(c, f->look);
	f->look = NULL;
	f->mtime = f->ctime = (struct timespec){0};
}

/* A new name appeared. */
static void file_comes(struct catalog *c, struct file *f, ino_t listed)
{
	f->state = FILE_UNKNOWN;
	f->listed_ino = listed;
	c->epoch++;
	ages_with(c, f);
}

/* Takes in the attributes of a regular file. True if they changed: then a header that was read must be
 * compared, because a file that was rewritten in place, or removed and made again with the same inode, may look like
 * one that grew. */
static bool file_takes(struct catalog *c, struct file *f, const struct stat *st)
{
	/* A write that found no room is taken back: a file that shrinks to what the index has read is not rewritten. */
	off_t least = f->slot == NONE ? f->size : open_indexes_seen(c, f->slot);
	bool is_other_file =
	    f->dev != st->st_dev || f->ino != st->st_ino || (st->st_size < f->size && st->st_size < least);
	bool changed = is_other_file || st->st_size != f->size || !time_is_same(f->mtime, st->st_mtim) ||
	               !time_is_same(f->ctime, st->st_ctim);
	uint32_t file = (uint32_t)(f - c->files);
	struct timespec before = f->mtime;
	/* The kernel keeps fixed nodes of its entries with the old owner and mode. */
	bool is_owned = f->mode == st->st_mode && f->uid == st->st_uid && f->gid == st->st_gid;
	if (changed && f->ino)
		watch_note(c, file, NONE, !is_owned || f->state == FILE_OTHER);
	if (st->st_nlink > 1)
		watch_linked(c, file);
	if (is_other_file && f->slot != NONE)
		slot_kill(c, f->slot);
	else if (is_other_file && f->state == FILE_SESSION)
		f->state = FILE_UNKNOWN;
	else if (f->state == FILE_OTHER && (changed || f->err))
		f->state = FILE_UNKNOWN;
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->size = st->st_size;
	f->mtime = st->st_mtim;
	f->ctime = st->st_ctim;
	/* Take rights away at once. What the ACL grants is known only after the header was read again. */
	f->shown = is_owned ? f->shown & st->st_mode : st->st_mode & 0700;
	f->mode = st->st_mode;
	f->uid = st->st_uid;
	f->gid = st->st_gid;
	if (f->size == 0)
		file_is_other(c, f, "empty file", 0);
	if (changed) {
		c->changes++;
		newest_ages(c, file, before);
	}
	return changed;
}

static uint32_t project_of(struct catalog *c, const struct file *f, const struct header *h)
{
	if (f->dir != 0)
		return c->dirs[f->dir].project;
	struct buf scratch CLEANUP_BUF = BUF_INIT;
	struct span key = flat_project_key(buf_span(&h->cwd), &scratch);
	return buf_err(&scratch) ? NONE : project_for(c, key);
}

/* The kept text if it is the same, else a new copy; p NULL without memory. */
static struct span scan_keep(struct catalog *c, struct span before, const struct buf *text)
{
	if (before.p && span_eq(before, buf_span(text)))
		return before;
	return (struct span){strings_copy(&c->strings, buf_span(text)), text->n};
}

static void file_waits(struct catalog *c, uint32_t file)
{
	struct file *f = &c->files[file];
	if (f->waits || f->project == NONE)
		return;
	f->waits = list_add(&c->projects[f->project].waiting, file) == 0;
	if (!f->waits)
		catalog_misses(c, -ENOMEM);
}

/* Takes in the header. The slot stays if nothing differs. */
static void file_takes_header(struct catalog *c, uint32_t file, const struct header *h)
{
	struct file *f = &c->files[file];
	uint32_t project = project_of(c, f, h);
	struct span sid = scan_keep(c, f->sid, &h->id);
	struct span parent = h->parent.n ? scan_keep(c, f->parent, &h->parent) : (struct span){NULL, 0};
	if (project == NONE || !sid.p || (h->parent.n && !parent.p)) {
		file_fails(c, f, -ENOMEM);
		return;
	}
	bool differs = sid.p != f->sid.p || parent.p != f->parent.p || project != f->project;
	if (differs && f->slot != NONE)
		slot_kill(c, f->slot);
	if (sid.p != f->sid.p)
		f->sid_name = NULL;
	if (project != f->project)
		f->waits = false;
	f->sid = sid;
	f->parent = parent;
	f->project = project;
	f->state = FILE_SESSION;
	if (f->slot == NONE)
		file_waits(c, file);
}

/* Takes in what header_read found in the file. */
static void file_takes_answer(struct catalog *c, uint32_t file, bool is_session, const struct header *h)
{
	struct file *f = &c->files[file];
	if (S_ISREG(h->st.st_mode)) {
		file_takes(c, f, &h->st);
		if (f->state == FILE_SESSION && f->shown != h->mode)
			watch_note(c, file, NONE, true);
		f->shown = h->mode;
		f->acl_unread = h->acl_err;
		acl_is_unread(c, f->path, h->acl_err);
	}
	if (h->is_later && c->watching.on && f->reason != h->reason)
		log_warning("%s: %s", f->path, h->reason);
	if (is_session)
		file_takes_header(c, file, h);
	else if (h->err)
		file_is_refused(c, f, h->err);
	else
		file_is_other(c, f, h->reason, 0);
}

static void dir_seen(struct catalog *c, const char *name);

/* Takes in what the name leads to. True if that is a regular file, which may be a session. */
static bool file_takes_stat(struct catalog *c, uint32_t file, int rc, const struct stat *st)
{
	struct file *f = &c->files[file];
	f->trouble = 0;
	f->unseen = rc < 0;
	if (rc == 0 && S_ISREG(st->st_mode))
		return true;
	if (rc < 0) {
		file_is_refused(c, f, rc);
		return false;
	}
	file_is_other(c, f, S_ISDIR(st->st_mode) ? is_a_directory : "not a regular file", 0);
	if (f->dir == 0 && S_ISDIR(st->st_mode))
		dir_seen(c, f->path);
	return false;
}

/* Looks at a file that may block, and so not under the lock. */
static void file_look_elsewhere(struct catalog *c, uint32_t file)
{
	struct file *f = &c->files[file];
	watch_linked(c, file);
	f->foreign = true;
	/* Events come while somebody else is asked for. */
	if (c->watching.draining) {
		f->checked = 0;
		return;
	}
	struct look *l = look_elsewhere(c, &f->look, f->path, false);
	if (!l) {
		f->trouble = -ETIMEDOUT;
		ages_with(c, f);
		return;
	}
	f->checked = l->began;
	if (file_takes_stat(c, file, l->rc, &l->st))
		file_takes_answer(c, file, l->is_session, &l->header);
	look_put(c, l);
}

static void file_takes_read(struct catalog *c, uint32_t file, bool is_session, const struct header *h)
{
	if (h->err == -EXDEV)
		file_look_elsewhere(c, file);
	else
		file_takes_answer(c, file, is_session, h);
}

/* Reads the header of a regular file. */
void scan_header_again(struct catalog *c, uint32_t file)
{
	const struct reach_at at = {c->reach, c->files[file].path};
	bool is_session = header_read(&at, REACH_NOW, &c->header);
	file_takes_read(c, file, is_session, &c->header);
}

/* Looks at a file by its name in the directory that is open as `at`, or from the source (-1). */
static void file_look(struct catalog *c, uint32_t file, int at, int64_t now)
{
	struct file *f = &c->files[file];
	struct reached got = REACHED_INIT;
	const struct reach_at where = {c->reach, f->path};
	int rc = at < 0 ? -EXDEV : reach_look(c->reach, at, f->path + f->base, &got.st);

	if (rc == -EXDEV)
		rc = reach_stat(&where, REACH_NOW, &got);
	if (rc == -EXDEV) {
		file_look_elsewhere(c, file);
		return;
	}
	f->checked = now;
	f->foreign = false;
	if (got.linked)
		watch_linked(c, file);
	if (file_takes_stat(c, file, rc, &got.st) && (file_takes(c, f, &got.st) || f->acl_unread) &&
	    f->state == FILE_SESSION)
		scan_header_again(c, file);
}

/* Whether the file need not be looked at now. A failure holds for the call in which it happened. */
static bool file_is_fresh(const struct catalog *c, const struct file *f, int64_t now)
{
	if (f->look)
		return false;
	if (f->trouble)
		return f->tried == c->call;
	if (now == 0 && f->foreign)
		return f->checked >= c->begin;
	return now && is_fresh(c, f->checked, now, is_told_file(c, f));
}

void scan_file(struct catalog *c, uint32_t file, int64_t now)
{
	const struct file *f = &c->files[file];
	if (f->state == FILE_GONE)
		return;
	if (!file_is_fresh(c, f, now))
		file_look(c, file, -1, now ? now : catalog_now());
	else if (f->trouble)
		catalog_misses(c, f->trouble);
}

void scan_touched(struct catalog *c, uint32_t file, int64_t now)
{
	struct file *f = &c->files[file];
	const struct reach_at at = {c->reach, c->dirs[f->dir].name};
	struct reached in = REACHED_INIT;
	struct stat st;
	int rc = reach_dir(&at, REACH_NOW, O_PATH, &in);
	if (rc == 0 && fstatat(in.fd, f->path + f->base, &st, AT_SYMLINK_NOFOLLOW) < 0)
		rc = -errno;
	if (rc < 0) {
		f->checked = 0;
		if (f->state != FILE_GONE && rc == -ENOENT)
			file_vanishes(c, f);
		if (is_transient(rc)) {
			watch_forget(c, f->dir);
			watch_note(c, file, NONE, true);
		}
		reached_release(c->reach, &in);
		return;
	}
	f->scan = c->dirs[f->dir].scan;
	if (f->state == FILE_GONE) {
		file_comes(c, f, 0);
		watch_note(c, file, NONE, true);
	}
	if (S_ISLNK(st.st_mode))
		watch_linked(c, file);
	watch_note(c, file, NONE, false);
	file_look(c, file, in.fd, now);
	reached_release(c->reach, &in);
}

int64_t scan_rest(int64_t begin, int64_t now)
{
	int64_t rest = (now - begin) * SCAN_REST - CATALOG_FRESH_MS;
	return rest > 0 ? now + rest : begin;
}

static void dir_fails(struct catalog *c, uint32_t dir, int err);

void scan_files(struct catalog *c, uint32_t dir, int64_t now)
{
	struct dir *d = &c->dirs[dir];
	if (is_fresh_dir(c, d, d->statted, now) || d->files.n == 0)
		return;
	int64_t begin = catalog_now();
	d->statted = now;
	const struct reach_at where = {c->reach, d->name};
	struct reached in = REACHED_INIT;
	int rc = reach_dir(&where, REACH_NOW, O_PATH, &in);
	if (rc < 0 && rc != -EXDEV) {
		d->statted = 0;
		if (is_transient(rc))
			dir_fails(c, dir, rc);
		return; /* other errors are handled by the scan of the directory */
	}
	for (size_t i = 0; i < c->dirs[dir].files.n; i++) {
		uint32_t file = c->dirs[dir].files.v[i];
		const struct file *f = &c->files[file];
		if (f->state == FILE_GONE)
			continue;
		if (!file_is_fresh(c, f, now))
			file_look(c, file, in.fd, now);
		else if (f->trouble)
			catalog_misses(c, f->trouble);
	}
	reached_release(c->reach, &in);
	c->dirs[dir].statted = c->missed ? 0 : scan_rest(begin, catalog_now());
}

/* ---- headers ---- */

void scan_header(struct catalog *c, uint32_t file, int64_t now)
{
	scan_file(c, file, now);
	if (c->files[file].state == FILE_UNKNOWN && !c->files[file].trouble)
		scan_header_again(c, file);
}

/* Headers that are read at once. */
struct headers {
	const struct catalog *c;
	uint32_t files[HEADERS];
	struct header read[HEADERS];
	bool is_session[HEADERS];
	size_t n;
};

static int read_one_of(void *arg, size_t i)
{
	struct headers *h = arg;
	const struct reach_at at = {h->c->reach, h->c->files[h->files[i]].path};
	h->is_session[i] = header_read(&at, REACH_NOW, &h->read[i]);
	/* What was read can be a mebibyte. */
	buf_release(&h->read[i].bytes);
	buf_release(&h->read[i].deep);
	return 0;
}

/* Reads the headers of the files, on all cores: on a cold disk each of them is waited for. */
static void read_headers(struct catalog *c, struct headers *h)
{
	int rc = crew_run(h->n, read_one_of, h);
	if (rc < 0)
		catalog_misses(c, rc);
	for (size_t i = 0; i < h->n; i++) {
		if (rc == 0)
			file_takes_read(c, h->files[i], h->is_session[i], &h->read[i]);
		header_release(&h->read[i]);
	}
	h->n = 0;
}

void scan_headers(struct catalog *c, uint32_t dir, int64_t now)
{
	struct headers unknown = {.c = c};
	if (is_fresh_dir(c, &c->dirs[dir], c->dirs[dir].headed, now))
		return;
	c->dirs[dir].headed = now;
	for (size_t i = 0; i < c->dirs[dir].files.n; i++) {
		uint32_t file = c->dirs[dir].files.v[i];
		if (c->files[file].state == FILE_GONE || c->files[file].slot != NONE)
			continue;
		if (c->files[file].state == FILE_SESSION) {
			file_waits(c, file);
			continue;
		}
		scan_file(c, file, now);
		if (c->files[file].state == FILE_UNKNOWN && !c->files[file].trouble)
			unknown.files[unknown.n++] = file;
		if (unknown.n == HEADERS)
			read_headers(c, &unknown);
	}
	read_headers(c, &unknown);
	if (c->missed)
		c->dirs[dir].headed = 0;
}

/* ---- directories ---- */

uint32_t file_for(struct catalog *c, uint32_t dir, const char *name)
{
	struct buf path CLEANUP_BUF = BUF_INIT;
	if (dir != 0) {
		buf_adds(&path, c->dirs[dir].name);
		buf_addc(&path, '/');
	}
	uint32_t base = (uint32_t)path.n;
	buf_adds(&path, name);
	if (buf_err(&path))
		return NONE;
	uint32_t found = map_get(&c->paths, 0, buf_span(&path));
	if (found != NONE)
		return found;

	struct list *files = &c->dirs[dir].files;
	if (c->file_count >= NONE || !vec_grow(&c->files, &c->file_cap, c->file_count + 1, sizeof *c->files) ||
	    !vec_reserve(files, 1))
		return NONE;
	const char *kept = strings_copy(&c->strings, buf_span(&path));
	uint32_t file = (uint32_t)c->file_count;
	if (!kept || map_put(&c->paths, 0, span_of(kept), file) < 0)
		return NONE;
	c->files[c->file_count++] =
	    (struct file){.path = kept, .base = base, .dir = dir, .project = NONE, .stem_project = NONE, .slot = NONE};
	files->v[files->n++] = file;
	return file;
}

bool file_is_candidate(const char *name)
{
	size_t n = strlen(name);
	return n >= 6 && memcmp(name + n - 6, ".jsonl", 6) == 0;
}

/* There was no memory for a name in the directory: it must be read again. */
static void dir_lacks(struct catalog *c, uint32_t dir)
{
	c->dirs[dir].lacks = true;
	catalog_misses(c, -ENOMEM);
}

/* A name *.jsonl was seen in the directory that is open as `at` (-1: not open here). */
static void file_seen(struct catalog *c, uint32_t dir, int at, const struct name *e)
{
	uint32_t file = file_for(c, dir, e->text);
	if (file == NONE) {
		log_error("%s: out of memory", e->text);
		dir_lacks(c, dir);
		return;
	}
	struct file *f = &c->files[file];
	bool is_new = f->state == FILE_GONE;
	bool is_same = !is_new && f->listed_ino == e->ino;
	f->scan = c->dirs[dir].scan;
	if (is_new)
		file_comes(c, f, e->ino);
	f->listed_ino = e->ino;
	if (is_new && (c->dirs[dir].scan > 1 || c->dirs[dir].came))
		watch_note(c, file, NONE, true);
	if (e->type != DT_REG && e->type != DT_DIR)
		watch_linked(c, file);
	/* A regular file is looked at when a call needs it. Anything else may not be a file. */
	if (e->type != DT_REG || !(is_new || is_same))
		file_look(c, file, at, catalog_now());
}

/* A name in the source that may be a directory. */
static void dir_seen(struct catalog *c, const char *text)
{
	struct span name = span_of(text);
	if (map_get(&c->dir_names, 0, name) != NONE)
		return;
	uint32_t project = project_for(c, name);
	if (project == NONE || !vec_grow(&c->dirs, &c->dir_cap, c->dir_count + 1, sizeof *c->dirs)) {
		log_error("%s: out of memory", text);
		dir_lacks(c, 0);
		return;
	}
	const char *kept = c->projects[project].key.p;
	uint32_t dir = (uint32_t)c->dir_count;
	if (map_put(&c->dir_names, 0, span_of(kept), dir) < 0) {
		dir_lacks(c, 0);
		return;
	}
	c->dirs[c->dir_count++] = (struct dir){.name = kept, .project = project, .came = c->dirs[0].scan > 1};
	c->watching.blind++;
	c->projects[project].dir = dir;
}

static void take_names(struct catalog *c, uint32_t dir, int at, const struct buf *names)
{
	struct span rest = buf_span(names);
	struct name e;
	while (names_next(&rest, &e)) {
		if (c->tidy && at >= 0 && store_is_temporary(e.text) && !store_tidy(at, e.text))
			c->dirs[dir].untidy = true;
		if (file_is_candidate(e.text))
			file_seen(c, dir, at, &e);
		else if (dir == 0 && (e.type == DT_DIR || e.type == DT_LNK || e.type == DT_UNKNOWN))
			dir_seen(c, e.text);
	}
}

/* The directory cannot be read. Its files are gone, unless the error is transient. */
static void dir_fails(struct catalog *c, uint32_t dir, int err)
{
	struct dir *d = &c->dirs[dir];
	if (is_transient(err)) {
		d->trouble = err;
		d->tried = c->call;
		c->refreshed_at = c->loaded_at = 0;
		catalog_misses(c, err);
		return;
	}
	watch_failed(c, dir, err);
	if (err != d->err && err != -ENOENT && err != -ENOTDIR)
		log_warning("%s: %s", d->name[0] ? d->name : c->source, err == -EPERM ? REACH_REFUSED : strerror(-err));
	d->err = err;
	d->st = (struct stat){0};
	for (size_t i = 0; i < d->files.n; i++)
		file_vanishes(c, &c->files[d->files.v[i]]);
}

/* Takes in the names. Files that are not among them are gone. */
static void dir_takes_names(struct catalog *c, uint32_t dir, int at, const struct stat *st, const struct buf *names)
{
	time_t wall = clock_now(CLOCK_REALTIME).tv_sec;
	c->dirs[dir].scan++;
	c->dirs[dir].lacks = false;
	take_names(c, dir, at, names);
	struct dir *d = &c->dirs[dir];
	d->st = *st;
	d->err = 0;
	d->racy = !d->told && llabs((long long)wall - (long long)st->st_mtim.tv_sec) <= RACY_S;
	for (size_t i = 0; i < d->files.n; i++) {
		struct file *f = &c->files[d->files.v[i]];
		if (f->scan != d->scan && f->state != FILE_GONE)
			file_vanishes(c, f);
	}
	d->headed = 0;
	if (d->lacks)
		d->looked = c->refreshed_at = 0;
}

/* Takes in the rights, and takes them out of *now. */
static void dir_takes_rights(struct catalog *c, uint32_t dir, struct rights *now, int acl_err)
{
	struct dir *d = &c->dirs[dir];
	d->acl_err = acl_err;
	acl_is_unread(c, d->name[0] ? d->name : c->source, acl_err);
	/* The kernel keeps nodes of the sessions below with the old modes. */
	bool differs = d->scan > 0 && !rights_are_equal(now, &d->rights);
	for (uint32_t i = 0; differs && i < c->file_count; i++)
		if ((dir == 0 || c->files[i].dir == dir) && c->files[i].state == FILE_SESSION)
			watch_note(c, i, NONE, true);
	rights_release(&d->rights);
	d->rights = *now;
	*now = (struct rights){0};
}

static int dir_read(struct catalog *c, uint32_t dir, int fd, const struct stat *st)
{
	struct buf names CLEANUP_BUF = BUF_INIT;
	struct rights now CLEANUP(rights_release) = {0};
	int rc = names_read(fd, &names);
	if (rc < 0)
		return rc;
	rc = rights_read(fd, st->st_uid, st->st_gid, st->st_mode, &now);
	if (is_transient(rc) && rc != -EIO)
		return rc;
	dir_takes_rights(c, dir, &now, rc);
	dir_takes_names(c, dir, fd, st, &names);
	return 0;
}

/* Whether names or rights may differ from the last scan. */
static bool dir_differs(const struct dir *d, const struct stat *st)
{
	return d->racy || d->lacks || d->err || d->acl_err || st->st_dev != d->st.st_dev ||
	       st->st_ino != d->st.st_ino || !time_is_same(st->st_mtim, d->st.st_mtim) ||
	       !time_is_same(st->st_ctim, d->st.st_ctim);
}

/* A directory that may block has no watch and is not looked at under the lock. */
static int dir_look_elsewhere(struct catalog *c, uint32_t dir)
{
	struct dir *d = &c->dirs[dir];
	watch_failed(c, dir, -EXDEV);
	d->foreign = true;
	struct look *l = look_elsewhere(c, &d->look, d->name, true);
	if (!l)
		return -ETIMEDOUT;
	int rc = l->rc;
	d->looked = l->began;
	if (rc == 0 && dir_differs(d, &l->st)) {
		dir_takes_rights(c, dir, &l->rights, l->acl_err);
		dir_takes_names(c, dir, -1, &l->st, &l->names);
	}
	look_put(c, l);
	return rc;
}

static int dir_look(struct catalog *c, uint32_t dir)
{
	const struct reach_at at = {c->reach, c->dirs[dir].name};
	struct reached got = REACHED_INIT;
	int rc = reach_dir(&at, REACH_NOW, O_RDONLY, &got);
	if (rc == -EXDEV)
		return dir_look_elsewhere(c, dir);
	if (rc == 0) {
		watch_dir(c, dir, got.fd);
		if (dir_differs(&c->dirs[dir], &got.st))
			rc = dir_read(c, dir, got.fd, &got.st);
	}
	reached_release(c->reach, &got);
	return rc;
}

void scan_dir(struct catalog *c, uint32_t dir, int64_t now)
{
	struct dir *d = &c->dirs[dir];
	bool is_done = d->trouble ? d->tried == c->call && !d->look : is_fresh(c, d->looked, now, d->told);
	if (is_done) {
		if (d->trouble)
			catalog_misses(c, d->trouble);
		return;
	}
	d->looked = now;
	d->trouble = 0;
	int rc = dir_look(c, dir);
	if (rc < 0)
		dir_fails(c, dir, rc);
}

void scan_refresh(struct catalog *c, int64_t now)
{
	if (is_fresh_all(c, c->refreshed_at, now))
		return;
	scan_dir(c, 0, now);
	for (uint32_t i = 1; i < c->dir_count; i++)
		scan_dir(c, i, now);
	if (!c->missed)
		c->refreshed_at = now;
}
