/* SPDX-License-Identifier: MIT */
/* A catalog that has seen many changes of its source still shows the files that are there, and reports each
 * change. The test finds the files without it: it walks the directories and reads the files. The changes are drawn from
 * a seed; once inotify reports them, and once the catalog polls. */
#include "cases.h"
#include "sessionfs/base/clock.h"
#include "catalog_fixture.h"
#include "linux_only.h"
#include "seed.h"

#include <dirent.h>
#include <unistd.h>

enum { STEPS = 120, FILES_MAX = 64, PATH_SIZE = 64, PROJECTS = 4 };

/* A name that can be a session's. */
struct entry_on_disk {
	char path[PATH_SIZE], id[16]; /* id "": no session */
	struct stat st;
	mode_t reach; /* the bits of a mode that its directories leave */
	uint32_t slot;
};

struct on_disk {
	struct entry_on_disk v[FILES_MAX];
	size_t n;
};

struct world {
	struct source_fixture *p;
	char outside[40], outside_dir[48];
	struct on_disk before;
	uint64_t random, epoch, serial;
	unsigned ids;
	bool polls;
	bool is_wide;   /* the last change was of a directory, and can have changed any file below */
	bool is_unseen; /* or of a file outside: no event reports it */
};

/* Calls that a scan makes, by all threads. */
static _Atomic unsigned calls;

static int counted_openat(int dir, const char *path, int flags, ...)
{
	calls++;
	return openat(dir, path, flags);
}
__typeof__(openat) *const sys_openat = counted_openat;

static int counted_statx(int dir, const char *path, int flags, unsigned mask, struct statx *x)
{
	calls++;
	return statx(dir, path, flags, mask, x);
}
__typeof__(statx) *const sys_statx = counted_statx;

static ssize_t counted_pread(int fd, void *p, size_t n, off_t off)
{
	calls++;
	return pread(fd, p, n, off);
}
__typeof__(pread) *const sys_pread = counted_pread;

/* As on file systems that do not tell the types of names. */
static _Atomic bool is_typeless;

static struct dirent *readdir_type(DIR *names)
{
	struct dirent *e = readdir(names);
	if (e && is_typeless)
		e->d_type = DT_UNKNOWN;
	return e;
}
__typeof__(readdir) *const sys_readdir = readdir_type;

/* ---- what is there ---- */

