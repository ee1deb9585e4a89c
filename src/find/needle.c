/* SPDX-License-Identifier: MIT */
/* Candidates are found with SSE2 by the two rarest bytes of the needle, in either case, 16 offsets at a time: 5 to 9
 * GB/s, where a loop over the bytes makes 0.6 and memmem(3) would have to look for each spelling. Which bytes are rare
 * in session files is a table. */
#include "needle.h"

#include "sessionfs/base/utf8.h"
#include "sessionfs/json/json.h"

#include <stddef.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* What a view never takes from the text as it is: U+FFFD stands for ill-formed text, U+2400 for NUL. */
enum { REPLACEMENT = 0xfffd, SYMBOL_FOR_NULL = 0x2400, NO_CHAR = 0x110000 };

/* The bytes of session files, the most frequent first. */
static const char frequent[] = " e\"tanosir\\lcdpu:m,fhg/-_.01b2{}y3()w45v6879=k;x>z[]*j'`+q<$#|&@!?~^%";

static unsigned rarity_of(unsigned char c)
{
	const char *at = c ? strchr(frequent, c) : NULL;
	return at ? (unsigned)(at - frequent) : sizeof frequent;
}

static bool is_letter(uint32_t c)
{
	return c >= 'a' && c <= 'z';
}

/* Other characters than the capital fold to it: U+212A and U+017F. */
static bool has_twin(uint32_t c)
{
	return c == 'k' || c == 's';
}

/* The character at p, decoded; NO_CHAR if it is ill-formed. */
static uint32_t char_at(const char *p, const char *end, unsigned *ret_n)
{
	int n = utf8_next(p, (size_t)(end - p));

	*ret_n = n < 0 ? 1 : (unsigned)n;
	return n < 0 ? NO_CHAR : utf8_char(p, n);
}

/* --- making ----------------------------------------------------------------------- */

/* Whether the character at `i` stands in the raw line as it does in the view, next to the same one before it. The view
 * makes `KEY: ` and `$ ` itself, and puts tokens of JSON together, which need not be together in the file. */
static bool is_trusted(const uint32_t *c, size_t n, size_t i)
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
	case ' ':
		return i > 0 && c[i - 1] != ':' && c[i - 1] != '$';
	default:
		return c[i] >= 0x20;
	}
}

static void needle_add_pair(struct needle *p, struct pair pair)
{
	p->pairs[p->n_pairs++] = pair;
}

/* A pair of ASCII characters, so many apart. */
static struct pair ascii_pair(const struct needle *p, unsigned first, unsigned second)
{
	uint32_t a = p->run[first], b = p->run[second];

	return (struct pair){.first = (char)a,
	                     .second = (char)b,
	                     .first_case = is_letter(a) ? 0x20 : 0,
	                     .second_case = is_letter(b) ? 0x20 : 0,
	                     .distance = (unsigned char)(second - first),
	                     .what = PAIR_RUN};
}

/* The rarest pair within ASCII; 0 if there is none. Where twins are not allowed, the pair does not reach over one. */
static unsigned choose_pair(const struct needle *p, bool twins, unsigned *ret_first, unsigned *ret_second)
{
	unsigned best = 0;

	for (unsigned i = 0; i < p->n; i++) {
		for (unsigned k = i; k < p->n && p->run[k] < 0x80 && (twins || !has_twin(p->run[k])); k++) {
			unsigned rarity =
			    rarity_of((unsigned char)p->run[i]) + (k > i ? rarity_of((unsigned char)p->run[k]) : 0);
			if (k > i)
				rarity += sizeof frequent / 2;
			if (rarity < best)
				continue;
			best = rarity;
			*ret_first = i;
			*ret_second = k;
		}
	}
	return best;
}

