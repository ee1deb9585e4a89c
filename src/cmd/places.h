/* SPDX-License-Identifier: MIT */
/* places: the directories of a mount or a copy, checked before use. Problems are logged. */
#ifndef SESSIONFS_PLACES_H
#define SESSIONFS_PLACES_H

#include "sessionfs/cmd/opts.h"

/* Returns the real path of a readable directory; `given` NULL: pi's own. NULL after an error. The caller frees it. */
char *places_source(const char *given);
/* Warns if the source has no session, and names a directory below that has some. Visits at most a few thousand names,
 * for at most a second, and no other file system. Also warns if all sessions are below one directory named `sessions`;
 * the warning names this directory. */
void places_warn_empty(const char *source);
/* Returns the real path of the mountpoint; NULL after an error. Refuses a directory that holds sessions, and any other
 * that is not empty unless `nonempty`. The caller frees it. */
char *places_mountpoint(const char *path, const char *source, bool nonempty);
/* With -o drop_privileges, mount.fuse3 mounts and passes its descriptor under this name. */
bool places_is_fuse_fd(const char *mountpoint);
/* Returns the end of the message for a mount that failed: what to do, or "". */
const char *places_mount_remedy(void);
/* Returns the real path of o->to, the directory to copy to, which it creates if the name is free. NULL after an error,
 * whose message for a single file (`is_file`) shows how to write it under that name. Refuses a directory in a mount of
 * sessions, inside or above a directory of sessions and, if o->copy_deletes, one that holds the user's home. The caller
 * frees it. */
char *places_prepare_copy(const struct opts *o, const char *source, bool is_file);
/* Prints a hint for a command without a mountpoint. */
void places_print_hint(FILE *out);
/* Unmounts the sessions on that directory by fusermount3; NULL: the only mount of this user. Lazily if the program that
 * served them has died. Returns an exit status; logs errors. */
int places_unmount(const char *given);

#endif
