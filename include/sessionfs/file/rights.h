/* SPDX-License-Identifier: MIT */
/* rights: the access to a file or directory that every member of a class of users (owner, group, others) has.
 *
 * The kernel checks access to the mount by three classes, made from the owner and group of a session file. But access
 * to a session depends on that file and on the directories above it, each with an owner, a group and perhaps an ACL of
 * its own. So a class is granted only what each of them grants to every member of the class, whatever other groups
 * those users are in:
 *
 * - owner (uid): its owner's permissions if the owner is uid; else the named user uid's permissions, if any; else the
 *   intersection of its group, its named groups and others, because uid's groups are unknown.
 * - group (gid's members except uid): the union of its group and named groups that are gid; without these, the
 *   intersection of its group, its named groups and others (another group counts as others).
 * - others (neither uid nor in gid): the intersection of others, its group and its named groups, except those that are
 *   gid.
 *
 * The last two are further reduced to the owner's permissions, if the owner is not uid, and to each other named user's:
 * any of them can be in the class. So denying one user by name denies the whole class, and granting one user by name
 * grants the class nothing. */
#ifndef SESSIONFS_RIGHTS_H
#define SESSIONFS_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum rights_class { RIGHTS_OWNER, RIGHTS_GROUP, RIGHTS_OTHERS };

/* Bits of one class, as in a mode. */
enum { RIGHTS_R = 4, RIGHTS_W = 2, RIGHTS_X = 1 };

/* A user or group that an ACL names; `bits` are within its mask. */
struct rights_named {
	uint32_t id;
	bool is_group;
	unsigned char bits;
};

/* Release with rights_release. All zero: no access. */
struct rights {
	uid_t uid;
	gid_t gid;
	mode_t mode; /* 0777 at most; the group's bits are the owning group's, not the mask */
	struct rights_named *named;
	size_t n;
};

/* Gets the rights of an open file or directory. `mode` is as fstat gives it. Returns 0 or a negative errno; then *ret
 * grants access only to the owner. */
int rights_read(int fd, uid_t uid, gid_t gid, mode_t mode, struct rights *ret);
/* As rights_read, from the bytes of the extended attribute "system.posix_acl_access"; -EINVAL if invalid. */
int rights_parse(const void *acl, size_t n, uid_t uid, gid_t gid, mode_t mode, struct rights *ret);
void rights_release(struct rights *r);
bool rights_are_equal(const struct rights *a, const struct rights *b);

/* Returns the access to r of every member of the class of (uid, gid). */
unsigned rights_of_class(const struct rights *r, enum rights_class who, uid_t uid, gid_t gid);
/* Returns this for all three classes, as a mode. */
mode_t rights_mode(const struct rights *r, uid_t uid, gid_t gid);
/* Returns the part of `grant` (a mode) for classes that have all of `bits` in `mode`. */
mode_t mode_for_classes(mode_t mode, unsigned bits, mode_t grant);

#endif
