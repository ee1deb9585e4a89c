/* SPDX-License-Identifier: MIT */
/* Loss of power during and after each kind of write: no acknowledged and synced record is lost, and sessionfs reads and
 * writes every file that can be left. Without one of its syncs, the program fails this test.
 *
 * usage: test_power [--states DIR | --read DIR]
 *	--states	also writes each file that can be left, and the same file after one more write, to DIR
 *	--read		prints how sessionfs reads the files in DIR */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "../wire/write_requests.h"
#pragma GCC diagnostic pop

#include "copying.h"
#include "reading.h"

#include "sessionfs/cmd/cli.h"

#include <dirent.h>

/* Their messages also have a time of their own. */
#undef HEADER
#undef USER
#undef LABEL
#define NOW "\"timestamp\":\"2026-03-01T09:00:02.742Z\""
#define HEADER "{\"type\":\"session\",\"version\":3,\"id\":\"sid\"," NOW ",\"cwd\":\"/p\"}\n"
#define USER(id, parent, text)                                                                                         \
	"{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":" parent "," NOW                                         \
	",\"message\":{\"role\":\"user\",\"content\":\"" text "\",\"timestamp\":1772355602742}}\n"
#define ANSWER(id, parent, text)                                                                                       \
	"{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":" parent "," NOW                                         \
	",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"" text                        \
	"\"}],\"api\":\"none\",\"provider\":\"none\",\"model\":\"m\",\"usage\":{\"input\":1,\"output\":2,"             \
	"\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":3,\"cost\":{\"input\":0,\"output\":0,\"cacheRead\":0,"       \
	"\"cacheWrite\":0,\"total\":0}},\"stopReason\":\"stop\",\"timestamp\":1772355602742}}\n"
#define BASE HEADER USER("a", "null", "How big is it?") ANSWER("b", "\"a\"", "Seven.") USER("c", "\"b\"", "Why?")
#define LONG USER("d", "\"c\"", "long")
#define MORE USER("e", "\"c\"", "Tell me more.")

#define LABEL "{\"type\":\"label\",\"id\":\"l\",\"parentId\":\"c\"," NOW ",\"targetId\":\"a\",\"label\":\"x\"}\n"
#define EVEN_MORE USER("f", "\"c\"", "More.")

#define FULL_NAME READING_PROJECT "/" READING_FILE
#define IN(name) READING_SESSION "/" name
static const char *const values[] = {
    "name", "entries/a/label", "entries/b/label", "entries/a/branch", "entries/b/branch", "entries/a/context.json"};

/* Nothing here waits for another program. */
static int skip_pause(const struct timespec *pause, struct timespec *rest)
{
	return 0;
}
__typeof__(nanosleep) *const sys_nanosleep = skip_pause;

/* Ids begin with the same number each time, so that the same write has the same bytes. The last write to a file has
 * another one: it must not get the id of a record that was lost. */
static char id_byte = 'i';
ssize_t __wrap_getrandom(void *p, size_t n, unsigned flags);
ssize_t __real_getrandom(void *p, size_t n, unsigned flags);
ssize_t __wrap_getrandom(void *p, size_t n, unsigned flags)
{
	if (n != sizeof(uint32_t))
		return __real_getrandom(p, n, flags);
	memset(p, id_byte, n);
	return (ssize_t)n;
}

struct power {
	struct wire w;
	struct disk *disk;
};

/* --- writes ------------------------------------------------------------------------------ */

static const struct write {
	const char *name, *dir, *file, *text;
} writes[] = {
    {"label", "entries/b", "label", "counting\n"},
    {"name", "", "name", "Sizes\n"},
    {"branch", "entries/a", "branch", "Tried it.\n"},
    {"context.json", "entries/a", "context.json", "\"shorter\"\n"},
    {"labels.tsv", "", "labels.tsv", "a\tone\nb\ttwo\n"},
};
#define WRITES (sizeof writes / sizeof *writes)

