/* SPDX-License-Identifier: MIT */
/* A walk has a handle of its current directory, and the rest of the path. Each component is opened with O_PATH and
 * O_NOFOLLOW: that asks the file system of the directory, but not one mounted on the component. Then statx with
 * AT_STATX_DONT_SYNC identifies that file system, without asking it either. So the walk knows, before each request,
 * which file system it would ask.
 *
 * Nearly all names are plain names on the source's own file system. openat2(2) resolves those in one call, and fails
 * for others. */
#include "sessionfs/file/resolver.h"

#include "sessionfs/base/cleanup.h"
#include "sessionfs/base/hash.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/sys.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define RESOLVE_SYMLINKS_MAX 40
#define SOURCE_MOUNTS_MAX 16
#define STATX_WANTED (STATX_BASIC_STATS | STATX_MNT_ID)
#define RESOLVE_STRICT (RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV)

#define TIMEOUT_LOCAL_MS 1000
/* If the source itself is on such a file system, all requests ask one server: wait longer while it answers others. */
#define TIMEOUT_REMOTE_MS 10000

struct resolver {
	char *source;                       /* constant */
	struct blocking_pool *pool;         /* constant */
	uid_t owner;                        /* constant: the mounting user, whose links lead anywhere */
	bool has_openat2;                   /* constant */
	bool redacts;                       /* constant once a file was opened */
	struct hash_key hash_key;           /* constant */
	int root;                           /* O_PATH; the number is constant, its directory is replaced in place */
	uint64_t mounts[SOURCE_MOUNTS_MAX]; /* constant: the mounts on the path of the source; none if one can block */
	size_t mount_count;
	atomic_int gone;         /* why the source's path led to no directory, when last checked; else 0 */
	atomic_bool foreign;     /* its directory is on a file system that can block, although `mounts` cannot */
	_Atomic dev_t forbidden; /* 0: none */
	atomic_uint refs;        /* of the owner, and of each request in the pool */
};

/* ---- the kernel's answers ---- */

static uint64_t mount_of(const struct statx *x)
{
	/* Before Linux 5.8 and under qemu-user (0), only the device is known: two mounts of a file system are one. */
	return x->stx_mask & STATX_MNT_ID && x->stx_mnt_id
	           ? x->stx_mnt_id
	           : UINT64_C(1) << 63 | (uint64_t)makedev(x->stx_dev_major, x->stx_dev_minor);
}

static dev_t device_of(const struct statx *x)
{
	return makedev(x->stx_dev_major, x->stx_dev_minor);
}

static struct timespec resolve_time(struct statx_timestamp t)
{
	return (struct timespec){(time_t)t.tv_sec, (long)t.tv_nsec};
}

static struct stat resolve_stat_of(const struct statx *x)
{
	return (struct stat){
	    .st_dev = device_of(x),
	    .st_ino = x->stx_ino,
	    .st_mode = x->stx_mode,
	    .st_nlink = (nlink_t)x->stx_nlink,
	    .st_uid = x->stx_uid,
	    .st_gid = x->stx_gid,
	    .st_size = (off_t)x->stx_size,
	    .st_mtim = resolve_time(x->stx_mtime),
	    .st_ctim = resolve_time(x->stx_ctime),
	};
}

static int open_resolved(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {.flags = (unsigned)flags, .resolve = resolve};
	return sys_openat2(dir, path, &how, sizeof how);
}

static bool mount_is_trusted(const struct resolver *r, uint64_t mount)
{
	for (size_t i = 0; r && i < r->mount_count; i++)
		if (r->mounts[i] == mount)
			return true;
	return false;
}

/* ---- the walk ---- */

struct resolver_walk {
	const struct resolver *resolver; /* or NULL */
	bool near;                       /* stay on file systems that cannot block */
	bool closed;                     /* a directory on a link's path is not searchable by every class */
	int at;                          /* O_PATH: the current directory */
	struct statx x;                  /* of `at` */
	bool has_last;                   /* there is a last component, not entered yet */
	int last;                        /* O_PATH: that component; or SYS_NO_HANDLE */
	struct statx last_x;
	char name[NAME_MAX + 1]; /* of the last component */
	char *rest;              /* the rest of the path */
	size_t below;            /* the bytes of the path after its first name, if it is relative to the source */
	bool deep,
	    deep_link; /* the last component is after the first name; one such was a link, which must lead to a file */
	uid_t owners[RESOLVE_SYMLINKS_MAX];
	size_t links;
};

