/* A tool call in a page: a line that says what it did, and behind it how it was asked to. */
#include "page.h"

#include "text.h"
#include "sessionfs/base/number.h"
#include "sessionfs/render/tool.h"
#include "sessionfs/session/part.h"

/* Edits whose arguments are longer than this are not compared. */
#define DIFF_MOST ((size_t)1 << 20)
/* Arguments are laid out if they are not longer. */
#define PRETTY_MOST ((size_t)64 << 10)

/* Where all arguments of call n are, below the entry's directory. */
static const char *arguments_file(struct page *g, unsigned n, struct json_value name)
{
	struct part_call call = {.n = n, .name = name};
	const char *file;

	buf_reset(g->more);
	buf_adds(g->more, "tool-calls/");
	part_call_component(&call, g->more);
	buf_adds(g->more, "/arguments.json");
	file = buf_cstr(g->more);
	return file ? file : "";
}

static void show_json(struct page *g, struct json_value v, const char *file)
{
	struct span raw = json_raw(v);

	buf_reset(g->text);
	if (raw.n > PRETTY_MOST) {
		size_t n = PAGE_OUTPUT_BYTES;
		text_clean((struct span){raw.p, n}, g->text);
	} else {
		json_pretty(v, g->text);
		text_make_clean(g->text, 0);
	}
	if (buf_err(g->text))
		return;
	buf_adds(g->out, "<pre>\n");
	html_text(buf_span(g->text), g->out);
	buf_adds(g->out, "</pre>\n");
	if (raw.n > PRETTY_MOST)
		page_cut(g, file);
}

static bool show_diff(struct page *g, const struct tool_use *u, const char *file)
{
	unsigned added = 0, removed = 0;

	if (json_raw(u->arguments).n > DIFF_MOST)
		return false;
	buf_reset(g->text);
	if (tool_diff(u, g->text, &added, &removed) < 0 || g->text->n == 0)
		return false;
	page_diff(g, file);
	return true;
}

/* What the line above does not say. */
static void show_arguments(struct page *g, const struct tool_use *u, const char *file)
{
	switch (u->form) {
	case TOOL_EDIT:
	case TOOL_PATCH:
		if (show_diff(g, u, file))
			return;
		break;
	case TOOL_WRITE:
		page_pre(g, NULL, u->content, file);
		return;
	case TOOL_BASH:
		page_pre(g, "$ ", u->command, file);
		return;
	default:
		break;
	}
	if (u->arguments.kind != JSON_NONE)
		show_json(g, u->arguments, file);
}

void page_call(struct page *g, unsigned n, struct json_value name, struct json_value arguments)
{
	struct tool_use u CLEANUP_TOOL = TOOL_USE_INIT;
	uint32_t result = session_result(g->s, g->entry, n);
	bool failed = result != NO_ENTRY && session_entry(g->s, result)->flags & ENTRY_FAILED;

	tool_read(name, arguments, &u);
	buf_adds(g->out, "<div class=\"call\" id=\"");
	html_text(buf_span(&g->name), g->out);
	buf_addf(g->out, "/%u\"><details><summary>", n);
	size_t start = g->out->n;
	tool_gist(&u, g->out);
	html_escape(g->out, start);
	buf_adds(g->out, failed ? " <strong class=\"failed\">failed</strong></summary>\n" : "</summary>\n");
	show_arguments(g, &u, arguments_file(g, n, name));
	buf_adds(g->out, "</details>");
	if (result != NO_ENTRY) {
		buf_adds(g->out, "<a ");
		page_link(g->s, result, 0, g->out);
		buf_addf(g->out, " aria-label=\"Result of call %u\">result</a>", n);
	}
	buf_adds(g->out, "</div>\n");
}
