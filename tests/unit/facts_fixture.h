/* SPDX-License-Identifier: MIT */
/* facts_fixture: the facts of the sessions in a source, and the list of them now. */
#ifndef FACTS_FIXTURE_H
#define FACTS_FIXTURE_H

#include "../../src/find/find_impl.h"
#include "catalog_fixture.h"

static inline void facts_close_at(struct facts **f)
{
	facts_close(*f);
}
#define CLEANUP_FACTS CLEANUP(facts_close_at)

static inline void facts_release_at(const struct fact_list **list)
{
	facts_release(*list);
}
#define CLEANUP_LIST CLEANUP(facts_release_at)

/* Opens the catalog, too. */
static inline struct facts *open_facts(struct source_fixture *p)
{
	struct facts *f;
	if (!p->c)
		open_place(p);
	assert_int_equal(facts_open(p->c, &p->budget, &f), 0);
	return f;
}

static inline const struct fact_list *all(struct facts *f)
{
	const struct fact_list *list;
	assert_int_equal(facts_get(f, &list), 0);
	return list;
}

static inline void assert_list(const struct fact_list *list, size_t n, int error)
{
	assert_int_equal(list->n, n);
	assert_int_equal(list->error, error);
}

#endif
