/* SPDX-License-Identifier: MIT */
/* --copy: the tree as real files. Assume that the target directory is hostile: each name is opened from its
 * parent directory, and no link is followed. A file is written under another name, synced and then renamed. So an
 * interrupted copy leaves whole files, and the next copy resumes it.
 *
 * Only a node of the same type is replaced: a file by a file, a link by a link. Anything else in the way is an error
 * or, with `removes`, removed like a name that is not in the tree. Nothing is removed from a mount. */
#include "sessionfs/cmd/cli.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/log.h"
#include "sessionfs/base/progress.h"
#include "sessionfs/base/sys.h"
#include "sessionfs/file/resolver.h"

#include <limits.h>
#include <stdatomic.h>

/* No name from the data begins with a dot. */
#define COPY_UNFINISHED_NAME ".sessionfs~"
/* The max depth of a removal. */
#define COPY_REMOVE_LEVELS_MAX 128
#define MOUNT_KEPT "a mount; --delete removes nothing from mounts"

struct copy_run {
	struct tree *tree;
	bool copy_deletes, failed, stopped;
	bool lacks, is_above; /* some session could not be read; the current directory is above the sessions */
	bool file_lacks;      /* the current file lacks a session */
	dev_t device;
	const char *top;        /* PATH */
	struct buf path, chunk; /* for messages; the last bytes read */
	size_t written, skipped, removed;
	double done, share; /* the part of the tree that is copied, and the part that the current directory is */
};

/* Logs the error. Returns 0 if the rest can be copied. */
static int copy_report_error(struct copy_run *c, int rc)
{
	if (rc == -EINTR || c->stopped)
		return rc;
	const char *reason = rc == -EXDEV ? MOUNT_KEPT : strerror(-rc);
	bool in_way = rc == -EISDIR || rc == -ENOTDIR || rc == -EEXIST;
	c->failed = true;
	log_error("%s: %s%s", c->path.n > 0 && buf_cstr(&c->path) ? c->path.p : c->top, reason,
	          in_way ? "; it is in the way of the copy: move it, or remove it with --delete" : "");
	c->stopped = rc == -ENOSPC || rc == -EDQUOT || rc == -EROFS;
	return c->stopped ? rc : 0;
}

static size_t copy_path_push(struct copy_run *c, const char *name)
{
	size_t n = c->path.n;
	buf_addf(&c->path, "%s%s", n ? "/" : "", name);
	return n;
}

/* --- removing ------------------------------------------------------------------------ */

static int copy_remove(struct copy_run *c, int at, const char *name, unsigned levels);

/* Removes everything from a directory except these names, which `from` (or NULL) has in the tree, and names of which
 * the tree does not know whether it has them. */
static int copy_remove_except(struct copy_run *c, int dir, const node_t *from, const struct cli_names *keep,
                              unsigned levels)
{
	int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d CLEANUP_CLOSEDIR = own < 0 ? NULL : fdopendir(own);
	const struct dirent *e = NULL;
	struct tree_attr a;
	int rc = d ? 0 : -errno;
	while (rc == 0 && (errno = 0, e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || cli_names_contain(keep, e->d_name))
			continue;
		size_t before = copy_path_push(c, e->d_name);
		rc = cancel_check();
		int known = from ? tree_lookup(c->tree, *from, span_of(e->d_name), &a) : 0;
		if (known < 0 && !error_is_absence(known))
			rc = rc < 0 ? rc : known;
		rc = rc < 0 ? rc : copy_remove(c, dir, e->d_name, levels);
		rc = rc < 0 ? copy_report_error(c, rc) : 0;
		c->path.n = before;
	}
	return rc == 0 && !e && errno ? -errno : rc;
}

/* Returns whether something is mounted on the name, or it is on another file system. Neither check waits for a
 * server. */
static bool copy_is_mount(const struct copy_run *c, int at, const char *name)
{
	struct statx st;
	if (sys_statx(at, name, STATX_UNASKED, STATX_TYPE, &st) < 0)
		return errno != ENOENT;
	return (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) || makedev(st.stx_dev_major, st.stx_dev_minor) != c->device;
}

static int copy_remove(struct copy_run *c, int at, const char *name, unsigned levels)
{
	struct stat st;
	if (unlinkat(at, name, 0) == 0) {
		c->removed++;
		return 0;
	}
	int err = errno;
	if (err != EISDIR && err != EPERM)
		return -err;
	if (levels == 0 || copy_is_mount(c, at, name))
		return levels ? -EXDEV : -ELOOP;
	int fd CLEANUP_CLOSE = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || sys_fstat(fd, &st) < 0)
		return errno == ENOTDIR ? -err : -errno;
	if ((st.st_mode & 0700) != 0700)
		sys_fchmod(fd, (st.st_mode & 07777) | 0700);
	int rc = copy_remove_except(c, fd, NULL, &(struct cli_names){0}, levels - 1);
	if (rc == 0 && unlinkat(at, name, AT_REMOVEDIR) < 0)
		return -errno;
	c->removed += rc == 0;
	return rc;
}

