/* SPDX-License-Identifier: MIT */
/* The tokens of the messages that fill the context, as pi's estimateTokens() estimates them: a quarter of the
 * characters of a message, rounded up. */
#include "pieces.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/counters.h"

#include "text.h"

#define PICTURE_UNITS 4800

static size_t tokens_of_units(size_t units)
{
	return units / 4 + (units % 4 > 0);
}

/* Returns the units of the members other than the content. */
static size_t members_units(const struct record *r)
{
	if (r->role == ROLE_BASH_EXECUTION)
		return json_units(r->msg.command, false) + json_units(r->msg.output, false);
	if (r->role == ROLE_BRANCH_SUMMARY || r->role == ROLE_COMPACTION_SUMMARY)
		return json_units(r->msg.summary, false);
	if (r->role != ROLE_SYSTEM)
		return 0;
	struct json_value tools = json_get(r->message, "toolsAdded");
	size_t n = json_is_truthy(tools) ? json_units(tools, true) : 0;
	return n + json_units(json_get(r->message, "sections"), false);
}

static size_t block_units(const struct block *b, bool answers)
{
	if (b->type == BLOCK_TEXT)
		return json_units(b->text, false);
	if (b->type == BLOCK_IMAGE && !answers)
		return PICTURE_UNITS;
	if (b->type == BLOCK_THINKING && answers)
		return json_units(b->thinking, false);
	if (b->type == BLOCK_TOOL_CALL && answers && b->name.kind == JSON_STRING)
		return json_units(b->name, false) + json_units(b->arguments, true);
	return 0;
}

static struct json_value fixed_name(const char *name)
{
	return (struct json_value){JSON_STRING, false, span_of(name ? name : "")};
}

/* Adds tokens to the part of that name. */
static void tokens_add(struct counters *parts, bool is_tool, struct json_value name, size_t tokens)
{
	struct buf key CLEANUP_BUF = BUF_INIT;

	buf_addc(&key, is_tool ? 't' : 'r');
	json_decode(name.text, JSON_CLEAN, &key);
	size_t *sum = counters_get(parts, buf_span(&key));
	if (sum)
		*sum += tokens;
}

/* Returns the tokens of a message. Each part of it gets the tokens by which it raises the sum. */
static size_t tokens_count(const struct record *r, struct counters *parts)
{
	bool answers = r->role == ROLE_ASSISTANT, is_result = r->role == ROLE_TOOL_RESULT;
	bool has_content = (r->role >= ROLE_SYSTEM && r->role <= ROLE_TOOL_RESULT) || r->role == ROLE_CUSTOM;
	bool has_tool = is_result && r->msg.tool_name.kind == JSON_STRING;
	struct json_value role = has_tool ? r->msg.tool_name : fixed_name(record_role_name(r->role));
	struct block b = {.type = BLOCK_OTHER};
	struct block_iter it;
	size_t n = 0;

	/* To pi, a text is not the content of an assistant. */
	has_content &= !answers || r->msg.content.kind == JSON_ARRAY;
	block_iter_init_of(&it, r, has_content ? r->msg.content : (struct json_value){0});
	for (size_t units = members_units(r);; units = block_units(&b, answers)) {
		bool is_call = b.type == BLOCK_TOOL_CALL, thinks = b.type == BLOCK_THINKING;
		n += units;
		if (parts && units > 0)
			tokens_add(parts, is_result || is_call,
			           is_call  ? b.name
			           : thinks ? fixed_name("thinking")
			                    : role,
			           tokens_of_units(n) - tokens_of_units(n - units));
		if (!block_next(&it, &b))
			return tokens_of_units(n);
	}
}

/* Appends a cell with a text of the session; an empty one for any other value. */
static void tokens_add_cell(struct json_value v, struct buf *out)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	size_t start = out->n + 1;

	if (v.kind == JSON_STRING)
		json_decode(v.text, JSON_CLEAN, &text);
	buf_addc(out, '\t');
	text_add_cell(buf_span(&text), out);
	text_flatten_from(out, start);
}

static void tokens_add_row(const struct session *s, uint32_t entry, const struct record *r, struct buf *out)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	const char *role = record_role_name(r->role);

	session_entry_name(s, entry, &name);
	text_add_cell(buf_span(&name), out);
	tokens_add_cell(role ? fixed_name(role) : r->msg.role, out);
	tokens_add_cell(r->role == ROLE_TOOL_RESULT ? r->msg.tool_name : (struct json_value){0}, out);
}

int render_context_tsv(const struct session *s, uint32_t at, struct counters *parts, struct buf *out)
{
	struct context c CLEANUP_CONTEXT = {NULL, 0, NO_ENTRY, NO_ENTRY};
	struct reader reader CLEANUP_READER = READER_INIT;
	struct record r;
	size_t total = 0;
	bool replaced;
	int rc = context_build(s, at, &c);

	buf_adds(out, "entry\trole\tname\ttokens\ttotal\n");
	for (size_t i = 0; i < c.n && rc == 0; i++) {
		rc = context_read_message(s, &c.items[i], &reader, &r, &replaced);
		if (rc < 0)
			break;
		size_t tokens = tokens_count(&r, parts);
		total += tokens;
		tokens_add_row(s, c.items[i].entry, &r, out);
		buf_addf(out, "\t%zu\t%zu\n", tokens, total);
		rc = cancel_check();
	}
	return rc < 0 ? rc : buf_err(out);
}
