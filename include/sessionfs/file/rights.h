/* SPDX-License-Identifier: MIT */
/* rights: the access to a file or directory that every member of a class of users (owner, group, others) has.
 *
 * The kernel checks access to the mount by three classes, made from the owner and group of a session file. But access
 * to a session depends on that file and on the directories above it, each with an owner and a group of its own. So a
 * class is granted only what each of them grants to every member of the class, whatever other groups those users are
 * in:
 *
 * - owner (uid): its owner's permissions if the owner is uid; else the intersection of its group and others, because
 *   uid's groups are unknown.
 * - group (gid's members except uid): its group's permissions if the group is gid; else the same intersection, because
 *   another group counts as others.
 * - others (neither uid nor in gid): the permissions of others; if the group is not gid, the same intersection.
 *
 * The last two are further reduced to the owner's permissions, if the owner is not uid: the owner can be in the class.
 * A file or directory with an ACL grants access only to its owner. */
#ifndef SESSIONFS_RIGHTS_H
#define SESSIONFS_RIGHTS_H

#include <stdbool.h>
#include <sys/stat.h>

/* Bits of one class, as in a mode. */
enum { RIGHTS_R = 4, RIGHTS_W = 2, RIGHTS_X = 1 };

/* All zero: no access. */
struct rights {
	uid_t uid;
	gid_t gid;
	mode_t mode; /* 0777 at most; 0700 at most with an ACL */
};

/* Gets the rights of an open file or directory with these attributes. Returns 0, or a negative errno if it is unknown
 * whether it has an ACL; then *ret grants access only to the owner. */
int rights_read(int fd, const struct stat *st, struct rights *ret);
bool rights_are_equal(const struct rights *a, const struct rights *b);

/* Returns the access to r of every member of the three classes of (uid, gid), as a mode. */
mode_t rights_mode(const struct rights *r, uid_t uid, gid_t gid);
/* Returns the part of `grant` (a mode) for classes that have all of `bits` in `mode`. */
mode_t mode_for_classes(mode_t mode, unsigned bits, mode_t grant);

#endif
