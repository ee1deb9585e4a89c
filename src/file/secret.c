/* SPDX-License-Identifier: MIT */
/* Keys are rare. So the first step finds places where one can begin, 64 bytes at a time. Nearly every form begins with
 * a run of at least 13 word bytes (the letters, digits, _ and - of base64url), or ends in one after a point or a colon.
 * The others have a rare pair of bytes, or a name before : or =. Only these places are compared with the forms:
 * patterns of literals, (a|b), [sets] and {counts}. A pattern can try a form at many places, but no text is searched
 * twice for the same key: a key that begins in another one ends with it. */
#include "sessionfs/file/secret.h"
#include "sessionfs/base/bytes.h"

#include <errno.h>
#include <string.h>

/* Further conditions on a key. */
enum {
	DIGIT = 1,       /* it has a digit */
	FORM_APART = 2,  /* no + or / before or after it */
	FORM_URL = 4,    /* any byte before it; @ and a byte of the host follow, then any byte */
	FORM_HIDDEN = 8, /* its start is secret */
	ENDS_LINES = 16, /* its line ends are not secret, and any byte can follow */
	NAMED = 32,      /* a name and : or = come before it */
	SAME_ROW = 64,   /* an alternative of the form before */
	FORM_SHORT = 128 /* its known prefix has three bytes */
};
enum { FORM_NAMED = 39 }; /* the first of them */

struct secret_form {
	const char *kind;
	char first[4]; /* its possible first bytes, if not NAMED; #: a digit */
	unsigned needs;
	const char *pattern; /* NULL: a private key; a key follows < if present; (~a|b) ignores case; ? before the rest:
	                        at most once; *: any number of times */
};

#define WORD "[A-Za-z0-9_-]"
#define ALNUM "[A-Za-z0-9]"
#define HEX "[0-9a-f]"
#define BASE64 "[A-Za-z0-9+/]"
#define FRONT "[A-Za-z0-9_-]{0,40}"
#define OWNER "(~app|client|api|access|auth|bot|secret|private|signing|encryption)"
#define QUOTES "[\\\"']{0,4}"
#define SEPARATOR QUOTES "[ ]{0,1}[:=][ ]{0,1}" QUOTES
#define TOKEN(least) "<[A-Za-z0-9_+/=~-]{" least ",}*." WORD "{8,}"