/* How the writer requests that the write is on the disk. */
enum way { WAY_PLAIN, WAY_FSYNC, WAY_DSYNC, WAY_FLUSHED, WAY_LATER, WAY_DIR, WAY_SCRATCH, WAYS };
static const char *const way_names[WAYS] = {
    [WAY_PLAIN] = "without fsync",           [WAY_FSYNC] = "fsync",     [WAY_DSYNC] = "O_DSYNC",
    [WAY_FLUSHED] = "fsync after a flush",   [WAY_LATER] = "sync FILE", [WAY_DIR] = "fsync of the directory",
    [WAY_SCRATCH] = "a synced file, renamed"};

static void path_in(char ret[256], const char *dir)
{
	snprintf(ret, 256, READING_SESSION "%s%s", *dir ? "/" : "", dir);
}

static void promise(struct power *p)
{
	disk_promise(p->disk, READING_FILE);
}

/* Opens the name for writing, without its old text. */
static struct opened begin_write(struct power *p, const struct write *what, const char *file, uint32_t flags)
{
	char dir[256];
	struct opened o;
	path_in(dir, what->dir);
	if (is_there(&p->w, dir, file)) {
		strcat(strcat(dir, "/"), file);
		return must_open(&p->w, dir, O_WRONLY | O_TRUNC | flags);
	}
	assert_int_equal(make(&p->w, dir, file, O_TRUNC | flags, &o), 0);
	return o;
}

static void write_in_way(struct power *p, const struct write *what, enum way way)
{
	struct wire *w = &p->w;
	char dir[256], path[512];
	path_in(dir, what->dir);
	snprintf(path, sizeof path, "%s/%s", dir, what->file);
	struct opened o =
	    begin_write(p, what, way == WAY_SCRATCH ? "new~" : what->file, way == WAY_DSYNC ? O_DSYNC : 0);
	assert_int_equal(put(w, o, 0, what->text), 0);
	if (way == WAY_FLUSHED)
		assert_int_equal(flush(w, o), 0);
	if (way == WAY_FSYNC || way == WAY_FLUSHED || way == WAY_SCRATCH) {
		assert_int_equal(sync_file(w, o), 0);
		promise(p);
	}
	assert_int_equal(shut(w, o), 0);
	if (way == WAY_SCRATCH)
		assert_int_equal(move(w, dir, "new~", dir, what->file, 0), 0);
	if (way == WAY_LATER) {
		o = must_open(w, path, O_RDONLY);
		assert_int_equal(sync_file(w, o), 0);
		release(w, o);
	}
	if (way == WAY_DIR)
		assert_int_equal(sync_dir(w, dir), 0);
	if (way != WAY_PLAIN)
		promise(p);
}

/* --- scenarios --------------------------------------------------------------------------- */

struct scenario {
	const char *name, *base;
	void (*run)(struct power *p, const struct scenario *s);
	const struct write *what;
	enum way way;
};

static void run_one(struct power *p, const struct scenario *s)
{
	write_in_way(p, s->what, s->way);
}

/* All kinds, one after the other; pi writes meanwhile. */
static void run_all(struct power *p, const struct scenario *s)
{
	for (size_t i = 0; i < WRITES; i++) {
		write_in_way(p, &writes[i], s->way);
		if (i == 1)
			disk_append(p->disk, READING_FILE, MORE);
	}
}

static void write_fails(struct power *p, const struct scenario *s, enum disk_trouble trouble, int rc)
{
	struct opened o = begin_write(p, s->what, s->what->file, 0);
	assert_int_equal(put(&p->w, o, 0, s->what->text), 0);
	disk_set_trouble(p->disk, trouble);
	assert_int_equal(sync_file(&p->w, o), rc);
	if (rc == 0)
		promise(p);
	release(&p->w, o);
}

