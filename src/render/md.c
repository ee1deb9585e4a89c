/* Conversations as Markdown. A line of text stands in the file as it was said, so
 * that grep -x finds it; what we add stands on lines of its own. Output of tools is
 * fenced, with a fence longer than any run of backticks in it. A fence that a text
 * leaves open is closed, so that a viewer does not take the rest of the conversation
 * for code.
 *
 * Text is decoded straight from the session's line into `out`; nothing looks at
 * its bytes one by one. */
#include "sessionfs/session/context.h"
#include "sessionfs/base/name.h"
#include "sessionfs/base/number.h"
#include "sessionfs/session/part.h"

#include "pieces.h"
#include "text.h"

#define DOT " · "

/* Everything that showing one entry needs. */
struct md {
	const struct session *s;
	uint32_t entry;
	const struct record *r;
	const char *prefix;
	struct buf *out;
	struct part_image image; /* the last one shown, to find the next */
	unsigned calls;
	bool has_images; /* images of this content are files of the entry */
	bool fenced;     /* text is output of a tool */
	bool thinking;   /* the last text shown was thinking */
};

/* --- text ------------------------------------------------------------------- */

static void end_line(struct buf *out)
{
	if (out->n > 0 && out->p[out->n - 1] != '\n')
		buf_addc(out, '\n');
}

static bool has_text(struct json_value v)
{
	return v.kind == JSON_STRING && v.text.n > 0;
}

static size_t run_of(char c, const char *p, const char *end)
{
	const char *q = p;
	while (q < end && *q == c)
		q++;
	return (size_t)(q - p);
}

/* The longest run of a character. */
static size_t longest_run(char c, struct span text)
{
	const char *end = text.p + text.n;
	size_t longest = 0;

	for (const char *p = text.p; p < end && (p = memchr(p, c, (size_t)(end - p)));) {
		size_t run = run_of(c, p, end);
		if (run > longest)
			longest = run;
		p += run;
	}
	return longest;
}

/* The length of the fence that the text opens and, by Markdown's rules, does not close; 0: none. */
static size_t open_fence(struct span text, char *ret_c)
{
	const char *end = text.p + text.n;
	size_t open = 0;
	char c = '`';

	if (longest_run('`', text) < 3 && longest_run('~', text) < 3)
		return 0;
	for (const char *p = text.p, *eol; p < end; p = eol + 1) {
		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			eol = end;
		p += run_of(' ', p, eol);
		if (p == eol || (open ? *p != c : *p != '`' && *p != '~'))
			continue;
		size_t run = run_of(*p, p, eol);
		const char *rest = p + run;
		if (open) {
			rest += run_of(' ', rest, eol);
			if (run >= open && (rest == eol || *rest == '\r'))
				open = 0;
		} else if (run >= 3 && (*p == '~' || !memchr(rest, '`', (size_t)(eol - rest)))) {
			open = run;
			c = *p;
		}
	}
	*ret_c = c;
	return open;
}

static void add_many(char c, size_t n, struct buf *out)
{
	char *to = buf_reserve(out, n);
	if (!to)
		return;
	memset(to, c, n);
	out->n += n;
}

static void plain_text(struct json_value v, struct buf *out)
{
	char c = 0;

	buf_addc(out, '\n');
	size_t start = out->n;
	json_decode(v.text, JSON_CLEAN, out);
	end_line(out);
	if (buf_err(out))
		return;
	size_t open = open_fence((struct span){out->p + start, out->n - start}, &c);
	if (open == 0)
		return;
	add_many(c, open, out);
	buf_addc(out, '\n');
}

/* A fence is written before its contents are known: begin with the usual one, and lengthen it if need be. */
static size_t begin_fence(const char *info, struct buf *out)
{
	buf_adds(out, "\n```");
	size_t mark = out->n;
	buf_adds(out, info);
	buf_addc(out, '\n');
	return mark;
}

static void end_fence(size_t mark, struct buf *out)
{
	end_line(out);
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
	add_many('`', 3 + more, out);
	buf_addc(out, '\n');
}

static void fenced_text(struct json_value v, struct buf *out)
{
	size_t mark = begin_fence("", out);

	json_decode(v.text, JSON_CLEAN, out);
	end_fence(mark, out);
}

static void fenced_json(struct json_value v, struct buf *out)
{
	size_t mark = begin_fence("json", out);
	size_t start = out->n;

	json_pretty(v, out);
	text_make_clean(out, start);
	end_fence(mark, out);
}

/* --- blocks ----------------------------------------------------------------- */

