/* SPDX-License-Identifier: MIT */
/* fuzz_stage: stage.c, value.c. Writes, changes of size and commits in any order, compared with an array of bytes. A
 * text written in pieces, front to back, gets the same verdict as in one piece, and its beginning no worse one. Input:
 * the kind, then operations: their letter, an offset or size, a length, bytes. */
#include "fuzz.h"

#include "sessionfs/write/stage.h"
#include "sessionfs/base/utf8.h"

#include <errno.h>

/* The bytes that a file would hold. */
struct model {
	struct buf bytes;
	bool changed; /* since the last commit */
};

static void model_resize(struct model *m, size_t size)
{
	m->changed |= m->bytes.n != size || size == 0;
	while (m->bytes.n < size)
		buf_addc(&m->bytes, '\0');
	m->bytes.n = size;
}

static void model_write(struct model *m, struct span s, size_t off)
{
	if (s.n == 0)
		return;
	if (m->bytes.n < off + s.n)
		model_resize(m, off + s.n);
	memcpy(m->bytes.p + off, s.p, s.n);
	m->changed = true;
}

static int judge(const struct value_form *kind, struct span text, struct buf *ret)
{
	const char *why = NULL;
	int rc = value_parse(kind, text, ret, &why);
	assert_true(rc == 0 || ((rc == -EINVAL || rc == -EFBIG) && why));
	return rc;
}

static void check_value(const struct value_form *kind, struct span text)
{
	CLEANUP_BUF struct buf value = BUF_INIT, again = BUF_INIT;

	if (judge(kind, text, &value) < 0)
		return;
	struct span v = buf_span(&value);
	assert_true(v.n <= kind->limit);
	assert_int_equal(utf8_prefix(v), v.n);
	assert_true(v.n == 0 || !memchr(v.p, '\0', v.n));
	if (kind == &form_label || kind == &form_name)
		assert_true(v.n == 0 || !memchr(v.p, '\n', v.n));
	/* The file shows the value and a newline: writing that gives the same value. */
	buf_addc(&value, '\n');
	v = (struct span){value.p, value.n};
	if (kind == &form_table || value.n == 1 || memcmp(v.p, "\xef\xbb\xbf", v.n < 3 ? v.n : 3) == 0)
		return;
	assert_int_equal(judge(kind, v, &again), 0);
	assert_spans_equal(buf_span(&again), (struct span){v.p, v.n - 1});
}

/* Writes front to back in pieces of these sizes. */
static void check_pieces(const struct value_form *kind, struct span text, struct feed sizes)
{
	CLEANUP_BUF struct buf value = BUF_INIT;
	CLEANUP(stage_release) struct stage st;
	const char *why = NULL;
	bool whole;
	int rc = stage_init(&st, kind, (struct span){NULL, 0}, true);

	for (size_t at = 0; rc == 0 && at < text.n;) {
		struct span piece = {text.p + at, 1 + feed_byte(&sizes) % 64};
		piece.n = piece.n < text.n - at ? piece.n : text.n - at;
		rc = stage_write(&st, piece, at, &whole, &why);
		at += piece.n;
	}
	int whole_rc = judge(kind, text, &value);
	if (rc < 0)
		assert_int_equal(whole_rc, rc);
	else
		assert_spans_equal(buf_span(&st.bytes), text);
}

static int step(struct stage *st, struct model *m, struct feed *f)
{
	const char *why = NULL;
	bool whole = false;
	int rc = 0;
	unsigned op = feed_byte(f), off = feed_byte(f) * (op & 0x80 ? 257 : 1), n = feed_byte(f);
	switch (op % 4) {
	case 0:
	case 1: {
		struct span s = feed_bytes(f, n);
		rc = stage_write(st, s, off, &whole, &why);
		if (rc == 0)
			model_write(m, s, off);
		break;
	}
	case 2:
		rc = stage_resize(st, off, &why);
		if (rc == 0)
			model_resize(m, off);
		break;
	default: {
		CLEANUP_BUF struct buf value = BUF_INIT;
		if (st->error)
			return st->error;
		rc = judge(st->form, buf_span(&st->bytes), &value);
		stage_finish(st, rc);
		m->changed = false;
	}
	}
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct value_form *const kinds[] = {&form_label, &form_name, &form_summary, &form_table};
	struct feed f = feed_of(data, size);
	const struct value_form *kind = kinds[feed_byte(&f) % 4];
	struct span text = {f.p, f.n};
	struct model m = {.bytes = BUF_INIT};
	struct stage st;

	check_value(kind, text);
	check_pieces(kind, text, f);
	assert_int_equal(stage_init(&st, kind, (struct span){NULL, 0}, false), 0);
	int rc = 0;
	while (f.n > 0 && rc == 0) {
		rc = step(&st, &m, &f);
		if (rc == 0) {
			assert_spans_equal(buf_span(&st.bytes), buf_span(&m.bytes));
			assert_int_equal(st.dirty, m.changed);
		}
	}
	/* Once refused, refused for good, and no bytes are kept. */
	for (; f.n > 0; assert_int_equal(step(&st, &m, &f), rc))
		assert_true(st.error == rc && st.bytes.n == 0 && !st.dirty);
	stage_release(&st);
	buf_release(&m.bytes);
	return 0;
}
