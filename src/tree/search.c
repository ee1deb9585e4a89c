/* SPDX-License-Identifier: MIT */
/* search/: each directory in it is a query, and its node holds the query's number. */
#include "sessionfs/base/name.h"
#include "sessionfs/find/pages.h"
#include "rows.h"

#include <errno.h>
#include <stdio.h>

_Static_assert(SEARCH_NUMBER_BITS <= NODE_NUMBER_BITS, "a node has a query's number");

static void answer_release(const struct answer **h)
{
	answer_put(*h);
}
#define CLEANUP_ANSWER CLEANUP(answer_release)

/* Returns the answer to the query; NULL and the error, also deferred, if it is not known. */
static const struct answer *query_answer(struct ctx *c, int *ret_err)
{
	const struct answer *h = NULL;
	*ret_err = searches_get(c->tree->searches, node_number(c->node), &h);
	deferred_set(*ret_err);
	c->missed = h ? answer_missed_error(h) : 0;
	return *ret_err < 0 ? NULL : h;
}

/* --- queries ---------------------------------------------------------------------- */

/* A query exists once it was looked up; there is nothing to list. */
static int query_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	(void)dir;
	(void)cookie;
	(void)l;
	return 0;
}

static int query_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	uint64_t number;
	if (!name_decode(name, &text))
		return buf_err(&text) ? buf_err(&text) : -ENOENT;
	int rc = searches_get_number(dir->tree->searches, buf_span(&text), &number);
	if (rc < 0)
		return rc;
	*ret = node_of_number(ret->kind, number);
	return 0;
}

/* False if it was evicted. */
static bool query_exists(struct ctx *c)
{
	return searches_has_number(c->tree->searches, node_number(c->node));
}

void tree_lookup_count(struct tree *t, node_t node, uint64_t more, uint64_t fewer)
{
	struct node n = tree_node(node);
	const struct kind *k = kind_of(n);
	if (k && k->has == query_exists)
		searches_lookup_count(t->searches, node_number(n), more, fewer);
}

/* --- hits.txt, entries.tsv --------------------------------------------------------- */

static enum found_text query_text_of(const struct ctx *c)
{
	return strcmp(c->kind->name, "entries.tsv") == 0 ? FOUND_ROWS : FOUND_HITS;
}

static bool found_file_exists(struct ctx *c)
{
	int rc;
	const struct answer *h CLEANUP_ANSWER = query_answer(c, &rc);
	bool is_error = strcmp(c->kind->name, "error") == 0;
	uint64_t size = !h ? 0 : is_error ? !answer_query(h) : answer_size(h, query_text_of(c));
	if (h && size == 0)
		deferred_set(answer_missed_error(h));
	return size > 0;
}

static uint64_t found_serial(struct ctx *c)
{
	int rc;
	const struct answer *h CLEANUP_ANSWER = query_answer(c, &rc);
	return h ? answer_version(h) : 0;
}

static int found_size(struct ctx *c, uint64_t *ret)
{
	int rc;
	const struct answer *h CLEANUP_ANSWER = query_answer(c, &rc);
	if (h)
		*ret = answer_size(h, query_text_of(c));
	return rc;
}

static int found_show(struct ctx *c, struct buf *out)
{
	int rc;
	const struct answer *h CLEANUP_ANSWER = query_answer(c, &rc);
	return h ? answer_text(h, query_text_of(c), out) : rc;
}

static int found_page_link(void *arg, uint32_t slot, struct buf *out)
{
	struct tree *t = arg;
	struct slot_info s;
	int rc = catalog_slot(t->catalog, slot, &s);
	buf_adds(out, "../../html/");
	return rc < 0 ? rc : html_append_page_path(t, &s, out);
}

static int found_page_show(struct ctx *c, struct buf *out)
{
	int rc;
	const struct answer *h CLEANUP_ANSWER = query_answer(c, &rc);
	struct buf hints CLEANUP_BUF = BUF_INIT;
	rc = h ? answer_add_hints(c->tree->searches, h, &hints) : rc;
	return rc < 0 ? rc : hits_page(h, buf_span(&hints), found_page_link, c->tree, out);
}

static int query_error_show(struct ctx *c, struct buf *out)
{
	int rc;
	const struct answer *h CLEANUP_ANSWER = query_answer(c, &rc);
	return h ? answer_add_hints(c->tree->searches, h, out) : rc;
}

