/* SPDX-License-Identifier: MIT */
/* resolver: how a path of the source leads to a file.
 *
 * The source may lie in somebody else's directory. Any name in it may be a link that its owner made: to a third
 * person's file, to a server that does not answer, or into our own mount. So names are looked up from a handle of the
 * source, one component at a time, and links are followed here, not by the kernel:
 *
 * - A link is followed only if its owner also owns what it finally leads to, or is the mounting user. Each link of a
 *   chain must pass (-EPERM; RESOLVER_REFUSED says it in words).
 * - Our own mount is never asked (-ELOOP).
 * - A file system that the path of the source leads over cannot wait for somebody else, unless one of them is a network
 *   or FUSE file system. All others are asked by a thread that can be left behind (blocking.h): -ETIMEDOUT after a
 *   second.
 *
 * Thread-safe; holds no lock while it asks. */
#ifndef SESSIONFS_RESOLVER_H
#define SESSIONFS_RESOLVER_H

#include "sessionfs/file/blocking.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define RESOLVER_REFUSED "a link to somebody else's file"

struct resolver;

/* `source` is a real path. 0 or a negative errno. */
int resolver_open(const char *source, struct resolver **ret);
/* Requests that a thread is still waiting for go on until they end. */
void resolver_close(struct resolver *r);
/* Takes a reference, for a holder that may outlive resolver_close. */
struct resolver *resolver_get(struct resolver *r);
void resolver_put(struct resolver *r);
/* The device of our own mount, once it is known. Nothing on it is asked for. */
void resolver_forbid_device(struct resolver *r, dev_t device);
/* From now on what looks like a key is hidden in all that is read of files (opened_pread). Call it before any is. */
void resolver_set_redact(struct resolver *r);
bool resolver_redacts(const struct resolver *r);
/* The pool for servers that may not answer. */
struct blocking_pool *resolver_blocking_pool(const struct resolver *r);

/* A name under the source; borrowed. */
struct source_path {
	struct resolver *resolver; /* NULL: the path is one of this process, and looking it up may wait */
	const char *path;          /* relative to the source, "" is the source itself */
};

/* How long an answer may take. On a thread of the pool both mean: for ever. */
enum resolve_how {
	RESOLVER_NOW,  /* -EXDEV where it might wait for somebody else; any lock may be held */
	RESOLVER_WAIT, /* a second at most: -ETIMEDOUT, or -EINTR (cancel_check) */
};

/* What a name led to. */
struct resolved {
	int fd;                  /* the file */
	int dir;                 /* with RESOLVER_PLACE, O_PATH: the directory that it lies in, wherever links led */
	char name[NAME_MAX + 1]; /* and its name there, which is no link */
	struct stat st;
	struct statvfs space; /* resolver_statvfs's */
	bool linked;          /* through a link, or on another file system: changes there cause no event */
	bool foreign;         /* its file system may wait for somebody else */
	bool closed;          /* a link led through a directory whose mode does not let everybody through */
};
#define RESOLVED_INIT                                                                                                  \
	{                                                                                                              \
		.fd = -1, .dir = -1                                                                                    \
	}
/* Closes both descriptors, without waiting for their servers. */
void resolved_release(struct resolver *r, struct resolved *got);
/* The same for an `fd` that was taken out of a struct resolved. */
void resolver_close_fd(struct resolver *r, int fd, bool foreign);

/* The attributes of what the name leads to: `fd` and `dir` stay -1. */
int resolve_stat(const struct source_path *at, enum resolve_how how, struct resolved *ret);
/* Among the flags: fill in `dir` and `name`, too. */
#define RESOLVER_PLACE (1 << 30)
/* Opens a regular file with these flags (and O_NOFOLLOW, O_NONBLOCK, O_NOCTTY, O_CLOEXEC). -EISDIR or -EINVAL if
 * it is none. */
int resolve_file(const struct source_path *at, enum resolve_how how, int flags, struct resolved *ret);
/* Opens a directory with O_RDONLY or O_PATH. -ENOTDIR if it is none. The source itself is looked up anew by its path;
 * from then on everything is resolved from the directory found there. */
int resolve_dir(const struct source_path *at, enum resolve_how how, int flags, struct resolved *ret);
/* How much space there is where the source lies; it waits as RESOLVER_WAIT does. -ENOENT or -ENOTDIR if the source is
 * gone. */
int resolver_statvfs(struct resolver *r, struct statvfs *ret);
/* The attributes of a name in a directory that is not foreign, in one system call. -EXDEV as for RESOLVER_NOW, and for
 * a link. */
int resolve_fstatat(const struct resolver *r, int dir, const char *name, struct stat *ret);

#endif
