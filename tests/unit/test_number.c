/* SPDX-License-Identifier: MIT */
/* number: the expected texts are those a JavaScript engine prints. */
#include "cases.h"

#include <float.h>
#include <math.h>

#include "sessionfs/base/number.h"

static void expect(double x, const char *text)
{
	CLEANUP_BUF struct buf out = BUF_INIT;
	number_add(x, &out);
	assert_string_equal(buf_cstr(&out), text);
}

CASE(plain_numbers_print_as_in_javascript)
{
	expect(0, "0");
	expect(-0.0, "0");
	expect(1, "1");
	expect(-42, "-42");
	expect(0.1, "0.1");
	expect(0.1 + 0.2, "0.30000000000000004");
	expect(1.0 / 3, "0.3333333333333333");
	expect(2.0 / 3, "0.6666666666666666");
	expect(123.456, "123.456");
	expect(-1.5, "-1.5");
	expect(9007199254740993.0, "9007199254740992");
}

CASE(exponents_print_as_in_javascript)
{
	expect(1e20, "100000000000000000000");
	expect(1e21, "1e+21");
	expect(123e-20, "1.23e-18");
	expect(0.000001, "0.000001");
	expect(0.0000001, "1e-7");
	expect(0.00000123, "0.00000123");
	expect(1.5e300, "1.5e+300");
	expect(DBL_MAX, "1.7976931348623157e+308");
	expect(DBL_MIN, "2.2250738585072014e-308");
}

/* Printing 15 digits, or the nearest decimal, would not give the shortest text. */
CASE(shortest_digits_are_printed)
{
	expect(5e-324, "5e-324");
	expect(4.0e-323, "4e-323");
	expect(ldexp(1, -44), "5.684341886080802e-14");
	expect(ldexp(1, -1022), "2.2250738585072014e-308");
	expect(9.5367431640625e-07, "9.5367431640625e-7");
	expect(ldexp(1, 89), "6.189700196426902e+26");
}

CASE(infinite_and_nan_are_printed)
{
	expect(INFINITY, "null");
	expect(-INFINITY, "null");
	expect(NAN, "null");
}

static void expect_time(double ms, const char *text)
{
	char out[NUMBER_TIME] = "";
	assert_int_equal(number_time(ms, out), text[0] != '\0');
	assert_string_equal(out, text);
}

CASE(times_are_iso_8601)
{
	expect_time(0, "1970-01-01T00:00:00.000Z");
	expect_time(1772442903460, "2026-03-02T09:15:03.460Z");
	expect_time(1772442903460.9, "2026-03-02T09:15:03.460Z");
	expect_time(-1, "1969-12-31T23:59:59.999Z");
	expect_time(-0.5, "1970-01-01T00:00:00.000Z");
	expect_time(951782400000, "2000-02-29T00:00:00.000Z");
	expect_time(253402300800000, "+010000-01-01T00:00:00.000Z");
	expect_time(-62167219200001, "-000001-12-31T23:59:59.999Z");
	expect_time(-62167219200000, "0000-01-01T00:00:00.000Z");
	expect_time(8.64e15, "+275760-09-13T00:00:00.000Z");
	expect_time(-8.64e15, "-271821-04-20T00:00:00.000Z");
	expect_time(8.64e15 + 2, "");
	expect_time(NAN, "");
	expect_time(-INFINITY, "");
}

/* The C library computes dates too, if a time_t can hold them. */
static void assert_date(int64_t ms)
{
	int64_t whole = ms / 1000 - (ms % 1000 < 0);
	time_t seconds = (time_t)whole;
	char want[64], year[16], got[NUMBER_TIME];
	struct tm tm;

	if (seconds != whole)
		return;
	assert_non_null(gmtime_r(&seconds, &tm));
	int y = tm.tm_year + 1900;
	snprintf(year, sizeof year, y < 0 || y > 9999 ? "%+07d" : "%04d", y);
	size_t n = strftime(want, sizeof want, "-%m-%dT%H:%M:%S", &tm);
	snprintf(want + n, sizeof want - n, ".%03dZ", (int)(ms - whole * 1000));
	assert_true(number_time((double)ms, got));
	assert_memory_equal(got, year, strlen(year));
	assert_string_equal(got + strlen(year), want);
}

