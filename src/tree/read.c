/* SPDX-License-Identifier: MIT */
/* Contents: the answers to read and readlink.
 *
 * Most contents are rendered once and cached for the following reads. */
#include "tree_impl.h"

#include <errno.h>
#include <sys/stat.h>

uint64_t view_serial(struct ctx *c)
{
	if (c->kind->make.serial)
		return c->kind->make.serial(c);
	if (c->kind->flags & LIVE_STATUS)
		return budget_clock();
	if (kind_shows_all_sessions(c->kind))
		return ctx_load_facts(c) == 0 ? c->facts->serial : 0;
	/* Both only increase. */
	if (kind_text_stability(c->kind) == TREE_UNTIMED)
		return state_serial(c->tree) + catalog_epoch(c->tree->catalog);
	uint64_t serial = c->session && kind_class(c->kind) != TREE_FIXED ? session_serial(c->session) : 0;
	serial += c->subagents_serial;
	return c->kind->make.related ? serial + ctx_related_serial(c) : serial;
}

/* Smaller amounts are not counted, and longer lines and texts are in files. */
#define CLAIM_MIN ((uint64_t)1 << 20)
#define CLAIM_MAX ((uint64_t)16 << 20)

/* Returns about the memory that rendering takes: a line and a text made of it. */
static size_t ctx_memory_needed(const struct ctx *c)
{
	uint64_t bytes = 0;
	if ((c->kind->flags & FROM_WHOLE_SESSION) || c->kind->make.producer)
		bytes = session_size(c->session);
	else if (c->kind->from->scope == SCOPE_RECORD)
		bytes = session_entry(c->session, c->node.entry)->length;
	if (bytes < CLAIM_MIN)
		return 0;
	return (size_t)(2 * bytes < CLAIM_MAX ? 2 * bytes : CLAIM_MAX);
}

/* A read from the beginning of a file. */
struct first_read {
	size_t n;
	struct buf *out;
};

/* Returns 1 if the first read `arg`, if any, gets the whole text: then it is not cached. */
static int ctx_render_view(struct ctx *c, void *arg, struct view *ret)
{
	const struct first_read *first = arg;
	struct budget *budget = cache_budget(c->tree->cache);
	size_t claim = ctx_memory_needed(c);
	int rc = claim ? budget_reserve(budget, claim) : 0;
	if (rc < 0)
		return rc;
	rc = c->kind->make.producer ? view_render(c, ret) : ctx_show(c, &ret->bytes);
	if (claim)
		budget_unreserve(budget, claim);
	rc = rc < 0 ? rc : buf_err(&ret->bytes);
	if (rc < 0 || !first || ret->bytes.n > first->n)
		return rc;
	buf_addspan(first->out, buf_span(&ret->bytes));
	return ret->bytes.n > 0 || !c->kind->make.record ? 1 : -ESTALE;
}

const struct view *ctx_get_view(struct ctx *c, node_t id, uint64_t serial,
                                int (*make)(struct ctx *c, void *arg, struct view *ret), void *arg, int *ret_err)
{
	struct cache *cache = c->tree->cache;
	const struct view *kept = cache_get(cache, id, serial);
	if (kept)
		return kept;
	struct view made = {.bytes = BUF_INIT};
	int deferred = deferred_begin(), rc = deferred_end(deferred, make(c, arg, &made));
	if (rc != 0) {
		view_release(&made);
		*ret_err = rc;
		return NULL;
	}
	/* The next read can have a session of the list that this text lacks. */
	kept = cache_put(cache, id, c->facts && c->missed != c->facts->error ? budget_clock() : serial, &made);
	if (!kept)
		*ret_err = -ENOMEM;
	return kept;
}

const struct view *ctx_view(struct ctx *c, int *ret_err)
{
	return ctx_get_view(c, ctx_id(c), view_serial(c), ctx_render_view, NULL, ret_err);
}

/* Serves cached contents of an entry without reading its line, which can be long. Returns 1 on success, 0 if not
 * cached, or a negative errno. */
