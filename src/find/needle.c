/* SPDX-License-Identifier: MIT */
/* Candidates are found by the two rarest bytes of the needle, in either case, 16 offsets at a time: 5 to 9 GB/s. A loop
 * over the bytes reaches 0.6 GB/s, and memmem(3) would need one search per spelling. A table ranks the bytes of session
 * files by frequency. Both bytes must have no other spelling, nor may the characters between them; a run without such a
 * pair is found by one character, in each of its spellings. */
#include "needle.h"

#include "sessionfs/base/bytes.h"
#include "sessionfs/base/utf8.h"
#include "sessionfs/json/json.h"

#include <stddef.h>

/* Characters that a view never copies from the text: U+FFFD replaces ill-formed text, U+2400 replaces NUL. */
enum { REPLACEMENT = 0xfffd, SYMBOL_FOR_NULL = 0x2400, NO_CHAR = 0x110000 };

/* ASCII to which other characters fold, too, not only its capital: U+212A and U+017F, U+037E, U+1FEF, and typographic
 * punctuation. */
static const char twins[] = "ks;`'\"- ";

/* The bytes in session files, most frequent first. */
static const char frequent[] = " e\"tanosir\\lcdpu:m,fhg/-_.01b2{}y3()w45v6879=k;x>z[]*j'`+q<$#|&@!?~^%";

static unsigned char_rarity(uint32_t c)
{
	const char *at = c && c < 0x80 ? strchr(frequent, (int)c) : NULL;
	if (c >= 0x80)
		return 2 * (unsigned)sizeof frequent;
	return at ? (unsigned)(at - frequent) : (unsigned)sizeof frequent;
}

static bool is_letter(uint32_t c)
{
	return c >= 'a' && c <= 'z';
}

/* Decodes the character at p; NO_CHAR if it is ill-formed. */
static uint32_t char_at(const char *p, const char *end, unsigned *ret_n)
{
	int n = utf8_next(p, (size_t)(end - p));

	*ret_n = n < 0 ? 1 : (unsigned)n;
	return n < 0 ? NO_CHAR : utf8_char(p, n);
}

/* --- making ----------------------------------------------------------------------- */

/* Returns whether the raw line contains the character at `i` as the view does, next to the same character before it. A
 * view adds `KEY: `, `$ `, `### ` and the `-` of a tool that was removed, and joins JSON tokens that the file may
 * separate. */
static bool char_is_verbatim(const uint32_t *c, size_t n, size_t i)
{
	bool ends = i + 1 == n || c[i + 1] == ' ';

	switch (c[i]) {
	case '"':
	case '\\':
	case '[':
	case ']':
	case '{':
	case '}':
	case ',':
	case REPLACEMENT:
	case SYMBOL_FOR_NULL:
	case NO_CHAR:
		return false;
	case ':':
		return i > 0 && c[i - 1] != '"' && !ends;
	case '$':
		return !ends;
	case '#':
		return !ends && c[i + 1] != '#';
	case '-':
		return i > 0 && c[i - 1] != ' ';
	case ' ':
		return i > 0 && c[i - 1] != ':' && c[i - 1] != '$';
	default: /* a combining mark can be part of the character before it */
		return c[i] >= 0x20 && fold_char_full(c[i]) == c[i];
	}
}

static void needle_add_pair(struct needle *p, struct needle_pair pair)
{
	p->pairs[p->n_pairs++] = pair;
}

/* Finds the rarest pair in a stretch of ASCII without twins. Returns its rarity, or 0 if none exists. */
static unsigned needle_choose_pair(const struct needle *p, unsigned *ret_first, unsigned *ret_second)
{
	unsigned best = 0;

	for (unsigned i = 0; i < p->n; i++) {
		for (unsigned k = i; k < p->n && p->run[k] < 0x80 && !strchr(twins, (int)p->run[k]); k++) {
			unsigned rarity = char_rarity(p->run[i]) + char_rarity(p->run[k]) + 1;
			if (k == i || rarity <= best)
				continue;
			best = rarity;
			*ret_first = i;
			*ret_second = k;
		}
	}
	return best;
}

/* Anchors the needle at a pair of ASCII characters. */
static void needle_anchor_pair(struct needle *p, unsigned first, unsigned second)
{
	uint32_t a = p->run[first], b = p->run[second];

	p->anchor = first;
	needle_add_pair(p, (struct needle_pair){.first = (char)a,
	                                        .second = (char)b,
	                                        .first_case = is_letter(a) ? 0x20 : 0,
	                                        .second_case = is_letter(b) ? 0x20 : 0,
	                                        .distance = (unsigned char)(second - first)});
}

/* Anchors the needle at its rarest character, in all spellings. Returns false if these are too many. */
static bool needle_anchor_char(struct needle *p)
{
	uint32_t alike[FOLD_VARIANTS_MAX];

	for (unsigned i = 1; i < p->n; i++)
		if (char_rarity(p->run[i]) > char_rarity(p->run[p->anchor]))
			p->anchor = i;
	size_t n = fold_variants(p->run[p->anchor], alike);
	for (size_t i = 0; i < n; i++) {
		char bytes[4];
		size_t length = (size_t)(utf8_put(alike[i], bytes) - bytes);
		needle_add_pair(p, (struct needle_pair){.first = bytes[0],
		                                        .second = bytes[length - 1],
		                                        .distance = (unsigned char)(length - 1)});
	}
	p->rarity = char_rarity(p->run[p->anchor]);
	return n < FOLD_VARIANTS_MAX;
}

