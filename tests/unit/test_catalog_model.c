/* SPDX-License-Identifier: MIT */
/* The rules that tell the catalog when to scan again, as a model: a directory of some names, a kernel that sends events
 * until its queue is full, looks that take several steps, and readers, in a random order. A reader must get a state
 * that was true at some time since it began.
 *
 * - A clock of ticks orders marks and looks. A mark means: this may have changed.
 * - A look draws its tick, `began`, before it reads the disk; its result is applied only if that is greater than the
 * current one.
 * - Known state is valid for a call that began at `asof` if the look began after the mark, or after the call began. */
#include "cases.h"

#include <stdbool.h>

enum { NAMES = 3, QUEUE = 4, WRITES = 25, WORKERS = 16, READERS = 8, STEPS = 1500, RUNS = 12000 };
/* The file of a name: none, one never seen, or the number of the write that created it. */
enum { ABSENT = 0, UNSEEN = -1 };
enum rule { RIGHT, BEGAN_AFTER_THE_LOOK, COMES_WITH_OLD_BEGAN };
enum state { IDLE, QUEUED, BUSY };
enum kind { NOBODY, FILE_LOOK, DIR_LOOK, NAME_READER, LIST_READER };

struct seen {
	unsigned marked, began;
	enum state state;
	bool again; /* marked while busy */
	int value;
};

struct worker {
	enum kind kind;
	int step, name, saw, since;
	unsigned began, swept, asof;
	bool sweep, listed[NAMES];
};

struct world {
	uint64_t seed;
	enum rule rule;
	unsigned tick, all_marked;
	int disk[NAMES], past[WRITES + 1][NAMES], writes, most, serial;
	int queue[QUEUE], queued; /* names with an event */
	bool lost, sweep;
	struct seen file[NAMES], dir;
	struct worker workers[WORKERS];
	bool wrong;
};

static unsigned draw(struct world *w, unsigned below)
{
	w->seed = w->seed * 6364136223846793005 + 1442695040888963407;
	return (unsigned)(w->seed >> 33) % below;
}

static void change_disk(struct world *w)
{
	int n = (int)draw(w, NAMES);
	w->disk[n] = w->disk[n] && draw(w, 5) < 2 ? ABSENT : ++w->serial;
	memcpy(w->past[++w->writes], w->disk, sizeof w->disk);
	if (w->queued == QUEUE)
		w->lost = true;
	else
		w->queue[w->queued++] = n;
}

static void queue(struct seen *s)
{
	if (s->state == IDLE)
		s->state = QUEUED;
	s->again = s->again || s->state == BUSY;
}

/* Each call reads the events first. That only marks. */
static void drain(struct world *w)
{
	for (int i = 0; i < w->queued; i++) {
		w->file[w->queue[i]].marked = ++w->tick;
		queue(&w->file[w->queue[i]]);
	}
	if (w->lost) {
		w->all_marked = ++w->tick;
		w->sweep = true;
		queue(&w->dir);
	}
	w->queued = 0;
	w->lost = false;
}

static bool is_settled(const struct world *w, const struct seen *s, unsigned asof)
{
	unsigned marked = s->marked > w->all_marked ? s->marked : w->all_marked;
	return s->began >= marked || s->began > asof;
}

/* Scans it unless it is settled. */
static bool need(const struct world *w, struct seen *s, unsigned asof)
{
	if (is_settled(w, s, asof))
		return true;
	if (s->state == IDLE)
		s->state = QUEUED;
	return false;
}

static void take_in(struct seen *s, unsigned began, int value)
{
	if (began <= s->began)
		return;
	s->began = began;
	s->value = value;
}

static bool end_look(struct seen *s)
{
	s->state = s->again ? QUEUED : IDLE;
	s->again = false;
	return true;
}

/* Each step of a worker returns whether it has ended. */
static bool look_at_file(struct world *w, struct worker *k)
{
	struct seen *f = &w->file[k->name];
	if (k->step++ == 0) {
		k->saw = w->disk[k->name];
		return false;
	}
	take_in(f, w->rule == BEGAN_AFTER_THE_LOOK ? ++w->tick : k->began, k->saw);
	return end_look(f);
}

static void take_in_names(struct world *w, const struct worker *k)
{
	for (int n = 0; n < NAMES; n++) {
		struct seen *f = &w->file[n];
		if (f->began >= k->began)
			continue;
		if (k->listed[n] && f->value == ABSENT) {
			f->value = UNSEEN;
			f->marked = ++w->tick;
			f->began = w->rule == COMES_WITH_OLD_BEGAN ? f->began : 0;
			if (!k->sweep)
				queue(f);
		} else if (!k->listed[n]) {
			take_in(f, k->began, ABSENT);
		}
	}
}