static void show_text(struct md *m, struct json_value v)
{
	if (!has_text(v))
		return;
	if (m->thinking)
		buf_adds(m->out, "\n### text\n");
	m->thinking = false;
	if (m->fenced)
		fenced_text(v, m->out);
	else
		plain_text(v, m->out);
}

static void show_thinking(struct md *m, const struct block *b)
{
	buf_adds(m->out, json_truthy(b->redacted) ? "\n### thinking (redacted)\n" : "\n### thinking\n");
	if (has_text(b->thinking))
		plain_text(b->thinking, m->out);
	m->thinking = true;
}

static void add_url(struct span path, struct buf *out)
{
	static const char plain[] = "-._~/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	for (size_t i = 0; i < path.n; i++) {
		if (path.p[i] && strchr(plain, path.p[i]))
			buf_addc(out, path.p[i]);
		else
			buf_addf(out, "%%%02X", (unsigned char)path.p[i]);
	}
}

static void show_image(struct md *m, const struct block *b)
{
	struct buf name CLEANUP_BUF = BUF_INIT;

	if (m->has_images && part_image_next(m->r, &m->image) && m->image.size > 0) {
		session_entry_name(m->s, m->entry, &name);
		buf_addf(m->out, "\n![image %u](%sentries/", m->image.n, m->prefix);
		add_url(buf_span(&name), m->out);
		buf_addf(m->out, "/images/%u.%s)\n", m->image.n, m->image.ext);
		return;
	}
	buf_adds(m->out, "\n*image");
	if (has_text(b->mime_type)) {
		buf_adds(m->out, DOT);
		text_inline(b->mime_type, m->out);
	}
	buf_adds(m->out, "*\n");
}

static void show_call(struct md *m, const struct block *b)
{
	buf_adds(m->out, "\n### call ");
	number_add_unsigned(++m->calls, m->out);
	buf_adds(m->out, ": ");
	text_inline(b->name, m->out);
	buf_addc(m->out, '\n');
	if (b->arguments.kind != JSON_NONE)
		fenced_json(b->arguments, m->out);
	m->thinking = false;
}

static void show_block(struct md *m, const struct block *b)
{
	switch (b->type) {
	case BLOCK_TEXT:
		show_text(m, b->text);
		return;
	case BLOCK_THINKING:
		show_thinking(m, b);
		return;
	case BLOCK_IMAGE:
		show_image(m, b);
		return;
	case BLOCK_TOOL_CALL:
		show_call(m, b);
		return;
	case BLOCK_OTHER:
		buf_adds(m->out, "\n*block");
		if (has_text(b->type_)) {
			buf_adds(m->out, DOT);
			text_inline(b->type_, m->out);
		}
		buf_adds(m->out, "*\n");
		return;
	}
}

static void show_content(struct md *m, struct json_value content)
{
	if (content.kind == JSON_STRING) {
		show_text(m, content);
		return;
	}
	if (content.kind != JSON_ARRAY)
		return;
	struct block_iter it;
	struct block b;
	block_iter_init_of(&it, m->r, content);
	while (block_next(&it, &b))
		show_block(m, &b);
}

/* --- bodies ----------------------------------------------------------------- */

static void show_bash(const struct record *r, struct buf *out)
{
	size_t mark = begin_fence("", out);

	buf_adds(out, "$ ");
	if (r->msg.command.kind == JSON_STRING)
		json_decode(r->msg.command.text, JSON_CLEAN, out);
	end_line(out);
	if (has_text(r->msg.output))
		json_decode(r->msg.output.text, JSON_CLEAN, out);
	end_fence(mark, out);
	if (!has_text(r->msg.full_output_path))
		return;
	buf_adds(out, "\n*full output: ");
	text_inline(r->msg.full_output_path, out);
	buf_adds(out, "*\n");
}

/* Names of the tools in a list of them. */
static void show_tools(const char *what, struct json_value list, struct buf *out)
{
	struct json j;
	struct json_value tool;
	const char *between = " ";

	if (list.kind != JSON_ARRAY)
		return;
	json_init(&j, list.text, NULL);
	if (json_enter(&j) != JSON_ARRAY)
		return;
	buf_addf(out, "\n*%s:", what);
	while (json_next(&j, NULL) > 0 && json_value(&j, &tool)) {
		buf_adds(out, between);
		between = ", ";
		text_inline(tool.kind == JSON_OBJECT ? json_get(tool, "name") : tool, out);
	}
	buf_adds(out, "*\n");
}

