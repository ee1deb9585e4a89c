/* SPDX-License-Identifier: MIT */
/* What a tool call did. The rules for edits are the rules of pi's own edit tool, which also accepts variants that
 * models send. Names of tools and arguments are pi's own and names found in published sessions: unused tools have no
 * row. */
#include "sessionfs/render/tool.h"

#include "sessionfs/base/number.h"
#include "sessionfs/base/utf8.h"

#include "diff.h"
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <strings.h>

#define FORM_COUNT(a) (sizeof(a) / sizeof *(a))

/* --- arguments -------------------------------------------------------------- */

enum key { PATH, OLD, NEW, EDITS, CONTENT, COMMAND, FIRST, LIMIT, LAST, KEYS };

/* clang-format off */
/* The names of each argument; the first one present counts. */
#define NAMES(X) \
	X("path", PATH) X("file_path", PATH) X("filePath", PATH) X("file", PATH) \
	X("oldText", OLD) X("old_string", OLD) X("oldString", OLD) X("old_text", OLD) \
	X("newText", NEW) X("new_string", NEW) X("newString", NEW) X("new_text", NEW) \
	X("edits", EDITS) X("content", CONTENT) X("command", COMMAND) \
	X("offset", FIRST) X("start_line", FIRST) X("limit", LIMIT) X("end_line", LAST)
/* clang-format on */
#define NAME(name, key) SPAN_LIT(name),
#define KEY(name, key) key,
static const struct span names[] = {NAMES(NAME)};
static const unsigned char keys[] = {NAMES(KEY)};
enum { COUNT_OF_NAMES = FORM_COUNT(names) };
_Static_assert(FORM_COUNT(names) <= 32, "tool_use.shown has a bit for each");

/* The arguments of a call, or of one edit of a call. */
struct arguments {
	struct json_value of[KEYS];
	unsigned taken[KEYS]; /* the bit of the name used */
	size_t members;
};

static bool argument_is_usable(enum key key, struct json_value v)
{
	double x;

	switch (key) {
	case EDITS:
		return v.kind >= JSON_STRING;
	case PATH:
		return v.kind == JSON_STRING && v.text.n > 0;
	case FIRST:
	case LIMIT:
	case LAST:
		return json_double(v, &x) && x >= 1 && x <= 1e9 && x == (double)(unsigned)x;
	default:
		return v.kind == JSON_STRING;
	}
}

/* Values other than objects have no arguments. */
static void arguments_parse(struct json_value object, struct arguments *ret)
{
	struct json_value found[COUNT_OF_NAMES] = {0}, key, v;
	struct buf deep CLEANUP_BUF = BUF_INIT;
	struct json j;

	*ret = (struct arguments){0};
	json_init(&j, object.text, &deep);
	if (object.kind != JSON_OBJECT || json_enter(&j) != JSON_OBJECT)
		return;
	for (; json_next(&j, &key) > 0 && json_value(&j, &v); ret->members++) {
		for (unsigned i = 0; i < COUNT_OF_NAMES; i++)
			if (key.escaped ? json_key_is(key, names[i].p) : span_eq(key.text, names[i]))
				found[i] = v;
	}
	for (unsigned i = 0; i < COUNT_OF_NAMES; i++) {
		enum key k = keys[i];
		if (!found[i].kind || ret->taken[k] || !argument_is_usable(k, found[i]))
			continue;
		ret->of[k] = found[i];
		ret->taken[k] = 1u << i;
	}
}

/* Returns whether the heading can show the path exactly. Otherwise the path is shown with the remaining arguments. */
static bool path_fits_on_line(struct json_value path)
{
	struct buf text CLEANUP_BUF = BUF_INIT;

	if (path.text.n > 6 * TOOL_PATH)
		return false;
	json_decode(path.text, JSON_CLEAN, &text);
	if (text.n == 0 || text.n > TOOL_PATH || text.p[0] == ' ' || text.p[text.n - 1] == ' ')
		return false;
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7f || (text.p[i] == ' ' && text.p[i + 1] == ' '))
			return false;
	return true;
}

