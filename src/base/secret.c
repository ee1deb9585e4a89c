/* SPDX-License-Identifier: MIT */
/* What looks like a key is rare: so places where one may begin are found first, 64 bytes at a time. Nearly every form
 * begins a run of 13 bytes or more that can stand in names (the letters, digits, _ and - of base64url), or ends in one
 * behind a point or a colon. The others have two bytes next to each other that are rare. Only there forms are compared,
 * with patterns of literals, (a|b), [sets] and {counts}: each part takes all that it can, which is right because what
 * follows never begins with a byte that the part takes. */
#include "sessionfs/base/secret.h"

#include <errno.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* What a key needs besides its pattern. */
enum {
	DIGIT = 1,      /* a digit in it */
	APART = 2,      /* no + or / in front or behind */
	ANYWHERE = 4,   /* nothing in front or behind */
	NOT_SHOWN = 8,  /* its start is a part of the secret */
	ENDS_LINES = 16 /* its line ends are no part of the secret */
};

struct form {
	const char *kind;
	char first[4]; /* the bytes that it may begin with; #: a digit */
	unsigned needs;
	const char *pattern; /* NULL: a private key; the key stands between < and >, if these are there */
};

#define WORD "[A-Za-z0-9_-]"
#define ALNUM "[A-Za-z0-9]"
#define HEX "[0-9a-f]"
#define BASE64 "[A-Za-z0-9+/]"

/* Of places that begin and end together the first form counts. */
static const struct form forms[] = {
    {"anthropic", "s", DIGIT, "sk-ant-" WORD "{20,}"},
    {"openai", "s", DIGIT, "sk-" WORD "{20,}"},
    {"github", "g", 0, "gh[pousr]_" ALNUM "{36,}"},
    {"github", "g", 0, "github_pat_[A-Za-z0-9_]{22,}"},
    {"gitlab", "g", 0, "gl(pat|dt|rt|cbt|ptt|soat|oas)-" WORD "{20,}." ALNUM "{2}." ALNUM "{9}"},
    {"gitlab", "g", 0, "gl(pat|dt|rt|cbt|ptt|soat|oas)-" WORD "{20,}"},
    {"aws", "A", 0, "(AKIA|ASIA)[A-Z2-7]{16}"},
    {"google", "A", 0, "AIza" WORD "{35}"},
    {"google", "y", 0, "ya29." WORD "{20,}"},
    {"google", "G", 0, "GOCSPX-" WORD "{28}"},
    {"slack", "x", DIGIT, "xox[abeoprs]-[A-Za-z0-9-]{10,}"},
    {"slack", "x", 0, "xapp-[0-9]-[A-Za-z0-9-]{20,}"},
    {"discord", "MNO", 0, "[MNO]" WORD "{23,27}." WORD "{6}." WORD "{27,38}"},
    {"telegram", "#", 0, "[0-9]{8,10}:AA" WORD "{33}"},
    {"telegram", "b", 0, "bot<[0-9]{8,10}:AA" WORD "{33}"},
    {"stripe", "rs", 0, "[rs]k_(live|test)_" ALNUM "{16,}"},
    {"stripe", "w", 0, "whsec_" BASE64 "{32,}"},
    {"npm", "n", 0, "npm_" ALNUM "{36}"},
    {"pypi", "p", 0, "pypi-" WORD "{50,}"},
    {"huggingface", "h", 0, "hf_" ALNUM "{30,}"},
    {"groq", "g", 0, "gsk_" ALNUM "{40,}"},
    {"xai", "x", 0, "xai-" ALNUM "{40,}"},
    {"perplexity", "p", 0, "pplx-" ALNUM "{32,}"},
    {"nvidia", "n", 0, "nvapi-" WORD "{40,}"},
    {"tavily", "t", DIGIT, "tvly-" WORD "{20,}"},
    {"brave", "B", APART, "BSA" WORD "{27,28}"},
    {"elevenlabs", "s", 0, "sk_" HEX "{48}"},
    {"replicate", "r", 0, "r8_" ALNUM "{37}"},
    {"sendgrid", "S", 0, "SG." WORD "{16,32}." WORD "{32,64}"},
    {"digitalocean", "d", 0, "do[opr]_v1_" HEX "{64}"},
    {"shopify", "s", 0, "shp(at|ca|pa|ss)_[0-9a-fA-F]{32}"},
    {"notion", "n", 0, "ntn_" ALNUM "{40,}"},
    {"linear", "l", 0, "lin_(api|oauth)_" ALNUM "{32,}"},
    {"vault", "h", 0, "hv[sbr]." WORD "{24,}"},
    {"age", "A", 0, "AGE-SECRET-KEY-1[0-9A-Z]{58}"},
    {"jwt", "e", 0, "eyJ" WORD "{10,}.eyJ" WORD "{10,}." WORD "{10,}"},
    {"bearer", "Bb", DIGIT | NOT_SHOWN, "[Bb]earer <[A-Za-z0-9._~+/=-]{20,}"},
    {"url", ":", ANYWHERE | NOT_SHOWN,
     "://[A-Za-z0-9._%+~-]{0,100}:<[^\001-\040/@\"'\\:<>{}$*]{3,200}>@[A-Za-z0-9[]"},
    {"private key", "-", NOT_SHOWN | ENDS_LINES, NULL},
};
enum { FORMS = sizeof forms / sizeof *forms, SHOWN = 4, RUN = 13 };

