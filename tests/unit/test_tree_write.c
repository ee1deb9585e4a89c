/* SPDX-License-Identifier: MIT */
/* Writing through the tree, without a mount: every row of "Writing" in sessionfs(5), refusals, and the steps of
 * editors. After each step the lines added to the session file are compared. */
#include "cases.h"
#include "sessionfs/base/cancel.h"
#include "write_fixture.h"

/* ---- the rows of the table ---- */

/* A label of another program that is only white space. */
FIXTURE_CASE(white_space_is_cleared)
{
	begin(p, ABC LABEL("l", "c", "b", "\n"));
	assert_int_equal(put(p, B, "label", ""), 0);
	assert_added(p, UNLABEL("@0", "l", "b"));
}

/* Labels are checked the same way however they are set; those set by name must also be names as labels/ shows them. */
FIXTURE_CASE(label_is_checked)
{
	static const char *const names[] = {"a%0Ab", "a%0A",         "%00", "a%00", " ",   "%09",  "%C2%A0",
	                                    "%FF",   "%ED%A0%80",    "%",   "100%", "%2f", "a\nb", "\xff",
	                                    "%41",   "\xef\xbb\xbfx"};
	begin(p, ABC LABEL("l", "c", "b", "two\nlines"));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		assert_int_equal(make_link(p, S "/labels", names[i], "../entries/a"), -EINVAL);
		assert_int_equal(make_link(p, S "/labels", names[i], "../entries/none"), -EINVAL);
		assert_int_equal(make_link(p, S "/labels", "Cu12ab9Z", "../entries/a"), 0);
		assert_int_equal(move(p, S "/labels", "Cu12ab9Z", S "/labels", names[i]), -EPERM);
		assert_int_equal(take(p, S "/labels", "Cu12ab9Z"), 0);
	}
	assert_int_equal(make_link(p, S "/labels", "a%0Ab", "../entries/a"), -EINVAL);
	assert_has(p, S "/errors", "Z labels/a%0Ab: a label is one line (EINVAL)\n");
	assert_int_equal(make_link(p, S "/labels", "x\ny", "../entries/a"), -EINVAL);
	assert_has(p, S "/errors", "Z labels/x?y: ");
	assert_int_equal(make_link(p, S "/labels", "x", "../title"), -EINVAL);
	assert_has(p, S "/errors",
	           "Z labels/x: the target is not an entry of this session; link to entries/ID (EINVAL)\n");
	assert_int_equal(put(p, S, "labels.tsv", "a\tx\\ny\n"), -EINVAL);
	assert_has(p, S "/errors", "Z labels.tsv: line 1: a label is one line (EINVAL)\n");
	/* A label set by another program can be renamed and removed, but not moved to another entry. */
	assert_int_equal(force_link(p, S "/labels", "two%0Alines", "../entries/a"), -EPERM);
	assert_added(p, "");
	assert_int_equal(move(p, S "/labels", "two%0Alines", S "/labels", "one line"), 0);
	assert_added(p, LABEL("@0", "l", "b", "one line"));
	assert_int_equal(move(p, S "/labels", "one line", S "/labels", "one line"), 0);
	assert_int_equal(move(p, S "/labels", "none", S "/labels", "x"), -ENOENT);
	assert_added(p, "");
}

/* The third equal label gets another name than requested, and exists. */
FIXTURE_CASE(third_equal_label_gets_other_name)
{
	begin(p, ABC LABEL("l", "c", "a", "x") LABEL("m", "l", "b", "x"));
	assert_int_equal(make_link(p, S "/labels", "x", "../entries/c"), 0);
	assert_added(p, LABEL("@0", "m", "c", "x"));
	assert_lists(p, S "/labels", "x~a x~b x~c ");
}

FIXTURE_CASE(link_targets)
{
	begin(p, ABC);
	/* None of these is a name that ln(1) gives a temporary link. */
	assert_int_equal(make_link(p, S "/labels", "Cu12ab9", "../entries/a/"), 0);
	assert_int_equal(make_link(p, S "/labels", "Cu12ab9Zs", "/mnt/s/" B), 0);
	assert_int_equal(make_link(p, S "/labels", "Cu12-b9Z", "../leaf"), 0);
	assert_added(p, LABEL("@0", "c", "a", "Cu12ab9") LABEL("@1", "@0", "b", "Cu12ab9Zs")
	    LABEL("@2", "@1", "@1", "Cu12-b9Z"));
	assert_int_equal(make_link(p, S "/labels", "3", "/etc/passwd"), -EINVAL);
	assert_int_equal(make_link(p, S "/labels", "3", "/mnt/save/" B), -EINVAL);
	assert_added(p, "");
	assert_int_equal(make_link(p, S "/labels", "a%2Fb", "../entries/c"), 0);
	assert_reads(p, S "/entries/c/label", "a/b\n");
}

