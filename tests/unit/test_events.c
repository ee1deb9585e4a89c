/* SPDX-License-Identifier: MIT */
/* Changes in a real directory, and the lines of their events. */
#include "cases.h"
#include "../../src/cmd/events.c"
#include "catalog_fixture.h"
#include "failing_alloc.h"
#include "linux_only.h"

#define A "--w--/a.jsonl"

struct world {
	struct source_fixture place;
	struct events events;
	struct buf lines;
};

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	assert_non_null(w);
	strcpy(w->place.root, "/tmp/test_events.XXXXXX");
	make_temporary(w->place.root);
	put(&w->place, A, HEADER_OF("sid-a", "/w") USER("e1", null, "hi"));
	w->place.budget = (struct budget)BUDGET_INIT(64 << 20);
	struct catalog_options o = {.budget = &w->place.budget, .watch = true};
	assert_int_equal(catalog_open(w->place.root, &o, &w->place.c), 0);
	w->events.catalog = w->place.c;
	assert_int_equal(events_load_sessions(w->place.c, &w->events.sessions), 0);
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;
	events_sessions_release(&w->events.sessions);
	buf_release(&w->lines);
	catalog_close(w->place.c);
	remove_all(w->place.root);
	free(w);
	return 0;
}

/* The lines of these changes, without the times. */
static const char *lines_of(struct world *w, const struct catalog_change *changes, size_t n)
{
	struct buf lines CLEANUP_BUF = BUF_INIT;
	time_t begun = time(NULL);
	events_make_lines(&w->events, changes, n, &lines);
	buf_reset(&w->lines);
	assert_true(buf_err(&lines) == 0 && (lines.n == 0 || lines.p[lines.n - 1] == '\n'));
	/* Each line is a string of its own: with a sanitizer, strstr reads all of its text. */
	for (struct span rest = buf_span(&lines), line; span_line(&rest, &line);) {
		char *p = lines.p + (line.p - lines.p);
		struct tm tm;
		p[line.n] = '\0';
		assert_int_equal(strncmp(p, "{\"time\":\"", 9), 0);
		assert_non_null(strptime(p + 9, "%Y-%m-%dT%H:%M:%S", &tm));
		assert_in_range(timegm(&tm), begun, time(NULL) + 1);
		const char *text = strstr(p, "Z\",");
		assert_non_null(text);
		buf_addf(&w->lines, "%s\n", text + 3);
	}
	return buf_cstr(&w->lines);
}

/* The events since the last call. */
static const char *told(struct world *w)
{
	struct catalog_change *changes CLEANUP_FREE = NULL;
	ssize_t n = catalog_wait(w->place.c, 0, -1, !catalog_is_watched(w->place.c), &changes);
	assert_true(n >= 0);
	return lines_of(w, changes, (size_t)n);
}

static void assert_told(struct world *w, const char *text)
{
	if (!strstr(told(w), text))
		fail_msg("\"%s\" is not in \"%s\"", text, buf_cstr(&w->lines));
}

#define OF_A AS_IS("session":"sid-a","path":"projects/w/a")

CASE_WITH(appended_entries_emit_events, begin, end)
{
	struct world *w = *state;
	assert_string_equal(told(w), "");
	append(&w->place, A, USER("e2", null, "hi") LINE({"type":"odd\u0041","id":"e/3","parentId":"e2"})
	    LINE({"type":["odd"],"id":"e","parentId":"e2"}));
	assert_string_equal(told(w), JSON("event":"appended",OF_A,"entries":)
	                                      JSON([{"id":"e2","type":"message","role":"user"},{"id":"e%2F3","type":"oddA"},{"id":"e","type":null}]) "}\n");
	append(&w->place, A, USER("e4", null, "hi"));
	assert_told(w, "[{\"id\":\"e4\"");
	assert_string_equal(told(w), "");
}

/* Checks the event of a message with these fields. `want` follows its type; `state` is the session's new state after
 * working, or NULL. */
