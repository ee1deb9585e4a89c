/* SPDX-License-Identifier: MIT */
/* part: the contents of an entry's files. */
#include "cases.h"
#include "session_lines.h"
#include "failing_alloc.h"
#include "texts.h"
#include "sessionfs/session/format.h"
#include "sessionfs/session/part.h"

static void parse(const char *line, struct record *ret)
{
	if (!record_parse(span_of(line), NULL, NULL, ret))
		fail_msg("does not parse: %s", line);
}

typedef size_t make_fn(const struct record *r, struct buf *out);

struct sample {
	const char *line;
	struct span want;
};

static void check(const struct sample *samples, size_t n, make_fn *make)
{
	for (size_t i = 0; i < n; i++) {
		CLEANUP_BUF struct buf b = BUF_INIT;
		struct record r;
		parse(samples[i].line, &r);
		make(&r, &b);
		assert_buf(&b, samples[i].want);
		assert_int_equal(make(&r, NULL), samples[i].want.n);
		/* Appending keeps the existing bytes. */
		buf_reset(&b);
		buf_adds(&b, "\n");
		make(&r, &b);
		assert_int_equal(b.n, samples[i].want.n + 1);
		assert_int_equal(b.p[0], '\n');
	}
}

CASE(text_of_messages)
{
	static const struct sample samples[] = ITEMS(
	    {RECORD_OF("role":"user","content":"hello"), SPAN_LIT("hello\n")},
	    {RECORD_OF("role":"user","content":"hello\n"), SPAN_LIT("hello\n")},
	    {RECORD_OF("role":"user","content":"hello\u000A"), SPAN_LIT("hello\n")},
	    {RECORD_OF("role":"user","content":"hello\\n"), SPAN_LIT("hello\\n\n")},
	    {RECORD_OF("role":"user","content":"x\\\n"), SPAN_LIT("x\\\n")},
	    {RECORD_OF("role":"user","content":"x\\u000a"), SPAN_LIT("x\\u000a\n")},
	    {RECORD_OF("role":"user","content":"\n\na\n\n"), SPAN_LIT("\n\na\n\n")},
	    {RECORD_OF("role":"user","content":""), SPAN_LIT("")},
	    {RECORD_OF("role":"user","content":"\n\u000a\n"), SPAN_LIT("")},
	    {RECORD_OF("role":"user","content":" "), SPAN_LIT(" \n")},
	    {RECORD_OF("role":"user","content":"\r"), SPAN_LIT("\r\n")},
	    {"{\"type\":\"message\",\"id\":\"a\",\"message\":{\"role\":\"user\",\"content\":\"a\\u0000b\\ud800\xff\"}}",
	     SPAN_LIT("a\xe2\x90\x80"
	     "b\xef\xbf\xbd\xef\xbf\xbd\n")},
	    {RECORD_OF("role":"user","content":null), SPAN_LIT("")},
	    {RECORD_OF("role":"user","content":7), SPAN_LIT("")},
	    {RECORD_OF("role":"user","x":1), SPAN_LIT("")},
	    {RECORD_OF("role":"assistant","content":[SAY("a"),THINKING("t"),SAY("b\n"),5,null,[],{ "text" : "no"},SAY("c")]),
	     SPAN_LIT("a\nb\n\nc\n")},
	    {RECORD_OF("role":"user","content":[SAY(""),SAY("")]), SPAN_LIT("")},
	    {RECORD_OF("role":"user","content":[{"type":"text"},{"type":"text","text":5},SAY("x")]), SPAN_LIT("\n\nx\n")},
	    {RECORD_OF("role":"system","content":"rules"), SPAN_LIT("rules\n")},
	    {RECORD_OF("role":"system","content":"a\n","sections":{"x\u0041":"b","gone":null,"y":"","z":"c\n","n":7}),
	     SPAN_LIT("a\n\n### xA\nb\n\n### y\n\n### z\nc\n")},
	    {RECORD_OF("role":"system","content":[SAY("a")],"toolsRemoved":[{"name":"u"},"v"],"toolsAdded":[{"name":"r"},
	         {"name":7},{"name":"s"},8]), SPAN_LIT("a\n\ntools: r s -u -v\n")},
	    {RECORD_OF("role":"system","content":"\n\n","sections":{"x":"b"},"toolsAdded":[],
	         "toolsRemoved":[{"name":"u"}]), SPAN_LIT("### x\nb\n\ntools: -u\n")},
	    {RECORD_OF("role":"system","content":null,"sections":"{\"x\":1}","toolsAdded":"[1]"), SPAN_LIT("")},
	    {RECORD_OF("role":"system","content":"","sections":{"x":null},"toolsAdded":[{}]), SPAN_LIT("")},
	    {RECORD_OF("role":"user","content":"a","sections":{"x":"b"}), SPAN_LIT("a\n")},
	    {RECORD_OF("role":"oddRole","content":"still text"), SPAN_LIT("still text\n")},
	    {RECORD_OF("role":"bashExecution","command":"ls","output":"a\nb\n"), SPAN_LIT("$ ls\na\nb\n")},
	    {RECORD_OF("role":"bashExecution","command":"true","output":""), SPAN_LIT("$ true\n")},
	    {RECORD_OF("role":"bashExecution","command":"echo","output":"x"), SPAN_LIT("$ echo\nx\n")},
	    {RECORD_OF("role":"bashExecution","output":"x"), SPAN_LIT("$ \nx\n")},
	    {RECORD_OF("role":"bashExecution","command":null), SPAN_LIT("")},
	    {RECORD_OF("role":"branchSummary","summary":"tried"), SPAN_LIT("tried\n")},
	    {RECORD_OF("role":"compactionSummary","summary":"so far\n"), SPAN_LIT("so far\n")});

	check(samples, COUNT(samples), part_text);
}

