/* SPDX-License-Identifier: MIT */
/* Files open for writing, and the scratch files of editors. */
#include "cases.h"
#include "later.h"
#include "write_fixture.h"

/* ---- handles ---- */

FIXTURE_CASE(touch_creates_empty_name)
{
	struct tree_handle *h;
	struct tree_attr a;
	const struct tree_setattr times = {.mtime = true, .atime = true, .mode = true, .uid = true};
	begin(p, ABC LABEL("l", "c", "b", "old"));
	assert_int_equal(open_create(p, B, "label", true, &h), -EEXIST);
	assert_int_equal(open_create(p, A, "label", true, &h), 0);
	assert_reads(p, A "/label", "");
	assert_int_equal(tree_flush(p->tree, h, &who), 0);
	assert_int_equal(tree_setattr(p->tree, node_at(p, A "/label"), h, &times, &a), 0);
	assert_int_equal(tree_fsync(p->tree, h, &who), 0);
	tree_release(p->tree, h);
	assert_missing(p, A "/label");
	assert_int_equal(tree_setattr(p->tree, node_at(p, B "/label"), NULL, &times, &a), 0);
	assert_int_equal(tree_open_write(p->tree, node_at(p, B "/label"), false, &who, &h), 0);
	assert_int_equal(tree_flush(p->tree, h, &who), 0);
	tree_release(p->tree, h);
	assert_int_equal(tree_setattr(p->tree, node_at(p, S "/title"), NULL, &times, &a), -EPERM);
	assert_added(p, "");
}

/* Text that cannot be shown exactly is kept if it is saved as shown. */
FIXTURE_CASE(saving_shown_text_changes_nothing)
{
	begin(p,
	    ABC LABEL("l", "c", "a", "x\ud800") LABEL("m", "l", "b", "x\u0000") LABEL("n", "m", "c", " ")
	    INFO("i", "n", "\udc00"));
	assert_reads(p, A "/label", "x\xef\xbf\xbd\n");
	assert_int_equal(put(p, A, "label", "x\xef\xbf\xbd\n"), 0);
	assert_int_equal(put(p, B, "label", "x\xe2\x90\x80\n"), 0);
	assert_int_equal(put(p, S "/entries/c", "label", " \n"), 0);
	assert_int_equal(put(p, S, "name", "\xef\xbf\xbd\n"), 0);
	assert_added(p, "");
	assert_int_equal(put(p, A, "label", "y\xef\xbf\xbd\n"), 0);
	assert_added(p,
	    "{\"type\":\"label\",\"id\":\"@0\",\"parentId\":\"i\",\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"targetId\":\"a\",\"label\":\"y\xef\xbf\xbd\"}\n");
	/* The first line of a text is another text. */
	assert_int_equal(put(p, A, "branch", "one\ntwo\n"), 0);
	assert_int_equal(put(p, A, "branch", "one"), 0);
	assert_added(p, SUMMARY("@1", "a", "@0", "one\ntwo") SUMMARY("@2", "a", "@1", "one"));
}

/* ---- scratch files ---- */

FIXTURE_CASE(scratch_files_are_kept)
{
	struct tree_handle *h;
	begin(p, ABC);
	assert_int_equal(put(p, A, ".label.swp", "longer"), 0);
	assert_int_equal(put(p, A, ".label.swp", "swap"), 0);
	assert_reads(p, A "/.label.swp", "swap");
	assert_int_equal(open_create(p, A, ".label.swp", true, &h), -EEXIST);
	assert_int_equal(make_link(p, A, ".#label", "will@host.1:2"), 0);
	assert_reads(p, A "/.#label", "will@host.1:2");
	assert_int_equal(put(p, S, "4913", "x"), 0);
	assert_reads(p, S "/4913", "x");
	assert_missing(p, B "/.label.swp");
	assert_int_equal(move(p, A, ".label.swp", B, "kept"), 0);
	assert_reads(p, B "/kept", "swap");
	assert_int_equal(take(p, B, "kept"), 0);
	assert_int_equal(take(p, A, ".#label"), 0);
	assert_int_equal(take(p, A, ".#label"), -ENOENT);
	assert_missing(p, A "/.#label");
	assert_added(p, "");
	assert_missing(p, S "/errors");
}

