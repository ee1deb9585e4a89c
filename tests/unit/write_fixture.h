/* SPDX-License-Identifier: MIT */
/* write_fixture: one session in a tree without a mount, its contents, the requests of programs, and the lines that
 * these appended to its file. */
#ifndef WRITE_FIXTURE_H
#define WRITE_FIXTURE_H

#include "sessionfs/base/log.h"
#include "sessionfs/tree/write.h"

#include <errno.h>

#include "edit_fixture.h"

#define S "projects/p/s"
#define A S "/entries/a"
#define B S "/entries/b"
#define ABC HEADER USER("a", null, "hi") USER("b", "a", "hi") USER("c", "b", "hi")

struct source_fixture {
	char root[64], file[160];
	struct budget budget;
	struct catalog *catalog;
	struct cache *cache;
	struct tree *tree;
	size_t seen;       /* bytes of the file that were checked */
	unsigned fresh_ms; /* set before begin: how long a scan stays valid */
};

/* The argument of each case. */
#define FIXTURE struct source_fixture *p

/* The pid of the current program; no process has such a number. */
static struct tree_caller who = {.pid = 1 << 30};

static inline void begin_mode(struct source_fixture *p, const char *text, mode_t mode, bool read_only)
{
	const struct catalog_options o = {.budget = &p->budget, .fresh_ms = p->fresh_ms};
	struct tree_options t = {.read_only = read_only};
	put_file(p->file, text);
	assert_int_equal(chmod(p->file, mode), 0);
	p->seen = strlen(text);
	p->budget = (struct budget)BUDGET_INIT(64 << 20);
	assert_int_equal(catalog_open(p->root, &o, &p->catalog), 0);
	assert_int_equal(cache_open(&p->budget, &p->cache), 0);
	t.catalog = p->catalog;
	t.cache = p->cache;
	assert_int_equal(tree_open(&t, &p->tree), 0);
	tree_set_mountpoint(p->tree, "/mnt/s");
}

static inline void begin(struct source_fixture *p, const char *text)
{
	begin_mode(p, text, 0644, false);
}

static inline void end(struct source_fixture *p)
{
	tree_close(p->tree);
	cache_close(p->cache);
	catalog_close(p->catalog);
	p->tree = NULL;
	p->cache = NULL;
	p->catalog = NULL;
}

static inline int set_up(void **state)
{
	struct source_fixture *p = calloc(1, sizeof *p);
	char dir[128];
	assert_non_null(p);
	/* Syncing would take most of these tests' time. */
	snprintf(p->root, sizeof p->root, "%s/sessionfs-write-XXXXXX",
	         access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	make_temporary(p->root);
	snprintf(dir, sizeof dir, "%s/--p--", p->root);
	assert_int_equal(mkdir(dir, 0755), 0);
	snprintf(p->file, sizeof p->file, "%s/s.jsonl", dir);
	*state = p;
	return 0;
}

static inline int tear_down(void **state)
{
	struct source_fixture *p = *state;
	end(p);
	remove_all(p->root);
	free(p);
	return 0;
}

/* As an editor does it: another file takes the place. */
static inline void replace_file(struct source_fixture *p, const char *text)
{
	char next[200];
	snprintf(next, sizeof next, "%s.next", p->file);
	put_file(next, text);
	assert_int_equal(rename(next, p->file), 0);
	p->seen = strlen(text);
}

/* Before all cases, for tests whose writes are refused: only errors are logged. */
static inline int expect_refusals(void **state)
{
	log_setup(LOG_LEVEL_ERROR, LOG_TO_STDERR);
	return 0;
}

/* ---- contents ---- */

static inline int find(struct source_fixture *p, const char *path, struct tree_attr *ret)
{
	return tree_resolve(p->tree, path, false, ret);
}

static inline node_t node_at(struct source_fixture *p, const char *path)
{
	struct tree_attr a;
	if (find(p, path, &a) != 0)
		fail_msg("%s is not there", path);
	return a.node;
}

static inline void assert_mode(struct source_fixture *p, const char *path, mode_t mode)
{
	struct tree_attr a;
	assert_int_equal(find(p, path, &a), 0);
	assert_int_equal(a.mode, mode);
}

static inline void assert_missing(struct source_fixture *p, const char *path)
{
	struct tree_attr a;
	assert_int_equal(find(p, path, &a), -ENOENT);
}

static inline void assert_reads(struct source_fixture *p, const char *path, const char *text)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	struct tree_attr a;
	if (find(p, path, &a) != 0)
		fail_msg("%s is not there", path);
	if (S_ISLNK(a.mode))
		assert_int_equal(tree_readlink(p->tree, a.node, &b), 0);
	else
		assert_int_equal(tree_read(p->tree, a.node, 0, 1 << 20, &b), 0);
	assert_text(&b, text);
	assert_int_equal(a.size, b.n);
}

