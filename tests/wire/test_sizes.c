/* SPDX-License-Identifier: MIT */
/* Before an answer says that a file has grown, its pages are dropped, if the kernel opens files without asking. */
#include "fixture.h"

#include "../../src/fuse/fs_impl.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define FILES SESSION "/session.jsonl"
#define MORE LINE({"type":"message","id":"aaaa00ff","parentId":null,"message":{"role":"user","content":"more"}})

/* Looks up the file and returns how many notifications came with the answer. */
static unsigned look(struct wire *w, uint64_t *ret)
{
	unsigned before = w->notifications;
	*ret = wire_walk(w, FILES).nodeid;
	return w->notifications - before;
}

/* Looks up the file: at rest for long, its reader has read all of it. */
static struct wire *begin(void **state, bool read_only, unsigned threads, uint64_t *ret)
{
	struct wire *w = prepare();
	w->unwatched = true;
	w->threads = threads;
	wire_open(w, read_only, ALL_FLAGS);
	*state = w;
	assert_int_equal(look(w, ret), 0);
	return w;
}

static void grow(struct wire *w)
{
	wire_append(w, FILE_ONE, MORE);
	wire_wait_for_look();
}

CASE_WITH(i8_pages_are_dropped_before_new_size, NULL, teardown)
{
	uint64_t node;
	struct wire *w = begin(state, true, 2, &node);
	assert_int_equal(wire_told(w, node), 0);
	for (int i = 0; i < 3; i++) {
		grow(w);
		assert_int_equal(wire_told(w, node), 1);
		assert_int_equal(wire_told(w, node), 0);
		grow(w);
		assert_int_equal(look(w, &node), 1);
		assert_int_equal(w->dropped.ino, node);
		assert_int_equal(w->dropped.off, 0);
		assert_int_equal(w->dropped.len, 0);
	}
	/* Fixed contents have no new size, however young the file is. */
	unsigned before = w->notifications;
	wire_walk(w, SESSION "/entries/aaaa00ff/text.md");
	assert_int_equal(w->notifications, before);
	/* A size sent long ago counts too. */
	wire_append(w, FILE_ONE, MORE);
	wire_age(w, FILE_ONE, 500);
	wire_wait_for_look();
	assert_int_equal(wire_told(w, node), 1);
}

/* There are notes for a few files only. */
CASE_WITH(i8_unknown_size_of_young_file_drops_pages, NULL, teardown)
{
	uint64_t node;
	struct wire *w = begin(state, true, 2, &node);
	grow(w);
	assert_int_equal(look(w, &node), 1);
	memset(w->fs->coherence.sizes.sent, 0, sizeof *w->fs->coherence.sizes.sent << 12);
	assert_int_equal(wire_told(w, node), 1);
	wire_age(w, FILE_ONE, 500);
	wire_wait_for_look();
	memset(w->fs->coherence.sizes.sent, 0, sizeof *w->fs->coherence.sizes.sent << 12);
	assert_int_equal(wire_told(w, node), 0);
}

/* Pages cannot be dropped while a listing is made, since locks are held. */
CASE_WITH(i8_listing_omits_grown_file_attributes, NULL, teardown)
{
	uint64_t node;
	size_t n;
	struct wire *w = begin(state, true, 2, &node);
	grow(w);
	uint64_t dir = wire_walk(w, SESSION).nodeid;
	for (int told = 0; told < 2; told++) {
		struct listed *all = wire_list(w, dir, 4096, &n);
		for (size_t i = 0; i < n; i++)
			if (strcmp(all[i].name, "session.jsonl") == 0)
				assert_int_equal(all[i].entry.nodeid, told ? node : 0);
		free(all);
		assert_int_equal(wire_told(w, node), !told);
	}
}

/* A single thread would wait for a process that waits for its next answer. */
CASE_WITH(i8_single_thread_drops_no_pages, NULL, teardown)
{
	uint64_t node;
	struct fuse_open_out open;
	struct wire *w = begin(state, true, 1, &node);
	grow(w);
	assert_int_equal(wire_told(w, node), 0);
	/* So each reader of a growing file is asked for, and bypasses them. */
	assert_int_equal(wire_open_file(w, node, O_RDONLY, &open), 0);
	assert_true(open.open_flags & FOPEN_DIRECT_IO);
}

