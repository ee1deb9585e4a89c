/* SPDX-License-Identifier: MIT */
/* The files that a session changed, folded below its facts: the calls, and how many lines came and went. */
#include "page.h"

#include "text.h"
#include "sessionfs/base/counters.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/base/number.h"
#include "sessionfs/render/files.h"

#include <errno.h>

/* So much is shown of a session that changed more. */
#define FILES_SHOWN LIMIT(500, 5)
#define CALLS_SHOWN 20
#define PATH_UNITS 200

struct changed {
	uint64_t added, removed;
	unsigned calls;
	struct buf links; /* to the calls */
};

struct changes {
	const struct session *s;
	struct counters files; /* struct changed, by path */
	struct changed all;
	struct buf diff;
};

static void changes_release(struct changes *c)
{
	for (size_t i = 0; i < c->files.n; i++)
		buf_release(&((struct changed *)counters_value(&c->files, i))->links);
	counters_release(&c->files);
	buf_release(&c->diff);
}

static void files_add_link(const struct session *s, const struct file_use *use, unsigned n, struct buf *out)
{
	buf_adds(out, n > 1 ? ", <a " : "<a ");
	page_link(s, use->entry, use->call->n, out);
	buf_addc(out, '>');
	size_t start = out->n;
	if (n > 1) {
		number_add_unsigned(n, out);
	} else {
		buf_addspan(out, use->path);
		page_take_cwd(s, start, out);
		text_one_line(out, start);
		if (text_truncate(out, start, PATH_UNITS))
			buf_adds(out, "\u2026");
		html_escape(out, start);
	}
	buf_adds(out, "</a>");
}

static int files_add_change(void *arg, const struct file_use *use)
{
	struct changes *c = arg;
	uint64_t added, removed;

	if (!change_is_done(c->s, use->call, use->result))
		return 0;
	struct changed *file = counters_get(&c->files, use->path);
	if (!file)
		return -ENOMEM;
	buf_reset(&c->diff);
	int rc = render_change(c->s, use->call, use->result, &c->diff);
	change_count(buf_span(&c->diff), &added, &removed);
	file->added += added;
	file->removed += removed;
	c->all.added += added;
	c->all.removed += removed;
	if (file->calls++ < CALLS_SHOWN && (file->links.n || c->files.n <= FILES_SHOWN))
		files_add_link(c->s, use, file->calls, &file->links);
	return rc < 0 ? rc : buf_err(&file->links);
}

static void files_add_counts(const struct changed *of, struct buf *out)
{
	if (of->calls > CALLS_SHOWN)
		buf_addf(out, " of %u", of->calls);
	if (of->added)
		buf_addf(out, " +%llu", (unsigned long long)of->added);
	if (of->removed)
		buf_addf(out, " \u2212%llu", (unsigned long long)of->removed);
}

int page_files(const struct place *p, struct buf *out)
{
	struct changes c CLEANUP(changes_release) = {.s = p->session, .files = COUNTERS_INIT(struct changed)};
	int rc = files_each(p->session, files_add_change, &c);

	if (rc < 0 || c.files.n == 0)
		return rc;
	buf_addf(out, "<details class=\"files\"><summary>%zu file%s changed", c.files.n, c.files.n == 1 ? "" : "s");
	files_add_counts(&c.all, out);
	buf_adds(out, "</summary>\n<ul>\n");
	for (size_t i = 0; i < c.files.n && i < FILES_SHOWN; i++) {
		const struct changed *file = counters_value(&c.files, i);
		buf_adds(out, "<li>");
		buf_addspan(out, buf_span(&file->links));
		files_add_counts(file, out);
		buf_adds(out, "</li>\n");
	}
	buf_adds(out, "</ul>\n");
	if (c.files.n > FILES_SHOWN) {
		buf_adds(out, "<p class=\"cut\">Cut here. <a href=\"");
		html_path(span_of(p->prefix), out);
		buf_adds(out, "files.tsv\">All of them</a></p>\n");
	}
	buf_adds(out, "</details>\n");
	return 0;
}
