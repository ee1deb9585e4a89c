/* SPDX-License-Identifier: MIT */
/* An entry in a page: an article with a heading, or a single line if the entry is metadata. */
#include "page.h"

#include "calls.h"
#include "heading_fields.h"
#include "md.h"
#include "pieces.h"
#include "text.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/number.h"
#include "sessionfs/render/tool.h"
#include "sessionfs/session/part.h"
#include "sessionfs/session/context.h"

#include <stdio.h>
#include <stdlib.h>

/* UTF-16 units of a label and other short values. */
#define INLINE_UNITS 200
/* UTF-16 units of a command or an error. */
#define COMMAND_UNITS 4096
/* Branches linked from the entry where they begin. */
#define BRANCHES_SHOWN 20
/* UTF-16 units in the line of a user's command. */
#define LINE_UNITS 120

/* Longer arguments are not parsed: no diff is made of them. */
#define ARTICLE_READ_MAX ((size_t)1 << 20)
/* Longer arguments are not laid out. */
#define JSON_PRETTY_MAX PAGE_OUTPUT_BYTES

/* --- headings ----------------------------------------------------------------- */

static void article_add_class(struct page *g)
{
	static const char *const classes[ROLE_COMPACTION_SUMMARY + 1] = {
	    [ROLE_USER] = "user",           [ROLE_ASSISTANT] = "assistant", [ROLE_TOOL_RESULT] = "result",
	    [ROLE_BASH_EXECUTION] = "bash", [ROLE_BRANCH_SUMMARY] = "mark", [ROLE_COMPACTION_SUMMARY] = "mark",
	    [ROLE_CUSTOM] = "custom",
	};
	const char *class = classes[part_role_as(g->r.type, g->r.role)];

	if (!record_is_conversation(g->r.type))
		class = "meta";
	buf_adds(g->out, class ? class : "custom");
	/* Calls without a result in the branch are shown with the entry. */
	unsigned n = session_call_count(g->s, g->entry);
	bool calls = n > 64 || g->item->calls_at_results != (n ? UINT64_MAX >> (64 - n) : 0);
	if (!calls && !chat_has_entry(g->s, g->entry, &g->r))
		buf_adds(g->out, " aside");
	if (session_label_record(g->s, g->entry) != NO_ENTRY)
		buf_adds(g->out, " labelled");
}

static void article_add_heading(struct page *g)
{
	static const char *const types[RECORD_CONTEXT_EDIT + 1] = {
	    [RECORD_COMPACTION] = "Compaction", [RECORD_BRANCH_SUMMARY] = "Branch summary",
	    [RECORD_LABEL] = "Label",           [RECORD_SESSION_INFO] = "Name",
	    [RECORD_MODEL_CHANGE] = "Model",    [RECORD_THINKING_LEVEL_CHANGE] = "Thinking level",
	    [RECORD_USAGE] = "Usage",           [RECORD_CONTEXT_EDIT] = "Context edit",
	};
	static const char *const roles[ROLE_COMPACTION_SUMMARY + 1] = {
	    [ROLE_USER] = "User",
	    [ROLE_ASSISTANT] = "Assistant",
	    [ROLE_TOOL_RESULT] = "Result",
	    [ROLE_BASH_EXECUTION] = "Shell",
	    [ROLE_SYSTEM] = "System",
	    [ROLE_BRANCH_SUMMARY] = "Branch summary",
	    [ROLE_COMPACTION_SUMMARY] = "Compaction",
	};
	const char *fixed = g->r.type == RECORD_MESSAGE ? roles[g->r.role] : types[g->r.type];
	size_t start = g->out->n;

	if (fixed) {
		buf_adds(g->out, fixed);
		return;
	}
	text_add_role(&g->r, g->out);
	text_truncate_from(g->out, start, INLINE_UNITS);
	html_escape_from(g->out, start);
	if (g->out->n == start)
		buf_adds(g->out, g->r.kind == JSON_OBJECT ? "no type" : "no object");
}

static void article_add_usage(struct page *g)
{
	struct usage u = usage_from_json(part_usage(&g->r));

	if (!(u.total > 0) && !(u.cost > 0))
		return;
	buf_adds(g->out, "<span>");
	page_add_tokens(&u, true, g->out);
	if (u.cost >= PAGE_COST_MIN) {
		buf_adds(g->out, ", ");
		html_dollars(u.cost, PAGE_COST_FINE, g->out);
	}
	buf_adds(g->out, "</span>\n");
}

