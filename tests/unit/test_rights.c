/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sessionfs/file/rights.h"

enum { ADA = 1000, BOB = 1001, EVE = 1002, TEAM = 2000, CLUB = 2001 };

enum { USER_OBJ = 1, USER = 2, GROUP_OBJ = 4, GROUP = 8, MASK = 16, OTHER = 32 };

struct acl {
	unsigned char bytes[256];
	size_t n;
};

static void put(struct acl *a, uint32_t v, size_t width)
{
	for (size_t i = 0; i < width; i++)
		a->bytes[a->n++] = (unsigned char)(v >> (8 * i));
}

static void entry(struct acl *a, unsigned tag, unsigned bits, uint32_t id)
{
	if (a->n == 0)
		put(a, 2, 4);
	put(a, tag, 2);
	put(a, bits, 2);
	put(a, id, 4);
}

/* u::U,g::G,o::O and named entries as in setfacl, "u1001:5 g2000:4", with this mask (7 if negative). */
static struct rights make(uid_t uid, gid_t gid, unsigned mode, const char *named, int mask)
{
	struct rights r;
	if (!*named && mask < 0)
		return (struct rights){.uid = uid, .gid = gid, .mode = mode};
	struct acl a = {.n = 0};
	entry(&a, USER_OBJ, mode >> 6, ~0U);
	entry(&a, GROUP_OBJ, mode >> 3 & 7, ~0U);
	for (const char *p = named; *p; p += strcspn(p, " ") + (p[strcspn(p, " ")] == ' ')) {
		char what;
		unsigned id, bits;
		assert_int_equal(sscanf(p, "%c%u:%o", &what, &id, &bits), 3);
		entry(&a, what == 'u' ? USER : GROUP, bits, id);
	}
	entry(&a, MASK, mask < 0 ? 7 : (unsigned)mask, ~0U);
	entry(&a, OTHER, mode & 7, ~0U);
	assert_int_equal(rights_parse(a.bytes, a.n, uid, gid, 0777, &r), 0);
	return r;
}

/* The table in rights.h, case by case: the mode that a file of ADA and TEAM shows for an object with these rights. */
static void mode_follows_table_of_classes(void **state)
{
	static const struct {
		uid_t uid;
		gid_t gid;
		unsigned mode;
		const char *named;
		int mask;
		unsigned expected;
	} cases[] = {
	    /* the same owner and group: the mode as it is */
	    {ADA, TEAM, 0755, "", -1, 0755},
	    {ADA, TEAM, 0700, "", -1, 0700},
	    {ADA, TEAM, 0705, "", -1, 0705},
	    {ADA, TEAM, 0640, "", -1, 0640},
	    {ADA, TEAM, 0055, "", -1, 0055},
	    /* another group: its members are others, and others can be members */
	    {ADA, CLUB, 0755, "", -1, 0755},
	    {ADA, CLUB, 0750, "", -1, 0700},
	    {ADA, CLUB, 0705, "", -1, 0700},
	    {ADA, CLUB, 0711, "", -1, 0711},
	    /* another owner: ADA can be in any group, BOB in TEAM */
	    {BOB, TEAM, 0755, "", -1, 0555},
	    {BOB, TEAM, 0750, "", -1, 0050},
	    {BOB, TEAM, 0700, "", -1, 0000},
	    {BOB, TEAM, 0055, "", -1, 0500},
	    {BOB, CLUB, 0755, "", -1, 0555},
	    {BOB, CLUB, 0750, "", -1, 0000},
	    {0, 0, 0755, "", -1, 0555},
	    {0, 0, 0750, "", -1, 0000},
	    /* a user granted by name: only the owner's class */
	    {ADA, TEAM, 0600, "u1001:4", 4, 0600},
	    {ADA, TEAM, 0600, "g2001:4", 4, 0600},
	    {ADA, TEAM, 0644, "u1001:6", 6, 0644},
	    {BOB, CLUB, 0700, "u1000:5", -1, 0500},
	    /* ... or a group, if it is the file's */
	    {ADA, CLUB, 0700, "g2000:5", -1, 0750},
	    {ADA, CLUB, 0700, "g2000:5", 4, 0740},
	    {ADA, TEAM, 0710, "g2000:4", -1, 0750},
	    /* a user denied by name can be in any class but the owner's */
	    {ADA, TEAM, 0644, "u1001:0", -1, 0600},
	    {ADA, TEAM, 0644, "g2001:0", -1, 0640},
	    {ADA, TEAM, 0644, "u1000:0", -1, 0644}, /* named entries do not apply to the owner */
	    {BOB, TEAM, 0755, "u1000:0", -1, 0055},
	    {BOB, TEAM, 0755, "u1001:0", -1, 0555},
	    /* the mask */
	    {ADA, TEAM, 0660, "", 4, 0640},
	    {ADA, TEAM, 0666, "", 0, 0606},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rights r = make(cases[i].uid, cases[i].gid, cases[i].mode, cases[i].named, cases[i].mask);
		unsigned got = rights_mode(&r, ADA, TEAM);
		if (got != cases[i].expected)
			fail_msg("%u:%u %03o [%s] mask %d: %03o, expected %03o", cases[i].uid, cases[i].gid,
			         cases[i].mode, cases[i].named, cases[i].mask, got, cases[i].expected);
		rights_release(&r);
	}
}

