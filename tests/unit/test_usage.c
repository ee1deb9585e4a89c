/* SPDX-License-Identifier: MIT */
/* usage: the meaning of an entry's numbers, and the sums they are in. */
#include "cases.h"
#include "session_fixture.h"

#include <math.h>

static struct usage sum_of(const char *usage)
{
	CLEANUP_FIXTURE struct fixture f;
	struct buf text CLEANUP_BUF = BUF_INIT;
	buf_addf(&text, HEADER MESSAGE("a", null, "role":"assistant","provider":"p","model":"m","content":[],"usage":%s), usage);
	open_text(&f, buf_cstr(&text));
	struct session_usage used = session_usage(f.s);
	assert_int_equal(used.n_marks, 1);
	assert_true(used.sum.cost == used.v[0].sum.cost);
	return used.sum;
}

/* In pi's order of the numbers, which has its own parser, and in other orders. */
CASE(invalid_costs_are_0)
{
	static const struct {
		const char *cost;
		double is;
	} cases[] = ITEMS(
	    {"0.25", 0.25},
	    {"0", 0},
	    {"-0", 0},
	    {"-110000", 0},
	    {"-1e-9", 0},
	    {"-1e308", 0},
	    {"-1e999", 0},
	    {"1e308", 1e308},
	    {"1e-9", 1e-9},
	    {JSON("1"), 0},
	    {"null", 0},
	    {"true", 0},
	    {"[1]", 0},
	    {"{}", 0});
	static const char *const orders[] = ITEMS(
	    JSON({"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":-1,"output":0,
	        "cacheRead":0,"cacheWrite":0,"total":%s}}),
	    JSON({"cost":{"total":%s,"more":1},"input":1,"output":2}), JSON({"input":1,"output":2,"cost":%s}));
	for (size_t i = 0; i < COUNT(cases) * COUNT(orders); i++) {
		char text[256];
		snprintf(text, sizeof text, orders[i % COUNT(orders)], cases[i / COUNT(orders)].cost);
		struct usage u = sum_of(text);
		assert_true(u.cost == cases[i / COUNT(orders)].is && !signbit(u.cost) && u.total == 3);
	}
}

/* Tokens are summed as in pi. */
CASE(tokens_can_be_negative)
{
	struct usage u = sum_of(JSON({"input":-5,"output":2,"totalTokens":0,"cost":{"total":-1}}));
	assert_true(u.input == -5 && u.total == -3 && u.cost == 0);
}

SESSION_CASE(results_have_separate_sums)
{
	open_text(f,
	    HEADER MESSAGE("a", null, "role":"assistant","provider":"p","model":"m","content":[],"usage":{"input":1})
	    MESSAGE("a", null, "role":"toolResult","provider":"p","model":"m","content":[],"usage":{"input":2})
	    MESSAGE("a", null, "role":"assistant","provider":"p","model":"m","content":[],"usage":{"input":4})
	    MESSAGE("a", null, "role":"toolResult","provider":"p","model":"m","content":[],"usage":{"input":8}));
	struct session_usage used = session_usage(f->s);
	assert_int_equal(used.n, 2);
	assert_true(used.v[0].sum.input == 5 && used.v[0].entries == 2);
	assert_true(used.v[1].sum.input == 10 && used.v[1].entries == 2);
	assert_int_equal(session_entry(f->s, used.v[1].record)->role, ROLE_TOOL_RESULT);
	assert_true(used.sum.input == 15);
}

RUN_CASES(NULL, NULL)
