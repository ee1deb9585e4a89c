/* SPDX-License-Identifier: MIT */
/* A file system that shows a directory like a slow server: each lookup and each getattr takes MILLISECONDS, each on its
 * own thread. While the file GATE exists, no request is answered. Nothing is cached, except for the moment in which one
 * stat(2) is a lookup and a getattr. Files can be created, appended to and locked, nothing else.
 *
 * In the environment: SLOWFS_EVERY=1: every request takes that long. SLOWFS_LOCK=ERRNO: flock(2) fails with it.
 * SLOWFS_LOG=FILE: each request appends a letter to it, see `request`.
 *
 * usage: slowfs MILLISECONDS GATE DIRECTORY MOUNTPOINT [OPTION...] */
#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *gate;
static useconds_t delay_us, other_us;
static int root, requests = -1, lock_errno;

/* libfuse 3.14 never declares that lookups in one directory can run in parallel (FUSE_PARALLEL_DIROPS), and the kernel
 * then sends one at a time. So the first answer, to INIT, is patched; its flags are the fourth word. */
ssize_t writev(int fd, const struct iovec *parts, int n)
{
	static int is_said;
	if (!is_said && n == 2 && parts[1].iov_len > 16) {
		((uint32_t *)parts[1].iov_base)[3] |= 1 << 18;
		is_said = 1;
	}
	return syscall(SYS_writev, fd, parts, n);
}

static void wait_for_gate(void)
{
	while (access(gate, F_OK) == 0)
		usleep(1000);
}

/* Logs a request: getattr, open, read, directory, write, lock. */
static void request(const char *letter)
{
	if (requests >= 0 && write(requests, letter, 1) < 0)
		abort();
	usleep(*letter == 'g' ? delay_us : other_us);
}

/* Returns the path relative to the shown directory. */
static const char *below(const char *path)
{
	wait_for_gate();
	return path[1] ? path + 1 : ".";
}

static int slow_getattr(const char *path, struct stat *ret, struct fuse_file_info *file)
{
	(void)file;
	request("g");
	return fstatat(root, below(path), ret, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int slow_open(const char *path, struct fuse_file_info *file)
{
	request("o");
	int fd = openat(root, below(path), file->flags | O_CLOEXEC);
	file->fh = (uint64_t)fd;
	return fd < 0 ? -errno : 0;
}

static int slow_create(const char *path, mode_t mode, struct fuse_file_info *file)
{
	request("o");
	int fd = openat(root, below(path), file->flags | O_CREAT | O_CLOEXEC, mode);
	file->fh = (uint64_t)fd;
	return fd < 0 ? -errno : 0;
}

static int slow_read(const char *path, char *p, size_t n, off_t off, struct fuse_file_info *file)
{
	(void)path;
	request("r");
	wait_for_gate();
	ssize_t k = pread((int)file->fh, p, n, off);
	return k < 0 ? -errno : (int)k;
}

/* It is open with O_APPEND if the kernel's file is: then the write goes to the end, whatever offset the kernel has. */
static int slow_write(const char *path, const char *p, size_t n, off_t off, struct fuse_file_info *file)
{
	(void)path;
	request("w");
	wait_for_gate();
	ssize_t k = pwrite((int)file->fh, p, n, off);
	return k < 0 ? -errno : (int)k;
}

static int slow_flock(const char *path, struct fuse_file_info *file, int how)
{
	(void)path;
	request("l");
	return lock_errno ? -lock_errno : flock((int)file->fh, how) < 0 ? -errno : 0;
}

static int slow_release(const char *path, struct fuse_file_info *file)
{
	(void)path;
	return close((int)file->fh);
}

static int slow_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t off, struct fuse_file_info *file,
                        enum fuse_readdir_flags flags)
{
	(void)off, (void)file, (void)flags;
	request("d");
	int fd = openat(root, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	if (!dir)
		return -errno;
	while ((d = readdir(dir))) {
		struct stat st = {.st_ino = d->d_ino, .st_mode = (mode_t)DTTOIF(d->d_type)};
		fill(buf, d->d_name, &st, 0, 0);
	}
	return closedir(dir);
}

static void *keep_nothing(struct fuse_conn_info *conn, struct fuse_config *config)
{
	(void)conn;
	config->entry_timeout = config->negative_timeout = 0;
	config->attr_timeout = 0.001;
	config->use_ino = 1;
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct fuse_operations operations = {
	    .init = keep_nothing,
	    .getattr = slow_getattr,
	    .open = slow_open,
	    .create = slow_create,
	    .read = slow_read,
	    .write = slow_write,
	    .flock = slow_flock,
	    .release = slow_release,
	    .readdir = slow_readdir,
	};
	if (argc < 5)
		return 2;
	delay_us = (useconds_t)atoi(argv[1]) * 1000;
	other_us = getenv("SLOWFS_EVERY") ? delay_us : 0;
	lock_errno = getenv("SLOWFS_LOCK") ? atoi(getenv("SLOWFS_LOCK")) : 0;
	if (getenv("SLOWFS_LOG"))
		requests = open(getenv("SLOWFS_LOG"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	gate = argv[2];
	root = open(argv[3], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return 1;
	char many[] = "-omax_threads=1000";
	argv[2] = argv[0], argv[3] = many;
	return fuse_main(argc - 2, argv + 2, &operations, NULL);
}
