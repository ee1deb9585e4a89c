/* SPDX-License-Identifier: MIT */
/* schedule_catalog: readers, a follower and a writer use one catalog in drawn orders. */
#ifndef SCHEDULE_CATALOG_H
#define SCHEDULE_CATALOG_H

#include "sessionfs/file/store.h"

#include "schedule_checks.h"
#include "schedule_states.h"

/* ---- calls of readers ---- */

static bool draw_slot(uint32_t *ret)
{
	unsigned n = run.recent_count < RECENT ? run.recent_count : RECENT;
	if (n == 0)
		return false;
	*ret = run.recent[schedule_draw(n)];
	return true;
}

static void read_stem(struct window *w)
{
	unsigned path = (unsigned)schedule_draw(PATHS);
	struct buf stem CLEANUP_BUF = BUF_INIT;
	struct slot_info info;
	char text[64];
	world_path_text(path, text, sizeof text);
	unsigned project = path == FLAT_PATH ? 1 : path / NAME_COUNT;
	catalog_stem_text(text, path == FLAT_PATH ? 0 : 6, &stem);
	int before = deferred_begin();
	bool found = catalog_slot_by_stem(run.c, run.projects[project], buf_span(&stem), &info);
	int err = deferred_end(before, 0);
	window_end(w);
	if (!found)
		check_absent(path, w, err, "slot_by_stem");
	else if (check_shown(&info, w, "slot_by_stem") != path)
		wrong("slot_by_stem: %s is %s", text, info.file);
}

/* Whether everything that can change is seen at once, and no call fails. */
static bool is_plain(void)
{
	return !run.can_fail && !disk.has_died && !world.writes_far;
}

static void read_list(struct window *w, bool all)
{
	unsigned project = (unsigned)schedule_draw(PROJECTS);
	uint64_t cookie = 0;
	struct slot_info info;
	bool listed[PATHS] = {false}, found = true;
	struct version files[PATHS] = {{0}};
	uint64_t epoch = all && is_plain() ? catalog_epoch(run.c) : 0;
	int err = 0;
	while (found) {
		struct window each = window_begin();
		each.is_recent = false;
		each.is_final = w->is_final;
		int before = deferred_begin();
		found = catalog_slot_next(run.c, all ? NO_SLOT : run.projects[project], &cookie, &info);
		int rc = deferred_end(before, 0);
		window_end(&each);
		err = err ? err : rc;
		unsigned path = found ? check_shown(&info, &each, "slot_next") : PATHS;
		if (path < PATHS) {
			listed[path] = true;
			files[path] = run.shown[path].v;
		}
	}
	window_end(w);
	if (epoch && !err && !run.wrong[0]) {
		run.before.epoch = epoch;
		memcpy(run.before.listed, files, sizeof files);
	}
	for (unsigned p = all ? 0 : project; p < (all ? PROJECTS : project + 1); p++)
		for (unsigned i = 0; i < paths_of_project(p); i++)
			if (!listed[path_of_project(p, i)])
				check_absent(path_of_project(p, i), w, err, "slot_next");
}

/* Looks up the id of a file that is now at some path. */
static void read_sid(struct window *w)
{
	const struct state *now = world_now();
	unsigned path = (unsigned)schedule_draw(PATHS);
	const struct version *v = state_version(now, path);
	struct slot_info info;
	char sid[32];
	if (!v->is_session)
		return;
	uint32_t file = v->file;
	bool is_rewritten = v->is_rewritten;
	snprintf(sid, sizeof sid, "id%u", file);
	int before = deferred_begin();
	bool found = catalog_slot_by_sid(run.c, span_of(sid), &info);
	int err = deferred_end(before, 0);
	window_end(w);
	if (found) {
		path = check_shown(&info, w, "slot_by_sid");
		if (path < PATHS && info.slot < SLOTS && !slot_can_be(&run.slots[info.slot], file))
			wrong("slot_by_sid: %s is file %u", sid, run.slots[info.slot].file);
		return;
	}
	/* After a failure a file can have another name. Without a watch, the id of a known session is read again only
	 * once its attributes were. */
	if (err || run.can_fail || disk.has_died || (run.is_polled && is_rewritten))
		return;
	for (unsigned p = 0; p < PATHS; p++) {
		bool was_other = false;
		for (unsigned i = w->from; i < world.state_count; i++)
			was_other = was_other || state_version(&world.states[i], p)->file != file ||
			            !state_version(&world.states[i], p)->is_session;
		if (!was_other && !now->paths[p].server)
			wrong("slot_by_sid: %s is absent, and was at path %u all the time", sid, p);
	}
}

