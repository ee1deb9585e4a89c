#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "write_fixture.h"

#define MESSAGES 3000

/* A path so long that several threads make its transcript, with costs whose sum depends on the order. */
static void add_session(struct buf *out)
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
		         "\"usage\":{\"input\":%d,\"cost\":{\"total\":%d.1}}}}\n",
		         1 + i % 500, i, i, i % 7);
	}
}

static int begin_budget(struct place *p, size_t budget)
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

/* The file in pieces of `size`, which must be as many bytes as it says. */
static void read_pieces(struct place *p, const char *path, size_t size, struct buf *out)
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

static void transcripts_are_the_same_whole_and_in_pieces(void **state)
{
	struct place *p = *state;
	CLEANUP_BUF struct buf text = BUF_INIT, whole = BUF_INIT, pieces = BUF_INIT;

	add_session(&text);
	write_at(p->file, O_CREAT | O_TRUNC, text.p, text.n);
	assert_int_equal(begin_budget(p, 64 << 20), 0);
	read_pieces(p, S "/transcript.md", SIZE_MAX / 2, &whole);
	assert_true(whole.n > (size_t)MESSAGES * 250);
	end(p);
	/* No room for its bytes: each piece is made again. */
	assert_int_equal(begin_budget(p, 1 << 19), 0);
	read_pieces(p, S "/transcript.md", 10007, &pieces);
	assert_int_equal(pieces.n, whole.n);
	assert_memory_equal(pieces.p, whole.p, whole.n);
}

static void transcripts_add_up_in_the_order_of_the_path(void **state)
{
	struct place *p = *state;
	CLEANUP_BUF struct buf text = BUF_INIT, whole = BUF_INIT;
	char line[64];
	double cost = 0;

	add_session(&text);
	write_at(p->file, O_CREAT | O_TRUNC, text.p, text.n);
	assert_int_equal(begin_budget(p, 64 << 20), 0);
	read_pieces(p, S "/transcript.md", SIZE_MAX / 2, &whole);
	for (int i = 0; i < MESSAGES; i++) {
		snprintf(line, sizeof line, "%d.1", i % 7);
		cost += strtod(line, NULL);
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(line, sizeof line, "%.*g", digits, cost);
		if (strtod(line, NULL) == cost)
			break;
	}
	const char *s = buf_cstr(&whole);
	const char *at = s ? strstr(s, "\ncost:") : NULL;
	assert_non_null(at);
	assert_true(strtod(at + strlen("\ncost:"), NULL) == cost);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(transcripts_are_the_same_whole_and_in_pieces, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(transcripts_add_up_in_the_order_of_the_path, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