static void anchor_ascii(struct needle *p, unsigned first, unsigned second)
{
	bool twins = false;

	p->anchor = first;
	needle_add_pair(p, ascii_pair(p, first, second));
	for (unsigned i = first; i <= second; i++)
		twins |= has_twin(p->run[i]);
	if (!twins)
		return;
	/* The last two bytes of U+212A, and U+017F. */
	needle_add_pair(p, (struct pair){.first = (char)0x84, .second = (char)0xaa, .distance = 1, .what = PAIR_TWIN});
	needle_add_pair(p, (struct pair){.first = (char)0xc5, .second = (char)0xbf, .distance = 1, .what = PAIR_TWIN});
}

/* One character, in all the forms that fold to it; at best in one only. */
static void anchor_wide(struct needle *p)
{
	uint32_t alike[FOLD_ALIKE];
	size_t least = SIZE_MAX;

	for (unsigned i = 0; i < p->n; i++) {
		size_t n = p->run[i] < 0x80 ? SIZE_MAX : fold_alike(p->run[i], alike);
		if (n < least) {
			least = n;
			p->anchor = i;
		}
	}
	size_t n = fold_alike(p->run[p->anchor], alike);
	for (size_t i = 0; i < n; i++) {
		char bytes[4];
		size_t length = (size_t)(utf8_put(alike[i], bytes) - bytes);
		needle_add_pair(p, (struct pair){.first = bytes[0],
		                                 .second = bytes[length - 1],
		                                 .distance = (unsigned char)(length - 1),
		                                 .what = PAIR_RUN});
	}
}

/* The first UTF-16 unit of a character. */
static uint32_t unit_of(uint32_t c)
{
	return c < 0x10000 ? c : 0xd800 + ((c - 0x10000) >> 10);
}

/* How its characters may be escaped. */
static void note_escapes(struct needle *p)
{
	bool slash = false;

	for (unsigned i = 0; i < p->n; i++) {
		uint32_t alike[FOLD_ALIKE];
		size_t n = fold_alike(p->run[i], alike);
		slash |= p->run[i] == '/';
		while (n-- > 0) {
			uint32_t unit = unit_of(alike[n]);
			p->low[unit >> 6 & 3] |= UINT64_C(1) << (unit & 63);
		}
	}
	needle_add_pair(p, (struct pair){.first = '\\', .second = 'u', .distance = 1, .what = PAIR_ESCAPE});
	if (slash)
		needle_add_pair(p, (struct pair){.first = '\\', .second = '/', .distance = 1, .what = PAIR_ESCAPE});
}

static void set_run(const uint32_t *run, size_t n, struct needle *p)
{
	unsigned first = 0, second = 0, wide = 0;

	*p = (struct needle){.n = (unsigned)(n < NEEDLE_RUN ? n : NEEDLE_RUN)};
	memcpy(p->run, run, p->n * sizeof *run);
	for (unsigned i = 0; i < p->n; i++)
		wide += p->run[i] >= 0x80;
	unsigned rarity = choose_pair(p, false, &first, &second);
	if (first == second && wide == 0)
		rarity = choose_pair(p, true, &first, &second);
	if (first == second && wide > 0) {
		anchor_wide(p);
		rarity = 2 * sizeof frequent;
	} else {
		anchor_ascii(p, first, second);
	}
	note_escapes(p);
	p->rarity = rarity + 16 * (p->n + wide);
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
		if (i < n && is_trusted(c, n, i))
			continue;
		struct needle p;
		if (i > begin) {
			set_run(c + begin, i - begin, &p);
			if (ret->n == 0 || p.rarity > ret->rarity)
				*ret = p;
		}
		begin = i + 1;
	}
	return ret->n > 0;
}

/* --- finding ---------------------------------------------------------------------- */

/* The character that stands at p in a string of JSON. */
static uint32_t json_char(const char *p, const char *end, unsigned *ret_n)
{
	uint32_t c;

	if (*p != '\\')
		return char_at(p, end, ret_n);
	*ret_n = (unsigned)(json_escape(p, end, &c) - p);
	return c < NO_CHAR ? c : NO_CHAR;
}

