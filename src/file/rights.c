/* SPDX-License-Identifier: MIT */
#include "sessionfs/file/rights.h"

#include "sessionfs/base/sys.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The attribute as the kernel gives it, on every file system; see linux/posix_acl_xattr.h. All little-endian. */
#define ACL_NAME "system.posix_acl_access"
#define ACL_VERSION 2
#define ACL_HEADER 4
#define ACL_ENTRY 8
/* The longest value that an extended attribute can have. */
#define ACL_MOST 65536

enum { TAG_USER_OBJ = 1, TAG_USER = 2, TAG_GROUP_OBJ = 4, TAG_GROUP = 8, TAG_MASK = 16, TAG_OTHER = 32 };

#define NOBODY ((uint32_t)-1) /* no valid uid or gid */

void rights_release(struct rights *r)
{
	free(r->named);
	*r = (struct rights){0};
}

/* The owner has what the mode says, nobody else has anything. */
static struct rights owner_alone(uid_t uid, gid_t gid, mode_t mode)
{
	return (struct rights){.uid = uid, .gid = gid, .mode = mode & 0700};
}

static uint32_t le32(const char *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return le32toh(v);
}

static unsigned le16(const char *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof v);
	return le16toh(v);
}

struct acl {
	unsigned seen; /* tags */
	unsigned user, group, mask, other;
};

/* Takes in one entry; false if it is not valid. */
static bool rights_take(struct acl *a, struct rights *r, const char *p)
{
	unsigned tag = le16(p), bits = le16(p + 2);
	unsigned *to = tag == TAG_USER_OBJ    ? &a->user
	               : tag == TAG_GROUP_OBJ ? &a->group
	               : tag == TAG_MASK      ? &a->mask
	               : tag == TAG_OTHER     ? &a->other
	                                      : NULL;
	if (bits > 7 || (to && a->seen & tag) || (!to && tag != TAG_USER && tag != TAG_GROUP))
		return false;
	a->seen |= tag;
	if (to)
		*to = bits;
	else
		r->named[r->n++] = (struct rights_named){le32(p + 4), tag == TAG_GROUP, (unsigned char)bits};
	return true;
}

int rights_parse(const void *acl, size_t n, uid_t uid, gid_t gid, mode_t mode, struct rights *ret)
{
	const char *p = acl;
	struct acl a = {.mask = 7};
	struct rights r = {.uid = uid, .gid = gid};
	bool is_good = n > ACL_HEADER && (n - ACL_HEADER) % ACL_ENTRY == 0 && le32(p) == ACL_VERSION;

	*ret = owner_alone(uid, gid, mode);
	if (!is_good)
		return -EINVAL;
	r.named = calloc((n - ACL_HEADER) / ACL_ENTRY, sizeof *r.named);
	if (!r.named)
		return -ENOMEM;
	for (size_t at = ACL_HEADER; is_good && at < n; at += ACL_ENTRY)
		is_good = rights_take(&a, &r, p + at);
	const unsigned must = TAG_USER_OBJ | TAG_GROUP_OBJ | TAG_OTHER | (r.n ? TAG_MASK : 0);
	if (!is_good || (a.seen & must) != must) {
		rights_release(&r);
		return -EINVAL;
	}
	for (size_t i = 0; i < r.n; i++)
		r.named[i].bits &= (unsigned char)a.mask;
	r.mode = a.user << 6 | (a.group & a.mask) << 3 | a.other;
	*ret = r;
	return 0;
}

/* An error of the disk can be gone a moment later. */
static ssize_t rights_ask(int fd, void *p, size_t size)
{
	ssize_t n = sys_fgetxattr(fd, ACL_NAME, p, size);
	return n < 0 && errno == EIO ? sys_fgetxattr(fd, ACL_NAME, p, size) : n;
}

int rights_read(int fd, uid_t uid, gid_t gid, mode_t mode, struct rights *ret)
{
	char few[512];
	*ret = owner_alone(uid, gid, mode);
	/* An ACL grants nobody but the owner more than the bits of group and others, so it need not be read. */
	if ((mode & 077) == 0)
		return 0;
	ssize_t n = rights_ask(fd, few, sizeof few);
	if (n >= 0)
		return rights_parse(few, (size_t)n, uid, gid, mode, ret);
	if (errno == ENODATA || errno == EOPNOTSUPP) {
		ret->mode = mode & 0777;
		return 0;
	}
	if (errno != ERANGE)
		return -errno;
	char *many = malloc(ACL_MOST);
	if (!many)
		return -ENOMEM;
	n = rights_ask(fd, many, ACL_MOST);
	int rc = n < 0 ? -errno : rights_parse(many, (size_t)n, uid, gid, mode, ret);
	free(many);
	return rc;
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

/* The least of others, the group and the named groups, except those that are `but`. */
static unsigned strangers_have(const struct rights *r, gid_t but)
{
	unsigned bits = r->mode;
	if (r->gid != but)
		bits &= r->mode >> 3;
	for (size_t i = 0; i < r->n; i++)
		if (r->named[i].is_group && r->named[i].id != but)
			bits &= r->named[i].bits;
	return bits;
}

static unsigned rights_group_has(const struct rights *r, gid_t gid)
{
	bool is_known = r->gid == gid;
	unsigned bits = is_known ? r->mode >> 3 : 0;
	for (size_t i = 0; i < r->n; i++)
		if (r->named[i].is_group && r->named[i].id == gid) {
			is_known = true;
			bits |= r->named[i].bits;
		}
	return is_known ? bits : strangers_have(r, gid);
}

unsigned rights_of(const struct rights *r, enum rights_class who, uid_t uid, gid_t gid)
{
	if (who == RIGHTS_OWNER) {
		if (r->uid == uid)
			return r->mode >> 6 & 7;
		for (size_t i = 0; i < r->n; i++)
			if (!r->named[i].is_group && r->named[i].id == uid)
				return r->named[i].bits & 7;
		return strangers_have(r, NOBODY) & 7;
	}
	unsigned bits = who == RIGHTS_GROUP ? rights_group_has(r, gid) : strangers_have(r, gid);
	if (r->uid != uid)
		bits &= r->mode >> 6;
	for (size_t i = 0; i < r->n; i++)
		if (!r->named[i].is_group && r->named[i].id != uid && r->named[i].id != r->uid)
			bits &= r->named[i].bits;
	return bits & 7;
}

mode_t rights_mode(const struct rights *r, uid_t uid, gid_t gid)
{
	return rights_of(r, RIGHTS_OWNER, uid, gid) << 6 | rights_of(r, RIGHTS_GROUP, uid, gid) << 3 |
	       rights_of(r, RIGHTS_OTHERS, uid, gid);
}

mode_t rights_with(mode_t mode, unsigned bits, mode_t grant)
{
	mode_t all = 0;
	for (unsigned shift = 0; shift <= 6; shift += 3)
		if ((mode >> shift & bits) == bits)
			all |= (mode_t)7 << shift;
	return grant & all;
}
