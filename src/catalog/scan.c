/* SPDX-License-Identifier: MIT */
/* Scans of the disk. A scan has a copy of all it needs, so it runs without the catalog's lock. Its result is
 * applied later (apply.c).
 *
 * Where a scan may wait for a server (a link or directory that leads to another file system, any name of a source on a
 * file system that asks a server), a thread of the pool makes it (blocking.h): the caller can abandon that thread.
 *
 * Only what can have changed is read: the names in a directory when its identity, mtime or ctime differs, the header of
 * a session when its attributes do. */
#include "catalog_impl.h"

#include "sessionfs/base/parallel.h"
#include "sessionfs/base/sys.h"

#include <fcntl.h>

/* ---- names ---- */

static int names_read(int fd, struct buf *out)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *names CLEANUP_CLOSEDIR = own < 0 ? NULL : fdopendir(own);
	if (!names) {
		int err = errno;
		cleanup_close(&own);
		return error_of_source(err);
	}
	for (;;) {
		errno = 0;
		const struct dirent *e = sys_readdir(names);
		if (!e)
			return errno ? error_of_source(errno) : buf_err(out);
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		buf_add(out, (const char *)&e->d_ino, sizeof e->d_ino);
		buf_addc(out, (char)e->d_type);
		buf_add(out, e->d_name, strlen(e->d_name) + 1);
	}
}

bool names_next(struct span *rest, struct name *ret)
{
	if (rest->n <= sizeof ret->ino + 1)
		return false;
	memcpy(&ret->ino, rest->p, sizeof ret->ino);
	ret->type = (unsigned char)rest->p[sizeof ret->ino];
	ret->text = rest->p + sizeof ret->ino + 1;
	size_t n = sizeof ret->ino + 1 + strlen(ret->text) + 1;
	rest->p += n;
	rest->n -= n;
	return true;
}

/* ---- one scan ---- */

static void scan_compare(struct disk_scan *l)
{
	if (l->reads == SCAN_COMPARE)
		l->reads = stat_is_unchanged(&l->st, &l->known) ? SCAN_STAT : SCAN_READ;
}

/* Opens the directory that a file is in. */
static int scan_open_dir(const struct disk_scan *l, enum resolve_how how, struct resolved *ret)
{
	char dir[PATH_MAX] = "";
	if (l->base > sizeof dir)
		return -ENAMETOOLONG;
	if (l->base > 0)
		memcpy(dir, l->path, l->base - 1);
	return resolve_dir(&(struct source_path){l->resolver, dir}, how, O_PATH, ret);
}

/* The attributes of a name that led nowhere: 0 if it is there. */
static int scan_name(const struct disk_scan *l, enum resolve_how how, struct stat *ret)
{
	struct resolved in = RESOLVED_INIT;
	int rc = scan_open_dir(l, how, &in);
	if (rc == 0 && fstatat(in.fd, l->path + l->base, ret, AT_SYMLINK_NOFOLLOW) < 0)
		rc = error_of_source(errno);
	resolved_release(l->resolver, &in);
	return rc == -ENOTDIR ? -ENOENT : rc;
}

static int scan_attrs(struct disk_scan *l, int at, enum resolve_how how)
{
	const struct source_path where = {l->resolver, l->path};
	struct resolved got = RESOLVED_INIT;
	int rc = at < 0 ? -EXDEV : resolve_fstatat(l->resolver, at, l->path + l->base, &got.st);
	if (rc == -EXDEV)
		rc = resolve_stat(&where, how, &got);
	l->st = got.st;
	l->linked = got.linked;
	return rc;
}

/* `at` is the open directory, -1: unknown. */
static void scan_file(struct disk_scan *l, int at, enum resolve_how how)
{
	const struct source_path where = {l->resolver, l->path};
	struct stat name;
	bool absent = false;
	/* The file that is opened for its header has its attributes, too: one call fewer for each new file. */
	if (l->reads == SCAN_READ || (l->reads == SCAN_STAT && how == RESOLVER_WAIT)) {
		l->reads = SCAN_READ;
		header_read(&where, how, &l->found);
		l->st = l->found.st;
		l->linked = l->found.linked;
		l->rc = l->found.err == -EXDEV ? -EXDEV : 0;
		if (S_ISREG(l->st.st_mode))
			return;
	}
	l->rc = scan_attrs(l, at, how);
	/* It may come in between. */
	for (int tries = 0; (l->rc == -ENOENT || l->rc == -ENOTDIR) && !absent && tries < 3; tries++) {
		int rc = scan_name(l, how, &name);
		absent = rc == -ENOENT;
		if (rc == 0 && S_ISLNK(name.st_mode))
			break;
		l->rc = absent || rc < 0 ? rc : scan_attrs(l, -1, how);
	}
	/* A name that leads nowhere is a link, too. */
	l->linked = !absent && (l->linked || (l->rc < 0 && !error_is_transient(l->rc)));
	if (l->rc < 0 || !S_ISREG(l->st.st_mode))
		return;
	scan_compare(l);
	if (l->reads != SCAN_READ)
		return;
	header_read(&where, how, &l->found);
	if (l->found.err == -EXDEV)
		l->rc = -EXDEV;
}

