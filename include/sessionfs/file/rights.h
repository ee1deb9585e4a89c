/* rights: what a class of users (owner, group, others) surely may do with a file or directory.
 *
 * The kernel judges what we show by three classes, made from the owner and group of a session file. What we show is
 * made from that file and from what lies behind the directories above it, and each of these has an owner, a group and
 * perhaps an ACL of its own. So a class of the one is granted only what the other grants to everybody in it, whoever
 * they are and whatever other groups they are in:
 *
 *   the class, for (uid, gid)        what counts in a file or directory
 *   owner: uid                       what its owner has, if that is uid; else the named user uid, if there is one;
 *                                    else the least of its group, its named groups and others: nobody knows in which
 *                                    groups uid is
 *   group: gid's members but uid     the most of its group and its named groups that are gid; if none is, the least
 *                                    of its group, its named groups and others (another group counts as others)
 *   others: neither uid nor in gid   the least of others, its group and its named groups, but for those that are gid
 *
 * and of the last two the least of that, of what its owner has if that is not uid, and of each named user who is
 * neither: any of them may be in the class. So whoever is denied by name denies the whole class, and who is granted
 * by name alone is granted nothing. */
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

/* Release with rights_release. All zero: nothing for anybody. */
struct rights {
	uid_t uid;
	gid_t gid;
	mode_t mode; /* 0777 at most; the group's bits are the owning group's, not the mask */
	struct rights_named *named;
	size_t n;
};

/* Of an open file or directory. `mode` as fstat gives it. 0 or a negative errno; then nobody but the owner has
 * anything. */
int rights_read(int fd, uid_t uid, gid_t gid, mode_t mode, struct rights *ret);
/* As rights_read, from the bytes of the extended attribute "system.posix_acl_access"; -EINVAL if they are none. */
int rights_parse(const void *acl, size_t n, uid_t uid, gid_t gid, mode_t mode, struct rights *ret);
void rights_release(struct rights *r);
bool rights_are_equal(const struct rights *a, const struct rights *b);

/* What everybody in the class of (uid, gid) may do with r. */
unsigned rights_of(const struct rights *r, enum rights_class who, uid_t uid, gid_t gid);
/* The same of all three classes, as a mode. */
mode_t rights_mode(const struct rights *r, uid_t uid, gid_t gid);
/* Of `grant`, a mode, what is for classes that have all of `bits` in `mode`. */
mode_t rights_with(mode_t mode, unsigned bits, mode_t grant);

#endif
