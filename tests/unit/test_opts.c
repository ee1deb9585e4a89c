/* SPDX-License-Identifier: MIT */
#include "cases.h"

#include "sessionfs/base/log.h"
#include "sessionfs/cmd/opts.h"

#define ARGS(...)                                                                                                      \
	(char *[])                                                                                                     \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}

static struct opts o;

static int parse_into(char **argv, struct buf *why)
{
	int argc = 0;
	while (argv[argc])
		argc++;
	opts_release(&o);
	o = (struct opts)OPTS_INIT;
	return opts_parse(argc, argv, &o, why);
}

static void good(char **argv)
{
	struct buf why CLEANUP_BUF = BUF_INIT;
	int rc = parse_into(argv, &why);
	if (rc)
		fail_msg("%s", buf_cstr(&why));
	assert_int_equal(why.n, 0);
}

static void bad(char **argv, const char *message)
{
	struct buf why CLEANUP_BUF = BUF_INIT;
	assert_int_equal(parse_into(argv, &why), -EINVAL);
	assert_string_equal(buf_cstr(&why), message);
}

static void assert_is(const char *text, const char *want)
{
	if (want)
		assert_string_equal(text, want);
	else
		assert_null(text);
}

static void assert_fuse(const char *list)
{
	assert_string_equal(buf_cstr(&o.fuse), list);
}

static int done(void **state)
{
	opts_release(&o);
	return 0;
}

CASE(one_operand_is_the_mountpoint)
{
	good(ARGS("sessionfs", "/mnt"));
	assert_int_equal(o.action, OPTS_MOUNT);
	assert_string_equal(o.target, "/mnt");
	assert_null(o.source);
	assert_int_equal(o.cache, 96 << 20);
	assert_int_equal(o.log_level, LOG_LEVEL_WARNING);
	assert_int_equal(o.max_threads, 128);
	assert_int_equal(o.poll_ms, 0);
	assert_false(o.read_only || o.allow_other || o.foreground || o.debug || o.single_thread || o.json);
	assert_fuse("");
}

