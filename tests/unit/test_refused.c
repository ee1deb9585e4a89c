/* SPDX-License-Identifier: MIT */
/* The problems of entries that a provider refuses. tests/conformance/provider compares them with requests of the real
 * pi. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "session_fixture.h"

#define SAID(id, parent, role, content, more)                                                                          \
	"{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":\"" parent "\",\"message\":{\"role\":\"" role            \
	"\",\"content\":" content more "}}\n"
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define IMAGE(type, data) "{\"type\":\"image\",\"mimeType\":\"" type "\",\"data\":\"" data "\"}"
#define TOOL(call) "{\"type\":\"toolCall\",\"id\":\"" call "\",\"name\":\"bash\",\"arguments\":{}}"
#define ANSWER(id, parent, call) SAID(id, parent, "toolResult", "[" TEXT("rain") "]", ",\"toolCallId\":\"" call "\"")
#define EDIT(id, parent, target, replacement)                                                                          \
	"{\"type\":\"context_edit\",\"id\":\"" id "\",\"parentId\":\"" parent "\",\"targetId\":\"" target              \
	"\",\"replacement\":" replacement "}\n"
#define ROOT                                                                                                           \
	"{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"Hi\"}}\n"
#define CALLS(id, parent, call, more) SAID(id, parent, "assistant", "[" TOOL(call) "]", more)

#define EMPTY "a provider refuses it: empty content"
#define NO_CALL "a provider refuses it: a result whose call is not sent before it"
#define NO_PICTURE "a provider refuses it: the data of a picture is not of its type"
#define LARGE "a provider refuses it: a picture larger than 5 MiB"
#define CURE(id) "; leave it out: echo null > entries/" id "/context.json; "

static void assert_reasons(const struct session *s, const char *text)
{
	CLEANUP_BUF struct buf b = BUF_INIT;

	for (size_t k = 0; k < session_problem_count(s); k++) {
		struct problem p = session_problem(s, k);
		buf_addf(&b, "%" PRIu32 " ", p.line);
		session_problem_add_reason(s, &p, &b);
		buf_adds(&b, "; ");
	}
	assert_text(&b, text);
}

static const struct {
	const char *lines, *problems; /* after HEADER ROOT */
} cases[] = {
    {CALLS("b", "a", "c", "") ANSWER("r", "b", "c"), ""},
    {ANSWER("r", "a", "c"), "3 " NO_CALL CURE("r")},
    {SAID("r", "a", "toolResult", "[]", ""), "3 " NO_CALL CURE("r")},
    /* The call comes later, on another branch, or in a message that pi does not send. */
    {ANSWER("r", "a", "c") CALLS("b", "r", "c", ""), "3 " NO_CALL CURE("r")},
    {CALLS("b", "a", "c", "") ANSWER("r", "a", "c"), "4 " NO_CALL CURE("r")},
    {CALLS("b", "a", "c", ",\"stopReason\":\"aborted\"") ANSWER("r", "b", "c"), "4 " NO_CALL CURE("r")},
    {CALLS("b", "a", "c", ",\"stopReason\":\"error\"") ANSWER("r", "b", "c"), "4 " NO_CALL CURE("r")},
    {CALLS("b", "a", "c", ",\"stopReason\":\"length\"") ANSWER("r", "b", "c"), ""},
    /* A compaction keeps the result only, or neither. */
    {CALLS("b", "a", "c", "")
         ANSWER("r", "b", "c") "{\"type\":\"compaction\",\"id\":\"k\",\"parentId\":\"r\",\"summary\":\"s\","
                               "\"firstKeptEntryId\":\"r\"}\n",
     "4 " NO_CALL CURE("r")},
    {CALLS("b", "a", "c", "")
         ANSWER("r", "b", "c") "{\"type\":\"compaction\",\"id\":\"k\",\"parentId\":\"r\",\"summary\":\"s\","
                               "\"firstKeptEntryId\":\"k\"}\n",
     ""},
    /* The branch in use is another one. */
    {ANSWER("r", "a", "c") SAID("u", "a", "user", "\"Ho\"", ""), ""},
    /* Edits. */
    {ANSWER("r", "a", "c") EDIT("e", "r", "r", "null"), ""},
    {ANSWER("r", "a", "c") EDIT("e", "r", "r", "null") EDIT("f", "e", "r", "{\"content\":\"x\"}"),
     "3 " NO_CALL CURE("r")},
    {ANSWER("r", "a", "c") EDIT("e", "r", "r", "null") SAID("u", "r", "user", "\"Ho\"", ""), "3 " NO_CALL CURE("r")},
    {CALLS("b", "a", "c", "") ANSWER("r", "b", "c") EDIT("e", "r", "b", "null"), "4 " NO_CALL CURE("r")},
    {CALLS("b", "a", "c", "") ANSWER("r", "b", "c") EDIT("e", "r", "b", "{\"content\":\"x\"}"), "4 " NO_CALL CURE("r")},
    {CALLS("b", "a", "c", "") ANSWER("r", "b", "c") EDIT("e", "r", "b", "{\"content\":[" TEXT("x") "," TOOL("c") "]}"),
     ""},
    {EDIT("e", "a", "a", "{\"content\":\"\"}"), "2 " EMPTY CURE("a")},
    {EDIT("e", "a", "a", "{\"content\":[" IMAGE("image/png", "AAAA") "]}"), "2 " NO_PICTURE CURE("a")},
    {SAID("u", "a", "user", "[" IMAGE("image/png", "AAAA") "]", "") EDIT("e", "u", "u", "{\"content\":\"x\"}"), ""},
    /* Empty content, as far as pi sends it. */
    {SAID("u", "a", "user", "\"\"", ""), "3 " EMPTY CURE("u")},
    {SAID("u", "a", "user", "\" \\n\"", ""), "3 " EMPTY CURE("u")},
    {SAID("u", "a", "user", "[" TEXT("") "," TEXT(" ") "]", ""), "3 " EMPTY CURE("u")},
    {SAID("u", "a", "user", "[" TEXT("") "," TEXT("x") "]", ""), ""},
    {SAID("u", "a", "user", "[]", ""), ""},
    {SAID("u", "a", "user", "null", ""), ""},
    {SAID("u", "a", "custom", "\"\"", ""), "3 " EMPTY CURE("u")},
    {SAID("u", "a", "assistant", "[" TEXT("") "]", ""), ""},
    {CALLS("b", "a", "c", "") SAID("r", "b", "toolResult", "[" TEXT("") "]", ",\"toolCallId\":\"c\""), ""},
    {"{\"type\":\"custom_message\",\"id\":\"u\",\"parentId\":\"a\",\"content\":\"\"}\n", "3 " EMPTY CURE("u")},
    {"{\"type\":\"custom_message\",\"id\":\"u\",\"parentId\":\"a\",\"content\":\"x\"}\n", ""},
    /* Pictures. */
    {SAID("u", "a", "user", "[" IMAGE("image/png", "iVBORw0KGgoAAAAN") "]", ""), ""},
    {SAID("u", "a", "user", "[" IMAGE("image/jpeg", "\\/9j\\/2wBDAAUF") "]", ""), ""},
    {SAID("u", "a", "user", "[" IMAGE("image/gif", "R0lGODlhAQABAAAAACw=") "]", ""), ""},
    {SAID("u", "a", "user", "[" IMAGE("image/webp", "UklGRiQAAABXRUJQVlA4") "]", ""), ""},
    {SAID("u", "a", "user", "[" IMAGE("image/jpeg", "iVBORw0KGgoAAAAN") "]", ""), "3 " NO_PICTURE CURE("u")},
    {SAID("u", "a", "user", "[" IMAGE("image/svg+xml", "iVBORw0KGgoAAAAN") "]", ""), "3 " NO_PICTURE CURE("u")},
    {SAID("u", "a", "user", "[" TEXT("x") "," IMAGE("image/png", "") "]", ""), "3 " NO_PICTURE CURE("u")},
    {SAID("u", "a", "assistant", "[" IMAGE("image/png", "AAAA") "]", ""), ""},
    {"{\"type\":\"custom_message\",\"id\":\"u\",\"parentId\":\"a\",\"content\":[" IMAGE("image/png", "AAAA") "]}\n",
     "3 " NO_PICTURE CURE("u")},
    {SAID("r", "a", "toolResult", "[" IMAGE("image/png", "AAAA") "]", ""),
     "3 " NO_CALL CURE("r") "3 " NO_PICTURE CURE("r")},
    /* The command is missing if a shell would not read the name as one word. */
    {SAID("x;reboot", "a", "user", "\"\"", ""), "3 " EMPTY "; "},
};

