/* SPDX-License-Identifier: MIT */
#include "fixture.h"
#include "../unit/linux_only.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

WIRED(init_negotiates_capabilities)
{
	uint32_t flags = w->init.flags;
	assert_true(flags & FUSE_DO_READDIRPLUS);
	assert_true(flags & FUSE_AUTO_INVAL_DATA);
	assert_true(flags & FUSE_ATOMIC_O_TRUNC);
	assert_false(flags & FUSE_READDIRPLUS_AUTO);
	assert_false(flags & FUSE_WRITEBACK_CACHE);
	assert_false(flags & FUSE_CACHE_SYMLINKS);
}

WIRED(lookup_then_read)
{
	struct reply r;
	struct fuse_open_out open;
	struct fuse_entry_out e = wire_walk(w, SESSION "/entries/aaaa0001/text.md");
	assert_int_not_equal(e.attr.ino, e.nodeid);
	assert_int_equal(e.attr.ino, wire_attr(w, e.nodeid).attr.ino);
	assert_int_equal(e.attr.mode & (mode_t)S_IFMT, S_IFREG);
	assert_int_equal(e.attr.mode & 0222, 0);
	assert_int_equal(e.attr.size, strlen("How big is it?\n"));
	assert_int_equal(e.attr.blocks, 1);
	assert_int_equal(e.attr.nlink, 1);
	assert_int_equal(e.attr.mtime, 1767323046);
	assert_true(e.entry_valid >= 3600 && e.attr_valid >= 3600);
	assert_int_equal(wire_open_file(w, e.nodeid, O_RDONLY, &open), 0);
	assert_true(open.open_flags & FOPEN_KEEP_CACHE);
	assert_true(open.open_flags & FOPEN_NOFLUSH);
	assert_false(open.open_flags & FOPEN_DIRECT_IO);
	assert_int_equal(wire_read(w, e.nodeid, open.fh, 0, 4096, &r), 0);
	assert_int_equal(r.n, e.attr.size);
	assert_memory_equal(r.p, "How big is it?\n", r.n);
	wire_release(w, e.nodeid, open.fh);
}

WIRED(i10_negative_entry_timeouts)
{
	NEEDS_WATCHES();
	struct fuse_entry_out e;
	uint64_t project = wire_walk(w, "projects/home-w-app").nodeid, session = wire_walk(w, SESSION).nodeid;
	/* Names that can never exist; names with notifications; names that can be written at any moment. */
	for (size_t i = 0; i < COUNT(sample_dirs); i++) {
		assert_int_equal(wire_lookup(w, wire_walk(w, sample_dirs[i]).nodeid, ".gitignore", &e), 0);
		assert_int_equal(e.nodeid, 0);
		assert_true(e.entry_valid >= 3600);
	}
	/* A new project can come from any session. */
	assert_int_equal(wire_lookup(w, wire_walk(w, "projects").nodeid, "no-such-project", &e), 0);
	assert_int_equal(e.nodeid, 0);
	assert_int_equal(e.entry_valid, 0);
	assert_true(e.entry_valid_nsec > 0);
	assert_int_equal(wire_lookup(w, project, "no-such-session", &e), 0);
	assert_int_equal(e.nodeid, 0);
	assert_int_equal(e.entry_valid, 60);
	assert_int_equal(wire_lookup(w, session, "errors", &e), 0);
	assert_int_equal(e.nodeid, 0);
	assert_int_equal(e.entry_valid + e.entry_valid_nsec, 0);
}

/* Nodes above the sessions are invalidated at once, even if no node of the session was given out, and again after a
 * second: an older answer can have been under way. */
WIRED(i3_notifies_nodes_above_session)
{
	NEEDS_WATCHES();
	struct fuse_entry_out e;
	assert_int_equal(wire_lookup(w, FUSE_ROOT_ID, "projects", &e), 0);
	assert_int_equal(e.attr_valid, 60);
	w->counted = FUSE_ROOT_ID;
	wire_append(w, FILE_ONE, more);
	wire_notification(w);
	/* With the session, notifications would begin there. */
	assert_int_equal(w->dropped.ino, FUSE_ROOT_ID);
	wire_notification(w);
	assert_int_not_equal(w->dropped.ino, FUSE_ROOT_ID);
	while (w->drops < 2 && wire_wait(w, -1))
		wire_notification(w);
	assert_int_equal(w->drops, 2);
}