static void resolve_walk_release(struct resolver_walk *w)
{
	cleanup_close(&w->at);
	cleanup_close(&w->last);
	cleanup_free(&w->rest);
}

/* Checks access to the file system of x: returns 0 or a negative errno. */
static int may_access_device(const struct resolver_walk *w, const struct statx *x)
{
	if (w->resolver && device_of(x) == atomic_load(&w->resolver->forbidden))
		return -ELOOP;
	if (w->near && !mount_is_trusted(w->resolver, mount_of(x)))
		return -EXDEV;
	return blocking_check_device(device_of(x));
}

static int resolve_statx(int fd, struct statx *ret)
{
	return sys_statx(fd, "", STATX_UNASKED | AT_EMPTY_PATH, STATX_WANTED, ret) < 0 ? -errno : 0;
}

/* Goes to the start of a path: the root directory, or the source. */
static int walk_restart(struct resolver_walk *w, bool root)
{
	cleanup_close(&w->at);
	w->at = root                  ? sys_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC)
	        : w->resolver == NULL ? sys_openat(AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC)
	                              : fcntl(w->resolver->root, F_DUPFD_CLOEXEC, 0);
	return w->at < 0 ? -errno : resolve_statx(w->at, &w->x);
}

static void walk_forget_last(struct resolver_walk *w)
{
	w->has_last = false;
	w->last = -1;
}

/* Makes the last component the current directory. */
static int walk_enter(struct resolver_walk *w)
{
	if (!w->has_last)
		return 0;
	if (!S_ISDIR(w->last_x.stx_mode))
		return -ENOTDIR;
	cleanup_close(&w->at);
	w->at = w->last;
	w->x = w->last_x;
	walk_forget_last(w);
	return 0;
}

/* Splits the next component off the rest of the path. Returns false at its end. */
static bool walk_next_name(struct resolver_walk *w, int *ret_err)
{
	char *p = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(p, "/");
	*ret_err = n > NAME_MAX ? -ENAMETOOLONG : 0;
	if (n == 0 || n > NAME_MAX)
		return false;
	w->deep = strlen(p) < w->below;
	memcpy(w->name, p, n);
	w->name[n] = '\0';
	memmove(w->rest, p + n, strlen(p + n) + 1);
	w->below = w->deep ? strlen(w->rest) : w->below;
	return true;
}

/* The last component is a link: puts its text before the rest of the path. */
static int walk_follow(struct resolver_walk *w)
{
	char text[PATH_MAX];
	w->deep_link = w->deep_link || w->deep;
	if (w->deep && *w->rest)
		return -ENOTDIR;
	if (w->links == RESOLVE_SYMLINKS_MAX)
		return -ELOOP;
	w->owners[w->links++] = w->last_x.stx_uid;
	int rc = SYS_STATX_WAITS && w->near ? -EXDEV : may_access_device(w, &w->last_x); /* it can lead to a server */
	ssize_t n = rc < 0 ? rc : sys_read_link(w->last, w->at, w->name, &w->last_x, text, sizeof text);
	if (n <= 0 || (size_t)n == sizeof text)
		return n < 0 ? (int)n : n == 0 ? -ENOENT : -ENAMETOOLONG;
	cleanup_close(&w->last);
	walk_forget_last(w);
	size_t more = strlen(w->rest);
	char *joined = malloc((size_t)n + more + 2);
	if (!joined)
		return -ENOMEM;
	memcpy(joined, text, (size_t)n);
	joined[n] = '/';
	/* A slash at the end requires a directory; nothing here depends on that. */
	memcpy(joined + n + (more != 0), w->rest, more + 1);
	if (!more)
		joined[n] = '\0';
	free(w->rest);
	w->rest = joined;
	return text[0] == '/' ? walk_restart(w, true) : 0;
}

/* As walk_enter, before a lookup there. */
static int walk_enter_for_lookup(struct resolver_walk *w)
{
	int rc = walk_enter(w);
	w->closed = w->closed || (rc == 0 && w->links > 0 && (w->x.stx_mode & 0111) != 0111);
	return rc < 0 ? rc : may_access_device(w, &w->x);
}

