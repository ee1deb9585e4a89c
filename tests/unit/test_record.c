/* SPDX-License-Identifier: MIT */
#include "cases.h"
#include "session_lines.h"
#include "seed.h"
#include "texts.h"
#include "sessionfs/session/format.h"

#include <math.h>

struct calls {
	size_t n;
	struct span ids[16];
};

static void note_call(void *arg, struct json_value id)
{
	struct calls *c = arg;

	assert_true(c->n < 16);
	c->ids[c->n++] = id.text;
}

static struct record_head head_of(const char *line, struct calls *calls)
{
	CLEANUP_BUF struct buf deep = BUF_INIT;
	struct record_head h;

	memset(calls, 0, sizeof *calls);
	record_head(span_of(line), &deep, &h, note_call, calls);
	return h;
}

static struct record parse_of(const char *line, const struct format *format)
{
	CLEANUP_BUF struct buf deep = BUF_INIT;
	struct record r;

	assert_true(record_parse(span_of(line), format, &deep, &r));
	return r;
}

#define ANSWERED                                                                                                       \
	AS_IS( \
    JSON({"type":"message","id":"a1","parentId":"a0","timestamp":TIME,"message":{"role":"assistant", \
        "content":[SAY("hi \"x\""),CALL("c1", "ls", "id":"no","type":"toolCall"),CALL("c2", "ls", )],"provider":"p", \
        "model":"m"}}))

CASE(head_accepts_any_key_order)
{
	struct calls c;
	struct record_head h =
	    head_of(
	    JSON({"message":{"content":[{"id":"c","type":"toolCall"},5,[6]],"role":"assistant"},"parentId":null,"id":7,
	        "type":"message"}),
	    &c);

	assert_int_equal(h.calls, 1);
	assert_span(c.ids[0], "c");
	assert_int_equal(h.id.kind, JSON_NUMBER);
	assert_int_equal(h.parent_id.kind, JSON_NULL);
}

CASE(head_takes_the_last_of_equal_keys)
{
	struct calls c;
	struct record_head h = head_of(
	    JSON({"type":"x","id":"1","message":{"role":"assistant","content":[{"type":"toolCall","id":"old"}]},
	        "message":{"role":"user","content":[{"type":"toolCall","id":"new"}],"role":"assistant"},
	        "type":"message","id":"2"}),
	    &c);

	assert_int_equal(h.type, RECORD_MESSAGE);
	assert_span(h.id.text, "2");
	assert_int_equal(h.calls, 1);
	assert_span(c.ids[c.n - 1], "new");

	h = head_of(
	    JSON({"type":"message","message":{"role":"assistant","content":[{"type":"toolCall"}],"content":"text"}}),
	    &c);
	assert_int_equal(h.calls, 0);
	h = head_of(JSON({"type":"message","message":{"role":"assistant"},"message":null}), &c);
	assert_true(h.message_missing);
	assert_int_equal(h.role, ROLE_NONE);
}

static void assert_same_value(struct json_value a, struct json_value b)
{
	assert_int_equal(a.kind, b.kind);
	if (a.kind == JSON_NONE)
		return;
	assert_int_equal(a.escaped, b.escaped);
	assert_true(span_eq(a.text, b.text));
}

