/* SPDX-License-Identifier: MIT */
/* context: which messages the model is sent.
 *
 * This is pi's buildSessionProjection, on entry numbers instead of objects: walk to the root, put the newest compaction
 * first and drop the entries it summarizes, then apply the newest context edit of each remaining entry. Contents are
 * read only where a rule depends on them: the compaction and the edits themselves.
 *
 * Where pi throws, the session must stay readable: an entry without `message` and an edit without `replacement` are
 * ignored. */
#include "sessionfs/base/cancel.h"
#include "sessionfs/session/context.h"
#include "sessionfs/session/part.h"
#include "session_impl.h"

#include <errno.h>
#include <stdlib.h>

struct context_edit {
	uint32_t target, order; /* first, for two_numbers_cmp */
	uint32_t entry;
	bool is_removal;
};

struct context_builder {
	const struct session *s;
	struct line line;
	struct context_edit *edits; /* after find_edits: sorted by target, one each */
	size_t n_edits;
	struct context_item *items;
	size_t n;
};

static void context_builder_release(struct context_builder *b)
{
	line_release(&b->line);
	free(b->edits);
	free(b->items);
}

/* Collects the newest edit of each target among the context entries. */
static int find_edits(struct context_builder *b, const uint32_t *entries, size_t n)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		count += session_entry(b->s, entries[i])->type == RECORD_CONTEXT_EDIT;
	if (count == 0)
		return 0;
	b->edits = calloc(count, sizeof(*b->edits));
	if (!b->edits)
		return -ENOMEM;

	size_t found = 0;
	for (size_t i = 0; i < n; i++) {
		if (session_entry(b->s, entries[i])->type != RECORD_CONTEXT_EDIT)
			continue;
		struct record r;
		int rc = session_load(b->s, entries[i], &b->line, &r);
		if (rc < 0)
			return rc;
		uint32_t target = session_entry_by_id(b->s, r.target_id);
		if (target == NO_ENTRY || r.replacement.kind == JSON_NONE)
			continue;
		b->edits[found] =
		    (struct context_edit){target, (uint32_t)found, entries[i], r.replacement.kind == JSON_NULL};
		found++;
	}

	qsort(b->edits, found, sizeof(*b->edits), two_numbers_cmp);
	for (size_t i = 0; i < found; i++) {
		if (i + 1 == found || b->edits[i + 1].target != b->edits[i].target)
			b->edits[b->n_edits++] = b->edits[i];
	}
	return 0;
}

static void context_add_item(struct context_builder *b, enum context_kind kind, uint32_t entry,
                             const struct context_edit *edit)
{
	b->items[b->n++] = (struct context_item){entry, edit ? edit->entry : NO_ENTRY, kind};
}

static int add_compaction(struct context_builder *b, uint32_t entry)
{
	struct record r;
	int rc = session_load(b->s, entry, &b->line, &r);
	if (rc < 0)
		return rc;
	if (json_is_truthy(r.system_message))
		context_add_item(b, CONTEXT_SYSTEM, entry, NULL);
	context_add_item(b, CONTEXT_COMPACTION, entry, NULL);
	return 0;
}

static int context_add_entry(struct context_builder *b, uint32_t entry, bool newest_compaction)
{
	const struct entry *e = session_entry(b->s, entry);
	const struct context_edit *edit =
	    b->n_edits ? bsearch(&entry, b->edits, b->n_edits, sizeof *edit, leading_number_cmp) : NULL;
	if (edit && edit->is_removal)
		return 0;

	switch (e->type) {
	case RECORD_MESSAGE:
		/* Edits replace the content of these roles only. */
		if (e->role != ROLE_USER && e->role != ROLE_ASSISTANT && e->role != ROLE_TOOL_RESULT &&
		    e->role != ROLE_CUSTOM)
			edit = NULL;
		if (!(e->flags & ENTRY_NO_MESSAGE))
			context_add_item(b, CONTEXT_MESSAGE, entry, edit);
		return 0;
	case RECORD_CUSTOM_MESSAGE:
		context_add_item(b, CONTEXT_CUSTOM, entry, edit);
		return 0;
	case RECORD_BRANCH_SUMMARY:
		if (e->flags & ENTRY_SUMMARY)
			context_add_item(b, CONTEXT_BRANCH_SUMMARY, entry, NULL);
		return 0;
	case RECORD_COMPACTION:
		return newest_compaction ? add_compaction(b, entry) : 0;
	default:
		return 0;
	}
}

