/* SPDX-License-Identifier: MIT */
/* The loop that answers requests, with operations of any duration, and data sent ahead of an open. */
#include "fixture.h"

#include "../../src/fuse/fs_impl.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/process.h"
#include "sessionfs/base/sys.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <semaphore.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum { QUICK = 10, SLOW = 11, WAITING = 12, LONG = 14, FOR_ANOTHER = 15 };

struct served {
	struct wire w;
	struct fs fs;
	unsigned threads;
	int rc;
	atomic_uint ready;      /* how often the loop was ready */
	sem_t go;               /* one post for each waiting operation */
	atomic_uint long_begun; /* operations */
};

/* An option of libfuse. */
static const char *options = "-osubtype=loop";

/* The number of threads that can still be created. */
static atomic_int creatable = 1000;

static int make_thread(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	return atomic_fetch_sub(&creatable, 1) > 0 ? pthread_create(thread, attr, start, arg) : EAGAIN;
}

__typeof__(pthread_create) *const sys_pthread_create = make_thread;

/* The thread id that became ours, and how often the owner of a thread was queried. */
static _Atomic pid_t adopted;
static atomic_uint questions;

static int whose(pid_t process, pid_t thread, int signal)
{
	questions++;
	return thread == adopted ? 0 : tgkill(process, thread, signal);
}

__typeof__(tgkill) *const sys_tgkill = whose;

/* The time that another program uses the CPU when the reader yields, and the number of yields. */
static atomic_int taken_us;
static atomic_uint offers;

static int offer(void)
{
	offers++;
	return taken_us ? usleep((useconds_t)taken_us) : sched_yield();
}

__typeof__(sched_yield) *const sys_sched_yield = offer;

/* A thread killed while it waits for our answer. No real thread has this id. */
enum { KILLED = INT32_MAX };
static const char killed_stat[] =
    "2147483647 (a) name) D 1 1 1 0 -1 4194560 60 0 0 0 0 0 0 0 20 0 1 0 7 0 0 1 0 0 0 0 0 256 "
    "0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 137\n";

static int open_or_killed(int dir, const char *path, int flags, ...)
{
	if (strcmp(path, "/proc/2147483647/stat") != 0)
		return openat(dir, path, flags, 0600);
	int fd = memfd_create("stat", MFD_CLOEXEC);
	assert_int_equal(pwrite(fd, killed_stat, sizeof killed_stat - 1, 0), sizeof killed_stat - 1);
	return fd;
}

__typeof__(openat) *const sys_openat = open_or_killed;

/* The number of further reads of requests that fail for lack of memory. */
static atomic_int unreadable;

static ssize_t read_or_fail(int fd, void *p, size_t n)
{
	int left = unreadable;
	while (left > 0 && !atomic_compare_exchange_weak(&unreadable, &left, left - 1))
		;
	return left > 0 ? (errno = ENOMEM, -1) : read(fd, p, n);
}

__typeof__(read) *const sys_read = read_or_fail;

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct served *s = fuse_req_userdata(req);
	if (ino == WAITING)
		sem_wait(&s->go);
	if (ino == FOR_ANOTHER && cancel_wait_begin() < 0) {
		fuse_reply_err(req, EAGAIN);
		return;
	}
	if (ino == FOR_ANOTHER) {
		sem_wait(&s->go);
		cancel_wait_end();
	}
	if (ino == SLOW)
		usleep(300);
	s->long_begun += ino == LONG;
	while (ino == LONG) {
		if (cancel_check() < 0) {
			fuse_reply_err(req, EINTR);
			return;
		}
		usleep(1000);
	}
	fuse_reply_attr(req, &(struct stat){.st_ino = ino}, 0);
}

static void note_ready(void *arg)
{
	((struct served *)arg)->ready++;
}

static void *serve(void *arg)
{
	struct served *s = arg;
	s->rc = fs_loop(&s->fs, s->threads, note_ready, s);
	return NULL;
}

