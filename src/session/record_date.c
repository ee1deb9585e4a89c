/* Dates in text: ISO 8601 in all the forms of ECMAScript, the same with slashes or with a space before the time, and
 * RFC 2822. Each means what Date.parse() makes of it in V8. V8 guesses at many more; these are no times here. */
#include "record_impl.h"

#include <strings.h>

static char first_of(const struct span *s)
{
	return s->n ? s->p[0] : '\0';
}

/* Letters match in either case. */
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

/* A number of `least` to `most` digits, no more, from `low` to `high`. */
static bool number(struct span *s, size_t least, size_t most, int low, int high, int *ret)
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

/* HH:MM[:SS[.F]]: of a fraction the first three digits count. 24:00 is valid, later times of hour 24 are not. */
static bool read_time(struct span *s, struct date *d)
{
	if (!number(s, 2, 2, 0, 24, &d->hour) || !date_skip(s, ":") || !number(s, 2, 2, 0, 59, &d->minute))
		return false;
	bool later = d->minute > 0;
	if (date_skip(s, ":")) {
		if (!number(s, 2, 2, 0, 59, &d->second))
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

/* Z, +HH:MM, +HHMM; without one the time is local. */
static bool read_offset(struct span *s, struct date *d)
{
	char sign = first_of(s);
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
	if (!number(&hours, 2, 2, 0, 23, &hour) || !number(s, 2, 2, 0, 59, &minute))
		return false;
	d->zone = (sign == '-' ? -60 : 60) * (hour * 60 + minute);
	return true;
}

/* The zones that have a name in RFC 2822. */
static bool read_named_zone(struct span *s, struct date *d)
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
	return read_offset(s, d);
}

/* Behind a date and a space: V8 takes years of less than three digits for others. */
static bool read_spaced_time(struct span *s, struct date *d)
{
	if (d->year < 100 || !read_time(s, d))
		return false;
	return (skip_spaces(s) ? read_named_zone(s, d) : read_offset(s, d)) && s->n == 0;
}

/* YYYY[-MM[-DD]] or +YYYYYY-..., then nothing (UTC), or THH:MM and what follows; YYYY-MM-DD HH:MM; YYYY/MM/DD with or
 * without that. */
static bool read_iso(struct span s, struct date *d)
{
	char sign = first_of(&s);
	bool is_signed = sign == '+' || sign == '-', has_day = false;
	int year;
	if (is_signed)
		s = (struct span){s.p + 1, s.n - 1};
	if (!number(&s, is_signed ? 6 : 4, is_signed ? 6 : 4, 0, 999999, &year) || (sign == '-' && year == 0))
		return false;
	d->year = sign == '-' ? -year : year;
	bool slashes = !is_signed && first_of(&s) == '/';
	const char *separator = slashes ? "/" : "-";
	if (date_skip(&s, separator)) {
		if (!number(&s, slashes ? 1 : 2, 2, 1, 12, &d->month))
			return false;
		has_day = date_skip(&s, separator);
		if (has_day && !number(&s, slashes ? 1 : 2, 2, 1, 31, &d->day))
			return false;
	}
	if (!slashes && date_skip(&s, "T"))
		return read_time(&s, d) && read_offset(&s, d) && s.n == 0;
	if (s.n == 0) {
		d->local = slashes;
		return !slashes || (has_day && year >= 100);
	}
	return has_day && !is_signed && skip_spaces(&s) && read_spaced_time(&s, d);
}

/* [Www,] D Mon YYYY HH:MM[:SS] ZONE [(COMMENT)] */
static bool read_mail(struct span s, struct date *d)
{
	static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
	                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	static const char days[7][5] = {"Mon,", "Tue,", "Wed,", "Thu,", "Fri,", "Sat,", "Sun,"};
	int year, month = 0;
	for (size_t i = 0; i < 7 && !date_skip(&s, days[i]); i++)
		;
	skip_spaces(&s);
	if (!number(&s, 1, 2, 1, 31, &d->day) || !skip_spaces(&s))
		return false;
	while (month < 12 && !date_skip(&s, months[month]))
		month++;
	if (month == 12 || !skip_spaces(&s) || !number(&s, 4, 4, 100, 9999, &year) || !skip_spaces(&s))
		return false;
	d->month = month + 1;
	d->year = year;
	const char *comment = memchr(s.p, '(', s.n);
	if (comment && memchr(comment, ')', s.n - (size_t)(comment - s.p)) == s.p + s.n - 1) {
		s.n = (size_t)(comment - s.p);
		while (s.n && s.p[s.n - 1] == ' ')
			s.n--;
	}
	return read_spaced_time(&s, d);
}

bool record_date(struct span text, struct date *ret)
{
	const struct date begin = {.month = 1, .day = 1, .local = true};
	*ret = begin;
	if (read_iso(text, ret))
		return true;
	*ret = begin;
	return read_mail(text, ret);
}
