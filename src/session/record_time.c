/* SPDX-License-Identifier: MIT */
/* Times as JavaScript reads them. pi's own are always 2026-03-01T09:00:02.742Z, which is read almost without branches.
 * Other texts that count as dates: ISO 8601 in all the forms of ECMAScript, the same with slashes or with a space
 * before the time, and RFC 2822. Each means the same as in V8's Date.parse(). V8 guesses at many more; here these are
 * not times. */
#include "record_impl.h"

#include <math.h>
#include <strings.h>
#include <time.h>

enum { MS_PER_DAY = 86400000 };
static const double TIME_LIMIT = 8.64e15;

/* A date and time as written. Each field is within its range; the day is up to 31 in any month. */
struct date {
	int64_t year;
	int month, day, hour, minute, second, ms;
	bool local;
	int64_t zone; /* seconds east of UTC, if it is not local */
};

/* Days since 1970-01-01 in the proleptic Gregorian calendar (months from 1). */
static int64_t days_from_civil(int64_t year, int month, int day)
{
	year -= month <= 2;
	int64_t era = (year >= 0 ? year : year - 399) / 400;
	int64_t year_of_era = year - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
	return era * 146097 + day_of_era - 719468;
}

/* Returns how many seconds local time is ahead of UTC at this moment. */
static int64_t utc_offset_at(int64_t second)
{
	time_t t = (time_t)second;
	struct tm tm;

	return localtime_r(&t, &tm) ? tm.tm_gmtoff : 0;
}

/* Converts local time to UTC. A local time that occurs twice means the first one; a skipped one uses the offset from
 * before the gap. ECMAScript requires this; mktime(3) leaves both open. */
static int64_t local_to_utc(int64_t second)
{
	const int64_t day = 24 * 60 * 60;
	int64_t before = second - utc_offset_at(second - day), after = second - utc_offset_at(second + day);

	if (before == after || before + utc_offset_at(before) == second || after + utc_offset_at(after) != second)
		return before;
	return after;
}

static int64_t date_to_ms(const struct date *d)
{
	int64_t days = days_from_civil(d->year, d->month, 1) + d->day - 1;
	int64_t second = ((days * 24 + d->hour) * 60 + d->minute) * 60 + d->second - d->zone;

	if (fabs((double)second) > TIME_LIMIT / 1000 + MS_PER_DAY)
		return NO_TIME;
	int64_t ms = (d->local ? local_to_utc(second) : second) * 1000 + d->ms;
	return fabs((double)ms) <= TIME_LIMIT ? ms : NO_TIME;
}

static uint64_t load_8_bytes(const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof word);
	return word;
}

/* Sets the high bit of each of eight bytes that does not match `form`: a digit where `form` has 0, else the same byte.
 * `limits` plus the max difference is 0x7f. */
static inline uint64_t mismatched_bytes(const char *p, const char *form, const char *limits)
{
	uint64_t difference = load_8_bytes(p) ^ load_8_bytes(form);

	return difference | (difference + load_8_bytes(limits));
}

static int two_digits(const char *p)
{
	return (p[0] - '0') * 10 + (p[1] - '0');
}

/* Parses the form that toISOString writes, for years of four digits. */
static bool parse_to_iso_string(struct span s, int64_t *ret)
{
	static const char form[] = "0000-00-00T00:00:00.000Z";
	static const char limits[] = "vvvv\177vv\177vv\177vv\177vv\177vv\177vvv\177";
	const char *p = s.p;

	if (s.n != sizeof form - 1)
		return false;
	uint64_t wrong = mismatched_bytes(p, form, limits) | mismatched_bytes(p + 8, form + 8, limits + 8) |
	                 mismatched_bytes(p + 16, form + 16, limits + 16);
	if (wrong & UINT64_C(0x8080808080808080))
		return false;
	int month = two_digits(p + 5), day = two_digits(p + 8), hour = two_digits(p + 11), minute = two_digits(p + 14),
	    second = two_digits(p + 17);
	if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 59)
		return false;
	/* As in days_from_civil, 400 years later, so that nothing is negative. */
	unsigned year = (unsigned)(two_digits(p) * 100 + two_digits(p + 2)) + 400 - (month <= 2);
	unsigned day_of_year = (unsigned)(153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + (unsigned)day - 1;
	unsigned days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year;
	int64_t minutes = (((int64_t)days - 719468 - 146097) * 24 + hour) * 60 + minute;
	*ret = (minutes * 60 + second) * 1000 + two_digits(p + 20) * 10 + (p[22] - '0');
	return true;
}

