/* SPDX-License-Identifier: MIT */
/* Which file a call reads, writes or edits, and files.tsv. Paths are taken apart as text: the files are those of
 * another time, perhaps of another machine. */
#include "sessionfs/render/files.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/number.h"
#include "sessionfs/render/tool.h"

#include "text.h"

#include <ctype.h>

/* --- paths -------------------------------------------------------------------- */

/* How many bytes the root of an absolute path takes; 0 for any other path. */
static size_t root_length(struct span path, bool *ret_windows)
{
	*ret_windows = true;
	if (path.n > 2 && isalpha((unsigned char)path.p[0]) && path.p[1] == ':' && (path.p[2] == '\\' || path.p[2] == '/'))
		return 3;
	if (span_begins(path, SPAN_LIT("\\\\")))
		return 2;
	*ret_windows = false;
	return path.n && path.p[0] == '/';
}

/* Where the last component of what `out` holds from `root` on begins. */
static size_t last_component(const struct buf *out, size_t root, char separator)
{
	const char *at = out->n > root ? memrchr(out->p + root, separator, out->n - root) : NULL;

	return at ? (size_t)(at + 1 - out->p) : root;
}

static void add_component(struct span name, size_t root, bool absolute, char separator, struct buf *out)
{
	const struct span up = SPAN_LIT("..");

	if (name.n == 0 || span_eq(name, SPAN_LIT(".")))
		return;
	if (span_eq(name, up) && (absolute || out->n > root)) {
		size_t last = last_component(out, root, separator);
		if (absolute || !span_eq((struct span){out->p + last, out->n - last}, up)) {
			out->n = last > root ? last - 1 : root;
			return;
		}
	}
	if (out->n > root)
		buf_addc(out, separator);
	buf_addspan(out, name);
}

static void add_components(struct span path, bool windows, size_t root, bool absolute, struct buf *out)
{
	for (size_t begin = 0, i = 0; i <= path.n && !buf_err(out); i++) {
		if (i < path.n && path.p[i] != '/' && !(windows && path.p[i] == '\\'))
			continue;
		add_component((struct span){path.p + begin, i - begin}, root, absolute, windows ? '\\' : '/', out);
		begin = i + 1;
	}
}

/* A path of a session that was started in `cwd`. */
static void add_path(struct span cwd, struct span path, struct buf *out)
{
	bool windows, of_cwd;
	size_t start = out->n, root = root_length(path, &windows);

	if (path.p[0] == '~') {
		buf_addspan(out, path);
		return;
	}
	struct span rest = path;
	if (!root && (root = root_length(cwd, &of_cwd))) {
		windows = of_cwd;
		path = cwd;
	} else {
		rest.n = 0;
	}
	buf_add(out, path.p, root);
	if (root == 3) {
		out->p[start] = (char)toupper((unsigned char)out->p[start]);
		out->p[start + 2] = '\\';
	}
	size_t begin = out->n;
	add_components((struct span){path.p + root, path.n - root}, windows, begin, root, out);
	add_components(rest, windows, begin, root, out);
	if (out->n == start)
		buf_addc(out, '.');
}

bool file_of_call(const struct session *s, const struct part_call *call, struct buf *out)
{
	struct buf path CLEANUP_BUF = BUF_INIT, cwd CLEANUP_BUF = BUF_INIT;
	struct json_value v = {0}, of_session = session_header(s)->cwd;

	if (file_action_of(call->name) != FILE_NONE)
		v = tool_path(call->arguments);
	if (v.kind != JSON_STRING)
		return false;
	json_decode(v.text, JSON_CLEAN, &path);
	if (of_session.kind == JSON_STRING)
		json_decode(of_session.text, JSON_CLEAN, &cwd);
	if (buf_err(&path) || buf_err(&cwd))
		out->err = -ENOMEM;
	if (buf_err(out) || memmem(path.p, path.n, "://", 3))
		return false;
	add_path(buf_span(&cwd), buf_span(&path), out);
	return true;
}

