/* SPDX-License-Identifier: MIT */
/* Changes with an event show at once: none of these tests waits for a scan to expire. */
#include "cases.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/sys.h"

#include "../../src/catalog/catalog_impl.h"
#include "catalog_fixture.h"
#include "linux_only.h"

#include <pthread.h>
#include <unistd.h>

static _Atomic unsigned reads;
static bool loses; /* the kernel has lost the events of the next read */

static ssize_t counted_read(int fd, void *p, size_t n)
{
	const struct inotify_event lost = {.wd = -1, .mask = IN_Q_OVERFLOW};
	ssize_t got = read(fd, p, n);
	reads++;
	if (got <= 0 || !loses)
		return got;
	memcpy(p, &lost, sizeof lost);
	loses = false;
	return sizeof lost;
}
__typeof__(read) *const sys_read = counted_read;

static uint32_t entries(struct source_fixture *p, const char *stem)
{
	struct session *s;
	uint32_t slot = slot_of(p, "w", stem);
	if (slot == NO_SLOT || catalog_session_get(p->c, slot, &s) < 0)
		return NO_ENTRY;
	uint32_t n = session_count(s);
	catalog_session_put(p->c, s);
	return n;
}

static size_t sessions_of(struct source_fixture *p, const char *project)
{
	struct project_info info;
	return catalog_project_by_name(p->c, span_of(project), &info) ? count_sessions(p->c, info.project) : 0;
}

/* Returns the number of changes to one file since the last call, whether its names may lead elsewhere, and the slot
 * that died. */
static size_t changes_of(struct source_fixture *p, const char *file, struct catalog_change *ret)
{
	struct catalog_change *changes = NULL;
	ssize_t n = catalog_wait(p->c, 0, -1, false, &changes);
	size_t found = 0;
	assert_true(n >= 0);
	*ret = (struct catalog_change){.died = NO_SLOT};
	for (ssize_t i = 0; i < n; i++) {
		struct slot_info info;
		catalog_session_at_place(p->c, changes[i].place, &info);
		if (strcmp(info.file, file) != 0)
			continue;
		found++;
		ret->place = changes[i].place;
		ret->names = ret->names || changes[i].names;
		if (changes[i].died != NO_SLOT)
			ret->died = changes[i].died;
	}
	free(changes);
	return found;
}

/* A request that writes can have changed the file itself, and reads events each time. */
WATCHED(reading_request_drains_inotify_once)
{
	assert_int_equal(entries(p, "a"), 1);
	for (uint32_t n = 2; n < 20; n++) {
		append(p, "--w--/a.jsonl", USER("e", null, "hi"));
		catalog_set_reading(true);
		assert_int_equal(entries(p, "a"), n);
		unsigned once = reads;
		assert_int_equal(entries(p, "a"), n);
		assert_projects(p, "w");
		assert_true(catalog_is_watched(p->c));
		assert_int_equal(reads, once);
		catalog_set_reading(false);
		assert_true(catalog_is_watched(p->c));
		assert_int_equal(reads, once + 1);
		append(p, "--w--/a.jsonl", "\n");
		assert_int_equal(entries(p, "a"), n);
		assert_true(reads > once + 1);
	}
}

/* A call for one file alone lets inotify report its next change, too. */
WATCHED(file_of_a_moved_directory_is_seen_at_once)
{
	struct slot_info info;
	uint32_t slot = slot_of(p, "w", "a");
	assert_int_not_equal(slot, NO_SLOT);
	assert_int_equal(rename(at(p, "--w--"), at(p, "away")), 0);
	assert_int_equal(rename(at(p, "away"), at(p, "--w--")), 0);
	assert_int_equal(catalog_slot(p->c, slot, &info), 0);
	replace(p, "--w--/a.jsonl", HEADER_OF("sid-new", "/w"));
	assert_int_equal(catalog_slot(p->c, slot, &info), -ESTALE);
}

