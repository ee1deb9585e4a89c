/* SPDX-License-Identifier: MIT */
/* Listed names can be looked up, and others cannot. Attributes are the same from each request. A size is the number of
 * bytes read, however they are read. Links have a target, and `..` leads back. */
#include "walk.h"

#include "sessionfs/base/utf8.h"

#include "../../src/tree/tree_impl.h"

#include <sys/stat.h>

/* The number of names at the beginning of a directory, and at its end, that are entered. */
enum { FIRST = 8, LAST = 4 };

static void see_nothing(struct span text)
{
	(void)text;
}

static void (*see_text)(struct span text) = see_nothing;

struct item {
	size_t begin, n; /* of the name */
	uint64_t cookie;
	node_t node;
	mode_t mode;
	bool has_attr;
	struct tree_attr attr;
};

struct listing {
	struct buf names, items;
	size_t n, most;
};

static void listing_release(struct listing *l)
{
	buf_release(&l->names);
	buf_release(&l->items);
}

static struct item *item_at(const struct listing *l, size_t i)
{
	return (struct item *)(void *)l->items.p + i;
}

static struct span name_at(const struct listing *l, size_t i)
{
	return (struct span){l->names.p + item_at(l, i)->begin, item_at(l, i)->n};
}

static int add_item(void *arg, struct span name, uint64_t cookie, node_t node, uint64_t ino, mode_t mode,
                    const struct tree_attr *attr)
{
	(void)ino;
	struct listing *l = arg;
	struct item it = {l->names.n, name.n, cookie, node, mode, attr != NULL, {0}};
	if (l->n == l->most)
		return 1;
	if (attr)
		it.attr = *attr;
	assert_true(name.n > 0 && name.n <= 255 && !memchr(name.p, '/', name.n) && !memchr(name.p, '\0', name.n));
	assert_false(span_is(name, ".") || span_is(name, ".."));
	assert_int_not_equal(cookie, 0);
	see_text(name);
	buf_addspan(&l->names, name);
	buf_add(&l->items, &it, sizeof it);
	assert_int_equal(buf_err(&l->items), 0);
	l->n++;
	return 0;
}

static void list(struct tree *t, node_t dir, struct listing *ret)
{
	*ret = (struct listing){.most = SIZE_MAX};
	assert_int_equal(tree_list(t, dir, 0, TREE_ATTRS, add_item, ret), 0);
}

static void assert_same_attr(const struct tree_attr *a, const struct tree_attr *b)
{
	assert_int_equal(a->node, b->node);
	assert_int_equal(a->mode, b->mode);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->uid, b->uid);
	assert_int_equal(a->mtime.tv_sec, b->mtime.tv_sec);
	assert_int_equal(a->mtime.tv_nsec, b->mtime.tv_nsec);
}

/* Reading a few names at a time gives the same listing. */
static void check_pieces(struct tree *t, node_t dir, const struct listing *all)
{
	CLEANUP(listing_release) struct listing pieces = {.most = 0};
	size_t step = 1 + all->n / 5;
	uint64_t cookie = 0;

	do {
		pieces.most = pieces.n + step;
		assert_int_equal(tree_list(t, dir, cookie, TREE_NAMES, add_item, &pieces), 0);
		cookie = pieces.n ? item_at(&pieces, pieces.n - 1)->cookie : 0;
	} while (pieces.n == pieces.most);
	assert_int_equal(pieces.n, all->n);
	for (size_t i = 0; i < all->n; i++) {
		assert_spans_equal(name_at(&pieces, i), name_at(all, i));
		assert_int_equal(item_at(&pieces, i)->node, item_at(all, i)->node);
	}
}

static bool is_listed(const struct listing *l, struct span name)
{
	for (size_t i = 0; i < l->n; i++)
		if (span_eq(name_at(l, i), name))
			return true;
	return false;
}

/* No name in the table for such a directory exists without being listed, except temporary ones. */
static void check_missing(struct tree *t, node_t dir, const struct listing *l)
{
	struct tree_attr a;

	const struct kind_rows *rows = kind_rows_of_dir(tree_node(dir));
	for (const struct kind *k = rows->v; k < rows->v + rows->n; k++)
		if (k->name && !(k->flags & LIVE_STATUS) && tree_lookup(t, dir, span_of(k->name), &a) == 0 &&
		    !is_listed(l, span_of(k->name)))
			fail_msg("%s can be looked up but is not listed", k->name);
}

static bool is_unique(const struct listing *l, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (span_eq(name_at(l, i), name_at(l, k)))
			return false;
	return true;
}

