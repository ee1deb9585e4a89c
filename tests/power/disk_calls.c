/* SPDX-License-Identifier: MIT */
/* The calls of the program, instead of the system's: make-calls gives them their names. */
#include "disk_impl.h"

#include "sessionfs/base/cleanup.h"
#include "sessionfs/base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static struct disk *recorded;
static pthread_mutex_t recording = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t *lock_recording(void)
{
	pthread_mutex_lock(&recording);
	return &recording;
}

static void unlock_recording(pthread_mutex_t **held)
{
	pthread_mutex_unlock(*held);
}

/* To the end of the function. */
#define HOLD_RECORD CLEANUP(unlock_recording) pthread_mutex_t *held = lock_recording()

/* make-calls calls them power_NAME: no header declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* --- the record ----------------------------------------------------------------------- */

void disk_check(bool ok, const char *what)
{
	if (!ok) {
		perror(what);
		abort();
	}
}

static void refuse(const char *call, const char *how)
{
	fprintf(stderr, "the model of tests/power has no %s%s\n", call, how);
	abort();
}

static void load(int dir, const char *name, struct buf *out)
{
	int fd CLEANUP_CLOSE = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;
	disk_check(fd >= 0, name);
	while (n > 0) {
		char *to = buf_reserve(out, 65536);
		disk_check(to != NULL, name);
		n = read(fd, to, 65536);
		disk_check(n >= 0, name);
		out->n += (size_t)n;
	}
}

/* Returns whether the call fails because the program was killed. */
static bool is_killed(void)
{
	errno = EROFS;
	return recorded && recorded->is_killed;
}

static size_t file_with(const struct disk *d, const struct stat *st)
{
	for (size_t i = 0; i < d->files.n; i++)
		if (!d->files.v[i].is_gone && d->files.v[i].dev == st->st_dev && d->files.v[i].ino == st->st_ino)
			return i;
	return NO_FILE;
}

static size_t file_of(const struct disk *d, int fd)
{
	struct stat st;
	return d && fstat(fd, &st) == 0 ? file_with(d, &st) : NO_FILE;
}

static size_t file_at(const struct disk *d, int at, const char *path)
{
	struct stat st;
	return d && fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ? file_with(d, &st) : NO_FILE;
}

/* Returns the recorded directory that has the name, or NO_FILE. */
static size_t dir_of(const struct disk *d, int at, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char *above CLEANUP_FREE = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	struct stat st;
	*ret_name = slash ? slash + 1 : path;
	return d && above && fstatat(at, above, &st, 0) == 0 ? file_with(d, &st) : NO_FILE;
}

static struct call *add(struct disk *d, enum call_kind kind, size_t file, size_t dir)
{
	disk_check(vec_reserve(&d->calls, 1), "a call");
	struct call *c = &d->calls.v[d->calls.n++];
	*c = (struct call){.kind = kind, .file = file, .dir = dir, .bytes = BUF_INIT};
	d->is_killed = d->is_killed || d->kill_in == 1;
	d->kill_in -= d->kill_in > 0;
	return c;
}

static struct call *add_name(struct disk *d, enum call_kind kind, size_t file, size_t dir, const char *name)
{
	struct call *c = add(d, kind, file, dir);
	disk_check(strlen(name) < NAME_SIZE, name);
	strcpy(c->name, name);
	return c;
}

static size_t add_file(struct disk *d, size_t dir, int at, const char *path, const char *name, bool is_new)
{
	struct stat st;
	disk_check(vec_reserve(&d->files, 1) && fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) == 0, name);
	size_t file = d->files.n++;
	struct file *f = &d->files.v[file];
	*f = (struct file){.dev = st.st_dev, .ino = st.st_ino, .mode = st.st_mode, .time = st.st_mtim, .dir = dir};
	f->start = (struct buf)BUF_INIT;
	f->is_new = is_new;
	disk_check(strlen(name) < NAME_SIZE, name);
	strcpy(f->name, name);
	if (S_ISLNK(st.st_mode)) {
		char *to = buf_reserve(&f->start, PATH_MAX);
		ssize_t n = to ? readlinkat(at, path, to, PATH_MAX) : -1;
		disk_check(n >= 0, name);
		f->start.n = (size_t)n;
	} else if (S_ISREG(st.st_mode) && !is_new) {
		load(at, path, &f->start);
	}
	if (is_new) {
		f->time.tv_nsec = -1;
		add_name(d, CALL_NAME, file, dir, name);
	}
	return file;
}

