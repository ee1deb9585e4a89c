/* Dates in text, as V8 reads them: Date.parse() takes ISO 8601, and nearly
 * anything else in which a day can be found, which ECMAScript leaves to the
 * engine. Only V8 itself says what that is, so this follows its parser
 * (src/date/dateparser-inl.h) step by step: a text is cut into tokens; what
 * begins like ISO 8601 has to go on like it once there is a T, and is otherwise
 * handed on to the older parser with what was read of it; that one puts each
 * number where it may belong, and passes over words before the first of them. */
#include "sessionfs/base/space.h"
#include "record_impl.h"

enum token_kind { TOKEN_END, TOKEN_BAD, TOKEN_NUMBER, TOKEN_SYMBOL, TOKEN_SPACE, TOKEN_WORD, TOKEN_OTHER };
enum word_kind { WORD_OTHER, WORD_MONTH, WORD_HALF_DAY, WORD_ZONE, WORD_T };

struct token {
	enum token_kind kind;
	enum word_kind word;
	int value;     /* of a number; of a word what it stands for; the symbol */
	size_t length; /* in bytes */
};

struct scanner {
	struct span rest;
	struct token next;
};

/* Slots that numbers fill in the order in which they come. */
struct slots {
	int n, v[4];
};

enum { DAY_SLOTS = 3, TIME_SLOTS = 4, UNSET = -1 };

struct reading {
	struct scanner in;
	struct slots day, time;
	int month;                  /* by name; or 0 */
	int half_day;               /* hours to add; or UNSET */
	int sign;                   /* of the zone; 0: there is none */
	int zone_hour, zone_minute; /* or UNSET */
	bool iso;
};

/* ---- tokens ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool between(int x, int low, int high)
{
	return x >= low && x <= high;
}

/* Only the first nine significant digits count. */
static struct token scan_number(struct span *s)
{
	struct token t = {.kind = TOKEN_NUMBER};
	int digits = 0;

	for (; t.length < s->n && is_digit(s->p[t.length]); t.length++) {
		if (t.value == 0 && digits == 0 && s->p[t.length] == '0')
			continue;
		if (digits++ < 9)
			t.value = t.value * 10 + (s->p[t.length] - '0');
	}
	return t;
}

/* The first three letters decide; only the name of a month may be longer. */
static void know_word(const char prefix[3], struct token *t)
{
	static const struct {
		char text[4];
		enum word_kind kind;
		int value;
	} words[] = {
	    {"jan", WORD_MONTH, 1},   {"feb", WORD_MONTH, 2},    {"mar", WORD_MONTH, 3},  {"apr", WORD_MONTH, 4},
	    {"may", WORD_MONTH, 5},   {"jun", WORD_MONTH, 6},    {"jul", WORD_MONTH, 7},  {"aug", WORD_MONTH, 8},
	    {"sep", WORD_MONTH, 9},   {"oct", WORD_MONTH, 10},   {"nov", WORD_MONTH, 11}, {"dec", WORD_MONTH, 12},
	    {"am", WORD_HALF_DAY, 0}, {"pm", WORD_HALF_DAY, 12}, {"ut", WORD_ZONE, 0},    {"utc", WORD_ZONE, 0},
	    {"z", WORD_ZONE, 0},      {"gmt", WORD_ZONE, 0},     {"cdt", WORD_ZONE, -5},  {"cst", WORD_ZONE, -6},
	    {"edt", WORD_ZONE, -4},   {"est", WORD_ZONE, -5},    {"mdt", WORD_ZONE, -6},  {"mst", WORD_ZONE, -7},
	    {"pdt", WORD_ZONE, -7},   {"pst", WORD_ZONE, -8},    {"t", WORD_T, 0},
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (memcmp(prefix, words[i].text, 3) != 0 || (t->length > 3 && words[i].kind != WORD_MONTH))
			continue;
		t->word = words[i].kind;
		t->value = words[i].value;
		return;
	}
}

/* U+2028 and U+2029: white space elsewhere, but here they are part of words. */
static bool is_separator(struct span s)
{
	return s.n >= 3 && memcmp(s.p, "\u2028", 2) == 0 && ((unsigned char)s.p[2] & 0xfe) == 0xa8;
}