#define BIT(c) (UINT64_C(1) << ((c)&63))
/* The first two bytes of the forms that begin with a run (but for M, N and O); letters of either case have bits of
 * their own. */
static const uint64_t firsts = BIT('s') | BIT('g') | BIT('A') | BIT('G') | BIT('x') | BIT('r') | BIT('n') | BIT('p') |
                               BIT('h') | BIT('t') | BIT('B') | BIT('d') | BIT('l') | BIT('e');
static const uint64_t seconds = BIT('k') | BIT('h') | BIT('i') | BIT('l') | BIT('s') | BIT('K') | BIT('S') |
                                BIT('I') | BIT('G') | BIT('O') | BIT('o') | BIT('a') | BIT('p') | BIT('t') |
                                BIT('v') | BIT('y') | BIT('f') | BIT('8');

struct finder {
	const char *from, *end;
	const char *free[FORMS]; /* where the last place of each form ends: none begins inside it */
	struct secrets *out;
};

static bool is_letter_or_digit(char c)
{
	return ((unsigned char)((c | 0x20) - 'a') < 26) || (unsigned char)(c - '0') < 10;
}

static bool is_word(char c)
{
	return is_letter_or_digit(c) || c == '_' || c == '-';
}

/* --- patterns --------------------------------------------------------------------- */

/* Reads what follows a [, up to the ], and returns what is behind. NUL is in no set. */
static const char *read_set(const char *at, bool set[256])
{
	bool is_without = *at == '^';
	memset(set, is_without, 256);
	for (at += is_without; *at != ']'; at++) {
		unsigned char low = (unsigned char)*at, high = low;
		if (at[1] == '-' && at[2] != ']')
			high = (unsigned char)*(at += 2);
		memset(set + low, !is_without, (size_t)(high - low) + 1);
	}
	set[0] = false;
	return at + 1;
}

/* Reads {LEAST}, {LEAST,} or {LEAST,MOST}; without one it is 1. */
static const char *read_counts(const char *at, size_t *least, size_t *most)
{
	*least = *most = 1;
	if (*at != '{')
		return at;
	char *end;
	*least = *most = strtoul(at + 1, &end, 10);
	if (*end == ',')
		*most = end[1] == '}' ? SIZE_MAX : strtoul(end + 1, &end, 10);
	return strchr(end, '}') + 1;
}

/* Takes one of the (a|b) that `at` stands in at p; NULL: none is there. */
static const char *take_one_of(const char **at, const char *p, const char *end)
{
	const char *found = NULL;
	while (**at != ')') {
		size_t n = strcspn(++*at, "|)");
		if (!found && n <= (size_t)(end - p) && memcmp(*at, p, n) == 0)
			found = p + n;
		*at += n;
	}
	++*at;
	return found;
}

