/* SPDX-License-Identifier: MIT */
/* Replacing a whole file. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "store_fixture.h"

/* ---- replacing ---- */

static int fill(void *arg, int fd)
{
	const char *text = arg;
	return sys_write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;
}

static int replace(const char *text)
{
	return store_replace(&place.leaf, &place.id, fill, (void *)(uintptr_t)text);
}

static int fill_refuses(void *arg, int fd)
{
	(void)arg;
	return sys_write(fd, "half", 4) == 4 ? -EPERM : -errno;
}

static int fill_while_pi_appends(void *arg, int fd)
{
	add_file(place.path, PI);
	return fill(arg, fd);
}

static int fill_while_replaced(void *arg, int fd)
{
	replaced();
	return fill(arg, fd);
}

static void replaces(void **state)
{
	struct stat st;

	(void)state;
	start(OLD);
	assert_int_equal(chmod(place.path, 0640), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(place.path, 1234, 4321), 0);
	bool attributed = setxattr(place.path, "user.sessionfs", "kept", 4, 0) == 0;
	assert_int_equal(replace("new\n"), 0);
	assert_file("new\n");
	assert_int_equal(files_beside(), 1);
	assert_int_equal(stat(place.path, &st), 0);
	assert_int_not_equal(st.st_ino, place.id.ino);
	assert_int_equal(st.st_mode, S_IFREG | 0640);
	if (geteuid() == 0) {
		assert_int_equal(st.st_uid, 1234);
		assert_int_equal(st.st_gid, 4321);
	}
	char value[8];
	if (attributed)
		assert_int_equal(getxattr(place.path, "user.sessionfs", value, sizeof value), 4);
	/* The file has a new inode. */
	assert_int_equal(replace("newer\n"), -ESTALE);
	assert_file("new\n");
}

/* The contents are synced before the rename, and the rename before the lock is released. */
static void replace_syncs_before_rename(void **state)
{
	(void)state;
	start(OLD);
	note_calls();
	assert_int_equal(replace("new\n"), 0);
	assert_calls("flock flock write chmod fsync rename fsync flock");
}

