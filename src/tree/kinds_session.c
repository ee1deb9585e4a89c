/* A session's own names and its branches': has, size and show of the rows of kinds.c. */
#include "sessionfs/base/stop.h"
#include "sessionfs/render/render.h"
#include "kinds_impl.h"

#include <errno.h>

bool parent_session_has(struct ctx *c)
{
	return catalog_parent(c->tree->catalog, c->node.slot) != NO_SLOT;
}

int parent_session_show(struct ctx *c, struct buf *out)
{
	struct slot_info s;
	uint32_t slot = catalog_parent(c->tree->catalog, c->node.slot);
	int rc = slot == NO_SLOT ? -ESTALE : catalog_slot(c->tree->catalog, slot, &s);
	if (rc == 0)
		rc = link_session(c, "projects/", &s, out);
	buf_addc(out, '\n');
	return rc;
}

bool forks_has(struct ctx *c)
{
	struct slot_info s;
	uint64_t cookie = 0;
	return catalog_fork_next(c->tree->catalog, c->node.slot, &cookie, &s);
}

static int compare_spans(const void *a, const void *b)
{
	return span_compare(*(const struct span *)a, *(const struct span *)b);
}

/* Sorts the lines of text. */
static int add_sorted(struct span text, size_t n, struct buf *out)
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

int forks_show(struct ctx *c, struct buf *out)
{
	struct buf paths CLEANUP_BUF = BUF_INIT;
	struct slot_info s;
	uint64_t cookie = 0;
	size_t n = 0;
	int rc = 0;
	while (rc == 0 && catalog_fork_next(c->tree->catalog, c->node.slot, &cookie, &s)) {
		/* -ESTALE: its project went just now. */
		rc = link_session(c, "projects/", &s, &paths);
		if (rc == 0) {
			buf_addc(&paths, '\n');
			n++;
		}
		rc = rc == -ESTALE ? stop_check() : rc;
	}
	if (rc == 0)
		rc = buf_err(&paths);
	return rc < 0 ? rc : add_sorted(buf_span(&paths), n, out);
}

bool any_entry(struct ctx *c)
{
	return session_leaf(c->session) != NO_ENTRY;
}

int leaf_show(struct ctx *c, struct buf *out)
{
	link_entry(c, "entries/", session_leaf(c->session), out);
	return 0;
}

int last_show(struct ctx *c, struct buf *out)
{
	link_entry(c, "entries/", session_position(c->session), out);
	return 0;
}

bool position_has(struct ctx *c)
{
	return session_position(c->session) != NO_ENTRY;
}

int current_show(struct ctx *c, struct buf *out)
{
	branch_name(c, session_position(c->session), out);
	return 0;
}

int to_entry_show(struct ctx *c, struct buf *out)
{
	link_entry(c, "../entries/", c->node.entry, out);
	return 0;
}

int path_link_show(struct ctx *c, struct buf *out)
{
	link_entry(c, "../../entries/", c->node.entry, out);
	return 0;
}

/* The metadata at the end of a branch's path go with the branch; what stands above them stays. */
bool path_link_may_go(const struct ctx *c)
{
	return !(session_entry(c->session, c->node.entry)->flags & ENTRY_CONVERSATION);
}

int jsonl_size(struct ctx *c, uint64_t *ret)
{
	*ret = session_size(c->session);
	return 0;
}

/* Appends up to n bytes of the session file. */
int add_bytes(struct ctx *c, uint64_t off, size_t n, struct buf *out)
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

int jsonl_part(struct ctx *c, uint64_t off, size_t n, struct buf *out)
{
	return add_bytes(c, off, n, out);
}

int info_show(struct ctx *c, struct buf *out)
{
	return render_info_json(c->session, c->slot.file, out);
}

bool name_has(struct ctx *c)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	return session_name(c->session, &name);
}

bool cwd_has(struct ctx *c)
{
	struct buf cwd CLEANUP_BUF = BUF_INIT;
	return render_cwd(c->session, &cwd) == 0 && cwd.n > 0;
}

static void add_path(struct ctx *c, struct buf *out)
{
	buf_addf(out, "%s/%s", catalog_source(c->tree->catalog), c->slot.file);
}

int path_show(struct ctx *c, struct buf *out)
{
	add_path(c, out);
	buf_addc(out, '\n');
	return 0;
}

int resume_show(struct ctx *c, struct buf *out)
{
	struct buf path CLEANUP_BUF = BUF_INIT;
	add_path(c, &path);
	return buf_err(&path) ? buf_err(&path) : render_resume(c->session, buf_span(&path), out);
}

int tree_show(struct ctx *c, struct buf *out)
{
	return c->tree->coloured ? render_tree_coloured(c->session, out) : render_tree_txt(c->session, out);
}

bool tree_has(struct ctx *c)
{
	return render_tree_has(c->session);
}

bool labels_tsv_has(struct ctx *c)
{
	const unsigned shown = ENTRY_CONVERSATION | ENTRY_ADDRESSED;
	uint32_t n = session_count(c->session);
	bool has = session_label_count(c->session) > 0;
	/* The first one is rarely far from the beginning. */
	for (uint32_t i = 0; i < n && !has; i++)
		has = (session_entry(c->session, i)->flags & (shown | ENTRY_NO_MESSAGE)) == shown;
	return has;
}

bool problems_has(struct ctx *c)
{
	return session_problem_count(c->session) > 0;
}

int errors_show(struct ctx *c, struct buf *out)
{
	state_errors(c->tree, c->slot.place, out);
	return 0;
}

bool errors_has(struct ctx *c)
{
	struct buf b CLEANUP_BUF = BUF_INIT;
	state_errors(c->tree, c->slot.place, &b);
	return b.n > 0;
}

/* If that cannot be found out, the file is listed, and its reader gets the error. */
bool context_md_has(struct ctx *c)
{
	bool any = true;
	return context_any_sent(c->session, ctx_position(c), &any) < 0 || any;
}

bool transcript_has(struct ctx *c)
{
	return render_transcript_has(c->session, ctx_position(c));
}

bool chat_has(struct ctx *c)
{
	return render_chat_has(c->session, ctx_position(c));
}

bool all_has(struct ctx *c)
{
	uint64_t size;
	if (cache_size(c->tree->cache, ctx_id(c), view_serial(c), &size))
		return size > 0;
	if (render_all_begins(c->session))
		return true;
	int rc = 0;
	const struct view *v = ctx_view(c, &rc);
	bool any = !v || v->size > 0;
	cache_release(c->tree->cache, v);
	return any;
}
