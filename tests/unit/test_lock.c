/* SPDX-License-Identifier: MIT */
/* The order of locks, and the read-write lock. */
#include "cases.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/sys.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Each case has them in its own process. */
static struct rwlock session, other_session;
static struct lock catalog, facts, cache;

static void init_locks(void)
{
	lock_rw_init(&session, LOCK_SESSION);
	lock_rw_init(&other_session, LOCK_SESSION);
	lock_init(&catalog, LOCK_CATALOG);
	lock_init(&facts, LOCK_FACTS);
	lock_init(&cache, LOCK_CACHE);
}

/* Runs it in its own process. Returns the signal that ended it, or 0; sets `said` to its output. */
static int run(void (*what)(void), char *said, size_t n)
{
	char path[] = "/tmp/sessionfs-lock-XXXXXX";
	int fd = mkstemp(path), status = 0;
	assert_true(fd >= 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit none = {0, 0};
		setrlimit(RLIMIT_CORE, &none);
		setenv("SESSIONFS_LOCK_CHECK", path, 1);
		signal(SIGABRT, SIG_DFL); /* without cmocka's handler */
		dup2(fd, STDERR_FILENO);
		init_locks();
		what();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	ssize_t got = pread(fd, said, n - 1, 0);
	said[got > 0 ? got : 0] = '\0';
	close(fd);
	unlink(path);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void in_order(void)
{
	lock_mark_held(LOCK_FILE);
	lock_rw_acquire(&session, false);
	lock_acquire(&catalog);
	lock_acquire(&cache);
	lock_release(&catalog); /* in any order */
	lock_release(&cache);
	lock_rw_release(&session);
	lock_rw_acquire(&session, true);
	lock_rw_release(&session);
	lock_unmark_held(LOCK_FILE);
	lock_mark_held(LOCK_FILE);
	lock_unmark_held(LOCK_FILE);
}

static void file_under_session(void)
{
	lock_rw_acquire(&session, false);
	lock_mark_held(LOCK_FILE);
}

static void session_under_catalog(void)
{
	lock_acquire(&catalog);
	lock_rw_acquire(&session, false);
}

static void two_sessions(void)
{
	lock_rw_acquire(&session, false);
	lock_rw_acquire(&other_session, false);
}

static void wait_under_session(void)
{
	pthread_cond_t made;
	const bool busy = false;
	lock_cond_init(&made);
	lock_rw_acquire(&session, false);
	lock_acquire(&facts);
	lock_wait_while(&facts, &made, &busy);
}

static void twice(void)
{
	lock_acquire(&cache);
	lock_acquire(&cache); /* would deadlock with itself */
}

CASE(order_violation_aborts)
{
	static const struct {
		void (*what)(void);
		int signal;
		const char *said;
	} cases[] = {{in_order, 0, ""},
	             {file_under_session, SIGABRT, "file is acquired while session is held"},
	             {session_under_catalog, SIGABRT, "session is acquired while catalog is held"},
	             {two_sessions, SIGABRT, ""},
	             {wait_under_session, SIGABRT, ""},
	             {twice, SIGABRT, "cache is acquired while cache is held"}};
	char said[512];
	for (size_t i = 0; i < COUNT(cases); i++)
		if (run(cases[i].what, said, sizeof said) != cases[i].signal || !strstr(said, cases[i].said) ||
		    (said[0] != '\0') != (cases[i].signal != 0))
			fail_msg("case %zu: %s", i, said);
}

static enum lock_rank rank;

static void rank_twice(void)
{
	lock_mark_held(rank);
	lock_mark_held(rank);
}

CASE(each_lock_has_a_name)
{
	char said[512];
	for (rank = LOCK_NONE + 1; rank < LOCK_RANKS; rank++) {
		assert_int_equal(run(rank_twice, said, sizeof said), SIGABRT);
		assert_null(strstr(said, "null"));
	}
}

static void block_under_rank(void)
{
	lock_mark_held(rank);
	lock_may_block();
}

CASE(what_can_wait_is_called_under_outer_locks)
{
	char said[512];
	for (rank = LOCK_NONE + 1; rank < LOCK_RANKS; rank++)
		assert_int_equal(run(block_under_rank, said, sizeof said),
		                 rank >= LOCK_CATALOG && rank != LOCK_DERIVED ? SIGABRT : 0);
}

/* ---- waiting ---- */

/* The wall clock was set to 1970. */
static int clock_set_back(clockid_t clock, struct timespec *ret)
{
	int rc = clock_gettime(clock, ret);
	if (clock == CLOCK_REALTIME)
		*ret = (struct timespec){0};
	return rc;
}

__typeof__(clock_gettime) *const sys_clock_gettime = clock_set_back;

struct tried {
	struct lock lock;
	atomic_bool began, ended;
	bool got;
};

static void *try_for_a_minute(void *arg)
{
	struct tried *t = arg;
	atomic_store(&t->began, true);
	t->got = lock_try_for(&t->lock, INT64_C(60000000000));
	atomic_store(&t->ended, true);
	if (t->got)
		lock_release(&t->lock);
	return NULL;
}

CASE(waiting_goes_by_no_clock_that_can_be_set)
{
	struct tried t = {.got = false};
	pthread_t thread;
	lock_init(&t.lock, LOCK_CACHE);
	lock_acquire(&t.lock);
	assert_int_equal(pthread_create(&thread, NULL, try_for_a_minute, &t), 0);
	while (!atomic_load(&t.began))
		usleep(100);
	/* It would time out at once. */
	for (int i = 0; i < 50 && !atomic_load(&t.ended); i++)
		usleep(1000);
	lock_release(&t.lock);
	pthread_join(thread, NULL);
	assert_true(t.got);
	pthread_mutex_lock(&t.lock.mutex); /* as another thread would */
	assert_false(lock_try_for(&t.lock, 1000));
	pthread_mutex_unlock(&t.lock.mutex);
	lock_destroy(&t.lock);
}

/* --- readers and writers ----------------------------------------------------------------- */

struct shared {
	struct rwlock lock;
	atomic_bool asked; /* to stop */
	atomic_int done;
	int rc;
};

static bool is_cancelled(void *arg)
{
	struct shared *s = arg;
	return atomic_load(&s->asked);
}

static void *write_wanted(void *arg)
{
	struct shared *s = arg;
	const struct cancel cancel = {.is_cancelled = is_cancelled, .arg = s};
	cancel_set(&cancel);
	s->rc = lock_rw_acquire(&s->lock, true);
	atomic_store(&s->done, 1);
	return NULL;
}

static void *read_once(void *arg)
{
	struct shared *s = arg;
	lock_rw_acquire(&s->lock, false);
	lock_rw_release(&s->lock);
	atomic_store(&s->done, 1);
	return NULL;
}

static void wait_for_writer(struct shared *s)
{
	for (unsigned n = 0; n == 0; usleep(100)) {
		pthread_mutex_lock(&s->lock.lock.mutex);
		n = s->lock.writers_waiting;
		pthread_mutex_unlock(&s->lock.lock.mutex);
	}
}

CASE(waiting_writer_can_be_cancelled)
{
	struct shared s = {.rc = 1};
	pthread_t writer, reader;
	lock_rw_init(&s.lock, LOCK_SESSION);
	lock_rw_acquire(&s.lock, false);
	assert_int_equal(pthread_create(&writer, NULL, write_wanted, &s), 0);
	wait_for_writer(&s);
	atomic_store(&s.asked, true);
	pthread_join(writer, NULL);
	assert_int_equal(s.rc, -EINTR);
	/* No thread waits for a cancelled writer. */
	atomic_store(&s.done, 0);
	assert_int_equal(pthread_create(&reader, NULL, read_once, &s), 0);
	pthread_join(reader, NULL);
	lock_rw_release(&s.lock);
	lock_rw_destroy(&s.lock);
}

CASE(writers_have_priority)
{
	struct shared s = {.rc = 1};
	pthread_t writer;
	lock_rw_init(&s.lock, LOCK_SESSION);
	lock_rw_acquire(&s.lock, false);
	assert_int_equal(pthread_create(&writer, NULL, write_wanted, &s), 0);
	wait_for_writer(&s);
	lock_rw_release(&s.lock);
	pthread_join(writer, NULL);
	assert_int_equal(s.rc, 0);
	assert_true(s.lock.write_locked);
	lock_rw_release(&s.lock);
	lock_rw_acquire(&s.lock, false);
	lock_rw_release(&s.lock);
	lock_rw_destroy(&s.lock);
}

RUN_CASES(NULL, NULL)
