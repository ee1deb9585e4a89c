/* SPDX-License-Identifier: MIT */
#include "cases.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sessionfs/file/rights.h"

enum { ADA = 1000, BOB = 1001, TEAM = 2000, CLUB = 2001 };

/* The mode that a file of ADA and TEAM shows for an object of this owner, group and mode. */
CASE(mode_follows_owner_and_group)
{
	static const struct {
		uid_t uid;
		gid_t gid;
		unsigned mode, expected;
	} cases[] = {
	    /* the same owner and group: the mode as it is */
	    {ADA, TEAM, 0755, 0755},
	    {ADA, TEAM, 0700, 0700},
	    {ADA, TEAM, 0705, 0705},
	    {ADA, TEAM, 0640, 0640},
	    {ADA, TEAM, 0055, 0055},
	    /* another group: its members are others, and others can be members */
	    {ADA, CLUB, 0755, 0755},
	    {ADA, CLUB, 0750, 0700},
	    {ADA, CLUB, 0705, 0700},
	    {ADA, CLUB, 0711, 0711},
	    /* another owner: ADA can be in any group, BOB in TEAM */
	    {BOB, TEAM, 0755, 0555},
	    {BOB, TEAM, 0750, 0050},
	    {BOB, TEAM, 0700, 0000},
	    {BOB, TEAM, 0055, 0500},
	    {BOB, CLUB, 0755, 0555},
	    {BOB, CLUB, 0750, 0000},
	    {0, 0, 0755, 0555},
	    {0, 0, 0750, 0000},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rights r = {cases[i].uid, cases[i].gid, cases[i].mode};
		unsigned got = rights_mode(&r, ADA, TEAM);
		if (got != cases[i].expected)
			fail_msg("%u:%u %03o: %03o, expected %03o", r.uid, r.gid, r.mode, got, cases[i].expected);
	}
}

/* The access of a user in these groups to r, by the kernel's rules. */
static unsigned one_may(const struct rights *r, uid_t uid, bool in_team, bool in_club)
{
	if (r->uid == uid)
		return r->mode >> 6;
	return (r->gid == TEAM ? in_team : in_club) ? r->mode >> 3 & 7 : r->mode & 7;
}

/* No class grants its members more than the object grants them, for any object and any user. */
CASE(mode_never_exceeds_rights)
{
	for (unsigned i = 0; i < 512 * 4; i++) {
		unsigned mode = i % 512, owners = i / 512;
		struct rights r = {owners & 1 ? ADA : BOB, owners & 2 ? TEAM : CLUB, mode};
		for (unsigned user = 0; user < 12; user++) {
			uid_t uid = ADA + user % 3;
			bool in_team = user / 3 & 1, in_club = user / 6 & 1;
			unsigned shift = uid == ADA ? 6
			                 : in_team  ? 3
			                            : 0,
				 may = one_may(&r, uid, in_team, in_club), shown = rights_mode(&r, ADA, TEAM) >> shift;
			if (shown & ~may & 7)
				fail_msg("%u:%u %03o: user %u gets %o, may %o", r.uid, r.gid, mode, uid, shown & 7,
				         may & 7);
		}
	}
}

static void assert_rights(int fd, mode_t mode, mode_t expected)
{
	struct rights r, again;
	const struct stat st = {.st_uid = ADA, .st_gid = TEAM, .st_mode = mode};
	assert_int_equal(rights_read(fd, &st, &r), 0);
	assert_int_equal(rights_mode(&r, ADA, TEAM), expected);
	assert_int_equal(rights_read(fd, &st, &again), 0);
	assert_true(rights_are_equal(&r, &again));
	again.mode ^= 1;
	assert_false(rights_are_equal(&r, &again));
}

/* With an ACL beyond the mode, only the owner has access, also where it grants more. */
CASE(acl_leaves_access_to_owner)
{
	/* u::6 u:BOB:4 g::4 m::4 o::4. */
	static unsigned char acl[] = {2, 0,    0,    0,    1,    0,    6,    0, 0xff, 0xff, 0xff, 0xff, 2,    0,   4,
	                              0, 0xe9, 3,    0,    0,    4,    0,    4, 0,    0xff, 0xff, 0xff, 0xff, 16,  0,
	                              4, 0,    0xff, 0xff, 0xff, 0xff, 0x20, 0, 4,    0,    0xff, 0xff, 0xff, 0xff};
	char path[] = "/tmp/sessionfs-rights-XXXXXX";
	struct rights r;
	int fd = mkostemp(path, O_CLOEXEC);
	assert_true(fd >= 0);
	unlink(path);
	assert_rights(fd, 0100644, 0644);
	assert_rights(fd, 0104755, 0755);
	/* Then without BOB: the mode has the mask in place of the rights of the group. */
	for (size_t n = sizeof acl; n >= sizeof acl - 8; n -= 8) {
		if (fsetxattr(fd, "system.posix_acl_access", acl, n, 0) < 0) {
			print_message("no ACLs here: %s\n", strerror(errno));
			break;
		}
		assert_rights(fd, 0100644, 0600);
		assert_rights(fd, 0104777, 0700);
		assert_rights(fd, 0100400, 0400);
		memmove(acl + 12, acl + 20, sizeof acl - 20);
	}
	close(fd);
	assert_int_equal(rights_read(fd, &(struct stat){.st_mode = 0100600}, &r), 0);
	assert_int_equal(rights_read(fd, &(struct stat){.st_mode = 0100644}, &r), -EBADF);
	assert_int_equal(r.mode, 0600);
}

CASE(classes_granted_all_bits)
{
	assert_int_equal(mode_for_classes(0751, RIGHTS_X, 0644), 0644);
	assert_int_equal(mode_for_classes(0750, RIGHTS_X, 0666), 0660);
	assert_int_equal(mode_for_classes(0751, RIGHTS_R | RIGHTS_X, 0777), 0770);
	assert_int_equal(mode_for_classes(0000, RIGHTS_X, 0777), 0);
}

RUN_CASES(NULL, NULL)
