/* SPDX-License-Identifier: MIT */
/* Scratch files: names, contents, limits and lifetime. */
#include "cases.h"

#include "sessionfs/base/clock.h"
#include "sessionfs/write/scratch.h"

#include "failing_alloc.h"
#include "heap.h"

#define DIR_A ((node_t)100)
#define DIR_B ((node_t)200)
#define MOST_FILES 4
#define MOST_BYTES 64
#define FIXTURE struct scratch *sc

static int set_up(void **state)
{
	struct scratch *sc;
	assert_int_equal(scratch_open(MOST_FILES, MOST_BYTES, &sc), 0);
	*state = sc;
	return 0;
}

static int tear_down(void **state)
{
	scratch_close(*state);
	return 0;
}

static int create(struct scratch *sc, node_t dir, const char *name, struct scratch_attr *ret)
{
	return scratch_create(sc, dir, span_of(name), S_IFREG | 0640, 7, 8, SPAN_LIT(""), false, ret);
}

static int create_link(struct scratch *sc, const char *name, const char *target, struct scratch_attr *ret)
{
	return scratch_create(sc, DIR_A, span_of(name), S_IFLNK | 0777, 7, 8, span_of(target), false, ret);
}

static uint64_t made(struct scratch *sc, node_t dir, const char *name)
{
	struct scratch_attr a;
	assert_int_equal(create(sc, dir, name, &a), 0);
	return a.id;
}

/* Returns the id under the name, or 0. */
static uint64_t found(struct scratch *sc, node_t dir, const char *name)
{
	struct scratch_attr a;
	int rc = scratch_lookup(sc, dir, span_of(name), &a);
	assert_true(rc == 0 || rc == -ENOENT);
	return rc == 0 ? a.id : 0;
}

static void assert_bytes(struct scratch *sc, uint64_t id, struct span bytes)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	struct scratch_attr a;
	assert_int_equal(scratch_read(sc, id, 0, SIZE_MAX, &b), 0);
	assert_true(span_eq(buf_span(&b), bytes));
	assert_int_equal(scratch_getattr(sc, id, &a), 0);
	assert_int_equal(a.size, bytes.n);
}

FIXTURE_CASE(names_are_unique_in_a_directory)
{
	struct scratch_attr a;
	uint64_t one = made(sc, DIR_A, "4913"), two = made(sc, DIR_B, "4913");
	assert_int_not_equal(one, two);
	assert_int_equal(create(sc, DIR_A, "4913", &a), -EEXIST);
	assert_int_equal(found(sc, DIR_A, "4913"), one);
	assert_int_equal(found(sc, DIR_B, "4913"), two);
	assert_int_equal(scratch_unlink(sc, found(sc, DIR_A, "4913")), 0);
	assert_int_equal(scratch_unlink(sc, found(sc, DIR_A, "4913")), -ENOENT);
	assert_int_equal(scratch_getattr(sc, one, &a), -ESTALE);
	assert_int_equal(found(sc, DIR_B, "4913"), two);
	/* Ids are not reused. */
	assert_true(made(sc, DIR_A, "4913") > two);
}

FIXTURE_CASE(attributes)
{
	struct scratch_attr a, b;
	assert_int_equal(create(sc, DIR_A, "a", &a), 0);
	assert_int_equal(a.mode, S_IFREG | 0640);
	assert_int_equal(a.uid, 7);
	assert_int_equal(a.gid, 8);
	assert_int_equal(a.size, 0);
	a.mode = S_IFDIR | 0755;
	a.uid = 9;
	a.size = 1000;
	a.mtime = (struct timespec){.tv_sec = 5, .tv_nsec = 6};
	assert_int_equal(scratch_setattr(sc, a.id, &a), 0);
	assert_int_equal(scratch_getattr(sc, a.id, &b), 0);
	assert_int_equal(b.mode, S_IFREG | 0755);
	assert_int_equal(b.uid, 9);
	assert_int_equal(b.size, 0);
	assert_int_equal(b.mtime.tv_nsec, 6);
	assert_int_equal(scratch_setattr(sc, 99, &a), -ESTALE);
}