/* If places begin and end together, the first form wins. */
static const struct secret_form forms[] = {
    {"anthropic", "s", DIGIT, "sk-ant-" WORD "{20,}"},
    {"openai", "s", DIGIT, "sk-" WORD "{20,}"},
    {"github", "g", 0, "gh[pousr]_" ALNUM "{36,}"},
    {"github", "g", 0, "github_pat_[A-Za-z0-9_]{22,}"},
    {"gitlab", "g", 0, "gl(pat|dt|rt|cbt|ptt|soat|oas)-" WORD "{20,}?." ALNUM "{2}." ALNUM "{9}"},
    {"aws", "A", 0, "(AKIA|ASIA)[A-Z2-7]{16}"},
    {"google", "A", 0, "AIza" WORD "{35}"},
    {"google", "y", 0, "ya29." WORD "{20,}"},
    {"google", "A", DIGIT | FORM_SHORT, "AQ." WORD "{30,}"},
    {"google", "G", 0, "GOCSPX-" WORD "{28}"},
    {"slack", "x", DIGIT, "xox[abeoprs]-[A-Za-z0-9-]{10,}"},
    {"slack", "x", 0, "xapp-[0-9]-[A-Za-z0-9-]{20,}"},
    {"discord", "MNO", 0, "[MNO]" WORD "{23,27}." WORD "{6}." WORD "{27,38}"},
    {"telegram", "#", 0, "[0-9]{8,10}:AA" WORD "{33}"},
    {"telegram", "b", 0, "bot<[0-9]{8,10}:AA" WORD "{33}"},
    {"stripe", "s", 0, "sk_(live|test)_" ALNUM "{16,}"},
    {"stripe", "r", 0, "rk_(live|test)_" ALNUM "{16,}"},
    {"stripe", "w", 0, "whsec_" BASE64 "{32,}"},
    {"npm", "n", 0, "npm_" ALNUM "{36}"},
    {"pypi", "p", 0, "pypi-" WORD "{50,}"},
    {"huggingface", "h", 0, "hf_" ALNUM "{30,}"},
    {"groq", "g", 0, "gsk_" ALNUM "{40,}"},
    {"xai", "x", 0, "xai-" ALNUM "{40,}"},
    {"perplexity", "p", 0, "pplx-" ALNUM "{32,}"},
    {"nvidia", "n", 0, "nvapi-" WORD "{40,}"},
    {"tavily", "t", DIGIT, "tvly-" WORD "{20,}"},
    {"brave", "B", FORM_APART, "BSA" WORD "{27,28}"},
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
    {"bearer", "Bb", DIGIT | FORM_HIDDEN, "[Bb]earer <[A-Za-z0-9._~+/=-]{20,}"},
    {"basic", "Bb", DIGIT | FORM_HIDDEN, "[Bb]asic <[A-Za-z0-9+/=]{20,}"},
    [FORM_NAMED] = {"named", "", NAMED | DIGIT | FORM_HIDDEN,
                    FRONT OWNER "[_-]{0,1}(~secret|key|token)" SEPARATOR TOKEN("16")},
    {"named", "", NAMED | SAME_ROW | DIGIT | FORM_HIDDEN, FRONT "(~app)[_-]{0,1}(~password)" SEPARATOR TOKEN("16")},
    {"named", "", NAMED | DIGIT | FORM_HIDDEN,
     FRONT "(~password|passwd)" SEPARATOR "<[^\001-\040\"'\\,;<>(){}$*]{12,}"},
    {"named", "", NAMED | DIGIT | FORM_HIDDEN, "(~secret|token)" SEPARATOR TOKEN("20")},
    {"named", "-", DIGIT | FORM_HIDDEN,
     "--[a-z-]{0,20}(token|key|secret|password)[ =]" QUOTES "<[A-Za-z0-9_+/=~.-]{16,}"},
    {"url", ":", FORM_URL | FORM_HIDDEN, "://[A-Za-z0-9._%+~-]{0,100}:<[^\001-\040/@\"'\\:<>{}$*]{3,200}@[A-Za-z0-9[]"},
    {"private key", "-", FORM_HIDDEN | ENDS_LINES, NULL},
};
enum { FORMS = sizeof forms / sizeof *forms, FORM_SHOWN = 4, RUN = 13, NAME_BYTES_MAX = 60 };
_Static_assert(FORMS == FORM_NAMED + 7, "the forms before FORM_NAMED are complete");

/* Second bytes of forms that begin with a run; NULL: no form begins so. M, N and O can be followed by any byte. */
static const char *const seconds[] = {
    ['A'] = "KSIG", ['B'] = "S",  ['G'] = "O",    ['M'] = "",  ['N'] = "",   ['O'] = "",
    ['d'] = "o",    ['e'] = "y",  ['g'] = "hils", ['h'] = "f", ['l'] = "i",  ['n'] = "pvt",
    ['p'] = "yp",   ['r'] = "8k", ['s'] = "kh",   ['t'] = "v", ['x'] = "oa",
};

struct secret_finder {
	const char *from, *end;
	const char *free[FORMS];  /* the end of each form's last place: none begins inside it */
	const char *plain[FORMS]; /* the end of its last key without a digit: a key that begins inside has none */
	struct secrets *out;
};

static bool is_word(char c)
{
	return char_is_alnum(c) || c == '_' || c == '-';
}

/* --- patterns --------------------------------------------------------------------- */

/* The comparison of a text with a pattern. */
struct pattern {
	const char *end, *from; /* of the text; no key begins before `from` */
	const char *key;        /* where the key begins */
	bool is_free;           /* a word byte can follow */
};

static const char *match_pattern(struct pattern *m, const char *at, const char *p);

/* Matches one of the alternatives at `at`, then the pattern after them. */
static const char *match_alternatives(struct pattern *m, const char *at, const char *p)
{
	const char *found = NULL;
	const int ignored = at[1] == '~' ? 0x20 : 0;
	for (at += ignored != 0; *at != ')' && !found;) {
		const char *next = p;
		for (at++; *at != '|' && *at != ')' && next < m->end && (*next | ignored) == *at; at++)
			next++;
		if (*at == '|' || *at == ')')
			found = match_pattern(m, strchr(at, ')') + 1, next);
		while (*at != '|' && *at != ')')
			at++;
	}
	return found;
}

/* Matches bytes of a set: one, or {LEAST}, {LEAST,} or {LEAST,MOST} of them, as many as possible, then the pattern
 * after it. NUL is in no set. */
