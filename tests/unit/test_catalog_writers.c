/* SPDX-License-Identifier: MIT */
/* Threads that write among threads that read: each sees its own writes at once. */
#include "cases.h"
#include "catalog_fixture.h"
#include "linux_only.h"

#include <pthread.h>
#include <stdatomic.h>

/* Writers, each of its own files, among readers of everything: each writer sees its own writes. */
enum { WRITERS = 6, BROWSERS = 4, MANY_ROUNDS = 10000, CHECK_ROUNDS = 3000 };

struct writer {
	struct source_fixture *p;
	pthread_t thread;
	int kind, rounds;
	char wrong[256]; /* the first error */
};

static atomic_bool writing;
static atomic_int unexpected; /* an error of a reader, other than that a session was replaced */

/* Notes the first error. */
#define CHECK(condition)                                                                                               \
	if (!(condition) && !w->wrong[0])                                                                              \
	snprintf(w->wrong, sizeof w->wrong, "writer %d, round %d: %s/%s: %s", w->kind, round, project, stem, #condition)

static bool is_listed(struct source_fixture *p, uint32_t project, const char *stem)
{
	struct slot_info info;
	uint64_t cookie = 0;
	bool found = false;
	while (catalog_slot_next(p->c, project, &cookie, &info))
		found = found || strcmp(info.stem, stem) == 0;
	return found;
}

/* Checks the session with every call. `size` is -1 if it must not exist. */
static void ask_for(struct writer *w, int round, const char *project, const char *stem, long size)
{
	struct project_info info;
	struct slot_info slot;
	struct session *s;
	bool found = catalog_project_by_name(w->p->c, span_of(project), &info);
	bool is_there = found && catalog_slot_by_stem(w->p->c, info.project, span_of(stem), &slot);
	CHECK(is_there == (size >= 0));
	CHECK((found && is_listed(w->p, info.project, stem)) == (size >= 0));
	if (!is_there || size < 0)
		return;
	CHECK(catalog_slot_now(w->p->c, slot.slot, &slot) == 0 && slot.st.st_size == size);
	int rc = catalog_session_get(w->p->c, slot.slot, &s);
	CHECK(rc == 0 && session_size(s) == (uint64_t)size);
	if (rc == 0)
		catalog_session_put(w->p->c, s);
}

/* As one request, and as one that reads events at each step. */
static void look_for(struct writer *w, int round, const char *project, const char *stem, long size)
{
	catalog_set_reading(true);
	ask_for(w, round, project, stem, size);
	catalog_set_reading(false);
	ask_for(w, round, project, stem, size);
}

static const char text[] = HEADER_OF("sid", "/w") USER("e1", null, "hi");

/* Each round begins and ends with the same files. */
static void write_once(struct writer *w, int round, long *size)
{
	struct source_fixture *p = w->p;
	char entry[256];
	const char *moved = round % 2 ? "m" : "n", *from = round % 2 ? "n" : "m";
	switch (w->kind) {
	case 0:
		append(p, "--w--/grows.jsonl", USER("e", null, "hi"));
		*size += (long)strlen(USER("e", null, "hi"));
		look_for(w, round, "w", "grows", *size);
		break;
	case 1:
		snprintf(entry, sizeof entry, "%s%.*s\n", text, round % 50,
		         "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n");
		replace(p, "--w--/other.jsonl", entry);
		look_for(w, round, "w", "other", (long)strlen(entry));
		break;
	case 2:
		assert_int_equal(unlink(at(p, "--w--/comes.jsonl")), 0);
		look_for(w, round, "w", "comes", -1);
		put(p, "--w--/comes.jsonl", text);
		look_for(w, round, "w", "comes", sizeof text - 1);
		break;
	case 3:
		snprintf(entry, sizeof entry, "--w--/%s.jsonl", from);
		assert_int_equal(rename(at(p, entry), at(p, round % 2 ? "--w--/m.jsonl" : "--w--/n.jsonl")), 0);
		look_for(w, round, "w", from, -1);
		look_for(w, round, "w", moved, sizeof text - 1);
		break;
	case 4:
		put(p, "--d--/in.jsonl", text);
		look_for(w, round, "d", "in", sizeof text - 1);
		assert_int_equal(remove_all(at(p, "--d--")), 0);
		look_for(w, round, "d", "in", -1);
		break;
	default:
		assert_int_equal(rename(at(p, round % 2 ? "--n--" : "--m--"), at(p, round % 2 ? "--m--" : "--n--")), 0);
		look_for(w, round, from, "x", -1);
		look_for(w, round, moved, "x", sizeof text - 1);
	}
}

static void *write_often(void *arg)
{
	struct writer *w = arg;
	long size = sizeof text - 1;
	for (int i = 0; i < w->rounds && !w->wrong[0]; i++)
		write_once(w, i, &size);
	return NULL;
}

static void *browse(void *arg)
{
	struct source_fixture *p = arg;
	while (atomic_load(&writing)) {
		struct project_info project;
		struct slot_info slot;
		struct session *s;
		uint64_t cookie = 0, at = 0;
		while (catalog_project_next(p->c, &cookie, &project))
			;
		while (catalog_slot_next(p->c, NO_SLOT, &at, &slot)) {
			catalog_parent(p->c, slot.slot);
			int rc = catalog_session_get(p->c, slot.slot, &s);
			if (rc == 0)
				catalog_session_put(p->c, s);
			else if (rc != -ESTALE)
				atomic_store(&unexpected, rc);
		}
		catalog_latest(p->c, NO_SLOT, &slot);
		catalog_slot_by_sid(p->c, SPAN_LIT("sid"), &slot);
		catalog_mtime(p->c);
	}
	return NULL;
}

/* All rounds if SESSIONFS_TEST_ROUNDS is set. */
WATCHED(writer_sees_own_write_among_readers)
{
	NEEDS_WATCHES();
	int rounds = getenv("SESSIONFS_TEST_ROUNDS") ? MANY_ROUNDS : CHECK_ROUNDS;
	struct writer writers[WRITERS];
	pthread_t browsers[BROWSERS];
	catalog_close(p->c);
	make_dir(p, "--m--");
	for (int i = 0; i < 5; i++) {
		const char *files[] = {"--w--/grows.jsonl", "--w--/other.jsonl", "--w--/comes.jsonl", "--w--/m.jsonl",
		                       "--m--/x.jsonl"};
		put(p, files[i], text);
	}
	open_watched(p, false);
	atomic_store(&writing, true);
	for (int i = 0; i < BROWSERS; i++)
		assert_int_equal(pthread_create(&browsers[i], NULL, browse, p), 0);
	for (int i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){.p = p, .kind = i, .rounds = rounds / WRITERS};
		assert_int_equal(pthread_create(&writers[i].thread, NULL, write_often, &writers[i]), 0);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i].thread, NULL);
	atomic_store(&writing, false);
	for (int i = 0; i < BROWSERS; i++)
		pthread_join(browsers[i], NULL);
	for (int i = 0; i < WRITERS; i++)
		assert_string_equal(writers[i].wrong, "");
	assert_int_equal(atomic_load(&unexpected), 0);
}

RUN_CASES(NULL, NULL)
