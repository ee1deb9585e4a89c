/* SPDX-License-Identifier: MIT */
/* The modules below the tree, with each allocation and each read failing once: the error is returned, no output is
 * wrong, and the next try succeeds. */
#include "cases.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/write/edit.h"
#include "failing_alloc.h"
#include "produce.h"
#include "../../src/render/text.h"
#include "session_fixture.h"

#include <sys/stat.h>

/* ---- the failures ---- */

/* The read that fails, counted from now on; 0: none. With `error` 0 it is short. */
static struct failure {
	unsigned nth, calls;
	int error;
	bool reads, fired;
} failure;

static void let_fail(bool reads, int error, unsigned nth)
{
	failure = (struct failure){.nth = reads ? nth : 0, .error = error, .reads = reads};
	if (!reads)
		let_alloc_fail(nth);
}

/* Whether it was reached. */
static bool has_failed(void)
{
	failure.nth = 0;
	return failure.reads ? failure.fired : alloc_has_failed();
}

static ssize_t failing_pread(int fd, void *p, size_t n, off_t off)
{
	if (!failure.nth || ++failure.calls != failure.nth)
		return pread(fd, p, n, off);
	failure.fired = true;
	errno = failure.error;
	return failure.error ? -1 : pread(fd, p, n > 1 ? n / 2 : n, off);
}

__typeof__(pread) *const sys_pread = failing_pread;

/* ---- the sessions ---- */

#define PICTURE JSON(IMAGE("image/png", "aGk="))

static const char plain[] = AS_IS(HEADER USER("a", null, "hi")
    "{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"c1\",\"name\":\"bash\"}," PICTURE "]}}\n"
    MESSAGE("c", "b", "role":"toolResult","toolCallId":"c1") LABEL("d", "c", "a", "one") INFO("e", "d", "a name")
    LABEL("f", "e", "c", "two") COMPACTION("k", "a", "none") "{bad\n" USER("\u0067", "gone", "hi") USER(7, "c", ""));
static const char more[] = AS_IS(USER("\u0068", "\u0061", "\u0020") LABEL("i", "h", "\u0068", "three") "{bad\n");

static const struct {
	bool reads;
	int error;
} ways[] = {{false, ENOMEM}, {true, EIO}, {true, EINTR}, {true, ENOMEM}, {true, 0}};

#define EACH_WAY(w) for (size_t w = 0; w < COUNT(ways); w++)

/* ---- a file that grows ---- */

static void session_close_at(struct session **s)
{
	session_close(*s);
}

/* Returns 1 once nothing is left to fail. An interrupted or a short read is not a failure. */
static int grow_once(size_t way, unsigned nth)
{
	CLEANUP(fixture_release) struct fixture f;
	CLEANUP_BUF struct buf out = BUF_INIT, want = BUF_INIT;
	CLEANUP(session_close_at) struct session *whole = NULL;
	open_text(&f, plain);
	append(&f, more, strlen(more));
	let_fail(ways[way].reads, ways[way].error, nth);
	int rc = session_grow(f.s);
	bool failed = has_failed();
	bool harmless = ways[way].reads && (ways[way].error == EINTR || ways[way].error == 0);
	if (!failed || harmless)
		assert_int_equal(rc, 1);
	else
		assert_true(rc == 1 || rc == -ways[way].error);
	/* If it failed half way, the index must be built again. */
	rc = session_grow(f.s);
	assert_true(rc >= 0 || (failed && rc == -ESTALE && !harmless));
	if (rc >= 0) {
		assert_int_equal(session_open(&(struct source_path){NULL, f.path}, false, &whole), 0);
		describe(f.s, &out);
		describe(whole, &want);
		assert_text(&out, buf_cstr(&want));
	}
	return !failed;
}

CASE(allocation_failures_while_growing)
{
	EACH_WAY(w)
	for (unsigned n = 1; !grow_once(w, n); n++)
		assert_true(n < 1000);
}

/* ---- the output ---- */

typedef int (*say)(struct session *s, struct buf *out);

/* Appends entry i as one line, as tree.txt shows it, without a newline. */
static int entry_line(const struct session *s, uint32_t i, struct buf *out)
{
	struct row_source src CLEANUP(row_source_release);
	row_source_init(&src, s);
	return row_add_text(&src, i, out);
}

static int say_names(struct session *s, struct buf *out)
{
	int rc = 0;
	for (uint32_t i = 0; i < session_count(s) && rc == 0; i++) {
		session_entry_name(s, i, out);
		buf_addc(out, ' ');
		session_label(s, i, out);
		rc = entry_line(s, i, out);
	}
	session_name(s, out);
	return rc;
}

static int say_front(struct session *s, struct buf *out)
{
	static int (*const renders[])(const struct session *, struct buf *) = {render_problems, render_header_json,
	                                                                       render_title};
	int rc = 0;
	for (size_t i = 0; i < COUNT(renders) && rc == 0; i++)
		rc = renders[i](s, out);
	return rc < 0 ? rc : render_info_json(s, "file", NULL, out);
}