/* The disk takes half of a write, takes it late, or fails to sync it. A later write succeeds. */
static void run_trouble(struct power *p, const struct scenario *s)
{
	write_fails(p, s, DISK_FULL, -ENOSPC);
	write_in_way(p, &writes[1], WAY_FSYNC);
	write_fails(p, s, DISK_BROKEN, -EIO);
	write_in_way(p, &writes[2], WAY_PLAIN);
	write_fails(p, s, DISK_SHORT, 0);
}

/* A sync of a write that appends nothing syncs what was appended before. */
static void run_unchanged(struct power *p, const struct scenario *s)
{
	const struct write nothing = {NULL, "entries/a", "label", "\t\n"};
	for (size_t i = 0; i < 2; i++) {
		disk_append(p->disk, READING_FILE, i ? MORE : EVEN_MORE);
		write_in_way(p, s->what, WAY_PLAIN);
		write_in_way(p, i ? s->what : &nothing, s->way);
	}
}

/* pi has just created the session, so its directory is not on the disk. */
static void run_new(struct power *p, const struct scenario *s)
{
	disk_append(p->disk, READING_FILE, HEADER);
	disk_append(p->disk, READING_FILE, BASE + strlen(HEADER));
	write_in_way(p, s->what, s->way);
}

/* Another program has just replaced the file by a longer one. */
static void run_replaced(struct power *p, const struct scenario *s)
{
	disk_append(p->disk, "new~", BASE MORE);
	disk_rename(p->disk, "new~", READING_FILE);
	write_in_way(p, s->what, s->way);
	write_in_way(p, &writes[1], s->way);
}

/* Links, and removals. */
static void run_links(struct power *p, const struct scenario *s)
{
	struct wire *w = &p->w;
	assert_int_equal(link_to(w, IN("labels"), "one", "../entries/a"), 0);
	assert_int_equal(sync_dir(w, IN("labels")), 0);
	promise(p);
	assert_int_equal(remove_name(w, IN("entries/a"), "label"), 0);
	assert_int_equal(sync_dir(w, IN("entries/a")), 0);
	promise(p);
	assert_int_equal(remove_name(w, READING_SESSION, "leaf"), 0);
	assert_int_equal(link_to(w, READING_SESSION, "leaf", "entries/b"), 0);
	assert_int_equal(sync_dir(w, READING_SESSION), 0);
	promise(p);
}

/* Another program appends between a sync and what the program remembers of it. */
static void run_shared(struct power *p, const struct scenario *s)
{
	disk_set_trouble(p->disk, DISK_SHARED);
	struct opened o = begin_write(p, s->what, s->what->file, 0);
	assert_int_equal(put(&p->w, o, 0, s->what->text), 0);
	assert_int_equal(sync_file(&p->w, o), 0);
	release(&p->w, o);
	o = must_open(&p->w, IN("session.jsonl"), O_RDONLY);
	assert_int_equal(sync_file(&p->w, o), 0);
	promise(p);
	release(&p->w, o);
}

static char large_text[9000], long_base[4096 + 512];

static const struct write large = {"a large branch", "entries/b", "branch", large_text};

static void fill_texts(void)
{
	memset(large_text, 'x', sizeof large_text - 2);
	large_text[sizeof large_text - 2] = '\n';
	/* The record after it crosses the end of a page. */
	const size_t wanted = 4096 - 100, short_of = wanted - strlen(BASE LONG);
	const char *text = strstr(LONG, "long");
	char filler[4096];
	memset(filler, 'y', sizeof filler);
	snprintf(long_base, sizeof long_base, BASE "%.*s%.*s%s", (int)(text - LONG), LONG, (int)short_of, filler, text);
	assert_int_equal(strlen(long_base), wanted);
}

/* --- states ------------------------------------------------------------------------------ */

static struct totals {
	size_t states, files, lost, syncs, scenarios;
} totals;
static struct disk_seen checked; /* files */

static char states_dir[64];     /* where a state is opened */
static const char *written_dir; /* of --states, or NULL */

struct check {
	const struct scenario *s;
	struct known known;
	size_t n;
};

static bool begins_with(struct span text, struct span start)
{
	return text.n >= start.n && (start.n == 0 || memcmp(text.p, start.p, start.n) == 0);
}