/* As for JSON.parse: nothing of the first `message` is left, whatever it had, and whatever the last one lacks. */
CASE(head_forgets_an_earlier_message)
{
	static const char first[] =
	    JSON({"role":"toolResult","toolCallId":"c","timestamp":1,"provider":"p","model":"m","details":{"status":"error"},
	        "stopReason":"error","isError":true,"cancelled":true,"exitCode":1,"nestedCalls":[1],"durationMs":5,
	        "usage":{"input":1},"content":[SAY("x"),{"type":"image"},{"type":"toolCall","id":"c","name":"read"}]});
	static const char *const last[] = ITEMS(
	    "{}", JSON({"role":"toolResult"}), JSON({"role":"bashExecution"}), JSON({"role":"assistant"}),
	    JSON({"role":"assistant","content":[],"stopReason":"stop"}), JSON({"role":"assistant","content":" "}),
	    JSON({"role":"user","content":[SAY("")]}));
	for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
		char both[2000], alone[1000];
		struct calls c;
		snprintf(both, sizeof both, JSON({"message":%s,"type":"message","message":%s}), first, last[i]);
		snprintf(alone, sizeof alone, JSON({"type":"message","message":%s}), last[i]);
		struct record_head a = head_of(both, &c), b = head_of(alone, &c);
		assert_int_equal(a.role, b.role);
		assert_int_equal(a.has_error, b.has_error);
		assert_int_equal(a.details_failed, b.details_failed);
		assert_int_equal(a.partial, b.partial);
		assert_int_equal(a.no_text, b.no_text);
		assert_int_equal(a.has_content, b.has_content);
		assert_int_equal(a.has_file_call, b.has_file_call);
		assert_int_equal(a.calls, b.calls);
		assert_int_equal(a.images, b.images);
		assert_int_equal(a.problem, b.problem);
		assert_same_value(a.tool_call_id, b.tool_call_id);
		assert_same_value(a.nested_calls, b.nested_calls);
		assert_same_value(a.duration, b.duration);
		assert_same_value(a.message_time, b.message_time);
		assert_same_value(a.msg.provider, b.msg.provider);
		assert_same_value(a.msg.model, b.msg.model);
		assert_same_value(a.msg.usage, b.msg.usage);
	}
}

CASE(head_reads_escaped_keys_and_names)
{
	struct calls c;
	struct record_head h = head_of(
	    JSON({"t\u0079pe":"me\u0073sage","\u0069d":"x","message":{"r\u006fle":"toolResu\u006ct",
	        "toolC\u0061llId":"c"}}),
	    &c);

	assert_int_equal(h.type, RECORD_MESSAGE);
	assert_int_equal(h.role, ROLE_TOOL_RESULT);
	assert_span(h.id.text, "x");
	assert_span(h.tool_call_id.text, "c");
}

CASE(head_counts_calls_of_assistants_only)
{
	struct calls c;

	assert_int_equal(head_of(JSON({"type":"message","message":{"content":[{"type":"toolCall","id":"c"}],"role":"user"}}),
	    &c).calls, 0);
	assert_int_equal(head_of(JSON({"type":"custom","message":{"role":"assistant","content":[{"type":"toolCall","id":"c"}]}}),
	    &c).calls, 0);
	assert_int_equal(head_of(JSON({"type":"message","message":{"role":"assistant","content":[{"type":"toolCall"}]}}), &c).calls, 1);
	assert_null(c.ids[0].p);
}

CASE(head_classifies_lines)
{
	static const struct {
		const char *line;
		enum json_kind kind;
		bool falsy, missing;
	} cases[] = ITEMS(
	    {"", JSON_NONE, false, false},
	    {"{", JSON_NONE, false, true},
	    {"{}x", JSON_NONE, false, true},
	    {JSON({"a":1,}), JSON_NONE, false, true},
	    {"{\"a\":\"\t\"}", JSON_NONE, false, true},
	    {JSON({"message":{"a":"\x"}}), JSON_NONE, false, false},
	    {"null", JSON_NULL, true, false},
	    {"false", JSON_FALSE, true, false},
	    {"0", JSON_NUMBER, true, false},
	    {"-0.0e5", JSON_NUMBER, true, false},
	    {JSON(""), JSON_STRING, true, false},
	    {JSON("x"), JSON_STRING, false, false},
	    {" 5 ", JSON_NUMBER, false, false},
	    {"[]", JSON_ARRAY, false, false},
	    {" {} \r", JSON_OBJECT, false, false},
	    {JSON({"type":"message"}), JSON_OBJECT, false, true},
	    {JSON({"type":"message","message":null}), JSON_OBJECT, false, true},
	    {JSON({"type":"message","message":[]}), JSON_OBJECT, false, false},
	    {JSON({"type":"message","message":""}), JSON_OBJECT, false, false},
	    {JSON({"type":"message","message":{}}), JSON_OBJECT, false, false},
	    {JSON({"type":"usage"}), JSON_OBJECT, false, false},
	    {"\xef\xbb\xbf{}", JSON_NONE, false, false});

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct calls c;
		struct record_head h = head_of(cases[i].line, &c);
		if (h.kind != cases[i].kind || h.falsy != cases[i].falsy)
			fail_msg("%s: kind %d falsy %d", cases[i].line, (int)h.kind, h.falsy);
		if (h.kind != JSON_NONE && h.message_missing != cases[i].missing)
			fail_msg("%s: message_missing %d", cases[i].line, h.message_missing);
	}
}

