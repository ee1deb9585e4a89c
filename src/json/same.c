/* SPDX-License-Identifier: MIT */
/* Compares two values, token by token. */
#include "sessionfs/json/json.h"

static bool scalar_same(struct json_value a, struct json_value b)
{
	CLEANUP_BUF struct buf x = BUF_INIT, y = BUF_INIT;
	double m, n;

	if (json_double(a, &m) && json_double(b, &n))
		return m == n;
	if (a.kind != b.kind || a.kind != JSON_STRING || span_eq(a.text, b.text))
		return a.kind == b.kind;
	json_decode(a.text, JSON_READ, &x);
	json_decode(b.text, JSON_READ, &y);
	return span_eq(buf_span(&x), buf_span(&y));
}

bool json_same(struct json_value a, struct json_value b)
{
	CLEANUP_BUF struct buf deep_a = BUF_INIT, deep_b = BUF_INIT;
	struct json ja, jb;
	size_t depth = 0;

	json_init(&ja, json_raw(a), &deep_a);
	json_init(&jb, json_raw(b), &deep_b);
	do {
		enum json_kind kind = json_peek(&ja);
		if (kind != json_peek(&jb))
			return false;
		if (kind == JSON_OBJECT || kind == JSON_ARRAY) {
			depth += json_enter(&ja) == json_enter(&jb);
		} else if (!json_value(&ja, &a) || !json_value(&jb, &b) || !scalar_same(a, b)) {
			return false;
		}
		int more = 0;
		while (depth > 0 && more == 0) {
			struct json_value key = {0}, other = {0};
			more = json_next(&ja, &key);
			if (more < 0 || more != json_next(&jb, &other) || !scalar_same(key, other))
				return false;
			depth -= more == 0;
		}
	} while (depth > 0);
	return true;
}
