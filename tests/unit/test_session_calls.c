/* SPDX-License-Identifier: MIT */
/* Which result belongs to which call. */
#include "cases.h"
#include "session_fixture.h"

/* ---- calls ---- */

SESSION_CASE(result_matches_nearest_call_above)
{
	struct session *s = open_text(f,
	    HEADER ASSISTANT("a", null, {"type":"toolCall","id":"x"}, {"type":"text"}, {"type":"toolCall","id":"y"})
	    RESULT("ry", "a", "y", ) RESULT("rx", "ry", "\u0078", ) ASSISTANT("b", "rx", {"type":"toolCall","id":"x"})
	    RESULT("rb", "b", "x", ) RESULT("again", "rb", "x", ) RESULT("other", "rx", "x", )
	    RESULT("none", "again", "z", ) RESULT("side", null, "x", ) RESULT("null", "b", null, ));

	assert_call(s, 1, 0, 2);
	assert_call(s, 2, 0, 1);
	assert_call(s, 4, 3, 1);
	assert_call(s, 5, 3, 1);
	assert_call(s, 6, 0, 1);
	assert_call(s, 7, NO_ENTRY, 0);
	assert_call(s, 8, NO_ENTRY, 0);
	assert_call(s, 9, NO_ENTRY, 0);
	assert_call(s, 0, NO_ENTRY, 0);
	assert_int_equal(session_result(s, 0, 1), 2);
	assert_int_equal(session_result(s, 0, 2), 1);
	assert_int_equal(session_result(s, 0, 3), NO_ENTRY);
	assert_int_equal(session_result(s, 0, 0), NO_ENTRY);
	assert_int_equal(session_result(s, 3, 1), 4);
	assert_int_equal(session_result(s, 1, 1), NO_ENTRY);
}

SESSION_CASE(duplicate_call_ids_match_in_order)
{
	struct session *s =
	    open_text(f,
	    HEADER
	    ASSISTANT("a", null, {"type":"toolCall","id":"x"}, {"type":"toolCall","id":"y"}, {"type":"toolCall","id":"x"})
	    RESULT("r1", "a", "x", ) RESULT("r2", "r1", "x", ) RESULT("r3", "r2", "x", ) RESULT("other", "a", "x", )
	    RESULT("other2", "other", "x", ));

	assert_call(s, 1, 0, 1);
	assert_call(s, 2, 0, 3);
	assert_call(s, 3, 0, 3);
	assert_call(s, 4, 0, 1);
	assert_call(s, 5, 0, 3);
	assert_int_equal(session_result(s, 0, 1), 1);
	assert_int_equal(session_result(s, 0, 2), NO_ENTRY);
	assert_int_equal(session_result(s, 0, 3), 2);
}

/* Many calls of one message with the same id, and as many results in a row, after other calls without results. */
SESSION_CASE(many_calls_of_one_message_match)
{
	enum { MANY = 20000 };
	CLEANUP_BUF struct buf text = BUF_INIT;

	buf_adds(&text, HEADER "{\"type\":\"message\",\"id\":\"r-1\",\"parentId\":null,\"message\":{\"role\":"
	                       "\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"other\"}");
	for (unsigned i = 0; i < MANY; i++)
		buf_adds(&text, JSON(,{"type":"toolCall","id":"x"}));
	buf_adds(&text, "]}}\n");
	for (int i = 0; i < MANY + 1; i++)
		buf_addf(&text, RESULT("r%d", "r%d", "x", ), i, i - 1);
	assert_int_equal(open_bytes(f, text.p, text.n), 0);
	for (uint32_t i = 1; i < MANY; i += 37) {
		assert_call(f->s, i, 0, i + 1);
		assert_int_equal(session_result(f->s, 0, i + 1), i);
	}
	assert_call(f->s, MANY + 1, 0, MANY + 1);
	assert_int_equal(session_result(f->s, 0, 1), NO_ENTRY);
	assert_int_equal(session_result(f->s, 0, MANY + 1), MANY);
	assert_int_equal(session_result(f->s, 0, MANY + 2), NO_ENTRY);
}

RUN_CASES(NULL, NULL)