/* The words after the program's name, and what becomes of its operands. */
CASE(operands_have_their_places)
{
	static const struct {
		char *words[5];
		enum opts_action action;
		const char *source, *target;
	} rows[] = {
	    {{"/src", "/mnt"}, OPTS_MOUNT, "/src", "/mnt"},
	    {{"/mnt", "-S", "/src"}, OPTS_MOUNT, "/src", "/mnt"},
	    {{"-f", "--", "-src", "-mnt"}, OPTS_MOUNT, "-src", "-mnt"},
	    {{"-", "mnt"}, OPTS_MOUNT, "-", "mnt"},
	    {{"-S", "/src", "--cat", "latest/title"}, OPTS_CAT, "/src", "latest/title"},
	    {{"--cat", "-S", "/src", "latest/title"}, OPTS_CAT, "/src", "latest/title"},
	    {{"--ls=projects", "--json", "-S/src"}, OPTS_LS, "/src", "projects"},
	    {{"--ls", "--json", "projects"}, OPTS_LS, NULL, "projects"},
	    {{"--json", "-S", "/src", "--ls", "projects"}, OPTS_LS, "/src", "projects"},
	    {{"--ls", "--", "-"}, OPTS_LS, NULL, "-"},
	    {{"--ls=--json"}, OPTS_LS, NULL, "--json"},
	    {{"--ls", "--json"}, OPTS_LS, NULL, "/"},
	    {{"--names", "--ls", ""}, OPTS_LS, NULL, ""},
	    {{"--tree", ""}, OPTS_TREE, NULL, ""},
	    {{"--check"}, OPTS_CHECK, NULL, NULL},
	    {{"--check", "/src"}, OPTS_CHECK, "/src", NULL},
	    {{"--repair", "/a.jsonl"}, OPTS_REPAIR, NULL, "/a.jsonl"},
	    {{"--secrets", "-S", "/src"}, OPTS_SECRETS, "/src", NULL},
	    {{"-o", "redact", "--events", "-S", "/src"}, OPTS_EVENTS, "/src", NULL},
	    {{"-u"}, OPTS_UNMOUNT, NULL, NULL},
	    {{"--unmount", "/mnt"}, OPTS_UNMOUNT, NULL, "/mnt"},
	    {{"--pick"}, OPTS_PICK, NULL, ""},
	    {{"--pick", "two words", "-S", "/src"}, OPTS_PICK, "/src", "two words"},
	    {{"--pick=-not"}, OPTS_PICK, NULL, "-not"},
	    {{"--copy", "html", "to"}, OPTS_COPY, NULL, "html"},
	    {{"--copy", "-S", "src", "/", "to"}, OPTS_COPY, "src", "/"},
	    {{"--copy=/", "to"}, OPTS_COPY, NULL, "/"},
	    {{"-h"}, OPTS_HELP, NULL, NULL},
	    {{"--version"}, OPTS_VERSION, NULL, NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *argv[7] = {"sessionfs"};
		memcpy(argv + 1, rows[i].words, sizeof rows[i].words);
		print_message("%s %s %s\n", argv[1], argv[2] ? argv[2] : "", argv[3] ? argv[3] : "");
		good(argv);
		assert_int_equal(o.action, rows[i].action);
		assert_is(o.source, rows[i].source);
		assert_is(o.target, rows[i].target);
	}
}

CASE(a_copy_has_a_path_and_a_directory)
{
	good(ARGS("sessionfs", "--copy", "--delete", "-S", "src", "/", "to"));
	assert_string_equal(o.to, "to");
	assert_true(o.copy_deletes);
	good(ARGS("sessionfs", "--copy=/", "to"));
	assert_string_equal(o.to, "to");
	assert_false(o.copy_deletes);
}

CASE(wrong_operands_are_refused)
{
	bad(ARGS("sessionfs"), "no mountpoint; see sessionfs --help");
	bad(ARGS("sessionfs", "-f"), "no mountpoint; see sessionfs --help");
	bad(ARGS("sessionfs", "a", "b", "c"), "c: one operand too many; see sessionfs --help");
	bad(ARGS("sessionfs", "-S", "a", "b", "c"), "b: one MOUNTPOINT at a time");
	bad(ARGS("sessionfs", "--check", "a", "b"), "a: one SOURCE at a time");
	bad(ARGS("sessionfs", "--copy", "html"), "--copy: requires a directory after the path");
	bad(ARGS("sessionfs", "--copy", "html", "a", "b", "c"), "c: one operand too many; see sessionfs --help");
	bad(ARGS("sessionfs", "--copy", "html", "title", "to"), "title: one PATH at a time; -S goes before a SOURCE");
	bad(ARGS("sessionfs", "--search", "two", "words"), "words: one QUERY at a time; quote several words");
	bad(ARGS("sessionfs", "-u", "/a", "/mnt"), "/a: one MOUNTPOINT at a time");
	bad(ARGS("sessionfs", "--pick", "two", "words"), "words: one QUERY at a time; quote several words");
	static char *const commands[] = {"--cat", "--ls", "--tree"};
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		bad(ARGS("sessionfs", commands[i], "a", "b"), "b: one PATH at a time; -S goes before a SOURCE");
		bad(ARGS("sessionfs", "b", commands[i], "a"), "b: one PATH at a time; -S goes before a SOURCE");
		bad(ARGS("sessionfs", "-S", "src", commands[i], "a", "b", "c"),
		    "b: one PATH at a time; -S goes before a SOURCE");
	}
}

CASE(only_a_mount_has_options_of_libfuse)
{
	static char *const commands[] = {"--cat=a", "--ls=a", "--tree=a", "--search=a", "--pick", "--check", "-u"};
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		bad(ARGS("sessionfs", "-o", "redakt", commands[i]),
		    "-o redakt: unknown option, or an option for mounts only; see sessionfs --help");
		bad(ARGS("sessionfs", "-o", "nofail", commands[i]),
		    "-o nofail: unknown option, or an option for mounts only; see sessionfs --help");
	}
	bad(ARGS("sessionfs", "-o", "redact,redakt,noatime", "--copy", "/", "to"),
	    "-o redakt: unknown option, or an option for mounts only; see sessionfs --help");
}

/* Each option, as a user writes it, and a letter for each action that uses it: m mount, c cat, l ls, t tree, C copy, s
 * search, p pick, k check, S secrets, r repair, e events, u unmount. */
