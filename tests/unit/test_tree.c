/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "write_fixture.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/number.h"
#include "sessionfs/cmd/cli.h"
#include "sessionfs/render/render.h"

#include <pthread.h>
#include <stdatomic.h>

#define MESSAGES 3000

/* A long path with costs whose sum depends on the order. */
static void add_session(struct buf *out)
{
	buf_adds(out, HEADER);
	for (int i = 0; i < MESSAGES; i++) {
		buf_addf(out, "{\"type\":\"message\",\"id\":\"m%d\",\"parentId\":", i);
		if (i == 0)
			buf_adds(out, "null");
		else
			buf_addf(out, "\"m%d\"", i - 1);
		buf_addf(out,
		         ",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"%0*d\"}],"
		         "\"usage\":{\"input\":%d,\"cost\":{\"total\":1%d00000000.1}}}}\n",
		         1 + i % 500, i, i, i % 7);
	}
}

static int begin_budget(struct source_fixture *p, size_t budget)
{
	const struct catalog_options o = {.budget = &p->budget};
	p->budget = (struct budget)BUDGET_INIT(budget);
	int rc = catalog_open(p->root, &o, &p->catalog);

	if (rc == 0)
		rc = cache_open(&p->budget, &p->cache);
	if (rc == 0)
		rc = tree_open(&(struct tree_options){.catalog = p->catalog, .cache = p->cache}, &p->tree);
	return rc;
}