/* A directory of an entry is leased, except while its session grows. */
WIRED(i6_growing_session_has_no_lease)
{
	NEEDS_WATCHES();
	wire_age(w, FILE_ONE, 30);
	assert_int_equal(wire_walk(w, SESSION "/entries/aaaa0001").attr_valid, 0);
	wire_age(w, FILE_ONE, 100);
	assert_int_equal(wire_walk(w, SESSION "/entries/aaaa0001").attr_valid, 60);
}

WIRED(statfs_reports_source)
{
	struct reply r;
	assert_int_equal(wire_call(w, FUSE_STATFS, FUSE_ROOT_ID, NULL, 0, &r), 0);
	const struct fuse_statfs_out *out = (const void *)r.p;
	assert_int_equal(out->st.namelen, 255);
	assert_true(out->st.blocks > 0 && out->st.bsize > 0);
	/* df of all mounts must not fail because the source of one is gone. */
	char away[sizeof w->source + 8];
	snprintf(away, sizeof away, "%s.away", w->source);
	assert_int_equal(rename(w->source, away), 0);
	assert_int_equal(wire_call(w, FUSE_STATFS, FUSE_ROOT_ID, NULL, 0, &r), 0);
	assert_int_equal(out->st.namelen, 255);
	assert_int_equal(out->st.blocks, 0);
	assert_true(out->st.bsize > 0);
	assert_int_equal(rename(away, w->source), 0);
}

WIRED(overlong_names_are_rejected)
{
	struct fuse_entry_out e;
	char name[NAME_MAX + 2] = "";

	memset(name, 'n', NAME_MAX);
	for (size_t i = 0; i < COUNT(sample_dirs); i++) {
		assert_int_equal(wire_lookup(w, wire_walk(w, sample_dirs[i]).nodeid, name, &e), 0);
		assert_int_equal(e.nodeid, 0);
	}
	name[NAME_MAX] = 'n';
	for (size_t i = 0; i < COUNT(sample_dirs); i++)
		assert_int_equal(wire_lookup(w, wire_walk(w, sample_dirs[i]).nodeid, name, &e), -ENAMETOOLONG);
}

/* --- bad requests ------------------------------------------------------------ */

WIRED(bounds_of_reads)
{
	struct reply r;
	static const char *const files[] = {SESSION "/session.jsonl", SESSION "/transcript.md", SESSION "/title",
	                                    SESSION "/entries/aaaa0001/text.md", "README.md"};
	static const uint64_t far[] = {100000000, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct fuse_entry_out e = wire_walk(w, files[i]);
		for (size_t j = 0; j < sizeof far / sizeof *far; j++) {
			int rc = wire_read(w, e.nodeid, 0, far[j], 4096, &r);
			assert_true(rc == 0 || rc == -EINVAL);
			assert_int_equal(r.n, 0);
		}
		assert_int_equal(wire_read(w, e.nodeid, 0, 0, 0, &r), 0);
		assert_int_equal(r.n, 0);
		assert_int_equal(wire_read(w, e.nodeid, 0, 0, sizeof(size_t) > 4 ? UINT32_MAX : 1 << 28, &r), 0);
		assert_int_equal(r.n, e.attr.size);
		assert_int_equal(wire_read(w, e.nodeid, 0, e.attr.size - 1, 100, &r), 0);
		assert_int_equal(r.n, 1);
		assert_int_equal(wire_read(w, e.nodeid, 0, e.attr.size, 100, &r), 0);
		assert_int_equal(r.n, 0);
	}
	assert_int_equal(wire_read(w, wire_walk(w, SESSION).nodeid, 0, 0, 100, &r), -EISDIR);
	assert_int_equal(wire_call(w, FUSE_READLINK, FUSE_ROOT_ID, NULL, 0, &r), -EINVAL);
}