static bool is_lost(const struct disk_state *state)
{
	return state->promise.n > 0 && !(state->exists && begins_with(state->bytes, state->promise));
}

static void count_lost(void *arg, const struct disk_state *state)
{
	*(size_t *)arg += is_lost(state);
}

static void store(const char *dir, const char *name, struct span bytes)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	unlink(path);
	write_at(path, O_CREAT | O_EXCL, bytes.p, bytes.n);
}

static void load(const char *dir, const char *name, struct buf *out)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	assert_true(read_file(path, out));
}

#define BAD(c, state, ...)                                                                                             \
	do {                                                                                                           \
		print_error("%s, state %zu of %zu bytes, %06zu.jsonl of --states: ", (c)->s->name, (c)->n,             \
		            (state)->bytes.n, totals.files);                                                           \
		fail_msg(__VA_ARGS__);                                                                                 \
	} while (0)

/* For --states. */
static void write_state(const char *suffix, struct span bytes)
{
	char name[64];
	snprintf(name, sizeof name, "%06zu%s.jsonl", totals.files, suffix);
	if (written_dir)
		store(written_dir, name, bytes);
}

/* Compares what sessionfs reads with the model. */
static void check_reading(struct check *c, const struct disk_state *state, struct opened_session *o,
                          const struct model *m)
{
	struct buf want CLEANUP_BUF = BUF_INIT, got CLEANUP_BUF = BUF_INIT;
	model_describe(m, &want);
	int rc = opened_session_describe(o, &got);
	if (rc != 0 || !span_eq(buf_span(&want), buf_span(&got)))
		BAD(c, state, "%d: %s\nnot %s", rc, buf_cstr(&got), buf_cstr(&want));
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		struct span value = {"", 0};
		const char *quote = strstr(values[i], "context") ? "\"" : "";
		bool there = model_value(m, values[i], &value);
		buf_reset(&want);
		buf_reset(&got);
		buf_addf(&want, "%s%.*s%s\n", quote, (int)value.n, value.p, quote);
		rc = opened_session_value(o, values[i], &got);
		if (there ? rc != 0 || !span_eq(buf_span(&want), buf_span(&got)) : rc != -ENOENT)
			BAD(c, state, "%s: %d: %s\nnot %s", values[i], rc, buf_cstr(&got),
			    there ? buf_cstr(&want) : "missing");
	}
}

/* Writes a label, or a name if the entry was lost: all bytes stay, and one whole line follows, whose parent is the last
 * whole entry. */
static void check_write(struct check *c, const struct disk_state *state, const char *dir, struct opened_session *o,
                        const struct model *before)
{
	static const char again[] = "again";
	struct buf now CLEANUP_BUF = BUF_INIT;
	struct model m;
	const bool labels = before->n > 0 && span_is(before->entries[0].id, "a");
	id_byte = 'j';
	int rc =
	    opened_session_put(o, labels ? "entries/a" : "", labels ? "label" : "name", (struct span){"again\n", 6});
	id_byte = 'i';
	load(dir, READING_FILE, &now);
	write_state("-again", buf_span(&now));
	if (rc != 0 || !begins_with(buf_span(&now), state->bytes))
		BAD(c, state, "a write to it returns %d", rc);
	size_t from = state->bytes.n;
	if (from > 0 && state->bytes.p[from - 1] != '\n' && now.p[from++] != '\n')
		BAD(c, state, "the new line does not begin a line");
	known_add(&c->known, (struct span){now.p + from, now.n - from - 1});
	model_read(&m, &c->known, buf_span(&now));
	const struct known_line *l = m.n == before->n + 1 ? &m.entries[before->n] : NULL;
	if (!l || now.p[now.n - 1] != '\n' || !span_is(l->type, labels ? "label" : "session_info") ||
	    !span_is(l->target, labels ? "a" : "") || !span_is(l->value, again) ||
	    !span_eq(l->parent, before->n ? before->entries[before->n - 1].id : (struct span){"", 0}))
		BAD(c, state, "it is written as: %s", buf_cstr(&now) + from);
	check_reading(c, state, o, &m);
	known_remove_last(&c->known);
}

