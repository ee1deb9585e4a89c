/* SPDX-License-Identifier: MIT */
/* The files that a session changed, folded below its facts: how many lines came and went, and the calls. */
#include "page.h"

#include "text.h"
#include "sessionfs/base/counters.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/base/number.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/render/files.h"

#include <errno.h>
#include <stdlib.h>

/* So much is shown of a session that changed more. */
#define FILES_SHOWN LIMIT(500, 5)
#define CALLS_SHOWN 20
#define PATH_UNITS 200

struct changed {
	uint64_t added, removed;
	uint32_t calls;
	size_t place; /* among the files */
};

struct shown_call {
	uint32_t entry;
	unsigned n;
};

struct changes {
	const struct session *s;
	struct counters files;                  /* struct changed, by path */
	struct shown_call (*calls)[CALLS_SHOWN]; /* of the first FILES_SHOWN of them */
	struct buf diff;
	uint64_t added, removed;
};

static void changes_release(struct changes *c)
{
	counters_release(&c->files);
	free(c->calls);
	buf_release(&c->diff);
}

static int add_change(void *arg, const struct file_use *use)
{
	struct changes *c = arg;
	uint64_t added, removed;

	if (use->action == FILE_READ || use->outcome != FILE_DONE)
		return 0;
	struct changed *file = counters_get(&c->files, use->path);
	if (!file)
		return -ENOMEM;
	if (file->calls == 0)
		file->place = c->files.n - 1;
	if (file->calls < CALLS_SHOWN && file->place < FILES_SHOWN)
		c->calls[file->place][file->calls] = (struct shown_call){use->entry, use->call->n};
	file->calls++;
	buf_reset(&c->diff);
	int rc = render_change(c->s, use->call, use->result, &c->diff);
	change_count(buf_span(&c->diff), &added, &removed);
	file->added += added;
	file->removed += removed;
	c->added += added;
	c->removed += removed;
	return rc;
}

static void add_counts(uint64_t added, uint64_t removed, struct buf *out)
{
	if (added)
		buf_addf(out, " +%llu", (unsigned long long)added);
	if (removed)
		buf_addf(out, " \u2212%llu", (unsigned long long)removed);
}

static void add_file(const struct changes *c, struct span path, const struct changed *file, struct buf *out)
{
	for (uint32_t i = 0; i < file->calls && i < CALLS_SHOWN; i++) {
		buf_adds(out, i ? ", <a " : "<li><a ");
		page_link(c->s, c->calls[file->place][i].entry, c->calls[file->place][i].n, out);
		buf_addc(out, '>');
		size_t start = out->n;
		if (i > 0) {
			number_add_unsigned(i + 1, out);
		} else {
			buf_addspan(out, path);
			page_take_cwd(c->s, start, out);
			text_one_line(out, start);
			if (text_truncate(out, start, PATH_UNITS))
				buf_adds(out, "\u2026");
			html_escape(out, start);
		}
		buf_adds(out, "</a>");
		if (i == 0)
			add_counts(file->added, file->removed, out);
	}
	if (file->calls > CALLS_SHOWN)
		buf_addf(out, " of %u", file->calls);
	buf_adds(out, "</li>\n");
}

int page_files(const struct place *p, struct buf *out)
{
	struct changes c CLEANUP(changes_release) = {.s = p->session, .files = COUNTERS_INIT(struct changed)};

	c.calls = calloc(FILES_SHOWN, sizeof *c.calls);
	int rc = c.calls ? files_each(p->session, add_change, &c) : -ENOMEM;
	if (rc < 0 || c.files.n == 0)
		return rc;
	buf_addf(out, "<details class=\"files\"><summary>%zu file%s changed", c.files.n, c.files.n == 1 ? "" : "s");
	add_counts(c.added, c.removed, out);
	buf_adds(out, "</summary>\n<ul>\n");
	for (size_t i = 0; i < c.files.n && i < FILES_SHOWN; i++)
		add_file(&c, counters_name(&c.files, i), counters_value(&c.files, i), out);
	buf_adds(out, "</ul>\n");
	if (c.files.n > FILES_SHOWN) {
		buf_adds(out, "<p class=\"cut\">Cut here. <a href=\"");
		html_path(span_of(p->prefix), out);
		buf_adds(out, "files.tsv\">All of them</a></p>\n");
	}
	buf_adds(out, "</details>\n");
	return 0;
}