FIXTURE_CASE(link_target)
{
	struct scratch_attr a;
	assert_int_equal(create_link(sc, ".#label", "will@host.1", &a), 0);
	assert_int_equal(a.size, 11);
	assert_bytes(sc, a.id, span_of("will@host.1"));
}

FIXTURE_CASE(contents)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	uint64_t id = made(sc, DIR_A, "a");
	assert_int_equal(scratch_write(sc, id, span_of("world"), 3), 0);
	assert_bytes(sc, id, SPAN_LIT("\0\0\0world"));
	assert_int_equal(scratch_write(sc, id, span_of("the"), 0), 0);
	assert_bytes(sc, id, SPAN_LIT("theworld"));
	assert_int_equal(scratch_read(sc, id, 3, 2, &b), 0);
	assert_true(span_is(buf_span(&b), "wo"));
	assert_int_equal(scratch_read(sc, id, 8, 2, &b), 0);
	assert_int_equal(scratch_read(sc, id, UINT64_MAX, 2, &b), 0);
	assert_int_equal(b.n, 2);
	assert_int_equal(scratch_resize(sc, id, 3), 0);
	assert_int_equal(scratch_resize(sc, id, 5), 0);
	assert_bytes(sc, id, SPAN_LIT("the\0\0"));
	assert_int_equal(scratch_write(sc, id, span_of(""), 2), 0);
	assert_bytes(sc, id, SPAN_LIT("the\0\0"));
	assert_int_equal(scratch_write(sc, 99, span_of("x"), 0), -ESTALE);
	assert_int_equal(scratch_read(sc, 99, 0, 1, &b), -ESTALE);
	assert_int_equal(scratch_resize(sc, 99, 0), -ESTALE);
	assert_int_equal(scratch_ref(sc, 99), -ESTALE);
	scratch_unref(sc, 99);
	scratch_detach(sc, 99);
}

FIXTURE_CASE(number_and_bytes_are_limited)
{
	struct scratch_attr a;
	char text[MOST_BYTES + 1] = {0};
	uint64_t id = made(sc, DIR_A, "0");
	assert_int_equal(scratch_write(sc, id, (struct span){text, MOST_BYTES}, 0), 0);
	assert_int_equal(scratch_write(sc, id, span_of("x"), MOST_BYTES), -ENOSPC);
	assert_int_equal(scratch_write(sc, id, span_of("x"), MOST_BYTES - 1), 0);
	assert_int_equal(scratch_write(sc, id, span_of("x"), UINT64_MAX), -ENOSPC);
	assert_int_equal(scratch_resize(sc, id, MOST_BYTES + 1), -ENOSPC);
	assert_int_equal(scratch_resize(sc, id, UINT64_MAX), -ENOSPC);
	text[MOST_BYTES - 1] = 'x';
	assert_bytes(sc, id, (struct span){text, MOST_BYTES});
	assert_int_equal(create_link(sc, "l", "t", &a), -ENOSPC);
	assert_int_equal(found(sc, DIR_A, "l"), 0);
	/* The text of a link counts, too. */
	assert_int_equal(scratch_resize(sc, id, MOST_BYTES - 2), 0);
	assert_int_equal(create_link(sc, "l", "to", &a), 0);
	assert_int_equal(scratch_write(sc, id, span_of("x"), MOST_BYTES - 2), -ENOSPC);
	assert_int_equal(scratch_unlink(sc, found(sc, DIR_A, "l")), 0);
	assert_int_equal(scratch_write(sc, id, span_of("x"), MOST_BYTES - 2), 0);
	/* Truncation and removal free space. */
	assert_int_equal(scratch_resize(sc, id, 0), 0);
	made(sc, DIR_A, "1");
	made(sc, DIR_A, "2");
	id = made(sc, DIR_A, "3");
	assert_int_equal(create(sc, DIR_A, "4", &a), -ENOSPC);
	assert_int_equal(scratch_write(sc, id, (struct span){text, MOST_BYTES}, 0), 0);
	assert_int_equal(scratch_unlink(sc, found(sc, DIR_A, "3")), 0);
	id = made(sc, DIR_A, "4");
	assert_int_equal(scratch_write(sc, id, (struct span){text, MOST_BYTES}, 0), 0);
}