static void check_state(void *arg, const struct disk_state *state)
{
	struct check *c = arg;
	struct opened_session o;
	struct buf none CLEANUP_BUF = BUF_INIT;
	struct model m;
	char dir[128];
	c->n++;
	totals.states++;
	if (is_lost(state))
		BAD(c, state, "an acknowledged and synced write was lost");
	/* Several ways to write leave the same file. */
	if (!state->exists || !disk_seen_add(&checked, disk_hash(0, state->bytes)))
		return;
	totals.files++;
	snprintf(dir, sizeof dir, "%s/" READING_PROJECT, states_dir);
	store(dir, READING_FILE, state->bytes);
	model_read(&m, &c->known, state->bytes);
	opened_session_begin(&o, states_dir);
	if (m.has_header) {
		write_state("", state->bytes);
		check_reading(c, state, &o, &m);
		if (opened_session_count_bad(&o) != m.bad)
			BAD(c, state, "%zu of %zu bad lines are reported", opened_session_count_bad(&o), m.bad);
		check_write(c, state, dir, &o, &m);
	} else if (opened_session_describe(&o, &none) == 0) {
		BAD(c, state, "a file without a header is read as a session");
	}
	opened_session_end(&o);
}

/* Each sync is needed: without it, there is a state without an acknowledged write. */
static void check_syncs(const struct scenario *s, const struct disk *d)
{
	size_t lost = 0;
	for (size_t i = 0; i < disk_count_calls(d); i++) {
		size_t now = 0;
		if (!disk_is_sync(d, i))
			continue;
		disk_each_state(d, READING_FILE, 0, i, count_lost, &now);
		if (now == 0)
			fail_msg("%s: nothing is lost without the sync that is call %zu", s->name, i);
		lost += now;
		totals.syncs++;
	}
	totals.lost += lost;
}

static void scenario_test(void **state)
{
	const struct scenario *s = *state;
	struct check c = {.s = s};
	struct power p = {.disk = NULL};
	char dir[128];
	wire_source(&p.w);
	snprintf(dir, sizeof dir, "%s/" READING_PROJECT, p.w.source);
	assert_int_equal(mkdir(dir, 0755), 0);
	if (s->base) {
		wire_file(&p.w, FULL_NAME, s->base);
		wire_age(&p.w, FULL_NAME, 1000);
	}
	p.disk = disk_open(dir);
	wire_open(&p.w, false, ALL_FLAGS);
	s->run(&p, s);
	wire_stop(&p.w);
	disk_stop(p.disk);
	wire_close(&p.w);
	known_load(&c.known, p.disk);
	disk_each_state(p.disk, READING_FILE, 0, DISK_EVERY_SYNC, check_state, &c);
	check_syncs(s, p.disk);
	totals.scenarios++;
	known_release(&c.known);
	disk_close(p.disk);
}

/* --- without a mount --------------------------------------------------------------------- */

static void calls_are_known(void **state)
{
	assert_string_equal(disk_unknown_calls(), "");
}

static struct copying copied;

static void copy_is_whole(void **state)
{
	struct wire w;
	char dir[128];
	wire_source(&w);
	snprintf(dir, sizeof dir, "%s/" READING_PROJECT, w.source);
	assert_int_equal(mkdir(dir, 0755), 0);
	wire_file(&w, FULL_NAME, BASE LABEL);
	wire_age(&w, FULL_NAME, 1000);
	copied.source = w.source;
	for (const char *const *path = (const char *const[]){"projects", "README.md", NULL}; *path; path++) {
		copied.path = *path;
		copying_run(&copied);
	}
	remove_all(w.source);
}