/* --- files and links ----------------------------------------------------------------- */

/* Reads into the chunk. */
static int copy_read(struct copy_run *c, node_t node, uint64_t off)
{
	buf_reset(&c->chunk);
	int rc = tree_read(c->tree, node, off, cli_read_size(node), &c->chunk);
	c->file_lacks = c->file_lacks || rc > 0;
	c->lacks = c->lacks || rc > 0;
	c->failed = c->failed || rc > 0;
	return rc < 0 ? rc : 0;
}

/* Returns whether the file has the bytes of the tree, which one read returns: see cli_read_size. */
static bool copy_is_equal(struct copy_run *c, node_t node, int fd)
{
	struct buf there CLEANUP_BUF = BUF_INIT;
	char *p = buf_reserve(&there, CLI_READ_SIZE);
	if (!p || copy_read(c, node, 0) < 0)
		return false;
	for (struct span left = buf_span(&c->chunk); left.n > 0;) {
		ssize_t n = sys_read(fd, p, left.n < CLI_READ_SIZE ? left.n : CLI_READ_SIZE);
		if (n <= 0 || memcmp(p, left.p, (size_t)n) != 0)
			return false;
		left.p += n;
		left.n -= (size_t)n;
	}
	return sys_read(fd, p, 1) == 0;
}

/* Returns whether the existing file or link is current. */
static bool copy_is_current(struct copy_run *c, const struct tree_attr *a, struct span target, int at, const char *name,
                            const struct stat *st)
{
	char to[PATH_MAX];
	if (((st->st_mode ^ a->mode) & S_IFMT) || (uint64_t)st->st_size != a->size ||
	    !time_is_same(st->st_mtim, a->mtime))
		return false;
	if (S_ISLNK(a->mode)) {
		ssize_t n = readlinkat(at, name, to, sizeof to);
		return n >= 0 && (size_t)n == target.n && memcmp(to, target.p, target.n) == 0;
	}
	/* For these, equal size and time do not mean equal contents. */
	bool is_stamped = tree_text_change(a->node) < TREE_RESTAMPED;
	if (is_stamped && !((st->st_mode ^ a->mode) & 07777))
		return true;
	struct stat now;
	int fd CLEANUP_CLOSE = sys_openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && sys_fstat(fd, &now) == 0 && stat_is_same_file(&now, st) &&
	       (is_stamped || copy_is_equal(c, a->node, fd)) &&
	       (!((now.st_mode ^ a->mode) & 07777) || sys_fchmod(fd, a->mode & 07777) == 0);
}

/* Removes the unfinished file or link of a killed copy. On error, appends its name to the path, which the caller
 * restores. */
