/* SPDX-License-Identifier: MIT */
/* Nearly all bytes of a session file are inside strings, so the scanner is as fast as its search for the next quote,
 * backslash or control byte: that checks a block of bytes at once. Around the strings a plain state machine checks the
 * grammar, with one bit for each open container instead of recursion. */
#include "sessionfs/json/json.h"
#include "block.h"

enum {
	SPACE = 1,   /* JSON's white space */
	SPECIAL = 2, /* ends a run of plain string bytes */
	DIGIT = 4,
	HEX = 8,
	ESCAPE = 16, /* can follow a backslash, except u */
};

/* Control bytes are SPECIAL, too: see is_special. */
static const unsigned char class_of[256] = {
    [' '] = SPACE,
    ['\t'] = SPACE,
    ['\r'] = SPACE,
    ['\n'] = SPACE,
    ['"'] = SPECIAL | ESCAPE,
    ['\\'] = SPECIAL | ESCAPE,
    ['/'] = ESCAPE,
    ['b'] = ESCAPE | HEX,
    ['f'] = ESCAPE | HEX,
    ['n'] = ESCAPE,
    ['r'] = ESCAPE,
    ['t'] = ESCAPE,
    ['0' ... '9'] = DIGIT | HEX,
    ['a'] = HEX,
    ['c' ... 'e'] = HEX,
    ['A' ... 'F'] = HEX,
};

static inline bool has_class(char c, unsigned char wanted)
{
	return class_of[(unsigned char)c] & wanted;
}

enum { BLOCK = 16 };

/* One bit for each byte that ends a run of plain string bytes. */
static inline unsigned mask_specials(const char *p)
{
	bytes16 b = bytes16_load(p);
	/* Swaps quotes and spaces: then quote and control bytes are the lowest, compared as signed. */
	return bytes16_mask(((b ^ (2 - 128)) < ' ' + 1 - 128) | (b == '\\'));
}

/* Returns the first byte from p on that is not plain, or `end`. */
static inline const char *plain_end(const char *p, const char *end)
{
	while (end - p >= BLOCK) {
		unsigned m = mask_specials(p);
		if (m)
			return p + __builtin_ctz(m);
		p += BLOCK;
	}
	while (p < end && (unsigned char)*p >= 0x20 && !has_class(*p, SPECIAL))
		p++;
	return p;
}

/* Returns the end of the escape at p, or NULL if invalid. */
static inline const char *escape_end(const char *p, const char *end)
{
	if (end - p < 2)
		return NULL;
	if (has_class(p[1], ESCAPE))
		return p + 2;
	if (p[1] != 'u' || end - p < 6)
		return NULL;
	return has_class(p[2], HEX) && has_class(p[3], HEX) && has_class(p[4], HEX) && has_class(p[5], HEX) ? p + 6
	                                                                                                    : NULL;
}

/* Returns the closing quote of the string that continues at p, or NULL. Steps from one special byte to the next. */
static const char *string_end_by_step(const char *p, const char *end, bool *ret_escaped)
{
	for (;;) {
		p = plain_end(p, end);
		if (p == end)
			return NULL;
		if (*p == '"')
			return p;
		if (*p != '\\')
			return NULL;
		*ret_escaped = true;
		p = escape_end(p, end);
		if (!p)
			return NULL;
	}
}

/* Source code in a string has an escape every few bytes. Stepping through them costs a mispredicted branch each, so
 * CHUNK bytes are checked at once, with a bit for each. */
struct json_chunk {
	uint64_t quote, backslash;
	uint64_t common; /* the usual escapes: quote, backslash, n, t */
	bool control;    /* there is a control byte */
};