/* The source is only read, and the output is whole when the command succeeds. */
static void repair_is_whole(void **state)
{
	char dir[] = "/tmp/sessionfs-power-XXXXXX", file[64];
	struct check c = {.s = &(struct scenario){.name = "--repair"}};
	FILE *messages = fopen("/dev/null", "w");
	assert_true(messages && mkdtemp(dir));
	snprintf(file, sizeof file, "%s/bad.jsonl", dir);
	store(dir, "bad.jsonl", span_of(BASE "torn\n" MORE));
	struct disk *d = disk_open(dir);
	FILE *out = disk_create(d, "new~");
	size_t before = disk_count_calls(d);
	assert_int_equal(cli_repair(file, out, messages), 0);
	/* Only bytes of the output, which are all written. */
	assert_int_equal(disk_count_calls(d), before + 1);
	disk_sync(d, "new~");
	disk_rename(d, "new~", READING_FILE);
	disk_sync(d, READING_FILE);
	disk_promise(d, READING_FILE);
	disk_set_trouble(d, DISK_FULL);
	FILE *full = disk_create(d, "full");
	assert_int_equal(cli_repair(file, full, messages), 1);
	disk_stop(d);
	known_load(&c.known, d);
	size_t bad = 0;
	disk_each_state(d, READING_FILE, 0, DISK_EVERY_SYNC, count_lost, &bad);
	assert_int_equal(bad, 0);
	struct buf bytes CLEANUP_BUF = BUF_INIT;
	load(dir, "bad.jsonl", &bytes);
	assert_true(span_eq(buf_span(&bytes), span_of(BASE "torn\n" MORE)));
	fclose(out);
	fclose(full);
	fclose(messages);
	known_release(&c.known);
	disk_close(d);
	remove_all(dir);
}

/* --- the tests --------------------------------------------------------------------------- */

#define SCENARIOS_MAX 96
static struct scenario scenarios[SCENARIOS_MAX];
static struct CMUnitTest tests[SCENARIOS_MAX];
static size_t count;

static void add(struct scenario s, const char *name, ...)
{
	char text[128];
	va_list ap;
	va_start(ap, name);
	vsnprintf(text, sizeof text, name, ap);
	va_end(ap);
	assert_true(count < SCENARIOS_MAX);
	s.name = strdup(text);
	scenarios[count] = s;
	tests[count] =
	    (struct CMUnitTest){.name = s.name, .test_func = scenario_test, .initial_state = &scenarios[count]};
	count++;
}

static void add_scenarios(void)
{
	fill_texts();
	for (size_t i = 0; i < WRITES; i++)
		for (enum way way = 0; way < WAYS; way++)
			add((struct scenario){.base = BASE, .run = run_one, .what = &writes[i], .way = way}, "%s, %s",
			    writes[i].name, way_names[way]);
	for (size_t i = 0; i < WRITES; i++) {
		add((struct scenario){.base = long_base, .run = run_one, .what = &writes[i], .way = WAY_PLAIN},
		    "%s, across pages, without fsync", writes[i].name);
		add((struct scenario){.base = long_base, .run = run_one, .what = &writes[i], .way = WAY_FSYNC},
		    "%s, across pages, fsync", writes[i].name);
	}
	add((struct scenario){.base = BASE "{\"type\":\"mess", .run = run_one, .what = &writes[0], .way = WAY_FSYNC},
	    "label, after a torn line, fsync");
	add((struct scenario){.base = BASE, .run = run_one, .what = &large, .way = WAY_PLAIN}, "%s, without fsync",
	    large.name);
	add((struct scenario){.base = BASE, .run = run_one, .what = &large, .way = WAY_FSYNC}, "%s, fsync", large.name);
	add((struct scenario){.base = BASE, .run = run_all, .way = WAY_PLAIN}, "all, without fsync");
	add((struct scenario){.base = long_base, .run = run_all, .way = WAY_FSYNC}, "all, fsync");
	add((struct scenario){.base = BASE, .run = run_all, .way = WAY_SCRATCH}, "all, %s", way_names[WAY_SCRATCH]);
	add((struct scenario){.base = BASE, .run = run_trouble, .what = &writes[0]}, "label, failing disk");
	for (enum way way = WAY_FSYNC; way <= WAY_DSYNC; way++)
		add((struct scenario){.base = BASE, .run = run_unchanged, .what = &writes[1], .way = way},
		    "nothing new, %s", way_names[way]);
	for (enum way way = 0; way < WAYS; way++) {
		add((struct scenario){.run = run_new, .what = &writes[0], .way = way}, "label, a new file, %s",
		    way_names[way]);
		add((struct scenario){.base = BASE, .run = run_replaced, .what = &writes[0], .way = way},
		    "label, a replaced file, %s", way_names[way]);
	}
	add((struct scenario){.base = BASE, .run = run_links}, "links, fsync of the directory");
	add((struct scenario){.base = BASE, .run = run_shared, .what = &writes[0]},
	    "label, and a writer after the sync");
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(calls_are_known);
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(copy_is_whole);
	tests[count++] = (struct CMUnitTest)cmocka_unit_test(repair_is_whole);
}

