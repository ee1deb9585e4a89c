/* SPDX-License-Identifier: MIT */
/* One table has, for every option, its spelling, the actions it is for, the field it sets, its default and its line in
 * the usage text.
 *
 * getopt is not enough: -o lists need splitting anyway, options can follow the operands (mount(8) puts them there), and
 * unknown words in a list are passed to libfuse, which checks them. Words that mount(8), systemd and fstab put into a
 * list for themselves are dropped, because libfuse would refuse the mount. */
#include "sessionfs/cmd/opts.h"
#include "sessionfs/base/log.h"
#include "sessionfs/find/match.h"

#include <limits.h>
#include <string.h>

enum value {
	FLAG,   /* bool; no argument */
	CLEAR,  /* bool, set to false */
	ACTION, /* enum opts_action; the argument, if any, is the target; options can precede it */
	TEXT,   /* const char * */
	SIZE,   /* size_t with a K, M or G */
	COUNT,  /* unsigned */
	PERIOD, /* unsigned, in ms; written in seconds, with an optional fraction; not 0 */
	CHOICE, /* unsigned: an index of `choices` */
	REFUSE, /* refused with the help text as the reason */
};

struct option {
	char letter;          /* -f, or 0 */
	const char *in_list;  /* -o NAME, or NULL */
	const char *name;     /* --NAME, or NULL */
	const char *argument; /* its name in the usage text; NULL: none */
	enum value value;
	unsigned of;                /* the actions it is for, as a set; of an ACTION, that one */
	size_t at;                  /* the field; of an ACTION, for its last operand; 0: none */
	const char *bare;           /* the argument if it is omitted; NULL: one is required */
	const char *standard;       /* the default, as a user writes it; NULL: zero, or of an ACTION, one is required */
	const char *help;           /* NULL: not in the usage text */
	const char *const *choices; /* the last one is NULL */
	const char *without[2];     /* the names of options with which it has no effect */
};

#define FIELD(f) .at = offsetof(struct opts, f)

/* Sets of actions; OF_TREE: all that show the tree. */
#define OF(action) (1u << OPTS_##action)
#define OF_TREE (OF(MOUNT) | OF(CAT) | OF(LS) | OF(TREE) | OF(COPY) | OF(SEARCH) | OF(SECRETS) | OF(EVENTS))

static const char *const levels[] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARNING] = "warning",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug",
    NULL,
};

static const char *const colors[] = {
    [OPTS_COLOR_AUTO] = "auto",
    [OPTS_COLOR_ALWAYS] = "always",
    [OPTS_COLOR_NEVER] = "never",
    NULL,
};