static const char *name_in(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool is_candidate(const char *name)
{
	size_t n = strlen(name);
	return n > 6 && strcmp(name + n - 6, ".jsonl") == 0;
}

static void read_id(const char *path, char id[16])
{
	char text[200] = "";
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	if (!fgets(text, sizeof text, f) ||
	    sscanf(text, "{\"type\":\"session\",\"version\":3,\"id\":\"%15[^\"]", id) != 1)
		id[0] = '\0';
	fclose(f);
}

static void walk(const struct world *w, const char *dir, mode_t reach, struct on_disk *d)
{
	const struct dirent *e;
	struct stat st;
	assert_int_equal(stat(at(w->p, dir), &st), 0);
	/* Who runs the tests can reach all. */
	reach &= 0700 | (st.st_mode & 010 ? 070 : 0) | (st.st_mode & 1 ? 7 : 0);
	DIR *names = opendir(at(w->p, dir));
	assert_non_null(names);
	while ((e = readdir(names))) {
		struct entry_on_disk *f = &d->v[d->n];
		if (e->d_name[0] == '.')
			continue;
		assert_in_range(d->n, 0, FILES_MAX - 1);
		*f = (struct entry_on_disk){.reach = reach, .slot = NO_SLOT};
		assert_in_range(snprintf(f->path, PATH_SIZE, "%s%s%s", dir, *dir ? "/" : "", e->d_name), 1,
		                PATH_SIZE - 1);
		assert_int_equal(stat(at(w->p, f->path), &f->st), 0);
		if (S_ISDIR(f->st.st_mode)) {
			char below[PATH_SIZE];
			strcpy(below, f->path);
			walk(w, below, reach, d);
		} else if (is_candidate(e->d_name)) {
			read_id(at(w->p, f->path), f->id);
			d->n++;
		}
	}
	closedir(names);
}

static const struct entry_on_disk *find_on_disk(const struct on_disk *d, const char *path)
{
	for (size_t i = 0; i < d->n; i++)
		if (strcmp(d->v[i].path, path) == 0)
			return &d->v[i];
	return NULL;
}

static bool is_same_entry(const struct entry_on_disk *a, const struct entry_on_disk *b)
{
	return a && b && strcmp(a->id, b->id) == 0 && a->st.st_ino == b->st.st_ino;
}

/* "--a--/s/1.jsonl" is a's s+1; those in the source itself have "cwd":"/a". */
static void add_names(struct buf *out, const char *path)
{
	size_t n = strcspn(path, "/");
	const char *stem = path[n] ? path + n + 1 : path;
	buf_addf(out, "%.*s/", path[n] ? (int)n - 4 : 1, path[n] ? path + 2 : "a");
	for (const char *c = stem; strcmp(c, ".jsonl") != 0; c++)
		buf_addc(out, *c == '/' ? '+' : *c);
}

static void add_described(struct buf *out, const char *path, off_t size, struct timespec mtime, struct timespec ctime)
{
	buf_addf(out, ":%s:%lld:%lld.%09ld:%lld.%09ld ", path, (long long)size, (long long)mtime.tv_sec, mtime.tv_nsec,
	         (long long)ctime.tv_sec, ctime.tv_nsec);
}

static bool is_newer(const struct entry_on_disk *a, const struct entry_on_disk *b)
{
	if (!b)
		return true;
	if (!time_is_same(a->st.st_mtim, b->st.st_mtim))
		return time_is_before(b->st.st_mtim, a->st.st_mtim);
	int order = strcmp(name_in(a->path), name_in(b->path));
	return order ? order > 0 : strcmp(a->path, b->path) > 0;
}

/* ---- what the catalog says ---- */

/* The order of a listing does not matter. */
static void assert_same_words(struct buf *got, struct buf *expected)
{
	sort_words(got);
	sort_words(expected);
	assert_string_equal(buf_cstr(got), buf_cstr(expected));
}

/* The newest session of a project, or of all (-1); `listed`: of those in its own directory. */
static const struct entry_on_disk *find_newest(const struct on_disk *now, int project, bool listed)
{
	const struct entry_on_disk *newest = NULL;
	for (size_t k = 0; k < now->n; k++) {
		const struct entry_on_disk *f = &now->v[k];
		const char *slash = strchr(f->path, '/');
		bool is_other = project >= 0 && (slash ? f->path[2] != 'a' + project : project != 0);
		if (f->id[0] && !is_other && (!listed || slash == strrchr(f->path, '/')) && is_newer(f, newest))
			newest = f;
	}
	return newest;
}

static void assert_all_projects(const struct world *w, const struct on_disk *now)
{
	struct project_info info;
	uint64_t cookie = 0;
	CLEANUP_BUF struct buf got = BUF_INIT, expected = BUF_INIT;
	while (catalog_project_next(w->p->c, &cookie, &info)) {
		struct slot_info slot;
		bool found = catalog_latest(w->p->c, info.project, &slot);
		buf_addf(&got, "%s:%lld.%09ld:%s ", info.name, (long long)info.mtime.tv_sec, info.mtime.tv_nsec,
		         found ? slot.file : "");
	}
	for (int i = 0; i < PROJECTS; i++) {
		const struct entry_on_disk *newest = find_newest(now, i, false), *listed = find_newest(now, i, true);
		if (newest)
			buf_addf(&expected, "%c:%lld.%09ld:%s ", 'a' + i, (long long)newest->st.st_mtim.tv_sec,
			         newest->st.st_mtim.tv_nsec, listed ? listed->path : "");
	}
	assert_same_words(&got, &expected);
}

static void assert_newest(const struct world *w, const struct on_disk *now)
{
	const struct entry_on_disk *newest = find_newest(now, -1, false), *listed = find_newest(now, -1, true);
	struct stat source;
	assert_newest_is(w->p, NO_SLOT, listed ? listed->path : NULL);
	assert_int_equal(stat(w->p->root, &source), 0);
	assert_true(time_is_same(catalog_mtime(w->p->c), newest ? newest->st.st_mtim : source.st_mtim));
}

/* All sessions with their attributes, in two ways. */
static void assert_sessions(struct world *w, struct on_disk *now)
{
	struct slot_info info;
	struct slot_state *states = NULL;
	size_t n = 0;
	uint64_t cookie = 0, serial = w->serial;
	CLEANUP_BUF struct buf got = BUF_INIT, states_got = BUF_INIT, expected = BUF_INIT, again = BUF_INIT;
	/* It stays the same as long as no session has changed. */
	assert_int_equal(catalog_list_states(w->p->c, &serial, &states, &n), 0);
	for (size_t i = 0; !states && i < now->n; i++) {
		const struct entry_on_disk *f = &now->v[i], *before = find_on_disk(&w->before, f->path);
		assert_true(!f->id[0] || (is_same_entry(before, f) && time_is_same(before->st.st_ctim, f->st.st_ctim)));
	}
	free(states);
	serial = 0;
	assert_int_equal(catalog_list_states(w->p->c, &serial, &states, &n), 0);
	for (size_t i = 0; i < n; i++) {
		buf_addf(&states_got, "%s/%s:%s", states[i].project_name, states[i].stem, states[i].sid);
		add_described(&states_got, states[i].file, states[i].size, states[i].mtime, states[i].ctime);
	}
	free(states);
	assert_int_equal(catalog_serial(w->p->c), serial);
	assert_int_equal(catalog_list_states(w->p->c, &serial, &states, &n), 0);
	assert_null(states);
	w->serial = serial;

	while (catalog_slot_next(w->p->c, NO_SLOT, &cookie, &info)) {
		struct project_info project;
		struct entry_on_disk *f = (struct entry_on_disk *)find_on_disk(now, info.file);
		assert_true(catalog_project(w->p->c, info.project, &project));
		buf_addf(&got, "%s/%s:%s", project.name, info.stem, info.sid);
		add_described(&got, info.file, info.st.st_size, info.st.st_mtim, info.st.st_ctim);
		assert_non_null(f);
		f->slot = info.slot;
		assert_int_equal(info.mode, f->st.st_mode & f->reach & 0777);
		assert_int_equal(info.st.st_ino, f->st.st_ino);
	}
	for (size_t i = 0; i < now->n; i++) {
		const struct entry_on_disk *f = &now->v[i];
		if (!f->id[0])
			continue;
		add_names(&expected, f->path);
		buf_addf(&expected, ":%s", f->id);
		add_described(&expected, f->path, f->st.st_size, f->st.st_mtim, f->st.st_ctim);
	}
	buf_addspan(&again, buf_span(&expected));
	assert_same_words(&got, &expected);
	assert_same_words(&states_got, &again);
}

static int note_file(void *arg, const char *file, uint32_t slot, int err, const char *reason)
{
	assert_int_equal(err, 0);
	assert_int_equal(slot == NO_SLOT, reason != NULL);
	buf_addf(arg, "%s:%s ", file, reason ? "no" : "yes");
	return 0;
}

/* Each name, also without a session. */
static void assert_each_file(const struct world *w, const struct on_disk *now)
{
	CLEANUP_BUF struct buf got = BUF_INIT, expected = BUF_INIT;
	assert_int_equal(catalog_each_file(w->p->c, note_file, &got), 0);
	for (size_t i = 0; i < now->n; i++)
		buf_addf(&expected, "%s:%s ", now->v[i].path, now->v[i].id[0] ? "yes" : "no");
	assert_same_words(&got, &expected);
}

/* ---- what has changed ---- */

static bool is_unchanged(const struct entry_on_disk *a, const struct entry_on_disk *b)
{
	return is_same_entry(a, b) && a->st.st_size == b->st.st_size && a->st.st_mode == b->st.st_mode &&
	       (a->reach == b->reach || !a->id[0]) && time_is_same(a->st.st_mtim, b->st.st_mtim) &&
	       time_is_same(a->st.st_ctim, b->st.st_ctim);
}

/* A session that is the same keeps its slot, and another one never gets it. A listing ends with each other name. */
static void assert_slots(struct world *w, const struct on_disk *now)
{
	bool differs = false;
	struct slot_info info;
	for (size_t i = 0; i < now->n; i++) {
		const struct entry_on_disk *f = &now->v[i], *before = find_on_disk(&w->before, f->path);
		assert_int_equal(f->slot == NO_SLOT, f->id[0] == '\0');
		if (before && before->slot != NO_SLOT && is_same_entry(before, f))
			assert_int_equal(f->slot, before->slot);
		for (size_t k = 0; k < w->before.n && f->slot != NO_SLOT; k++)
			assert_true(w->before.v[k].slot != f->slot || is_same_entry(&w->before.v[k], f));
	}
	for (size_t i = 0; i < w->before.n; i++) {
		const struct entry_on_disk *old = &w->before.v[i], *f = find_on_disk(now, old->path);
		if (old->slot == NO_SLOT)
			continue;
		assert_int_equal(catalog_slot(w->p->c, old->slot, &info), is_same_entry(old, f) ? 0 : -ESTALE);
		differs = differs || !is_same_entry(old, f);
	}
	for (size_t i = 0; i < now->n; i++)
		differs = differs ||
		          (now->v[i].id[0] && !is_same_entry(find_on_disk(&w->before, now->v[i].path), &now->v[i]));
	uint64_t epoch = catalog_epoch(w->p->c);
	assert_true(!differs || epoch > w->epoch);
	w->epoch = epoch;
}

static void assert_changes(struct world *w, const struct on_disk *now)
{
	struct catalog_change *changes = NULL;
	struct slot_info info;
	struct {
		bool seen, names;
		uint32_t died;
		char path[PATH_SIZE];
	} v[2 * FILES_MAX + 1] = {0};
	size_t n = 0;
	ssize_t count = catalog_wait(w->p->c, 0, -1, w->polls || w->is_unseen, &changes);
	assert_in_range(count, 0, 8 * FILES_MAX);
	for (ssize_t i = 0; i < count; i++) {
		size_t k = 0;
		catalog_session_at_place(w->p->c, changes[i].place, &info);
		while (k < n && strcmp(v[k].path, info.file) != 0)
			k++;
		if (k == n) {
			assert_in_range(++n, 1, 2 * FILES_MAX);
			strcpy(v[k].path, info.file);
			v[k].died = NO_SLOT;
		}
		v[k].names = v[k].names || changes[i].names;
		v[k].died = changes[i].died != NO_SLOT ? changes[i].died : v[k].died;
	}
	free(changes);
	for (int side = 0; side < 2; side++) {
		const struct on_disk *d = side ? now : &w->before;
		for (size_t i = 0; i < d->n; i++) {
			const char *path = d->v[i].path;
			const struct entry_on_disk *old = find_on_disk(&w->before, path),
						   *new = find_on_disk(now, path);
			size_t k = 0;
			while (k < n && strcmp(v[k].path, path) != 0)
				k++;
			/* When a directory gets its watch, what is below it is scanned, and reported as if it was
			 * written. */
			if (is_unchanged(old, new)) {
				assert_true(k == n || w->is_wide || (!w->polls && !v[k].names));
				v[k].seen = true;
				continue;
			}
			assert_true(k < n);
			v[k].seen = true;
			bool is_owned = old && new && old->st.st_mode == new->st.st_mode && old->reach == new->reach;
			bool is_one = is_same_entry(old, new);
			bool was_session = (old && old->id[0]) || (new &&new->id[0]);
			assert_true(v[k].names || !was_session || (is_owned && is_one));
			if (is_owned && is_one && was_session && !w->is_wide)
				assert_false(v[k].names);
			assert_int_equal(v[k].died, old && old->slot != NO_SLOT && !is_one ? old->slot : NO_SLOT);
		}
	}
	for (size_t i = 0; i < n; i++)
		assert_true(v[i].seen || w->is_wide);
}

/* ---- what it costs ---- */

static unsigned calls_of_listing(struct catalog *c)
{
	unsigned before = calls;
	count_sessions(c, NO_SLOT);
	return calls - before;
}

/* Files that are gone cost nothing, and neither do files that cannot have changed. */
static void assert_cost(const struct world *w)
{
	struct source_fixture fresh = *w->p;
	calls_of_listing(w->p->c);
	assert_int_equal(calls_of_listing(w->p->c), 0);
	if (!w->polls)
		return;
	open_watched(&fresh, true);
	calls_of_listing(fresh.c);
	for (int i = 0; i < 2; i++) {
		wait_stale();
		assert_in_range(calls_of_listing(w->p->c), 1, calls_of_listing(fresh.c));
	}
	catalog_close(fresh.c);
}

static void look(struct world *w, bool is_first)
{
	struct on_disk now = {.n = 0};
	bool asks_first = w->random & 1;
	is_typeless = w->polls && w->random & 4;
	walk(w, "", 0777, &now);
	if (w->polls || w->is_unseen)
		wait_stale();
	if (asks_first)
		assert_all_projects(w, &now);
	if (!is_first)
		assert_changes(w, &now);
	if (w->random & 2)
		assert_newest(w, &now);
	assert_all_projects(w, &now);
	assert_sessions(w, &now);
	assert_newest(w, &now);
	assert_each_file(w, &now);
	assert_slots(w, &now);
	/* Who may read a file is known only once its header was read, and is reported then. */
	count_changes(w->p, NULL);
	if (roll(&w->random, 8) == 0)
		assert_cost(w);
	w->before = now;
}

/* ---- changes ---- */

/* Two changes at one time of the file system's clock look like one. */
static void let_file_clock_tick(void)
{
	struct timespec before = clock_now(CLOCK_REALTIME_COARSE);
	while (time_is_same(clock_now(CLOCK_REALTIME_COARSE), before))
		usleep(500);
}

static const char *draw_dir(struct world *w)
{
	static const char *const dirs[] = {"--d--/", "",         "--a--/",   "--b--/",
	                                   "--c--/", "--a--/s/", "--b--/s/", "--b--/s/t/"};
	unsigned first = access(at(w->p, "--d--"), F_OK) < 0, i = first + roll(&w->random, COUNT(dirs) - first);
	w->is_unseen = w->is_unseen || i == 0;
	return dirs[i];
}

/* In a directory that exists from now on. */
static void draw_path(struct world *w, char path[PATH_SIZE])
{
	const char *dir = draw_dir(w);
	snprintf(path, PATH_SIZE, "%s%s%u.jsonl", dir, *dir ? "" : "f", roll(&w->random, 3));
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(at(w->p, path), 0755);
		*slash = '/';
	}
}