static void article_add_field(struct page *g, const char *attributes, const char *before, struct json_value v)
{
	buf_addf(g->out, "<span%s>%s", attributes, before);
	page_add_inline(v, INLINE_UNITS, g->out);
	buf_adds(g->out, "</span>\n");
}

static void article_add_anchor(struct page *g, struct json_value id)
{
	uint32_t target = session_entry_by_id(g->s, id);

	if (target == NO_ENTRY) {
		if (id.kind > JSON_NULL)
			article_add_field(g, "", "", id);
		return;
	}
	buf_adds(g->out, "<a ");
	page_add_entry_href(g->s, target, 0, g->out);
	buf_addc(g->out, '>');
	page_add_inline(id, INLINE_UNITS, g->out);
	buf_adds(g->out, "</a>\n");
}

static void article_add_call_link(struct page *g)
{
	unsigned n = 0;
	uint32_t caller = session_call(g->s, g->entry, &n);

	if (caller == NO_ENTRY || g->item->flags & ITEM_ANSWERS)
		return;
	buf_adds(g->out, "<a ");
	page_add_entry_href(g->s, caller, n, g->out);
	buf_adds(g->out, ">call</a>\n");
}

static void article_add_fields(struct page *g)
{
	struct heading_field facts[HEADING_FIELDS_MAX];
	unsigned n = heading_fields_of_record(&g->r, facts);

	for (const struct heading_field *f = facts; f < facts + n; f++)
		switch (f->kind) {
		case HEADING_TEXT:
		case HEADING_EXIT:
			article_add_field(g, "", f->before, f->v);
			break;
		case HEADING_MODEL:
			article_add_field(g, "", "", f->v);
			/* The provider is shown where the row has room. */
			if (f->provider.kind > JSON_NULL)
				article_add_field(g, " class=\"by\"", "", f->provider);
			break;
		case HEADING_TOKENS:
			article_add_field(g, "", "tokens before: ", f->v);
			break;
		case HEADING_ENTRY:
			buf_adds(g->out, f->before);
			article_add_anchor(g, f->v);
			break;
		case HEADING_CALL:
			article_add_call_link(g);
		}
}

static void article_add_head(struct page *g)
{
	bool conversation = record_is_conversation(g->r.type);

	buf_adds(g->out, conversation ? "<header><h3>" : "<header><b>");
	article_add_heading(g);
	buf_adds(g->out, conversation ? "</h3>\n" : "</b>\n");
	if (session_entry(g->s, g->entry)->flags & ENTRY_FAILED)
		buf_adds(g->out, "<strong class=\"failed\">failed</strong>\n");
	if (part_role_as(g->r.type, g->r.role) == ROLE_ASSISTANT && g->r.msg.model.kind <= JSON_NULL)
		buf_adds(g->out, "<span>unknown model</span>\n");
	const char *edit = context_edit_mark(g->s, g->entry);
	if (edit)
		buf_addf(g->out, "<strong>%s</strong>\n", edit);
	article_add_fields(g);
	page_add_label(g->s, g->entry, g->text, g->out);
	article_add_usage(g);
	int64_t ms = session_entry(g->s, g->entry)->time;
	if (ms != NO_TIME) {
		html_time((double)ms, g->out);
		buf_addc(g->out, '\n');
	}
	buf_adds(g->out, "<a class=\"id\" ");
	page_add_entry_href(g->s, g->entry, 0, g->out);
	buf_addc(g->out, '>');
	html_add_text(buf_span(&g->name), g->out);
	buf_adds(g->out, "</a></header>\n");
}

/* --- folded text -------------------------------------------------------------- */

static void article_begin_details(struct page *g, const char *what)
{
	buf_addf(g->out, "<details%s><summary>%s</summary>\n", strncmp(what, "Thinking", 8) ? "" : " class=\"think\"",
	         what);
}

static int article_show_folded(struct page *g, const char *what, struct json_value v, const char *file)
{
	article_begin_details(g, what);
	int rc = page_add_markdown(g, ROLE_NONE, v, file);
	buf_adds(g->out, "</details>\n");
	return rc;
}

/* --- calls ------------------------------------------------------------------- */

/* Returns the path of the call's arguments, relative to the entry's directory. */
static const char *call_arguments_path(struct page *g, const struct part_call *call)
{
	const char *file;

	buf_reset(g->more);
	buf_adds(g->more, "tool-calls/");
	part_call_component(call, g->more);
	buf_adds(g->more, "/arguments.json");
	file = buf_cstr(g->more);
	return file ? file : "";
}

