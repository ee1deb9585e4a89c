/* SPDX-License-Identifier: MIT */
/* The loop that reads requests and answers them.
 *
 * One thread, the reader, reads requests and answers them: most are answered in less time than it takes to wake another
 * thread. A cold find -size over 190,000 names takes 3.6 s of CPU time. With libfuse's fuse_session_loop_mt it takes
 * 5.8 s: its threads all wait for the device and wake each other in turn.
 *
 * A slow request must not delay the others. So while there are requests, the main thread checks each millisecond
 * whether the reader is still at work on the same one. If so, another thread replaces the reader.
 *
 * All work can be interrupted, and an interrupt is a message that must be read. So one thread always reads, and at most
 * `cap` threads work. Each further request waits in a thread of its own. With -s one thread works. A thread that waits
 * for another thread or program (cancel_wait_begin) does not count as working.
 *
 * The reader polls for the next request for 50 microseconds before it sleeps. A program that walks the tree sends it
 * sooner than that, and a CPU takes longer to wake from its sleep. A warm find -size over 30,000 names takes 100 ms,
 * and 130 ms without the polling. It takes as long if the reader polls without a pause, with four times as many reads.
 */
#include "fs_impl.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/log.h"
#include "sessionfs/base/process.h"
#include "sessionfs/base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { WATCH_TICK_NS = 1000 * 1000 };

/* The time for which the reader polls for the next request, the time between two reads of a poll, and the max number of
 * polls it skips after one without a request. */
enum { SPIN_NS = 50 * 1000, SPIN_READ_NS = 2200, SPINS_SKIPPED_MAX = 63 };

/* Delay of the next try if memory for a request was lacking. */
enum { RETRY_MS = 10 };

/* Work is not cancelled before this unless its process dies: not every signal is meant to end it, and a write that is
 * nearly done should finish. */
enum { REQUEST_GRACE_NS = 200 * 1000 * 1000 };

/* A thread and the request it is working on. */
struct worker {
	struct worker *next;
	struct loop *loop;
	pthread_t thread;
	_Atomic uint64_t unique;      /* the number of its request, 0: none */
	_Atomic uint64_t interrupted; /* the number of an interrupted request */
	_Atomic uint64_t killed;      /* the number of a request whose process is dying */
	_Atomic uint32_t caller;      /* the thread that sent the request */
	int64_t began;
};

struct loop {
	struct fs *fs;
	struct fuse_session *session;
	int device, end, active; /* descriptors: requests; the end; new requests after idle time */
	/* Odd while the reader is at work on a request. It rises when a request begins or ends, and when another thread
	 * becomes the reader: a thread that finds it changed has been replaced. */
	_Atomic uint64_t turn;
	atomic_bool resting; /* the main thread does not check `turn` */
	atomic_bool ready;   /* INIT was answered */
	atomic_int error;
	int64_t spin_ns;
	unsigned spins_to_skip, spins_skipped; /* the reader's: polls to skip; polls skipped */
	struct lock lock;                      /* guards the fields below */
	pthread_cond_t spare;                  /* for threads that wait to read */
	pthread_cond_t room;                   /* for threads that wait to work */
	bool has_reader, ended;
	struct worker *workers;
	unsigned spares;       /* threads that wait to read */
	unsigned working, cap; /* threads that work, without those that wait for others; max */
};

static void signal_eventfd(int event)
{
	uint64_t one = 1;
	ssize_t n = write(event, &one, sizeof one);
	(void)n;
}

static void loop_stop(struct loop *l)
{
	signal_eventfd(l->end);
	LOCKED(&l->lock);
	l->ended = true;
	pthread_cond_broadcast(&l->spare);
	pthread_cond_broadcast(&l->room);
}

/* The largest write and its headers. */
enum { REQUEST_MAX = FS_MAX_WRITE + 2 * 4096 };

int fs_receive(struct fuse_session *session, struct fuse_buf *buf)
{
	if (!buf->mem)
		buf->mem = malloc(REQUEST_MAX);
	if (!buf->mem)
		return -ENOMEM;
	ssize_t n = sys_read(fuse_session_fd(session), buf->mem, REQUEST_MAX);
	/* ENOENT: the request was withdrawn. ENODEV: the mount is gone. */
	if (n < 0 && (errno == ENOENT || errno == ENODEV))
		return errno == ENOENT ? -EINTR : 0;
	buf->size = n < 0 ? 0 : (size_t)n;
	return n < 0 ? -errno : (int)n;
}

