/* SPDX-License-Identifier: MIT */
/* store: the only module that changes session files. It appends whole lines, or
 * replaces a file by a complete new one. Nothing is changed in place, but the last byte
 * of a line of its own that was cut short.
 *
 * pi takes no lock and appends with one write of one line. So do we, and look
 * afterwards whether something came in between; among ourselves flock(2) keeps order. */
#ifndef SESSIONFS_STORE_H
#define SESSIONFS_STORE_H

#include "sessionfs/base/buf.h"
#include "sessionfs/file/resolver.h"

/* The file that the name must still lead to. */
struct store_id {
	dev_t dev;
	ino_t ino;
};

/* Makes the lines to append, each ending in a newline, into `out`; none: nothing is appended. Called
 * with the file locked, so that it sees which lines will stand before its own. `attempt`
 * counts from 0; each later one means that lines of somebody else came in between.
 * Returns 0 or a negative errno, which ends the append with that. */
typedef int (*store_make)(void *arg, unsigned attempt, struct buf *out);

/* Appends to the regular file there, starting on a line of its own (a newline comes first if the file's last
 * line has none). If lines of others came in between, `make` is asked again: at once, then a few times more, each
 * when nobody has appended for some milliseconds. `synced`, unless NULL: the bytes are on the disk on return, and
 * *synced is the file as it was then. 0 on success; otherwise
 * a negative errno: -ESTALE (another file is there now), -ENOLCK (the file system cannot lock it: nothing was written),
 * -EACCES, -EROFS, -ENOSPC, -EDQUOT, -EFBIG, -EIO, ...
 * After an error our bytes are cut off again. They stay only if somebody has written behind them or the file cannot be
 * cut: lines that could not be synced as they are, and of a line cut short the part that was written. That part gets a
 * newline as its last byte, so that no line of others runs into it. */
int store_append(const struct source_path *at, const struct store_id *id, struct stat *synced, store_make make,
                 void *arg);

/* Whether an append of n bytes could succeed now: 0, -ENOSPC, -ENOLCK, -EACCES, -EROFS, -ESTALE, ... For writers that
 * look only at the error of write(2). Changes nothing. */
int store_check(const struct source_path *at, const struct store_id *id, size_t n);

/* Has what was appended before, by any program, on the disk (fsync). *synced is the file as it was when it last was;
 * while it is so, nothing needs to be done. */
int store_sync(const struct source_path *at, struct stat *synced);

/* Writes the whole new contents to fd. */
typedef int (*store_fill)(void *arg, int fd);

/* Replaces the file there by one that `fill` writes: to a temporary file beside it, with its owner, mode
 * and extended attributes, fsynced, renamed over it, the directory fsynced. All of that in the directory in which the
 * file was opened, whatever becomes of its path meanwhile. A crash at any point leaves the old or
 * the new file. -EAGAIN if the file changed meanwhile (the old one is kept); other errnos as above. */
int store_replace(const struct source_path *at, const struct store_id *id, store_fill fill, void *arg);

/* Whether this is the name of such a temporary file. */
bool store_is_temporary(const char *name);

/* Removes such a file from the directory if it was left behind: a regular file of ours that nobody has locked to fill
 * it. False if there may still be one under the name. */
bool store_remove_leftover(int dir, const char *name);

#endif