CASE(an_unused_option_is_refused)
{
	static const struct {
		char *words[2];
		const char *of, *error;
	} rows[] = {
	    {{"--ro"},
	     "mcltCsSe",
	     "--ro: requires a mount, --cat, --ls, --tree, --copy, --search, --secrets or --events"},
	    {{"-o", "rw"},
	     "mcltCsSe",
	     "rw: requires a mount, --cat, --ls, --tree, --copy, --search, --secrets or --events"},
	    {{"--redact"},
	     "mcltCspSe",
	     "--redact: requires a mount, --cat, --ls, --tree, --copy, --search, --pick, --secrets or --events"},
	    {{"-o", "redact"},
	     "mcltCspSe",
	     "redact: requires a mount, --cat, --ls, --tree, --copy, --search, --pick, --secrets or --events"},
	    {{"-o", "allow_other"}, "m", "allow_other: requires a mount"},
	    {{"--allow-other"}, "m", "--allow-other: requires a mount"},
	    {{"-o", "allow_root"}, "m", "allow_root: requires a mount"},
	    {{"-o", "default_permissions"}, "m", "default_permissions: requires a mount"},
	    {{"-o", "nonempty"}, "m", "nonempty: requires a mount"},
	    {{"--cache=1M"},
	     "mcltCsSe",
	     "--cache=1M: requires a mount, --cat, --ls, --tree, --copy, --search, --secrets or --events"},
	    {{"--log-level", "debug"},
	     "mcltCskSe",
	     "--log-level: requires a mount, --cat, --ls, --tree, --copy, --search, --check, --secrets or --events"},
	    {{"--poll"}, "me", "--poll: requires a mount or --events"},
	    {{"-opoll=3"}, "me", "poll=3: requires a mount or --events"},
	    {{"-f"}, "m", "-f: requires a mount"},
	    {{"-sd"}, "m", "-sd: requires a mount"},
	    {{"--foreground"}, "m", "--foreground: requires a mount"},
	    {{"--single-thread"}, "m", "--single-thread: requires a mount"},
	    {{"--max-threads=3"}, "m", "--max-threads=3: requires a mount"},
	    {{"-S", "x"},
	     "mcltCspkSe",
	     "-S: requires a mount, --cat, --ls, --tree, --copy, --search, --pick, --check, --secrets or --events"},
	    {{"--json"}, "ls", "--json: requires --ls or --search"},
	    {{"--names"}, "l", "--names: requires --ls"},
	    {{"--delete"}, "C", "--delete: requires --copy"},
	    {{"--entries"}, "s", "--entries: requires --search"},
	    {{"-m", "3"}, "s", "-m: requires --search"},
	    {{"--limit=0"}, "s", "--limit=0: requires --search"},
	    {{"--root", "/"}, "s", "--root: requires --search"},
	    {{"--color=auto"}, "cs", "--color=auto: requires --cat or --search"},
	};
	static char *const actions[][3] = {
	    {"m", "mnt"},        {"c", "--cat=a"}, {"l", "--ls=a"},  {"t", "--tree=a"},  {"C", "--copy=a", "to"},
	    {"s", "--search=a"}, {"p", "--pick"},  {"k", "--check"}, {"S", "--secrets"}, {"r", "--repair=a"},
	    {"e", "--events"},   {"u", "-u"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t j = 0; j < sizeof actions / sizeof *actions; j++) {
			char *const *a = actions[j], *const *w = rows[i].words;
			char *argv[6] = {"sessionfs", w[0], w[1] ? w[1] : a[1], w[1] ? a[1] : a[2], w[1] ? a[2] : NULL};
			if (strchr(rows[i].of, *a[0]))
				good(argv);
			else
				bad(argv, rows[i].error);
		}
	good(ARGS("sessionfs", "-f", "--json", "--help"));
	good(ARGS("sessionfs", "--version", "--delete"));
}

/* mount(8) writes rw before all other options, and mount.fuse adds dev and suid, or their opposites are there. */
CASE(redact_cannot_be_written)
{
	static const char why[] = "rw: redact is read-only; leave out one of them";
	bad(ARGS("sessionfs", "-o", "redact,rw", "mnt"), why);
	bad(ARGS("sessionfs", "-o", "rw,redact", "mnt"), why);
	bad(ARGS("sessionfs", "src", "mnt", "-o", "rw,redact,dev"), why);
	bad(ARGS("sessionfs", "src", "mnt", "-o", "redact,rw,dev,suid"), why);
	bad(ARGS("sessionfs", "-o", "rw", "mnt", "--redact"), why);
	bad(ARGS("sessionfs", "--redact", "-o", "ro", "-o", "nofail,rw", "mnt"), why);
	bad(ARGS("/sbin/mount.sessionfs", "src", "mnt", "-o", "redact,rw"), why);
	static char *const lists[] = {"rw,redact,dev,suid", "rw,nodev,redact,suid", "rw,noexec,nosuid,nodev,redact"};
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		good(ARGS("sessionfs", "src", "mnt", "-o", lists[i]));
		assert_true(o.redact && o.read_only);
	}
	good(ARGS("/sbin/mount.sessionfs", "src", "mnt", "-o", "rw,redact"));
	assert_true(o.redact && o.read_only);
	good(ARGS("sessionfs", "-o", "ro,rw", "mnt"));
	assert_false(o.read_only);
}

