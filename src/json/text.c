/* SPDX-License-Identifier: MIT */
/* Decodes JSON strings, and encodes text as JSON. One decoder makes both the size and the bytes: without a destination
 * it only counts. Nearly all text only needs its escapes replaced: a faster path with the same result does that, many
 * bytes at a time. */
#include "sessionfs/json/json.h"
#include "sessionfs/base/utf8.h"
#include "block.h"

enum {
	REPLACEMENT = 0xfffd,
	SYMBOL_FOR_NULL = 0x2400,
};

struct sink {
	char *to; /* NULL: count only */
	size_t n;
};

static inline void sink_put(struct sink *out, const char *p, size_t n)
{
	if (out->to)
		memcpy(out->to + out->n, p, n);
	out->n += n;
}

static void put_code_point(struct sink *out, uint32_t c)
{
	char b[4];
	sink_put(out, b, (size_t)(utf8_put(c, b) - b));
}

static bool is_surrogate(uint32_t c)
{
	return c >= 0xd800 && c <= 0xdfff;
}

static void put_utf8_clean(struct sink *out, struct span s)
{
	for (;;) {
		size_t good = utf8_prefix(s);
		sink_put(out, s.p, good);
		if (good == s.n)
			return;
		size_t bad = (size_t)-utf8_next(s.p + good, s.n - good);
		put_code_point(out, REPLACEMENT);
		s = (struct span){s.p + good + bad, s.n - good - bad};
	}
}