WIRED(bounds_of_listings)
{
	struct reply r;
	static const uint64_t far[] = {3, 66, 1000000, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
	for (size_t i = 0; i < COUNT(sample_dirs); i++) {
		uint64_t dir = wire_walk(w, sample_dirs[i]).nodeid;
		for (size_t j = 0; j < sizeof far / sizeof *far; j++)
			wire_readdirplus(w, dir, far[j], 4096, &r);
		assert_int_equal(wire_readdirplus(w, dir, 0, 0, &r), 0);
		assert_int_equal(r.n, 0);
		assert_int_equal(wire_readdirplus(w, dir, 0, 10, &r), 0);
		assert_int_equal(r.n, 0);
		assert_int_equal(wire_readdirplus(w, dir, 0, UINT32_MAX, &r), 0);
	}
	assert_int_equal(wire_readdirplus(w, wire_walk(w, SESSION "/title").nodeid, 0, 4096, &r), -ENOTDIR);
}

/* Ids that were never given out, in every operation that takes one: always an answer, never a crash. */
WIRED(unknown_nodes_get_an_error)
{
	struct reply r;
	uint64_t title = wire_walk(w, SESSION "/title").nodeid,
		 entry = wire_walk(w, SESSION "/entries/aaaa0001").nodeid;
	uint64_t ids[300] = {
	    0, 3, UINT64_MAX, UINT64_C(126) << 57, title + 1, title ^ (UINT64_C(1) << 40), entry + (1 << 24)};
	srand(1);
	for (size_t i = 7; i < 300; i++)
		ids[i] = (uint64_t)(i % 128) << 57 | (uint64_t)(rand() % 4) << 36 | (uint64_t)(rand() % 9) << 12 |
		         (uint64_t)(rand() % 4);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		struct fuse_getattr_in getattr = {0};
		struct fuse_open_in open = {.flags = O_RDONLY};
		struct fuse_access_in access = {.mask = R_OK};
		struct fuse_entry_out e;
		wire_call(w, FUSE_GETATTR, ids[i], &getattr, sizeof getattr, &r);
		wire_call(w, FUSE_ACCESS, ids[i], &access, sizeof access, &r);
		wire_lookup(w, ids[i], "entries", &e);
		wire_lookup(w, ids[i], "", &e);
		wire_lookup(w, ids[i], "1", &e);
		wire_call(w, FUSE_READLINK, ids[i], NULL, 0, &r);
		wire_call(w, FUSE_OPENDIR, ids[i], &open, sizeof open, &r);
		wire_readdirplus(w, ids[i], 0, 4096, &r);
		wire_read(w, ids[i], 0, 0, 4096, &r);
		if (i < 4)
			assert_int_not_equal(wire_call(w, FUSE_GETATTR, ids[i], &getattr, sizeof getattr, &r), 0);
	}
}

WIRED(unknown_handles_get_an_error)
{
	struct reply r;
	uint64_t node = wire_walk(w, SESSION "/title").nodeid;
	assert_int_equal(wire_read(w, node, 1, 0, 100, &r), -EBADF);
	assert_int_equal(wire_read(w, node, UINT64_MAX, 0, 100, &r), -EBADF);
	wire_release(w, node, 17);
}

WIRED(forget_has_no_reply)
{
	struct fuse_entry_out e = wire_walk(w, SESSION "/title");
	struct fuse_forget_in one_lookup = {.nlookup = 1};
	struct fuse_batch_forget_in batch = {.count = 1};
	struct fuse_forget_one nodes[] = {{e.nodeid, 1}};
	wire_send(w, FUSE_FORGET, e.nodeid, &one_lookup, sizeof one_lookup, NULL, 0);
	wire_send(w, FUSE_BATCH_FORGET, 0, &batch, sizeof batch, nodes, sizeof nodes);
	assert_false(wire_wait(w, 50));
	assert_int_equal(wire_walk(w, SESSION "/title").nodeid, e.nodeid);
}

