/* fuzz_json: whatever the bytes, the ways to read them agree and nothing reads
 * or writes out of bounds. For libFuzzer: clang -fsanitize=fuzzer,address,undefined
 * -DLIBFUZZER. Without LIBFUZZER it has a main() that replays the files it is given. */
#include "sessionfs/name.h"
#include "sessionfs/part.h"
#include "sessionfs/utf8.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(x)                                                                                                     \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                        \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

static void check_decoding(struct span text)
{
	CLEANUP_BUF struct buf exact = BUF_INIT, clean = BUF_INIT, quoted = BUF_INIT;

	json_decode(text, JSON_EXACT, &exact);
	REQUIRE(exact.n == json_decoded_size(text, JSON_EXACT));
	json_decode(text, JSON_CLEAN, &clean);
	REQUIRE(clean.n == json_decoded_size(text, JSON_CLEAN));
	REQUIRE(utf8_prefix(buf_span(&clean)) == clean.n);
	json_quote(buf_span(&exact), &quoted);
	REQUIRE(json_valid(buf_span(&quoted), NULL));
}

/* Walks the text with json_enter and json_next: true if all of it is well-formed. */
static bool walk(struct span text, struct buf *deep)
{
	struct json_value key, v;
	struct json j;
	int rc;

	json_init(&j, text, deep);
	do {
		enum json_kind kind = json_peek(&j);
		if (kind == JSON_ARRAY || kind == JSON_OBJECT)
			json_enter(&j);
		else if (!json_value(&j, &v))
			return false;
		else if (v.kind == JSON_STRING)
			check_decoding(v.text);
		rc = 0;
		while (j.depth > 0 && (rc = json_next(&j, &key)) == 0)
			;
	} while (rc > 0);
	return rc == 0 && json_end(&j);
}

static void check_json(struct span text)
{
	CLEANUP_BUF struct buf deep = BUF_INIT, pretty = BUF_INIT, again = BUF_INIT;
	struct json_value v;
	struct json j;

	bool ok = json_valid(text, &deep);
	REQUIRE(walk(text, &deep) == ok);
	json_init(&j, text, &deep);
	bool read = json_value(&j, &v);
	REQUIRE((read && json_end(&j)) == ok);
	if (!ok)
		return;
	json_get(v, "type");
	json_truthy(v);
	json_pretty(v, &pretty);
	REQUIRE(json_valid(buf_span(&pretty), &deep));
	json_init(&j, buf_span(&pretty), &deep);
	REQUIRE(json_value(&j, &v));
	json_pretty(v, &again);
	REQUIRE(span_eq(buf_span(&pretty), buf_span(&again)));
}

static void check_part(struct span line)
{
	CLEANUP_BUF struct buf deep = BUF_INIT, out = BUF_INIT;
	struct part_image img = {0};
	struct part_call call = {0};
	struct record r;

	if (!record_parse(line, true, &deep, &r))
		return;
	part_text(&r, &out);
	REQUIRE(out.n == part_text_size(&r));
	REQUIRE(out.n == 0 || out.p[out.n - 1] == '\n');
	buf_reset(&out);
	part_thinking(&r, &out);
	REQUIRE(out.n == part_thinking_size(&r));
	part_type(&r, &out);
	part_role(&r, &out);
	part_model(&r, &out);
	while (part_image_next(&r, &img)) {
		buf_reset(&out);
		part_image(&img, &out);
		REQUIRE(out.n == img.size);
	}
	while (part_call_next(&r, &call))
		part_arguments(&call, &out);
}

static bool same_value(struct json_value a, struct json_value b)
{
	return a.kind == b.kind && (a.kind == JSON_NONE || (a.escaped == b.escaped && span_eq(a.text, b.text)));
}

/* The quick way to read the first line says the same as the thorough one. */
static void check_head(struct span text)
{
	CLEANUP_BUF struct buf copy = BUF_INIT, deep = BUF_INIT;
	struct record_head a, b;

	buf_addspan(&copy, text);
	REQUIRE(buf_reserve(&copy, RECORD_PAD + 1));
	memset(copy.p + text.n, 0, RECORD_PAD + 1);
	const char *newline = memchr(copy.p, '\n', text.n);
	size_t n = newline ? (size_t)(newline - copy.p) : text.n;
	record_head((struct span){copy.p, n}, &deep, &a, NULL, NULL);
	REQUIRE(record_head_padded((struct span){copy.p, text.n}, &deep, &b, NULL, NULL) == n);
	REQUIRE(a.kind == b.kind && a.falsy == b.falsy);
	if (a.kind == JSON_NONE)
		return;
	REQUIRE(a.type == b.type && a.role == b.role && a.calls == b.calls);
	REQUIRE(a.message_missing == b.message_missing && a.old_hook == b.old_hook);
	REQUIRE(same_value(a.id, b.id) && same_value(a.parent_id, b.parent_id) && same_value(a.timestamp, b.timestamp));
	REQUIRE(same_value(a.target_id, b.target_id) && same_value(a.label, b.label) && same_value(a.name, b.name));
	REQUIRE(same_value(a.summary, b.summary) && same_value(a.version, b.version));
	REQUIRE(same_value(a.tool_call_id, b.tool_call_id) && same_value(a.first_kept_entry_id, b.first_kept_entry_id));
	REQUIRE(same_value(a.first_kept_entry_index, b.first_kept_entry_index));
}

static void check_name(struct span text)
{
	CLEANUP_BUF struct buf name = BUF_INIT, back = BUF_INIT;

	name_encode("", text, "", &name);
	REQUIRE(name.n > 0 && name.n <= NAME_BYTES && !memchr(name.p, '/', name.n));
	REQUIRE(utf8_prefix(buf_span(&name)) == name.n);
	if (name_decode(buf_span(&name), &back))
		REQUIRE(span_eq(buf_span(&back), text));
	else
		REQUIRE(name.n >= NAME_BYTES - 3);
	buf_reset(&name);
	buf_reset(&back);
	if (!name_decode(text, &back))
		return;
	name_encode("", buf_span(&back), "", &name);
	REQUIRE(span_eq(buf_span(&name), text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = {(const char *)data, size};

	check_json(text);
	check_decoding(text);
	check_part(text);
	check_head(text);
	check_name(text);
	return 0;
}

#ifndef LIBFUZZER
static int replay(const char *path)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	size_t got;

	FILE *f = fopen(path, "rb");
	if (!f) {
		perror(path);
		return 1;
	}
	do {
		char *to = buf_reserve(&text, 65536);
		got = to ? fread(to, 1, 65536, f) : 0;
		text.n += got;
	} while (got > 0);
	fclose(f);
	/* A block of exactly that size, so that a memory checker sees a read past its end. */
	CLEANUP_FREE char *exact = malloc(text.n ? text.n : 1);
	if (!exact)
		return 1;
	if (text.n)
		memcpy(exact, text.p, text.n);
	LLVMFuzzerTestOneInput((const uint8_t *)exact, text.n);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	return failed;
}
#endif
