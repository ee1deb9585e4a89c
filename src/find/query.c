/* SPDX-License-Identifier: MIT */
/* Terms are folded, sorted and deduplicated, so that equal queries have the same ones. */
#include "query_impl.h"

#include "sessionfs/base/date.h"
#include "sessionfs/base/fold.h"
#include "sessionfs/base/space.h"
#include "sessionfs/base/utf8.h"
#include "sessionfs/session/context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns what a filter begins with. Without a default: the compiler names a kind that has no name. */
static struct span filter_name(enum term_kind kind)
{
	switch (kind) {
	case TERM_WORD:
		break;
	case TERM_WHOLE:
		return SPAN_LIT("word:");
	case TERM_ROLE:
		return SPAN_LIT("role:");
	case TERM_TYPE:
		return SPAN_LIT("type:");
	case TERM_TOOL:
		return SPAN_LIT("tool:");
	case TERM_MODEL:
		return SPAN_LIT("model:");
	case TERM_LABEL:
		return SPAN_LIT("label:");
	case TERM_TITLE:
		return SPAN_LIT("title:");
	case TERM_PROJECT:
		return SPAN_LIT("project:");
	case TERM_SESSION:
		return SPAN_LIT("session:");
	case TERM_AFTER:
		return SPAN_LIT("after:");
	case TERM_STATE:
		return SPAN_LIT("state:");
	case TERM_BEFORE:
		return SPAN_LIT("before:");
	case TERM_FILE:
		return SPAN_LIT("file:");
	case TERM_WHAT:
		return SPAN_LIT("what:");
	case TERM_IS:
		return SPAN_LIT("is:");
	}
	return SPAN_LIT("");
}

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
		return query_fail(s, "unclosed quote", all);
	if (end == rest->p + 1)
		return query_fail(s, "empty quotes", (struct span){all.p, 2});
	*ret = (struct span){rest->p + 1, (size_t)(end - rest->p - 1)};
	*rest = query_skip(*rest, ret->n + 2);
	return rest->n && space_size(*rest) == 0 ? query_fail(s, "no space after the closing quote", all) : 0;
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

/* Returns the number of the name that the text folds to, n if none. */
static unsigned text_find(struct span text, const char *const *names, unsigned n)
{
	unsigned i = 0;

	while (i < n && !text_equals(text, span_of(names[i])))
		i++;
	return i;
}

static int term_set_value(struct query_parser *s, struct span value, struct term *t)
{
	static const char *const whats[WHATS] = {"said", "thinking", "call", "error", "label", "name"};
	static const char *const is[] = {"error", "secret"};
	char name[DATE_NAME];
	unsigned what;
	date_t day;

	switch (t->kind) {
	case TERM_AFTER:
	case TERM_BEFORE:
		if (!query_parse_day(s, value, &day))
			return query_fail(s, "not a day: use YYYY-MM-DD, or 7d for seven days ago", value);
		t->day = query_day_begin(day);
		date_name(day, name);
		value = span_of(name);
		break;
	case TERM_IS:
		if (text_find(value, is, 2) == 2)
			return query_fail(s, "unknown value: use is:error or is:secret", value);
		break;
	case TERM_STATE:
		if (text_find(value, context_states, STATES) == STATES)
			return query_fail(s, "unknown state: use working, done, failed or stopped", value);
		break;
	case TERM_WHAT:
		what = text_find(value, whats, WHATS);
		if (what == WHATS)
			return query_fail(s, "unknown kind of text: use said, thinking, call, error, label or name",
			                  value);
		if (t->negated)
			return query_fail(s, "cannot be negated: name the other kinds", filter_name(TERM_WHAT));
		s->q->what |= 1u << what;
		break;
	case TERM_WORD:
	case TERM_WHOLE:
	case TERM_ROLE:
	case TERM_TYPE:
	case TERM_TOOL:
	case TERM_MODEL:
	case TERM_LABEL:
	case TERM_TITLE:
	case TERM_FILE:
	case TERM_PROJECT:
	case TERM_SESSION:
		break;
	}
	/* query_finish sets the pointer: the bytes can still move. */
	t->begin = s->q->bytes.n;
	fold_add(value, &s->q->bytes);
	t->text.n = s->q->bytes.n - t->begin;
	return 0;
}

