/* SPDX-License-Identifier: MIT */
/* The file that a call reads, writes or edits, and files.tsv. Paths are only parsed as text: the files can be old or on
 * another machine. */
#include "sessionfs/render/files.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/number.h"
#include "sessionfs/render/tool.h"

#include "text.h"

#include <ctype.h>
#include <errno.h>

/* Returns the size of the root of an absolute path; 0 for any other path. */
static size_t path_root_size(struct span path, bool *ret_windows)
{
	bool drive = path.n > 2 && isalpha((unsigned char)path.p[0]) && path.p[1] == ':' &&
	             (path.p[2] == '\\' || path.p[2] == '/');

	*ret_windows = drive || span_begins(path, SPAN_LIT("\\\\"));
	return drive ? 3 : *ret_windows ? 2 : path.n && path.p[0] == '/';
}

/* Appends the components of a path to the text after `from`, where the root ends; a relative path has no root. */
static void add_components(struct span rest, size_t from, bool absolute, bool windows, struct buf *out)
{
	const struct span up = SPAN_LIT("..");
	char separator = windows ? '\\' : '/';

	for (size_t begin = 0, i = 0; i <= rest.n && !buf_err(out); i++) {
		if (i < rest.n && rest.p[i] != '/' && !(windows && rest.p[i] == '\\'))
			continue;
		struct span name = {rest.p + begin, i - begin};
		const char *before = out->n > from ? memrchr(out->p + from, separator, out->n - from) : NULL;
		size_t last = before ? (size_t)(before + 1 - out->p) : from;
		begin = i + 1;
		if (name.n == 0 || span_eq(name, SPAN_LIT(".")) || (span_eq(name, up) && absolute && out->n == from))
			continue;
		if (span_eq(name, up) && out->n > from && !span_eq((struct span){out->p + last, out->n - last}, up)) {
			out->n = last > from ? last - 1 : from;
			continue;
		}
		if (out->n > from)
			buf_addc(out, separator);
		buf_addspan(out, name);
	}
}

/* Appends a path from a session that was started in `cwd`. */
static void add_path(struct span cwd, struct span path, struct buf *out)
{
	struct span parts[2] = {path, {NULL, 0}};
	bool windows, of_cwd;
	size_t start = out->n, root = path_root_size(path, &windows);

	if (path.p[0] == '~') {
		buf_addspan(out, path);
		return;
	}
	if (!root && (root = path_root_size(cwd, &of_cwd))) {
		windows = of_cwd;
		parts[0] = cwd;
		parts[1] = path;
	}
	buf_add(out, parts[0].p, root);
	if (root == 3 && !buf_err(out)) {
		out->p[start] = (char)toupper((unsigned char)out->p[start]);
		out->p[start + 2] = '\\';
	}
	size_t from = out->n;
	add_components((struct span){parts[0].p + root, parts[0].n - root}, from, root, windows, out);
	add_components(parts[1], from, root, windows, out);
	if (out->n == start)
		buf_addc(out, '.');
}

/* Stored paths can be longer than FILE_PATH_MAX, since `..` removes components. A stored path over this limit is
 * ignored, and so is one relative to such a directory. */
#define STORED_PATH_MAX ((size_t)16 * FILE_PATH_MAX)

bool call_file_path(const struct session *s, const struct part_call *call, struct buf *out)
{
	struct buf path CLEANUP_BUF = BUF_INIT, cwd CLEANUP_BUF = BUF_INIT;
	struct json_value from = session_header(s)->cwd, v = {0};
	size_t start = out->n;
	bool windows;

	if (file_action_of(call->name) != FILE_NONE)
		v = tool_path(call->arguments);
	if (v.kind != JSON_STRING || v.text.n > STORED_PATH_MAX)
		return false;
	json_decode(v.text, JSON_CLEAN, &path);
	bool is_relative = path.n > 0 && path.p[0] != '~' && path_root_size(buf_span(&path), &windows) == 0;
	bool has_cwd = is_relative && from.kind == JSON_STRING, fits = !has_cwd || from.text.n <= STORED_PATH_MAX;
	if (has_cwd && fits)
		json_decode(from.text, JSON_CLEAN, &cwd);
	if (buf_err(&path) || buf_err(&cwd))
		out->err = -ENOMEM;
	if (buf_err(out) || !fits || memmem(buf_span(&path).p, path.n, "://", 3))
		return false;
	add_path(buf_span(&cwd), buf_span(&path), out);
	if (out->n - start <= FILE_PATH_MAX)
		return true;
	out->n = start;
	return false;
}

enum nested call_ending(const struct session *s, const struct part_call *call, uint32_t result)
{
	if (call->nested || result == NO_ENTRY)
		return call->nested ? call->nested : NESTED_OPEN;
	return entry_result_failed(session_entry(s, result)) ? NESTED_FAILED : NESTED_DONE;
}

int session_each_file_use(const struct session *s, int (*fn)(void *arg, const struct file_use *use), void *arg)
{
	struct reader reader CLEANUP_READER = READER_INIT;
	struct buf *path = &reader.scratch[0];
	struct record r;
	int rc = 0;

	for (uint32_t i = 0; i < session_count(s) && rc == 0; i++) {
		struct part_call call = {0};
		if (!entry_has_file_calls(session_entry(s, i)))
			continue;
		rc = session_read(s, i, &reader, &r);
		while (rc == 0 && part_call_next(&r, &call)) {
			buf_reset(path);
			if (call_file_path(s, &call, path))
				rc =
				    fn(arg, &(struct file_use){i, session_result(s, i, call.n), &call, buf_span(path)});
			rc = rc ? rc : buf_err(path) ? buf_err(path) : cancel_check();
		}
	}
	return rc;
}

struct rows {
	const struct session *s;
	struct buf *out;
};

static int file_uses_add_row(void *arg, const struct file_use *use)
{
	struct buf entry CLEANUP_BUF = BUF_INIT, name CLEANUP_BUF = BUF_INIT;
	static const char *const outcomes[] = {
	    [NESTED_OPEN] = "open", [NESTED_DONE] = "done", [NESTED_FAILED] = "failed"};
	const struct rows *rows = arg;
	const struct entry *e = session_entry(rows->s, use->entry);

	if (e->time != NO_TIME)
		number_add_time((double)e->time, rows->out);
	buf_addc(rows->out, '\t');
	session_entry_name(rows->s, use->entry, &entry);
	text_add_cell(buf_span(&entry), rows->out);
	buf_addc(rows->out, '\t');
	part_call_component(use->call, &name);
	text_add_cell(buf_span(&name), rows->out);
	buf_addf(rows->out, "\t%s\t%s\t", file_action_name(file_action_of(use->call->name)),
	         outcomes[call_ending(rows->s, use->call, use->result)]);
	text_add_cell(use->path, rows->out);
	buf_addc(rows->out, '\n');
	if (buf_err(&entry) || buf_err(&name) || buf_err(rows->out))
		return -ENOMEM;
	return 0;
}

int render_files_rows(const struct session *s, struct buf *out)
{
	return session_each_file_use(s, file_uses_add_row, &(struct rows){s, out});
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
