/* SPDX-License-Identifier: MIT */
/* What the kernel can cache, and its notifications. Tests begin with the rule of src/fuse/coherence.h that they check,
 * here and in test_listing, test_loop, test_sizes, test_wire and test_write. */
#include "fixture.h"
#include "../unit/linux_only.h"

#include "../../src/fuse/fs_impl.h"
#include "sessionfs/base/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TITLE SESSION "/title"
#define FIRST_ENTRY SESSION "/entries/aaaa0001"
#define FORK_DIR "projects/home-w-app/2026-01-02T04-00-00-000Z_two"
#define FLAT "projects/unknown/flat"

/* The number of requests for the class of a missing name. */
static atomic_uint asked_of_missing;

enum tree_class __real_tree_negative_class(struct tree *t, node_t dir, struct span name);
enum tree_class __wrap_tree_negative_class(struct tree *t, node_t dir, struct span name);

enum tree_class __wrap_tree_negative_class(struct tree *t, node_t dir, struct span name)
{
	atomic_fetch_add(&asked_of_missing, 1);
	return __real_tree_negative_class(t, dir, name);
}

/* The number of requests to the tree for attributes. */
static atomic_uint asked_of_attr;

int __real_tree_getattr(struct tree *t, node_t node, struct tree_attr *ret);
int __wrap_tree_getattr(struct tree *t, node_t node, struct tree_attr *ret);

int __wrap_tree_getattr(struct tree *t, node_t node, struct tree_attr *ret)
{
	atomic_fetch_add(&asked_of_attr, 1);
	return __real_tree_getattr(t, node, ret);
}

static int set_up(void **state, bool read_only, bool unwatched)
{
	struct wire *w = prepare();
	wire_age(w, FILE_ONE, 10000);
	wire_age(w, FILE_TWO, 10000);
	wire_age(w, "flat.jsonl", 10000);
	w->unwatched = unwatched;
	wire_open(w, read_only, ALL_FLAGS);
	*state = w;
	return 0;
}

static int untouched(void **state)
{
	return set_up(state, false, false);
}

static int untouched_unwatched(void **state)
{
	return set_up(state, true, true);
}

/* Returns the time in milliseconds. */
static uint64_t kept(uint64_t s, uint32_t ns)
{
	return s * 1000 + ns / 1000000;
}

static void assert_kept(struct wire *w, const char *path, uint64_t name, uint64_t attr)
{
	struct fuse_entry_out e = wire_walk(w, path);
	if (kept(e.entry_valid, e.entry_valid_nsec) != name || kept(e.attr_valid, e.attr_valid_nsec) != attr)
		fail_msg("%s: kept for %zu and %zu ms", path, (size_t)kept(e.entry_valid, e.entry_valid_nsec),
		         (size_t)kept(e.attr_valid, e.attr_valid_nsec));
}

enum { LIVE = 500, MINUTE = 60 * 1000, DAY = 86400 * 1000 };

STATE_CASE(i1_timeouts_per_class, untouched, teardown)
{
	NEEDS_WATCHES();
	assert_kept(w, SESSION "/name", 0, 0);
	assert_kept(w, TITLE, MINUTE, MINUTE);
	assert_kept(w, SESSION "/entries", DAY, MINUTE);
	assert_kept(w, FIRST_ENTRY, MINUTE, MINUTE);
	assert_kept(w, FIRST_ENTRY "/text.md", DAY, DAY);
}

STATE_CASE(i2_no_lease_without_follower, untouched_unwatched, teardown)
{
	assert_kept(w, TITLE, LIVE, LIVE);
	assert_kept(w, SESSION "/entries", DAY, LIVE);
	assert_kept(w, FIRST_ENTRY, LIVE, LIVE);
	assert_kept(w, FIRST_ENTRY "/text.md", DAY, DAY);
}

/* Waits until the node is invalidated. Returns how often it is until no notification comes for `ms`. */
static unsigned told_of(struct wire *w, uint64_t node, int ms)
{
	unsigned n = 0;
	while (wire_wait(w, n > 0 ? ms : -1)) {
		w->dropped.ino = 0;
		wire_notification(w);
		n += w->dropped.ino == node;
	}
	return n;
}