/* The link stays; its target is replaced. */
static void replace_keeps_a_link(void **state)
{
	struct stat st;
	char there[80];

	(void)state;
	start(OLD);
	snprintf(there, sizeof there, "%s/link", place.dir);
	assert_int_equal(symlink("s.jsonl", there), 0);
	assert_int_equal(
	    store_replace(&(struct source_path){NULL, there}, &place.id, fill, (void *)(uintptr_t) "new\n"), 0);
	assert_int_equal(lstat(there, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_file("new\n");
	assert_int_equal(files_beside(), 2);
}

static void failed_replace_keeps_old_file(void **state)
{
	(void)state;
	start(OLD);
	assert_int_equal(store_replace(&place.leaf, &place.id, fill_refuses, NULL), -EPERM);
	assert_file(OLD);
	assert_int_equal(store_replace(&place.leaf, &place.id, fill_while_pi_appends, (void *)(uintptr_t) "new\n"),
	                 -EAGAIN);
	assert_file(OLD PI);
	assert_int_equal(files_beside(), 1);
	assert_int_equal(store_replace(&place.leaf, &place.id, fill_while_replaced, (void *)(uintptr_t) "new\n"),
	                 -ESTALE);
	assert_file("another\n");
	assert_file_at(place.away, OLD PI);
	assert_int_equal(files_beside(), 2);
	unlink(place.path);
	assert_int_equal(replace("new\n"), -ESTALE);
}

/* Replaces the file's directory with a link to another one that contains a file of the same name. */
static int fill_while_led_astray(void *arg, int fd)
{
	char real[80], other[80], there[96];

	snprintf(real, sizeof real, "%s.real", place.dir);
	snprintf(other, sizeof other, "%s.other", place.dir);
	snprintf(there, sizeof there, "%s/s.jsonl", other);
	assert_int_equal(mkdir(other, 0700), 0);
	put_file(there, "theirs\n");
	assert_int_equal(rename(place.dir, real), 0);
	assert_int_equal(symlink(other, place.dir), 0);
	return fill(arg, fd);
}

/* In a directory that replaced the file's own, nothing is created, renamed or removed. */
static void replace_ignores_swapped_directory(void **state)
{
	char real[80], other[80], there[96];

	(void)state;
	start(OLD);
	snprintf(real, sizeof real, "%s.real", place.dir);
	snprintf(other, sizeof other, "%s.other", place.dir);
	snprintf(there, sizeof there, "%s/s.jsonl", other);
	assert_int_equal(store_replace(&place.leaf, &place.id, fill_while_led_astray, (void *)(uintptr_t) "new\n"),
	                 -ESTALE);
	assert_file_at(there, "theirs\n");
	assert_int_equal(files_beside(), 1);
	assert_int_equal(unlink(place.dir), 0);
	assert_int_equal(rename(real, place.dir), 0);
	assert_file(OLD);
	assert_int_equal(files_beside(), 1);
	assert_int_equal(remove_all(other), 0);
}

/* Attributes that the file system or the kernel does not support are skipped. */
static void unsupported_xattrs_are_ignored(void **state)
{
	(void)state;
	start(OLD);
	if (setxattr(place.path, "user.sessionfs", "kept", 4, 0) < 0)
		skip();
	let_fail(FSETXATTR, 1, 1, ENOTSUP);
	assert_int_equal(replace("new\n"), 0);
	start(OLD);
	let_fail(FLISTXATTR, 1, 1, ENOTSUP);
	assert_int_equal(replace("new\n"), 0);
	start(OLD);
	assert_int_equal(setxattr(place.path, "user.sessionfs", "kept", 4, 0), 0);
	let_fail(FSETXATTR, 1, 1, ENOSPC);
	assert_int_equal(replace("new\n"), -ENOSPC);
	assert_file(OLD);
	assert_int_equal(files_beside(), 1);
}

static int locked_while_filled(void *arg, int fd)
{
	CLEANUP_CLOSEDIR DIR *d = opendir(place.dir);
	const struct dirent *e;
	bool *seen = arg;
	(void)fd;
	while ((e = readdir(d)))
		if (store_is_temporary(e->d_name)) {
			assert_false(store_remove_leftover(dirfd(d), e->d_name));
			*seen = true;
		}
	return -EIO;
}

static void stale_temporary_files_are_removed(void **state)
{
	CLEANUP_CLOSE int dir = open(place.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool seen = false;
	(void)state;
	start(OLD);
	assert_int_equal(store_replace(&place.leaf, &place.id, locked_while_filled, &seen), -EIO);
	assert_true(seen);
	assert_int_equal(files_beside(), 1);
	/* An unlocked temporary file is removed; if that fails, the next attempt does it. */
	for (enum call c = 0; c < CALLS; c++) {
		start(OLD);
		CLEANUP_CLOSE int fd = openat(dir, ".sessionfs-abc123", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		let_fail(c, 1, 1, EIO);
		bool gone = store_remove_leftover(dir, ".sessionfs-abc123");
		plan.on = false;
		assert_int_equal(files_beside(), gone ? 1 : 2);
		assert_int_equal(unlinkat(dir, ".sessionfs-abc123", 0), gone ? -1 : 0);
	}
	assert_true(store_remove_leftover(dir, ".sessionfs-abc123"));
	assert_false(store_is_temporary(".sessionfs-abc12"));
	assert_false(store_is_temporary(".sessionfs-abc1234"));
	assert_false(store_is_temporary(".sessionfs-abc.23"));
	assert_true(store_is_temporary(".sessionfs-aZ0123"));
}

static void replace_survives_each_failing_call(void **state)
{
	unsigned kinds = 0;

	(void)state;
	for (enum call c = 0; c < CALLS; c++) {
		bool made = true;
		for (unsigned nth = 1; made; nth++) {
			start(OLD);
			setxattr(place.path, "user.sessionfs", "kept", 4, 0);
			let_fail(c, nth, 1, EIO);
			int rc = replace("new\n");
			made = plan.calls[c].seen >= nth;
			plan.on = false;
			assert_true(rc == 0 || (made && rc == -EIO));
			assert_int_equal(files_beside(), 1);
			/* After the rename only the sync of the directory is left. */
			bool placed = rc == 0 || (c != RENAMEAT && plan.calls[RENAMEAT].seen > 0);
			assert_file(placed ? "new\n" : OLD);
		}
		kinds += plan.calls[c].seen > 0;
	}
	/* Two more with extended attributes. */
	assert_true(kinds == 12 || kinds == 14);
}

static void the_input_is_no_device(void **state)
{
	struct stat st;
	(void)state;
	assert_int_equal(fstat(STDIN_FILENO, &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(replaces),
	    TEST(replace_syncs_before_rename),
	    TEST(replace_keeps_a_link),
	    TEST(failed_replace_keeps_old_file),
	    TEST(replace_ignores_swapped_directory),
	    TEST(unsupported_xattrs_are_ignored),
	    TEST(stale_temporary_files_are_removed),
	    TEST(replace_survives_each_failing_call),
	    cmocka_unit_test(the_input_is_no_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
