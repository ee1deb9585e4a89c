/* SPDX-License-Identifier: MIT */
/* repair: sessions that pi opens from damaged bytes, the changes that are reported, and failing calls. */
#include "cases.h"
#include "failing_alloc.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/base/sys.h"
#include "sessionfs/session/repair.h"
#include "texts.h"

#include <sys/mman.h>
#include <unistd.h>

#define NAME "2026-03-02_named.jsonl"
#define HEAD "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"T\"}"
#define E(id, parent) "{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":" parent "}"
#define A E("a", "null") "\n"
#define B E("b", "\"a\"") "\n"
#define C E("c", "\"b\"") "\n"

enum { COPIES = LIMIT(9, 3) }; /* few enough for the list of changes */

static _Atomic int preads_left = -1; /* that still succeed before one fails; negative: all */
static _Atomic size_t pread_max = SIZE_MAX;

static ssize_t limited_pread(int fd, void *p, size_t n, off_t off)
{
	bool fails = preads_left == 0;
	preads_left -= preads_left >= 0;
	if (fails)
		return errno = EIO, -1;
	return pread(fd, p, n < pread_max ? n : pread_max, off);
}

__typeof__(pread) *const sys_pread = limited_pread;

static int open_file(struct span bytes)
{
	int fd = memfd_create("repair", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes.p, bytes.n), bytes.n);
	return fd;
}

static int add_bytes(void *arg, struct span bytes)
{
	buf_addspan(arg, bytes);
	return 0;
}

static void add_change(void *arg, uint32_t line, const char *what)
{
	buf_addf(arg, "%u: %s\n", line, what);
}

/* Appends the repaired session, and the changes. */
static int repair_bytes(struct span bytes, const char *name, struct buf *out, struct buf *changes)
{
	int fd CLEANUP_CLOSE = open_file(bytes);
	struct repair *r = NULL;
	int rc = repair_open(fd, bytes.n, name, &r);
	if (rc < 0) {
		assert_null(r);
		return rc;
	}
	bool is_sound = repair_is_sound(r);
	rc = repair_write(r, add_bytes, out);
	repair_each_change(r, add_change, changes);
	assert_int_equal(is_sound, changes->n == 0);
	repair_close(r);
	return rc;
}

static void assert_repaired(struct span bytes, const char *name, struct span want, const char *changes)
{
	struct buf out CLEANUP_BUF = BUF_INIT, said CLEANUP_BUF = BUF_INIT;
	assert_int_equal(repair_bytes(bytes, name, &out, &said), 0);
	assert_text(&said, changes);
	assert_buf(&out, want);
}

struct example {
	struct span bytes, want;
	const char *changes;
};

static void assert_examples(const struct example *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_repaired(v[i].bytes, NAME, v[i].want, v[i].changes);
}
#define EXAMPLES(...)                                                                                                  \
	do {                                                                                                           \
		static const struct example examples[] = {__VA_ARGS__};                                                \
		assert_examples(examples, sizeof examples / sizeof *examples);                                         \
	} while (0)

/* ---- sound files ---- */

CASE(a_sound_file_is_unchanged)
{
	static const char *const texts[] = {
	    HEAD "\n" A B C,
	    HEAD "\n" A E("b", "\"a\""),
	    HEAD "\n\n  \r\n\t\n" A "\t" B,
	    HEAD "\n{\"type\":\"message\",\"id\":7}\n{\"type\":\"message\",\"id\":8,\"parentId\":7}\n",
	    HEAD "\r\n" A "null\nfalse\n0\n\"\"\n" B,
	    HEAD "\n" E("b", "\"missing\"") "\n" E("c", "\"b\"") "\n",
	    HEAD "\n" A E("b", "\"\"") "\n" E("c", "0") "\n" E("d", "null") "\n",
	    HEAD "\n{\"type\":\"message\"}\n{\"type\":\"message\"}\n",
	    HEAD "\n" HEAD "\n" A,
	    HEAD "\n",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_repaired(span_of(texts[i]), NAME, span_of(texts[i]), "");
}

/* A file of more than one read, whose lines cross them. */
CASE(a_long_sound_file_is_unchanged)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	buf_adds(&text, HEAD "\n");
	for (unsigned i = 0; i < 100; i++)
		buf_addf(&text, "{\"type\":\"message\",\"id\":\"%u\",\"parentId\":null,\"pad\":\"%*s\"}\n", i,
		         (int)(i * 37), "");
	assert_true(text.n > 3 * 64 * 1024 / 2);
	for (unsigned n = 1; n < 4; n++) {
		pread_max = n == 1 ? SIZE_MAX : 1000 * n;
		assert_repaired(buf_span(&text), NAME, buf_span(&text), "");
	}
	pread_max = SIZE_MAX;
}

