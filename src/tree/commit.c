/* SPDX-License-Identifier: MIT */
/* From a value to an append: parse, lock the file, update the index, make the records for the current state, write
 * them, and index them before the reply, so that readers see the write at once. */
#include "sessionfs/file/store.h"
#include "sessionfs/base/utf8.h"
#include "write_impl.h"

#include <errno.h>

/* The max number of attempts of a commit whose session file keeps being replaced. */
#define COMMIT_TRIES_MAX 16

struct commit {
	struct tree *tree;
	uint32_t slot;
	struct store_id id; /* the file of the slot */
	struct session *session;
	struct edit edit;
	struct edits_from_table table; /* edit_labels from labels.tsv */
	bool is_table;
	struct edit_label *labels; /* parsed from the table, or the caller's; edit.n of them */
	struct edit_label label;   /* of a value that is a label */
	struct buf value;          /* parsed from the text that was written */
	struct buf text, why, written;
	struct buf names; /* of the entries that are written to, each with a slash after it */
	int64_t now_ms;
};

static void commit_release(struct commit *c)
{
	if (c->is_table)
		free(c->labels);
	buf_release(&c->value);
	buf_release(&c->text);
	buf_release(&c->why);
	buf_release(&c->written);
	buf_release(&c->names);
}

static void commit_set_labels(struct commit *c, struct edit_label *labels, size_t n)
{
	c->labels = labels;
	c->edit = (struct edit){.records = edit_labels, .labels = labels, .n = n, .entry = NO_ENTRY};
}

static struct store_id session_store_id(const struct session *s)
{
	const struct stat *st = session_stat(s);
	return (struct store_id){st->st_dev, st->st_ino};
}

/* Gets the session of the current file, in c->session until commit_put. Fails with -ESTALE if that is another file.
 * Release it before waiting for the file's lock. */
static int commit_get(struct commit *c)
{
	int rc = catalog_session_get_as(c->tree->catalog, c->slot, GET_NOW, &c->session);
	if (rc < 0)
		return rc;
	const struct store_id now = session_store_id(c->session);
	if (now.dev == c->id.dev && now.ino == c->id.ino)
		return 0;
	catalog_session_put(c->tree->catalog, c->session);
	return -ESTALE;
}

static void commit_put(struct commit *c)
{
	catalog_session_put(c->tree->catalog, c->session);
	c->session = NULL;
}

static bool commit_is_own(void *arg, uint32_t line, uint32_t entry, struct span label)
{
	const struct commit *c = arg;
	return state_label_is_saved(c->tree, c->slot, line, entry, label);
}

/* The changes of a table depend on the current labels. */
static int commit_parse_table(struct commit *c)
{
	free(c->labels);
	c->labels = NULL;
	buf_reset(&c->text);
	c->table.is_saved_here = commit_is_own;
	c->table.arg = c;
	int rc = edits_from_table(c->session, &c->table, &c->text, &c->labels, &c->edit.n, &c->why);
	c->edit.labels = c->labels;
	return rc;
}

static int commit_make_lines(void *arg, unsigned attempt, struct buf *out)
{
	struct commit *c = arg;
	int rc = commit_get(c);
	if (rc < 0)
		return rc;
	if (c->is_table && attempt == 0)
		rc = commit_parse_table(c);
	c->edit.written = buf_span(&c->written);
	if (rc == 0)
		rc = edit_make(c->session, &c->edit, attempt > 0, c->now_ms, out);
	commit_put(c);
	buf_reset(&c->written);
	buf_addspan(&c->written, buf_span(out));
	return rc < 0 ? rc : buf_err(&c->written);
}

int commit_slot(struct tree *t, uint32_t slot, struct slot_info *ret)
{
	int rc = catalog_slot(t->catalog, slot, ret);
	return rc == -ESTALE ? catalog_slot_now(t->catalog, slot, ret) : rc;
}