static const char *match_char_set(struct pattern *m, const char *at, const char *p)
{
	bool set[256], is_without = *++at == '^';
	size_t n = 0, least = 1, most = 1;
	const char *found = NULL;
	memset(set, is_without, sizeof set);
	for (at += is_without; *at != ']'; at++) {
		unsigned char low = (unsigned char)*at, high = low;
		if (at[1] == '-' && at[2] != ']')
			high = (unsigned char)*(at += 2);
		memset(set + low, !is_without, (size_t)(high - low) + 1);
	}
	set[0] = false;
	if (*++at == '{') {
		char *to;
		least = most = strtoul(at + 1, &to, 10);
		if (*to == ',')
			most = to[1] == '}' ? SIZE_MAX : strtoul(to + 1, &to, 10);
		at = strchr(to, '}') + 1;
	}
	while (n < most && p + n < m->end && set[(unsigned char)p[n]])
		n++;
	/* Fewer do not help if a byte follows that is not in the set. */
	if (n > least && *at && !strchr("[(<?*", *at) && !set[(unsigned char)*at])
		least = n;
	for (n++; n > least && !found; n--)
		found = match_pattern(m, at, p + n - 1);
	return found;
}

/* Returns the end of the text at p that matches the pattern, or NULL. */
static const char *match_pattern(struct pattern *m, const char *at, const char *p)
{
	const char *next;
	for (; *at && *at != '?' && *at != '*'; at++) {
		if (*at == '[')
			return match_char_set(m, at, p);
		if (*at == '(')
			return match_alternatives(m, at, p);
		if (*at == '<' ? p < m->from : p == m->end || *p != *at)
			return NULL;
		if (*at == '<')
			m->key = p;
		else
			p++;
	}
	while (*at && (next = match_pattern(m, at + 1, p))) {
		p = next;
		at += *at == '?' ? strlen(at) : 0;
	}
	return !m->is_free && p < m->end && is_word(*p) ? NULL : p;
}

/* The same for a private key, where \ is a backslash: -----BEGIN ([A-Z0-9]+ )*PRIVATE KEY( BLOCK)?-----, then the key,
 * (-{0,4}(\+[nrt]|[A-Za-z0-9+/=:,.()_ ]))*, if it has 16 adjacent bytes of base64. */
static const char *match_private_key(struct pattern *m, const char *p)
{
	const char *at = match_pattern(m, "-----BEGIN[A-Z0-9 ]{0,}( PRIVATE KEY| PRIVATE KEY BLOCK)-----", p),
		   *end = m->end;
	if (!at || p[10] != ' ' || memmem(p, (size_t)(at - p), "  ", 2))
		return NULL;
	m->key = at;
	size_t together = 0, most = 0;
	for (const char *next = at; next; at = next ? next : at) {
		const char *dash = at;
		while (at < end && *at == '-' && at - dash < 4)
			at++;
		const char *slash = at;
		while (at < end && *at == '\\')
			at++;
		bool is_base64 = at < end && (char_is_alnum(*at) || *at == '+' || *at == '/' || *at == '=');
		bool fits =
		    at < end && *at && (at > slash ? strchr("nrt", *at) != NULL : is_base64 || strchr(":,.()_ ", *at));
		together = !is_base64 ? 0 : at > dash ? 1 : together + 1;
		most = fits && together > most ? together : most;
		next = fits ? at + 1 : NULL;
		at = dash;
	}
	return most < 16 ? NULL : at;
}

/* --- places ----------------------------------------------------------------------- */

/* Adds the place of a form that begins at p, if it counts. */
static int find_secret_of_form(struct secret_finder *f, unsigned i, const char *p)
{
	const struct secret_form *form = &forms[i];
	unsigned row = i - (form->needs & SAME_ROW ? 1 : 0);
	struct pattern m = {f->end, f->plain[i], p, form->needs & (FORM_URL | ENDS_LINES)};
	if (p < f->free[row])
		return 0;
	const char *end = form->pattern ? match_pattern(&m, form->pattern, p) : match_private_key(&m, p);
	const char front = p > f->from ? p[-1] : ' ', after = end && end < f->end ? *end : ' ';
	if (!end || ((form->needs & FORM_APART) && (front == '+' || front == '/' || after == '+' || after == '/')))
		return 0;
	const char *key_end = end - (form->needs & FORM_URL ? strlen("@h") : 0), *digit = m.key;
	while (digit < key_end && !char_is_digit(*digit))
		digit++;
	if ((form->needs & DIGIT) && digit == key_end) {
		f->plain[i] = key_end;
		return 0;
	}
	f->free[row] = end;
	if (!vec_reserve(f->out, 1))
		return -ENOMEM;
	f->out->v[f->out->n++] = (struct secret){(size_t)(m.key - f->from), (size_t)(key_end - m.key), i};
	return 0;
}