static int walk_step(struct resolver_walk *w)
{
	int rc = walk_enter_for_lookup(w);
	if (rc < 0)
		return rc;
	w->last = sys_open_name(w->at, w->name, &w->last_x);
	if (w->last < 0 && w->last != SYS_NO_HANDLE)
		return w->last;
	w->has_last = true;
	return S_ISLNK(w->last_x.stx_mode) ? walk_follow(w) : 0;
}

static int walk_init(struct resolver_walk *w, const struct resolver *r, bool near, const char *path)
{
	const char *below = r && *path != '/' ? strchr(path, '/') : NULL;
	*w = (struct resolver_walk){.resolver = r,
	                            .near = near,
	                            .at = -1,
	                            .last = -1,
	                            .rest = strdup(path),
	                            .below = below ? strlen(below) : 0};
	return w->rest ? walk_restart(w, *path == '/') : -ENOMEM;
}

/* The directories after the first name of the path must not be links: goes to the last of them in one call, if all are
 * on one file system. If not, or if the path ends in a slash, the walk continues step by step. */
static int walk_parents_at_once(struct resolver_walk *w)
{
	char *rest = w->rest + strspn(w->rest, "/"), *end = strrchr(rest, '/');
	if (!end || !end[1] || strlen(rest) + 1 != w->below || !w->resolver->has_openat2)
		return 0;
	int rc = walk_enter_for_lookup(w);
	if (rc < 0)
		return rc;
	*end = '\0';
	int fd = open_resolved(w->at, rest, O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_STRICT | RESOLVE_BENEATH);
	*end = '/';
	if (fd < 0)
		return errno == ELOOP ? -ENOTDIR : errno == EXDEV ? 0 : -errno;
	w->last = fd;
	w->has_last = true;
	w->below = strlen(end);
	memmove(w->rest, end, w->below + 1);
	return resolve_statx(fd, &w->last_x);
}

/* Walks to the end of the path. Then the last component is not a link. An empty path, or
 * one that ends in "..", leaves no component: `at` is the result. */
static int walk_to_end(struct resolver_walk *w)
{
	int rc = 0, err;
	while (rc == 0 && walk_next_name(w, &err)) {
		if (strcmp(w->name, ".") == 0)
			continue;
		bool is_first = !w->deep;
		rc = walk_step(w);
		if (rc == 0 && is_first)
			rc = walk_parents_at_once(w);
		if (rc == 0 && strcmp(w->name, "..") == 0)
			rc = walk_enter(w);
	}
	return rc < 0 ? rc : err;
}

/* Applies the rule of owners to a file of `owner`. Root's links are the system's, such as /home to /var/home. */
static int walk_check(const struct resolver_walk *w, uid_t owner)
{
	uid_t free_to = w->resolver ? w->resolver->owner : geteuid();
	for (size_t i = 0; i < w->links; i++)
		if (w->owners[i] != owner && w->owners[i] != free_to && w->owners[i] != 0)
			return -EPERM;
	return 0;
}

