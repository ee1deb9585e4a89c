/* SPDX-License-Identifier: MIT */
/* schedule_checks: checks each answer of a catalog, whose threads run in drawn orders:
 *
 * - It was true at some time since the call began; without a watch, at some time in the CATALOG_FRESH_MS before, too.
 * - If nothing can fail, a name that is not found was absent at some time since then. An error is not an absence.
 * - A slot is one file. It is not stale while that file is at its path.
 * - A list that a call calls unchanged is still true. A line that the program appended is in the index that it reads
 *   next.
 * - The follower gets a change for each answer that has become wrong.
 * - No call waits for a time limit, except for the server; no call goes on for ever; no thread but one of the pool asks
 *   the server.
 * - After the last change, a list is what is on the disk. */
#ifndef SCHEDULE_CHECKS_H
#define SCHEDULE_CHECKS_H

#include "sessionfs/base/clock.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/log.h"
#include "sessionfs/catalog/catalog.h"

#include "../../src/catalog/catalog_impl.h"
#include "schedule_world.h"

enum { READERS = 2, SLOTS = 8192, RECENT = 64, ROUNDS = 16, PROJECTS = DIRS };

/* States, by their numbers. */
struct window {
	unsigned from, server_from, recent_from;
	int64_t began;
	uint64_t step;  /* by run.steps */
	bool is_recent; /* the call takes recent results of a server */
	bool is_unwatched;
	bool is_final; /* all is known */
};

/* What a reader was shown at a path. */
struct shown {
	struct version v;
	uint64_t when; /* by run.steps */
};

static struct {
	uint64_t seed; /* of the world */
	unsigned round;
	struct budget budget;
	struct catalog *c;
	bool is_polled, can_fail;
	uint32_t projects[PROJECTS];
	struct slot_seen {
		uint32_t file;           /* 0: none yet */
		unsigned path, from, to; /* the states in which it was first seen */
	} slots[SLOTS];
	uint32_t recent[RECENT]; /* the last new slots */
	unsigned recent_count;
	struct shown shown[PATHS];
	uint64_t reported[PATHS];
	uint64_t steps; /* counts calls */
	/* An earlier listing of all, and list of all states; file 0: was not in it. */
	struct {
		uint64_t epoch, serial;
		struct version listed[PATHS], states[PATHS];
	} before;
	int64_t round_began;
	int64_t longest_ms; /* the longest round, by the clock of the schedule */
	bool clock_runs;
	char wrong[200];
	struct schedule_worker readers[READERS], writer, follower;
} run;

static void wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void wrong(const char *fmt, ...)
{
	va_list args;
	if (run.wrong[0])
		return;
	va_start(args, fmt);
	vsnprintf(run.wrong, sizeof run.wrong, fmt, args);
	va_end(args);
	schedule_note("WRONG", run.wrong);
}

/* ---- right answers ---- */

/* Without a watch, a scan is valid for CATALOG_FRESH_MS, and a call that finds scans valid makes them so for the next
 * calls: as long again, or eight times as long as it took. */
static int64_t unwatched_ms(void)
{
	return 2 * CATALOG_FRESH_MS + 2 + 9 * run.longest_ms;
}

static unsigned state_at(unsigned state, int64_t ms)
{
	while (state > 0 && state < STATES && world.states[state].at >= ms)
		state--;
	return state;
}

/* Whether a directory has no watch: it was moved while it was scanned. Until the next scan it is as without a watch. */
static bool some_are_unwatched(void)
{
	for (uint32_t i = 0; i < run.c->dir_count; i++)
		if (!run.c->dirs[i].gone && !run.c->dirs[i].wd)
			return true;
	return false;
}

static struct window window_begin(void)
{
	struct window w = {.from = world.state_count - 1, .began = world_ms(), .is_recent = true};
	w.step = ++run.steps;
	w.is_unwatched = some_are_unwatched();
	schedule_note("call", NULL);
	return w;
}

/* The call has ended; now its answer can be checked. A call that began in this round can have made a scan valid for
 * longer. */
static void window_end(struct window *w)
{
	schedule_note("end", NULL);
	if (world_ms() - run.round_began > run.longest_ms)
		run.longest_ms = world_ms() - run.round_began;
	/* If the clock runs, an answer can take long; then attributes of the last five seconds are shown (sync.c). */
	w->recent_from = run.clock_runs ? state_at(w->from, w->began - 5000 - unwatched_ms()) : w->from;
	w->server_from = w->is_final ? w->from : state_at(w->from, w->began - unwatched_ms());
	if (run.is_polled || w->is_unwatched || some_are_unwatched())
		w->from = w->server_from;
}

/* `mtime` NULL: any. */
static bool version_is(const struct version *v, uint64_t ino, off_t size, const struct timespec *mtime)
{
	return v->is_session && v->ino == ino && v->size == size &&
	       (!mtime || time_is_same(disk_time(v->mtime), *mtime));
}

static bool path_had_link(unsigned path, const struct window *w)
{
	for (unsigned i = w->from; i < world.state_count; i++)
		if (world.states[i].paths[path].server)
			return true;
	return false;
}