static void start(struct served *s, unsigned threads, int can_be_made)
{
	static const struct fuse_lowlevel_ops ops = {.getattr = op_getattr};
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	*s = (struct served){.threads = threads, .fs = {.read_only = true}};
	coherence_init(&s->fs.coherence);
	assert_int_equal(sem_init(&s->go, 0, 0), 0);
	assert_int_equal(fuse_opt_add_arg(&args, "loop"), 0);
	assert_int_equal(fuse_opt_add_arg(&args, options), 0);
	s->w.se = s->fs.session = fuse_session_new(&args, &ops, sizeof ops, s);
	fuse_opt_free_args(&args);
	wire_connect(&s->w);
	atomic_store(&creatable, can_be_made);
	assert_int_equal(pthread_create(&s->w.thread, NULL, serve, s), 0);
}

static void begin(struct served *s, unsigned threads)
{
	start(s, threads, 1000);
	wire_shake_hands(&s->w, ALL_FLAGS);
	/* The answer to INIT is sent before the loop notes that it is ready. */
	while (atomic_load(&s->ready) == 0)
		usleep(1000);
}

static void release(struct served *s)
{
	atomic_store(&creatable, 1000);
	fuse_session_destroy(s->w.se);
	close(s->w.fd);
	coherence_release(&s->fs.coherence);
	sem_destroy(&s->go);
}

static void assert_ends(struct served *s, int rc, unsigned ready)
{
	pthread_join(s->w.thread, NULL);
	assert_int_equal(s->rc, rc);
	assert_int_equal(s->ready, ready);
	release(s);
}

static void finish(struct served *s)
{
	shutdown(s->w.fd, SHUT_WR);
	assert_ends(s, 0, 1);
}

/* Finished at the end of the case. */
#define SERVED CLEANUP(finish)

static uint64_t ask(struct served *s, uint64_t node)
{
	struct fuse_getattr_in in = {0};
	return wire_send(&s->w, FUSE_GETATTR, node, &in, sizeof in, NULL, 0);
}

/* Waits until the loop has read all requests sent. */
static void wait_taken(struct served *s)
{
	int left = 1;
	while (left > 0) {
		usleep(1000);
		assert_int_equal(ioctl(s->w.fd, SIOCOUTQ, &left), 0);
	}
}

/* Waits until n threads work on long operations: a thread can have read a request without having begun. */
static void wait_working(struct served *s, unsigned n)
{
	while (s->long_begun < n)
		usleep(1000);
}

static void assert_answered(struct served *s, uint64_t unique)
{
	assert_int_equal(wire_receive_of(&s->w, unique, NULL), 0);
}

CASE(slow_request_does_not_block_others)
{
	SERVED struct served s;
	uint64_t waiting[2];
	begin(&s, 3);
	for (size_t i = 0; i < 2; i++) {
		waiting[i] = ask(&s, WAITING);
		assert_answered(&s, ask(&s, QUICK));
	}
	/* All three threads are busy. */
	uint64_t last = ask(&s, WAITING), next = ask(&s, QUICK);
	assert_false(wire_wait(&s.w, 50));
	sem_post(&s.go);
	static struct reply r;
	uint64_t first = wire_receive(&s.w, &r);
	assert_true(first == waiting[0] || first == waiting[1] || first == last);
	assert_answered(&s, next);
	sem_post(&s.go);
	sem_post(&s.go);
	wire_receive(&s.w, &r);
	wire_receive(&s.w, &r);
	/* Once more, with the threads that are free again. */
	waiting[0] = ask(&s, WAITING);
	assert_answered(&s, ask(&s, QUICK));
	sem_post(&s.go);
	assert_answered(&s, waiting[0]);
}

CASE(single_thread_replies_in_order)
{
	SERVED struct served s;
	begin(&s, 1);
	uint64_t waiting = ask(&s, WAITING), next = ask(&s, QUICK);
	assert_false(wire_wait(&s.w, 50));
	sem_post(&s.go);
	assert_answered(&s, waiting);
	assert_answered(&s, next);
}