static void read_slot(struct window *w)
{
	uint32_t slot;
	struct slot_info info;
	if (!draw_slot(&slot))
		return;
	int rc = catalog_slot(run.c, slot, &info);
	window_end(w);
	if (rc == 0)
		check_shown(&info, w, "slot");
	else if (rc == -ESTALE)
		check_stale(slot, "slot");
	else if (!may_fail(w))
		wrong("slot fails: %s", strerror(-rc));
}

/* The answer is of now, without a watch, too. */
static void read_slot_now(struct window *w)
{
	uint32_t slot;
	struct slot_info info;
	if (!draw_slot(&slot))
		return;
	unsigned path = run.slots[slot].path;
	struct window now = *w;
	int rc = catalog_slot_now(run.c, slot, &info);
	window_end(w);
	now.server_from = w->server_from;
	if (rc == 0) {
		check_shown(&info, &now, "slot_now");
		return;
	}
	if (rc != -ESTALE) {
		if (!may_fail(w))
			wrong("slot_now fails: %s", strerror(-rc));
		return;
	}
	uint32_t file = state_version(&world.states[now.from], path)->file;
	for (unsigned i = now.from; i < world.state_count; i++)
		if (state_version(&world.states[i], path)->file != file)
			return;
	if (!disk.has_died)
		check_absent(path, &now, 0, "slot_now");
}

/* `now`: also without a watch, the answer is as new as the call. */
static void read_session_of(uint32_t slot, bool now, struct window *w)
{
	unsigned path = run.slots[slot].path, from = w->from;
	struct session *s;
	world.reading[path]++;
	world.read_torn[path] = world.read_torn[path] || world_now()->paths[path].v.is_torn;
	int rc = catalog_session_get_as(run.c, slot, now ? GET_NOW : 0, &s);
	window_end(w);
	world.reading[path]--;
	w->from = now && !world.writes_far ? from : w->from;
	if (rc == -ESTALE)
		check_stale(slot, "session_get");
	else if (rc < 0 && !may_fail(w))
		wrong("session_get fails: %s", strerror(-rc));
	if (rc < 0)
		return;
	const struct version *v =
	    version_in(run.slots[slot].path, w, session_stat(s)->st_ino, session_stat(s)->st_size, NULL);
	if (!v)
		wrong("session_get: slot %u was never so: size %ju", slot, (uintmax_t)session_size(s));
	else
		check_slot(slot, run.slots[slot].path, v, w);
	if (v && session_count(s) != v->entries)
		wrong("session_get: %u entries of %u", session_count(s), v->entries);
	catalog_session_put(run.c, s);
}

static void read_session(struct window *w)
{
	uint32_t slot;
	if (draw_slot(&slot))
		read_session_of(slot, schedule_draw(2), w);
}

static int commit_make(void *arg, unsigned attempt, struct buf *out)
{
	buf_adds(out, "{\"type\":\"label\",\"id\":\"l\",\"parentId\":null,\"targetId\":\"e\",\"label\":\"x\"}\n");
	return 0;
}