int commit_allowed(struct tree *t, uint32_t slot, const char **why)
{
	struct slot_info info;
	struct session *s;
	if (t->read_only)
		return -EROFS;
	int rc = commit_slot(t, slot, &info);
	if (rc == 0 && !(info.st.st_mode & 0222))
		rc = -EACCES;
	if (rc == 0)
		rc = catalog_session_get(t->catalog, info.slot, &s);
	if (rc < 0)
		return rc;
	if (!session_format(s)->has_ids) {
		*why = "the session file has version 1; open it once in pi to convert it";
		rc = -EPERM;
	}
	catalog_session_put(t->catalog, s);
	return rc;
}

int commit_dir_allowed(struct tree *t, node_t dir, const char **why)
{
	const struct kind *k = kind_of(tree_node(dir));
	if (t->read_only)
		return -EROFS;
	if (!k || !(k->flags & ALLOWS_CREATE))
		return -EPERM;
	{
		struct ctx c CLEANUP_CTX = {0};
		int rc = ctx_open(&c, t, tree_node(dir), SCOPE_MOUNT);
		if (rc < 0 || !ctx_is_writable(&c))
			return rc < 0 ? rc : -EPERM;
	}
	return commit_allowed(t, tree_node(dir).slot, why);
}

static struct source_path slot_source_path(const struct tree *t, const struct slot_info *slot)
{
	return (struct source_path){catalog_resolver(t->catalog), slot->file};
}

/* ---- the entries that are written to ---- */

/* Returns the i-th of them, or NULL. A table names its entries itself. */
static uint32_t *commit_nth_entry(struct commit *c, size_t i)
{
	struct edit *e = &c->edit;
	if (e->labels)
		return !c->is_table && i < e->n ? &c->labels[i].entry : NULL;
	return e->entry != NO_ENTRY && i == 0 ? &e->entry : NULL;
}

/* Their numbers differ in another file. A handle knows their names since it was opened. */
static int commit_save_entry_ids(struct commit *c, const struct session *s)
{
	const uint32_t *entry;
	if (c->names.n > 0)
		return 0;
	for (size_t i = 0; (entry = commit_nth_entry(c, i)); i++) {
		if (*entry >= session_count(s))
			return -ESTALE;
		session_entry_name(s, *entry, &c->names);
		buf_addc(&c->names, '/');
	}
	return buf_err(&c->names);
}

static int commit_restore_entries(struct commit *c, const struct session *s)
{
	const char *name = c->names.p;
	uint32_t *entry;
	for (size_t i = 0; (entry = commit_nth_entry(c, i)); i++) {
		const char *end = memchr(name, '/', (size_t)(c->names.p + c->names.n - name));
		*entry = session_entry_by_name(s, (struct span){name, (size_t)(end - name)});
		if (*entry == NO_ENTRY)
			return -ENOENT;
		name = end + 1;
	}
	return 0;
}

/* ---- one try ---- */

/* Finds the file of the slot, and the entries in it. */
static int commit_begin(struct commit *c, bool again)
{
	int rc = catalog_session_get(c->tree->catalog, c->slot, &c->session);
	if (rc < 0)
		return rc;
	c->id = session_store_id(c->session);
	rc = again && c->names.n ? commit_restore_entries(c, c->session)
	     : again             ? 0
	                         : commit_save_entry_ids(c, c->session);
	commit_put(c);
	return rc;
}

/* Returns -ESTALE if the file was replaced meanwhile. */
static int commit_try_append(struct commit *c, bool again, bool sync)
{
	struct tree *t = c->tree;
	struct slot_info info;
	struct stat synced = {0};
	int rc = catalog_slot(t->catalog, c->slot, &info);
	if (rc == 0)
		rc = commit_begin(c, again);
	if (rc < 0)
		return rc;
	const struct source_path at = slot_source_path(t, &info);
	atomic_fetch_add(&t->commits, 1);
	buf_reset(&c->written);
	c->now_ms = clock_ms(CLOCK_REALTIME);
	rc = store_append(&at, &c->id, sync ? &synced : NULL, commit_make_lines, c);
	if (rc == 0 && sync)
		state_note_synced(t, &synced);
	/* Index the write, so that it reads back at once. If that fails, the write still succeeded. */
	if (rc == 0 && commit_get(c) == 0)
		commit_put(c);
	/* If the same table is saved again, these changes are its own, not foreign ones. */
	for (size_t i = 0; rc == 0 && c->is_table && i < c->edit.n; i++)
		state_add_saved_label(t, c->slot, c->table.line, c->labels[i].entry, c->labels[i].text);
	return rc;
}

