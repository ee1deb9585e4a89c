/* SPDX-License-Identifier: MIT */
/* Conversations as Markdown. A line of session text is unchanged in the file, so that grep -x finds it; added text is
 * on lines of its own. Tool output is fenced, with a fence longer than any run of backticks in it. A fence that a text
 * leaves open is closed, so that a viewer does not show the rest of the conversation as code.
 *
 * Text is decoded directly from the session's line into `out`, without a pass over its bytes. */
#include "sessionfs/base/name.h"
#include "sessionfs/base/number.h"
#include "sessionfs/render/html.h"
#include "sessionfs/render/tool.h"
#include "sessionfs/session/context.h"

#include "heading_fields.h"
#include "md.h"
#include "pieces.h"
#include "text.h"

enum { DIAGNOSTIC_CHARACTERS = 200 };

/* --- text with unchanged lines --------------------------------------------------- */

/* Ends the last line, if `out` has any text. */
static void md_end_line(struct buf *out)
{
	if (out->n > 0 && out->p[out->n - 1] != '\n')
		buf_addc(out, '\n');
}

static size_t run_length(char c, const char *p, const char *end)
{
	const char *q = p;
	while (q < end && *q == c)
		q++;
	return (size_t)(q - p);
}

/* Returns the length of the longest run of a character. */
static size_t longest_run(char c, struct span text)
{
	const char *end = text.p + text.n;
	size_t longest = 0;

	for (const char *p = text.p; p < end && (p = memchr(p, c, (size_t)(end - p)));) {
		size_t run = run_length(c, p, end);
		if (run > longest)
			longest = run;
		p += run;
	}
	return longest;
}

/* Passes over blanks. Returns the column after them. */
static unsigned skip_blanks(const char **p, const char *eol, unsigned column)
{
	for (; *p < eol && (**p == ' ' || **p == '\t'); ++*p)
		column = **p == '\t' ? (column | 3) + 1 : column + 1;
	return column;
}

/* Returns the length of the mark that begins an item of a list, or 0. */
static unsigned item_mark_size(const char *p, const char *eol)
{
	unsigned n = 0;

	while (n < 9 && p + n < eol && p[n] >= '0' && p[n] <= '9')
		n++;
	bool is_mark = p + n < eol && strchr(n > 0 ? ".)" : "-+*", p[n]);
	return is_mark && p + ++n < eol && (p[n] == ' ' || p[n] == '\t') ? n : 0;
}

enum { ITEM_COLUMNS_MAX = 60 };

/* Returns the length of a fence that the text opens and, by Markdown's rules, does not close; 0 without one. The end of
 * an item of a list closes the fences in it. */
static size_t unclosed_fence_size(struct span text, char *ret_c)
{
	const char *end = text.p + text.n;
	uint64_t items = 1; /* the columns where the text and the items of lists begin */
	unsigned from = 0;  /* the last of them */
	size_t open = 0;

	if (longest_run('`', text) < 3 && longest_run('~', text) < 3)
		return 0;
	for (const char *p = text.p, *eol; p < end; p = eol + 1) {
		eol = memchr(p, '\n', (size_t)(end - p));
		eol = eol ? eol : end;
		unsigned column = skip_blanks(&p, eol, 0), mark;
		if (p == eol || *p == '\r')
			continue;
		open = column < from ? 0 : open;
		while (!open && column < ITEM_COLUMNS_MAX) {
			items &= (UINT64_C(2) << column) - 1;
			from = 63 - (unsigned)__builtin_clzll(items);
			mark = column < from + 4 ? item_mark_size(p, eol) : 0;
			if (mark == 0)
				break;
			p += mark;
			unsigned begin = column + mark + 1;
			column = skip_blanks(&p, eol, begin - 1);
			items |= UINT64_C(1) << (column < begin + 4 ? column : begin);
		}
		size_t run = p < eol && column < from + 4 ? run_length(open ? *ret_c : *p, p, eol) : 0;
		const char *rest = p + run;
		if (open) {
			skip_blanks(&rest, eol, 0);
			open = run >= open && (rest == eol || *rest == '\r') ? 0 : open;
		} else if (run >= 3 && (*p == '~' || (*p == '`' && !memchr(rest, '`', (size_t)(eol - rest))))) {
			open = run;
			*ret_c = *p;
		}
	}
	return from == 0 ? open : 0;
}

