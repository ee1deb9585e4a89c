/* SPDX-License-Identifier: MIT */
/* Writes while a program renames another file over the session file. */
#include "cases.h"
#include "later.h"
#include "write_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>

struct writer {
	struct source_fixture *p;
	const char *dir, *name, *text;
	int rc;
};

/* If a name resolved to a node that is gone, the kernel looks it up again, once, and only for open. */
static int put_as_kernel(const struct writer *w)
{
	struct tree_handle *h;
	struct tree_attr dir;
	int rc = -ESTALE;
	for (int tries = 0; rc == -ESTALE && tries < 2; tries++)
		if ((rc = find(w->p, w->dir, &dir)) == 0)
			rc = open_in(w->p, dir.node, w->name, false, &h);
	if (rc < 0)
		return rc;
	rc = tree_write(w->p->tree, h, span_of(w->text), 0, &who);
	if (rc == 0)
		rc = tree_flush(w->p->tree, h, &who);
	tree_release(w->p->tree, h);
	return rc;
}

static void *write_value(void *arg)
{
	struct writer *w = arg;
	w->rc = put_as_kernel(w);
	return NULL;
}

/* A replacement whose entries are in another order. */
static void replace(struct source_fixture *p)
{
	replace_file(
	    p, AS_IS(HEADER USER("new", null, "hi") USER("c", "new", "hi") USER("b", "c", "hi")
	                USER("a", "b", "hi")));
}

/* The number of refused locks, and the error of a file system without locks. */
static _Atomic unsigned refused;
static int no_lock;

static int counted_flock(int fd, int how)
{
	int rc = no_lock ? (errno = no_lock, -1) : flock(fd, how);
	atomic_fetch_add(&refused, rc < 0);
	return rc;
}

__typeof__(flock) *const sys_flock = counted_flock;

/* As when an editor saves while we wait for the lock of the file. */
FIXTURE_CASE(file_replaced_while_waiting_for_lock)
{
	static const struct {
		const char *dir, *name, *text, *added;
	} cases[] = ITEMS(
	    {A, "label", "x\n", LABEL("@0", "a", "a", "x")},
	    {S, "name", "x\n", INFO("@0", "a", "x")},
	    {B, "branch", "x\n", SUMMARY("@0", "b", "a", "x")},
	    {S, "labels.tsv", "b\tx\n", LABEL("@0", "a", "b", "x")});
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct writer w = {p, cases[i].dir, cases[i].name, cases[i].text, 1};
		pthread_t thread;
		begin(p, ABC);
		node_at(p, A); /* opens the index */
		CLEANUP_CLOSE int fd = open(p->file, O_RDONLY | O_CLOEXEC);
		assert_int_equal(flock(fd, LOCK_EX), 0);
		atomic_store(&refused, 0);
		assert_int_equal(pthread_create(&thread, NULL, write_value, &w), 0);
		while (atomic_load(&refused) < 2) /* the first one probes for lock support */
			usleep(1000);
		replace(p);
		assert_int_equal(flock(fd, LOCK_UN), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(w.rc, 0);
		assert_added(p, cases[i].added);
		assert_missing(p, S "/errors");
		end(p);
	}
}

/* Without locks two mounts would not notice each other: the write is refused, and the reason is in `errors`. */
FIXTURE_CASE(missing_flock_refuses_write)
{
	static const int errors[] = {ENOLCK, ENOSYS, EOPNOTSUPP};
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		begin(p, ABC);
		no_lock = errors[i];
		assert_int_equal(put(p, A, "label", "x\n"), -ENOLCK);
		/* Shells check only the error of write(2). */
		struct tree_handle *h;
		assert_int_equal(open_in(p, node_at(p, S), "name", false, &h), 0);
		assert_int_equal(tree_write(p->tree, h, span_of("x\n"), 0, &who), -ENOLCK);
		tree_release(p->tree, h);
		no_lock = 0;
		assert_has(p, S "/errors", "Z name: the file system of the session files does not support locks");
		assert_added(p, "");
		assert_int_equal(put(p, S, "name", "x\n"), 0);
		assert_added(p, INFO("@0", "c", "x"));
		end(p);
	}
}