/* Returns the number of changes that it has waited for. */
static ssize_t wait_changes(struct source_fixture *p, int ms, int reader)
{
	struct catalog_change *changes CLEANUP_FREE = NULL;
	return catalog_wait(p->c, ms, reader, false, &changes);
}

WATCHED(changes_are_reported_once)
{
	struct catalog_change change;
	entries(p, "a");
	assert_int_equal(changes_of(p, "--w--/a.jsonl", &change), 0);
	append(p, "--w--/a.jsonl", USER("e2", null, "hi"));
	append(p, "--w--/a.jsonl", USER("e3", null, "hi"));
	assert_int_equal(changes_of(p, "--w--/a.jsonl", &change), 1);
	assert_false(change.names);
	assert_int_equal(change.died, NO_SLOT);
	/* Recorded also if another call has applied the event before. */
	append(p, "--w--/a.jsonl", USER("e4", null, "hi"));
	assert_int_equal(entries(p, "a"), 4);
	assert_int_equal(changes_of(p, "--w--/a.jsonl", &change), 1);
	assert_int_equal(changes_of(p, "--w--/a.jsonl", &change), 0);
	/* One removal, too. */
	uint32_t slot = slot_of(p, "w", "a");
	unlink(at(p, "--w--/a.jsonl"));
	assert_int_equal(changes_of(p, "--w--/a.jsonl", &change), 1);
	assert_true(change.names);
	assert_int_equal(change.died, slot);
}

/* A write that ran out of space is undone: the session stays the same, since no index has read it. */
WATCHED(undone_append_is_not_a_change)
{
	struct slot_info info;
	struct catalog_change change;
	assert_int_equal(entries(p, "a"), 1);
	uint32_t slot = slot_of(p, "w", "a");
	assert_int_equal(catalog_slot(p->c, slot, &info), 0);
	off_t size = info.st.st_size;
	changes_of(p, "--w--/a.jsonl", &change);
	append(p, "--w--/a.jsonl", "{\"type\":\"label\",");
	assert_int_equal(catalog_slot(p->c, slot, &info), 0);
	assert_true(info.st.st_size > size);
	assert_int_equal(truncate(at(p, "--w--/a.jsonl"), size), 0);
	assert_int_equal(slot_of(p, "w", "a"), slot);
	assert_int_equal(entries(p, "a"), 1);
	changes_of(p, "--w--/a.jsonl", &change);
	assert_int_equal(change.died, NO_SLOT);
	/* Bytes that an index has read make another session. */
	assert_int_equal(truncate(at(p, "--w--/a.jsonl"), size - 10), 0);
	assert_int_not_equal(slot_of(p, "w", "a"), slot);
}

/* No event reports a change of a file elsewhere, or by another name. */
WATCHED(linked_files_are_polled)
{
	struct slot_info info;
	struct project_info project;
	char outside[80];
	snprintf(outside, sizeof outside, "%s.outside", p->root);
	for (int is_hard = 0; is_hard < 2; is_hard++) {
		catalog_close(p->c);
		open_watched(p, false);
		put_file(outside, HEADER_OF("sid-l", "/w"));
		assert_int_equal((is_hard ? link : symlink)(outside, at(p, "--w--/l.jsonl")), 0);
		assert_int_equal(entries(p, "l"), 0);
		assert_int_equal(catalog_slot(p->c, slot_of(p, "w", "l"), &info), 0);
		assert_false(info.watched);
		assert_int_equal(catalog_slot(p->c, slot_of(p, "w", "a"), &info), 0);
		assert_true(info.watched);
		assert_false(catalog_is_watched(p->c));
		assert_true(catalog_project(p->c, info.project, &project));
		assert_false(project.watched);
		add_file(outside, USER("e1", null, "hi"));
		wait_stale();
		assert_int_equal(entries(p, "l"), 1);
		assert_int_equal(unlink(outside) || unlink(at(p, "--w--/l.jsonl")), 0);
	}
}