/* Returns false if the run has no usable anchor. */
static bool needle_set_run(const uint32_t *run, size_t n, struct needle *p)
{
	unsigned first, second, wide = 0;
	bool slash = false;

	*p = (struct needle){.n = (unsigned)(n < NEEDLE_RUN ? n : NEEDLE_RUN)};
	for (unsigned i = 0; i < p->n; i++) {
		p->run[i] = run[i];
		wide += run[i] >= 0x80;
		slash |= run[i] == '/';
	}
	p->rarity = needle_choose_pair(p, &first, &second);
	if (p->rarity > 0)
		needle_anchor_pair(p, first, second);
	else if (!needle_anchor_char(p))
		return false;
	p->rarity += 16 * (p->n + wide);
	needle_add_pair(p, (struct needle_pair){.first = '\\', .second = 'u', .distance = 1});
	if (slash)
		needle_add_pair(p, (struct needle_pair){.first = '\\', .second = '/', .distance = 1});
	return true;
}

bool needle_make(struct span folded, struct needle *ret)
{
	CLEANUP_FREE uint32_t *c = malloc((folded.n + 1) * sizeof *c);
	size_t n = 0, begin = 0;

	ret->n = 0;
	if (!c)
		return false;
	for (unsigned step, i = 0; i < folded.n; i += step)
		c[n++] = char_at(folded.p + i, folded.p + folded.n, &step);
	for (size_t i = 0; i <= n; i++) {
		if (i < n && char_is_verbatim(c, n, i))
			continue;
		struct needle p;
		if (i > begin && needle_set_run(c + begin, i - begin, &p) && (ret->n == 0 || p.rarity > ret->rarity))
			*ret = p;
		begin = i + 1;
	}
	return ret->n > 0;
}

/* --- finding ---------------------------------------------------------------------- */

/* Decodes the character at p in a JSON string. */
static uint32_t json_char_at(const char *p, const char *end, unsigned *ret_n)
{
	uint32_t c;

	if (*p != '\\')
		return char_at(p, end, ret_n);
	*ret_n = (unsigned)(json_escape(p, end, &c) - p);
	return c < NO_CHAR ? c : NO_CHAR;
}

/* Returns whether the run can continue at p with character i. A mark can change the character before it to any
 * other. A blank can be between two strings. */
static bool needle_run_continues(const struct needle *needle, unsigned i, const char *p, const char *end)
{
	for (unsigned n; i < needle->n; i++, p += n) {
		uint32_t c = p < end ? fold_char_full(json_char_at(p, end, &n)) : NO_CHAR;
		if (c == FOLD_MANY || (c == '"' && needle->run[i] == ' '))
			return true;
		if (c != needle->run[i])
			return p < end && p + n < end && fold_char_full(json_char_at(p + n, end, &n)) == FOLD_MANY;
	}
	return true;
}

/* Returns whether the part of the run before character i can end before p. */
static bool needle_run_ends_before(const struct needle *needle, unsigned i, const char *from, const char *p)
{
	while (i-- > 0) {
		const char *end = p;
		unsigned n;
		if (p == from)
			return false;
		for (p--; p > from && ((unsigned char)*p & 0xc0) == 0x80 && end - p < 4;)
			p--;
		uint32_t c = fold_char_full(char_at(p, end, &n));
		if (c == FOLD_MANY || (c == '"' && needle->run[i] == ' '))
			return true;
		if (c != needle->run[i])
			return false;
	}
	return true;
}

/* Returns whether the run can be at p, where a pair matched. In a run with escapes, the first escape is at p. */
static bool needle_check_place(const struct needle *needle, const char *from, const char *p, const char *end)
{
	unsigned n, i = *p == '\\' ? 0 : needle->anchor, last = *p == '\\' ? needle->n - 1 : i;
	uint32_t c = fold_char_full(json_char_at(p, end, &n));

	for (; c != FOLD_MANY && i <= last; i++)
		if (c == needle->run[i] && needle_run_continues(needle, i, p, end) &&
		    needle_run_ends_before(needle, i, from, p))
			return true;
	return c == FOLD_MANY;
}

enum { NEEDLE_STEP = 16 };

const char *needle_find(const struct needle *needle, const char *from, const char *p, const char *to, const char *end)
{
	const unsigned n = needle->n_pairs;
	bytes16 first[NEEDLE_PAIRS], second[NEEDLE_PAIRS], first_case[NEEDLE_PAIRS], second_case[NEEDLE_PAIRS];

	for (unsigned i = 0; i < n; i++) {
		first[i] = (bytes16){0} | (signed char)needle->pairs[i].first;
		second[i] = (bytes16){0} | (signed char)needle->pairs[i].second;
		first_case[i] = (bytes16){0} | (signed char)needle->pairs[i].first_case;
		second_case[i] = (bytes16){0} | (signed char)needle->pairs[i].second_case;
	}
	for (; p < to; p += NEEDLE_STEP) {
		bytes16 here = bytes16_load(p);
		ubytes16 hit = {0};
		for (unsigned i = 0; i < n; i++) {
			bytes16 there = bytes16_load(p + needle->pairs[i].distance);
			hit |=
			    (ubytes16)(((here | first_case[i]) == first[i]) & ((there | second_case[i]) == second[i]));
		}
		for (unsigned places = bytes16_mask((bytes16)hit); places; places &= places - 1) {
			const char *place = p + __builtin_ctz(places);
			if (place < to && needle_check_place(needle, from, place, end))
				return place;
		}
	}
	return NULL;
}