CASE(text_continues_after_deep_values)
{
	enum { DEEP = 600 };
	CLEANUP_BUF struct buf line = BUF_INIT, deep = BUF_INIT, text = BUF_INIT;
	char open[DEEP + 1] = "", close[DEEP + 1] = "";
	struct record r;

	memset(open, '[', DEEP);
	memset(close, ']', DEEP);
	buf_addf(&line, RECORD_OF("role":"system","sections":{"x":%s%s,"y":"b"},"toolsAdded":[%s%s,"r"]), open, close,
	                                                      open, close);
	assert_true(record_parse(buf_span(&line), NULL, &deep, &r));
	part_text(&r, &text);
	assert_text(&text, "### y\nb\n\ntools: r\n");
}

CASE(errors_have_text)
{
	static const struct sample samples[] = ITEMS(
	    {RECORD_OF("role":"toolResult","content":[SAY("no such file")],"isError":true), SPAN_LIT("no such file\n")},
	    {RECORD_OF("role":"toolResult","content":"a\nb\n","isError":true), SPAN_LIT("a\nb\n")},
	    {RECORD_OF("role":"toolResult","content":[],"isError":true), SPAN_LIT("error\n")},
	    {RECORD_OF("role":"toolResult","content":"\n","isError":true), SPAN_LIT("error\n")},
	    {RECORD_OF("role":"toolResult","content":"fine","isError":false), SPAN_LIT("")},
	    {RECORD_OF("role":"toolResult","content":"fine"), SPAN_LIT("")},
	    {RECORD_OF("role":"toolResult","content":"fine","isError":null,"stopReason":"error"), SPAN_LIT("")},
	    {RECORD_OF("role":"assistant","content":[],"stopReason":"error","errorMessage":"429 \ud83d\n"),
	     SPAN_LIT("429 \xef\xbf\xbd\n")},
	    {RECORD_OF("role":"assistant","content":[],"stopReason":"aborted","errorMessage":"\n"),
	     SPAN_LIT("aborted\n")},
	    {RECORD_OF("role":"assistant","content":[],"stopReason":"error","errorMessage":{"a":1}), SPAN_LIT("error\n")},
	    {RECORD_OF("role":"assistant","content":[],"stopReason":"aborted"), SPAN_LIT("aborted\n")},
	    {RECORD_OF("role":"assistant","content":[],"stopReason":"length","errorMessage":"x"), SPAN_LIT("x\n")},
	    {RECORD_OF("role":"assistant","content":"fine","stopReason":"length"), SPAN_LIT("length\n")},
	    {RECORD_OF("role":"assistant","content":[],"stopReason":"lengthy","errorMessage":"x"), SPAN_LIT("")},
	    {RECORD_OF("role":"assistant","content":[],"errorMessage":"x","isError":true), SPAN_LIT("")},
	    {RECORD_OF("role":"bashExecution","command":"false","output":"","exitCode":1,"cancelled":false),
	     SPAN_LIT("1\n")},
	    {RECORD_OF("role":"bashExecution","command":"x","output":"","exitCode":-1e0), SPAN_LIT("-1e0\n")},
	    {RECORD_OF("role":"bashExecution","command":"sleep","exitCode":130,"cancelled":true),
	     SPAN_LIT("cancelled\n")},
	    {RECORD_OF("role":"bashExecution","command":"sleep","exitCode":null,"cancelled":false), SPAN_LIT("")},
	    {RECORD_OF("role":"bashExecution","command":"true","exitCode":0), SPAN_LIT("")},
	    {RECORD_OF("role":"bashExecution","command":"true","exitCode":-0.0), SPAN_LIT("")},
	    {RECORD_OF("role":"bashExecution","command":"true"), SPAN_LIT("")},
	    {RECORD_OF("role":"user","content":"x","isError":true,"stopReason":"error","exitCode":1), SPAN_LIT("")},
	    {JSON({"type":"compaction","summary":"x","isError":true}), SPAN_LIT("")});
	check(samples, COUNT(samples), part_error);
	for (size_t i = 0; i < COUNT(samples); i++) {
		struct record r;
		parse(samples[i].line, &r);
		assert_int_equal(part_has_error(&r), samples[i].want.n > 0);
	}
}