static struct json_value argument_use(const struct arguments *a, enum key key, struct tool_use *u)
{
	if (key == PATH && !path_fits_on_line(a->of[PATH]))
		return a->of[PATH];

	u->shown_arguments |= a->taken[key];
	return a->of[key];
}

static unsigned argument_use_number(const struct arguments *a, enum key key, struct tool_use *u)
{
	double x = 0;

	json_double(argument_use(a, key, u), &x);
	return (unsigned)x;
}

/* Returns the JSON in a string, decoded into `text`; JSON_NONE if it has none. */
static struct json_value json_from_string(struct json_value string, struct buf *text)
{
	struct buf deep CLEANUP_BUF = BUF_INIT;
	struct json_value v = {.kind = JSON_NONE};
	struct json j;

	json_decode(string.text, JSON_CLEAN, text);
	json_init(&j, buf_span(text), &deep);
	if (buf_err(text) || !json_value(&j, &v) || !json_at_end(&j))
		v.kind = JSON_NONE;
	return v;
}

/* --- forms ------------------------------------------------------------------ */

/* Gets the two texts of an edit in `edits`. Returns false if it is not an edit. Clears *ret_whole if it has other
 * members. */
static bool edit_parse(struct json_value v, struct json_value *ret_old, struct json_value *ret_new, bool *ret_whole)
{
	struct arguments a;

	arguments_parse(v, &a);
	*ret_old = a.of[OLD];
	*ret_new = a.of[NEW];
	bool is_edit = a.taken[OLD] && a.taken[NEW];
	*ret_whole &= is_edit && a.members == 2;
	return is_edit;
}

static int edit_emit(struct json_value old_value, struct json_value new_value, tool_edit *fn, void *arg)
{
	struct buf old_text CLEANUP_BUF = BUF_INIT, new_text CLEANUP_BUF = BUF_INIT;

	json_decode(old_value.text, JSON_CLEAN, &old_text);
	json_decode(new_value.text, JSON_CLEAN, &new_text);
	int rc = buf_err(&old_text) ? buf_err(&old_text) : buf_err(&new_text);
	return rc < 0 ? rc : fn(arg, buf_span(&old_text), buf_span(&new_text));
}

/* Passes the edits of a list, or a single edit, to fn (NULL: counts them). Skips elements that are not edits. */
static int edits_for_each(struct json_value edits, tool_edit *fn, void *arg, size_t *ret_n, bool *ret_whole)
{
	struct buf deep CLEANUP_BUF = BUF_INIT;
	struct json_value v, old_text, new_text;
	bool is_list = edits.kind == JSON_ARRAY;
	struct json j;
	int rc = 0;

	json_init(&j, edits.text, &deep);
	if (is_list)
		json_enter(&j);
	for (*ret_n = 0; rc == 0 && (!is_list || json_next(&j, NULL) > 0) && json_value(&j, &v);) {
		if (edit_parse(v, &old_text, &new_text, ret_whole)) {
			++*ret_n;
			rc = fn ? edit_emit(old_text, new_text, fn, arg) : 0;
		}
		if (!is_list)
			break;
	}
	return rc;
}

static void arguments_use_edits(const struct arguments *a, struct tool_use *u)
{
	struct json_value v = a->of[EDITS];
	bool whole = true;
	size_t n;

	if (v.kind == JSON_STRING)
		v = json_from_string(v, &u->edits_text);
	if (v.kind != JSON_OBJECT && v.kind != JSON_ARRAY)
		return;
	edits_for_each(v, NULL, NULL, &n, &whole);
	if (n)
		u->edits = v;
	if (n && whole)
		u->shown_arguments |= a->taken[EDITS];
}

static enum tool_form parse_write_tool(const struct arguments *a, struct tool_use *u)
{
	u->path = argument_use(a, PATH, u);
	u->content = argument_use(a, CONTENT, u);
	return a->taken[PATH] || a->taken[CONTENT] ? TOOL_WRITE : TOOL_OTHER;
}