static const char *new_session(struct world *w)
{
	static char text[300];
	snprintf(text, sizeof text,
	         HEADER_OF("sid-%u", "/a") "%s", ++w->ids, roll(&w->random, 2) ? USER("e1", null, "hi") : "");
	return text;
}

static bool is_outside(const struct world *w, const char *path)
{
	struct stat st;
	assert_int_equal(lstat(at(w->p, path), &st), 0);
	return S_ISLNK(st.st_mode) || strncmp(path, "--d--", 5) == 0;
}

static void change_dir(struct world *w)
{
	char from[PATH_SIZE], to[PATH_SIZE];
	static const mode_t modes[] = {0755, 0750, 0700, 0711};
	w->is_wide = true;
	snprintf(from, sizeof from, "%s", draw_dir(w));
	snprintf(to, sizeof to, "%s", draw_dir(w));
	switch (roll(&w->random, 5)) {
	case 0:
		if (*from && *to && strncmp(from, to, strlen(from)) != 0)
			rename(at(w->p, from), at(w->p, to));
		break;
	case 1:
		if (*from && roll(&w->random, 2))
			remove_all(at(w->p, from));
		break;
	case 2:
		if (unlink(at(w->p, "--d--")) < 0)
			assert_int_equal(symlink(w->outside_dir, at(w->p, "--d--")), 0);
		break;
	default: /* test_rights.c has the rules for links */
		if (strcmp(from, "--d--/") != 0)
			chmod(at(w->p, from), modes[roll(&w->random, 4)]);
	}
}

