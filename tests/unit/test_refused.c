/* SPDX-License-Identifier: MIT */
/* The problems of entries that a provider refuses. tests/conformance/provider compares them with requests of the real
 * pi. */
#include "cases.h"
#include "session_fixture.h"

#define ROOT LINE({"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"Hi"}})

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
} cases[] = ITEMS(
    {ASSISTANT("b", "a", CALL("c", "bash", )) RESULT("r", "b", "c", SAY("rain")), ""},
    {RESULT("r", "a", "c", SAY("rain")), "3 " NO_CALL CURE("r")},
    {MESSAGE("r", "a", "role":"toolResult","content":[]), "3 " NO_CALL CURE("r")},
    /* The call comes later, on another branch, or in a message that pi does not send. */
    {RESULT("r", "a", "c", SAY("rain")) ASSISTANT("b", "r", CALL("c", "bash", )), "3 " NO_CALL CURE("r")},
    {ASSISTANT("b", "a", CALL("c", "bash", )) RESULT("r", "a", "c", SAY("rain")), "4 " NO_CALL CURE("r")},
    {STOPPED("b", "a", "aborted", CALL("c", "bash", )) RESULT("r", "b", "c", SAY("rain")), "4 " NO_CALL CURE("r")},
    {STOPPED("b", "a", "error", CALL("c", "bash", )) RESULT("r", "b", "c", SAY("rain")), "4 " NO_CALL CURE("r")},
    {STOPPED("b", "a", "length", CALL("c", "bash", )) RESULT("r", "b", "c", SAY("rain")), ""},
    /* A compaction keeps the result only, or neither. */
    {ASSISTANT("b", "a", CALL("c", "bash", )) RESULT("r", "b", "c", SAY("rain"))
     LINE({"type":"compaction","id":"k","parentId":"r","summary":"s","firstKeptEntryId":"r"}), "4 " NO_CALL CURE("r")},
    {ASSISTANT("b", "a", CALL("c", "bash", )) RESULT("r", "b", "c", SAY("rain"))
     LINE({"type":"compaction","id":"k","parentId":"r","summary":"s","firstKeptEntryId":"k"}), ""},
    /* The branch in use is another one. */
    {RESULT("r", "a", "c", SAY("rain")) USER("u", "a", "Ho"), ""},
    /* Edits. */
    {RESULT("r", "a", "c", SAY("rain")) EDIT("e", "r", "r", null), ""},
    {RESULT("r", "a", "c", SAY("rain")) EDIT("e", "r", "r", null) EDIT("f", "e", "r", {"content":"x"}),
     "3 " NO_CALL CURE("r")},
    {RESULT("r", "a", "c", SAY("rain")) EDIT("e", "r", "r", null) USER("u", "r", "Ho"), "3 " NO_CALL CURE("r")},
    {ASSISTANT("b", "a", CALL("c", "bash", )) RESULT("r", "b", "c", SAY("rain")) EDIT("e", "r", "b", null),
     "4 " NO_CALL CURE("r")},
    {ASSISTANT("b", "a", CALL("c", "bash", )) RESULT("r", "b", "c", SAY("rain")) EDIT("e", "r", "b", {"content":"x"}),
     "4 " NO_CALL CURE("r")},
    {ASSISTANT("b", "a", CALL("c", "bash", )) RESULT("r", "b", "c", SAY("rain"))
     EDIT("e", "r", "b", {"content":[SAY("x"),CALL("c", "bash", )]}), ""},
    {EDIT("e", "a", "a", {"content":""}), "2 " EMPTY CURE("a")},
    {EDIT("e", "a", "a", {"content":[IMAGE("image/png", "AAAA")]}), "2 " NO_PICTURE CURE("a")},
    {MESSAGE("u", "a", "role":"user","content":[IMAGE("image/png", "AAAA")]) EDIT("e", "u", "u", {"content":"x"}), ""},
    /* Empty content, as far as pi sends it. */
    {USER("u", "a", ""), "3 " EMPTY CURE("u")},
    {USER("u", "a", " \n"), "3 " EMPTY CURE("u")},
    {MESSAGE("u", "a", "role":"user","content":[SAY(""),SAY(" ")]), "3 " EMPTY CURE("u")},
    {MESSAGE("u", "a", "role":"user","content":[SAY(""),SAY("x")]), ""},
    {MESSAGE("u", "a", "role":"user","content":[]), ""},
    {MESSAGE("u", "a", "role":"user","content":null), ""},
    {MESSAGE("u", "a", "role":"custom","content":""), "3 " EMPTY CURE("u")},
    {ASSISTANT("u", "a", SAY("")), ""},
    {ASSISTANT("b", "a", CALL("c", "bash", )) RESULT("r", "b", "c", SAY("")), ""},
    {LINE({"type":"custom_message","id":"u","parentId":"a","content":""}), "3 " EMPTY CURE("u")},
    {LINE({"type":"custom_message","id":"u","parentId":"a","content":"x"}), ""},
    /* Pictures. */
    {MESSAGE("u", "a", "role":"user","content":[IMAGE("image/png", "iVBORw0KGgoAAAAN")]), ""},
    {MESSAGE("u", "a", "role":"user","content":[IMAGE("image/jpeg", "\/9j\/2wBDAAUF")]), ""},
    {MESSAGE("u", "a", "role":"user","content":[IMAGE("image/gif", "R0lGODlhAQABAAAAACw=")]), ""},
    {MESSAGE("u", "a", "role":"user","content":[IMAGE("image/webp", "UklGRiQAAABXRUJQVlA4")]), ""},
    {MESSAGE("u", "a", "role":"user","content":[IMAGE("image/jpeg", "iVBORw0KGgoAAAAN")]), "3 " NO_PICTURE CURE("u")},
    {MESSAGE("u", "a", "role":"user","content":[IMAGE("image/svg+xml", "iVBORw0KGgoAAAAN")]),
     "3 " NO_PICTURE CURE("u")},
    {MESSAGE("u", "a", "role":"user","content":[SAY("x"),IMAGE("image/png", "")]), "3 " NO_PICTURE CURE("u")},
    {ASSISTANT("u", "a", IMAGE("image/png", "AAAA")), ""},
    {ENTRY("custom_message", "u", "a", "content":[IMAGE("image/png", "AAAA")]), "3 " NO_PICTURE CURE("u")},
    {MESSAGE("r", "a", "role":"toolResult","content":[IMAGE("image/png", "AAAA")]),
     "3 " NO_CALL CURE("r") "3 " NO_PICTURE CURE("r")},
    /* The command is missing if a shell would not read the name as one word. */
    {USER("x;reboot", "a", ""), "3 " EMPTY "; "});

