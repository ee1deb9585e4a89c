/* SPDX-License-Identifier: MIT */
/* A session's own names. */
#include "sessionfs/base/cancel.h"
#include "sessionfs/render/files.h"
#include "sessionfs/render/producer.h"
#include "rows.h"

#include <errno.h>

static bool parent_session_exists(struct ctx *c)
{
	return catalog_parent(c->tree->catalog, c->node.slot) != NO_SLOT;
}

static int parent_session_show(struct ctx *c, struct buf *out)
{
	struct slot_info s;
	uint32_t slot = catalog_parent(c->tree->catalog, c->node.slot);
	int rc = slot == NO_SLOT ? -ESTALE : catalog_slot(c->tree->catalog, slot, &s);
	if (rc == 0)
		rc = append_session_path(c, "projects/", &s, out);
	buf_addc(out, '\n');
	return rc;
}

/* Returns the next session that c's file lists: a fork, or a subagent. */
static bool next_fork(struct ctx *c, uint64_t *cookie, struct slot_info *ret)
{
	bool below = strcmp(c->kind->name, "subagents") == 0;
	return catalog_fork_next(c->tree->catalog, c->node.slot, below, cookie, ret);
}

static bool forks_exist(struct ctx *c)
{
	struct slot_info s;
	uint64_t cookie = 0;
	return next_fork(c, &cookie, &s);
}

static int compare_spans(const void *a, const void *b)
{
	return span_compare(*(const struct span *)a, *(const struct span *)b);
}

int append_sorted_lines(struct span text, size_t n, struct buf *out)
{
	struct span *lines CLEANUP_FREE = calloc(n + 1, sizeof *lines);
	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		size_t length = (size_t)((char *)memchr(text.p, '\n', text.n) - text.p);
		lines[i] = (struct span){text.p, length};
		text = (struct span){text.p + length + 1, text.n - length - 1};
	}
	qsort(lines, n, sizeof *lines, compare_spans);
	for (size_t i = 0; i < n; i++) {
		buf_addspan(out, lines[i]);
		buf_addc(out, '\n');
	}
	return 0;
}

static int forks_show(struct ctx *c, struct buf *out)
{
	struct buf paths CLEANUP_BUF = BUF_INIT;
	struct slot_info s;
	uint64_t cookie = 0;
	size_t n = 0;
	int rc = 0;
	while (rc == 0 && next_fork(c, &cookie, &s)) {
		/* -ESTALE: its project disappeared just now. */
		rc = append_session_path(c, "projects/", &s, &paths);
		if (rc == 0) {
			buf_addc(&paths, '\n');
			n++;
		}
		rc = rc == -ESTALE ? cancel_check() : rc;
	}
	if (rc == 0)
		rc = buf_err(&paths);
	return rc < 0 ? rc : append_sorted_lines(buf_span(&paths), n, out);
}

static bool session_has_entries(struct ctx *c)
{
	return session_leaf(c->session) != NO_ENTRY;
}

static int leaf_show(struct ctx *c, struct buf *out)
{
	append_entry_path(c, "entries/", session_leaf(c->session), out);
	return 0;
}

static int last_link_show(struct ctx *c, struct buf *out)
{
	append_entry_path(c, "entries/", session_current_position(c->session), out);
	return 0;
}

bool position_exists(struct ctx *c)
{
	return session_current_position(c->session) != NO_ENTRY;
}

static int jsonl_size(struct ctx *c, uint64_t *ret)
{
	*ret = session_size(c->session);
	return 0;
}

int session_add_bytes(struct ctx *c, uint64_t off, size_t n, struct buf *out)
{
	while (n > 0) {
		char *to = buf_reserve(out, n);
		ssize_t got = to ? session_pread(c->session, to, n, off) : buf_err(out);
		if (got <= 0)
			return (int)got;
		out->n += (size_t)got;
		off += (uint64_t)got;
		n -= (size_t)got;
	}
	return buf_err(out);
}

static int info_show(struct ctx *c, struct buf *out)
{
	return render_info_json(c->session, c->slot.file, c->subagents_serial ? &c->with_subagents : NULL, out);
}

static int session_state_show(struct ctx *c, struct buf *out)
{
	const char *state;
	int rc = context_state(c->session, session_leaf(c->session), &state);
	if (rc == 0 && state)
		buf_addf(out, "%s\n", state);
	return rc;
}

/* If finding out fails, the file is listed, and its reader gets the error. */
static bool session_state_exists(struct ctx *c)
{
	const char *state;
	return context_state(c->session, session_leaf(c->session), &state) < 0 || state;
}

static bool name_file_exists(struct ctx *c)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	return session_name(c->session, &name);
}

