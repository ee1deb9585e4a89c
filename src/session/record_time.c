/* SPDX-License-Identifier: MIT */
/* Times as pi and programs that embed it write them: 2026-03-01T09:00:02.742Z, perhaps with another number of digits
 * after the second, or with an offset as +02:00. They mean the same as in JavaScript. Its engines read many more
 * forms; these are not times here. */
#include "record_impl.h"

#include <math.h>

static const double TIME_LIMIT = 8.64e15;

static int two_digits(const char *p)
{
	return (p[0] - '0') * 10 + (p[1] - '0');
}

/* Returns whether the text begins with the form, in which each 0 means a digit. */
static bool has_form(struct span s, const char *form)
{
	size_t i = 0;

	while (i < s.n && form[i] && (form[i] == '0' ? char_is_digit(s.p[i]) : s.p[i] == form[i]))
		i++;
	return form[i] == '\0';
}

/* Returns milliseconds since 1970 in UTC, from "0000-00-00T00:00:00". The day can be up to 31 in any month. */
static int64_t time_to_ms(const char *p)
{
	int month = two_digits(p + 5), day = two_digits(p + 8), hour = two_digits(p + 11), minute = two_digits(p + 14),
	    second = two_digits(p + 17);

	if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 59)
		return NO_TIME;
	/* Years begin in March, so that a leap day is their last; 400 years later, so that nothing is negative. */
	int year = two_digits(p) * 100 + two_digits(p + 2) + 400 - (month <= 2);
	int day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	int days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719468 - 146097;
	return (((int64_t)days * 24 + hour) * 60 + minute) * 60000 + second * 1000;
}

static int64_t parse_time(struct span s)
{
	static const char form[] = "0000-00-00T00:00:00";
	int64_t time = has_form(s, form) ? time_to_ms(s.p) : NO_TIME;
	size_t n = sizeof form - 1;

	if (time == NO_TIME)
		return NO_TIME;
	if (n + 1 < s.n && s.p[n] == '.' && char_is_digit(s.p[n + 1])) {
		/* Three digits count. */
		for (int unit = 100; ++n < s.n && char_is_digit(s.p[n]); unit /= 10)
			time += (s.p[n] - '0') * unit;
	}
	struct span zone = {s.p + n, s.n - n};
	if (span_is(zone, "Z"))
		return time;
	if (zone.n != 6 || !(has_form(zone, "+00:00") || has_form(zone, "-00:00")))
		return NO_TIME;
	int hours = two_digits(zone.p + 1), minutes = two_digits(zone.p + 4);
	int64_t offset = (hours * 60 + minutes) * INT64_C(60000);
	return hours > 23 || minutes > 59 ? NO_TIME : *zone.p == '+' ? time - offset : time + offset;
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

double record_date(struct json_value v)
{
	if (v.kind == JSON_NULL || v.kind == JSON_FALSE)
		return 0;
	if (v.kind == JSON_TRUE)
		return 1;
	int64_t t = record_time(v);
	return t == NO_TIME ? NAN : (double)t;
}
