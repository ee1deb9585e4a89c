/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/counters.h"
#include "sessionfs/base/number.h"
#include "sessionfs/base/utf8.h"
#include "sessionfs/json/json.h"

#include <stdlib.h>

/* This many members are looked up for others with the same key: that bounds the memory. */
#define MEMBERS_MAX 65536

/* An open array or object. Its last member begins at `begin`; `size` has its units when it has ended. */
struct container {
	const char *at;
	size_t begin, *size;
};

/* Returns the units of a string's text, as it is or as JSON.stringify escapes it. */
static size_t text_units(struct span text, bool escaped)
{
	const char *p = text.p, *end = text.n ? p + text.n : p;
	size_t n = 0;
	uint32_t c;

	while (p < end) {
		if (*p != '\\') {
			int step = (signed char)*p >= 0 ? 1 : utf8_next(p, (size_t)(end - p));
			p += abs(step);
			n += step == 4 ? 2 : 1;
			continue;
		}
		p = json_escape(p, end, &c);
		if (escaped && (c == '"' || c == '\\' || (c >= '\b' && c <= '\r' && c != '\v')))
			n += 2;
		else if (escaped && (c < 0x20 || (c >= 0xd800 && c <= 0xdfff)))
			n += 6;
		else
			n += c < 0x10000 ? 1 : 2;
	}
	return n;
}

/* Returns the units of a text, number or word as JSON.stringify writes it. */
static size_t scalar_units(struct json_value v)
{
	CLEANUP_BUF struct buf number = BUF_INIT;
	double x;

	if (v.kind == JSON_STRING)
		return 2 + text_units(v.text, true);
	if (!json_double(v, &x))
		return v.text.n;
	number_add(x, &number);
	return number.n;
}

size_t json_units(struct json_value v, bool stringified)
{
	CLEANUP_BUF struct buf deep = BUF_INIT, open = BUF_INIT, name = BUF_INIT;
	CLEANUP(counters_release) struct counters members = COUNTERS_INIT(size_t);
	struct json j;
	size_t n = 0;
	int more;

	json_init(&j, json_raw(v), &deep);
	for (;;) {
		struct container *top = NULL;
		struct json_value key = {0};
		json_peek(&j);
		struct container inner = {j.p, n, NULL};
		if (json_enter(&j)) {
			buf_add(&open, &inner, sizeof inner);
			n += stringified;
		} else if (json_value(&j, &v) && stringified) {
			n += scalar_units(v);
		} else if (v.kind == JSON_STRING && open.n <= sizeof inner) {
			n += text_units(v.text, false);
		}
		/* With a comma for each member, a container has one bracket more; an empty one has two. */
		for (more = 0; open.n > 0 && more == 0;) {
			bool is_empty = j.fresh;
			top = (struct container *)(void *)(open.p + open.n) - 1;
			if (top->size)
				*top->size = n - top->begin;
			more = json_next(&j, &key);
			open.n -= more == 0 ? sizeof *top : 0;
			n += more == 0 && is_empty && stringified;
		}
		if (more <= 0)
			return n;
		bool has_key = key.kind == JSON_STRING;
		top->size = NULL;
		if (has_key && members.n < MEMBERS_MAX) {
			buf_reset(&name);
			buf_add(&name, &top->at, sizeof top->at);
			json_decode(key.text, JSON_READ, &name);
			top->size = counters_get(&members, buf_span(&name));
			n -= top->size ? *top->size : 0;
		}
		top->begin = n;
		n += stringified;
		n += stringified && has_key ? 3 + text_units(key.text, true) : 0;
	}
}
