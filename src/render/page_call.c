/* A tool call in a page: a line that says what it did, and behind it how it was asked to. */
#include "page.h"

#include "text.h"
#include "sessionfs/base/number.h"
#include "sessionfs/render/tool.h"
#include "sessionfs/session/part.h"

/* Arguments that are longer are not read through: no diff is made of them. */
#define READ_MOST ((size_t)1 << 20)
/* Arguments are laid out if they are not longer. */
#define PRETTY_MOST PAGE_OUTPUT_BYTES

/* Where all arguments of a call are, below the entry's directory. */
static const char *arguments_file(struct page *g, const struct block *b)
{
	struct part_call call = {.n = b->n, .name = b->name};
	const char *file;

	buf_reset(g->more);
	buf_adds(g->more, "tool-calls/");
	part_call_component(&call, g->more);
	buf_adds(g->more, "/arguments.json");
	file = buf_cstr(g->more);
	return file ? file : "";
}

/* Where it is nested deeply, what is laid out is far longer than what is stored. */
static void show_json(struct page *g, struct json_value v, const char *file)
{
	struct span raw = json_raw(v);
	bool cut = raw.n > PRETTY_MOST;

	buf_reset(g->text);
	if (cut) {
		text_clean((struct span){raw.p, PAGE_OUTPUT_BYTES}, g->text);
	} else {
		json_pretty(v, g->text);
		text_make_clean(g->text, 0);
	}
	page_pre_text(g, NULL, cut, file);
}

static bool show_diff(struct page *g, const struct tool_use *u, const char *file)
{
	unsigned added = 0, removed = 0;

	if (json_raw(u->arguments).n > READ_MOST)
		return false;
	buf_reset(g->text);
	int rc = tool_diff(u, g->text, &added, &removed);
	if (rc < 0)
		g->out->err = rc;
	if (rc < 0 || g->text->n == 0)
		return false;
	page_diff(g, file);
	return true;
}

/* The arguments that the form of the call does not say. */
static void show_rest(struct page *g, const struct tool_use *u, const char *file)
{
	if (json_raw(u->arguments).n > READ_MOST)
		return;
	buf_reset(g->text);
	tool_rest(u, g->text);
	if (g->text->n > 0)
		page_pre_text(g, NULL, false, file);
}

/* What the line above does not say. */
static void show_arguments(struct page *g, const struct tool_use *u, const char *file)
{
	bool shown = true;

	if (u->form == TOOL_WRITE)
		page_pre(g, NULL, u->content, file);
	else if (u->form == TOOL_BASH)
		page_pre(g, "$ ", u->command, file);
	else
		shown = (u->form == TOOL_EDIT || u->form == TOOL_PATCH) && show_diff(g, u, file);
	if (shown)
		show_rest(g, u, file);
	else if (u->arguments.kind != JSON_NONE)
		show_json(g, u->arguments, file);
}

void page_call(struct page *g, const struct block *b)
{
	struct tool_use u CLEANUP_TOOL = TOOL_USE_INIT;
	uint32_t result = session_result(g->s, g->entry, b->n);
	bool failed = result != NO_ENTRY && session_entry(g->s, result)->flags & ENTRY_FAILED;

	tool_read(b->name, b->arguments, &u);
	buf_adds(g->out, "<div class=\"call\" id=\"");
	html_text(buf_span(&g->name), g->out);
	buf_addf(g->out, "/%u\"><details><summary>", b->n);
	size_t start = g->out->n;
	tool_gist(&u, g->out);
	page_take_cwd(g->s, start, g->out);
	html_escape(g->out, start);
	buf_adds(g->out, failed ? " <strong class=\"failed\">failed</strong></summary>\n" : "</summary>\n");
	show_arguments(g, &u, arguments_file(g, b));
	buf_adds(g->out, "</details>");
	if (result != NO_ENTRY) {
		buf_adds(g->out, "<a ");
		page_link(g->s, result, 0, g->out);
		buf_addf(g->out, " aria-label=\"Result of call %u\">result</a>", b->n);
	}
	buf_adds(g->out, "</div>\n");
}