/* Adds the places that begin at p: those with a name before : or =, or the others. A key can follow an escape of a line
 * end, also of JSON in JSON. */
static int find_secrets_at(struct secret_finder *f, const char *p, bool named)
{
	const char first = char_is_digit(*p) ? '#' : *p, front = p > f->from ? p[-1] : ' ';
	bool is_escape = p - f->from > 1 && p[-2] == '\\' && strchr("nrtbf", front),
	     is_inside = is_word(front) && !is_escape;
	int rc = 0;
	/* The letter of an escape is before a key, not part of it: JSON stays JSON. */
	size_t backslashes = 0;
	while (p - f->from > (ptrdiff_t)backslashes && p[-1 - (ptrdiff_t)backslashes] == '\\')
		backslashes++;
	for (unsigned i = named ? FORM_NAMED : 0; i < FORMS && rc == 0 && backslashes % 2 == 0; i++) {
		const struct secret_form *form = &forms[i];
		bool fits = named ? form->needs & NAMED
		                  : form->first[0] == first || form->first[1] == first || form->first[2] == first;
		if (fits && (!is_inside || (form->needs & FORM_URL)))
			rc = find_secret_of_form(f, i, p);
	}
	return rc;
}

/* The same for a run of word bytes at p: its first byte can be the letter of an escape. */
static int find_secrets_in_word(struct secret_finder *f, const char *p, bool named)
{
	int rc = find_secrets_at(f, p, named);
	return rc == 0 && p > f->from && p[-1] == '\\' ? find_secrets_at(f, p + 1, named) : rc;
}

/* Returns whether the n bytes before p end like the name of a key. Few do. */
static inline bool secret_name_ends(const char *p, size_t n)
{
	char end[4] = "";
	if (n < 3 || ((p[-2] | 0x20) != 'e' && (p[-1] | 0x20) != 'd'))
		return false;
	for (size_t i = 1; i <= sizeof end && i <= n; i++)
		end[sizeof end - i] = p[-(ptrdiff_t)i] | 0x20;
	return memcmp(end + 1, "key", 3) == 0 || memcmp(end, "oken", 4) == 0 || memcmp(end, "cret", 4) == 0 ||
	       memcmp(end, "word", 4) == 0 || memcmp(end, "sswd", 4) == 0;
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'' || c == '\\';
}

/* Searches for the name before the : or = at p. Its key begins one to six bytes after p, and has at least 12 bytes. */
static int find_named_secrets(struct secret_finder *f, const char *p)
{
	const char *end = p - (p > f->from && p[-1] == ' '), *first;
	for (int i = 0; i < 4 && end > f->from && is_quote(end[-1]); i++)
		end--;
	if (!secret_name_ends(end, (size_t)(end - f->from)))
		return 0;
	for (int i = 6; i <= 12; i++)
		if (f->end - p <= i || is_quote(p[i]) || p[i] == ' ')
			return 0;
	for (first = end; first > f->from && end - first < NAME_BYTES_MAX && is_word(first[-1]);)
		first--;
	return find_secrets_in_word(f, first, true);
}

/* Searches the run at p, which has at least RUN bytes. */
static int find_secrets_in_run(struct secret_finder *f, const char *p)
{
	size_t before = (size_t)(p - f->from);
	bool is_escape = before > 0 && p[-1] == '\\';
	int rc = 0;
	if (before > 2 && ((p[-1] == '.' && strchr("G9sbrQ", p[-2])) || (p[-1] == ':' && p[0] == 'A' && p[1] == 'A'))) {
		/* SG. ya29. hvs. hvb. hvr. AQ. and 0123456789:AA, perhaps after an escape of a line end */
		const char *first = p - 1;
		while (first > f->from && p - first <= 14 && is_word(first[-1]))
			first--;
		if (p[-1] == ':' || p - first <= 6)
			rc = find_secrets_in_word(f, first, false);
	}
	for (const char *at = p; rc == 0 && at <= p + is_escape; at++) {
		const char *second =
		    (unsigned char)*at < sizeof seconds / sizeof *seconds ? seconds[(unsigned char)*at] : NULL;
		if (!second)
			continue;
		bool may_begin = *second ? strchr(second, at[1]) != NULL : f->end - at > 28 && memchr(at + 24, '.', 5);
		if (may_begin)
			rc = find_secrets_at(f, at, false);
	}
	return rc;
}