static void assert_message(struct world *w, const char *fields, const char *want, const char *state)
{
	struct buf line CLEANUP_BUF = BUF_INIT, whole CLEANUP_BUF = BUF_INIT;
	buf_addf(&line, LINE({"type":"message","id":"m","parentId":"e1","message":{%s}}), fields);
	append(&w->place, A, buf_cstr(&line));
	buf_addf(&whole, JSON("event":"appended",OF_A,"entries":[{"id":"m","type":"message"%s}]), want);
	if (state)
		buf_addf(&whole, JSON(,"state":"%s"), state);
	buf_adds(&whole, "}\n");
	assert_string_equal(told(w), buf_cstr(&whole));
	replace(&w->place, A, HEADER_OF("sid-a", "/w") USER("e1", null, "hi"));
	assert_string_equal(told(w), JSON("event":"replaced",OF_A,"state":"working") "}\n");
}

CASE_WITH(message_events_have_role_and_stop_reason, begin, end)
{
	struct world *w = *state;
	assert_message(w, JSON("role":"assistant","content":[],"stopReason":"stop"),
	    JSON(,"role":"assistant","stopReason":"stop"), "done");
	assert_message(w, JSON("stopReason":"err\u006fr","errorMessage":"x","role":"assistant"),
	    JSON(,"role":"assistant","stopReason":"error"), "failed");
	assert_message(w, JSON("role":"assistant","stopReason":"a\"b\n\ud800"),
	    JSON(,"role":"assistant","stopReason":"a\"b\n�"), "done");
	assert_message(w, JSON("role":"assistant","stopReason":""), JSON(,"role":"assistant","stopReason":""), "done");
	assert_message(w, JSON("role":"assistant","stopReason":null), JSON(,"role":"assistant"), "done");
	assert_message(w, JSON("role":"assistant","stopReason":{"a":1}), JSON(,"role":"assistant"), "done");
	assert_message(w, JSON("role":"assistant"), JSON(,"role":"assistant"), "done");
	assert_message(w, JSON("role":"assistant","content":[],"stopReason":"aborted"),
	    JSON(,"role":"assistant","stopReason":"aborted"), "stopped");
	assert_message(w, JSON("role":"assistant","content":[{"type":"toolCall","id":"c","name":"ls"}]),
	    JSON(,"role":"assistant"), NULL);
	assert_message(w, JSON("role":"user","content":"x","stopReason":"stop"), JSON(,"role":"user"), NULL);
	assert_message(w, JSON("role":"toolResult","stopReason":"stop"), JSON(,"role":"toolResult"), NULL);
	assert_message(w, JSON("role":"bashExecution","command":"ls"), JSON(,"role":"bashExecution"), NULL);
	assert_message(w, JSON("role":"new\ud800\u0041"), JSON(,"role":"new�A"), NULL);
	assert_message(w, JSON("role":""), "", NULL);
	assert_message(w, JSON("role":7), "", NULL);
}

/* jq ends at half a surrogate pair. */
CASE_WITH(lone_surrogate_becomes_replacement_character, begin, end)
{
	struct world *w = *state;
	append(&w->place, A, LINE({"type":"\udc00x","id":"o","parentId":"e1"}));
	assert_told(w, JSON({"id":"o","type":"�x"}));
	append(&w->place, A, LINE({"type":"label","id":"l","parentId":"o","targetId":"e1","label":"\ud800"}));
	assert_told(w, "\"entry\":\"e1\",\"label\":\"\uFFFD\"}\n");
	append(&w->place, A, LINE({"type":"label","id":"k","parentId":"l","targetId":"e1","label":["\ud800",1]}));
	assert_told(w, "\"entry\":\"e1\",\"label\":[\"\uFFFD\",1]}\n");
}

CASE_WITH(partial_line_emits_event_when_complete, begin, end)
{
	struct world *w = *state;
	append(&w->place, A, "{\"type\":\"label\",\"id\":\"l1\",");
	assert_string_equal(told(w), "");
	append(&w->place, A, "\"parentId\":\"e1\",\"targetId\":\"e1\",\"label\":\"x\\\"y\"}");
	const char *line = AS_IS(
	    "\"event\":\"appended\",\"session\":\"sid-a\",\"path\":\"projects/w/a\",\"entries\":[{\"id\":\"l1\",\"type\":\"label\"}]}\n"
	    "\"event\":\"label\",\"session\":\"sid-a\",\"path\":\"projects/w/a\",\"entry\":\"e1\",\"label\":\"x\\\"y\"}\n");
	assert_string_equal(told(w), line);
	append(&w->place, A, "\n");
	assert_string_equal(told(w), "");
}