/* Returns the version of these attributes that was at the path in the window; NULL: there was none. While the server at
 * the path does not answer, the last known version is shown; in a call that takes recent results, also if its answer
 * takes long. */
static const struct version *version_in(unsigned path, const struct window *w, uint64_t ino, off_t size,
                                        const struct timespec *mtime)
{
	bool is_late = disk.has_died && path_had_link(path, w);
	for (unsigned i = is_late ? 0 : w->from; i < world.state_count; i++)
		if (!world.states[i].paths[path].server && version_is(&world.states[i].paths[path].v, ino, size, mtime))
			return &world.states[i].paths[path].v;
	for (unsigned i = is_late || w->is_recent ? 0 : w->from; i < world.state_count; i++) {
		unsigned server = world.states[i].paths[path].server;
		unsigned from = w->is_recent && w->recent_from < w->server_from ? w->recent_from : w->server_from;
		for (unsigned k = disk.has_died ? 0 : from; server && k < world.state_count; k++)
			if (version_is(&world.states[k].server[server - 1], ino, size, mtime))
				return &world.states[k].server[server - 1];
	}
	return NULL;
}

static bool was_absent(unsigned path, const struct window *w)
{
	for (unsigned i = w->from; i < world.state_count; i++)
		if (!state_version(&world.states[i], path)->is_session)
			return true;
	return false;
}

/* An answer can have an error: a call failed, or something in the source is on a server that did not answer. A link
 * that was replaced counts no more, if there is a watch. */
static bool may_fail(const struct window *w)
{
	bool had_link = run.is_polled;
	for (unsigned i = 0; i < PATHS && !had_link; i++)
		had_link = path_had_link(i, w);
	return run.can_fail || (disk.has_died && had_link);
}

/* A failure of one name leaves a list without it, and the list has the error. */
static void check_absent(unsigned path, const struct window *w, int err, const char *call)
{
	if (err && may_fail(w))
		return;
	if (err)
		wrong("%s fails: %s", call, strerror(-err));
	else if (!was_absent(path, w))
		wrong("%s: path %u is absent, and was there all the time", call, path);
}

static unsigned path_of_project(unsigned project, unsigned i)
{
	return i == NAME_COUNT ? FLAT_PATH : project * NAME_COUNT + i;
}

/* The flat file is of the second project. */
static unsigned paths_of_project(unsigned project)
{
	return project == 0 ? NAME_COUNT : NAME_COUNT + 1;
}

static void check_all_absent(unsigned project, const struct window *w, int err, const char *call)
{
	for (unsigned i = 0; i < paths_of_project(project); i++)
		check_absent(path_of_project(project, i), w, err, call);
}

/* Returns whether the file was at the slot's path when the slot was first seen: a file that was rewritten between its
 * attributes and its header is shown with the old attributes once. */
static bool slot_can_be(const struct slot_seen *s, uint32_t file)
{
	bool is_same = s->file == file;
	for (unsigned i = s->from; !is_same && i <= s->to; i++)
		is_same = state_version(&world.states[i], s->path)->file == file;
	return is_same;
}

/* The slot is the session at this path with these contents. */
static void check_slot(uint32_t slot, unsigned path, const struct version *v, const struct window *w)
{
	if (slot >= SLOTS)
		schedule_fail("too many slots");
	struct slot_seen *s = &run.slots[slot];
	if (s->file && (s->path != path || !slot_can_be(s, v->file)))
		wrong("slot %u is file %u at path %u, and was file %u", slot, v->file, path, s->file);
	if (!s->file)
		run.recent[run.recent_count++ % RECENT] = slot;
	if (s->file == v->file)
		return;
	*s = (struct slot_seen){v->file, path, w->from, world.state_count - 1};
}

/* An answer shows this session. Returns its path. */
static unsigned check_shown(const struct slot_info *info, const struct window *w, const char *call)
{
	unsigned path = world_path_of(info->file);
	if (path == PATHS) {
		wrong("%s: no such file: %s", call, info->file);
		return PATHS;
	}
	const struct version *v = version_in(path, w, info->st.st_ino, info->st.st_size, &info->st.st_mtim);
	if (!v) {
		wrong("%s: %s was never so: size %jd, mtime %jd.%09ld", call, info->file, (intmax_t)info->st.st_size,
		      (intmax_t)info->st.st_mtim.tv_sec, info->st.st_mtim.tv_nsec);
		return path;
	}
	check_slot(info->slot, path, v, w);
	if (!world.states[w->from].paths[path].server)
		run.shown[path] = (struct shown){*v, w->step};
	return path;
}

/* A slot is stale if another file, or none, was at its path since it was seen; if a read failed while its index grew;
 * or if its index read a part of a line that was taken back. */
static void check_stale(uint32_t slot, const char *call)
{
	const struct slot_seen *s = &run.slots[slot];
	for (unsigned i = s->from; i < world.state_count; i++)
		if (state_version(&world.states[i], s->path)->file != s->file)
			return;
	if (!run.can_fail && !world.read_torn[s->path])
		wrong("%s: slot %u is stale, and its file is there", call, slot);
}

#endif
