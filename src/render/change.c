/* SPDX-License-Identifier: MIT */
/* change.diff: what a call changed, as its result says it, else as its arguments do. No texts are compared here: that
 * is diff.c's. */
#include "sessionfs/render/files.h"

#include "sessionfs/render/tool.h"

#include "text.h"

static bool change_next_line(struct span *rest, struct span *ret)
{
	if (rest->n == 0)
		return false;
	const char *eol = memchr(rest->p, '\n', rest->n);
	*ret = (struct span){rest->p, eol ? (size_t)(eol - rest->p) : rest->n};
	size_t n = ret->n + (eol != NULL);
	*rest = (struct span){rest->p + n, rest->n - n};
	return true;
}

/* A side of a hunk: its first line and how many there are. A side without lines is where the line before is. */
struct range {
	int64_t first, count;
};

static void add_hunk(struct range before, struct range after, struct buf *out)
{
	const struct range *sides[] = {&before, &after};

	for (int i = 0; i < 2; i++) {
		int64_t least = sides[i]->count > 0, first = sides[i]->first - !least;
		buf_addf(out, "%s%lld,%lld", i ? " +" : "@@ -", (long long)(first < least ? least : first),
		         (long long)sides[i]->count);
	}
	buf_adds(out, " @@\n");
}

static void add_signed(char sign, struct span line, struct buf *out)
{
	buf_addc(out, sign);
	buf_addspan(out, line);
	buf_addc(out, '\n');
}

/* --- the result's own -------------------------------------------------------------- */

/* A row of pi's details.diff; sign '.': rows are left out there. */
struct diff_row {
	char sign;
	int64_t number;
	struct span text;
};

/* A number of more digits is none that anybody wrote. */
enum { DIGITS = 15 };

static bool read_row(struct span line, struct diff_row *ret)
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

/* Rows without a gap as a hunk, if one of them is a change. *shift: how many lines more the new file has before it. */
static void change_add_run(struct span run, int64_t *shift, struct buf *out)
{
	struct range before = {0, 0}, after = {0, 0};
	struct diff_row row;
	struct span line;
	char sign = ' ';

	for (struct span rest = run; change_next_line(&rest, &line) && read_row(line, &row);) {
		if (sign == ' ' && row.sign != ' ') {
			sign = row.sign;
			before.first = row.number - before.count - (sign == '+' ? *shift : 0);
			after.first = before.first + *shift;
		}
		before.count += row.sign != '+';
		after.count += row.sign != '-';
	}
	if (sign == ' ')
		return;
	add_hunk(before, after, out);
	*shift += after.count - before.count;
	while (change_next_line(&run, &line) && read_row(line, &row))
		add_signed(row.sign, row.text, out);
}

/* Nothing if a row is none. */
static void change_add_rows(struct span diff, struct buf *out)
{
	const char *begin = diff.p, *end = diff.p + diff.n;
	struct diff_row row;
	struct span line, rest = diff;
	int64_t shift = 0;

	while (change_next_line(&rest, &line))
		if (!read_row(line, &row))
			return;
	for (rest = diff; change_next_line(&rest, &line) && read_row(line, &row);) {
		bool is_gap = row.sign == '.';
		if (!is_gap && rest.n)
			continue;
		change_add_run((struct span){begin, (size_t)((is_gap ? line.p : end) - begin)}, &shift, out);
		begin = rest.p;
	}
}

/* Nothing but newlines is no text. */
static void add_patch(struct span patch, struct buf *out)
{
	size_t n = patch.n;

	while (n > 0 && patch.p[n - 1] == '\n')
		n--;
	buf_add(out, patch.p, n ? patch.n : 0);
	if (n == patch.n && n)
		buf_addc(out, '\n');
}

/* --- the arguments ------------------------------------------------------------------ */

/* The pieces of a file that a call names, as if they were all of it. */
struct pieces {
	struct range before, after; /* of the next one */
	struct buf *out;
};

