/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "../../src/fuse/fs_impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

WIRED(listing_is_equal_at_any_buffer_size)
{
	for (size_t d = 0; d < COUNT(sample_dirs); d++) {
		uint64_t dir = wire_walk(w, sample_dirs[d]).nodeid;
		size_t whole_n, pieces_n;
		struct listed *whole = wire_list(w, dir, 100000, &whole_n), *pieces = wire_list(w, dir, 256, &pieces_n);
		assert_int_equal(whole_n, pieces_n);
		for (size_t i = 0; i < whole_n; i++) {
			assert_string_equal(whole[i].name, pieces[i].name);
			assert_int_equal(whole[i].off, pieces[i].off);
			assert_true((int64_t)whole[i].off > 0);
		}
		assert_string_equal(whole[0].name, ".");
		assert_string_equal(whole[1].name, "..");
		assert_int_equal(whole[0].entry.nodeid | whole[1].entry.nodeid, 0);
		assert_int_equal(whole[0].ino, wire_attr(w, dir).attr.ino);
		free(whole);
		free(pieces);
	}
}

static uint64_t parent_listed(struct wire *w, const char *path)
{
	size_t n;
	struct listed *all = wire_list(w, wire_walk(w, path).nodeid, 100000, &n);
	uint64_t parent = all[1].ino;
	free(all);
	return parent;
}

WIRED(dotdot_is_the_parent)
{
	assert_int_equal(parent_listed(w, ""), FUSE_ROOT_ID);
	assert_int_equal(parent_listed(w, "projects"), FUSE_ROOT_ID);
	assert_int_equal(parent_listed(w, "projects/home-w-app"), wire_walk(w, "projects").attr.ino);
	assert_int_equal(parent_listed(w, SESSION), wire_walk(w, "projects/home-w-app").attr.ino);
	assert_int_equal(parent_listed(w, SESSION "/entries"), wire_walk(w, SESSION).attr.ino);
	assert_int_equal(parent_listed(w, SESSION "/entries/aaaa0002"), wire_walk(w, SESSION "/entries").attr.ino);
	assert_int_equal(parent_listed(w, SESSION "/entries/aaaa0002/tool-calls"),
	                 wire_walk(w, SESSION "/entries/aaaa0002").attr.ino);
	assert_int_equal(parent_listed(w, SESSION "/branches/aaaa0003"), wire_walk(w, SESSION "/branches").attr.ino);
}

static void check_contents(struct wire *w, const struct fuse_entry_out *e, const char *path)
{
	static struct reply r;
	struct fuse_open_out open;
	/* Attributes from LOOKUP do not hold for a table of all sessions: the kernel sends GETATTR before it reads. */
	uint64_t size = e->attr_valid ? e->attr.size : wire_attr(w, e->nodeid).attr.size;
	int rc = wire_open_file(w, e->nodeid, O_RDONLY, &open);
	if (rc == 0)
		rc = wire_read(w, e->nodeid, open.fh, 0, 100000, &r);
	if (rc || r.n != size)
		fail_msg("%s: %s, %zu bytes read, %zu promised", path, strerror(-rc), r.n, (size_t)size);
	wire_release(w, e->nodeid, open.fh);
}

static void check_link(struct wire *w, const struct fuse_entry_out *e, const char *path)
{
	static struct reply r;
	assert_int_equal(wire_call(w, FUSE_READLINK, e->nodeid, NULL, 0, &r), 0);
	if (r.n != e->attr.size || r.n == 0)
		fail_msg("%s: a link of %zu bytes, %zu promised", path, r.n, (size_t)e->attr.size);
}

/* Asserts that every listed name can be looked up with the listed type, and that every file has the size it reports.
 * Returns the number of names. */
static unsigned check_below(struct wire *w, uint64_t dir, const char *path)
{
	size_t n;
	unsigned count = 0;
	struct listed *all = wire_list(w, dir, 4096, &n);
	for (size_t i = 2; i < n; i++) {
		const struct listed *l = &all[i];
		struct fuse_entry_out e;
		char below[1024];
		snprintf(below, sizeof below, "%s/%s", path, l->name);
		if (wire_lookup(w, dir, l->name, &e) || e.nodeid == 0)
			fail_msg("%s is listed but not found", below);
		if (e.attr.ino != l->ino || (e.attr.mode & (mode_t)S_IFMT) >> 12 != l->type)
			fail_msg("%s is not what was listed", below);
		if (l->entry.nodeid &&
		    (l->entry.nodeid != e.nodeid || memcmp(&l->entry.attr, &e.attr, sizeof e.attr) != 0))
			fail_msg("%s was listed with other attributes", below);
		count++;
		if (S_ISDIR(e.attr.mode))
			count += check_below(w, e.nodeid, below);
		else if (S_ISLNK(e.attr.mode))
			check_link(w, &e, below);
		else
			check_contents(w, &e, below);
	}
	free(all);
	return count;
}

WIRED(listing_matches_lookup)
{
	assert_true(check_below(w, FUSE_ROOT_ID, "") > 100);
}

WIRED(readdir_without_plus)
{
	struct reply r;
	struct fuse_read_in in = {.size = 4096};
	assert_int_equal(wire_call(w, FUSE_READDIR, FUSE_ROOT_ID, &in, sizeof in, &r), 0);
	const struct fuse_dirent *d = (const void *)r.p;
	assert_int_equal(d->ino, FUSE_ROOT_ID);
	assert_int_equal(d->off, 1);
	assert_memory_equal(d->name, ".", 1);
	bool found = false;
	for (size_t at = 0; at < r.n; at += FUSE_DIRENT_SIZE(d)) {
		d = (const void *)(r.p + at);
		found |= d->namelen == 8 && memcmp(d->name, "projects", 8) == 0 && d->type == S_IFDIR >> 12;
	}
	assert_true(found);
}