CASE(refused_entries_are_problems)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		CLEANUP_BUF struct buf text = BUF_INIT;
		CLEANUP_FIXTURE struct fixture f;
		buf_adds(&text, HEADER ROOT);
		buf_adds(&text, cases[i].lines);
		assert_int_equal(open_bytes(&f, text.p, text.n), 0);
		assert_reasons(f.s, cases[i].problems);
	}
}

/* The problems after each appended line. */
SESSION_CASE(problems_follow_the_leaf)
{
	static const struct {
		const char *line, *problems;
	} steps[] =
	    ITEMS(
	    {RESULT("r", "a", "c", SAY("rain")), "3 " NO_CALL CURE("r")},
	    {EDIT("e", "r", "r", null), ""},
	    {USER("u", "r", ""), "3 " NO_CALL CURE("r") "5 " EMPTY CURE("u")},
	    {USER("v", "a", "x"), ""},
	    {ASSISTANT("b", "v", CALL("c", "bash", )), ""},
	    {RESULT("s", "b", "c", SAY("rain")), ""},
	    {RESULT("t", "s", "d", SAY("rain")), "9 " NO_CALL CURE("t")});

	open_text(f, HEADER ROOT);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		append_lines(f, steps[i].line);
		assert_reasons(f->s, steps[i].problems);
	}
}

CASE(large_pictures_are_refused)
{
	enum { LIMIT_BYTES = 5 << 20 };

	for (int over = 0; over < 2; over++) {
		CLEANUP_BUF struct buf text = BUF_INIT;
		CLEANUP_FIXTURE struct fixture f;
		buf_adds(&text, HEADER ROOT
		         "{\"type\":\"message\",\"id\":\"u\",\"parentId\":\"a\",\"message\":{\"role\":\"user\","
		         "\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"iVBORw0KGgoA");
		/* 5 MiB are two bytes more than whole groups. */
		for (int n = 9; n < LIMIT_BYTES - 2; n += 3)
			buf_adds(&text, "AAAA");
		buf_adds(&text, over ? "AAAA\"}]}}\n" : "AAA=\"}]}}\n");
		assert_int_equal(open_bytes(&f, text.p, text.n), 0);
		assert_reasons(f.s, over ? "3 " LARGE CURE("u") : "");
	}
}

/* The last row says that there are more, wherever these are. */
SESSION_CASE(problems_have_a_limit)
{
	enum { MANY = 1000000 };
	CLEANUP_BUF struct buf text = BUF_INIT;

	buf_adds(&text, HEADER USER("a", null, "") USER("b", "a", ""));
	for (int i = 0; i < MANY; i++)
		buf_adds(&text, "x\n");
	assert_int_equal(open_bytes(f, text.p, text.n), 0);
	assert_int_equal(session_problem_count(f->s), MANY + 1);
	assert_int_equal(session_problem(f->s, 0).line, 4);
	assert_int_equal(session_problem(f->s, MANY).line, MANY + 3);
	assert_string_equal(session_problem(f->s, MANY).reason, "further problems are not listed");
}

/* Without ids in the file, no context edit can name an entry. */
SESSION_CASE(v1_has_no_cure)
{
	struct session *s = open_text(f, HEADER_V1 LINE({"type":"message","message":{"role":"user","content":""}}));

	assert_reasons(s, "2 " EMPTY "; ");
}

RUN_CASES(NULL, NULL)