/* Indentation makes deeply nested JSON far longer. */
static void article_show_json(struct page *g, struct json_value v, const char *file)
{
	struct span raw = json_raw(v);
	bool truncated = raw.n > JSON_PRETTY_MAX;

	buf_reset(g->text);
	if (truncated) {
		text_add_clean((struct span){raw.p, PAGE_OUTPUT_BYTES}, g->text);
	} else {
		json_pretty(v, g->text);
		text_clean_from(g->text, 0);
	}
	page_add_pre_text(g, "json", truncated, file);
}

static bool article_show_diff(struct page *g, const struct tool_use *u, const char *file)
{
	unsigned added = 0, removed = 0;

	if (json_raw(u->arguments).n > ARTICLE_READ_MAX)
		return false;
	buf_reset(g->text);
	int rc = tool_diff(u, g->text, &added, &removed);
	if (rc < 0)
		g->out->err = rc;
	if (rc < 0 || g->text->n == 0)
		return false;
	page_add_diff(g, file);
	return true;
}

/* Shows the arguments that the summary lacks. */
static void article_show_arguments(struct page *g, const struct tool_use *u, const char *file)
{
	bool shown = true;

	if (u->form == TOOL_WRITE)
		page_add_pre(g, tool_file_language(u), u->content, file);
	else if (u->form == TOOL_BASH)
		page_add_pre(g, "command", u->command, file);
	else
		shown = u->form == TOOL_EDIT && article_show_diff(g, u, file);
	if (!shown && u->arguments.kind != JSON_NONE)
		article_show_json(g, u->arguments, file);
	if (!shown || json_raw(u->arguments).n > ARTICLE_READ_MAX)
		return;
	buf_reset(g->text);
	tool_add_remaining(u, NULL, g->text);
	if (g->text->n > 0)
		page_add_pre_text(g, "json", false, file);
}

/* Appends the outcome of a result: duration, error, number of pictures. */
static void article_add_outcome(struct page *g, uint32_t caller)
{
	const struct entry *e = session_entry(g->s, g->entry);
	struct part_image image = {0};
	size_t start;

	chat_duration(g->s, caller, g->entry, &g->r, g->out);
	if (e->flags & ENTRY_HAS_IMAGES) {
		while (part_image_next(&g->r, &image))
			;
		buf_addf(g->out, DOT "%u picture%s", image.n, image.n == 1 ? "" : "s");
		start = g->out->n;
		md_add_unseen(&g->r, g->out);
		html_escape_from(g->out, start);
	}
	if (!(e->flags & ENTRY_FAILED))
		return;
	buf_adds(g->out, " <strong class=\"failed\">failed: ");
	buf_reset(g->text);
	part_error(&g->r, g->text);
	start = g->out->n;
	chat_reason(buf_span(g->text), g->out);
	html_escape_from(g->out, start);
	buf_adds(g->out, "</strong>");
}

/* Begins the line of a call of g->entry, which unfolds to its arguments and to the text that the caller appends.
 * `result`: the result that shows the call, or NULL. */
static void article_begin_call(struct page *g, const struct part_call *call, struct page *result)
{
	struct tool_use u CLEANUP_TOOL = TOOL_USE_INIT;

	tool_read(call->name, call->arguments, &u);
	if (call->nested || (g->r.role != ROLE_TOOL_RESULT && (!result || result->item->flags & ITEM_ANSWERS))) {
		buf_adds(g->out, "<div class=\"call\" id=\"");
		html_add_text(buf_span(&g->name), g->out);
		buf_addf(g->out, "/%u\">", call->n);
	} else {
		buf_adds(g->out, "<div class=\"call\">");
	}
	buf_adds(g->out, "<details><summary>");
	size_t start = g->out->n;
	call_add_summary(g->s, &u, g->out);
	if (call->nested)
		chat_nested_end(call, g->out);
	html_escape_from(g->out, start);
	if (result) {
		result->language = u.form == TOOL_READ ? tool_file_language(&u) : "";
		article_add_outcome(result, g->entry);
	}
	buf_adds(g->out, "</summary>\n");
	article_show_arguments(g, &u, call_arguments_path(g, call));
}

