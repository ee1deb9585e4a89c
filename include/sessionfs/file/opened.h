/* SPDX-License-Identifier: MIT */
/* opened: an open file of the source, shared by its readers.
 *
 * A read from a file whose server died never returns, not even for SIGKILL. So the pool (blocking.h) reads a file that
 * can wait for another program (resolved as `foreign`), into a buffer of its own. The reader gets -ETIMEDOUT if the
 * server does not answer in time, or -EINTR (cancel_check); a stuck thread uses nothing that the reader owns. Other
 * files are read directly.
 *
 * Thread-safe. */
#ifndef SESSIONFS_OPENED_H
#define SESSIONFS_OPENED_H

#include "sessionfs/file/resolver.h"

struct opened;

/* Every read of session files' bytes uses this. As pread(2), with a negative errno. Waits for the file's server, unlike
 * opened_pread. */
ssize_t file_pread(int fd, void *p, size_t n, uint64_t off);

/* Takes ownership of file->fd, even on failure. The caller has the first reference. `r` can be NULL. Returns 0 or
 * -ENOMEM. */
int opened_new(struct resolver *r, struct resolved *file, struct opened **ret);
struct opened *opened_get(struct opened *o);
/* Drops a reference. The last one closes the file, without waiting for its server. NULL is ignored. */
void opened_put(struct opened *o);

/* Returns the bytes of the masks that it keeps for the next reads. */
size_t opened_memory(struct opened *o);
/* Returns whether each read asks another program or machine, as over sshfs. */
bool opened_is_foreign(const struct opened *o);

/* As pread(2), with a negative errno; a short read need not be at the end of the file. If the resolver redacts, each
 * byte of a likely key (secret.h) is *, and so are lines that cannot be searched: longer than SECRET_LINE, or a last
 * line without a newline and without } at its end, which can have half a key. The masks depend only on the line, not on
 * how it is read: the whole line is read for them. -ESTALE if it changes meanwhile. */
ssize_t opened_pread(struct opened *o, void *p, size_t n, uint64_t off);
/* As opened_pread, but raw. Only for callers that show no more than secret_prefix_size allows. */
ssize_t opened_pread_raw(struct opened *o, void *p, size_t n, uint64_t off);
bool opened_redacts(const struct opened *o);
/* Finds the start of the line that contains `off`; if that is more than `most` bytes before, returns `off` - `most`.
 * Returns 0 or a negative errno (-EINTR by cancel_check). */
int opened_find_line_start(struct opened *o, uint64_t off, uint64_t most, uint64_t *ret);
/* As lseek(2) with SEEK_DATA, with a negative errno. */
int64_t opened_seek_data(struct opened *o, uint64_t off);

#endif
