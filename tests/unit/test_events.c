/* SPDX-License-Identifier: MIT */
/* Changes in a real directory, and the events that a reader gets. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../src/fuse/events.c"

#include "catalog_fixture.h"

#include <malloc.h>
#include <stdlib.h>

#define A "--w--/a.jsonl"

/* The reply to a read; `request` of the tests. */
struct reply {
	bool done, cancelled;
	int err;
	size_t n;
	char text[1 << 16];
};

static void answer(void *request, int err, struct span bytes)
{
	struct reply *r = request;
	assert_false(r->done);
	r->done = true;
	r->err = err;
	r->n = bytes.n;
	assert_true(bytes.n < sizeof r->text);
	if (bytes.n)
		memcpy(r->text, bytes.p, bytes.n);
	r->text[bytes.n] = '\0';
}

static bool gave_up(void *request)
{
	return ((struct reply *)request)->cancelled;
}

/* The kernel is notified: none of our locks is held. */
static void ready(void *poll)
{
	lock_mark_held(LOCK_PUBLISH);
	lock_unmark_held(LOCK_PUBLISH);
	++*(int *)poll;
}

static void forget(void *poll)
{
	*(int *)poll -= 100;
}

static const struct events_ops ops = {answer, gave_up, ready, forget};

struct world {
	struct source_fixture place;
	struct events *events;
	struct events_reader *reader;
};

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	assert_non_null(w);
	strcpy(w->place.root, "/tmp/test_events.XXXXXX");
	make_temporary(w->place.root);
	make_dir(&w->place, "--w--");
	put(&w->place, A, HEADER("sid-a", "/w") ENTRY("e1"));
	w->place.budget = (struct budget)BUDGET_INIT(64 << 20);
	struct catalog_options o = {.budget = &w->place.budget, .watch = true};
	assert_int_equal(catalog_open(w->place.root, &o, &w->place.c), 0);
	assert_int_equal(events_open(w->place.c, &ops, &w->events), 0);
	assert_int_equal(events_reader_open(w->events, &w->reader), 0);
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;
	events_close(w->events);
	catalog_close(w->place.c);
	remove_all(w->place.root);
	free(w);
	return 0;
}

static void follow(struct world *w)
{
	struct catalog_change *changes = NULL;
	ssize_t n = catalog_wait(w->place.c, 0, -1, false, &changes);
	assert_true(n >= 0);
	events_publish(w->events, changes, (size_t)n);
	free(changes);
}

static struct reply *take(struct world *w, size_t n)
{
	static struct reply r;
	r = (struct reply){0};
	events_read(w->events, w->reader, n, false, &r);
	assert_true(r.done);
	return &r;
}

/* The events since the last call, without the times. */
static const char *told(struct world *w)
{
	static char text[1 << 16];
	follow(w);
	const struct reply *r = take(w, sizeof r->text - 1);
	if (r->err == -EAGAIN)
		return "";
	assert_int_equal(r->err, 0);
	char *to = text;
	for (const char *p = r->text; *p;) {
		const char *eol = strchr(p, '\n');
		struct tm tm;
		assert_int_equal(strncmp(p, "{\"time\":\"", 9), 0);
		assert_non_null(strptime(p + 9, "%Y-%m-%dT%H:%M:%S", &tm));
		const char *rest = strstr(p, "Z\",");
		assert_true(rest && rest < eol);
		to = mempcpy(to, rest + 3, (size_t)(eol - rest - 2));
		p = eol + 1;
	}
	*to = '\0';
	return text;
}

#define OF_A "\"session\":\"sid-a\",\"path\":\"projects/w/a\""

static void no_change_emits_no_event(void **state)
{
	assert_string_equal(told(*state), "");
}

static void appended_entries_emit_events(void **state)
{
	struct world *w = *state;
	append(&w->place, A, ENTRY("e2") "{\"type\":\"odd\\u0041\",\"id\":\"e/3\",\"parentId\":\"e2\"}\n");
	assert_string_equal(told(w), "\"event\":\"appended\"," OF_A
	                             ",\"entries\":[{\"id\":\"e2\",\"type\":\"message\",\"role\":\"user\"},"
	                             "{\"id\":\"e%2F3\",\"type\":\"oddA\"}]}\n");
	append(&w->place, A, ENTRY("e4"));
	assert_non_null(strstr(told(w), "[{\"id\":\"e4\""));
	assert_string_equal(told(w), "");
}

#define MESSAGE(id, fields) "{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":\"e1\",\"message\":{" fields "}}\n"