/* Shows a call that no result of its branch shows. */
static void article_show_call(struct page *g, const struct block *b)
{
	uint32_t result = session_result(g->s, g->entry, b->n);
	struct part_call call;

	if (b->n <= 64 && g->item->calls_at_results >> (b->n - 1) & 1)
		return;
	part_call_of(b, false, &call);
	article_begin_call(g, &call, NULL);
	buf_adds(g->out, "</details>");
	if (result != NO_ENTRY) {
		buf_adds(g->out, "<a ");
		page_add_entry_href(g->s, result, 0, g->out);
		buf_addf(g->out, " aria-label=\"Result of call %u\">result</a>", b->n);
	} else if (g->item->next != NO_ENTRY) {
		buf_adds(g->out, "<span>no result</span>");
	}
	buf_adds(g->out, "</div>\n");
}

/* Begins the call that a result answers, if the result shows it. Returns 1 if so. */
static int article_begin_result_call(struct page *g)
{
	struct line line CLEANUP_LINE = LINE_INIT;
	struct part_call call = {0};
	struct page of = *g;
	unsigned n = 0;

	of.entry = session_call(g->s, g->entry, &n);
	if (of.entry == NO_ENTRY || (!(g->item->flags & ITEM_ANSWERS) && !call_is_in_page(g->s, of.entry, n)))
		return 0;
	int rc = session_load(g->s, of.entry, &line, &of.r);
	if (rc < 0)
		return rc;
	of.name = (struct buf)BUF_INIT;
	session_entry_name(g->s, of.entry, &of.name);
	rc = buf_err(&of.name);
	while (rc == 0 && call.n < n && part_call_next(&of.r, &call))
		;
	if (rc == 0 && n > 0 && call.n == n) {
		article_begin_call(&of, &call, g);
		rc = 1;
	}
	buf_release(&of.name);
	return rc;
}

/* A result without its call shows the name of its tool. */
static int article_begin_result(struct page *g)
{
	int rc = article_begin_result_call(g);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	buf_adds(g->out, "<div class=\"call\"><details><summary>");
	if (md_has_text(g->r.msg.tool_name))
		page_add_inline(g->r.msg.tool_name, INLINE_UNITS, g->out);
	else
		buf_adds(g->out, "Output");
	article_add_outcome(g, NO_ENTRY);
	buf_adds(g->out, "</summary>\n");
	return 0;
}

/* Shows the calls that the tool of a result made, below its own. */
static int article_show_nested(struct page *g)
{
	struct part_call call = {0};
	int rc = 0;

	buf_adds(g->out, "<div class=\"nested\">\n");
	while (rc == 0 && part_call_next(&g->r, &call) && call.n <= PAGE_NESTED_SHOWN) {
		article_begin_call(g, &call, NULL);
		buf_adds(g->out, "</details></div>\n");
		rc = cancel_check();
	}
	if (call.n > PAGE_NESTED_SHOWN)
		page_add_cut_note(g, "tool-calls/");
	if (json_get(g->r.msg.nested_calls, "complete").kind == JSON_FALSE)
		buf_adds(g->out, "<p class=\"cut\">and others</p>\n");
	buf_adds(g->out, "</div>\n");
	return rc;
}

/* --- the content --------------------------------------------------------------- */

static int article_show_block(struct page *g, const struct block *b)
{
	switch (b->type) {
	case BLOCK_TEXT:
		if (!md_has_text(b->text))
			return 0;
		if (g->r.role != ROLE_TOOL_RESULT)
			return page_add_markdown(g, g->r.role, b->text, "text.md");
		page_add_pre(g, g->language, b->text, "text.md");
		return 0;
	case BLOCK_THINKING:
		return article_show_folded(g, json_is_truthy(b->redacted) ? "Thinking (redacted)" : "Thinking",
		                           b->thinking, "thinking.md");
	case BLOCK_IMAGE:
		page_add_picture(g, b);
		return 0;
	case BLOCK_TOOL_CALL:
		article_show_call(g, b);
		return 0;
	case BLOCK_OTHER:
		buf_adds(g->out, "<p class=\"cut\">Block: ");
		page_add_inline(b->type_, INLINE_UNITS, g->out);
		buf_adds(g->out, "</p>\n");
	}
	return 0;
}

static int article_show_content(struct page *g, struct json_value content)
{
	struct block_iter it;
	struct block b;
	int rc = 0;

	block_iter_init_of(&it, &g->r, content);
	while (rc == 0 && block_next(&it, &b)) {
		rc = article_show_block(g, &b);
		if (rc == 0)
			rc = cancel_check();
	}
	return rc;
}

static int article_show_bash(struct page *g)
{
	buf_adds(g->out, "<div class=\"call\"><details><summary>$ ");
	page_add_inline(g->r.msg.command, LINE_UNITS, g->out);
	buf_adds(g->out, "</summary>\n");
	page_add_pre(g, "command", g->r.msg.command, "text.md");
	if (md_has_text(g->r.msg.output))
		page_add_pre(g, "", g->r.msg.output, "text.md");
	buf_adds(g->out, "</details></div>\n");
	return 0;
}

