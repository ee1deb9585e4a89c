/* SPDX-License-Identifier: MIT */
/* The table of versions, and how a header selects a row. JavaScript compares a version of any type with a number: a
 * string of digits counts as one. */
#include "sessionfs/session/format.h"

#include "sessionfs/base/space.h"

#include <math.h>

/* Returns the number that a text of digits is. */
static double text_version(struct json_value v)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	double version = 0;

	json_decode(v.text, JSON_EXACT, &text);
	struct span s = space_trim(buf_span(&text));
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return NAN;
		version = version * 10 + (s.p[i] - '0');
	}
	return version;
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
		return text_version(v);
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
