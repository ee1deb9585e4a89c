/* SPDX-License-Identifier: MIT */
/* Unmounts when no request has come for a while.
 *
 * Only the kernel knows who uses the mount: it opens and reads much without asking us. But unless it is forced it does
 * not unmount while a file is open or a working directory is inside. And a process that enters from outside makes it
 * ask for a name in the root, because those names are kept only for a moment in such a mount (I11). So after so long
 * without a request we try to unmount. If that is refused, we wait as long again. If it succeeds, the loop ends as when
 * somebody else unmounts.
 *
 * Unmounting goes by path, and the path may lead to another mount by now: one mounted over ours, or one that took its
 * place while ours lives on under another path or in another namespace. So the device is checked first. */
#include "fs_impl.h"
#include "sessionfs/base/log.h"
#include "sessionfs/base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#define LOOKS 8 /* checks within the idle time */

struct fs_idle {
	struct fs *fs;
	const char *mountpoint;
	dev_t device;
	unsigned seconds;
	bool stop, told;
	pthread_t thread;
	struct lock lock; /* guards `stop` */
	pthread_cond_t wake;
};

dev_t fs_device_at(const char *path)
{
	struct statx st;
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
	return statx(AT_FDCWD, path, flags, STATX_TYPE, &st) < 0 ? 0 : makedev(st.stx_dev_major, st.stx_dev_minor);
}

/* For users who may not unmount themselves. 0, -EBUSY for any refusal, or the errno for which fusermount3 could not
 * run. */
static int ask_fusermount(const char *mountpoint)
{
	char *const words[] = {"fusermount3", "-u", "-q", "--", (char *)mountpoint, NULL};
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t child;
	int status = 0;

	sigemptyset(&none);
	int err = posix_spawnattr_init(&attr);
	if (err)
		return -err;
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &none);
	err = posix_spawnp(&child, words[0], NULL, &attr, words, environ);
	posix_spawnattr_destroy(&attr);
	if (err)
		return -err;
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return status ? -EBUSY : 0;
}

static bool try(struct fs_idle *idle)
{
	int rc = -ESTALE;
	if (idle->device != 0 && fs_device_at(idle->mountpoint) == idle->device)
		rc = umount2(idle->mountpoint, UMOUNT_NOFOLLOW) == 0 ? 0 : -errno;
	if (rc == -EPERM)
		rc = ask_fusermount(idle->mountpoint);
	if (rc == 0) {
		log_info("%s: unmounted: nothing was asked for %u s", idle->mountpoint, idle->seconds);
	} else if (rc == -EBUSY) {
		log_debug("%s: idle, but in use", idle->mountpoint);
	} else if (!idle->told) {
		idle->told = true;
		log_warning("%s: idle, but not unmounted: %s", idle->mountpoint,
		            rc == -ESTALE ? "something else is here now" : strerror(-rc));
	}
	return rc == 0;
}

static void *idle_watch(void *arg)
{
	struct fs_idle *idle = arg;
	unsigned quiet = 0;
	LOCKED(&idle->lock);
	while (!idle->stop) {
		const struct timespec until = clock_in(CLOCK_MONOTONIC, idle->seconds * INT64_C(1000000000) / LOOKS);
		while (!idle->stop && pthread_cond_timedwait(&idle->wake, &idle->lock.mutex, &until) == 0)
			continue;
		quiet = __atomic_exchange_n(&idle->fs->asked, false, __ATOMIC_RELAXED) ? 0 : quiet + 1;
		if (idle->stop || quiet < LOOKS)
			continue;
		quiet = 0;
		lock_give(&idle->lock);
		bool done = try(idle);
		lock_take(&idle->lock);
		if (done)
			break;
	}
	return NULL;
}

static void destroy(struct fs_idle *idle)
{
	pthread_cond_destroy(&idle->wake);
	lock_destroy(&idle->lock);
	free(idle);
}

int fs_idle_open(struct fs *fs, const char *mountpoint, dev_t device, unsigned seconds, struct fs_idle **ret)
{
	struct fs_idle *idle = calloc(1, sizeof *idle);
	if (!idle)
		return -ENOMEM;
	*idle = (struct fs_idle){.fs = fs, .mountpoint = mountpoint, .device = device, .seconds = seconds};
	lock_init(&idle->lock, LOCK_IDLE);
	lock_cond_init(&idle->wake);
	fs->idle = true;
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int err = sys_pthread_create(&idle->thread, NULL, idle_watch, idle);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		destroy(idle);
	else
		*ret = idle;
	return -err;
}

void fs_idle_close(struct fs_idle *idle)
{
	if (!idle)
		return;
	lock_take(&idle->lock);
	idle->stop = true;
	pthread_cond_signal(&idle->wake);
	lock_give(&idle->lock);
	pthread_join(idle->thread, NULL);
	destroy(idle);
}
