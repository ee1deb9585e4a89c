/* SPDX-License-Identifier: MIT */
/* A cancelled index continues where it stopped. */
#include "cases.h"
#include "session_fixture.h"

#include "sessionfs/base/cancel.h"

/* Long enough for many reads: orphans that find their parent later, labels, calls, a repeated id. */
static void make_text(struct buf *out)
{
	static char fill[60000];
	memset(fill, 'x', sizeof fill - 1);
	buf_adds(out, HEADER);
	for (int i = 0; i < 60; i++) {
		buf_addf(out,
		         LINE({"type":"message","id":"m%d","parentId":"%s%d","message":{"role":"user","content":"%s"}}),
		               i % 50, "m", i % 7 == 3 ? i + 2 : i - 1, fill);
		buf_addf(out, LINE({"type":"label","id":"l%d","parentId":"m%d","targetId":"m%d","label":"t%d"}), i,
		                   i % 50, i / 2, i);
		buf_addf(out, ASSISTANT("c%d", "m%d", {"type":"toolCall","id":"k%d"}), i, i % 50, i);
		buf_addf(out, MESSAGE("r%d", "c%d", "role":"toolResult","toolCallId":"k%d"), i, i, i);
		if (i % 9 == 0)
			buf_adds(out, "{\"type\":\"tor\n");
	}
	assert_non_null(buf_cstr(out));
}

static bool countdown(void *arg)
{
	int *left = arg;
	return (*left)-- <= 0;
}

static const struct cancel at_once = {.is_cancelled = countdown, .arg = &(int){0}};

static void assert_same(const struct session *a, const struct session *b)
{
	CLEANUP_BUF struct buf x = BUF_INIT, y = BUF_INIT;
	describe(a, &x);
	describe(b, &y);
	assert_buf(&x, buf_span(&y));
}

CASE(cancelled_scan_resumes)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	CLEANUP_FIXTURE struct fixture whole;
	make_text(&text);
	assert_int_equal(open_bytes(&whole, text.p, text.n), 0);
	for (int at = 0; at < 6; at++) {
		CLEANUP_FIXTURE struct fixture f;
		int left = at, stops = 0, rc;
		const struct cancel cancel = {.is_cancelled = countdown, .arg = &left};
		cancel_set(&cancel);
		assert_int_equal(open_bytes(&f, text.p, text.n), 0);
		assert_true(session_count(f.s) < session_count(whole.s));
		assert_true(session_has_grown(f.s));
		uint32_t before = session_count(f.s);
		while (left = at, (rc = session_grow(f.s)) == -EINTR) {
			assert_true(session_count(f.s) > before);
			before = session_count(f.s);
			stops++;
		}
		cancel_set(NULL);
		assert_int_equal(rc, 1);
		assert_true(at > 2 || stops > 2);
		assert_same(f.s, whole.s);
		assert_false(session_has_grown(f.s));
	}
	/* A long read ends. */
	cancel_set(&at_once);
	assert_int_equal(session_pread(whole.s, text.p, text.n, 0), -EINTR);
	cancel_set(NULL);
}

/* So do blanks after a last line without a newline. */
CASE(cancelled_blanks_resume)
{
	static char blanks[5 * 4096];
	CLEANUP_FIXTURE struct fixture f, whole;

	open_text(&f, HEADER JSON({"type":"custom","id":"a","parentId":null}));
	memset(blanks, ' ', sizeof blanks);
	append(&f, blanks, sizeof blanks);
	cancel_set(&at_once);
	for (int i = 0; i < 4; i++)
		assert_int_equal(session_grow(f.s), -EINTR);
	cancel_set(NULL);
	append_lines(&f, "\n" CUSTOM("b", "a"));
	fixture_init(&whole);
	assert_int_equal(session_open(&(struct source_path){NULL, f.path}, false, &whole.s), 0);
	assert_same(f.s, whole.s);
}

/* The ids of lines 245 and 613 have the same hash. */
CASE(cancelled_ids_resume)
{
	enum { MANY = 700 };
	CLEANUP_BUF struct buf text = BUF_INIT;
	CLEANUP_FIXTURE struct fixture f, whole;
	const struct cancel later = {.is_cancelled = countdown, .arg = &(int){20}};

	buf_adds(&text, LINE({"type":"session","id":"s5487"}));
	for (int i = 0; i < MANY; i++)
		buf_adds(&text, V1("message"));
	assert_int_equal(open_bytes(&f, text.p, text.n), 0);
	assert_int_equal(open_bytes(&whole, text.p, text.n), 0);
	cancel_set(&later);
	assert_int_equal(session_entry_id(f.s, 0).n, 0);
	cancel_set(NULL);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_spans_equal(session_entry_id(f.s, i), session_entry_id(whole.s, i));
		assert_int_equal(session_entry_id(f.s, i).n, 8);
	}
}

/* A line without an end leaves nothing to keep. */
SESSION_CASE(cancelled_header_leaves_no_session)
{
	static char line[2 << 20];
	memset(line, ' ', sizeof line);
	cancel_set(&at_once);
	assert_int_equal(open_bytes(f, line, sizeof line), -EINTR);
	cancel_set(NULL);
}

/* A file with a hole of a terabyte. */
SESSION_CASE(sparse_holes_are_skipped)
{
	int left = 1000;
	const struct cancel cancel = {.is_cancelled = countdown, .arg = &left};
	static const char begin[] = HEADER USER("a", null, "hi"), rest[] = "\n" USER("b", "a", "hi");
	const off_t far = (off_t)1 << 40;
	fixture_init(f);
	append(f, begin, sizeof begin - 1);
	if (truncate(f->path, far) < 0)
		skip(); /* not supported by this file system */
	assert_int_equal(session_open(&(struct source_path){NULL, f->path}, false, &f->s), 0);
	cancel_set(&cancel);
	append(f, rest, sizeof rest - 1);
	assert_int_equal(session_grow(f->s), 1);
	cancel_set(NULL);
	assert_int_equal(session_count(f->s), 2);
	assert_int_equal(session_entry(f->s, 1)->offset, far + 1);
	assert_problems(f->s, "3 malformed: not JSON; ");
}

RUN_CASES(NULL, NULL)