/* Cut files take no more memory than their sizes. */
FIXTURE_CASE(memory_is_limited)
{
	static const char text[1 << 20];
	struct scratch *big;
	assert_int_equal(scratch_open(16, sizeof text, &big), 0);
	const size_t before = heap_used();
	for (char name[] = "a"; *name < 'q'; ++*name) {
		uint64_t id = made(big, DIR_A, name);
		assert_int_equal(scratch_write(big, id, SPAN_LIT(text), 0), 0);
		assert_int_equal(scratch_resize(big, id, 0), 0);
	}
	assert_in_range(heap_used() - before, 0, sizeof text);
	scratch_close(big);
}

FIXTURE_CASE(overlong_names_are_refused)
{
	struct scratch_attr a;
	char name[257];
	memset(name, 'n', sizeof name);
	name[256] = '\0';
	assert_int_equal(create(sc, DIR_A, name, &a), -ENAMETOOLONG);
	made(sc, DIR_A, "short");
	assert_int_equal(scratch_rename(sc, found(sc, DIR_A, "short"), DIR_A, span_of(name)), -ENAMETOOLONG);
	assert_true(found(sc, DIR_A, "short"));
	assert_int_equal(scratch_rename(sc, found(sc, DIR_A, "short"), DIR_A, span_of(name + 1)), 0);
	assert_true(found(sc, DIR_A, name + 1));
}

/* An unlinked file lives while it is open. */
FIXTURE_CASE(unlinked_file_lives_while_open)
{
	struct scratch_attr a;
	uint64_t id = made(sc, DIR_A, "a");
	assert_int_equal(scratch_ref(sc, id), 0);
	assert_int_equal(scratch_ref(sc, id), 0);
	assert_int_equal(scratch_unlink(sc, found(sc, DIR_A, "a")), 0);
	assert_int_equal(found(sc, DIR_A, "a"), 0);
	assert_int_equal(scratch_write(sc, id, span_of("late"), 0), 0);
	assert_bytes(sc, id, span_of("late"));
	scratch_unref(sc, id);
	assert_bytes(sc, id, span_of("late"));
	scratch_unref(sc, id);
	assert_int_equal(scratch_getattr(sc, id, &a), -ESTALE);
	scratch_sync(sc, id);
}

FIXTURE_CASE(rename_replaces_target)
{
	struct scratch_attr a;
	uint64_t one = made(sc, DIR_A, "one"), two = made(sc, DIR_B, "two");
	assert_int_equal(scratch_rename(sc, found(sc, DIR_A, "one"), DIR_A, span_of("one")), 0);
	assert_int_equal(scratch_rename(sc, found(sc, DIR_A, "none"), DIR_A, span_of("one")), -ENOENT);
	assert_int_equal(found(sc, DIR_A, "one"), one);
	assert_int_equal(scratch_rename(sc, found(sc, DIR_A, "one"), DIR_B, span_of("two")), 0);
	assert_int_equal(found(sc, DIR_A, "one"), 0);
	assert_int_equal(found(sc, DIR_B, "two"), one);
	assert_int_equal(scratch_getattr(sc, two, &a), -ESTALE);
}

/* A committed scratch file takes no more bytes: they would be lost. */
FIXTURE_CASE(detached_file_refuses_writes)
{
	struct scratch_attr a;
	uint64_t id = made(sc, DIR_A, "tmp");
	assert_int_equal(scratch_write(sc, id, span_of("value"), 0), 0);
	assert_int_equal(scratch_ref(sc, id), 0);
	scratch_detach(sc, id);
	assert_int_equal(found(sc, DIR_A, "tmp"), 0);
	assert_int_equal(scratch_write(sc, id, span_of("late"), 0), -EIO);
	assert_int_equal(scratch_resize(sc, id, 0), -EIO);
	assert_bytes(sc, id, span_of("value"));
	scratch_unref(sc, id);
	assert_int_equal(scratch_getattr(sc, id, &a), -ESTALE);
}

