/* SPDX-License-Identifier: MIT */
/* A write succeeds even if the result cannot be looked up afterwards; a listing or view that runs out of memory fails
 * rather than being incomplete; a table leaves out a session that cannot be read. */
#include "cases.h"
#include "failing_alloc.h"
#include "write_fixture.h"

#include "../../src/tree/write_impl.h"

/* Once a record was written, lookups fail with `failure`; the linker replaces these functions of the tree (see the
 * Makefile). */
static int failure;
static bool written;
/* If not 0, the lookup of this number fails. */
static unsigned failing_lookup;

int __real_commit_labels(struct tree *t, node_t dir, struct span name, struct edit_label *labels, size_t n);
int __wrap_commit_labels(struct tree *t, node_t dir, struct span name, struct edit_label *labels, size_t n);
int __wrap_commit_labels(struct tree *t, node_t dir, struct span name, struct edit_label *labels, size_t n)
{
	int rc = __real_commit_labels(t, dir, name, labels, n);
	written = true;
	return rc;
}

int __real_commit_change(struct tree *t, struct node n, edit_records *records, uint32_t entry);
int __wrap_commit_change(struct tree *t, struct node n, edit_records *records, uint32_t entry);
int __wrap_commit_change(struct tree *t, struct node n, edit_records *records, uint32_t entry)
{
	int rc = __real_commit_change(t, n, records, entry);
	written = true;
	return rc;
}

int __real_tree_lookup(struct tree *t, node_t parent, struct span name, struct tree_attr *ret);
int __wrap_tree_lookup(struct tree *t, node_t parent, struct span name, struct tree_attr *ret);
int __wrap_tree_lookup(struct tree *t, node_t parent, struct span name, struct tree_attr *ret)
{
	if (failing_lookup > 0 && --failing_lookup == 0)
		return -EIO;
	return written && failure ? failure : __real_tree_lookup(t, parent, name, ret);
}

int __real_tree_getattr(struct tree *t, node_t node, struct tree_attr *ret);
int __wrap_tree_getattr(struct tree *t, node_t node, struct tree_attr *ret);
int __wrap_tree_getattr(struct tree *t, node_t node, struct tree_attr *ret)
{
	return written && failure ? failure : __real_tree_getattr(t, node, ret);
}

/* Makes the link while lookups fail; the reply must match the result. */
static void assert_made(struct source_fixture *p, const char *dir, const char *name, const char *target, int error)
{
	struct tree_attr made, real;
	node_t in = node_at(p, dir);
	written = false;
	failure = error;
	assert_int_equal(tree_symlink(p->tree, in, span_of(name), target, &who, &made), 0);
	failure = 0;
	assert_true(written);
	assert_int_equal(tree_lookup(p->tree, in, span_of(name), &real), 0);
	assert_int_equal(made.node, real.node);
	assert_int_equal(made.mode, real.mode);
	assert_int_equal(made.size, strlen(target));
	assert_int_equal(made.uid, real.uid);
	assert_int_equal(made.gid, real.gid);
}

FIXTURE_CASE(written_link_exists_despite_errors)
{
	static const int errors[] = {-EIO, -ENOENT, -ESTALE, -EMFILE};
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		begin(p, ABC);
		assert_made(p, S "/labels", "x", "../entries/a", errors[i]);
		assert_added(p, LABEL("@0", "c", "a", "x"));
		assert_int_equal(take(p, S, "leaf"), 0);
		assert_made(p, S, "leaf", "entries/b", errors[i]);
		end(p);
	}
}

/* open(2) with O_CREAT and O_TRUNC returns an error, so the value stays. */
FIXTURE_CASE(failed_create_clears_nothing)
{
	struct tree_handle *h;
	struct tree_attr a;
	begin(p, ABC LABEL("l", "c", "a", "x"));
	node_t dir = node_at(p, A);
	failing_lookup = 2;
	assert_int_equal(tree_create(p->tree, dir, SPAN_LIT("label"), 0644, false, true, &who, &h, &a), -EIO);
	assert_added(p, "");
}

struct listed {
	struct buf names;
	uint64_t cookie;
};

static int add_listed(void *arg, struct span name, uint64_t cookie, node_t node, uint64_t ino, mode_t mode,
                      const struct tree_attr *attr)
{
	struct listed *l = arg;
	l->cookie = cookie;
	return add_name(&l->names, name, cookie, node, ino, mode, attr);
}

/* As the kernel does it: piece by piece, until a piece is empty. Returns the last error, the only one a reader sees. */
static int list_whole(struct source_fixture *p, node_t dir, struct listed *l)
{
	size_t before;
	int rc;
	*l = (struct listed){.names = BUF_INIT};
	assert_non_null(buf_reserve(&l->names, 4096));
	do {
		before = l->names.n;
		rc = tree_list(p->tree, dir, l->cookie, TREE_ATTRS, add_listed, l);
	} while (l->names.n > before);
	return rc;
}

