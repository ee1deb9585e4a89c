/* SPDX-License-Identifier: MIT */
/* resolver: which paths resolve, and which links are followed. */
#include "cases.h"

#include "sessionfs/base/cleanup.h"
#include "sessionfs/base/sys.h"
#include "sessionfs/file/resolver.h"

#include "files.h"
#include "linux_only.h"

/* Where statx can wait, only the pool follows links. */
#define AT_ONCE (IS_PORTABLE ? RESOLVER_WAIT : RESOLVER_NOW)

#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

static struct {
	char root[64], source[80];
	struct resolver *r;
	int refusal; /* result of openat2: 0, ENOSYS as before Linux 5.6, or EPERM as under some containers' seccomp
	                filters */
	unsigned asked;
	unsigned type;    /* of every file system that is asked for it */
	unsigned most_ms; /* which a server gets */
	bool swaps;       /* before it is opened, a file of bob's takes the name of alice's */
} world;

int fstatfs(int fd, struct statfs *fs)
{
	*fs = (struct statfs){.f_type = (__typeof__(fs->f_type))world.type};
	return 0;
}

int __real_blocking_pool_open(unsigned patience_ms, unsigned most_ms, struct blocking_pool **ret);
int __wrap_blocking_pool_open(unsigned patience_ms, unsigned most_ms, struct blocking_pool **ret);
int __wrap_blocking_pool_open(unsigned patience_ms, unsigned most_ms, struct blocking_pool **ret)
{
	world.most_ms = most_ms;
	return __real_blocking_pool_open(patience_ms, most_ms, ret);
}

static const char *at(const char *name)
{
	static char path[4][256];
	static unsigned next;
	char *to = path[next++ % 4];
	snprintf(to, sizeof path[0], "%s/%s", world.root, name);
	return to;
}

int sys_openat2(int dir, const char *path, const struct open_how *how, size_t size)
{
	world.asked++;
	if (world.swaps && strcmp(path, "alices") == 0)
		assert_int_equal(rename(at("bobs"), at("alices")), 0);
	errno = world.refusal;
	return world.refusal ? -1 : (int)syscall(SYS_openat2, dir, path, how, size);
}

static void give(const char *name, uid_t owner)
{
	if (geteuid() == 0)
		assert_int_equal(lchown(at(name), owner, owner), 0);
}

static void put(const char *name, uid_t owner)
{
	put_file(at(name), "x");
	give(name, owner);
}

static void put_link(const char *to, const char *name, uid_t owner)
{
	assert_int_equal(symlink(to, at(name)), 0);
	give(name, owner);
}

static void put_dir(const char *name, uid_t owner)
{
	assert_int_equal(mkdir(at(name), 0755), 0);
	give(name, owner);
}

/* As at the start, in the same world. */
static void open_source(const char *source)
{
	resolver_close(world.r);
	world.asked = 0;
	assert_int_equal(resolver_open(source, &world.r), 0);
}

static int set_up(void **state)
{
	strcpy(world.root, "/tmp/sessionfs-reach-XXXXXX");
	make_temporary(world.root);
	snprintf(world.source, sizeof world.source, "%s/source", world.root);
	assert_int_equal(mkdir(world.source, 0755), 0);
	world.r = NULL;
	open_source(world.source);
	return 0;
}

static int set_up_old_kernel(void **state)
{
	world.refusal = ENOSYS;
	return set_up(state);
}

static int set_up_container(void **state)
{
	world.refusal = EPERM;
	return set_up(state);
}

static int tear_down(void **state)
{
	resolver_close(world.r);
	/* Once refused, openat2 is not called again. */
	if (world.refusal)
		assert_int_equal(world.asked, 1);
	world.refusal = 0;
	return remove_all(world.root);
}