STATE_CASE(i3_lease_is_revoked_once, untouched, teardown)
{
	NEEDS_WATCHES();
	node_t *nodes;
	size_t n;
	uint64_t leased = wire_walk(w, FIRST_ENTRY).nodeid, other = wire_walk(w, SESSION "/entries/aaaa0002").nodeid;
	for (int i = 0; i < 100; i++)
		assert_int_equal(wire_walk(w, FIRST_ENTRY).nodeid, leased);
	assert_true(leases_may_be_active(w->fs, node_unpack(leased).slot));
	wire_append(w, FILE_ONE, more);
	/* By its own note: notes of one node do not accumulate, and the repetition after a second needs no note. */
	assert_in_range(told_of(w, leased, 1500), 1, 20);
	assert_false(leases_revoke(w->fs, node_unpack(other).slot, &nodes, &n));
	assert_int_equal(n, 0);
	assert_true(leases_may_be_active(w->fs, node_unpack(leased).slot));
}

/* The notes take at most 2 MiB, however many nodes the kernel asks for. */
STATE_CASE(i3_notes_of_leases_are_limited, untouched, teardown)
{
	size_t granted = 0;
	for (node_t i = wire_walk(w, FIRST_ENTRY).nodeid, end = i + (1 << 20); i < end; i++) {
		struct tree_attr a = {.node = i, .attr_class = TREE_LEASE};
		leases_grant(w->fs, &a);
		granted += a.attr_class == TREE_LEASE;
	}
	assert_in_range(granted * sizeof(node_t), 1 << 20, 2 << 20);
}

/* Its time is the time of a record, which another label can share. */
STATE_CASE(i3_unreliable_mtime_has_own_lease, untouched, teardown)
{
	node_t *nodes;
	size_t n, found = 0;
	uint64_t label = wire_walk(w, SESSION "/entries/aaaa0002/label").nodeid;
	assert_kept(w, SESSION "/entries/aaaa0002/label", 0, 0);
	leases_revoke(w->fs, node_unpack(label).slot, &nodes, &n);
	for (size_t i = 0; i < n; i++)
		found += nodes[i] == label;
	free(nodes);
	assert_true(found > 0);
}

/* Each close of a descriptor sends FLUSH, even if nothing was written through it. */
WIRED(i5_empty_write_sends_no_notification)
{
	struct fuse_open_out open;
	uint64_t name = wire_walk(w, SESSION "/name").nodeid;
	wire_walk(w, TITLE);
	unsigned before = w->notifications;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(wire_open_file(w, name, O_WRONLY, &open), 0);
		assert_int_equal(wire_flush(w, name, open.fh), 0);
		if (i == 0)
			wire_release(w, name, open.fh);
		assert_int_equal(w->notifications, before);
	}
	struct fuse_write_in in = {.fh = open.fh, .size = 4};
	assert_int_equal(wire_receive_of(w, wire_send(w, FUSE_WRITE, name, &in, sizeof in, "new\n", 4), NULL), 0);
	assert_int_equal(w->notifications, before);
	assert_int_equal(wire_flush(w, name, open.fh), 0);
	assert_true(w->notifications > before);
	wire_release(w, name, open.fh);
}

/* truncate(2) has no close, so it is committed by its own reply. */
WIRED(i5_truncation_notifies_before_reply)
{
	uint64_t name = wire_walk(w, SESSION "/name").nodeid;
	wire_walk(w, TITLE);
	fs_stop(w->fs);
	leases_set_enabled(w->fs, true);
	wire_walk(w, TITLE);
	unsigned before = w->notifications;
	struct fuse_setattr_in in = {.valid = FATTR_SIZE};
	assert_int_equal(wire_call(w, FUSE_SETATTR, name, &in, sizeof in, NULL), 0);
	assert_true(w->notifications > before);
}

/* The parent of an entry comes after it: names in entries/ and branches/ can lead to other nodes. Each is dropped
 * twice, because an older answer can still be on its way. */
STATE_CASE(i6_late_parent_drops_names, untouched, teardown)
{
	NEEDS_WATCHES();
	wire_append(w, FILE_ONE, USER("aaaa0101", "aaaa0100", "child"));
	wire_age(w, FILE_ONE, 1000);
	wire_walk(w, SESSION "/entries/aaaa0101");
	w->counted_name = "aaaa0100";
	wire_append(w, FILE_ONE, USER("aaaa0100", "aaaa0001", "parent"));
	while (wire_wait(w, w->drops < 4 ? -1 : 1500))
		wire_notification(w);
	assert_int_equal(w->drops, 4);
}

static const char same_name[] = LINE({"type":"session","id":"same"});