/* Letters, all characters after Z in ASCII, and all beyond ASCII except white space. */
static bool is_word(struct span s)
{
	return s.n && (unsigned char)s.p[0] >= 'A' && (space_first(s) == 0 || is_separator(s));
}

static struct token scan_word(struct span s)
{
	struct token t = {.kind = TOKEN_WORD};
	char prefix[3] = "";

	for (; is_word((struct span){s.p + t.length, s.n - t.length}); t.length++)
		if (t.length < sizeof prefix)
			prefix[t.length] = (char)(s.p[t.length] | 0x20);
	know_word(prefix, &t);
	return t;
}

/* The length of a parenthesis with all that is in it; to the end of the text if it is not closed. */
static size_t parenthesis(struct span s)
{
	size_t i = 0;
	int depth = 0;

	do {
		depth += (s.p[i] == '(') - (s.p[i] == ')');
		i++;
	} while (depth > 0 && i < s.n && s.p[i]);
	return i;
}

static struct token scan(struct span *s)
{
	struct token t = {.kind = TOKEN_OTHER, .length = 1};

	if (s->n == 0 || !s->p[0])
		return (struct token){.kind = TOKEN_END};
	if (is_digit(s->p[0]))
		t = scan_number(s);
	else if (strchr(":-+.)", s->p[0]))
		t = (struct token){.kind = TOKEN_SYMBOL, .value = s->p[0], .length = 1};
	else if (is_word(*s))
		t = scan_word(*s);
	else if (space_first(*s))
		t = (struct token){.kind = TOKEN_SPACE, .length = space_first(*s)};
	else if (s->p[0] == '(')
		t.length = parenthesis(*s);
	*s = (struct span){s->p + t.length, s->n - t.length};
	return t;
}

static struct token take(struct scanner *in)
{
	struct token t = in->next;

	in->next = scan(&in->rest);
	return t;
}

static bool is_symbol(const struct token *t, char c)
{
	return t->kind == TOKEN_SYMBOL && t->value == c;
}

static bool is_sign(const struct token *t)
{
	return is_symbol(t, '+') || is_symbol(t, '-');
}

static bool is_digits(const struct token *t, size_t length)
{
	return t->kind == TOKEN_NUMBER && t->length == length;
}

static bool is_z(const struct token *t)
{
	return t->kind == TOKEN_WORD && t->word == WORD_ZONE && t->length == 1;
}

static bool skip(struct scanner *in, char c)
{
	if (!is_symbol(&in->next, c))
		return false;
	take(in);
	return true;
}

/* ---- what the numbers are ---- */

static bool add_number(struct slots *s, int room, int n)
{
	if (s->n == room)
		return false;
	s->v[s->n++] = n;
	return true;
}

/* Whether n can be the next part of a time that has begun. */
static bool expects_time(const struct slots *time, int n)
{
	return (between(time->n, 1, 2) && between(n, 0, 59)) || (time->n == 3 && between(n, 0, 999));
}

static bool expects_zone(const struct reading *r, int n)
{
	return r->zone_hour != UNSET && r->zone_minute == UNSET && between(n, 0, 59);
}

static void set_zone(struct reading *r, int sign, int hour, int minute)
{
	r->sign = sign;
	r->zone_hour = hour;
	r->zone_minute = minute;
}

/* The first three digits behind the point. */
static int milliseconds(struct token t)
{
	size_t length = t.length < 9 ? t.length : 9;
	int n = t.value;

	for (; length < 3; length++)
		n *= 10;
	for (; length > 3; length--)
		n /= 10;
	return n;
}

/* ---- ISO 8601 ---- */

static const struct token bad = {.kind = TOKEN_BAD};

static bool is_part(const struct token *t, int low, int high)
{
	return is_digits(t, 2) && between(t->value, low, high);
}

static bool iso_zone(struct reading *r)
{
	struct scanner *in = &r->in;

	if (is_z(&in->next)) {
		take(in);
		set_zone(r, 1, 0, 0);
		return true;
	}
	if (!is_sign(&in->next))
		return true;
	int sign = take(in).value == '-' ? -1 : 1;
	if (is_digits(&in->next, 4)) {
		int both = take(in).value;
		set_zone(r, sign, both / 100, both % 100);
		return r->zone_hour < 24 && r->zone_minute < 60;
	}
	if (!is_part(&in->next, 0, 23))
		return false;
	set_zone(r, sign, take(in).value, UNSET);
	if (!skip(in, ':') || !is_part(&in->next, 0, 59))
		return false;
	r->zone_minute = take(in).value;
	return true;
}