CASE(mount_arguments_are_accepted)
{
	good(ARGS("sessionfs", "/src", "/mnt", "-o", "rw,allow_other,cache=1G,dev,suid"));
	assert_string_equal(o.source, "/src");
	assert_string_equal(o.target, "/mnt");
	assert_true(o.allow_other);
	assert_false(o.read_only);
	assert_int_equal(o.cache, 1 << 30);
	assert_fuse("dev,suid");
	assert_false(o.allow_root || o.default_permissions);
	good(ARGS("sessionfs", "/src", "/mnt", "-o", "allow_root,default_permissions"));
	assert_true(o.allow_root && o.default_permissions && !o.allow_other);
	assert_false(o.nonempty);
	good(ARGS("sessionfs", "/src", "/mnt", "-o", "nonempty"));
	assert_true(o.nonempty && o.fuse.n == 0);
	assert_fuse("");

	good(ARGS("/sbin/mount.sessionfs", "/src", "/mnt", "-n", "-s", "-v", "-f", "-t", "fuse.sessionfs", "-sfo",
	          "ro"));
	assert_true(o.read_only);
	assert_false(o.single_thread || o.foreground);
	bad(ARGS("sessionfs", "-n", "mnt"), "-n: unknown option; see sessionfs --help");
	bad(ARGS("sessionfs", "-t", "x", "mnt"), "-t: unknown option; see sessionfs --help");
}

CASE(options_of_mount_are_dropped)
{
	good(ARGS(
	    "sessionfs", "mnt", "-o",
	    "defaults,relatime,norelatime,strictatime,nodiratime,lazytime,nofail,noauto,_netdev,user,users,user=me,"
	    "x-systemd.automount,X-mount.mkdir=0755,comment=any,noatime,userx,,blksize=512"));
	assert_fuse("noatime,userx,blksize=512");
}

CASE(option_lists_equal_long_options)
{
	good(ARGS("sessionfs", "-oro,cache=4k,loglevel=debug", "mnt"));
	assert_true(o.read_only);
	assert_int_equal(o.cache, 4096);
	assert_int_equal(o.log_level, LOG_LEVEL_DEBUG);
	good(ARGS("sessionfs", "--ro", "--allow-other", "--cache=7", "--log-level", "error", "--max-threads=3", "mnt"));
	assert_int_equal(o.max_threads, 3);
	assert_true(o.read_only && o.allow_other);
	assert_int_equal(o.cache, 7);
	assert_int_equal(o.log_level, LOG_LEVEL_ERROR);
	good(ARGS("sessionfs", "-o", "ro", "-o", "rw,max_idle_threads=3,max_threads=20,clone_fd", "mnt"));
	assert_false(o.read_only);
	assert_int_equal(o.max_threads, 20);
	good(ARGS("sessionfs", "-o", "a=x\\,y,b\\\\,ro", "-oc\\", "mnt"));
	assert_true(o.read_only);
	assert_fuse("a=x\\,y,b\\\\,c\\");
}

CASE(poll_takes_seconds)
{
	static const struct {
		char *word;
		int64_t ms;
	} rows[] = {
	    {"-oro,poll", 1000},     {"--poll", 1000},    {"-omax_threads=5,max_threads=7,poll=2,poll=0.5", 500},
	    {"--poll=2.0625", 2062}, {"--poll=0.001", 1}, {"--poll=4294966.999", 4294966999},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		good(ARGS("sessionfs", "--max-threads", "5", rows[i].word, "mnt"));
		assert_int_equal(o.poll_ms, rows[i].ms);
		assert_int_equal(o.max_threads, strstr(rows[i].word, "=7") ? 7 : 5);
		assert_int_equal(o.read_only, rows[i].word[1] == 'o' && rows[i].word[2] == 'r');
		assert_string_equal(o.target, "mnt");
	}
}