/* Whether the run can go on at p with its i-th character. */
static bool needle_goes_on(const struct needle *needle, unsigned i, const char *p, const char *end)
{
	for (unsigned n; i < needle->n; i++, p += n)
		if (p >= end || fold_char(json_char(p, end, &n)) != needle->run[i])
			return false;
	return true;
}

/* Whether the run, up to its i-th character, can end before p. */
static bool came_before(const struct needle *needle, unsigned i, const char *from, const char *p)
{
	while (i-- > 0) {
		const char *end = p;
		unsigned n;
		if (p == from)
			return false;
		for (p--; p > from && ((unsigned char)*p & 0xc0) == 0x80 && end - p < 4;)
			p--;
		if (fold_char(char_at(p, end, &n)) != needle->run[i])
			return false;
	}
	return true;
}

/* Whether the escape at p is a character of the run from which on the run can go on. */
static bool escape_goes_on(const struct needle *needle, const char *p, const char *end)
{
	unsigned n;
	uint32_t c = json_char(p, end, &n), unit = unit_of(c);

	if (p[1] == 'u' && !(needle->low[unit >> 6 & 3] >> (unit & 63) & 1))
		return false;
	c = fold_char(c);
	for (unsigned i = 0; i < needle->n; i++)
		if (needle->run[i] == c && needle_goes_on(needle, i, p, end))
			return true;
	return false;
}

/* Whether the run may be at p, where one of the pairs is. */
static bool needle_check_place(const struct needle *needle, const char *from, const char *p, const char *end)
{
	for (unsigned i = 0; i < needle->n_pairs; i++) {
		const struct pair *pair = &needle->pairs[i];
		if ((p[0] | pair->first_case) != pair->first || (p[pair->distance] | pair->second_case) != pair->second)
			continue;
		if (pair->what == PAIR_TWIN || (pair->what == PAIR_ESCAPE && escape_goes_on(needle, p, end)))
			return true;
		if (pair->what == PAIR_RUN && needle_goes_on(needle, needle->anchor, p, end) &&
		    came_before(needle, needle->anchor, from, p))
			return true;
	}
	return false;
}

#ifdef __SSE2__

enum { STEP = 16 };

const char *needle_find(const struct needle *needle, const char *from, const char *p, const char *to, const char *end)
{
	const unsigned n = needle->n_pairs;
	__m128i first[8], second[8], first_case[8], second_case[8];

	for (unsigned i = 0; i < n; i++) {
		first[i] = _mm_set1_epi8(needle->pairs[i].first);
		second[i] = _mm_set1_epi8(needle->pairs[i].second);
		first_case[i] = _mm_set1_epi8(needle->pairs[i].first_case);
		second_case[i] = _mm_set1_epi8(needle->pairs[i].second_case);
	}
	for (; p < to; p += STEP) {
		__m128i here = _mm_loadu_si128((const __m128i *)p), hit = _mm_setzero_si128();
		for (unsigned i = 0; i < n; i++) {
			__m128i there = _mm_loadu_si128((const __m128i *)(p + needle->pairs[i].distance));
			__m128i a = _mm_cmpeq_epi8(_mm_or_si128(here, first_case[i]), first[i]);
			__m128i b = _mm_cmpeq_epi8(_mm_or_si128(there, second_case[i]), second[i]);
			hit = _mm_or_si128(hit, _mm_and_si128(a, b));
		}
		for (unsigned places = (unsigned)_mm_movemask_epi8(hit); places; places &= places - 1) {
			const char *place = p + __builtin_ctz(places);
			if (place < to && needle_check_place(needle, from, place, end))
				return place;
		}
	}
	return NULL;
}

#else

const char *needle_find(const struct needle *needle, const char *from, const char *p, const char *to, const char *end)
{
	for (; p < to; p++)
		if (needle_check_place(needle, from, p, end))
			return p;
	return NULL;
}

#endif
