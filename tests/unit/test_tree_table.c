/* SPDX-License-Identifier: MIT */
/* The table of names: properties of its rows. */
#include "cases.h"

#include "../../src/tree/write_impl.h"

/* An id leads to its row and back, and no other id leads to a row. */
CASE(kind_ids_round_trip)
{
	unsigned n = 0;

	for (const struct kind *k = NULL; (k = kind_next(k));) {
		assert_int_equal(kind_id(k), ++n);
		assert_ptr_equal(kind_at(n), k);
	}
	assert_int_equal(kind_id(&tree_root), KIND_ROOT);
	assert_true(n > KIND_ROOT && n < KIND_CALL_VIEW);
	assert_null(kind_at(0));
	for (unsigned i = n + 1; i < 2 * KIND_SCRATCH; i++)
		assert_null(kind_at(i));
	assert_int_equal(scratch_id(scratch_node(12345)), 12345);
	assert_true(tree_is_scratch(scratch_node(12345)));
}

/* The inode numbers of two names of one session differ: the kinds' numbers, one for each entry and part, do not
 * overlap, also not around 2^64. */
CASE(inode_numbers_of_kinds_are_apart)
{
	const uint64_t most = (uint64_t)NODE_ENTRIES << NODE_WIDE_PART_BITS;

	for (const struct kind *a = NULL; (a = kind_next(a));)
		for (const struct kind *b = a; (b = kind_next(b));)
			if (kind_key(a) - kind_key(b) < most || kind_key(b) - kind_key(a) < most)
				fail_msg("numbers of kinds %u and %u overlap", kind_id(a), kind_id(b));
}

static void check_names(const struct kind *k)
{
	assert_true(k->make.type == S_IFDIR || k->make.type == S_IFREG || k->make.type == S_IFLNK);
	assert_true((k->make.type == S_IFDIR) == (k->make.rows != NULL));
	assert_true(k->name ? !k->names.doc_name && !k->names.list && !k->names.match
	                    : k->names.doc_name && k->names.list && k->names.match);
	assert_non_null(k->doc);
	assert_non_null(k->from);
	if (k->flags & LINK_TARGET_DIR)
		assert_int_equal(k->make.type, S_IFDIR);
}

/* Each name but the root is in one directory, and a directory has at most one row for dynamic names. */
CASE(each_name_has_one_directory)
{

	for (const struct kind *k = NULL; (k = kind_next(k));) {
		const struct kind *dir = kind_above(k);
		const struct kind_rows *rows = kind_rows_of_dir((struct node){.kind = kind_id(k)});
		size_t dynamic = 0;
		check_names(k);
		assert_true((dir == NULL) == (k == &tree_root));
		if (dir)
			assert_true(kind_is_in(k, (struct node){.kind = kind_id(dir)}));
		assert_true((rows->n > 0) == (k->make.type == S_IFDIR));
		for (size_t i = 0; i < rows->n; i++)
			dynamic += !rows->v[i].name;
		assert_true(dynamic <= 1);
	}
}

/* The scope of a name includes the scope of its directory, so that its node has all parts of its directory's node. */
CASE(scope_includes_directory_scope)
{

	for (const struct kind *k = NULL; (k = kind_next(k));) {
		const struct kind *dir = kind_above(k);
		if (dir && dir->from->scope >= SCOPE_SLOT)
			assert_true(k->from->scope >= SCOPE_SLOT);
		if (dir && dir->from->scope >= SCOPE_ENTRY)
			assert_true(k->from->scope >= SCOPE_ENTRY);
		if (k->make.text || k->make.producer)
			assert_true(k->from->scope >= SCOPE_INDEX);
		if (k->make.record)
			assert_int_equal(k->from->scope, SCOPE_RECORD);
		if (k->make.table)
			assert_true(kind_shows_all_sessions(k));
		if (kind_shows_all_sessions(k))
			assert_true(kind_class(k) == TREE_UNCACHED && kind_is_owner_only(k));
	}
}

RUN_CASES(NULL, NULL)