/* ---- the other forms ---- */

static char peek_char(const struct span *s)
{
	return s->n ? s->p[0] : '\0';
}

/* Compares letters without case. */
static bool date_skip(struct span *s, const char *text)
{
	size_t n = strlen(text);
	if (s->n < n || strncasecmp(s->p, text, n) != 0)
		return false;
	*s = (struct span){s->p + n, s->n - n};
	return true;
}

static bool skip_spaces(struct span *s)
{
	bool any = false;
	while (date_skip(s, " "))
		any = true;
	return any;
}

/* Parses a number of `least` to `most` digits, no more, from `low` to `high`. */
static bool date_digits(struct span *s, size_t least, size_t most, int low, int high, int *ret)
{
	size_t n = 0;
	int v = 0;
	for (; n < s->n && n < most && is_digit(s->p[n]); n++)
		v = v * 10 + (s->p[n] - '0');
	if (n < least || (n < s->n && is_digit(s->p[n])) || v < low || v > high)
		return false;
	*s = (struct span){s->p + n, s->n - n};
	*ret = v;
	return true;
}

/* Parses HH:MM[:SS[.F]]. The first three digits of a fraction count. 24:00 is valid; later times of hour 24 are not. */
static bool parse_clock_time(struct span *s, struct date *d)
{
	if (!date_digits(s, 2, 2, 0, 24, &d->hour) || !date_skip(s, ":") || !date_digits(s, 2, 2, 0, 59, &d->minute))
		return false;
	bool later = d->minute > 0;
	if (date_skip(s, ":")) {
		if (!date_digits(s, 2, 2, 0, 59, &d->second))
			return false;
		later |= d->second > 0;
		if (date_skip(s, ".")) {
			size_t n = 0;
			for (int unit = 100; n < s->n && is_digit(s->p[n]); n++, unit /= 10) {
				d->ms += (s->p[n] - '0') * unit;
				later |= s->p[n] != '0';
			}
			if (n == 0)
				return false;
			*s = (struct span){s->p + n, s->n - n};
		}
	}
	return d->hour < 24 || !later;
}

/* Parses Z, +HH:MM, +HHMM; without one the time is local. */
static bool parse_utc_offset(struct span *s, struct date *d)
{
	char sign = peek_char(s);
	int hour, minute;
	d->local = false;
	if (date_skip(s, "Z"))
		return true;
	if (sign != '+' && sign != '-') {
		d->local = true;
		return true;
	}
	*s = (struct span){s->p + 1, s->n - 1};
	if (s->n < 2 || !is_digit(s->p[0]) || !is_digit(s->p[1]))
		return false;
	struct span hours = {s->p, 2};
	*s = (struct span){s->p + 2, s->n - 2};
	date_skip(s, ":");
	if (!date_digits(&hours, 2, 2, 0, 23, &hour) || !date_digits(s, 2, 2, 0, 59, &minute))
		return false;
	d->zone = (sign == '-' ? -60 : 60) * (hour * 60 + minute);
	return true;
}

/* Parses a zone name of RFC 2822 or an offset. */
static bool parse_zone_name(struct span *s, struct date *d)
{
	static const struct {
		char name[4];
		int hours;
	} zones[] = {{"GMT", 0},  {"UTC", 0},  {"UT", 0},   {"EST", -5}, {"EDT", -4}, {"CST", -6},
	             {"CDT", -5}, {"MST", -7}, {"MDT", -6}, {"PST", -8}, {"PDT", -7}};
	for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
		if (!date_skip(s, zones[i].name))
			continue;
		d->local = false;
		d->zone = zones[i].hours * 3600;
		return true;
	}
	return parse_utc_offset(s, d);
}

