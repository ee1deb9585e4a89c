/* SPDX-License-Identifier: MIT */
/* Preloaded: stops the clock that triggers the catalog's scans and ends leases, and lets the kernel keep for a day what
 * it may keep for a minute. A change seen was reported by inotify and notified, however long the test waits. */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 314
#include <dlfcn.h>
#include <fuse_lowlevel.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec stands_at;
static atomic_bool stands;

int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (clock == CLOCK_MONOTONIC_COARSE && atomic_load(&stands)) {
		*t = stands_at;
		return 0;
	}
	return (int)syscall(SYS_clock_gettime, clock, t);
}

__attribute__((constructor)) static void stop_clock(void)
{
	clock_gettime(CLOCK_MONOTONIC_COARSE, &stands_at);
	atomic_store(&stands, true);
}

static double lengthen(double seconds)
{
	return seconds == 60 ? 86400 : seconds;
}

static struct fuse_entry_param lengthen_entry(const struct fuse_entry_param *e)
{
	struct fuse_entry_param kept = *e;
	kept.attr_timeout = lengthen(e->attr_timeout);
	kept.entry_timeout = lengthen(e->entry_timeout);
	return kept;
}

#define REAL(f) ((__typeof__(&f))dlsym(RTLD_NEXT, #f))

int fuse_reply_attr(fuse_req_t req, const struct stat *attr, double seconds)
{
	return REAL(fuse_reply_attr)(req, attr, lengthen(seconds));
}

int fuse_reply_entry(fuse_req_t req, const struct fuse_entry_param *e)
{
	struct fuse_entry_param kept = lengthen_entry(e);
	return REAL(fuse_reply_entry)(req, &kept);
}

int fuse_reply_create(fuse_req_t req, const struct fuse_entry_param *e, const struct fuse_file_info *fi)
{
	struct fuse_entry_param kept = lengthen_entry(e);
	return REAL(fuse_reply_create)(req, &kept, fi);
}

size_t fuse_add_direntry_plus(fuse_req_t req, char *p, size_t n, const char *name, const struct fuse_entry_param *e,
                              off_t off)
{
	struct fuse_entry_param kept = lengthen_entry(e);
	return REAL(fuse_add_direntry_plus)(req, p, n, name, &kept, off);
}