CASE(dates_match_c_library)
{
	const int64_t day = 86400000, last = 100000000;

	for (int64_t d = -last; d < last; d += 997)
		assert_date(d * day + (d + last) % day);
	for (int64_t d = -400 * 366; d < 400 * 366; d++) {
		assert_date(d * day);
		assert_date(d * day - 1);
	}
}

CASE(decimals_are_rounded)
{
	assert_true(number_round(0.03420000000000001, 9) == 0.0342);
	assert_true(number_round(0.1 + 0.2, 9) == 0.3);
	assert_true(number_round(1e-10, 9) == 0);
	assert_true(number_round(-12.0000000006, 9) == -12.000000001);
	assert_true(number_round(0.0009765625, 9) == 0.000976563);
	assert_true(number_round(-0.0009765625, 9) == -0.000976563);
	assert_true(number_round(8388607.9999999996, 9) == 8388608);
	assert_true(number_round(1e300, 9) == 1e300);
	assert_true(isinf(number_round(INFINITY, 9)));
}

/* As toFixed: a half is rounded away from 0, but only an exact half. */
CASE(fixed_rounds_exact_halves_up)
{
	static const struct {
		double x;
		int decimals;
		const char *text;
	} cases[] = {
	    {0.125, 2, "0.13"},
	    {0.375, 2, "0.38"},
	    {0.625, 2, "0.63"},
	    {-0.125, 2, "-0.13"},
	    {1.005, 2, "1.00"},
	    {0.305, 2, "0.30"},
	    {1.25, 1, "1.3"},
	    {0.5, 0, "1"},
	    {2.5, 0, "3"},
	    {0.03125, 4, "0.0313"},
	    {12.345, 2, "12.35"},
	    {0, 2, "0.00"},
	    {0.12499999999999999, 2, "0.12"},
	    {2251799813685248.5, 0, "2251799813685249"},
	    {1e16, 2, "10000000000000000.00"},
	};
	struct buf b CLEANUP_BUF = BUF_INIT;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		buf_reset(&b);
		number_add_fixed(cases[i].x, cases[i].decimals, &b);
		assert_string_equal(buf_cstr(&b), cases[i].text);
	}
}

static double sum(const double *v, size_t n, size_t step)
{
	struct number_sum sum = {0};
	for (size_t i = 0; i < n; i++)
		number_sum_add(&sum, v[i * step % n]);
	return number_sum_value(sum);
}

/* Added as doubles, the sum of these depends on the order. */
CASE(sums_do_not_depend_on_order)
{
	const double v[] = {0.1, 0.2, 1234567.305, 0.000000001, 98765.4321, 0.7, 0.005};
	for (size_t step = 1; step < 7; step++)
		assert_true(sum(v, 7, step) == 1333333.742100001);
	assert_true(sum((double[]){0.1, 0.2}, 2, 1) == 0.3);
	assert_true(sum((double[]){5, -0.25, -1}, 3, 1) == 3.75);
	assert_true(sum((double[]){1e308, 0.5}, 2, 1) == 1e308);
	assert_true(sum((double[]){INFINITY, NAN, -INFINITY, 0.5}, 4, 1) == 0.5);
	double cents[1000];
	for (int i = 0; i < 1000; i++)
		cents[i] = 0.005;
	assert_true(sum(cents, 1000, 1) == 5);
}

CASE(unsigned_are_printed)
{
	struct buf b CLEANUP_BUF = BUF_INIT;

	number_add_unsigned(0, &b);
	buf_addc(&b, ' ');
	number_add_unsigned(4294967295U, &b);
	assert_string_equal(buf_cstr(&b), "0 4294967295");
}

RUN_CASES(NULL, NULL)