/* Parses the time after a date and a space: V8 gives years of less than three digits another meaning. */
static bool parse_time_after_space(struct span *s, struct date *d)
{
	if (d->year < 100 || !parse_clock_time(s, d))
		return false;
	return (skip_spaces(s) ? parse_zone_name(s, d) : parse_utc_offset(s, d)) && s->n == 0;
}

/* Parses YYYY[-MM[-DD]] or +YYYYYY-..., then nothing (UTC), or THH:MM and the rest; YYYY-MM-DD HH:MM; YYYY/MM/DD with
 * or without a time. */
static bool parse_iso_8601(struct span s, struct date *d)
{
	char sign = peek_char(&s);
	bool is_signed = sign == '+' || sign == '-', has_day = false;
	int year;
	if (is_signed)
		s = (struct span){s.p + 1, s.n - 1};
	if (!date_digits(&s, is_signed ? 6 : 4, is_signed ? 6 : 4, 0, 999999, &year) || (sign == '-' && year == 0))
		return false;
	d->year = sign == '-' ? -year : year;
	bool slashes = !is_signed && peek_char(&s) == '/';
	const char *separator = slashes ? "/" : "-";
	if (date_skip(&s, separator)) {
		if (!date_digits(&s, slashes ? 1 : 2, 2, 1, 12, &d->month))
			return false;
		has_day = date_skip(&s, separator);
		if (has_day && !date_digits(&s, slashes ? 1 : 2, 2, 1, 31, &d->day))
			return false;
	}
	if (!slashes && date_skip(&s, "T"))
		return parse_clock_time(&s, d) && parse_utc_offset(&s, d) && s.n == 0;
	if (s.n == 0) {
		d->local = slashes;
		return !slashes || (has_day && year >= 100);
	}
	return has_day && !is_signed && skip_spaces(&s) && parse_time_after_space(&s, d);
}

/* [Www,] D Mon YYYY HH:MM[:SS] ZONE [(COMMENT)] */
static bool parse_rfc_2822(struct span s, struct date *d)
{
	static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
	                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	static const char days[7][5] = {"Mon,", "Tue,", "Wed,", "Thu,", "Fri,", "Sat,", "Sun,"};
	int year, month = 0;
	for (size_t i = 0; i < 7 && !date_skip(&s, days[i]); i++)
		;
	skip_spaces(&s);
	if (!date_digits(&s, 1, 2, 1, 31, &d->day) || !skip_spaces(&s))
		return false;
	while (month < 12 && !date_skip(&s, months[month]))
		month++;
	if (month == 12 || !skip_spaces(&s) || !date_digits(&s, 4, 4, 100, 9999, &year) || !skip_spaces(&s))
		return false;
	d->month = month + 1;
	d->year = year;
	const char *comment = memchr(s.p, '(', s.n);
	if (comment && memchr(comment, ')', s.n - (size_t)(comment - s.p)) == s.p + s.n - 1) {
		s.n = (size_t)(comment - s.p);
		while (s.n && s.p[s.n - 1] == ' ')
			s.n--;
	}
	return parse_time_after_space(&s, d);
}

static int64_t parse_time(struct span s)
{
	const struct date begin = {.month = 1, .day = 1, .local = true};
	struct date iso = begin, mail = begin;
	int64_t ms;

	if (parse_to_iso_string(s, &ms))
		return ms;
	if (parse_iso_8601(s, &iso))
		return date_to_ms(&iso);
	return parse_rfc_2822(s, &mail) ? date_to_ms(&mail) : NO_TIME;
}

int64_t record_time(struct json_value v)
{
	double d;

	if (v.kind == JSON_STRING && !v.escaped)
		return parse_time(v.text);
	if (json_double(v, &d))
		return fabs(d) <= TIME_LIMIT ? (int64_t)d : NO_TIME;
	if (v.kind != JSON_STRING)
		return NO_TIME;
	CLEANUP_BUF struct buf text = BUF_INIT;
	json_decode(v.text, JSON_EXACT, &text);
	return parse_time(buf_span(&text));
}