/* The text of a system message is in `content` and in sections; a section replaces an earlier one of the same name. */
static void show_system(struct md *m, struct json_value message)
{
	struct json_value sections = json_get(message, "sections"), key, v;
	struct json j;

	if (sections.kind == JSON_OBJECT) {
		json_init(&j, sections.text, NULL);
		json_enter(&j);
		while (json_next(&j, &key) > 0 && json_value(&j, &v)) {
			buf_adds(m->out, "\n### section ");
			text_inline(key, m->out);
			buf_adds(m->out, v.kind == JSON_NULL ? " (removed)\n" : "\n");
			show_text(m, v);
		}
	}
	show_tools("tools added", json_get(message, "toolsAdded"), m->out);
	show_tools("tools removed", json_get(message, "toolsRemoved"), m->out);
}

static void show_message(struct md *m, struct json_value content)
{
	const struct record *r = m->r;

	if (r->role == ROLE_BASH_EXECUTION) {
		show_bash(r, m->out);
		return;
	}
	m->fenced = r->role == ROLE_TOOL_RESULT;
	show_content(m, content);
	m->fenced = m->thinking = false;
	if (r->role == ROLE_SYSTEM)
		show_system(m, r->message);
	show_text(m, r->msg.summary);
	if (!has_text(r->msg.error_message))
		return;
	buf_adds(m->out, "\n### error\n");
	show_text(m, r->msg.error_message);
}

static void show_body(struct md *m)
{
	switch (m->r->type) {
	case RECORD_MESSAGE:
		show_message(m, m->r->msg.content);
		return;
	case RECORD_CUSTOM_MESSAGE:
		show_content(m, m->r->content);
		return;
	case RECORD_COMPACTION:
	case RECORD_BRANCH_SUMMARY:
		show_text(m, m->r->summary);
		return;
	default:
		return;
	}
}

/* --- headings --------------------------------------------------------------- */

static void add_dotted(struct json_value v, struct buf *out)
{
	if (v.kind <= JSON_NULL)
		return;
	buf_adds(out, DOT);
	text_inline(v, out);
}

static void add_flag(bool set, const char *what, struct buf *out)
{
	if (!set)
		return;
	buf_adds(out, DOT);
	buf_adds(out, what);
}

static void add_model(struct json_value provider, struct json_value model, struct buf *out)
{
	if (model.kind <= JSON_NULL)
		return;
	buf_adds(out, DOT);
	if (provider.kind > JSON_NULL) {
		text_inline(provider, out);
		buf_addc(out, '/');
	}
	text_inline(model, out);
}

static void add_answered_call(const struct md *m)
{
	unsigned n = 0;
	uint32_t caller = session_call(m->s, m->entry, &n);

	add_dotted(m->r->msg.tool_name, m->out);
	if (caller != NO_ENTRY) {
		buf_adds(m->out, DOT "call ");
		number_add_unsigned(n, m->out);
		buf_adds(m->out, " of ");
		session_entry_name(m->s, caller, m->out);
	}
	add_flag(json_truthy(m->r->msg.is_error), "error", m->out);
}

static void add_message_facts(const struct md *m)
{
	const struct record *r = m->r;
	double code;

	switch (r->role) {
	case ROLE_ASSISTANT:
		add_model(r->msg.provider, r->msg.model, m->out);
		if (!json_is(r->msg.stop_reason, "stop") && !json_is(r->msg.stop_reason, "toolUse"))
			add_dotted(r->msg.stop_reason, m->out);
		return;
	case ROLE_TOOL_RESULT:
		add_answered_call(m);
		return;
	case ROLE_BASH_EXECUTION:
		if (json_double(r->msg.exit_code, &code) && code != 0) {
			buf_adds(m->out, DOT "exit ");
			number_add(code, m->out);
		}
		add_flag(json_truthy(r->msg.cancelled), "cancelled", m->out);
		add_flag(json_truthy(r->msg.truncated), "truncated", m->out);
		add_flag(json_truthy(r->msg.exclude_from_context), "not sent", m->out);
		return;
	default:
		add_dotted(r->msg.custom_type, m->out);
		add_flag(r->msg.display.kind == JSON_FALSE, "hidden", m->out);
		return;
	}
}