/* The access of a user in these groups to r, by the kernel's rules, acl(5). */
static unsigned one_may(const struct rights *r, uid_t uid, bool in_team, bool in_club)
{
	unsigned bits = 0;
	bool matched = false;
	if (r->uid == uid)
		return r->mode >> 6;
	for (size_t i = 0; i < r->n; i++)
		if (!r->named[i].is_group && r->named[i].id == uid)
			return r->named[i].bits;
	if ((r->gid == TEAM && in_team) || (r->gid == CLUB && in_club)) {
		matched = true;
		bits = r->mode >> 3 & 7;
	}
	for (size_t i = 0; i < r->n; i++) {
		const struct rights_named *e = &r->named[i];
		if (e->is_group && ((e->id == TEAM && in_team) || (e->id == CLUB && in_club))) {
			matched = true;
			bits |= e->bits;
		}
	}
	return matched ? bits : r->mode & 7;
}

/* No class grants its members more than the object grants them, for any object and any user. */
static void mode_never_exceeds_acl(void **state)
{
	static const char *const acls[] = {"",        "u1000:5", "u1001:0",        "u1002:7",
	                                   "g2000:5", "g2001:0", "g2001:1 u1001:4"};
	(void)state;
	for (unsigned i = 0; i < 512 * 4 * (sizeof acls / sizeof *acls); i++) {
		unsigned mode = i % 512, owners = i / 512 % 4;
		struct rights r = make(owners & 1 ? ADA : BOB, owners & 2 ? TEAM : CLUB, mode, acls[i / 2048], 7);
		for (unsigned user = 0; user < 12; user++) {
			uid_t uid = ADA + user % 3;
			bool in_team = user / 3 & 1, in_club = user / 6 & 1;
			enum rights_class class = uid == ADA ? RIGHTS_OWNER : in_team ? RIGHTS_GROUP : RIGHTS_OTHERS;
			unsigned shown = rights_of_class(&r, class, ADA, TEAM),
				 may = one_may(&r, uid, in_team, in_club);
			if (shown & ~may & 7)
				fail_msg("%u:%u %03o [%s]: user %u gets %o, may %o", r.uid, r.gid, mode, acls[i / 2048],
				         uid, shown, may & 7);
		}
		rights_release(&r);
	}
}

/* Malformed ACLs grant access only to the owner. */
static void malformed_acls_are_rejected(void **state)
{
	struct acl good = {.n = 0};
	(void)state;
	entry(&good, USER_OBJ, 7, ~0U);
	entry(&good, USER, 7, BOB);
	entry(&good, GROUP_OBJ, 7, ~0U);
	entry(&good, MASK, 7, ~0U);
	entry(&good, OTHER, 7, ~0U);
	struct rights r;
	assert_int_equal(rights_parse(good.bytes, good.n, ADA, TEAM, 0777, &r), 0);
	assert_int_equal(rights_mode(&r, ADA, TEAM), 0777);
	rights_release(&r);
	for (size_t n = 0; n < good.n; n++) { /* truncated: a required entry is missing */
		assert_int_equal(rights_parse(good.bytes, n, ADA, TEAM, 04777, &r), -EINVAL);
		assert_int_equal(rights_mode(&r, ADA, TEAM), 0700);
		assert_null(r.named);
	}
	for (size_t at = 0; at < good.n; at++) {
		for (unsigned to = 0; to < 256; to++) { /* corrupted: no crash, and no invalid mode bits */
			struct acl bent = good;
			bent.bytes[at] = (unsigned char)to;
			int rc = rights_parse(bent.bytes, bent.n, ADA, TEAM, 0777, &r);
			assert_true(rc == 0 || rc == -EINVAL);
			assert_int_equal(rights_mode(&r, ADA, TEAM) & ~0777U, 0);
			rights_release(&r);
		}
	}
	static const unsigned twice[] = {USER_OBJ, GROUP_OBJ, MASK, OTHER, 0, 3, 64};
	for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
		struct acl bad = good;
		entry(&bad, twice[i], 7, ~0U);
		assert_int_equal(rights_parse(bad.bytes, bad.n, ADA, TEAM, 0777, &r), -EINVAL);
	}
}