static void ask(struct wire *w, uint64_t search, unsigned from, unsigned n, bool forget)
{
	struct fuse_entry_out e;
	char text[32];
	for (unsigned i = from; i < from + n; i++) {
		struct fuse_forget_in in = {.nlookup = 1};
		snprintf(text, sizeof text, "word%u", i);
		assert_int_equal(wire_lookup(w, search, text, &e), 0);
		if (forget)
			wire_send(w, FUSE_FORGET, e.nodeid, &in, sizeof in, NULL, 0);
	}
}

/* The directory of a query in use is never evicted, whatever else is requested. A forgotten one is evicted after as
 * many others as are remembered. */
WIRED(query_in_use_is_kept)
{
	enum { OTHERS = 1100 };
	struct fuse_getattr_in in = {0};
	uint64_t search = wire_walk(w, "search").nodeid;
	/* Two lookups, so two references. */
	uint64_t node = wire_walk(w, "search/How").nodeid;
	assert_int_equal(wire_walk(w, "search/How").nodeid, node);
	struct fuse_forget_in forget = {.nlookup = 1};
	uint64_t lost = wire_walk(w, "search/lost").nodeid;
	wire_send_withdrawn(w, FUSE_LOOKUP, search, "lost", 5, NULL, 0);
	wire_send(w, FUSE_FORGET, lost, &forget, sizeof forget, NULL, 0);
	ask(w, search, 0, OTHERS, true);
	assert_int_equal(wire_call(w, FUSE_GETATTR, lost, &in, sizeof in, NULL), -ESTALE);
	assert_int_equal(wire_call(w, FUSE_GETATTR, node, &in, sizeof in, NULL), 0);
	struct fuse_batch_forget_in batch = {.count = 1};
	struct fuse_forget_one nodes[] = {{node, 1}};
	wire_send(w, FUSE_FORGET, node, &forget, sizeof forget, NULL, 0);
	uint64_t other = wire_walk(w, "search/one").nodeid;
	ask(w, search, OTHERS, OTHERS, false);
	assert_int_equal(wire_call(w, FUSE_GETATTR, node, &in, sizeof in, NULL), 0);
	struct fuse_entry_out hits;
	assert_int_equal(wire_lookup(w, node, "hits.txt", &hits), 0);
	assert_true(hits.attr.size > 0);
	wire_send(w, FUSE_BATCH_FORGET, 0, &batch, sizeof batch, nodes, sizeof nodes);
	ask(w, search, 2 * OTHERS, OTHERS, true);
	assert_int_equal(wire_call(w, FUSE_GETATTR, node, &in, sizeof in, NULL), -ESTALE);
	assert_int_equal(wire_call(w, FUSE_GETATTR, other, &in, sizeof in, NULL), 0);
	assert_int_equal(wire_walk(w, "search/How").nodeid, node);
}

/* As wire_call, with names or text after the argument. */
static int call_with(struct wire *w, uint32_t opcode, uint64_t node, const void *arg, size_t n, const char *text,
                     size_t text_n)
{
	return wire_receive_of(w, wire_send(w, opcode, node, arg, n, text, text_n), NULL);
}