/* --- links to entries ------------------------------------------------------------- */

/* NNNN WHAT TEXT */
static void hit_append_name(const struct answer *h, size_t i, struct buf *out)
{
	char number[32];
	snprintf(number, sizeof number, "%04zu ", i + 1);
	name_encode(number, answer_entry_text(h, FOUND_NAMES, i), "", out);
}

/* Lists the links of one session from number i on: the ctx of the first serves all of them. Moves *ret_next after
 * them. */
static int hit_list_session(struct ctx *dir, const struct answer *h, size_t i, const struct lister *l, size_t *ret_next)
{
	struct ctx c CLEANUP_CTX = {0};
	struct buf name CLEANUP_BUF = BUF_INIT;
	struct answer_entry first = answer_at(h, i), e = first;
	struct node n = {.kind = kind_id(l->dynamic), .slot = first.slot, .entry = first.entry};
	int rc = ctx_init(&c, dir->tree, n);
	if (rc == 0)
		rc = ctx_resolve(&c, l->want == TREE_ATTRS ? SCOPE_ENTRY : SCOPE_SLOT);
	/* The session was replaced: the next answer includes its new file. */
	bool is_gone = rc == -ESTALE;
	for (rc = is_gone ? 0 : rc; rc == 0 && i < answer_count(h) && (e = answer_at(h, i)).slot == first.slot; i++) {
		if (is_gone)
			continue;
		n.entry = e.entry;
		buf_reset(&name);
		hit_append_name(h, i, &name);
		rc = buf_err(&name);
		if (rc == 0)
			rc = list_emit_child(&c, l, n, buf_span(&name), COOKIE_DYNAMIC + 1 + i);
	}
	*ret_next = i;
	return rc;
}

static int hit_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	int rc;
	const struct answer *h CLEANUP_ANSWER = query_answer(dir, &rc);
	size_t i = (size_t)cookie;
	while (h && rc == 0 && i < answer_count(h))
		rc = hit_list_session(dir, h, i, l, &i);
	return rc == 0 && h ? answer_missed_error(h) : rc < 0 ? rc : 0;
}

static int hit_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct buf made CLEANUP_BUF = BUF_INIT;
	size_t i = name_leading_number(name);
	int rc;
	const struct answer *h CLEANUP_ANSWER = query_answer(dir, &rc);
	if (!h)
		return rc;
	int none = i > 0 && answer_missed_error(h) ? answer_missed_error(h) : -ENOENT;
	if (i == 0 || i > answer_count(h))
		return none;
	hit_append_name(h, i - 1, &made);
	if (buf_err(&made) || !span_eq(buf_span(&made), name))
		return buf_err(&made) ? buf_err(&made) : none;
	*ret = (struct node){.kind = ret->kind, .slot = answer_at(h, i - 1).slot, .entry = answer_at(h, i - 1).entry};
	return 0;
}

int hit_show(struct ctx *c, struct buf *out)
{
	int rc = append_session_path(c, "../../projects/", &c->slot, out);
	if (rc == 0)
		append_entry_path(c, "/entries/", c->node.entry, out);
	return rc;
}

static const struct kind in_search[] = {
    {NULL, .doc = "matches in all sessions", .from = &from_query, .make = DIR(query), .has = query_exists,
     .names = {"QUERY", query_list, query_match, NULL}},
};
const struct kind_rows rows_search = ROWS(in_search);

static const struct kind in_query[] = {
    {"hits.txt", .doc = "the best lines of each matching entry, as from grep", .from = &from_query,
     .make = NUMBERED(found_show, found_size, found_serial), .has = found_file_exists},
    {"entries.tsv", .doc = "a row for each matching entry", .from = &from_query,
     .make = NUMBERED(found_show, found_size, found_serial), .has = found_file_exists},
    {"hits.html", .doc = "the same lines as a page, also without a match", .from = &from_query,
     .make = NUMBERED(found_page_show, NULL, found_serial), .has = query_exists},
    {"error", .doc = "why this is not a query", .from = &from_query,
     .make = NUMBERED(query_error_show, NULL, found_serial), .has = found_file_exists},
    {NULL, .doc = "a matching entry (a link)", .from = &from_branch, .make = LINK(hit_show), .flags = FROM_ALL_SESSIONS,
     .names = {"NNNN WHAT TEXT", hit_list, hit_match, NULL}},
};
const struct kind_rows rows_query = ROWS(in_query);