/* Takes bytes of a set. At the end of a pattern those at its end are left that may not stand before what is behind. */
static const char *take_set(const char **at, const char *p, const char *end)
{
	bool set[256];
	size_t n = 0, least, most;
	*at = read_counts(read_set(*at + 1, set), &least, &most);
	while (n < most && p + n < end && set[(unsigned char)p[n]])
		n++;
	while (!**at && n > least && p + n < end && is_word(p[n]))
		n--;
	return n < least ? NULL : p + n;
}

/* Where the text at p stops to be as the pattern says, which it is up to its end; NULL: it is not. */
static const char *take_pattern(const char *at, const char *p, const char *end, const char **key, const char **key_end)
{
	*key = p;
	*key_end = NULL;
	while (*at && p) {
		if (*at == '[') {
			p = take_set(&at, p, end);
		} else if (*at == '(') {
			p = take_one_of(&at, p, end);
		} else if (*at == '<' || *at == '>') {
			*(*at == '<' ? key : key_end) = p;
			at++;
		} else {
			p = p < end && *p == *at ? p + 1 : NULL;
			at++;
		}
	}
	if (!*key_end)
		*key_end = p;
	return p;
}

/* The same of -----BEGIN ([A-Z0-9]+ )*PRIVATE KEY( BLOCK)?-----, and then (-{0,4}(\+[nrt]|[A-Za-z0-9+/=:,.()_ ]))*,
 * where \ is a backslash: the lines of the key, if 16 bytes of base64 stand together in one. */
static const char *take_private_key(const char *p, const char *end, const char **key, const char **key_end)
{
	static const char begin[] = "-----BEGIN ", name[] = "PRIVATE KEY";
	const char *unused, *body = NULL;
	p = take_pattern(begin, p, end, &unused, &unused);
	while (p && !body) {
		const char *behind = take_pattern(name, p, end, &unused, &unused);
		body = behind ? take_pattern("-----", behind, end, &unused, &unused) : NULL;
		if (behind && !body)
			body = take_pattern(" BLOCK-----", behind, end, &unused, &unused);
		p = take_pattern("[A-Z0-9]{1,} ", p, end, &unused, &unused);
	}
	size_t together = 0, most = 0;
	*key = *key_end = body;
	for (p = body; p && p < end; *key_end = p) {
		const char *at = p;
		while (at < end && *at == '-' && at - p < 4)
			at++;
		if (at > p)
			together = 0;
		p = at;
		while (at < end && *at == '\\')
			at++;
		if (at == end || (at > p ? !strchr("nrt", *at) || !*at
		                         : !is_letter_or_digit(*at) && (!*at || !strchr("+/=:,.()_ ", *at))))
			break;
		if (at > p)
			together = 0;
		together = is_letter_or_digit(*at) || strchr("+/=", *at) ? together + 1 : 0;
		most = together > most ? together : most;
		p = at + 1;
	}
	return most < 16 ? NULL : *key_end;
}

/* --- places ----------------------------------------------------------------------- */

/* Whether what is in front of a key, and behind it, lets it count. An escape of a line end, of JSON in JSON too, is in
 * front. */
static bool stands_apart(const struct finder *f, const char *p, const char *end, unsigned needs)
{
	char front = p > f->from ? p[-1] : ' ', behind = end < f->end ? *end : ' ';
	if ((needs & APART) && (front == '+' || front == '/' || behind == '+' || behind == '/'))
		return false;
	bool is_escape = strchr("nrtbf", front) && p - f->from > 1 && p[-2] == '\\';
	return (!is_word(front) || is_escape) && (!is_word(behind) || (needs & ENDS_LINES));
}

static bool has_digit(const char *p, const char *end)
{
	while (p < end && (unsigned char)(*p - '0') > 9)
		p++;
	return p < end;
}