/* No event reports that a link to a directory, or one above its target, leads elsewhere. */
WATCHED(linked_directories_are_polled)
{
	char away[80], link[100], dir[100], file[120];
	snprintf(away, sizeof away, "%s.away", p->root);
	snprintf(link, sizeof link, "%s/current", away);
	snprintf(dir, sizeof dir, "%s/one", away);
	snprintf(file, sizeof file, "%s/s.jsonl", dir);
	assert_int_equal(symlink(link, at(p, "--x--")), 0);
	assert_int_equal(sessions_of(p, "x"), 0);
	assert_false(catalog_is_watched(p->c));
	assert_int_equal(mkdir(away, 0755) || mkdir(dir, 0755) || symlink("one", link), 0);
	put_file(file, HEADER_OF("s", "/x"));
	wait_stale();
	assert_int_equal(sessions_of(p, "x"), 1);
	assert_false(catalog_is_watched(p->c));
	assert_int_equal(unlink(link) || symlink("nowhere", link), 0);
	wait_stale();
	assert_int_equal(sessions_of(p, "x"), 0);
	/* An event of a link with the name of a session file. */
	assert_int_equal(symlink(dir, at(p, "y.jsonl")), 0);
	assert_int_equal(sessions_of(p, "y.jsonl"), 1);
	assert_int_equal(unlink(at(p, "y.jsonl")), 0);
	assert_int_equal(sessions_of(p, "y.jsonl"), 0);
	remove_all(away);
}

/* A directory that is polled reports once that its files are gone, with a session or without. */
WATCHED(removal_is_reported_once)
{
	struct catalog_change change;
	put(p, "--w--/unread.jsonl", HEADER_OF("sid-u", "/w"));
	catalog_close(p->c);
	open_watched(p, true);
	assert_int_equal(entries(p, "a"), 1);
	assert_false(catalog_is_watched(p->c));
	put(p, "--w--/new.jsonl", HEADER_OF("sid-n", "/w"));
	wait_stale();
	assert_projects(p, "w");
	changes_of(p, "--w--/a.jsonl", &change);
	assert_int_equal(rename(at(p, "--w--"), at(p, "away")), 0);
	put(p, "--w--", "no directory");
	wait_stale();
	assert_int_equal(slot_of(p, "w", "a"), NO_SLOT);
	struct catalog_change *changes = NULL;
	ssize_t n = catalog_wait(p->c, 0, -1, false, &changes);
	assert_true(n >= 3);
	for (ssize_t i = 0; i < n; i++)
		assert_true(changes[i].names);
	free(changes);
	wait_stale();
	assert_int_equal(slot_of(p, "w", "a"), NO_SLOT);
	assert_int_equal(changes_of(p, "--w--/a.jsonl", &change), 0);
}

/* More changes than the kernel queues, or (with small limits) than are recorded: each file is reported once, and none
 * again until it changes. */
WATCHED(queue_overflow_reports_all_files)
{
	enum { MANY = 20 };
	char name[32];
	bool names = true;
	assert_int_equal(entries(p, "a"), 1);
	put_numbered(p, "--w--", MANY, "");
	loses = true;
	assert_true(count_changes(p, NULL) >= MANY + 1);
	assert_int_equal(count_changes(p, NULL), 0);
	append(p, "--w--/a.jsonl", USER("e2", null, "hi"));
	assert_int_equal(count_changes(p, &names), 1);
	assert_false(names);
	/* That they are gone is reported, but not again at the next overflow. */
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "--w--/%d.jsonl", i);
		assert_int_equal(unlink(at(p, name)), 0);
	}
	assert_true(count_changes(p, NULL) >= MANY);
	append(p, "--w--/b.jsonl", "\n");
	loses = true;
	assert_in_range(count_changes(p, NULL), 1, 4);
	/* As many as are recorded while no call reads them. */
	for (int i = 0; i < 1 << 20; i++)
		watch_add_change(p->c, 0, NONE, true);
	assert_in_range(p->c->watching.n, 1, 1 << 16);
}

