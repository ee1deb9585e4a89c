/* SPDX-License-Identifier: MIT */
/* fuzz_record: record.c, record_head.c, record_time.c, part.c, part_base64.c. For any line, the head agrees with the
 * whole record, and each file of an entry is as long as its size. */
#include "fuzz.h"

#include "sessionfs/session/format.h"
#include "sessionfs/session/part.h"

static void assert_same_value(struct json_value a, struct json_value b)
{
	assert_int_equal(a.kind, b.kind);
	if (a.kind != JSON_NONE)
		assert_spans_equal(a.text, b.text);
}

/* The index reads the same from a line as the views. */
static void check_head_of(const struct record_head *h, struct span line)
{
	CLEANUP_BUF struct buf deep = BUF_INIT;
	struct part_call call = {0};
	struct record r;

	if (!record_parse(line, NULL, &deep, &r)) {
		assert_true(h->kind == JSON_NONE || h->falsy);
		return;
	}
	assert_int_equal(h->kind, r.kind);
	assert_false(h->falsy);
	if (r.kind != JSON_OBJECT)
		return;
	assert_int_equal(h->type, r.type);
	assert_int_equal(h->role, r.role);
	assert_same_value(h->id, r.id);
	assert_same_value(h->parent_id, r.parent_id);
	assert_int_equal(h->message_missing, r.type == RECORD_MESSAGE && r.message.kind <= JSON_NULL);
	/* A tool's calls are not blocks of its result. */
	while (part_call_next(&r, &call))
		assert_true(r.role == ROLE_TOOL_RESULT || call.nested == NESTED_NOT);
	if (r.role != ROLE_TOOL_RESULT)
		assert_int_equal(h->calls, call.n);
}

static void check_head(struct span text)
{
	CLEANUP_BUF struct buf deep = BUF_INIT;
	struct record_head h;

	const char *newline = text.n ? memchr(text.p, '\n', text.n) : NULL;
	if (newline)
		text.n = (size_t)(newline - text.p);
	record_head(text, &deep, &h, NULL, NULL);
	check_head_of(&h, text);
}

/* The blocks kept while parsing equal those found later. */
static void check_blocks(struct span line)
{
	CLEANUP_BUF struct buf deep = BUF_INIT;
	struct blocks blocks;
	struct record r, plain;
	struct block_iter a, b;
	struct block x, y;

	bool ok = record_parse_blocks(line, format_of((struct json_value){0}), &deep, &r, &blocks);
	assert_int_equal(record_parse(line, format_of((struct json_value){0}), &deep, &plain), ok);
	if (!ok || !r.blocks)
		return;
	block_iter_init_of(&a, &r, r.msg.content);
	block_iter_init(&b, plain.msg.content);
	while (block_next(&a, &x)) {
		assert_true(block_next(&b, &y));
		assert_int_equal(x.type, y.type);
		assert_same_value(x.text, y.text);
		assert_same_value(x.id, y.id);
		assert_same_value(x.data, y.data);
	}
	assert_false(block_next(&b, &y));
}

static void check_text(size_t n, size_t size, const struct buf *out)
{
	assert_int_equal(n, size);
	assert_true(n == 0 || out->p[out->n - 1] == '\n');
}

static void check_parts(const struct record *r)
{
	CLEANUP_BUF struct buf out = BUF_INIT;
	struct part_image img = {0};
	struct part_call call = {0};

	part_text(r, &out);
	check_text(out.n, part_text(r, NULL), &out);
	buf_reset(&out);
	part_thinking(r, &out);
	check_text(out.n, part_thinking(r, NULL), &out);
	part_type(r, &out);
	part_role(r, &out);
	part_model(r, &out);
	part_usage(r);
	while (part_image_next(r, &img)) {
		assert_true(strlen(img.ext) > 0);
		buf_reset(&out);
		part_image(&img, &out);
		assert_int_equal(out.n, img.size);
	}
	for (unsigned n = 0; part_call_next(r, &call); n++) {
		assert_int_equal(call.n, n + 1);
		part_arguments(&call, &out);
	}
	assert_int_equal(buf_err(&out), 0);
}

static void check_time(struct json_value v)
{
	/* The range of JavaScript's dates. */
	int64_t t = record_time(v);
	assert_true(t == NO_TIME || (t >= INT64_C(-8640000000000000) && t <= INT64_C(8640000000000000)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_BUF struct buf deep = BUF_INIT;
	struct span text = {(const char *)data, size};
	struct record r;

	check_head(text);
	check_blocks(text);
	if (!record_parse(text, format_of((struct json_value){0}), &deep, &r))
		return 0;
	check_parts(&r);
	check_time(r.timestamp);
	check_time(r.msg.timestamp);
	check_time((struct json_value){JSON_STRING, false, text});
	return 0;
}