static void save_edited(struct source_fixture *p, const struct buf *table, const char *from, const char *to)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	const char *at = memmem(table->p, table->n, from, strlen(from));
	assert_non_null(at);
	buf_add(&b, table->p, (size_t)(at - table->p));
	buf_adds(&b, to);
	buf_add(&b, at + strlen(from), table->n - (size_t)(at + strlen(from) - table->p));
	assert_int_equal(put_bytes(p, S, "labels.tsv", buf_span(&b)), 0);
}

/* Two programs have the table open: neither undoes the other's changes, and each can undo its own. */
FIXTURE_CASE(concurrent_tables_merge)
{
	CLEANUP_BUF struct buf table = BUF_INIT;
	begin(p, ABC LABEL("l", "c", "a", "old"));
	assert_int_equal(tree_read(p->tree, node_at(p, S "/labels.tsv"), 0, 1 << 20, &table), 0);
	assert_has(p, S "/labels.tsv", "# ID\tLABEL\tTEXT\tas of line 5\n");
	assert_int_equal(put(p, B, "label", "theirs\n"), 0);
	save_edited(p, &table, "c\t", "c\tmine");
	assert_added(p, LABEL("@0", "l", "b", "theirs") LABEL("@1", "@0", "c", "mine"));
	save_edited(p, &table, "a\told", "a\tnew");
	assert_added(p, LABEL("@2", "@1", "a", "new") UNLABEL("@3", "@2", "c"));
	save_edited(p, &table, "c\t\tuser: hi\n", "");
	assert_added(p, LABEL("@4", "@3", "a", "old"));
	assert_int_equal(put(p, A, "label", "theirs, too\n"), 0);
	assert_int_equal(put_bytes(p, S, "labels.tsv", buf_span(&table)), 0);
	assert_added(p, LABEL("@5", "@4", "a", "theirs, too"));
	/* Read again, it is still the same table. */
	buf_reset(&table);
	assert_int_equal(tree_read(p->tree, node_at(p, S "/labels.tsv"), 0, 1 << 20, &table), 0);
	save_edited(p, &table, "b\ttheirs", "b\t");
	assert_added(p, UNLABEL("@6", "@5", "b"));
}

/* The same with a table of many labels. */
FIXTURE_CASE(many_rows_are_taken_back)
{
	CLEANUP_BUF struct buf text = BUF_INIT, table = BUF_INIT, labels = BUF_INIT;
	buf_adds(&text, HEADER);
	buf_adds(&labels, "# ID\tas of line 1001\n");
	for (unsigned i = 0; i < 1000; i++) {
		buf_addf(&text, USER("%u", null, "hi"), i);
		buf_addf(&labels, "%u\tx\n", i);
	}
	begin(p, buf_cstr(&text));
	assert_int_equal(tree_read(p->tree, node_at(p, S "/labels.tsv"), 0, 1 << 20, &table), 0);
	assert_int_equal(put_bytes(p, S, "labels.tsv", buf_span(&labels)), 0);
	assert_int_equal(put_bytes(p, S, "labels.tsv", buf_span(&table)), 0);
	assert_lists(p, S "/labels", "");
}

FIXTURE_CASE(leaf_link_moves_leaf)
{
	begin(p, ABC);
	assert_int_equal(make_link(p, S, "leaf", "entries/b"), -EEXIST);
	/* As busybox does: it removes the link first. */
	assert_int_equal(take(p, S, "leaf"), 0);
	assert_missing(p, S "/leaf");
	assert_int_equal(make_link(p, S, "leaf", "entries/none"), -ENOENT);
	assert_int_equal(make_link(p, S, "leaf", "title"), -EINVAL);
	assert_added(p, "");
	assert_int_equal(make_link(p, S, "leaf", "/mnt/s/" B), 0);
	struct tree_attr a;
	assert_int_equal(find(p, S "/leaf", &a), 0);
	CLEANUP_BUF struct buf all = BUF_INIT;
	assert_true(read_file(p->file, &all));
	assert_non_null(memmem(all.p + p->seen, all.n - p->seen, JSON("parentId":"b"), 14));
}

/* ---- refusals ---- */