/* Appends a line. Then the index has it. */
static void commit_line(struct window *w)
{
	uint32_t slot;
	struct slot_info info;
	if (!draw_slot(&slot) || world.writes_far)
		return;
	int rc = catalog_slot(run.c, slot, &info);
	window_end(w);
	if (rc < 0)
		return;
	const struct source_path at = {catalog_resolver(run.c), info.file};
	rc = store_append(&at, &(struct store_id){info.st.st_dev, info.st.st_ino}, NULL, commit_make, NULL);
	struct window now = window_begin();
	if (rc == 0)
		read_session_of(slot, true, &now);
}

/* No other session is newer that was the same all the time. */
static void read_latest(struct window *w)
{
	unsigned project = (unsigned)schedule_draw(PROJECTS);
	struct slot_info info;
	int before = deferred_begin();
	bool found = catalog_latest(run.c, run.projects[project], &info);
	int err = deferred_end(before, 0);
	window_end(w);
	if (!found) {
		for (unsigned i = 0; i < paths_of_project(project); i++)
			if (i != DEEP)
				check_absent(path_of_project(project, i), w, err, "latest");
		return;
	}
	unsigned shown = check_shown(&info, w, "latest");
	/* Its newest time: it was the newest then. */
	struct timespec newest = info.st.st_mtim;
	for (unsigned k = w->from; shown < PATHS && k < world.state_count; k++) {
		const struct version *v = &world.states[k].paths[shown].v;
		if (v->is_session && time_is_before(newest, disk_time(v->mtime)))
			newest = disk_time(v->mtime);
	}
	for (unsigned i = 0; i < paths_of_project(project) && !err; i++) {
		unsigned path = path_of_project(project, i);
		const struct version *v = &world.states[w->from].paths[path].v;
		bool was_other = i == DEEP || !v->is_session;
		for (unsigned k = w->from; k < world.state_count; k++)
			was_other = was_other || world.states[k].paths[path].v.file != v->file ||
			            world.states[k].paths[path].v.size != v->size ||
			            world.states[k].paths[path].v.mtime != v->mtime;
		if (was_other)
			continue;
		struct timespec t = disk_time(v->mtime);
		if (time_is_before(newest, t))
			wrong("latest: %s of %jd.%09ld, but path %u of %jd.%09ld is newer", info.file,
			      (intmax_t)newest.tv_sec, newest.tv_nsec, path, (intmax_t)t.tv_sec, t.tv_nsec);
	}
}

static void read_projects(struct window *w)
{
	uint64_t cookie = 0;
	struct project_info info;
	bool listed[PROJECTS] = {false};
	int before = deferred_begin();
	while (catalog_project_next(run.c, &cookie, &info))
		for (unsigned p = 0; p < PROJECTS; p++)
			listed[p] = listed[p] || info.project == run.projects[p];
	int err = deferred_end(before, 0);
	window_end(w);
	for (unsigned p = 0; p < PROJECTS; p++) {
		bool was_there = false;
		for (unsigned i = 0; i < paths_of_project(p); i++)
			for (unsigned k = w->from; k < world.state_count; k++)
				was_there =
				    was_there || state_version(&world.states[k], path_of_project(p, i))->is_session;
		/* A known project stays in the list while a scan of its files fails. */
		if (listed[p] && !was_there && !err && !run.can_fail && !disk.has_died)
			wrong("project_next: project %u had no session", p);
		if (listed[p])
			continue;
		/* It has one while each is absent in turn. */
		check_all_absent(p, w, err, "project_next");
	}
}

static bool was_in(unsigned path, const struct window *w, const struct version *v, bool attributes)
{
	for (unsigned i = w->from; i < world.state_count; i++) {
		const struct version *at = &world.states[i].paths[path].v;
		uint32_t file = at->is_session ? at->file : 0;
		if (file == v->file && (!attributes || !file || (at->size == v->size && at->mtime == v->mtime)))
			return true;
	}
	return false;
}

/* What an earlier call returned, and this one says is still so. */
static void check_before(const struct version v[PATHS], const struct window *w, bool attributes, const char *call)
{
	for (unsigned i = 0; i < PATHS; i++)
		if (!was_in(i, w, &v[i], attributes))
			wrong("%s: nothing changed, and path %u is not file %u of %jd bytes", call, i, v[i].file,
			      (intmax_t)v[i].size);
}