static int add_piece(void *arg, struct span old_text, struct span new_text)
{
	struct pieces *to = arg;
	struct span line;

	to->before.first += to->before.count;
	to->after.first += to->after.count;
	to->before.count = to->after.count = 0;
	for (struct span rest = old_text; change_next_line(&rest, &line);)
		to->before.count++;
	for (struct span rest = new_text; change_next_line(&rest, &line);)
		to->after.count++;
	if (to->before.count + to->after.count)
		add_hunk(to->before, to->after, to->out);
	while (change_next_line(&old_text, &line))
		add_signed('-', line, to->out);
	while (change_next_line(&new_text, &line))
		add_signed('+', line, to->out);
	return 0;
}

static int add_of_arguments(const struct part_call *call, bool is_write, struct buf *out)
{
	struct tool_use use CLEANUP_TOOL = TOOL_USE_INIT;
	struct pieces pieces = {{1, 0}, {1, 0}, out};
	struct buf content CLEANUP_BUF = BUF_INIT;

	tool_read(call->name, call->arguments, &use);
	/* A list as it is stored, not in a text. */
	if (use.edits.kind != JSON_ARRAY || use.edits_text.n)
		use.edits.kind = JSON_NONE;
	if (!is_write)
		return tool_edits(&use, add_piece, &pieces);
	json_decode(use.content.text, JSON_CLEAN, &content);
	add_piece(&pieces, SPAN_LIT(""), buf_span(&content));
	if (content.n && content.p[content.n - 1] != '\n')
		buf_adds(out, "\\ No newline at end of file\n");
	return buf_err(&content);
}

/* --- all of them ---------------------------------------------------------------------- */

bool change_is_done(const struct session *s, const struct part_call *call, uint32_t result)
{
	return file_action_of(call->name) > FILE_READ && result != NO_ENTRY &&
	       !entry_is_refused(session_entry(s, result));
}

int render_change(const struct session *s, const struct part_call *call, uint32_t result, struct buf *out)
{
	struct buf file CLEANUP_BUF = BUF_INIT, text CLEANUP_BUF = BUF_INIT;
	struct line line CLEANUP_LINE = LINE_INIT;
	bool is_write = file_action_of(call->name) == FILE_WRITE;
	size_t start = out->n, names = start;
	struct record r;

	if (!change_is_done(s, call, result) || !file_of_call(s, call, &file))
		return buf_err(&file);
	text_one_line(&file, 0);
	int rc = session_load(s, result, &line, &r);
	for (int form = 0; form < 3 && rc == 0 && out->n == names; form++) {
		struct json_value own = form < 2 && r.msg.details.kind == JSON_OBJECT
		                            ? json_get(r.msg.details, form ? "diff" : "patch")
		                            : (struct json_value){0};
		buf_reset(&text);
		if (own.kind == JSON_STRING)
			json_decode(own.text, JSON_CLEAN, &text);
		out->n = start;
		if (form > 0) {
			buf_adds(out, "--- ");
			buf_addspan(out, form == 2 && is_write ? SPAN_LIT("/dev/null") : buf_span(&file));
			buf_adds(out, "\n+++");
			add_signed(' ', buf_span(&file), out);
		}
		names = out->n;
		if (form == 0)
			add_patch(buf_span(&text), out);
		else if (form == 1)
			change_add_rows(buf_span(&text), out);
		else
			rc = add_of_arguments(call, is_write, out);
		rc = rc < 0 ? rc : buf_err(&text);
	}
	if (out->n == names)
		out->n = start;
	return rc < 0 ? rc : buf_err(out);
}

void change_count(struct span diff, uint64_t *ret_added, uint64_t *ret_removed)
{
	bool begun = false;
	struct span line;

	*ret_added = *ret_removed = 0;
	while (change_next_line(&diff, &line)) {
		begun |= span_begins(line, SPAN_LIT("@@ "));
		*ret_added += begun && line.n && line.p[0] == '+';
		*ret_removed += begun && line.n && line.p[0] == '-';
	}
}