CASE(short_options_are_parsed)
{
	good(ARGS("sessionfs", "-fs", "mnt"));
	assert_true(o.foreground && o.single_thread);
	assert_false(o.debug);
	good(ARGS("sessionfs", "-d", "mnt"));
	assert_true(o.foreground && o.debug);
	good(ARGS("sessionfs", "-odebug", "mnt"));
	assert_true(o.foreground && o.debug);
	good(ARGS("sessionfs", "-fS/src", "mnt"));
	assert_string_equal(o.source, "/src");
	good(ARGS("sessionfs", "-fo", "ro", "mnt"));
	assert_true(o.foreground && o.read_only);
}

CASE(commands_have_options)
{
	good(ARGS("sessionfs", "--ls=--json"));
	assert_false(o.json);
	good(ARGS("sessionfs", "--ls", "--json"));
	assert_true(o.json);
	good(ARGS("sessionfs", "--names", "--ls", ""));
	assert_true(o.names);
	good(ARGS("sessionfs", "--search", "x"));
	assert_int_equal(o.lines, 3);
	assert_int_equal(o.limit, 0);
	assert_null(o.root);
	good(ARGS("sessionfs", "--search", "x", "-m", "0"));
	assert_int_equal(o.lines, 0);
	good(ARGS("sessionfs", "--search", "--entries", "x", "--limit=5", "--root", "/pi"));
	assert_true(o.entries);
	assert_int_equal(o.limit, 5);
	assert_string_equal(o.root, "/pi");
}

CASE(colour_option_is_parsed)
{
	static const struct {
		char *words[3];
		enum opts_color color;
	} rows[] = {
	    {{"--cat", "latest/tree.txt"}, OPTS_COLOR_AUTO},
	    {{"--cat", "--color=auto", "latest/tree.txt"}, OPTS_COLOR_AUTO},
	    {{"--cat", "latest/tree.txt", "--color=never"}, OPTS_COLOR_NEVER},
	    {{"--cat", "--color", "latest/tree.txt"}, OPTS_COLOR_ALWAYS},
	    {{"--search", "latest/tree.txt", "--color=always"}, OPTS_COLOR_ALWAYS},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		good(ARGS("sessionfs", rows[i].words[0], rows[i].words[1], rows[i].words[2]));
		assert_int_equal(o.color, rows[i].color);
		assert_string_equal(o.target, "latest/tree.txt");
	}
	bad(ARGS("sessionfs", "--cat", "latest/tree.txt", "--color=yes"),
	    "--color=yes: not one of auto, always, never");
	bad(ARGS("sessionfs", "--cat", "--color", "never", "latest/tree.txt"),
	    "--color never: a value requires =; write --color=never");
	bad(ARGS("sessionfs", "--poll", "5", "mnt"), "--poll 5: a value requires =; write --poll=5");
	bad(ARGS("sessionfs", ""), "an empty word; name a directory");
}

CASE(help_and_version_win)
{
	good(ARGS("sessionfs", "--ls", "a", "-V", "b", "c"));
	assert_int_equal(o.action, OPTS_VERSION);
	good(ARGS("sessionfs", "-h", "--cat", "a"));
	assert_int_equal(o.action, OPTS_HELP);
	good(ARGS("sessionfs", "--ls", "-h"));
	assert_int_equal(o.action, OPTS_HELP);
}

