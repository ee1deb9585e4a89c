/* SPDX-License-Identifier: MIT */
/* session: files that grow, are torn, rewritten or replaced, and many entries or readers at once. */
#include "cases.h"
#include "session_fixture.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/base/sys.h"

#include "heap.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

SESSION_CASE(complete_tail_is_indexed_torn_is_not)
{
	struct session *s = open_text(f, HEADER CUSTOM("a", null) "{\"type\":\"custom\",\"id\":\"b\"");

	assert_int_equal(session_count(s), 1);
	assert_int_equal(session_problem_count(s), 1);
	append(f, ",\"parentId\":\"a\"}", 16);
	assert_int_equal(session_grow(s), 1);
	assert_int_equal(session_count(s), 2);
	assert_problems(s, "");
	assert_int_equal(session_entry(s, 1)->line, 3);
	assert_int_equal(session_size(s), (uint64_t)session_stat(s)->st_size);
	append(f, " \r\n", 3);
	assert_int_equal(session_grow(s), 1);
	assert_int_equal(session_count(s), 2);
	append_lines(f, CUSTOM("c", "b"));
	assert_int_equal(session_count(s), 3);
	assert_int_equal(session_entry(s, 2)->line, 4);
	assert_problems(s, "");
}

SESSION_CASE(bytes_after_indexed_tail_are_stale)
{
	struct session *s = open_text(f, HEADER "5");

	assert_int_equal(session_count(s), 1);
	append(f, "5\n", 2);
	assert_int_equal(session_grow(s), -ESTALE);
	assert_int_equal(session_grow(s), -ESTALE);
}

SESSION_CASE(readers_see_whole_lines_until_quiet)
{
	struct timespec old[2] = {{.tv_sec = time(NULL) - 2}, {.tv_sec = time(NULL) - 2}};
	char bytes[512];
	struct session *s = open_text(f, HEADER "{\"torn\":");

	assert_int_equal(session_size(s), strlen(HEADER));
	assert_int_equal(session_pread(s, bytes, sizeof bytes, 2), strlen(HEADER) - 2);
	assert_memory_equal(bytes, &HEADER[2], strlen(HEADER) - 2);
	assert_int_equal(session_pread(s, bytes, sizeof bytes, 4096), 0);
	assert_int_equal(utimensat(AT_FDCWD, f->path, old, 0), 0);
	assert_int_equal(session_grow(s), 1);
	assert_int_equal(session_size(s), strlen(HEADER) + 8);
	assert_int_equal(session_pread(s, bytes, 4, strlen(HEADER)), 4);
}

CASE(a_changed_file_is_stale)
{
	static const char text[] = HEADER CUSTOM("a", null) CUSTOM("b", "a");

	for (int how = 0; how < 6; how++) {
		CLEANUP_FIXTURE struct fixture f;
		struct session *s = open_text(&f, text);
		int want = -ESTALE;
		switch (how) {
		case 0: /* shorter */
			assert_int_equal(truncate(f.path, sizeof text - 10), 0);
			break;
		case 1: /* rewritten, and longer */
			write_at(f.path, O_TRUNC, text, sizeof text - 3);
			append(&f, " \n" HEADER HEADER, strlen(" \n" HEADER HEADER));
			break;
		case 2: /* replaced by the same text in a new file */
			unlink(f.path);
			write_at(f.path, O_CREAT, text, sizeof text - 1);
			break;
		case 3: /* changed at its beginning, same size */
			write_at(f.path, 0, "{\"type\":\"session\",\"version\":2", 29);
			break;
		case 4: /* removed */
			unlink(f.path);
			want = -ENOENT;
			break;
		default: /* only touched */
			assert_int_equal(
			    utimensat(AT_FDCWD, f.path, (struct timespec[2]){{.tv_sec = 1}, {.tv_sec = 1}}, 0), 0);
			want = 1;
		}
		assert_true(session_has_grown(s));
		assert_int_equal(session_grow(s), want);
		assert_int_equal(session_count(s), 2);
	}
}