static int copy_tidy(struct copy_run *c, int at)
{
	struct stat st;
	if (sys_fstatat(at, COPY_UNFINISHED_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	int rc = -EEXIST;
	if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		rc = unlinkat(at, COPY_UNFINISHED_NAME, 0) < 0 ? -errno : 0;
	else if (c->copy_deletes)
		rc = copy_remove(c, at, COPY_UNFINISHED_NAME, COPY_REMOVE_LEVELS_MAX);
	if (rc < 0)
		copy_path_push(c, COPY_UNFINISHED_NAME);
	return rc;
}

/* `target`: of a link. */
static int copy_write(struct copy_run *c, const struct tree_attr *a, const char *target, int at)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, a->mtime};
	if (S_ISLNK(a->mode))
		return symlinkat(target, at, COPY_UNFINISHED_NAME) < 0 ||
		               utimensat(at, COPY_UNFINISHED_NAME, times, AT_SYMLINK_NOFOLLOW) < 0
		           ? -errno
		           : 0;
	int fd CLEANUP_CLOSE =
	    sys_openat(at, COPY_UNFINISHED_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc = fd < 0 ? -errno : 0;
	uint64_t off = 0;
	do {
		rc = rc < 0 ? rc : cancel_check();
		rc = rc < 0 ? rc : copy_read(c, a->node, off);
		rc = rc < 0 ? rc : cli_write(fd, buf_span(&c->chunk));
		off += c->chunk.n;
	} while (rc == 0 && c->chunk.n == cli_read_size(a->node));
	/* The time before the bytes were read: if they changed meanwhile, the next copy sees that. */
	if (rc == 0 && (sys_fchmod(fd, a->mode & 07777) < 0 || futimens(fd, times) < 0 || sys_fsync(fd) < 0))
		rc = -errno;
	return rc;
}

static int copy_file(struct copy_run *c, const struct tree_attr *a, int at, const char *name)
{
	struct buf target CLEANUP_BUF = BUF_INIT;
	struct stat st;
	c->file_lacks = false;
	int rc = S_ISLNK(a->mode) ? tree_readlink(c->tree, a->node, &target) : 0;
	if (rc < 0 || !buf_cstr(&target))
		return rc < 0 ? rc : -ENOMEM;
	bool there = sys_fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	/* The link in DIR can lead to a session that could not be read. */
	bool is_kept = c->lacks && c->is_above && S_ISLNK(a->mode) && there && S_ISLNK(st.st_mode);
	if (is_kept || (there && copy_is_current(c, a, buf_span(&target), at, name, &st))) {
		c->skipped++;
		return 0;
	}
	bool in_way = there && ((st.st_mode ^ a->mode) & S_IFMT);
	if (in_way && !c->copy_deletes)
		return S_ISDIR(st.st_mode) ? -EISDIR : -EEXIST;
	rc = copy_write(c, a, target.p, at);
	/* The copy in DIR can have the rows that this one lacks. */
	is_kept = rc == 0 && c->file_lacks && there && !in_way;
	if (rc == 0 && in_way)
		rc = copy_remove(c, at, name, COPY_REMOVE_LEVELS_MAX);
	if (rc == 0 && !is_kept && sys_renameat(at, COPY_UNFINISHED_NAME, at, name) < 0)
		rc = -errno;
	if (rc < 0 || is_kept)
		unlinkat(at, COPY_UNFINISHED_NAME, 0);
	*(is_kept ? &c->skipped : &c->written) += rc == 0;
	return rc;
}

/* --- directories --------------------------------------------------------------------- */

/* Opens a directory, never through a link. Lets the owner write in it, so that the next copy can write or remove
 * files. */
static int copy_open_dir(int at, const char *name, struct stat *st)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || sys_fstat(fd, st) < 0 ||
	    ((st->st_mode & 0700) != 0700 && sys_fchmod(fd, st->st_mode | 0700) < 0)) {
		int rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	return fd;
}

/* As copy_open_dir, but creates the directory if the name is free. */
static int copy_dir_open_or_make(struct copy_run *c, int at, const char *name, struct stat *st)
{
	int fd = copy_open_dir(at, name, st);
	if (fd == -ENOTDIR && c->copy_deletes) {
		int rc = copy_remove(c, at, name, 0);
		fd = rc < 0 ? rc : -ENOENT;
	}
	if (fd == -ENOENT)
		fd = mkdirat(at, name, 0700) < 0 ? -errno : copy_open_dir(at, name, st);
	return fd;
}

static int copy_dir(struct copy_run *c, const struct tree_attr *dir, int fd, unsigned levels);

static int copy_name(struct copy_run *c, node_t dir, const char *name, int at, unsigned levels)
{
	struct tree_attr a;
	struct stat st;
	int rc = cli_attr(c->tree, dir, span_of(name), &a);
	if (rc < 0)
		return rc;
	if (!S_ISDIR(a.mode))
		return copy_file(c, &a, at, name);
	int fd CLEANUP_CLOSE = levels ? copy_dir_open_or_make(c, at, name, &st) : -ELOOP;
	bool removes = c->copy_deletes;
	c->copy_deletes = removes && fd >= 0 && !copy_is_mount(c, at, name);
	if (removes && fd >= 0 && !c->copy_deletes)
		log_warning("%s: %s", buf_cstr(&c->path) ? c->path.p : name, MOUNT_KEPT);
	rc = fd < 0 ? fd : copy_dir(c, &a, fd, levels - 1);
	c->copy_deletes = removes;
	mode_t mode = (a.mode & 07777) | 0700;
	return rc == 0 && (st.st_mode & 07777) != mode && sys_fchmod(fd, mode) < 0 ? -errno : rc;
}