FIXTURE_CASE(errors_newest_first)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	begin(p, ABC);
	assert_int_equal(put(p, A, "label", "one\ntwo\n"), -EINVAL);
	assert_int_equal(put_bytes(p, S, "name", SPAN_LIT("\0")), -EINVAL);
	assert_int_equal(tree_read(p->tree, node_at(p, S "/errors"), 0, 4096, &b), 0);
	char *nl = memchr(b.p, '\n', b.n);
	assert_non_null(nl);
	assert_non_null(memmem(b.p, (size_t)(nl - b.p), " name: ", 7));
	assert_non_null(memmem(nl, b.n - (size_t)(nl - b.p), " entries/a/label: a label is one line (EINVAL)\n", 47));
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(put(p, A, "label", "one\ntwo\n"), -EINVAL);
	buf_reset(&b);
	assert_int_equal(tree_read(p->tree, node_at(p, S "/errors"), 0, 1 << 20, &b), 0);
	assert_in_range(b.n, 1, 16384);
}

/* Its pieces belong to the current text, even if it was read in pieces before. */
FIXTURE_CASE(errors_file_reads_at_any_offset)
{
	begin(p, ABC);
	for (int i = 0; i < 2; i++) {
		CLEANUP_BUF struct buf whole = BUF_INIT, pieces = BUF_INIT;
		assert_int_equal(put(p, A, "label", "two\nlines\n"), -EINVAL);
		node_t errors = node_at(p, S "/errors");
		assert_int_equal(tree_read(p->tree, errors, 0, 4096, &whole), 0);
		for (size_t off = 0; off < whole.n; off += 7)
			assert_int_equal(tree_read(p->tree, errors, off, 7, &pieces), 0);
		assert_int_equal(pieces.n, whole.n);
		assert_memory_equal(pieces.p, whole.p, whole.n);
	}
}

FIXTURE_CASE(read_only_file)
{
	struct tree_handle *h;
	begin_mode(p, ABC LABEL("l", "c", "a", "old"), 0444, false);
	assert_mode(p, A "/label", S_IFREG | 0444);
	assert_int_equal(tree_open_write(p->tree, node_at(p, A "/label"), true, &who, &h), -EACCES);
	assert_has(p, S "/errors", "Z entries/a/label: the session file is not writable (EACCES)\n");
	assert_int_equal(put(p, B, "label", "x\n"), -EACCES);
	assert_int_equal(put(p, A, "4913", "x\n"), -EACCES);
	assert_int_equal(make_link(p, S "/labels", "x", "../entries/a"), -EACCES);
	assert_int_equal(take(p, A, "label"), -EACCES);
	assert_int_equal(take(p, S "/labels", "old"), -EACCES);
	assert_int_equal(move(p, S "/labels", "old", S "/labels", "new"), -EACCES);
	assert_added(p, "");
}

FIXTURE_CASE(unaddressable_entry_is_not_writable)
{
	struct tree_handle *h;
	begin(p, ABC USER(null, "c", "hi"));
	assert_mode(p, S, S_IFDIR | 0755);
	assert_mode(p, A, S_IFDIR | 0755);
	assert_mode(p, S "/entries/~5", S_IFDIR | 0755);
	/* As soon as it is opened: shells do not check close(2). */
	assert_int_equal(open_create(p, S "/entries/~5", "label", false, &h), -EPERM);
	assert_int_equal(open_create(p, S "/entries/~5", "branch", false, &h), -EPERM);
	assert_int_equal(make_link(p, S "/labels", "x", "../entries/~5"), -EPERM);
	assert_has(p, S "/errors", "Z labels/x: pi cannot address this entry (EPERM)\n");
	assert_int_equal(force_link(p, S, "leaf", "entries/~5"), -EPERM);
	assert_added(p, "");
}

FIXTURE_CASE(generated_names)
{
	static const char *const names[] = {"title", "session.jsonl", "tree.txt", "context.md", "info.json"};
	begin(p, ABC);
	assert_int_equal(put(p, S, "4913", "x"), 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		assert_int_equal(put(p, S, names[i], "x\n"), -EPERM);
		assert_int_equal(take(p, S, names[i]), -EPERM);
		assert_int_equal(move(p, S, names[i], S, "x"), -EPERM);
		assert_int_equal(move(p, S, "4913", S, names[i]), -EPERM);
	}
	assert_int_equal(take(p, "projects/p", "s"), -EPERM);
	assert_true(take(p, S, "entries") < 0);
	assert_true(take(p, S "/entries", "a") < 0);
	assert_int_equal(make_link(p, S, "name", "x"), -EPERM);
	assert_added(p, "");
}