/* An index that grows, also a second time, and one that is built again after it was evicted, compare them with those
 * that were read. */
CASE(a_file_changed_at_its_last_bytes_is_stale)
{
	enum { LINES = 100, CHANGED = 20 };
	static const char more[] = CUSTOM("new", null);
	char dir[] = "/tmp/sessionfs-test-XXXXXX", path[64];
	struct resolver *r;
	CLEANUP_BUF struct buf text = BUF_INIT;
	make_temporary(dir);
	snprintf(path, sizeof path, "%s/s", dir);
	assert_int_equal(resolver_open(dir, &r), 0);
	buf_adds(&text, HEADER);
	for (int i = 0; i < LINES; i++)
		buf_addf(&text, "{\"type\":\"custom\",\"id\":\"i%d\",\"parentId\":null,\"data\":\"%040d\"}\n", i, i);
	for (int is_changed = 0; is_changed < 2; is_changed++) {
		const struct source_path at = {r, "s"};
		struct session *s, *again;
		put_file(path, buf_cstr(&text));
		assert_int_equal(session_open(&at, false, &s), 0);
		struct fingerprints before = session_fingerprints(s);
		assert_int_equal(before.end, text.n);
		text.p[text.n - CHANGED] = is_changed ? '1' : '0';
		put_file(path, text.p);
		add_file(path, more);
		assert_int_equal(session_grow(s), is_changed ? -ESTALE : 1);
		assert_int_equal(session_open(&at, false, &again), 0);
		assert_int_equal(session_check_beginning(again, &before), is_changed ? -ESTALE : 0);
		session_close(again);
		put_file(path, text.p);
		add_file(path, CUSTOM("old", null) CUSTOM("next", null));
		assert_int_equal(session_grow(s), -ESTALE);
		session_close(s);
	}
	resolver_close(r);
	remove_all(dir);
}

static int read_first(const struct session *s)
{
	CLEANUP_READER struct reader reader = READER_INIT;
	struct record r;

	return session_read(s, 0, &reader, &r);
}

static unsigned preads;
/* After this many reads, the file at this path is written from its beginning. */
static unsigned rewritten_after;
static const char *rewritten, *rewritten_text;

/* Far from the beginning, only a line that is read on its own is read in pieces of this size. */
enum { OWN_READ = 1 << 20 };
static bool own_reads_fail;

static atomic_bool is_reading, is_blocked;

static ssize_t counted_pread(int fd, void *p, size_t n, off_t off)
{
	while (is_blocked) {
		is_reading = true;
		usleep(1000);
	}
	if (rewritten && preads == rewritten_after)
		write_at(rewritten, O_TRUNC, rewritten_text, strlen(rewritten_text));
	preads++;
	if (own_reads_fail && n == OWN_READ && off > 16 * OWN_READ)
		return errno = EIO, -1;
	return pread(fd, p, n, off);
}
__typeof__(pread) *const sys_pread = counted_pread;

static void assert_id(const struct session *s, uint32_t i, const char *id)
{
	CLEANUP_LINE struct line l = LINE_INIT;
	struct record r;
	assert_int_equal(session_load(s, i, &l, &r), 0);
	assert_true(span_is(r.id.text, id));
}

/* Tens of lines fit in one read of adjacent lines, and the file does not. */
enum { MANY_LINES = 200, PADDING = LIMIT(1000, 1) };

static struct session *open_many_lines(struct fixture *f)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	buf_adds(&text, HEADER);
	for (int i = 0; i < MANY_LINES; i++)
		buf_addf(&text, LINE({"type":"custom","id":"i%d","parentId":null,"data":"%0*d"}), i, PADDING, i);
	struct session *s = open_text(f, buf_cstr(&text));
	preads = 0;
	return s;
}

static void assert_line(const struct session *s, uint32_t at)
{
	char id[16];
	snprintf(id, sizeof id, "i%u", at);
	assert_id(s, at, id);
}