static void add_repeated(char c, size_t n, struct buf *out)
{
	char *to = buf_reserve(out, n);
	if (!to)
		return;
	memset(to, c, n);
	out->n += n;
}

void md_end_paragraph(size_t start, struct buf *out)
{
	char c = 0;

	md_end_line(out);
	if (buf_err(out))
		return;
	size_t open = unclosed_fence_size((struct span){out->p + start, out->n - start}, &c);
	if (open == 0)
		return;
	add_repeated(c, open, out);
	buf_addc(out, '\n');
}

void md_add_paragraph(struct json_value v, struct buf *out)
{
	buf_addc(out, '\n');
	size_t start = out->n;
	json_decode(v.text, JSON_CLEAN, out);
	md_end_paragraph(start, out);
}

/* Begins a fence; md_end_fence makes it longer than any run of backticks in the text between. */
static size_t md_begin_fence(const char *info, struct buf *out)
{
	buf_adds(out, "\n```");
	size_t mark = out->n;
	buf_adds(out, info);
	buf_addc(out, '\n');
	return mark;
}

/* The fence began with the usual length: makes it longer if necessary. */
static void md_end_fence(size_t mark, struct buf *out)
{
	md_end_line(out);
	if (buf_err(out))
		return;
	size_t run = longest_run('`', (struct span){out->p + mark, out->n - mark});
	size_t more = run >= 3 ? run - 2 : 0;
	if (!buf_reserve(out, more))
		return;
	if (more > 0) {
		memmove(out->p + mark + more, out->p + mark, out->n - mark);
		memset(out->p + mark, '`', more);
		out->n += more;
	}
	add_repeated('`', 3 + more, out);
	buf_addc(out, '\n');
}

static void md_add_fenced(const char *info, struct json_value v, struct buf *out)
{
	size_t mark = md_begin_fence(info, out);

	json_decode(v.text, JSON_CLEAN, out);
	md_end_fence(mark, out);
}

void md_add_code_span(struct span clean, struct buf *out)
{
	size_t ticks = longest_run('`', clean) + 1;

	if (clean.n == 0)
		return;
	bool padded = clean.p[0] == '`' || clean.p[clean.n - 1] == '`';
	add_repeated('`', ticks, out);
	buf_adds(out, padded ? " " : "");
	buf_addspan(out, clean);
	buf_adds(out, padded ? " " : "");
	add_repeated('`', ticks, out);
}

/* --- headings ------------------------------------------------------------------ */

void md_add_unseen(const struct record *r, struct buf *out)
{
	struct json_value model = json_get(r->msg.details, "imageUnsupportedByModel");
	size_t start;

	if (!md_has_text(model))
		return;
	buf_adds(out, DOT "picture not sent to ");
	start = out->n;
	text_add_inline(model, out);
	text_shorten_from(out, start, DIAGNOSTIC_CHARACTERS);
}

static void md_add_call_field(const struct md *m)
{
	unsigned n = 0;
	uint32_t caller = session_call(m->s, m->entry, &n);

	if (caller != NO_ENTRY) {
		buf_adds(m->out, DOT "call ");
		number_add_unsigned(n, m->out);
		buf_adds(m->out, " of ");
		session_entry_name(m->s, caller, m->out);
	}
	buf_adds(m->out, json_is_truthy(m->r->msg.is_error) ? DOT "error" : "");
	md_add_unseen(m->r, m->out);
}

