/* SPDX-License-Identifier: MIT */
/* fuzz_table: edit_table.c, edit.c, value.c, render/one_line.c. The table as shown changes nothing. Any other
 * table is refused or, once its changes are in the file, changes nothing more and equals the one shown.
 *
 * Input: the session file, then the table; without one, the table as shown. */
#include "fuzz.h"

#include "sessionfs/write/edit.h"
#include "sessionfs/render/render.h"
#include "sessionfs/write/value.h"
#include "session_fixture.h"

#include <errno.h>

#define NOW INT64_C(1772355602742)

static char path[128];

struct changes {
	struct buf text;
	struct edit_label *labels;
	size_t n;
};

static void changes_release(struct changes *c)
{
	free(c->labels);
	buf_release(&c->text);
}

static int read_table(const struct session *s, struct span table, struct changes *ret)
{
	CLEANUP_BUF struct buf value = BUF_INIT, why = BUF_INIT;
	const char *judged = NULL;

	*ret = (struct changes){.text = BUF_INIT};
	int rc = value_parse(&form_table, table, &value, &judged);
	if (rc < 0) {
		assert_non_null(judged);
		return rc;
	}
	struct edits_from_table saved = {.text = buf_span(&value)};
	rc = edits_from_table(s, &saved, &ret->text, &ret->labels, &ret->n, &why);
	assert_int_equal(rc<0, why.n> 0);
	return rc;
}

/* An entry with a row reads back as shown. */
static void check_shown(const struct session *s)
{
	CLEANUP_BUF struct buf shown = BUF_INIT;
	CLEANUP(changes_release) struct changes c = {.text = BUF_INIT};

	assert_int_equal(render_labels_tsv(s, &shown), 0);
	if (shown.n == 0) /* without entries: refused, like a truncated file */
		return;
	assert_int_equal(read_table(s, buf_span(&shown), &c), 0);
	assert_int_equal(c.n, 0);
}

static void assert_labels(const struct session *s, const struct changes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		CLEANUP_BUF struct buf label = BUF_INIT;
		session_label(s, c->labels[i].entry, &label);
		assert_spans_equal(buf_span(&label), c->labels[i].text);
	}
}

/* Appends the changes and grows the index. */
static void commit(struct session *s, const struct changes *c)
{
	CLEANUP_BUF struct buf lines = BUF_INIT, before = BUF_INIT;
	const struct edit edit = {.records = edit_labels, .labels = c->labels, .n = c->n};

	assert_true(read_file(path, &before));
	assert_int_equal(edit_make(s, &edit, false, NOW, &lines), 0);
	assert_true(lines.n > 0);
	if (before.n > 0 && before.p[before.n - 1] != '\n')
		fuzz_file(path, SPAN_LIT("\n"), O_APPEND, 0);
	fuzz_file(path, buf_span(&lines), O_APPEND, 0);
	assert_true(session_grow(s) >= 0);
}

static void save(struct session *s, struct span table)
{
	CLEANUP(changes_release) struct changes c, again;

	again = (struct changes){.text = BUF_INIT};
	if (read_table(s, table, &c) < 0)
		return;
	if (c.n == 0)
		return;
	commit(s, &c);
	assert_labels(s, &c);
	assert_int_equal(read_table(s, table, &again), 0);
	assert_int_equal(again.n, 0);
	check_shown(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = feed_of(data, size);
	struct session *s;

	if (!path[0])
		snprintf(path, sizeof path, "%s/s.jsonl", fuzz_dir());
	unlink(path);
	fuzz_file(path, feed_step(&f), O_CREAT, 0);
	if (session_open(&(struct source_path){NULL, path}, false, &s) < 0)
		return 0;
	/* Files of version 1 are never written. */
	check_shown(s);
	if (session_version(s) > 1)
		save(s, (struct span){f.p, f.n});
	session_close(s);
	return 0;
}