/* Lines in one run or in two, such as results and their calls. */
SESSION_CASE(adjacent_lines_share_one_pread)
{
	struct session *s = open_many_lines(f);

	for (uint32_t i = 0; i < MANY_LINES; i++)
		assert_line(s, i % 2 ? MANY_LINES / 2 + i / 2 : i / 2);
	assert_in_range(preads, 1, MANY_LINES / 4);
	/* As for the directories of branches: the entry, the first one and the last one. */
	preads = 0;
	for (uint32_t i = 0; i < MANY_LINES; i++) {
		assert_line(s, i);
		assert_line(s, 0);
		assert_line(s, MANY_LINES - 1);
	}
	assert_in_range(preads, 1, MANY_LINES / 4);
}

SESSION_CASE(last_lines_share_one_pread)
{
	struct session *s = open_many_lines(f);

	for (uint32_t i = 1; i < 5; i++)
		assert_line(s, MANY_LINES - i);
	assert_int_equal(preads, 1);
}

/* The file was changed at bytes that are not compared. */
SESSION_CASE(readahead_is_dropped_on_change)
{
	CLEANUP_BUF struct buf text = BUF_INIT;

	buf_addf(&text, HEADER "%08192d\n" CUSTOM("a", null) "%08192d\n", 1, 1);
	struct session *s = open_text(f, buf_cstr(&text));
	assert_id(s, 0, "a");
	int fd = open(f->path, O_WRONLY | O_CLOEXEC);
	off_t at = strstr(buf_cstr(&text), JSON("a")) - text.p + 1;
	assert_int_equal(pwrite(fd, "b", 1, at), 1);
	assert_int_equal(futimens(fd, (struct timespec[2]){{.tv_sec = 1}, {.tv_sec = 1}}), 0);
	close(fd);
	assert_int_equal(session_grow(s), 1);
	assert_id(s, 0, "b");
}

SESSION_CASE(line_changed_while_reading_is_stale)
{
	CLEANUP_LINE struct line l = LINE_INIT;
	struct record r;
	struct session *s = open_text(f, HEADER CUSTOM("a", null));

	assert_int_equal(truncate(f->path, (off_t)strlen(HEADER) + 5), 0);
	assert_int_equal(session_load(s, 0, &l, &r), -ESTALE);
	assert_int_equal(read_first(s), -ESTALE);
	write_at(f->path, O_TRUNC, HEADER "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
	         strlen(HEADER) + 57);
	assert_int_equal(session_load(s, 0, &l, &r), -ESTALE);
	assert_int_equal(read_first(s), -ESTALE);
}

/* Rewrites a file of one entry before each of the reads that open it. Returns how often that is refused. */
static unsigned count_refused(size_t padding)
{
	CLEANUP_BUF struct buf old = BUF_INIT, other = BUF_INIT;
	unsigned refused = 0;

	buf_addf(&old, HEADER CUSTOM("a", null) "%*s\n", (int)padding, "");
	buf_addf(&other, HEADER CUSTOM("b", null) CUSTOM("c", "b") "%*s\n", (int)padding, "");
	rewritten_text = buf_cstr(&other);
	for (unsigned after = 0; after < 10; after++) {
		CLEANUP_FIXTURE struct fixture f;
		fixture_init(&f);
		append(&f, old.p, old.n);
		rewritten = f.path;
		rewritten_after = preads + after;
		int rc = session_open(&(struct source_path){NULL, f.path}, false, &f.s);
		bool was_rewritten = preads > rewritten_after;
		rewritten = NULL;
		refused += rc == -ESTALE;
		if (rc == 0 && !was_rewritten) {
			write_at(f.path, O_TRUNC, rewritten_text, strlen(rewritten_text));
			assert_int_equal(session_grow(f.s), -ESTALE);
		} else if (rc == 0) {
			assert_id(f.s, 0, "b");
		}
	}
	return refused;
}

/* Otherwise an index with the entries of the old file would later count as one of the new file. A short file is read
 * with one call: what that returns was in the file. */
