/* SPDX-License-Identifier: MIT */
/* The append protocol.
 *
 * Under the lock: check the end of the file, let the caller make lines that fit the contents, write them with one
 * write(2) on an O_APPEND descriptor, check again. The write always lands at the end. So the worst case is that lines
 * of a concurrent pi come in between, which shows in the bytes before ours.
 *
 * A short write is completed, or undone while no other bytes follow it. A part that cannot be undone gets a newline. */
#include "sessionfs/base/clock.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/sys.h"
#include "sessionfs/file/store.h"
#include "sessionfs/file/opened.h"

#include <limits.h>
#include <stdint.h>
#include <sys/resource.h>

/* The max number of attempts to append a line directly after its parent, while other writers append, too. After the
 * last one the line is in the file, but its parent is not the newest entry. */
#define STORE_ATTEMPTS_MAX 8

/* Checks whether the file ends in a whole line, or has stopped growing. */
#define LINE_END_CHECKS_MAX 20

/* Returns 0 if the name led to the file, else a negative errno; rc is the result of its lookup. */
static int store_check_found(int rc, const struct resolved *found, const struct store_id *id)
{
	if (rc < 0)
		return error_is_absence(rc) ? -ESTALE : rc;
	return found->st.st_dev == id->dev && found->st.st_ino == id->ino ? 0 : -ESTALE;
}

static int store_check_name(const struct source_path *at, const struct store_id *id)
{
	struct resolved now = RESOLVED_INIT;
	return store_check_found(resolve_stat(at, RESOLVER_WAIT, &now), &now, id);
}

static int store_open(const struct source_path *at, const struct store_id *id, int flags, struct resolved *ret)
{
	return store_check_found(resolve_file(at, RESOLVER_WAIT, flags, ret), ret, id);
}

/* Returns 0, -EAGAIN if another program holds the lock, -ENOLCK if the file system has no locks, or another negative
 * errno. */
