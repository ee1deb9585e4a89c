/* SPDX-License-Identifier: MIT */
/* fuzz_session: session.c and its files, context.c, render. However a file changes, its index equals a new one of
 * the same bytes, or growing it fails with ESTALE; every view can be rendered.
 *
 * Input: the file, then steps that begin with a letter: a (append the rest), t (truncate; two bytes give the place), r
 * (overwrite the beginning with the rest), n (replace it by a new file). */
#include "fuzz.h"

#include "produce.h"
#include "session_fixture.h"

#include <errno.h>
#include <sys/stat.h>

static char path[128];

static void add_views(const struct session *s, struct buf *out)
{
	for (uint32_t i = session_count(s); i-- > 0 && i + 3 > session_count(s);) {
		assert_int_equal(produce(&producer_context_json, s, i, "", out), 0);
		assert_int_equal(render_context_tsv(s, i, NULL, out), 0);
		assert_int_equal(produce(&producer_context_md, s, i, "", out), 0);
		assert_int_equal(produce(&producer_transcript_md, s, i, "", out), 0);
	}
	assert_int_equal(render_info_json(s, "s.jsonl", NULL, out), 0);
	assert_int_equal(render_header_json(s, out), 0);
	assert_int_equal(render_title(s, out), 0);
	assert_int_equal(render_name(s, out), 0);
	assert_int_equal(render_cwd(s, out), 0);
	assert_int_equal(render_problems(s, out), 0);
	assert_int_equal(render_labels_tsv(s, out), 0);
	assert_int_equal(render_tree_txt(s, out), 0);
}

static void add_all(struct session *s, struct buf *out)
{
	session_rdlock(s);
	describe(s, out);
	assert_true(session_last_active(s) == newest_said(s));
	add_views(s, out);
	session_unlock(s);
	assert_int_equal(buf_err(out), 0);
}

/* Returns the index, or NULL if the file is not a session. */
static struct session *fresh(void)
{
	struct session *s = NULL;
	int rc = session_open(&(struct source_path){NULL, path}, false, &s);
	assert_true(rc == 0 || rc == ERROR_NO_SESSION);
	return s;
}

/* Grows the previous index to the current file. */
static struct session *look(struct session *s)
{
	CLEANUP_BUF struct buf grown = BUF_INIT, at_once = BUF_INIT;
	struct session *now = fresh();

	if (s) {
		session_wrlock(s);
		int rc = session_grow(s);
		session_unlock(s);
		assert_true(rc == 0 || rc == 1 || rc == -ESTALE);
		if (rc == -ESTALE) {
			session_close(s);
			return now;
		}
		assert_non_null(now);
		add_all(s, &grown);
		add_all(now, &at_once);
		assert_spans_equal(buf_span(&grown), buf_span(&at_once));
		session_close(now);
		return s;
	}
	if (now)
		add_all(now, &grown);
	return now;
}

static void change(struct span step)
{
	struct feed f = {step.p, step.n};
	unsigned op = feed_byte(&f);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	switch (op) {
	case 't': {
		unsigned to = feed_byte(&f) << 8 | feed_byte(&f);
		assert_int_equal(truncate(path, st.st_size ? to % st.st_size : 0), 0);
		break;
	}
	case 'r':
		fuzz_file(path, (struct span){f.p, f.n}, 0, 0);
		break;
	case 'n':
		unlink(path);
		fuzz_file(path, (struct span){f.p, f.n}, O_CREAT, 0);
		break;
	default:
		fuzz_file(path, step.n && op == 'a' ? (struct span){f.p, f.n} : step, O_APPEND, 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = feed_of(data, size);

	if (!path[0])
		snprintf(path, sizeof path, "%s/s.jsonl", fuzz_dir());
	unlink(path);
	fuzz_file(path, feed_step(&f), O_CREAT, 0);
	struct session *s = look(NULL);
	while (f.n > 0) {
		change(feed_step(&f));
		s = look(s);
	}
	session_close(s);
	return 0;
}