static const struct option options[] = {
    {.value = ACTION, .of = OF(MOUNT), FIELD(target)},
    {0, "ro", "ro", NULL, FLAG, OF_TREE, FIELD(read_only), .help = "mount read-only (faster)"},
    {0, "redact", "redact", NULL, FLAG, OF_TREE | OF(PICK), FIELD(redact),
     .help = "mask likely keys with * (implies ro)"},
    {0, "rw", NULL, NULL, CLEAR, OF_TREE, FIELD(read_only)},
    {0, "allow_other", "allow-other", NULL, FLAG, OF(MOUNT), FIELD(allow_other),
     .help = "let other users in, as the modes allow"},
    {0, "allow_root", NULL, NULL, FLAG, OF(MOUNT), FIELD(allow_root), .help = "let only root in"},
    {0, "default_permissions", NULL, NULL, FLAG, OF(MOUNT), FIELD(default_permissions)},
    {0, "nonempty", NULL, NULL, FLAG, OF(MOUNT), FIELD(nonempty), .help = "mount on a directory that is not empty"},
    {0, "cache", "cache", "SIZE", SIZE, OF_TREE, FIELD(cache), .standard = "96M", .help = "memory limit, in K, M or G"},
    {0, "loglevel", "log-level", "LEVEL", CHOICE, OF_TREE | OF(CHECK), FIELD(log_level), .choices = levels,
     .standard = "warning", .help = "error, warning, info, debug"},
    {0, "poll", "poll", "SECONDS", PERIOD, OF(MOUNT) | OF(EVENTS), FIELD(poll_ms), .bare = "1",
     .help = "poll the source, do not use inotify"},
    {'f', NULL, "foreground", NULL, FLAG, OF(MOUNT), FIELD(foreground), .help = "stay in the foreground"},
    {'d', "debug", "debug", NULL, FLAG, OF(MOUNT), FIELD(debug), .help = "print all requests (implies -f)"},
    {'s', NULL, "single-thread", NULL, FLAG, OF(MOUNT), FIELD(single_thread), .help = "handle one request at a time"},
    {0, "max_threads", "max-threads", "N", COUNT, OF(MOUNT), FIELD(max_threads), .standard = "128",
     .help = "requests handled at once"},
    {0, "max_read", NULL, "N", REFUSE, .help = "only the kernel can choose this; leave it out"},
    {0, "remount", NULL, NULL, REFUSE, .help = "cannot change a mount; unmount and mount again"},
    {'S', NULL, "source", "SOURCE", TEXT, OF_TREE | OF(CHECK) | OF(PICK), FIELD(source),
     .help = "the directory of session files"},
    {0, NULL, "cat", "PATH", ACTION, OF(CAT), .help = "print a file of the tree"},
    {0, NULL, "ls", "PATH", ACTION, OF(LS), .standard = "/", .help = "list a directory of the tree"},
    {0, NULL, "json", NULL, FLAG, OF(LS) | OF(SEARCH), FIELD(json), .help = "print JSON (with --ls, --search)"},
    {0, NULL, "names", NULL, FLAG, OF(LS), FIELD(names), .help = "print names only (with --ls)", .without = {"json"}},
    {0, NULL, "tree", "PATH", ACTION, OF(TREE), .help = "list everything below a directory"},
    {0, NULL, "copy", "PATH", ACTION, OF(COPY), FIELD(to), .help = "write a part of the tree to DIR"},
    {0, NULL, "delete", NULL, FLAG, OF(COPY), FIELD(copy_deletes), .help = "remove other files (with --copy)"},
    {0, NULL, "search", "QUERY", ACTION, OF(SEARCH), .help = "print matching lines of all sessions"},
    {0, NULL, "entries", NULL, FLAG, OF(SEARCH), FIELD(entries), .help = "print a row per entry (with --search)",
     .without = {"json"}},
    {'m', NULL, NULL, "N", COUNT, OF(SEARCH), FIELD(lines), .standard = "3", .help = "lines per entry (with --search)",
     .without = {"json", "entries"}},
    {0, NULL, "limit", "N", COUNT, OF(SEARCH), FIELD(limit), .help = "max entries (with --search); 0: all"},
    {0, NULL, "root", "DIR", TEXT, OF(SEARCH), FIELD(root), .help = "prefix of each path (with --search)"},
    {0, NULL, "color", "WHEN", CHOICE, OF(CAT) | OF(SEARCH), FIELD(color), .choices = colors, .bare = "always",
     .standard = "auto", .help = "auto, always or never"},
    {0, NULL, "pick", "QUERY", ACTION, OF(PICK), .bare = "", .help = "choose a session and continue it in pi"},
    {0, NULL, "check", NULL, ACTION, OF(CHECK), FIELD(source), .help = "report problems of all session files"},
    {0, NULL, "secrets", NULL, ACTION, OF(SECRETS), .help = "print a table of likely keys"},
    {0, NULL, "repair", "FILE", ACTION, OF(REPAIR), .help = "print a damaged session so that pi can open it"},
    {0, NULL, "events", NULL, ACTION, OF(EVENTS), .help = "print a JSON line for each change"},
    {'u', NULL, "unmount", NULL, ACTION, OF(UNMOUNT), FIELD(target), .help = "unmount MOUNTPOINT, or your only mount"},
    {'h', NULL, "help", NULL, ACTION, OF(HELP), .help = "print this text"},
    {'V', NULL, "version", NULL, ACTION, OF(VERSION), .help = "print the version"},
};

#define UNKNOWN_OPTION "unknown option; see sessionfs --help"
#define N_OPTIONS (sizeof options / sizeof *options)

/* Words for mount(8), systemd and fstab only, or for libfuse's own loop, which src/fuse/loop.c replaces. A word that
 * ends in `*` is a prefix. */
static const char *const not_ours[] = {
    "defaults",    "relatime",      "norelatime",
    "strictatime", "nostrictatime", "diratime",
    "nodiratime",  "lazytime",      "nolazytime",
    "auto",        "noauto",        "nofail",
    "_netdev",     "user",          "user=*",
    "nouser",      "users",         "nousers",
    "owner",       "noowner",       "group",
    "nogroup",     "mand",          "nomand",
    "iversion",    "noiversion",    "silent",
    "loud",        "comment=*",     "x-*",
    "X-*",         "clone_fd",      "max_idle_threads=*",
};