/* They belong to the name of the session: an editor goes on after another program has replaced the file. */
FIXTURE_CASE(scratch_files_outlive_the_session_file)
{
	p->fresh_ms = 1;
	begin(p, ABC);
	assert_int_equal(put(p, S, "notes.md", "x"), 0);
	assert_int_equal(put(p, A, "tmp", "new\n"), 0);
	replace_file(p, ABC INFO("i", "c", "other"));
	wait_seen(p);
	assert_reads(p, S "/name", "other\n");
	assert_reads(p, S "/notes.md", "x");
	assert_int_equal(move(p, A, "tmp", A, "label"), 0);
	assert_added(p, LABEL("@0", "i", "a", "new"));
	assert_int_equal(take(p, S, "notes.md"), 0);
	assert_missing(p, S "/notes.md");
}

FIXTURE_CASE(rename_onto_writable_name_commits)
{
	struct tree_handle *h;
	begin(p, ABC LABEL("l", "c", "a", "old"));
	assert_int_equal(open_create(p, A, "tmp", true, &h), 0);
	assert_int_equal(tree_write(p->tree, h, span_of("new\n"), 0, &who), 0);
	assert_int_equal(move(p, A, "tmp", A, "label"), 0);
	assert_added(p, LABEL("@0", "l", "a", "new"));
	assert_missing(p, A "/tmp");
	assert_reads(p, A "/label", "new\n");
	/* A late write must fail, not be lost. */
	assert_int_equal(tree_write(p->tree, h, span_of("late\n"), 0, &who), -EIO);
	assert_has(p, S "/errors", "Z entries/a: not written: the file was renamed to a name of the session (EIO)\n");
	tree_release(p->tree, h);
	assert_int_equal(put(p, S, "tmp", "two\n"), 0);
	assert_int_equal(move(p, S, "tmp", B, "branch"), 0);
	assert_reads(p, B "/branch", "two\n");
}

/* Never EINVAL, which mv misinterprets. The scratch file stays. */
FIXTURE_CASE(refused_rename_is_never_einval)
{
	begin(p, ABC LABEL("l", "c", "a", "old"));
	assert_int_equal(put(p, A, "tmp", "one\ntwo\n"), 0);
	assert_int_equal(move(p, A, "tmp", A, "label"), -EPERM);
	assert_reads(p, A "/tmp", "one\ntwo\n");
	assert_reads(p, A "/label", "old\n");
	assert_int_equal(move(p, A, "tmp", S, "leaf"), -EPERM);
	assert_int_equal(move(p, A, "tmp", S "/labels", "old"), -EPERM);
	assert_int_equal(move(p, A, "tmp", "projects/p", "x"), -EPERM);
	assert_int_equal(make_link(p, S, "link", "entries/a"), 0);
	assert_int_equal(move(p, S, "link", S, "name"), -EPERM);
	assert_int_equal(make_link(p, S "/labels", ".tmp", "../title"), 0);
	assert_int_equal(move(p, S "/labels", ".tmp", S "/labels", "x"), -EPERM);
	assert_reads(p, S "/labels/.tmp", "../title");
	struct span label = SPAN_LIT("label"), tmp = SPAN_LIT("tmp");
	assert_int_equal(tree_rename(p->tree, node_at(p, A), tmp, node_at(p, A), label, true), -EEXIST);
	assert_added(p, "");
}

