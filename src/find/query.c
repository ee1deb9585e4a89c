/* SPDX-License-Identifier: MIT */
/* Terms are folded, sorted and deduplicated, so that equal queries have the same ones. */
#include "query_impl.h"

#include "sessionfs/base/budget.h"
#include "sessionfs/base/date.h"
#include "sessionfs/base/fold.h"
#include "sessionfs/base/space.h"
#include "sessionfs/base/utf8.h"
#include "sessionfs/session/context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const whats[WHATS] = {"said", "output", "thinking", "call", "error", "label", "name"};
static const char *const marks[MARKS] = {"error", "secret"};

const struct filter query_filters[TERM_KINDS] = {
    [TERM_WORD] = {.name = ""},
    [TERM_WHOLE] = {.name = "word:"},
    [TERM_ROLE] = {.name = "role:", .is_exact = true},
    [TERM_TYPE] = {.name = "type:", .is_exact = true},
    [TERM_TOOL] = {.name = "tool:", .is_exact = true},
    [TERM_MODEL] = {.name = "model:"},
    [TERM_LABEL] = {.name = "label:", .can_change = true},
    [TERM_TITLE] = {.name = "title:", .can_change = true},
    [TERM_FILE] = {.name = "file:"},
    [TERM_PROJECT] = {.name = "project:"},
    [TERM_SESSION] = {.name = "session:"},
    [TERM_STATE] = {.name = "state:", context_states, STATES, .can_change = true},
    [TERM_AFTER] = {.name = "after:", .is_day = true},
    [TERM_BEFORE] = {.name = "before:", .is_day = true},
    [TERM_WHAT] = {.name = "what:", whats, WHATS},
    [TERM_IS] = {.name = "is:", marks, MARKS},
};

enum { DAY = 24 * 60 * 60 };

/* The state of the parser. */
struct query_parser {
	struct span rest;
	struct query *q;
	int64_t now;
	struct buf *why; /* or NULL */
};

/* Appends the reason, and the part of the text it concerns, on one line. */
static int query_fail(const struct query_parser *s, const char *why, struct span what)
{
	if (s->why) {
		size_t start = s->why->n;
		buf_addspan(s->why, what);
		for (size_t i = start; i < s->why->n; i++)
			if ((unsigned char)s->why->p[i] < ' ' || s->why->p[i] == 0x7f)
				s->why->p[i] = ' ';
		buf_addf(s->why, "%s%s", what.n ? ": " : "", why);
	}
	return -EINVAL;
}

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

static bool query_parse_digits(struct span s, int *ret)
{
	*ret = 0;
	for (size_t i = 0; i < s.n && s.n <= 5; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		*ret = *ret * 10 + (s.p[i] - '0');
	}
	return s.n > 0 && s.n <= 5;
}

/* Returns when a day begins, in ms since 1970: its first second or, if the calendar skips it, the next day's. The
 * start needs a search, since clock changes can skip or repeat midnight. No time zone is two days from UTC. */
static int64_t query_day_begin(date_t day)
{
	time_t low = (time_t)(day - 2) * DAY, high = (time_t)(day + 2) * DAY;

	while (low < high) {
		time_t middle = low + (high - low) / 2;
		if (date_at((double)middle * 1000) < day)
			low = middle + 1;
		else
			high = middle;
	}
	return (int64_t)low * 1000;
}

/* Parses a day: YYYY-MM-DD, or relative to now, such as 7d. */
static bool query_parse_day(struct query_parser *s, struct span text, date_t *ret)
{
	char name[DATE_NAME];
	struct tm tm = {0};
	int days;

	if (text.n > 1 && (text.p[text.n - 1] | 0x20) == 'd' &&
	    query_parse_digits((struct span){text.p, text.n - 1}, &days)) {
		*ret = date_at((double)s->now) - days;
		s->q->expires = query_day_begin(*ret + days + 1);
		return true;
	}
	if (text.n != 10 || !query_parse_digits((struct span){text.p, 4}, &tm.tm_year) ||
	    !query_parse_digits((struct span){text.p + 5, 2}, &tm.tm_mon) ||
	    !query_parse_digits((struct span){text.p + 8, 2}, &tm.tm_mday))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	*ret = (date_t)(timegm(&tm) / DAY);
	date_name(*ret, name);
	return span_is(text, name);
}