CASE(every_request_is_answered_once)
{
	enum { ROUNDS = 40, AT_ONCE = 50 };
	static struct reply r;
	SERVED struct served s;
	begin(&s, 10);
	for (int round = 0; round < ROUNDS; round++) {
		bool answered[AT_ONCE] = {false};
		uint64_t first = ask(&s, SLOW);
		for (int i = 1; i < AT_ONCE; i++)
			ask(&s, i % 3 == 0 || round % 2 ? SLOW : QUICK);
		for (int i = 0; i < AT_ONCE; i++) {
			uint64_t at = (wire_receive(&s.w, &r) - first) / 2;
			assert_int_equal(r.error, 0);
			assert_in_range(at, 0, AT_ONCE - 1);
			assert_false(answered[at]);
			answered[at] = true;
		}
		/* Sometimes all threads go to sleep. */
		if (round % 8 == 0)
			usleep(3000);
	}
	assert_false(wire_wait(&s.w, 20));
}

CASE(unmount_finishes_running_requests)
{
	SERVED struct served s;
	begin(&s, 2);
	uint64_t waiting = ask(&s, WAITING);
	assert_answered(&s, ask(&s, QUICK));
	shutdown(s.w.fd, SHUT_WR);
	while (!fuse_session_exited(s.w.se))
		usleep(1000);
	assert_false(wire_wait(&s.w, 0));
	sem_post(&s.go);
	assert_answered(&s, waiting);
}

/* The reader can still read one request after the end, any of the first two. */
CASE(requests_fail_at_the_end_without_work)
{
	SERVED struct served s;
	begin(&s, 2);
	uint64_t waiting = ask(&s, WAITING);
	assert_answered(&s, ask(&s, QUICK));
	fuse_session_exit(s.w.se);
	int error = 0;
	for (int i = 0; i < 5 && error == 0; i++)
		error = wire_receive_of(&s.w, ask(&s, QUICK), NULL);
	assert_int_equal(error, -ENOTCONN);
	sem_post(&s.go);
	assert_answered(&s, waiting);
}

static void interrupt(struct served *s, uint64_t unique)
{
	const struct fuse_interrupt_in in = {.unique = unique};
	wire_send(&s->w, FUSE_INTERRUPT, 0, &in, sizeof in, NULL, 0);
}

static void assert_stopped(struct served *s, uint64_t unique)
{
	assert_int_equal(wire_receive_of(&s->w, unique, NULL), -EINTR);
}

CASE(long_work_ends_when_it_is_interrupted)
{
	SERVED struct served s;
	begin(&s, 2);
	uint64_t first = ask(&s, LONG), second = ask(&s, LONG);
	interrupt(&s, second);
	assert_stopped(&s, second);
	assert_answered(&s, ask(&s, QUICK));
	interrupt(&s, first);
	assert_stopped(&s, first);
	assert_answered(&s, ask(&s, QUICK));
}

/* All threads are busy, but one still reads interrupts. */
CASE(queued_requests_can_be_interrupted)
{
	enum { WORKING = 2, KEPT = 30 };
	for (unsigned threads = 1; threads <= WORKING; threads++) {
		struct served s;
		uint64_t working[WORKING], kept[KEPT];
		begin(&s, threads);
		for (unsigned i = 0; i < threads; i++)
			working[i] = ask(&s, LONG);
		wait_working(&s, threads);
		for (unsigned i = 0; i < KEPT; i++)
			kept[i] = ask(&s, i % 2 ? LONG : QUICK);
		for (unsigned i = KEPT; i > 0; i--) {
			if ((i - 1) % 2 == 0)
				continue;
			interrupt(&s, kept[i - 1]);
			assert_stopped(&s, kept[i - 1]);
		}
		assert_false(wire_wait(&s.w, 20));
		for (unsigned i = 0; i < threads; i++)
			interrupt(&s, working[i]);
		/* The free threads finish the rest. */
		for (unsigned i = 0, stopped = 0; i < KEPT / 2 + threads; i++) {
			static struct reply r;
			wire_receive(&s.w, &r);
			stopped += r.error == -EINTR;
			assert_true(r.error == 0 || stopped <= threads);
		}
		assert_answered(&s, ask(&s, QUICK));
		finish(&s);
	}
}