/* Checks the event of a message with these fields. `want` follows its type; `state` is the session's new state after
 * working, or NULL. */
static void assert_message(struct world *w, const char *fields, const char *want, const char *state)
{
	struct buf line CLEANUP_BUF = BUF_INIT, whole CLEANUP_BUF = BUF_INIT;
	buf_addf(&line, MESSAGE("m", "%s"), fields);
	append(&w->place, A, buf_cstr(&line));
	buf_addf(&whole, "\"event\":\"appended\"," OF_A ",\"entries\":[{\"id\":\"m\",\"type\":\"message\"%s}]", want);
	if (state)
		buf_addf(&whole, ",\"state\":\"%s\"", state);
	buf_adds(&whole, "}\n");
	assert_string_equal(told(w), buf_cstr(&whole));
	replace(&w->place, A, HEADER("sid-a", "/w") ENTRY("e1"));
	assert_string_equal(told(w), "\"event\":\"replaced\"," OF_A ",\"state\":\"working\"}\n");
}

static void message_events_have_role_and_stop_reason(void **state)
{
	struct world *w = *state;
	assert_message(w, "\"role\":\"assistant\",\"content\":[],\"stopReason\":\"stop\"",
	               ",\"role\":\"assistant\",\"stopReason\":\"stop\"", "done");
	assert_message(w, "\"stopReason\":\"err\\u006fr\",\"errorMessage\":\"x\",\"role\":\"assistant\"",
	               ",\"role\":\"assistant\",\"stopReason\":\"error\"", "failed");
	assert_message(w, "\"role\":\"assistant\",\"stopReason\":\"a\\\"b\\n\\ud800\"",
	               ",\"role\":\"assistant\",\"stopReason\":\"a\\\"b\\n\uFFFD\"", "done");
	assert_message(w, "\"role\":\"assistant\",\"stopReason\":\"\"", ",\"role\":\"assistant\",\"stopReason\":\"\"",
	               "done");
	assert_message(w, "\"role\":\"assistant\",\"stopReason\":null", ",\"role\":\"assistant\"", "done");
	assert_message(w, "\"role\":\"assistant\",\"stopReason\":{\"a\":1}", ",\"role\":\"assistant\"", "done");
	assert_message(w, "\"role\":\"assistant\"", ",\"role\":\"assistant\"", "done");
	assert_message(w, "\"role\":\"assistant\",\"content\":[],\"stopReason\":\"aborted\"",
	               ",\"role\":\"assistant\",\"stopReason\":\"aborted\"", "stopped");
	assert_message(w, "\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"ls\"}]",
	               ",\"role\":\"assistant\"", NULL);
	assert_message(w, "\"role\":\"user\",\"content\":\"x\",\"stopReason\":\"stop\"", ",\"role\":\"user\"", NULL);
	assert_message(w, "\"role\":\"toolResult\",\"stopReason\":\"stop\"", ",\"role\":\"toolResult\"", NULL);
	assert_message(w, "\"role\":\"new\\ud800\\u0041\"", ",\"role\":\"new\uFFFDA\"", NULL);
	assert_message(w, "\"role\":\"\"", "", NULL);
	assert_message(w, "\"role\":7", "", NULL);
}

/* jq ends at half a surrogate pair. */
static void lone_surrogate_becomes_replacement_character(void **state)
{
	struct world *w = *state;
	append(&w->place, A, "{\"type\":\"\\udc00x\",\"id\":\"o\",\"parentId\":\"e1\"}\n");
	assert_non_null(strstr(told(w), "{\"id\":\"o\",\"type\":\"\uFFFDx\"}"));
	append(&w->place, A,
	       "{\"type\":\"label\",\"id\":\"l\",\"parentId\":\"o\",\"targetId\":\"e1\",\"label\":\"\\ud800\"}\n");
	assert_non_null(strstr(told(w), "\"entry\":\"e1\",\"label\":\"\uFFFD\"}\n"));
	append(&w->place, A,
	       "{\"type\":\"label\",\"id\":\"k\",\"parentId\":\"l\",\"targetId\":\"e1\",\"label\":[\"\\ud800\",1]}\n");
	assert_non_null(strstr(told(w), "\"entry\":\"e1\",\"label\":[\"\uFFFD\",1]}\n"));
}