static void read_states(struct window *w)
{
	uint64_t serial = is_plain() && schedule_draw(2) ? run.before.serial : 0, asked = serial;
	struct version before[PATHS], files[PATHS] = {{0}};
	bool listed[PATHS] = {false};
	struct slot_state *v = NULL;
	size_t n;
	memcpy(before, run.before.states, sizeof before);
	int rc = catalog_list_states(run.c, &serial, &v, &n);
	window_end(w);
	if (rc < 0 && !may_fail(w))
		wrong("list_states fails: %s", strerror(-rc));
	if (rc == 0 && asked && !v) {
		check_before(before, w, true, "list_states");
		return;
	}
	for (size_t i = 0; rc == 0 && i < n; i++) {
		unsigned path = world_path_of(v[i].file);
		bool was_so = false;
		for (unsigned k = w->from; path < PATHS && k < world.state_count && !was_so; k++) {
			const struct named *at = &world.states[k].paths[path];
			was_so = at->server || (at->v.is_session && at->v.size == v[i].size &&
			                        time_is_same(v[i].mtime, disk_time(at->v.mtime)));
			if (was_so)
				files[path] = at->v;
		}
		if (!was_so)
			wrong("list_states: %s was never so: size %jd", v[i].file, (intmax_t)v[i].size);
		else
			listed[path] = true;
	}
	free(v);
	for (unsigned i = 0; i < PATHS && rc == 0 && serial; i++)
		if (!listed[i] && !disk.has_died)
			check_absent(i, w, 0, "list_states");
	if (rc == 0 && is_plain()) {
		run.before.serial = serial;
		memcpy(run.before.states, files, sizeof files);
	}
}

/* A listing is valid while the epoch is the same. Without a watch, that does not see files that were rewritten. */
static void read_epoch(struct window *w)
{
	uint64_t before = run.before.epoch;
	struct version listed[PATHS];
	memcpy(listed, run.before.listed, sizeof listed);
	uint64_t epoch = catalog_epoch(run.c);
	window_end(w);
	if (before && before == epoch && is_plain() && !run.is_polled)
		check_before(listed, w, false, "epoch");
}

static void read_other(struct window *w)
{
	struct catalog_status status;
	uint64_t what = schedule_draw(3);
	if (what == 0)
		catalog_mtime(run.c);
	else if (what == 1)
		catalog_is_watched(run.c);
	else
		catalog_status(run.c, &status);
}

static void read_own_list(struct window *w)
{
	read_list(w, false);
}

static void read_whole_list(struct window *w)
{
	read_list(w, true);
}

static void read_sum(struct window *w)
{
	static void (*const calls[])(struct window *) = {read_projects, read_states, read_states, read_epoch,
	                                                 read_epoch};
	calls[schedule_draw(sizeof calls / sizeof *calls)](w);
}

/* Each call is drawn as often as it is in the list. */
static void read_once(void)
{
	static void (*const calls[])(struct window *) = {
	    read_stem,       read_stem,   read_stem, read_own_list, read_own_list, read_own_list,
	    read_whole_list, read_sid,    read_slot, read_slot,     read_slot_now, read_session,
	    read_session,    read_latest, read_sum,  commit_line,   read_other};
	struct window w = window_begin();
	calls[schedule_draw(sizeof calls / sizeof *calls)](&w);
	if (run.clock_runs && schedule_draw(4) == 0)
		schedule_pass((int64_t)schedule_draw(20));
}

static void reader_work(void *arg)
{
	for (unsigned n = 1 + (unsigned)schedule_draw(2); n > 0 && !run.wrong[0]; n--)
		read_once();
}

static void writer_work(void *arg)
{
	for (unsigned n = 1 + (unsigned)schedule_draw(2); n > 0; n--)
		writer_change();
}

