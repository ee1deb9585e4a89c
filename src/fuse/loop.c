/* The loop that takes requests and answers them.
 *
 * One thread, the reader, takes the requests and answers them: most are answered in less time than it takes to wake
 * another thread. A slow request must not hold up the rest. So while there are requests, the main thread checks each
 * millisecond whether the reader is still at work on the same one, and if so has another thread read in its place.
 *
 * All threads may be at work at once, but long work is ended by another request: the message that its process was
 * interrupted (killed). So there is one thread more than may work. While all others work, it only takes requests and
 * keeps them for the first thread that is done. Interrupted requests among those it answers at once. With -s, one
 * thread works and one reads.
 *
 * A thread that waits for another one or for another program (stop_wait_begin) does not count as working: one more is
 * made in its place. */
#include "fs_impl.h"
#include "sessionfs/base/stop.h"
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

/* The most threads that may wait for others: each costs a stack. */
enum { MOST_WAITING = LIMIT(256, 2) };

enum { TICK_NS = 1000 * 1000, JOIN_NS = 20 * 1000 * 1000 };

/* How long the reader looks for the next request before it sleeps, and how often in a row that may be left out. */
enum { SPIN_NS = 50 * 1000, MOST_SKIPPED = 63 };

/* Stopped work ends long before this. If it does not, it waits for a file of the source that never answers. */
#define LEAVE_NS INT64_C(5000000000)

/* Work is not stopped before this: not every signal is meant to end it, and it is better to finish a write that is
 * nearly done. */
enum { GRACE_NS = 200 * 1000 * 1000 };

/* A thread and the request it is working on. */
struct worker {
	struct loop *loop;
	pthread_t thread;
	_Atomic uint64_t unique;      /* the number of its request, 0: none */
	_Atomic uint64_t interrupted; /* the number of an interrupted request */
	int64_t began;
};

/* A request that waits for a free thread. */
struct kept {
	struct kept *next;
	size_t n;
	_Alignas(8) char bytes[];
};

struct loop {
	struct fuse_session *session;
	bool refuse_own;         /* see struct fs_options */
	int device, end, active; /* descriptors: the requests, the end, and new requests after a rest */
	/* Odd while the reader is at work on a request. It rises when a request is begun or done, and when another
	 * thread is to read: a thread that finds it changed is no longer the reader. */
	_Atomic uint64_t turn;
	atomic_bool resting; /* the main thread does not look at `turn` */
	atomic_uint waiting; /* threads that wait for others */
	atomic_int error;
	int64_t spin_ns;
	unsigned skip, skipped; /* the reader's: so many spins are left out; have been */
	struct lock lock;       /* guards the fields below */
	pthread_cond_t spare;   /* for threads that wait to read */
	bool is_read, ended;
	struct worker **workers;
	unsigned n, cap, spares; /* cap: the threads that may work, plus one */
	struct kept *first, **last;
};

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void signal_to(int event)
{
	uint64_t one = 1;
	ssize_t n = write(event, &one, sizeof one);
	(void)n;
}

