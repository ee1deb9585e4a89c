/* Taking requests and answering them.
 *
 * A request costs two wake-ups besides what we do for it, ours and the caller's, and on CPUs that rest when they have
 * nothing to do these take several times as long as most answers. So one thread, the leader, takes the requests, and
 * looks for the next one for a moment before it goes to sleep: programs that walk a tree come back at once.
 *
 * What takes long must not hold up the others. While there are requests one thread stands by: it looks each
 * millisecond whether the leader is still at work on the same one, and leads from then on if it is. And where one took
 * long and the next had to wait for it, the leader lets the one that stands by take over before it goes on.
 *
 * All of them may be at work at once, and what ends long work comes as a request, too: that its asker was interrupted
 * (killed). So there is one thread more than may work. While all others do it only takes the requests, and keeps them
 * for who has done first; what was interrupted among them it answers at once. So it is with a single thread (-s), too.
 */
#include "fs_impl.h"
#include "sessionfs/base/stop.h"

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

enum { SPIN_NS = 50 * 1000, LONG_NS = 50 * 1000, TICK_NS = 1000 * 1000, JOIN_NS = 20 * 1000 * 1000 };

/* Stopped work ends long before this; what does not waits for a file of the source that never answers. */
#define LEAVE_NS INT64_C(5000000000)

/* Work that is over before this is not disturbed: not every signal is meant to end it, and a write that is nearly done
 * had better be done. */
enum { GRACE_NS = 200 * 1000 * 1000 };

/* A thread, and what it is at work on. */
struct worker {
	struct loop *loop;
	pthread_t thread;
	_Atomic uint64_t unique;      /* the number of its request, 0: none */
	_Atomic uint64_t interrupted; /* the one whose asker does not want it any more */
	int64_t began;
};

/* A request that waits for a thread. */
struct kept {
	struct kept *next;
	size_t n;
	_Alignas(8) char bytes[];
};

struct loop {
	struct fuse_session *session;
	bool refuse_own; /* see struct fs_options */
	int device, end; /* descriptors: requests, and whether it is over */
	int64_t spin_ns;
	/* Odd while the leader is at work on a request. It goes up when one is begun or done, and when another thread
	 * takes over: who finds it changed does not lead any more. */
	_Atomic uint64_t turn;
	atomic_bool asleep;  /* the leader, for want of requests */
	atomic_bool resting; /* and the one that stands by, until it is woken */
	atomic_bool crowded; /* requests wait for each other */
	atomic_int error;
	struct lock lock;     /* guards the rest */
	pthread_cond_t wake;  /* the one that stands by */
	pthread_cond_t spare; /* those that do not even do that */
	bool led, stood_by, ended;
	struct worker **workers;
	unsigned n, cap, spares; /* cap: those that may work, and one more */
	struct kept *first, **last;
};

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void end(struct loop *l)
{
	uint64_t one = 1;
	ssize_t n = write(l->end, &one, sizeof one);
	(void)n;
	lock_take(&l->lock);
	l->ended = true;
	pthread_cond_broadcast(&l->wake);
	pthread_cond_broadcast(&l->spare);
	lock_give(&l->lock);
}

/* The largest write, and what comes with it. */
enum { REQUEST_MAX = (1 << 20) + 2 * 4096 };

int fs_receive(struct fuse_session *session, struct fuse_buf *buf)
{
	if (!buf->mem)
		buf->mem = malloc(REQUEST_MAX);
	if (!buf->mem)
		return -ENOMEM;
	ssize_t n = read(fuse_session_fd(session), buf->mem, REQUEST_MAX);
	/* It was withdrawn; the mount is gone. */
	if (n < 0 && (errno == ENOENT || errno == ENODEV))
		return errno == ENOENT ? -EINTR : 0;
	buf->size = n < 0 ? 0 : (size_t)n;
	return n < 0 ? -errno : (int)n;
}

static bool is_late(void *arg)
{
	return now_ns() > *(const int64_t *)arg;
}

/* Work that takes longer is given up. */
static void process_until(int64_t until, struct fuse_session *session, const struct fuse_buf *buf)
{
	const struct stop stop = {is_late, &until};
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
	const struct timespec until = fs_in(CLOCK_REALTIME, JOIN_NS);
	return pthread_timedjoin_np(thread, NULL, &until) != ETIMEDOUT;
}

/* False if it is at work still after that time. */
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

static const struct fuse_in_header *header_of(const struct fuse_buf *buf)
{
	return buf->mem;
}