/* Files with generated text: lines of UTF-8. */
static void check_text(unsigned kind, const struct buf *b)
{
	static const char *const others[] = {"session.jsonl",  "header.json", "context.json", "entry.json",
	                                     "arguments.json", "usage.json",  "path",         "resume"};
	const char *name = kind_at(kind) ? kind_at(kind)->name : NULL;

	for (size_t i = 0; name && i < sizeof others / sizeof *others; i++)
		if (strcmp(others[i], name) == 0)
			name = NULL;
	if (!name)
		return;
	assert_true(b->n > 0 && b->p[b->n - 1] == '\n');
	assert_int_equal(utf8_prefix(buf_span(b)), b->n);
	assert_null(memchr(b->p, '\0', b->n));
}

static void check_file(struct tree *t, const struct tree_attr *a)
{
	CLEANUP_BUF struct buf whole = BUF_INIT, pieces = BUF_INIT, again_whole = BUF_INIT;
	struct tree_attr again;
	struct tree_pinned *pinned;

	assert_int_equal(tree_read(t, a->node, 0, a->size + 100, &whole), 0);
	assert_int_equal(whole.n, a->size);
	size_t step = 1 + (a->size / 5 | 2);
	for (uint64_t off = 0; off < a->size + step; off += step) {
		size_t before = pieces.n, left = off < a->size ? a->size - off : 0;
		assert_int_equal(tree_read(t, a->node, off, step, &pieces), 0);
		assert_int_equal(pieces.n - before, left < step ? left : step);
	}
	assert_spans_equal(buf_span(&whole), buf_span(&pieces));
	see_text(buf_span(&whole));
	check_text(node_unpack(a->node).kind, &whole);
	if (tree_text_change(a->node) >= TREE_REWRITTEN) {
		assert_int_equal(tree_pin(t, a->node, &pinned), 0);
		assert_int_equal(tree_pinned_size(pinned), a->size);
		assert_int_equal(tree_pinned_read(pinned, 0, SIZE_MAX, &again_whole), 0);
		assert_spans_equal(buf_span(&whole), buf_span(&again_whole));
		tree_unpin(pinned);
	}
	assert_int_equal(tree_getattr(t, a->node, &again), 0);
	assert_same_attr(a, &again);
}

static void check_link(struct tree *t, node_t dir, const struct tree_attr *a)
{
	CLEANUP_BUF struct buf target = BUF_INIT;
	struct tree_attr to;

	assert_int_equal(tree_readlink(t, a->node, &target), 0);
	assert_int_equal(target.n, a->size);
	see_text(buf_span(&target));
	assert_true(target.n > 0 && !memchr(target.p, '\0', target.n));
	if (!tree_is_scratch(a->node) && tree_resolve_from(t, dir, buf_cstr(&target), true, &to) != 0)
		fail_msg("nothing is at %s", buf_cstr(&target));
}

static void check_dir(struct tree *t, node_t dir);

static void check_item(struct tree *t, node_t dir, struct span name, const struct item *it)
{
	struct tree_attr a, b;
	int rc = tree_lookup(t, dir, name, &a);

	if (rc < 0)
		fail_msg("%.*s is listed but cannot be looked up (%d)", (int)name.n, name.p, rc);
	assert_int_equal(a.node, it->node);
	assert_int_equal(a.mode & (mode_t)S_IFMT, it->mode & (mode_t)S_IFMT);
	if (it->has_attr)
		assert_same_attr(&a, &it->attr);
	assert_int_equal(tree_getattr(t, a.node, &b), 0);
	if (tree_is_table(a.node)) {
		assert_int_equal(a.size, 0);
		a.size = b.size;
	}
	assert_same_attr(&a, &b);
	if (S_ISREG(a.mode) && !tree_is_scratch(a.node))
		check_file(t, &a);
	else if (S_ISLNK(a.mode))
		check_link(t, dir, &a);
	else if (S_ISDIR(a.mode)) {
		if (tree_parent(t, a.node) != dir)
			fail_msg("the parent of %.*s is another directory", (int)name.n, name.p);
		check_dir(t, a.node);
	}
}

static void check_dir(struct tree *t, node_t dir)
{
	CLEANUP(listing_release) struct listing l;

	list(t, dir, &l);
	check_pieces(t, dir, &l);
	check_missing(t, dir, &l);
	for (size_t i = 0; i < l.n; i++) {
		if (i >= FIRST && i + LAST < l.n)
			continue;
		assert_true(is_unique(&l, i));
		check_item(t, dir, name_at(&l, i), item_at(&l, i));
	}
}

void walk_tree(struct tree *t)
{
	check_dir(t, NODE_ROOT);
}

void walk_tree_seeing(struct tree *t, void (*see)(struct span text))
{
	see_text = see;
	walk_tree(t);
	see_text = see_nothing;
}