/* ---- the head and the whole record ---- */

static void assert_same_usage(const struct record_head *h)
{
	static const char *const names[] = {"input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost"};
	assert_int_equal(sizeof names / sizeof *names, USAGE_FIELDS);
	for (size_t i = 0; i < USAGE_FIELDS; i++)
		assert_same_value(h->numbers[i], json_get(h->msg.usage, names[i]));
}

/* The calls of an assistant, which are the last ones noted. */
static void assert_same_calls(const struct record_head *h, const struct record *r, const struct calls *c)
{
	struct block_iter it;
	struct block b;
	unsigned calls = 0, images = 0;
	bool is_message = r->type == RECORD_MESSAGE && r->message.kind == JSON_OBJECT;
	block_iter_init(&it, r->msg.content);
	while (is_message && block_next(&it, &b)) {
		images += b.type == BLOCK_IMAGE;
		if (r->role == ROLE_ASSISTANT && b.type == BLOCK_TOOL_CALL)
			assert_true(span_eq(c->ids[c->n - h->calls + calls++], b.id.text));
	}
	assert_int_equal(h->calls, calls);
	assert_int_equal(h->images, images);
	assert_int_equal(h->has_content, is_message && r->msg.content.kind != JSON_NONE);
}

static void assert_head_is_of_record(const struct buf *line)
{
	CLEANUP_BUF struct buf text = BUF_INIT, deep = BUF_INIT;
	struct calls c;
	struct record r;

	buf_addspan(&text, buf_span(line));
	buf_addc(&text, '\0');
	struct record_head h = head_of(text.p, &c);
	if (!record_parse(span_of(text.p), NULL, &deep, &r)) {
		if (h.kind != JSON_NONE && !h.falsy)
			fail_msg("%.*s", (int)line->n, line->p);
		return;
	}
	if (h.kind != r.kind || h.falsy)
		fail_msg("%.*s", (int)line->n, line->p);
	if (r.kind != JSON_OBJECT)
		return;
	assert_int_equal(h.type, r.type);
	assert_int_equal(h.role, r.role);
#define ASSERT_SAME_FIELD(c, json) assert_same_value(h.c, r.c);
	HEAD_FIELDS(ASSERT_SAME_FIELD)
	assert_same_value(h.msg.provider, r.msg.provider);
	assert_same_value(h.msg.model, r.msg.model);
	assert_same_value(h.msg.usage, r.msg.usage);
	assert_same_usage(&h);
	assert_same_calls(&h, &r, &c);
	struct json_value none = {0};
	bool is_message = r.type == RECORD_MESSAGE && r.message.kind == JSON_OBJECT;
	assert_same_value(h.tool_call_id, is_message ? r.msg.tool_call_id : none);
	assert_same_value(h.message_time, is_message ? r.msg.timestamp : none);
}

/* clang-format off */
#define COST "cost":{"input":0.5,"output":1e-7,"cacheRead":0,"cacheWrite":-1,"total":0.75}
#define FULL_USAGE "usage":{"input":1,"output":20,"cacheRead":300,"cacheWrite":0,"totalTokens":321,COST}
/* clang-format on */

