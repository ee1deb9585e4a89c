/* Looking at the disk. Work is bounded by what can have changed: a directory is
 * read again when its identity or mtime differs, a file is judged again when its
 * attributes do, and nothing is looked at twice within CATALOG_FRESH_MS.
 *
 * A directory's mtime comes from a coarse clock: a name that is made right after a scan may leave it as it was.
 * So a scan of a directory that was changed less than RACY_S before is not trusted, and repeated. */
#include "catalog_impl.h"

#include "sessionfs/log.h"

#include <fcntl.h>
#include <time.h>

#define RACY_S 2

static const char is_a_directory[] = "is a directory";

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

int64_t catalog_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 + 1;
}

const char *catalog_path(struct catalog *c, const char *relative)
{
	buf_reset(&c->path);
	buf_adds(&c->path, c->source);
	if (*relative) {
		buf_addc(&c->path, '/');
		buf_adds(&c->path, relative);
	}
	return buf_cstr(&c->path);
}

/* ---- files ---- */

static void file_is_other(struct catalog *c, struct file *f, const char *reason, int err)
{
	if (f->slot != NONE)
		slot_kill(c, f->slot);
	else if (f->state != FILE_OTHER)
		c->epoch++;
	if (reason == header_lanes && c->watching.on && f->reason != reason)
		log_warning("%s: %s", f->path, reason);
	f->state = FILE_OTHER;
	f->reason = reason;
	f->err = err;
}

static void file_vanishes(struct catalog *c, struct file *f)
{
	if (f->slot != NONE)
		slot_kill(c, f->slot);
	else if (f->state != FILE_GONE)
		c->epoch++;
	watch_note(c, (uint32_t)(f - c->files), NONE, true);
	f->state = FILE_GONE;
	f->checked = 0;
	f->mtime = f->ctime = (struct timespec){0};
}

/* A name is there that was not. */
static void file_comes(struct catalog *c, struct file *f, ino_t listed)
{
	f->state = FILE_UNKNOWN;
	f->listed_ino = listed;
	c->epoch++;
	c->dirs[f->dir].headed = c->dirs[f->dir].statted = 0;
	c->loaded_at = c->statted_at = 0;
}

/* Takes in what stat says of a regular file. True if it differs from before: then a header that was read has to be
 * compared, since a file that was written anew in place, or removed and made again with the same inode, may look like
 * one that grew. */
static bool file_takes(struct catalog *c, struct file *f, const struct stat *st)
{
	/* A line that was taken back because it found no room was never read. */
	off_t least = f->slot == NONE ? f->size : open_indexes_seen(c, f->slot);
	bool is_other_file =
	    f->dev != st->st_dev || f->ino != st->st_ino || (st->st_size < f->size && st->st_size < least);
	bool changed = is_other_file || st->st_size != f->size || !is_same_time(f->mtime, st->st_mtim) ||
	               !is_same_time(f->ctime, st->st_ctim);
	uint32_t file = (uint32_t)(f - c->files);
	struct timespec before = f->mtime;
	/* What is kept of its entries for good is kept with its owner and mode. */
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
	/* At once; what its ACL grants is known when the header was read again. */
	f->shown = is_owned ? f->shown & st->st_mode : st->st_mode & 0700;
	f->mode = st->st_mode;
	f->uid = st->st_uid;
	f->gid = st->st_gid;
	if (f->size == 0)
		file_is_other(c, f, "empty file", 0);
	if (changed)
		catalog_ages(c, file, before);
	return changed;
}

static uint32_t project_of(struct catalog *c, const struct file *f)
{
	if (f->dir != 0)
		return c->dirs[f->dir].project;
	struct buf scratch CLEANUP_BUF = BUF_INIT;
	struct span key = flat_project_key(buf_span(&c->header.cwd), &scratch);
	return buf_err(&scratch) ? NONE : names_project(c, key);
}

/* The text as kept before if it is the same, else a copy. */
static struct span keep(struct catalog *c, struct span before, const struct buf *text)
{
	if (before.p && span_eq(before, buf_span(text)))
		return before;
	return (struct span){strings_copy(&c->strings, buf_span(text)), text->n};
}

/* What its classes may do, by its ACL too. */
static void file_takes_rights(struct catalog *c, struct file *f, mode_t mode)
{
	if (f->state == FILE_SESSION && f->shown != mode)
		watch_note(c, (uint32_t)(f - c->files), NONE, true);
	f->shown = mode;
}

static void file_waits(struct catalog *c, uint32_t file)
{
	struct file *f = &c->files[file];
	if (!f->waits && f->project != NONE && list_add(&c->projects[f->project].waiting, file) == 0)
		f->waits = true;
}