CASE(type_role_and_model)
{
	static const struct sample types[] =
	    ITEMS(
	    {JSON({"type":"label"}), SPAN_LIT("label\n")}, {JSON({"type":"mess\u0061ge"}), SPAN_LIT("message\n")},
	    {JSON({"type":"new\n"}), SPAN_LIT("new\n")}, {JSON({"type":""}), SPAN_LIT("")},
	    {JSON({"type":5}), SPAN_LIT("")}, {"{}", SPAN_LIT("")}, {"3", SPAN_LIT("")});
	static const struct sample roles[] = ITEMS(
	    {RECORD_OF("role":"toolResult","x":1), SPAN_LIT("toolResult\n")},
	    {RECORD_OF("role":"mystery","x":1), SPAN_LIT("mystery\n")},
	    {RECORD_OF("role":"hookMessage","x":1), SPAN_LIT("hookMessage\n")},
	    {JSON({"type":"message","message":{"role":5}}), SPAN_LIT("")},
	    {JSON({"type":"custom_message","message":{"role":"user"}}), SPAN_LIT("")});
	static const struct sample models[] = ITEMS(
	    {RECORD_OF("role":"assistant","provider":"p","model":"m/1"), SPAN_LIT("p/m/1\n")},
	    {RECORD_OF("role":"assistant","provider":"p"), SPAN_LIT("")},
	    {RECORD_OF("role":"assistant","provider":null,"model":"m"), SPAN_LIT("")},
	    {RECORD_OF("role":"user","provider":"p","model":"m"), SPAN_LIT("")},
	    {JSON({"type":"model_change","provider":"p","modelId":"m"}), SPAN_LIT("p/m\n")},
	    {JSON({"type":"usage","provider":"p","model":"m","modelId":"m"}), SPAN_LIT("")});
	CLEANUP_BUF struct buf b = BUF_INIT;
	struct record r;

	check(types, COUNT(types), part_type);
	check(roles, COUNT(roles), part_role);
	check(models, COUNT(models), part_model);
	assert_true(
	    record_parse(span_of(RECORD_OF("role":"hookMessage","x":1)), format_of((struct json_value){0}), NULL, &r));
	part_role(&r, &b);
	assert_buf(&b, SPAN_LIT("custom\n"));
}

static void assert_image(const char *block, const char *ext, struct span bytes)
{
	CLEANUP_BUF struct buf line = BUF_INIT, out = BUF_INIT;
	struct part_image img = {0};
	struct record r;

	buf_addf(&line, JSON({"type":"message","message":{"role":"user","content":[{"type":"image",%s}]}}), block);
	assert_true(record_parse(buf_span(&line), NULL, NULL, &r));
	assert_true(part_image_next(&r, &img));
	assert_int_equal(img.n, 1);
	assert_string_equal(img.ext, ext);
	assert_int_equal(img.size, bytes.n);
	part_image(&img, &out);
	assert_buf(&out, bytes);
	assert_false(part_image_next(&r, &img));
	assert_int_equal(img.n, 1);
}

