/* SPDX-License-Identifier: MIT */
/* JSON values as numbers, and as JavaScript's truth values. */
#include "sessionfs/json/json.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* Parses numbers of at most 15 digits without an exponent, which nearly all are. Their digits and the power of ten are
 * exact as doubles, so one division rounds correctly. */
static bool short_double(struct span text, double *ret)
{
	static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
	bool negative = text.p[0] == '-';
	size_t point = 0;
	uint64_t digits = 0;

	if (FLT_EVAL_METHOD != 0 || text.n > 16u + negative)
		return false;
	for (size_t i = negative; i < text.n; i++) {
		if (text.p[i] == '.')
			point = i;
		else if (char_is_digit(text.p[i]))
			digits = digits * 10 + (unsigned)(text.p[i] - '0');
		else
			return false;
	}
	size_t fraction = point ? text.n - point - 1 : 0;
	if (text.n - negative - (point > 0) > 15)
		return false;
	double x = (double)digits / powers[fraction];
	*ret = negative ? -x : x;
	return true;
}

bool json_double(struct json_value v, double *ret)
{
	CLEANUP_FREE char *long_text = NULL;
	char text[64];

	if (v.kind != JSON_NUMBER)
		return false;
	if (short_double(v.text, ret))
		return true;
	if (v.text.n < sizeof text) {
		memcpy(text, v.text.p, v.text.n);
		text[v.text.n] = '\0';
	} else {
		long_text = strndup(v.text.p, v.text.n);
		if (!long_text)
			return false;
	}
	*ret = strtod(long_text ? long_text : text, NULL);
	return true;
}

bool json_is_truthy(struct json_value v)
{
	double d;

	switch (v.kind) {
	case JSON_NONE:
	case JSON_NULL:
	case JSON_FALSE:
		return false;
	case JSON_NUMBER:
		return !json_double(v, &d) || d != 0;
	case JSON_STRING:
		return v.text.n > 0;
	default:
		return true;
	}
}
