/* SPDX-License-Identifier: MIT */
/* session_fixture: a session file made from text, and its index as text, so that two ways to the same index can be
 * compared. */
#ifndef SESSION_FIXTURE_H
#define SESSION_FIXTURE_H

#include "session_file.h"
#include "texts.h"

#include <inttypes.h>

/* A case with a fixture `f` that has no file yet, and is released at the end. */
#define SESSION_CASE(name)                                                                                             \
	static void name(struct fixture *f);                                                                           \
	static void run_##name(void **state)                                                                           \
	{                                                                                                              \
		CLEANUP_FIXTURE struct fixture f = {.s = NULL};                                                        \
		name(&f);                                                                                              \
	}                                                                                                              \
	ADD_CASE(name, run_##name, NULL, NULL)                                                                         \
	static void name(struct fixture *f)

#define HEADER_V1 LINE({"type":"session","id":"sid"})

#define V1(type) LINE({"type":type,"timestamp":TIME,"message":{"role":"user"}})

static inline void describe_number(struct buf *out, const char *name, uint32_t i)
{
	if (i != NO_ENTRY)
		buf_addf(out, " %s=%" PRIu32, name, i);
}

static inline void describe_entry(const struct session *s, uint32_t i, struct buf *out)
{
	const struct entry *e = session_entry(s, i);
	unsigned n = 0;

	buf_addf(out,
	         "%" PRIu32 ": line=%" PRIu32 " at=%" PRIu64 "+%" PRIu32 " time=%" PRId64 " type=%d role=%d flags=%x",
	         i, e->line, e->offset, e->length, e->time, e->type, e->role, e->flags & 0x3ffu);
	describe_number(out, "parent", e->parent);
	describe_number(out, "child", e->child);
	describe_number(out, "sibling", e->sibling);
	describe_number(out, "near", e->nearest);
	describe_number(out, "branch_at", session_branch_end(s, i));
	describe_number(out, "branch_record", session_branch_record(s, i));
	describe_number(out, "label_record", session_label_record(s, i));
	describe_number(out, "call", session_call(s, i, &n));
	buf_addf(out, " n=%u", n);
	for (unsigned k = 1; k <= 5; k++)
		describe_number(out, "result", session_result(s, i, k));
	buf_adds(out, " id=");
	buf_addspan(out, session_entry_id(s, i));
	buf_adds(out, " label=");
	session_label(s, i, out);
	buf_adds(out, " name=");
	size_t begin = out->n;
	session_entry_name(s, i, out);
	struct span name = {out->p + begin, out->n - begin};
	assert_int_equal(session_entry_by_name(s, name), i);
	uint32_t *path;
	size_t length;
	assert_int_equal(session_path(s, i, &path, &length), 0);
	buf_adds(out, " path=");
	for (size_t k = 0; k < length; k++)
		buf_addf(out, "%" PRIu32 ",", path[k]);
	free(path);
	buf_addc(out, '\n');
}

/* Appends the whole index, except fields that depend on the clock. */
static inline void describe(const struct session *s, struct buf *out)
{
	buf_addspan(out, session_id(s));
	buf_addf(out, " version=%d count=%" PRIu32, session_version(s), session_count(s));
	describe_number(out, "leaf", session_leaf(s));
	describe_number(out, "position", session_current_position(s));
	buf_adds(out, " name=");
	session_name(s, out);
	buf_addf(out, " labels=%zu:", session_label_count(s));
	for (size_t k = 0; k < session_label_count(s); k++)
		buf_addf(out, "%" PRIu32 ",", session_nth_labelled(s, k));
	buf_addc(out, '\n');
	for (uint32_t i = 0; i < session_count(s); i++)
		describe_entry(s, i, out);
	for (size_t k = 0; k < session_problem_count(s); k++) {
		struct problem p = session_problem(s, k);
		buf_addf(out, "%" PRIu32 " %" PRIu64 " %s\n", p.line, p.offset, p.reason);
	}
}

/* session_last_active, by reading every record. */
static inline double newest_said(const struct session *s)
{
	CLEANUP_LINE struct line line = LINE_INIT;
	double newest = 0;

	for (uint32_t i = 0; i < session_count(s); i++) {
		struct record r;
		double t = 0;
		assert_int_equal(session_load(s, i, &line, &r), 0);
		if ((r.role != ROLE_USER && r.role != ROLE_ASSISTANT) || r.msg.content.kind == JSON_NONE)
			continue;
		if (!json_double(r.msg.timestamp, &t) && r.timestamp.kind == JSON_TRUE)
			t = 1;
		else if (!json_double(r.msg.timestamp, &t) && record_time(r.timestamp) != NO_TIME)
			t = (double)record_time(r.timestamp);
		if (t > newest)
			newest = t;
	}
	return newest;
}

static inline void assert_name(const struct session *s, uint32_t i, const char *name)
{
	CLEANUP_BUF struct buf b = BUF_INIT;

	session_entry_name(s, i, &b);
	assert_text(&b, name);
	assert_int_equal(session_entry_by_name(s, span_of(name)), i);
}

/* Appends the problems as "LINE reason; ", in order. */
static inline void assert_problems(const struct session *s, const char *text)
{
	CLEANUP_BUF struct buf b = BUF_INIT;

	for (size_t k = 0; k < session_problem_count(s); k++)
		buf_addf(&b, "%" PRIu32 " %s; ", session_problem(s, k).line, session_problem(s, k).reason);
	assert_text(&b, text);
}

static inline void assert_path(const struct session *s, uint32_t at, const char *text)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	CLEANUP_FREE uint32_t *path = NULL;
	size_t n;

	assert_int_equal(session_path(s, at, &path, &n), 0);
	for (size_t k = 0; k < n; k++)
		buf_addf(&b, "%" PRIu32 " ", path[k]);
	assert_text(&b, text);
}

static inline void assert_call(const struct session *s, uint32_t result, uint32_t call, unsigned n)
{
	unsigned found = 0;

	assert_int_equal(session_call(s, result, &found), call);
	if (call != NO_ENTRY)
		assert_int_equal(found, n);
}

#endif
