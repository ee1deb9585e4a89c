/* SPDX-License-Identifier: MIT */
/* The times and versions of records. */
#include "cases.h"

#include "sessionfs/session/format.h"

#include <math.h>

static int64_t time_of_text(const char *text)
{
	return record_time((struct json_value){JSON_STRING, false, span_of(text)});
}

/* The value of `new Date(text).getTime()` in Node.js. */
CASE(times_are_read_as_v8_reads_them)
{
	static const struct {
		const char *text;
		int64_t ms;
	} cases[] = {
	    {"2026-03-01T09:00:02.742Z", INT64_C(1772355602742)},
	    {"1970-01-01T00:00:00.000Z", 0},
	    {"0000-01-01T00:00:00.000Z", INT64_C(-62167219200000)},
	    {"9999-12-31T23:59:59.999Z", INT64_C(253402300799999)},
	    {"2024-02-29T00:00:00.000Z", INT64_C(1709164800000)},
	    {"2025-02-30T10:00:00Z", INT64_C(1740909600000)},
	    {"2025-01-01T10:00:00.1Z", INT64_C(1735725600100)},
	    {"2025-01-01T10:00:00.123456789Z", INT64_C(1735725600123)},
	    {"2025-01-01T10:00:00+02:00", INT64_C(1735718400000)},
	    {"2025-01-01T10:00:00.123456+00:00", INT64_C(1735725600123)},
	    {"2025-01-01T10:00:00-23:59", INT64_C(1735811940000)},
	    /* V8 parses these as times; pi does not write them. */
	    {"2025-01-01t00:00:00z", NO_TIME},
	    {"2025-01-01 00:00:00Z", NO_TIME},
	    {"2025", NO_TIME},
	    {"2025-01", NO_TIME},
	    {"2025-01-01", NO_TIME},
	    {"2025-01-01T10:00", NO_TIME},
	    {"2025-01-01T10:00Z", NO_TIME},
	    {"2025-01-01T10:00:00", NO_TIME},
	    {"2025-01-01T24:00:00Z", NO_TIME},
	    {"2025-01-01T10:00:00+0200", NO_TIME},
	    {"+002025-01-01T00:00:00Z", NO_TIME},
	    {"2026/03/03", NO_TIME},
	    {"2026-03-03 10:20:30 +0530", NO_TIME},
	    {"Tue, 03 Mar 2026 10:20:30 GMT", NO_TIME},
	    {"Tue Mar 03 2026 10:20:30 GMT-0800 (Pacific Standard Time)", NO_TIME},
	    /* V8 does not, either. */
	    {"2025-13-01T00:00:00.000Z", NO_TIME},
	    {"2025-00-01T00:00:00.000Z", NO_TIME},
	    {"2025-01-00T00:00:00.000Z", NO_TIME},
	    {"2025-01-32T00:00:00.000Z", NO_TIME},
	    {"2025-01-01T25:00:00Z", NO_TIME},
	    {"2025-01-01T10:60:00Z", NO_TIME},
	    {"2025-01-01T10:00:60Z", NO_TIME},
	    {"2025-01-01T10:00:00.Z", NO_TIME},
	    {"2025-01-01T10:00:00.", NO_TIME},
	    {"2025-01-01T10:00:00.5", NO_TIME},
	    {"2025-01-01T10:00:00+02", NO_TIME},
	    {"2025-01-01T10:00:00+24:00", NO_TIME},
	    {"2025-01-01T10:00:00+10:60", NO_TIME},
	    {"2025-01-01T10:00:00Z ", NO_TIME},
	    {" 2025-01-01T10:00:00Z", NO_TIME},
	    {"", NO_TIME},
	    {"soon", NO_TIME},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (time_of_text(cases[i].text) != cases[i].ms)
			fail_msg("%s gives %lld", cases[i].text, (long long)time_of_text(cases[i].text));
}

CASE(times_can_be_numbers)
{
	static const struct {
		const char *text;
		int64_t ms;
	} cases[] = {{"1.9", 1},
	             {"-1.9", -1},
	             {"0", 0},
	             {"8.64e15", INT64_C(8640000000000000)},
	             {"8640000000000001", NO_TIME},
	             {"1e400", NO_TIME},
	             {"-1e400", NO_TIME}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_true(record_time((struct json_value){JSON_NUMBER, false, span_of(cases[i].text)}) ==
		            cases[i].ms);
	assert_true(record_time((struct json_value){JSON_NULL, false, span_of("null")}) == NO_TIME);
	assert_true(record_time((struct json_value){0}) == NO_TIME);
	struct json_value escaped = {JSON_STRING, true, span_of("2026-03-01T09:00:02.742\\u005a")};
	assert_true(record_time(escaped) == INT64_C(1772355602742));
}

static double version(const char *json)
{
	struct json j;
	struct json_value v;

	json_init(&j, span_of(json), NULL);
	assert_true(json_value(&j, &v));
	return format_version(v);
}

CASE(versions_are_compared_as_numbers)
{
	static const struct {
		const char *json;
		double version;
	} cases[] = {
	    {"null", 1},      {"true", 1},         {"false", 0},   {"2.5", 2.5},        {"\"\"", 0},
	    {"\" 2\\n\"", 2}, {"\"\\u00a02\"", 2}, {"\"17\"", 17}, {"1e400", INFINITY}, {"\"\\u0032\"", 2},
	};
	static const char *const none[] = {"{}",      "[]",     "[1]",     "\"true\"",    "\"2n\"",
	                                   "\"0x1\"", "\"-1\"", "\"1.0\"", "\"2\\u0000\""};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_true(version(cases[i].json) == cases[i].version);
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_true(isnan(version(none[i])));
	assert_true(format_version((struct json_value){0}) == 1);
}

RUN_CASES(NULL, NULL)
