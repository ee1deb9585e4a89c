/* What the kernel may keep of a session that lies untouched.
 *
 * The tree lets it keep attributes of such a session for a long time (TREE_TTL_QUIET),
 * or a warm `find` would ask for each directory again. That is a promise to tell the
 * kernel when the session's file changes after all: every node it was made for is
 * noted, one thread looks at the files of the sessions concerned a few times a second,
 * and when one changed the kernel drops what it holds of those nodes. Later answers
 * about that session are not for long any more, so a burst of appends costs this once.
 *
 * A promise that cannot be kept (no room, no thread, the file changed meanwhile) is
 * not made: the answer is then for as long as that of a session that grows. */
#include "fs_impl.h"

#include <time.h>

#define LOOK_MS 250
#define NODES_MAX ((size_t)1 << 20)

struct quiet_slot {
	uint32_t slot;
	struct timespec mtime; /* the file's, as it was promised */
	int64_t until_ms;      /* the latest promise ends */
	node_t *nodes;
	size_t n, cap;
};

static int64_t now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* --- the list, under the lock ------------------------------------------------ */

static struct quiet_slot *find(struct quiet *q, uint32_t slot)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->slots[i].slot == slot)
			return &q->slots[i];
	return NULL;
}

static struct quiet_slot *add_slot(struct quiet *q, uint32_t slot, struct timespec mtime)
{
	if (q->n == q->cap) {
		size_t cap = q->cap ? q->cap * 2 : 16;
		struct quiet_slot *p = reallocarray(q->slots, cap, sizeof *p);
		if (!p)
			return NULL;
		q->slots = p;
		q->cap = cap;
	}
	q->slots[q->n] = (struct quiet_slot){.slot = slot, .mtime = mtime};
	return &q->slots[q->n++];
}

static void drop_slot(struct quiet *q, struct quiet_slot *s)
{
	q->nodes -= s->n;
	free(s->nodes);
	*s = q->slots[--q->n];
}

static int node_cmp(const void *a, const void *b)
{
	node_t x = *(const node_t *)a, y = *(const node_t *)b;
	return (x > y) - (x < y);
}

/* The kernel asks for a node again and again: each is needed once. */
static void compact(struct quiet *q, struct quiet_slot *s)
{
	size_t n = 0;
	qsort(s->nodes, s->n, sizeof *s->nodes, node_cmp);
	for (size_t i = 0; i < s->n; i++)
		if (n == 0 || s->nodes[n - 1] != s->nodes[i])
			s->nodes[n++] = s->nodes[i];
	q->nodes -= s->n - n;
	s->n = n;
}

static bool add_node(struct quiet *q, struct quiet_slot *s, node_t node)
{
	if (s->n == s->cap && s->n > 0)
		compact(q, s);
	if (s->n > s->cap / 2 || s->cap == 0) {
		size_t cap = s->cap ? s->cap * 2 : 64;
		node_t *p = reallocarray(s->nodes, cap, sizeof *p);
		if (!p && s->n == s->cap)
			return false;
		s->nodes = p ? p : s->nodes;
		s->cap = p ? cap : s->cap;
	}
	s->nodes[s->n++] = node;
	q->nodes++;
	return true;
}

/* --- promises ------------------------------------------------------------------ */

static bool promise(struct quiet *q, const struct tree_attr *a)
{
	uint32_t slot = node_unpack(a->node).slot;
	struct quiet_slot *s = find(q, slot);
	if (q->nodes >= NODES_MAX)
		return false;
	if (!s)
		s = add_slot(q, slot, a->mtime);
	if (!s || !same_time(s->mtime, a->mtime) || !add_node(q, s, a->node))
		return false;
	s->until_ms = now_ms() + (int64_t)(TREE_TTL_QUIET * 1000) + LOOK_MS;
	return true;
}

void quiet_settle(struct fs *fs, struct tree_attr *a)
{
	struct quiet *q = &fs->quiet;
	if (a->attr_ttl != TREE_TTL_QUIET)
		return;
	pthread_mutex_lock(&q->lock);
	bool kept = q->running && promise(q, a);
	pthread_mutex_unlock(&q->lock);
	if (kept)
		return;
	a->attr_ttl = TREE_TTL_LIVE;
	if (a->entry_ttl == TREE_TTL_QUIET)
		a->entry_ttl = TREE_TTL_LIVE;
}

/* --- the thread ------------------------------------------------------------------ */

static bool is_changed(struct fs *fs, const struct quiet_slot *s)
{
	struct slot_info info;
	return catalog_slot(fs->catalog, s->slot, &info) < 0 || !same_time(info.st.st_mtim, s->mtime);
}

/* Takes out the first slot whose file is not as it was promised; those whose promises have ended go. False if there
 * is none. */
static bool take_changed(struct fs *fs, struct quiet_slot *ret)
{
	struct quiet *q = &fs->quiet;
	for (size_t i = q->n; i > 0; i--) {
		struct quiet_slot *s = &q->slots[i - 1];
		if (!is_changed(fs, s)) {
			if (now_ms() >= s->until_ms)
				drop_slot(q, s);
			continue;
		}
		*ret = *s;
		s->nodes = NULL;
		drop_slot(q, s);
		return true;
	}
	return false;
}

static void tell_kernel(struct fs *fs, const struct quiet_slot *s)
{
	for (size_t i = 0; i < s->n; i++)
		fuse_lowlevel_notify_inval_inode(fs->session, s->nodes[i], 0, 0);
}

static void *look(void *arg)
{
	struct fs *fs = arg;
	struct quiet *q = &fs->quiet;
	pthread_mutex_lock(&q->lock);
	while (q->running) {
		struct quiet_slot changed;
		struct timespec until;
		while (q->running && take_changed(fs, &changed)) {
			pthread_mutex_unlock(&q->lock);
			tell_kernel(fs, &changed);
			free(changed.nodes);
			pthread_mutex_lock(&q->lock);
		}
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += LOOK_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		if (q->running)
			pthread_cond_timedwait(&q->wake, &q->lock, &until);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

void quiet_init(struct quiet *q)
{
	pthread_condattr_t attr;
	*q = (struct quiet){0};
	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&q->wake, &attr);
	pthread_condattr_destroy(&attr);
}

void quiet_start(struct fs *fs)
{
	struct quiet *q = &fs->quiet;
	pthread_mutex_lock(&q->lock);
	q->running = fs->session && pthread_create(&q->thread, NULL, look, fs) == 0;
	pthread_mutex_unlock(&q->lock);
}

void quiet_stop(struct fs *fs)
{
	struct quiet *q = &fs->quiet;
	pthread_mutex_lock(&q->lock);
	bool running = q->running;
	q->running = false;
	pthread_cond_signal(&q->wake);
	pthread_mutex_unlock(&q->lock);
	if (running)
		pthread_join(q->thread, NULL);
}

void quiet_release(struct quiet *q)
{
	for (size_t i = 0; i < q->n; i++)
		free(q->slots[i].nodes);
	free(q->slots);
	pthread_cond_destroy(&q->wake);
	pthread_mutex_destroy(&q->lock);
}