/* ---- damaged lines ---- */

CASE(lost_bytes_are_left_out)
{
	EXAMPLES({SPAN_LIT(HEAD "\n" A "{\"type\":\"mess\n"), SPAN_LIT(HEAD "\n" A),
	          "3: lost 13 bytes: not a whole entry\n"},
	         {SPAN_LIT(HEAD "\nxyz\n" A), SPAN_LIT(HEAD "\n" A), "2: lost 3 bytes: not a whole entry\n"},
	         {SPAN_LIT(HEAD "\n" A "{\"a\":1} {\"b\":2}\n"), SPAN_LIT(HEAD "\n" A),
	          "3: lost 15 bytes: not a whole entry\n"},
	         {SPAN_LIT(HEAD "\n" A "{\"type\":\"session\",\"id\":1}\n"), SPAN_LIT(HEAD "\n" A),
	          "3: lost 25 bytes: not a whole entry\n"});
}

/* Whole entries are found in them. Blocks of a torn message are not: their type is unknown, or their time a number. */
CASE(entries_in_damaged_lines_are_found)
{
	EXAMPLES({SPAN_LIT(HEAD "\n" E("a", "null") E("b", "\"a\"") "\n" C), SPAN_LIT(HEAD "\n" A B C),
	          "2: split into 2 entries\n"},
	         {SPAN_LIT(HEAD "\n{\"type\":\"message\",\"id" E("a", "null") "\n" B), SPAN_LIT(HEAD "\n" A B),
	          "2: lost 21 bytes: not a whole entry\n"},
	         {SPAN_LIT(HEAD "\n" E("a", "null") "x y\n" B), SPAN_LIT(HEAD "\n" A B),
	          "2: lost 3 bytes: not a whole entry\n"},
	         {SPAN_LIT("xy{\"type\":\"session\",\"id\":\"s\"}\n" A),
	          SPAN_LIT("{\"type\":\"session\",\"id\":\"s\"}\n" A), "1: lost 2 bytes: not a whole entry\n"},
	         {SPAN_LIT("x" HEAD "\n" A), SPAN_LIT(HEAD "\n" A), "1: lost 1 bytes: not a whole entry\n"},
	         {SPAN_LIT(HEAD "\n" A "y{\"type\":\"new\",\"timestamp\":\"t\"}\n"),
	          SPAN_LIT(HEAD "\n" A "{\"type\":\"new\",\"timestamp\":\"t\"}\n"),
	          "3: lost 1 bytes: not a whole entry\n"},
	         {SPAN_LIT(HEAD "\n" A "y{\"type\":\"new\",\"timestamp\":1}\n"), SPAN_LIT(HEAD "\n" A),
	          "3: lost 29 bytes: not a whole entry\n"},
	         {SPAN_LIT(HEAD "\n" A "y{\"type\":1,\"timestamp\":\"t\"}\n"), SPAN_LIT(HEAD "\n" A),
	          "3: lost 27 bytes: not a whole entry\n"},
	         {SPAN_LIT(HEAD "\n" A "{\"message\":[{\"type\":\"text\",\"text\":\"" E("b", "\\\"a\\\"") "\n"),
	          SPAN_LIT(HEAD "\n" A), "3: lost 79 bytes: not a whole entry\n"},
	         /* Not a value of a torn entry, but an entry after one. */
	         {SPAN_LIT(HEAD "\n" A "{\"data\": " E("b", "\"a\"") " , \"x\":[" E("c", "\"a\"") "]\n"),
	          SPAN_LIT(HEAD "\n" A), "3: lost 102 bytes: not a whole entry\n"},
	         {SPAN_LIT(HEAD "\n" A "{\"data\":" E("b", "\"a\"") "\n"), SPAN_LIT(HEAD "\n" A B),
	          "3: lost 8 bytes: not a whole entry\n"});
}