static int read_from_cache(struct ctx *c, uint64_t off, size_t n, struct buf *out)
{
	if (c->kind->from->scope != SCOPE_RECORD)
		return 0;
	int rc = ctx_resolve(c, SCOPE_INDEX);
	if (rc < 0)
		return rc;
	const struct view *kept = cache_get(c->tree->cache, ctx_id(c), view_serial(c));
	if (!kept)
		return 0;
	view_read(kept, off, n, out);
	cache_release(c->tree->cache, kept);
	return buf_err(out) ? buf_err(out) : 1;
}

int ctx_read(struct ctx *c, uint64_t off, size_t n, struct buf *out)
{
	bool is_first = off == 0 && kind_size_is_cheap(c->kind);
	struct first_read first = {n, out};
	uint64_t size;
	int rc = 0;
	/* Rendering a part of an entry shows whether it exists. */
	if (!(is_first && c->kind->make.record) && !ctx_name_exists(c))
		return state_is_created(c->tree, c->node) ? 0 : -ESTALE;
	if (c->kind->make.part) {
		rc = c->kind->make.part(c, off, n, out);
		return rc < 0 ? rc : buf_err(out);
	}
	/* A read at the end renders nothing. */
	if (off > 0 && kind_size_is_cheap(c->kind)) {
		rc = ctx_get_size(c, &size);
		if (rc < 0 || off >= size)
			return rc;
	}
	const struct view *v =
	    ctx_get_view(c, ctx_id(c), view_serial(c), ctx_render_view, is_first ? &first : NULL, &rc);
	if (!v)
		return rc < 0 ? rc : buf_err(out);
	view_read(v, off, n, out);
	cache_release(c->tree->cache, v);
	return buf_err(out);
}

static int tree_read_once(struct tree *t, node_t node, uint64_t off, size_t n, struct buf *out)
{
	struct ctx c CLEANUP_CTX = {0};
	if (tree_is_scratch(node))
		return scratch_read(t->scratch, scratch_id(node), off, n, out);
	int rc = ctx_init(&c, t, tree_node(node));
	if (rc < 0)
		return rc;
	if (c.kind->make.type != S_IFREG)
		return c.kind->make.type == S_IFDIR ? -EISDIR : -EINVAL;
	rc = read_from_cache(&c, off, n, out);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = ctx_resolve(&c, c.kind->from->scope);
	rc = rc < 0 ? rc : ctx_read(&c, off, n, out);
	return rc < 0 ? rc : -c.missed;
}

int tree_read(struct tree *t, node_t node, uint64_t off, size_t n, struct buf *out)
{
	int deferred = deferred_begin();
	int rc = tree_read_once(t, node, off, n, out);
	/* A reader that has the beginning of the old text must not get the rest of another one. */
	while (off == 0 && tree_retarget_node(t, &rc, &node)) {
		buf_reset(out);
		rc = tree_read_once(t, node, off, n, out);
	}
	return deferred_end(deferred, rc);
}

static int tree_readlink_once(struct tree *t, node_t node, struct buf *out)
{
	struct ctx c CLEANUP_CTX = {0};
	if (tree_is_scratch(node))
		return scratch_read(t->scratch, scratch_id(node), 0, SIZE_MAX, out);
	int rc = ctx_open(&c, t, tree_node(node), SCOPE_MOUNT);
	if (rc < 0)
		return rc;
	if (c.kind->make.type != S_IFLNK)
		return -EINVAL;
	if (!ctx_name_exists(&c))
		return -ESTALE;
	rc = ctx_show(&c, out);
	return rc < 0 ? rc : buf_err(out);
}

int tree_readlink(struct tree *t, node_t node, struct buf *out)
{
	int deferred = deferred_begin();
	int rc = tree_readlink_once(t, node, out);
	while (tree_retarget_node(t, &rc, &node)) {
		buf_reset(out);
		rc = tree_readlink_once(t, node, out);
	}
	return deferred_end(deferred, rc);
}