/* Cuts the path in place to the context entries: the newest compaction, the entries it keeps, and those after it. */
static int truncate_path(struct context_builder *b, uint32_t *path, size_t *n, bool *ret_compacted)
{
	size_t at = *n;
	while (at > 0 && session_entry(b->s, path[at - 1])->type != RECORD_COMPACTION)
		at--;
	*ret_compacted = at > 0;
	if (at == 0)
		return 0;
	at--;

	uint32_t compaction = path[at];
	struct record r;
	int rc = session_load(b->s, compaction, &b->line, &r);
	if (rc < 0)
		return rc;
	uint32_t kept = session_first_kept(b->s, compaction, &r);
	size_t from = 0;
	while (from < at && path[from] != kept)
		from++;

	/* The compaction goes to the front and shifts the kept entries up by one, so one entry is carried along. */
	size_t out = 0;
	uint32_t carried = compaction;
	for (size_t i = from; i < at; i++) {
		const struct entry *e = session_entry(b->s, path[i]);
		if (e->type == RECORD_MESSAGE && e->role == ROLE_SYSTEM)
			continue;
		uint32_t next = path[i];
		path[out++] = carried;
		carried = next;
	}
	path[out++] = carried;
	memmove(path + out, path + at + 1, (*n - at - 1) * sizeof(*path));
	*n = out + (*n - at - 1);
	return 0;
}

void context_settings(const struct session *s, const uint32_t *path, size_t n, uint32_t *model, uint32_t *thinking)
{
	for (size_t i = 0; i < n; i++) {
		const struct entry *e = session_entry(s, path[i]);
		if (e->type == RECORD_THINKING_LEVEL_CHANGE)
			*thinking = path[i];
		else if (e->type == RECORD_MODEL_CHANGE || (e->type == RECORD_MESSAGE && e->role == ROLE_ASSISTANT))
			*model = path[i];
	}
}

/* pi finds the leaf by its id, so to pi a leaf with a null id does not exist. */
static bool leaf_has_null_id(const struct session *s, uint32_t at)
{
	return at == NO_ENTRY || (at == session_leaf(s) && session_entry(s, at)->flags & ENTRY_NULL_ID);
}

int context_build(const struct session *s, uint32_t at, struct context *ret)
{
	struct context c = {NULL, 0, NO_ENTRY, NO_ENTRY};
	if (leaf_has_null_id(s, at)) {
		*ret = c;
		return 0;
	}

	CLEANUP_FREE uint32_t *path = NULL;
	size_t n = 0;
	int rc = session_path(s, at, &path, &n);
	if (rc < 0)
		return rc;
	context_settings(s, path, n, &c.model, &c.thinking);

	CLEANUP(context_builder_release) struct context_builder b = {.s = s, .line = LINE_INIT};
	bool compacted;
	rc = truncate_path(&b, path, &n, &compacted);
	if (rc < 0)
		return rc;
	rc = find_edits(&b, path, n);
	if (rc < 0)
		return rc;
	b.items = calloc(n + 1, sizeof(*b.items));
	if (!b.items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		rc = context_add_entry(&b, path[i], compacted && i == 0);
		if (rc < 0)
			return rc;
	}

	c.items = b.items;
	c.n = b.n;
	b.items = NULL;
	*ret = c;
	return 0;
}

void context_release(struct context *c)
{
	free(c->items);
	*c = (struct context){NULL, 0, NO_ENTRY, NO_ENTRY};
}

bool context_is_sent(const struct record *r)
{
	if (r->type != RECORD_MESSAGE)
		return true;
	if (r->role == ROLE_BASH_EXECUTION)
		return !json_is_truthy(r->msg.exclude_from_context);
	return r->role != ROLE_OTHER && r->role != ROLE_NONE;
}

struct json_value context_content(const struct record *r)
{
	struct json_value stored = part_content(r);
	return stored.kind > JSON_NULL ? stored : (struct json_value){.kind = JSON_ARRAY, .text = SPAN_LIT("[]")};
}