CASE(wrong_options_are_refused)
{
	bad(ARGS("sessionfs", "-x", "mnt"), "-x: unknown option; see sessionfs --help");
	bad(ARGS("sessionfs", "-fx", "mnt"), "-x: unknown option; see sessionfs --help");
	bad(ARGS("sessionfs", "--nonsense", "mnt"), "--nonsense: unknown option; see sessionfs --help");
	bad(ARGS("sessionfs", "--ro=1", "mnt"), "--ro=1: takes no value");
	bad(ARGS("sessionfs", "-o", "ro=1", "mnt"), "ro=1: takes no value");
	bad(ARGS("sessionfs", "-o", "cache", "mnt"), "cache: requires a value, SIZE; see sessionfs --help");
	bad(ARGS("sessionfs", "mnt", "--cache"), "--cache: requires a value, SIZE; see sessionfs --help");
	bad(ARGS("sessionfs", "--cat", "--redact"), "--cat: requires a value, PATH; see sessionfs --help");
	bad(ARGS("sessionfs", "/src", "--ls"), "/src: one PATH at a time; -S goes before a SOURCE");
	bad(ARGS("sessionfs", "--names", "--json", "--ls", ""), "--names: has no effect with --json");
	bad(ARGS("sessionfs", "--search=a", "--json", "--entries"), "--entries: has no effect with --json");
	bad(ARGS("sessionfs", "--search=a", "-m1", "--json"), "-m1: has no effect with --json");
	bad(ARGS("sessionfs", "--search=a", "-m1", "--entries"), "-m1: has no effect with --entries");
	bad(ARGS("sessionfs", "--ls", "--json", "--entries"), "--entries: requires --search");
	bad(ARGS("sessionfs", "--pick", "--check"), "--check: only one command at a time; see sessionfs --help");
	bad(ARGS("sessionfs", "--ls", "a", "--cat", "b"), "--cat: only one command at a time; see sessionfs --help");
	bad(ARGS("sessionfs", "--ls", "--cat", "a"), "--cat: only one command at a time; see sessionfs --help");
	bad(ARGS("sessionfs", "mnt", "-o"), "-o: requires a value, OPTIONS; see sessionfs --help");
	bad(ARGS("sessionfs", "mnt", "-S"), "-S: requires a value, SOURCE; see sessionfs --help");
	bad(ARGS("sessionfs", "-o", "max_read=4096", "mnt"),
	    "max_read=4096: only the kernel can choose this; leave it out");
	bad(ARGS("sessionfs", "-o", "remount,ro", "mnt"), "remount: cannot change a mount; unmount and mount again");
}

CASE(wrong_values_are_refused)
{
	bad(ARGS("sessionfs", "-omax_threads", "mnt"), "max_threads: requires a value, N; see sessionfs --help");
	bad(ARGS("sessionfs", "--idle=60", "mnt"), "--idle=60: unknown option; see sessionfs --help");
	static const struct {
		const char *option, *why, *values[16];
	} rows[] = {
	    {"--cache=",
	     "not a size; write a number, with K, M or G",
	     {"", "M", "1T", "-1", "18446744073709551616", "18014398509481984K"}},
	    {"--max-threads=", "not a number; write only digits", {"", "many", "4294967295", "0.5", "10min"}},
	    {"--poll=",
	     "not a number of seconds above 0",
	     {"", "0", "0.0", "0.0005", ".5", "1.", ".", "-1", "1,5", "1e3", "1.2.3", "1s", " 1", "4294967",
	      "99999999999999999999", "0x1"}},
	};
	for (size_t i = 0; i < COUNT(rows); i++)
		for (size_t j = 0; j < COUNT(rows[i].values) && rows[i].values[j]; j++) {
			char word[64], why[128];
			snprintf(word, sizeof word, "%s%s", rows[i].option, rows[i].values[j]);
			snprintf(why, sizeof why, "%s: %s", word, rows[i].why);
			bad(ARGS("sessionfs", word, "mnt"), why);
		}
	bad(ARGS("sessionfs", "-opoll=0,ro", "mnt"), "poll=0: not a number of seconds above 0");
	bad(ARGS("sessionfs", "--log-level=loud", "mnt"), "--log-level=loud: not one of error, warning, info, debug");
	char most[64];
	snprintf(most, sizeof most, "--cache=%zu", SIZE_MAX);
	good(ARGS("sessionfs", most, "mnt"));
	assert_true(o.cache == SIZE_MAX);
	good(ARGS("sessionfs", "--cache=0", "mnt"));
	assert_int_equal(o.cache, 0);
}

CASE(usage_names_every_option)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	opts_usage(out);
	fclose(out);
	static const char *const shown[] = {"-f, --foreground",
	                                    "-o cache=SIZE",
	                                    "--cache=SIZE",
	                                    "(96M)",
	                                    "--log-level=LEVEL",
	                                    "(warning)",
	                                    "--ro, -o ro",
	                                    "--cat=PATH",
	                                    "--check",
	                                    "-h, --help",
	                                    "-S, --source",
	                                    "--max-threads=N, -o max_threads=N",
	                                    "--poll[=SECONDS], -o poll[=SECONDS]",
	                                    "-m N "};
	for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
		assert_non_null(strstr(text, shown[i]));
	assert_null(strstr(text, "remount"));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 100);
	free(text);
}

RUN_CASES(NULL, done)
