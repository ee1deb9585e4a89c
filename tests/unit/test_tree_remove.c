/* SPDX-License-Identifier: MIT */
/* Removals, and those refused because the process removes everything or cleans up. */
#include "cases.h"

#include "../../src/tree/write_impl.h"
#include "later.h"
#include "write_fixture.h"

#define LABELS LABEL("l", "c", "a", "one") LABEL("m", "l", "b", "two")
#define NAMED INFO("i", "m", "a name")

/* Scratch files have no kind and can be removed. */
static int look_at(void *arg, struct span name, uint64_t cookie, node_t node, uint64_t ino, mode_t mode,
                   const struct tree_attr *attr)
{
	bool *any = arg;
	const struct kind *k = kind_of(tree_node(node));
	bool is_removable = !k || kind_is_removable(k);
	if (*any && !is_removable)
		fail_msg("%.*s is listed behind what can be removed", (int)name.n, name.p);
	*any |= is_removable;
	return 0;
}

static void assert_removable_last(struct source_fixture *p, const char *path)
{
	bool any = false;
	assert_int_equal(tree_list(p->tree, node_at(p, path), 0, TREE_ATTRS, look_at, &any), 0);
	assert_true(any);
}

/* A directory emptied from its beginning is refused before anything is removed. */
FIXTURE_CASE(removable_names_are_listed_last)
{
	begin(p, ABC LABELS NAMED SUMMARY("s", "a", "m", "tried"));
	assert_int_equal(put(p, A, "side", "x"), 0);
	assert_removable_last(p, S);
	assert_removable_last(p, A);
}

FIXTURE_CASE(one_refusal_blocks_all_removals)
{
	begin(p, ABC LABELS NAMED);
	assert_int_equal(put(p, A, "side", "x"), 0);
	let_stand(CLOCK_MONOTONIC);
	assert_int_equal(take(p, S, "session.jsonl"), -EPERM);
	let_pass(CLOCK_MONOTONIC, 9999);
	assert_int_equal(take_too(p, A, "label"), -EPERM);
	assert_int_equal(take_too(p, S "/labels", "two"), -EPERM);
	assert_int_equal(take_too(p, S, "name"), -EPERM);
	assert_int_equal(take_too(p, S, "leaf"), -EPERM);
	assert_int_equal(take_too(p, S, "labels.tsv"), -EPERM);
	assert_int_equal(take_too(p, A, "side"), -EPERM);
	assert_added(p, "");
	assert_reads(p, S "/leaf", "entries/i");
	assert_has(p, S "/errors",
	           "Z entries/a/label: not removed: another removal by this process was refused (EPERM)");
	/* Reported once, after the reason of the first refusal. */
	CLEANUP_BUF struct buf b = BUF_INIT;
	assert_has(p, S "/errors", "Z session.jsonl: this name cannot be removed (EPERM)");
	assert_int_equal(tree_read(p->tree, node_at(p, S "/errors"), 0, 1 << 20, &b), 0);
	const char *first = memchr(b.p, '\n', b.n);
	assert_ptr_equal(memchr(first + 1, '\n', b.n - (size_t)(first + 1 - b.p)), b.p + b.n - 1);
	/* Other processes may remove, and so may this one after ten seconds. */
	assert_int_equal(take(p, A, "label"), 0);
	who.pid--;
	let_pass(CLOCK_MONOTONIC, 10000);
	assert_int_equal(take_too(p, S "/labels", "two"), 0);
	assert_int_equal(take_too(p, S, "name"), 0);
	assert_added(p, UNLABEL("@0", "i", "a") UNLABEL("@1", "@0", "b") INFO("@2", "@1", ""));
}

/* Any refusal blocks, anywhere. */
FIXTURE_CASE(any_refusal_blocks_removals)
{
	char read_only[200];
	snprintf(read_only, sizeof read_only, "%s/--p--/r.jsonl", p->root);
	put_file(read_only, ABC LABELS);
	assert_int_equal(chmod(read_only, 0444), 0);
	begin(p, ABC LABELS SUMMARY("s", "a", "m", "tried"));
	for (int how = 0; how < 5; how++) {
		int rc = how == 0   ? take(p, A, "branch")
		         : how == 1 ? take(p, "projects/p", "s")
		         : how == 2 ? take(p, S "/branches", "current")
		         : how == 3 ? take(p, "projects/p/r/entries/a", "label")
		                    : tree_rmdir(p->tree, node_at(p, S), SPAN_LIT("entries"), &who);
		assert_true(rc < 0);
		if (rc != -EISDIR)
			assert_int_equal(take_too(p, A, "label"), -EPERM);
		who.pid++;
	}
	assert_added(p, "");
}