static const char *const usual_lines[] = ITEMS(
    ANSWERED, JSON({"type":"message","message":{"role":"assistant","provider":"p","model":"m",FULL_USAGE}}),
    JSON({"type":"message","message":{"role":"assistant",FULL_USAGE,"usage":{"input":2}}}),
    JSON({"type":"compaction","provider":"p","model":"m",FULL_USAGE,"message":{FULL_USAGE}}),
    "{\"type\":\"message\",\"message\":{\"usage\":{\"input\":\"1\",\"output\":[2],\"cacheRead\":null,\"cacheWrite\":0,\"totalTokens\":true,\"cost\":{\"input\":0.5,\"output\":1e-7,\"cacheRead\":0,\"cacheWrite\":-1,\"total\":0.75}}}}",
    JSON({"type":"session","version":3,"id":"s","timestamp":TIME,"cwd":"/x"}),
    JSON({"type":"message","id":"a","parentId":null,"timestamp":"x","message":{"role":"toolResult","toolCallId":"c1",
        "content":[SAY("a\nb\u00e9 and more than the sixteen bytes of a look")],"isError":false,
        "details":{"n":[1,-2,0.5,1e-7,12345678901234567890,0.12345678901234567890],"e":{},"a":[],"t":true,"z":null}}}),
    JSON({"type":"message","id":1.5,"parentId":7,"message":{"role":"assistant","content":[],
        "usage":{"input":3,"cost":{"total":0.000021}},"timestamp":1772355612339}}),
    JSON({"type":"message","id":"b","parentId":"a","timestamp":"x","message":{"role":"assistant",
        "content":[{"type":"text","text":"x","type":"toolCall","id":"c3"},SAY("y")],
        "usage":{"input":3,"output":10,"cacheRead":0,"cacheWrite":-1,"totalTokens":13,"cost":{"input":1e-7,
        "output":0.006575000000000001,"cacheRead":0,"cacheWrite":0.25,"total":1.5}},"stopReason":"stop"}}) "\r",
    JSON({"type":"message","message":{"role":"user","content":[{"type":"toolCall","id":"c4"}]}}),
    JSON({"type":"label","id":"l","parentId":"a","timestamp":"t","targetId":"a","label":"x"}),
    JSON({"type":"compaction","id":"k","parentId":"a","timestamp":"t","summary":"s","firstKeptEntryId":"a",
        "tokensBefore":5}), JSON({"type":"session_info","id":"i","parentId":"a","name":"n"}),
    JSON({"message":{"content":"x","role":"user"},"type":"message"}),
    JSON({"type":"message","message":{"role":"assistant","content":[1,{"type":"toolCall","id":"c5"}]}}),
    JSON({"type":"message","message":{"role":"assistant","content":[{"text":" \n\u00a0","type":"text"},SAY("")],
        "stopReason":"toolUse"}}),
    JSON({"type":"message","message":{"stopReason":"aborted","content":" x","role":"assistant"}}),
    JSON({"type":"message","message":{"role":"bashExecution","command":"ls","exitCode":12,"cancelled":false}}));

CASE(head_is_of_the_record)
{
	static const char bytes[] = "\"\\{}[]:, 0123456789.eE-ntfu\x01\t\r\xff"
				    "abc";
	uint64_t seed = seed_of_run();

	for (unsigned round = 0; round < 40000; round++) {
		CLEANUP_BUF struct buf line = BUF_INIT;
		buf_adds(&line, usual_lines[round % (sizeof usual_lines / sizeof *usual_lines)]);
		for (unsigned edits = round / 8 % 4; edits; edits--) {
			seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			size_t at = (size_t)(seed >> 33) % line.n, what = (size_t)(seed >> 20) % 3;
			if (what == 0)
				line.p[at] = bytes[(seed >> 8) % (sizeof bytes - 1)];
			else if (what == 1)
				line.n = at + 1;
			else
				memmove(line.p + at, line.p + at + 1, line.n-- - at - 1);
			if (line.n == 0)
				break;
		}
		assert_head_is_of_record(&line);
	}
}