static void print_reading(const char *dir, const char *name)
{
	struct buf bytes CLEANUP_BUF = BUF_INIT, text CLEANUP_BUF = BUF_INIT, context CLEANUP_BUF = BUF_INIT;
	struct opened_session o;
	char to[128];
	snprintf(to, sizeof to, "%s/" READING_PROJECT, states_dir);
	load(dir, name, &bytes);
	store(to, READING_FILE, buf_span(&bytes));
	opened_session_begin(&o, states_dir);
	int rc = opened_session_describe(&o, &text);
	rc = rc < 0 ? rc : opened_session_value(&o, "context.json", &context);
	opened_session_end(&o);
	for (size_t i = 0; i < context.n; i++)
		context.p[i] = context.p[i] == '\n' ? ' ' : context.p[i];
	printf("{\"file\":\"%s\",\"rc\":%d,\"read\":%s,\"context\":%s}\n", name, rc, rc ? "null" : buf_cstr(&text),
	       rc ? "null" : buf_cstr(&context));
}

static void print_readings(const char *dir)
{
	struct dirent **names;
	int n = scandir(dir, &names, NULL, alphasort);
	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		if (strstr(names[i]->d_name, ".jsonl"))
			print_reading(dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

int main(int argc, char **argv)
{
	char dir[128];
	int failed = 0;
	const bool reads = argc == 3 && strcmp(argv[1], "--read") == 0;
	if (argc == 3 && strcmp(argv[1], "--states") == 0)
		written_dir = argv[2];
	else if (argc != 1 && !reads)
		return fprintf(stderr, "usage: test_power [--states DIR | --read DIR]\n"), 2;
	snprintf(states_dir, sizeof states_dir, "%s/sessionfs-power-XXXXXX",
	         access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(states_dir));
	snprintf(dir, sizeof dir, "%s/" READING_PROJECT, states_dir);
	assert_int_equal(mkdir(dir, 0755), 0);
	if (reads) {
		print_readings(argv[2]);
	} else {
		add_scenarios();
		wire_let_stand(CLOCK_REALTIME);
		failed = _cmocka_run_group_tests("power", tests, count, NULL, NULL);
		printf("figure ways to write, and states that a loss of power can leave: %zu, %zu\n"
		       "figure different files in these states: %zu\n"
		       "figure syncs of these writes, and states that lose a write without one of them: %zu, %zu\n",
		       totals.scenarios, totals.states, totals.files, totals.syncs, totals.lost);
		printf("figure states of the names of a copy that a loss of power can leave: %zu\n"
		       "figure syncs of this copy, and states that are wrong without one of them: %zu, %zu\n",
		       copied.states, copied.syncs, copied.bad);
	}
	remove_all(states_dir);
	disk_seen_release(&checked);
	for (size_t i = 0; i < count; i++)
		free((char *)(uintptr_t)scenarios[i].name);
	return failed;
}