static void check_refusals(struct wire *w, int refusal)
{
	struct reply r;
	uint64_t dir = wire_walk(w, SESSION "/entries").nodeid, file = wire_walk(w, SESSION "/title").nodeid;
	struct fuse_open_out open;
	struct fuse_write_in write = {.size = 1};
	struct fuse_setattr_in setattr = {.valid = FATTR_SIZE};
	struct fuse_fallocate_in fallocate = {.length = 1};
	struct fuse_create_in create = {.flags = O_WRONLY | O_CREAT};
	struct fuse_mknod_in mknod = {.mode = S_IFREG | 0644};
	struct fuse_mkdir_in mkdir = {.mode = 0755};
	struct fuse_rename2_in rename = {.newdir = dir};
	struct fuse_link_in link = {.oldnodeid = file};

	assert_int_equal(wire_open_file(w, file, O_WRONLY, &open), refusal);
	assert_int_equal(wire_open_file(w, file, O_RDWR, &open), refusal);
	assert_int_equal(wire_open_file(w, file, O_RDONLY | O_TRUNC, &open), refusal);
	assert_int_equal(call_with(w, FUSE_WRITE, file, &write, sizeof write, "x", 1), -EBADF);
	assert_int_equal(wire_call(w, FUSE_SETATTR, file, &setattr, sizeof setattr, &r), refusal);
	assert_int_equal(wire_call(w, FUSE_FALLOCATE, file, &fallocate, sizeof fallocate, &r), -ENOSYS);
	assert_int_equal(call_with(w, FUSE_CREATE, dir, &create, sizeof create, "new", 4), refusal);
	assert_int_equal(call_with(w, FUSE_MKNOD, dir, &mknod, sizeof mknod, "new", 4), refusal);
	assert_int_equal(call_with(w, FUSE_MKDIR, dir, &mkdir, sizeof mkdir, "new", 4), refusal);
	assert_int_equal(wire_call(w, FUSE_UNLINK, dir, "title", 6, &r), refusal);
	assert_int_equal(wire_call(w, FUSE_RMDIR, dir, "entries", 8, &r), refusal);
	assert_int_equal(wire_call(w, FUSE_SYMLINK, dir, "new\0target", 11, &r), refusal);
	assert_int_equal(call_with(w, FUSE_RENAME2, dir, &rename, sizeof rename, "title\0new", 10), refusal);
	assert_int_equal(call_with(w, FUSE_LINK, dir, &link, sizeof link, "new", 4), refusal);
	assert_int_equal(wire_call(w, FUSE_GETXATTR, file, &(struct fuse_getxattr_in){.size = 100}, 8, &r), -ENOSYS);
}

WIRED(refuses_writes)
{
	check_refusals(w, -EPERM);
}

WIRED_READ_ONLY(refuses_writes_read_only)
{
	check_refusals(w, -EROFS);
}

static int may(struct wire *w, const char *path, uint32_t mask)
{
	return wire_call(w, FUSE_ACCESS, wire_walk(w, path).nodeid, &(struct fuse_access_in){.mask = mask}, 8, NULL);
}

WIRED(access_reports_permissions)
{
	assert_int_equal(may(w, SESSION "/title", F_OK), 0);
	assert_int_equal(may(w, SESSION "/title", R_OK), 0);
	assert_int_equal(may(w, SESSION "/title", W_OK), -EACCES);
	assert_int_equal(may(w, SESSION "/title", X_OK), -EACCES);
	assert_int_equal(may(w, SESSION, R_OK | X_OK), 0);
	assert_int_equal(may(w, SESSION, W_OK), 0);
	/* Its owner can write in each directory; which names can be created is another matter. */
	assert_int_equal(may(w, SESSION "/entries", W_OK), 0);
}

/* --- open files -------------------------------------------------------------- */

WIRED_READ_ONLY(read_only_open_is_enosys)
{
	struct reply r;
	struct fuse_open_out open;
	struct fuse_entry_out e = wire_walk(w, SESSION "/title");
	assert_int_equal(wire_open_file(w, e.nodeid, O_RDONLY, &open), -ENOSYS);
	assert_int_equal(wire_read(w, e.nodeid, 0, 0, 100, &r), 0);
	assert_int_equal(r.n, e.attr.size);
	/* Otherwise each close would send a request. */
	assert_int_equal(wire_flush(w, e.nodeid, 0), -ENOSYS);
	assert_int_equal(may(w, SESSION, W_OK), -EROFS);
}

CASE(old_kernels_open_everything)
{
	NEEDS_WATCHES();
	struct wire *w = prepare();
	struct fuse_open_out open;
	wire_open(w, true, FUSE_DO_READDIRPLUS);
	/* Listings with notifications are kept. */
	assert_int_equal(wire_open_dir(w, SESSION "/entries"), FOPEN_CACHE_DIR);
	assert_int_equal(wire_open_dir(w, SESSION), FOPEN_CACHE_DIR);
	wire_append(w, FILE_ONE, more);
	assert_int_equal(wire_open_dir(w, SESSION "/entries"), 0);
	assert_int_equal(wire_open_file(w, wire_walk(w, SESSION "/title").nodeid, O_RDONLY, &open), 0);
	*state = w;
	teardown(state);
}