static bool cwd_exists(struct ctx *c)
{
	struct buf cwd CLEANUP_BUF = BUF_INIT;
	return render_cwd(c->session, &cwd) == 0 && cwd.n > 0;
}

static void add_source_path(struct ctx *c, struct buf *out)
{
	buf_addf(out, "%s/%s", catalog_source(c->tree->catalog), c->slot.file);
}

static int path_show(struct ctx *c, struct buf *out)
{
	add_source_path(c, out);
	buf_addc(out, '\n');
	return 0;
}

static int resume_show(struct ctx *c, struct buf *out)
{
	struct buf path CLEANUP_BUF = BUF_INIT;
	add_source_path(c, &path);
	return buf_err(&path) ? buf_err(&path) : render_resume(c->session, buf_span(&path), out);
}

static int tree_txt_show(struct ctx *c, struct buf *out)
{
	return c->tree->coloured ? render_tree_coloured(c->session, out) : render_tree_txt(c->session, out);
}

static bool tree_txt_exists(struct ctx *c)
{
	return render_tree_exists(c->session);
}

static bool labels_tsv_exists(struct ctx *c)
{
	const unsigned shown = ENTRY_CONVERSATION | ENTRY_ADDRESSED;
	uint32_t n = session_count(c->session);
	bool has = session_label_count(c->session) > 0;
	/* The first one is rarely far from the beginning. */
	for (uint32_t i = 0; i < n && !has; i++)
		has = (session_entry(c->session, i)->flags & (shown | ENTRY_NO_MESSAGE)) == shown;
	return has;
}

static bool problems_exist(struct ctx *c)
{
	return session_problem_count(c->session) > 0;
}

static int errors_show(struct ctx *c, struct buf *out)
{
	state_append_errors(c->tree, c->slot.place, out);
	return 0;
}

static bool errors_exist(struct ctx *c)
{
	struct buf b CLEANUP_BUF = BUF_INIT;
	state_append_errors(c->tree, c->slot.place, &b);
	return b.n > 0;
}

/* context.md has only messages that are sent. If finding out fails, the file is listed, and its reader gets the error.
 */
bool context_exists(struct ctx *c)
{
	bool any = true;
	return context_any(c->session, ctx_conversation_end(c), c->kind->make.producer != NULL, &any) < 0 || any;
}

int context_tsv_show(struct ctx *c, struct buf *out)
{
	return render_context_tsv(c->session, ctx_conversation_end(c), NULL, out);
}

bool transcript_exists(struct ctx *c)
{
	return render_transcript_exists(c->session, ctx_conversation_end(c));
}

bool chat_exists(struct ctx *c)
{
	return render_chat_exists(c->session, ctx_conversation_end(c));
}

bool view_file_exists(struct ctx *c)
{
	uint64_t size;
	if (cache_size(c->tree->cache, ctx_id(c), view_serial(c), &size))
		return size > 0;
	int rc = 0;
	const struct view *v = ctx_view(c, &rc);
	bool any = !v || view_size(v) > 0;
	cache_release(c->tree->cache, v);
	return any;
}

static bool all_txt_exists(struct ctx *c)
{
	return render_all_exists(c->session) || view_file_exists(c);
}

static int stop_at_first_file(void *arg, const struct file_use *use)
{
	(void)arg, (void)use;
	return 1;
}

/* The first one is rarely far from the beginning. */
static bool files_tsv_exists(struct ctx *c)
{
	return session_each_file_use(c->session, stop_at_first_file, NULL) != 0;
}

