/* SPDX-License-Identifier: MIT */
/* branches/ID/session.jsonl: a path as a session file that pi can resume.
 *
 * The path has all entries of the context, but a label record is where the leaf was when it was set. Labels missing
 * from the path follow it, as pi writes labels. When the path grows these lines move, so the file is then made again.
 */
#include "sessionfs/base/cancel.h"
#include "pieces.h"

#include <errno.h>
#include <stdlib.h>

/* A line of the file. After the path: a label, whose parent is the entry of the line before. */
struct branch_line {
	uint32_t entry, before; /* before: NO_ENTRY for a line of the path */
};

/* Finds the labels that the path lacks. */
struct branch_labels {
	const struct session *s;
	struct line line;
	struct label_change *changes; /* the newest of each entry */
	size_t n;
	uint32_t *given;     /* for each: the last record on the path that sets its label, or NO_ENTRY */
	unsigned char *seen; /* a bit for each entry: its id is in the file */
};

static void branch_labels_release(struct branch_labels *b)
{
	line_release(&b->line);
	free(b->changes);
	free(b->given);
	free(b->seen);
}

/* Returns whether the id of this entry was seen before, and marks it as seen. */
static bool branch_mark_seen(struct branch_labels *b, uint32_t owner)
{
	if (owner == NO_ENTRY)
		return true;
	unsigned char bit = (unsigned char)(1u << owner % 8), *byte = &b->seen[owner / 8];
	bool before = *byte & bit;
	*byte |= bit;
	return before;
}

/* Returns whether pi can use this id as a parent. */
static bool id_can_be_parent(struct json_value id)
{
	return (id.kind == JSON_STRING || id.kind == JSON_NUMBER) && json_is_truthy(id);
}

/* Marks the ids on the path, and the labels that its lines set. */
static int branch_read_path(struct branch_labels *b, const struct branch_line *v, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		struct record r;
		int rc = cancel_check();
		if (rc < 0)
			return rc;
		branch_mark_seen(b, v[k].entry);
		if (session_entry(b->s, v[k].entry)->type != RECORD_LABEL)
			continue;
		rc = session_load(b->s, v[k].entry, &b->line, &r);
		if (rc < 0)
			return rc;
		const struct label_change *change =
		    session_label_change_find(b->changes, b->n, session_entry_by_id(b->s, r.target_id));
		if (change)
			b->given[change - b->changes] = v[k].entry;
	}
	return 0;
}

/* Appends the label that a record sets, after its JSON kind; nothing if it is false for pi. */
static int branch_add_label(struct branch_labels *b, uint32_t record, struct buf *out)
{
	struct record r = {0};
	int rc = record == NO_ENTRY ? 0 : session_load(b->s, record, &b->line, &r);
	if (rc < 0 || !json_is_truthy(r.label))
		return rc;
	buf_addc(out, (char)r.label.kind);
	json_decode(r.label.text, JSON_EXACT, out);
	return buf_err(out);
}

/* Returns 1 if the path sets the session's current label, else 0. */
static int path_has_current_label(struct branch_labels *b, const struct label_change *change)
{
	struct buf now CLEANUP_BUF = BUF_INIT, given CLEANUP_BUF = BUF_INIT;
	uint32_t record = b->given[change - b->changes];
	if (record == change->record)
		return 1;
	int rc = branch_add_label(b, change->record, &now);
	if (rc == 0)
		rc = branch_add_label(b, record, &given);
	return rc < 0 ? rc : span_eq(buf_span(&now), buf_span(&given));
}