/* What the header says of the file, in place of what was known. A slot stays if nothing differs. */
static void file_takes_header(struct catalog *c, uint32_t file)
{
	struct file *f = &c->files[file];
	const struct header *h = &c->header;
	uint32_t project = project_of(c, f);
	struct span sid = keep(c, f->sid, &h->id);
	struct span parent = h->parent.n ? keep(c, f->parent, &h->parent) : (struct span){NULL, 0};
	if (project == NONE || !sid.p || (h->parent.n && !parent.p)) {
		file_is_other(c, f, NULL, -ENOMEM);
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

/* Reads the header of a regular file. */
void scan_header_again(struct catalog *c, uint32_t file)
{
	struct file *f = &c->files[file];
	const struct reach_at at = {c->reach, f->path};
	bool is_session = header_read(&at, REACH_WAIT, &c->header);
	if (S_ISREG(c->header.st.st_mode))
		file_takes(c, f, &c->header.st);
	file_takes_rights(c, f, c->header.mode);
	if (is_session)
		file_takes_header(c, file);
	else
		file_is_other(c, f, c->header.reason, c->header.err);
}

/* Stats `path` from `at` and takes in the answer. */
static void file_look(struct catalog *c, uint32_t file, int at, const char *path, int64_t now)
{
	struct file *f = &c->files[file];
	struct stat st;

	f->checked = now;
	if (fstatat(at, path, &st, 0) < 0)
		file_is_other(c, f, NULL, -errno);
	else if (!S_ISREG(st.st_mode))
		file_is_other(c, f, S_ISDIR(st.st_mode) ? is_a_directory : "not a regular file", 0);
	else if (file_takes(c, f, &st) && f->state == FILE_SESSION)
		scan_header_again(c, file);
}

void scan_file(struct catalog *c, uint32_t file, int64_t now)
{
	const struct file *f = &c->files[file];
	if (f->state == FILE_GONE || (now && is_fresh(c, f->checked, now, is_told_file(c, f))))
		return;
	const char *path = catalog_path(c, f->path);
	if (path)
		file_look(c, file, AT_FDCWD, path, now ? now : catalog_now());
}

void scan_touched(struct catalog *c, uint32_t file, int64_t now)
{
	struct file *f = &c->files[file];
	const char *path = catalog_path(c, f->path);
	struct stat st;
	if (!path)
		return;
	if (lstat(path, &st) < 0) {
		if (f->state != FILE_GONE)
			file_vanishes(c, f);
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
	file_look(c, file, AT_FDCWD, path, now);
}

int64_t scan_rest(int64_t begin, int64_t now)
{
	int64_t rest = (now - begin) * SCAN_REST - CATALOG_FRESH_MS;
	return rest > 0 ? now + rest : begin;
}

void scan_files(struct catalog *c, uint32_t dir, int64_t now)
{
	struct dir *d = &c->dirs[dir];
	if (is_fresh_dir(c, d, d->statted, now) || d->files.n == 0)
		return;
	int64_t begin = catalog_now();
	d->statted = now;
	const char *path = catalog_path(c, d->name);
	int at CLEANUP_CLOSE = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (at < 0)
		return; /* the directory's own scan says what that means */
	for (size_t i = 0; i < d->files.n; i++) {
		const struct file *f = &c->files[d->files.v[i]];
		if (f->state != FILE_GONE && !is_fresh(c, f->checked, now, is_told_file(c, f)))
			file_look(c, d->files.v[i], at, f->path + f->base, now);
	}
	d->statted = scan_rest(begin, catalog_now());
}

/* ---- headers ---- */

void scan_header(struct catalog *c, uint32_t file, int64_t now)
{
	scan_file(c, file, now);
	if (c->files[file].state == FILE_UNKNOWN)
		scan_header_again(c, file);
}

void scan_headers(struct catalog *c, uint32_t dir, int64_t now)
{
	if (is_fresh_dir(c, &c->dirs[dir], c->dirs[dir].headed, now))
		return;
	c->dirs[dir].headed = now;
	for (size_t i = 0; i < c->dirs[dir].files.n; i++) {
		uint32_t file = c->dirs[dir].files.v[i];
		const struct file *f = &c->files[file];
		if (f->state == FILE_GONE || f->slot != NONE)
			continue;
		if (f->state == FILE_SESSION)
			file_waits(c, file);
		else
			scan_header(c, file, now);
	}
}

/* ---- directories ---- */

/* The file of that name in a directory, made if need be; NONE without memory. */
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

	struct file *more =
	    c->file_count < NONE ? array_room(c->files, c->file_count, &c->file_cap, sizeof *more) : NULL;
	if (!more)
		return NONE;
	c->files = more;
	const char *kept = strings_copy(&c->strings, buf_span(&path));
	uint32_t file = (uint32_t)c->file_count;
	if (!kept || map_put(&c->paths, 0, span_of(kept), file) < 0)
		return NONE;
	c->files[c->file_count++] =
	    (struct file){.path = kept, .base = base, .dir = dir, .project = NONE, .stem_project = NONE, .slot = NONE};
	return list_add(&c->dirs[dir].files, file) == 0 ? file : NONE;
}

bool file_is_candidate(const char *name)
{
	size_t n = strlen(name);
	return n >= 6 && memcmp(name + n - 6, ".jsonl", 6) == 0;
}

/* A name *.jsonl was seen in the directory that is open as `at`. True if it may be a directory all the same. */
static bool file_seen(struct catalog *c, uint32_t dir, int at, const struct dirent *e)
{
	uint32_t file = file_for(c, dir, e->d_name);
	if (file == NONE) {
		log_error("%s: out of memory", e->d_name);
		return false;
	}
	struct file *f = &c->files[file];
	bool is_new = f->state == FILE_GONE;
	bool is_same = !is_new && f->listed_ino == e->d_ino;
	f->scan = c->dirs[dir].scan;
	if (is_new)
		file_comes(c, f, e->d_ino);
	f->listed_ino = e->d_ino;
	if (is_new && (c->dirs[dir].scan > 1 || c->dirs[dir].came))
		watch_note(c, file, NONE, true);
	if (e->d_type != DT_REG && e->d_type != DT_DIR)
		watch_linked(c, file);
	/* A regular file need not be looked at before somebody asks for it; what else there is may be no file. */
	if (e->d_type == DT_REG && (is_new || is_same))
		return false;
	file_look(c, file, at, e->d_name, catalog_now());
	return f->state == FILE_OTHER && f->reason == is_a_directory;
}

/* A name in the source that may be a directory. */
static void dir_seen(struct catalog *c, const struct dirent *e)
{
	struct span name = span_of(e->d_name);
	if (map_get(&c->dir_names, 0, name) != NONE)
		return;
	uint32_t project = names_project(c, name);
	struct dir *more = array_room(c->dirs, c->dir_count, &c->dir_cap, sizeof *more);
	if (more)
		c->dirs = more;
	if (!more || project == NONE) {
		log_error("%s: out of memory", e->d_name);
		return;
	}
	const char *kept = c->projects[project].key.p;
	uint32_t dir = (uint32_t)c->dir_count;
	if (map_put(&c->dir_names, 0, span_of(kept), dir) < 0)
		return;
	c->dirs[c->dir_count++] = (struct dir){.name = kept, .project = project, .came = c->dirs[0].scan > 1};
	c->watching.blind++;
	c->projects[project].dir = dir;
}

static int read_names(struct catalog *c, uint32_t dir, DIR *names)
{
	for (;;) {
		errno = 0;
		const struct dirent *e = readdir(names);
		if (!e)
			return -errno;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (file_is_candidate(e->d_name) && !file_seen(c, dir, dirfd(names), e))
			continue;
		if (dir == 0 && (e->d_type == DT_DIR || e->d_type == DT_LNK || e->d_type == DT_UNKNOWN))
			dir_seen(c, e);
	}
}

/* The directory cannot be read. What it held is gone, unless that is only for now. */
static void dir_fails(struct catalog *c, uint32_t dir, int err)
{
	watch_failed(c, dir, err);
	struct dir *d = &c->dirs[dir];
	if (err != d->err && err != -ENOENT && err != -ENOTDIR)
		log_warning("%s: %s", d->name[0] ? d->name : c->source, strerror(-err));
	d->err = err;
	d->st = (struct stat){0};
	if (err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -EIO || err == -EINTR)
		return;
	for (size_t i = 0; i < d->files.n; i++)
		file_vanishes(c, &c->files[d->files.v[i]]);
}

/* Reads the names, and drops those that were not seen. */
static int dir_read(struct catalog *c, uint32_t dir, const char *path)
{
	int fd CLEANUP_CLOSE = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	DIR *names CLEANUP_CLOSEDIR = fdopendir(fd);
	if (!names)
		return -errno;
	fd = -1;

	struct timespec wall;
	clock_gettime(CLOCK_REALTIME, &wall);
	rights_take(c, dir, dirfd(names), &st);
	c->dirs[dir].scan++;
	int rc = read_names(c, dir, names);
	if (rc < 0)
		return rc;
	struct dir *d = &c->dirs[dir];
	d->st = st;
	d->err = 0;
	d->racy = !d->told && llabs((long long)wall.tv_sec - (long long)st.st_mtim.tv_sec) <= RACY_S;
	for (size_t i = 0; i < d->files.n; i++) {
		struct file *f = &c->files[d->files.v[i]];
		if (f->scan != d->scan && f->state != FILE_GONE)
			file_vanishes(c, f);
	}
	d->headed = 0;
	return 0;
}

/* Whether there may be other names than at the last scan, or other rights. */
static bool dir_differs(const struct dir *d, const struct stat *st)
{
	return d->racy || d->err || st->st_dev != d->st.st_dev || st->st_ino != d->st.st_ino ||
	       !is_same_time(st->st_mtim, d->st.st_mtim) || !is_same_time(st->st_ctim, d->st.st_ctim);
}

void scan_dir(struct catalog *c, uint32_t dir, int64_t now)
{
	struct dir *d = &c->dirs[dir];
	if (is_fresh(c, d->looked, now, d->told))
		return;
	d->looked = now;
	const char *path = catalog_path(c, d->name);
	struct stat st;
	int rc = 0;
	if (!path)
		rc = -ENOMEM;
	else if (stat(path, &st) < 0)
		rc = -errno;
	else if (!S_ISDIR(st.st_mode))
		rc = -ENOTDIR;
	if (rc == 0)
		watch_dir(c, dir, path);
	if (rc == 0 && dir_differs(d, &st))
		rc = dir_read(c, dir, path);
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
	c->refreshed_at = now;
}