static void change_file(struct world *w, const char *path)
{
	static const mode_t modes[] = {0600, 0640, 0644, 0444};
	static const time_t times[] = {1000, 2000, 2000000000};
	char to[PATH_SIZE];
	w->is_unseen = is_outside(w, path);
	switch (roll(&w->random, 8)) {
	case 0:
		put(w->p, path, new_session(w));
		break;
	case 1:
		put(w->p, path, roll(&w->random, 2) ? "no session\n" : "");
		break;
	case 2:
		assert_int_equal(unlink(at(w->p, path)), 0);
		break;
	case 3:
		draw_path(w, to);
		assert_int_equal(rename(at(w->p, path), at(w->p, to)), 0);
		break;
	case 4:
		assert_int_equal(chmod(at(w->p, path), modes[roll(&w->random, 4)]), 0);
		break;
	case 5:
		set_mtime(w->p, path, times[roll(&w->random, 3)]);
		break;
	default:
		append(w->p, path, USER("e", null, "hi"));
	}
}

static void change(struct world *w)
{
	char path[PATH_SIZE], outside[80];
	w->is_wide = w->is_unseen = false;
	let_file_clock_tick();
	switch (roll(&w->random, 10)) {
	case 0:
		change_dir(w);
		break;
	case 1:
		draw_path(w, path);
		snprintf(outside, sizeof outside, "%s/%u.jsonl", w->outside, w->ids);
		put_file(outside, new_session(w));
		unlink(at(w->p, path));
		assert_int_equal(symlink(outside, at(w->p, path)), 0);
		w->is_unseen = true;
		break;
	case 2:
	case 3:
	case 4:
		draw_path(w, path);
		if (w->before.n < FILES_MAX / 2)
			replace(w->p, path, new_session(w));
		break;
	default:
		if (w->before.n > 0)
			change_file(w, w->before.v[roll(&w->random, (unsigned)w->before.n)].path);
	}
}