static void refused_entries_are_problems(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		CLEANUP_BUF struct buf text = BUF_INIT;
		struct fixture f;
		buf_adds(&text, HEADER ROOT);
		buf_adds(&text, cases[i].lines);
		assert_int_equal(open_bytes(&f, text.p, text.n), 0);
		assert_reasons(f.s, cases[i].problems);
		fixture_release(&f);
	}
}

/* The problems after each appended line. */
static void problems_follow_the_leaf(void **state)
{
	static const struct {
		const char *line, *problems;
	} steps[] = {
	    {ANSWER("r", "a", "c"), "3 " NO_CALL CURE("r")},
	    {EDIT("e", "r", "r", "null"), ""},
	    {SAID("u", "r", "user", "\"\"", ""), "3 " NO_CALL CURE("r") "5 " EMPTY CURE("u")},
	    {SAID("v", "a", "user", "\"x\"", ""), ""},
	    {CALLS("b", "v", "c", ""), ""},
	    {ANSWER("s", "b", "c"), ""},
	    {ANSWER("t", "s", "d"), "9 " NO_CALL CURE("t")},
	};
	struct fixture f;

	(void)state;
	open_text(&f, HEADER ROOT);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		append(&f, steps[i].line, strlen(steps[i].line));
		assert_int_equal(session_grow(f.s), 1);
		assert_reasons(f.s, steps[i].problems);
	}
	fixture_release(&f);
}

