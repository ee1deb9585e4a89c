/* SPDX-License-Identifier: MIT */
#include "cases.h"
#include "tree_fixture.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/number.h"
#include "sessionfs/cmd/cli.h"
#include "sessionfs/render/render.h"

#include <pthread.h>
#include <stdatomic.h>

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
	buf_addspan(&l->names, name);
	buf_addc(&l->names, '\0');
	l->nodes[l->n++] = node;
	return 0;
}

/* A tree with this session, and this much memory. */
static void begin_text(struct source_fixture *p, const struct buf *text, size_t budget)
{
	write_at(p->file, O_CREAT | O_TRUNC, text->p, text->n);
	assert_int_equal(begin_budget(p, budget), 0);
}

/* More than fit a usual node id: each is listed once and can be looked up by its name. */
FIXTURE_CASE(all_calls_and_images_of_a_message_are_shown)
{
	enum { MANY = 5000 };
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
	begin_text(p, &text, 64 << 20);
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
FIXTURE_CASE(listing_an_answer_reads_each_session_once)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	struct tree_attr a;
	add_session(&text);
	begin_text(p, &text, 4096);
	assert_int_equal(tree_resolve(p->tree, "search/0", true, &a), 0);
	struct listing l = {.names = BUF_INIT};
	uint64_t before = process_io("syscr");
	assert_int_equal(tree_list(p->tree, a.node, 0, TREE_ATTRS, note_name, &l), 0);
	assert_int_equal(l.n, MESSAGES + 3);
	assert_in_range(process_io("syscr") - before, 0, MESSAGES / 2);
	buf_release(&l.names);
}

FIXTURE_CASE(transcript_reads_agree_at_any_offset)
{
	CLEANUP_BUF struct buf text = BUF_INIT, whole = BUF_INIT, pieces = BUF_INIT;
	add_session(&text);
	begin_text(p, &text, 64 << 20);
	read_pieces(p, S "/transcript.md", SIZE_MAX / 2, &whole);
	assert_true(whole.n > (size_t)MESSAGES * 250);
	end(p);
	/* The cache has no room for it: each piece is rendered again. */
	assert_int_equal(begin_budget(p, 1 << 19), 0);
	read_pieces(p, S "/transcript.md", 10007, &pieces);
	assert_int_equal(pieces.n, whole.n);
	assert_memory_equal(pieces.p, whole.p, whole.n);
}

FIXTURE_CASE(transcript_usage_order_is_fixed)
{
	CLEANUP_BUF struct buf text = BUF_INIT, whole = BUF_INIT;
	char line[64];
	double cost = 0;

	add_session(&text);
	begin_text(p, &text, 64 << 20);
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

/* Reads two texts that are each larger than the budget in turns. */
FIXTURE_CASE(large_texts_in_turns_are_rendered_once)
{
	enum { LONG = 6 << 20, PIECE = 64 << 10 };
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

FIXTURE_CASE(readers_share_a_small_budget)
{
	struct seen seen[SESSIONS][NAMES];
	struct visitor readers[4];
	pthread_t threads[4];

	for (unsigned s = 0; s < SESSIONS; s++) {
		CLEANUP_BUF struct buf text = BUF_INIT;
		char file[160];
		snprintf(file, sizeof file, "%s/--p--/%u.jsonl", p->root, s);
		buf_adds(&text, HEADER);
		for (unsigned i = 0; i < 31; i++)
			buf_addf(&text, USER("m%u", "m%u", "hi"), i, i - 1);
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
FIXTURE_CASE(large_texts_wait_for_memory)
{
	static const struct {
		const char *name;
		int waits;
	} files[] = {{S "/transcript.md", 1}, {S "/tree.txt", 1},          {S "/context.md", 1},
	             {S "/context.json", 1},  {S "/entries/b/text.md", 1}, {S "/branches/b/transcript.md", 1},
	             {S "/title", 0},         {S "/info.json", 0},         {S "/entries/a/text.md", 0}};
	CLEANUP_BUF struct buf text = BUF_INIT;
	atomic_uint looks; /* shared by several threads */
	const struct cancel cancel = {.is_cancelled = is_cancelled, .arg = &looks};
	buf_addf(&text, HEADER USER("a", null, "hi") USER("b", "a", "%0*d"), 3 << 20, 1);
	begin_text(p, &text, 64 << 20);
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
FIXTURE_CASE(text_of_an_entry_is_made_once)
{
	static const char path[] = S "/entries/a/text.md";
	CLEANUP_BUF struct buf out = BUF_INIT;
	struct tree_attr a;
	char *printed = NULL;
	size_t n;
	write_at(p->file, O_CREAT | O_TRUNC, HEADER USER("a", null, "hi"), strlen(HEADER USER("a", null, "hi")));
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
FIXTURE_CASE(alternating_results_read_lines_once)
{
	enum { MANY = 400, OF = 4 };
	CLEANUP_BUF struct buf text = BUF_INIT;
	buf_adds(&text, HEADER);
	for (unsigned of = 0; of < OF; of++)
		add_calls(&text, of, MANY);
	for (unsigned i = 0; i < MANY * OF; i++)
		buf_addf(&text, MESSAGE("r%u", "%c%u", "role":"toolResult","toolCallId":"%u.%u","content":""), i,
		                        i < OF ? 'e' : 'r', i < OF ? i : i - OF, i % OF, i / OF);
	begin_text(p, &text, 64 << 20);
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

RUN_CASES(NULL, NULL)
