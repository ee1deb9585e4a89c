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

	for (size_t k = 0; query_filters[k].name && name.n > 2 && !meant; k++)
		meant = name_is_near(name, span_of(query_filters[k].name)) ? query_filters[k].name : NULL;
	for (size_t i = 0; i < sizeof others / sizeof *others; i += 2)
		meant = span_is(name, others[i]) ? others[i + 1] : meant;
	if (meant)
		hint_add(word, ": not a filter, so this is a word; did you mean ", span_of(meant), out);
	if (query_is_word(q) && word.n > 2 && (last == '*' || (last == '/' && slash)))
		hint_add(word, ": words are not patterns, but match parts of words; use rg, or search for ",
		         (struct span){word.p + slash, word.n - 1 - slash}, out);
}

/* Adds the values of the entry to the names, each before ", ". Returns whether one of them equals the text of the term.
 */
static bool hint_add_values(const struct matcher *m, struct buf *names)
{
	struct span all = buf_span(&m->value);
	bool exists = false;

	for (const char *v = all.p; v < all.p + all.n; v += strlen(v) + 1) {
		size_t n = names->n;
		buf_adds(names, v);
		buf_adds(names, ", ");
		if (n > HINT_BYTES_MAX || buf_err(names) || memmem(names->p, n, names->p + n - 2, names->n - n + 2))
			names->n = n;
		exists |= text_equals(span_of(v), m->term->text);
	}
	return exists;
}

/* Lists the values of all entries, if none equals the text of the term. Skips sessions that cannot be read. */
static int hint_list_values(struct searches *s, const struct query *q, const struct term *t, struct buf *out)
{
	struct slot_state *all CLEANUP_FREE = NULL;
	struct buf object CLEANUP_BUF = BUF_INIT;
	struct buf names CLEANUP_BUF = BUF_INIT;
	bool exists = false;
	struct matcher *m;
	struct session *x;
	uint64_t serial = 0;
	size_t n = 0;
	int rc = matcher_open(q, &m);

	if (rc < 0)
		return rc;
	buf_adds(&names, ", ");
	catalog_list_states(s->catalog, &serial, &all, &n);
	for (size_t i = 0; i < n && rc != -EINTR && !exists; i++) {
		rc = catalog_session_get(s->catalog, all[i].slot, &x);
		if (rc < 0)
			continue;
		matcher_reset(m, x);
		m->term = t;
		for (m->entry = 0; rc == 0 && !exists && m->entry < session_count(x); m->entry++) {
			rc = session_read(x, m->entry, &m->reader, &m->r);
			rc = rc < 0 ? rc : match_read_values(m);
			exists |= rc == 0 && hint_add_values(m, &names);
		}
		catalog_session_put(s->catalog, x);
	}
	buf_addf(&object, "%s%.*s", query_filters[t->kind].name, (int)t->text.n, t->text.p);
	if (!exists && names.n > 2)
		hint_add(buf_span(&object), ": no entry has this value; there are ",
		         (struct span){names.p + 2, names.n - 4}, out);
	matcher_close(m);
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
		/* The value of a filter that takes any whole value can be misspelled. */
		if (query_filters[t->kind].is_exact && !query_filters[t->kind].parse && !t->negated)
			rc = hint_list_values(s, q, t, out);
	}
	return rc < 0 ? rc : buf_err(out);
}
