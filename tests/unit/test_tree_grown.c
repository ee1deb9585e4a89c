/* SPDX-License-Identifier: MIT */
/* Texts of a session that grows, and of files that are open meanwhile. */
#include "cases.h"
#include "tree_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

struct grown_reader {
	struct tree *tree;
	node_t node;
	struct buf text;
	int rc;
};

static void *read_grown(void *arg)
{
	struct grown_reader *r = arg;
	r->rc = tree_read(r->tree, r->node, 0, SIZE_MAX / 2, &r->text);
	return NULL;
}

/* Threads that find a grown session at once do not extend the same bytes in turns. */
FIXTURE_CASE(threads_read_a_grown_text)
{
	enum { THREADS = 4, ROUNDS = 12 };
	CLEANUP_BUF struct buf text = BUF_INIT;
	unsigned last = MESSAGES;

	p->fresh_ms = 1;
	add_session(&text);
	begin(p, buf_cstr(&text));
	node_t node = node_at(p, S "/transcript.md");
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct grown_reader r[THREADS];
		pthread_t threads[THREADS];
		CLEANUP_BUF struct buf lines = BUF_INIT, now = BUF_INIT;
		for (unsigned end = last + 400; last < end; last++)
			buf_addf(&lines, USER("m%u", "m%u", "hi"), last, last - 1);
		write_at(p->file, O_APPEND, lines.p, lines.n);
		wait_seen(p);
		for (size_t i = 0; i < THREADS; i++) {
			r[i] = (struct grown_reader){.tree = p->tree, .node = node, .text = BUF_INIT};
			assert_int_equal(pthread_create(&threads[i], NULL, read_grown, &r[i]), 0);
		}
		for (size_t i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		assert_int_equal(tree_read(p->tree, node, 0, SIZE_MAX / 2, &now), 0);
		for (size_t i = 0; i < THREADS; i++) {
			assert_int_equal(r[i].rc, 0);
			assert_int_equal(r[i].text.n, now.n);
			assert_memory_equal(r[i].text.p, now.p, now.n);
			buf_release(&r[i].text);
		}
	}
}

/* ---- texts of an open file ---- */

struct pin_reader {
	struct tree_pinned *pinned;
	const struct buf *want;
	atomic_bool ends, differs;
};

/* Reads all but the last byte again and again: a reader that was at the end gets the current text. */
static void *read_pinned(void *arg)
{
	struct pin_reader *r = arg;
	while (!r->ends)
		for (size_t off = 0; off + 1000 < r->want->n; off += 999) {
			CLEANUP_BUF struct buf piece = BUF_INIT;
			if (tree_pinned_read(r->pinned, off, 999, &piece) < 0 || piece.n != 999 ||
			    memcmp(piece.p, r->want->p + off, 999) != 0)
				r->differs = true;
		}
	return NULL;
}

static void append_user(struct source_fixture *p, unsigned i, const char *parent)
{
	CLEANUP_BUF struct buf line = BUF_INIT;
	buf_addf(&line, USER("m%u", "%s", "said m%u"), i, parent, i);
	write_at(p->file, O_APPEND, line.p, line.n);
	wait_seen(p);
}

/* A pinned text stays the same while others continue it, although they share its bytes. */
FIXTURE_CASE(pinned_text_stays_while_it_is_continued)
{
	CLEANUP_BUF struct buf text = BUF_INIT, want = BUF_INIT, now = BUF_INIT;
	struct pin_reader r = {.want = &want};
	struct tree_attr a;
	pthread_t thread;
	char parent[16];

	p->fresh_ms = 1;
	add_session(&text);
	begin(p, buf_cstr(&text));
	assert_int_equal(find(p, S "/transcript.md", &a), 0);
	assert_int_equal(tree_read(p->tree, a.node, 0, SIZE_MAX / 2, &want), 0);
	assert_int_equal(tree_pin(p->tree, a.node, &r.pinned), 0);
	assert_int_equal(pthread_create(&thread, NULL, read_pinned, &r), 0);
	for (unsigned i = MESSAGES; i < MESSAGES + 100; i++) {
		snprintf(parent, sizeof parent, "m%u", i - 1);
		append_user(p, i, parent);
		assert_int_equal(find(p, S "/transcript.md", &a), 0);
	}
	r.ends = true;
	pthread_join(thread, NULL);
	assert_false(r.differs);
	assert_int_equal(tree_pinned_size(r.pinned), want.n);
	/* One that pins now shares the bytes, with a longer length and another front. */
	assert_int_equal(tree_read(p->tree, a.node, 0, SIZE_MAX / 2, &now), 0);
	assert_true(now.n > want.n);
	tree_unpin(r.pinned);
}

/* Returns what a reader at the end of a pinned text gets. */
static const char *tail_of(struct tree_pinned *pinned, struct buf *out)
{
	buf_reset(out);
	assert_int_equal(tree_pinned_read(pinned, tree_pinned_size(pinned), 1 << 20, out), 0);
	return buf_cstr(out);
}

/* tail -f gets each new message once, also of another branch, and what the file shows of a label. */
FIXTURE_CASE(reader_at_the_end_gets_what_is_said_later)
{
	static const char *const names[] = {S "/transcript.md", S "/chat.md", S "/all.txt"};
	static const char *const fixed[] = {S "/context.md", S "/tree.txt"};
	CLEANUP_BUF struct buf out = BUF_INIT, now = BUF_INIT;
	struct tree_pinned *pinned[3], *whole[2];
	struct tree_attr a;

	p->fresh_ms = 1;
	begin(p, HEADER USER("m0", null, "hi") USER("m1", "m0", "hi"));
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(tree_pin(p->tree, node_at(p, names[i]), &pinned[i]), 0);
		assert_string_equal(tail_of(pinned[i], &out), "");
	}
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(tree_pin(p->tree, node_at(p, fixed[i]), &whole[i]), 0);
	append_user(p, 2, "m1");
	for (size_t i = 0; i < 3; i++) {
		assert_non_null(strstr(tail_of(pinned[i], &out), "m2"));
		assert_string_equal(tail_of(pinned[i], &out), "");
	}
	append_user(p, 3, "m0");
	static const char label[] =
	    "{\"type\":\"label\",\"id\":\"l\",\"parentId\":\"m3\",\"targetId\":\"m3\",\"label\":\"x\"}\n";
	for (size_t i = 0; i < 3; i++) {
		assert_non_null(strstr(tail_of(pinned[i], &out), "m3"));
		assert_null(strstr(buf_cstr(&out), "m2"));
	}
	write_at(p->file, O_APPEND, label, strlen(label));
	wait_seen(p);
	assert_string_equal(tail_of(pinned[0], &out), "\n*label · l · x on m3*\n");
	assert_string_equal(tail_of(pinned[1], &out), "");
	append_user(p, 4, "m3");
	for (size_t i = 0; i < 3; i++) {
		assert_non_null(strstr(tail_of(pinned[i], &out), "m4"));
		/* From the beginning again, it is the current text. */
		buf_reset(&out);
		buf_reset(&now);
		assert_int_equal(find(p, names[i], &a), 0);
		assert_int_equal(tree_read(p->tree, a.node, 0, 1 << 20, &now), 0);
		assert_int_equal(tree_pinned_read(pinned[i], 0, 1 << 20, &out), 0);
		assert_string_equal(buf_cstr(&out), buf_cstr(&now));
		tree_unpin(pinned[i]);
	}
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(tail_of(whole[i], &out), "");
		tree_unpin(whole[i]);
	}
}

RUN_CASES(NULL, NULL)