/* A line that begins many objects costs no more than a few passes, and the rest is lost. */
CASE(the_search_in_a_damaged_line_has_an_end)
{
	for (unsigned n = 10; n <= 1000; n *= 100) {
		struct buf text CLEANUP_BUF = BUF_INIT;
		char said[64];
		buf_adds(&text, HEAD "\n" A);
		size_t begin = text.n;
		for (unsigned i = 0; i < n; i++)
			buf_adds(&text, "{\"a\":");
		size_t end = text.n;
		buf_adds(&text, B);
		bool found = n == 10;
		snprintf(said, sizeof said, "3: lost %zu bytes: not a whole entry\n",
		         (found ? end : text.n - 1) - begin);
		assert_repaired(buf_span(&text), NAME, found ? SPAN_LIT(HEAD "\n" A B) : SPAN_LIT(HEAD "\n" A), said);
	}
}

CASE(nul_bytes_are_dropped)
{
	EXAMPLES({SPAN_LIT(HEAD "\n" A "\0"), SPAN_LIT(HEAD "\n" A), "3: dropped 1 NUL bytes\n"},
	         {SPAN_LIT(HEAD "\n" A "\0\0\0"), SPAN_LIT(HEAD "\n" A), "3: dropped 3 NUL bytes\n"},
	         {SPAN_LIT(HEAD "\n" A "\0\0" B C), SPAN_LIT(HEAD "\n" A B C), "3: dropped 2 NUL bytes\n"},
	         {SPAN_LIT(HEAD "\n\0" A "\0" B), SPAN_LIT(HEAD "\n" A B),
	          "2: dropped 1 NUL bytes\n3: dropped 1 NUL bytes\n"},
	         {SPAN_LIT(HEAD "\n" A "{\"type\":\"me\0" B), SPAN_LIT(HEAD "\n" A B),
	          "3: lost 11 bytes: not a whole entry\n3: dropped 1 NUL bytes\n"});
}

CASE(a_byte_order_mark_is_dropped)
{
	EXAMPLES({SPAN_LIT("\xef\xbb\xbf\n" HEAD "\n" A), SPAN_LIT(HEAD "\n" A), "1: dropped a byte order mark\n"},
	         {SPAN_LIT("\xef\xbb\xbf" HEAD "\n" A), SPAN_LIT(HEAD "\n" A), "1: dropped a byte order mark\n"},
	         {SPAN_LIT("\xef\xbb\xbf \n" HEAD "\n" A), SPAN_LIT(HEAD "\n" A), "1: dropped a byte order mark\n"},
	         {SPAN_LIT(HEAD "\n\xef\xbb\xbf" A), SPAN_LIT(HEAD "\n" A), "2: lost 3 bytes: not a whole entry\n"});
}

/* ---- parents ---- */

CASE(an_entry_after_lost_bytes_keeps_its_branch)
{
	EXAMPLES({SPAN_LIT(HEAD "\n" A "{lost\n" C E("d", "\"c\"") "\n"),
	          SPAN_LIT(HEAD "\n" A E("c", "\"a\"") "\n" E("d", "\"c\"") "\n"),
	          "3: lost 5 bytes: not a whole entry\n"
	          "4: the parent of line 4 is not in the file: it continues from line 2\n"},
	         /* Not an entry that has its parent, or that begins a tree. */
	         {SPAN_LIT(HEAD "\n" A "{lost\n" B E("c", "null") "\n"), SPAN_LIT(HEAD "\n" A B E("c", "null") "\n"),
	          "3: lost 5 bytes: not a whole entry\n"},
	         /* No entry is before them. */
	         {SPAN_LIT(HEAD "\n{lost\n" C), SPAN_LIT(HEAD "\n" C), "2: lost 5 bytes: not a whole entry\n"},
	         /* The entry before them is a copy. */
	         {SPAN_LIT(HEAD "\n" A A "{lost\n" C), SPAN_LIT(HEAD "\n" A E("c", "\"a\"") "\n"),
	          "3: dropped a copy of line 2\n4: lost 5 bytes: not a whole entry\n"
	          "5: the parent of line 5 is not in the file: it continues from line 2\n"},
	         /* A number as an id. */
	         {SPAN_LIT(HEAD "\n{\"type\":\"message\",\"id\":7}\n{lost\n" C),
	          SPAN_LIT(HEAD "\n{\"type\":\"message\",\"id\":7}\n" E("c", "7") "\n"),
	          "3: lost 5 bytes: not a whole entry\n"
	          "4: the parent of line 4 is not in the file: it continues from line 2\n"});
}