/* Other sessions decide whether a session has parents and forks, without a change in it. */
STATE_CASE(i7_new_fork_notifies_parent, untouched, teardown)
{
	NEEDS_WATCHES();
	uint64_t session = wire_walk(w, SESSION).nodeid, fork = wire_walk(w, FORK_DIR).nodeid;
	wire_list_away(w, session);
	wire_list_away(w, fork);
	assert_int_equal(wire_attr(w, session).attr_valid, 60);
	assert_int_equal(wire_attr(w, fork).attr_valid, 60);

	wire_file(w, PROJECT "another.jsonl", fork_of_one);
	told_of(w, session, 1500);
	assert_int_equal(wire_attr(w, session).attr_valid, 60);
	wire_remove(w, PROJECT "another.jsonl");
	told_of(w, session, 1500);

	/* Which of the two is the parent is ambiguous. */
	wire_told(w, session);
	wire_told(w, fork);
	w->counted = fork;
	wire_file(w, STEM ".jsonl", same_name);
	told_of(w, session, 1500);
	assert_true(w->drops > 0);
}

/* Gives a session another name, which is not watched. */
static void link_elsewhere(struct wire *w)
{
	char from[256], to[256];
	snprintf(from, sizeof from, "%s/flat.jsonl", w->source);
	snprintf(to, sizeof to, "%s/elsewhere", w->source);
	assert_int_equal(link(from, to), 0);
}

/* A file with another name can change unnoticed, even in the directory of another session. */
STATE_CASE(i7_unwatched_forks_are_uncached, untouched, teardown)
{
	NEEDS_WATCHES();
	link_elsewhere(w);
	wire_walk(w, FLAT);
	assert_int_equal(wire_attr(w, wire_walk(w, SESSION).nodeid).attr_valid, 0);
	assert_int_equal(wire_attr(w, wire_walk(w, SESSION "/entries").nodeid).attr_valid, 60);
}

/* Opens a file and closes it: the kernel may keep its pages or not, sends no FLUSH, and the tree is asked so often for
 * attributes. */
static void assert_opens(struct wire *w, const char *path, bool is_kept, unsigned asked)
{
	struct fuse_open_out open;
	uint64_t node = wire_walk(w, path).nodeid;
	unsigned before = asked_of_attr;
	assert_int_equal(wire_open_file(w, node, O_RDONLY, &open), 0);
	assert_int_equal(asked_of_attr - before, asked);
	wire_release(w, node, open.fh);
	assert_int_equal(open.open_flags & (FOPEN_KEEP_CACHE | FOPEN_DIRECT_IO | FOPEN_NOFLUSH),
	                 (is_kept ? FOPEN_KEEP_CACHE : FOPEN_DIRECT_IO) | FOPEN_NOFLUSH);
}

/* The kernel has the attributes, or requests them: rendering the text for its size would be wasted. */
STATE_CASE(i8_open_of_quiet_file_renders_nothing, untouched, teardown)
{
	NEEDS_WATCHES();
	assert_opens(w, SESSION "/transcript.md", true, 0);
	assert_opens(w, SESSION "/entries/aaaa0002/children", true, 0);
	/* Nodes without notification. */
	assert_opens(w, SESSION "/name", true, 1);
	assert_opens(w, SESSION "/forks", false, 1);
	wire_append(w, FILE_ONE, more);
	assert_opens(w, SESSION "/transcript.md", false, 1);
	assert_opens(w, SESSION "/entries/aaaa0002/children", false, 1);
	/* Watched again, but the next change can come soon. */
	wire_age(w, FILE_ONE, 5);
	assert_opens(w, SESSION "/transcript.md", false, 1);
}

CASE_WITH(i8_open_without_follower_renders, NULL, teardown)
{
	set_up(state, false, true);
	assert_opens(*state, SESSION "/transcript.md", true, 1);
}

WIRED(i10_existing_name_is_not_negative)
{
	struct fuse_entry_out e;
	unsigned before = asked_of_missing;
	uint64_t session = wire_walk(w, SESSION).nodeid;
	assert_int_equal(asked_of_missing, before);
	assert_int_equal(wire_lookup(w, session, "errors", &e), 0);
	assert_int_equal(asked_of_missing, before + 1);
}

/* --- the log of -d ----------------------------------------------------------------- */

static int traced(void **state)
{
	log_setup(LOG_LEVEL_DEBUG, LOG_TO_STDERR);
	return set_up(state, true, true);
}

static int traced_writable(void **state)
{
	log_setup(LOG_LEVEL_DEBUG, LOG_TO_STDERR);
	return untouched(state);
}

static int untraced(void **state)
{
	int rc = teardown(state);
	log_setup(LOG_LEVEL_WARNING, LOG_TO_STDERR);
	return rc;
}

/* Redirects standard error to a file until log_says. */
static int log_begin(FILE **ret)
{
	int saved = dup(STDERR_FILENO);
	*ret = tmpfile();
	assert_non_null(*ret);
	dup2(fileno(*ret), STDERR_FILENO);
	return saved;
}

