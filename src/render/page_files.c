/* SPDX-License-Identifier: MIT */
/* The files that a session changed, folded below its facts: the numbers of lines added and removed, and the first call.
 */
#include "page.h"

#include "sessionfs/base/counters.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/render/files.h"

#include <errno.h>

/* The max number of files shown. */
#define FILES_SHOWN LIMIT(500, 5)
#define PATH_UNITS 200

struct changed_file {
	uint64_t added, removed;
	uint32_t entry;
	unsigned n; /* the first call that changed it, of that entry; 0: none */
	bool is_in_page;
};

struct changed_files {
	const struct session *s;
	struct counters *files; /* struct changed, by path */
	struct changed_file all;
};

static int page_files_add_change(void *arg, const struct file_use *use)
{
	struct buf diff CLEANUP_BUF = BUF_INIT;
	struct changed_files *c = arg;

	if (!change_succeeded(c->s, use->call, use->result))
		return 0;
	struct changed_file *file = counters_get(c->files, use->path);
	if (!file)
		return -ENOMEM;
	if (!file->n)
		*file = (struct changed_file){0, 0, use->entry, use->call->n,
		                              !use->call->nested || use->call->n <= PAGE_NESTED_SHOWN};
	int rc = render_change(c->s, use->call, use->result, &diff);
	change_count_lines(buf_span(&diff), &file->added, &file->removed);
	change_count_lines(buf_span(&diff), &c->all.added, &c->all.removed);
	return rc;
}

static void page_files_add_counts(const struct changed_file *of, const char *end, struct buf *out)
{
	if (of->added)
		buf_addf(out, " +%llu", (unsigned long long)of->added);
	if (of->removed)
		buf_addf(out, " \u2212%llu", (unsigned long long)of->removed);
	buf_adds(out, end);
}

int page_add_files(const struct render_target *p, struct buf *out)
{
	struct counters files CLEANUP(counters_release) = COUNTERS_INIT(struct changed_file);
	struct changed_files c = {.s = p->session, .files = &files};
	struct json_value cwd = session_header(p->session)->cwd;
	struct buf dir CLEANUP_BUF = BUF_INIT;
	int rc = session_each_file_use(p->session, page_files_add_change, &c);

	if (rc < 0 || files.n == 0)
		return rc;
	if (cwd.kind == JSON_STRING)
		json_decode(cwd.text, JSON_CLEAN, &dir);
	if (dir.n > 0 && dir.p[dir.n - 1] != '/')
		buf_addc(&dir, '/');
	buf_addf(out, "<details class=\"files\"><summary>%zu file%s changed", files.n, files.n == 1 ? "" : "s");
	page_files_add_counts(&c.all, "</summary>\n<ul>\n", out);
	for (size_t i = 0; i < files.n && i < FILES_SHOWN; i++) {
		const struct changed_file *file = counters_value(&files, i);
		buf_adds(out, "<li><a ");
		page_add_entry_href(p->session, file->entry, file->is_in_page ? file->n : 0, out);
		buf_addc(out, '>');
		size_t start = out->n;
		struct span path = counters_name(&files, i);
		size_t above = dir.n > 1 && path.n > dir.n && span_begins(path, buf_span(&dir)) ? dir.n : 0;
		buf_addspan(out, (struct span){path.p + above, path.n - above});
		page_shorten_from(out, start, PATH_UNITS);
		buf_adds(out, "</a>");
		page_files_add_counts(file, "</li>\n", out);
	}
	buf_adds(out, "</ul>\n");
	if (files.n > FILES_SHOWN) {
		buf_adds(out, "<p class=\"cut\">Cut here. <a href=\"");
		html_add_url(span_of(p->prefix), out);
		buf_adds(out, "files.tsv\">All of them</a></p>\n");
	}
	buf_adds(out, "</details>\n");
	return buf_err(&dir);
}