/* A write between open and close goes to the file that exists at close. */
FIXTURE_CASE(file_replaced_before_close)
{
	struct tree_handle *h;
	begin(p, ABC);
	node_t name = node_at(p, S "/labels.tsv");
	assert_int_equal(tree_open_write(p->tree, name, true, &who, &h), 0);
	assert_int_equal(tree_write(p->tree, h, span_of("a\tx\n"), 0, &who), 0);
	replace(p);
	assert_int_equal(tree_flush(p->tree, h, &who), 0);
	tree_release(p->tree, h);
	assert_added(p, LABEL("@0", "a", "a", "x"));
}

/* The same with the files of an entry, found again by its id; if the entry is gone, no line of the file is lost. */
FIXTURE_CASE(entry_is_found_in_replaced_file)
{
	static const struct {
		const char *dir, *name, *text, *added;
	} cases[] =
	    ITEMS(
	    {A, "label", "x\n", LABEL("@0", "a", "a", "x")},
	    {B, "branch", "x\n", SUMMARY("@0", "b", "a", "x")},
	    {S "/entries/gone", "label", "x\n", NULL});
	p->fresh_ms = 1;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tree_attr a;
		struct tree_handle *h;
		begin(p, ABC USER("new", "c", "hi") USER("gone", "new", "hi"));
		assert_int_equal(open_in(p, node_at(p, cases[i].dir), cases[i].name, false, &h), 0);
		assert_int_equal(tree_write(p->tree, h, span_of(cases[i].text), 0, &who), 0);
		replace(p);
		let_pass(CATALOG_CLOCK, 10); /* lets the catalog scan again */
		assert_int_equal(find(p, S, &a), 0);
		assert_int_equal(tree_flush(p->tree, h, &who), cases[i].added ? 0 : -ENOENT);
		tree_release(p->tree, h);
		assert_added(p, cases[i].added ? cases[i].added : "");
		end(p);
	}
}

static void *replace_often(void *arg)
{
	for (int i = 0; i < 3000; i++)
		replace(arg);
	return NULL;
}

/* The name always exists, whichever file replaces it. */
FIXTURE_CASE(name_never_disappears_during_replace)
{
	struct tree_attr a;
	pthread_t thread;
	p->fresh_ms = 1;
	begin(p, ABC);
	assert_int_equal(find(p, S, &a), 0);
	assert_int_equal(pthread_create(&thread, NULL, replace_often, p), 0);
	size_t away = 0;
	while (pthread_tryjoin_np(thread, NULL) == EBUSY)
		away += find(p, S, &a) == -ENOENT;
	assert_int_equal(away, 0);
}

struct replacing {
	struct source_fixture *p;
	struct buf hits;
};

static int replace_at_first_hit(void *arg, struct span name, uint64_t cookie, node_t node, uint64_t ino, mode_t mode,
                                const struct tree_attr *attr)
{
	struct replacing *r = arg;
	if (name.p[0] != '0')
		return 0;
	if (r->hits.n == 0) {
		replace(r->p);
		usleep(5000);
	}
	return add_name(&r->hits, name, cookie, node, ino, mode, attr);
}

/* The hits of the sessions after it are listed. */
FIXTURE_CASE(session_replaced_while_an_answer_is_listed)
{
	struct replacing r = {.p = p, .hits = BUF_INIT};
	char path[200];
	p->fresh_ms = 1;
	for (char name = 'r'; name <= 't'; name += 2) {
		snprintf(path, sizeof path, "%s/--p--/%c.jsonl", p->root, name);
		put_file(path, name == 'r' ? HEADER USER("x", null, "hi 1") : HEADER USER("y", null, "hi 2"));
	}
	begin(p, ABC);
	assert_int_equal(tree_list(p->tree, node_at(p, "search/hi"), 0, TREE_ATTRS, replace_at_first_hit, &r), 0);
	assert_text(&r.hits, "0001 user hi 1 0005 user hi 2 ");
	buf_release(&r.hits);
}

RUN_CASES(NULL, NULL)