/* Restores standard error. Asserts that a line of the log ends like this, and begins like the others say. */
static void assert_logged(FILE *log, int saved, const char *end, const char *format, ...)
{
	char line[512], begin[128];
	bool found = false;
	va_list ap;
	va_start(ap, format);
	vsnprintf(begin, sizeof begin, format, ap);
	va_end(ap);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(log);
	while (!found && fgets(line, sizeof line, log)) {
		line[strcspn(line, "\n")] = '\0';
		size_t n = strlen(line), end_n = strlen(end);
		found = strncmp(line, begin, strlen(begin)) == 0 && n >= end_n && strcmp(line + n - end_n, end) == 0;
	}
	fclose(log);
	if (!found)
		fail_msg("not logged: %s...%s", begin, end);
}

static void assert_lookup_logged(struct wire *w, const char *dir, const char *name, const char *end)
{
	struct fuse_entry_out e;
	FILE *log;
	uint64_t parent = wire_walk(w, dir).nodeid;
	int saved = log_begin(&log);
	wire_lookup(w, parent, name, &e);
	assert_logged(log, saved, end, "sessionfs: lookup %ju/%s: ", (uintmax_t)parent, name);
}

STATE_CASE(i2_log_shows_deciding_rule, traced_writable, untraced)
{
	NEEDS_WATCHES();
	assert_lookup_logged(w, SESSION, "title", "name watched, attributes watched (I2: changes are reported)");
	assert_lookup_logged(w, SESSION, "entries", "name fixed, attributes watched (I2: changes are reported)");
	assert_lookup_logged(w, SESSION "/entries", "aaaa0001",
	                     "name leased, attributes leased (I2: changes are reported)");
	assert_lookup_logged(w, SESSION, "name",
	                     "name uncached, attributes uncached (I2: a kind whose changes are not reported)");
	assert_lookup_logged(w, FIRST_ENTRY, "text.md", "name fixed, attributes fixed (I1: cannot change)");
	assert_lookup_logged(w, "search", "word", "(I2: depends on all sessions)");
	wire_append(w, FILE_ONE, more);
	wire_wait_for_look();
	assert_lookup_logged(w, SESSION, "title", "name uncached, attributes uncached (I6: changed recently)");
}

STATE_CASE(i2_log_shows_unwatched_forks, traced_writable, untraced)
{
	link_elsewhere(w);
	wire_walk(w, FLAT);
	assert_lookup_logged(w, "projects/home-w-app", strrchr(SESSION, '/') + 1, "(I2: changes can go unnoticed)");
}

STATE_CASE(i10_log_shows_negative_class, traced_writable, untraced)
{
	assert_lookup_logged(w, SESSION, "errors", "missing, uncached (I10)");
	assert_lookup_logged(w, SESSION, ".gitignore", "missing, fixed (I10)");
}

STATE_CASE(i7_log_shows_dropped_listing, traced, untraced)
{
	FILE *log;
	struct fuse_entry_out e = wire_walk(w, "projects/home-w-app");
	uint64_t project = e.nodeid;
	int saved = log_begin(&log);
	wire_list_away(w, project);
	assert_logged(log, saved, "while its time and the names in it are the same (I7)",
	              "sessionfs: list %ju (inode %ju): cached ", (uintmax_t)project, (uintmax_t)e.attr.ino);
	wire_file(w, PROJECT "other.jsonl", LINE({"type":"session","id":"other"}));
	wire_wait_for_look();
	saved = log_begin(&log);
	wire_told(w, project);
	assert_logged(log, saved, " (I7)", "sessionfs: drop listing %ju", (uintmax_t)project);
}

STATE_CASE(i9_log_shows_must_accept, traced, untraced)
{
	FILE *log;
	uint64_t project = wire_walk(w, "projects/home-w-app").nodeid;
	wire_list_away(w, project);
	wire_file(w, PROJECT "other.jsonl", LINE({"type":"session","id":"other"}));
	wire_chmod(w, PROJECT, 0711);
	wire_wait_for_look();
	int saved = log_begin(&log);
	wire_attr(w, project);
	assert_logged(log, saved, "attributes uncached (I9: the kernel must accept them)",
	              "sessionfs: getattr %ju (inode ", (uintmax_t)project);
}

STATE_CASE(i5_log_shows_dropped_pages, traced_writable, untraced)
{
	NEEDS_WATCHES();
	FILE *log;
	uint64_t title = wire_walk(w, TITLE).nodeid;
	int saved = log_begin(&log);
	w->dropped.ino = 0;
	wire_append(w, FILE_ONE, more);
	while (w->dropped.ino != title)
		wire_notification(w);
	assert_logged(log, saved, " (I5)", "sessionfs: drop attributes of %ju", (uintmax_t)title);
}

RUN_CASES(NULL, NULL)
