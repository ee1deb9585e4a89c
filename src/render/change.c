/* SPDX-License-Identifier: MIT */
/* change.diff: what a call changed, as its result says it, else as its arguments do. No text is compared here: that is
 * diff.c's. */
#include "sessionfs/render/files.h"

#include "sessionfs/render/tool.h"

#include "text.h"

#include <stdio.h>
#include <stdlib.h>

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

/* A side of a hunk. Without lines it is where the line before is. */
static void add_range(const char *before, int64_t first, int64_t count, struct buf *out)
{
	first = count ? first : first - 1;
	if (first < (count > 0))
		first = count > 0;
	buf_addf(out, "%s%lld,%lld", before, (long long)first, (long long)count);
}

static void add_hunk(int64_t old_line, int64_t old_count, int64_t new_line, int64_t new_count, struct buf *out)
{
	add_range("@@ -", old_line, old_count, out);
	add_range(" +", new_line, new_count, out);
	buf_adds(out, " @@\n");
}

static void add_names(bool is_new, struct span file, struct buf *out)
{
	buf_adds(out, "--- ");
	buf_addspan(out, is_new ? SPAN_LIT("/dev/null") : file);
	buf_adds(out, "\n+++ ");
	buf_addspan(out, file);
	buf_addc(out, '\n');
}

/* --- the result's own -------------------------------------------------------------- */

/* A row of pi's details.diff; sign '.': rows are left out there. */
struct diff_row {
	char sign;
	int64_t number;
	struct span text;
};

/* A greater number is none that anybody wrote. */
enum { DIGITS = 15 };

static bool read_row(struct span line, struct diff_row *ret)
{
	size_t i = 0, digits;

	while (i < line.n && line.p[i] == ' ')
		i++;
	if (line.n - i == 3 && memcmp(line.p + i, "...", 3) == 0) {
		ret->sign = '.';
		return true;
	}
	if (line.n == 0 || !strchr("+- ", line.p[0]) || !line.p[0])
		return false;
	ret->sign = line.p[0];
	for (i = 1; i < line.n && line.p[i] == ' '; i++)
		;
	ret->number = 0;
	for (digits = 0; i < line.n && line.p[i] >= '0' && line.p[i] <= '9' && digits <= DIGITS; i++, digits++)
		ret->number = ret->number * 10 + (line.p[i] - '0');
	if (digits == 0 || digits > DIGITS || i == line.n || line.p[i] != ' ')
		return false;
	ret->text = (struct span){line.p + i + 1, line.n - i - 1};
	return true;
}

/* Some rows without a gap as a hunk, if one of them is a change. *shift: how many lines more the new file has before it.
 */
static void add_run(struct span run, int64_t *shift, struct buf *out)
{
	int64_t old_count = 0, new_count = 0, before = 0, first = 0;
	struct diff_row row;
	struct span line;
	char sign = ' ';

	for (struct span rest = run; change_next_line(&rest, &line) && read_row(line, &row);) {
		old_count += row.sign != '+';
		new_count += row.sign != '-';
		if (sign == ' ' && row.sign != ' ')
			first = row.number - before;
		if (sign == ' ')
			sign = row.sign;
		before++;
	}
	if (sign == ' ')
		return;
	add_hunk(sign == '+' ? first - *shift : first, old_count, sign == '+' ? first : first + *shift, new_count, out);
	*shift += new_count - old_count;
	while (change_next_line(&run, &line) && read_row(line, &row)) {
		buf_addc(out, row.sign);
		buf_addspan(out, row.text);
		buf_addc(out, '\n');
	}
}

/* Nothing if a row is none. */
static void add_rows(struct span diff, struct buf *out)
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
		add_run((struct span){begin, (size_t)((is_gap ? line.p : end) - begin)}, &shift, out);
		begin = rest.p;
	}
}

/* As a text file: nothing but newlines is no text. */
static void add_patch(struct span patch, struct buf *out)
{
	size_t n = 0;

	while (n < patch.n && patch.p[n] == '\n')
		n++;
	if (n == patch.n)
		return;
	buf_addspan(out, patch);
	if (patch.p[patch.n - 1] != '\n')
		buf_addc(out, '\n');
}

/* --- the arguments ------------------------------------------------------------------ */

static int64_t count_lines(struct span text)
{
	struct span line;
	int64_t n = 0;

	while (change_next_line(&text, &line))
		n++;
	return n;
}

static void change_add_lines(char sign, struct span text, struct buf *out)
{
	struct span line;

	while (change_next_line(&text, &line)) {
		buf_addc(out, sign);
		buf_addspan(out, line);
		buf_addc(out, '\n');
	}
}

static void add_content(struct span content, struct buf *out)
{
	if (content.n == 0)
		return;
	add_hunk(1, 0, 1, count_lines(content), out);
	change_add_lines('+', content, out);
	if (content.p[content.n - 1] != '\n')
		buf_adds(out, "\\ No newline at end of file\n");
}

