/* SPDX-License-Identifier: MIT */
/* number: doubles and dates as text.
 *
 * JavaScript prints the shortest decimal that reads back as the same double, and of several such the nearest. C has no
 * call for that, but converts exactly in both directions: print with ever more digits until strtod agrees. */
#include "sessionfs/base/number.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(FLT_EVAL_METHOD == 0, "a double must be computed as one (gcc: -msse2 -mfpmath=sse)");

/* "d.ddde+xx" with 17 digits, always enough for a double */
#define SCIENTIFIC 32

/* Adds one to the last digit. Returns false at 9.99...9. */
static bool number_step_up(char *text)
{
	for (char *p = strchr(text, 'e'); p > text;) {
		if (*--p >= '0' && *p < '9') {
			++*p;
			return true;
		}
		if (*p == '9')
			*p = '0';
	}
	return false;
}

/* Any decimal of up to 15 digits survives a round trip through a double, unless that is subnormal. So if 15 digits read
 * back, they are the shortest once the trailing zeros are cut. */
static void format_shortest(double x, char text[SCIENTIFIC])
{
	for (int digits = x < DBL_MIN ? 1 : DBL_DIG;; digits++) {
		snprintf(text, SCIENTIFIC, "%.*e", digits - 1, x);
		if (strtod(text, NULL) == x)
			return;
		/* Below a power of two, doubles are twice as dense. So the nearest decimal can miss there while its
		 * greater neighbour still reads back. */
		if (number_step_up(text) && strtod(text, NULL) == x)
			return;
	}
}

void number_add(double x, struct buf *out)
{
	if (!isfinite(x)) {
		buf_adds(out, "null");
		return;
	}
	if (x == 0) {
		buf_addc(out, '0');
		return;
	}
	if (x < 0)
		buf_addc(out, '-');
	char text[SCIENTIFIC], digits[SCIENTIFIC] = "";
	int count = 0;
	format_shortest(fabs(x), text);
	const char *p = text;
	for (; *p != 'e'; p++)
		/* The other character is the locale's decimal point. */
		if (char_is_digit(*p))
			digits[count++] = *p;
	while (count > 1 && digits[count - 1] == '0')
		count--;
	int point = (int)strtol(p + 1, NULL, 10) + 1; /* x = 0.DIGITS * 10^point */

	if (point > 21 || point <= -6)
		buf_addf(out, "%c%s%.*se%+d", digits[0], count > 1 ? "." : "", count - 1, digits + 1, point - 1);
	else if (point <= 0)
		buf_addf(out, "0.%.*d%.*s", -point, 0, count, digits);
	else if (point >= count)
		buf_addf(out, "%.*s%.*d", count, digits, point - count, 0);
	else
		buf_addf(out, "%.*s.%.*s", point, digits, count - point, digits + point);
}

/* Only an odd multiple of that power of two can be exactly half of the last decimal. Slightly larger values are rounded
 * away from 0 anyway. */
static double number_away_from_half(double x, int decimals)
{
	double halves = x * (double)(2 << decimals);
	bool is_half = fabs(halves) < 0x1p53 && halves == (double)(int64_t)halves && (int64_t)halves % 2 != 0;
	return is_half ? x * (1 + DBL_EPSILON) : x;
}

void number_add_fixed(double x, int decimals, struct buf *out)
{
	buf_addf(out, "%.*f", decimals, number_away_from_half(x, decimals));
}

double number_round(double x, int decimals)
{
	/* Above this, neighbouring doubles are further apart than the decimals that are rounded away. */
	const double coarse = 1 << 23;
	char text[32];

	if (!(fabs(x) < coarse))
		return x;
	snprintf(text, sizeof text, "%.*f", decimals, number_away_from_half(x, decimals));
	return strtod(text, NULL);
}

double number_round_whole(double x)
{
	if (!(x > -1e15 && x < 1e15))
		return x;
	int64_t whole = (int64_t)(x + 0.5);
	return (double)((double)whole > x + 0.5 ? whole - 1 : whole);
}

void number_sum_add(struct number_sum *sum, double x)
{
	if (!isfinite(x))
		return;
	double whole = fabs(x) < 0x1p53 ? (double)(int64_t)x : x;
	sum->whole += whole;
	double rest = (x - whole) * 1e9;
	sum->billionths += (double)(int64_t)(rest + (rest < 0 ? -0.5 : 0.5));
}

double number_sum_value(struct number_sum sum)
{
	return sum.whole + sum.billionths / 1e9;
}

void number_add_unsigned(unsigned x, struct buf *out)
{
	char digits[3 * sizeof x], *end = digits + sizeof digits, *p = end;

	do
		*--p = (char)('0' + x % 10);
	while ((x /= 10) > 0);
	buf_add(out, p, (size_t)(end - p));
}

static char *put_digits(char *p, unsigned x, int count)
{
	for (int i = count - 1; i >= 0; i--, x /= 10)
		p[i] = (char)('0' + x % 10);
	return p + count;
}

/* Returns the day of the month (from 1) for a number of days since 1970-01-01. Years count from March, so that the leap
 * day is a year's last, in periods of 400, which all have the same number of days. */
static unsigned day_of_month(int64_t days, int *ret_year, int *ret_month)
{
	const int64_t period = 146097, since = days + 719468; /* 0000-03-01 */
	int64_t periods = since / period - (since % period < 0);
	unsigned day = (unsigned)(since - periods * period);
	unsigned year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	unsigned of_year = day - (365 * year + year / 4 - year / 100);
	unsigned month = (5 * of_year + 2) / 153; /* March is 0 */

	*ret_year = (int)(periods * 400) + (int)year + (month >= 10);
	*ret_month = (int)(month < 10 ? month + 3 : month - 9);
	return of_year - (153 * month + 2) / 5 + 1;
}

bool number_time(double ms, char ret[NUMBER_TIME])
{
	if (!(fabs(ms) <= 8.64e15)) /* also NaN */
		return false;
	const int64_t day = 24 * 60 * 60 * 1000;
	int64_t t = (int64_t)ms, days = t / day - (t % day < 0);
	int year, month;
	unsigned date = day_of_month(days, &year, &month), rest = (unsigned)(t - days * day);
	char *p = ret;
	if (year < 0 || year > 9999)
		*p++ = year < 0 ? '-' : '+';
	p = put_digits(p, (unsigned)abs(year), year < 0 || year > 9999 ? 6 : 4);
	*p++ = '-';
	p = put_digits(p, (unsigned)month, 2);
	*p++ = '-';
	p = put_digits(p, date, 2);
	*p++ = 'T';
	p = put_digits(p, rest / (60 * 60 * 1000), 2);
	*p++ = ':';
	p = put_digits(p, rest / (60 * 1000) % 60, 2);
	*p++ = ':';
	p = put_digits(p, rest / 1000 % 60, 2);
	*p++ = '.';
	p = put_digits(p, rest % 1000, 3);
	*p++ = 'Z';
	*p = '\0';
	return true;
}

bool number_add_time(double ms, struct buf *out)
{
	char text[NUMBER_TIME];
	if (!number_time(ms, text))
		return false;
	buf_adds(out, text);
	return true;
}
