/* SPDX-License-Identifier: MIT */
/* json: a pull scanner over a span. It accepts what JavaScript's JSON.parse accepts, except that strings can have bytes
 * that are not UTF-8, since pi reads files with U+FFFD in their place.
 *
 * Values are spans into the input: no tree, no recursion, no allocation per token. Nesting deeper than JSON_DEPTH
 * levels stores one bit a level in the caller's `deep` buf.
 *
 *	json_init(&j, line, &deep);
 *	if (json_enter(&j) != JSON_OBJECT) ...
 *	while ((rc = json_next(&j, &key)) > 0) {
 *		if (json_key_is(key, "message") && json_peek(&j) == JSON_OBJECT) {
 *			json_enter(&j);
 *			while ((rc = json_next(&j, &key)) > 0)
 *				json_value(&j, &v);
 *		} else {
 *			json_value(&j, &v);
 *		}
 *	}
 *	ok = rc == 0 && json_at_end(&j); */
#ifndef SESSIONFS_JSON_H
#define SESSIONFS_JSON_H

#include "sessionfs/base/buf.h"

#include <stdint.h>

enum json_kind {
	JSON_NONE, /* absent or malformed */
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

static inline bool json_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Returns the kind of the value at p, by its first byte; JSON_NONE if no value can begin there. */
static inline enum json_kind json_kind_at(const char *p, const char *end)
{
	static const unsigned char kind_of[256] = {
	    ['"'] = JSON_STRING, ['{'] = JSON_OBJECT,         ['['] = JSON_ARRAY,  ['t'] = JSON_TRUE,
	    ['f'] = JSON_FALSE,  ['0' ... '9'] = JSON_NUMBER, ['-'] = JSON_NUMBER, ['n'] = JSON_NULL,
	};

	return p < end ? (enum json_kind)kind_of[(unsigned char)*p] : JSON_NONE;
}

/* One value. `text` of a string is the text between its quotes, still escaped; for other values the whole JSON text. */
struct json_value {
	enum json_kind kind;
	bool escaped; /* strings: has a backslash */
	struct span text;
};

#define JSON_DEPTH 512

struct json {
	const char *p, *end;
	struct buf *deep;
	size_t depth;
	bool fresh;                     /* no member of the innermost container was read yet */
	bool bad;                       /* malformed: every later call fails */
	uint64_t bits[JSON_DEPTH / 64]; /* open containers: 1 object, 0 array */
};

/* If `deep` is NULL, nesting beyond JSON_DEPTH is malformed. The caller owns it; it is reset as needed, and must
 * outlive the scanner. */
void json_init(struct json *j, struct span text, struct buf *deep);

/* Returns the kind of the value at the cursor. */
enum json_kind json_peek(struct json *j);

/* Steps into the array or object at the cursor and returns its kind; JSON_NONE if it is neither. */
enum json_kind json_enter(struct json *j);

/* Advances to the next element of the innermost container. Returns 1 with the cursor at its value (of an object, sets
 * *key; of an array, key can be NULL), 0 at the end of the container, after leaving it, or -1 if malformed. The caller
 * must consume the value (json_value, or json_enter and all its elements) before the next call. */
int json_next(struct json *j, struct json_value *key);

/* Reads the value at the cursor; containers are checked and skipped whole. Returns false if malformed. */
bool json_value(struct json *j, struct json_value *ret);

/* Returns the closing quote of the string whose text continues at p, or NULL if the string is malformed or does not end
 * before `end`. *ret_escaped is undefined after NULL. */
const char *json_string_end(const char *p, const char *end, bool *ret_escaped);

/* Returns true if only white space is left and every container was left. */
bool json_at_end(struct json *j);

/* Returns true if `text` is one valid JSON value, as JSON.parse accepts. */
bool json_valid(struct span text, struct buf *deep);

/* Returns the member `name` of an object value (the last one if duplicate, as in JSON.parse), or kind JSON_NONE. */
struct json_value json_get(struct json_value object, const char *name);

/* Gets several members in one pass over the object. The names must also end in NUL. */
void json_get_all(struct json_value object, const struct span *names, size_t n, struct json_value *ret);

/* The same for the object at the cursor, which is read whole; `ret` keeps the values of absent members. Returns false
 * if it is malformed. */
bool json_read_members(struct json *j, const struct span *names, size_t n, struct json_value *ret);

/* The form of decoded text. */
enum json_decode {
	/* For ids, labels and comparisons: keeps every byte and surrogate; a lone surrogate becomes its three bytes
	 * (WTF-8), NUL is NUL. */
	JSON_EXACT,
	/* For lookups: as JSON_EXACT, but ill-formed bytes become U+FFFD, as in JSON_CLEAN. */
	JSON_READ,
	/* For text files: always valid UTF-8 without NUL. A lone surrogate and each maximal ill-formed sequence become
	 * U+FFFD (as in the WHATWG decoder, hence in pi); NUL becomes U+2400. */
	JSON_CLEAN,
};

/* Appends the string's text, escapes decoded. */
void json_decode(struct span text, enum json_decode how, struct buf *out);

/* Decodes the escape at p, a backslash, to a character; half a surrogate pair is a character of its own, and a
 * backslash that begins no escape is skipped as JSON_NO_CHAR. Returns the end, at most `end`. */
const char *json_escape(const char *p, const char *end, uint32_t *ret);
#define JSON_NO_CHAR UINT32_MAX

/* Returns the number of bytes json_decode would append. */
size_t json_decoded_size(struct span text, enum json_decode how);

/* Returns a length in JavaScript, in UTF-16 units: stringified, of what JSON.stringify writes of v; else of v, or of
 * the values of an array or object, as far as they are strings. Of members with the same key the last counts. */
size_t json_units(struct json_value v, bool stringified);

/* Compares a string value's decoded text, or a key, with plain ASCII. */
bool json_equals(struct json_value v, const char *ascii);
#define json_key_is json_equals

/* Returns the JSON text of a value as in the input (strings with quotes). */
struct span json_raw(struct json_value v);

/* Returns whether JSON.parse makes the same of both values, which must be valid. The members of an object count in
 * their order. */
bool json_same(struct json_value a, struct json_value b);

/* Returns a number as a double, as JSON.parse reads it (1e400 is infinity). Returns false if v is not a number. */
bool json_double(struct json_value v, double *ret);

/* Returns true for JavaScript's truthy values: not absent, null, false, 0, NaN or "". */
bool json_is_truthy(struct json_value v);

/* Appends text as a JSON string with quotes, as JSON.stringify writes it
 * (WTF-8 surrogates as \udxxx; ill-formed bytes as U+FFFD). */
void json_quote(struct span text, struct buf *out);

/* Appends valid JSON text with each escape of a lone surrogate replaced by U+FFFD, as toWellFormed() would. */
void json_well_formed(struct span json, struct buf *out);

/* Appends the value laid out as JSON.stringify(v, null, 2) would, with scalars copied unchanged; no final newline.
 * Values nested deeper than JSON_PRETTY_DEPTH are copied unchanged, so that indentation cannot turn a small line into
 * gigabytes. */
#define JSON_PRETTY_DEPTH 128
void json_pretty(struct json_value v, struct buf *out);

/* Appends the raw value without the white space between its tokens. */
void json_compact(struct json_value v, struct buf *out);

/* Appends JSON text unchanged, except that it becomes valid UTF-8. Only strings have bytes beyond ASCII. */
void json_add(struct span json, struct buf *out);

#endif