/* Whole lines are missing, which leaves nothing else to see. */
CASE(an_entry_without_its_parent_continues_from_the_one_before)
{
	EXAMPLES({SPAN_LIT(HEAD "\n" A C E("d", "\"c\"") "\n" E("f", "\"e\"") "\n"),
	          SPAN_LIT(HEAD "\n" A E("c", "\"a\"") "\n" E("d", "\"c\"") "\n" E("f", "\"d\"") "\n"),
	          "3: the parent of line 3 is not in the file: it continues from line 2\n"
	          "5: the parent of line 5 is not in the file: it continues from line 4\n"},
	         /* Not from an entry without an id. */
	         {SPAN_LIT(HEAD "\n" A "{\"type\":\"message\"}\n" C),
	          SPAN_LIT(HEAD "\n" A "{\"type\":\"message\"}\n" E("c", "\"a\"") "\n"),
	          "4: the parent of line 4 is not in the file: it continues from line 2\n"},
	         /* The entry before it is its child, or a child's child. */
	         {SPAN_LIT(HEAD "\n" A E("d", "\"c\"") "\n" C),
	          SPAN_LIT(HEAD "\n" A E("c", "\"a\"") "\n" E("d", "\"c\"") "\n"),
	          "4: moved before its child in line 3\n"
	          "4: the parent of line 4 is not in the file: it continues from line 2\n"},
	         {SPAN_LIT(HEAD "\n" A E("e", "\"d\"") "\n" C E("d", "\"c\"") "\n"),
	          SPAN_LIT(HEAD "\n" A E("c", "\"a\"") "\n" E("d", "\"c\"") "\n" E("e", "\"d\"") "\n"),
	          "4: the parent of line 4 is not in the file: it continues from line 2\n"
	          "5: moved before its child in line 3\n"},
	         {SPAN_LIT(HEAD "\n" E("d", "\"c\"") "\n" C), SPAN_LIT(HEAD "\n" C E("d", "\"c\"") "\n"),
	          "3: moved before its child in line 2\n"});
}

CASE(a_parent_is_moved_before_its_child)
{
	EXAMPLES({SPAN_LIT(HEAD "\n" B A), SPAN_LIT(HEAD "\n" A B), "3: moved before its child in line 2\n"},
	         {SPAN_LIT(HEAD "\n" C B A), SPAN_LIT(HEAD "\n" A B C),
	          "3: moved before its child in line 2\n4: moved before its child in line 3\n"},
	         {SPAN_LIT(HEAD "\n" B E("d", "\"a\"") "\n" A), SPAN_LIT(HEAD "\n" A B E("d", "\"a\"") "\n"),
	          "4: moved before its child in line 2\n4: moved before its child in line 3\n"});
}

CASE(a_circle_of_parents_is_opened)
{
	EXAMPLES({SPAN_LIT(HEAD "\n" E("a", "\"a\"") "\n" B), SPAN_LIT(HEAD "\n" A B),
	          "2: its parents lead in a circle: it begins a tree now\n"},
	         {SPAN_LIT(HEAD "\n" E("a", "\"b\"") "\n" B),
	          SPAN_LIT(HEAD "\n" E("b", "null") "\n" E("a", "\"b\"") "\n"),
	          "3: moved before its child in line 2\n3: its parents lead in a circle: it begins a tree now\n"});
}