static void partial_line_emits_event_when_complete(void **state)
{
	struct world *w = *state;
	append(&w->place, A, "{\"type\":\"label\",\"id\":\"l1\",");
	assert_string_equal(told(w), "");
	append(&w->place, A, "\"parentId\":\"e1\",\"targetId\":\"e1\",\"label\":\"x\\\"y\"}");
	const char *line = "\"event\":\"appended\"," OF_A ",\"entries\":[{\"id\":\"l1\",\"type\":\"label\"}]}\n"
			   "\"event\":\"label\"," OF_A ",\"entry\":\"e1\",\"label\":\"x\\\"y\"}\n";
	assert_string_equal(told(w), line);
	append(&w->place, A, "\n");
	assert_string_equal(told(w), "");
}

static void label_and_name_events(void **state)
{
	struct world *w = *state;
	append(&w->place, A,
	       "{\"type\":\"label\",\"id\":\"l1\",\"parentId\":\"e1\",\"targetId\":\"e1\"}\n"
	       "{\"type\":\"session_info\",\"id\":\"i1\",\"parentId\":\"l1\",\"name\":\"one\"}\n"
	       "{\"type\":\"session_info\",\"id\":\"i2\",\"parentId\":\"i1\",\"name\":\"two\"}\n");
	const char *line = told(w);
	assert_non_null(strstr(line, "\"event\":\"label\"," OF_A ",\"entry\":\"e1\",\"label\":null}\n"));
	assert_non_null(strstr(line, "\"event\":\"renamed\"," OF_A ",\"name\":\"two\"}\n"));
	assert_null(strstr(line, "\"name\":\"one\""));
}

/* Rights concern only the kernel's names. Lost events name every file: only differences are published. */
static void unchanged_session_emits_no_event(void **state)
{
	struct world *w = *state;
	struct slot_info s;
	assert_int_equal(chmod(at(&w->place, A), 0600), 0);
	assert_string_equal(told(w), "");
	struct catalog_change all = {.died = NO_SLOT, .names = true};
	events_publish(w->events, &all, 1);
	assert_string_equal(told(w), "");
	unlink(at(&w->place, A));
	assert_false(catalog_session_at_place(w->place.c, all.place, &s));
	assert_int_equal(strncmp(told(w), "\"event\":\"deleted\"", 17), 0);
	events_publish(w->events, &all, 1);
	assert_string_equal(told(w), "");
}

static void create_move_and_remove_events(void **state)
{
	struct world *w = *state;
	put(&w->place, "--w--/b.jsonl", HEADER("sid-b", "/w"));
	assert_non_null(strstr(told(w), "\"event\":\"created\",\"session\":"));
	assert_int_equal(rename(at(&w->place, A), at(&w->place, "--w--/c.jsonl")), 0);
	const char *line = told(w);
	assert_non_null(strstr(line, "\"event\":\"renamed\""));
	assert_non_null(strstr(line, "\"path\":\"projects/w/c\",\"from\":\"projects/w/a\"}\n"));
	assert_null(strstr(line, "deleted"));
	unlink(at(&w->place, "--w--/c.jsonl"));
	assert_non_null(strstr(told(w), "\"event\":\"deleted\""));
	replace(&w->place, "--w--/b.jsonl", HEADER("sid-b", "/w") ENTRY("n1"));
	assert_non_null(strstr(told(w), "\"event\":\"replaced\""));
	append(&w->place, "--w--/b.jsonl", ENTRY("n2"));
	line = told(w);
	assert_non_null(strstr(line, "\"entries\":[{\"id\":\"n2\""));
	make_dir(&w->place, "--v--");
	put(&w->place, "--v--/d.jsonl", HEADER("sid-d", "/v"));
	assert_non_null(strstr(told(w), "\"path\":\"projects/v/d\"}\n"));
	put(&w->place, "--v--/not-yet.jsonl", "");
	assert_string_equal(told(w), "");
	append(&w->place, "--v--/not-yet.jsonl", HEADER("sid-e", "/v"));
	assert_non_null(strstr(told(w), "\"event\":\"created\""));
}

/* About twice the log's limit. */
static void tell_much(struct world *w)
{
	struct buf lines CLEANUP_BUF = BUF_INIT;
	for (int i = 0; i < 45000; i++) {
		buf_addf(&lines, "{\"type\":\"message\",\"id\":\"x%d\",\"parentId\":null}\n", i);
		if (i % 100 < 99)
			continue;
		append(&w->place, A, buf_cstr(&lines));
		buf_reset(&lines);
		follow(w);
	}
}

/* Replaces the catalog: sessions 0 to MOVED, which move to the places after these. */
#define MOVED 400000
static bool is_moving, has_moved;