FIXTURE_CASE(listing_survives_removals)
{
	CLEANUP_BUF struct buf name = BUF_INIT, all = BUF_INIT;
	struct scratch_attr a;
	made(sc, DIR_A, "z");
	made(sc, DIR_B, "other");
	uint64_t m = made(sc, DIR_A, "m");
	made(sc, DIR_A, "a");
	for (uint64_t at = 0; scratch_next(sc, DIR_A, at, &name, &a); at = a.id) {
		buf_addspan(&all, buf_span(&name));
		/* Continues after an entry that was removed in the meantime. */
		if (a.id == m)
			assert_int_equal(scratch_unlink(sc, found(sc, DIR_A, "m")), 0);
	}
	assert_true(span_is(buf_span(&all), "zma"));
	assert_int_equal(scratch_unlink(sc, found(sc, DIR_A, "z")), 0);
	assert_int_equal(scratch_unlink(sc, found(sc, DIR_A, "a")), 0);
	assert_false(scratch_next(sc, DIR_A, 0, &name, &a));
	made(sc, DIR_A, "again");
	assert_true(scratch_next(sc, DIR_A, 0, &name, &a));
}

/* Files left over after they were closed, each once. */
FIXTURE_CASE(leftovers_are_reported_once)
{
	CLEANUP_BUF struct buf name = BUF_INIT;
	int64_t now = clock_ms(CLOCK_MONOTONIC), next = INT64_MAX;
	struct scratch_attr a;
	node_t dir;
	uint64_t notes = made(sc, DIR_A, "notes"), gone = made(sc, DIR_A, "gone");
	assert_int_equal(create_link(sc, ".#link", "x", &a), 0);
	assert_int_equal(scratch_ref(sc, notes), 0);
	assert_int_equal(scratch_ref(sc, gone), 0);
	assert_false(scratch_next_leftover(sc, INT64_MAX, &next, &dir, &name));
	assert_true(next == INT64_MAX);
	scratch_unref(sc, notes);
	scratch_unref(sc, gone);
	assert_int_equal(scratch_unlink(sc, found(sc, DIR_A, "gone")), 0);
	assert_false(scratch_next_leftover(sc, now + SCRATCH_LEFTOVER_MS - 1, &next, &dir, &name));
	assert_true(next >= now + SCRATCH_LEFTOVER_MS && next < INT64_MAX);
	assert_int_equal(scratch_rename(sc, found(sc, DIR_A, "notes"), DIR_B, span_of("moved")), 0);
	assert_true(scratch_next_leftover(sc, next, &next, &dir, &name));
	assert_true(dir == DIR_B && span_is(buf_span(&name), "moved"));
	scratch_ref(sc, notes);
	scratch_unref(sc, notes);
	assert_false(scratch_next_leftover(sc, INT64_MAX, &next, &dir, &name));
}

/* Each allocation fails once: the call fails, and changes nothing. */
FIXTURE_CASE(failed_allocations_change_nothing)
{
	struct scratch *other = NULL;
	struct scratch_attr a;
	unsigned failures = 0;
	let_alloc_fail(1);
	assert_int_equal(scratch_open(MOST_FILES, MOST_BYTES, &other), -ENOMEM);
	assert_true(alloc_has_failed());
	for (unsigned nth = 1;; nth++) {
		let_alloc_fail(nth);
		int rc = create_link(sc, "link", "target", &a);
		if (!alloc_has_failed())
			break;
		assert_int_equal(rc, -ENOMEM);
		assert_int_equal(found(sc, DIR_A, "link"), 0);
		failures++;
	}
	assert_true(failures >= 2);
	assert_true(found(sc, DIR_A, "link"));
	let_alloc_fail(1);
	assert_int_equal(
	    scratch_rename(sc, found(sc, DIR_A, "link"), DIR_B, span_of("a longer name than the first one")), -ENOMEM);
	assert_true(alloc_has_failed());
	assert_true(found(sc, DIR_A, "link"));
	uint64_t id = made(sc, DIR_A, "file");
	let_alloc_fail(1);
	assert_int_equal(scratch_write(sc, id, span_of("bytes"), 0), -ENOSPC);
	assert_true(alloc_has_failed());
	assert_bytes(sc, id, span_of(""));
	/* The failure does not stay. */
	assert_int_equal(scratch_write(sc, id, span_of("bytes"), 0), 0);
	assert_bytes(sc, id, span_of("bytes"));
}

RUN_CASES(NULL, NULL)