int context_replacement(const struct session *s, uint32_t i, struct line *l, struct json_value *ret)
{
	CLEANUP_LINE struct line own = LINE_INIT;
	struct record edit, r;
	uint32_t at = session_edit_record(s, i);

	*ret = (struct json_value){0};
	int rc = at == NO_ENTRY ? 0 : session_load(s, at, l, &edit);
	if (rc == 0 && at != NO_ENTRY)
		rc = session_load(s, i, &own, &r);
	if (rc < 0 || at == NO_ENTRY)
		return rc;
	bool is_object = edit.replacement.kind == JSON_OBJECT;
	struct json_value to = is_object ? json_get(edit.replacement, "content") : edit.replacement;
	if (is_object == (to.kind > JSON_NULL) && to.kind != JSON_NONE && !json_same(to, context_content(&r)))
		*ret = to;
	return 0;
}

const char *context_edit_mark(const struct session *s, uint32_t i)
{
	CLEANUP_LINE struct line line = LINE_INIT;
	struct json_value to;

	if (context_replacement(s, i, &line, &to) < 0 || to.kind == JSON_NONE)
		return NULL;
	return to.kind == JSON_NULL ? "left out" : "edited";
}

int context_model(const struct session *s, uint32_t entry, struct line *l, struct json_value *ret_provider,
                  struct json_value *ret_model)
{
	struct record r = {0};
	int rc = entry == NO_ENTRY ? 0 : session_load(s, entry, l, &r);
	bool change = r.type == RECORD_MODEL_CHANGE;

	*ret_provider = change ? r.provider : r.msg.provider;
	*ret_model = change ? r.model_id : r.msg.model;
	return rc;
}

/* The same from the index alone; false if the line must be read. */
static bool entry_is_sent(const struct entry *e)
{
	switch (e->type) {
	case RECORD_MESSAGE:
		return !(e->flags & ENTRY_NO_MESSAGE) && e->role != ROLE_BASH_EXECUTION && e->role != ROLE_OTHER &&
		       e->role != ROLE_NONE;
	case RECORD_BRANCH_SUMMARY:
		return e->flags & ENTRY_SUMMARY;
	default:
		return e->type == RECORD_COMPACTION || e->type == RECORD_CUSTOM_MESSAGE;
	}
}

/* The newest compaction and everything after it are in the context, unless edited. */
static bool branch_end_is_sent(const struct session *s, uint32_t at)
{
	uint32_t ring = NO_ENTRY;

	if (session_has_edits(s) || leaf_has_null_id(s, at))
		return false;
	for (uint32_t i = at; i != NO_ENTRY; i = session_walk_parent(s, i, &ring))
		if (entry_is_sent(session_entry(s, i)))
			return true;
	return false;
}

int context_any(const struct session *s, uint32_t at, bool sent, bool *ret)
{
	CLEANUP_CONTEXT struct context c = {NULL, 0, NO_ENTRY, NO_ENTRY};
	CLEANUP_LINE struct line line = LINE_INIT;
	struct record r;

	bool any = branch_end_is_sent(s, at);
	int rc = any ? 0 : context_build(s, at, &c);
	for (size_t i = c.n; i > 0 && rc == 0 && !any; i--) {
		rc = sent ? session_load(s, c.items[i - 1].entry, &line, &r) : 0;
		any = rc == 0 && (!sent || context_is_sent(&r));
		rc = rc < 0 ? rc : cancel_check();
	}
	if (rc == 0)
		*ret = any;
	return rc;
}

const char *const context_states[STATES] = {
    [STATE_WORKING] = "working",
    [STATE_DONE] = "done",
    [STATE_FAILED] = "failed",
    [STATE_STOPPED] = "stopped",
};

int context_state(const struct session *s, uint32_t at, const char **ret)
{
	uint32_t ring = NO_ENTRY;

	*ret = NULL;
	for (uint32_t i = at; i != NO_ENTRY; i = session_walk_parent(s, i, &ring)) {
		const struct entry *e = session_entry(s, i);
		bool answers = e->role == ROLE_ASSISTANT;
		if (e->type != RECORD_MESSAGE || e->flags & ENTRY_NO_MESSAGE ||
		    (!answers && e->role != ROLE_USER && e->role != ROLE_TOOL_RESULT))
			continue;
		bool is_due = !answers || e->partial || e->flags & ENTRY_HAS_CALLS;
		*ret = context_states[is_due ? STATE_WORKING : STATE_DONE];
		if (!answers || !(e->flags & ENTRY_FAILED))
			return 0;
		CLEANUP_LINE struct line line = LINE_INIT;
		struct record r;
		int rc = session_load(s, i, &line, &r);
		if (rc == 0)
			*ret = context_states[json_equals(r.msg.stop_reason, "aborted") ? STATE_STOPPED : STATE_FAILED];
		return rc;
	}
	return 0;
}