bool __real_catalog_slot_next(struct catalog *c, uint32_t project, uint64_t *cookie, struct slot_info *ret);
bool __wrap_catalog_slot_next(struct catalog *c, uint32_t project, uint64_t *cookie, struct slot_info *ret);
bool __real_catalog_project(struct catalog *c, uint32_t project, struct project_info *ret);
bool __wrap_catalog_project(struct catalog *c, uint32_t project, struct project_info *ret);
bool __real_catalog_session_at_place(struct catalog *c, uint32_t place, struct slot_info *ret);
bool __wrap_catalog_session_at_place(struct catalog *c, uint32_t place, struct slot_info *ret);
int __real_catalog_session_get(struct catalog *c, uint32_t slot, struct session **ret);
int __wrap_catalog_session_get(struct catalog *c, uint32_t slot, struct session **ret);

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

int __wrap_catalog_session_get(struct catalog *c, uint32_t slot, struct session **ret)
{
	return is_moving ? -ESTALE : __real_catalog_session_get(c, slot, ret);
}

/* Comparing every removed file with every new one would take a minute of CPU time. */
static void many_moves_take_linear_time(void **state)
{
	struct world *w = *state;
	struct catalog_change *changes = calloc(2 * MOVED, sizeof *changes);
	assert_non_null(changes);
	for (uint32_t i = 0; i < 2 * MOVED; i++)
		changes[i] = (struct catalog_change){i, NO_SLOT, true};
	events_reader_close(w->events, w->reader);
	is_moving = true;
	has_moved = false;
	assert_int_equal(events_reader_open(w->events, &w->reader), 0);
	has_moved = true;
	clock_t begin = clock();
	events_publish(w->events, changes, 2 * MOVED);
	assert_true(clock() - begin < 10 * CLOCKS_PER_SEC);
	is_moving = false;
	free(changes);
	assert_non_null(strstr(take(w, 65000)->text, "\"event\":\"lost\""));
	const struct reply *r = take(w, 65000);
	assert_non_null(strstr(r->text, "\"event\":\"renamed\""));
	assert_null(strstr(r->text, "\"event\":\"created\""));
	while ((r = take(w, 65000))->err == 0)
		assert_true(strstr(r->text, "\"renamed\"") && !strstr(r->text, "\"deleted\""));
}

static void slow_reader_gets_lost_event(void **state)
{
	struct world *w = *state;
	tell_much(w);
	const struct reply *r;
	unsigned lost = 0;
	size_t bytes = 0;
	while ((r = take(w, 65000))->err == 0 && r->n) {
		lost += strstr(r->text, "\"event\":\"lost\"}\n") != NULL;
		bytes += r->n;
		assert_int_equal(r->text[r->n - 1], '\n');
	}
	assert_int_equal(r->err, -EAGAIN);
	assert_int_equal(lost, 1);
	assert_true(bytes > EVENTS_BACKLOG / 2 && bytes < EVENTS_BACKLOG + 100);
	append(&w->place, A, ENTRY("after"));
	assert_non_null(strstr(told(w), "\"after\""));
}

/* An event that was begun is read to its end. */
static void partially_read_line_is_completed(void **state)
{
	struct world *w = *state;
	struct buf all CLEANUP_BUF = BUF_INIT;
	const struct reply *r;
	append(&w->place, A, ENTRY("e2"));
	follow(w);
	for (int i = 0; i < 9; i++)
		buf_adds(&all, take(w, 7)->text);
	append(&w->place, A, ENTRY("e3"));
	tell_much(w);
	while (all.n < 1000 && (r = take(w, 7))->err == 0)
		buf_adds(&all, r->text);
	char *rest = (char *)buf_cstr(&all), *line = strsep(&rest, "\n");
	assert_non_null(strstr(line, OF_A ",\"entries\":[{\"id\":\"e2\",\"type\":\"message\",\"role\":\"user\"}]}"));
	assert_non_null(strstr(strsep(&rest, "\n"), "Z\",\"event\":\"lost\"}"));
	assert_int_equal(strncmp(rest, "{\"time\":\"", 9), 0);
}

/* They share one log. */
static void idle_readers_share_memory(void **state)
{
	enum { READERS = 1000 };
	struct world *w = *state;
	struct events_reader *readers[READERS];
	for (int i = 0; i < READERS; i++)
		assert_int_equal(events_reader_open(w->events, &readers[i]), 0);
	struct mallinfo2 before = mallinfo2();
	tell_much(w);
	struct mallinfo2 after = mallinfo2();
	assert_true(after.uordblks + after.hblkhd < before.uordblks + before.hblkhd + 16 * EVENTS_BACKLOG);
	w->reader = readers[READERS - 1];
	assert_non_null(strstr(take(w, 65000)->text, "\"event\":\"lost\""));
	assert_non_null(strstr(take(w, 65000)->text, "\"event\":\"appended\""));
}

