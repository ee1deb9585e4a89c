/* SPDX-License-Identifier: MIT */
/* Keys are rare. So the first step finds places where one can begin, 64 bytes at a time. Nearly every form begins with
 * a run of at least 13 word bytes (the letters, digits, _ and - of base64url), or ends in one after a point or a colon.
 * The others have a rare pair of bytes, or a name before : or =. Only these places are compared with the forms:
 * patterns of literals, (a|b), [sets] and {counts}. Each part matches as much as it can, which is right because the
 * next part never begins with a byte that it matches. */
#include "sessionfs/base/secret.h"
#include "sessionfs/base/bytes.h"

#include <errno.h>
#include <string.h>

/* Further conditions on a key. */
enum {
	DIGIT = 1,         /* it has a digit */
	FORM_APART = 2,    /* no + or / before or after it */
	FORM_ANYWHERE = 4, /* any byte before or after it */
	FORM_HIDDEN = 8,   /* its start is secret */
	ENDS_LINES = 16,   /* its line ends are not secret */
	NAMED = 32         /* a name comes before it */
};

struct secret_form {
	const char *kind;
	char first[4]; /* its possible first bytes; #: a digit */
	unsigned needs;
	const char *pattern; /* NULL: a private key; < and > enclose the key, if present; of a NAMED form, another one,
	                        of the lower-case end of the name, and a NUL come first */
};

#define WORD "[A-Za-z0-9_-]"
#define ALNUM "[A-Za-z0-9]"
#define HEX "[0-9a-f]"
#define BASE64 "[A-Za-z0-9+/]"
#define TOKEN "[A-Za-z0-9_+/=~-]{16,}"
#define SEPARATOR "[:=][ ]{0,1}[\\\"']{0,4}"

/* If places begin and end together, the first form wins. */
static const struct secret_form forms[] = {
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
    {"named", ":=", NAMED | DIGIT | FORM_ANYWHERE | FORM_HIDDEN,
     "(app|client|api|access|auth|bot|secret|private|signing|encryption)[_-]{0,1}(secret|key|token)\0" SEPARATOR
     "<" TOKEN},
    {"named", ":=", NAMED | DIGIT | FORM_ANYWHERE | FORM_HIDDEN, "app[_-]{0,1}password\0" SEPARATOR "<" TOKEN},
    {"named", ":=", NAMED | DIGIT | FORM_ANYWHERE | FORM_HIDDEN,
     "passw(ord|d)\0" SEPARATOR "<[^\001-\040\"'\\,;<>(){}$*]{12,}"},
    {"url", ":", FORM_ANYWHERE | FORM_HIDDEN,
     "://[A-Za-z0-9._%+~-]{0,100}:<[^\001-\040/@\"'\\:<>{}$*]{3,200}>@[A-Za-z0-9[]"},
    {"private key", "-", FORM_HIDDEN | ENDS_LINES, NULL},
};
enum { FORMS = sizeof forms / sizeof *forms, FORM_SHOWN = 4, RUN = 13 };

/* Second bytes of forms that begin with a run; NULL: no form begins so. M, N and O can be followed by any byte. */
static const char *const seconds[] = {
    ['A'] = "KSIG", ['B'] = "S",  ['G'] = "O",    ['M'] = "",  ['N'] = "",   ['O'] = "",
    ['d'] = "o",    ['e'] = "y",  ['g'] = "hils", ['h'] = "f", ['l'] = "i",  ['n'] = "pvt",
    ['p'] = "yp",   ['r'] = "8k", ['s'] = "kh",   ['t'] = "v", ['x'] = "oa",
};

struct secret_finder {
	const char *from, *end;
	const char *free[FORMS]; /* the end of each form's last place: none begins inside it */
	struct secrets *out;
};

