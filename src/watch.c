/* The catalog knows what is on disk whenever it is asked, so a change is the difference between two looks.
 * inotify would have to follow every directory, miss network filesystems and rescan on overflow anyway; a
 * look costs one stat a file, and only while somebody reads.
 *
 * Slots are compared by number. A file that was replaced comes back under a new number: what went
 * and what came under one path is one change. */
#include "sessionfs/watch.h"
#include "sessionfs/json.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

struct seen {
	uint32_t slot;
	const char *project, *stem, *sid;
	off_t size;
	struct timespec mtime;
};

struct look {
	struct seen *seen;
	size_t n, cap;
};

struct watch_reader {
	struct watch_reader *next;
	struct buf lines;
	bool lost;
};

struct waiting {
	struct waiting *next;
	struct watch_reader *reader;
	void *request;
	size_t n;
};

struct watch {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool running, stop;
	struct catalog *catalog;
	const struct watch_ops *ops;
	struct look last;
	struct watch_reader *readers;
	struct waiting *waiting; /* oldest first */
};

static void unlock(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

#define LOCKED(w)                                                                                                      \
	pthread_mutex_t *held CLEANUP(unlock) = &(w)->lock;                                                            \
	pthread_mutex_lock(held)

static void look_release(struct look *l)
{
	cleanup_free(&l->seen);
	*l = (struct look){0};
}

static int by_slot(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	return (x->slot > y->slot) - (x->slot < y->slot);
}

static int by_path(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int rc = strcmp(x->project, y->project);
	return rc ? rc : strcmp(x->stem, y->stem);
}

static int look_add(struct look *l, struct seen seen)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 64;
		struct seen *p = reallocarray(l->seen, cap, sizeof *p);
		if (!p)
			return -ENOMEM;
		l->seen = p;
		l->cap = cap;
	}
	l->seen[l->n++] = seen;
	return 0;
}

static int look_take(struct catalog *c, struct look *ret)
{
	struct look l CLEANUP(look_release) = {0};
	struct project_info project = {.project = NO_SLOT};
	struct slot_info slot;
	uint64_t cookie = 0;

	while (catalog_slot_next(c, NO_SLOT, &cookie, &slot)) {
		if (slot.project != project.project && !catalog_project(c, slot.project, &project)) {
			project.project = NO_SLOT;
			continue;
		}
		int rc = look_add(
		    &l, (struct seen){slot.slot, project.name, slot.stem, slot.sid, slot.st.st_size, slot.st.st_mtim});
		if (rc)
			return rc;
	}
	if (l.n)
		qsort(l.seen, l.n, sizeof *l.seen, by_slot);
	*ret = l;
	l = (struct look){0};
	return 0;
}

static void add_time(struct buf *out)
{
	struct timespec now;
	struct tm tm;
	char text[32];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
	buf_addf(out, "{\"time\":\"%s.%03ldZ\"", text, now.tv_nsec / 1000000);
}

static void add_line(struct buf *out, const char *event, const struct seen *s)
{
	struct buf path CLEANUP_BUF = BUF_INIT;
	buf_addf(&path, "projects/%s/%s", s->project, s->stem);
	add_time(out);
	buf_addf(out, ",\"event\":\"%s\",\"session\":", event);
	json_quote(span_of(s->sid), out);
	buf_adds(out, ",\"path\":");
	json_quote(buf_span(&path), out);
	buf_adds(out, "}\n");
	if (buf_err(&path))
		out->err = buf_err(&path);
}

/* A line that does not fit, or for which there is no memory, is lost; the reader hears so once. */
static void tell(struct watch *w, const char *event, const struct seen *s)
{
	struct buf line CLEANUP_BUF = BUF_INIT;
	add_line(&line, event, s);
	for (struct watch_reader *r = w->readers; r; r = r->next) {
		if (r->lost)
			continue;
		if (!buf_err(&line) && r->lines.n + line.n <= WATCH_BACKLOG)
			buf_addspan(&r->lines, buf_span(&line));
		else
			r->lost = true;
		if (buf_err(&r->lines)) {
			r->lines.err = 0;
			r->lost = true;
		}
	}
}

static bool is_changed(const struct seen *a, const struct seen *b)
{
	return a->size != b->size || a->mtime.tv_sec != b->mtime.tv_sec || a->mtime.tv_nsec != b->mtime.tv_nsec;
}

/* Went and came, each in the order of paths. */
static void tell_moves(struct watch *w, struct look *went, struct look *came)
{
	if (went->n)
		qsort(went->seen, went->n, sizeof *went->seen, by_path);
	if (came->n)
		qsort(came->seen, came->n, sizeof *came->seen, by_path);
	for (size_t i = 0, j = 0; i < went->n || j < came->n;) {
		int order = i == went->n ? 1 : j == came->n ? -1 : by_path(&went->seen[i], &came->seen[j]);
		if (order < 0)
			tell(w, "removed", &went->seen[i]);
		else
			tell(w, order ? "added" : "changed", &came->seen[j]);
		i += order <= 0;
		j += order >= 0;
	}
}

static int tell_changes(struct watch *w, const struct look *now)
{
	struct look went CLEANUP(look_release) = {0}, came CLEANUP(look_release) = {0};
	const struct look *last = &w->last;
	for (size_t i = 0, j = 0; i < last->n || j < now->n;) {
		int order = i == last->n ? 1 : j == now->n ? -1 : by_slot(&last->seen[i], &now->seen[j]);
		int rc = 0;
		if (order < 0)
			rc = look_add(&went, last->seen[i]);
		else if (order > 0)
			rc = look_add(&came, now->seen[j]);
		else if (is_changed(&last->seen[i], &now->seen[j]))
			tell(w, "changed", &now->seen[j]);
		if (rc)
			return rc;
		i += order <= 0;
		j += order >= 0;
	}
	tell_moves(w, &went, &came);
	return 0;
}

