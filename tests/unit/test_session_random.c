/* SPDX-License-Identifier: MIT */
/* session, with random lines and few ids: parents are early, late, missing, themselves and in cycles, ids are reused,
 * and call ids too. Checked against a model that searches all entries for every question, and by growing the file piece
 * by piece. */
#include "cases.h"
#include "session_fixture.h"
#include "seed.h"

enum { ENTRIES = 64, ROUNDS = 400 };

/* Longer than the ids that the index stores. */
#define LONG "/0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"

/* ---- the model ---- */

struct model_entry {
	char id[32], parent[32], target[32], result[32], calls[4][32];
	unsigned call_count;
	bool conversation, label, sets, addressed;
	uint32_t up;
};

struct model {
	struct model_entry e[ENTRIES];
	uint32_t n;
};

/* Returns the value as a text that is equal for equal keys; empty if it cannot be a key. */
static void key_text(struct json_value v, char ret[32])
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	double d;

	ret[0] = '\0';
	if (json_double(v, &d))
		snprintf(ret, 32, "n%.17g", d == 0 ? 0 : d);
	if (v.kind != JSON_STRING)
		return;
	json_decode(v.text, JSON_READ, &text);
	snprintf(ret, 32, "s%.*s", (int)text.n, text.p ? text.p : "");
}

static void model_add(struct model *m, const struct record *r)
{
	struct model_entry *e = &m->e[m->n++];
	struct block_iter it;
	struct block b;

	*e = (struct model_entry){.up = NO_ENTRY};
	if (r->kind != JSON_OBJECT)
		return;
	key_text(r->id, e->id);
	key_text(r->parent_id, e->parent);
	e->conversation = record_is_conversation(r->type);
	e->label = r->type == RECORD_LABEL;
	if (e->label) {
		key_text(r->target_id, e->target);
		e->sets = json_is_truthy(r->label);
	}
	if (r->role == ROLE_TOOL_RESULT)
		key_text(r->msg.tool_call_id, e->result);
	if (r->role != ROLE_ASSISTANT)
		return;
	block_iter_init(&it, r->msg.content);
	while (block_next(&it, &b))
		if (b.type == BLOCK_TOOL_CALL)
			key_text(b.id, e->calls[e->call_count++]);
}

static uint32_t model_find(const struct model *m, const char *key)
{
	for (uint32_t i = m->n; *key && i-- > 0;)
		if (strcmp(m->e[i].id, key) == 0)
			return i;
	return NO_ENTRY;
}

static void model_link(struct model *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		struct model_entry *e = &m->e[i];
		e->addressed = model_find(m, e->id) == i;
		if (strcmp(e->parent, e->id) != 0)
			e->up = model_find(m, e->parent);
	}
}

static bool model_in_ring(const struct model *m, uint32_t i)
{
	uint32_t up = m->e[i].up;

	for (uint32_t steps = 0; steps < m->n && up != NO_ENTRY; steps++, up = m->e[up].up)
		if (up == i)
			return true;
	return false;
}

static bool model_below_ring(const struct model *m, uint32_t i)
{
	for (uint32_t steps = 0; steps <= m->n && i != NO_ENTRY; steps++, i = m->e[i].up)
		if (model_in_ring(m, i))
			return true;
	return false;
}

/* The nearest conversation entry above i that is not i. */
static uint32_t model_above(const struct model *m, uint32_t i)
{
	uint32_t up = m->e[i].up;

	for (uint32_t steps = 0; steps < m->n && up != NO_ENTRY && up != i; steps++, up = m->e[up].up)
		if (m->e[up].conversation)
			return up;
	return NO_ENTRY;
}

static uint32_t model_near(const struct model *m, uint32_t i)
{
	if (!m->e[i].conversation)
		return model_above(m, i);
	for (uint32_t k = m->n; k-- > 0;)
		if (!m->e[k].conversation && model_above(m, k) == i)
			return k;
	return NO_ENTRY;
}

static bool model_has_below(const struct model *m, uint32_t i)
{
	for (uint32_t k = 0; k < m->n; k++)
		if (m->e[k].conversation && model_above(m, k) == i)
			return true;
	return false;
}

static uint32_t model_label(const struct model *m, uint32_t i)
{
	for (uint32_t k = m->n; k-- > 0;)
		if (m->e[k].label && m->e[k].target[0] && model_find(m, m->e[k].target) == i)
			return m->e[k].sets ? k : NO_ENTRY;
	return NO_ENTRY;
}

static uint32_t model_call(const struct model *m, uint32_t i, unsigned *ret_n)
{
	const char *id = m->e[i].result;
	unsigned results = 0;

	for (uint32_t up = m->e[i].up; *id && up != NO_ENTRY; up = m->e[up].up) {
		unsigned found = 0;
		for (unsigned k = 0, same = 0; k < m->e[up].call_count; k++)
			if (strcmp(m->e[up].calls[k], id) == 0 && same++ <= results)
				found = k + 1;
		if (found) {
			*ret_n = found;
			return up;
		}
		results += strcmp(m->e[up].result, id) == 0;
	}
	return NO_ENTRY;
}