CASE(file_rewritten_while_indexed_is_stale)
{
	assert_in_range(count_refused(64 * 1024), 1, 8);
	assert_int_equal(count_refused(0), 0);
}

/* The same for an index that grows, before each of its reads. */
CASE(file_rewritten_while_growing_is_stale)
{
	static const char other[] = HEADER CUSTOM("b", null) CUSTOM("c", "b") CUSTOM("d", "c");
	bool was_rewritten = true;

	for (unsigned after = 0; was_rewritten; after++) {
		CLEANUP_FIXTURE struct fixture f;
		struct session *s = open_text(&f, HEADER CUSTOM("a", null));
		append(&f, CUSTOM("c", "a"), strlen(CUSTOM("c", "a")));
		rewritten = f.path;
		rewritten_text = other;
		rewritten_after = preads + after;
		int rc = session_grow(s);
		rewritten = NULL;
		was_rewritten = preads > rewritten_after;
		assert_int_equal(rc, was_rewritten ? -ESTALE : 1);
	}
}

/* A table of all sessions also finds its lines there. */
SESSION_CASE(short_file_is_read_once)
{
	fixture_init(f);
	write_at(f->path, O_TRUNC, HEADER CUSTOM("a", null), strlen(HEADER CUSTOM("a", null)));
	preads = 0;
	assert_int_equal(session_open(&(struct source_path){NULL, f->path}, true, &f->s), 0);
	assert_id(f->s, 0, "a");
	assert_int_equal(preads, 1);
	session_drop_lines(f->s);
	assert_id(f->s, 0, "a");
	assert_int_equal(preads, 2);
}

/* Lines of any length, some blank, some longer than one read, some that are not JSON; the last one is read on its own,
 * and has no end. */
SESSION_CASE(line_ends_across_read_boundaries)
{
	enum { LINES = 6000, LONG = 600000, TAIL = 5 << 20 };
	CLEANUP_BUF struct buf text = BUF_INIT;
	CLEANUP_FREE struct entry *expected = calloc(LINES, sizeof *expected);
	uint32_t count = 0, seed = 1;

	assert_non_null(expected);
	buf_adds(&text, HEADER);
	for (uint32_t line = 2; line < LINES; line++) {
		seed = seed * 1664525 + 1013904223;
		size_t begin = text.n, n = line % 500 ? seed >> 22 : LONG;
		bool crlf = line % 3 == 0, rubbish = line % 1000 == 0;
		if (!rubbish && line % 7)
			buf_addf(&text, "%.1s" JSON({"id":"%08x","x":"%*s"}), &" \t\r"[line % 3], line, (int)n, "");
		else if (rubbish)
			buf_addf(&text, "x%*s", (int)n, "");
		if (text.n > begin && !rubbish)
			expected[count++] =
			    (struct entry){.offset = begin, .length = (uint32_t)(text.n - begin), .line = line};
		buf_adds(&text, crlf ? "\r\n" : "\n");
	}
	expected[count++] = (struct entry){.offset = text.n, .length = TAIL, .line = LINES};
	buf_addf(&text, JSON({"id":"%*d"}), TAIL - (int)strlen(JSON({"id":""})), 1);
	assert_int_equal(open_bytes(f, text.p, text.n), 0);
	assert_int_equal(session_count(f->s), count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(session_entry(f->s, i)->offset, expected[i].offset);
		assert_int_equal(session_entry(f->s, i)->length, expected[i].length);
		assert_int_equal(session_entry(f->s, i)->line, expected[i].line);
	}
}

/* ---- size ---- */

static void add_turn(struct buf *text, unsigned i)
{
	char parent[16] = "null";

	if (i)
		snprintf(parent, sizeof parent, JSON("%08x"), i - 1);
	buf_addf(text, "{\"type\":\"message\",\"id\":\"%08x\",\"parentId\":%s,\"message\":{", i, parent);
	if (i % 2)
		buf_adds(text, "\"role\":\"toolResult\",\"toolCallId\":\"c\"}}\n");
	else
		buf_adds(text, "\"role\":\"assistant\",\"content\":[" JSON(CALL("c", "read", )) "]}}\n");
}

