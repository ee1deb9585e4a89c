/* SPDX-License-Identifier: MIT */
/* opened: an open file of the source, shared by its readers.
 *
 * A read from a file whose server died never returns, not even for SIGKILL. So a file that may wait for somebody else
 * (resolved as `foreign`) is read by the pool (blocking.h), into a buffer of its own. The reader gets -ETIMEDOUT if the
 * server does not answer in time, or -EINTR (cancel_check); a thread that is left behind needs nothing that the reader
 * owns. Other files are read directly.
 *
 * Thread-safe. */
#ifndef SESSIONFS_OPENED_H
#define SESSIONFS_OPENED_H

#include "sessionfs/file/resolver.h"

struct opened;

/* The one door to what session files hold: every read of their bytes goes through it. As pread(2), with a negative
 * errno. It waits for whoever serves the file: opened_pread does not. */
ssize_t contents_read(int fd, void *p, size_t n, uint64_t off);

/* Takes file->fd over, even if it fails. The first reference is the caller's. `r` can be NULL. 0 or -ENOMEM. */
int opened_new(struct resolver *r, struct resolved *file, struct opened **ret);
struct opened *opened_get(struct opened *o);
/* Gives back a reference. The last one closes the file, without waiting for its server. NULL is ignored. */
void opened_put(struct opened *o);

/* Whether each read asks another program or machine, as over sshfs. */
bool opened_is_foreign(const struct opened *o);

/* As pread(2), with a negative errno. Fewer than n bytes do not mean that the file ends there. */
ssize_t opened_pread(struct opened *o, void *p, size_t n, uint64_t off);
/* As lseek(2) with SEEK_DATA, with a negative errno. */
int64_t opened_data(struct opened *o, uint64_t off);

#endif