CASE_WITH(label_and_name_events, begin, end)
{
	struct world *w = *state;
	append(&w->place, A,
	    LINE({"type":"label","id":"l1","parentId":"e1","targetId":"e1"})
	    LINE({"type":"session_info","id":"i1","parentId":"l1","name":"one"})
	    LINE({"type":"session_info","id":"i2","parentId":"i1","name":"two"}));
	const char *line = told(w);
	assert_non_null(strstr(line, JSON("event":"label",OF_A,"entry":"e1","label":null) "}\n"));
	assert_non_null(strstr(line, JSON("event":"renamed",OF_A,"name":"two") "}\n"));
	assert_null(strstr(line, JSON("name":"one")));
	/* An empty text counts as none. */
	append(&w->place, A,
	    LINE({"type":"label","id":"l2","parentId":"i2","targetId":"e1","label":""})
	    LINE({"type":"session_info","id":"i3","parentId":"l2","name":" "}));
	line = told(w);
	assert_non_null(strstr(line, "\"entry\":\"e1\",\"label\":null}\n"));
	assert_non_null(strstr(line, "\"name\":null}\n"));
}

/* Rights concern only the kernel's names. Lost events name every file: only differences are published. */
CASE_WITH(unchanged_session_emits_no_event, begin, end)
{
	NEEDS_WATCHES();
	struct world *w = *state;
	struct slot_info s;
	assert_int_equal(chmod(at(&w->place, A), 0600), 0);
	assert_string_equal(told(w), "");
	struct catalog_change all = {.died = NO_SLOT, .names = true};
	assert_string_equal(lines_of(w, &all, 1), "");
	unlink(at(&w->place, A));
	assert_false(catalog_session_at_place(w->place.c, all.place, &s));
	assert_int_equal(strncmp(told(w), JSON("event":"deleted"), 17), 0);
	assert_string_equal(lines_of(w, &all, 1), "");
}

CASE_WITH(create_move_and_remove_events, begin, end)
{
	struct world *w = *state;
	put(&w->place, "--w--/b.jsonl", HEADER_OF("sid-b", "/w"));
	assert_told(w, JSON("event":"created","session":));
	append(&w->place, A, USER("e2", null, "hi"));
	assert_int_equal(rename(at(&w->place, A), at(&w->place, "--w--/c.jsonl")), 0);
	const char *line = told(w);
	assert_non_null(strstr(line, JSON("event":"renamed","session":"sid-a")));
	assert_non_null(strstr(line, JSON("path":"projects/w/c","from":"projects/w/a") "}\n"));
	assert_non_null(strstr(line, JSON("id":"e2")));
	assert_null(strstr(line, "deleted"));
	unlink(at(&w->place, "--w--/c.jsonl"));
	assert_told(w, JSON("event":"deleted"));
	replace(&w->place, "--w--/b.jsonl", HEADER_OF("sid-b", "/w") USER("n1", null, "hi"));
	assert_told(w, JSON("event":"replaced"));
	append(&w->place, "--w--/b.jsonl", USER("n2", null, "hi"));
	assert_told(w, JSON("id":"n2"));
	make_dir(&w->place, "--v--");
	put(&w->place, "--v--/d.jsonl", HEADER_OF("sid-d", "/v"));
	assert_told(w, "\"path\":\"projects/v/d\"}\n");
	put(&w->place, "--v--/not-yet.jsonl", "");
	assert_string_equal(told(w), "");
	append(&w->place, "--v--/not-yet.jsonl", HEADER_OF("sid-e", "/v"));
	assert_told(w, JSON("event":"created"));
}

/* Replaces the catalog: sessions 0 to MOVED, which move to the places after these. */
#define MOVED 400000
static bool is_moving, has_moved;

__typeof__(catalog_slot_next) __real_catalog_slot_next, __wrap_catalog_slot_next;
__typeof__(catalog_project) __real_catalog_project, __wrap_catalog_project;
__typeof__(catalog_session_at_place) __real_catalog_session_at_place, __wrap_catalog_session_at_place;
__typeof__(catalog_session_get) __real_catalog_session_get, __wrap_catalog_session_get;