CASE(image_type_gives_extension)
{
	static const struct {
		const char *mime, *ext;
	} names[] = ITEMS(
	    {JSON("image/png"), "png"},
	    {JSON("image/jpeg"), "jpg"},
	    {JSON("image\/jpeg"), "jpg"},
	    {JSON("image/jpg"), "jpg"},
	    {JSON("image/gif"), "gif"},
	    {JSON("image/webp"), "webp"},
	    {JSON("image/avif"), "avif"},
	    {JSON("image/bmp"), "bmp"},
	    /* No other type is a picture, least of all one that a browser runs. */
	    {JSON("image/svg+xml"), "bin"},
	    {JSON("image/html"), "bin"},
	    {JSON("text/html"), "bin"},
	    {JSON("text/png"), "bin"},
	    {JSON("video/mp4"), "bin"},
	    {JSON("image/tiff"), "bin"},
	    {JSON("image/PNG"), "bin"},
	    {JSON(" image/png"), "bin"},
	    {JSON("image/png "), "bin"},
	    {JSON("image/png; q=1"), "bin"},
	    {JSON("image/png\u0000"), "bin"},
	    {JSON("image/"), "bin"},
	    {JSON("png"), "bin"},
	    {JSON(""), "bin"},
	    {"5", "bin"},
	    {"null", "bin"});

	for (size_t i = 0; i < COUNT(names); i++) {
		CLEANUP_BUF struct buf block = BUF_INIT;
		buf_addf(&block, JSON("data":"QUJD","mimeType":%s), names[i].mime);
		assert_image(buf_cstr(&block), names[i].ext, SPAN_LIT("ABC"));
	}
	assert_image(JSON("data":"QUJD"), "bin", SPAN_LIT("ABC"));
}

CASE(image_data_is_decoded)
{
	static const struct {
		const char *data;
		struct span bytes;
	} images[] = ITEMS(
	    {JSON("QUJD"), SPAN_LIT("ABC")},
	    {JSON("QUI="), SPAN_LIT("AB")},
	    {JSON("QQ=="), SPAN_LIT("A")},
	    {JSON("QUI"), SPAN_LIT("AB")},
	    {JSON("QQ"), SPAN_LIT("A")},
	    {JSON("Q"), SPAN_LIT("")},
	    {JSON(""), SPAN_LIT("")},
	    {JSON("===="), SPAN_LIT("")},
	    {JSON("!!!"), SPAN_LIT("")},
	    {JSON("QUI=QUJD"), SPAN_LIT("AB")},
	    {JSON("Q U\nJ\tD"), SPAN_LIT("ABC")},
	    {JSON("Q-_D"), SPAN_LIT("C\xef\xc3")},
	    {JSON("Q+/D"), SPAN_LIT("C\xef\xc3")},
	    {JSON("Q+\/D"), SPAN_LIT("C\xef\xc3")},
	    {JSON("QU\u004aD"), SPAN_LIT("ABC")},
	    {JSON("QUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQU*I"),
	     SPAN_LIT("ABCABCABCABCABCABCABCABCABCABCABCABCABCABCABCABCABCAB")},
	    {"\"QU\xc3\xa9JD\"", SPAN_LIT("ABC")},
	    {"\"QU\xffJD\"", SPAN_LIT("ABC")},
	    /* Node.js decodes the low byte of a UTF-16 unit: U+0141 is A, U+1F600 contains a =. */
	    {"\"QU\xc5\x81JD\"", SPAN_LIT("A@\x09")},
	    {"\"QUJD\xf0\x9f\x98\x80QUJD\"", SPAN_LIT("ABC")},
	    {JSON("AAECAw=="), SPAN_LIT("\0\1\2\3")},
	    {"5", SPAN_LIT("")},
	    {"null", SPAN_LIT("")},
	    {JSON(["QUJD"]), SPAN_LIT("")});

	for (size_t i = 0; i < COUNT(images); i++) {
		CLEANUP_BUF struct buf block = BUF_INIT;
		buf_addf(&block, JSON("data":%s,"mimeType":"image/png"), images[i].data);
		assert_image(buf_cstr(&block), "png", images[i].bytes);
	}
	assert_image(JSON("mimeType":"image/png"), "png", SPAN_LIT(""));
}

CASE(images_are_counted)
{
	struct part_image img = {0}, again;
	struct record r;

	parse(
	    JSON({"type":"custom_message","content":[{"type":"image","data":"QQ=="},{"type":"text"},7,{"type":"image"},
	        IMAGE("image/gif", "QUI=")]}),
	    &r);
	for (unsigned n = 1; n <= 3; n++) {
		static const size_t sizes[] = {1, 0, 2};
		assert_true(part_image_next(&r, &img));
		assert_int_equal(img.n, n);
		assert_int_equal(img.size, sizes[n - 1]);
		again = (struct part_image){.n = n - 1};
		assert_true(part_image_next(&r, &again));
		assert_int_equal(again.n, n);
		assert_string_equal(again.ext, img.ext);
	}
	assert_false(part_image_next(&r, &img));
	assert_false(part_image_next(&r, &img));
	img.n = 0;
	assert_true(part_image_next(&r, &img));
	assert_int_equal(img.n, 1);
	again = (struct part_image){.n = 3};
	assert_false(part_image_next(&r, &again));
}

