/* Times as JavaScript reads them. pi's own are always 2026-03-01T09:00:02.742Z,
 * which is read without branches that matter; any other text is for
 * record_date.c. */
#include "record_impl.h"

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

/* Seconds that local time is ahead of UTC at this moment. */
static int64_t offset_at(int64_t second)
{
	time_t t = (time_t)second;
	struct tm tm;

	return localtime_r(&t, &tm) ? tm.tm_gmtoff : 0;
}

/* Local time to UTC. A local time that occurs twice means the first one; one that is skipped counts with the offset
 * from before the gap. So says ECMAScript; mktime(3) leaves both open. */
static int64_t from_local(int64_t second)
{
	const int64_t day = 24 * 60 * 60;
	int64_t before = second - offset_at(second - day), after = second - offset_at(second + day);

	if (before == after || before + offset_at(before) == second || after + offset_at(after) != second)
		return before;
	return after;
}

static int64_t date_time(const struct date *d)
{
	int64_t days = days_from_civil(d->year, d->month, 1) + d->day - 1;
	int64_t second = ((days * 24 + d->hour) * 60 + d->minute) * 60 + d->second - d->zone;

	if (fabs((double)second) > TIME_LIMIT / 1000 + MS_PER_DAY)
		return NO_TIME;
	int64_t ms = (d->local ? from_local(second) : second) * 1000 + d->ms;
	return fabs((double)ms) <= TIME_LIMIT ? ms : NO_TIME;
}

static uint64_t time_load(const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof word);
	return word;
}

/* Sets the high bit of each of eight bytes that does not match `form`: a digit where `form` has 0, else the same byte.
 * `limits` plus the greatest allowed difference is 0x7f. */
static inline uint64_t misfits(const char *p, const char *form, const char *limits)
{
	uint64_t difference = time_load(p) ^ time_load(form);

	return difference | (difference + time_load(limits));
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
	struct date d;
	int64_t ms;

	if (parse_usual(s, &ms))
		return ms;
	return record_date(s, &d) ? date_time(&d) : NO_TIME;
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