/* ---- the follower ---- */

/* Returns false if it would wait now. */
static bool follow_once(bool scan)
{
	struct catalog_change *changes = NULL;
	ssize_t n = catalog_wait(run.c, scan ? 0 : -1, -1, scan, &changes);
	if (n == -ECANCELED)
		return false;
	if (n < 0)
		wrong("wait fails: %s", strerror((int)-n));
	uint64_t when = ++run.steps;
	for (ssize_t i = 0; i < n; i++) {
		struct window w = window_begin();
		struct slot_info info;
		uint32_t place = changes[i].place;
		bool found = catalog_session_at_place(run.c, place, &info);
		unsigned path = info.file ? world_path_of(info.file) : PATHS;
		if (path < PATHS)
			run.reported[path] = when;
		window_end(&w);
		if (found)
			check_shown(&info, &w, "session_at_place");
	}
	free(changes);
	return !scan;
}

static void follower_work(void *arg)
{
	follow_once(run.is_polled);
}

/* ---- one world ---- */

/* An answer that has become wrong was followed by a report, which came after its call began. */
static void check_reported(const struct shown shown[PATHS])
{
	for (unsigned path = 0; path < PATHS; path++) {
		const struct shown *s = &shown[path];
		const struct version *v = state_version(world_now(), path);
		bool is_same = s->v.file == v->file && s->v.size == v->size && s->v.mtime == v->mtime;
		if (s->v.file && !is_same && !world_now()->paths[path].server && run.reported[path] < s->when)
			wrong("wait: a change of path %u was lost", path);
	}
}

/* The follower needs no help of a reader. */
static void follow_work(void *arg)
{
	(void)arg;
	for (unsigned n = 0; n < 64 && follow_once(false); n++)
		;
}

static void final_work(void *arg)
{
	struct catalog_status status;
	struct window w = window_begin();
	w.is_final = true;
	run.is_polled = run.can_fail = disk.has_died = false;
	for (unsigned p = 0; p < PROJECTS && !run.wrong[0]; p++)
		read_list(&w, true);
	follow_work(NULL);
	read_list(&w, true);
	catalog_status(run.c, &status);
	if (status.scanning)
		wrong("status: something is scanned, and all is known");
}

/* Lets all other threads run until they wait. */
static void world_settle(void)
{
	schedule_wait(&run, schedule.now + 1000000);
}

/* The disk is quiet now: a list is what it has. */
static void run_final(void)
{
	bool polled = run.is_polled, fails = run.can_fail, died = disk.has_died;
	unsigned fails_in = disk.fails;
	struct schedule_worker *v[] = {&run.readers[0]};
	disk.fails = 0;
	disk_revive_server();
	schedule.traced = 0;
	world_settle();
	if (polled || fails || died || world.writes_far || some_are_unwatched())
		schedule_pass(unwatched_ms() + 10);
	if (polled || fails || died) {
		v[0]->arg = &run; /* a scan that failed is made again, and what a late one found is applied */
		schedule_run(v, 1, 16);
		world_settle();
		schedule_pass(unwatched_ms() + 10);
	}
	struct shown shown[PATHS];
	memcpy(shown, run.shown, sizeof shown);
	run.longest_ms = 0;
	run.round_began = world_ms();
	if (!polled && !fails && !died && !world.writes_far && !some_are_unwatched()) {
		v[0]->work = follow_work;
		schedule_run(v, 1, 16);
		check_reported(shown);
	}
	v[0]->work = final_work;
	schedule_run(v, 1, 16);
	v[0]->work = reader_work;
	if (!polled)
		check_reported(shown);
	run.is_polled = polled;
	run.can_fail = fails;
	disk.fails = fails_in;
}

