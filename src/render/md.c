/* Conversations as Markdown. A line of text stands in the file as it was said, so
 * that grep -x finds it; what we add stands on lines of its own. Output of tools is
 * fenced, with a fence longer than any run of backticks in it. A fence that a text
 * leaves open is closed, so that a viewer does not take the rest of the conversation
 * for code.
 *
 * Text is decoded straight from the session's line into `out`; nothing looks at
 * its bytes one by one. */
#include "sessionfs/render/html.h"
#include "sessionfs/session/context.h"
#include "sessionfs/base/name.h"

#include "md.h"
#include "pieces.h"
#include "text.h"

/* --- blocks ----------------------------------------------------------------- */

static void show_text(struct md *m, struct json_value v)
{
	if (!md_has_text(v))
		return;
	if (m->thinking)
		buf_adds(m->out, "\n### text\n");
	m->thinking = false;
	if (m->language)
		md_fenced(m->language, v, m->out);
	else
		md_text(v, m->out);
}

static void show_thinking(struct md *m, const struct block *b)
{
	buf_adds(m->out, json_truthy(b->redacted) ? "\n### thinking (redacted)\n" : "\n### thinking\n");
	if (md_has_text(b->thinking))
		md_text(b->thinking, m->out);
	m->thinking = true;
}

void md_image(struct md *m, const struct block *b)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	struct part_image image = {0};

	if (m->has_images)
		part_image_of(b, &image);
	if (image.size > 0 && image.type) {
		session_entry_name(m->s, m->entry, &name);
		buf_addf(m->out, "\n![image %u](%sentries/", image.n, m->prefix);
		html_path(buf_span(&name), m->out);
		buf_addf(m->out, "/images/%u.%s)\n", image.n, image.ext);
		return;
	}
	buf_adds(m->out, "\n*image");
	if (md_has_text(b->mime_type)) {
		buf_adds(m->out, DOT);
		text_inline(b->mime_type, m->out);
	}
	buf_adds(m->out, "*\n");
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
		md_image(m, b);
		return;
	case BLOCK_TOOL_CALL:
		md_call(m, b);
		return;
	case BLOCK_OTHER:
		buf_adds(m->out, "\n*block");
		if (md_has_text(b->type_)) {
			buf_adds(m->out, DOT);
			text_inline(b->type_, m->out);
		}
		buf_adds(m->out, "*\n");
		return;
	}
}

static void show_content(struct md *m, struct json_value content)
{
	struct block_iter it;
	struct block b;

	block_iter_init_of(&it, m->r, content);
	while (block_next(&it, &b))
		show_block(m, &b);
}

/* --- bodies ----------------------------------------------------------------- */

static void show_bash(const struct record *r, struct buf *out)
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
	if (r->role == ROLE_TOOL_RESULT) {
		int rc = md_output_language(m, &m->language);
		if (rc < 0)
			m->out->err = rc;
	}
	show_content(m, content);
	m->language = NULL;
	m->thinking = false;
	if (r->role == ROLE_SYSTEM)
		show_system(m, r->message);
	show_text(m, r->msg.summary);
	if (!md_has_text(r->msg.error_message))
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
	md_heading(&m, NULL);
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
	md_heading(&m, system ? "system" : NULL);
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