static uint32_t model_newest_child(const struct model *m, uint32_t i, uint32_t before)
{
	for (uint32_t k = before; k-- > 0;)
		if (m->e[k].up == i)
			return k;
	return NO_ENTRY;
}

/* ---- the random file ---- */

static const char *random_id(uint64_t *d)
{
	/* clang-format off */
	static const char *const ids[] = ITEMS(
	    JSON("a"), JSON("b"), JSON("c"), JSON("d"), JSON("e"), JSON("f"), JSON("g"), JSON("h"), JSON("i"), JSON(""),
	    "1", JSON("1"), "1.0", "-0", "0", JSON("\u0061"), JSON("1~2"), JSON("1~2~2"), "null", "true",
	    JSON("long-long"), "\"\xff\"", "\"\xfe\"", JSON("%FF"), "\"x" LONG "\"", "\"y" LONG "\"",
	    "\"\xff" LONG "\"", "\"\xfe" LONG "\"",
	    "10000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
	    JSON("10000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"));
	/* clang-format on */
	return ids[roll(d, sizeof ids / sizeof *ids)];
}

static void random_message(uint64_t *d, struct buf *out)
{
	static const char *const ids[] = {JSON("x"), JSON("y"), "7", "null"};

	switch (roll(d, 3)) {
	case 0:
		buf_adds(out, JSON("message":{"role":"user","content":"hi"}));
		break;
	case 1:
		buf_addf(out, JSON("message":{"role":"toolResult","toolCallId":%s}), ids[roll(d, 4)]);
		break;
	default:
		buf_adds(out, "\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}");
		for (unsigned n = roll(d, 4); n; n--)
			buf_addf(out, JSON(,{"type":"toolCall","id":%s}), ids[roll(d, 4)]);
		buf_adds(out, "]}");
	}
}

static void random_object(uint64_t *d, const char *id, struct buf *out)
{
	static const char *const types[] = {"message", "message", "message", "label",        "compaction",
	                                    "custom",  "usage",   "new",     "session_info", "branch_summary"};
	const char *type = types[roll(d, 10)];

	buf_addf(out, "{\"type\":\"%s\",\"id\":%s,", type, id);
	if (roll(d, 20))
		buf_addf(out, JSON("parentId":%s,), random_id(d));
	if (strcmp(type, "message") == 0)
		random_message(d, out);
	else if (strcmp(type, "label") == 0)
		buf_addf(out, JSON("targetId":%s,"label":%s), random_id(d), roll(d, 3) ? JSON("L") : "null");
	else
		buf_addf(out, JSON("summary":"%s","name":" n%u "), roll(d, 2) ? "s" : "", roll(d, 9));
	buf_addc(out, '}');
}

static void random_line(uint64_t *d, struct buf *out)
{
	static const char *const odd[] =
	    ITEMS(
	    "5", JSON("s"), "[1]", "null", "0", "{\"torn\":", "", " ", "\xc2\xa0", "nope");

	if (roll(d, 15) == 0)
		buf_adds(out, odd[roll(d, 10)]);
	else
		random_object(d, random_id(d), out);
	buf_adds(out, roll(d, 8) ? "\n" : "\r\n");
}

static void random_file(uint64_t *d, struct buf *out, struct model *m)
{
	CLEANUP_BUF struct buf deep = BUF_INIT;
	struct record r;

	buf_adds(out, HEADER);
	for (unsigned n = roll(d, ENTRIES); n; n--) {
		size_t begin = out->n;
		random_line(d, out);
		struct span line = {out->p + begin, out->n - begin};
		if (record_parse(line, NULL, &deep, &r))
			model_add(m, &r);
	}
	model_link(m);
}

/* ---- the comparison ---- */

static void compare_calls(const struct session *s, const struct model *m, uint32_t i)
{
	unsigned n = 0, model_n = 0;

	if (model_below_ring(m, i))
		return;
	uint32_t call = session_call(s, i, &n);
	assert_int_equal(call, model_call(m, i, &model_n));
	assert_int_equal(n, model_n);
	for (unsigned k = 1; k <= m->e[i].call_count + 1; k++) {
		uint32_t first = NO_ENTRY;
		for (uint32_t e = m->n; e-- > 0;)
			if (!model_below_ring(m, e) && model_call(m, e, &model_n) == i && model_n == k)
				first = e;
		assert_int_equal(session_result(s, i, k), first);
	}
}

