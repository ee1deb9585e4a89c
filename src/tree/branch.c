/* SPDX-License-Identifier: MIT */
/* branches/: a directory for each end of the conversation, with the path to it as links. */
#include "sessionfs/base/name.h"
#include "sessionfs/render/producer.h"
#include "rows.h"

#include <errno.h>
#include <stdio.h>

static int path_view_build(struct ctx *c, void *at, struct view *ret)
{
	uint32_t *path = NULL;
	int rc = session_path(c->session, *(uint32_t *)at, &path, &ret->n);
	ret->items = path;
	ret->item = sizeof *path;
	return rc;
}

static const struct view *view_path(struct ctx *c, uint32_t at, int *ret_err)
{
	node_t id = node_pack((struct node){.kind = KIND_PATH_VIEW, .slot = c->node.slot, .entry = at});
	return ctx_get_view(c, id, session_serial(c->session), path_view_build, &at, ret_err);
}

/* `current` is the name of a link, so an entry of that name gets the next free name. */
static void branch_name(struct ctx *c, uint32_t i, struct buf *out)
{
	char other[32];
	size_t before = out->n;
	session_entry_name(c->session, i, out);
	if (!span_is((struct span){out->p + before, out->n - before}, "current"))
		return;
	unsigned n = 2;
	do
		snprintf(other, sizeof other, "current~%u", n++);
	while (session_entry_by_name(c->session, span_of(other)) != NO_ENTRY);
	out->n = before;
	buf_adds(out, other);
}

static int branch_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	uint32_t n = session_count(dir->session);
	for (uint64_t i = cookie; i < n; i++)
		if (session_is_branch(dir->session, (uint32_t)i) &&
		    entry_list_child(dir, l, (uint32_t)i, branch_name, &name))
			break;
	return buf_err(&name);
}

static int branch_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct buf made CLEANUP_BUF = BUF_INIT;
	uint32_t i = session_entry_by_name(dir->session, name);
	if (i == NO_ENTRY)
		i = session_entry_by_name(dir->session, SPAN_LIT("current"));
	if (i == NO_ENTRY)
		return -ENOENT;
	branch_name(dir, i, &made);
	if (!span_eq(buf_span(&made), name))
		return -ENOENT;
	ret->entry = i;
	return 0;
}

/* NNNN-KIND: the role of a message, else the type. */
static int path_name(struct ctx *c, size_t i, uint32_t entry, struct buf *out)
{
	char number[32];
	const struct entry *e = session_entry(c->session, entry);
	const char *word = e->type == RECORD_MESSAGE ? record_role_name(e->role) : record_type_name(e->type);
	snprintf(number, sizeof number, "%04zu-", i + 1);
	if (word) {
		name_encode(number, span_of(word), "", out);
		return buf_err(out);
	}
	struct buf text CLEANUP_BUF = BUF_INIT;
	int rc = ctx_load(c, entry);
	if (rc < 0)
		return rc;
	struct json_value v = c->record.type == RECORD_MESSAGE ? c->record.msg.role : c->record.type_;
	if (v.kind == JSON_STRING)
		json_decode(v.text, JSON_EXACT, &text);
	else
		buf_adds(&text, e->type == RECORD_MESSAGE ? "message" : "unknown");
	name_encode(number, buf_span(&text), "", out);
	return buf_err(&text) ? buf_err(&text) : buf_err(out);
}

static int path_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	int rc = 0;
	const struct view *v = view_path(dir, session_branch_end(dir->session, dir->node.entry), &rc);
	if (!v)
		return rc;
	for (size_t i = (size_t)cookie; i < v->n; i++) {
		struct node n = {.slot = dir->node.slot, .entry = view_entry(v, i)};
		buf_reset(&name);
		rc = path_name(dir, i, view_entry(v, i), &name);
		if (rc < 0 || list_emit_child(dir, l, n, buf_span(&name), COOKIE_DYNAMIC + 1 + (uint64_t)i))
			break;
	}
	cache_release(dir->tree->cache, v);
	return rc;
}

static int path_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct buf made CLEANUP_BUF = BUF_INIT;
	size_t i = name_leading_number(name);
	if (i == 0)
		return -ENOENT;
	int rc = 0;
	const struct view *v = view_path(dir, session_branch_end(dir->session, dir->node.entry), &rc);
	if (!v)
		return rc;
	rc = i <= v->n ? path_name(dir, i - 1, view_entry(v, i - 1), &made) : -ENOENT;
	if (rc == 0 && !span_eq(buf_span(&made), name))
		rc = -ENOENT;
	if (rc == 0)
		ret->entry = view_entry(v, i - 1);
	cache_release(dir->tree->cache, v);
	return rc;
}

static int current_show(struct ctx *c, struct buf *out)
{
	branch_name(c, session_current_position(c->session), out);
	return 0;
}

static int path_link_show(struct ctx *c, struct buf *out)
{
	append_entry_path(c, "../../entries/", c->node.entry, out);
	return 0;
}

/* Metadata at the end of a branch's path disappears with the branch; the entries above it stay. */
static bool path_link_may_go(const struct ctx *c)
{
	return !(session_entry(c->session, c->node.entry)->flags & ENTRY_CONVERSATION);
}

static bool branch_can_be_forked(struct ctx *c)
{
	return !format_is_old(session_format(c->session));
}

static const struct kind in_branches[] = {
    {"current", .doc = "the branch in use (a link)", .from = &from_session, .make = LINK(current_show),
     .has = position_exists},
    {NULL, .doc = "a branch", .from = &from_branch, .make = DIR(branch),
     .names = {"ID", branch_list, branch_match, NULL}},
};
const struct kind_rows rows_branches = ROWS(in_branches);

static const struct kind in_branch[] = {
    {"session.jsonl", .doc = "the path to it as a session file: for `pi --fork`", .from = &from_branch,
     .make = SEGMENTED(branch_jsonl, NULL), .has = branch_can_be_forked},
    {"chat.md", .doc = "the conversation, with one line for each tool call", .from = &from_branch,
     .make = SEGMENTED(chat_md, NULL), .has = chat_exists},
    {"context.md", .doc = "the context sent to the model at its end", .from = &from_branch,
     .make = SEGMENTED(context_md, NULL), .has = context_exists},
    {"context.json", .doc = "the same as JSON, as in pi", .from = &from_branch, .make = SEGMENTED(context_json, NULL)},
    {"context.tsv", .doc = "the estimated tokens of each of its messages", .from = &from_branch,
     .make = SHOW(context_tsv_show), .has = context_exists, .flags = FROM_WHOLE_SESSION, .changes = TREE_REWRITTEN},
    {"transcript.md", .doc = "the whole path to its end", .from = &from_branch, .make = SEGMENTED(transcript_md, NULL),
     .has = transcript_exists},
    {NULL, .doc = "an entry of the path (a link)", .from = &from_branch, .make = LINK(path_link_show),
     .names = {"NNNN-KIND", path_list, path_match, path_link_may_go}},
};
const struct kind_rows rows_branch = ROWS(in_branch);