static void process(struct worker *w, const struct fuse_buf *buf)
{
	const struct stop stop = {is_asked, w};
	stop_set(&stop);
	fuse_session_process_buf(w->loop->session, buf);
	stop_set(NULL);
	atomic_store(&w->unique, 0);
}

/* Before another thread can take a request: it may be that this one was interrupted. */
static void begin_work(struct worker *w, const struct fuse_buf *buf)
{
	w->began = now_ns();
	atomic_store(&w->unique, header_of(buf)->unique);
}

/* Takes a request out of those that are kept: this one, or (0) the first. */
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

/* libfuse is told, too: it has the requests that wait in .events. */
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

/* --- the leader ---------------------------------------------------------------------------------- */

static void wake(struct loop *l)
{
	lock_take(&l->lock);
	pthread_cond_signal(&l->wake);
	lock_give(&l->lock);
}

static void sleep_on(struct loop *l)
{
	struct pollfd wait[] = {{.fd = l->device, .events = POLLIN}, {.fd = l->end, .events = POLLIN}};
	atomic_store(&l->asleep, true);
	poll(wait, 2, -1);
	atomic_store(&l->asleep, false);
	if (atomic_load(&l->resting))
		wake(l);
}

/* Positive, 0 at the end, or an error. *waited: there was none at first. */
static int receive(struct loop *l, struct fuse_buf *buf, bool *waited)
{
	int64_t until = 0;
	*waited = false;
	while (!fuse_session_exited(l->session)) {
		int rc = fs_receive(l->session, buf);
		if (rc != -EAGAIN && rc != -EINTR)
			return rc;
		*waited = true;
		int64_t now = now_ns();
		if (!until)
			until = now + l->spin_ns;
		if (now < until) {
			sched_yield(); /* the caller may be waiting for this CPU */
		} else {
			sleep_on(l);
			until = 0;
		}
	}
	return 0;
}

static bool hand_over(struct loop *l)
{
	lock_take(&l->lock);
	bool can = l->stood_by;
	if (can) {
		l->led = false;
		pthread_cond_signal(&l->wake);
	}
	lock_give(&l->lock);
	return can;
}

/* True if the thread still leads. */
static bool answer(struct worker *w, const struct fuse_buf *buf, bool *took_long)
{
	struct loop *l = w->loop;
	uint64_t turn = atomic_load(&l->turn) + 1;
	atomic_store(&l->turn, turn);
	process(w, buf);
	*took_long = now_ns() - w->began > LONG_NS;
	return atomic_compare_exchange_strong(&l->turn, &turn, turn + 1);
}

/* Whether it is kept for a thread that is at work, because all others are. If one could not be made, the leader does
 * what it can. */
static bool keep(struct loop *l, const struct fuse_buf *buf)
{
	LOCKED(&l->lock);
	if (l->n < l->cap || l->stood_by || l->spares > 0)
		return false;
	struct kept *k = malloc(sizeof *k + buf->size);
	if (!k)
		return false;
	k->next = NULL;
	k->n = buf->size;
	memcpy(k->bytes, buf->mem, buf->size);
	*l->last = k;
	l->last = &k->next;
	return true;
}

/* What says hello and good-bye is taken from ourselves, too: it asks nothing of the tree, and nobody sends it twice. */
static bool may_be_own(uint32_t opcode)
{
	return opcode == FUSE_INIT || opcode == FUSE_DESTROY || opcode == FUSE_RELEASE || opcode == FUSE_RELEASEDIR ||
	       opcode == FUSE_FLUSH;
}

/* Whether a thread of ours asks. reach.c has them ask nothing of our mount, but a $TMPDIR can be in it, or another file
 * system lie over it. */
static bool is_own(const struct loop *l, const struct fuse_in_header *h)
{
	return l->refuse_own && h->pid > 0 && !may_be_own(h->opcode) && tgkill(getpid(), (pid_t)h->pid, 0) == 0;
}

static void refuse_own(struct loop *l, const struct fuse_in_header *h)
{
	const struct fuse_out_header no = {.len = sizeof no, .error = -ELOOP, .unique = h->unique};
	/* It can only fail for a request that is not waited for any more. */
	ssize_t n = write(l->device, &no, sizeof no);
	(void)n;
}

/* True if that was all: it neither takes time nor waits for anybody. */
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