static void md_add_heading_field(const struct md *m, const struct heading_field *f)
{
	double code = 0;

	if (f->kind == HEADING_CALL) {
		md_add_call_field(m);
		return;
	}
	buf_adds(m->out, f->continues ? " " : DOT);
	buf_adds(m->out, f->before);
	if (f->provider.kind > JSON_NULL) {
		text_add_inline(f->provider, m->out);
		buf_addc(m->out, '/');
	}
	if (f->kind == HEADING_EXIT && json_double(f->v, &code))
		number_add(code, m->out);
	else
		text_add_inline(f->v, m->out);
	buf_adds(m->out, f->kind == HEADING_TOKENS ? " tokens before" : "");
}

void md_add_label(const struct md *m)
{
	struct buf label CLEANUP_BUF = BUF_INIT;

	if (!session_label(m->s, m->entry, &label))
		return;
	buf_adds(m->out, DOT "[");
	text_add_inline_exact(buf_span(&label), m->out);
	buf_addc(m->out, ']');
}

/* Appends the entry's heading without its mark. `what`, if given, replaces the role or type. */
static void md_show_heading(const struct md *m, const char *what)
{
	int64_t time = session_entry(m->s, m->entry)->time;
	size_t start = m->out->n;

	if (what)
		buf_adds(m->out, what);
	else
		text_add_role(m->r, m->out);
	if (m->out->n == start)
		buf_adds(m->out, m->r->kind == JSON_OBJECT ? "no type" : "no object");
	buf_adds(m->out, DOT);
	session_entry_name(m->s, m->entry, m->out);
	if (time != NO_TIME) {
		buf_adds(m->out, DOT);
		number_add_time((double)time, m->out);
	}
	struct heading_field facts[HEADING_FIELDS_MAX];
	unsigned n = what ? 0 : heading_fields_of_record(m->r, facts);
	for (unsigned i = 0; i < n; i++)
		md_add_heading_field(m, &facts[i]);
	md_add_label(m);
}

/* --- calls ---------------------------------------------------------------------- */

static void md_add_fenced_buf(const char *info, const struct buf *text, struct buf *out)
{
	size_t mark = md_begin_fence(info, out);

	buf_addspan(out, buf_span(text));
	md_end_fence(mark, out);
}

/* Shows the main argument of the call as text, and the other arguments as JSON. */
static void md_show_call(struct md *m, const struct block *b)
{
	struct buf path CLEANUP_BUF = BUF_INIT, diff CLEANUP_BUF = BUF_INIT;
	struct buf facts CLEANUP_BUF = BUF_INIT, rest CLEANUP_BUF = BUF_INIT;
	struct tool_use u CLEANUP_TOOL = TOOL_USE_INIT;
	struct buf *out = m->out;
	unsigned added, removed;

	tool_read(b->name, b->arguments, &u);
	int rc = tool_diff(&u, &diff, &added, &removed);
	if (u.form == TOOL_EDIT && diff.n == 0)
		u.shown_arguments = 0;
	text_add_inline(u.path, &path);
	if (path.n > TOOL_PATH)
		text_shorten_from(&path, 0, TOOL_PATH);
	tool_add_remaining(&u, &facts, &rest);
	rc = buf_err(&path) ? buf_err(&path) : rc;
	rc = buf_err(&facts) ? buf_err(&facts) : rc;
	rc = buf_err(&rest) ? buf_err(&rest) : rc;
	if (rc < 0) {
		out->err = rc;
		return;
	}

	buf_addf(out, "\n### call %u: ", b->n);
	text_add_inline(u.name, out);
	if (path.n > 0) {
		buf_addc(out, ' ');
		md_add_code_span(buf_span(&path), out);
	}
	tool_add_line_range(&u, out);
	if (added)
		buf_addf(out, " +%u", added);
	if (removed)
		buf_addf(out, " -%u", removed);
	buf_addspan(out, buf_span(&facts));
	buf_addc(out, '\n');
	if (diff.n > 0)
		md_add_fenced_buf("diff", &diff, out);
	if (u.form == TOOL_WRITE && u.content.kind)
		md_add_fenced(tool_file_language(&u), u.content, out);
	if (u.form == TOOL_BASH)
		md_add_fenced("bash", u.command, out);
	if (rest.n > 0)
		md_add_fenced_buf("json", &rest, out);
	m->thinking = false;
}