bool join_while_refusing(struct fuse_session *session, pthread_t thread, int64_t ns)
{
	int64_t begun = clock_ns(CLOCK_MONOTONIC);
	struct pollfd p = {.fd = fuse_session_fd(session), .events = POLLIN};
	struct fuse_buf buf = {.mem = NULL};
	bool is_running;
	do {
		while (poll(&p, 1, 0) == 1 && p.revents & POLLIN && fs_receive(session, &buf) > 0) {
			const struct fuse_in_header *h = buf.mem;
			if (h->opcode != FUSE_FORGET && h->opcode != FUSE_BATCH_FORGET && h->opcode != FUSE_INTERRUPT)
				caller_reply_error(session, h, ENOTCONN);
		}
		is_running = pthread_tryjoin_np(thread, NULL) == EBUSY;
		if (is_running)
			nanosleep(&(struct timespec){.tv_nsec = WATCH_TICK_NS}, NULL);
	} while (is_running && clock_ns(CLOCK_MONOTONIC) - begun < ns);
	free(buf.mem);
	return !is_running;
}

/* --- workers ----------------------------------------------------------------------------------------- */

static void *loop_thread_main(void *arg);

static bool loop_add_thread(struct loop *l)
{
	struct worker *w = calloc(1, sizeof *w);
	if (!w)
		return false;
	w->loop = l;
	if (sys_pthread_create(&w->thread, NULL, loop_thread_main, w) != 0) {
		free(w);
		return false;
	}
	w->next = l->workers;
	l->workers = w;
	return true;
}

static bool worker_is_interrupted(struct worker *w)
{
	uint64_t unique = atomic_load(&w->unique);
	return atomic_load(&w->interrupted) == unique || atomic_load(&w->killed) == unique;
}

static bool worker_is_cancelled(void *arg)
{
	struct worker *w = arg;
	if (!worker_is_interrupted(w) && !fuse_session_exited(w->loop->session))
		return false;
	return atomic_load(&w->killed) == atomic_load(&w->unique) ||
	       clock_ns(CLOCK_MONOTONIC) - w->began > REQUEST_GRACE_NS;
}

/* A thread may wait only if another thread reads meanwhile: the next request may end the wait. */
static bool worker_wait_hook(void *arg, bool begins)
{
	struct loop *l = ((struct worker *)arg)->loop;
	LOCKED(&l->lock);
	if (begins && !l->ended && l->spares == 0 && !loop_add_thread(l))
		return false;
	l->working = begins ? l->working - 1 : l->working + 1;
	pthread_cond_signal(&l->room);
	return true;
}

/* Answers the request once fewer than `cap` threads work or it is interrupted. An interrupted request that has not
 * begun needs no grace. */
static void worker_process(struct worker *w, const struct fuse_buf *buf)
{
	struct loop *l = w->loop;
	const struct cancel cancel = {.is_cancelled = worker_is_cancelled, .on_wait = worker_wait_hook, .arg = w};
	const uint32_t op = ((const struct fuse_in_header *)buf->mem)->opcode;
	bool only_reads = op == FUSE_LOOKUP || op == FUSE_GETATTR || op == FUSE_READLINK || op == FUSE_READ ||
	                  op == FUSE_OPENDIR || op == FUSE_READDIR || op == FUSE_READDIRPLUS;
	w->began = clock_ns(CLOCK_MONOTONIC);
	lock_acquire(&l->lock);
	while (l->working >= l->cap && !l->ended && w->began) {
		lock_wait(&l->lock, &l->room);
		w->began = worker_is_interrupted(w) ? 0 : clock_ns(CLOCK_MONOTONIC);
	}
	l->working++;
	lock_release(&l->lock);
	cancel_set(&cancel);
	catalog_set_reading(only_reads);
	fuse_session_process_buf(l->session, buf);
	/* If libfuse refuses INIT, it ends the session. */
	if (op == FUSE_INIT && !fuse_session_exited(l->session)) {
		atomic_store(&l->ready, true);
		signal_eventfd(l->active); /* if that was slow, the supervisor rests by now */
	}
	catalog_set_reading(false);
	cancel_set(NULL);
	atomic_store(&w->unique, 0);
	LOCKED(&l->lock);
	l->working--;
	pthread_cond_signal(&l->room);
}

static void loop_interrupt(struct loop *l, const struct fuse_buf *buf)
{
	const struct fuse_interrupt_in *in = (const void *)((const struct fuse_in_header *)buf->mem + 1);
	uint64_t unique = buf->size < sizeof(struct fuse_in_header) + sizeof *in ? 0 : in->unique;
	lock_acquire(&l->lock);
	struct worker *w = l->workers; /* each stays until the end */
	while (w && atomic_load(&w->unique) != unique)
		w = w->next;
	lock_release(&l->lock);
	if (!w || !unique)
		return;
	bool dies = process_is_dying((pid_t)atomic_load(&w->caller));
	LOCKED(&l->lock);
	atomic_store(dies ? &w->killed : &w->interrupted, unique);
	pthread_cond_broadcast(&l->room);
}