struct opts_parser {
	struct opts *o;
	struct buf *why;
	bool has_action, from_mount;
	struct span written[N_OPTIONS]; /* each option as the user wrote it, {NULL, 0} if not */
	struct span not_ours;           /* the first such item of a list */
	const char *pending_action;     /* the word of an action that lacks its target, or NULL */
	unsigned operands;
	const char *operand[2];
};

static int opts_fail(struct opts_parser *p, struct span option, const char *reason)
{
	buf_addspan(p->why, option);
	buf_addf(p->why, ": %s", reason);
	return -EINVAL;
}

static int opts_fail_missing(struct opts_parser *p, struct span option, const char *argument)
{
	buf_addspan(p->why, option);
	buf_addf(p->why, ": requires a value, %s; see sessionfs --help", argument);
	return -EINVAL;
}

static bool parse_count(struct span text, uint64_t *ret)
{
	uint64_t n = 0;
	for (size_t i = 0; i < text.n; i++) {
		unsigned digit = (unsigned)(text.p[i] - '0');
		if (digit > 9 || n > (UINT64_MAX - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*ret = n;
	return text.n > 0;
}

static bool parse_size(struct span text, size_t *ret)
{
	static const char units[] = "KMGkmg";
	const char *unit = text.n ? memchr(units, text.p[text.n - 1], sizeof units - 1) : NULL;
	unsigned shift = unit ? 10 * (unsigned)((unit - units) % 3 + 1) : 0;
	uint64_t n;
	text.n -= unit != NULL;
	if (!parse_count(text, &n) || n > SIZE_MAX >> shift)
		return false;
	*ret = (size_t)n << shift;
	return true;
}

/* Digits, optionally with a point and more digits. Ignores fractions of a millisecond. */
static bool parse_seconds(struct span text, unsigned *ret)
{
	const char *point = memchr(text.p, '.', text.n);
	struct span whole = {text.p, point ? (size_t)(point - text.p) : text.n};
	uint64_t seconds, ignored, ms = 0;
	if (!parse_count(whole, &seconds) || seconds >= UINT_MAX / 1000)
		return false;
	if (point) {
		struct span fraction = {point + 1, text.n - whole.n - 1};
		if (!parse_count(fraction, &ignored))
			return false;
		for (size_t i = 0; i < 3; i++)
			ms = ms * 10 + (i < fraction.n ? (unsigned)(fraction.p[i] - '0') : 0);
	}
	*ret = (unsigned)(seconds * 1000 + ms);
	return *ret > 0;
}

static int opts_set_choice(struct opts_parser *p, const struct option *option, struct span written,
                           struct span argument)
{
	for (unsigned i = 0; option->choices[i]; i++) {
		if (span_is(argument, option->choices[i])) {
			*(unsigned *)(void *)((char *)p->o + option->at) = i;
			return 0;
		}
	}
	opts_fail(p, written, "not one of");
	for (unsigned i = 0; option->choices[i]; i++)
		buf_addf(p->why, "%s %s", i ? "," : "", option->choices[i]);
	return -EINVAL;
}

static int opts_set_action(struct opts_parser *p, const struct option *option, struct span written, const char *target)
{
	/* -h and -V override all other actions, in any order. */
	const unsigned first = OF(HELP) | OF(VERSION);
	if (1u << p->o->action & first)
		return 0;
	if (p->has_action && !(option->of & first))
		return opts_fail(p, written, "only one command at a time; see sessionfs --help");
	p->has_action = true;
	p->o->action = (enum opts_action)__builtin_ctz(option->of);
	p->o->target = target;
	return 0;
}

/* A TEXT or ACTION argument must end where its argv string ends: the options point to it. */
static int opts_apply(struct opts_parser *p, const struct option *option, struct span written, struct span argument)
{
	char *field = (char *)p->o + option->at;
	uint64_t n;

	p->written[option - options] = written;
	switch (option->value) {
	case FLAG:
	case CLEAR:
		*(bool *)field = option->value == FLAG;
		return 0;
	case ACTION:
		return opts_set_action(p, option, written, argument.p);
	case TEXT:
		*(const char **)(void *)field = argument.p;
		return 0;
	case SIZE:
		return parse_size(argument, (size_t *)(void *)field)
		           ? 0
		           : opts_fail(p, written, "not a size; write a number, with K, M or G");
	case COUNT:
		if (!parse_count(argument, &n) || n >= UINT_MAX)
			return opts_fail(p, written, "not a number; write only digits");
		*(unsigned *)(void *)field = (unsigned)n;
		return 0;
	case PERIOD:
		return parse_seconds(argument, (unsigned *)(void *)field)
		           ? 0
		           : opts_fail(p, written, "not a number of seconds above 0");
	case CHOICE:
		return opts_set_choice(p, option, written, argument);
	case REFUSE:
		break;
	}
	return opts_fail(p, written, option->help);
}

static bool opts_is_for_mount(struct span item)
{
	for (size_t i = 0; i < sizeof not_ours / sizeof *not_ours; i++) {
		const char *star = strchr(not_ours[i], '*');
		size_t n = star ? (size_t)(star - not_ours[i]) : strlen(not_ours[i]);
		if ((star ? item.n >= n : item.n == n) && memcmp(item.p, not_ours[i], n) == 0)
			return true;
	}
	return false;
}

/* Splits NAME=ARGUMENT. Returns {NULL, 0} without a `=`. */
static struct span opts_split_argument(struct span *item)
{
	const char *equals = memchr(item->p, '=', item->n);
	if (!equals)
		return (struct span){NULL, 0};
	struct span argument = {equals + 1, item->n - (size_t)(equals + 1 - item->p)};
	item->n = (size_t)(equals - item->p);
	return argument;
}

static int opts_parse_item(struct opts_parser *p, struct span item)
{
	struct span name = item, argument = opts_split_argument(&name);
	for (size_t i = 0; i < N_OPTIONS; i++) {
		const struct option *option = &options[i];
		if (!option->in_list || !span_is(name, option->in_list))
			continue;
		if (option->bare && !argument.p)
			argument = span_of(option->bare);
		if (!option->argument != !argument.p)
			return option->argument ? opts_fail_missing(p, item, option->argument)
			                        : opts_fail(p, item, "takes no value");
		return opts_apply(p, option, item, argument);
	}
	if (!p->not_ours.n)
		p->not_ours = item;
	if (item.n == 0 || opts_is_for_mount(item))
		return 0;
	if (p->o->fuse.n)
		buf_addc(&p->o->fuse, ',');
	buf_addspan(&p->o->fuse, item);
	return 0;
}

static bool list_has(const char *list, const char *word)
{
	for (size_t n; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (span_is((struct span){list, n}, word))
			return true;
	}
	return false;
}

/* As in libfuse, a backslash makes the next comma part of the value. libfuse gets both as written.
 *
 * mount(8) puts rw before the user's options, also if none of them is rw. mount.fuse passes that on; in its lists are
 * dev and suid, or their opposites. */
static int opts_parse_list(struct opts_parser *p, const char *list)
{
	bool from_mount = p->from_mount || ((list_has(list, "dev") || list_has(list, "nodev")) &&
	                                    (list_has(list, "suid") || list_has(list, "nosuid")));
	const char *item = list + (from_mount && strncmp(list, "rw,", 3) == 0 ? 3 : 0);
	for (const char *at = item;; at++) {
		if (*at == '\\' && at[1]) {
			at++;
		} else if (*at == ',' || !*at) {
			int rc = opts_parse_item(p, (struct span){item, (size_t)(at - item)});
			if (rc || !*at)
				return rc;
			item = at + 1;
		}
	}
}

static int opts_parse_long(struct opts_parser *p, const char *word, const char *next, int *used)
{
	struct span name = span_of(word + 2), argument = opts_split_argument(&name);
	for (size_t i = 0; i < N_OPTIONS; i++) {
		const struct option *option = &options[i];
		if (!option->name || !span_is(name, option->name))
			continue;
		if (!option->argument && argument.p)
			return opts_fail(p, span_of(word), "takes no value");
		if (option->argument && !argument.p && option->value == ACTION)
			p->pending_action = word;
		if (option->bare && !argument.p) {
			/* The next word is an operand, although it can look like the value. */
			const size_t n = p->why->n;
			if (next && option->value != ACTION && !opts_apply(p, option, span_of(word), span_of(next))) {
				buf_addf(p->why, "%s %s: a value requires =; write %s=%s", word, next, word, next);
				return -EINVAL;
			}
			p->why->n = n;
			argument = span_of(option->bare);
		} else if (option->argument && !argument.p && option->value != ACTION) {
			if (!next)
				return opts_fail_missing(p, span_of(word), option->argument);
			argument = span_of(next);
			*used = 2;
		}
		return opts_apply(p, option, span_of(word), argument);
	}
	return opts_fail(p, span_of(word), UNKNOWN_OPTION);
}

/* Letters can be joined (-fd). The argument of a letter is the rest of the word, or the next word. */
static int opts_parse_letters(struct opts_parser *p, const char *word, const char *next, int *used)
{
	for (const char *at = word + 1; *at; at++) {
		if (p->from_mount && strchr("fnsv", *at))
			continue;
		bool drop = p->from_mount && *at == 't';
		bool list = *at == 'o';
		const struct option *option = NULL;
		for (size_t i = 0; !drop && !list && !option && i < N_OPTIONS; i++)
			option = options[i].letter == *at ? &options[i] : NULL;
		struct span written = {at, 1};
		if (!option && !drop && !list) {
			buf_addc(p->why, '-');
			return opts_fail(p, written, UNKNOWN_OPTION);
		}
		if (option && !option->argument) {
			int rc = opts_apply(p, option, span_of(word), (struct span){NULL, 0});
			if (rc)
				return rc;
			continue;
		}
		const char *argument = at[1] ? at + 1 : next;
		if (!argument)
			return opts_fail_missing(p, span_of(word), option ? option->argument : "OPTIONS");
		*used = at[1] ? 1 : 2;
		if (drop)
			return 0;
		return list ? opts_parse_list(p, argument) : opts_apply(p, option, span_of(word), span_of(argument));
	}
	return 0;
}

static int opts_parse_operand(struct opts_parser *p, const char *word)
{
	if (p->pending_action) {
		p->o->target = word;
		p->pending_action = NULL;
		return 0;
	}
	if (!*word)
		return buf_adds(p->why, "an empty word; name a directory"), -EINVAL;
	if (p->operands == 2)
		return opts_fail(p, span_of(word), "one operand too many; see sessionfs --help");
	p->operand[p->operands++] = word;
	return 0;
}

static int opts_parse_words(struct opts_parser *p, int argc, char *const argv[])
{
	bool only_operands = false;
	for (int i = 1, used; i < argc; i += used) {
		const char *word = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
		int rc = 0;
		used = 1;
		if (only_operands || word[0] != '-' || !word[1])
			rc = opts_parse_operand(p, word);
		else if (strcmp(word, "--") == 0)
			only_operands = true;
		else if (word[1] == '-')
			rc = opts_parse_long(p, word, next, &used);
		else
			rc = opts_parse_letters(p, word, next, &used);
		if (rc)
			return rc;
	}
	return 0;
}

/* Fails if an option is written with which the ith one has no effect. */
static int opts_check_without(struct opts_parser *p, size_t i)
{
	for (size_t j = 0; j < 2 * N_OPTIONS; j++) {
		const char *other = options[i].without[j % 2], *name = options[j / 2].name;
		if (!other || !name || !p->written[j / 2].n || strcmp(name, other) != 0)
			continue;
		opts_fail(p, p->written[i], "has no effect with --");
		buf_adds(p->why, other);
		return -EINVAL;
	}
	return 0;
}

/* An option that the action does not use must not be dropped: the user expects its effect. */
static int opts_check_uses(struct opts_parser *p)
{
	struct opts *o = p->o;
	for (size_t i = 0; i < N_OPTIONS; i++) {
		unsigned left = options[i].of;
		if (!p->written[i].n || options[i].value == ACTION)
			continue;
		if (options[i].value == CLEAR && o->redact)
			return opts_fail(p, p->written[i], "redact is read-only; leave out one of them");
		if (left & 1u << o->action) {
			if (opts_check_without(p, i) < 0)
				return -EINVAL;
			continue;
		}
		opts_fail(p, p->written[i], "requires ");
		for (const struct option *a = options; left; a++) {
			if (a->value != ACTION || !(left & a->of))
				continue;
			left &= ~a->of;
			buf_addf(p->why, "%s%s%s", a->name ? "--" : "a mount", a->name ? a->name : "",
			         !left               ? ""
			         : left & (left - 1) ? ", "
			                             : " or ");
		}
		return -EINVAL;
	}
	if (!p->not_ours.n || o->action == OPTS_MOUNT)
		return 0;
	buf_adds(p->why, "-o ");
	return opts_fail(p, p->not_ours, "unknown option, or an option for mounts only; see sessionfs --help");
}

static int opts_assign_operands(struct opts_parser *p)
{
	struct opts *o = p->o;
	const struct option *action = options;
	while (action->value != ACTION || action->of != 1u << o->action)
		action++;
	if (p->pending_action && !o->target && !(o->target = action->standard))
		return opts_fail_missing(p, span_of(p->pending_action), action->argument);
	const char **last = (const char **)(void *)((char *)o + action->at);
	if (action->at && !*last && p->operands > 0)
		*last = p->operand[--p->operands];
	if (o->action == OPTS_MOUNT && !o->source && p->operands > 0)
		o->source = p->operand[--p->operands];
	if (o->action == OPTS_MOUNT && !o->target)
		return buf_adds(p->why, "no mountpoint; see sessionfs --help"), -EINVAL;
	if (o->action == OPTS_COPY && !o->to)
		return opts_fail(p, SPAN_LIT("--copy"), "requires a directory after the path");
	if (p->operands == 0)
		return 0;
	const char *argument = action->argument ? action->argument : "";
	return opts_fail(p, span_of(p->operand[0]),
	                 strcmp(argument, "PATH") == 0                 ? "one PATH at a time; -S goes before a SOURCE"
	                 : strcmp(argument, "QUERY") == 0              ? "one QUERY at a time; quote several words"
	                 : action->at == offsetof(struct opts, target) ? "one MOUNTPOINT at a time"
	                 : action->at == offsetof(struct opts, source)
	                     ? "one SOURCE at a time"
	                     : "one operand too many; -S goes before a SOURCE");
}

int opts_parse(int argc, char *const argv[], struct opts *ret, struct buf *why)
{
	struct opts_parser p = {.o = ret, .why = why};
	const char *self = argc > 0 ? argv[0] : "", *slash = strrchr(self, '/');

	p.from_mount = strncmp(slash ? slash + 1 : self, "mount.", 6) == 0;

	for (size_t i = 0; i < N_OPTIONS; i++)
		if (options[i].standard && options[i].value != ACTION)
			opts_apply(&p, &options[i], SPAN_LIT(""), span_of(options[i].standard));
	int rc = opts_parse_words(&p, argc, argv);
	if (!rc && ret->action != OPTS_HELP && ret->action != OPTS_VERSION) {
		rc = opts_check_uses(&p);
		rc = rc ? rc : opts_assign_operands(&p);
	}
	ret->foreground |= ret->debug;
	ret->read_only |= ret->redact;
	if (ret->debug)
		ret->log_level = LOG_LEVEL_DEBUG;
	return rc ? rc : buf_err(&ret->fuse);
}

void opts_release(struct opts *o)
{
	buf_release(&o->fuse);
}

void opts_usage(FILE *out)
{
	fputs("usage: sessionfs [options] [SOURCE] MOUNTPOINT\n"
	      "       sessionfs [-S SOURCE] --cat [--color=WHEN] PATH\n"
	      "       sessionfs [-S SOURCE] --ls [--json | --names] [PATH] | --tree PATH\n"
	      "       sessionfs [-S SOURCE] --copy [--delete] PATH DIR\n"
	      "       sessionfs [-S SOURCE] --search [--entries | --json] [options] QUERY\n"
	      "       sessionfs [-S SOURCE] --pick [QUERY]\n"
	      "       sessionfs --check [SOURCE]\n"
	      "       sessionfs [-S SOURCE] --secrets | --events\n"
	      "       sessionfs -u [MOUNTPOINT]\n"
	      "\n"
	      "Shows the sessions of the pi coding agent as files and directories, by default\n"
	      "the sessions that pi keeps. Unmount with sessionfs -u MOUNTPOINT.\n"
	      "\n",
	      out);
	for (size_t i = 0; i < N_OPTIONS; i++) {
		const struct option *o = &options[i];
		char left[80], value[32] = "";
		int n = 0;
		if (!o->help || o->value == REFUSE)
			continue;
		if (o->argument)
			snprintf(value, sizeof value, o->bare ? "[=%s]" : "=%s", o->argument);
		if (o->letter)
			n += snprintf(left, sizeof left, o->name ? "-%c" : "-%c %s", o->letter, o->argument);
		if (o->name)
			n += snprintf(left + n, sizeof left - (size_t)n, "%s--%s%s", n ? ", " : "", o->name, value);
		if (o->in_list)
			snprintf(left + n, sizeof left - (size_t)n, "%s-o %s%s", n ? ", " : "", o->in_list, value);
		fprintf(out, "  %-39s %s", left, o->help);
		if (o->standard)
			fprintf(out, " (%s)", o->standard);
		fputc('\n', out);
	}
	fputs("\nOther -o options are passed to libfuse.\n", out);
}