/* ---- ids ---- */

CASE(copies_are_dropped)
{
	struct buf text CLEANUP_BUF = BUF_INIT, want CLEANUP_BUF = BUF_INIT;
	EXAMPLES({SPAN_LIT(HEAD "\n" A B A C), SPAN_LIT(HEAD "\n" A B C), "4: dropped a copy of line 2\n"},
	         {SPAN_LIT(HEAD "\n" A A "x\n"), SPAN_LIT(HEAD "\n" A),
	          "3: dropped a copy of line 2\n4: lost 1 bytes: not a whole entry\n"});
	/* Ids are sorted by a hash, which is another each time: changes are in the order of lines. */
	buf_adds(&text, HEAD "\n");
	for (unsigned i = 0; i < 2 * COPIES; i++)
		buf_addf(&text, "{\"type\":\"message\",\"id\":%u}\n", i % COPIES);
	for (unsigned i = 0; i < COPIES; i++)
		buf_addf(&want, "%u: dropped a copy of line %u\n", i + 2 + COPIES, i + 2);
	size_t half = (text.n - strlen(HEAD "\n")) / 2;
	assert_repaired(buf_span(&text), NAME, (struct span){text.p, text.n - half}, buf_cstr(&want));
}

/* Repairs another file. */
static void assert_changes(struct span bytes, struct buf *out, const char *changes)
{
	struct buf said CLEANUP_BUF = BUF_INIT;
	buf_reset(out);
	assert_int_equal(repair_bytes(bytes, NAME, out, &said), 0);
	assert_text(&said, changes);
}

/* pi reads the last entry with an id. The first gets another, as the parent of its children, too. */
CASE(a_repeated_id_is_replaced)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	assert_changes(SPAN_LIT(HEAD "\n" A B E("a", "\"b\"") "\n" E("e", "\"a\"") "\n"), &out,
	               "2: gave the entry a new id: line 4 repeats it\n");
	char id[9] = "", want[512];
	assert_int_equal(sscanf(buf_cstr(&out), HEAD "\n{\"type\":\"message\",\"id\":\"%8[0-9a-f]", id), 1);
	assert_int_equal(strlen(id), 8);
	snprintf(want, sizeof want,
	         HEAD "\n" E("%s", "null") "\n" E("b", "\"%s\"") "\n" E("a", "\"b\"") "\n" E("e", "\"a\"") "\n", id,
	         id);
	assert_text(&out, want);
	/* The same for an entry of the same length, and for a number that is written differently. */
	assert_changes(SPAN_LIT(HEAD "\n" A "{\"type\":\"massage\",\"id\":\"a\",\"parentId\":null}\n"), &out,
	               "2: gave the entry a new id: line 3 repeats it\n");
	assert_changes(SPAN_LIT(HEAD "\n{\"type\":\"message\",\"id\":7}\n{\"type\":\"message\",\"id\":7.0}\n"), &out,
	               "2: gave the entry a new id: line 3 repeats it\n");
	/* It is the same again, unless an entry has it. */
	char taken[512];
	snprintf(taken, sizeof taken, HEAD "\n" A B E("a", "\"b\"") "\n" E("%s", "\"a\"") "\n", id);
	assert_changes(span_of(taken), &out, "2: gave the entry a new id: line 4 repeats it\n");
	snprintf(want, sizeof want,
	         HEAD "\n" E("%s-2", "null") "\n" E("b", "\"%s-2\"") "\n" E("a", "\"b\"") "\n" E("%s", "\"a\"") "\n",
	         id, id, id);
	assert_text(&out, want);
}

/* ---- the header ---- */

