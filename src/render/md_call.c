/* Tool calls: what a person would draw of them, and whatever that does not say as JSON. */
#include "md.h"

#include "sessionfs/base/number.h"
#include "sessionfs/render/tool.h"

#include "text.h"

struct call {
	struct tool_use use;
	struct buf path, diff, facts, rest;
	const char *language;
	unsigned added, removed;
};

static void call_release(struct call *c)
{
	tool_release(&c->use);
	buf_release(&c->path);
	buf_release(&c->diff);
	buf_release(&c->facts);
	buf_release(&c->rest);
}

static int call_fill(struct call *c, const struct block *b)
{
	tool_read(b->name, b->arguments, &c->use);
	int rc = tool_diff(&c->use, &c->diff, &c->added, &c->removed);
	if (c->use.form == TOOL_EDIT && c->diff.n == 0)
		c->use.shown = 0;
	text_inline(c->use.path, &c->path);
	c->language = c->use.form == TOOL_WRITE ? tool_language(buf_span(&c->path)) : "";
	if (c->path.n > TOOL_PATH)
		text_shorten(&c->path, 0, TOOL_PATH);
	tool_facts_and_rest(&c->use, &c->facts, &c->rest);
	rc = buf_err(&c->path) ? buf_err(&c->path) : rc;
	rc = buf_err(&c->facts) ? buf_err(&c->facts) : rc;
	return buf_err(&c->rest) ? buf_err(&c->rest) : rc;
}

static void add_heading(const struct call *c, unsigned n, struct buf *out)
{
	const struct tool_use *u = &c->use;

	buf_adds(out, "\n### call ");
	number_add_unsigned(n, out);
	buf_adds(out, ": ");
	text_inline(u->name, out);
	if (c->path.n > 0) {
		buf_addc(out, ' ');
		md_code_span(buf_span(&c->path), out);
	}
	tool_lines(u, out);
	if (c->added)
		buf_addf(out, " +%u", c->added);
	if (c->removed)
		buf_addf(out, " -%u", c->removed);
	buf_addspan(out, buf_span(&c->facts));
	buf_addc(out, '\n');
}

static void add_fenced(const char *info, const struct buf *text, struct buf *out)
{
	size_t mark = md_begin_fence(info, out);

	buf_addspan(out, buf_span(text));
	md_end_fence(mark, out);
}

void md_call(struct md *m, const struct block *b)
{
	struct call c CLEANUP(call_release) = {.use = TOOL_USE_INIT};

	int rc = call_fill(&c, b);
	if (rc < 0) {
		m->out->err = rc;
		return;
	}
	add_heading(&c, b->n, m->out);
	if (c.diff.n > 0)
		add_fenced("diff", &c.diff, m->out);
	if (c.use.form == TOOL_WRITE && c.use.content.kind)
		md_fenced(c.language, c.use.content, m->out);
	if (c.use.form == TOOL_BASH)
		md_fenced("bash", c.use.command, m->out);
	if (c.rest.n > 0)
		add_fenced("json", &c.rest, m->out);
	m->thinking = false;
}

/* --- output ----------------------------------------------------------------- */

/* What a call says is in another line. To look at it must not cost more than to show the output: a message can make
 * many calls, and be long. */
enum { CALLER_FREE = 8192, CALLER_FACTOR = 4 };

static bool is_cheap(const struct md *m, uint32_t caller)
{
	return session_entry(m->s, caller)->length / CALLER_FACTOR <= m->r->line.n + CALLER_FREE;
}

static const char *language_of(const struct part_call *call)
{
	struct tool_use u CLEANUP_TOOL = TOOL_USE_INIT;
	struct buf path CLEANUP_BUF = BUF_INIT;

	tool_read(call->name, call->arguments, &u);
	if (u.form != TOOL_READ)
		return "";
	text_inline(u.path, &path);
	return tool_language(buf_span(&path));
}

int md_output_language(const struct md *m, const char **ret)
{
	struct line line CLEANUP_LINE = LINE_INIT;
	struct part_call call = {.n = 0};
	struct record r;
	unsigned n = 0;

	*ret = "";
	if (json_truthy(m->r->msg.is_error) || !tool_reads(m->r->msg.tool_name))
		return 0;
	uint32_t caller = session_call(m->s, m->entry, &n);
	if (caller == NO_ENTRY || !is_cheap(m, caller))
		return 0;
	int rc = session_load(m->s, caller, &line, &r);
	while (rc == 0 && call.n < n && part_call_next(&r, &call))
		;
	if (rc == 0 && n > 0 && call.n == n)
		*ret = language_of(&call);
	return rc;
}
