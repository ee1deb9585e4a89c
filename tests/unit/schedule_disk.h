/* SPDX-License-Identifier: MIT */
/* schedule_disk: the disk of a scheduled test. It is a real directory with real inotify events; a thread stops before
 * each system call. Some things are not the kernel's:
 *
 * - Times of files come from the clock of the schedule, in steps of `tick_ms` (disk_touched).
 * - The kernel's queue of events holds `queue_max` events, if that is not 0: then it says that it lost the others.
 * - Some inodes are on the file system of a server (disk_put_on_server). While that is `dead`, a call that asks it
 * waits.
 * - A call can fail with EIO, one in `fails`. */
#ifndef SCHEDULE_DISK_H
#define SCHEDULE_DISK_H

#include "schedule.h"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#define DISK_INODES 1024 /* a power of two */
#define DISK_WATCHES_MAX 1024

struct disk_inode {
	uint64_t ino;
	int64_t mtime, ctime; /* ms */
	bool on_server;
};

static struct {
	struct disk_inode inodes[DISK_INODES];
	unsigned inode_count;
	int inotify;
	unsigned opened; /* how many catalogs had the descriptor */
	int watches[DISK_WATCHES_MAX];
	unsigned watch_count;
	bool dead;      /* the server does not answer */
	bool has_died;  /* it did not, perhaps for a moment */
	bool asked;     /* a thread of the test asked the server itself */
	unsigned fails; /* one call in this many fails; 0: none */
	unsigned failed;
	unsigned queue_max, tick_ms;
} disk;

static struct disk_inode *disk_inode(uint64_t ino)
{
	uint64_t i = ino * UINT64_C(0x9e3779b97f4a7c15) >> 40;
	while (disk.inodes[i % DISK_INODES].ino && disk.inodes[i % DISK_INODES].ino != ino)
		i++;
	return &disk.inodes[i % DISK_INODES];
}

static struct disk_inode *disk_inode_add(uint64_t ino)
{
	struct disk_inode *d = disk_inode(ino);
	if (!d->ino && ++disk.inode_count > DISK_INODES / 2)
		schedule_fail("too many inodes");
	d->ino = ino;
	return d;
}

/* The contents or names changed now. */
static void disk_touched(uint64_t ino)
{
	struct disk_inode *d = disk_inode_add(ino);
	int64_t ms = schedule.now / 1000000;
	d->mtime = d->ctime = ms - ms % disk.tick_ms;
}

/* The file has another name. */
static void disk_renamed(uint64_t ino)
{
	int64_t mtime = disk_inode(ino)->mtime;
	disk_touched(ino);
	disk_inode(ino)->mtime = mtime;
}

/* The time of the contents was set. */
static void disk_set_mtime(uint64_t ino, int64_t ms)
{
	disk_touched(ino);
	disk_inode(ino)->mtime = ms;
}

static void disk_put_on_server(uint64_t ino)
{
	disk_inode_add(ino)->on_server = true;
}

static void disk_clear(void)
{
	memset(disk.inodes, 0, sizeof disk.inodes);
	disk.inode_count = disk.watch_count = 0;
	disk.dead = disk.has_died = disk.asked = false;
	disk.fails = disk.failed = disk.queue_max = 0;
	disk.tick_ms = 1;
}

/* ---- the server ---- */

#define DISK_SERVER_MOUNT UINT64_C(1000000)
#define DISK_SERVER_DEVICE 1000

static void disk_ask(uint64_t ino)
{
	if (!disk_inode(ino)->on_server)
		return;
	disk.asked = disk.asked || schedule_self->is_worker;
	while (disk.dead)
		schedule_wait(&disk, 0);
}

static void disk_ask_fd(int fd)
{
	struct stat st;
	if (schedule_self && fd >= 0 && fstat(fd, &st) == 0)
		disk_ask(st.st_ino);
}

static void disk_revive_server(void)
{
	disk.dead = false;
	schedule_wake(&disk, true);
}

/* ---- calls ---- */

static bool disk_call_fails(const char *what, const char *detail)
{
	schedule_point(what, detail);
	if (!schedule_self || !disk.fails || schedule_draw(disk.fails) != 0)
		return false;
	disk.failed++;
	schedule_note("EIO", NULL);
	errno = EIO;
	return true;
}

static int64_t disk_wall(int64_t ms)
{
	return ms + INT64_C(1700000000000);
}

static struct timespec disk_time(int64_t ms)
{
	return (struct timespec){(time_t)(disk_wall(ms) / 1000), (long)(ms % 1000) * 1000000};
}

static void disk_fix_stat(struct stat *st)
{
	const struct disk_inode *d = disk_inode(st->st_ino);
	st->st_mtim = disk_time(d->mtime);
	st->st_ctim = disk_time(d->ctime);
	if (d->on_server)
		st->st_dev = makedev(DISK_SERVER_DEVICE, 0);
}

static int disk_fstat(int fd, struct stat *ret)
{
	if (disk_call_fails("fstat", NULL))
		return -1;
	disk_ask_fd(fd);
	int rc = fstat(fd, ret);
	if (rc == 0)
		disk_fix_stat(ret);
	return rc;
}
__typeof__(fstat) *const sys_fstat = disk_fstat;