/* Without memory nothing is told now; the next look is compared with the same old one. */
static void look_again(struct watch *w)
{
	struct look now CLEANUP(look_release) = {0};
	if (look_take(w->catalog, &now) || tell_changes(w, &now))
		return;
	look_release(&w->last);
	w->last = now;
	now = (struct look){0};
}

/* As many whole lines as fit; a line longer than that comes in pieces. */
static size_t portion(const struct buf *lines, size_t n)
{
	if (lines->n <= n)
		return lines->n;
	const char *end = memrchr(lines->p, '\n', n);
	return end ? (size_t)(end - lines->p) + 1 : n;
}

/* True if the request was answered. */
static bool serve(struct watch *w, struct watch_reader *r, size_t n, void *request)
{
	if (r->lines.n == 0 && r->lost) {
		add_time(&r->lines);
		buf_adds(&r->lines, ",\"event\":\"lost\"}\n");
		r->lines.err = 0;
		r->lost = r->lines.n == 0;
	}
	if (r->lines.n == 0 && n > 0)
		return false;
	size_t some = portion(&r->lines, n);
	w->ops->answer(request, 0, (struct span){r->lines.p, some});
	r->lines.n -= some;
	if (r->lines.n)
		memmove(r->lines.p, r->lines.p + some, r->lines.n);
	return true;
}

static void serve_all(struct watch *w)
{
	for (struct waiting **at = &w->waiting; *at;) {
		struct waiting *x = *at;
		if (!serve(w, x->reader, x->n, x->request)) {
			at = &x->next;
			continue;
		}
		*at = x->next;
		free(x);
	}
}

/* Answers without bytes those who wait on this reader, or for this request, or (both NULL) all. */
static void dismiss(struct watch *w, const struct watch_reader *r, const void *request, int err)
{
	for (struct waiting **at = &w->waiting; *at;) {
		struct waiting *x = *at;
		if ((r && x->reader != r) || (request && x->request != request)) {
			at = &x->next;
			continue;
		}
		*at = x->next;
		w->ops->answer(x->request, err, (struct span){"", 0});
		free(x);
	}
}

static struct timespec next_look(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += WATCH_INTERVAL_MS * 1000000L;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void *run(void *arg)
{
	struct watch *w = arg;
	LOCKED(w);
	struct timespec until = next_look();
	while (!w->stop) {
		if (!w->readers) {
			pthread_cond_wait(&w->wake, &w->lock);
			until = next_look();
		} else if (pthread_cond_timedwait(&w->wake, &w->lock, &until) == ETIMEDOUT && w->readers) {
			look_again(w);
			serve_all(w);
			until = next_look();
		}
	}
	return NULL;
}

/* Signals are for the main thread: its loop ends on them. */
static int start(struct watch *w)
{
	sigset_t all, old;
	if (w->running)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int rc = pthread_create(&w->thread, NULL, run, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	w->running = rc == 0;
	return -rc;
}

int watch_open(struct catalog *c, const struct watch_ops *ops, struct watch **ret)
{
	struct watch *w = calloc(1, sizeof *w);
	if (!w)
		return -ENOMEM;
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&w->lock, NULL);
	w->catalog = c;
	w->ops = ops;
	*ret = w;
	return 0;
}

static void stop(struct watch *w)
{
	LOCKED(w);
	w->stop = true;
	pthread_cond_signal(&w->wake);
}

void watch_close(struct watch *w)
{
	if (!w)
		return;
	stop(w);
	if (w->running)
		pthread_join(w->thread, NULL);
	dismiss(w, NULL, NULL, 0);
	while (w->readers) {
		struct watch_reader *r = w->readers;
		w->readers = r->next;
		buf_release(&r->lines);
		free(r);
	}
	look_release(&w->last);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

int watch_reader_open(struct watch *w, struct watch_reader **ret)
{
	struct watch_reader *r CLEANUP_FREE = calloc(1, sizeof *r);
	if (!r)
		return -ENOMEM;
	LOCKED(w);
	/* Nobody looked while nobody read. */
	struct look now = {0};
	int rc = w->readers ? 0 : look_take(w->catalog, &now);
	if (rc == 0)
		rc = start(w);
	if (rc) {
		look_release(&now);
		return rc;
	}
	if (!w->readers) {
		look_release(&w->last);
		w->last = now;
	}
	r->next = w->readers;
	w->readers = r;
	pthread_cond_signal(&w->wake);
	*ret = r;
	r = NULL;
	return 0;
}

void watch_reader_close(struct watch *w, struct watch_reader *r)
{
	LOCKED(w);
	dismiss(w, r, NULL, -EINTR);
	struct watch_reader **at = &w->readers;
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	buf_release(&r->lines);
	free(r);
}

void watch_read(struct watch *w, struct watch_reader *r, size_t n, bool wait, void *request)
{
	struct waiting *x CLEANUP_FREE = malloc(sizeof *x);
	LOCKED(w);
	if (serve(w, r, n, request))
		return;
	int err = w->ops->gave_up(request) ? -EINTR : !wait ? -EAGAIN : !x ? -ENOMEM : 0;
	if (err) {
		w->ops->answer(request, err, (struct span){"", 0});
		return;
	}
	*x = (struct waiting){.reader = r, .request = request, .n = n};
	struct waiting **end = &w->waiting;
	while (*end)
		end = &(*end)->next;
	*end = x;
	x = NULL;
}

void watch_interrupt(struct watch *w, void *request)
{
	LOCKED(w);
	dismiss(w, NULL, request, -EINTR);
}