static int commit_append(struct tree *t, uint32_t slot, struct commit *c, bool sync, const char **why)
{
	struct slot_info info;
	c->tree = t;
	c->slot = slot;
	for (int tries = 0;; tries++) {
		int rc = commit_allowed(t, c->slot, why);
		if (rc == 0)
			rc = commit_try_append(c, tries > 0, sync);
		/* Only a name finds an entry in another file. */
		if (rc != -ESTALE || tries + 1 == COMMIT_TRIES_MAX || (commit_nth_entry(c, 0) && c->names.n == 0))
			return rc;
		if (catalog_slot_now(t->catalog, slot, &info) < 0)
			return -ESTALE;
		c->slot = info.slot;
	}
}

uint64_t tree_commit_count(const struct tree *t)
{
	return atomic_load(&t->commits);
}

static const char *refusal_reason(int rc, const char *why)
{
	if (why && *why)
		return why;
	switch (-rc) {
	case EACCES:
		return "the session file is not writable";
	case ENOENT:
		return "no such entry";
	case EPERM:
		return "pi cannot address this entry";
	case ESTALE:
		return "the session file was replaced";
	case ENOLCK:
		return "the file system of the session files does not support locks, which writes require";
	default:
		return strerror(-rc);
	}
}

struct node_name_search {
	node_t node;
	struct buf *name;
};

static int collect_node_name(void *arg, struct span name, uint64_t cookie, node_t node, uint64_t ino, mode_t mode,
                             const struct tree_attr *a)
{
	struct node_name_search *w = arg;
	(void)cookie, (void)ino, (void)mode, (void)a;
	if (node == w->node)
		buf_addspan(w->name, name);
	return node == w->node;
}

/* Appends the path of a name, from its session on if it has one. `entry`: the name of the entry that it belongs to, if
 * known: after the file was replaced it cannot be looked up. */
static void commit_add_path(struct tree *t, struct node n, struct span entry, struct buf *out)
{
	const struct kind *k = kind_of(n);
	if (!k || n.kind == KIND_ROOT || (k->from->scope == SCOPE_SLOT && k->make.type == S_IFDIR))
		return;
	struct node up = node_parent(t, n);
	commit_add_path(t, up, entry, out);
	if (out->n > 0)
		buf_addc(out, '/');
	size_t start = out->n;
	if (k->name)
		buf_adds(out, k->name);
	else if ((k->flags & LINK_TARGET_DIR) && entry.n > 0)
		buf_addspan(out, entry);
	else if (k->flags & LINK_TARGET_DIR)
		commit_entry(t, n, out);
	else {
		/* Directories of branches and calls are listed in the order of their numbers. */
		bool is_in_order = k->make.type == S_IFDIR && k->from->scope >= SCOPE_ENTRY;
		uint64_t before = !is_in_order ? 0 : n.part > 0 ? n.part - 1 : n.entry;
		tree_list(t, tree_id(up), COOKIE_DYNAMIC + before, TREE_NAMES, collect_node_name,
		          &(struct node_name_search){tree_id(n), out});
	}
	if (out->n == start)
		buf_addc(out, '?');
}

int commit_refuse_in(struct tree *t, node_t dir, struct span name, int rc, const char *why)
{
	struct buf what CLEANUP_BUF = BUF_INIT;
	commit_add_path(t, tree_node(dir), (struct span){NULL, 0}, &what);
	if (what.n > 0)
		buf_addc(&what, '/');
	/* Keep the message on one line. */
	bool text = utf8_prefix(name) == name.n;
	for (size_t i = 0; i < name.n; i++) {
		unsigned char b = (unsigned char)name.p[i];
		buf_addc(&what, b < ' ' || b == 0x7f || (b > 0x7f && !text) ? '?' : (char)b);
	}
	state_add_refusal(t, tree_node(dir), buf_cstr(&what) ? what.p : "a name", rc, refusal_reason(rc, why));
	return rc;
}