/* Real ACLs of the maximum size, if the file system supports them. */
static void modes_match_real_acls(void **state)
{
	char path[] = "/tmp/sessionfs-rights-XXXXXX";
	struct rights r, again;
	struct acl a = {.n = 0};
	(void)state;
	int fd = mkostemp(path, O_CLOEXEC);
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(rights_read(fd, ADA, TEAM, 0100644, &r), 0);
	assert_int_equal(rights_mode(&r, ADA, TEAM), 0644);
	rights_release(&r);
	entry(&a, USER_OBJ, 6, ~0U);
	entry(&a, USER, 4, BOB);
	entry(&a, GROUP_OBJ, 0, ~0U);
	entry(&a, MASK, 4, ~0U);
	entry(&a, OTHER, 0, ~0U);
	if (fsetxattr(fd, "system.posix_acl_access", a.bytes, a.n, 0) < 0) {
		close(fd);
		print_message("no ACLs here: %s\n", strerror(errno));
		return;
	}
	assert_int_equal(rights_read(fd, ADA, TEAM, 0100640, &r), 0);
	assert_int_equal(rights_mode(&r, ADA, TEAM), 0600);
	assert_int_equal(rights_read(fd, ADA, TEAM, 0100640, &again), 0);
	assert_true(rights_are_equal(&r, &again));
	again.named[0].bits = 0;
	assert_false(rights_are_equal(&r, &again));
	rights_release(&r);
	rights_release(&again);

	/* More entries than the first buffer holds. */
	static unsigned char many[4 + 8 * 124];
	struct acl head = {.n = 0};
	entry(&head, USER_OBJ, 6, ~0U);
	memcpy(many, head.bytes, head.n);
	size_t n = head.n;
	for (unsigned i = 0; i < 120; i++, n += 8) {
		struct acl one = {.n = 0};
		entry(&one, USER, 4, BOB + i);
		memcpy(many + n, one.bytes + 4, 8);
	}
	struct acl tail = {.n = 0};
	entry(&tail, GROUP_OBJ, 4, ~0U);
	entry(&tail, MASK, 4, ~0U);
	entry(&tail, OTHER, 4, ~0U);
	memcpy(many + n, tail.bytes + 4, tail.n - 4);
	n += tail.n - 4;
	if (fsetxattr(fd, "system.posix_acl_access", many, n, 0) == 0) {
		assert_int_equal(rights_read(fd, ADA, TEAM, 0100644, &r), 0);
		assert_int_equal(r.n, 120);
		assert_int_equal(rights_mode(&r, ADA, TEAM), 0644);
		rights_release(&r);
	}
	close(fd);
}

static void classes_granted_all_bits(void **state)
{
	(void)state;
	assert_int_equal(mode_for_classes(0751, RIGHTS_X, 0644), 0644);
	assert_int_equal(mode_for_classes(0750, RIGHTS_X, 0666), 0660);
	assert_int_equal(mode_for_classes(0751, RIGHTS_R | RIGHTS_X, 0777), 0770);
	assert_int_equal(mode_for_classes(0000, RIGHTS_X, 0777), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(mode_follows_table_of_classes), cmocka_unit_test(mode_never_exceeds_acl),
	    cmocka_unit_test(malformed_acls_are_rejected),   cmocka_unit_test(modes_match_real_acls),
	    cmocka_unit_test(classes_granted_all_bits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