/* --- output ----------------------------------------------------------------- */

/* The call is in another line. Reading it must not cost more than showing the output: a message can be long and have
 * many calls. */
enum { CALL_SIZE_FREE = 8192, CALL_SIZE_FACTOR = 4 };

/* Sets *ret to the language of a tool's output: the language of the file that the call read, or "". Returns 0 or a
 * negative errno. */
static int output_language(const struct md *m, const char **ret)
{
	struct tool_use u CLEANUP_TOOL = TOOL_USE_INIT;
	struct line line CLEANUP_LINE = LINE_INIT;
	struct part_call call = {.n = 0};
	struct record r;
	unsigned n = 0;

	*ret = "";
	if (json_is_truthy(m->r->msg.is_error) || file_action_of(m->r->msg.tool_name) != FILE_READ)
		return 0;
	uint32_t caller = session_call(m->s, m->entry, &n);
	if (caller == NO_ENTRY ||
	    session_entry(m->s, caller)->length / CALL_SIZE_FACTOR > m->r->line.n + CALL_SIZE_FREE)
		return 0;
	int rc = session_load(m->s, caller, &line, &r);
	while (rc == 0 && call.n < n && part_call_next(&r, &call))
		;
	if (rc < 0 || n == 0 || call.n != n)
		return rc;
	tool_read(call.name, call.arguments, &u);
	*ret = u.form == TOOL_READ ? tool_file_language(&u) : "";
	return 0;
}

/* --- blocks ----------------------------------------------------------------- */

static void md_show_text(struct md *m, struct json_value v)
{
	if (!md_has_text(v))
		return;
	if (m->thinking)
		buf_adds(m->out, "\n### text\n");
	m->thinking = false;
	if (m->language)
		md_add_fenced(m->language, v, m->out);
	else
		md_add_paragraph(v, m->out);
}

void md_add_image(const struct md *m, const struct block *b)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	struct part_image image = {0};

	if (m->has_images)
		part_image_of(b, &image);
	if (image.size > 0 && image.type) {
		session_entry_name(m->s, m->entry, &name);
		buf_addf(m->out, "![image %u](%sentries/", image.n, m->prefix);
		html_add_url(buf_span(&name), m->out);
		buf_addf(m->out, "/images/%u.%s)", image.n, image.ext);
		m->out->err = buf_err(&name) ? buf_err(&name) : m->out->err;
		return;
	}
	buf_adds(m->out, "*image");
	if (md_has_text(b->mime_type)) {
		buf_adds(m->out, DOT);
		text_add_inline(b->mime_type, m->out);
	}
	buf_addc(m->out, '*');
}

void md_show_image(const struct md *m, const struct block *b)
{
	buf_addc(m->out, '\n');
	md_add_image(m, b);
	buf_addc(m->out, '\n');
}

static void md_show_block(struct md *m, const struct block *b)
{
	switch (b->type) {
	case BLOCK_TEXT:
		md_show_text(m, b->text);
		return;
	case BLOCK_THINKING:
		buf_adds(m->out, json_is_truthy(b->redacted) ? "\n### thinking (redacted)\n" : "\n### thinking\n");
		if (md_has_text(b->thinking))
			md_add_paragraph(b->thinking, m->out);
		m->thinking = true;
		return;
	case BLOCK_IMAGE:
		md_show_image(m, b);
		return;
	case BLOCK_TOOL_CALL:
		md_show_call(m, b);
		return;
	case BLOCK_OTHER:
		buf_adds(m->out, "\n*block");
		if (md_has_text(b->type_)) {
			buf_adds(m->out, DOT);
			text_add_inline(b->type_, m->out);
		}
		buf_adds(m->out, "*\n");
		return;
	}
}