/* Until another thread does or the end. */
static void lead(struct worker *w, struct fuse_buf *buf)
{
	struct loop *l = w->loop;
	bool waited, took_long = false;
	for (;;) {
		int rc = receive(l, buf, &waited);
		if (rc <= 0) {
			if (rc < 0)
				atomic_store(&l->error, rc);
			end(l);
			return;
		}
		if (waited)
			atomic_store(&l->crowded, false);
		else if (took_long)
			atomic_store(&l->crowded, true);
		if (is_done_at_once(l, buf))
			continue;
		begin_work(w, buf);
		if (atomic_load(&l->crowded) && hand_over(l)) {
			process(w, buf);
			return;
		}
		if (!answer(w, buf, &took_long))
			return;
	}
}

/* --- the others ---------------------------------------------------------------------------------- */

/* True if the leader has been at work on one request all the time, and is the leader no more. The lock is held. */
static bool watch(struct loop *l)
{
	uint64_t turn = atomic_load(&l->turn);
	if (atomic_load(&l->asleep)) {
		atomic_store(&l->resting, true);
		if (atomic_load(&l->asleep))
			lock_wait(&l->lock, &l->wake);
		atomic_store(&l->resting, false);
		return false;
	}
	lock_wait_for(&l->lock, &l->wake, TICK_NS);
	return turn % 2 && l->led && atomic_compare_exchange_strong(&l->turn, &turn, turn + 1);
}

static void *work(void *arg);

static void add_thread(struct loop *l)
{
	struct worker **all = l->n < l->cap ? reallocarray(l->workers, l->n + 1, sizeof(struct worker *)) : NULL;
	struct worker *w = all ? calloc(1, sizeof *w) : NULL;
	if (all)
		l->workers = all;
	if (!w)
		return;
	w->loop = l;
	if (pthread_create(&w->thread, NULL, work, w) == 0)
		l->workers[l->n++] = w;
	else
		free(w);
}

/* The lock is held. Without another thread the leader does what it can. */
static void find_standby(struct loop *l)
{
	if (l->spares > 0)
		pthread_cond_signal(&l->spare);
	else
		add_thread(l);
}

/* Does what was kept meanwhile. The lock is held, but not while it is done. */
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

/* Waits until this thread is to lead. False at the end. */
static bool stand_by(struct worker *w)
{
	struct loop *l = w->loop;
	lock_take(&l->lock);
	work_off(w);
	l->spares++;
	while (l->stood_by && !l->ended)
		lock_wait(&l->lock, &l->spare);
	l->spares--;
	l->stood_by = true;
	while (!l->ended && l->led && !watch(l))
		continue;
	l->led = true;
	l->stood_by = false;
	bool goes_on = !l->ended;
	if (goes_on)
		find_standby(l);
	lock_give(&l->lock);
	return goes_on;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct fuse_buf buf = {.mem = NULL};
	while (stand_by(w))
		lead(w, &buf);
	free(buf.mem);
	return NULL;
}

/* --- all of them --------------------------------------------------------------------------------- */

/* On a single one whoever looks for requests keeps the caller from making them. */
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
	l->spin_ns = has_several_cpus() ? SPIN_NS : 0;
	l->device = fd;
	l->end = eventfd(0, EFD_CLOEXEC);
	if (l->end < 0)
		return -errno;
	lock_init(&l->lock, LOCK_LOOP);
	lock_cond_init(&l->wake);
	lock_cond_init(&l->spare);
	return 0;
}

static void release(struct loop *l)
{
	pthread_cond_destroy(&l->spare);
	pthread_cond_destroy(&l->wake);
	lock_destroy(&l->lock);
	close(l->end);
	for (unsigned i = 0; i < l->n; i++)
		free(l->workers[i]);
	free(l->workers);
	free(l);
}

/* Signals come here, to the thread that waits for the end, and nowhere else. False if a thread is left behind. */
static bool wait_for_end(struct loop *l, const sigset_t *mask)
{
	struct pollfd p = {.fd = l->end, .events = POLLIN};
	while (!fuse_session_exited(l->session) && ppoll(&p, 1, NULL, mask) <= 0)
		continue;
	end(l);
	/* From now on this one may be the only one that answers: it must not wait for anybody. */
	fuse_session_exit(l->session);
	/* None is added any more. */
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

/* One that leads and one that stands by: what is left of them stays to the end. Only where two may work there is one
 * that answers whoever the other waits for. */
static int begin(struct loop *l, struct fs *fs)
{
	lock_take(&l->lock);
	add_thread(l);
	if (l->n == 1)
		add_thread(l);
	int rc = l->n == 0 ? -EAGAIN : 0;
	if (l->n > 1 && l->cap > 2)
		rc = fs->read_only ? sizes_start(fs) : pages_start(fs);
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
	sigdelset(&all, SIGSEGV); /* see paged.h */
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
