/* SPDX-License-Identifier: MIT */
/* How many bytes of memory a session needs, as sessionfs(1) promises for very many of them. */
#include "cases.h"

#include "sessionfs/base/limits.h"
#include "sessionfs/find/facts.h"

#include "catalog_fixture.h"
#include "heap.h"

/* With SMALL, the facts of these are in files. */
enum { SESSIONS = 3000 };
/* The catalog, the names and maps among it. */
#define CATALOG_MAX 620
/* The facts, with some indexes; with SMALL, what is in memory of facts in files. */
#define FACTS_MAX LIMIT(2000, 150)

static void put_sessions(const struct source_fixture *p)
{
	char path[128], text[1024];
	make_dir(p, "--srv-project-0001--");
	for (unsigned i = 0; i < SESSIONS; i++) {
		snprintf(path, sizeof path,
		         "--srv-project-0001--/2026-01-15T12-30-00-186Z_3e30d61c-0214-7cf8-8aa1-%012u.jsonl", i);
		int n =
		    snprintf(text, sizeof text,
		             HEADER_OF("3e30d61c-0214-7cf8-8aa1-%012u", "/srv/project-0001") USER("1", null, "hi"), i);
		for (unsigned k = 0; k < 8; k++)
			n += snprintf(text + n, sizeof text - (size_t)n,
			              "{\"type\":\"message\",\"id\":\"%u\",\"m\":1}\n", k);
		put(p, path, text);
	}
}

FIXTURE_CASE(a_session_needs_little_memory)
{
	size_t before = heap_used();
	put_sessions(p);
	open_place(p);
	assert_int_equal(count_sessions(p->c, NO_SLOT), SESSIONS);
	size_t catalog = heap_used() - before, heap = heap_used();
	struct facts *f;
	const struct fact_list *list;
	assert_int_equal(facts_open(p->c, &p->budget, &f), 0);
	assert_int_equal(facts_get(f, &list), 0);
	assert_int_equal(list->n, SESSIONS);
	size_t facts = heap_used() - heap;
	print_message("bytes a session: catalog %zu, facts %zu\n", catalog / SESSIONS, facts / SESSIONS);
	if (heap > 0) {
		assert_in_range(catalog, 1, SESSIONS * CATALOG_MAX);
		assert_in_range(facts, 1, SESSIONS * FACTS_MAX);
	}
	facts_release(list);
	facts_close(f);
}

RUN_CASES(NULL, NULL)
