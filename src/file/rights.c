/* SPDX-License-Identifier: MIT */
#include "sessionfs/file/rights.h"

#include "sessionfs/base/cleanup.h"
#include "sessionfs/base/sys.h"

#include <endian.h>
#include <errno.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdlib.h>
#include <string.h>

/* The attribute as the kernel gives it, on every file system: a header and entries, all little-endian. */
#define ACL_NAME "system.posix_acl_access"
/* The longest value that an extended attribute can have. */
#define ACL_SIZE_MAX 65536

#define NO_RIGHTS ((uint32_t)-1) /* no valid uid or gid */

void rights_release(struct rights *r)
{
	free(r->named);
	*r = (struct rights){0};
}

/* Grants the owner the mode's bits, and others nothing. */
static struct rights rights_owner_only(uid_t uid, gid_t gid, mode_t mode)
{
	return (struct rights){.uid = uid, .gid = gid, .mode = mode & 0700};
}

int rights_parse(const void *acl, size_t n, uid_t uid, gid_t gid, mode_t mode, struct rights *ret)
{
	struct posix_acl_xattr_header head;
	struct posix_acl_xattr_entry e;
	unsigned seen = 0, has[ACL_OTHER + 1] = {[ACL_MASK] = 7}; /* tags; bits by tag */
	struct rights r = {.uid = uid, .gid = gid};

	*ret = rights_owner_only(uid, gid, mode);
	if (n <= sizeof head || (n - sizeof head) % sizeof e != 0)
		return -EINVAL;
	memcpy(&head, acl, sizeof head);
	bool is_good = le32toh(head.a_version) == POSIX_ACL_XATTR_VERSION;
	r.named = calloc((n - sizeof head) / sizeof e, sizeof *r.named);
	if (!r.named)
		return -ENOMEM;
	for (size_t at = sizeof head; is_good && at < n; at += sizeof e) {
		memcpy(&e, (const char *)acl + at, sizeof e);
		unsigned tag = le16toh(e.e_tag), bits = le16toh(e.e_perm);
		bool is_named = tag == ACL_USER || tag == ACL_GROUP;
		/* Each of the other tags is also a bit, and occurs once. */
		bool is_first = tag && tag <= ACL_OTHER && !(tag & (tag - 1)) && !(seen & tag);
		is_good = bits <= 7 && (is_named || is_first);
		if (is_good && is_named)
			r.named[r.n++] = (struct rights_named){le32toh(e.e_id), tag == ACL_GROUP, (unsigned char)bits};
		else if (is_good)
			has[tag] = bits;
		seen |= tag;
	}
	const unsigned must = ACL_USER_OBJ | ACL_GROUP_OBJ | ACL_OTHER | (r.n ? ACL_MASK : 0);
	if (!is_good || (seen & must) != must) {
		rights_release(&r);
		return -EINVAL;
	}
	for (size_t i = 0; i < r.n; i++)
		r.named[i].bits &= (unsigned char)has[ACL_MASK];
	r.mode = has[ACL_USER_OBJ] << 6 | (has[ACL_GROUP_OBJ] & has[ACL_MASK]) << 3 | has[ACL_OTHER];
	*ret = r;
	return 0;
}

/* A disk error can be transient. */
static ssize_t read_acl(int fd, void *p, size_t size)
{
	ssize_t n = sys_fgetxattr(fd, ACL_NAME, p, size);
	return n < 0 && errno == EIO ? sys_fgetxattr(fd, ACL_NAME, p, size) : n;
}

int rights_read(int fd, uid_t uid, gid_t gid, mode_t mode, struct rights *ret)
{
	char few[512];
	*ret = rights_owner_only(uid, gid, mode);
	/* An ACL grants group and others at most the mode's bits for them, so it need not be read. */
	if ((mode & 077) == 0)
		return 0;
	ssize_t n = read_acl(fd, few, sizeof few);
	if (n >= 0)
		return rights_parse(few, (size_t)n, uid, gid, mode, ret);
	if (errno == ENODATA || errno == EOPNOTSUPP) {
		ret->mode = mode & 0777;
		return 0;
	}
	if (errno != ERANGE)
		return -errno;
	char *many CLEANUP_FREE = malloc(ACL_SIZE_MAX);
	if (!many)
		return -ENOMEM;
	n = read_acl(fd, many, ACL_SIZE_MAX);
	return n < 0 ? -errno : rights_parse(many, (size_t)n, uid, gid, mode, ret);
}

bool rights_are_equal(const struct rights *a, const struct rights *b)
{
	if (a->uid != b->uid || a->gid != b->gid || a->mode != b->mode || a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct rights_named *x = &a->named[i], *y = &b->named[i];
		if (x->id != y->id || x->is_group != y->is_group || x->bits != y->bits)
			return false;
	}
	return true;
}

/* Returns the intersection of the bits of others, the group and the named groups, ignoring the group `but`. */
static unsigned rights_of_strangers(const struct rights *r, gid_t but)
{
	unsigned bits = r->mode;
	if (r->gid != but)
		bits &= r->mode >> 3;
	for (size_t i = 0; i < r->n; i++)
		if (r->named[i].is_group && r->named[i].id != but)
			bits &= r->named[i].bits;
	return bits;
}

static unsigned rights_of_group(const struct rights *r, gid_t gid)
{
	bool is_known = r->gid == gid;
	unsigned bits = is_known ? r->mode >> 3 : 0;
	for (size_t i = 0; i < r->n; i++)
		if (r->named[i].is_group && r->named[i].id == gid) {
			is_known = true;
			bits |= r->named[i].bits;
		}
	return is_known ? bits : rights_of_strangers(r, gid);
}

unsigned rights_of_class(const struct rights *r, enum rights_class who, uid_t uid, gid_t gid)
{
	if (who == RIGHTS_OWNER) {
		if (r->uid == uid)
			return r->mode >> 6 & 7;
		for (size_t i = 0; i < r->n; i++)
			if (!r->named[i].is_group && r->named[i].id == uid)
				return r->named[i].bits & 7;
		return rights_of_strangers(r, NO_RIGHTS) & 7;
	}
	unsigned bits = who == RIGHTS_GROUP ? rights_of_group(r, gid) : rights_of_strangers(r, gid);
	if (r->uid != uid)
		bits &= r->mode >> 6;
	for (size_t i = 0; i < r->n; i++)
		if (!r->named[i].is_group && r->named[i].id != uid && r->named[i].id != r->uid)
			bits &= r->named[i].bits;
	return bits & 7;
}

mode_t rights_mode(const struct rights *r, uid_t uid, gid_t gid)
{
	return rights_of_class(r, RIGHTS_OWNER, uid, gid) << 6 | rights_of_class(r, RIGHTS_GROUP, uid, gid) << 3 |
	       rights_of_class(r, RIGHTS_OTHERS, uid, gid);
}

mode_t mode_for_classes(mode_t mode, unsigned bits, mode_t grant)
{
	mode_t all = 0;
	for (unsigned shift = 0; shift <= 6; shift += 3)
		if ((mode >> shift & bits) == bits)
			all |= (mode_t)7 << shift;
	return grant & all;
}