/* Renamed, as editors make backups: a copy stays, the name is free, nothing is written. */
FIXTURE_CASE(rename_to_scratch_name_keeps_copy)
{
	struct tree_handle *h;
	begin(p, ABC LABEL("l", "c", "a", "old"));
	assert_int_equal(move(p, A, "label", A, "label~"), 0);
	assert_missing(p, A "/label");
	assert_reads(p, A "/label~", "old\n");
	assert_added(p, "");
	assert_int_equal(open_create(p, A, "label", true, &h), 0);
	assert_int_equal(tree_write(p->tree, h, span_of("new\n"), 0, &who), 0);
	assert_int_equal(tree_flush(p->tree, h, &who), 0);
	tree_release(p->tree, h);
	assert_added(p, LABEL("@0", "l", "a", "new"));
	assert_reads(p, A "/label", "new\n");
	assert_int_equal(take(p, A, "label~"), 0);
	end(p);
	/* The copy is whole, however long other programs have made the label. */
	char text[5001];
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	CLEANUP_BUF struct buf all = BUF_INIT;
	buf_addf(&all, ABC LABEL("l", "c", "a", "%s"), text);
	begin(p, buf_cstr(&all));
	assert_int_equal(move(p, A, "label", A, "label~"), 0);
	struct tree_attr a;
	assert_int_equal(find(p, A "/label~", &a), 0);
	assert_int_equal(a.size, 5001);
}

/* Without room for the copy the name stays, and so does an older copy. */
FIXTURE_CASE(rename_to_scratch_name_fails_when_full)
{
	struct tree_attr a;
	begin(p, ABC);
	assert_int_equal(put(p, A, "label", "x\n"), 0);
	assert_int_equal(put(p, A, "big", "x"), 0);
	for (uint64_t size = UINT64_C(128) << 20; size > 0; size /= 2) {
		struct tree_setattr more = {.size = true};
		assert_int_equal(find(p, A "/big", &a), 0);
		more.attr.size = a.size + size;
		tree_setattr(p->tree, a.node, NULL, &more, &a);
	}
	assert_int_equal(a.size, 64 << 20);
	assert_has(p, S "/errors", "Z entries/a: only 1024 files of editors, of 64 MiB in total, are kept (ENOSPC)\n");
	assert_int_equal(move(p, A, "label", A, "label~"), -ENOSPC);
	assert_has(p, S "/errors", "Z entries/a/label~: only 1024 files");
	assert_missing(p, A "/label~");
	assert_int_equal(put(p, A, "old", ""), 0);
	assert_int_equal(move(p, A, "label", A, "old"), -ENOSPC);
	assert_reads(p, A "/old", "");
	assert_reads(p, A "/label", "x\n");
}

FIXTURE_CASE(rename_back_restores_name)
{
	begin(p, ABC LABEL("l", "c", "a", "old"));
	assert_int_equal(move(p, S, "labels.tsv", S, "labels.tsv~"), 0);
	assert_missing(p, S "/labels.tsv");
	assert_int_equal(move(p, S, "labels.tsv~", S, "labels.tsv"), 0);
	assert_has(p, S "/labels.tsv", "a\told\t");
	assert_int_equal(move(p, A, "label", B, "label"), -EPERM);
	assert_int_equal(move(p, A, "label", A, "entry.json"), -EPERM);
	assert_added(p, "");
}

/* They are back when they are written, or after ten seconds. */
FIXTURE_CASE(table_and_leaf_removed)
{
	begin(p, ABC LABEL("l", "c", "a", "old"));
	let_stand(CLOCK_MONOTONIC);
	assert_int_equal(take(p, S, "labels.tsv"), 0);
	assert_int_equal(take(p, S, "leaf"), 0);
	let_pass(CLOCK_MONOTONIC, 9999);
	assert_missing(p, S "/labels.tsv");
	assert_missing(p, S "/leaf");
	let_pass(CLOCK_MONOTONIC, 1);
	assert_reads(p, S "/leaf", "entries/l");
	assert_int_equal(take(p, S, "labels.tsv"), 0);
	assert_int_equal(put(p, S, "labels.tsv", "a\tnew\n"), 0);
	assert_added(p, LABEL("@0", "l", "a", "new"));
	assert_has(p, S "/labels.tsv", "a\tnew\t");
	assert_int_equal(put(p, S, "labels.tsv", ""), 0);
	assert_added(p, "");
}

RUN_CASES(expect_refusals, NULL)