/* Rejects a word X:Y if X: is a filter name with one letter added, removed or changed. */
static int query_reject_misspelt(const struct query_parser *s, struct span word)
{
	const char *colon = memchr(word.p, ':', word.n);
	char why[80];

	if (!colon || (colon + 1 == word.p + word.n && (!s->rest.n || s->rest.p[0] != '"')))
		return 0;
	struct span a = {word.p, (size_t)(colon + 1 - word.p)};
	for (unsigned k = TERM_WORD + 1; k < TERM_IS; k++) {
		struct span b = filter_name(k);
		size_t same = 0, from_a, from_b;
		while (same < a.n && same < b.n && a.p[same] == b.p[same])
			same++;
		from_a = same + (a.n >= b.n);
		from_b = same + (b.n >= a.n);
		if (from_a > a.n || from_b > b.n || !span_eq(query_skip(a, from_a), query_skip(b, from_b)))
			continue;
		snprintf(why, sizeof why, "unknown filter; did you mean %s? (put a word with a colon in quotes)", b.p);
		return query_fail(s, why, word);
	}
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
		for (unsigned k = TERM_WORD + 1; k <= TERM_IS && t->kind == TERM_WORD; k++)
			t->kind = span_begins(value, filter_name(k)) ? k : TERM_WORD;
		if (!t->negated && (span_is(value, "OR") || span_is(value, "|")))
			return query_fail(s, "OR is not an operator: search for each word, or use rg 'a|b'", value);
		int rc = t->kind == TERM_WORD ? query_reject_misspelt(s, value) : 0;
		if (rc < 0)
			return rc;
		value = query_skip(value, filter_name(t->kind).n);
		if (value.n > 0)
			return rest->n && rest->p[0] == '"' ? query_fail(s, "a quote inside a word", all)
			                                    : term_set_value(s, value, t);
	}
	if (!rest->n || rest->p[0] != '"')
		return query_fail(s, "no value", (struct span){all.p, (size_t)(rest->p - all.p)});
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
		return query_fail(s, "empty query", (struct span){NULL, 0});
	for (size_t i = 0; i < q->terms.n; i++)
		q->terms.v[i].text.p = q->bytes.p + q->terms.v[i].begin;
	qsort(q->terms.v, q->terms.n, sizeof *q->terms.v, term_cmp);
	for (size_t i = 0; i < q->terms.n; i++)
		if (i == 0 || term_cmp(&q->terms.v[kept - 1], &q->terms.v[i]) != 0)
			q->terms.v[kept++] = q->terms.v[i];
	q->terms.n = kept;
	return kept <= QUERY_TERMS ? 0 : query_fail(s, "too many different words", (struct span){NULL, 0});
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

int query_parse(struct span text, int64_t now, struct query **ret)
{
	return query_parse_why(text, now, ret, NULL);
}

int query_parse_why(struct span text, int64_t now, struct query **ret, struct buf *why)
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

int64_t query_expires(const struct query *q)
{
	return q->expires;
}

bool query_verdict_is_final(const struct query *q)
{
	for (size_t i = 0; i < q->terms.n; i++)
		switch (q->terms.v[i].kind) {
		case TERM_TITLE:
		case TERM_LABEL:
		case TERM_STATE:
			return false;
		case TERM_WORD:
		case TERM_WHOLE:
		case TERM_ROLE:
		case TERM_TYPE:
		case TERM_TOOL:
		case TERM_MODEL:
		case TERM_FILE:
		case TERM_PROJECT:
		case TERM_SESSION:
		case TERM_AFTER:
		case TERM_BEFORE:
		case TERM_WHAT:
		case TERM_IS:
			break;
		}
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

/* Returns whether the query is one word, and so can be an id. */
static bool query_is_word(const struct query *q)
{
	const struct term *t = &q->terms.v[0];

	return q->terms.n == 1 && t->kind == TERM_WORD && !t->negated;
}

bool query_names_id(const struct query *q, struct span id)
{
	struct span text = q->terms.v[0].text;

	if (!query_is_word(q) || id.n == 0)
		return false;
	size_t n = utf8_count(text) >= QUERY_ID_MIN && text.n < id.n ? text.n : id.n;
	return text_equals((struct span){id.p, n}, text);
}

bool query_may_name_computed(const struct query *q, bool has_ids)
{
	struct span text = q->terms.v[0].text;
	const char *tilde = memrchr(text.p, '~', text.n), *digits = tilde ? tilde + 1 : text.p;
	size_t n = (size_t)(text.p + text.n - digits);

	if (!query_is_word(q) || n == 0 || (!tilde && (has_ids || n != 8)))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!strchr(tilde ? "0123456789" : "0123456789abcdef", digits[i]))
			return false;
	return true;
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
	case TERM_WORD:
	case TERM_WHOLE:
	case TERM_ROLE:
	case TERM_TYPE:
	case TERM_TOOL:
	case TERM_MODEL:
	case TERM_LABEL:
	case TERM_FILE:
	case TERM_AFTER:
	case TERM_BEFORE:
	case TERM_WHAT:
	case TERM_IS:
		break;
	}
	return true;
}

bool query_may_match_session(const struct query *q, const struct query_session *s)
{
	for (size_t i = 0; i < q->terms.n; i++)
		if (!term_matches_session(&q->terms.v[i], s))
			return false;
	return true;
}