/* Adds the places that begin at p, of all forms. */
static int find_at(struct finder *f, const char *p)
{
	char first = (unsigned char)(*p - '0') < 10 ? '#' : *p;
	for (unsigned i = 0; i < FORMS; i++) {
		const struct form *form = &forms[i];
		const char *key, *key_end;
		if ((form->first[0] != first && !memchr(form->first + 1, first, 2)) || p < f->free[i])
			continue;
		const char *end = form->pattern ? take_pattern(form->pattern, p, f->end, &key, &key_end)
		                                : take_private_key(p, f->end, &key, &key_end);
		if (!end || (!(form->needs & ANYWHERE) && !stands_apart(f, p, end, form->needs)) ||
		    ((form->needs & DIGIT) && !has_digit(key, key_end)))
			continue;
		f->free[i] = end;
		if (!vec_reserve(f->out, 1))
			return -ENOMEM;
		f->out->v[f->out->n++] = (struct secret){(size_t)(key - f->from), (size_t)(key_end - key), i};
	}
	return 0;
}

/* Looks at the run that begins at p, and is long. */
static int find_in_run(struct finder *f, const char *p)
{
	int rc = 0;
	bool is_escape = p > f->from && p[-1] == '\\' && strchr("nrtbf", *p);
	if (p - f->from > 2 && (p[-1] == '.' || (p[-1] == ':' && p[0] == 'A' && p[1] == 'A'))) {
		const char *before = p - 1;
		while (before > f->from && p - before <= 14 && is_word(before[-1]))
			before--;
		rc = find_at(f, before);
		/* Behind an escape of a line end. */
		if (rc == 0 && before > f->from && before[-1] == '\\')
			rc = find_at(f, before + 1);
	}
	for (const char *at = p; rc == 0 && at <= p + is_escape; at++) {
		bool is_known = (firsts & BIT(at[0])) && (seconds & BIT(at[1]));
		bool is_discord = *at >= 'M' && *at <= 'O' && f->end - at > 28 && memchr(at + 24, '.', 5);
		if (is_known || is_discord)
			rc = find_at(f, at);
	}
	return rc;
}

/* Looks at two rare bytes at p: of ://, whsec_, Bearer and -----BEGIN. */
static int find_at_rare(struct finder *f, const char *p)
{
	size_t before = *p == ':' ? 0 : *p == 'r' ? 5 : 4;
	const char *begin = p - before;
	bool fits = (size_t)(p - f->from) >= before && (*p != 'r' || (*begin | 0x20) == 'b') &&
	            (*p != 'c' || *begin == 'w') && (*p != '-' || *begin == '-');
	return fits ? find_at(f, begin) : 0;
}

/* --- candidates ------------------------------------------------------------------- */

enum { BLOCK = 64 };

/* Of 64 bytes at p, behind which one more can be read: which can stand in a run, and where two rare bytes begin. */
#ifdef __SSE2__
static void look_at_block(const char *p, uint64_t *run, uint64_t *rare)
{
	*run = *rare = 0;
	for (unsigned i = 0; i < BLOCK; i += 16) {
		__m128i x = _mm_loadu_si128((const __m128i *)(p + i)), y = _mm_loadu_si128((const __m128i *)(p + i + 1));
		__m128i lower = _mm_or_si128(x, _mm_set1_epi8(0x20)), dash = _mm_cmpeq_epi8(x, _mm_set1_epi8('-'));
		__m128i letter = _mm_and_si128(_mm_cmpgt_epi8(lower, _mm_set1_epi8('a' - 1)),
		                               _mm_cmplt_epi8(lower, _mm_set1_epi8('z' + 1)));
		__m128i digit = _mm_and_si128(_mm_cmpgt_epi8(x, _mm_set1_epi8('0' - 1)),
		                              _mm_cmplt_epi8(x, _mm_set1_epi8('9' + 1)));
		__m128i in = _mm_or_si128(_mm_or_si128(letter, digit),
		                          _mm_or_si128(dash, _mm_cmpeq_epi8(x, _mm_set1_epi8('_'))));
#define PAIR(a, b) _mm_and_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8(a)), _mm_cmpeq_epi8(y, _mm_set1_epi8(b)))
		__m128i pair = _mm_or_si128(_mm_or_si128(PAIR(':', '/'), PAIR('c', '_')),
		                            _mm_or_si128(PAIR('r', ' '), PAIR('-', 'B')));
#undef PAIR
		*run |= (uint64_t)(unsigned)_mm_movemask_epi8(in) << i;
		*rare |= (uint64_t)(unsigned)_mm_movemask_epi8(pair) << i;
	}
}
#else
static void look_at_block(const char *p, uint64_t *run, uint64_t *rare)
{
	*run = *rare = 0;
	for (unsigned i = 0; i < BLOCK; i++) {
		char x = p[i], y = p[i + 1];
		bool pair = (x == ':' && y == '/') || (x == 'c' && y == '_') || (x == 'r' && y == ' ') ||
		            (x == '-' && y == 'B');
		*run |= (uint64_t)is_word(x) << i;
		*rare |= (uint64_t)pair << i;
	}
}
#endif