FIXTURE_CASE(listing_without_memory_is_all_or_nothing)
{
	struct listed want, got;
	begin(p, ABC);
	node_t dir = node_at(p, S "/entries/b");
	assert_int_equal(list_whole(p, dir, &want), 0);
	bool failed = true;
	for (unsigned nth = 1; failed; nth++) {
		let_alloc_fail(nth + 1); /* the first one is for the names */
		int rc = list_whole(p, dir, &got);
		failed = alloc_has_failed();
		if (rc == 0)
			assert_text(&got.names, buf_cstr(&want.names));
		buf_release(&got.names);
		assert_true(nth < 1000);
	}
	buf_release(&want.names);
	end(p);
}

static bool no_label;

bool __real_session_label(const struct session *s, uint32_t i, struct buf *out);
bool __wrap_session_label(const struct session *s, uint32_t i, struct buf *out);
bool __wrap_session_label(const struct session *s, uint32_t i, struct buf *out)
{
	if (no_label && i == session_count(s) - 1)
		deferred_set(-EIO);
	return __real_session_label(s, i, out);
}

/* The segments of a body that lacks something would be cached with it. */
FIXTURE_CASE(read_error_in_a_segment_is_returned)
{
	static const char *const names[] = {S "/transcript.md", S "/context.md"};
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct tree_attr a;
	buf_adds(&text, HEADER USER("0", null, "hi"));
	for (unsigned i = 1; i < 600; i++)
		buf_addf(&text, USER("%u", "%u", "hi"), i, i - 1);
	begin(p, buf_cstr(&text));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		no_label = true;
		assert_int_equal(find(p, names[i], &a), -EIO);
		no_label = false;
		assert_int_equal(find(p, names[i], &a), 0);
	}
}

static bool no_reads;

static ssize_t failing_pread(int fd, void *to, size_t n, off_t off)
{
	return no_reads ? errno = EIO, -1 : pread(fd, to, n, off);
}

__typeof__(pread) *const sys_pread = failing_pread;

/* Of two indexes one is in memory: problems.tsv lacks the other session, until its file can be read. */
FIXTURE_CASE(table_that_lacks_a_session_is_not_cached)
{
	char other[96];
	snprintf(other, sizeof other, "%s/--p--/t.jsonl", p->root);
	put_file(other, HEADER "x\n");
	begin(p, HEADER "x\n");
	node_t table = node_at(p, "problems.tsv");
	for (int i = 0; i < 3; i++) {
		struct buf text CLEANUP_BUF = BUF_INIT, title CLEANUP_BUF = BUF_INIT;
		no_reads = i == 1;
		assert_int_equal(tree_read(p->tree, table, 0, 1 << 20, &text), no_reads ? EIO : 0);
		assert_non_null(strstr(buf_cstr(&text), "\tp\ts\t2\t"));
		assert_int_equal(!strstr(buf_cstr(&text), "\tp\tt\t2\t"), no_reads);
		p->budget.limit = i == 0 ? 1 : 64 << 20;
		assert_int_equal(tree_read(p->tree, node_at(p, S "/title"), 0, 1 << 20, &title), 0);
		p->budget.limit = 64 << 20;
	}
	no_reads = false;
}

/* The error of reserving space, if not 0. */
static int disk_error;

int posix_fallocate64(int fd, off64_t off, off64_t n);
int posix_fallocate64(int fd, off64_t off, off64_t n)
{
	return disk_error ? disk_error : fallocate64(fd, 0, off, n) < 0 ? errno : 0;
}

static void append_long_messages(struct source_fixture *p, unsigned from, unsigned to)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	for (unsigned i = from; i < to; i++)
		buf_addf(&text, LINE({"type":"message","id":"m%u","parentId":"m%u","message":{"role":"user","content":"%010000u"}}),
		                      i, i - 1, i);
	write_at(p->file, O_APPEND, text.p, text.n);
}

/* A view that outgrows memory on a full disk is an error; it is whole again once there is room. */
FIXTURE_CASE(view_on_a_full_disk_is_enospc)
{
	static const char *const names[] = {S "/transcript.md", S "/all.txt"};
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct tree_attr a;
	p->fresh_ms = 1;
	begin(p, HEADER USER("m0", null, "hi"));
	append_long_messages(p, 1, 700);
	wait_seen(p);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_int_equal(find(p, names[i], &a), 0);
	append_long_messages(p, 700, 1000);
	wait_seen(p);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		disk_error = ENOSPC;
		assert_int_equal(find(p, names[i], &a), -ENOSPC);
		assert_int_equal(find(p, names[i], &a), -ENOSPC);
		disk_error = 0;
		assert_int_equal(find(p, names[i], &a), 0);
		buf_reset(&text);
		assert_int_equal(tree_read(p->tree, a.node, 0, SIZE_MAX / 2, &text), 0);
		assert_int_equal(text.n, a.size);
		for (unsigned k = 1; k < 1000; k++) {
			char want[16];
			snprintf(want, sizeof want, "0%u\n", k);
			assert_non_null(memmem(text.p, text.n, want, strlen(want)));
		}
	}
}

RUN_CASES(NULL, NULL)