static void end(struct loop *l)
{
	signal_to(l->end);
	lock_take(&l->lock);
	l->ended = true;
	pthread_cond_broadcast(&l->spare);
	lock_give(&l->lock);
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

static bool is_late(void *arg)
{
	return now_ns() > *(const int64_t *)arg;
}

/* Answers a request. Work that takes longer than `until` is given up. */
static void process_until(int64_t until, struct fuse_session *session, const struct fuse_buf *buf)
{
	const struct stop stop = {.is_asked = is_late, .arg = &until};
	const struct stop *before = stop_set(&stop);
	fuse_session_process_buf(session, buf);
	stop_set(before);
}

static void serve(struct fuse_session *session, int64_t until)
{
	struct pollfd p = {.fd = fuse_session_fd(session), .events = POLLIN};
	struct fuse_buf buf = {.mem = NULL};
	while (poll(&p, 1, 0) == 1 && p.revents & POLLIN && fs_receive(session, &buf) > 0)
		process_until(until, session, &buf);
	free(buf.mem);
}

static bool has_ended(pthread_t thread)
{
	const struct timespec until = clock_in(CLOCK_REALTIME, JOIN_NS);
	return pthread_timedjoin_np(thread, NULL, &until) != ETIMEDOUT;
}

/* Answers requests until the thread has ended. False if it is still at work after that time. */
static bool join_for(struct fuse_session *session, pthread_t thread, int64_t ns)
{
	int64_t now = now_ns(), until = now + GRACE_NS, most = ns < INT64_MAX - now ? now + ns : INT64_MAX;
	bool ended = has_ended(thread);
	while (!ended && now_ns() < most) {
		serve(session, until);
		ended = has_ended(thread);
	}
	return ended;
}

void fs_join(struct fuse_session *session, pthread_t thread)
{
	join_for(session, thread, INT64_MAX);
}

/* --- what can be interrupted ------------------------------------------------------------------- */

static bool is_asked(void *arg)
{
	struct worker *w = arg;
	bool asked = atomic_load(&w->interrupted) == atomic_load(&w->unique) || fuse_session_exited(w->loop->session);
	return asked && now_ns() - w->began > GRACE_NS;
}

static bool waits(void *arg, bool begins)
{
	struct loop *l = ((struct worker *)arg)->loop;
	if (begins && atomic_fetch_add(&l->waiting, 1) < MOST_WAITING)
		return true;
	atomic_fetch_sub(&l->waiting, 1);
	return !begins;
}

/* How many threads there may be now. */
static unsigned room(const struct loop *l)
{
	return l->cap + atomic_load(&l->waiting);
}

static const struct fuse_in_header *header_of(const struct fuse_buf *buf)
{
	return buf->mem;
}

static void process(struct worker *w, const struct fuse_buf *buf)
{
	const struct stop stop = {.is_asked = is_asked, .waits = waits, .arg = w};
	stop_set(&stop);
	fuse_session_process_buf(w->loop->session, buf);
	stop_set(NULL);
	atomic_store(&w->unique, 0);
}

/* Must come before another thread can take a request: that request may be the interrupt of this one. */
static void begin_work(struct worker *w, const struct fuse_buf *buf)
{
	w->began = now_ns();
	atomic_store(&w->unique, header_of(buf)->unique);
}

/* Takes the kept request with this number, or (0) the first one. NULL if there is none. */
static struct kept *take_kept(struct loop *l, uint64_t unique)
{
	struct kept **at = &l->first;
	while (*at && unique && ((const struct fuse_in_header *)(*at)->bytes)->unique != unique)
		at = &(*at)->next;
	struct kept *k = *at;
	if (!k)
		return NULL;
	*at = k->next;
	if (l->last == &k->next)
		l->last = at;
	return k;
}

static struct fuse_buf buf_of(struct kept *k)
{
	return (struct fuse_buf){.mem = k->bytes, .size = k->n};
}

/* libfuse gets the interrupt, too, for the requests that wait in .events. */
static void interrupt(struct loop *l, const struct fuse_buf *buf)
{
	const struct fuse_interrupt_in *in = (const void *)(header_of(buf) + 1);
	uint64_t unique = buf->size < sizeof(struct fuse_in_header) + sizeof *in ? 0 : in->unique;
	lock_take(&l->lock);
	for (unsigned i = 0; unique && i < l->n; i++)
		if (atomic_load(&l->workers[i]->unique) == unique)
			atomic_store(&l->workers[i]->interrupted, unique);
	struct kept *k = unique ? take_kept(l, unique) : NULL;
	lock_give(&l->lock);
	fuse_session_process_buf(l->session, buf);
	if (!k)
		return;
	const struct fuse_buf kept = buf_of(k);
	process_until(0, l->session, &kept);
	free(k);
}

/* Keeps the request if all other threads are at work. False if not, or without memory: then the reader answers it
 * itself. */
static bool keep(struct loop *l, const struct fuse_buf *buf)
{
	LOCKED(&l->lock);
	if (l->n < room(l) || l->spares > 0)
		return false;
	struct kept *k = malloc(sizeof *k + buf->size);
	if (!k)
		return false;
	k->next = NULL;
	k->n = buf->size;
	memcpy(k->bytes, buf->mem, buf->size);
	*l->last = k;
	l->last = &k->next;
	/* A working thread may begin to wait, which makes room for one more thread. */
	if (atomic_exchange(&l->resting, false))
		signal_to(l->active);
	return true;
}

/* The first and last requests are accepted from our own threads, too: they ask nothing of the tree, and come only
 * once. */
static bool may_be_own(uint32_t opcode)
{
	return opcode == FUSE_INIT || opcode == FUSE_DESTROY || opcode == FUSE_RELEASE || opcode == FUSE_RELEASEDIR ||
	       opcode == FUSE_FLUSH;
}

/* Whether one of our own threads sent the request. reach.c keeps them out of our mount, but $TMPDIR can be in it, or
 * another file system can lie over it. */
static bool is_own(const struct loop *l, const struct fuse_in_header *h)
{
	return l->refuse_own && h->pid > 0 && !may_be_own(h->opcode) && tgkill(getpid(), (pid_t)h->pid, 0) == 0;
}

static void refuse_own(struct loop *l, const struct fuse_in_header *h)
{
	const struct fuse_out_header no = {.len = sizeof no, .error = -ELOOP, .unique = h->unique};
	/* This fails only if nobody waits for the request any more. */
	ssize_t n = write(l->device, &no, sizeof no);
	(void)n;
}

/* True if the request needs no more work from the reader. Takes no time and waits for nobody. */
static bool is_done_at_once(struct loop *l, const struct fuse_buf *buf)
{
	uint32_t opcode = header_of(buf)->opcode;
	if (opcode == FUSE_INTERRUPT)
		interrupt(l, buf);
	else if (opcode == FUSE_FORGET || opcode == FUSE_BATCH_FORGET)
		fuse_session_process_buf(l->session, buf);
	else if (is_own(l, header_of(buf)))
		refuse_own(l, header_of(buf));
	else
		return keep(l, buf);
	return true;
}

/* --- who reads ------------------------------------------------------------------------------------ */

static void *work(void *arg);

static bool add_thread(struct loop *l)
{
	struct worker **all = l->n < room(l) ? reallocarray(l->workers, l->n + 1, sizeof(struct worker *)) : NULL;
	struct worker *w = all ? calloc(1, sizeof *w) : NULL;
	if (all)
		l->workers = all;
	if (!w)
		return false;
	w->loop = l;
	bool made = sys_pthread_create(&w->thread, NULL, work, w) == 0;
	if (made)
		l->workers[l->n++] = w;
	else
		free(w);
	return made;
}

/* Has another thread read, unless there is none or the reader has finished meanwhile. */
static void replace_reader(struct loop *l, uint64_t turn)
{
	LOCKED(&l->lock);
	if (l->spares == 0 && !add_thread(l))
		return;
	if (!atomic_compare_exchange_strong(&l->turn, &turn, turn + 1))
		return;
	l->is_read = false;
	pthread_cond_signal(&l->spare);
}

/* Adds a thread for the kept requests if none is free. Returns whether there are kept requests. */
static bool help(struct loop *l)
{
	LOCKED(&l->lock);
	if (l->first && l->spares == 0)
		add_thread(l);
	return l->first != NULL;
}

/* The main thread calls this once a tick. */
static void look(struct loop *l, uint64_t *before)
{
	uint64_t turn = atomic_load(&l->turn);
	bool kept = help(l);
	if (turn != *before) {
		*before = turn;
	} else if (turn % 2) {
		replace_reader(l, turn);
	} else if (!kept) {
		atomic_store(&l->resting, true);
		/* The reader may have begun a request before it could see `resting`. */
		if (atomic_load(&l->turn) != turn)
			atomic_store(&l->resting, false);
	}
}

/* A program that walks the tree sends its next request within microseconds, sooner than a CPU wakes from its sleep. So
 * the reader looks for it for a moment; while that is in vain, ever more seldom. Result as of fs_receive. */
static int spin(struct loop *l, struct fuse_buf *buf)
{
	if (l->skipped < l->skip) {
		l->skipped++;
		return -EAGAIN;
	}
	int64_t until = l->spin_ns ? now_ns() + l->spin_ns : 0;
	int rc = -EAGAIN;
	while (rc == -EAGAIN && now_ns() < until) {
		rc = fs_receive(l->session, buf);
		if (rc == -EAGAIN)
			sched_yield(); /* the caller may be waiting for this CPU */
	}
	l->skipped = 0;
	l->skip = rc != -EAGAIN ? 0 : l->skip < MOST_SKIPPED ? 2 * l->skip + 1 : MOST_SKIPPED;
	return rc;
}

/* Waits for a request. Positive, 0 at the end, or a negative errno. */
static int receive(struct loop *l, struct fuse_buf *buf)
{
	struct pollfd wait[] = {{.fd = l->device, .events = POLLIN}, {.fd = l->end, .events = POLLIN}};
	while (!fuse_session_exited(l->session)) {
		int rc = spin(l, buf);
		if (rc == -EAGAIN) {
			poll(wait, 2, -1);
			rc = fs_receive(l->session, buf);
		}
		if (rc != -EAGAIN && rc != -EINTR)
			return rc;
	}
	return 0;
}

/* Answers a request. True if the thread is still the reader. */
static bool answer(struct worker *w, const struct fuse_buf *buf)
{
	struct loop *l = w->loop;
	uint64_t turn = atomic_load(&l->turn) + 1;
	atomic_store(&l->turn, turn);
	if (atomic_exchange(&l->resting, false))
		signal_to(l->active);
	process(w, buf);
	return atomic_compare_exchange_strong(&l->turn, &turn, turn + 1);
}

/* Reads and answers requests until another thread is the reader, or until the end. */
static void read_on(struct worker *w, struct fuse_buf *buf)
{
	struct loop *l = w->loop;
	for (;;) {
		int rc = receive(l, buf);
		if (rc <= 0) {
			if (rc < 0)
				atomic_store(&l->error, rc);
			end(l);
			return;
		}
		if (is_done_at_once(l, buf))
			continue;
		begin_work(w, buf);
		if (!answer(w, buf))
			return;
	}
}

/* Answers the kept requests. The caller holds the lock; it is released during each answer. */
static void work_off(struct worker *w)
{
	struct loop *l = w->loop;
	struct kept *k;
	while (!l->ended && (k = take_kept(l, 0))) {
		const struct fuse_buf buf = buf_of(k);
		begin_work(w, &buf);
		lock_give(&l->lock);
		process(w, &buf);
		free(k);
		lock_take(&l->lock);
	}
}

/* Waits until this thread is the reader. False at the end. */
static bool wait_to_read(struct worker *w)
{
	struct loop *l = w->loop;
	LOCKED(&l->lock);
	work_off(w);
	l->spares++;
	while (l->is_read && !l->ended)
		lock_wait(&l->lock, &l->spare);
	l->spares--;
	l->is_read = true;
	return !l->ended;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct fuse_buf buf = {.mem = NULL};
	while (wait_to_read(w))
		read_on(w, &buf);
	free(buf.mem);
	return NULL;
}

/* --- all of them --------------------------------------------------------------------------------- */

/* With a single CPU, looking for a request keeps the caller from sending it. */
static bool has_several_cpus(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) < 0 || CPU_COUNT(&set) > 1;
}