/* The files keep their inodes, in another order; two names share one file. */
static struct slot_info moving(uint32_t place)
{
	ino_t ino = place < MOVED ? place : 2 * MOVED - 1 - place;
	return (struct slot_info){
	    .slot = place, .place = place, .stem = "s", .sid = "s", .st = {.st_dev = 1, .st_ino = ino / 2}};
}

bool __wrap_catalog_slot_next(struct catalog *c, uint32_t project, uint64_t *cookie, struct slot_info *ret)
{
	if (!is_moving)
		return __real_catalog_slot_next(c, project, cookie, ret);
	*ret = moving((uint32_t)*cookie);
	return (*cookie)++ < MOVED;
}

bool __wrap_catalog_project(struct catalog *c, uint32_t project, struct project_info *ret)
{
	if (!is_moving)
		return __real_catalog_project(c, project, ret);
	*ret = (struct project_info){.project = project, .name = "p"};
	return true;
}

bool __wrap_catalog_session_at_place(struct catalog *c, uint32_t place, struct slot_info *ret)
{
	if (!is_moving)
		return __real_catalog_session_at_place(c, place, ret);
	*ret = moving(place);
	return has_moved == (place >= MOVED);
}

/* What fails, and how; 0: nothing. */
static int get_error, load_error;

int __wrap_catalog_session_get(struct catalog *c, uint32_t slot, struct session **ret)
{
	int rc = is_moving ? -ESTALE : get_error;
	return rc < 0 ? rc : __real_catalog_session_get(c, slot, ret);
}

__typeof__(session_load) __real_session_load, __wrap_session_load;
__typeof__(session_read) __real_session_read, __wrap_session_read;

int __wrap_session_load(const struct session *s, uint32_t i, struct line *l, struct record *ret)
{
	return load_error ? load_error : __real_session_load(s, i, l, ret);
}

int __wrap_session_read(const struct session *s, uint32_t i, struct reader *r, struct record *ret)
{
	return load_error ? load_error : __real_session_read(s, i, r, ret);
}

/* Comparing every removed file with every new one would take a minute of CPU time. */
CASE_WITH(many_moves_take_linear_time, begin, end)
{
	struct world *w = *state;
	struct catalog_change *changes = calloc(2 * MOVED, sizeof *changes);
	assert_non_null(changes);
	for (uint32_t i = 0; i < 2 * MOVED; i++)
		changes[i] = (struct catalog_change){i, NO_SLOT, true};
	events_sessions_release(&w->events.sessions);
	is_moving = true;
	has_moved = false;
	assert_int_equal(events_load_sessions(w->place.c, &w->events.sessions), 0);
	has_moved = true;
	clock_t begin = clock();
	lines_of(w, changes, 2 * MOVED);
	assert_true(clock() - begin < 10 * CLOCKS_PER_SEC);
	is_moving = false;
	free(changes);
	size_t n = 0;
	for (struct span rest = buf_span(&w->lines), line; span_line(&rest, &line); n++)
		assert_true(span_begins(line, SPAN_LIT(JSON("event":"renamed"))));
	assert_int_equal(n, MOVED);
}

/* Entries of one batch are in lines of at most 500. The last one has the state. */
CASE_WITH(many_entries_emit_several_events, begin, end)
{
	struct world *w = *state;
	struct buf lines CLEANUP_BUF = BUF_INIT;
	for (int i = 0; i < 1200; i++)
		buf_addf(&lines, LINE({"type":"message","id":"x%d","parentId":null}), i);
	buf_adds(&lines,
	         LINE({"type":"message","id":"y","parentId":null,"message":{"role":"assistant","stopReason":"stop"}}));
	append(&w->place, A, buf_cstr(&lines));
	const char *line = told(w);
	unsigned n = 0, entries = 0;
	for (const char *p = line; (p = strstr(p, JSON("event":"appended"))); p++)
		n++;
	for (const char *p = line; (p = strstr(p, "{\"id\":\"x")); p++)
		entries++;
	assert_int_equal(n, 3);
	assert_int_equal(entries, 1200);
	const char *of_all = strstr(line, JSON(,"state":));
	assert_true(of_all && strcmp(of_all, JSON(,"state":"done") "}\n") == 0);
}