static void node_ids_round_trip(void **state)
{
	static const struct node cases[] = {
	    {.kind = 1},
	    {.kind = 127, .slot = NODE_SLOTS - 1, .entry = NODE_ENTRIES - 1, .part = NODE_PARTS - 1},
	    {.kind = 5, .slot = 7, .entry = NODE_WIDE_ENTRIES - 1, .part = NODE_WIDE_PARTS - 1},
	    {.kind = 5, .slot = NODE_SLOTS - 1, .entry = 0, .part = NODE_PARTS},
	    {.kind = 5, .slot = 7, .entry = NODE_WIDE_ENTRIES, .part = NODE_PARTS - 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct node n = node_unpack(node_pack(cases[i]));
		assert_memory_equal(&n, &cases[i], sizeof n);
	}
	assert_int_equal(node_parts(NODE_WIDE_ENTRIES - 1), NODE_WIDE_PARTS);
	assert_int_equal(node_parts(NODE_WIDE_ENTRIES), NODE_PARTS);
}

/* The kernel's hash of inodes uses mostly the low bits. */
static void node_ids_differ_in_low_bits(void **state)
{
	enum { IDS = 1 << 12 };
	static bool seen[2][IDS];
	unsigned used[2] = {0};

	(void)state;
	for (uint32_t i = 0; i < IDS; i++) {
		const struct node n[] = {{.kind = 5, .slot = i}, {.kind = 1 + i % 100, .slot = i / 100}};
		for (unsigned k = 0; k < 2; k++) {
			bool *cell = &seen[k][node_pack(n[k]) % IDS];
			used[k] += !*cell;
			*cell = true;
		}
	}
	/* Random numbers would be in 63 of 100 cells. */
	assert_true(used[0] > IDS / 2 && used[1] > IDS / 2);
}

/* The names of a listing, each followed by a NUL, and their nodes. */
struct listing {
	struct buf names;
	node_t nodes[8192];
	unsigned n;
};

static int note_name(void *arg, struct span name, uint64_t cookie, node_t node, uint64_t ino, mode_t type,
                     const struct tree_attr *attr)
{
	struct listing *l = arg;
	(void)cookie;
	(void)ino;
	(void)type;
	(void)attr;
	buf_addspan(&l->names, name);
	buf_addc(&l->names, '\0');
	l->nodes[l->n++] = node;
	return 0;
}

/* More than fit a usual node id: each is listed once and can be looked up by its name. */
static void all_calls_and_images_of_a_message_are_shown(void **state)
{
	enum { MANY = 5000 };
	struct source_fixture *p = *state;
	CLEANUP_BUF struct buf text = BUF_INIT, out = BUF_INIT;
	struct tree_attr a;

	buf_adds(&text, HEADER "{\"type\":\"message\",\"id\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":[1");
	for (unsigned i = 1; i <= MANY; i++)
		buf_addf(&text,
		         ",{\"type\":\"toolCall\",\"name\":\"n\",\"arguments\":%u},"
		         "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"AAA%c\"}",
		         i, 'A' + i % 26);
	buf_adds(&text, "]}}\n");
	char path[160];
	snprintf(path, sizeof path, "%s/--p--/s.jsonl", p->root);
	write_at(path, O_CREAT | O_TRUNC, text.p, text.n);
	assert_int_equal(begin_budget(p, (size_t)64 << 20), 0);
	for (const char *const *dir = (const char *const[]){"tool-calls", "images", NULL}; *dir; dir++) {
		snprintf(path, sizeof path, "projects/p/s/entries/m/%s", *dir);
		assert_int_equal(tree_resolve(p->tree, path, true, &a), 0);
		struct listing l = {.names = BUF_INIT};
		node_t dir_node = a.node;
		assert_int_equal(tree_list(p->tree, dir_node, 0, TREE_ATTRS, note_name, &l), 0);
		assert_int_equal(l.n, MANY);
		const char *name = l.names.p;
		for (unsigned i = 0; i < l.n; i++, name += strlen(name) + 1) {
			assert_int_equal(tree_lookup(p->tree, dir_node, span_of(name), &a), 0);
			assert_int_equal(a.node, l.nodes[i]);
		}
		buf_release(&l.names);
	}
	assert_int_equal(tree_resolve(p->tree, "projects/p/s/entries/m/tool-calls/4999-n/arguments.json", true, &a), 0);
	assert_int_equal(tree_read(p->tree, a.node, 0, 64, &out), 0);
	assert_string_equal(buf_cstr(&out), "4999\n");
}

/* Returns a number of /proc/self/io: rchar, the bytes this process has read; syscr, its calls of read. */
static uint64_t process_io(const char *key)
{
	char name[16];
	uint64_t n = 0;
	FILE *f = fopen("/proc/self/io", "r");

	assert_non_null(f);
	while (fscanf(f, "%15[a-z_]: %" SCNu64 "\n", name, &n) == 2 && strcmp(name, key) != 0)
		;
	fclose(f);
	return n;
}

/* A listing of an answer reads neither the texts nor the session again for each link, and opens each session once.
 * Where locks are checked, a second open of a session fails the test. */
static void listing_an_answer_reads_each_session_once(void **state)
{
	struct source_fixture *p = *state;
	CLEANUP_BUF struct buf text = BUF_INIT;
	struct tree_attr a;
	char path[160];

	add_session(&text);
	snprintf(path, sizeof path, "%s/--p--/s.jsonl", p->root);
	write_at(path, O_CREAT | O_TRUNC, text.p, text.n);
	assert_int_equal(begin_budget(p, 4096), 0);
	assert_int_equal(tree_resolve(p->tree, "search/0", true, &a), 0);
	struct listing l = {.names = BUF_INIT};
	uint64_t before = process_io("syscr");
	assert_int_equal(tree_list(p->tree, a.node, 0, TREE_ATTRS, note_name, &l), 0);
	assert_int_equal(l.n, MESSAGES + 3);
	assert_in_range(process_io("syscr") - before, 0, MESSAGES / 2);
	buf_release(&l.names);
}

/* Reads the file in pieces of `size` and asserts that its length is its size. */
static void read_pieces(struct source_fixture *p, const char *path, size_t size, struct buf *out)
{
	struct tree_attr a;
	size_t n;

	assert_int_equal(tree_resolve(p->tree, path, true, &a), 0);
	do {
		n = out->n;
		assert_int_equal(tree_read(p->tree, a.node, out->n, size, out), 0);
	} while (out->n > n);
	assert_int_equal(out->n, a.size);
}

static void transcript_reads_agree_at_any_offset(void **state)
{
	struct source_fixture *p = *state;
	CLEANUP_BUF struct buf text = BUF_INIT, whole = BUF_INIT, pieces = BUF_INIT;

	add_session(&text);
	write_at(p->file, O_CREAT | O_TRUNC, text.p, text.n);
	assert_int_equal(begin_budget(p, 64 << 20), 0);
	read_pieces(p, S "/transcript.md", SIZE_MAX / 2, &whole);
	assert_true(whole.n > (size_t)MESSAGES * 250);
	end(p);
	/* The cache has no room for it: each piece is rendered again. */
	assert_int_equal(begin_budget(p, 1 << 19), 0);
	read_pieces(p, S "/transcript.md", 10007, &pieces);
	assert_int_equal(pieces.n, whole.n);
	assert_memory_equal(pieces.p, whole.p, whole.n);
}

static void transcript_usage_order_is_fixed(void **state)
{
	struct source_fixture *p = *state;
	CLEANUP_BUF struct buf text = BUF_INIT, whole = BUF_INIT;
	char line[64];
	double cost = 0;

	add_session(&text);
	write_at(p->file, O_CREAT | O_TRUNC, text.p, text.n);
	assert_int_equal(begin_budget(p, 64 << 20), 0);
	read_pieces(p, S "/transcript.md", SIZE_MAX / 2, &whole);
	for (int i = 0; i < MESSAGES; i++) {
		snprintf(line, sizeof line, "1%d00000000.1", i % 7);
		cost += strtod(line, NULL);
	}
	const char *s = buf_cstr(&whole);
	const char *at = s ? strstr(s, "\ncost:") : NULL;
	assert_non_null(at);
	assert_true(strtod(at + strlen("\ncost:"), NULL) == number_round(cost, RENDER_FRONT_DECIMALS));
}

/* ---- a session that grows ---- */

/* Appends a line of a random kind and place: on the path, next to it, in its middle. */
static void add_random(struct buf *out, unsigned i, unsigned *seed)
{
	unsigned from = (unsigned)rand_r(seed) % 20 == 0 ? (unsigned)rand_r(seed) % i : i - 1;
	switch ((unsigned)rand_r(seed) % 24) {
	case 0:
		buf_addf(out, "{\"type\":\"label\",\"id\":\"m%u\",\"parentId\":\"m%u\",\"targetId\":\"m%u\",", i, from,
		         (unsigned)rand_r(seed) % i);
		buf_addf(out, "\"label\":\"l%u\"}\n", i);
		return;
	case 1:
		buf_addf(out, "{\"type\":\"session_info\",\"id\":\"m%u\",\"parentId\":\"m%u\",\"name\":\"%0*d\"}\n", i,
		         from, (int)i % 9, 1);
		return;
	case 2:
		buf_addf(out, "{\"type\":\"thinking_level_change\",\"id\":\"m%u\",\"parentId\":\"m%u\",", i, from);
		buf_addf(out, "\"thinkingLevel\":\"%s\"}\n", i % 2 ? "high" : "off");
		return;
	case 3:
		buf_adds(out, "{\"type\":\"message\",\"id\":\"m1\",\"parentId\":null}\n");
		buf_addf(out, USER("\"m%u\"", "\"gone%u\""), i, i);
		return;
	case 4:
		buf_addf(out, USER("\"gone%u\"", "\"m%u\""), (unsigned)rand_r(seed) % i, from);
		buf_addf(out, USER("\"m%u\"", "\"m%u\""), i, from);
		return;
	default:
		buf_addf(out, "{\"type\":\"message\",\"id\":\"m%u\",\"parentId\":\"m%u\",\"message\":", i, from);
		buf_addf(out,
		         "{\"role\":\"assistant\",\"model\":\"x%u\",\"provider\":\"p\",\"content\":\"%0*d\",\"usage\":"
		         "{\"input\":%u,\"cost\":{\"total\":%u.1}}}}\n",
		         i % 3, (int)(i % 90) + 1, 7, i, i % 7);
	}
}

static void grown_transcript_equals_fresh_one(void **state)
{
	struct source_fixture *p = *state;
	const char *file = S "/transcript.md";
	unsigned seed = 7;

	p->fresh_ms = 1;
	begin(p, HEADER USER("\"m0\"", "null"));
	for (unsigned i = 1; i < 400; i++) {
		CLEANUP_BUF struct buf line = BUF_INIT, grown = BUF_INIT, fresh = BUF_INIT;
		struct source_fixture other = *p;
		struct tree_attr a;
		add_random(&line, i, &seed);
		write_at(p->file, O_APPEND, line.p, line.n);
		/* Sometimes several lines are appended between two reads. */
		if (i % 8)
			continue;
		wait_seen(p);
		assert_int_equal(find(p, file, &a), 0);
		read_pieces(p, file, i % 3 ? 1000 : SIZE_MAX / 2, &grown);
		other.catalog = NULL;
		other.cache = NULL;
		other.tree = NULL;
		assert_int_equal(begin_budget(&other, 64 << 20), 0);
		read_pieces(&other, file, SIZE_MAX / 2, &fresh);
		end(&other);
		assert_int_equal(grown.n, fresh.n);
		assert_memory_equal(grown.p, fresh.p, fresh.n);
	}
}

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
static void threads_read_a_grown_text(void **state)
{
	enum { THREADS = 4, ROUNDS = 12 };
	struct source_fixture *p = *state;
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
			buf_addf(&lines, USER("\"m%u\"", "\"m%u\""), last, last - 1);
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
	buf_addf(&line,
	         "{\"type\":\"message\",\"id\":\"m%u\",\"parentId\":\"%s\",\"message\":{\"role\":\"user\","
	         "\"content\":\"said m%u\"}}\n",
	         i, parent, i);
	write_at(p->file, O_APPEND, line.p, line.n);
	wait_seen(p);
}

/* A pinned text stays the same while others continue it, although they share its bytes. */
static void pinned_text_stays_while_it_is_continued(void **state)
{
	struct source_fixture *p = *state;
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
static void reader_at_the_end_gets_what_is_said_later(void **state)
{
	static const char *const names[] = {S "/transcript.md", S "/chat.md", S "/all.txt"};
	static const char *const fixed[] = {S "/context.md", S "/tree.txt"};
	struct source_fixture *p = *state;
	CLEANUP_BUF struct buf out = BUF_INIT, now = BUF_INIT;
	struct tree_pinned *pinned[3], *whole[2];
	struct tree_attr a;

	p->fresh_ms = 1;
	begin(p, HEADER USER("\"m0\"", "null") USER("\"m1\"", "\"m0\""));
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

/* Reads two texts that are each larger than the budget in turns. */
static void large_texts_in_turns_are_rendered_once(void **state)
{
	enum { LONG = 6 << 20, PIECE = 64 << 10 };
	struct source_fixture *p = *state;
	CLEANUP_BUF struct buf line = BUF_INIT, out = BUF_INIT;
	struct tree_attr a[2];
	char path[160];

	for (int i = 0; i < 2; i++) {
		buf_reset(&line);
		buf_adds(&line,
		         HEADER "{\"type\":\"message\",\"id\":\"m\",\"message\":{\"role\":\"user\",\"content\":\"");
		assert_non_null(buf_reserve(&line, LONG));
		memset(line.p + line.n, 'a' + i, LONG);
		line.n += LONG;
		buf_adds(&line, "\"}}\n");
		snprintf(path, sizeof path, "%s/--p--/s%d.jsonl", p->root, i);
		write_at(path, O_CREAT | O_TRUNC, line.p, line.n);
	}
	assert_int_equal(begin_budget(p, 1 << 20), 0);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "projects/p/s%d/all.txt", i);
		assert_int_equal(tree_resolve(p->tree, path, true, &a[i]), 0);
	}
	uint64_t before = process_io("rchar");
	for (uint64_t off = 0; off < LONG; off += PIECE)
		for (int i = 0; i < 2; i++) {
			buf_reset(&out);
			assert_int_equal(tree_read(p->tree, a[i].node, off, PIECE, &out), 0);
			assert_int_equal(out.n, PIECE);
			budget_enforce(&p->budget);
		}
	assert_in_range(process_io("rchar") - before, 0, 4 * LONG);
}

/* ---- many readers and a tiny cache ---- */

#define SESSIONS 6

static const char *const shared_names[] = {"transcript.md", "context.json", "tree.txt", "entries/m2/text.md",
                                           "branches/m30/0003-user"};

#define NAMES (sizeof shared_names / sizeof *shared_names)

struct seen {
	node_t node;
	uint64_t size;
};

struct visitor {
	struct source_fixture *p;
	struct seen (*seen)[NAMES];
	unsigned seed;
};

static int look(struct source_fixture *p, unsigned session, size_t name, struct tree_attr *ret)
{
	char path[128];

	snprintf(path, sizeof path, "projects/p/%u/%s", session, shared_names[name]);
	return tree_resolve(p->tree, path, false, ret);
}

/* cmocka's assertions work only in the main thread. Returns NULL if each text is as before. */
static void *read_at_random(void *arg)
{
	struct visitor *r = arg;

	for (int i = 0; i < 400; i++) {
		unsigned session = (unsigned)rand_r(&r->seed) % SESSIONS;
		size_t name = (unsigned)rand_r(&r->seed) % NAMES;
		const struct seen *seen = &r->seen[session][name];
		CLEANUP_BUF struct buf text = BUF_INIT;
		struct tree_attr a;
		if (look(r->p, session, name, &a) != 0 || a.node != seen->node || a.size != seen->size)
			return r;
		if (S_ISREG(a.mode) && (tree_read(r->p->tree, a.node, 0, SIZE_MAX / 2, &text) || text.n != seen->size))
			return r;
	}
	return NULL;
}

static void readers_share_a_small_budget(void **state)
{
	struct source_fixture *p = *state;
	struct seen seen[SESSIONS][NAMES];
	struct visitor readers[4];
	pthread_t threads[4];

	for (unsigned s = 0; s < SESSIONS; s++) {
		CLEANUP_BUF struct buf text = BUF_INIT;
		char file[160];
		snprintf(file, sizeof file, "%s/--p--/%u.jsonl", p->root, s);
		buf_adds(&text, HEADER);
		for (unsigned i = 0; i < 31; i++)
			buf_addf(&text, USER("\"m%u\"", "\"m%u\""), i, i - 1);
		write_at(file, O_CREAT | O_TRUNC, text.p, text.n);
	}
	/* The newest index stays, with its derived data some 9 KB: less than three quarters of the budget. */
	assert_int_equal(begin_budget(p, 16000), 0);
	for (unsigned s = 0; s < SESSIONS; s++) {
		for (size_t n = 0; n < NAMES; n++) {
			struct tree_attr a;
			assert_int_equal(look(p, s, n, &a), 0);
			seen[s][n] = (struct seen){a.node, a.size};
		}
	}
	for (unsigned i = 0; i < 4; i++) {
		readers[i] = (struct visitor){p, seen, i};
		assert_int_equal(pthread_create(&threads[i], NULL, read_at_random, &readers[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++) {
		void *failed;
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_true(budget_used(&p->budget) <= p->budget.limit);
}

static bool is_cancelled(void *arg)
{
	return atomic_fetch_add((atomic_uint *)arg, 1) >= 1000;
}

/* Texts rendered from a large session as a whole, or from a long line, wait for memory; others do not. */
static void large_texts_wait_for_memory(void **state)
{
	static const struct {
		const char *name;
		int waits;
	} files[] = {{S "/transcript.md", 1}, {S "/tree.txt", 1},          {S "/context.md", 1},
	             {S "/context.json", 1},  {S "/entries/b/text.md", 1}, {S "/branches/b/transcript.md", 1},
	             {S "/title", 0},         {S "/info.json", 0},         {S "/entries/a/text.md", 0}};
	struct source_fixture *p = *state;
	CLEANUP_BUF struct buf text = BUF_INIT;
	atomic_uint looks; /* shared by several threads */
	const struct cancel cancel = {.is_cancelled = is_cancelled, .arg = &looks};

	buf_adds(&text, HEADER USER("\"a\"", "null"));
	buf_addf(&text,
	         "{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\"message\":{\"role\":\"user\",\"content\":\"%"
	         "0*d\"}}\n",
	         3 << 20, 1);
	write_at(p->file, O_CREAT | O_TRUNC, text.p, text.n);
	assert_int_equal(begin_budget(p, 64 << 20), 0);
	assert_int_equal(budget_reserve(&p->budget, (size_t)60 << 20), 0);
	const struct cancel *before = cancel_set(&cancel);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		CLEANUP_BUF struct buf out = BUF_INIT;
		struct tree_attr a;
		looks = 1000 - 50;
		int rc = tree_resolve(p->tree, files[i].name, false, &a);
		if (rc == 0)
			rc = tree_read(p->tree, a.node, 0, 4096, &out);
		assert_int_equal(rc, files[i].waits ? -EINTR : 0);
	}
	cancel_set(before);
	budget_unreserve(&p->budget, (size_t)60 << 20);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		CLEANUP_BUF struct buf out = BUF_INIT;
		struct tree_attr a;
		assert_int_equal(tree_resolve(p->tree, files[i].name, false, &a), 0);
		assert_int_equal(tree_read(p->tree, a.node, 0, 4096, &out), 0);
	}
	assert_true(budget_used(&p->budget) <= p->budget.limit);
}

static atomic_uint texts_measured, texts_made;

size_t __real_part_text(const struct record *r, struct buf *out);
size_t __wrap_part_text(const struct record *r, struct buf *out);

size_t __wrap_part_text(const struct record *r, struct buf *out)
{
	atomic_uint *count = out ? &texts_made : &texts_measured;
	++*count;
	return __real_part_text(r, out);
}

/* A text that fits in one read is measured by the lookup and made by the read. A read at its end makes nothing. */
static void text_of_an_entry_is_made_once(void **state)
{
	static const char path[] = S "/entries/a/text.md";
	struct source_fixture *p = *state;
	CLEANUP_BUF struct buf out = BUF_INIT;
	struct tree_attr a;
	char *printed = NULL;
	size_t n;

	write_at(p->file, O_CREAT | O_TRUNC, HEADER USER("\"a\"", "null"), strlen(HEADER USER("\"a\"", "null")));
	assert_int_equal(begin_budget(p, 64 << 20), 0);
	FILE *to = open_memstream(&printed, &n);
	texts_measured = texts_made = 0;
	assert_int_equal(cli_cat(p->tree, path, to, to), 0);
	fclose(to);
	assert_int_equal(texts_measured, 1);
	assert_int_equal(texts_made, 1);
	assert_int_equal(tree_resolve(p->tree, path, false, &a), 0);
	assert_int_equal(n, a.size);
	texts_made = 0;
	assert_int_equal(tree_read(p->tree, a.node, a.size, 4096, &out), 0);
	assert_int_equal(out.n, 0);
	assert_int_equal(texts_made, 0);
	/* A longer one is cached by the first read. */
	for (uint64_t off = 0; off <= a.size; off++)
		assert_int_equal(tree_read(p->tree, a.node, off, 1, &out), 0);
	assert_int_equal(texts_made, 1);
	assert_true(span_eq(buf_span(&out), (struct span){printed, n}));
	free(printed);
}

static void add_calls(struct buf *out, unsigned of, unsigned n)
{
	buf_addf(
	    out,
	    "{\"type\":\"message\",\"id\":\"e%u\",\"parentId\":null,\"message\":{\"role\":\"assistant\",\"content\":[",
	    of);
	for (unsigned i = 0; i < n; i++)
		buf_addf(
		    out,
		    "%s{\"type\":\"toolCall\",\"id\":\"%u.%u\",\"name\":\"bash\",\"arguments\":{\"x\":\"%0900d\"}}",
		    i ? "," : "", of, i, 0);
	buf_adds(out, "]}}\n");
}

/* The line with the calls is not read again for each call. */
static void alternating_results_read_lines_once(void **state)
{
	enum { MANY = 400, OF = 4 };
	struct source_fixture *p = *state;
	CLEANUP_BUF struct buf text = BUF_INIT;

	buf_adds(&text, HEADER);
	for (unsigned of = 0; of < OF; of++)
		add_calls(&text, of, MANY);
	for (unsigned i = 0; i < MANY * OF; i++)
		buf_addf(
		    &text,
		    "{\"type\":\"message\",\"id\":\"r%u\",\"parentId\":\"%c%u\",\"message\":{\"role\":\"toolResult\","
		    "\"toolCallId\":\"%u.%u\",\"content\":\"\"}}\n",
		    i, i < OF ? 'e' : 'r', i < OF ? i : i - OF, i % OF, i / OF);
	write_at(p->file, O_CREAT | O_TRUNC, text.p, text.n);
	assert_int_equal(begin_budget(p, 64 << 20), 0);
	uint64_t before = process_io("rchar");
	for (unsigned i = 0; i < MANY * OF; i++) {
		CLEANUP_BUF struct buf target = BUF_INIT;
		char path[64], want[64];
		struct tree_attr a;
		snprintf(path, sizeof path, S "/entries/r%u/call", i);
		snprintf(want, sizeof want, "e%u/tool-calls/%u-bash\n", i % OF, i / OF + 1);
		assert_int_equal(tree_resolve(p->tree, path, false, &a), 0);
		assert_int_equal(tree_read(p->tree, a.node, 0, 4096, &target), 0);
		assert_true(span_is(buf_span(&target), want));
	}
	assert_in_range(process_io("rchar") - before, 0, 6 * text.n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(node_ids_round_trip),
	    cmocka_unit_test(node_ids_differ_in_low_bits),
	    cmocka_unit_test_setup_teardown(all_calls_and_images_of_a_message_are_shown, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(listing_an_answer_reads_each_session_once, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(transcript_reads_agree_at_any_offset, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(grown_transcript_equals_fresh_one, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(threads_read_a_grown_text, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(pinned_text_stays_while_it_is_continued, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(reader_at_the_end_gets_what_is_said_later, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(large_texts_in_turns_are_rendered_once, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(transcript_usage_order_is_fixed, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(readers_share_a_small_budget, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(large_texts_wait_for_memory, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(text_of_an_entry_is_made_once, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(alternating_results_read_lines_once, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