/* The pieces of a file that an edit names, as if they were all of it. */
struct pieces {
	int64_t old_line, new_line;
	struct buf *out;
};

static int add_piece(void *arg, struct span old_text, struct span new_text)
{
	struct pieces *to = arg;
	int64_t old_count = count_lines(old_text), new_count = count_lines(new_text);

	if (old_count + new_count == 0)
		return 0;
	add_hunk(to->old_line, old_count, to->new_line, new_count, to->out);
	change_add_lines('-', old_text, to->out);
	change_add_lines('+', new_text, to->out);
	to->old_line += old_count;
	to->new_line += new_count;
	return 0;
}

/* --- all of them ---------------------------------------------------------------------- */

static int add_of_arguments(const struct part_call *call, enum file_action action, struct buf *out)
{
	struct tool_use use CLEANUP_TOOL = TOOL_USE_INIT;
	struct pieces pieces = {1, 1, out};
	struct buf content CLEANUP_BUF = BUF_INIT;

	tool_read(call->name, call->arguments, &use);
	if (use.edits.kind != JSON_ARRAY || use.edits_text.n)
		use.edits.kind = JSON_NONE;
	if (action == FILE_EDIT)
		return tool_edits(&use, add_piece, &pieces);
	if (use.content.kind)
		json_decode(use.content.text, JSON_CLEAN, &content);
	add_content(buf_span(&content), out);
	return buf_err(&content);
}

/* Takes the names back if no hunk follows them. */
static bool end_names(struct buf *out, size_t start, size_t names)
{
	if (out->n == names)
		out->n = start;
	return out->n > start;
}

int render_change(const struct session *s, const struct part_call *call, uint32_t result, struct buf *out)
{
	static const struct span names[] = {SPAN_LIT("patch"), SPAN_LIT("diff")};
	struct buf file CLEANUP_BUF = BUF_INIT, patch CLEANUP_BUF = BUF_INIT, diff CLEANUP_BUF = BUF_INIT;
	struct line line CLEANUP_LINE = LINE_INIT;
	enum file_action action = file_action_of(call->name);
	struct json_value own[2] = {0};
	struct record r;
	size_t start = out->n;

	if (action <= FILE_READ || file_outcome_of(s, result) != FILE_DONE || !file_of_call(s, call, &file))
		return buf_err(&file);
	text_one_line(&file, 0);
	int rc = session_load(s, result, &line, &r);
	if (rc == 0 && r.msg.details.kind == JSON_OBJECT)
		json_get_all(r.msg.details, names, 2, own);
	if (own[0].kind == JSON_STRING)
		json_decode(own[0].text, JSON_CLEAN, &patch);
	if (own[1].kind == JSON_STRING)
		json_decode(own[1].text, JSON_CLEAN, &diff);
	if (rc < 0 || buf_err(&patch) || buf_err(&diff))
		return rc < 0 ? rc : buf_err(&patch) ? buf_err(&patch) : buf_err(&diff);
	add_patch(buf_span(&patch), out);
	if (out->n > start)
		return buf_err(out);
	add_names(false, buf_span(&file), out);
	size_t end = out->n;
	add_rows(buf_span(&diff), out);
	if (end_names(out, start, end))
		return buf_err(out);
	add_names(action == FILE_WRITE, buf_span(&file), out);
	end = out->n;
	rc = add_of_arguments(call, action, out);
	end_names(out, start, end);
	return rc < 0 ? rc : buf_err(out);
}

/* The count of a range at p, and where that ends. */
static unsigned long take_count(const char *p, const char **ret_end)
{
	char *end;
	unsigned long n = 1;

	strtoul(p, &end, 10);
	if (*end == ',')
		n = strtoul(end + 1, &end, 10);
	*ret_end = end;
	return n;
}

void change_count(struct span diff, uint64_t *ret_added, uint64_t *ret_removed)
{
	unsigned long old_left = 0, new_left = 0;
	char head[80];
	struct span line;

	*ret_added = *ret_removed = 0;
	while (change_next_line(&diff, &line)) {
		char sign = line.n ? *line.p : ' ';
		if (old_left + new_left == 0 && span_begins(line, SPAN_LIT("@@ -"))) {
			const char *p = head;
			snprintf(head, sizeof head, "%.*s", (int)(line.n < sizeof head ? line.n : sizeof head), line.p);
			old_left = take_count(head + 4, &p);
			new_left = *p == ' ' && p[1] == '+' ? take_count(p + 2, &p) : 0;
		} else if (old_left + new_left && sign != '\\') {
			*ret_added += sign == '+';
			*ret_removed += sign == '-';
			old_left -= sign != '+' && old_left;
			new_left -= sign != '-' && new_left;
		}
	}
}