static bool is_decimal(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter_or_digit(char c)
{
	return (unsigned char)((c | 0x20) - 'a') < 26 || is_decimal(c);
}

static bool is_word(char c)
{
	return is_letter_or_digit(c) || c == '_' || c == '-';
}

/* --- patterns --------------------------------------------------------------------- */

/* Matches p with an alternative of the (a|b) at *at; returns the end of the match, or NULL. */
static const char *match_alternative(const char **at, const char *p, const char *end)
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

/* Matches bytes of a set: one, or {LEAST}, {LEAST,} or {LEAST,MOST} of them. At the end of a pattern, gives back last
 * bytes until the next byte is not a word byte. NUL is in no set. */
static const char *match_char_set(const char **at, const char *p, const char *end)
{
	bool set[256], is_without = *++*at == '^';
	size_t n = 0, least = 1, most = 1;
	memset(set, is_without, sizeof set);
	for (*at += is_without; **at != ']'; ++*at) {
		unsigned char low = (unsigned char)**at, high = low;
		if ((*at)[1] == '-' && (*at)[2] != ']')
			high = (unsigned char)*(*at += 2);
		memset(set + low, !is_without, (size_t)(high - low) + 1);
	}
	set[0] = false;
	if (*++*at == '{') {
		char *to;
		least = most = strtoul(*at + 1, &to, 10);
		if (*to == ',')
			most = to[1] == '}' ? SIZE_MAX : strtoul(to + 1, &to, 10);
		*at = strchr(to, '}') + 1;
	}
	while (n < most && p + n < end && set[(unsigned char)p[n]])
		n++;
	while (!**at && n > least && p + n < end && is_word(p[n]))
		n--;
	return n < least ? NULL : p + n;
}

/* Returns the end of the text at p that matches the pattern, up to `end`; or NULL. */
static const char *match_pattern(const char *at, const char *p, const char *end, const char **key, const char **key_end)
{
	*key = p;
	*key_end = NULL;
	while (*at && p) {
		if (*at == '[') {
			p = match_char_set(&at, p, end);
		} else if (*at == '(') {
			p = match_alternative(&at, p, end);
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

/* The same for a private key, where \ is a backslash: -----BEGIN ([A-Z0-9]+ )*PRIVATE KEY( BLOCK)?-----, then the key,
 * (-{0,4}(\+[nrt]|[A-Za-z0-9+/=:,.()_ ]))*, if it has 16 adjacent bytes of base64. */
static const char *match_private_key(const char *p, const char *end, const char **key, const char **key_end)
{
	static const struct span block = SPAN_LIT(" BLOCK"), name = SPAN_LIT(" PRIVATE KEY");
	const char *at = match_pattern("-----BEGIN [A-Z0-9 ]{11,}>-----<", p, end, key, key_end);
	struct span title = {p + 10, at ? (size_t)(*key_end - p - 10) : 0};
	if (title.n > block.n && memcmp(title.p + title.n - block.n, block.p, block.n) == 0)
		title.n -= block.n;
	if (title.n < name.n || memcmp(title.p + title.n - name.n, name.p, name.n) != 0 ||
	    memmem(title.p, title.n, "  ", 2))
		return NULL;
	size_t together = 0, most = 0;
	for (const char *next = at; next; at = next ? next : at) {
		const char *dash = at;
		while (at < end && *at == '-' && at - dash < 4)
			at++;
		const char *slash = at;
		while (at < end && *at == '\\')
			at++;
		bool is_base64 = at < end && (is_letter_or_digit(*at) || *at == '+' || *at == '/' || *at == '=');
		bool fits =
		    at < end && *at && (at > slash ? strchr("nrt", *at) != NULL : is_base64 || strchr(":,.()_ ", *at));
		together = !is_base64 ? 0 : at > dash ? 1 : together + 1;
		most = fits && together > most ? together : most;
		next = fits ? at + 1 : NULL;
		at = dash;
	}
	*key_end = at;
	return most < 16 ? NULL : at;
}

/* --- names ------------------------------------------------------------------------ */

/* Returns the end of the name before the : or = at p, or NULL if no form's name ends so: few words do. */
static const char *secret_name_end(const struct secret_finder *f, const char *p)
{
	p -= p > f->from && p[-1] == ' ';
	for (int i = 0; i < 4 && p > f->from && (p[-1] == '\\' || p[-1] == '"' || p[-1] == '\''); i++)
		p--;
	const int last = p - f->from < 2 ? 0 : p[-1] | 0x20, before = last ? p[-2] | 0x20 : 0;
	bool fits =
	    last == 'd' ? before == 'r' || before == 'w' : before == 'e' && (last == 't' || last == 'y' || last == 'n');
	return fits ? p : NULL;
}

/* Returns the beginning of the run before the : or = at p, if it ends with such a name, in either case, at most 40
 * bytes before it; or NULL. */
static const char *secret_take_name(const struct secret_finder *f, const char *pattern, const char *p)
{
	char small[64];
	const char *end = secret_name_end(f, p), *first = end, *key, *key_end;
	ptrdiff_t n, before = 0, slashes = 0;
	if (!end)
		return NULL;
	while (first > f->from && end - first < (ptrdiff_t)sizeof small && is_word(first[-1]))
		first--;
	n = end - first;
	for (ptrdiff_t i = 0; i < n; i++)
		small[i] = first[i] == '_' ? '_' : first[i] | 0x20;
	while (before < n && match_pattern(pattern, small + before, small + n, &key, &key_end) != small + n)
		before++;
	if (before == n)
		return NULL;
	while (first - f->from > slashes && first[-1 - slashes] == '\\')
		slashes++;
	/* The letter of an escape is before the name, not part of it. */
	bool is_escape = slashes > 0 && before > 0 && strchr("nrtbf", *first);
	if (is_escape && (slashes % 2 || before > 40))
		return before <= 41 ? first + 1 : NULL;
	return slashes % 2 || before > 40 ? NULL : first;
}

/* --- places ----------------------------------------------------------------------- */

/* Adds the places that begin at p, or after it if it is the : or = after a name. A key can follow an escape of a line
 * end, also of JSON in JSON. */
static int find_secrets_at(struct secret_finder *f, const char *p)
{
	const char first = is_decimal(*p) ? '#' : *p, front = p > f->from ? p[-1] : ' ';
	bool is_escape = p - f->from > 1 && p[-2] == '\\' && strchr("nrtbf", front),
	     is_inside = is_word(front) && !is_escape;
	/* The letter of an escape is before a key, not part of it: JSON stays JSON. */
	size_t backslashes = 0;
	while (p - f->from > (ptrdiff_t)backslashes && p[-1 - (ptrdiff_t)backslashes] == '\\')
		backslashes++;
	for (unsigned i = 0; i < FORMS; i++) {
		const struct secret_form *form = &forms[i];
		const char *key, *key_end;
		if ((form->first[0] != first && form->first[1] != first && form->first[2] != first) ||
		    (is_inside && !(form->needs & FORM_ANYWHERE)) || (backslashes % 2 && !(form->needs & NAMED)))
			continue;
		const char *pattern = form->pattern, *begin = p;
		if (form->needs & NAMED) {
			begin = secret_take_name(f, pattern, p);
			pattern += strlen(pattern) + 1;
		}
		if (!begin || begin < f->free[i])
			continue;
		const char *end = pattern ? match_pattern(pattern, p, f->end, &key, &key_end)
		                          : match_private_key(p, f->end, &key, &key_end);
		const char behind = end && end < f->end ? *end : ' ';
		if (!end || (is_word(behind) && !(form->needs & (FORM_ANYWHERE | ENDS_LINES))) ||
		    ((form->needs & FORM_APART) && (front == '+' || front == '/' || behind == '+' || behind == '/')))
			continue;
		const char *digit = key;
		while (digit < key_end && !is_decimal(*digit))
			digit++;
		if ((form->needs & DIGIT) && digit == key_end)
			continue;
		f->free[i] = end;
		if (!vec_reserve(f->out, 1))
			return -ENOMEM;
		f->out->v[f->out->n++] = (struct secret){(size_t)(key - f->from), (size_t)(key_end - key), i};
	}
	return 0;
}

/* Searches the run at p, which has at least RUN bytes. */
static int find_secrets_in_run(struct secret_finder *f, const char *p)
{
	size_t before = (size_t)(p - f->from);
	bool is_escape = before > 0 && p[-1] == '\\';
	int rc = 0;
	if (before > 2 && (p[-1] == '.' || (p[-1] == ':' && p[0] == 'A' && p[1] == 'A'))) {
		/* SG. ya29. hvs. hvb. hvr. and 0123456789:AA, perhaps after an escape of a line end */
		const char *first = p - 1;
		while (first > f->from && p - first <= 14 && is_word(first[-1]))
			first--;
		if (p[-1] == ':' || p - first <= 6)
			rc = find_secrets_at(f, first);
		if (rc == 0 && first > f->from && first[-1] == '\\')
			rc = find_secrets_at(f, first + 1);
	}
	for (const char *at = p; rc == 0 && at <= p + is_escape; at++) {
		const char *second =
		    (unsigned char)*at < sizeof seconds / sizeof *seconds ? seconds[(unsigned char)*at] : NULL;
		if (!second)
			continue;
		bool may_begin = *second ? strchr(second, at[1]) != NULL : f->end - at > 28 && memchr(at + 24, '.', 5);
		if (may_begin)
			rc = find_secrets_at(f, at);
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
#define PAIR(a, b) ((x == (a)) & (y == (b)))
	for (unsigned i = 0; i < BLOCK; i += 16) {
		bytes16 x = bytes16_load(p + i), y = bytes16_load(p + i + 1);
		bytes16 word = bytes16_range(x | 0x20, 'a', 'z') | bytes16_range(x, '0', '9') | (x == '-') | (x == '_');
		*run |= (uint64_t)bytes16_mask(word) << i;
		*rare |=
		    (uint64_t)bytes16_mask((x == ':') | (x == '=') | PAIR('c', '_') | PAIR('r', ' ') | PAIR('-', 'B'))
		    << i;
	}
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
		for (; rare && rc == 0; rare &= rare - 1) {
			const char *at = p + __builtin_ctzll(rare);
			bool is_separator = *at == ':' || *at == '=', is_url = f->end - at > 1 && at[1] == '/';
			if (is_separator && !is_url && !secret_name_end(f, at))
				continue;
			/* The first byte of :// = whsec_ Bearer and -----BEGIN */
			size_t back = is_separator ? 0 : *at == 'r' ? 5 : 4;
			if ((size_t)(at - f->from) >= back && strchr(":=wBb-", at[-(ptrdiff_t)back]))
				rc = find_secrets_at(f, at - back);
		}
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
	return forms[s->form].needs & FORM_HIDDEN ? 0 : FORM_SHOWN;
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