static int disk_fstatat(int dir, const char *name, struct stat *ret, int flags)
{
	if (disk_call_fails("fstatat", name))
		return -1;
	int rc = fstatat(dir, name, ret, flags);
	if (rc == 0)
		disk_fix_stat(ret);
	return rc;
}
__typeof__(fstatat) *const sys_fstatat = disk_fstatat;

/* The server is not asked: AT_STATX_DONT_SYNC. */
static int disk_statx(int dir, const char *path, int flags, unsigned wanted, struct statx *ret)
{
	if (disk_call_fails("statx", path))
		return -1;
	int rc = statx(dir, path, flags, wanted, ret);
	if (rc < 0)
		return rc;
	const struct disk_inode *d = disk_inode(ret->stx_ino);
	ret->stx_mtime = (struct statx_timestamp){.tv_sec = disk_wall(d->mtime) / 1000,
	                                          .tv_nsec = (uint32_t)(d->mtime % 1000) * 1000000};
	ret->stx_ctime = (struct statx_timestamp){.tv_sec = disk_wall(d->ctime) / 1000,
	                                          .tv_nsec = (uint32_t)(d->ctime % 1000) * 1000000};
	if (d->on_server) {
		ret->stx_mnt_id += DISK_SERVER_MOUNT;
		ret->stx_dev_major = DISK_SERVER_DEVICE;
		ret->stx_dev_minor = 0;
	}
	return rc;
}
__typeof__(statx) *const sys_statx = disk_statx;

static int disk_openat(int dir, const char *path, int flags, ...)
{
	if (disk_call_fails("openat", path))
		return -1;
	disk_ask_fd(dir);
	return openat(dir, path, flags);
}
__typeof__(openat) *const sys_openat = disk_openat;

int sys_openat2(int dir, const char *path, const struct open_how *how, size_t size)
{
	if (disk_call_fails("openat2", path))
		return -1;
	return (int)syscall(SYS_openat2, dir, path, how, size);
}

static ssize_t disk_pread(int fd, void *p, size_t n, off_t off)
{
	if (disk_call_fails("pread", NULL))
		return -1;
	disk_ask_fd(fd);
	return pread(fd, p, n, off);
}
__typeof__(pread) *const sys_pread = disk_pread;

/* Another thread can run, but no time passes. */
static int disk_nanosleep(const struct timespec *pause, struct timespec *rest)
{
	schedule_point("sleep", NULL);
	return 0;
}
__typeof__(nanosleep) *const sys_nanosleep = disk_nanosleep;

static ssize_t disk_fgetxattr(int fd, const char *name, void *p, size_t n)
{
	schedule_point("xattr", NULL);
	disk_ask_fd(fd);
	return fgetxattr(fd, name, p, n);
}
__typeof__(fgetxattr) *const sys_fgetxattr = disk_fgetxattr;

/* ---- inotify ---- */

static int disk_inotify_add_watch(int fd, const char *path, uint32_t mask)
{
	schedule_point("watch", NULL);
	int wd = inotify_add_watch(fd, path, mask);
	if (wd >= 0 && disk.watch_count < DISK_WATCHES_MAX)
		disk.watches[disk.watch_count++] = wd;
	return wd;
}
__typeof__(inotify_add_watch) *const sys_inotify_add_watch = disk_inotify_add_watch;

/* The end of the first `most` events. */
static ssize_t disk_events_end(const char *bytes, ssize_t n, unsigned most)
{
	ssize_t at = 0;
	for (unsigned i = 0; i < most && at < n; i++) {
		struct inotify_event e;
		memcpy(&e, bytes + at, sizeof e);
		at += (ssize_t)(sizeof e + e.len);
	}
	return at;
}

static ssize_t disk_read(int fd, void *p, size_t n)
{
	schedule_point("read", NULL);
	ssize_t got = read(fd, p, n);
	ssize_t end = got > 0 && disk.queue_max ? disk_events_end(p, got, disk.queue_max) : got;
	if (end == got)
		return got;
	const struct inotify_event lost = {.wd = -1, .mask = IN_Q_OVERFLOW};
	memcpy((char *)p + end, &lost, sizeof lost);
	schedule_note("overflow", NULL);
	return end + (ssize_t)sizeof lost;
}
__typeof__(read) *const sys_read = disk_read;

/* Closing such a descriptor takes 20 ms: catalogs in turn have the same one. */
__typeof__(inotify_init1) __real_inotify_init1, __wrap_inotify_init1;
int __wrap_inotify_init1(int flags)
{
	char bytes[16384];
	if (disk.opened++ % 256 == 0) {
		if (disk.opened > 1)
			close(disk.inotify);
		disk.inotify = __real_inotify_init1(flags | IN_NONBLOCK);
	}
	for (unsigned i = 0; i < disk.watch_count; i++)
		inotify_rm_watch(disk.inotify, disk.watches[i]);
	disk.watch_count = 0;
	while (read(disk.inotify, bytes, sizeof bytes) > 0)
		;
	return fcntl(disk.inotify, F_DUPFD_CLOEXEC, 0);
}

/* A wait without a limit fails with ECANCELED instead of waiting. */
__typeof__(poll) __real_poll, __wrap_poll;
int __wrap_poll(struct pollfd *v, nfds_t n, int timeout_ms)
{
	schedule_point("poll", NULL);
	int rc = __real_poll(v, n, 0);
	if (rc != 0 || timeout_ms >= 0)
		return rc;
	errno = ECANCELED;
	return -1;
}

#endif