static int copy_dir(struct copy_run *c, const struct tree_attr *dir, int fd, unsigned levels)
{
	struct cli_names all CLEANUP(cli_names_release) = {0};
	struct tree_attr gone;
	struct stat st;
	size_t done = c->written + c->removed;
	double done_before = c->done, share = c->share;
	int rc = copy_tidy(c, fd);
	if (rc < 0)
		return rc;
	rc = cli_names_load(c->tree, dir->node, &all);
	if (error_is_absence(rc))
		return rc;
	/* Names listed before the error can be copied; names that are missing from the listing are not known to be
	 * gone. */
	bool is_whole = rc == 0;
	c->failed = c->failed || !is_whole;
	c->lacks = c->lacks || !is_whole;
	rc = is_whole || cli_error_is_named(dir->node, rc) ? 0 : copy_report_error(c, rc);
	for (size_t i = 0; rc == 0 && i < all.n; i++) {
		size_t before = copy_path_push(c, all.v[i]);
		rc = cancel_check();
		c->share = share / (double)all.n;
		c->is_above = !tree_is_of_session(dir->node);
		rc = rc < 0 ? rc : copy_name(c, dir->node, all.v[i], fd, levels);
		c->done = done_before + share * (double)(i + 1) / (double)all.n;
		progress_show(c->done, "%zu written, %zu unchanged", c->written, c->skipped);
		/* Gone since it was listed: the next copy handles that. In DIR, the same errno is an error. */
		if (error_is_absence(rc) && error_is_absence(cli_attr(c->tree, dir->node, span_of(all.v[i]), &gone)))
			rc = 0;
		rc = rc < 0 ? copy_report_error(c, rc) : 0;
		c->path.n = before;
	}
	if (rc == 0 && is_whole && c->copy_deletes)
		rc = copy_remove_except(c, fd, &dir->node, &all, COPY_REMOVE_LEVELS_MAX);
	if (rc < 0 || sys_fstat(fd, &st) < 0)
		return rc < 0 ? rc : -errno;
	/* The times are the same after a change of names, until the time is set: then a killed copy left them unsynced.
	 * EINVAL: not supported by the file system. */
	bool is_unsynced = c->written + c->removed > done || time_is_same(st.st_mtim, st.st_ctim);
	if (is_unsynced && sys_fsync(fd) < 0 && errno != EINVAL)
		return -errno;
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, dir->mtime};
	bool is_timed =
	    time_is_same(st.st_mtim, dir->mtime) || futimens(fd, times) == 0 || errno == EPERM; /* not ours */
	return is_timed ? 0 : -errno;
}

/* --- all ----------------------------------------------------------------------------- */

/* The signals that end the copy. */
struct copy_signal_check {
	sigset_t signals;
	atomic_uint asked; /* number of checks; several threads check */
};

/* Asks the system at one check in 16: each step of long work checks. */
static bool copy_has_signal(void *arg)
{
	struct copy_signal_check *e = arg;
	sigset_t pending;
	if (atomic_fetch_add_explicit(&e->asked, 1, memory_order_relaxed) % 16)
		return false;
	sigpending(&pending);
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&pending, sig) == 1 && sigismember(&e->signals, sig) == 1)
			return true;
	return false;
}

static int copy_all(struct copy_run *c, const char *path, const struct tree_attr *what, const char *to)
{
	struct stat st;
	int fd CLEANUP_CLOSE = copy_open_dir(AT_FDCWD, to, &st);
	if (fd < 0 || (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)) {
		log_error("%s: %s", to, fd < 0 ? strerror(-fd) : "another copy to this directory is running");
		return fd < 0 ? fd : -EBUSY;
	}
	c->device = st.st_dev;
	const char *last = strrchr(path, '/');
	int rc = S_ISDIR(what->mode) ? copy_dir(c, what, fd, TREE_LEVELS_MAX) : copy_tidy(c, fd);
	if (rc == 0 && !S_ISDIR(what->mode)) {
		copy_path_push(c, last ? last + 1 : path);
		rc = copy_file(c, what, fd, last ? last + 1 : path);
		rc = rc == 0 && sys_fsync(fd) < 0 && errno != EINVAL ? -errno : rc;
	}
	/* The name of DIR, which can be new. */
	int above CLEANUP_CLOSE = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (rc == 0 && above >= 0 && sys_fsync(above) < 0 && errno != EINVAL)
		rc = -errno;
	return rc < 0 && !c->stopped ? copy_report_error(c, rc) : rc;
}

bool cli_copy(struct tree *t, const char *path, const struct tree_attr *what, const char *to, bool removes, FILE *out)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct copy_run c = {
	    .tree = t, .copy_deletes = removes, .top = path, .path = BUF_INIT, .chunk = BUF_INIT, .share = 1};
	struct progress shown;
	struct sigaction action;
	struct copy_signal_check ending = {.asked = 0};
	sigset_t before;
	sigemptyset(&ending.signals);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (sigaction(ends[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(&ending.signals, ends[i]);
	/* They stay pending until nothing is unfinished; then they have their usual effect. */
	pthread_sigmask(SIG_BLOCK, &ending.signals, &before);
	progress_init(&shown, stderr, PROGRESS_DELAY_MS, false);
	const struct cancel *outer =
	    cancel_set(&(struct cancel){.is_cancelled = copy_has_signal, .arg = &ending, .progress = &shown});
	int rc = copy_all(&c, path, what, to);
	progress_clear();
	cancel_set(outer);
	fprintf(out, "%zu written, %zu unchanged, %zu removed\n", c.written, c.skipped, c.removed);
	fflush(out);
	buf_release(&c.path);
	buf_release(&c.chunk);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc == 0 && !c.failed;
}