static void md_show_content(struct md *m, struct json_value content)
{
	struct block_iter it;
	struct block b;

	block_iter_init_of(&it, m->r, content);
	while (block_next(&it, &b))
		md_show_block(m, &b);
}

/* --- bodies ----------------------------------------------------------------- */

static void md_show_bash(const struct record *r, struct buf *out)
{
	size_t mark = md_begin_fence("console", out);

	buf_adds(out, "$ ");
	if (r->msg.command.kind == JSON_STRING)
		json_decode(r->msg.command.text, JSON_CLEAN, out);
	md_end_line(out);
	if (md_has_text(r->msg.output))
		json_decode(r->msg.output.text, JSON_CLEAN, out);
	md_end_fence(mark, out);
	if (!md_has_text(r->msg.full_output_path))
		return;
	buf_adds(out, "\n*full output: ");
	text_add_inline(r->msg.full_output_path, out);
	buf_adds(out, "*\n");
}

/* Appends a reason, unless it is that before it. */
static void add_diagnostic_reason(struct json_value of, const char *name, struct span *last, struct buf *out)
{
	struct json_value v = json_get(of, name);

	if (!md_has_text(v) || span_eq(v.text, *last))
		return;
	*last = v.text;
	buf_adds(out, DOT);
	text_add_inline(v, out);
}

void md_add_diagnostics(const struct record *r, const char *begin, const char *end, bool is_html, struct buf *out)
{
	static const struct span names[] = {SPAN_LIT("type"), SPAN_LIT("details"), SPAN_LIT("error")};
	struct json_value one, change, changes, v[3];
	struct buf deep CLEANUP_BUF = BUF_INIT;
	struct json j, k;

	json_init(&j, r->msg.diagnostics.text, &deep);
	if (r->role != ROLE_ASSISTANT || r->msg.diagnostics.kind != JSON_ARRAY)
		return;
	json_enter(&j);
	while (json_next(&j, NULL) > 0 && json_value(&j, &one)) {
		struct span last = {NULL, 0};
		size_t start = out->n + strlen(begin);
		json_get_all(one, names, 3, v);
		if (!md_has_text(v[0]))
			continue;
		buf_adds(out, begin);
		text_add_inline(v[0], out);
		add_diagnostic_reason(v[1], "reason", &last, out);
		changes = json_get(v[1], "transformations");
		json_init(&k, changes.text, &deep);
		json_enter(&k);
		while (changes.kind == JSON_ARRAY && json_next(&k, NULL) > 0 && json_value(&k, &change))
			add_diagnostic_reason(change, "reason", &last, out);
		if (last.n == 0)
			add_diagnostic_reason(v[2], "message", &last, out);
		text_shorten_from(out, start, DIAGNOSTIC_CHARACTERS);
		if (is_html)
			html_escape_from(out, start);
		buf_adds(out, end);
	}
}

/* Appends the sections and tools of a system message, and which sections it removes. */
static void md_show_system(struct md *m, struct json_value message)
{
	struct json_value sections = json_get(message, "sections"), key, v;
	struct buf own CLEANUP_BUF = BUF_INIT, deep CLEANUP_BUF = BUF_INIT;
	struct json j;

	md_show_text(m, text_of_system(message, &own));
	m->out->err = buf_err(&own) ? buf_err(&own) : m->out->err;
	json_init(&j, sections.text, &deep);
	json_enter(&j);
	while (sections.kind == JSON_OBJECT && json_next(&j, &key) > 0 && json_value(&j, &v)) {
		if (v.kind != JSON_NULL)
			continue;
		buf_adds(m->out, "\n*section ");
		text_add_inline(key, m->out);
		buf_adds(m->out, " removed*\n");
	}
}