static void compare(const struct session *s, const struct model *m)
{
	assert_int_equal(session_count(s), m->n);
	for (uint32_t i = 0; i < m->n; i++) {
		const struct entry *e = session_entry(s, i);
		const struct model_entry *me = &m->e[i];
		assert_int_equal(e->parent, me->up);
		assert_int_equal(e->child, model_newest_child(m, i, m->n));
		assert_int_equal(e->sibling, me->up == NO_ENTRY ? NO_ENTRY : model_newest_child(m, me->up, i));
		assert_int_equal(e->nearest, model_near(m, i));
		assert_int_equal(!!(e->flags & ENTRY_ADDRESSED), me->addressed);
		assert_int_equal(!!(e->flags & ENTRY_CONVERSATION), me->conversation);
		assert_int_equal(!!(e->flags & ENTRY_CYCLE), model_in_ring(m, i));
		if (me->conversation)
			assert_int_equal(!!(e->flags & ENTRY_HAS_BELOW), model_has_below(m, i));
		assert_int_equal(session_label_record(s, i), model_label(m, i));
		compare_calls(s, m, i);
	}
}

CASE(random_files_match_model)
{
	uint64_t d = seed_of_run();

	for (unsigned round = 0; round < ROUNDS; round++) {
		CLEANUP_BUF struct buf text = BUF_INIT, says = BUF_INIT;
		struct model m = {.n = 0};
		CLEANUP_FIXTURE struct fixture f;
		random_file(&d, &text, &m);
		assert_int_equal(open_bytes(&f, text.p, text.n), 0);
		compare(f.s, &m);
		describe(f.s, &says);
	}
}

/* Lines of all lengths, in file order with some left out, and back and forth. */
SESSION_CASE(reader_and_load_agree)
{
	uint64_t d = seed_of_run();
	CLEANUP_BUF struct buf text = BUF_INIT;
	CLEANUP_READER struct reader reader = READER_INIT;
	CLEANUP_LINE struct line line = LINE_INIT;
	struct record read, loaded;

	buf_adds(&text, HEADER);
	for (unsigned i = 0; i < 400; i++) {
		size_t n = roll(&d, 20) == 0 ? roll(&d, 300000) : roll(&d, 3000);
		buf_addf(&text, "{\"type\":\"custom\",\"id\":\"%u\",\"data\":\"", i);
		memset(buf_reserve(&text, n), 'x', n);
		text.n += n;
		buf_adds(&text, roll(&d, 2) ? "\"}\n" : "\"}\r\n\n");
	}
	assert_int_equal(open_bytes(f, text.p, text.n), 0);
	for (uint32_t i = 0, k = 0; k < 2000; k++) {
		i = roll(&d, 10) ? i + 1 + !roll(&d, 5) : roll(&d, 400);
		i %= session_count(f->s);
		assert_int_equal(session_load(f->s, i, &line, &loaded), 0);
		assert_int_equal(session_read(f->s, i, &reader, &read), 0);
		assert_true(span_eq(loaded.line, read.line));
	}
}

static void assert_same_as_at_once(const struct session *s, const struct buf *text)
{
	CLEANUP_BUF struct buf grown = BUF_INIT, at_once = BUF_INIT;
	CLEANUP_FIXTURE struct fixture f;

	assert_int_equal(open_bytes(&f, text->p, text->n), 0);
	describe(s, &grown);
	describe(f.s, &at_once);
	assert_true(session_last_active(s) == newest_said(f.s));
	assert_buf(&grown, buf_span(&at_once));
}

/* Appends all of text after its first line, in pieces of up to `most` bytes. */
static void grow_in_pieces(uint64_t *d, const struct buf *text, unsigned most)
{
	CLEANUP_FIXTURE struct fixture f;
	size_t at = strlen(HEADER);

	assert_int_equal(open_bytes(&f, text->p, at), 0);
	while (at < text->n) {
		uint64_t serial = session_serial(f.s);
		size_t n = 1 + roll(d, most);
		n = n < text->n - at ? n : text->n - at;
		append(&f, text->p + at, n);
		at += n;
		assert_true(session_has_grown(f.s));
		assert_int_equal(session_grow(f.s), 1);
		assert_true(session_serial(f.s) > serial);
		assert_false(session_has_grown(f.s));
		assert_int_equal(session_grow(f.s), 0);
		if (roll(d, 20) == 0) {
			struct buf so_far = {.p = text->p, .n = at};
			assert_same_as_at_once(f.s, &so_far);
		}
	}
	assert_same_as_at_once(f.s, text);
}

CASE(grown_index_equals_fresh_index)
{
	static const unsigned sizes[] = {1, 7, 60, 1000};
	uint64_t d = seed_of_run();

	for (unsigned round = 0; round < 24; round++) {
		CLEANUP_BUF struct buf text = BUF_INIT;
		struct model m = {.n = 0};
		random_file(&d, &text, &m);
		grow_in_pieces(&d, &text, sizes[round % 4]);
	}
}

RUN_CASES(NULL, NULL)
