/* SPDX-License-Identifier: MIT */
/* change.diff: the change that a call made, from its result, else from its arguments. */
#include "sessionfs/render/files.h"

#include "sessionfs/render/tool.h"

#include "diff.h"
#include "text.h"

#include <errno.h>

/* A side of a hunk: its first line and the number of lines. A side without lines is at the line before. */
struct diff_range {
	int64_t first, count;
};

/* The next hunk. The distance between its sides comes from earlier hunks. */
struct hunk {
	struct diff_range before, after;
	bool changed;
	struct buf lines, *out;
};

static void hunk_release(struct hunk *h)
{
	buf_release(&h->lines);
}

static void hunk_add(struct hunk *h, char sign, struct span line)
{
	h->before.count += sign != '+';
	h->after.count += sign != '-';
	h->changed |= sign != ' ';
	buf_addc(&h->lines, sign);
	buf_addspan(&h->lines, line);
	buf_addc(&h->lines, '\n');
}

/* Appends the hunk if a line of it is a change, and begins the next after it. */
static void hunk_end(struct hunk *h)
{
	struct diff_range *sides[] = {&h->before, &h->after};
	struct buf *out = h->out;

	for (int i = 0; i < 2; i++) {
		int64_t least = sides[i]->count > 0, first = sides[i]->first - !least;
		if (h->changed)
			buf_addf(out, "%s%lld,%lld", i ? " +" : "@@ -", (long long)(first < least ? least : first),
			         (long long)sides[i]->count);
		*sides[i] = (struct diff_range){sides[i]->first + sides[i]->count, 0};
	}
	if (h->changed) {
		buf_adds(out, " @@\n");
		buf_addspan(out, buf_span(&h->lines));
	}
	if (buf_err(&h->lines))
		out->err = buf_err(&h->lines);
	h->changed = false;
	buf_reset(&h->lines);
}

/* --- from the result ----------------------------------------------------------------- */

/* A row of pi's details.diff; sign '.': omitted rows. */
struct diff_row {
	char sign;
	int64_t number;
	struct span text;
};

/* A line number cannot have more digits. */
enum { DIGITS = 15 };

static bool parse_diff_row(struct span line, struct diff_row *ret)
{
	size_t i = 1, digits = 0;

	while (i < line.n && line.p[i] == ' ')
		i++;
	ret->sign = line.n ? line.p[0] : '\0';
	ret->number = 0;
	if ((ret->sign == ' ' && span_eq((struct span){line.p + i, line.n - i}, SPAN_LIT("..."))) ||
	    span_eq(line, SPAN_LIT("..."))) {
		ret->sign = '.';
		return true;
	}
	for (; i < line.n && line.p[i] >= '0' && line.p[i] <= '9' && digits <= DIGITS; i++, digits++)
		ret->number = ret->number * 10 + (line.p[i] - '0');
	if (digits == 0 || digits > DIGITS || i >= line.n || line.p[i] != ' ')
		return false;
	ret->text = (struct span){line.p + i + 1, line.n - i - 1};
	return ret->sign == '+' || ret->sign == '-' || ret->sign == ' ';
}

/* Appends a hunk for each run of rows without a gap; nothing if a row is invalid. */
static void change_add_rows(struct span diff, struct buf *out)
{
	struct hunk h CLEANUP(hunk_release) = {{1, 0}, {1, 0}, .out = out};
	size_t start = out->n;
	struct diff_row row;
	struct span line;

	while (span_line(&diff, &line)) {
		if (!parse_diff_row(line, &row)) {
			out->n = start;
			return;
		}
		if (row.sign == '.') {
			hunk_end(&h);
			continue;
		}
		if (row.sign != ' ' && !h.changed) {
			int64_t shift = h.after.first - h.before.first;
			h.before.first = row.number - h.before.count - (row.sign == '+' ? shift : 0);
			h.after.first = h.before.first + shift;
		}
		hunk_add(&h, row.sign, row.text);
	}
	hunk_end(&h);
}

/* --- from the arguments -------------------------------------------------------------- */

static void change_add_line(void *arg, char sign, struct span line, size_t omitted)
{
	struct hunk *h = arg;

	if (sign != '@') {
		hunk_add(h, sign, line);
		return;
	}
	hunk_end(h);
	h->before.first += (int64_t)omitted;
	h->after.first += (int64_t)omitted;
}