static const struct kind in_session[] = {
    {"title", .doc = "its name, or the first words of the user", .from = &from_session, .make = TEXT(render_title),
     .flags = IGNORE_EXEMPT, .changes = TREE_REWRITTEN, .instead = "write name, which it shows"},
    {"state", .doc = "working, done, failed or stopped", .from = &from_session, .make = SHOW(session_state_show),
     .has = session_state_exists, .changes = TREE_REWRITTEN, .keeps = CACHE_NOTHING,
     .instead = "the last message decides it; to mark a session, write entries/ID/label or name"},
    {"chat.md", .doc = "the conversation, with one line for each tool call", .from = &from_session,
     .make = SEGMENTED(chat_md, NULL), .has = chat_exists},
    {"context.md", .doc = "the context sent to the model at the leaf", .from = &from_session,
     .make = SEGMENTED(context_md, NULL), .has = context_exists},
    {"context.json", .doc = "the same as JSON, in the form that pi uses", .from = &from_session,
     .make = SEGMENTED(context_json, NULL)},
    {"context.tsv", .doc = "the estimated tokens of each of its messages", .from = &from_session,
     .make = SHOW(context_tsv_show), .has = context_exists, .flags = FROM_WHOLE_SESSION, .changes = TREE_REWRITTEN},
    {"transcript.md", .doc = "the whole path to the leaf", .from = &from_session,
     .make = SEGMENTED(transcript_md, NULL), .has = transcript_exists},
    {"all.txt", .doc = "everything said on every branch, each line with its entry ID", .from = &from_session,
     .make = SEGMENTED(all_txt, NULL), .has = all_txt_exists, .flags = IGNORE_EXEMPT},
    {"entries", .doc = "an entry: text.md, thinking.md, tool-calls/N-NAME/arguments.txt, images/, entry.json, ...",
     .from = &from_session, .make = DIR(entries), .flags = PERMANENT},
    {"last", .doc = "the newest message (a link)", .from = &from_session, .make = LINK(last_link_show),
     .has = position_exists, .instead = "to move the leaf: ln -sfn entries/ID leaf"},
    {"tree.txt", .doc = "the tree of entries, with ids, labels and the leaf", .from = &from_session,
     .make = SHOW(tree_txt_show), .has = tree_txt_exists, .flags = FROM_WHOLE_SESSION, .changes = TREE_REWRITTEN},
    {"branches", .doc = "a branch: the same views, and links to its entries", .from = &from_session,
     .make = DIR(branches), .flags = PERMANENT},
    {"files.tsv", .doc = "as at the root, without project and stem", .from = &from_session, .make = TEXT(render_files),
     .has = files_tsv_exists, .changes = TREE_REWRITTEN},
    {"info.json", .doc = "counts, times, tokens and cost", .from = &from_session, .make = SHOW(info_show),
     .flags = SUMS_SUBAGENTS, .changes = TREE_REWRITTEN},
    {"path", .doc = "the path of the session file", .from = &from_file, .make = SHOW(path_show),
     .flags = UNCACHED_TEXT},
    {"resume", .doc = "a script that continues it in pi", .from = &from_session, .make = SHOW(resume_show),
     .flags = EXECUTABLE, .changes = TREE_REWRITTEN},
    {"cwd", .doc = "the directory in which it started", .from = &from_session, .make = TEXT(render_cwd),
     .has = cwd_exists},
    {"parent", .doc = "the session from which it was forked, or which started it", .from = &from_file,
     .make = SHOW(parent_session_show), .has = parent_session_exists, .flags = LISTS_ALL_PROJECTS | UNCACHED_TEXT,
     .changes = TREE_UNTIMED, .keeps = CACHE_NOTHING},
    {"subagents", .doc = "sessions that this one started", .from = &from_file, .make = SHOW(forks_show),
     .has = forks_exist, .flags = LISTS_ALL_PROJECTS | UNCACHED_TEXT, .changes = TREE_UNTIMED, .keeps = CACHE_NOTHING},
    {"forks", .doc = "sessions forked from this one", .from = &from_file, .make = SHOW(forks_show), .has = forks_exist,
     .flags = LISTS_ALL_PROJECTS | UNCACHED_TEXT, .changes = TREE_UNTIMED, .keeps = CACHE_NOTHING},
    {"problems.txt", .doc = "lines that could not be read, and entries that a provider refuses", .from = &from_session,
     .make = TEXT(render_problems), .has = problems_exist, .changes = TREE_REWRITTEN, .keeps = CACHE_NOTHING},
    {"errors", .doc = "reasons why recent writes failed", .from = &from_file, .make = SHOW(errors_show),
     .has = errors_exist, .flags = UNCACHED_TEXT, .changes = TREE_UNTIMED, .keeps = CACHE_NOTHING},
    {"header.json", .doc = "its header line", .from = &from_session, .make = TEXT(render_header_json)},
    {"session.jsonl", .doc = "the session file, byte for byte", .from = &from_session,
     .make = RANGE(jsonl_size, session_add_bytes)},
    {"labels", .doc = "the labelled entries (links)", .from = &from_session, .make = DIR(labels),
     .flags = ALLOWS_CREATE | PERMANENT},
    {"name", .doc = "its name", .from = &from_session, .make = TEXT(render_name), .has = name_file_exists,
     .flags = IGNORE_EXEMPT, .write = &writable_name, .keeps = CACHE_NOTHING},
    {"leaf", .doc = "the newest entry (a link)", .from = &from_session, .make = LINK(leaf_show),
     .has = session_has_entries, .write = &writable_leaf},
    {"labels.tsv", .doc = "all labels as a table", .from = &from_session, .make = TEXT(render_labels_tsv),
     .has = labels_tsv_exists, .write = &writable_labels_tsv},
};
const struct kind_rows rows_session = ROWS(in_session);