CASE(head_has_the_stop_reason)
{
	static const struct {
		const char *line;
		bool failed, silent;
	} cases[] = ITEMS(
	    {RECORD_OF("role":"assistant","content":[],"stopReason":"toolUse"), false, true},
	    {RECORD_OF("role":"assistant","content":[],"stopReason":"stop"), false, true},
	    {RECORD_OF("role":"assistant","content":[]), false, true},
	    {RECORD_OF("role":"assistant","stopReason":null), false, true},
	    {RECORD_OF("role":"assistant","stopReason":""), false, true},
	    {RECORD_OF("role":"assistant","stopReason":[]), false, false},
	    {RECORD_OF("role":"assistant","stopReason":"st\u006fp"), false, true},
	    {RECORD_OF("role":"assistant","stopReason":"error","stopReason":"stop"), false, true},
	    {RECORD_OF("role":"assistant","stopReason":"length"), true, false},
	    {RECORD_OF("role":"assistant","stopReason":"deferred"), false, false},
	    {RECORD_OF("role":"assistant","stopReason":"error"), true, false},
	    {RECORD_OF("role":"assistant","content":"x","stopReason":"aborted"), true, false},
	    {"{\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"content\":\" \\t\\u2003\xe2\x80\xa8\"}}",
	     false, true},
	    {RECORD_OF("role":"assistant","content":" \u0008"), false, false},
	    {RECORD_OF("role":"assistant","content":"\n1"), false, false},
	    {RECORD_OF("role":"assistant","content":[SAY("\r\n"),{"type":"text","text":7},SAY("")]), false, true},
	    {RECORD_OF("role":"assistant","content":[SAY(""),SAY("\n?")]), false, false},
	    {RECORD_OF("role":"assistant","content":[{"type":"thinking","thinking":"x","text":"x"}]), false, true},
	    {RECORD_OF("role":"assistant","content":[SAY("x")]), false, false},
	    {RECORD_OF("role":"assistant","content":[{"type":"text","text":"x","text":""}]), false, true},
	    {RECORD_OF("role":"assistant","isError":true,"exitCode":1,"content":"x"), false, false},
	    {RECORD_OF("role":"user","content":[],"stopReason":"error"), false, false},
	    {RECORD_OF("role":"toolResult","isError":true), true, false},
	    {RECORD_OF("isError":"yes","role":"toolResult"), true, false},
	    {RECORD_OF("role":"toolResult","isError":{}), true, false},
	    {RECORD_OF("role":"toolResult","isError":false), false, false},
	    {RECORD_OF("role":"toolResult","isError":0), false, false},
	    {RECORD_OF("role":"bashExecution","exitCode":0,"cancelled":false), false, false},
	    {RECORD_OF("role":"bashExecution","exitCode":-1), true, false},
	    {RECORD_OF("role":"bashExecution","exitCode":0,"cancelled":true), true, false},
	    {JSON({"type":"custom","message":{"role":"assistant","stopReason":"error"}}), false, false});

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct calls c;
		struct record_head h = head_of(cases[i].line, &c);
		if (h.has_error != cases[i].failed || h.no_text != cases[i].silent)
			fail_msg("%s: has_error %d, no_text %d", cases[i].line, h.has_error, h.no_text);
	}
}

CASE(head_survives_deep_nesting)
{
	enum { DEPTH = 100000 };
	CLEANUP_BUF struct buf line = BUF_INIT, deep = BUF_INIT;
	struct record_head h;
	struct record r;

	buf_adds(&line, "{\"type\":\"message\",\"id\":\"a\",\"message\":{\"role\":\"assistant\",\"content\":["
	                "{\"type\":\"toolCall\",\"arguments\":");
	for (int i = 0; i < DEPTH; i++)
		buf_addc(&line, '[');
	for (int i = 0; i < DEPTH; i++)
		buf_addc(&line, ']');
	buf_adds(&line, ",\"id\":\"c\"}]}}");
	record_head(buf_span(&line), &deep, &h, NULL, NULL);
	assert_int_equal(h.kind, JSON_OBJECT);
	assert_int_equal(h.calls, 1);
	assert_true(record_parse(buf_span(&line), NULL, &deep, &r));

	struct block_iter it;
	struct block b;
	block_iter_init(&it, r.msg.content);
	assert_true(block_next(&it, &b));
	assert_span(b.id.text, "c");
	assert_int_equal(b.arguments.text.n, 2 * DEPTH);
	assert_false(block_next(&it, &b));

	line.p[line.n - 1] = ']';
	record_head(buf_span(&line), &deep, &h, NULL, NULL);
	assert_int_equal(h.kind, JSON_NONE);
}

CASE(parse_views_every_field)
{
	struct record r = parse_of("\t" ANSWERED " \r", NULL);

	assert_int_equal(r.line.n, strlen(ANSWERED));
	assert_span(r.type_.text, "message");
	assert_int_equal(r.message.kind, JSON_OBJECT);
	assert_int_equal(r.message.text.p[0], '{');
	assert_int_equal(r.message.text.p[r.message.text.n - 1], '}');
	assert_int_equal(r.msg.content.kind, JSON_ARRAY);
	assert_int_equal(r.label.kind, JSON_NONE);
}