static void round_run(void)
{
	struct schedule_worker *v[4];
	unsigned n = 0;
	static const unsigned keeps[] = {1, 2, 3, 4, 8, 16, 32};
	run.round++;
	run.round_began = world_ms();
	schedule.traced = 0;
	v[n++] = &run.readers[0];
	if (schedule_draw(2))
		v[n++] = &run.readers[1];
	if (schedule_draw(8))
		v[n++] = &run.writer;
	if (schedule_draw(4) == 0)
		v[n++] = &run.follower;
	schedule.hash = UINT64_C(0xcbf29ce484222325);
	schedule_run(v, n, keeps[schedule_draw(sizeof keeps / sizeof *keeps)]);
	if (schedule.jumps && !disk.has_died)
		wrong("a call waited for a time limit");
	if (disk.asked)
		wrong("a thread asked the server itself");
	unsigned how = (unsigned)schedule_draw(16);
	schedule_pass(how < 8    ? 0
	              : how < 12 ? (int64_t)schedule_draw(50)
	              : how < 15 ? (int64_t)schedule_draw(300)
	                         : 2500);
}

static void catalog_begin(void)
{
	struct catalog_options o = {.budget = &run.budget, .watch = true, .poll = run.is_polled};
	struct project_info info;
	/* In half of the worlds, only the index that was used last stays open. */
	run.budget = (struct budget)BUDGET_INIT(schedule_draw(2) ? 64 << 20 : 1);
	if (catalog_open(world.source, &o, &run.c) < 0)
		schedule_fail("catalog_open");
	/* Both projects get a number. */
	for (unsigned p = 0; p < PROJECTS; p++) {
		char path[120];
		snprintf(path, sizeof path, "%s/%s/c.jsonl", world.source, dir_texts[p]);
		struct object *o_ = &world.objects[world.in[p]];
		if (!o_->names[C].v.file) {
			o_->names[C].v = world_make_file(path);
			disk_touched(o_->ino);
			world_add_state();
		}
	}
	for (unsigned p = 0; p < PROJECTS; p++) {
		if (!catalog_project_by_name(run.c, p ? SPAN_LIT("w") : SPAN_LIT("v"), &info))
			schedule_fail("no project");
		run.projects[p] = info.project;
	}
}

/* Runs a world to its end, or until something is wrong. Calls `each` with the hash of each round's order. */
static void world_run(uint64_t seed, void (*each)(uint64_t hash))
{
	schedule.seed = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	schedule.keeps = UINT32_MAX;
	schedule.now = INT64_C(1000000000000);
	struct schedule_worker readers[READERS] = {run.readers[0], run.readers[1]}, w = run.writer, f = run.follower;
	memset(&run, 0, sizeof run);
	memcpy(run.readers, readers, sizeof readers);
	run.writer = w;
	run.follower = f;
	run.seed = seed;
	run.is_polled = schedule_draw(4) == 0;
	run.clock_runs = schedule_draw(2);
	disk_clear();
	disk.tick_ms = schedule_draw(2) ? 1 : 40;
	world_begin(schedule_draw(3));
	world.writes_dirs = schedule_draw(4) == 0;
	catalog_begin();
	disk.queue_max = schedule_draw(3) ? 0 : 3;
	run.can_fail = schedule_draw(8) == 0;
	disk.fails = run.can_fail ? 40 : 0;
	for (unsigned i = 0; i < ROUNDS && !run.wrong[0]; i++) {
		round_run();
		each(schedule.hash);
		if (i % 8 == 7 && !run.wrong[0])
			run_final();
	}
	disk.fails = 0;
	disk_revive_server();
	schedule.keeps = UINT32_MAX;
	schedule.points = 0;
	if (!run.wrong[0])
		catalog_close(run.c);
	world_settle();
	world_end();
}

static void world_threads_start(void)
{
	schedule.on_unlock = check_states_at_unlock;
	for (unsigned i = 0; i < READERS; i++) {
		run.readers[i].work = reader_work;
		schedule_start_worker(&run.readers[i]);
	}
	run.writer.work = writer_work;
	schedule_start_worker(&run.writer);
	run.follower.work = follower_work;
	schedule_start_worker(&run.follower);
}

#endif