/* --- files.tsv ------------------------------------------------------------------ */

enum file_outcome file_outcome_of(const struct session *s, uint32_t result)
{
	if (result == NO_ENTRY)
		return FILE_OPEN;
	return session_entry(s, result)->flags & (ENTRY_FAILED | ENTRY_REFUSED) ? FILE_FAILED : FILE_DONE;
}

int files_each(const struct session *s, int (*fn)(void *arg, const struct file_use *use), void *arg)
{
	struct reader reader CLEANUP_READER = READER_INIT;
	struct buf *path = &reader.scratch[0];
	struct record r;
	int rc = 0;

	for (uint32_t i = 0; i < session_count(s) && rc == 0; i++) {
		if (!entry_uses_files(session_entry(s, i)))
			continue;
		struct part_call call = {0};
		rc = session_read(s, i, &reader, &r);
		while (rc == 0 && part_call_next(&r, &call)) {
			buf_reset(path);
			if (file_of_call(s, &call, path)) {
				struct file_use use = {.entry = i,
				                       .result = session_result(s, i, call.n),
				                       .action = file_action_of(call.name),
				                       .call = &call,
				                       .path = buf_span(path)};
				use.outcome = file_outcome_of(s, use.result);
				rc = fn(arg, &use);
			}
			rc = rc ? rc : buf_err(path) ? buf_err(path) : cancel_check();
		}
	}
	return rc;
}

struct rows {
	const struct session *s;
	struct buf *out, name;
};

static int add_row(void *arg, const struct file_use *use)
{
	static const char *const outcomes[] = {
	    [FILE_OPEN] = "\topen\t", [FILE_FAILED] = "\tfailed\t", [FILE_DONE] = "\tdone\t"};
	struct rows *rows = arg;
	int64_t time = session_entry(rows->s, use->entry)->time;

	if (time != NO_TIME)
		number_add_time((double)time, rows->out);
	buf_addc(rows->out, '\t');
	buf_reset(&rows->name);
	session_entry_name(rows->s, use->entry, &rows->name);
	text_cell(buf_span(&rows->name), rows->out);
	buf_addc(rows->out, '\t');
	buf_reset(&rows->name);
	part_call_component(use->call, &rows->name);
	text_cell(buf_span(&rows->name), rows->out);
	buf_addc(rows->out, '\t');
	buf_adds(rows->out, file_action_name(use->action));
	buf_adds(rows->out, outcomes[use->outcome]);
	text_cell(use->path, rows->out);
	buf_addc(rows->out, '\n');
	return buf_err(&rows->name) ? buf_err(&rows->name) : buf_err(rows->out);
}

bool render_files_begins(const struct session *s, bool *ret_any)
{
	struct buf path CLEANUP_BUF = BUF_INIT;
	struct line line CLEANUP_LINE = LINE_INIT;
	struct part_call call = {0};
	struct record r;
	uint32_t i = 0;

	while (i < session_count(s) && !entry_uses_files(session_entry(s, i)))
		i++;
	*ret_any = i < session_count(s);
	if (!*ret_any || session_load(s, i, &line, &r) < 0)
		return false;
	while (path.n == 0 && part_call_next(&r, &call))
		file_of_call(s, &call, &path);
	return path.n > 0;
}

int render_files_rows(const struct session *s, struct buf *out)
{
	struct rows rows = {s, out, BUF_INIT};
	int rc = files_each(s, add_row, &rows);

	buf_release(&rows.name);
	return rc;
}

int render_files(const struct session *s, struct buf *out)
{
	size_t start = out->n;

	buf_adds(out, FILES_HEADING);
	size_t heading = out->n;
	int rc = render_files_rows(s, out);
	if (out->n == heading)
		out->n = start;
	return rc < 0 ? rc : buf_err(out);
}