static void blocked_readers_are_woken(void **state)
{
	struct world *w = *state;
	struct reply waiting = {0}, other = {0};
	int poll = 0, newer = 0;
	events_read(w->events, w->reader, 4096, true, &waiting);
	assert_false(waiting.done);
	assert_false(events_poll(w->events, w->reader, &poll));
	assert_false(events_poll(w->events, w->reader, &newer));
	assert_int_equal(poll, -100);
	append(&w->place, A, ENTRY("e2"));
	follow(w);
	assert_true(waiting.done);
	assert_non_null(strstr(waiting.text, "\"e2\""));
	append(&w->place, A, ENTRY("e3"));
	follow(w);
	assert_int_equal(newer, 1);
	assert_true(events_poll(w->events, w->reader, NULL));
	take(w, 4096);
	assert_false(events_poll(w->events, w->reader, NULL));
	events_read(w->events, w->reader, 4096, true, &other);
	events_interrupt(w->events, &other);
	assert_int_equal(other.err, -EINTR);
	other = (struct reply){.cancelled = true};
	events_read(w->events, w->reader, 4096, true, &other);
	assert_int_equal(other.err, -EINTR);
	other = (struct reply){0};
	events_read(w->events, w->reader, 4096, true, &other);
	events_reader_close(w->events, w->reader);
	assert_int_equal(other.err, -EINTR);
	assert_false(events_have_readers(w->events));
}

static void new_reader_gets_only_new_events(void **state)
{
	struct world *w = *state;
	struct events_reader *first = w->reader;
	append(&w->place, A, ENTRY("e2"));
	follow(w);
	assert_int_equal(events_reader_open(w->events, &w->reader), 0);
	append(&w->place, A, ENTRY("e3"));
	const char *line = told(w);
	assert_null(strstr(line, "\"e2\""));
	assert_non_null(strstr(line, "\"e3\""));
	w->reader = first;
	line = told(w);
	assert_non_null(strstr(line, "\"e2\""));
	assert_non_null(strstr(line, "\"e3\""));
}

#define WORLD(f) cmocka_unit_test_setup_teardown(f, begin, end)

static bool is_cancelled(void *arg)
{
	(void)arg;
	return true;
}

static void *open_stopped(void *arg)
{
	const struct cancel cancel = {.is_cancelled = is_cancelled};
	struct events_reader *reader;
	cancel_set(&cancel);
	return events_reader_open(arg, &reader) == -EINTR ? arg : NULL;
}

/* While events are computed, an index may grow. Existing readers do not wait for that, and new ones can be
 * cancelled. */
static void readers_do_not_wait_for_index(void **state)
{
	static struct reply waiting;
	pthread_t thread;
	void *stopped;
	struct world *w = *state;
	struct events_reader *other;
	waiting = (struct reply){0};
	lock_acquire(&w->events->publish_lock);
	events_read(w->events, w->reader, 4096, true, &waiting);
	assert_false(waiting.done);
	assert_false(events_poll(w->events, w->reader, NULL));
	events_interrupt(w->events, &waiting);
	assert_int_equal(waiting.err, -EINTR);
	assert_int_equal(pthread_create(&thread, NULL, open_stopped, w->events), 0);
	assert_int_equal(pthread_join(thread, &stopped), 0);
	assert_non_null(stopped);
	lock_release(&w->events->publish_lock);
	assert_int_equal(events_reader_open(w->events, &other), 0);
	events_reader_close(w->events, other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    WORLD(no_change_emits_no_event),
	    WORLD(appended_entries_emit_events),
	    WORLD(message_events_have_role_and_stop_reason),
	    WORLD(lone_surrogate_becomes_replacement_character),
	    WORLD(partial_line_emits_event_when_complete),
	    WORLD(label_and_name_events),
	    WORLD(unchanged_session_emits_no_event),
	    WORLD(create_move_and_remove_events),
	    WORLD(many_moves_take_linear_time),
	    WORLD(slow_reader_gets_lost_event),
	    WORLD(partially_read_line_is_completed),
	    WORLD(idle_readers_share_memory),
	    WORLD(blocked_readers_are_woken),
	    WORLD(readers_do_not_wait_for_index),
	    WORLD(new_reader_gets_only_new_events),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
