/* number: doubles and dates as text.
 *
 * JavaScript prints the shortest decimal that reads back as the same double,
 * and of several such the nearest. C has no call for that, but it has both
 * directions exactly: print with ever more digits until strtod agrees. */
#include "sessionfs/base/number.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define DIGITS 17 /* always enough for a double */

/* x = 0.DIGITS * 10^point */
struct decimal {
	char digits[DIGITS + 1];
	int count, point;
};

static double decimal_value(const struct decimal *d)
{
	char text[DIGITS + 16];
	snprintf(text, sizeof(text), "%se%d", d->digits, d->point - d->count);
	return strtod(text, NULL);
}

/* x rounded to `count` digits. */
static struct decimal decimal_of(double x, int count)
{
	char text[DIGITS + 16];
	snprintf(text, sizeof(text), "%.*e", count - 1, x);
	struct decimal d = {.count = 0};
	const char *p = text;
	for (; *p != 'e'; p++) {
		if (*p >= '0' &&
		    *p <= '9') /* the other character is the decimal point, whatever the locale has there */
			d.digits[d.count++] = *p;
	}
	d.digits[d.count] = '\0';
	d.point = (int)strtol(p + 1, NULL, 10) + 1;
	return d;
}

/* Adds one to the last digit. False at 99...9. */
static bool decimal_step(struct decimal *d)
{
	for (int i = d->count - 1; i >= 0; i--) {
		if (d->digits[i] != '9') {
			d->digits[i]++;
			return true;
		}
		d->digits[i] = '0';
	}
	return false;
}

static struct decimal shortest(double x)
{
	/* Any decimal of up to 15 digits survives the way through a double, unless that is subnormal. So if 15 digits
	 * read back, they are the shortest once the zeros at their end are cut. */
	for (int count = x < DBL_MIN ? 1 : DBL_DIG; count < DIGITS; count++) {
		struct decimal d = decimal_of(x, count);
		if (decimal_value(&d) == x)
			return d;
		/* Below a power of two doubles lie twice as close, so there the nearest decimal can miss
		 * while its greater neighbour still reads back. */
		if (decimal_step(&d) && decimal_value(&d) == x)
			return d;
	}
	return decimal_of(x, DIGITS);
}

static void add_zeros(struct buf *out, int n)
{
	while (n-- > 0)
		buf_addc(out, '0');
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
	struct decimal d = shortest(fabs(x));
	while (d.count > 1 && d.digits[d.count - 1] == '0')
		d.count--;
	size_t count = (size_t)d.count;

	if (d.point > 21 || d.point <= -6) {
		buf_addc(out, d.digits[0]);
		if (count > 1) {
			buf_addc(out, '.');
			buf_add(out, d.digits + 1, count - 1);
		}
		buf_addf(out, "e%+d", d.point - 1);
	} else if (d.point <= 0) {
		buf_adds(out, "0.");
		add_zeros(out, -d.point);
		buf_add(out, d.digits, count);
	} else if (d.point >= d.count) {
		buf_add(out, d.digits, count);
		add_zeros(out, d.point - d.count);
	} else {
		size_t whole = (size_t)d.point;
		buf_add(out, d.digits, whole);
		buf_addc(out, '.');
		buf_add(out, d.digits + whole, count - whole);
	}
}

double number_round(double x, int decimals)
{
	/* Above this, neighbouring doubles are further apart than the decimals that are rounded away. */
	const double coarse = 1 << 23;
	char text[32];

	if (!(fabs(x) < coarse))
		return x;
	snprintf(text, sizeof text, "%.*f", decimals, x);
	return strtod(text, NULL);
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

/* The day of the month (from 1) so many days after 1970-01-01. Years are counted from March, so that the leap day is
 * the last of a year, and in periods of 400, which all have the same number of days. */
static unsigned date_of(int64_t days, int *ret_year, int *ret_month)
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
	unsigned date = date_of(days, &year, &month), rest = (unsigned)(t - days * day);
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