/* The file that has the name is about to lose it. */
static void lose_name(struct disk *d, int at, const char *path)
{
	struct stat st;
	size_t file = fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ? file_with(d, &st) : NO_FILE;
	if (file != NO_FILE)
		d->files.v[file].is_gone = true;
}

/* --- calls on a descriptor ------------------------------------------------------------ */

static ssize_t do_write(int fd, const void *p, size_t n)
{
	size_t file = file_of(recorded, fd);
	if (file == NO_FILE)
		return write(fd, p, n);
	enum disk_trouble trouble = recorded->trouble;
	struct stat st;
	int flags = fcntl(fd, F_GETFL);
	disk_check(fstat(fd, &st) == 0 && flags >= 0, "a file that is written");
	off_t at = flags & O_APPEND ? st.st_size : lseek(fd, 0, SEEK_CUR);
	bool is_part = trouble == DISK_SHORT || trouble == DISK_FULL;
	ssize_t done = is_killed()               ? -1
	               : trouble == DISK_NO_ROOM ? (errno = ENOSPC, -1)
	                                         : write(fd, p, is_part ? n / 2 : n);
	if (done > 0) {
		struct call *c = add(recorded, CALL_WRITE, file, NO_FILE);
		c->at = (uint64_t)at;
		buf_add(&c->bytes, p, (size_t)done);
	}
	if (trouble == DISK_FULL)
		recorded->trouble = DISK_NO_ROOM;
	else if (trouble == DISK_SHORT || trouble == DISK_NO_ROOM)
		recorded->trouble = DISK_SOUND;
	return done;
}

/* Ends the test if the file is recorded. */
static void refuse_file(int fd, const char *call, const char *how)
{
	HOLD_RECORD;
	if (file_of(recorded, fd) != NO_FILE)
		refuse(call, how);
}

ssize_t power_write(int fd, const void *p, size_t n)
{
	HOLD_RECORD;
	return do_write(fd, p, n);
}

ssize_t power_writev(int fd, const struct iovec *v, int n)
{
	refuse_file(fd, "writev", "");
	return writev(fd, v, n);
}

ssize_t power_pwrite(int fd, const void *p, size_t n, off_t at)
{
	HOLD_RECORD;
	size_t file = file_of(recorded, fd);
	ssize_t done = is_killed() ? -1 : pwrite(fd, p, n, at);
	if (file != NO_FILE && done > 0) {
		struct call *c = add(recorded, CALL_WRITE, file, NO_FILE);
		c->at = (uint64_t)at;
		buf_add(&c->bytes, p, (size_t)done);
	}
	return done;
}

int power_ftruncate(int fd, off_t size)
{
	HOLD_RECORD;
	size_t file = file_of(recorded, fd);
	int rc = is_killed() ? -1 : ftruncate(fd, size);
	if (file != NO_FILE && rc == 0)
		add(recorded, CALL_TRUNCATE, file, NO_FILE)->at = (uint64_t)size;
	return rc;
}

int power_posix_fallocate(int fd, off_t from, off_t n)
{
	refuse_file(fd, "posix_fallocate", "");
	return posix_fallocate(fd, from, n);
}

void *power_mmap(void *at, size_t n, int access, int flags, int fd, off_t from)
{
	if (fd >= 0 && flags & MAP_SHARED && access & PROT_WRITE)
		refuse_file(fd, "mmap", " for writing");
	return mmap(at, n, access, flags, fd, from);
}

