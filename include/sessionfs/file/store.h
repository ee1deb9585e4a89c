/* SPDX-License-Identifier: MIT */
/* store: the only module that changes session files. It appends whole lines, and
 * changes nothing in place, except the last byte of a truncated line of its own.
 *
 * pi takes no lock and appends each line with one write. So does this module, and checks afterwards whether other lines
 * came in between; flock(2) orders our own writers. */
#ifndef SESSIONFS_STORE_H
#define SESSIONFS_STORE_H

#include "sessionfs/base/buf.h"
#include "sessionfs/file/resolver.h"

/* The file that the name must still refer to. */
struct store_id {
	dev_t dev;
	ino_t ino;
};

/* Appends the new lines to `out`, each ending in a newline; without lines, the file stays as it is. Called with the
 * file locked, so that it sees the lines before its own. `attempt` counts from 0; each later attempt means that lines
 * of others came in between. Returns 0 or a negative errno, which ends the append with that. */
typedef int (*store_make)(void *arg, unsigned attempt, struct buf *out);

/* Appends to the regular file there, on a new line (a newline comes first if the file's last line has none). If lines
 * of others came in between, calls `make` again: at once, then a few times more, each after a few milliseconds without
 * other appends. Unless `synced` is NULL, the bytes and the name are on the disk on return, and *synced is the state of
 * the file then. Returns 0 or a negative errno: -ESTALE (another file is there now), -ENOLCK (the file system cannot
 * lock it: nothing was written), -EACCES, -EROFS, -ENOSPC, -EDQUOT, -EFBIG, -EIO, ...
 *
 * After an error our bytes are removed again. They stay only if other bytes follow them or the file cannot be
 * truncated: whole lines that could not be synced, or the written part of a truncated line. That part gets a newline as
 * its last byte, so that the next line does not run into it. */
int store_append(const struct source_path *at, const struct store_id *id, struct stat *synced, store_make make,
                 void *arg);

/* Checks whether an append of n bytes could succeed now: returns 0, -ENOSPC, -ENOLCK, -EACCES, -EROFS, -ESTALE, ... For
 * writers that check only the error of write(2). Changes nothing. */
int store_check(const struct source_path *at, const struct store_id *id, size_t n);

/* Syncs earlier appends of any program to the disk (fsync), and the name of the file. *synced is the state of the file
 * at the last sync; if the file is unchanged since, this does nothing. */
int store_sync(const struct source_path *at, struct stat *synced);

#endif