/* As for an index that one of them builds. However many wait, other requests are answered. */
CASE(waiting_requests_free_their_threads)
{
	enum { ASKED = 300 };
	static struct reply r;
	SERVED struct served s;
	begin(&s, 2);
	for (unsigned i = 0; i < ASKED; i++) {
		ask(&s, FOR_ANOTHER);
		if (i % 16 == 0)
			assert_answered(&s, ask(&s, QUICK));
	}
	assert_answered(&s, ask(&s, QUICK));
	for (unsigned i = 0; i < ASKED; i++) {
		sem_post(&s.go);
		wire_receive(&s.w, &r);
		assert_int_equal(r.error, 0);
	}
	assert_answered(&s, ask(&s, QUICK));
}

/* Otherwise no thread would be left to read the request that the others wait for. */
CASE(waiting_without_spare_thread_is_eagain)
{
	enum { THREADS = 5, ASKED = 20 };
	static struct reply r;
	SERVED struct served s;
	start(&s, 2, THREADS);
	wire_shake_hands(&s.w, ALL_FLAGS);
	for (unsigned i = 0; i < ASKED; i++)
		ask(&s, FOR_ANOTHER);
	uint64_t quick = ask(&s, QUICK);
	unsigned answered = 0, refused = 0;
	for (; wire_receive(&s.w, &r) != quick; answered++)
		refused += r.error == -EAGAIN;
	for (unsigned i = 0; i < ASKED; i++)
		sem_post(&s.go);
	for (; answered < ASKED; answered++) {
		wire_receive(&s.w, &r);
		refused += r.error == -EAGAIN;
	}
	assert_in_range(refused, ASKED - THREADS + 1, ASKED - 1);
}

CASE(sigkill_cancels_request)
{
	enum { HOUR_MS = 3600 * 1000 };
	SERVED struct served s;
	wire_let_pass(CLOCK_MONOTONIC, HOUR_MS);
	begin(&s, 3);
	uint64_t asked = ask(&s, LONG);
	s.w.pid = KILLED;
	uint64_t killed = ask(&s, LONG);
	s.w.pid = 0;
	wait_working(&s, 2);
	wire_let_pass(CLOCK_MONOTONIC, -HOUR_MS); /* keeps the requests young for the duration of the test */
	interrupt(&s, asked);
	interrupt(&s, killed);
	assert_stopped(&s, killed);
	/* Such an interrupt need not be meant to end the request. */
	assert_false(wire_wait(&s.w, 20));
	wire_let_pass(CLOCK_MONOTONIC, HOUR_MS);
	assert_stopped(&s, asked);
}

CASE(unmount_cancels_long_work)
{
	SERVED struct served s;
	begin(&s, 1);
	uint64_t working = ask(&s, LONG), kept = ask(&s, LONG);
	wait_taken(&s);
	fuse_session_exit(s.w.se);
	shutdown(s.w.fd, SHUT_WR);
	/* The queued request starts at the end: from then on both are running. */
	static struct reply r;
	uint64_t first = wire_receive(&s.w, &r);
	assert_int_equal(r.error, -EINTR);
	assert_true(first == working || first == kept);
	assert_stopped(&s, working + kept - first);
}

CASE(loop_without_threads_fails)
{
	struct served s;
	start(&s, 2, 0);
	assert_ends(&s, -EAGAIN, 0);
}

CASE(unread_request_is_read_once_memory_is_free)
{
	struct served s;
	for (unsigned threads = 1; threads < 3; threads++) {
		begin(&s, threads);
		unreadable = 4;
		assert_answered(&s, ask(&s, QUICK));
		assert_int_equal(unreadable, 0);
		unreadable = 1;
		assert_answered(&s, ask(&s, QUICK));
		/* The end is noticed while reads fail. */
		unreadable = INT32_MAX;
		fuse_session_exit(s.w.se);
		ask(&s, QUICK);
		assert_ends(&s, 0, 1);
		unreadable = 0;
	}
}

/* A process can be waiting for its answer. */
CASE(last_request_is_received)
{
	struct served s;
	struct fuse_buf buf = {.mem = NULL};
	start(&s, 1, 0); /* its loop fails, since it cannot create a thread */
	pthread_join(s.w.thread, NULL);
	ask(&s, QUICK);
	fuse_session_exit(s.w.se);
	assert_true(fs_receive(s.w.se, &buf) > 0);
	assert_int_equal(((const struct fuse_in_header *)buf.mem)->nodeid, QUICK);
	free(buf.mem);
	release(&s);
}

