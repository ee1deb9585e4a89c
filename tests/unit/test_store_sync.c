/* SPDX-License-Identifier: MIT */
/* Which directory is synced with a session file: the one that has its name, since a name that is not on the disk is not
 * found again. */
#include "cases.h"
#include "store_fixture.h"

static ino_t inode_of(const char *path)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

/* At each depth, in a source whose directories are all there, and through a link. */
CASE_WITH(the_directory_of_the_name_is_synced, set_up, tear_down)
{
	static const char *const names[] = {"s.jsonl", "p/s.jsonl", "p/s/s.jsonl", "p/s/s/s.jsonl", "link/s/s/s.jsonl"};
	struct resolver *r;
	char path[160];
	for (const char *dirs[] = {"p", "p/s", "p/s/s", NULL}, **d = dirs; *d; d++) {
		snprintf(path, sizeof path, "%s/%s", place.dir, *d);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(path, sizeof path, "%s/link", place.dir);
	assert_int_equal(symlink("p", path), 0);
	assert_int_equal(resolver_open(place.dir, &r), 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", place.dir, names[i]);
		put_file(path, OLD);
		plan = (struct plan){0};
		let_fail(FSYNC, 1, 1, EINTR);
		assert_int_equal(store_sync(&(struct source_path){r, names[i]}, &(struct stat){0}), 0);
		plan.on = false;
		assert_int_equal(plan.calls[FSYNC].seen, 3);
		*strrchr(path, '/') = '\0';
		assert_int_equal(plan.synced, inode_of(path));
	}
	resolver_close(r);
}

RUN_CASES(NULL, NULL)
