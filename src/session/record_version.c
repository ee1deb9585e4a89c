/* A version is compared with numbers, which JavaScript does with any value: it
 * takes text for the number that stands in it, and a list for the text that its
 * elements make. Most of it only a hand that edits a file brings about, but pi
 * migrates such files, or not, as it compares. */
#include "sessionfs/base/space.h"
#include "sessionfs/session/record.h"

#include <math.h>
#include <stdlib.h>

/* A whole number with the prefix 0x, 0o or 0b, which takes no sign. */
static double prefixed_number(const char *p)
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
static double text_number(struct buf *text)
{
	struct span s = space_trim(buf_span(text));
	char *end;

	if (s.n == 0)
		return 0;
	text->n = (size_t)(s.p - text->p) + s.n;
	if (!buf_cstr(text) || memchr(s.p, 0, s.n))
		return NAN;
	if (s.n > 2 && s.p[0] == '0' && strchr("xXoObB", s.p[1]))
		return prefixed_number(s.p);
	const char *unsigned_ = s.p + (*s.p == '+' || *s.p == '-');
	if (strcmp(unsigned_, "Infinity") == 0)
		return *s.p == '-' ? -INFINITY : INFINITY;
	if (strspn(s.p, "0123456789.eE+-") != s.n)
		return NAN;
	double d = strtod(s.p, &end);
	return *end ? NAN : d;
}

static double string_number(struct json_value v)
{
	CLEANUP_BUF struct buf text = BUF_INIT;

	json_decode(v.text, JSON_EXACT, &text);
	return text_number(&text);
}

/* A list says what its only element says; null says nothing, and what is true or false is no number. */
static double list_number(struct json_value list)
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
			return v.kind == JSON_NULL ? 0 : record_version(v);
		list = v;
	}
}

double record_version(struct json_value v)
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
		return string_number(v);
	case JSON_ARRAY:
		return list_number(v);
	default:
		return NAN;
	}
}
