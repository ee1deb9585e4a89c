/* SPDX-License-Identifier: MIT */
/* A source directory for the catalog's tests, and operations on it. Scans stay valid for FRESH_MS, so each change
 * advances the clock by that. The clock does not move otherwise. */
#ifndef CATALOG_FIXTURE_H
#define CATALOG_FIXTURE_H

#include "sessionfs/catalog/catalog.h"

#include "files.h"
#include "later.h"
#include "session_lines.h"

#include <time.h>

#define FRESH_MS 1000

struct source_fixture {
	char root[64];
	struct budget budget;
	struct catalog *c;
};

/* The argument of each case. */
#define FIXTURE struct source_fixture *p

static inline const char *at(const struct source_fixture *p, const char *relative)
{
	static _Thread_local char path[4][1024];
	static _Thread_local unsigned next;
	char *to = path[next++ % 4];
	snprintf(to, sizeof path[0], "%s/%s", p->root, relative);
	return to;
}

/* Makes its directories, too. */
static inline void put(const struct source_fixture *p, const char *relative, const char *text)
{
	char dir[512];
	for (const char *slash = strchr(relative, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(dir, sizeof dir, "%.*s", (int)(slash - relative), relative);
		mkdir(at(p, dir), 0755);
	}
	put_file(at(p, relative), text);
}

/* Makes sessions of these words, which are FILE=ID, or FILE for the id in its name. */
static inline void put_all(const struct source_fixture *p, const char *words)
{
	char file[128], text[256];
	for (int n = 0; sscanf(words, "%127s%n", file, &n) == 1; words += n) {
		char *equal = strchr(file, '='), *slash = strrchr(file, '/'), *id = slash ? slash + 1 : file;
		size_t size = equal ? strlen(equal + 1) : strcspn(id, ".");
		snprintf(text, sizeof text, HEADER_OF("%.*s", "/"), (int)size, equal ? equal + 1 : id);
		if (equal)
			*equal = '\0';
		put(p, file, text);
	}
}

/* The files DIR/0.jsonl, DIR/1.jsonl, ... have this text. */
static inline void put_numbered(const struct source_fixture *p, const char *dir, int n, const char *text)
{
	char name[64];
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, "%s/%d.jsonl", dir, i);
		put(p, name, text);
	}
}

static inline void append(const struct source_fixture *p, const char *relative, const char *text)
{
	write_at(at(p, relative), O_CREAT | O_APPEND, text, strlen(text));
}

/* Replaces a file by a new one, as editors do. */
static inline void replace(const struct source_fixture *p, const char *relative, const char *text)
{
	put(p, "temporary", text);
	assert_int_equal(rename(at(p, "temporary"), at(p, relative)), 0);
}

static inline void make_dir(const struct source_fixture *p, const char *relative)
{
	assert_int_equal(mkdir(at(p, relative), 0755), 0);
}