/* A directory was replaced by one that has its inode number. */
WATCHED(lost_events_renew_all_watches)
{
	struct stat st;
	assert_int_not_equal(slot_of(p, "w", "a"), NO_SLOT);
	remove_all(at(p, "--w--"));
	put(p, "--w--/c.jsonl", HEADER_OF("sid-c", "/w"));
	assert_int_equal(stat(at(p, "--w--"), &st), 0);
	p->c->dirs[1].watched_ino = st.st_ino;
	loses = true;
	assert_int_equal(entries(p, "c"), 0);
	put(p, "--w--/d.jsonl", HEADER_OF("sid-d", "/w"));
	assert_int_equal(entries(p, "d"), 0);
}

/* Any thread can read the overflow event. */
WATCHED(queue_overflow_wakes_waiter)
{
	assert_int_equal(entries(p, "a"), 1);
	count_changes(p, NULL);
	append(p, "--w--/a.jsonl", USER("e2", null, "hi"));
	loses = true;
	assert_int_equal(entries(p, "a"), 2);
	int64_t before = clock_ms(CLOCK_MONOTONIC);
	assert_true(wait_changes(p, 60000, -1) >= 2);
	assert_in_range(clock_ms(CLOCK_MONOTONIC) - before, 0, 59999);
}

/* The main thread, whose id is the process id. */
static bool is_main_asleep(void)
{
	char path[64], state = '\0';
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
	fclose(f);
	return state == 'S';
}

static void *wake_later(void *arg)
{
	while (!is_main_asleep())
		usleep(1000);
	catalog_wake(arg);
	return NULL;
}

WATCHED(wait_times_out_and_is_woken)
{
	pthread_t thread;
	entries(p, "a");
	assert_int_equal(wait_changes(p, 10, -1), 0);
	assert_int_equal(pthread_create(&thread, NULL, wake_later, p->c), 0);
	assert_int_equal(wait_changes(p, -1, -1), 0);
	pthread_join(thread, NULL);
	append(p, "--w--/a.jsonl", USER("e2", null, "hi"));
	assert_int_equal(wait_changes(p, -1, -1), 1);
}

WATCHED(wait_ends_without_reader)
{
	int ends[2];
	char full[65536] = {0};
	entries(p, "a");
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	while (write(ends[1], full, sizeof full) > 0)
		;
	assert_int_equal(wait_changes(p, 0, ends[1]), 0);
	close(ends[0]);
	assert_int_equal(wait_changes(p, -1, ends[1]), -EPIPE);
	close(ends[1]);
}

FIXTURE_CASE(wait_without_watch_is_einval)
{
	open_place(p);
	assert_int_equal(wait_changes(p, 0, -1), -EINVAL);
	assert_false(catalog_is_watched(p->c));
}

/* Files that cannot be sessions are no changes, and neither are directories with the name of one. */
WATCHED(other_names_are_not_reported)
{
	while (count_changes(p, NULL) > 0)
		;
	put(p, "--w--/notes.txt", "x");
	append(p, "--w--/notes.txt", "y");
	put(p, "notes.txt", "x");
	assert_int_equal(count_changes(p, NULL), 0);
	assert_int_equal(entries(p, "a"), 1);
}

/* A directory that was empty when it was scanned becomes a project with its first session. */
WATCHED(first_session_of_scanned_directory_names_project)
{
	struct project_info info;
	make_dir(p, "--new--");
	assert_false(catalog_project_by_name(p->c, SPAN_LIT("new"), &info));
	put(p, "--new--/a.jsonl", HEADER_OF("1", "/new"));
	assert_true(catalog_project_by_name(p->c, SPAN_LIT("new"), &info));
	assert_int_not_equal(slot_of(p, "new", "a"), NO_SLOT);
	/* Its rights limit who can list it at once. */
	assert_int_equal(info.names_mode, 0777);
	assert_int_equal(chmod(at(p, "--new--"), 0700), 0);
	assert_true(catalog_project_by_name(p->c, SPAN_LIT("new"), &info));
	assert_int_equal(info.names_mode, 0700);
	/* Below a flat file, too. */
	put(p, "f.jsonl", HEADER_OF("f", "/w"));
	put_all(p, "f/1.jsonl");
	assert_int_equal(sessions_of(p, "w"), 4);
	put_all(p, "f/2.jsonl");
	assert_int_equal(sessions_of(p, "w"), 5);
}