CASE(a_header_is_put_first)
{
	EXAMPLES({SPAN_LIT(A HEAD "\n" B), SPAN_LIT(HEAD "\n" A B), "2: moved the header to the first line\n"},
	         /* After torn bytes, wherever they end, if it is the header of this file. */
	         {SPAN_LIT(A "{\"type\":{\"type\":\"session\",\"id\":\"named\"}\n" B),
	          SPAN_LIT("{\"type\":\"session\",\"id\":\"named\"}\n" A B),
	          "2: lost 8 bytes: not a whole entry\n2: moved the header to the first line\n"},
	         {SPAN_LIT("[1]\n" HEAD "\n" A), SPAN_LIT(HEAD "\n[1]\n" A), "2: moved the header to the first line\n"},
	         {SPAN_LIT("null\n" HEAD "\n" A), SPAN_LIT("null\n" HEAD "\n" A), ""});
}

CASE(a_lost_header_is_made)
{
	EXAMPLES(/* From the name of the file, and the first entry. */
	         {SPAN_LIT(A B), SPAN_LIT("{\"type\":\"session\",\"version\":3,\"id\":\"named\"}\n" A B),
	          "1: made the header that was lost\n"},
	         {SPAN_LIT("{\"type\":\"message\",\"timestamp\":\"T\\n\"}\n"),
	          SPAN_LIT("{\"type\":\"session\",\"id\":\"named\",\"timestamp\":\"T\\n\"}\n{\"type\":\"message\","
	                   "\"timestamp\":"
	                   "\"T\\n\"}\n"),
	          "1: made the header that was lost\n"},
	         {SPAN_LIT("{\"type\":\"message\",\"timestamp\":5}\n"),
	          SPAN_LIT("{\"type\":\"session\",\"id\":\"named\"}\n{\"type\":\"message\",\"timestamp\":5}\n"),
	          "1: made the header that was lost\n"},
	         /* From the torn one. */
	         {SPAN_LIT("{\"type\":\"session\",\"id\":\"x\\\"y\",\"timestamp\":\"T\",\"cwd\":\"/w\",\"par\n" A),
	          SPAN_LIT(
		      "{\"type\":\"session\",\"id\":\"x\\\"y\",\"timestamp\":\"T\",\"cwd\":\"/w\",\"version\":3}\n" A),
	          "1: lost 61 bytes: not a whole entry\n1: made the header that was lost\n"},
	         {SPAN_LIT("{\"type\":\"session\",\"id\":\"x\",\"cwd\":\"/w\n{\"type\":\"session\",\"id\":\"y\",\n" A),
	          SPAN_LIT("{\"type\":\"session\",\"id\":\"x\",\"version\":3}\n" A),
	          "1: lost 36 bytes: not a whole entry\n1: made the header that was lost\n"
	          "2: lost 27 bytes: not a whole entry\n"},
	         {SPAN_LIT("\0x { \"type\" : \"session\" , \"a\":{\"id\":\"y\"},\"version\":3\n" A),
	          SPAN_LIT("{ \"type\" : \"session\" , \"a\":{\"id\":\"y\"},\"version\":3,\"id\":\"named\"}\n" A),
	          "1: lost 51 bytes: not a whole entry\n1: dropped 1 NUL bytes\n"
	          "1: made the header that was lost\n"},
	         {SPAN_LIT("{\"type\":\"session\",\"version\":1,\"id\":7,\"cwd\":\"/w\"}\n{\"type\":\"message\"}\n"),
	          SPAN_LIT("{\"type\":\"session\",\"version\":1,\"id\":7,\"cwd\":\"/w\",\"id\":\"named\"}\n"
	                   "{\"type\":\"message\"}\n"),
	          "1: lost 48 bytes: not a whole entry\n1: made the header that was lost\n"},
	         /* A number at the end can be torn. */
	         {SPAN_LIT("{\"type\":\"session\",\"version\":1\n{\"type\":\"message\"}\n"),
	          SPAN_LIT("{\"type\":\"session\",\"id\":\"named\"}\n{\"type\":\"message\"}\n"),
	          "1: lost 29 bytes: not a whole entry\n1: made the header that was lost\n"},
	         /* Not from a torn call, whose arguments look like one. */
	         {SPAN_LIT("st\",\"id\":\"t\",\"arguments\":{\"cwd\":\"/etc\"}}],\"a\":\"toolUse\"}}\n" A),
	          SPAN_LIT("{\"type\":\"session\",\"version\":3,\"id\":\"named\"}\n" A),
	          "1: lost 57 bytes: not a whole entry\n1: made the header that was lost\n"},
	         {SPAN_LIT(
		      "\"arguments\": {\"type\":\"session\",\"id\":\"t\"}\n[ {\"type\":\"session\",\"id\":\"t\n" A),
	          SPAN_LIT("{\"type\":\"session\",\"version\":3,\"id\":\"named\"}\n" A),
	          "1: lost 40 bytes: not a whole entry\n1: made the header that was lost\n"
	          "2: lost 27 bytes: not a whole entry\n"},
	         /* Not from bytes after the first entry. */
	         {SPAN_LIT(A "{\"id\":\"x\",\n" B),
	          SPAN_LIT("{\"type\":\"session\",\"version\":3,\"id\":\"named\"}\n" A B),
	          "1: made the header that was lost\n2: lost 10 bytes: not a whole entry\n"},
	         {SPAN_LIT(A "{\"type\":\"session\",\"id\":\"x\",\n" B),
	          SPAN_LIT("{\"type\":\"session\",\"version\":3,\"id\":\"named\"}\n" A B),
	          "1: made the header that was lost\n2: lost 27 bytes: not a whole entry\n"});
	static const struct {
		const char *name, *id;
	} names[] = {{"x.jsonl", "x"},      {"a_b_c.jsonl", "c"},   {"a_b", "b"},      {"\"q", "\\\"q"},
	             {"s_i.jsonl.gz", "i"}, {"a_.jsonl", ".jsonl"}, {"x.jsonl_b", "b"}};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char want[256];
		snprintf(want, sizeof want, "{\"type\":\"session\",\"version\":3,\"id\":\"%s\"}\n" A, names[i].id);
		assert_repaired(SPAN_LIT(A), names[i].name, span_of(want), "1: made the header that was lost\n");
	}
	/* pi's own names also have the time, and an id can have `_`. */
	static const struct span entry = SPAN_LIT("{\"type\":\"message\",\"timestamp\":\"T\"}\n");
	static const struct {
		const char *name, *id, *time;
	} dated[] = {{"2026-03-02T10-20-30-400Z_a_b.jsonl", "a_b", "2026-03-02T10:20:30.400Z"},
	             {"2026-13-02T10-20-30-400Z_a_b.jsonl", "b", "T"},
	             {"2026-03-02T10-20-30-400Z-a_b.jsonl", "b", "T"},
	             {"2026-03-02T10-20-30-400Z", "2026-03-02T10-20-30-400Z", "T"}};
	for (size_t i = 0; i < sizeof dated / sizeof *dated; i++) {
		char want[256];
		snprintf(want, sizeof want, "{\"type\":\"session\",\"id\":\"%s\",\"timestamp\":\"%s\"}\n%s",
		         dated[i].id, dated[i].time, entry.p);
		assert_repaired(entry, dated[i].name, span_of(want), "1: made the header that was lost\n");
	}
}

