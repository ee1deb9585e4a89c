/* SPDX-License-Identifier: MIT */
/* The filters of search: a row of query_filters each, and the functions of the rows. */
#include "match_impl.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/date.h"
#include "sessionfs/base/fold.h"
#include "sessionfs/file/secret.h"
#include "sessionfs/render/files.h"
#include "sessionfs/session/context.h"

#include <errno.h>
#include <strings.h>

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

/* --- the value in a query ------------------------------------------------------------ */

int query_fail(const struct query_parser *s, const char *why, struct span what)
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

/* Returns the number of the value among n names, or a negative errno. */
static int parse_choice(const struct query_parser *s, struct span value, const struct term *t, const char *const *names,
                        int n)
{
	CLEANUP_BUF struct buf why = BUF_INIT;

	for (int i = 0; i < n; i++) {
		if (text_equals(value, span_of(names[i])))
			return i;
		buf_addf(&why, "%s%s%s",
		         i == 0      ? "unknown value; use "
		         : i + 1 < n ? ", "
		                     : " or ",
		         query_filters[t->kind].name, names[i]);
	}
	return buf_err(&why) ? buf_err(&why) : query_fail(s, buf_cstr(&why), value);
}

static int parse_state(struct query_parser *s, struct span value, struct term *t)
{
	return parse_choice(s, value, t, context_states, STATES);
}

static int parse_what(struct query_parser *s, struct span value, struct term *t)
{
	static const char *const whats[WHATS] = {"said", "output", "thinking", "call", "error", "label", "name"};
	int i = parse_choice(s, value, t, whats, WHATS);

	if (i >= 0 && t->negated)
		return query_fail(s, "cannot be negated; name the other kinds", span_of(query_filters[t->kind].name));
	s->q->what |= i < 0 ? 0 : 1u << i;
	return i;
}

static const char *const marks[MARKS] = {"error", "secret"};

static int parse_mark(struct query_parser *s, struct span value, struct term *t)
{
	int i = parse_choice(s, value, t, marks, MARKS);

	s->q->marks |= i < 0 || t->negated ? 0 : 1u << i;
	return i;
}

static int parse_scope(struct query_parser *s, struct span value, struct term *t)
{
	static const char *const scopes[] = {"session"};

	s->q->in_session = true;
	return t->negated ? query_fail(s, "cannot be negated; leave it out", span_of(query_filters[t->kind].name))
	                  : parse_choice(s, value, t, scopes, 1);
}

static bool parse_digits(struct span s, int *ret)
{
	*ret = 0;
	for (size_t i = 0; i < s.n && s.n <= 5; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		*ret = *ret * 10 + (s.p[i] - '0');
	}
	return s.n > 0 && s.n <= 5;
}

enum { DAY = 24 * 60 * 60 };

/* Returns when a day begins, in ms since 1970: its first second or, if the calendar skips it, the next day's. The
 * start needs a search, since clock changes can skip or repeat midnight. No time zone is two days from UTC. */
static int64_t day_begin(date_t day)
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

/* Parses a day before now: today, yesterday, 7d, 2w. Returns how many days ago it is, or -1. */
static int parse_days_ago(struct span value)
{
	char unit = (char)(value.n > 1 ? value.p[value.n - 1] | 0x20 : 0);
	int n;

	if (text_equals(value, SPAN_LIT("today")))
		return 0;
	if (text_equals(value, SPAN_LIT("yesterday")))
		return 1;
	if ((unit != 'd' && unit != 'w') || !parse_digits((struct span){value.p, value.n - 1}, &n))
		return -1;
	return unit == 'w' ? n * 7 : n;
}

/* Parses a day before now, YYYY-MM-DD, or the first day of YYYY-MM. Returns NO_DATE for any other value. */
static date_t parse_date(const struct query_parser *s, struct span value)
{
	char name[DATE_NAME];
	struct tm tm = {.tm_mday = 1};
	int days = parse_days_ago(value);
	bool is_month = value.n == 7;

	if (days >= 0) {
		date_t today = date_at((double)s->now);
		s->q->begins = day_begin(today);
		s->q->expires = day_begin(today + 1);
		return today - days;
	}
	if ((value.n != 10 && !is_month) || !parse_digits((struct span){value.p, 4}, &tm.tm_year) ||
	    !parse_digits((struct span){value.p + 5, 2}, &tm.tm_mon) ||
	    (!is_month && !parse_digits((struct span){value.p + 8, 2}, &tm.tm_mday)))
		return NO_DATE;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	date_t day = (date_t)(timegm(&tm) / DAY);
	date_name(day, name);
	return span_eq(value, (struct span){name, value.n}) ? day : NO_DATE;
}