/* Shows the pieces of a file that a call names as if they were all of it. */
static int change_add_piece(void *arg, struct span old_text, struct span new_text)
{
	return diff_texts(old_text, new_text, change_add_line, arg);
}

static int change_add_from_arguments(const struct part_call *call, bool is_write, struct buf *out)
{
	struct tool_use use CLEANUP_TOOL = TOOL_USE_INIT;
	struct hunk h CLEANUP(hunk_release) = {{1, 0}, {1, 0}, .out = out};
	struct buf content CLEANUP_BUF = BUF_INIT;

	tool_read(call->name, call->arguments, &use);
	/* Only a stored list, not one in a string. */
	if (use.edits.kind != JSON_ARRAY || use.edits_text.n)
		use.edits.kind = JSON_NONE;
	if (!is_write)
		return tool_edits(&use, change_add_piece, &h);
	json_decode(use.content.text, JSON_CLEAN, &content);
	change_add_piece(&h, SPAN_LIT(""), buf_span(&content)); /* only additions: no error */
	if (content.n && content.p[content.n - 1] != '\n')
		buf_adds(out, "\\ No newline at end of file\n");
	return buf_err(&content);
}

/* --- change.diff ------------------------------------------------------------------------ */

bool change_succeeded(const struct session *s, const struct part_call *call, uint32_t result)
{
	return file_action_of(call->name) > FILE_READ && call_ending(s, call, result) == NESTED_DONE;
}

/* Appends a text that only results have; nothing if it is missing. */
static void change_add_detail(const struct record *r, const char *key, struct buf *out)
{
	struct json_value v = {0};

	if (r->msg.details.kind == JSON_OBJECT)
		v = json_get(r->msg.details, key);
	if (v.kind == JSON_STRING)
		json_decode(v.text, JSON_CLEAN, out);
}

int render_change(const struct session *s, const struct part_call *call, uint32_t result, struct buf *out)
{
	struct buf file CLEANUP_BUF = BUF_INIT, patch CLEANUP_BUF = BUF_INIT, rows CLEANUP_BUF = BUF_INIT;
	struct buf hunks CLEANUP_BUF = BUF_INIT;
	struct line line CLEANUP_LINE = LINE_INIT;
	bool is_new = file_action_of(call->name) == FILE_WRITE;
	struct record r = {0};

	if (!change_succeeded(s, call, result) || !call_file_path(s, call, &file))
		return buf_err(&file);
	text_flatten_from(&file, 0);
	/* The result of a nested call is not stored. */
	int rc = call->nested ? 0 : session_load(s, result, &line, &r);
	if (rc < 0)
		return rc;
	change_add_detail(&r, "patch", &patch);
	/* A patch of only newlines is ignored. */
	if (!span_only(buf_span(&patch), SPAN_LIT("\n"))) {
		buf_addspan(out, buf_span(&patch));
		if (patch.p[patch.n - 1] != '\n')
			buf_addc(out, '\n');
		return buf_err(&patch) ? buf_err(&patch) : buf_err(out);
	}
	if (buf_err(&patch))
		return buf_err(&patch);
	change_add_detail(&r, "diff", &rows);
	change_add_rows(buf_span(&rows), &hunks);
	if (hunks.n)
		is_new = false;
	else
		rc = change_add_from_arguments(call, is_new, &hunks);
	if (hunks.n)
		buf_addf(out, "--- %s\n+++ %s\n", is_new ? "/dev/null" : buf_cstr(&file), buf_cstr(&file));
	buf_addspan(out, buf_span(&hunks));
	if (rc == 0 && (buf_err(&file) || buf_err(&rows) || buf_err(&hunks)))
		rc = -ENOMEM;
	return rc < 0 ? rc : buf_err(out);
}

void change_count_lines(struct span diff, uint64_t *added, uint64_t *removed)
{
	bool begun = false;
	struct span line;

	while (span_line(&diff, &line)) {
		begun |= span_begins(line, SPAN_LIT("@@ "));
		*added += begun && line.n && line.p[0] == '+';
		*removed += begun && line.n && line.p[0] == '-';
	}
}