/* Bytes that cannot be JSON are not kept, however many come without a newline. */
SESSION_CASE(long_garbage_is_one_bad_line)
{
	struct session *s = open_text(f, HEADER);

	assert_int_equal(truncate(f->path, 5000000), 0);
	assert_int_equal(session_grow(s), 1);
	assert_problems(s, "2 the last line is incomplete; ");
	assert_int_equal(truncate(f->path, 9000000), 0);
	assert_int_equal(session_grow(s), 1);
	append_lines(f, "\n" USER("a", null, "hi"));
	assert_problems(s, "2 malformed: not JSON; ");
	assert_int_equal(session_problem(s, 0).offset, strlen(HEADER));
	assert_int_equal(session_count(s), 1);
	assert_int_equal(session_entry(s, 0)->line, 3);
	assert_int_equal(session_entry(s, 0)->offset, 9000001);
}

/* A line that pi can read is read; a longer one hides no other line. */
CASE(line_has_the_limit_of_pi)
{
	enum { LONGEST = 0x1fffffe8 };
	static char end[9 << 20]; /* longer than the window */

	for (int more = 0; more < 2; more++) {
		CLEANUP_FIXTURE struct fixture f;
		fixture_init(&f);
		append(&f, HEADER "{", strlen(HEADER "{"));
		assert_int_equal(truncate(f.path, (off_t)strlen(HEADER) + LONGEST + more - (off_t)sizeof end), 0);
		append(&f, end, sizeof end);
		append(&f, "\n" USER("a", null, "hi"), strlen("\n" USER("a", null, "hi")));
		own_reads_fail = true;
		int rc = session_open(&(struct source_path){NULL, f.path}, false, &f.s);
		own_reads_fail = false;
		assert_true(more ? rc == 0 : rc < 0);
		if (rc < 0)
			continue;
		assert_problems(f.s, "2 longer than 512 MiB: not read; ");
		assert_int_equal(session_count(f.s), 1);
	}
}

/* A million turns of one call and its result, all with the same call id. Of their lines little is kept. */
SESSION_CASE(index_of_million_entries_is_small)
{
	enum { MANY = 1000000 };
	CLEANUP_BUF struct buf text = BUF_INIT;
	CLEANUP_READER struct reader reader = READER_INIT;
	struct span line;

	buf_adds(&text, HEADER);
	for (unsigned i = 0; i < MANY; i++)
		add_turn(&text, i);
	assert_int_equal(buf_err(&text), 0);
	fixture_init(f);
	append(f, text.p, text.n);
	buf_release(&text);
	assert_int_equal(session_open(&(struct source_path){NULL, f->path}, true, &f->s), 0);
	size_t with_lines = session_memory(f->s);
	session_drop_lines(f->s);
	assert_in_range(with_lines - session_memory(f->s), 1, LIMIT(10 << 20, 20 << 10));
	for (uint32_t i = 0; i < 10000; i++) {
		assert_int_equal(session_read_line(f->s, i, &reader, &line), 0);
		assert_in_range(reader.line.bytes.n, line.n, 130 * 1024);
	}
	assert_int_equal(session_count(f->s), MANY);
	for (uint32_t i = 1; i < MANY; i += 9998)
		assert_call(f->s, i, i - 1, 1);
	assert_int_equal(session_result(f->s, MANY - 2, 1), MANY - 1);
	size_t each = (session_memory(f->s) - MANY * 8) / MANY;
	print_message("%zu bytes an entry beyond its id\n", each);
	assert_true(each <= 64);
	assert_int_equal(session_problem_count(f->s), 0);
}