/* Returns the code unit of the \uXXXX at p, or -1. */
static int32_t unit_at(const char *p, const char *end)
{
	int32_t unit = 0;

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		int letter = p[i] | 0x20;
		int digit = p[i] >= '0' && p[i] <= '9'       ? p[i] - '0'
		            : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
		                                             : -1;
		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

static const char plain_escapes[256] = {
    ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'};

const char *json_escape(const char *p, const char *end, uint32_t *ret)
{
	char plain = end - p >= 2 ? plain_escapes[(unsigned char)p[1]] : 0;

	if (plain) {
		*ret = (unsigned char)plain;
		return p + 2;
	}
	int32_t high = unit_at(p, end);
	if (high < 0) {
		*ret = JSON_NO_CHAR;
		return p + 1;
	}
	*ret = (uint32_t)high;
	if (high < 0xd800 || high > 0xdbff)
		return p + 6;
	int32_t low = unit_at(p + 6, end);
	if (low < 0xdc00 || low > 0xdfff)
		return p + 6;
	*ret = 0x10000 + (((uint32_t)high - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
	return p + 12;
}

/* Writes the character of the escape at p; returns its end. */
static const char *put_escape(struct sink *out, const char *p, const char *end, enum json_decode how)
{
	uint32_t c;

	p = json_escape(p, end, &c);
	if (how == JSON_CLEAN && is_surrogate(c))
		c = REPLACEMENT;
	if (how == JSON_CLEAN && c == 0)
		c = SYMBOL_FOR_NULL;
	if (c != JSON_NO_CHAR)
		put_code_point(out, c);
	return p;
}

static size_t decode_text(struct span text, enum json_decode how, char *to)
{
	struct sink out = {to, 0};
	const char *p = text.p, *end = text.n ? p + text.n : p;

	while (p < end) {
		const char *escape = memchr(p, '\\', (size_t)(end - p));
		struct span run = {p, (size_t)((escape ? escape : end) - p)};
		if (how != JSON_EXACT)
			put_utf8_clean(&out, run);
		else
			sink_put(&out, run.p, run.n);
		if (!escape)
			break;
		p = put_escape(&out, escape, end, how);
	}
	return out.n;
}

/* The faster path:
 *	count_simple: the size of a text in which only escapes need replacement
 *	decode_simple: writes at most text.n bytes; returns false if the text is not simple after all */

static size_t count_simple(struct span text, enum json_decode how)
{
	const char *p = text.p, *end = text.n ? p + text.n : p;
	struct sink out = {NULL, 0};

	while (p < end) {
		const char *stop = end;
		if (end - p >= CHUNK) {
			uint64_t backslash = chunk_equal(p, '\\');
			if (!backslash) {
				out.n += CHUNK;
				p += CHUNK;
				continue;
			}
			struct chunk_escapes e = chunk_escapes(backslash, 0);
			if (!(e.escaped & chunk_equal(p, 'u'))) {
				/* A backslash at the end of a chunk begins the next one. */
				size_t size = CHUNK - (size_t)(e.begins >> (CHUNK - 1));
				out.n += size - (size_t)__builtin_popcountll(e.begins << 1);
				p += size;
				continue;
			}
			stop = p + CHUNK;
		}
		while (p < stop) {
			const char *escape = memchr(p, '\\', (size_t)(stop - p));
			out.n += (size_t)((escape ? escape : stop) - p);
			p = escape ? put_escape(&out, escape, end, how) : stop;
		}
	}
	return out.n;
}

/* Decodes the escape, or the characters beyond ASCII, at *p. Advances *to and *p. Returns false if a character is
 * ill-formed. */
static inline bool put_special(char **to, const char **p, const char *end, enum json_decode how)
{
	if (**p == '\\') {
		char plain = end - *p >= 2 ? plain_escapes[(unsigned char)(*p)[1]] : 0;
		if (plain) {
			*(*to)++ = plain;
			*p += 2;
			return true;
		}
		struct sink out = {*to, 0};
		*p = put_escape(&out, *p, end, how);
		*to += out.n;
		return true;
	}
	do {
		int step = utf8_next(*p, (size_t)(end - *p));
		if (step < 0)
			return false;
		for (; step > 0; step--)
			*(*to)++ = *(*p)++;
	} while (*p < end && (unsigned char)**p >= 0x80);
	return true;
}

/* Writes whole blocks, then overwrites the bytes after an escape. Decoding makes nothing longer, so there is room. */
static bool decode_simple(struct span text, enum json_decode how, char *begin, size_t *ret_n)
{
	const unsigned wide = how != JSON_EXACT ? UINT32_MAX : 0;
	const char *p = text.p, *end = text.n ? p + text.n : p;
	char *to = begin;

	while (end - p >= 16) {
		bytes16 b = bytes16_load(p);
		memcpy(to, &b, sizeof b);
		unsigned m = bytes16_mask(b == '\\') | (bytes16_mask(b < 0) & wide);
		unsigned run = m ? (unsigned)__builtin_ctz(m) : 16;
		to += run;
		p += run;
		if (m && !put_special(&to, &p, end, how))
			return false;
	}
	while (p < end) {
		if (*p != '\\' && !((unsigned char)*p & wide & 0x80))
			*to++ = *p++;
		else if (!put_special(&to, &p, end, how))
			return false;
	}
	*ret_n = (size_t)(to - begin);
	return true;
}

void json_decode(struct span text, enum json_decode how, struct buf *out)
{
	char *to = buf_reserve(out, text.n);
	size_t n;

	if (to && decode_simple(text, how, to, &n)) {
		out->n += n;
		return;
	}
	to = buf_reserve(out, decode_text(text, how, NULL));
	if (to)
		out->n += decode_text(text, how, to);
}

size_t json_decoded_size(struct span text, enum json_decode how)
{
	bool is_simple = how == JSON_EXACT || utf8_prefix(text) == text.n;
	return is_simple ? count_simple(text, how) : decode_text(text, how, NULL);
}

bool json_equals(struct json_value v, const char *ascii)
{
	if (v.kind != JSON_STRING)
		return false;
	if (!v.escaped)
		return span_is(v.text, ascii);
	const char *p = v.text.p, *end = p + v.text.n;
	for (; p < end && *ascii; ascii++) {
		uint32_t c = (unsigned char)*p;
		p = *p == '\\' ? json_escape(p, end, &c) : p + 1;
		if (c != (unsigned char)*ascii)
			return false;
	}
	return p == end && !*ascii;
}

/* Appends the escape of a byte that needs one in JSON: a quote, a backslash or a control byte. */
static void quote_byte(unsigned char c, struct buf *out)
{
	static const char letter[256] = {
	    ['"'] = '"', ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};

	if (letter[c])
		buf_addf(out, "\\%c", letter[c]);
	else
		buf_addf(out, "\\u%04x", c);
}

void json_quote(struct span text, struct buf *out)
{
	size_t run = 0, i = 0;

	buf_addc(out, '"');
	while (i < text.n) {
		unsigned char c = (unsigned char)text.p[i];
		int step = utf8_next(text.p + i, text.n - i);
		if (step > 0 && c >= 0x20 && c != '"' && c != '\\') {
			i += (size_t)step;
			continue;
		}
		buf_add(out, text.p + run, i - run);
		const unsigned char *u = (const unsigned char *)text.p + i;
		if (text.n - i >= 3 && u[0] == 0xed && u[1] >= 0xa0 && u[1] <= 0xbf && (u[2] & 0xc0) == 0x80) {
			buf_addf(out, "\\u%04x", utf8_char(text.p + i, 3)); /* a surrogate in WTF-8 */
			i += 3;
		} else if (step < 0) {
			buf_adds(out, "\xef\xbf\xbd");
			i += (size_t)-step;
		} else {
			quote_byte(c, out);
			i++;
		}
		run = i;
	}
	buf_add(out, text.p + run, i - run);
	buf_addc(out, '"');
}

void json_well_formed(struct span json, struct buf *out)
{
	const char *p = json.p, *end = json.n ? p + json.n : p;

	while (p < end) {
		const char *escape = memchr(p, '\\', (size_t)(end - p));
		if (!escape)
			break;
		uint32_t c;
		const char *next = json_escape(escape, end, &c);
		buf_add(out, p, (size_t)((is_surrogate(c) ? escape : next) - p));
		if (is_surrogate(c))
			buf_adds(out, "\uFFFD");
		p = next;
	}
	buf_add(out, p, (size_t)(end - p));
}