#define SET(c, json) JSON(,json:json)
#define CHECK(c, json)                                                                                                 \
	if (strcmp(json, "type") != 0 && strcmp(json, "message") != 0)                                                 \
		assert_span(r.c.text, json);
#define CHECK_MESSAGE(c, json)                                                                                         \
	if (strcmp(json, "role") != 0)                                                                                 \
		assert_span(r.msg.c.text, json);

CASE(parse_recognizes_known_names)
{
	struct record r = parse_of("{\"x\":0" RECORD_FIELDS(SET) ",\"type\":\"message\",\"message\":{\"y\":0" MESSAGE_FIELDS(
			 SET) ",\"role\":\"user\"}}",
	             NULL);

	assert_int_equal(r.type, RECORD_MESSAGE);
	assert_int_equal(r.role, ROLE_USER);
	RECORD_FIELDS(CHECK)
	MESSAGE_FIELDS(CHECK_MESSAGE)
}

CASE(parse_recognizes_types_and_roles)
{
	char line[128];

	for (enum record_type t = RECORD_SESSION; t <= RECORD_CONTEXT_EDIT; t++) {
		assert_non_null(record_type_name(t));
		snprintf(line, sizeof line, JSON({"type":"%s"}), record_type_name(t));
		assert_int_equal(parse_of(line, NULL).type, t);
		struct calls c;
		assert_int_equal(head_of(line, &c).type, t);
	}
	for (enum record_role role = ROLE_SYSTEM; role <= ROLE_COMPACTION_SUMMARY; role++) {
		assert_non_null(record_role_name(role));
		snprintf(line, sizeof line, JSON({"type":"message","message":{"role":"%s"}}), record_role_name(role));
		assert_int_equal(parse_of(line, NULL).role, role);
		struct calls c;
		assert_int_equal(head_of(line, &c).role, role);
	}
	assert_null(record_type_name(RECORD_OTHER));
	assert_null(record_role_name(ROLE_NONE));
	assert_null(record_role_name(ROLE_OTHER));
	assert_int_equal(parse_of(JSON({"type":"new"}), NULL).type, RECORD_OTHER);
	assert_int_equal(parse_of(JSON({"type":5}), NULL).type, RECORD_OTHER);
	assert_int_equal(parse_of(JSON({"type":"message","message":{}}), NULL).role, ROLE_OTHER);
	assert_int_equal(parse_of(JSON({"type":"message"}), NULL).role, ROLE_NONE);
	assert_int_equal(parse_of(JSON({"type":"custom","message":{"role":"user"}}), NULL).role, ROLE_NONE);
}

CASE(hook_messages_are_custom_in_old_files)
{
	static const char line[] = JSON({"type":"message","message":{"role":"hookMessage"}});
	struct calls c;

	assert_int_equal(parse_of(line, format_of((struct json_value){0})).role, ROLE_CUSTOM);
	assert_int_equal(parse_of(line, NULL).role, ROLE_OTHER);
	assert_true(head_of(line, &c).old_custom);
	assert_int_equal(head_of(line, &c).role, ROLE_OTHER);
}

CASE(parse_refuses_what_pi_skips)
{
	static const char *const lines[] = {"", " ", "null", "false", "0", JSON(""), "{", JSON({"a"}), "{} {}", "nul"};
	CLEANUP_BUF struct buf deep = BUF_INIT;
	struct record r;

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (record_parse(span_of(lines[i]), NULL, &deep, &r))
			fail_msg("accepted: %s", lines[i]);
	assert_int_equal(parse_of("[1]", NULL).kind, JSON_ARRAY);
	assert_int_equal(parse_of("5", NULL).type, RECORD_OTHER);
}