/* A moved directory takes its watches with it, and all below it is watched at its new place. */
WATCHED(nested_directories_are_watched)
{
	struct catalog_status status;
	assert_int_equal(sessions_of(p, "w"), 2);
	put(p, "--w--/a/run-0/deep/1.jsonl", HEADER_OF("1", "/w") USER("e1", null, "hi"));
	assert_int_equal(entries(p, "a+run-0+deep+1"), 1);
	assert_int_equal(rename(at(p, "--w--/a/run-0"), at(p, "--w--/moved")), 0);
	assert_int_equal(slot_of(p, "w", "a+run-0+deep+1"), NO_SLOT);
	append(p, "--w--/moved/deep/1.jsonl", USER("e2", null, "hi"));
	assert_int_equal(entries(p, "moved+deep+1"), 2);
	/* Moved away, changed there, and moved back. */
	char away[80];
	snprintf(away, sizeof away, "%s.away", p->root);
	assert_int_equal(rename(at(p, "--w--/moved"), away), 0);
	assert_int_equal(sessions_of(p, "w"), 2);
	assert_int_equal(rename(away, at(p, "--w--/moved")), 0);
	append(p, "--w--/moved/deep/1.jsonl", USER("e3", null, "hi"));
	assert_int_equal(entries(p, "moved+deep+1"), 3);
	/* Another directory of the same name, at once. */
	assert_int_equal(rename(at(p, "--w--/moved"), away), 0);
	put(p, "--w--/moved/deep/1.jsonl", HEADER_OF("2", "/w") USER("e1", null, "hi"));
	assert_int_equal(entries(p, "moved+deep+1"), 1);
	append(p, "--w--/moved/deep/1.jsonl", USER("e2", null, "hi"));
	assert_int_equal(entries(p, "moved+deep+1"), 2);
	remove_all(away);
	remove_all(at(p, "--w--/moved"));
	remove_all(at(p, "--w--/a"));
	assert_int_equal(sessions_of(p, "w"), 2);
	catalog_status(p->c, &status);
	assert_int_equal(status.watches, 2);
	assert_true(status.watched);
}

/* Directories without a watch are polled. (The small limits leave none.) */
WATCHED(directories_without_watch_are_polled)
{
	struct catalog_status status;
	char path[64];
	for (int i = 0; i < 30; i++) {
		snprintf(path, sizeof path, "--w--/d%02d/session.jsonl", i);
		put(p, path, HEADER_OF("1", "/w") USER("e1", null, "hi"));
	}
	assert_int_equal(sessions_of(p, "w"), 32);
	catalog_status(p->c, &status);
	assert_true(status.watches == (status.watched ? 32 : 16));
	assert_int_equal(entries(p, "d29"), 1);
	append(p, "--w--/d29/session.jsonl", USER("e2", null, "hi"));
	append(p, "--w--/d00/session.jsonl", USER("e2", null, "hi"));
	put(p, "--w--/d29/new/session.jsonl", HEADER_OF("2", "/w") USER("e1", null, "hi"));
	wait_stale();
	assert_int_equal(entries(p, "d29"), 2);
	assert_int_equal(entries(p, "d00"), 2);
	assert_int_equal(entries(p, "d29+new"), 1);
	/* A removed directory frees its watch. */
	for (int i = 0; i < 25; i++) {
		snprintf(path, sizeof path, "--w--/d%02d", i);
		remove_all(at(p, path));
	}
	wait_stale();
	assert_int_equal(sessions_of(p, "w"), 8);
	wait_stale();
	catalog_status(p->c, &status);
	assert_true(status.watched || status.watches == 8);
}

int main(void)
{
	if (IS_PORTABLE) {
		puts("skipped: a portable build polls");
		return 77;
	}
	return run_cases(NULL, NULL);
}