/* --- candidates ------------------------------------------------------------------- */

enum { BLOCK = 64 };

/* Finds which of 64 bytes can be in a run, and where : or = is or two rare bytes begin. One more byte after them must
 * be readable. */
static void classify_block(const char *p, uint64_t *run, uint64_t *rare)
{
	*run = *rare = 0;
#pragma GCC unroll 4
	for (unsigned i = 0; i < BLOCK; i += 16) {
		bytes16 x = bytes16_load(p + i), y = bytes16_load(p + i + 1), dash = x == '-', blank = y == ' ';
		bytes16 word = bytes16_range(x | 0x20, 'a', 'z') | bytes16_range(x, '0', '9') | dash | (x == '_');
		*run |= (uint64_t)bytes16_mask(word) << i;
		*rare |= (uint64_t)bytes16_mask((x == ':') | (x == '=') | (dash & (y == '-')) | ((x == 'r') & blank) |
		                                ((x == 'c') & (blank | (y == '_'))))
		         << i;
	}
}

/* Searches at : and =, at the first of two -, and where the c of `whsec_` or `basic ` or the r of `bearer ` can be. */
static int find_rare_secrets(struct secret_finder *f, const char *p)
{
	const char *at = p;
	size_t back = *p == 'c' ? 4 : 5;
	int rc;
	switch (*p) {
	case ':':
	case '=':
		rc = find_named_secrets(f, p);
		return rc == 0 && *p == ':' && f->end - p > 1 && p[1] == '/' ? find_secrets_at(f, p, false) : rc;
	case '-': /* a private key, or a name up to a space or = */
		if (p > f->from && p[-1] == '-')
			return 0;
		while (at < f->end && at - p < NAME_BYTES_MAX && (*at == '-' || (*at >= 'a' && *at <= 'z')))
			at++;
		back = 0;
		if (at == f->end || (*at != 'B' && !secret_name_ends(at, (size_t)(at - p))))
			return 0;
	}
	return (size_t)(p - f->from) >= back && strchr("wBb-", p[-(ptrdiff_t)back])
	           ? find_secrets_at(f, p - back, false)
	           : 0;
}

static int find_all_secrets(struct secret_finder *f)
{
	/* Bytes of the previous block that end runs of 1, 2, 4, 8 and 13. */
	uint64_t one = 0, two = 0, four = 0, eight = 0, all = 0;
	char rest[BLOCK + 1] = {0};
	int rc = 0;
	for (const char *p = f->from; p < f->end && rc == 0; p += BLOCK) {
		uint64_t run, rare;
		bool is_last = f->end - p <= BLOCK;
		classify_block(is_last ? memcpy(rest, p, (size_t)(f->end - p)) : p, &run, &rare);
		uint64_t run2 = run & (run << 1 | one >> (BLOCK - 1));
		uint64_t run4 = run2 & (run2 << 2 | two >> (BLOCK - 2));
		uint64_t run8 = run4 & (run4 << 4 | four >> (BLOCK - 4));
		uint64_t run13 = run8 & (run8 << (RUN - 8) | eight >> (BLOCK - RUN + 8));
		uint64_t begun = run13 & ~(run13 << 1 | all >> (BLOCK - 1));
		one = run, two = run2, four = run4, eight = run8, all = run13;
		for (; begun && rc == 0; begun &= begun - 1)
			rc = find_secrets_in_run(f, p + __builtin_ctzll(begun) - (RUN - 1));
		for (; rare && rc == 0; rare &= rare - 1)
			rc = find_rare_secrets(f, p + __builtin_ctzll(rare));
	}
	return rc;
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
	struct secret_finder f = {.from = text.p, .end = text.p + text.n, .out = out};
	size_t first = out->n, kept = first;
	int rc = find_all_secrets(&f);

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

size_t secret_prefix_size(const struct secret *s)
{
	unsigned needs = forms[s->form].needs;

	return needs & FORM_HIDDEN ? 0 : needs & FORM_SHORT ? FORM_SHOWN - 1 : FORM_SHOWN;
}

struct span secret_hidden_part(const struct secret *s, const char *text, size_t from)
{
	const char *p = text + s->at + from, *end = text + s->at + s->n, *to = end;
	if (forms[s->form].needs & ENDS_LINES) {
		while (p < end && (*p == '\\' || p[-1] == '\\'))
			p++;
		to = memchr(p, '\\', (size_t)(end - p));
	}
	return (struct span){p, (size_t)((to ? to : end) - p)};
}