UNWATCHED(i7_drops_listings_that_other_files_change)
{
	struct fuse_entry_out e;
	uint64_t project = wire_walk(w, "projects/home-w-app").nodeid, projects = wire_walk(w, "projects").nodeid;
	uint64_t session = wire_walk(w, SESSION).nodeid, entry = wire_walk(w, SESSION "/entries/aaaa0001").nodeid;
	assert_int_equal(wire_open_dir(w, "projects"), -ENOSYS);
	/* Sessions found by the walk change the catalog's epoch: the first listings do not count. */
	wire_wait_for_look();
	for (int i = 0; i < 2; i++) {
		wire_list_away(w, FUSE_ROOT_ID);
		wire_list_away(w, projects);
		wire_list_away(w, project);
		wire_list_away(w, session);
		wire_list_away(w, entry);
	}
	assert_int_equal(wire_told(w, project) + wire_told(w, session) + wire_told(w, entry), 0);

	wire_file(w, PROJECT "old.jsonl", LINE({"type":"session","id":"old"}));
	wire_age(w, PROJECT "old.jsonl", 100000);
	wire_wait_for_look();
	assert_int_equal(wire_told(w, project), 1);
	assert_int_equal(wire_told(w, session), 1);
	assert_int_equal(wire_told(w, entry), 0);
	/* Again at each answer until it is listed, whichever request carries the attributes. */
	assert_int_equal(wire_told(w, project), 1);
	unsigned before = w->notifications;
	assert_int_equal(wire_lookup(w, projects, "home-w-app", &e), 0);
	assert_int_equal(w->notifications, before + 1);
	wire_list_away(w, projects);
	assert_int_equal(w->notifications, before + 2);
	assert_int_equal(w->dropped.ino, project);
	wire_list_away(w, project);
	wire_list_away(w, project);
	assert_int_equal(wire_told(w, project), 0);

	wire_remove(w, PROJECT "old.jsonl");
	wire_wait_for_look();
	assert_int_equal(wire_told(w, project), 1);
}

UNWATCHED(i7_drops_listings_made_just_after_a_change)
{
	uint64_t entry = wire_walk(w, SESSION "/entries/aaaa0001").nodeid;
	wire_append(w, FILE_ONE, more);
	wire_wait_for_look();
	wire_list_away(w, entry);
	assert_int_equal(wire_told(w, entry), 1);
	wire_age(w, FILE_ONE, 1000);
	wire_wait_for_look();
	wire_list_away(w, entry);
	assert_int_equal(wire_told(w, entry), 0);
}

/* The kernel would ignore the mode in an answer after a notification. */
UNWATCHED(i9_new_mode_sends_no_notification)
{
	static const struct {
		uint32_t uid;
		mode_t mode;
		unsigned told;
	} steps[] = {
	    {0, 0755, 1}, {1, 0755, 1}, {1, 0700, 0}, {1, 0700, 0}, {0, 0700, 1}, {0, 0755, 0},
	    {1, 0755, 1}, {0, 0711, 0}, {1, 0711, 0}, {0, 0711, 1}, {1, 0777, 0}, {1, 0777, 1},
	    {1, 0777, 0}, {1, 0777, 1}, {0, 0777, 1}, {0, 0777, 1},
	};
	uint64_t project = wire_walk(w, "projects/home-w-app").nodeid;
	wire_list_away(w, project);
	wire_file(w, PROJECT "other.jsonl", LINE({"type":"session","id":"other"}));
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		w->uid = steps[i].uid;
		wire_chmod(w, PROJECT, steps[i].mode);
		wire_wait_for_look();
		unsigned before = w->notifications;
		struct fuse_attr_out out = wire_attr(w, project);
		assert_int_equal(out.attr.mode & 0777, (steps[i].mode & 0555) | 0200);
		assert_int_equal(w->notifications - before, steps[i].told);
		if (!steps[i].told)
			assert_int_equal(out.attr_valid + out.attr_valid_nsec, 0);
	}
}

/* Directories of live sessions are noted as they are listed; notes of those listed again are removed. */
WIRED_READ_ONLY(i7_tracked_listings_are_bounded)
{
	enum { ROUNDS = 100, AT_ONCE = 100 };
	struct fs fs = {.tree = w->tree, .catalog = w->catalog, .no_opendir = true};
	struct node dir = node_unpack(wire_walk(w, SESSION "/entries/aaaa0001").nodeid);
	struct tree_attr young, old = {0};
	coherence_init(&fs.coherence);
	for (uint32_t i = 0; i < ROUNDS * AT_ONCE; i++) {
		dir.entry = i;
		young.node = node_pack(dir);
		clock_gettime(CLOCK_REALTIME, &young.mtime);
		assert_int_equal(listings_begin(&fs, &young), 0);
		assert_true(listings_is_tracked(&fs, young.node));
		if (i < AT_ONCE)
			continue;
		dir.entry = i - AT_ONCE;
		old.node = node_pack(dir);
		assert_int_equal(listings_begin(&fs, &old), 0);
		assert_false(listings_is_tracked(&fs, old.node));
	}
	for (uint32_t i = (ROUNDS - 1) * AT_ONCE; i < ROUNDS * AT_ONCE; i++) {
		dir.entry = i;
		assert_true(listings_is_tracked(&fs, node_pack(dir)));
	}
	assert_true(fs.coherence.listings.cap <= AT_ONCE * 8);
	coherence_release(&fs.coherence);
}

RUN_CASES(NULL, NULL)