static void the_catalog_shows_what_is_there(struct source_fixture *p, bool polls)
{
	struct world *w = calloc(1, sizeof *w);
	assert_non_null(w);
	*w = (struct world){
	    .p = p, .outside = "/tmp/test_catalog_outside.XXXXXX", .random = seed_of_run(), .polls = polls};
	make_temporary(w->outside);
	snprintf(w->outside_dir, sizeof w->outside_dir, "%s/d", w->outside);
	assert_int_equal(mkdir(w->outside_dir, 0755), 0);
	for (int i = 0; i < 8; i++) {
		char path[PATH_SIZE];
		draw_path(w, path);
		put(p, path, new_session(w));
	}
	open_watched(p, polls);
	look(w, true);
	for (int i = 0; i < STEPS; i++) {
		change(w);
		look(w, false);
	}
	remove_all(w->outside);
	free(w);
}

/* By its directory, which is opened once. */
FIXTURE_CASE(a_polled_file_takes_a_call)
{
	put_numbered(p, "--a--", 50, HEADER_OF("s", "/a"));
	open_watched(p, true);
	calls_of_listing(p->c);
	wait_stale();
	assert_in_range(calls_of_listing(p->c), 50, 80);
}

FIXTURE_CASE(a_watching_catalog_shows_what_is_there)
{
	NEEDS_WATCHES();
	the_catalog_shows_what_is_there(p, false);
}

FIXTURE_CASE(a_polling_catalog_shows_what_is_there)
{
	the_catalog_shows_what_is_there(p, true);
}

RUN_CASES(NULL, NULL)