/* Calls made by a tool. Only objects count, even incomplete ones. */
CASE(nested_calls_have_states)
{
	static const struct {
		const char *name;
		enum nested nested;
		const char *error;
	} want[] = {{"read", NESTED_DONE, ""},        {"edit", NESTED_FAILED, "no\nmatch\n"}, {"bash", NESTED_OPEN, ""},
	            {NULL, NESTED_FAILED, "error\n"}, {"w", NESTED_FAILED, "error\n"},        {NULL, NESTED_OPEN, ""}};
	static const char *const none[] = ITEMS(
	    RECORD_OF("role":"assistant","nestedCalls":{"calls":[{}]}), RECORD_OF("role":"user","nestedCalls":{"calls":[{}]}),
	    RECORD_OF("role":"toolResult","nestedCalls":[{}]),
	    RECORD_OF("role":"toolResult","nestedCalls":{"calls":{"a":{}}}),
	    RECORD_OF("role":"toolResult","nestedCalls":{"calls":"{}"}),
	    RECORD_OF("role":"toolResult","nestedCalls":{"calls":[]},"content":[{"type":"toolCall"}]),
	    RECORD_OF("role":"toolResult","nestedCalls":null));
	struct part_call call = {0};
	struct record r;

	parse(
	    RECORD_OF("role":"toolResult","nestedCalls":{"x":{"calls":[{}]},
	        "c\u0061lls":[{"name":"read","status":"ok","type":"text","arguments":{}},null,
	        {"status":"error","error":"no\nmatch","name":"edit"},[{}],"{}",
	        {"name":"bash","status":"unfinished","error":"x"},{"name":null,"status":"error","error":5},
	        {"name":"w","status":"error","error":"\n"},{}]}),
	    &r);
	for (size_t i = 0; i < COUNT(want); i++) {
		CLEANUP_BUF struct buf error = BUF_INIT;
		assert_true(part_call_next(&r, &call));
		assert_int_equal(call.n, i + 1);
		assert_int_equal(call.nested, want[i].nested);
		assert_true(want[i].name ? json_equals(call.name, want[i].name) : call.name.kind <= JSON_NULL);
		part_call_error(&call, &error);
		assert_buf(&error, span_of(want[i].error));
	}
	assert_false(part_call_next(&r, &call));
	for (size_t i = 0; i < COUNT(none); i++) {
		call = (struct part_call){0};
		parse(none[i], &r);
		assert_false(part_call_next(&r, &call));
	}
}

/* The nth search continues where the one before it ended. */
CASE(iterating_images_is_linear)
{
	CLEANUP_BUF struct buf line = BUF_INIT;
	struct part_image img = {0};
	struct record r;
	unsigned n = 0;

	buf_adds(&line, "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":[0");
	for (int i = 0; i < 100000; i++)
		buf_adds(&line, JSON(,{"type":"image","data":"QQ=="}));
	buf_adds(&line, "]}}");
	assert_true(record_parse(buf_span(&line), NULL, NULL, &r));
	while (part_image_next(&r, &img))
		n++;
	assert_int_equal(n, 100000);
}

CASE(large_image_is_decoded)
{
	CLEANUP_BUF struct buf line = BUF_INIT, out = BUF_INIT;
	struct part_image img = {0};
	struct record r;

	buf_adds(&line,
	         "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"data\":\"");
	for (int i = 0; i < 1 << 18; i++)
		buf_adds(&line, i % 1000 == 999 ? "\\nQUJD" : "QUJD");
	buf_adds(&line, "\"}]}}");
	assert_true(record_parse(buf_span(&line), NULL, NULL, &r));
	assert_true(part_image_next(&r, &img));
	assert_int_equal(img.size, 3 << 18);
	part_image(&img, &out);
	assert_int_equal(out.n, img.size);
	for (size_t i = 0; i < out.n; i++)
		assert_int_equal(out.p[i], "ABC"[i % 3]);
}

CASE(parts_fail_without_memory)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	struct record r;

	parse(RECORD_OF("role":"bashExecution","command":"\n","output":"\n"), &r);
	allocs_left = 0;
	part_text(&r, &b);
	allocs_left = -1;
	assert_int_equal(buf_err(&b), -ENOMEM);
	assert_int_equal(b.n, 0);
	struct part_image img = {0};
	parse(RECORD_OF("role":"user","content":[{"type":"image","data":"QU\nJD"}]), &r);
	assert_true(part_image_next(&r, &img));
	buf_reset(&b);
	allocs_left = 0;
	part_image(&img, &b);
	allocs_left = -1;
	assert_int_equal(buf_err(&b), -ENOMEM);
}

RUN_CASES(NULL, NULL)