/* In this mode growing files bypass the page cache. */
CASE_WITH(i8_no_drop_when_open_is_answered, NULL, teardown)
{
	uint64_t node;
	struct wire *w = begin(state, false, 2, &node);
	grow(w);
	assert_int_equal(wire_told(w, node), 0);
}

/* A thread whose notification takes too long does not block others. */
CASE_WITH(i8_slow_drop_does_not_block_others, NULL, teardown)
{
	uint64_t node;
	struct wire *w = begin(state, true, 2, &node);
	grow(w);
	lock_acquire(&w->fs->coherence.sizes.drop_lock);
	assert_int_equal(wire_told(w, node), 0);
	lock_release(&w->fs->coherence.sizes.drop_lock);
	assert_int_equal(wire_told(w, node), 1);
}

/* The kernel would ignore the mode in an answer after a notification. */
CASE_WITH(i9_new_mode_keeps_old_size, NULL, teardown)
{
	uint64_t node;
	struct wire *w = begin(state, true, 2, &node);
	if (getuid() != 0)
		skip();
	uint64_t size = wire_attr(w, node).attr.size;
	for (uint32_t uid = 0; uid < 2; uid++) {
		grow(w);
		wire_chmod(w, FILE_ONE, uid ? 0640 : 0600);
		wire_wait_for_look();
		unsigned before = w->notifications;
		w->uid = uid;
		for (uint32_t times = 0; times <= uid; times++) {
			struct fuse_attr_out out = wire_attr(w, node);
			assert_int_equal(out.attr.mode & 0777, uid ? 0440 : 0400);
			assert_int_equal(out.attr.size, size);
			assert_int_equal(out.attr_valid + out.attr_valid_nsec, 0);
		}
		assert_int_equal(w->notifications, before);
		w->uid = 0;
		size = wire_attr(w, node).attr.size;
		assert_int_equal(w->notifications, before + 1);
		assert_true(size > (uid + 1) * strlen(MORE));
	}
}

/* LOOKUP renders no table, since all names of the directory wait for it. It reports the size that the kernel has, which
 * contradicts nothing. */
CASE_WITH(i8_a_table_is_made_by_getattr, NULL, teardown)
{
	for (int read_only = 0; read_only < 2; read_only++) {
		struct fuse_entry_out entry;
		uint64_t node, size = 0;
		struct wire *w = begin(state, read_only, 2, &node);
		for (int i = 0; i < 3; i++) {
			unsigned before = w->notifications;
			assert_int_equal(wire_lookup(w, FUSE_ROOT_ID, "files.tsv", &entry), 0);
			assert_int_equal(entry.attr.size, size);
			assert_int_equal(entry.attr_valid + entry.attr_valid_nsec, 0);
			assert_true(entry.entry_valid > 3600);
			struct fuse_attr_out out = wire_attr(w, entry.nodeid);
			assert_true(out.attr.size > size);
			assert_int_equal(out.attr_valid + out.attr_valid_nsec, 0);
			size = out.attr.size;
			/* The kernel must not ignore the answer: the file can be mapped next. */
			assert_int_equal(w->notifications, before);
			wire_append(w, FILE_ONE,
			    LINE({"type":"message","id":"c","parentId":null,"message":{"role":"assistant",
			        "content":[CALL("c", "read", "path":"/x")]}}));
			wire_wait_for_look();
		}
		if (!read_only)
			teardown(state);
	}
}

/* After that, one thread answers alone, so that no request waits forever. */
CASE(i8_no_drop_after_unmount)
{
	uint64_t node;
	struct wire *w = begin(state, true, 2, &node);
	struct tree_attr grown = {.node = node, .mode = S_IFREG, .size = 1};
	assert_false(sizes_are_current(w->fs, &grown));
	wire_stop(w);
	sizes_drop_stale_pages(w->fs, NULL, &grown);
	assert_false(wire_wait(w, 50));
	wire_close(w);
	free(w);
}

RUN_CASES(NULL, NULL)