/* libfuse refuses INIT if it sets another max_read, and the mount is not ready if it ends before INIT. */
CASE(loop_is_ready_after_init)
{
	struct fuse_init_in in = {.major = 7, .minor = 36, .max_readahead = 1 << 17, .flags = ALL_FLAGS};
	SERVED struct served s;
	options = "-omax_read=4096";
	start(&s, 4, 1000);
	assert_int_equal(wire_call(&s.w, FUSE_INIT, 0, &in, sizeof in, NULL), -EPROTO);
	assert_ends(&s, -ECANCELED, 0);
	options = "-osubtype=loop";
	start(&s, 4, 1000);
	shutdown(s.w.fd, SHUT_WR);
	assert_ends(&s, -ECANCELED, 0);
	begin(&s, UINT32_MAX);
}

/* Between requests the reader polls without result: it first yields the CPU, and then sleeps. */
CASE(preempted_reader_stops_spinning)
{
	struct served s;
	taken_us = 2000;
	begin(&s, 4);
	offers = 0;
	for (int i = 0; i < 40; i++) {
		usleep(10 * 1000);
		assert_answered(&s, ask(&s, QUICK));
	}
	assert_in_range(offers, 0, 1);
	finish(&s);
	taken_us = 0;
}

CASE(i2_no_lease_without_thread)
{
	creatable = 2; /* of the loop */
	assert_int_equal(setup(state), 0);
	creatable = 1000;
	assert_int_equal(wire_walk(*state, SESSION "/title").attr_valid, 0);
	teardown(state);
}

/* A foreign thread; none of ours has this id. */
enum { STRANGER = 1 };

static int refuse_own(void **state)
{
	struct wire *w = prepare();
	w->refuse_own = true;
	w->threads = 1;
	wire_open(w, false, ALL_FLAGS);
	w->pid = STRANGER;
	*state = w;
	return 0;
}

STATE_CASE(own_threads_are_refused, refuse_own, teardown)
{
	static struct reply r;
	struct fuse_entry_out e;
	struct fuse_open_out open;
	uint64_t title = wire_walk(w, SESSION "/title").nodeid;
	assert_int_equal(wire_open_file(w, title, O_RDONLY, &open), 0);
	w->pid = 0;
	assert_int_equal(wire_lookup(w, NODE_ROOT, "projects", &e), -ELOOP);
	assert_int_equal(
	    wire_call(w, FUSE_GETATTR, title, &(struct fuse_getattr_in){0}, sizeof(struct fuse_getattr_in), &r),
	    -ELOOP);
	assert_int_equal(wire_open_file(w, title, O_RDONLY, &open), -ELOOP);
	assert_int_equal(wire_read(w, title, open.fh, 0, 100, &r), -ELOOP);
	assert_int_equal(wire_readdirplus(w, NODE_ROOT, 0, 4096, &r), -ELOOP);
	/* Open files can be closed. */
	struct fuse_release_in in = {.fh = open.fh};
	assert_int_equal(wire_call(w, FUSE_RELEASE, title, &in, sizeof in, &r), 0);
	w->pid = STRANGER;
	assert_int_equal(wire_lookup(w, NODE_ROOT, "projects", &e), 0);
}

/* A new thread of ours can get the same id. */
STATE_CASE(caller_check_is_cached_until_new_thread, refuse_own, teardown)
{
	struct fuse_entry_out e;
	questions = 0;
	for (int i = 0; i < 100; i++)
		assert_int_equal(wire_lookup(w, NODE_ROOT, "projects", &e), 0);
	assert_in_range(questions, 1, 10); /* once for each reader, and once more if a thread began */
	adopted = STRANGER;
	atomic_fetch_add(&process_threads_begun, 1);
	assert_int_equal(wire_lookup(w, NODE_ROOT, "projects", &e), -ELOOP);
	adopted = 0;
	assert_int_equal(wire_lookup(w, NODE_ROOT, "projects", &e), 0);
}

RUN_CASES(NULL, NULL)