/* Some tools with these names expect the whole file, like a write. */
static enum tool_form parse_edit_tool(const struct arguments *a, struct tool_use *u)
{
	arguments_use_edits(a, u);
	if (a->taken[OLD] && a->taken[NEW]) {
		u->old_text = argument_use(a, OLD, u);
		u->new_text = argument_use(a, NEW, u);
	} else if (u->edits.kind == JSON_NONE && a->taken[CONTENT]) {
		return parse_write_tool(a, u);
	}
	u->path = argument_use(a, PATH, u);
	return u->edits.kind || u->old_text.kind || u->path.kind ? TOOL_EDIT : TOOL_OTHER;
}

static enum tool_form parse_read_tool(const struct arguments *a, struct tool_use *u)
{
	if (!a->taken[PATH])
		return TOOL_OTHER;
	u->path = argument_use(a, PATH, u);
	u->first = argument_use_number(a, FIRST, u);
	if (a->taken[LIMIT])
		u->last = (u->first ? u->first : 1) + argument_use_number(a, LIMIT, u) - 1;
	else
		u->last = argument_use_number(a, LAST, u);
	return TOOL_READ;
}

static enum tool_form parse_bash_tool(const struct arguments *a, struct tool_use *u)
{
	u->command = argument_use(a, COMMAND, u);
	return a->taken[COMMAND] ? TOOL_BASH : TOOL_OTHER;
}

typedef enum tool_form form_reader(const struct arguments *a, struct tool_use *u);

static form_reader *find_tool(struct json_value name)
{
	static form_reader *const of_files[] = {[FILE_NONE] = NULL,
	                                        [FILE_READ] = parse_read_tool,
	                                        [FILE_WRITE] = parse_write_tool,
	                                        [FILE_EDIT] = parse_edit_tool};
	static const char *const shells[] = {"bash", "exec", "shell_exec", "run_terminal"};

	for (size_t i = 0; i < FORM_COUNT(shells) && name.kind == JSON_STRING; i++)
		if (strlen(shells[i]) == name.text.n && strncasecmp(shells[i], name.text.p, name.text.n) == 0)
			return parse_bash_tool;
	return of_files[file_action_of(name)];
}

struct json_value tool_path(struct json_value arguments)
{
	struct arguments a;

	arguments_parse(arguments, &a);
	return a.of[PATH];
}

void tool_read(struct json_value name, struct json_value arguments, struct tool_use *ret)
{
	struct buf arguments_text = ret->arguments_text, edits_text = ret->edits_text;
	form_reader *form = find_tool(name);
	struct arguments a;

	*ret = (struct tool_use){.name = name, .arguments_text = arguments_text, .edits_text = edits_text};
	buf_reset(&ret->arguments_text);
	buf_reset(&ret->edits_text);
	ret->arguments = arguments;
	if (arguments.kind == JSON_STRING) {
		struct json_value v = json_from_string(arguments, &ret->arguments_text);
		ret->arguments = v.kind == JSON_OBJECT ? v : arguments;
	}
	if (!form || ret->arguments.kind != JSON_OBJECT)
		return;
	arguments_parse(ret->arguments, &a);
	ret->argument_count = a.members;
	ret->form = form(&a, ret);
	if (ret->form == TOOL_OTHER)
		ret->shown_arguments = 0;
}

void tool_release(struct tool_use *u)
{
	buf_release(&u->arguments_text);
	buf_release(&u->edits_text);
}

/* --- diff ------------------------------------------------------------------- */

int tool_edits(const struct tool_use *u, tool_edit *fn, void *arg)
{
	bool whole = true;
	size_t n;
	int rc = u->edits.kind ? edits_for_each(u->edits, fn, arg, &n, &whole) : 0;

	return rc == 0 && u->old_text.kind ? edit_emit(u->old_text, u->new_text, fn, arg) : rc;
}