/* A name that the tree uses, even if it does not exist now, never becomes a scratch file; names of editors do. */
FIXTURE_CASE(tree_names_never_become_scratch_files)
{
	static const struct {
		const char *dir, *name;
	} names[] = {{S, "errors"},      {A, "context.md"}, {A, "labels.tsv"}, {A, "name"},
	             {A, "leaf"},        {A, "README.md"},  {A, "tool-calls"}, {A, "error"},
	             {A, "thinking.md"}, {S, "label"},      {S, "branch"},     {S, "README.md"},
	             {S, "text.md"},     {S, "hits.txt"},   {S, "forks"},      {S, "sessions.tsv"}};
	static const char *const side[] = {"4913",  ".label.swp",  "label~",    "label.tmp", "#label#",
	                                   "Label", "labels.tsv~", "sedAbCdEf", "name.new"};
	CLEANUP_BUF struct buf said = BUF_INIT;
	struct tree_attr a;
	begin(p, ABC LABEL("l", "c", "c", "x"));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *dir = names[i].dir, *name = names[i].name;
		assert_int_equal(tree_lookup(p->tree, node_at(p, dir), span_of(name), &a), -ENOENT);
		assert_int_equal(put(p, dir, name, "x\n"), -EPERM);
		buf_reset(&said);
		assert_int_equal(tree_read(p->tree, node_at(p, S "/errors"), 0, 1 << 16, &said), 0);
		char *end = memchr(said.p, '\n', said.n);
		if (!memmem(said.p, (size_t)(end - said.p), name, strlen(name)))
			fail_msg("%s is not in %.*s", name, (int)(end - said.p), said.p);
		assert_int_equal(make_link(p, dir, name, "x"), i ? -EPERM : -EEXIST);
		assert_int_equal(put(p, dir, "side", "x\n"), 0);
		assert_int_equal(move(p, dir, "side", dir, name), -EPERM);
		assert_int_equal(take(p, dir, "side"), 0);
		if (strcmp(dir, S) == 0)
			assert_int_equal(move(p, S "/entries/c", "label", dir, name), -EPERM);
	}
	assert_reads(p, S "/entries/c/label", "x\n");
	/* In labels/ a link is a label, whatever its name. */
	assert_int_equal(make_link(p, S "/labels", "error", "../entries/a"), 0);
	assert_added(p, LABEL("@0", "l", "a", "error"));
	for (size_t i = 0; i < sizeof side / sizeof *side; i++) {
		assert_int_equal(put(p, S, side[i], "x\n"), 0);
		assert_int_equal(put(p, A, side[i], "x\n"), 0);
		assert_int_equal(move(p, A, side[i], A, "moved"), 0);
	}
	assert_added(p, "");
}

/* A file in labels/ would be no label; links can wait there for their names. */
FIXTURE_CASE(labels_takes_no_file)
{
	static const char *const names[] = {"new", ".hidden", "Cu12ab9Z", "title"};
	begin(p, ABC INFO("i", "c", "old"));
	assert_int_equal(put(p, S, "side", "x\n"), 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		assert_int_equal(put(p, S "/labels", names[i], "x\n"), -EPERM);
		assert_int_equal(move(p, S, "side", S "/labels", names[i]), -EPERM);
		assert_int_equal(move(p, S, "name", S "/labels", names[i]), -EPERM);
	}
	assert_has(p, S "/errors", "Z labels/new: make a link, or write entries/ID/label (EPERM)\n");
	assert_int_equal(make_link(p, S "/labels", ".hidden", "../entries/a"), 0);
	assert_int_equal(make_link(p, S "/labels", "Cu12ab9Z", "../entries/a"), 0);
	assert_lists(p, S "/labels", ".hidden Cu12ab9Z ");
	assert_reads(p, S "/side", "x\n");
	assert_reads(p, S "/name", "old\n");
	assert_added(p, "");
	/* One that stays is reported, and hidden by a label of that name. */
	tree_report_leftovers(p->tree, INT64_MAX);
	assert_has(p, S "/errors", "Z labels/Cu12ab9Z: only in memory; lost at the unmount\n");
	assert_int_equal(put(p, B, "label", "Cu12ab9Z\n"), 0);
	assert_lists(p, S "/labels", "Cu12ab9Z .hidden ");
}

/* Cancels the work from the first check on, or, if *arg is below 0, after as many. */
static bool cancel_from(void *arg)
{
	return ++*(int *)arg > 0;
}