static int parse_day(struct query_parser *s, struct span value, struct term *t)
{
	date_t day = parse_date(s, value);
	char name[DATE_NAME];

	if (day == NO_DATE)
		return query_fail(s, "not a day; use YYYY-MM-DD, YYYY-MM, today, yesterday, 7d or 2w", value);
	t->day = day_begin(day);
	date_name(day, name);
	s->q->bytes.n = t->begin;
	buf_adds(&s->q->bytes, name);
	return 0;
}

/* --- the session ------------------------------------------------------------------- */

static bool title_matches(const struct query_session *s, struct span text)
{
	return text_contains(s->title, text);
}

static bool project_matches(const struct query_session *s, struct span text)
{
	return text_contains(s->project, text);
}

static bool session_matches(const struct query_session *s, struct span text)
{
	return text_contains(s->sid, text) || text_contains(s->stem, text);
}

static bool state_matches(const struct query_session *s, struct span text)
{
	return text_equals(s->state, text);
}

/* --- the line ---------------------------------------------------------------------- */

static struct span needle_text(struct span text)
{
	return text;
}

/* A model is shown as provider/model, but the file stores the parts separately: search for the longer one. */
static struct span needle_model(struct span text)
{
	const char *slash = memchr(text.p, '/', text.n);
	size_t n = slash ? (size_t)(slash - text.p) : text.n, rest = slash ? text.n - n - 1 : 0;

	if (slash && memchr(slash + 1, '/', rest))
		return (struct span){NULL, 0};
	return rest > n ? (struct span){slash + 1, rest} : (struct span){text.p, n};
}

/* --- the index ---------------------------------------------------------------------- */

/* Compares a fixed name with the folded text. */
static enum verdict verdict_of_name(const char *name, struct span folded)
{
	if (!name)
		return VERDICT_UNKNOWN;
	return strlen(name) == folded.n && strncasecmp(name, folded.p, folded.n) == 0 ? VERDICT_YES : VERDICT_NO;
}

static enum verdict index_text(struct matcher *m)
{
	return entry_text_type_has_any(session_entry(m->s, m->entry)->type) ? VERDICT_UNKNOWN : VERDICT_NO;
}

static enum verdict index_role(struct matcher *m)
{
	enum record_role role = session_entry(m->s, m->entry)->role;

	return role == ROLE_NONE ? VERDICT_NO : verdict_of_name(record_role_name(role), m->term->text);
}

static enum verdict index_type(struct matcher *m)
{
	return verdict_of_name(record_type_name(session_entry(m->s, m->entry)->type), m->term->text);
}

static enum verdict index_tool(struct matcher *m)
{
	const struct entry *e = session_entry(m->s, m->entry);

	return e->role == ROLE_TOOL_RESULT || (e->role == ROLE_ASSISTANT && e->flags & ENTRY_HAS_CALLS)
	           ? VERDICT_UNKNOWN
	           : VERDICT_NO;
}

static enum verdict index_model(struct matcher *m)
{
	const struct entry *e = session_entry(m->s, m->entry);

	return e->type == RECORD_MODEL_CHANGE || e->role == ROLE_ASSISTANT ? VERDICT_UNKNOWN : VERDICT_NO;
}

static enum verdict index_file(struct matcher *m)
{
	return entry_has_file_calls(session_entry(m->s, m->entry)) ? VERDICT_UNKNOWN : VERDICT_NO;
}

static enum verdict index_label(struct matcher *m)
{
	return session_label_record(m->s, m->entry) != NO_ENTRY ? VERDICT_UNKNOWN : VERDICT_NO;
}

static enum verdict index_before(struct matcher *m)
{
	int64_t time = session_entry(m->s, m->entry)->time;

	if (time == NO_TIME) {
		m->is_undated = true;
		time = time_ns(session_stat(m->s)->st_mtim) / 1000000;
	}
	return time < m->term->day ? VERDICT_YES : VERDICT_NO;
}