static void add_others(struct disk *d, size_t file)
{
	load(d->fd, d->files.v[file].name, &add(d, CALL_PROMISE, NO_FILE, NO_FILE)->bytes);
	int fd CLEANUP_CLOSE = openat(d->fd, d->files.v[file].name, O_WRONLY | O_APPEND | O_CLOEXEC);
	disk_check(fd >= 0 && do_write(fd, DISK_OTHERS, strlen(DISK_OTHERS)) > 0, "what another program appends");
}

/* The real disk is not asked: only the record says what is on this one. */
int power_fsync(int fd)
{
	HOLD_RECORD;
	size_t file = file_of(recorded, fd);
	enum disk_trouble trouble = file == NO_FILE ? DISK_SOUND : recorded->trouble;
	int rc = 0;
	if (file != NO_FILE && is_killed()) {
		rc = -1;
	} else if (file != NO_FILE && S_ISDIR(recorded->files.v[file].mode)) {
		add(recorded, CALL_SYNC_DIR, NO_FILE, file);
	} else if (trouble == DISK_BROKEN) {
		recorded->trouble = DISK_SOUND;
		errno = EIO;
		rc = -1;
	} else if (file != NO_FILE) {
		add(recorded, CALL_SYNC, file, NO_FILE);
		if (trouble == DISK_SHARED)
			add_others(recorded, file);
		recorded->trouble = trouble == DISK_SHARED ? DISK_SOUND : trouble;
	}
	return rc;
}

int power_fdatasync(int fd)
{
	return power_fsync(fd);
}

int power_fchmod(int fd, mode_t mode)
{
	HOLD_RECORD;
	size_t file = file_of(recorded, fd);
	int rc = is_killed() ? -1 : fchmod(fd, mode);
	if (file != NO_FILE && rc == 0)
		add(recorded, CALL_MODE, file, NO_FILE)->at = mode;
	return rc;
}

static void add_time(struct disk *d, size_t file, const struct timespec times[2])
{
	if (file == NO_FILE)
		return;
	if (!times || times[1].tv_nsec == UTIME_NOW)
		refuse("futimens", " to the time of now");
	if (times[1].tv_nsec != UTIME_OMIT)
		add(d, CALL_TIME, file, NO_FILE)->time = times[1];
}

int power_futimens(int fd, const struct timespec times[2])
{
	HOLD_RECORD;
	int rc = is_killed() ? -1 : futimens(fd, times);
	if (rc == 0)
		add_time(recorded, file_of(recorded, fd), times);
	return rc;
}

/* --- calls on a name ------------------------------------------------------------------ */

int power_utimensat(int at, const char *path, const struct timespec times[2], int flags)
{
	HOLD_RECORD;
	int rc = is_killed() ? -1 : utimensat(at, path, times, flags);
	if (rc == 0 && recorded && !(flags & AT_SYMLINK_NOFOLLOW))
		refuse("utimensat", " that follows links");
	if (rc == 0)
		add_time(recorded, file_at(recorded, at, path), times);
	return rc;
}

static int do_openat(int at, const char *path, int flags, mode_t mode)
{
	const char *name;
	size_t dir = flags & O_CREAT ? dir_of(recorded, at, path, &name) : NO_FILE;
	int fd = dir != NO_FILE && is_killed() ? -1 : openat(at, path, flags, mode);
	size_t file = fd < 0 ? NO_FILE : file_of(recorded, fd);
	if (fd >= 0 && dir != NO_FILE && file == NO_FILE)
		add_file(recorded, dir, at, path, name, true);
	else if (file != NO_FILE && flags & O_TRUNC)
		add(recorded, CALL_TRUNCATE, file, NO_FILE)->at = 0;
	return fd;
}

#define OPEN_MODE(flags)                                                                                               \
	__extension__({                                                                                                \
		mode_t mode_ = 0;                                                                                      \
		if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                 \
			va_list ap_;                                                                                   \
			va_start(ap_, flags);                                                                          \
			mode_ = va_arg(ap_, mode_t);                                                                   \
			va_end(ap_);                                                                                   \
		}                                                                                                      \
		mode_;                                                                                                 \
	})

