/* SPDX-License-Identifier: MIT */
/* The table of versions, and how a header selects a row.
 *
 * JavaScript compares a version of any type with a number: it converts text to the number in it, and a list to the text
 * of its elements. Nearly all such versions come from editing a file by hand, but this comparison decides whether pi
 * migrates the file. */
#include "sessionfs/session/format.h"

#include "sessionfs/base/space.h"

#include <math.h>
#include <stdlib.h>

/* Parses a whole number with the prefix 0x, 0o or 0b, without a sign. */
static double js_prefixed_number(const char *p)
{
	int base = (p[1] | 0x20) == 'x' ? 16 : (p[1] | 0x20) == 'o' ? 8 : 2;
	double value = 0;

	for (p += 2;; p++) {
		int digit = *p >= '0' && *p <= '9' ? *p - '0' : (*p | 0x20) >= 'a' ? (*p | 0x20) - 'a' + 10 : base;
		if (digit >= base)
			return NAN;
		value = value * base + digit;
		if (!p[1])
			return value;
	}
}

/* Number(text) */
static double js_text_number(struct json_value v)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	char *end;

	json_decode(v.text, JSON_EXACT, &text);
	struct span s = space_trim(buf_span(&text));
	if (s.n == 0)
		return 0;
	text.n = (size_t)(s.p - text.p) + s.n;
	if (!buf_cstr(&text) || memchr(s.p, 0, s.n))
		return NAN;
	if (s.n > 2 && s.p[0] == '0' && strchr("xXoObB", s.p[1]))
		return js_prefixed_number(s.p);
	const char *unsigned_ = s.p + (*s.p == '+' || *s.p == '-');
	if (strcmp(unsigned_, "Infinity") == 0)
		return *s.p == '-' ? -INFINITY : INFINITY;
	if (strspn(s.p, "0123456789.eE+-") != s.n)
		return NAN;
	double d = strtod(s.p, &end);
	return *end ? NAN : d;
}

/* A list counts as its only element. In a list, null is empty, and true or false is not a number. */
static double js_array_number(struct json_value list)
{
	CLEANUP_BUF struct buf deep = BUF_INIT;

	for (;;) {
		struct json j;
		struct json_value v, more;
		json_init(&j, list.text, &deep);
		json_enter(&j);
		if (json_next(&j, NULL) <= 0)
			return 0;
		if (!json_value(&j, &v) || (json_next(&j, NULL) > 0 && json_value(&j, &more)))
			return NAN;
		if (v.kind == JSON_TRUE || v.kind == JSON_FALSE)
			return NAN;
		if (v.kind != JSON_ARRAY)
			return v.kind == JSON_NULL ? 0 : format_version(v);
		list = v;
	}
}

double format_version(struct json_value v)
{
	double d;

	switch (v.kind) {
	case JSON_NONE:
	case JSON_NULL:
	case JSON_TRUE:
		return 1;
	case JSON_FALSE:
		return 0;
	case JSON_NUMBER:
		return json_double(v, &d) ? d : NAN;
	case JSON_STRING:
		return js_text_number(v);
	case JSON_ARRAY:
		return js_array_number(v);
	default:
		return NAN;
	}
}

static const struct format formats[] = {
    {.below = 2, .version = 1, .has_kept_index = true, .has_old_custom = true},
    {.below = 3, .version = 2, .has_ids = true, .has_old_custom = true},
    {.below = INFINITY, .has_ids = true},
};
#define FORMAT_NEWEST (&formats[sizeof formats / sizeof *formats - 1])

const struct format *format_of(struct json_value version)
{
	double v = format_version(version);
	const struct format *f = formats;
	/* NaN is not below any number. */
	while (f < FORMAT_NEWEST && !(v < f->below))
		f++;
	return f;
}

bool format_is_old(const struct format *f)
{
	return f != FORMAT_NEWEST;
}

#define VERSION_SHOWN_MAX 1000000000
/* Shown for a version that is not a number. */
#define VERSION_NEWEST 3

int format_number(const struct format *f, struct json_value version)
{
	double v = format_version(version);
	if (f->version)
		return f->version;
	return v < VERSION_SHOWN_MAX ? (int)v : v >= VERSION_SHOWN_MAX ? VERSION_SHOWN_MAX : VERSION_NEWEST;
}

bool format_is_old_custom(struct json_value role)
{
	return json_equals(role, "hookMessage");
}

const char *format_rejects_file(const struct record *first, bool *ret_is_later)
{
	bool is_session = first->kind == JSON_OBJECT && first->type == RECORD_SESSION;
	double version;

	/* pi's harness writes this since version 4: another format under the same file names. */
	*ret_is_later = first->kind == JSON_OBJECT && !is_session && json_equals(first->usage_kind, "header") &&
	                json_double(first->version, &version) && version == 4;
	if (*ret_is_later)
		return "a pi session of version 4 (lanes), which is not supported";
	if (!is_session)
		return "no session header: the first entry is something else; try sessionfs --repair";
	return first->id.kind == JSON_STRING ? NULL : "the session header has no id that is a string";
}
