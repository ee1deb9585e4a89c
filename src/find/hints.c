/* SPDX-License-Identifier: MIT */
/* What a query without a match may have meant. */
#include "match_impl.h"
#include "search_impl.h"

#include "sessionfs/render/render.h"

#include <errno.h>

/* A longer list of values is cut. */
enum { HINT_BYTES_MAX = 1000 };

/* Appends a line. */
static void hint_add(struct span object, const char *reason, struct span meant, struct buf *out)
{
	size_t start = out->n;

	buf_addspan(out, object);
	buf_adds(out, reason);
	buf_addspan(out, meant);
	text_flatten_from(out, start);
	buf_addc(out, '\n');
}

/* Returns whether the names are equal but for a byte added, removed or changed, or two swapped. */
static bool name_is_near(struct span a, struct span b)
{
	size_t begin = 0, end = 0, n = a.n < b.n ? a.n : b.n;

	while (begin < n && a.p[begin] == b.p[begin])
		begin++;
	while (end < n - begin && a.p[a.n - 1 - end] == b.p[b.n - 1 - end])
		end++;
	const char *x = a.p + begin, *y = b.p + begin;
	bool is_swapped = a.n == b.n && n - begin - end == 2 && x[0] == y[1] && x[1] == y[0];
	return is_swapped || (a.n - begin - end <= 1 && b.n - begin - end <= 1);
}

static void hint_add_word(const struct query *q, struct span word, struct buf *out)
{
	static const char *const others[] = {
	    "since:", "after:", "until:", "before:", "from:", "role: or after:", "path:", "file:", "dir:", "project:"};
	const char *colon = memchr(word.p, ':', word.n), last = word.p[word.n - 1], *meant = NULL;
	struct span name = {word.p, colon ? (size_t)(colon + 1 - word.p) : 0};
	bool slash = word.p[0] == '/';

	for (unsigned k = TERM_WORD + 1; k < TERM_KINDS && name.n > 2 && !meant; k++)
		meant = name_is_near(name, span_of(query_filters[k].name)) ? query_filters[k].name : NULL;
	for (size_t i = 0; i < sizeof others / sizeof *others; i += 2)
		meant = span_is(name, others[i]) ? others[i + 1] : meant;
	if (meant)
		hint_add(word, ": not a filter, so this is a word; did you mean ", span_of(meant), out);
	if (query_is_word(q) && word.n > 2 && (last == '*' || (last == '/' && slash)))
		hint_add(word, ": words are not patterns, but match parts of words; use rg, or search for ",
		         (struct span){word.p + slash, word.n - 1 - slash}, out);
}

/* The values of a filter that entries have, each after ", ". */
struct hint_values {
	const struct term *t;
	struct buf names;
	bool exists; /* one of them equals the text of the term */
};

static bool hint_add_value(void *arg, struct span value)
{
	struct hint_values *v = arg;
	struct buf *names = &v->names;
	size_t n = names->n;

	buf_addspan(names, value);
	buf_adds(names, ", ");
	if (n > HINT_BYTES_MAX || buf_err(names) || memmem(names->p, n, names->p + n - 2, names->n - n + 2))
		names->n = n;
	return v->exists = text_equals(value, v->t->text);
}

/* Lists the values of all entries, if none equals the text of the term. Skips sessions that cannot be read. */
static int hint_add_values(struct searches *s, const struct query *q, const struct term *t, struct buf *out)
{
	struct slot_state *all CLEANUP_FREE = NULL;
	struct buf object CLEANUP_BUF = BUF_INIT;
	struct hint_values v = {.t = t};
	struct matcher *m;
	struct session *x;
	uint64_t serial = 0;
	size_t n = 0;
	int rc = matcher_open(q, &m);

	if (rc < 0)
		return rc;
	buf_adds(&v.names, ", ");
	catalog_list_states(s->catalog, &serial, &all, &n);
	for (size_t i = 0; i < n && rc != -EINTR && !v.exists; i++) {
		rc = catalog_session_get(s->catalog, all[i].slot, &x);
		if (rc < 0)
			continue;
		matcher_reset(m, x);
		for (m->entry = 0; rc == 0 && !v.exists && m->entry < session_count(x); m->entry++) {
			rc = session_read(x, m->entry, &m->reader, &m->r);
			rc = rc < 0 ? rc : match_each_value(m, t->kind, hint_add_value, &v);
		}
		catalog_session_put(s->catalog, x);
	}
	buf_addf(&object, "%s%.*s", query_filters[t->kind].name, (int)t->text.n, t->text.p);
	if (!v.exists && v.names.n > 2)
		hint_add(buf_span(&object), ": no entry has this value; there are ",
		         (struct span){v.names.p + 2, v.names.n - 4}, out);
	matcher_close(m);
	buf_release(&v.names);
	return rc == -EINTR ? rc : 0;
}

int answer_add_hints(struct searches *s, const struct answer *h, struct buf *out)
{
	struct buf why CLEANUP_BUF = BUF_INIT;
	const struct query *q = answer_query(h);
	struct query *none = NULL;
	int rc = 0;

	if (!q) {
		query_parse(answer_query_text(h), 0, &none, &why);
		query_put(none);
		hint_add(buf_span(&why), "", (struct span){NULL, 0}, out);
	}
	for (size_t i = 0; q && answer_count(h) == 0 && i < q->terms.n && rc == 0; i++) {
		const struct term *t = &q->terms.v[i];
		if (t->kind == TERM_WORD && !t->negated)
			hint_add_word(q, t->text, out);
		if ((t->kind == TERM_ROLE || t->kind == TERM_TYPE || t->kind == TERM_TOOL) && !t->negated)
			rc = hint_add_values(s, q, t, out);
	}
	return rc < 0 ? rc : buf_err(out);
}
