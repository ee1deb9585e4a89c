/* SPDX-License-Identifier: MIT */
/* How many lines of the session each view reads. Reading is most of the work, so no line is read again without need. */
#include "cases.h"
#include "render_fixture.h"

#include "find_fixture.h"

/* Two messages that contain text and calls, each followed by all its results. */
#define ENTRIES 9
static const char lines[] = AS_IS(HEADER USER("u", null, "fix it")
    ASSISTANT("a", "u", SAY("I fix"), CALL("1", "read", "path":"x.c"), CALL("2", "read", "path":"y.c"), CALL("3",
        "read", "path":"z.c"))
    MESSAGE("r1", "a", "role":"toolResult","toolName":"read","toolCallId":"1","content":[SAY("one")])
    MESSAGE("r2", "r1", "role":"toolResult","toolName":"read","toolCallId":"2","isError":true,"content":[SAY("two")])
    MESSAGE("r3", "r2", "role":"toolResult","toolName":"read","toolCallId":"3","content":[SAY("three")])
    ASSISTANT("b", "r3", SAY("more"), CALL("4", "read", "path":"x.c"), CALL("5", "read", "path":"y.c"))
    MESSAGE("r4", "b", "role":"toolResult","toolName":"read","toolCallId":"4","content":[SAY("four")])
    MESSAGE("r5", "r4", "role":"toolResult","toolName":"read","toolCallId":"5","content":[SAY("five")])
    USER("v", "r5", "done"));

static unsigned reads;

int __real_session_load(const struct session *s, uint32_t i, struct line *l, struct record *ret);
int __wrap_session_load(const struct session *s, uint32_t i, struct line *l, struct record *ret);
int __real_session_read(const struct session *s, uint32_t i, struct reader *r, struct record *ret);
int __wrap_session_read(const struct session *s, uint32_t i, struct reader *r, struct record *ret);

int __wrap_session_load(const struct session *s, uint32_t i, struct line *l, struct record *ret)
{
	reads++;
	return __real_session_load(s, i, l, ret);
}

int __wrap_session_read(const struct session *s, uint32_t i, struct reader *r, struct record *ret)
{
	reads++;
	return __real_session_read(s, i, r, ret);
}

static unsigned reads_of(const struct session *s, const struct producer *producer)
{
	struct buf out CLEANUP_BUF = BUF_INIT;

	reads = 0;
	assert_int_equal(produce(producer, s, session_leaf(s), "", &out), 0);
	return reads;
}

/* The title takes one line, the first message; a front matter also takes one for the model. */
CASE(each_view_reads_lines_once)
{
	CLEANUP_OPENED struct fixture f;
	struct buf out CLEANUP_BUF = BUF_INIT;

	fixture_open(&f, lines, sizeof lines - 1);
	assert_int_equal(session_count(f.s), ENTRIES);
	assert_int_equal(reads_of(f.s, &producer_all_txt), ENTRIES);
	/* No line of a result that did not fail. */
	assert_int_equal(reads_of(f.s, &producer_chat_md), 1 + ENTRIES - 4);
	/* Four lines of results that did not fail, for the language. */
	assert_int_equal(reads_of(f.s, &producer_transcript_md), 2 + ENTRIES + 4);
	/* All lines once more, for their cost. */
	assert_int_equal(reads_of(f.s, &producer_context_md), 2 + 2 * ENTRIES + 4);
	/* Rows, where a call is replaced by its result, and entries, where a result reads its call's line; and the two
	 * lines with calls, for the files they change. All lines once more, for the bar of the context. */
	assert_int_equal(reads_of(f.s, &producer_page_html), 2 + (ENTRIES - 5) + ENTRIES + 5 + 2 + ENTRIES);
	assert_int_equal(reads_of(f.s, &producer_context_json), 1 + ENTRIES);
	reads = 0;
	assert_int_equal(render_context_tsv(f.s, session_leaf(f.s), NULL, &out), 0);
	assert_int_equal(reads, ENTRIES);
	reads = 0;
	assert_int_equal(render_tree_txt(f.s, &out), 0);
	assert_int_equal(reads, ENTRIES - 5 + 1);
}

/* A long message's calls are parsed when a result needs them, once for all results. */
CASE(calls_of_long_message_are_read_once)
{
	struct buf text CLEANUP_BUF = BUF_INIT, all CLEANUP_BUF = BUF_INIT;
	CLEANUP_OPENED struct fixture f;

	for (size_t i = 0; i < 64 * 1024; i++)
		buf_addc(&text, 'x');
	buf_addf(&all, HEADER USER("u", null, "go") ASSISTANT("a", "u", SAY("%s"), CALL("1", "read", "path":"x.c"), CALL("2", "read", "path":"y.c")),
	                                                                      buf_cstr(&text));
	buf_adds(&all, MESSAGE("r1", "a", "role":"toolResult","toolName":"read","toolCallId":"1","content":[SAY("one")])
	                           MESSAGE("r2", "r1", "role":"toolResult","toolName":"read","toolCallId":"2","content":[SAY("two")]));
	fixture_open(&f, all.p, all.n);
	assert_int_equal(session_count(f.s), 4);
	assert_int_equal(reads_of(f.s, &producer_chat_md), 1 + 2 + 1);
}

/* A matching entry is read once more, for its lines. */
CASE(search_rereads_matching_lines_only)
{
	CLEANUP_FOUND struct found_list found = {.project = "", .stem = ""};
	CLEANUP_MATCHER struct matcher *m = matcher_of(SPAN_LIT("fix"));
	struct buf out CLEANUP_BUF = BUF_INIT;
	CLEANUP_OPENED struct fixture f;
	uint32_t next = 0;

	fixture_open(&f, lines, sizeof lines - 1);
	reads = 0;
	assert_int_equal(match_session(m, f.s, 0, SIZE_MAX, &found, &next, NULL), 0);
	assert_int_equal(found.n, 2);
	assert_int_equal(reads, 2);
	for (size_t i = 0; i < found.n; i++)
		assert_int_equal(match_lines(m, f.s, found.v[i].entry, SPAN_LIT(""), &out), 0);
	assert_int_equal(reads, 4);
}

RUN_CASES(NULL, NULL)