static int query_fail_value(const struct query_parser *s, struct span value, const struct filter *f)
{
	CLEANUP_BUF struct buf why = BUF_INIT;

	for (unsigned i = 0; i < f->n; i++)
		buf_addf(&why, "%s%s%s",
		         i == 0         ? "unknown value; use "
		         : i + 1 < f->n ? ", "
		                        : " or ",
		         f->name, f->values[i]);
	return buf_err(&why) ? buf_err(&why) : query_fail(s, buf_cstr(&why), value);
}

static int term_set_value(struct query_parser *s, struct span value, struct term *t)
{
	const struct filter *f = &query_filters[t->kind];
	char name[DATE_NAME];
	date_t day;

	while (t->value < f->n && !text_equals(value, span_of(f->values[t->value])))
		t->value++;
	if (f->n > 0 && t->value == f->n)
		return query_fail_value(s, value, f);
	if (t->kind == TERM_WHAT && t->negated)
		return query_fail(s, "cannot be negated; name the other kinds", span_of(f->name));
	if (t->kind == TERM_WHAT)
		s->q->what |= 1u << t->value;
	if (t->kind == TERM_IS && !t->negated)
		s->q->marks |= 1u << t->value;
	if (f->is_day) {
		if (!query_parse_day(s, value, &day))
			return query_fail(s, "not a day; use YYYY-MM-DD, or 7d for seven days ago", value);
		t->day = query_day_begin(day);
		date_name(day, name);
		value = span_of(name);
	}
	/* query_finish sets the pointer: the bytes can still move. */
	t->begin = s->q->bytes.n;
	fold_add(value, &s->q->bytes);
	t->text.n = s->q->bytes.n - t->begin;
	return 0;
}

/* Parses the next term. */
static int query_parse_term(struct query_parser *s, struct term *t)
{
	struct span value, *rest = &s->rest, all = *rest;

	*t = (struct term){.negated = rest->p[0] == '-'};
	*rest = query_skip(*rest, t->negated);
	if (rest->n && rest->p[0] != '"') {
		value = query_parse_plain(rest);
		for (unsigned k = TERM_WORD + 1; k < TERM_KINDS && t->kind == TERM_WORD; k++)
			t->kind = span_begins(value, span_of(query_filters[k].name)) ? k : TERM_WORD;
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
		                  (struct span){all.p, (size_t)(rest->p - all.p)});
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

int64_t query_expires(const struct query *q)
{
	return q ? q->expires : INT64_MAX;
}

bool query_verdict_is_final(const struct query *q)
{
	for (size_t i = 0; i < q->terms.n; i++)
		if (query_filters[q->terms.v[i].kind].can_change)
			return false;
	return true;
}

bool text_contains(struct span text, struct span part)
{
	CLEANUP_BUF struct buf folded = BUF_INIT;

	fold_add(text, &folded);
	return folded.n >= part.n && memmem(folded.p, folded.n, part.p, part.n);
}

bool text_equals(struct span text, struct span folded)
{
	CLEANUP_BUF struct buf own = BUF_INIT;

	fold_add(text, &own);
	return span_eq(buf_span(&own), folded);
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

/* Returns whether the session's texts satisfy the term; true if the term is about entries. */
static bool term_matches_session(const struct term *t, const struct query_session *s)
{
	switch (t->kind) {
	case TERM_TITLE:
		return text_contains(s->title, t->text) != t->negated;
	case TERM_PROJECT:
		return text_contains(s->project, t->text) != t->negated;
	case TERM_SESSION:
		return (text_contains(s->sid, t->text) || text_contains(s->stem, t->text)) != t->negated;
	case TERM_STATE:
		return text_equals(s->state, t->text) != t->negated;
	default:
		return true;
	}
}

bool query_may_match_session(const struct query *q, const struct query_session *s)
{
	for (size_t i = 0; i < q->terms.n; i++)
		if (!term_matches_session(&q->terms.v[i], s))
			return false;
	return true;
}