static void add_facts(const struct md *m)
{
	const struct record *r = m->r;

	switch (r->type) {
	case RECORD_MESSAGE:
		add_message_facts(m);
		return;
	case RECORD_CUSTOM_MESSAGE:
	case RECORD_CUSTOM:
		add_dotted(r->custom_type, m->out);
		add_flag(r->display.kind == JSON_FALSE, "hidden", m->out);
		return;
	case RECORD_COMPACTION:
		add_dotted(r->tokens_before, m->out);
		buf_adds(m->out, r->tokens_before.kind > JSON_NULL ? " tokens before" : "");
		return;
	case RECORD_BRANCH_SUMMARY:
		buf_adds(m->out, r->from_id.kind > JSON_NULL ? DOT "from " : "");
		text_inline(r->from_id, m->out);
		return;
	case RECORD_MODEL_CHANGE:
		add_model(r->provider, r->model_id, m->out);
		return;
	case RECORD_THINKING_LEVEL_CHANGE:
		add_dotted(r->thinking_level, m->out);
		return;
	case RECORD_USAGE:
		add_dotted(r->usage_kind, m->out);
		add_model(r->provider, r->model, m->out);
		return;
	case RECORD_CONTEXT_EDIT:
		buf_adds(m->out, r->replacement.kind == JSON_NULL ? DOT "omits " : DOT "replaces ");
		text_inline(r->target_id, m->out);
		return;
	case RECORD_LABEL:
		add_flag(!json_truthy(r->label), "cleared", m->out);
		if (json_truthy(r->label))
			add_dotted(r->label, m->out);
		buf_adds(m->out, " on ");
		text_inline(r->target_id, m->out);
		return;
	case RECORD_SESSION_INFO:
		add_dotted(r->name, m->out);
		return;
	default:
		return;
	}
}

static void add_label(const struct md *m)
{
	struct buf label CLEANUP_BUF = BUF_INIT;

	if (!session_label(m->s, m->entry, &label))
		return;
	buf_adds(m->out, DOT "[");
	text_inline_exact(buf_span(&label), m->out);
	buf_addc(m->out, ']');
}

/* `what`, if given, replaces the role or type. */
static void add_heading(const struct md *m, const char *what)
{
	int64_t time = session_entry(m->s, m->entry)->time;
	size_t start = m->out->n;

	if (what)
		buf_adds(m->out, what);
	else
		text_role(m->r, m->out);
	if (m->out->n == start)
		buf_adds(m->out, m->r->kind == JSON_OBJECT ? "no type" : "no object");
	buf_adds(m->out, DOT);
	session_entry_name(m->s, m->entry, m->out);
	if (time != NO_TIME) {
		buf_adds(m->out, DOT);
		number_add_time((double)time, m->out);
	}
	if (!what)
		add_facts(m);
	add_label(m);
}

bool render_transcript_has(const struct session *s, uint32_t at)
{
	uint32_t ring = NO_ENTRY;

	for (uint32_t i = at; i != NO_ENTRY; i = session_walk_up(s, i, &ring))
		if (!(session_entry(s, i)->flags & ENTRY_NO_MESSAGE))
			return true;
	return false;
}

static int transcript_segment(const struct place *p, const void *item, bool is_first, struct reader *reader,
                              struct render_usage *usage, struct buf *out)
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
	/* An entry without text may still have cost something. */
	if (usage)
		render_usage_add(usage, &r);
	if (e->flags & ENTRY_NO_MESSAGE)
		return 0;
	struct md m = {.s = s, .entry = i, .r = &r, .prefix = p->prefix, .out = out, .has_images = true};
	bool conversation = record_is_conversation(r.type);
	buf_adds(out, conversation ? "\n## " : "\n*");
	add_heading(&m, NULL);
	buf_adds(out, conversation ? "\n" : "*\n");
	show_body(&m);
	return buf_err(out);
}

/* A segment depends on its entry, its label and its ancestors only. */
const struct producer producer_transcript_md = {
    .item = sizeof(uint32_t),
    .list = items_path,
    .newer = items_newer_path,
    .has_labels = true,
    .front = front_add,
    .segment = transcript_segment,
};

/* --- context.md ------------------------------------------------------------- */

static void show_edited(struct md *m, struct json_value content)
{
	m->has_images = false;
	if (m->r->type == RECORD_MESSAGE)
		show_message(m, content);
	else
		show_content(m, content);
}

static int context_segment(const struct place *p, const void *of, bool is_first, struct reader *reader,
                           struct render_usage *usage, struct buf *out)
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
	add_heading(&m, system ? "system" : NULL);
	buf_adds(out, item->edit != NO_ENTRY && !system ? DOT "edited\n" : "\n");
	if (system) {
		m.has_images = false;
		show_content(&m, json_get(r.system_message, "content"));
		show_system(&m, r.system_message);
	} else if (item->edit != NO_ENTRY) {
		show_edited(&m, json_get(edit.replacement, "content"));
	} else {
		show_body(&m);
	}
	return buf_err(out);
}

const struct producer producer_context_md = {
    .item = sizeof(struct context_item),
    .list = items_context,
    .front = front_add_path,
    .segment = context_segment,
};