int commit_refuse(struct tree *t, struct node n, struct span entry, int rc, const char *why)
{
	struct buf what CLEANUP_BUF = BUF_INIT;
	commit_add_path(t, n, entry, &what);
	state_add_refusal(t, n, what.n > 0 && buf_cstr(&what) ? what.p : "the session", rc, refusal_reason(rc, why));
	return rc;
}

int commit_refuse_name(struct tree *t, struct node n, const char *why)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	buf_addf(&text, "%s; %s", why, kind_instead(kind_of(n)));
	return commit_refuse(t, n, (struct span){NULL, 0}, -EPERM, buf_cstr(&text));
}

int commit_refuse_denied(struct tree *t, node_t dir, struct span name, int rc, const char *why)
{
	if (rc == -EPERM || rc == -ENOSPC)
		return commit_refuse_in(t, dir, name, rc, why);
	return rc == -EACCES ? commit_refuse_in(t, dir, name, rc, NULL) : rc;
}

int commit_side_name(struct tree *t, node_t dir, struct span name, mode_t type, node_t *ret_home)
{
	const struct kind_rows *rows = kind_rows_of_dir(tree_node(dir));
	bool allowed = type != S_IFREG;
	/* Editors create files next to one that can be written. */
	for (const struct kind *k = rows->v; k < rows->v + rows->n && !allowed; k++)
		allowed = k->write && k->write->form;
	if (!allowed)
		return commit_refuse_in(t, dir, name, -EPERM, "make a link, or write entries/ID/label");
	for (const struct kind *k = NULL; (k = kind_next(k));)
		if (k->name && span_is(name, k->name))
			return commit_refuse_in(t, dir, name, -EPERM,
			                        "this name is reserved for the tree; use another one");
	return scratch_home(t, dir, ret_home);
}

static struct span path_without_newline(struct span s)
{
	return s.n > 0 && s.p[s.n - 1] == '\n' ? (struct span){s.p, s.n - 1} : s;
}

int commit_entry(struct tree *t, struct node n, struct buf *out)
{
	struct session *s;
	if (kind_of(n)->from->scope < SCOPE_ENTRY)
		return 0;
	int rc = catalog_session_get(t->catalog, n.slot, &s);
	if (rc < 0)
		return rc;
	if (n.entry < session_count(s))
		session_entry_name(s, n.entry, out);
	catalog_session_put(t->catalog, s);
	return buf_err(out);
}

/* Parses the text as a value of n, and sets the change that it makes. */
static int commit_set_value(struct commit *c, struct node n, struct span text, const char **ret_why)
{
	const struct writable *w = kind_writable(n);
	int rc = value_parse(w->form, text, &c->value, ret_why);
	struct span value = buf_span(&c->value);
	c->is_table = w->form->is_table;
	c->table.text = value;
	c->edit = (struct edit){.records = w->records, .text = value, .entry = NO_ENTRY, .ret_why = ret_why};
	if (kind_of(n)->from->scope >= SCOPE_ENTRY)
		c->edit.entry = n.entry;
	c->label = (struct edit_label){n.entry, value};
	if (w->records == edit_labels && !c->is_table)
		commit_set_labels(c, &c->label, 1);
	return rc;
}

int commit_value(struct tree *t, struct node n, struct span entry, struct span text, bool sync)
{
	struct buf now CLEANUP_BUF = BUF_INIT;
	const struct writable *w = kind_writable(n);
	/* Saving a file unchanged writes nothing, whatever the stored bytes. A file that does not exist reads as empty,
	 * which is not always a value; and a value can be a line break. */
	if (tree_read(t, node_pack(n), 0, text.n + 2, &now) == 0 && (now.n > 0 ? text.n > 0 : !w->form->clear_error) &&
	    span_eq(path_without_newline(buf_span(&now)), path_without_newline(text)))
		return sync ? commit_sync(t, n, entry) : 0;
	struct commit c CLEANUP(commit_release) = {.text = BUF_INIT};
	const char *why = NULL;
	int rc = commit_set_value(&c, n, text, &why);
	if (rc == 0 && entry.n > 0) {
		buf_addspan(&c.names, entry);
		buf_addc(&c.names, '/');
		rc = buf_err(&c.names);
	}
	if (rc == 0)
		rc = commit_append(t, n.slot, &c, sync, &why);
	if (c.why.n > 0)
		why = buf_cstr(&c.why);
	return rc < 0 ? commit_refuse(t, n, entry, rc, why) : 0;
}