/* The time after the T. 24:00 is valid, later times of hour 24 are not. */
static bool iso_time(struct reading *r)
{
	struct scanner *in = &r->in;

	if (!is_part(&in->next, 0, 24))
		return false;
	bool midnight = in->next.value == 24;
	add_number(&r->time, TIME_SLOTS, take(in).value);
	if (!skip(in, ':') || !is_part(&in->next, 0, midnight ? 0 : 59))
		return false;
	add_number(&r->time, TIME_SLOTS, take(in).value);
	if (skip(in, ':')) {
		if (!is_part(&in->next, 0, midnight ? 0 : 59))
			return false;
		add_number(&r->time, TIME_SLOTS, take(in).value);
		if (skip(in, '.')) {
			if (in->next.kind != TOKEN_NUMBER || (midnight && in->next.value > 0))
				return false;
			add_number(&r->time, TIME_SLOTS, milliseconds(take(in)));
		}
	}
	return iso_zone(r) && in->next.kind == TOKEN_END;
}

/* Reads as much of a date as is ISO 8601. Returns the token after that: the end, a bad one, or one for the older
 * parser. */
static struct token iso_date(struct reading *r)
{
	struct scanner *in = &r->in;

	if (is_sign(&in->next)) {
		struct token sign = take(in);
		if (!is_digits(&in->next, 6))
			return sign;
		int year = take(in).value;
		if (sign.value == '-' && year == 0)
			return sign;
		add_number(&r->day, DAY_SLOTS, sign.value == '-' ? -year : year);
	} else if (is_digits(&in->next, 4)) {
		add_number(&r->day, DAY_SLOTS, take(in).value);
	} else {
		return take(in);
	}
	if (skip(in, '-')) {
		if (!is_part(&in->next, 1, 12))
			return take(in);
		add_number(&r->day, DAY_SLOTS, take(in).value);
		if (skip(in, '-')) {
			if (!is_part(&in->next, 1, 31))
				return take(in);
			add_number(&r->day, DAY_SLOTS, take(in).value);
		}
	}
	if (in->next.kind == TOKEN_WORD && in->next.word == WORD_T) {
		take(in);
		if (!iso_time(r))
			return bad;
	} else if (in->next.kind != TOKEN_END) {
		return take(in);
	} else {
		set_zone(r, 1, 0, 0); /* a day alone is one of UTC */
	}
	r->iso = true;
	return (struct token){.kind = TOKEN_END};
}

/* ---- anything else ---- */

static bool old_number(struct reading *r, int n)
{
	struct scanner *in = &r->in;

	if (skip(in, ':')) {
		if (skip(in, ':')) {
			if (r->time.n > 0)
				return false;
			add_number(&r->time, TIME_SLOTS, n);
			add_number(&r->time, TIME_SLOTS, 0);
			return true;
		}
		if (!add_number(&r->time, TIME_SLOTS, n))
			return false;
		skip(in, '.');
		return true;
	}
	if (skip(in, '.') && expects_time(&r->time, n)) {
		add_number(&r->time, TIME_SLOTS, n);
		if (in->next.kind != TOKEN_NUMBER)
			return false;
		int ms = milliseconds(take(in));
		while (add_number(&r->time, TIME_SLOTS, ms))
			ms = 0;
		return true;
	}
	if (expects_zone(r, n)) {
		r->zone_minute = n;
		return true;
	}
	if (expects_time(&r->time, n)) {
		while (add_number(&r->time, TIME_SLOTS, n))
			n = 0;
		enum token_kind next = in->next.kind;
		return next == TOKEN_END || next == TOKEN_SPACE || is_z(&in->next) || is_sign(&in->next);
	}
	if (!add_number(&r->day, DAY_SLOTS, n))
		return false;
	skip(in, '-');
	return true;
}

static bool old_word(struct reading *r, struct token t, bool had_number)
{
	if (t.word == WORD_HALF_DAY && r->time.n > 0) {
		r->half_day = t.value;
	} else if (t.word == WORD_MONTH) {
		r->month = t.value;
		skip(&r->in, '-');
	} else if (t.word == WORD_ZONE && had_number) {
		set_zone(r, t.value < 0 ? -1 : 1, t.value < 0 ? -t.value : t.value, 0);
	} else {
		return !had_number && r->in.next.kind != TOKEN_NUMBER;
	}
	return true;
}