static inline struct json_chunk chunk_read(const char *p)
{
	struct json_chunk c = {0, 0, 0, false};
	bytes16 control = {0};

#pragma GCC unroll 4
	for (int i = 0; i < CHUNK; i += 16) {
		bytes16 b = bytes16_load(p + i), quote = b == '"', backslash = b == '\\';
		control |= bytes16_range(b, 0, ' ' - 1);
		c.quote |= (uint64_t)bytes16_mask(quote) << i;
		c.backslash |= (uint64_t)bytes16_mask(backslash) << i;
		c.common |= (uint64_t)bytes16_mask((quote | (b == 'n')) | (backslash | (b == 't'))) << i;
	}
	c.control = bytes16_mask(control) != 0;
	return c;
}

static const char *string_end_by_chunk(const char *p, const char *end, bool *ret_escaped)
{
	uint64_t open = 0, begins = 0;

	for (; end - p >= CHUNK; p += CHUNK) {
		struct json_chunk c = chunk_read(p);
		if (c.control)
			break;
		struct chunk_escapes e = chunk_escapes(c.backslash, open);
		uint64_t ends = c.quote & ~e.escaped, uncommon = e.escaped & ~c.common;
		if (ends | uncommon) {
			uint64_t inside = ends ? (ends & -ends) - 1 : UINT64_MAX;
			for (uint64_t seconds = uncommon & inside; seconds; seconds &= seconds - 1)
				if (!escape_end(p + __builtin_ctzll(seconds) - 1, end))
					return NULL;
			if (ends) {
				*ret_escaped = (begins | (e.begins & inside)) != 0;
				return p + __builtin_ctzll(ends);
			}
		}
		begins |= e.begins;
		/* Does not depend on the previous chunk, unless there are two: so chunks need not wait for each
		 * other. */
		uint64_t last = c.backslash >> (CHUNK - 2);
		open = last >> 1;
		if (__builtin_expect(last == 3, false))
			open = e.begins >> (CHUNK - 1);
	}
	*ret_escaped = begins != 0;
	return string_end_by_step(p - open, end, ret_escaped);
}

/* Returns the closing quote of the string whose first byte is at p, or NULL. Keys and ids end within a block. */
static inline const char *string_end(const char *p, const char *end, bool *ret_escaped)
{
	if (end - p >= BLOCK) {
		unsigned m = mask_specials(p);
		if (m && p[__builtin_ctz(m)] == '"') {
			*ret_escaped = false;
			return p + __builtin_ctz(m);
		}
	}
	return string_end_by_chunk(p, end, ret_escaped);
}

const char *json_string_end(const char *p, const char *end, bool *ret_escaped)
{
	return string_end_by_chunk(p, end, ret_escaped);
}

static inline const char *digits_end(const char *p, const char *end)
{
	while (p < end && has_class(*p, DIGIT))
		p++;
	return p;
}

static const char *number_end(const char *p, const char *end)
{
	if (*p == '-')
		p++;
	if (p == end || !has_class(*p, DIGIT))
		return NULL;
	p = *p == '0' ? p + 1 : digits_end(p, end);
	if (p < end && *p == '.') {
		const char *fraction = p + 1;
		p = digits_end(fraction, end);
		if (p == fraction)
			return NULL;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		const char *exponent = p;
		p = digits_end(exponent, end);
		if (p == exponent)
			return NULL;
	}
	return p;
}

static inline const char *space_end(const char *p, const char *end)
{
	if (p < end && (unsigned char)*p > ' ')
		return p;
	while (p < end && has_class(*p, SPACE))
		p++;
	return p;
}

/* Returns the end of the number or word of this kind at p, or NULL. */
static const char *word_end(enum json_kind kind, const char *p, const char *end)
{
	static const struct span words[] = {
	    [JSON_NULL] = SPAN_LIT("null"), [JSON_FALSE] = SPAN_LIT("false"), [JSON_TRUE] = SPAN_LIT("true")};

	if (kind == JSON_NUMBER)
		return number_end(p, end);
	if (kind != JSON_NULL && kind != JSON_FALSE && kind != JSON_TRUE)
		return NULL;
	struct span word = words[kind];
	return (size_t)(end - p) >= word.n && memcmp(p, word.p, word.n) == 0 ? p + word.n : NULL;
}