/* The record around the value. */
#define RECORD_BYTES 512

int commit_check_space(struct tree *t, struct node n, struct span entry, struct span text, size_t quoted)
{
	struct buf now CLEANUP_BUF = BUF_INIT;
	struct slot_info info;
	const char *why = NULL;
	int rc = commit_allowed(t, n.slot, &why);
	if (rc == 0)
		rc = commit_slot(t, n.slot, &info);
	/* An interrupted caller would write the same bytes again. The commit repeats the check. */
	if (rc < 0)
		return rc == -EINTR ? 0 : commit_refuse(t, n, entry, rc, why);
	const struct store_id id = {info.st.st_dev, info.st.st_ino};
	const struct source_path at = slot_source_path(t, &info);
	rc = store_check(&at, &id, quoted + RECORD_BYTES);
	/* The commit checks a replaced file again. If the file begins with this text, the commit possibly writes
	 * nothing. */
	if (rc == -ESTALE || rc == -EINTR ||
	    (rc == -ENOSPC && text.n > 0 && tree_read(t, node_pack(n), 0, text.n, &now) == 0 &&
	     span_eq(buf_span(&now), text)))
		return 0;
	return rc < 0 ? commit_refuse(t, n, entry, rc, NULL) : 0;
}

int commit_check(struct tree *t, struct node n, struct span entry, struct span text)
{
	struct commit c CLEANUP(commit_release) = {.tree = t, .slot = n.slot};
	struct buf lines CLEANUP_BUF = BUF_INIT;
	const char *why = NULL;
	int rc = commit_set_value(&c, n, text, &why);
	if (rc < 0)
		return commit_refuse(t, n, entry, rc, why);
	/* The commit handles other errors: another file can have replaced this one. */
	if (c.is_table || catalog_session_get(t->catalog, n.slot, &c.session) < 0)
		return 0;
	rc = edit_make(c.session, &c.edit, false, 0, &lines);
	commit_put(&c);
	return rc == -EINVAL ? commit_refuse(t, n, entry, rc, why) : 0;
}

int commit_labels(struct tree *t, node_t dir, struct span name, struct edit_label *labels, size_t n)
{
	struct commit c CLEANUP(commit_release) = {.text = BUF_INIT};
	const char *why = NULL;
	commit_set_labels(&c, labels, n);
	int rc = commit_append(t, tree_node(dir).slot, &c, false, &why);
	return rc < 0 ? commit_refuse_in(t, dir, name, rc, why) : 0;
}

int commit_change(struct tree *t, struct node n, edit_records *records, uint32_t entry)
{
	struct commit c CLEANUP(commit_release) = {.text = BUF_INIT};
	const char *why = NULL;
	c.edit = (struct edit){.records = records, .entry = entry, .ret_why = &why};
	int rc = commit_append(t, n.slot, &c, false, &why);
	return rc < 0 ? commit_refuse(t, n, (struct span){NULL, 0}, rc, why) : 0;
}

int commit_sync(struct tree *t, struct node n, struct span entry)
{
	struct slot_info info;
	int rc = commit_slot(t, n.slot, &info);
	if (rc == 0) {
		const struct source_path at = slot_source_path(t, &info);
		struct stat synced = state_synced(t);
		rc = store_sync(&at, &synced);
		if (rc == 0)
			state_note_synced(t, &synced);
	}
	return rc < 0 && rc != -EINTR ? commit_refuse(t, n, entry, rc, "the session file might not be on the disk")
	                              : rc;
}
