/* What was written is done, also when it cannot be looked at afterwards. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "write_fixture.h"

#include "../../src/tree/write_impl.h"

/* From when a record was written on, looking fails with this; the linker puts these functions in place of the tree's
 * (see the Makefile). */
static int failure;
static bool written;

int __real_commit_labels(struct tree *t, node_t dir, struct span name, const struct edit_label *labels, size_t n);
int __wrap_commit_labels(struct tree *t, node_t dir, struct span name, const struct edit_label *labels, size_t n);
int __wrap_commit_labels(struct tree *t, node_t dir, struct span name, const struct edit_label *labels, size_t n)
{
	int rc = __real_commit_labels(t, dir, name, labels, n);
	written = true;
	return rc;
}

int __real_commit_leaf(struct tree *t, struct node n, uint32_t entry);
int __wrap_commit_leaf(struct tree *t, struct node n, uint32_t entry);
int __wrap_commit_leaf(struct tree *t, struct node n, uint32_t entry)
{
	int rc = __real_commit_leaf(t, n, entry);
	written = true;
	return rc;
}

int __real_tree_lookup(struct tree *t, node_t parent, struct span name, struct tree_attr *ret);
int __wrap_tree_lookup(struct tree *t, node_t parent, struct span name, struct tree_attr *ret);
int __wrap_tree_lookup(struct tree *t, node_t parent, struct span name, struct tree_attr *ret)
{
	return written && failure ? failure : __real_tree_lookup(t, parent, name, ret);
}

int __real_tree_getattr(struct tree *t, node_t node, struct tree_attr *ret);
int __wrap_tree_getattr(struct tree *t, node_t node, struct tree_attr *ret);
int __wrap_tree_getattr(struct tree *t, node_t node, struct tree_attr *ret)
{
	return written && failure ? failure : __real_tree_getattr(t, node, ret);
}

/* Makes the link while nothing can be looked at any more; what is answered must be what is there. */
static void assert_made(struct place *p, const char *dir, const char *name, const char *target, int error)
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

static void a_link_that_was_written_is_made(void **state)
{
	static const int errors[] = {-EIO, -ENOENT, -ESTALE, -EMFILE};
	struct place *p = *state;
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		begin(p, ABC);
		assert_made(p, S "/labels", "x", "../entries/a", errors[i]);
		assert_added(p, SET("@0", "c", "a", "x"));
		assert_int_equal(take(p, S, "leaf"), 0);
		assert_made(p, S, "leaf", "entries/b", errors[i]);
		end(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_link_that_was_written_is_made, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