/* `c` is NULL on a thread of the pool. */
static void scan_dir(struct catalog *c, struct disk_scan *l, enum resolve_how how)
{
	const struct source_path at = {l->resolver, l->path};
	struct resolved got = RESOLVED_INIT;
	l->rc = resolve_dir(&at, how, O_RDONLY, &got);
	l->st = got.st;
	if (l->rc == 0 && c) {
		LOCKED(&c->lock);
		watch_dir(c, l->dir, &got);
		/* Results from before the watch existed could be outdated. */
		l->reads = c->dirs[l->dir].trusted ? l->reads : SCAN_READ;
	}
	if (l->rc == 0)
		scan_compare(l);
	if (l->rc == 0 && l->reads == SCAN_READ) {
		int rc = l->acl_err = rights_read(got.fd, &l->st, &l->rights);
		l->rc = error_meaning(rc) == MEANS_OURS ? rc : names_read(got.fd, &l->names);
	}
	resolved_release(l->resolver, &got);
}

static void scan_place(struct catalog *c, struct disk_scan *l, enum resolve_how how)
{
	if (l->file == NONE)
		scan_dir(c, l, how);
	else
		scan_file(l, -1, how);
}

/* ---- in the pool ---- */

static void scan_run(struct blocking_call *p)
{
	scan_place(NULL, (struct disk_scan *)p, RESOLVER_WAIT);
}

static void scan_free(struct blocking_call *p)
{
	struct disk_scan *l = (struct disk_scan *)p;
	header_release(&l->found);
	buf_release(&l->names);
	resolver_put(l->resolver);
	free(l);
}

int scan_start(struct catalog *c, struct disk_scan *l)
{
	l->foreign = true;
	if (blocking_start(resolver_blocking_pool(c->resolver), &l->call) == 0)
		return 0;
	l->foreign = false;
	return -ETIMEDOUT;
}

void scan_put(struct catalog *c, struct disk_scan *l)
{
	if (l && l->foreign)
		blocking_put(resolver_blocking_pool(c->resolver), &l->call);
	else if (l)
		scan_free(&l->call);
}

void scan_abandon(struct catalog *c, struct scan_state *s, uint64_t before)
{
	const struct disk_scan *l = s->scan;
	if (!l || !l->foreign || l->phase == SCAN_APPLYING || l->began >= before)
		return;
	scan_put(c, s->scan);
	s->scan = NULL;
}

/* ---- here ---- */

struct disk_scan *scan_new(struct catalog *c, uint32_t dir, uint32_t file, bool header)
{
	const char *path = place_path(c, dir, file);
	struct disk_scan *l = malloc(sizeof *l + strlen(path) + 1);
	if (!l)
		return NULL;
	*l = (struct disk_scan){.call = {.run = scan_run, .free = scan_free},
	                        .resolver = resolver_get(c->resolver),
	                        .began = ++c->tick,
	                        .at = catalog_now(),
	                        .dir = dir,
	                        .file = file,
	                        .found = HEADER_INIT,
	                        .names = BUF_INIT};
	strcpy(l->path, path);
	if (file == NONE) {
		const struct dir *d = &c->dirs[dir];
		l->reads = d->trusted && !d->acl_err ? SCAN_COMPARE : SCAN_READ;
		l->known = d->st;
		return l;
	}
	const struct file *f = &c->files[file];
	l->base = f->base;
	bool is_known = f->state == FILE_SESSION || (f->state == FILE_OTHER && !f->err);
	bool must_read = f->reread || f->acl_unread || (!is_known && (header || f->state == FILE_OTHER));
	l->reads = must_read ? SCAN_READ : is_known ? SCAN_COMPARE : SCAN_STAT;
	l->known = (struct stat){
	    .st_dev = f->dev, .st_ino = f->ino, .st_size = f->size, .st_mtim = f->mtime, .st_ctim = f->ctime};
	return l;
}

/* Attributes are scanned one after the other: that is one system call each, by the directory that is open. */
static void scan_files(struct disk_scan *const *v, size_t n)
{
	struct resolved in = RESOLVED_INIT;
	uint32_t dir = NONE;
	for (size_t i = 0; i < n; i++) {
		struct disk_scan *l = v[i];
		bool many = i + 1 < n && v[i + 1]->dir == l->dir && v[i + 1]->file != NONE;
		if (l->dir != dir) {
			resolved_release(l->resolver, &in);
			dir = many && scan_open_dir(l, RESOLVER_NOW, &in) == 0 ? l->dir : NONE;
		}
		scan_file(l, in.fd, RESOLVER_NOW);
	}
	if (n > 0)
		resolved_release(v[0]->resolver, &in);
}

struct disk_scans {
	struct catalog *c;
	struct disk_scan *const *v;
};

static int scan_one(void *arg, size_t i)
{
	const struct disk_scans *all = arg;
	scan_place(all->c, all->v[i], RESOLVER_NOW);
	return 0;
}

int scan_make(struct catalog *c, struct disk_scan *const *v, size_t n)
{
	bool reads = false;
	for (size_t i = 0; i < n; i++)
		reads = reads || v[i]->file == NONE || v[i]->reads == SCAN_READ;
	if (!reads) {
		scan_files(v, n);
		return 0;
	}
	/* Headers and directories on all cores: on a cold disk each of them is waited for. */
	struct disk_scans all = {c, v};
	return parallel_for(n, scan_one, &all);
}