/* --- the reader --------------------------------------------------------------------------------------- */

/* Makes another thread the reader, unless none can be created or the reader has finished meanwhile. */
static void loop_replace_reader(struct loop *l, uint64_t turn)
{
	LOCKED(&l->lock);
	if (l->spares == 0 && !loop_add_thread(l))
		return;
	if (!atomic_compare_exchange_strong(&l->turn, &turn, turn + 1))
		return;
	l->has_reader = false;
	pthread_cond_signal(&l->spare);
}

/* While the reader finds nothing it polls ever more seldom, and most seldom if another program took the CPU when the
 * reader yielded it: a sleeping thread gets it back sooner. Returns as fs_receive. */
static int loop_spin_for_request(struct loop *l, struct fuse_buf *buf)
{
	if (l->spins_skipped < l->spins_to_skip) {
		l->spins_skipped++;
		return -EAGAIN;
	}
	int64_t until = l->spin_ns ? clock_ns(CLOCK_MONOTONIC) + l->spin_ns : 0, next = 0, now;
	int rc = -EAGAIN;
	while (rc == -EAGAIN && (now = clock_ns(CLOCK_MONOTONIC)) < until) {
		if (now < next)
			continue;
		next = now + SPIN_READ_NS;
		rc = fs_receive(l->session, buf);
		if (rc == -EAGAIN)
			sys_sched_yield(); /* the caller can be waiting for this CPU */
	}
	l->spins_skipped = 0;
	if (rc == -EAGAIN && until && clock_ns(CLOCK_MONOTONIC) - until > SPIN_NS)
		l->spins_to_skip = SPINS_SKIPPED_MAX;
	else
		l->spins_to_skip = rc != -EAGAIN                          ? 0
		                   : l->spins_to_skip < SPINS_SKIPPED_MAX ? 2 * l->spins_to_skip + 1
		                                                          : SPINS_SKIPPED_MAX;
	return rc;
}

/* Waits for a request. Returns a positive number, 0 at the end, or a negative errno. */
static int loop_receive(struct loop *l, struct fuse_buf *buf)
{
	struct pollfd wait[] = {{.fd = l->device, .events = POLLIN}, {.fd = l->end, .events = POLLIN}};
	while (!fuse_session_exited(l->session)) {
		int rc = loop_spin_for_request(l, buf);
		if (rc == -EAGAIN) {
			poll(wait, 2, -1);
			rc = fs_receive(l->session, buf);
		}
		if (rc == -ENOMEM)
			poll(&wait[1], 1, RETRY_MS);
		else if (rc != -EAGAIN && rc != -EINTR)
			return rc;
	}
	return 0;
}

/* Answers a request. Returns true if the thread is still the reader. */
static bool loop_answer(struct worker *w, const struct fuse_buf *buf)
{
	struct loop *l = w->loop;
	const struct fuse_in_header *h = buf->mem;
	if (h->opcode == FUSE_INTERRUPT) {
		loop_interrupt(l, buf);
		return true;
	}
	if (h->opcode == FUSE_FORGET || h->opcode == FUSE_BATCH_FORGET) {
		fuse_session_process_buf(l->session, buf);
		return true;
	}
	if (caller_refuse_our_thread(l->fs, h))
		return true;
	/* Before another thread can read: it can read the interrupt of this request. */
	atomic_store(&w->caller, h->pid);
	atomic_store(&w->unique, h->unique);
	uint64_t turn = atomic_load(&l->turn) + 1;
	atomic_store(&l->turn, turn);
	if (atomic_exchange(&l->resting, false))
		signal_eventfd(l->active);
	worker_process(w, buf);
	return atomic_compare_exchange_strong(&l->turn, &turn, turn + 1);
}

/* Waits until this thread is the reader. Returns false at the end. */
static bool loop_wait_to_read(struct loop *l)
{
	LOCKED(&l->lock);
	l->spares++;
	while (l->has_reader && !l->ended)
		lock_wait(&l->lock, &l->spare);
	l->spares--;
	l->has_reader = true;
	return !l->ended;
}