CASE(blocks_come_in_order)
{
	struct record r = parse_of(
	    JSON({"type":"message","message":{"role":"user",
	        "content":[SAY("t"),IMAGE("image/png", "d"),{"type":"thinking","thinking":"h","redacted":true},null,{"type":"new"},{"type":"toolCall","id":"c"}]}}),
	    NULL);
	static const enum block_type types[] = {BLOCK_TEXT,  BLOCK_IMAGE, BLOCK_THINKING,
	                                        BLOCK_OTHER, BLOCK_OTHER, BLOCK_TOOL_CALL};
	static const unsigned counts[] = {1, 1, 1, 1, 2, 1};
	struct block_iter it;
	struct block b;

	block_iter_init(&it, r.msg.content);
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		assert_true(block_next(&it, &b));
		assert_int_equal(b.type, types[i]);
		assert_int_equal(b.n, counts[i]);
		if (b.type == BLOCK_IMAGE)
			assert_span(b.mime_type.text, "image/png");
		if (b.type == BLOCK_THINKING)
			assert_int_equal(b.redacted.kind, JSON_TRUE);
	}
	assert_false(block_next(&it, &b));
	assert_false(block_next(&it, &b));

	block_iter_init(&it, parse_of(JSON({"content":"text"}), NULL).content);
	assert_true(block_next(&it, &b));
	assert_int_equal(b.type, BLOCK_TEXT);
	assert_span(b.text.text, "text");
	assert_int_equal(b.n, 1);
	assert_false(block_next(&it, &b));
	block_iter_init(&it, (struct json_value){0});
	assert_false(block_next(&it, &b));
}

/* clang-format off */
#define FOUR [1],null,{"type":"toolCall","id":"c"},{"type":"text","text":"a\nb","text":"\u00e9"}
/* clang-format on */

#define ASSERT_SAME(c, json) assert_true(a.c.kind == b.c.kind && span_eq(a.c.text, b.c.text));

/* Whether blocks were noted, and that they are the blocks of the content. */
static bool notes_blocks(const char *message)
{
	CLEANUP_BUF struct buf line = BUF_INIT, deep = BUF_INIT;
	struct blocks blocks;
	struct record r;
	struct block_iter parsed, noted;
	struct block a, b;

	buf_addf(&line, JSON({"type":"message","message":%s}), message);
	struct record plain = parse_of(buf_cstr(&line), NULL);
	assert_true(record_parse_blocks(buf_span(&line), NULL, &deep, &r, &blocks));
	assert_int_equal(plain.msg.content.kind, r.msg.content.kind);
	assert_true(span_eq(plain.msg.content.text, r.msg.content.text));
	assert_true(span_eq(plain.message.text, r.message.text));
	assert_int_equal(r.role, plain.role);
	block_iter_init(&parsed, r.msg.content);
	block_iter_init_of(&noted, &r, r.msg.content);
	while (block_next(&parsed, &a)) {
		assert_true(block_next(&noted, &b));
		assert_int_equal(a.type, b.type);
		BLOCK_FIELDS(ASSERT_SAME)
	}
	assert_false(block_next(&noted, &b));
	assert_false(block_next(&noted, &b));
	return r.blocks != NULL;
}

CASE(blocks_are_collected_while_parsing)
{
	CLEANUP_BUF struct buf deep = BUF_INIT;
	struct blocks blocks;
	struct record r;

	assert_true(notes_blocks(JSON({"role":"user","content":[]})));
	assert_true(notes_blocks(JSON({"role":"user","content" : [ FOUR , FOUR ] ,"stopReason":1})));
	assert_false(notes_blocks(JSON({"role":"user","content":[FOUR,FOUR,1]})));
	assert_false(notes_blocks(JSON({"role":"user","content":"text"})));
	assert_false(notes_blocks(JSON({"role":"user"})));
	assert_true(notes_blocks(JSON({"content":[1,2],"content":[{"type":"toolCall","id":"a"}]})));
	assert_false(notes_blocks(JSON({"content":[1,2],"content":""})));
	assert_false(notes_blocks(JSON({"content":[1,2]},"message":{})));
	assert_false(notes_blocks(JSON({"content":[1,2]},"message":3)));
	assert_false(record_parse_blocks(SPAN_LIT(JSON({"message":{"content":[1,]}})), NULL, &deep, &r, &blocks));
	assert_false(
	    record_parse_blocks(SPAN_LIT(JSON({"message":{"content":[{"text":"\x"}]}})), NULL, &deep, &r, &blocks));
}

RUN_CASES(NULL, NULL)
