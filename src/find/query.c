/* SPDX-License-Identifier: MIT */
/* Terms are folded, sorted and deduplicated, so that equal queries have the same ones. */
#include "query_impl.h"

#include "sessionfs/base/budget.h"
#include "sessionfs/base/fold.h"
#include "sessionfs/base/space.h"
#include "sessionfs/base/utf8.h"

#include <errno.h>
#include <stdlib.h>

static struct span query_skip(struct span s, size_t n)
{
	return (struct span){s.p + n, s.n - n};
}

/* Consumes the rest up to white space or a quote. */
static struct span query_parse_plain(struct span *rest)
{
	size_t n = 0;

	while (n < rest->n && rest->p[n] != '"' && space_size(query_skip(*rest, n)) == 0)
		n++;
	struct span plain = {rest->p, n};
	*rest = query_skip(*rest, n);
	return plain;
}

/* Consumes the quoted text at the start of the rest. */
static int query_parse_quoted(struct query_parser *s, struct span *ret)
{
	struct span *rest = &s->rest, all = *rest;
	const char *end = memchr(rest->p + 1, '"', rest->n - 1);

	if (!end)
		return query_fail(s, "unclosed quote; add one at the end", all);
	if (end == rest->p + 1)
		return query_fail(s, "empty quotes; write words between them", (struct span){all.p, 2});
	*ret = (struct span){rest->p + 1, (size_t)(end - rest->p - 1)};
	*rest = query_skip(*rest, ret->n + 2);
	return rest->n && space_size(*rest) == 0 ? query_fail(s, "no space after the closing quote; add one", all) : 0;
}

static int term_set_value(struct query_parser *s, struct span value, struct term *t)
{
	const struct filter *f = &query_filters[t->kind];

	/* query_finish sets the pointer: the bytes can still move. */
	t->begin = s->q->bytes.n;
	fold_add(value, &s->q->bytes);
	int rc = f->parse ? f->parse(s, value, t) : 0;
	t->text.n = s->q->bytes.n - t->begin;
	return rc;
}

/* Parses the next term. */
static int query_parse_term(struct query_parser *s, struct term *t)
{
	struct span value, *rest = &s->rest, all = *rest;

	*t = (struct term){.negated = rest->p[0] == '-'};
	*rest = query_skip(*rest, t->negated);
	if (rest->n && rest->p[0] != '"') {
		value = query_parse_plain(rest);
		for (unsigned k = 0; query_filters[k].name; k++)
			t->kind = span_begins(value, span_of(query_filters[k].name)) ? k : t->kind;
		if (!t->negated && (span_is(value, "OR") || span_is(value, "|")))
			return query_fail(s, "OR is not an operator; search for each word, or use rg 'a|b'", value);
		value = query_skip(value, strlen(query_filters[t->kind].name));
		if (value.n > 0 && rest->n && rest->p[0] == '"')
			return query_fail(s, "a quote inside a word; put the whole word or value in quotes", all);
		if (value.n > 0)
			return term_set_value(s, value, t);
	}
	if (!rest->n || rest->p[0] != '"')
		return query_fail(s, "no value; add one without a space",
		                  (struct span){all.p, (size_t)(rest->p - all.p) - (rest->p[-1] == ':')});
	int rc = query_parse_quoted(s, &value);
	return rc < 0 ? rc : term_set_value(s, value, t);
}

static int term_cmp(const void *a, const void *b)
{
	const struct term *x = a, *y = b;

	int by_kind = (x->kind > y->kind) - (x->kind < y->kind);

	if (by_kind && !(term_is_word(x) && term_is_word(y)))
		return by_kind;
	if (x->negated != y->negated)
		return x->negated ? 1 : -1;
	int by_text = span_compare(x->text, y->text);
	return by_text ? by_text : by_kind;
}