/* Appends the labels that n lines of a path lack. v must have room for them. */
static int branch_add_labels(struct branch_labels *b, struct branch_line *v, size_t *n)
{
	struct record r = {0};
	size_t path = *n;
	b->given = malloc(b->n * sizeof *b->given);
	b->seen = calloc(session_count(b->s) / 8 + 1, 1);
	if (!b->given || !b->seen)
		return -ENOMEM;
	memset(b->given, 0xff, b->n * sizeof *b->given); /* NO_ENTRY */
	int rc = branch_read_path(b, v, path);
	if (rc == 0)
		rc = session_load(b->s, v[path - 1].entry, &b->line, &r);
	if (rc < 0 || !id_can_be_parent(r.id))
		return rc;
	branch_mark_seen(b, session_entry_by_id(b->s, r.id));
	for (size_t k = 0; k < path; k++) {
		const struct label_change *change = session_label_change_find(b->changes, b->n, v[k].entry);
		rc = change ? path_has_current_label(b, change) : 1;
		if (rc == 0)
			rc = session_load(b->s, change->record, &b->line, &r);
		if (rc < 0)
			return rc;
		if (rc > 0 || !id_can_be_parent(r.id) || branch_mark_seen(b, session_entry_by_id(b->s, r.id)))
			continue;
		v[*n] = (struct branch_line){change->record, v[*n - 1].entry};
		++*n;
	}
	return 0;
}

static int branch_lines(const struct render_target *p, struct render_totals *t, void **ret, size_t *ret_n)
{
	struct branch_labels b CLEANUP(branch_labels_release) = {.s = p->session, .line = LINE_INIT};
	uint32_t *path CLEANUP_FREE = NULL;
	void *items = NULL;
	size_t n = 0;
	int rc = path_items(p, t, &items, &n);
	path = items;
	if (rc == 0)
		rc = session_label_changes(p->session, 0, UINT32_MAX, &b.changes, &b.n);
	if (rc < 0)
		return rc;
	struct branch_line *v = malloc((n + b.n + 1) * sizeof *v);
	if (!v)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++)
		v[k] = (struct branch_line){path[k], NO_ENTRY};
	rc = n && b.n ? branch_add_labels(&b, v, &n) : 0;
	if (rc < 0) {
		free(v);
		return rc;
	}
	*ret = v;
	*ret_n = n;
	return 0;
}

static int branch_front(const struct render_target *p, const struct render_totals *t, struct buf *out)
{
	(void)t;
	return render_header_json(p->session, out);
}

static void branch_add_key(const char *key, struct json_value v, struct buf *out)
{
	if (v.kind == JSON_NONE)
		return;
	buf_addf(out, ",\"%s\":", key);
	buf_addspan(out, json_raw(v));
}

/* Appends a label as pi writes it. */
static int branch_add_label_line(const struct session *s, const struct branch_line *l, struct reader *reader,
                                 struct buf *out)
{
	struct buf *parent = &reader->scratch[0];
	struct record r;
	int rc = session_read(s, l->before, reader, &r);
	if (rc < 0)
		return rc;
	buf_reset(parent);
	buf_addspan(parent, json_raw(r.id));
	rc = buf_err(parent) ? buf_err(parent) : session_read(s, l->entry, reader, &r);
	if (rc < 0)
		return rc;
	buf_adds(out, "{\"type\":\"label\"");
	branch_add_key("id", r.id, out);
	buf_adds(out, ",\"parentId\":");
	buf_addspan(out, buf_span(parent));
	branch_add_key("timestamp", r.timestamp, out);
	branch_add_key("targetId", r.target_id, out);
	branch_add_key("label", r.label, out);
	buf_addc(out, '}');
	return 0;
}

static int branch_segment(const struct render_target *p, const void *item, bool is_first, struct reader *reader,
                          struct usage *usage, struct buf *out)
{
	const struct branch_line *l = item;
	struct span line = {NULL, 0};
	int rc;
	(void)is_first, (void)usage;
	if (l->before != NO_ENTRY) {
		rc = branch_add_label_line(p->session, l, reader, out);
	} else {
		rc = session_read_line(p->session, l->entry, reader, &line);
		buf_addspan(out, line);
	}
	buf_addc(out, '\n');
	return rc < 0 ? rc : buf_err(out);
}

const struct producer producer_branch_jsonl = {
    .item_size = sizeof(struct branch_line),
    .list = branch_lines,
    .front = branch_front,
    .segment = branch_segment,
};