static void *loop_thread_main(void *arg)
{
	struct worker *w = arg;
	struct loop *l = w->loop;
	struct fuse_buf buf = {.mem = NULL};
	int rc = 1;
	atomic_fetch_add(&process_threads_begun, 1);
	log_thread_init();
	while (rc > 0 && loop_wait_to_read(l)) {
		do
			rc = loop_receive(l, &buf);
		while (rc > 0 && loop_answer(w, &buf));
	}
	if (rc < 0)
		atomic_store(&l->error, rc);
	if (rc <= 0)
		loop_stop(l);
	free(buf.mem);
	return NULL;
}

/* --- the loop ---------------------------------------------------------------------------------------- */

static int loop_prepare(struct loop *l, struct fs *fs, unsigned threads)
{
	int fd = fuse_session_fd(fs->session), flags = fcntl(fd, F_GETFL);
	cpu_set_t cpus;

	*l = (struct loop){.fs = fs, .session = fs->session, .device = fd, .cap = threads > 1 ? threads : 1};
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	/* With a single CPU, polling keeps the caller from sending a request. */
	if (sched_getaffinity(0, sizeof cpus, &cpus) < 0 || CPU_COUNT(&cpus) > 1)
		l->spin_ns = SPIN_NS;
	l->end = eventfd(0, EFD_CLOEXEC);
	l->active = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->end < 0 || l->active < 0)
		return -errno;
	lock_init(&l->lock, LOCK_LOOP);
	lock_cond_init(&l->spare);
	lock_cond_init(&l->room);
	return 0;
}

static void loop_release(struct loop *l)
{
	pthread_cond_destroy(&l->spare);
	pthread_cond_destroy(&l->room);
	lock_destroy(&l->lock);
	close(l->end);
	close(l->active);
	for (struct worker *w = l->workers, *next; w; w = next) {
		next = w->next;
		free(w);
	}
	free(l);
}

/* Supervises the reader until the end. Only this thread takes signals. */
static void loop_watch_reader(struct loop *l, const sigset_t *mask, void (*on_ready)(void *arg), void *arg)
{
	const struct timespec tick = {.tv_nsec = WATCH_TICK_NS};
	struct pollfd p[] = {{.fd = l->end, .events = POLLIN}, {.fd = l->active, .events = POLLIN}};
	uint64_t before = 0, n;
	while (!fuse_session_exited(l->session)) {
		int rc = ppoll(p, 2, atomic_load(&l->resting) ? NULL : &tick, mask);
		if (on_ready && atomic_load(&l->ready)) {
			on_ready(arg);
			on_ready = NULL;
		}
		if (rc > 0 && p[0].revents)
			return;
		if (rc > 0 && read(l->active, &n, sizeof n) < 0)
			continue;
		uint64_t turn = atomic_load(&l->turn);
		if (turn != before) {
			before = turn;
		} else if (turn % 2) {
			loop_replace_reader(l, turn);
		} else {
			atomic_store(&l->resting, true);
			/* The reader can have begun a request before it saw `resting`. */
			if (atomic_load(&l->turn) != turn)
				atomic_store(&l->resting, false);
		}
	}
}

int fs_loop(struct fs *fs, unsigned threads, void (*on_ready)(void *arg), void *arg)
{
	sigset_t old;
	struct loop *l = malloc(sizeof *l);
	int rc = l ? loop_prepare(l, fs, threads) : -ENOMEM;
	if (rc) {
		free(l);
		return rc;
	}
	log_block_signals(&old);
	/* One thread reads and one is spare. Dropping pages requires two working threads: one can answer while the
	 * other waits. */
	lock_acquire(&l->lock);
	rc = loop_add_thread(l) ? 0 : -EAGAIN;
	if (rc == 0 && loop_add_thread(l) && l->cap > 1 && fs->read_only)
		rc = sizes_enable(fs);
	lock_release(&l->lock);
	if (rc == 0)
		loop_watch_reader(l, &old, on_ready, arg);
	else
		atomic_store(&l->error, rc);
	loop_stop(l);
	fuse_session_exit(l->session);
	int64_t leave = clock_ns(CLOCK_MONOTONIC) + FS_LEAVE_NS;
	bool all_ended = true;
	for (struct worker *w = l->workers; w; w = w->next)
		all_ended = join_while_refusing(l->session, w->thread, leave - clock_ns(CLOCK_MONOTONIC)) && all_ended;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!all_ended)
		return -ETIMEDOUT;
	rc = atomic_load(&l->error);
	/* A forced unmount while the device was being read: the user asked for it. */
	if (rc == -ECONNABORTED)
		rc = 0;
	if (rc == 0 && !atomic_load(&l->ready))
		rc = -ECANCELED;
	loop_release(l);
	return rc;
}