static int query_finish(const struct query_parser *s, struct query *q)
{
	size_t kept = 0;

	if (q->terms.n == 0)
		return query_fail(s, "empty query; write words", (struct span){NULL, 0});
	for (size_t i = 0; i < q->terms.n; i++)
		q->terms.v[i].text.p = q->bytes.p + q->terms.v[i].begin;
	qsort(q->terms.v, q->terms.n, sizeof *q->terms.v, term_cmp);
	for (size_t i = 0; i < q->terms.n; i++)
		if (i == 0 || term_cmp(&q->terms.v[kept - 1], &q->terms.v[i]) != 0)
			q->terms.v[kept++] = q->terms.v[i];
	q->terms.n = kept;
	return kept <= QUERY_TERMS ? 0 : query_fail(s, "too many different words; write fewer", (struct span){NULL, 0});
}

static int query_parse_terms(struct query_parser *s)
{
	struct query *q = s->q;

	for (;;) {
		for (size_t n; (n = space_size(s->rest)) > 0;)
			s->rest = query_skip(s->rest, n);
		if (!s->rest.n)
			break;
		if (!vec_reserve(&q->terms, 1))
			return -ENOMEM;
		int rc = query_parse_term(s, &q->terms.v[q->terms.n]);
		if (rc < 0)
			return rc;
		q->terms.n++;
	}
	if (buf_err(&q->bytes))
		return buf_err(&q->bytes);
	return query_finish(s, q);
}

int query_parse(struct span text, int64_t now, struct query **ret, struct buf *why)
{
	struct query *q = calloc(1, sizeof *q);

	if (!q)
		return -ENOMEM;
	atomic_init(&q->refs, 1);
	q->expires = INT64_MAX;
	struct query_parser s = {.rest = text, .q = q, .now = now, .why = why};
	int rc = query_parse_terms(&s);
	if (rc < 0)
		query_put(q);
	else
		*ret = q;
	return rc;
}

struct query *query_get(struct query *q)
{
	atomic_fetch_add(&q->refs, 1);
	return q;
}

void query_put(struct query *q)
{
	if (!q || atomic_fetch_sub(&q->refs, 1) > 1)
		return;
	vec_release(&q->terms);
	buf_release(&q->bytes);
	free(q);
}

size_t query_memory(const struct query *q)
{
	return !q ? 0
	          : budget_heap_size(sizeof *q) + budget_heap_size(q->terms.cap * sizeof *q->terms.v) +
	                budget_heap_size(q->bytes.cap);
}

bool query_is_current(const struct query *q, int64_t now)
{
	return !q || (now >= q->begins && now < q->expires);
}

bool query_verdict_is_final(const struct query *q, bool has_match)
{
	if (q->in_session && !has_match)
		return false;
	for (size_t i = 0; i < q->terms.n; i++)
		if (query_filters[q->terms.v[i].kind].can_change)
			return false;
	return true;
}

bool query_is_word(const struct query *q)
{
	return q->terms.n == 1 && q->terms.v->kind == TERM_WORD && !q->terms.v->negated;
}

bool query_names_id(const struct query *q, struct span id)
{
	if (!query_is_word(q) || id.n == 0)
		return false;
	struct span text = q->terms.v->text;
	size_t n = utf8_count(text) >= QUERY_ID_MIN && text.n < id.n ? text.n : id.n;
	return text_equals((struct span){id.p, n}, text);
}

bool query_may_name_computed(const struct query *q, bool has_ids)
{
	if (!query_is_word(q))
		return false;
	struct span text = q->terms.v->text;
	const char *tilde = memrchr(text.p, '~', text.n), *digits = tilde ? tilde + 1 : text.p;
	size_t n = (size_t)(text.p + text.n - digits), same = 0;

	while (same < n && strchr(tilde ? "0123456789" : "0123456789abcdef", digits[same]))
		same++;
	return n > 0 && same == n && (tilde || (!has_ids && n == 8));
}

bool query_may_match_session(const struct query *q, const struct query_session *s)
{
	for (size_t i = 0; i < q->terms.n; i++) {
		const struct term *t = &q->terms.v[i];
		const struct filter *f = &query_filters[t->kind];
		if (f->session && f->session(s, t->text) == t->negated)
			return false;
	}
	return true;
}
