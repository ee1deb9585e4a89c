/* SPDX-License-Identifier: MIT */
/* places: the two directories of a mount, checked before it is made. What is wrong with them is logged. */
#ifndef SESSIONFS_PLACES_H
#define SESSIONFS_PLACES_H

#include "sessionfs/cmd/opts.h"

/* The real path of a directory that can be read; `given`: NULL for pi's own. NULL after a message; the caller frees it.
 */
char *places_source(const char *given);
/* Warns if there is no session in the source, and names a directory below that has some. It looks at some thousand
 * names for a second at most, and into no other file system. Warns, too, if all sessions are below one directory named
 * `sessions`, and names that. */
void places_warn_empty(const char *source);
/* The real path of the mountpoint; NULL after a message. A directory that holds sessions is refused, another that is
 * not empty unless `nonempty`. The caller frees it. */
char *places_mountpoint(const char *path, const char *source, bool nonempty);
/* With -o drop_privileges, mount.fuse3 does the mount and passes its descriptor under this name. */
bool places_is_fuse_fd(const char *mountpoint);
/* The real path of the directory o->to that a copy goes to, made if the name is free; NULL after a message, which for a
 * single file (`is_file`) shows how to write it under that name. A directory that is inside or above a directory of
 * sessions is refused, and one that holds the user's home if o->removes. The caller frees it. */
char *places_copy(const struct opts *o, const char *source, bool is_file);
/* For who names no mountpoint: what would be mounted, and how. */
void places_print_hint(FILE *out);
/* Unmounts the sessions on that directory, by fusermount3; NULL: the only mount of this user. Lazily if the program
 * that served them is gone. Returns an exit status; what is wrong was said. */
int places_unmount(const char *given);

#endif