/* Runs of 1, 2, 4, 8 and 13 bytes that end at each byte of a block. */
struct runs {
	uint64_t of[5];
};

/* The same of the block behind `before`. */
static struct runs runs_in(uint64_t run, const struct runs *before)
{
	static const unsigned char more[] = {1, 2, 4, RUN - 8};
	struct runs r = {{run}};
	for (unsigned i = 0; i < sizeof more; i++)
		r.of[i + 1] = r.of[i] & (r.of[i] << more[i] | before->of[i] >> (BLOCK - more[i]));
	return r;
}

static int secret_cmp(const void *pa, const void *pb)
{
	const struct secret *a = pa, *b = pb;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (a->n != b->n)
		return a->n > b->n ? -1 : 1;
	return (int)a->form - (int)b->form;
}

int secrets_find(struct span text, struct secrets *out)
{
	struct finder f = {.from = text.p, .end = text.p + text.n, .out = out};
	size_t first = out->n, kept = first;
	struct runs runs = {{0}};
	char rest[BLOCK + 1] = {0};
	int rc = 0;

	for (const char *p = text.p; p < f.end && rc == 0; p += BLOCK) {
		const char *at = p;
		uint64_t run, rare;
		if (f.end - p <= BLOCK)
			at = memcpy(rest, p, (size_t)(f.end - p));
		look_at_block(at, &run, &rare);
		struct runs now = runs_in(run, &runs);
		uint64_t begun = now.of[4] & ~(now.of[4] << 1 | runs.of[4] >> (BLOCK - 1));
		for (; begun && rc == 0; begun &= begun - 1)
			rc = find_in_run(&f, p + __builtin_ctzll(begun) - (RUN - 1));
		for (; rare && rc == 0; rare &= rare - 1)
			rc = find_at_rare(&f, p + __builtin_ctzll(rare));
		runs = now;
	}
	if (out->n - first > 1)
		qsort(out->v + first, out->n - first, sizeof *out->v, secret_cmp);
	for (size_t i = first, end = 0; i < out->n; i++) {
		if (out->v[i].at < end)
			continue;
		end = out->v[i].at + out->v[i].n;
		out->v[kept++] = out->v[i];
	}
	out->n = kept;
	return rc;
}

void secrets_release(struct secrets *s)
{
	vec_release(s);
}

const char *secret_kind(const struct secret *s)
{
	return forms[s->form].kind;
}

size_t secret_shown(const struct secret *s)
{
	return forms[s->form].needs & NOT_SHOWN ? 0 : SHOWN;
}

struct span secret_part(const struct secret *s, const char *text, size_t from)
{
	const char *p = text + s->at + from, *end = text + s->at + s->n, *to = end;
	if (forms[s->form].needs & ENDS_LINES) {
		while (p < end && *p == '\\') {
			while (*p == '\\')
				p++;
			p++;
		}
		to = memchr(p, '\\', (size_t)(end - p));
	}
	return (struct span){p, (size_t)((to ? to : end) - p)};
}