/* Ids, calls with their results, labels, names and problems, and all data derived from them; nothing of it stays. */
SESSION_CASE(session_memory_matches_heap)
{
	enum { MANY = 30000 };
	CLEANUP_BUF struct buf text = BUF_INIT, out = BUF_INIT;

	if (heap_used() == 0) /* an allocator without mallinfo */
		skip();
	buf_adds(&text, HEADER);
	for (unsigned i = 0; i < MANY; i++) {
		add_turn(&text, i);
		buf_addf(&text, LABEL("l%u", null, "../%u", "x") CUSTOM("../%u", "none"), i, i, i);
	}
	fixture_init(f);
	append(f, text.p, text.n);
	size_t before = heap_used();
	assert_int_equal(session_open(&(struct source_path){NULL, f->path}, false, &f->s), 0);
	for (uint32_t i = 0; i < session_count(f->s); i++) {
		unsigned n;
		session_call(f->s, i, &n);
		session_label(f->s, i, &out);
	}
	assert_true(session_problem_count(f->s) > 0);
	buf_release(&out);
	size_t real = heap_used() - before, said = session_memory(f->s);
	print_message("%zu bytes, says %zu\n", real, said);
	assert_true(said <= real + real / 8);
	assert_true(said >= real - real / 8);
	session_close(f->s);
	f->s = NULL;
	assert_true(heap_used() < before + real / 128); /* what the allocator keeps for itself */
}

/* The parent of each line is the next line, and no result has a call: two problems each. */
SESSION_CASE(reversed_parent_chain_is_linear)
{
	enum { MANY = 200000 };
	CLEANUP_BUF struct buf text = BUF_INIT;
	CLEANUP_FREE uint32_t *path = NULL;
	size_t n;

	buf_adds(&text, HEADER);
	for (int i = 0; i < MANY; i++)
		buf_addf(&text, LINE({"type":"message","id":"%d","parentId":"%d","message":{"role":"toolResult",
		        "toolCallId":"gone"}}),
		                      i, (i + 1) % MANY);
	assert_int_equal(open_bytes(f, text.p, text.n), 0);
	assert_int_equal(session_path(f->s, 5, &path, &n), 0);
	assert_int_equal(n, MANY);
	assert_call(f->s, 0, NO_ENTRY, 0);
	assert_int_equal(session_problem_count(f->s), 2 * MANY);
}

static void *read_all(void *arg)
{
	CLEANUP_BUF struct buf says = BUF_INIT;
	struct session *s = arg;

	for (int round = 0; round < 20; round++) {
		buf_reset(&says);
		session_rdlock(s);
		describe(s, &says);
		session_unlock(s);
	}
	return NULL;
}

SESSION_CASE(readers_share_derived_data)
{
	pthread_t threads[3];
	struct session *s = open_text(f, HEADER_V1 V1("message"));

	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_all, s), 0);
	for (int round = 0; round < 50; round++) {
		append(f, V1("message"), strlen(V1("message")));
		session_wrlock(s);
		assert_int_equal(session_grow(s), 1);
		session_unlock(s);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(session_count(s), 51);
}

static void *count_problems(void *arg)
{
	assert_int_equal(session_problem_count(arg), 1);
	return NULL;
}

static bool always(void *arg)
{
	return true;
}

/* Another request ends, and can be interrupted if it needs the same data. */
SESSION_CASE(reading_for_derived_data_blocks_nothing)
{
	const struct cancel cancel = {.is_cancelled = always};
	struct session *s = open_text(f, HEADER COMPACTION("a", null, "none"));
	pthread_t thread;

	is_blocked = true;
	assert_int_equal(pthread_create(&thread, NULL, count_problems, s), 0);
	while (!is_reading)
		usleep(1000);
	assert_true(session_memory(s) > 0);
	cancel_set(&cancel);
	int deferred = deferred_begin();
	assert_int_equal(session_problem_count(s), 0);
	assert_int_equal(deferred_end(deferred, 0), -EINTR);
	cancel_set(NULL);
	is_blocked = false;
	assert_int_equal(pthread_join(thread, NULL), 0);
}

RUN_CASES(NULL, NULL)