static void md_show_message(struct md *m, struct json_value content)
{
	const struct record *r = m->r;

	if (r->role == ROLE_BASH_EXECUTION) {
		md_show_bash(r, m->out);
		return;
	}
	if (r->role == ROLE_TOOL_RESULT) {
		int rc = output_language(m, &m->language);
		if (rc < 0)
			m->out->err = rc;
	}
	md_show_content(m, content);
	m->language = NULL;
	m->thinking = false;
	if (r->role == ROLE_SYSTEM)
		md_show_system(m, r->message);
	md_show_text(m, part_summary(r));
	md_add_diagnostics(r, "\n*", "*\n", false, m->out);
	if (r->type != RECORD_MESSAGE || !md_has_text(r->msg.error_message))
		return;
	buf_adds(m->out, "\n### error\n");
	md_show_text(m, r->msg.error_message);
}

bool render_transcript_exists(const struct session *s, uint32_t at)
{
	uint32_t ring = NO_ENTRY;

	for (uint32_t i = at; i != NO_ENTRY; i = session_walk_parent(s, i, &ring))
		if (!(session_entry(s, i)->flags & ENTRY_NO_MESSAGE))
			return true;
	return false;
}

static int transcript_segment(const struct render_target *p, const void *item, bool is_first, struct reader *reader,
                              struct usage *usage, struct buf *out)
{
	const struct session *s = p->session;
	uint32_t i = *(const uint32_t *)item;
	const struct entry *e = session_entry(s, i);
	struct record r;

	(void)is_first;
	if (e->flags & ENTRY_NO_MESSAGE && !usage)
		return 0;
	int rc = session_read(s, i, reader, &r);
	if (rc < 0)
		return rc;
	/* An entry without text can have usage. */
	if (usage)
		usage_add(usage, usage_from_json(part_usage(&r)));
	if (e->flags & ENTRY_NO_MESSAGE)
		return 0;
	struct md m = {.s = s, .entry = i, .r = &r, .prefix = p->prefix, .out = out, .has_images = true};
	bool conversation = record_is_conversation(r.type);
	buf_adds(out, conversation ? "\n## " : "\n*");
	md_show_heading(&m, NULL);
	buf_adds(out, conversation ? "\n" : "*\n");
	md_show_message(&m, part_content(&r));
	return buf_err(out);
}

/* A segment depends only on its entry, its label and its ancestors. */
const struct producer producer_transcript_md = {
    .item_size = sizeof(uint32_t),
    .list = path_items,
    .list_appended = path_items_newer,
    .has_labels = true,
    .front = front_matter_add,
    .segment = transcript_segment,
};

/* --- context.md ------------------------------------------------------------- */

static int md_context_segment(const struct render_target *p, const void *of, bool is_first, struct reader *reader,
                              struct usage *usage, struct buf *out)
{
	const struct context_item *item = of;
	const struct session *s = p->session;
	struct line edit_line CLEANUP_LINE = LINE_INIT;
	struct record r, edit;

	(void)is_first, (void)usage;
	int rc = session_read(s, item->entry, reader, &r);
	if (rc == 0 && item->edit != NO_ENTRY)
		rc = session_load(s, item->edit, &edit_line, &edit);
	if (rc < 0 || !context_is_sent(&r))
		return rc;
	struct md m = {.s = s, .entry = item->entry, .r = &r, .prefix = p->prefix, .out = out, .has_images = true};
	bool system = item->kind == CONTEXT_SYSTEM;
	buf_adds(out, "\n## ");
	md_show_heading(&m, system ? "system" : NULL);
	buf_adds(out, item->edit != NO_ENTRY && !system ? DOT "edited\n" : "\n");
	if (system) {
		m.has_images = false;
		md_show_content(&m, json_get(r.system_message, "content"));
		md_show_system(&m, r.system_message);
	} else if (item->edit != NO_ENTRY) {
		struct json_value content = json_get(edit.replacement, "content");
		m.has_images = false;
		if (r.type == RECORD_MESSAGE)
			md_show_message(&m, content);
		else
			md_show_content(&m, content);
	} else {
		md_show_message(&m, part_content(&r));
	}
	return buf_err(out);
}

const struct producer producer_context_md = {
    .item_size = sizeof(struct context_item),
    .list = context_items,
    .front = front_matter_add_path,
    .segment = md_context_segment,
};
