/* The catalog is a fake: a table of files that the tests change. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "sessionfs/watch.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

struct file {
	uint32_t slot, project;
	const char *stem, *sid;
	off_t size;
	long mtime;
};

struct catalog {
	struct file files[8];
	unsigned n, looks;
};

static const char *const projects[] = {"p-zero", "p\"one"};

bool catalog_slot_next(struct catalog *c, uint32_t project, uint64_t *cookie, struct slot_info *ret)
{
	assert_int_equal(project, NO_SLOT);
	if (*cookie == 0)
		__atomic_add_fetch(&c->looks, 1, __ATOMIC_SEQ_CST);
	if (*cookie >= c->n)
		return false;
	const struct file *f = &c->files[(*cookie)++];
	*ret = (struct slot_info){.slot = f->slot, .project = f->project, .stem = f->stem, .sid = f->sid};
	ret->st.st_size = f->size;
	ret->st.st_mtim.tv_sec = f->mtime;
	return true;
}

bool catalog_project(struct catalog *c, uint32_t project, struct project_info *ret)
{
	(void)c;
	if (project >= 2)
		return false;
	*ret = (struct project_info){.project = project, .name = projects[project]};
	return true;
}

/* What a read was answered with; `request` of the tests. */
struct reply {
	pthread_mutex_t lock;
	pthread_cond_t there;
	bool done, cancelled;
	int err;
	char text[4096];
};

#define REPLY_INIT                                                                                                     \
	{                                                                                                              \
		.lock = PTHREAD_MUTEX_INITIALIZER, .there = PTHREAD_COND_INITIALIZER                                   \
	}

static void answer(void *request, int err, struct span bytes)
{
	struct reply *r = request;
	pthread_mutex_lock(&r->lock);
	assert_false(r->done);
	r->done = true;
	r->err = err;
	assert_true(bytes.n < sizeof r->text);
	if (bytes.n)
		memcpy(r->text, bytes.p, bytes.n);
	r->text[bytes.n] = '\0';
	pthread_cond_signal(&r->there);
	pthread_mutex_unlock(&r->lock);
}

static bool gave_up(void *request)
{
	return ((struct reply *)request)->cancelled;
}

static const struct watch_ops ops = {answer, gave_up};

static bool is_done(struct reply *r)
{
	pthread_mutex_lock(&r->lock);
	bool done = r->done;
	pthread_mutex_unlock(&r->lock);
	return done;
}

static void await(struct reply *r)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 20;
	pthread_mutex_lock(&r->lock);
	while (!r->done)
		assert_int_equal(pthread_cond_timedwait(&r->there, &r->lock, &until), 0);
	pthread_mutex_unlock(&r->lock);
}

static void await_looks(struct catalog *c, unsigned more)
{
	unsigned from = __atomic_load_n(&c->looks, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&c->looks, __ATOMIC_SEQ_CST) < from + more)
		usleep(10000);
}

/* The line after its time, which is checked for its form. */
static const char *after_time(const char *line)
{
	struct tm tm;
	int ms;
	char z;
	assert_int_equal(strncmp(line, "{\"time\":\"", 9), 0);
	const char *rest = strptime(line + 9, "%Y-%m-%dT%H:%M:%S", &tm);
	assert_non_null(rest);
	assert_int_equal(sscanf(rest, ".%3d%c", &ms, &z), 2);
	assert_int_equal(z, 'Z');
	return rest + 5;
}

static struct catalog two_files(void)
{
	return (struct catalog){
	    .files = {{5, 0, "b", "sid-b", 100, 1000}, {2, 1, "a", "sid-a", 100, 1000}},
	    .n = 2,
	};
}