struct tool_change {
	struct buf *out; /* or NULL */
	size_t start;
	unsigned added, removed;
	bool gap; /* lines are left out before the next one, or it belongs to another edit */
};

static void tool_add_change_line(void *arg, char sign, struct span line, size_t omitted)
{
	struct tool_change *c = arg;

	(void)omitted;
	c->added += sign == '+';
	c->removed += sign == '-';
	if (c->out && sign != '@') {
		buf_adds(c->out, c->gap && c->out->n > c->start ? "@@\n" : "");
		buf_addc(c->out, sign);
		buf_addspan(c->out, line);
		buf_addc(c->out, '\n');
	}
	c->gap = sign == '@';
}

static int tool_add_change(void *arg, struct span old_text, struct span new_text)
{
	return diff_texts(old_text, new_text, tool_add_change_line, arg);
}

int tool_diff(const struct tool_use *u, struct buf *out, unsigned *ret_added, unsigned *ret_removed)
{
	struct tool_change c = {.out = out, .start = out ? out->n : 0};
	int rc = u->form == TOOL_EDIT ? tool_edits(u, tool_add_change, &c) : 0;

	*ret_added = c.added;
	*ret_removed = c.removed;
	return rc < 0 || !out ? rc : buf_err(out);
}

/* --- the rest --------------------------------------------------------------- */

enum { FIELD_WORD_MAX = 40 };

/* Appends a number, true or false whose key is a word. */
static bool argument_as_field(struct json_value key, struct json_value v, struct buf *facts)
{
	bool is_word = key.text.n > 0 && key.text.n <= FIELD_WORD_MAX && !key.escaped;

	for (size_t i = 0; i < key.text.n && is_word; i++)
		is_word = isalnum((unsigned char)key.text.p[i]) || key.text.p[i] == '_';
	if (!is_word || v.kind < JSON_FALSE || v.kind > JSON_NUMBER || v.text.n > FIELD_WORD_MAX)
		return false;
	buf_adds(facts, " · ");
	buf_addspan(facts, key.text);
	buf_addc(facts, ' ');
	buf_addspan(facts, v.text);
	return true;
}

/* Appends a JSON object of the arguments that the form does not show. Short ones go into `facts`, unless that is NULL.
 */
static void add_remaining_arguments(const struct tool_use *u, struct buf *facts, struct buf *object)
{
	struct buf deep CLEANUP_BUF = BUF_INIT;
	struct json_value key, v;
	struct json j;

	json_init(&j, u->arguments.text, &deep);
	json_enter(&j);
	while (json_next(&j, &key) > 0 && json_value(&j, &v)) {
		bool shown = false;
		for (unsigned i = 0; i < COUNT_OF_NAMES; i++)
			shown |= u->shown_arguments & 1u << i && json_key_is(key, names[i].p);
		if (shown || (facts && argument_as_field(key, v, facts)))
			continue;
		buf_addc(object, object->n ? ',' : '{');
		buf_addspan(object, json_raw(key));
		buf_addc(object, ':');
		buf_addspan(object, json_raw(v));
	}
	if (object->n)
		buf_addc(object, '}');
}

void tool_add_remaining(const struct tool_use *u, struct buf *facts, struct buf *out)
{
	struct buf object CLEANUP_BUF = BUF_INIT;
	struct json_value v = u->arguments;
	size_t start = out->n;

	if ((size_t)__builtin_popcount(u->shown_arguments) == u->argument_count && u->shown_arguments)
		return;
	if (u->shown_arguments) {
		add_remaining_arguments(u, facts, &object);
		v = (struct json_value){object.n ? JSON_OBJECT : JSON_NONE, false, buf_span(&object)};
	}
	if (buf_err(&object)) {
		out->err = buf_err(&object);
	} else if (v.kind != JSON_NONE) {
		json_pretty(v, out);
		text_clean_from(out, start);
	}
}

/* --- summary ---------------------------------------------------------------- */