/* Returns the end of the scalar of this kind at p, or NULL. */
static inline const char *scalar_end(enum json_kind kind, const char *p, const char *end, bool *ret_escaped)
{
	if (kind != JSON_STRING)
		return word_end(kind, p, end);
	p = string_end(p + 1, end, ret_escaped);
	return p ? p + 1 : NULL;
}

/* Returns the byte beyond JSON_DEPTH with level d's bit, or NULL if out of memory. */
static unsigned char *deep_byte(struct json *j, size_t d)
{
	size_t at = (d - JSON_DEPTH) / 8;

	if (!j->deep)
		return NULL;
	if (d == JSON_DEPTH)
		buf_reset(j->deep);
	if (at >= j->deep->n)
		buf_addc(j->deep, 0);
	return buf_err(j->deep) ? NULL : (unsigned char *)j->deep->p + at;
}

static inline bool json_push(struct json *j, bool object)
{
	size_t d = j->depth;

	if (d < JSON_DEPTH) {
		uint64_t bit = (uint64_t)1 << d % 64;
		j->bits[d / 64] = object ? j->bits[d / 64] | bit : j->bits[d / 64] & ~bit;
	} else {
		unsigned char *byte = deep_byte(j, d);
		if (!byte)
			return false;
		unsigned bit = 1u << d % 8;
		*byte = (unsigned char)(object ? *byte | bit : *byte & ~bit);
	}
	j->depth = d + 1;
	return true;
}

/* Returns whether the innermost open container is an object. There must be one. */
static inline bool top_is_object(const struct json *j)
{
	size_t d = j->depth - 1;

	if (d < JSON_DEPTH)
		return j->bits[d / 64] >> d % 64 & 1;
	return (unsigned char)j->deep->p[(d - JSON_DEPTH) / 8] >> d % 8 & 1;
}

/* Returns the end of the key and colon at p, or NULL. */
static inline const char *key_end(const char *p, const char *end, struct json_value *ret)
{
	bool escaped;

	p = space_end(p, end);
	if (p == end || *p != '"')
		return NULL;
	const char *quote = string_end(p + 1, end, &escaped);
	if (!quote)
		return NULL;
	if (ret)
		*ret = (struct json_value){JSON_STRING, escaped, {p + 1, (size_t)(quote - p - 1)}};
	p = space_end(quote + 1, end);
	return p < end && *p == ':' ? p + 1 : NULL;
}

/* Returns the end of the container at p, or NULL. */
static const char *container_end(struct json *j, const char *p)
{
	const char *end = j->end;
	const size_t base = j->depth;
	bool object = false, escaped;

value:
	p = space_end(p, end);
	enum json_kind kind = json_kind_at(p, end);
	if (kind == JSON_OBJECT || kind == JSON_ARRAY) {
		object = kind == JSON_OBJECT;
		if (!json_push(j, object))
			return NULL;
		p = space_end(p + 1, end);
		if (p == end)
			return NULL;
		if (*p == (object ? '}' : ']'))
			goto close;
		goto member;
	}
	p = scalar_end(kind, p, end, &escaped);
	if (!p)
		return NULL;
after:
	p = space_end(p, end);
	if (p == end)
		return NULL;
	if (*p == ',') {
		p++;
		goto member;
	}
	if (*p != (object ? '}' : ']'))
		return NULL;
close:
	p++;
	if (--j->depth == base)
		return p;
	object = top_is_object(j);
	goto after;
member:
	if (object) {
		p = key_end(p, end, NULL);
		if (!p)
			return NULL;
	}
	goto value;
}

void json_init(struct json *j, struct span text, struct buf *deep)
{
	j->p = text.p;
	j->end = text.n ? text.p + text.n : text.p;
	j->deep = deep;
	j->depth = 0;
	j->fresh = false;
	j->bad = false;
	memset(j->bits, 0, sizeof j->bits);
}

