/* SPDX-License-Identifier: MIT */
/* resolver: resolves a path of the source to a file.
 *
 * The source can be in another user's directory. Any name in it can be a link that its owner made: to a third person's
 * file, to a server that does not answer, or into our own mount. So names are looked up from a handle of the source,
 * one component at a time, and links are followed here, not by the kernel:
 *
 * - A link is followed only if its owner also owns the final target, or is the mounting user. Each link of a chain must
 *   pass (-EPERM; RESOLVER_REFUSED is the message).
 * - Our own mount is never asked (-ELOOP).
 * - The file systems on the path of the source cannot block, unless one of them is a network or FUSE file system. All
 *   other file systems are accessed on a pool thread (blocking.h): -ETIMEDOUT after a second.
 *
 * Thread-safe; holds no lock during a request. */
#ifndef SESSIONFS_RESOLVER_H
#define SESSIONFS_RESOLVER_H

#include "sessionfs/base/clock.h"
#include "sessionfs/base/error.h"
#include "sessionfs/file/blocking.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define RESOLVER_REFUSED "a link to a file of another user"
/* Returns the text of an error of a lookup here: RESOLVER_REFUSED for -EPERM, and what a timeout means. */
const char *resolver_error_text(int err);

struct resolver;
struct hash_key;
struct statx;

/* `source` is a real path. Returns 0 or a negative errno. */
int resolver_open(const char *source, struct resolver **ret);
/* Pending requests finish. */
void resolver_close(struct resolver *r);
/* Takes a reference, which can outlive resolver_close. */
struct resolver *resolver_get(struct resolver *r);
void resolver_put(struct resolver *r);
/* Sets the device of our own mount, once known. It is never asked. */
void resolver_forbid_device(struct resolver *r, dev_t device);
/* From now on, reads of files (opened_pread) mask likely keys. Call it before the first read. */
void resolver_set_redact(struct resolver *r);
bool resolver_redacts(const struct resolver *r);
/* Returns the secret for hashes of what is in the source's files. */
const struct hash_key *resolver_hash_key(const struct resolver *r);
/* Returns the pool for servers that can get stuck. */
struct blocking_pool *resolver_blocking_pool(const struct resolver *r);

/* A name under the source; borrowed. */
struct source_path {
	struct resolver *resolver; /* NULL: the path is this process's, and its lookup can block */
	const char *path;          /* relative to the source, "" is the source itself */
};

/* The time limit of an answer. Pool threads have no limit. */
enum resolve_how {
	RESOLVER_NOW,  /* -EXDEV where it can block; the caller can hold any lock */
	RESOLVER_WAIT, /* at most a second: -ETIMEDOUT, or -EINTR (cancel_check) */
};

/* The target of a name. */
struct resolved {
	int fd; /* the file */
	struct stat st;
	struct statvfs space; /* resolver_statvfs's */
	bool linked;          /* through a link or on another file system, so without events of changes */
	bool foreign;         /* its file system can block */
	bool closed;          /* a link led through a directory that is not searchable by every class */
};
#define RESOLVED_INIT                                                                                                  \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}
/* Closes the descriptor, without waiting for its server. */
void resolved_release(struct resolver *r, struct resolved *got);
/* The same for an `fd` detached from a struct resolved. */
void resolver_close_fd(struct resolver *r, int fd, bool foreign);

/* Gets the attributes of the target: `fd` stays -1. */
int resolve_stat(const struct source_path *at, enum resolve_how how, struct resolved *ret);
/* Opens a regular file with these flags (and O_NOFOLLOW, O_NONBLOCK, O_NOCTTY, O_CLOEXEC). -EISDIR or ERROR_NO_SESSION
 * if it is not one. */
int resolve_file(const struct source_path *at, enum resolve_how how, int flags, struct resolved *ret);
/* Opens a directory with O_RDONLY or O_PATH. -ENOTDIR if it is not one. The source itself is looked up again by its
 * path; later lookups start from the directory found there. */
int resolve_dir(const struct source_path *at, enum resolve_how how, int flags, struct resolved *ret);
/* Calls fn for each directory of the path, from the root on, before anything there is asked of its file system: `dir`
 * is open with O_PATH. Stops at and returns the first result of fn that is not 0; else returns 0 or a negative errno.
 */
typedef int (*resolve_dir_fn)(void *arg, int dir, const struct statx *x);
int resolve_each_dir(const char *path, resolve_dir_fn fn, void *arg);
/* Gets the space of the source's file system; waits as RESOLVER_WAIT does. -ENOENT or -ENOTDIR if the source is
 * gone. */
int resolver_statvfs(struct resolver *r, struct statvfs *ret);
/* Gets the attributes of a name in a directory that is not foreign, in one system call: identity, type, rights, size
 * and times except the atime. -EXDEV as for RESOLVER_NOW, and for a link. */
int resolve_fstatat(const struct resolver *r, int dir, const char *name, struct stat *ret);

static inline bool stat_is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Returns whether nothing shows that the file was replaced or changed in between. */
static inline bool stat_is_unchanged(const struct stat *a, const struct stat *b)
{
	return stat_is_same_file(a, b) && a->st_size == b->st_size && time_is_same(a->st_mtim, b->st_mtim) &&
	       time_is_same(a->st_ctim, b->st_ctim);
}

#endif