static void large_pictures_are_refused(void **state)
{
	enum { LIMIT_BYTES = 5 << 20 };

	(void)state;
	for (int over = 0; over < 2; over++) {
		CLEANUP_BUF struct buf text = BUF_INIT;
		struct fixture f;
		buf_adds(&text, HEADER ROOT
		         "{\"type\":\"message\",\"id\":\"u\",\"parentId\":\"a\",\"message\":{\"role\":\"user\","
		         "\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"iVBORw0KGgoA");
		/* 5 MiB are two bytes more than whole groups. */
		for (int n = 9; n < LIMIT_BYTES - 2; n += 3)
			buf_adds(&text, "AAAA");
		buf_adds(&text, over ? "AAAA\"}]}}\n" : "AAA=\"}]}}\n");
		assert_int_equal(open_bytes(&f, text.p, text.n), 0);
		assert_reasons(f.s, over ? "3 " LARGE CURE("u") : "");
		fixture_release(&f);
	}
}

/* Without ids in the file, no context edit can name an entry. */
static void v1_has_no_cure(void **state)
{
	struct fixture f;
	struct session *s =
	    open_text(&f, HEADER_V1 "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"\"}}\n");

	(void)state;
	assert_reasons(s, "2 " EMPTY "; ");
	fixture_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(refused_entries_are_problems),
	    cmocka_unit_test(problems_follow_the_leaf),
	    cmocka_unit_test(large_pictures_are_refused),
	    cmocka_unit_test(v1_has_no_cure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