int power_openat(int at, const char *path, int flags, ...)
{
	mode_t mode = OPEN_MODE(flags);
	HOLD_RECORD;
	return do_openat(at, path, flags, mode);
}

int power_open(const char *path, int flags, ...)
{
	mode_t mode = OPEN_MODE(flags);
	HOLD_RECORD;
	return do_openat(AT_FDCWD, path, flags, mode);
}

FILE *power_fopen(const char *path, const char *mode)
{
	if (mode[0] != 'r' || strchr(mode, '+'))
		refuse("fopen", " for writing");
	return fopen(path, mode);
}

long power_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_openat2 && ((const struct open_how *)c)->flags & (O_CREAT | O_TRUNC))
		refuse("openat2", " that creates or truncates");
	if (number != SYS_openat2 && number != SYS_statx && number != SYS_tgkill)
		refuse("syscall", ", but of openat2, statx and tgkill");
	return syscall(number, a, b, c, d, e, f);
}

static int do_renameat(int from_at, const char *from, int to_at, const char *to)
{
	const char *from_name, *to_name;
	size_t from_dir = dir_of(recorded, from_at, from, &from_name), dir = dir_of(recorded, to_at, to, &to_name);
	size_t file = file_at(recorded, from_at, from);
	if (from_dir != dir)
		refuse("renameat", " between directories");
	if (dir == NO_FILE || is_killed())
		return dir == NO_FILE ? renameat(from_at, from, to_at, to) : -1;
	if (file != NO_FILE && S_ISDIR(recorded->files.v[file].mode))
		refuse("renameat", " of a directory");
	lose_name(recorded, to_at, to);
	int rc = renameat(from_at, from, to_at, to);
	if (rc < 0)
		refuse("renameat", " that fails");
	snprintf(add_name(recorded, CALL_RENAME, NO_FILE, dir, from_name)->to, NAME_SIZE, "%s", to_name);
	return rc;
}

int power_renameat(int from_at, const char *from, int to_at, const char *to)
{
	HOLD_RECORD;
	return do_renameat(from_at, from, to_at, to);
}

int power_unlinkat(int at, const char *path, int flags)
{
	HOLD_RECORD;
	const char *name;
	size_t dir = dir_of(recorded, at, path, &name);
	if (dir != NO_FILE && flags & AT_REMOVEDIR)
		refuse("unlinkat", " of a directory");
	struct stat st;
	size_t file =
	    dir == NO_FILE || fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? NO_FILE : file_with(recorded, &st);
	int rc = is_killed() ? -1 : unlinkat(at, path, flags);
	if (rc == 0 && dir != NO_FILE) {
		disk_check(file != NO_FILE, path);
		recorded->files.v[file].is_gone = true;
		add_name(recorded, CALL_UNNAME, NO_FILE, dir, name);
	}
	return rc;
}

/* Adds the new name, if rc is 0. */
static int add_new(int rc, int at, const char *path)
{
	const char *name;
	size_t dir = rc == 0 ? dir_of(recorded, at, path, &name) : NO_FILE;
	if (dir != NO_FILE)
		add_file(recorded, dir, at, path, name, true);
	return rc;
}

int power_symlinkat(const char *target, int at, const char *path)
{
	HOLD_RECORD;
	return add_new(is_killed() ? -1 : symlinkat(target, at, path), at, path);
}

int power_mkdirat(int at, const char *path, mode_t mode)
{
	HOLD_RECORD;
	return add_new(is_killed() ? -1 : mkdirat(at, path, mode), at, path);
}

int power_mkdir(const char *path, mode_t mode)
{
	return power_mkdirat(AT_FDCWD, path, mode);
}