/* ---- limits, and calls that fail ---- */

/* As in repair.c. */
enum { CHANGES_MAX = LIMIT(100000, 3) };

CASE(the_list_of_changes_has_an_end)
{
	for (unsigned more = 0; more < 3; more++) {
		struct buf text CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT, said CLEANUP_BUF = BUF_INIT;
		char last[64];
		buf_adds(&text, HEAD "\n" A);
		for (unsigned i = 0; i < CHANGES_MAX + more; i++)
			buf_adds(&text, "x\n");
		assert_int_equal(repair_bytes(buf_span(&text), NAME, &out, &said), 0);
		assert_text(&out, HEAD "\n" A);
		size_t lines = 0;
		for (size_t i = 0; i < said.n; i++)
			lines += said.p[i] == '\n';
		assert_int_equal(lines, CHANGES_MAX + (more > 0));
		snprintf(last, sizeof last, "\n%d: and %u more changes\n", CHANGES_MAX + 2, more);
		if (more)
			assert_string_equal(buf_cstr(&said) + said.n - strlen(last), last);
	}
}

CASE(a_file_without_entries_is_refused)
{
	static const char *const texts[] = {"",      "\n\n",        "xyz\n",          "1\n",
	                                    "[1]\n", "{\"a\":1}\n", "{\"type\":1}\n", "{\"type\":\"session\"}\n"};
	struct buf out CLEANUP_BUF = BUF_INIT, said CLEANUP_BUF = BUF_INIT;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_int_equal(repair_bytes(span_of(texts[i]), NAME, &out, &said), -ENODATA);
	assert_int_equal(out.n + said.n, 0);
	repair_close(NULL);
}