static int say_tables(struct session *s, struct buf *out)
{
	int rc = render_labels_tsv(s, out);
	return rc < 0 ? rc : render_tree_txt(s, out);
}

static int say_context(struct session *s, struct buf *out)
{
	int rc = produce(&producer_context_json, s, session_leaf(s), "", out);
	rc = rc < 0 ? rc : render_context_tsv(s, session_leaf(s), NULL, out);
	return rc < 0 ? rc : produce(&producer_context_md, s, session_leaf(s), "", out);
}

static int say_transcript(struct session *s, struct buf *out)
{
	return produce(&producer_transcript_md, s, session_leaf(s), "", out);
}

/* Checks only the number of records, since their ids are random. */
static int say_edits(struct session *s, struct buf *out)
{
	CLEANUP_BUF struct buf lines = BUF_INIT, text = BUF_INIT, why = BUF_INIT, table = BUF_INIT;
	CLEANUP_FREE struct edit_label *labels = NULL;
	struct edit edits[] = {{.records = edit_labels},
	                       {.records = edit_name, .text = SPAN_LIT("another")},
	                       {.records = edit_branch, .text = SPAN_LIT("text"), .entry = 0}};
	if (!session_format(s)->has_ids)
		return 0;
	session_entry_name(s, 0, &table);
	buf_adds(&table, "\tother\n");
	struct edits_from_table saved = {.text = buf_span(&table)};
	int rc = buf_err(&table);
	if (rc == 0)
		rc = edits_from_table(s, &saved, &text, &labels, &edits[0].n, &why);
	edits[0].labels = labels;
	for (size_t i = 0; i < COUNT(edits) && rc == 0; i++)
		rc = edit_make(s, &edits[i], false, 0, &lines);
	size_t records = 0;
	for (size_t i = 0; i < lines.n; i++)
		records += lines.p[i] == '\n';
	buf_addf(out, "%zu", records);
	return rc;
}

static const say says[] = {say_names, say_front, say_tables, say_context, say_transcript, say_edits};

/* As a caller that returns the answer does it. */
static int ask(say what, struct session *s, struct buf *out)
{
	int deferred = deferred_begin();
	int rc = what(s, out);
	return deferred_end(deferred, rc < 0 ? rc : buf_err(out));
}

/* A session file with a given mtime. */
static void open_dated(struct fixture *f, const char *text)
{
	const struct timespec times[2] = {{.tv_sec = 1772400000}, {.tv_sec = 1772400000}};
	fixture_init(f);
	append(f, text, strlen(text));
	assert_int_equal(utimensat(AT_FDCWD, f->path, times, 0), 0);
	assert_int_equal(session_open(&(struct source_path){NULL, f->path}, false, &f->s), 0);
}

/* Returns true once nothing is left to fail. */
static bool say_once(const char *text, say what, size_t way, unsigned nth, const struct buf *want)
{
	CLEANUP(fixture_release) struct fixture f;
	CLEANUP_BUF struct buf out = BUF_INIT;
	open_dated(&f, text);
	let_fail(ways[way].reads, ways[way].error, nth);
	int rc = ask(what, f.s, &out);
	bool failed = has_failed();
	assert_true(rc == 0 || (failed && rc == -ways[way].error));
	if (rc == 0)
		assert_true(span_eq(buf_span(&out), buf_span(want)));
	buf_release(&out);
	assert_int_equal(ask(what, f.s, &out), 0);
	assert_true(span_eq(buf_span(&out), buf_span(want)));
	return !failed;
}

static void say_all(const char *text)
{
	for (size_t i = 0; i < COUNT(says); i++) {
		CLEANUP(fixture_release) struct fixture f;
		CLEANUP_BUF struct buf want = BUF_INIT;
		open_dated(&f, text);
		assert_int_equal(ask(says[i], f.s, &want), 0);
		EACH_WAY(w)
		for (unsigned n = 1; !say_once(text, says[i], w, n, &want); n++)
			assert_true(n < 10000);
	}
}

CASE(allocation_failures_while_rendering)
{
	say_all(plain);
	say_all(HEADER_V1 V1("message") V1("message")
	    LINE({"type":"compaction","firstKeptEntryIndex":2,"summary":"s"})
	    LINE({"type":"context_edit","targetId":"a","replacement":null}));
}

/* The first deferred error counts, and belongs to the current answer. */
CASE(deferred_errors_nest)
{
	int outer = deferred_begin();
	deferred_set(-EIO);
	int inner = deferred_begin();
	assert_int_equal(deferred_end(inner, -ENOENT), -ENOENT);
	inner = deferred_begin();
	deferred_set(0);
	deferred_set(-ENOMEM);
	deferred_set(-EIO);
	assert_int_equal(deferred_end(inner, -ENOENT), -ENOMEM);
	assert_int_equal(deferred_end(outer, 0), -EIO);
	assert_int_equal(deferred_end(deferred_begin(), 0), 0);
}

RUN_CASES(NULL, NULL)
