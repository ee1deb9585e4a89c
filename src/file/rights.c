/* SPDX-License-Identifier: MIT */
#include "sessionfs/file/rights.h"

#include "sessionfs/base/sys.h"

#include <errno.h>

/* The size of an ACL that says the same as the mode, as Linux stores it: a header, and entries for owner, group and
 * others. */
enum { ACL_OF_MODE = 4 + 3 * 8 };

int rights_read(int fd, const struct stat *st, struct rights *ret)
{
	ssize_t n = -1;
	*ret = (struct rights){st->st_uid, st->st_gid, st->st_mode & 0700};
	/* An ACL grants group and others at most the mode's bits for them, so it does not matter. */
	if ((st->st_mode & 077) == 0)
		return 0;
	/* A disk error can be transient. */
	for (int i = 0; i < 2 && n < 0 && (i == 0 || errno == EIO); i++)
		n = sys_fgetxattr(fd, "system.posix_acl_access", NULL, 0);
	if (n < 0 && errno != ENODATA && errno != EOPNOTSUPP)
		return -errno;
	if (n <= ACL_OF_MODE)
		ret->mode = st->st_mode & 0777;
	return 0;
}

bool rights_are_equal(const struct rights *a, const struct rights *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->mode == b->mode;
}

mode_t rights_mode(const struct rights *r, uid_t uid, gid_t gid)
{
	mode_t owner = r->mode >> 6, group = r->mode >> 3 & 7, others = r->mode & 7, strangers = group & others;

	if (r->gid != gid)
		group = others = strangers;
	if (r->uid != uid)
		return (mode_t)(strangers << 6 | (group & owner) << 3 | (others & owner));
	return (mode_t)(owner << 6 | group << 3 | others);
}

mode_t mode_for_classes(mode_t mode, unsigned bits, mode_t grant)
{
	mode_t all = 0;
	for (unsigned shift = 0; shift <= 6; shift += 3)
		if ((mode >> shift & bits) == bits)
			all |= (mode_t)7 << shift;
	return grant & all;
}
