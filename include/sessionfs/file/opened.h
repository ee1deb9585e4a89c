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
ssize_t file_pread(int fd, void *p, size_t n, uint64_t off);

/* Takes file->fd over, even if it fails. The first reference is the caller's. `r` can be NULL. 0 or -ENOMEM. */
int opened_new(struct resolver *r, struct resolved *file, struct opened **ret);
struct opened *opened_get(struct opened *o);
/* Gives back a reference. The last one closes the file, without waiting for its server. NULL is ignored. */
void opened_put(struct opened *o);

/* Whether each read asks another program or machine, as over sshfs. */
bool opened_is_foreign(const struct opened *o);

/* As pread(2), with a negative errno. Fewer than n bytes do not mean that the file ends there. Where the resolver
 * redacts, each byte is * that belongs to what looks like a key (secret.h), and so are the lines that nobody can look
 * through: one longer than SECRET_LINE, and a last one without a newline and without } at its end, in which a key may
 * be half written. What is hidden depends on the line alone, not on how it is read; the line is read for it. -ESTALE if
 * it changes meanwhile. */
ssize_t opened_pread(struct opened *o, void *p, size_t n, uint64_t off);
/* The same of the bytes as they are stored. Only for who shows none of them but what secret_prefix_size allows. */
ssize_t opened_pread_raw(struct opened *o, void *p, size_t n, uint64_t off);
bool opened_redacts(const struct opened *o);
/* Where the line begins that contains `off`; one that begins more than `most` bytes before, as if it began there. 0 or
 * a negative errno (-EINTR by cancel_check). */
int opened_find_line_start(struct opened *o, uint64_t off, uint64_t most, uint64_t *ret);
/* As lseek(2) with SEEK_DATA, with a negative errno. */
int64_t opened_seek_data(struct opened *o, uint64_t off);

#endif