static enum verdict index_after(struct matcher *m)
{
	return index_before(m) == VERDICT_YES ? VERDICT_NO : VERDICT_YES;
}

static enum verdict index_mark(struct matcher *m)
{
	enum record_role role = session_entry(m->s, m->entry)->role;

	return role == ROLE_TOOL_RESULT || role == ROLE_BASH_EXECUTION || role == ROLE_ASSISTANT ||
	               span_is(m->term->text, marks[MARK_SECRET])
	           ? VERDICT_UNKNOWN
	           : VERDICT_NO;
}

/* --- the record --------------------------------------------------------------------- */

/* Ends the last value: it gets a NUL, which no value has, in place of a newline. An empty one is dropped. */
static void value_end(struct buf *values)
{
	values->n -= values->n > 0 && values->p[values->n - 1] == '\n';
	if (values->n > 0 && values->p[values->n - 1] != '\0')
		buf_addc(values, '\0');
}

static void value_add(struct json_value v, struct buf *values)
{
	if (v.kind == JSON_STRING)
		json_decode(v.text, JSON_CLEAN, values);
	value_end(values);
}

static int values_tool(struct matcher *m)
{
	struct part_call call = {0};
	int rc = 0;

	if (m->r.role == ROLE_TOOL_RESULT)
		value_add(m->r.msg.tool_name, &m->value);
	while (rc == 0 && part_call_next(&m->r, &call)) {
		value_add(call.name, &m->value);
		rc = cancel_check();
	}
	return rc;
}

static int values_file(struct matcher *m)
{
	struct part_call call = {0};
	int rc = 0;

	while (rc == 0 && part_call_next(&m->r, &call)) {
		call_file_path(m->s, &call, &m->value);
		value_end(&m->value);
		rc = cancel_check();
	}
	return rc;
}

static int values_label(struct matcher *m)
{
	struct record r;
	int rc = session_load(m->s, session_label_record(m->s, m->entry), &m->label, &r);

	if (rc < 0)
		return rc;
	value_add(r.label, &m->value);
	if (r.label.kind != JSON_STRING)
		buf_addspan(&m->value, json_raw(r.label));
	return 0;
}

static int values_mark(struct matcher *m)
{
	struct secrets secrets CLEANUP(secrets_release) = {0};
	bool is_error = !span_is(m->term->text, marks[MARK_SECRET]), any = is_error && part_has_error(&m->r);
	struct part_call call = {0};
	int rc = is_error ? 0 : session_find_secrets(m->s, m->entry, &m->reader, &secrets);

	while (is_error && !any && part_call_next(&m->r, &call))
		any = call.nested == NESTED_FAILED;
	if (any || secrets.n > 0)
		buf_addspan(&m->value, m->term->text);
	return rc;
}

int match_read_values(struct matcher *m)
{
	const struct filter *f = &query_filters[m->term->kind];
	int rc = 0;

	buf_reset(&m->value);
	if (f->value)
		f->value(&m->r, &m->value);
	else
		rc = f->values(m);
	value_end(&m->value);
	return rc < 0 ? rc : buf_err(&m->value);
}

/* No name begins with another one, except the empty name. */
const struct filter query_filters[] = {
    [TERM_WORD] = {"", .needle = needle_text, .index = index_text},
    [TERM_WHOLE] = {"word:", .needle = needle_text, .index = index_text},
    {"role:", .is_exact = true, .index = index_role, .value = part_role},
    {"type:", .is_exact = true, .needle = needle_text, .index = index_type, .value = part_type},
    {"tool:", .is_exact = true, .needle = needle_text, .index = index_tool, .values = values_tool},
    {"model:", .needle = needle_model, .index = index_model, .value = part_model},
    {"label:", .can_change = true, .index = index_label, .values = values_label},
    {"title:", .can_change = true, .session = title_matches},
    {"file:", .index = index_file, .values = values_file},
    {"project:", .session = project_matches},
    {"session:", .session = session_matches},
    {"state:", parse_state, .can_change = true, .session = state_matches},
    {"after:", parse_day, .index = index_after},
    {"before:", parse_day, .index = index_before},
    {"what:", parse_what, .index = index_text},
    {"is:", parse_mark, .is_exact = true, .index = index_mark, .values = values_mark},
    {"in:", .parse = parse_scope},
    {0},
};