static inline void set_mtime(const struct source_fixture *p, const char *relative, time_t seconds)
{
	struct timespec t[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
	assert_int_equal(utimensat(AT_FDCWD, at(p, relative), t, 0), 0);
}

static inline void wait_stale(void)
{
	let_pass(CATALOG_CLOCK, FRESH_MS + 10);
}

static inline void open_within(struct source_fixture *p, size_t bytes)
{
	struct catalog_options o = {.budget = &p->budget, .fresh_ms = FRESH_MS};
	p->budget = (struct budget)BUDGET_INIT(bytes);
	assert_int_equal(catalog_open(p->root, &o, &p->c), 0);
}

static inline void open_place(struct source_fixture *p)
{
	open_within(p, 64 << 20);
}

static inline void close_place(struct source_fixture *p)
{
	catalog_close(p->c);
	p->c = NULL;
}

static inline int set_up(void **state)
{
	/* A scan is valid for several times as long as it took, which can be long on a busy machine. */
	let_stand(CATALOG_CLOCK);
	struct source_fixture *p = calloc(1, sizeof *p);
	assert_non_null(p);
	strcpy(p->root, "/tmp/test_catalog.XXXXXX");
	make_temporary(p->root);
	let_stand(CATALOG_CLOCK);
	*state = p;
	return 0;
}

static inline int tear_down(void **state)
{
	struct source_fixture *p = *state;
	catalog_close(p->c);
	remove_all(p->root);
	free(p);
	return 0;
}

static inline uint32_t slot_of(struct source_fixture *p, const char *project, const char *stem)
{
	struct project_info info;
	struct slot_info slot;
	if (!catalog_project_by_name(p->c, span_of(project), &info) ||
	    !catalog_slot_by_stem(p->c, info.project, span_of(stem), &slot))
		return NO_SLOT;
	return slot.slot;
}

/* Returns how many are listed of a project, or of all (NO_SLOT). */
static inline size_t count_sessions(struct catalog *c, uint32_t project)
{
	struct slot_info slot;
	size_t n = 0;
	for (uint64_t cookie = 0; catalog_slot_next(c, project, &cookie, &slot);)
		n++;
	return n;
}

/* The newest session is in this file; NULL: no session exists. */
static inline void assert_newest_is(struct source_fixture *p, uint32_t project, const char *file)
{
	struct slot_info slot;
	assert_int_equal(catalog_latest(p->c, project, &slot), file != NULL);
	if (file)
		assert_string_equal(slot.file, file);
}

static inline void assert_entries(struct source_fixture *p, uint32_t slot, uint32_t n)
{
	struct session *s;
	assert_int_equal(catalog_session_get(p->c, slot, &s), 0);
	assert_int_equal(session_count(s), n);
	catalog_session_put(p->c, s);
}

static inline int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void sort_words(struct buf *text)
{
	char *words[256], *rest = NULL;
	size_t n = 0;
	struct buf sorted CLEANUP_BUF = BUF_INIT;

	assert_non_null(buf_cstr(text));
	for (char *w = strtok_r(text->p, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
		assert_in_range(n, 0, sizeof words / sizeof *words - 1);
		words[n++] = w;
	}
	if (n > 0)
		qsort(words, n, sizeof *words, by_text);
	for (size_t i = 0; i < n; i++)
		buf_addf(&sorted, "%s%s", i ? " " : "", words[i]);
	buf_reset(text);
	buf_addspan(text, buf_span(&sorted));
}

/* Sorts the words, because listings have no fixed order. */
static inline void assert_words(struct buf *got, const char *expected)
{
	sort_words(got);
	assert_string_equal(buf_cstr(got), expected);
}

static inline void assert_projects(struct source_fixture *p, const char *names)
{
	struct buf got CLEANUP_BUF = BUF_INIT;
	struct project_info info;
	for (uint64_t cookie = 0; catalog_project_next(p->c, &cookie, &info);)
		buf_addf(&got, "%s ", info.name);
	assert_words(&got, names);
}

static inline void open_watched(struct source_fixture *p, bool poll)
{
	struct catalog_options o = {.budget = &p->budget, .watch = true, .poll = poll, .fresh_ms = FRESH_MS};
	assert_int_equal(catalog_open(p->root, &o, &p->c), 0);
}

/* Returns the number of changes since the last call, and whether the first one can have changed names. */
static inline size_t count_changes(struct source_fixture *p, bool *ret_names)
{
	struct catalog_change *changes CLEANUP_FREE = NULL;
	ssize_t n = catalog_wait(p->c, 0, -1, false, &changes);
	assert_true(n >= 0);
	if (ret_names && n > 0)
		*ret_names = changes->names;
	return (size_t)n;
}

static inline int set_up_watched(void **state)
{
	set_up(state);
	struct source_fixture *p = *state;
	make_dir(p, "--w--");
	put(p, "--w--/a.jsonl", HEADER_OF("sid-a", "/w") USER("e1", null, "hi"));
	put(p, "--w--/b.jsonl", HEADER_OF("sid-b", "/w") USER("e1", null, "hi"));
	open_watched(p, false);
	return 0;
}

#define WATCHED(name) STATE_CASE(name, set_up_watched, tear_down)

#endif