static bool look_at_dir(struct world *w, struct worker *k)
{
	int step = k->step++, n = (step - 3) / 2;
	if (step == 0) {
		for (n = 0; n < NAMES; n++)
			k->listed[n] = w->disk[n] != ABSENT;
	} else if (step == 1) {
		take_in_names(w, k);
	} else if (step == 2) {
		k->swept = k->sweep ? ++w->tick : 0;
	} else if (k->sweep && n < NAMES) {
		if (step % 2)
			k->saw = w->disk[n];
		else
			take_in(&w->file[n], k->swept, k->saw);
	} else {
		w->dir.began = k->began;
		return end_look(&w->dir);
	}
	return false;
}

static void check(struct world *w, int name, int since)
{
	for (int i = since; i <= w->writes; i++) {
		if (w->past[i][name] == w->file[name].value)
			return;
	}
	w->wrong = true;
}

static bool read_name(struct world *w, const struct worker *k)
{
	struct seen *f = &w->file[k->name];
	if (!need(w, f, k->asof) || (f->value == ABSENT && !need(w, &w->dir, k->asof)))
		return false;
	check(w, k->name, k->since);
	return true;
}

static bool read_list(struct world *w, const struct worker *k)
{
	bool all = need(w, &w->dir, k->asof);
	for (int n = 0; all && n < NAMES; n++)
		all = need(w, &w->file[n], k->asof);
	for (int n = 0; all && n < NAMES; n++)
		check(w, n, k->since);
	return all;
}

static bool work(struct world *w, struct worker *k)
{
	switch (k->kind) {
	case FILE_LOOK:
		return look_at_file(w, k);
	case DIR_LOOK:
		return look_at_dir(w, k);
	default:
		if (k->step++ == 0) {
			drain(w);
			k->asof = w->tick;
			return false;
		}
		return k->kind == NAME_READER ? read_name(w, k) : read_list(w, k);
	}
}

static struct worker *begin(struct world *w, enum kind kind, int first, int n)
{
	for (int i = first; i < n; i++) {
		if (w->workers[i].kind == NOBODY) {
			w->workers[i] = (struct worker){.kind = kind, .since = w->writes, .name = (int)draw(w, NAMES)};
			return &w->workers[i];
		}
	}
	return NULL;
}

static void begin_look(struct world *w)
{
	int n = (int)draw(w, NAMES + 1);
	struct seen *s = n < NAMES ? &w->file[n] : &w->dir;
	if (s->state != QUEUED)
		return;
	struct worker *k = begin(w, n < NAMES ? FILE_LOOK : DIR_LOOK, READERS, WORKERS);
	s->state = BUSY;
	s->again = false;
	k->name = n;
	k->began = ++w->tick;
	k->sweep = n == NAMES && w->sweep;
	w->sweep = w->sweep && !k->sweep;
}

/* Whether a reader got a state that never was. */
static bool goes_wrong(uint64_t seed, enum rule rule)
{
	struct world w = {.seed = seed, .rule = rule, .tick = 1, .sweep = true, .dir = {.marked = 1, .state = QUEUED}};
	w.most = 5 + (int)draw(&w, WRITES - 4);
	for (int i = 0; i < STEPS && !w.wrong; i++) {
		unsigned what = draw(&w, 20);
		struct worker *k = &w.workers[draw(&w, WORKERS)];
		if (what < 3 && w.writes < w.most)
			change_disk(&w);
		else if (what < 6)
			begin(&w, draw(&w, 2) ? NAME_READER : LIST_READER, 0, READERS);
		else if (what < 11)
			begin_look(&w);
		else if (k->kind != NOBODY && work(&w, k))
			k->kind = NOBODY;
	}
	return w.wrong;
}

static int wrong_runs(int runs, enum rule rule)
{
	int wrong = 0;
	for (int i = 0; i < runs; i++)
		wrong += goes_wrong((uint64_t)i, rule);
	return wrong;
}

CASE(model_never_returns_stale_state)
{
	assert_int_equal(wrong_runs(RUNS, RIGHT), 0);
}

/* A write between the look and its tick would count as seen. */
CASE(model_catches_late_tick)
{
	assert_in_range(wrong_runs(RUNS / 4, BEGAN_AFTER_THE_LOOK), RUNS / 4 / 100, RUNS / 4);
}

/* The old `began` of a removed file would count as a look at its successor. */
CASE(model_catches_reused_scan)
{
	assert_in_range(wrong_runs(RUNS / 4, COMES_WITH_OLD_BEGAN), RUNS / 4 / 200, RUNS / 4);
}

RUN_CASES(NULL, NULL)