struct fixture {
	struct catalog catalog;
	struct watch *watch;
	struct watch_reader *reader;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	f->catalog = two_files();
	assert_int_equal(watch_open(&f->catalog, &ops, &f->watch), 0);
	assert_int_equal(watch_reader_open(f->watch, &f->reader), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	watch_close(f->watch);
	free(f);
	return 0;
}

static void a_read_waits_for_a_change(void **state)
{
	struct fixture *f = *state;
	struct reply r = REPLY_INIT;
	watch_read(f->watch, f->reader, 4096, true, &r);
	await_looks(&f->catalog, 2);
	assert_false(is_done(&r));
	f->catalog.files[1].size++;
	await(&r);
	assert_int_equal(r.err, 0);
	assert_string_equal(after_time(r.text),
	                    "\",\"event\":\"changed\",\"session\":\"sid-a\",\"path\":\"projects/p\\\"one/a\"}\n");
}

static void added_and_removed(void **state)
{
	struct fixture *f = *state;
	struct reply added = REPLY_INIT, removed = REPLY_INIT;
	f->catalog.files[2] = (struct file){9, 0, "c", "sid-c", 1, 1};
	f->catalog.n = 3;
	watch_read(f->watch, f->reader, 4096, true, &added);
	await(&added);
	assert_string_equal(after_time(added.text),
	                    "\",\"event\":\"added\",\"session\":\"sid-c\",\"path\":\"projects/p-zero/c\"}\n");
	f->catalog.n = 2;
	watch_read(f->watch, f->reader, 4096, true, &removed);
	await(&removed);
	assert_string_equal(after_time(removed.text),
	                    "\",\"event\":\"removed\",\"session\":\"sid-c\",\"path\":\"projects/p-zero/c\"}\n");
}

static void a_replaced_file_is_changed(void **state)
{
	struct fixture *f = *state;
	struct reply r = REPLY_INIT;
	f->catalog.files[0].slot = 11;
	f->catalog.files[0].sid = "sid-new";
	watch_read(f->watch, f->reader, 4096, true, &r);
	await(&r);
	assert_string_equal(after_time(r.text),
	                    "\",\"event\":\"changed\",\"session\":\"sid-new\",\"path\":\"projects/p-zero/b\"}\n");
}

static void everything_at_once(void **state)
{
	struct fixture *f = *state;
	struct reply r = REPLY_INIT;
	f->catalog.files[2] = (struct file){20, 0, "c", "c", 1, 1};
	f->catalog.files[3] = (struct file){21, 7, "no project", "x", 1, 1};
	f->catalog.files[4] = (struct file){22, 0, "a", "a", 1, 1};
	f->catalog.files[0].slot = 19;
	f->catalog.files[1].mtime++;
	f->catalog.n = 5;
	await_looks(&f->catalog, 2);
	watch_read(f->watch, f->reader, 4096, true, &r);
	await(&r);
	static const char *const events[] = {
	    "\",\"event\":\"changed\",\"session\":\"sid-a\",",
	    "\",\"event\":\"added\",\"session\":\"a\",",
	    "\",\"event\":\"changed\",\"session\":\"sid-b\",",
	    "\",\"event\":\"added\",\"session\":\"c\",",
	};
	char *line = strtok(r.text, "\n");
	for (size_t i = 0; i < sizeof events / sizeof *events; i++, line = strtok(NULL, "\n")) {
		assert_non_null(line);
		assert_int_equal(strncmp(after_time(line), events[i], strlen(events[i])), 0);
	}
	assert_null(line);
}

static void each_reader_has_its_place(void **state)
{
	struct fixture *f = *state;
	struct reply first = REPLY_INIT, late = REPLY_INIT, none = REPLY_INIT;
	struct watch_reader *second;
	f->catalog.files[0].size++;
	watch_read(f->watch, f->reader, 4096, true, &first);
	await(&first);
	assert_int_equal(watch_reader_open(f->watch, &second), 0);
	watch_read(f->watch, second, 4096, false, &none);
	assert_int_equal(none.err, -EAGAIN);
	f->catalog.files[0].size++;
	watch_read(f->watch, second, 4096, true, &late);
	await(&late);
	watch_reader_close(f->watch, second);
}

static void portions_are_whole_lines(void **state)
{
	struct fixture *f = *state;
	struct reply one = REPLY_INIT, other = REPLY_INIT, none = REPLY_INIT, piece = REPLY_INIT;
	f->catalog.files[0].size++;
	f->catalog.files[1].size++;
	await_looks(&f->catalog, 2);
	watch_read(f->watch, f->reader, 0, true, &none);
	assert_true(none.done && none.err == 0 && !none.text[0]);
	watch_read(f->watch, f->reader, 10, true, &piece);
	assert_string_equal(piece.text, "{\"time\":\"2");
	watch_read(f->watch, f->reader, 120, true, &one);
	assert_true(one.done);
	assert_ptr_equal(strchr(one.text, '\n'), one.text + strlen(one.text) - 1);
	watch_read(f->watch, f->reader, 4096, true, &other);
	assert_true(other.done);
	assert_ptr_equal(strchr(other.text, '\n'), other.text + strlen(other.text) - 1);
	after_time(other.text);
}

static void a_slow_reader_hears_that_it_lost_some(void **state)
{
	struct fixture *f = *state;
	struct watch_reader *r = f->reader;
	static char name[300000];
	memset(name, 'x', sizeof name - 1);
	for (unsigned i = 0; i < 5; i++)
		f->catalog.files[2 + i] = (struct file){30 + i, 0, name, "long", 1, 1};
	f->catalog.n = 7;
	await_looks(&f->catalog, 2);
	size_t read = 0;
	for (;;) {
		struct reply some = REPLY_INIT;
		watch_read(f->watch, r, 4000, false, &some);
		assert_int_equal(some.err, 0);
		if (strstr(some.text, "lost")) {
			assert_string_equal(after_time(some.text), "\",\"event\":\"lost\"}\n");
			break;
		}
		read += strlen(some.text);
	}
	assert_true(read > WATCH_BACKLOG / 2 && read <= WATCH_BACKLOG);
	struct reply next = REPLY_INIT;
	f->catalog.files[0].size++;
	watch_read(f->watch, r, 4000, true, &next);
	await(&next);
	assert_non_null(strstr(next.text, "changed"));
}

static void interrupts_and_closes(void **state)
{
	struct fixture *f = *state;
	struct reply kept = REPLY_INIT, interrupted = REPLY_INIT, closed = REPLY_INIT, early = REPLY_INIT;
	struct watch_reader *second;
	assert_int_equal(watch_reader_open(f->watch, &second), 0);
	watch_read(f->watch, f->reader, 4096, true, &kept);
	watch_read(f->watch, f->reader, 4096, true, &interrupted);
	watch_read(f->watch, second, 4096, true, &closed);
	watch_interrupt(f->watch, &interrupted);
	assert_int_equal(interrupted.err, -EINTR);
	watch_interrupt(f->watch, &interrupted);
	watch_reader_close(f->watch, second);
	assert_int_equal(closed.err, -EINTR);
	early.cancelled = true;
	watch_read(f->watch, f->reader, 4096, true, &early);
	assert_int_equal(early.err, -EINTR);
	assert_false(is_done(&kept));
	watch_close(f->watch);
	f->watch = NULL;
	assert_true(kept.done);
	assert_int_equal(kept.err, 0);
	assert_string_equal(kept.text, "");
}

static void nobody_looks_while_nobody_reads(void **state)
{
	struct fixture *f = *state;
	watch_reader_close(f->watch, f->reader);
	usleep(2 * WATCH_INTERVAL_MS * 1000);
	unsigned looks = f->catalog.looks;
	usleep(2 * WATCH_INTERVAL_MS * 1000);
	assert_int_equal(f->catalog.looks, looks);
	/* What changed meanwhile is no news for the next reader. */
	f->catalog.files[0].size++;
	struct reply none = REPLY_INIT;
	assert_int_equal(watch_reader_open(f->watch, &f->reader), 0);
	await_looks(&f->catalog, 1);
	watch_read(f->watch, f->reader, 4096, false, &none);
	assert_int_equal(none.err, -EAGAIN);
}

static void opens_and_closes_without_readers(void **state)
{
	(void)state;
	struct catalog c = {0};
	struct watch *w;
	assert_int_equal(watch_open(&c, &ops, &w), 0);
	watch_close(w);
	watch_close(NULL);
	assert_int_equal(c.looks, 0);
}

#define WATCHED(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    WATCHED(a_read_waits_for_a_change),
	    WATCHED(added_and_removed),
	    WATCHED(a_replaced_file_is_changed),
	    WATCHED(everything_at_once),
	    WATCHED(each_reader_has_its_place),
	    WATCHED(portions_are_whole_lines),
	    WATCHED(a_slow_reader_hears_that_it_lost_some),
	    WATCHED(interrupts_and_closes),
	    WATCHED(nobody_looks_while_nobody_reads),
	    cmocka_unit_test(opens_and_closes_without_readers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