/* Or else `chmod -R` of all branches takes the square of their number. */
FIXTURE_CASE(refusal_in_a_branch_lists_no_branches)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	int checks = -100;
	const struct cancel late = {.is_cancelled = cancel_from, .arg = &checks};
	struct tree_attr a;
	buf_adds(&text, HEADER USER("0", null, "hi"));
	for (unsigned i = 1; i < 300; i++)
		buf_addf(&text, USER("%u", "0", "hi"), i);
	begin(p, buf_cstr(&text));
	node_t node = node_at(p, S "/branches/299/context.json");
	cancel_set(&late);
	assert_int_equal(tree_setattr(p->tree, node, NULL, &(struct tree_setattr){.mode = true}, &a), -EPERM);
	cancel_set(NULL);
	assert_true(checks < 0);
	assert_has(p, S "/errors", "Z branches/299/context.json: this name cannot be changed");
}

/* Python writes the same bytes again: nothing written before is lost. */
FIXTURE_CASE(interrupted_write_can_be_repeated)
{
	int checks = 0;
	const struct cancel signal = {.is_cancelled = cancel_from, .arg = &checks};
	struct tree_handle *h;
	p->fresh_ms = 1;
	begin(p, ABC INFO("i", "c", "First"));
	assert_int_equal(tree_open_write(p->tree, node_at(p, S "/name"), false, &who, &h), 0);
	write_at(p->file, O_APPEND, USER("d", "i", "hi"), sizeof USER("d", "i", "hi") - 1);
	usleep(5000);
	cancel_set(&signal);
	int rc = tree_write(p->tree, h, SPAN_LIT("more"), TREE_END, &who);
	cancel_set(NULL);
	assert_true(checks > 0);
	if (rc == -EINTR)
		rc = tree_write(p->tree, h, SPAN_LIT("more"), TREE_END, &who);
	assert_int_equal(rc, 0);
	assert_int_equal(tree_flush(p->tree, h, &who), 0);
	tree_release(p->tree, h);
	assert_added(p, USER("d", "i", "hi") INFO("@0", "d", "First more"));
	/* But not the close: what it refused is not appended later. */
	assert_int_equal(tree_open_write(p->tree, node_at(p, S "/name"), false, &who, &h), 0);
	tree_handle_sync(p->tree, h);
	assert_int_equal(tree_write(p->tree, h, SPAN_LIT("again"), TREE_END, &who), 0);
	usleep(5000);
	cancel_set(&signal);
	assert_int_equal(tree_flush(p->tree, h, &who), -EINTR);
	cancel_set(NULL);
	assert_int_equal(tree_write(p->tree, h, SPAN_LIT("more"), TREE_END, &who), -EIO);
	tree_release(p->tree, h);
	assert_added(p, "");
}

/* ---- old files, other writers ---- */

/* No record can name an entry without an id. */
FIXTURE_CASE(old_file_is_never_written)
{
	struct tree_attr leaf;
	struct tree_handle *h;
	begin(p, HEADER_V1 V1("message") LINE({"type":"session_info","name":"old"}));
	assert_mode(p, S "/name", S_IFREG | 0444);
	assert_int_equal(put(p, S, "name", "old\n"), -EPERM);
	assert_int_equal(put(p, S, "labels.tsv", "# nothing\n"), -EPERM);
	assert_int_equal(tree_resolve(p->tree, S "/leaf", true, &leaf), 0);
	assert_int_equal(open_in(p, leaf.node, "label", false, &h), -EPERM);
	assert_int_equal(open_in(p, leaf.node, "branch", false, &h), -EPERM);
	assert_int_equal(take(p, S, "name"), -EPERM);
	assert_int_equal(move(p, S, "name", S, "other"), -EPERM);
	assert_int_equal(make_link(p, S "/labels", "x", "../entries/none"), -EPERM);
	assert_has(p, S "/errors",
	           "labels/x: the session file has version 1; open it once in pi to convert it (EPERM)\n");
	assert_added(p, "");
	assert_reads(p, S "/name", "old\n");
}

/* A line that pi appended meanwhile is the parent; a torn one is ended first. */
FIXTURE_CASE(append_after_foreign_lines)
{
	static const char more[] = USER("d", "c", "hi") "{\"type\":\"tor";
	begin(p, ABC);
	assert_missing(p, A "/label");
	write_at(p->file, O_APPEND, more, sizeof more - 1);
	p->seen += sizeof more - 1;
	assert_int_equal(put(p, A, "label", "x\n"), 0);
	assert_added(p, "\n" LABEL("@0", "d", "a", "x"));
}

RUN_CASES(expect_refusals, NULL)