#define AT_ALL_KERNELS(name)                                                                                           \
	static void name(void **state);                                                                                \
	static __attribute__((constructor)) void add_all_##name(void)                                                  \
	{                                                                                                              \
		add_case(#name " without openat2", name, set_up_old_kernel, tear_down);                                \
		add_case(#name " where openat2 is refused", name, set_up_container, tear_down);                        \
	}                                                                                                              \
	CASE_WITH(name, set_up, tear_down)

/* Returns 1 if reached directly, 2 if through a link, or a negative errno; the same for stat and open. */
static int reached(const char *path)
{
	struct resolved st = RESOLVED_INIT, file = RESOLVED_INIT;
	const struct source_path where = {world.r, path};
	int rc = resolve_stat(&where, AT_ONCE, &st);
	int opened = resolve_file(&where, AT_ONCE, O_RDONLY, &file);
	if (rc == 0 && S_ISREG(st.st.st_mode)) {
		assert_int_equal(opened, 0);
		assert_int_equal(st.linked, file.linked);
	} else if (rc < 0) {
		assert_int_equal(opened, rc);
	}
	resolved_release(world.r, &file);
	return rc < 0 ? rc : st.linked ? 2 : 1;
}

AT_ALL_KERNELS(plain_names_and_links)
{
	struct resolved got = RESOLVED_INIT;

	uid_t me = geteuid();
	put_dir("source/p", me);
	put("source/p/a", me);
	put_link("a", "source/p/near", me);
	put_link("../../source/./p//near", "source/p/far", me);
	put_link(at("source/p/a"), "source/p/absolute", me);
	put_link("p", "source/q", me);
	put_link("loop", "source/p/loop", me);
	put_link("nothing", "source/p/dangling", me);
	assert_int_equal(mkfifo(at("source/p/fifo"), 0600), 0);
	assert_int_equal(reached("p/a"), 1);
	assert_int_equal(reached("p/near"), 2);
	assert_int_equal(reached("p/far"), 2);
	assert_int_equal(reached("p/absolute"), 2);
	assert_int_equal(reached("q/a"), 2);
	assert_int_equal(reached("q/far"), 2);
	assert_int_equal(reached("p/loop"), -ELOOP);
	assert_int_equal(reached("p/dangling"), -ENOENT);
	assert_int_equal(reached("p/a/b"), -ENOTDIR);
	const struct source_path fifo = {world.r, "p/fifo"}, dir = {world.r, "p"}, a = {world.r, "q/far"};
	assert_int_equal(resolve_file(&fifo, AT_ONCE, O_RDONLY, &got), ERROR_NO_SESSION);
	assert_int_equal(resolve_file(&dir, AT_ONCE, O_RDONLY, &got), -EISDIR);
	assert_int_equal(resolve_dir(&a, AT_ONCE, O_RDONLY, &got), -ENOTDIR);
}

static int directory(const char *path)
{
	struct resolved got = RESOLVED_INIT;
	int rc = resolve_dir(&(struct source_path){world.r, path}, AT_ONCE, O_RDONLY, &got);
	resolved_release(world.r, &got);
	return rc;
}

/* Returns whether a link leads through a directory that not every class can search. */
static bool is_closed(const char *path)
{
	struct resolved got = RESOLVED_INIT;
	assert_int_equal(resolve_stat(&(struct source_path){world.r, path}, AT_ONCE, &got), 0);
	return got.closed;
}

AT_ALL_KERNELS(closed_directories_of_links_are_reported)
{
	uid_t me = geteuid();
	put_dir("open", me);
	put("open/a", me);
	put_dir("private", me);
	put("private/a", me);
	put_dir("source/p", me);
	put("source/p/a", me);
	put_link("../../open/a", "source/p/open", me);
	put_link("../../private/a", "source/p/private", me);
	assert_int_equal(chmod(at("private"), 0710), 0);
	assert_false(is_closed("p/a"));
	assert_false(is_closed("p/open"));
	assert_true(is_closed("p/private"));
	assert_int_equal(chmod(at("private"), 0701), 0);
	assert_true(is_closed("p/private"));
	assert_int_equal(chmod(at("source/p"), 0700), 0);
	assert_false(is_closed("p/a"));
	assert_int_equal(chmod(at("source/p"), 0755), 0);
}

/* Files of other file systems, asked by the pool. */
AT_ALL_KERNELS(other_file_systems_answer_with_errors)
{
	struct resolved got = RESOLVED_INIT;
	put_link("/proc/self/stat", "source/stat", geteuid());
	put_link("/proc/self/nothing", "source/nothing", geteuid());
	put_link("/proc/self", "source/self", geteuid());
	const struct source_path stat = {world.r, "stat"}, nothing = {world.r, "nothing"}, self = {world.r, "self"};
	assert_int_equal(resolve_stat(&stat, RESOLVER_NOW, &got), -EXDEV);
	assert_int_equal(resolve_stat(&self, RESOLVER_NOW, &got), -EXDEV);
	assert_int_equal(resolve_stat(&nothing, RESOLVER_WAIT, &got), -ENOENT);
	assert_int_equal(resolve_file(&nothing, RESOLVER_WAIT, O_RDONLY, &got), -ENOENT);
	assert_int_equal(resolve_file(&self, RESOLVER_WAIT, O_RDONLY, &got), -EISDIR);
	assert_int_equal(got.fd, -1);
	assert_int_equal(resolve_file(&stat, RESOLVER_WAIT, O_RDONLY, &got), 0);
	assert_true(S_ISREG(got.st.st_mode) && got.linked && got.foreign);
	resolved_release(world.r, &got);
	/* A file system that is mounted in the source is another one, too. */
	open_source("/");
	const struct source_path mounted = {world.r, "proc/version"};
	assert_int_equal(resolve_stat(&mounted, RESOLVER_NOW, &got), -EXDEV);
	assert_int_equal(resolve_stat(&mounted, RESOLVER_WAIT, &got), 0);
}

/* The types that the headers of the system name. Nothing of a source on a server is asked on this thread, and a server
 * that answers others has longer. */
CASE_WITH(servers_of_sources_are_asked_by_the_pool, set_up, tear_down)
{
	static const unsigned types[] = {TMPFS_MAGIC,       NFS_SUPER_MAGIC,   FUSE_SUPER_MAGIC, SMB_SUPER_MAGIC,
	                                 CIFS_SUPER_MAGIC,  SMB2_SUPER_MAGIC,  V9FS_MAGIC,       CEPH_SUPER_MAGIC,
	                                 AFS_SUPER_MAGIC,   AFS_FS_MAGIC,      NCP_SUPER_MAGIC,  CODA_SUPER_MAGIC,
	                                 OCFS2_SUPER_MAGIC, AUTOFS_SUPER_MAGIC};
	struct resolved got = RESOLVED_INIT;
	put("source/a", geteuid());
	for (size_t i = 0; i < COUNT(types); i++) {
		world.type = types[i];
		open_source(world.source);
		world.type = 0;
		assert_int_equal(world.most_ms, i ? 10000 : 1000);
		const struct source_path a = {world.r, "a"};
		assert_int_equal(resolve_stat(&a, RESOLVER_NOW, &got), i ? -EXDEV : 0);
		assert_int_equal(resolve_stat(&a, RESOLVER_WAIT, &got), 0);
	}
}

/* After the first component of a path, only the last one can be a link, and only to a file. */
AT_ALL_KERNELS(symlinks_below_first_level_must_be_last)
{
	uid_t me = geteuid();
	put_dir("elsewhere", me);
	put_dir("elsewhere/a", me);
	put_dir("elsewhere/a/b", me);
	put_dir("elsewhere/a/b/c", me);
	put("elsewhere/a/b/c/file", me);
	put_link("../b/c/file", "elsewhere/a/b/link", me);
	put_link("b", "elsewhere/a/d", me);
	put_link("../elsewhere", "source/first", me);
	put_dir("source/p", me);
	put_dir("source/p/x", me);
	put("source/p/x/file", me);
	put_link("x", "source/p/y", me);
	put_link("../../first/a/b/c/file", "source/p/x/far", me);
	put("source/p/x/f", me);
	put_link("../y/f", "source/p/x/short", me);
	assert_int_equal(reached("first/a/b/c/file"), 2);
	assert_int_equal(reached("first/a/b/../b/link"), 2);
	assert_int_equal(reached("first/a/b/link"), 2);
	assert_int_equal(reached("first/a/d/link"), -ENOTDIR);
	assert_int_equal(reached("first/a/d/c/file"), -ENOTDIR);
	assert_int_equal(reached("first/a/none/c/file"), -ENOENT);
	assert_int_equal(reached("first/a/b/c/file/x"), -ENOTDIR);
	assert_int_equal(reached("p/x/file"), 1);
	assert_int_equal(reached("p/x/far"), 2);
	/* The text of a link can contain any links, also one that is shorter than the path. */
	assert_int_equal(reached("p/x/short"), 2);
	assert_int_equal(reached("p/y/file"), -ENOTDIR);
	assert_int_equal(directory("first"), 0);
	assert_int_equal(directory("first/a/b"), 0);
	assert_int_equal(directory("first/a/d"), -ENOTDIR);
	assert_int_equal(directory("first/a/d/c"), -ENOTDIR);
	assert_int_equal(directory("p/x"), 0);
	assert_int_equal(directory("p/y"), -ENOTDIR);
	/* A path outside the source may contain any links. */
	assert_int_equal(reached(at("source/p/y/file")), 2);
}

/* openat2 reaches a file at any depth with one call; after a link on the first level, with two. */
CASE_WITH(depth_does_not_add_system_calls, set_up, tear_down)
{
	char path[64] = "source/p";
	put_dir(path, geteuid());
	for (int i = 0; i < 7; i++) {
		strcat(path, "/x");
		put_dir(path, geteuid());
	}
	strcat(path, "/file");
	put(path, geteuid());
	put_link("p", "source/link", geteuid());
	struct resolved got = RESOLVED_INIT;
	unsigned before = world.asked;
	assert_int_equal(resolve_file(&(struct source_path){world.r, "p/x/x/x/x/x/x/x/file"}, AT_ONCE, O_RDONLY, &got),
	                 0);
	assert_int_equal(world.asked - before, 1);
	resolved_release(world.r, &got);
	before = world.asked;
	assert_int_equal(
	    resolve_file(&(struct source_path){world.r, "link/x/x/x/x/x/x/x/file"}, AT_ONCE, O_RDONLY, &got), 0);
	assert_in_range(world.asked - before, 1, 3);
	resolved_release(world.r, &got);
}

AT_ALL_KERNELS(links_are_followed_only_for_owner)
{
	enum { ALICE = 12345, BOB = 12346 };

	if (geteuid() != 0)
		skip();
	put("alices", ALICE);
	put("bobs", BOB);
	put("roots", 0);
	put_dir("bobs-dir", BOB);
	put("bobs-dir/alices", ALICE);
	put("bobs-dir/bobs", BOB);
	put_link("../alices", "source/own", ALICE);
	put_link("../bobs", "source/other", ALICE);
	put_link("../roots", "source/root", ALICE);
	put_link("../bobs", "source/mounter", 0);
	put_link("alices", "hop", BOB);
	put_link("../hop", "source/by-bob", ALICE);
	put_link("alices", "hop0", 0);
	put_link("../hop0", "source/by-root", ALICE);
	put_link("../bobs-dir", "source/dir", ALICE);
	assert_int_equal(reached("own"), 2);
	assert_int_equal(reached("other"), -EPERM);
	assert_int_equal(reached("root"), -EPERM);
	assert_int_equal(reached("mounter"), 2);
	assert_int_equal(reached("by-bob"), -EPERM);
	assert_int_equal(reached("by-root"), 2);
	assert_int_equal(reached("dir"), -EPERM);
	assert_int_equal(reached("dir/bobs"), -EPERM);
	assert_int_equal(reached("dir/alices"), 2);
	/* Links of the user who has mounted it, or of root, lead anywhere. */
	assert_int_equal(seteuid(ALICE), 0);
	open_source(world.source);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(reached("other"), 2);
	assert_int_equal(reached("mounter"), 2);
	assert_int_equal(reached("by-bob"), -EPERM);
	/* The owner of the file that is opened counts, not of one that had its name. */
	open_source(world.source);
	struct resolved got = RESOLVED_INIT;
	world.swaps = !IS_PORTABLE && !world.refusal;
	if (world.swaps)
		assert_int_equal(resolve_file(&(struct source_path){world.r, "own"}, AT_ONCE, O_RDONLY, &got), -EPERM);
	world.swaps = false;
}

AT_ALL_KERNELS(own_mount_is_refused)
{
	struct stat st;

	put_link("/proc", "source/there", geteuid());
	put_link("/proc/version", "source/file", geteuid());
	assert_int_equal(stat("/proc", &st), 0);
	resolver_forbid_device(world.r, st.st_dev);
	assert_int_equal(reached("there"), -ELOOP);
	assert_int_equal(reached("file"), -ELOOP);
}

/* The source is the directory that its path names now, even if it was another one before. */
AT_ALL_KERNELS(source_path_is_reopened)
{
	struct resolved got = RESOLVED_INIT;
	const struct source_path root = {world.r, ""};

	put("source/old", geteuid());
	assert_int_equal(reached("old"), 1);
	assert_int_equal(rename(world.source, at("away")), 0);
	assert_int_equal(resolve_dir(&root, AT_ONCE, O_RDONLY, &got), -ENOENT);
	assert_int_equal(mkdir(world.source, 0755), 0);
	put("source/new", geteuid());
	assert_int_equal(resolve_dir(&root, AT_ONCE, O_RDONLY, &got), 0);
	resolved_release(world.r, &got);
	assert_int_equal(reached("new"), 1);
	assert_int_equal(reached("old"), -ENOENT);
	/* Now it is on a file system that only the pool may ask. */
	assert_int_equal(rename(world.source, at("away2")), 0);
	put_link("/proc/self", "source", geteuid());
	assert_int_equal(resolve_dir(&root, RESOLVER_WAIT, O_RDONLY, &got), 0);
	resolved_release(world.r, &got);
	const struct source_path stat = {world.r, "stat"};
	assert_int_equal(resolve_stat(&stat, RESOLVER_NOW, &got), -EXDEV);
	assert_int_equal(resolve_stat(&stat, RESOLVER_WAIT, &got), 0);
	assert_true(got.linked && got.foreign);
}

RUN_CASES(NULL, NULL)