static int prepare(struct loop *l, struct fs *fs, unsigned threads)
{
	int fd = fuse_session_fd(fs->session), flags = fcntl(fd, F_GETFL);

	*l =
	    (struct loop){.session = fs->session, .refuse_own = fs->refuse_own, .cap = (threads > 1 ? threads : 1) + 1};
	l->last = &l->first;
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	l->device = fd;
	l->spin_ns = has_several_cpus() ? SPIN_NS : 0;
	l->end = eventfd(0, EFD_CLOEXEC);
	l->active = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->end < 0 || l->active < 0)
		return -errno;
	lock_init(&l->lock, LOCK_LOOP);
	lock_cond_init(&l->spare);
	return 0;
}

static void release(struct loop *l)
{
	pthread_cond_destroy(&l->spare);
	lock_destroy(&l->lock);
	close(l->end);
	close(l->active);
	for (unsigned i = 0; i < l->n; i++)
		free(l->workers[i]);
	free(l->workers);
	free(l);
}

/* Only this thread, which waits for the end, takes signals. False if a thread is left behind. */
static bool wait_for_end(struct loop *l, const sigset_t *mask)
{
	const struct timespec tick = {.tv_nsec = TICK_NS};
	struct pollfd p[] = {{.fd = l->end, .events = POLLIN}, {.fd = l->active, .events = POLLIN}};
	uint64_t turn = 0, n;
	while (!fuse_session_exited(l->session)) {
		int rc = ppoll(p, 2, atomic_load(&l->resting) ? NULL : &tick, mask);
		if (rc > 0 && p[0].revents)
			break;
		if (rc > 0 && read(l->active, &n, sizeof n) < 0)
			continue;
		look(l, &turn);
	}
	end(l);
	/* From now on this may be the only thread that answers: it must not wait for anybody. */
	fuse_session_exit(l->session);
	/* No thread is added any more. */
	int64_t leave = now_ns() + LEAVE_NS;
	bool all = true;
	for (unsigned i = 0; i < l->n; i++)
		all = join_for(l->session, l->workers[i]->thread, leave - now_ns()) && all;
	int64_t until = now_ns() + GRACE_NS;
	for (struct kept *k; (k = take_kept(l, 0)); free(k)) {
		const struct fuse_buf buf = buf_of(k);
		process_until(until, l->session, &buf);
	}
	return all;
}

/* Starts one thread that reads and one spare. Dropping or storing pages needs two that may work: one of them can answer
 * while the other waits. */
static int begin(struct loop *l, struct fs *fs)
{
	lock_take(&l->lock);
	add_thread(l);
	if (l->n == 1)
		add_thread(l);
	int rc = l->n == 0 ? -EAGAIN : 0;
	if (l->n > 1 && l->cap > 2)
		rc = fs->read_only ? sizes_start(fs) : prefill_start(fs);
	lock_give(&l->lock);
	return rc;
}

int fs_loop(struct fs *fs, unsigned threads)
{
	sigset_t all, old;
	struct loop *l = malloc(sizeof *l);
	int rc = l ? prepare(l, fs, threads) : -ENOMEM;
	if (rc) {
		free(l);
		return rc;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = begin(l, fs);
	if (rc) {
		atomic_store(&l->error, rc);
		fuse_session_exit(fs->session);
	}
	bool all_ended = wait_for_end(l, &old);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!all_ended)
		return -ETIMEDOUT;
	rc = atomic_load(&l->error);
	release(l);
	return rc;
}