/* Checks the end of the walk: returns 0, or the reason to refuse it. */
static int walk_check_end(struct resolver_walk *w, struct resolved *ret)
{
	struct stat st;
	const struct statx *x = w->has_last ? &w->last_x : &w->x;
	int rc = may_access_device(w, x);
	if (rc < 0)
		return rc;
	rc = w->last == SYS_NO_HANDLE ? sys_fstatat(w->at, w->name, &st, AT_SYMLINK_NOFOLLOW)
	                              : sys_fstat(w->has_last ? w->last : w->at, &st);
	if (rc < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ESTALE; /* it took the name meanwhile */
	ret->st = st;
	ret->foreign = w->resolver && !mount_is_trusted(w->resolver, mount_of(x));
	ret->linked = w->links > 0 || ret->foreign;
	ret->closed = w->closed;
	return walk_check(w, st.st_uid);
}

/* ---- requests ---- */

enum resolve_op { RESOLVE_OP_STAT, RESOLVE_OP_STATVFS, RESOLVE_OP_FILE, RESOLVE_OP_DIR };

static int check_file_type(enum resolve_op ask, mode_t mode)
{
	if (ask <= RESOLVE_OP_STATVFS)
		return 0;
	if (ask == RESOLVE_OP_DIR)
		return S_ISDIR(mode) ? 0 : -ENOTDIR;
	return S_ISREG(mode) ? 0 : S_ISDIR(mode) ? -EISDIR : ERROR_NO_SESSION;
}

/* Opens the end of the walk, and checks the opened file again. */
static int walk_open_end(struct resolver_walk *w, enum resolve_op ask, int flags, struct resolved *ret)
{
	const char *name = w->has_last ? w->name : ".";
	int all = flags | O_NOFOLLOW | O_CLOEXEC | (ask == RESOLVE_OP_DIR ? O_DIRECTORY : O_NONBLOCK | O_NOCTTY);
	/* This must not block, not even for a file system mounted there a moment ago. */
	int fd CLEANUP_CLOSE = w->near && w->resolver->has_openat2 ? open_resolved(w->at, name, all, RESOLVE_STRICT)
	                                                           : sys_openat(w->at, name, all);
	if (fd < 0 || sys_fstat(fd, &ret->st) < 0)
		return -errno;
	int rc = check_file_type(ask, ret->st.st_mode);
	if (rc == 0)
		rc = walk_check(w, ret->st.st_uid);
	if (rc < 0)
		return rc;
	ret->fd = fd;
	fd = -1;
	return 0;
}

static int resolve_by_walk(const struct resolver *r, bool near, const char *path, enum resolve_op ask, int flags,
                           struct resolved *ret)
{
	struct resolver_walk w CLEANUP(resolve_walk_release);
	int rc = walk_init(&w, r, near, path);
	if (rc == 0)
		rc = walk_to_end(&w);
	if (rc == 0)
		rc = ask == RESOLVE_OP_DIR && w.deep_link ? -ENOTDIR : walk_check_end(&w, ret);
	if (rc == 0)
		rc = check_file_type(ask, ret->st.st_mode);
	if (rc == 0 && ask == RESOLVE_OP_STATVFS && sys_fstatvfs(w.has_last ? w.last : w.at, &ret->space) < 0)
		rc = w.last == SYS_NO_HANDLE ? -ENOTDIR : -errno;
	if (rc == 0 && ask > RESOLVE_OP_STATVFS)
		rc = walk_open_end(&w, ask, flags, ret);
	return rc;
}

/* As resolve_by_walk, for plain names on the source's own file system, in few calls; -EXDEV for others. */
static int resolve_fast(const struct resolver *r, const char *path, enum resolve_op ask, int flags,
                        struct resolved *ret)
{
	if (!r->has_openat2 || r->mount_count == 0 || atomic_load(&r->gone) || atomic_load(&r->foreign))
		return -EXDEV;
	int kind = ask == RESOLVE_OP_STAT ? O_PATH : ask == RESOLVE_OP_DIR ? O_DIRECTORY : O_NONBLOCK | O_NOCTTY;
	int fd CLEANUP_CLOSE = open_resolved(r->root, *path ? path : ".",
	                                     (ask == RESOLVE_OP_STAT ? 0 : flags) | kind | O_CLOEXEC, RESOLVE_STRICT);
	/* A walk finds the type of a socket, or of a device without a driver, before it opens it. */
	if (fd < 0)
		return errno == ELOOP || errno == ENXIO || errno == ENODEV ? -EXDEV : -errno;
	if (sys_fstat(fd, &ret->st) < 0)
		return -errno;
	int rc = check_file_type(ask, ret->st.st_mode);
	if (rc == 0 && ask != RESOLVE_OP_STAT) {
		ret->fd = fd;
		fd = -1;
	}
	return rc;
}

/* Looks up the source by its path. If another directory is there now, it becomes the source. */
static int root_reopen(struct resolver *r, bool near)
{
	struct resolved root = RESOLVED_INIT;
	int rc = resolve_by_walk(r, near, r->source, RESOLVE_OP_DIR, O_PATH, &root);
	if (rc == 0) {
		/* Meanwhile, other threads check the file system of the directory that they find. */
		atomic_store(&r->foreign, true);
		rc = dup3(root.fd, r->root, O_CLOEXEC) < 0 ? -errno : 0;
		atomic_store(&r->foreign, rc < 0 || root.foreign);
	}
	/* The source directory can have been moved away. The user asked for the path, not for that directory. */
	if (rc == 0 || error_is_absence(rc))
		atomic_store(&r->gone, rc);
	resolved_release(r, &root);
	return rc;
}

static int resolve_on_this_thread(struct resolver *r, bool near, const char *path, enum resolve_op ask, int flags,
                                  struct resolved *ret)
{
	/* After the source was missing, a name below it can be requested before the source itself. */
	bool relative = r && *path != '/', root = ask == RESOLVE_OP_DIR && *path == '\0';
	int rc = relative && (root || atomic_load(&r->gone)) ? root_reopen(r, near) : 0;
	return rc < 0 ? rc : resolve_by_walk(r, near, path, ask, flags, ret);
}

/* ---- on another thread ---- */

struct resolve_request {
	struct blocking_call call;
	struct resolver *resolver;
	enum resolve_op ask;
	int flags, rc;
	struct resolved got;
	char path[];
};

static void resolve_request_run(struct blocking_call *p)
{
	struct resolve_request *q = (struct resolve_request *)p;
	q->rc = resolve_on_this_thread(q->resolver, false, q->path, q->ask, q->flags, &q->got);
}

static void resolve_request_free(struct blocking_call *p)
{
	struct resolve_request *q = (struct resolve_request *)p;
	resolved_release(q->resolver, &q->got);
	resolver_put(q->resolver);
	free(q);
}

static int resolve_in_pool(struct resolver *r, const char *path, enum resolve_op ask, int flags, struct resolved *ret)
{
	struct resolve_request *q = malloc(sizeof *q + strlen(path) + 1);
	if (!q)
		return -ENOMEM;
	*q = (struct resolve_request){.call = {.run = resolve_request_run, .free = resolve_request_free},
	                              .resolver = resolver_get(r),
	                              .ask = ask,
	                              .flags = flags,
	                              .got = RESOLVED_INIT};
	strcpy(q->path, path);
	int rc = blocking_run(r->pool, &q->call);
	if (rc == 0) {
		*ret = q->got;
		q->got = (struct resolved)RESOLVED_INIT;
		rc = q->rc;
	}
	blocking_put(r->pool, &q->call);
	return rc;
}

static int resolve_path(const struct source_path *at, enum resolve_how how, enum resolve_op ask, int flags,
                        struct resolved *ret)
{
	struct resolved got = RESOLVED_INIT;
	struct resolver *r = at->resolver;
	bool root = ask == RESOLVE_OP_STATVFS || (ask == RESOLVE_OP_DIR && *at->path == '\0');
	bool may_wait = how == RESOLVER_WAIT || blocking_on_pool_thread();
	lock_may_block();
	int rc = r && !root ? resolve_fast(r, at->path, ask, flags, &got) : -EXDEV;
	/* Nothing of a remote source can be looked at without its server there. */
	if (rc == -EXDEV && r && (!SYS_STATX_WAITS || r->mount_count > 0))
		rc = resolve_on_this_thread(r, true, at->path, ask, flags, &got);
	if (rc == -EXDEV && may_wait)
		rc = !r || blocking_on_pool_thread() ? resolve_on_this_thread(r, false, at->path, ask, flags, &got)
		                                     : resolve_in_pool(r, at->path, ask, flags, &got);
	if (rc < 0) {
		resolved_release(r, &got);
		return error_of_source(-rc);
	}
	*ret = got;
	return 0;
}

int resolve_stat(const struct source_path *at, enum resolve_how how, struct resolved *ret)
{
	return resolve_path(at, how, RESOLVE_OP_STAT, 0, ret);
}

int resolve_file(const struct source_path *at, enum resolve_how how, int flags, struct resolved *ret)
{
	return resolve_path(at, how, RESOLVE_OP_FILE, flags, ret);
}

int resolve_dir(const struct source_path *at, enum resolve_how how, int flags, struct resolved *ret)
{
	return resolve_path(at, how, RESOLVE_OP_DIR, flags, ret);
}

int resolver_statvfs(struct resolver *r, struct statvfs *ret)
{
	struct resolved got = RESOLVED_INIT;
	const struct source_path source = {r, r->source};
	int rc = resolve_path(&source, RESOLVER_WAIT, RESOLVE_OP_STATVFS, 0, &got);
	*ret = got.space;
	return rc;
}

int resolve_fstatat(const struct resolver *r, int dir, const char *name, struct stat *ret)
{
	struct statx x;
	lock_may_block();
	if (sys_statx(dir, name, STATX_UNASKED, STATX_WANTED, &x) < 0)
		return error_of_source(errno);
	if (S_ISLNK(x.stx_mode) || !mount_is_trusted(r, mount_of(&x)))
		return -EXDEV;
	*ret = resolve_stat_of(&x);
	return 0;
}

const char *resolver_error_text(int err)
{
	return err == -EPERM       ? RESOLVER_REFUSED
	       : err == -ETIMEDOUT ? "Connection timed out: the server of the source does not answer"
	                           : strerror(-err);
}

/* ---- closing ---- */

/* Closing a file sends a request to its server, and waits for the answer. */
struct close_request {
	struct blocking_call call;
	int fd;
};

static void close_request_run(struct blocking_call *p)
{
	close(((struct close_request *)p)->fd);
}

static void close_request_free(struct blocking_call *p)
{
	free(p);
}

void resolver_close_fd(struct resolver *r, int fd, bool foreign)
{
	if (fd < 0)
		return;
	if (!foreign || !r || blocking_on_pool_thread()) {
		close(fd);
		return;
	}
	struct close_request *f = malloc(sizeof *f);
	if (f)
		*f = (struct close_request){.call = {.run = close_request_run, .free = close_request_free}, .fd = fd};
	/* If no thread can close it, a leak is better than waiting. */
	if (f && blocking_start(r->pool, &f->call) == 0)
		blocking_put(r->pool, &f->call);
	else
		free(f);
}

void resolved_release(struct resolver *r, struct resolved *got)
{
	resolver_close_fd(r, got->fd, got->foreign);
	got->fd = -1;
}

/* ---- life ---- */

struct resolver *resolver_get(struct resolver *r)
{
	atomic_fetch_add(&r->refs, 1);
	return r;
}

void resolver_put(struct resolver *r)
{
	if (!r || atomic_fetch_sub(&r->refs, 1) > 1)
		return;
	blocking_pool_put(r->pool);
	cleanup_close(&r->root);
	free(r->source);
	free(r);
}

int resolve_each_dir(const char *path, resolve_dir_fn fn, void *arg)
{
	struct resolver_walk w CLEANUP(resolve_walk_release);
	int err = 0, rc = walk_init(&w, NULL, false, path);
	do {
		if (rc == 0)
			rc = walk_enter(&w);
		if (rc == 0)
			rc = fn(arg, w.at, &w.x);
	} while (rc == 0 && walk_next_name(&w, &err) && (rc = walk_step(&w)) == 0);
	return rc ? rc : err;
}

/* Adds the file system of a directory on the path of the source. With one that can block, clears all, and ends. */
static int source_mount_add(void *arg, int dir, const struct statx *x)
{
	struct resolver *r = arg;
	if (mount_is_trusted(r, mount_of(x)))
		return 0;
	if (sys_is_remote(dir) || r->mount_count == SOURCE_MOUNTS_MAX) {
		r->mount_count = 0;
		return 1;
	}
	r->mounts[r->mount_count++] = mount_of(x);
	return 0;
}

int resolver_open(const char *source, struct resolver **ret)
{
	struct resolver *r = calloc(1, sizeof *r);
	if (!r)
		return -ENOMEM;
	r->refs = 1;
	r->owner = geteuid();
	hash_key_draw(&r->hash_key);
	r->source = strdup(source);
	r->root = sys_openat(AT_FDCWD, source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc = !r->source ? -ENOMEM : r->root < 0 ? -errno : resolve_each_dir(source, source_mount_add, r);
	if (rc >= 0)
		rc = blocking_pool_open(TIMEOUT_LOCAL_MS, r->mount_count ? TIMEOUT_LOCAL_MS : TIMEOUT_REMOTE_MS,
		                        &r->pool);
	if (rc < 0) {
		resolver_put(r);
		return rc;
	}
	int fd = open_resolved(r->root, ".", O_PATH | O_CLOEXEC, RESOLVE_STRICT);
	r->has_openat2 = fd >= 0;
	cleanup_close(&fd);
	*ret = r;
	return 0;
}

void resolver_close(struct resolver *r)
{
	if (!r)
		return;
	blocking_pool_close(r->pool);
	resolver_put(r);
}

void resolver_forbid_device(struct resolver *r, dev_t device)
{
	atomic_store(&r->forbidden, device);
}

void resolver_set_redact(struct resolver *r)
{
	r->redacts = true;
}

bool resolver_redacts(const struct resolver *r)
{
	return r->redacts;
}

const struct hash_key *resolver_hash_key(const struct resolver *r)
{
	return &r->hash_key;
}

struct blocking_pool *resolver_blocking_pool(const struct resolver *r)
{
	return r->pool;
}