/* An offset from UTC, behind a time or a zone: h, hh, hhmm, and hh: before minutes. */
static bool old_offset(struct reading *r, int sign)
{
	struct token t = {0};

	r->sign = sign;
	if (r->in.next.kind == TOKEN_NUMBER)
		t = take(&r->in);
	if (is_symbol(&r->in.next, ':'))
		set_zone(r, sign, t.value, UNSET);
	else if (t.length == 1 || t.length == 2)
		set_zone(r, sign, t.value, 0);
	else if (t.length == 3 || t.length == 4)
		set_zone(r, sign, t.value / 100, t.value % 100);
	else
		return false;
	return true;
}

static bool old_date(struct reading *r, struct token t)
{
	bool had_number = r->day.n > 0;

	for (; t.kind != TOKEN_END; t = take(&r->in)) {
		bool utc = r->zone_hour == 0 && r->zone_minute == 0;
		bool ok = true;
		if (t.kind == TOKEN_NUMBER) {
			had_number = true;
			ok = old_number(r, t.value);
		} else if (t.kind == TOKEN_WORD) {
			ok = old_word(r, t, had_number);
		} else if (is_sign(&t) && (utc || r->time.n > 0)) {
			had_number = true;
			ok = old_offset(r, t.value == '-' ? -1 : 1);
		} else if (is_sign(&t) || is_symbol(&t, ')')) {
			ok = !had_number;
		}
		if (!ok)
			return false;
	}
	return true;
}

/* ---- the result ---- */

static bool is_day(int n)
{
	return between(n, 1, 31);
}

static bool put_day(struct reading *r, struct date *ret)
{
	int *v = r->day.v;
	int month = r->month, first = v[0], year;

	if (r->day.n == 0)
		return false;
	while (add_number(&r->day, DAY_SLOTS, 1))
		;
	if (month) {
		ret->day = is_day(first) ? first : v[1];
		year = is_day(first) ? v[1] : first;
	} else {
		bool year_first = r->iso || !is_day(first);
		month = year_first ? v[1] : first;
		ret->day = year_first ? v[2] : v[1];
		year = year_first ? first : v[2];
	}
	if (!r->iso && between(year, 0, 99))
		year += year < 50 ? 2000 : 1900;
	ret->year = year;
	ret->month = month;
	return between(month, 1, 12) && is_day(ret->day);
}

static bool put_time(struct reading *r, struct date *ret)
{
	const int *v = r->time.v;

	while (add_number(&r->time, TIME_SLOTS, 0))
		;
	ret->hour = v[0];
	ret->minute = v[1];
	ret->second = v[2];
	ret->ms = v[3];
	if (r->half_day != UNSET) {
		if (!between(ret->hour, 0, 12))
			return false;
		ret->hour = ret->hour % 12 + r->half_day;
	}
	if (ret->hour == 24)
		return ret->minute == 0 && ret->second == 0 && ret->ms == 0;
	return between(ret->hour, 0, 23) && between(ret->minute, 0, 59) && between(ret->second, 0, 59) &&
	       between(ret->ms, 0, 999);
}

/* Offsets of any size are taken, in 32 bits. */
static bool put_zone(const struct reading *r, struct date *ret)
{
	uint32_t hours = r->zone_hour == UNSET ? 0 : (uint32_t)r->zone_hour;
	uint32_t minutes = r->zone_minute == UNSET ? 0 : (uint32_t)r->zone_minute;
	uint32_t seconds = hours * 3600 + minutes * 60;

	ret->local = r->sign == 0;
	ret->zone = r->sign * (int64_t)seconds;
	return seconds <= INT32_MAX;
}

bool record_date(struct span text, struct date *ret)
{
	struct reading r = {.in.rest = text, .half_day = UNSET, .zone_hour = UNSET, .zone_minute = UNSET};

	take(&r.in);
	struct token t = iso_date(&r);
	return t.kind != TOKEN_BAD && old_date(&r, t) && put_day(&r, ret) && put_time(&r, ret) && put_zone(&r, ret);
}