enum { NAME_CHARACTERS = 40, SUMMARY_CHARACTERS = 120 };

/* Appends a value on one line, with single spaces. */
static void tool_add_short(struct json_value v, size_t characters, struct buf *out)
{
	size_t start = out->n, n, units = 4 * characters;
	bool is_cut;

	/* Blanks can be most of the text. */
	do {
		out->n = n = start;
		text_add_prefix(v, units, out);
		is_cut = v.kind == JSON_STRING && v.text.n > 6 * units;
		units *= 8;
		text_make_line_from(out, start);
		for (size_t i = start; i < out->n; i++)
			if (out->p[i] != ' ' || out->p[i - 1] != ' ')
				out->p[n++] = out->p[i];
		out->n = n;
	} while (is_cut && utf8_count((struct span){out->p + start, n - start}) <= characters);
	text_shorten_from(out, start, characters);
}

void tool_add_line_range(const struct tool_use *u, struct buf *out)
{
	if (!u->first && !u->last)
		return;
	buf_addf(out, ":%u", u->first ? u->first : 1);
	if (u->last)
		buf_addf(out, "-%u", u->last);
}

static void tool_add_changes(const struct tool_use *u, struct buf *out)
{
	unsigned added, removed;
	int rc = tool_diff(u, NULL, &added, &removed);

	if (rc < 0)
		out->err = rc;
	if (added)
		buf_addf(out, " +%u", added);
	if (removed)
		buf_addf(out, " -%u", removed);
}

static void add_size(struct json_value content, struct buf *out)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	size_t n = 0;

	if (!content.kind)
		return;
	json_decode(content.text, JSON_CLEAN, &text);
	if (buf_err(&text))
		out->err = buf_err(&text);
	for (struct span rest = buf_span(&text), line; span_line(&rest, &line);)
		n++;
	buf_addf(out, n == 1 ? ", %zu line" : ", %zu lines", n);
}

/* Appends the texts among the arguments in their order, also those in lists. */
static void tool_add_texts(const struct tool_use *u, struct buf *out)
{
	struct buf deep CLEANUP_BUF = BUF_INIT;
	struct json_value key, v;
	size_t start = out->n;
	struct json j;
	int depth = 1;

	if (u->arguments.kind != JSON_OBJECT)
		return;
	json_init(&j, u->arguments.text, &deep);
	json_enter(&j);
	while (depth > 0 && out->n - start < SUMMARY_CHARACTERS && !buf_err(out)) {
		int rc = json_next(&j, depth == 1 ? &key : NULL);
		if (rc < 0)
			return;
		if (rc == 0) {
			depth--;
			continue;
		}
		if (depth == 1 && json_peek(&j) == JSON_ARRAY) {
			json_enter(&j);
			depth++;
			continue;
		}
		if (!json_value(&j, &v))
			return;
		if (v.kind != JSON_STRING)
			continue;
		buf_addc(out, ' ');
		tool_add_short(v, SUMMARY_CHARACTERS, out);
		out->n -= out->p && out->n > start && out->p[out->n - 1] == ' ';
	}
	if (out->n > start) /* after the blank */
		text_shorten_from(out, start + 1, SUMMARY_CHARACTERS - 1);
}

void tool_add_summary(const struct tool_use *u, struct buf *out)
{
	size_t start = out->n;

	tool_add_short(u->name, NAME_CHARACTERS, out);
	if (out->n == start)
		buf_adds(out, "no name");
	if (u->form == TOOL_OTHER) {
		tool_add_texts(u, out);
		return;
	}
	if (u->path.kind || u->command.kind) {
		buf_addc(out, ' ');
		tool_add_short(u->command.kind ? u->command : u->path, u->command.kind ? SUMMARY_CHARACTERS : TOOL_PATH,
		               out);
	}
	if (u->form == TOOL_READ)
		tool_add_line_range(u, out);
	else if (u->form == TOOL_WRITE)
		add_size(u->content, out);
	else
		tool_add_changes(u, out);
}