static inline enum json_kind peek(struct json *j)
{
	if (j->bad)
		return JSON_NONE;
	j->p = space_end(j->p, j->end);
	return json_kind_at(j->p, j->end);
}

enum json_kind json_peek(struct json *j)
{
	return peek(j);
}

enum json_kind json_enter(struct json *j)
{
	enum json_kind kind = peek(j);

	if (kind != JSON_OBJECT && kind != JSON_ARRAY)
		return JSON_NONE;
	if (!json_push(j, kind == JSON_OBJECT)) {
		j->bad = true;
		return JSON_NONE;
	}
	j->p++;
	j->fresh = true;
	return kind;
}

static int json_fail(struct json *j)
{
	j->bad = true;
	return -1;
}

int json_next(struct json *j, struct json_value *key)
{
	if (j->bad || j->depth == 0)
		return json_fail(j);
	bool object = top_is_object(j);
	const char *p = space_end(j->p, j->end);
	if (p == j->end)
		return json_fail(j);
	if (*p == (object ? '}' : ']')) {
		j->p = p + 1;
		j->depth--;
		j->fresh = false;
		return 0;
	}
	if (!j->fresh) {
		if (*p != ',')
			return json_fail(j);
		p++;
	}
	j->fresh = false;
	if (object) {
		p = key_end(p, j->end, key);
		if (!p)
			return json_fail(j);
	}
	p = space_end(p, j->end);
	if (json_kind_at(p, j->end) == JSON_NONE)
		return json_fail(j);
	j->p = p;
	return 1;
}

bool json_value(struct json *j, struct json_value *ret)
{
	enum json_kind kind = peek(j);
	const char *begin = j->p, *p;
	bool escaped = false;

	if (kind == JSON_OBJECT || kind == JSON_ARRAY)
		p = container_end(j, begin);
	else
		p = scalar_end(kind, begin, j->end, &escaped);
	if (!p) {
		j->bad = true;
		return false;
	}
	j->p = p;
	j->fresh = false;
	struct span text = {begin, (size_t)(p - begin)};
	if (kind == JSON_STRING)
		text = (struct span){begin + 1, text.n - 2};
	*ret = (struct json_value){kind, escaped, text};
	return true;
}

bool json_at_end(struct json *j)
{
	if (j->bad || j->depth != 0)
		return false;
	j->p = space_end(j->p, j->end);
	return j->p == j->end;
}

bool json_valid(struct span text, struct buf *deep)
{
	struct json j;
	struct json_value v;

	json_init(&j, text, deep);
	return json_value(&j, &v) && json_at_end(&j);
}

struct json_value json_get(struct json_value object, const char *name)
{
	struct json_value found;

	json_get_all(object, &(struct span){name, strlen(name)}, 1, &found);
	return found;
}

void json_get_all(struct json_value object, const struct span *names, size_t n, struct json_value *ret)
{
	CLEANUP_BUF struct buf deep = BUF_INIT;
	struct json j;

	memset(ret, 0, n * sizeof *ret);
	if (object.kind != JSON_OBJECT)
		return;
	json_init(&j, object.text, &deep);
	json_read_members(&j, names, n, ret);
}

bool json_read_members(struct json *j, const struct span *names, size_t n, struct json_value *ret)
{
	struct json_value key, v;
	int rc;

	json_enter(j);
	while ((rc = json_next(j, &key)) > 0) {
		size_t i = 0;
		while (i < n && !(key.escaped ? json_key_is(key, names[i].p) : span_eq(key.text, names[i])))
			i++;
		if (!json_value(j, i < n ? &ret[i] : &v))
			return false;
	}
	return rc == 0;
}

struct span json_raw(struct json_value v)
{
	return v.kind == JSON_STRING ? (struct span){v.text.p - 1, v.text.n + 2} : v.text;
}
