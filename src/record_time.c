/* Times as JavaScript reads them. pi's own are always 2026-03-01T09:00:02.742Z,
 * which is read without branches that matter; the rest of the ISO 8601 forms
 * follow what V8 accepts: a day up to 31 in any month, any number of decimals,
 * a space for the T. */
#include "sessionfs/record.h"

#include <math.h>
#include <time.h>

enum { MS_PER_DAY = 86400000 };
static const double TIME_LIMIT = 8.64e15;

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

struct civil {
	int64_t year;
	int month, day, hour, minute, second, ms;
	bool local;
	int zone; /* minutes east */
};

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads exactly n digits. */
static bool take_number(struct span *s, size_t n, int *ret)
{
	int value = 0;

	if (s->n < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!digit(s->p[i]))
			return false;
		value = value * 10 + (s->p[i] - '0');
	}
	*s = (struct span){s->p + n, s->n - n};
	*ret = value;
	return true;
}

static bool take(struct span *s, char c)
{
	if (s->n == 0 || (s->p[0] != c && s->p[0] != (c | 0x20)))
		return false;
	*s = (struct span){s->p + 1, s->n - 1};
	return true;
}

static bool take_year(struct span *s, int64_t *ret)
{
	int year;
	bool minus = take(s, '-');
	bool plus = !minus && take(s, '+');

	if (!take_number(s, minus || plus ? 6 : 4, &year) || (minus && year == 0))
		return false;
	*ret = minus ? -year : year;
	return true;
}

static bool take_date(struct span *s, struct civil *c)
{
	c->month = c->day = 1;
	if (!take_year(s, &c->year))
		return false;
	if (!take(s, '-'))
		return true;
	if (!take_number(s, 2, &c->month) || c->month < 1 || c->month > 12)
		return false;
	if (!take(s, '-'))
		return true;
	return take_number(s, 2, &c->day) && c->day >= 1 && c->day <= 31;
}

static bool take_decimals(struct span *s, int *ret)
{
	int digits = 0;

	*ret = 0;
	for (; s->n && digit(s->p[0]); digits++, *s = (struct span){s->p + 1, s->n - 1})
		if (digits < 3)
			*ret = *ret * 10 + (s->p[0] - '0');
	for (int i = digits; i < 3; i++)
		*ret *= 10;
	return digits > 0;
}

static bool take_clock(struct span *s, struct civil *c)
{
	if (!take_number(s, 2, &c->hour) || !take(s, ':') || !take_number(s, 2, &c->minute))
		return false;
	if (take(s, ':')) {
		if (!take_number(s, 2, &c->second))
			return false;
		if (take(s, '.') && !take_decimals(s, &c->ms))
			return false;
	}
	if (c->hour == 24)
		return c->minute == 0 && c->second == 0 && c->ms == 0;
	return c->hour < 24 && c->minute < 60 && c->second < 60;
}

static bool take_zone(struct span *s, struct civil *c)
{
	int hours, minutes;

	if (take(s, 'Z'))
		return true;
	bool minus = take(s, '-');
	if (!minus && !take(s, '+')) {
		c->local = true;
		return true;
	}
	if (!take_number(s, 2, &hours))
		return false;
	take(s, ':');
	if (!take_number(s, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	c->zone = (minus ? -1 : 1) * (hours * 60 + minutes);
	return true;
}

static bool parse(struct span s, struct civil *ret)
{
	*ret = (struct civil){0};
	if (!take_date(&s, ret))
		return false;
	if (take(&s, 'T') || take(&s, ' ')) {
		if (!take_clock(&s, ret) || !take_zone(&s, ret))
			return false;
	} else {
		take(&s, 'Z');
	}
	return s.n == 0;
}

static int64_t time_of(const struct civil *c)
{
	int64_t days = days_from_civil(c->year, c->month, 1) + c->day - 1;
	int64_t ms =
	    days * MS_PER_DAY + ((c->hour * INT64_C(60) + c->minute - c->zone) * 60 + c->second) * 1000 + c->ms;

	if (c->local) {
		struct tm tm = {.tm_year = (int)(c->year - 1900),
		                .tm_mon = c->month - 1,
		                .tm_mday = c->day,
		                .tm_hour = c->hour,
		                .tm_min = c->minute,
		                .tm_sec = c->second,
		                .tm_isdst = -1};
		ms = (int64_t)mktime(&tm) * 1000 + c->ms;
	}
	return (double)ms >= -TIME_LIMIT && (double)ms <= TIME_LIMIT ? ms : NO_TIME;
}

static uint64_t load(const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof word);
	return word;
}

/* What has the high bit set in each of eight bytes that is no digit where `form` has 0, or else not as in `form`.
 * `limits` is what added to the greatest difference that is allowed gives 0x7f. */
static inline uint64_t misfits(const char *p, const char *form, const char *limits)
{
	uint64_t difference = load(p) ^ load(form);

	return difference | (difference + load(limits));
}

static int two(const char *p)
{
	return (p[0] - '0') * 10 + (p[1] - '0');
}

/* The form that toISOString writes, for years of four digits. */
static bool parse_usual(struct span s, int64_t *ret)
{
	static const char form[] = "0000-00-00T00:00:00.000Z";
	static const char limits[] = "vvvv\177vv\177vv\177vv\177vv\177vv\177vvv\177";
	const char *p = s.p;

	if (s.n != sizeof form - 1)
		return false;
	uint64_t wrong =
	    misfits(p, form, limits) | misfits(p + 8, form + 8, limits + 8) | misfits(p + 16, form + 16, limits + 16);
	if (wrong & UINT64_C(0x8080808080808080))
		return false;
	int month = two(p + 5), day = two(p + 8), hour = two(p + 11), minute = two(p + 14), second = two(p + 17);
	if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 59)
		return false;
	/* As in days_from_civil, 400 years on, so that nothing is negative. */
	unsigned year = (unsigned)(two(p) * 100 + two(p + 2)) + 400 - (month <= 2);
	unsigned day_of_year = (unsigned)(153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + (unsigned)day - 1;
	unsigned days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year;
	int64_t minutes = (((int64_t)days - 719468 - 146097) * 24 + hour) * 60 + minute;
	*ret = (minutes * 60 + second) * 1000 + two(p + 20) * 10 + (p[22] - '0');
	return true;
}

static int64_t time_of_text(struct span s)
{
	struct civil c;
	int64_t ms;

	if (parse_usual(s, &ms))
		return ms;
	return parse(s, &c) ? time_of(&c) : NO_TIME;
}

int64_t record_time(struct json_value v)
{
	double d;

	if (v.kind == JSON_STRING && !v.escaped)
		return time_of_text(v.text);
	if (json_double(v, &d))
		return fabs(d) <= TIME_LIMIT ? (int64_t)d : NO_TIME;
	if (v.kind != JSON_STRING)
		return NO_TIME;
	CLEANUP_BUF struct buf text = BUF_INIT;
	json_decode(v.text, JSON_EXACT, &text);
	return time_of_text(buf_span(&text));
}