static int try_lock(int fd)
{
	if (sys_flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	switch (errno) {
	case EINTR:
		return -EAGAIN;
	case ENOSYS:
	case EOPNOTSUPP:
		return -ENOLCK;
	default:
		return -errno;
	}
}

/* Another program can hold the lock forever, and a blocking flock(2) cannot be cancelled: so poll. */
static int lock_file(int fd)
{
	struct timespec pause = {.tv_nsec = 200 * 1000};
	int rc = try_lock(fd);
	if (rc != -EAGAIN || (rc = cancel_wait_begin()) < 0)
		return rc;
	while ((rc = try_lock(fd)) == -EAGAIN && (rc = cancel_check()) == 0) {
		sys_nanosleep(&pause, NULL);
		if (pause.tv_nsec < 10 * 1000 * 1000)
			pause.tv_nsec *= 2;
	}
	cancel_wait_end();
	return rc;
}

static int store_size(int fd, off_t *ret)
{
	struct stat st;
	if (sys_fstat(fd, &st) < 0)
		return -errno;
	*ret = st.st_size;
	return 0;
}

static int sync_uninterrupted(int fd, int (*sync)(int))
{
	while (sync(fd) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Syncs the directory of the name: the name of a new or renamed file is on the disk only then. Skips a
 * directory that is gone or unreadable, and a file system that cannot sync directories. */
static int store_sync_dir(const struct source_path *at)
{
	const char *slash = strrchr(at->path, '/');
	char *path CLEANUP_FREE = strndup(at->path, slash ? (size_t)(slash - at->path) + 1 : 0);
	struct resolved dir = RESOLVED_INIT;
	int rc = path ? 0 : -ENOMEM;
	if (rc == 0)
		rc = resolve_dir(&(struct source_path){at->resolver, path}, RESOLVER_WAIT, O_RDONLY, &dir);
	if (rc == 0)
		rc = sync_uninterrupted(dir.fd, sys_fsync);
	resolved_release(at->resolver, &dir);
	return rc == -ENOENT || rc == -EACCES || rc == -EINVAL ? 0 : rc;
}

/* Calls `sync` (sys_fdatasync or sys_fsync), and syncs the directory, unless the file has not changed since *synced was
 * set here. */
static int store_flush_changed(const struct source_path *at, int fd, int (*sync)(int), struct stat *synced)
{
	struct stat now;
	if (sys_fstat(fd, &now) < 0)
		return -errno;
	if (stat_is_unchanged(&now, synced))
		return 0;
	lock_may_block();
	int rc = sync_uninterrupted(fd, sync);
	rc = rc < 0 ? rc : store_sync_dir(at);
	if (rc == 0)
		*synced = now;
	return rc;
}

static void sleep_ms(unsigned ms)
{
	const struct timespec pause = {.tv_nsec = (long)ms * 1000 * 1000};
	sys_nanosleep(&pause, NULL);
}

/* Gets the size, and whether a line ends there. A line that pi is writing is briefly incomplete; one that stays so is
 * torn. Waits only until that line ends: right after it is the best time to write. */
static int wait_line_end(int fd, off_t *ret_size, bool *ret_whole)
{
	for (int looks = 0;; looks++) {
		char last = '\0'; /* of a file that is shorter now, too */
		int rc = store_size(fd, ret_size);
		ssize_t n = rc == 0 && *ret_size > 0 ? file_pread(fd, &last, 1, (uint64_t)*ret_size - 1) : rc;
		*ret_whole = *ret_size == 0 || last == '\n';
		if (n < 0 || looks == LINE_END_CHECKS_MAX)
			return n < 0 ? (int)n : 0;
		if (*ret_whole)
			return 0;
		sleep_ms(1);
	}
}

/* Returns 1 if the file has these bytes at `off`, 0 if not, or a negative errno. Allocates nothing: undoing a write
 * must work without free memory. */
static int file_has_bytes(int fd, off_t off, struct span bytes)
{
	char there[4096];
	for (size_t done = 0; done < bytes.n;) {
		size_t n = bytes.n - done < sizeof there ? bytes.n - done : sizeof there;
		ssize_t got = file_pread(fd, there, n, (uint64_t)off + done);
		if (got <= 0 || memcmp(there, bytes.p + done, (size_t)got) != 0)
			return got < 0 ? (int)got : 0;
		done += (size_t)got;
	}
	return 1;
}

static off_t file_offset(int fd)
{
	return lseek(fd, 0, SEEK_CUR);
}

/* Replaces the last byte of our truncated line by a newline, so that the next line does not run into it. That needs no
 * disk space. */
static void store_end_line(int fd, off_t end)
{
	int flags = fcntl(fd, F_GETFL);
	/* With O_APPEND, pwrite(2) writes at the end of the file whatever the offset. */
	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_APPEND) < 0)
		return;
	while (sys_pwrite(fd, "\n", 1, end - 1) < 0 && errno == EINTR)
		;
	fcntl(fd, F_SETFL, flags);
}

/* Truncates our bytes before `end`. If other bytes follow them, or the file cannot be truncated, they stay, ending in a
 * newline. */
static void store_undo_append(int fd, struct span ours, off_t end)
{
	off_t size = 0;
	if (ours.n == 0 || end < (off_t)ours.n || file_has_bytes(fd, end - (off_t)ours.n, ours) != 1)
		return;
	int rc = -1;
	if (store_size(fd, &size) == 0 && size == end)
		while ((rc = sys_ftruncate(fd, end - (off_t)ours.n)) < 0 && errno == EINTR)
			;
	if (rc == 0)
		return;
	if (ours.p[ours.n - 1] != '\n')
		store_end_line(fd, end);
}

/* Writes all lines with one write(2). Completes a short write. If that fails, or another line came in between,
 * truncates the written bytes. */
static int write_lines(int fd, struct span lines)
{
	size_t done = 0;
	while (done < lines.n) {
		off_t end = file_offset(fd);
		ssize_t n = sys_write(fd, lines.p + done, lines.n - done);
		if (n < 0 && errno == EINTR)
			continue;
		int err = n < 0 ? -errno : n == 0 ? -EIO : 0;
		/* O_APPEND: the descriptor is now at the end of the written bytes. */
		if (!err && done > 0 && file_offset(fd) != end + n) {
			store_undo_append(fd, (struct span){lines.p + done, (size_t)n}, file_offset(fd));
			err = -EIO;
		}
		if (err) {
			store_undo_append(fd, (struct span){lines.p, done}, end);
			return err;
		}
		done += (size_t)n;
	}
	return 0;
}

static int try_append_lines(const struct source_path *at, int fd, struct stat *synced, unsigned attempt,
                            store_make make, void *arg, bool *ret_between)
{
	struct buf lines CLEANUP_BUF = BUF_INIT, all CLEANUP_BUF = BUF_INIT;
	off_t size = 0;
	bool whole = true;
	int rc = wait_line_end(fd, &size, &whole);
	if (rc == 0)
		rc = make(arg, attempt, &lines);
	if (rc == 0)
		rc = buf_err(&lines);
	*ret_between = false;
	if (rc < 0)
		return rc;
	if (lines.n == 0)
		return synced ? store_flush_changed(at, fd, sys_fdatasync, synced) : 0;
	if (!whole)
		buf_addc(&all, '\n');
	buf_addspan(&all, buf_span(&lines));
	if (buf_err(&all))
		return buf_err(&all);
	rc = write_lines(fd, buf_span(&all));
	if (rc < 0)
		return rc;
	rc = synced ? store_flush_changed(at, fd, sys_fdatasync, synced) : 0;
	if (rc < 0) {
		store_undo_append(fd, buf_span(&all), file_offset(fd));
		return rc;
	}
	/* If our lines do not begin at the old end of the file, lines of others came first. The write has succeeded:
	 * later errors are not its failure. */
	*ret_between = file_has_bytes(fd, size, buf_span(&all)) == 0;
	return 0;
}

static int append_locked(const struct source_path *at, int fd, struct stat *synced, store_make make, void *arg)
{
	bool between = true;
	for (unsigned attempt = 0; between && attempt < STORE_ATTEMPTS_MAX; attempt++) {
		/* A program that appends line after line overtakes each of our attempts, but soon pauses: then an
		 * attempt succeeds. If pi's lines come one at a time, the first repair succeeds and must not wait. */
		off_t before = -1, size = 0;
		for (int looks = 0;
		     attempt > 1 && looks < LINE_END_CHECKS_MAX && store_size(fd, &size) == 0 && size != before;
		     looks++) {
			before = size;
			sleep_ms(attempt);
		}
		int rc = try_append_lines(at, fd, synced, attempt, make, arg, &between);
		if (rc < 0)
			/* If a repair fails, the first line is still in the file with the right content. */
			return attempt == 0 ? rc : 0;
	}
	return 0;
}

int store_append(const struct source_path *at, const struct store_id *id, struct stat *synced, store_make make,
                 void *arg)
{
	struct resolved file = RESOLVED_INIT;
	lock_mark_held(LOCK_FILE);
	int rc = store_open(at, id, O_RDWR | O_APPEND, &file);
	if (rc == 0)
		rc = lock_file(file.fd);
	/* While this thread waited for the lock, another program can have replaced the file. */
	if (rc == 0)
		rc = store_check_name(at, id);
	if (rc == 0)
		rc = append_locked(at, file.fd, synced, make, arg);
	/* If the file was replaced meanwhile, our lines are in the old one. */
	if (rc == 0 && store_check_name(at, id) == -ESTALE)
		rc = -ESTALE;
	/* Unlock first: a thread of the pool can close the descriptor late or never. */
	if (file.fd >= 0)
		sys_flock(file.fd, LOCK_UN);
	resolved_release(at->resolver, &file);
	lock_unmark_held(LOCK_FILE);
	return rc;
}

int store_check(const struct source_path *at, const struct store_id *id, size_t n)
{
	struct resolved file = RESOLVED_INIT;
	int rc = store_open(at, id, O_WRONLY | O_APPEND, &file);
	uint64_t size = (uint64_t)file.st.st_size;
	struct rlimit limit;
	struct statvfs fs;
	if (rc == 0 && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    size + n > limit.rlim_cur)
		rc = -EFBIG;
	/* Without blocks it does not report free space. */
	if (rc == 0 && sys_fstatvfs(file.fd, &fs) == 0 && fs.f_frsize > 0 && fs.f_blocks > 0) {
		/* The rest of the file's last block is free space, too. */
		uint64_t slack = (fs.f_frsize - size % fs.f_frsize) % fs.f_frsize;
		uint64_t blocks = geteuid() == 0 ? fs.f_bfree : fs.f_bavail;
		if (n > slack && (n - slack + fs.f_frsize - 1) / fs.f_frsize > blocks)
			rc = -ENOSPC;
	}
	if (rc == 0) {
		rc = try_lock(file.fd);
		if (rc == 0)
			sys_flock(file.fd, LOCK_UN);
		else if (rc == -EAGAIN)
			rc = 0;
	}
	resolved_release(at->resolver, &file);
	return rc;
}

int store_sync(const struct source_path *at, struct stat *synced)
{
	struct resolved file = RESOLVED_INIT;
	int rc = resolve_file(at, RESOLVER_WAIT, O_RDONLY, &file);
	if (rc == 0)
		rc = store_flush_changed(at, file.fd, sys_fsync, synced);
	resolved_release(at->resolver, &file);
	return rc == ERROR_NO_SESSION ? -ESTALE : rc;
}
