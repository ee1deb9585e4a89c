/* SPDX-License-Identifier: MIT */
/* tree_fixture: a tree with a budget of memory, a long session, and reads in pieces. */
#ifndef TREE_FIXTURE_H
#define TREE_FIXTURE_H

#include "write_fixture.h"

#define MESSAGES 3000

/* A long path with costs whose sum depends on the order. */
static inline void add_session(struct buf *out)
{
	buf_adds(out, HEADER);
	for (int i = 0; i < MESSAGES; i++) {
		buf_addf(out, "{\"type\":\"message\",\"id\":\"m%d\",\"parentId\":", i);
		if (i == 0)
			buf_adds(out, "null");
		else
			buf_addf(out, "\"m%d\"", i - 1);
		buf_addf(out,
		         ",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"%0*d\"}],"
		         "\"usage\":{\"input\":%d,\"cost\":{\"total\":1%d00000000.1}}}}\n",
		         1 + i % 500, i, i, i % 7);
	}
}

static inline int begin_budget(struct source_fixture *p, size_t budget)
{
	const struct catalog_options o = {.budget = &p->budget};
	p->budget = (struct budget)BUDGET_INIT(budget);
	int rc = catalog_open(p->root, &o, &p->catalog);
	if (rc == 0)
		rc = cache_open(&p->budget, &p->cache);
	if (rc == 0)
		rc = tree_open(&(struct tree_options){.catalog = p->catalog, .cache = p->cache}, &p->tree);
	return rc;
}

/* Reads the file in pieces of `size` and asserts that its length is its size. */
static inline void read_pieces(struct source_fixture *p, const char *path, size_t size, struct buf *out)
{
	struct tree_attr a;
	size_t n;
	assert_int_equal(tree_resolve(p->tree, path, true, &a), 0);
	do {
		n = out->n;
		assert_int_equal(tree_read(p->tree, a.node, out->n, size, out), 0);
	} while (out->n > n);
	assert_int_equal(out->n, a.size);
}

#endif