/* The reader knows that lines are missing. Later changes have events again. */
CASE_WITH(lack_of_memory_emits_lost_event, begin, end)
{
	struct world *w = *state;
	unsigned lost = 0;
	for (unsigned nth = 1; nth < 1000; nth++) {
		struct buf lines CLEANUP_BUF = BUF_INIT;
		struct catalog_change *changes CLEANUP_FREE = NULL;
		put(&w->place, "--w--/b.jsonl", HEADER_OF("sid-b", "/w"));
		ssize_t n = catalog_wait(w->place.c, 0, -1, !catalog_is_watched(w->place.c), &changes);
		assert_int_equal(n, 1);
		let_alloc_fail(nth);
		events_make_lines(&w->events, changes, 1, &lines);
		bool failed = alloc_has_failed();
		const char *text = buf_cstr(&lines);
		lost += strstr(text, "Z\",\"event\":\"lost\"}\n") != NULL;
		assert_true(strstr(text, "lost") || strstr(text, "created") || failed);
		unlink(at(&w->place, "--w--/b.jsonl"));
		told(w);
		append(&w->place, A, USER("later", null, "hi"));
		assert_told(w, JSON("later"));
		if (!failed)
			break;
	}
	assert_true(lost > 0);
}

/* After an error that shows nothing of the file, no other change need come. */
CASE_WITH(unreadable_session_emits_lost_event, begin, end)
{
	static const char *const lines[] = {LINE({"type":"odd","id":"o","parentId":"e1"}),
	                                         LABEL("l", "o", "e1", "x"),
	                                               LINE({"type":"message","id":"f","parentId":"l","message":{"role":"assistant","stopReason":"error"}})};
	static const char lost[] = JSON("event":"lost") "}\n";
	struct world *w = *state;
	get_error = -EACCES;
	append(&w->place, A, USER("e2", null, "hi"));
	assert_string_equal(told(w), "");
	get_error = -EMFILE;
	append(&w->place, A, USER("e3", null, "hi"));
	assert_string_equal(told(w), lost);
	get_error = 0;
	append(&w->place, A, USER("e4", null, "hi"));
	assert_told(w, "[{\"id\":\"e2\"");
	load_error = -EIO;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		append(&w->place, A, lines[i]);
		assert_string_equal(told(w), lost);
	}
	load_error = 0;
}

/* The calls of catalog_wait by cli_events, the last of which ends it; `+`: with a scan. */
static unsigned waits;
static struct buf waited = BUF_INIT;

__typeof__(catalog_wait) __real_catalog_wait, __wrap_catalog_wait;

ssize_t __wrap_catalog_wait(struct catalog *c, int timeout_ms, int output, bool scan, struct catalog_change **ret)
{
	if (waits == 0)
		return __real_catalog_wait(c, timeout_ms, output, scan, ret);
	buf_addf(&waited, "%d%s ", timeout_ms, scan ? "+" : "");
	*ret = NULL;
	return --waits > 0 ? 0 : -EPIPE;
}

CASE_WITH(source_is_checked_every_ten_seconds, begin, end)
{
	struct world *w = *state;
	struct catalog_options o = {.budget = &w->place.budget, .watch = true, .poll = true};
	struct catalog *c;
	assert_int_equal(catalog_open(w->place.root, &o, &c), 0);
	for (const unsigned *ms = (const unsigned[]){0, 3000, 15000, UINT32_MAX, 1}; *ms != 1; ms++) {
		waits = 3;
		assert_int_equal(cli_events(c, *ms, STDOUT_FILENO), 0);
	}
	assert_string_equal(buf_cstr(&waited), "250+ 250+ 250+ 3000+ 3000+ 3000+ 10000 5000+ 10000 10000 10000 10000 ");
	buf_release(&waited);
	catalog_close(c);
}

CASE_WITH(opening_hides_earlier_changes, begin, end)
{
	NEEDS_WATCHES();
	struct world *w = *state;
	append(&w->place, A, USER("e2", null, "hi"));
	events_sessions_release(&w->events.sessions);
	assert_int_equal(events_load_sessions(w->place.c, &w->events.sessions), 0);
	assert_string_equal(told(w), "");
	append(&w->place, A, USER("e3", null, "hi"));
	const char *line = told(w);
	assert_null(strstr(line, JSON("e2")));
	assert_non_null(strstr(line, JSON("e3")));
}

RUN_CASES(NULL, NULL)