#define REFUSED(name)                                                                                                  \
	void power_##name(void)                                                                                        \
	{                                                                                                              \
		refuse(#name, "");                                                                                     \
	}
#include "calls.h"

const char *disk_unknown_calls(void)
{
	return CALLS_UNKNOWN;
}

/* --- a disk --------------------------------------------------------------------------- */

static void add_below(struct disk *d, size_t dir, int at)
{
	int own = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *names CLEANUP_CLOSEDIR = own < 0 ? NULL : fdopendir(own);
	disk_check(names != NULL, "a recorded directory");
	for (const struct dirent *e; (e = readdir(names));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		size_t file = add_file(d, dir, own, e->d_name, e->d_name, false);
		if (S_ISDIR(d->files.v[file].mode)) {
			int below CLEANUP_CLOSE = openat(own, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			add_below(d, file, below);
		}
	}
}

struct disk *disk_open(const char *dir)
{
	struct disk *d = calloc(1, sizeof *d);
	disk_check(d != NULL, "disk");
	d->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	disk_check(d->fd >= 0, dir);
	add_file(d, NO_FILE, d->fd, ".", "", false);
	add_below(d, 0, d->fd);
	HOLD_RECORD;
	recorded = d;
	return d;
}

void disk_stop(struct disk *d)
{
	HOLD_RECORD;
	if (recorded == d)
		recorded = NULL;
}

void disk_close(struct disk *d)
{
	disk_stop(d);
	for (size_t i = 0; i < d->calls.n; i++)
		buf_release(&d->calls.v[i].bytes);
	for (size_t i = 0; i < d->files.n; i++)
		buf_release(&d->files.v[i].start);
	vec_release(&d->calls);
	vec_release(&d->files);
	close(d->fd);
	free(d);
}

void disk_append(struct disk *d, const char *name, const char *text)
{
	int fd CLEANUP_CLOSE = power_openat(d->fd, name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	disk_check(fd >= 0 && power_write(fd, text, strlen(text)) == (ssize_t)strlen(text), name);
}

void disk_rename(struct disk *d, const char *from, const char *to)
{
	disk_check(power_renameat(d->fd, from, d->fd, to) == 0, from);
}

void disk_make_dir(struct disk *d, const char *name)
{
	disk_check(power_mkdirat(d->fd, name, 0755) == 0, name);
}

static ssize_t stream_write(void *fd, const char *p, size_t n)
{
	size_t done = 0;
	for (ssize_t got = 1; done < n && got > 0; done += got > 0 ? (size_t)got : 0)
		got = power_write(*(int *)fd, p + done, n - done);
	return (ssize_t)done;
}

static int stream_close(void *fd)
{
	int rc = close(*(int *)fd);
	free(fd);
	return rc;
}

FILE *disk_create(struct disk *d, const char *name)
{
	int *fd = malloc(sizeof *fd);
	disk_check(fd != NULL, name);
	*fd = power_openat(d->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	FILE *f = fopencookie(fd, "w", (cookie_io_functions_t){.write = stream_write, .close = stream_close});
	disk_check(*fd >= 0 && f, name);
	return f;
}

void disk_sync(struct disk *d, const char *name)
{
	int fd CLEANUP_CLOSE = openat(d->fd, name, O_RDONLY | O_CLOEXEC);
	disk_check(fd >= 0 && power_fsync(fd) == 0 && power_fsync(d->fd) == 0, name);
}

void disk_promise(struct disk *d, const char *name)
{
	HOLD_RECORD;
	load(d->fd, name, &add(d, CALL_PROMISE, NO_FILE, NO_FILE)->bytes);
}

void disk_promise_all(struct disk *d)
{
	HOLD_RECORD;
	add(d, CALL_PROMISE_ALL, NO_FILE, NO_FILE);
}

void disk_set_trouble(struct disk *d, enum disk_trouble trouble)
{
	HOLD_RECORD;
	d->trouble = trouble;
}

void disk_kill(struct disk *d, size_t n)
{
	HOLD_RECORD;
	d->kill_in = n;
	d->is_killed = false;
}