static int article_show_body(struct page *g)
{
	const struct record *r = &g->r;
	const char *folded = r->role == ROLE_SYSTEM ? "System prompt" : NULL;
	struct buf own CLEANUP_BUF = BUF_INIT;

	if (r->role == ROLE_BASH_EXECUTION)
		return article_show_bash(g);
	bool hides = r->type == RECORD_MESSAGE ? r->msg.display.kind == JSON_FALSE
	                                       : r->type == RECORD_CUSTOM_MESSAGE && r->display.kind == JSON_FALSE;
	if (!folded && hides)
		folded = "Hidden";
	bool is_result = r->role == ROLE_TOOL_RESULT;
	int rc = is_result ? article_begin_result(g) : 0;
	if (folded)
		article_begin_details(g, folded);
	if (rc == 0)
		rc = article_show_content(g, part_content(r));
	if (rc == 0 && r->role == ROLE_SYSTEM) {
		struct json_value more = text_of_system(r->message, &own);
		rc = more.kind ? page_add_markdown(g, ROLE_NONE, more, "text.md") : buf_err(&own);
	}
	if (folded)
		buf_adds(g->out, "</details>\n");
	if (is_result)
		buf_adds(g->out, "</details></div>\n");
	if (rc == 0 && entry_has_nested(session_entry(g->s, g->entry)))
		rc = article_show_nested(g);
	if (rc == 0 && md_has_text(part_summary(r)))
		rc = article_show_folded(g, "Summary", part_summary(r), "text.md");
	md_add_diagnostics(r, "<p class=\"cut\">", "</p>\n", true, g->out);
	if (rc < 0 || r->type != RECORD_MESSAGE || !md_has_text(r->msg.error_message))
		return rc;
	buf_adds(g->out, "<p class=\"error\"><strong>Error:</strong> ");
	bool truncated = page_add_inline(r->msg.error_message, COMMAND_UNITS, g->out);
	buf_adds(g->out, "</p>\n");
	if (truncated && part_has_error(r))
		page_add_cut_note(g, "error");
	return 0;
}

/* Shows what the model is sent instead. */
static int article_show_edit(struct page *g)
{
	struct line line CLEANUP_LINE = LINE_INIT;
	struct json_value to;
	int rc = context_replacement(g->s, g->entry, &line, &to);

	if (rc == 0 && to.kind == JSON_NULL)
		buf_adds(g->out, "<p class=\"cut\">Not sent to the model</p>\n");
	if (rc < 0 || to.kind <= JSON_NULL)
		return rc;
	article_begin_details(g, "The model is sent instead");
	article_show_json(g, to, "context.json");
	buf_adds(g->out, "</details>\n");
	return 0;
}

/* --- branches ----------------------------------------------------------------- */

/* Links the branches that begin after this entry, except the current one. */
static int article_add_branches(struct page *g)
{
	const struct entry *e = session_entry(g->s, g->entry);
	uint32_t *children CLEANUP_FREE = NULL;
	size_t n = 0, shown = 0;

	if (e->child == NO_ENTRY || (e->child == g->item->next && session_entry(g->s, e->child)->sibling == NO_ENTRY))
		return 0;
	int rc = session_children(g->s, g->entry, &children, &n);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n && shown < BRANCHES_SHOWN; i++) {
		if (children[i] == g->item->next)
			continue;
		buf_adds(g->out, shown++ ? ", <a " : "<p class=\"forks\">Also from here: <a ");
		page_add_entry_href(g->s, children[i], 0, g->out);
		buf_addf(g->out, ">branch %zu</a>", shown);
	}
	buf_adds(g->out, shown ? "</p>\n" : "");
	return 0;
}

int page_add_article(struct page *g)
{
	buf_adds(g->out, "<article id=\"");
	html_add_text(buf_span(&g->name), g->out);
	buf_adds(g->out, "\" class=\"");
	article_add_class(g);
	buf_adds(g->out, "\">");
	article_add_head(g);
	int rc = g->r.type == RECORD_MESSAGE && session_entry(g->s, g->entry)->flags & ENTRY_NO_MESSAGE
	             ? 0
	             : article_show_body(g);
	if (rc == 0)
		rc = article_show_edit(g);
	if (rc == 0)
		rc = article_add_branches(g);
	buf_adds(g->out, "</article>\n");
	return rc;
}