static inline void assert_has(struct source_fixture *p, const char *path, const char *text)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	assert_int_equal(tree_read(p->tree, node_at(p, path), 0, 1 << 20, &b), 0);
	if (!memmem(b.p, b.n, text, strlen(text)))
		fail_msg("\"%s\" is not in \"%.*s\"", text, (int)b.n, b.p);
}

static inline int add_name(void *arg, struct span name, uint64_t cookie, node_t node, uint64_t ino, mode_t mode,
                           const struct tree_attr *attr)
{
	(void)cookie;
	(void)node;
	(void)ino;
	(void)mode;
	(void)attr;
	buf_addspan(arg, name);
	buf_addc(arg, ' ');
	return 0;
}

/* Waits until the tree has scanned the file again and shows all of it. */
static inline void wait_seen(struct source_fixture *p)
{
	struct tree_attr a;
	struct stat st;
	assert_int_equal(stat(p->file, &st), 0);
	while (find(p, "projects/p/s/session.jsonl", &a) == 0 && a.size != (uint64_t)st.st_size)
		usleep(1000);
}

static inline void assert_lists(struct source_fixture *p, const char *path, const char *names)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	assert_int_equal(tree_list(p->tree, node_at(p, path), 0, TREE_ATTRS, add_name, &b), 0);
	assert_text(&b, names);
}

/* Replaces each timestamp by the patterns' time. */
static inline void level_times(struct buf *b)
{
	static const char key[] = "\"timestamp\":\"", time[] = "2026-01-02T03:04:05.678Z";
	size_t i = 0;
	for (char *at; i < b->n && (at = memmem(b->p + i, b->n - i, key, sizeof key - 1));) {
		i = (size_t)(at - b->p) + sizeof key - 1;
		assert_true(i + sizeof time <= b->n);
		assert_int_equal(b->p[i + sizeof time - 1], '"');
		memcpy(b->p + i, time, sizeof time - 1);
	}
}

/* Returns the bytes added to the session file since the last check. */
static inline void assert_added(struct source_fixture *p, const char *pattern)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	assert_true(read_file(p->file, &b));
	assert_true(b.n >= p->seen);
	level_times(&b);
	assert_pattern((struct span){b.p + p->seen, b.n - p->seen}, pattern);
	p->seen = b.n;
}

/* ---- what programs do ---- */

static inline int open_in(struct source_fixture *p, node_t dir, const char *name, bool exclusive,
                          struct tree_handle **ret)
{
	struct tree_attr a;
	if (!exclusive && tree_lookup(p->tree, dir, span_of(name), &a) == 0)
		return tree_open_write(p->tree, a.node, true, &who, ret);
	return tree_create(p->tree, dir, span_of(name), 0644, exclusive, true, &who, ret, &a);
}

static inline int open_create(struct source_fixture *p, const char *dir, const char *name, bool exclusive,
                              struct tree_handle **ret)
{
	return open_in(p, node_at(p, dir), name, exclusive, ret);
}

/* As a shell does it: open, flush (dup2), write, flush, release. */
static inline int put_bytes(struct source_fixture *p, const char *dir, const char *name, struct span text)
{
	struct tree_handle *h;
	int rc = open_create(p, dir, name, false, &h);
	if (rc < 0)
		return rc;
	rc = tree_flush(p->tree, h, &who);
	if (rc == 0 && text.n > 0)
		rc = tree_write(p->tree, h, text, 0, &who);
	int flushed = tree_flush(p->tree, h, &who);
	tree_release(p->tree, h);
	return rc < 0 ? rc : flushed;
}

static inline int put(struct source_fixture *p, const char *dir, const char *name, const char *text)
{
	return put_bytes(p, dir, name, span_of(text));
}

static inline int make_link(struct source_fixture *p, const char *dir, const char *name, const char *target)
{
	struct tree_attr a;
	return tree_symlink(p->tree, node_at(p, dir), span_of(name), target, &who, &a);
}

/* By the current program. */
static inline int take_too(struct source_fixture *p, const char *dir, const char *name)
{
	return tree_unlink(p->tree, node_at(p, dir), span_of(name), &who);
}

/* By another program, as rm(1). */
static inline int take(struct source_fixture *p, const char *dir, const char *name)
{
	who.pid++;
	return take_too(p, dir, name);
}

static inline int move(struct source_fixture *p, const char *dir, const char *name, const char *to_dir,
                       const char *to_name)
{
	return tree_rename(p->tree, node_at(p, dir), span_of(name), node_at(p, to_dir), span_of(to_name), false);
}

/* As GNU ln -sfn does it. */
static inline int force_link(struct source_fixture *p, const char *dir, const char *name, const char *target)
{
	int rc = make_link(p, dir, name, target);
	if (rc != -EEXIST)
		return rc;
	rc = make_link(p, dir, "Cu12ab9Z", target);
	if (rc == 0)
		rc = move(p, dir, "Cu12ab9Z", dir, name);
	if (rc < 0)
		take(p, dir, "Cu12ab9Z");
	return rc;
}

#endif