WIRED(i8_growing_session_is_read_from_pinned_text)
{
	static struct reply before, after, now;
	struct fuse_open_out open, other;
	uint64_t node = wire_walk(w, SESSION "/tree.txt").nodeid;
	assert_int_equal(wire_open_file(w, node, O_RDONLY, &open), 0);
	assert_true(open.open_flags & FOPEN_KEEP_CACHE);

	wire_age(w, FILE_ONE, 3);
	wire_wait_for_look();
	assert_int_equal(wire_open_file(w, node, O_RDONLY, &open), 0);
	assert_true(open.open_flags & FOPEN_DIRECT_IO);
	assert_false(open.open_flags & FOPEN_KEEP_CACHE);
	assert_int_equal(wire_read(w, node, open.fh, 0, 100000, &before), 0);
	assert_int_equal(before.n, wire_walk(w, SESSION "/tree.txt").attr.size);

	wire_append(w, FILE_ONE, more);
	wire_wait_for_look();
	assert_int_equal(wire_open_file(w, node, O_RDONLY, &other), 0);
	assert_int_not_equal(open.fh, other.fh);
	assert_int_equal(wire_read(w, node, open.fh, 0, 100000, &after), 0);
	assert_int_equal(wire_read(w, node, other.fh, 0, 100000, &now), 0);
	assert_int_equal(before.n, after.n);
	assert_memory_equal(before.p, after.p, before.n);
	assert_true(now.n > before.n);
	assert_int_equal(wire_read(w, node, open.fh, 10, 5, &after), 0);
	assert_int_equal(after.n, 5);
	assert_memory_equal(before.p + 10, after.p, 5);
	assert_int_equal(wire_read(w, node, open.fh, UINT64_MAX, 5, &after), 0);
	assert_int_equal(after.n, 0);
	wire_release(w, node, open.fh);
	assert_int_equal(wire_read(w, node, open.fh, 0, 5, &after), -EBADF);
	/* The other handle is left open, as by a program that is killed with the mount. */
}

WIRED(many_open_files)
{
	struct fuse_open_out open[50];
	struct fuse_open_in in = {.flags = O_RDONLY};
	struct fuse_create_in create = {.flags = O_WRONLY | O_CREAT};
	uint64_t node = wire_walk(w, SESSION "/tree.txt").nodeid;
	wire_age(w, FILE_ONE, 1);
	wire_wait_for_look();
	/* No RELEASE will come. */
	wire_send_withdrawn(w, FUSE_OPEN, node, &in, sizeof in, NULL, 0);
	wire_send_withdrawn(w, FUSE_CREATE, wire_walk(w, SESSION).nodeid, &create, sizeof create, "new", 4);
	for (size_t i = 0; i < 50; i++) {
		assert_int_equal(wire_open_file(w, node, O_RDONLY, &open[i]), 0);
		assert_int_equal(open[i].fh, i + 1);
	}
	wire_release(w, node, 20);
	assert_int_equal(wire_open_file(w, node, O_RDONLY, &open[19]), 0);
	assert_int_equal(open[19].fh, 20);
}

/* An answer under way can be older than the second change too. */
WIRED(i6_notification_is_repeated_after_a_second)
{
	NEEDS_WATCHES();
	do {
		w->counted = wire_walk(w, SESSION "/context.md").nodeid;
		w->drops = 0;
		wire_append(w, FILE_ONE, "\n");
		while (wire_wait(w, w->drops > 0 ? 500 : -1))
			wire_notification(w);
	} while (w->drops > 1); /* a busy machine: this was the repetition, too */
	w->drops = 0;
	wire_append(w, FILE_ONE, "\n");
	while (wire_wait(w, w->drops > 0 ? 3000 : -1))
		wire_notification(w);
	assert_int_equal(w->drops, 1);
}

RUN_CASES(NULL, NULL)