/* All kinds of damage. */
#define DAMAGED                                                                                                        \
	"{\"id\":\"x\",\n" C A "\0{lost\n" B E("a", "\"b\"") "\n" B E("f", "\"none\"")                                 \
	    E("g", "\"f\"") "\n" E("h", "\"c\"") "\n"

static int refuse(void *arg, struct span bytes)
{
	return (*(int *)arg)-- == 0 ? -EPIPE : 0;
}

CASE(the_first_error_of_the_output_ends_it)
{
	int fd CLEANUP_CLOSE = open_file(SPAN_LIT(DAMAGED));
	int left = 0, rc = -EPIPE;
	for (int puts = 0; rc < 0; puts++) {
		struct repair *r;
		left = puts;
		assert_int_equal(repair_open(fd, sizeof DAMAGED - 1, NAME, &r), 0);
		rc = repair_write(r, refuse, &left);
		repair_close(r);
		assert_true(rc == 0 ? puts == 8 && left == 0 : rc == -EPIPE && left == -1);
	}
}

CASE(a_file_that_shrinks_is_stale)
{
	int fd CLEANUP_CLOSE = open_file(SPAN_LIT(DAMAGED));
	struct buf out CLEANUP_BUF = BUF_INIT;
	struct repair *r = NULL;
	assert_int_equal(repair_open(fd, sizeof DAMAGED, NAME, &r), -ESTALE);
	assert_null(r);
	assert_int_equal(repair_open(fd, sizeof DAMAGED - 1, NAME, &r), 0);
	assert_int_equal(ftruncate(fd, 40), 0);
	assert_int_equal(repair_write(r, add_bytes, &out), -ESTALE);
	repair_close(r);
}

static bool count_down(void *arg)
{
	return (*(int *)arg)-- == 0;
}

/* Each call that can fail does, once; then the result is the same. */
CASE(failing_calls_are_reported)
{
	struct buf want CLEANUP_BUF = BUF_INIT, changes CLEANUP_BUF = BUF_INIT;
	static const int errors[] = {-EIO, -ENOMEM, -EINTR};
	int left = -1;
	const struct cancel cancel = {.is_cancelled = count_down, .arg = &left};
	assert_int_equal(repair_bytes(SPAN_LIT(DAMAGED), NAME, &want, &changes), 0);
	for (size_t how = 0; how < 3; how++) {
		int nth = 0;
		for (int rc = -1; rc < 0; nth++) {
			struct buf out CLEANUP_BUF = BUF_INIT, said CLEANUP_BUF = BUF_INIT;
			bool failed = false;
			assert_non_null(buf_reserve(&out, 4096));
			assert_non_null(buf_reserve(&said, 4096));
			preads_left = how == 0 ? nth : -1;
			if (how == 1)
				let_alloc_fail((unsigned)nth + 1);
			left = how == 2 ? nth : -1;
			cancel_set(&cancel);
			rc = repair_bytes(SPAN_LIT(DAMAGED), NAME, &out, &said);
			cancel_set(NULL);
			preads_left = -1;
			failed = how == 1 && alloc_has_failed();
			/* Only a change that is not listed can be lost. */
			if (failed && rc == 0 && strstr(buf_cstr(&said), "more change"))
				rc = -ENOMEM;
			else if (rc == 0)
				assert_spans_equal(buf_span(&said), buf_span(&changes));
			if (rc == 0)
				assert_spans_equal(buf_span(&out), buf_span(&want));
			else
				assert_int_equal(rc, errors[how]);
		}
		assert_true(nth > 5);
	}
}

RUN_CASES(NULL, NULL)