/* With more processes than are remembered, an active one is not forgotten, nor are the newest. */
FIXTURE_CASE(refusals_of_many_processes_are_kept)
{
	begin(p, ABC LABELS);
	assert_int_equal(take(p, A, "entry.json"), -EPERM);
	pid_t first = who.pid;
	for (int i = 0; i < 1000; i++) {
		let_pass(CLOCK_MONOTONIC, 1);
		assert_int_equal(take(p, A, "entry.json"), -EPERM);
		pid_t other = who.pid;
		who.pid = first;
		assert_int_equal(take_too(p, A, "label"), -EPERM);
		who.pid = other;
	}
	who.pid -= 254;
	assert_int_equal(take_too(p, A, "label"), -EPERM);
	assert_added(p, "");
}

/* Cleanup after a refused write fails; after a successful one it works. */
FIXTURE_CASE(cleanup_after_refused_write_is_refused)
{
	begin(p, ABC LABELS);
	assert_int_equal(put(p, A, "label", "a\nb\n"), -EINVAL);
	assert_int_equal(take_too(p, A, "label"), -EPERM);
	assert_has(p, S "/errors", "Z entries/a/label: not removed: a write to it by this process failed (EPERM)\n");
	assert_reads(p, A "/label", "one\n");
	who.pid++;
	assert_int_equal(put(p, A, "label", "a\nb\n"), -EINVAL);
	assert_int_equal(put(p, A, "label", "three\n"), 0);
	assert_int_equal(take_too(p, A, "label"), 0);
	assert_added(p, LABEL("@0", "m", "a", "three") UNLABEL("@1", "@0", "a"));
	assert_missing(p, A "/label");
	/* So it does after a rename onto the name. */
	assert_int_equal(put(p, A, "label", "a\nb\n"), -EINVAL);
	assert_int_equal(put(p, A, "tmp", "four\n"), 0);
	assert_int_equal(move(p, A, "tmp", A, "label"), 0);
	assert_int_equal(take_too(p, A, "label"), 0);
	assert_added(p, LABEL("@2", "@1", "a", "four") UNLABEL("@3", "@2", "a"));
	/* When rm(1) succeeds, the name is gone. */
	assert_int_equal(put(p, B, "label", "a\nb\n"), -EINVAL);
	assert_int_equal(take(p, B, "label"), 0);
	assert_missing(p, B "/label");
	assert_added(p, UNLABEL("@4", "@3", "b"));
	assert_int_equal(put(p, A, "branch", "Tried.\n"), 0);
	assert_int_equal(put(p, A, "branch", "Tried \xff.\n"), -EINVAL);
	assert_int_equal(take(p, A, "branch"), -EPERM);
}

/* Any label can be removed, even while its writer still has it open. */
FIXTURE_CASE(any_label_can_be_removed)
{
	struct tree_handle *h, *other;
	begin(p, ABC LABEL("l", "c", "b", "\n"));
	assert_int_equal(take(p, B, "label"), 0);
	assert_missing(p, B "/label");
	assert_added(p, UNLABEL("@0", "l", "b"));
	assert_int_equal(open_create(p, A, "label", true, &h), 0);
	assert_int_equal(tree_write(p->tree, h, span_of("x\n"), 0, &who), 0);
	assert_int_equal(tree_fsync(p->tree, h, &who), 0);
	assert_int_equal(take(p, A, "label"), 0);
	assert_missing(p, A "/label");
	tree_release(p->tree, h);
	assert_added(p, LABEL("@1", "@0", "a", "x") UNLABEL("@2", "@1", "a"));
	/* Created and removed before it is written: a write through the old handle fails, and a new file works. */
	assert_int_equal(open_create(p, A, "label", true, &h), 0);
	assert_int_equal(take(p, A, "label"), 0);
	assert_missing(p, A "/label");
	assert_int_equal(open_create(p, A, "label", true, &other), 0);
	assert_int_equal(tree_write(p->tree, h, span_of("late\n"), 0, &who), 0);
	assert_int_equal(tree_flush(p->tree, h, &who), -EIO);
	assert_has(p, S "/errors", "Z entries/a/label: the file was removed before it was written (EIO)\n");
	tree_release(p->tree, h);
	assert_added(p, "");
	assert_int_equal(tree_write(p->tree, other, span_of("anew\n"), 0, &who), 0);
	assert_int_equal(tree_flush(p->tree, other, &who), 0);
	tree_release(p->tree, other);
	assert_added(p, LABEL("@3", "@2", "a", "anew"));
}

RUN_CASES(expect_refusals, NULL)
