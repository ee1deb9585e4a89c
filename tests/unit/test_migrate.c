/* SPDX-License-Identifier: MIT */
/* Old files as pi rewrites them, with the ids that were shown. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "sessionfs/write/migrate.h"

#include <errno.h>

#include "edit_fixture.h"

#define T "\"timestamp\":\"2026-03-01T09:00:02.742Z\""

static void migrated(const struct session *s, struct buf *out)
{
	struct fixture f;
	fixture_init(&f);
	int fd = open(f.path, O_RDWR | O_CLOEXEC);
	char p[4096];
	ssize_t n;

	assert_int_equal(migrate_write(s, fd), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	while ((n = read(fd, p, sizeof p)) > 0)
		buf_add(out, p, (size_t)n);
	close(fd);
	unlink(f.path);
}

static void assert_span_migrated(struct span old, const char *pattern)
{
	CLEANUP(fixture_release) struct fixture f, after;
	CLEANUP_BUF struct buf out = BUF_INIT;

	assert_int_equal(open_bytes(&f, old.p, old.n), 0);
	migrated(f.s, &out);
	assert_pattern(buf_span(&out), pattern);
	/* The names stay. */
	assert_int_equal(open_bytes(&after, out.p, out.n), 0);
	assert_int_equal(session_version(after.s), 3);
	assert_int_equal(session_count(after.s), session_count(f.s));
	for (uint32_t i = 0; i < session_count(f.s); i++)
		if (session_entry(f.s, i)->flags & ENTRY_ADDRESSED)
			assert_true(span_eq(session_entry_id(after.s, i), session_entry_id(f.s, i)));
}

static void assert_migrated(const char *old, const char *pattern)
{
	assert_span_migrated(span_of(old), pattern);
}

static void entries_get_ids_and_parents(void **state)
{
	(void)state;
	assert_migrated(
	    HEADER_V1 V1("message") V1("message") V1("custom"),
	    "{\"type\":\"session\",\"id\":\"sid\",\"version\":3}\n"
	    "{\"type\":\"message\"," T ",\"message\":{\"role\":\"user\"},\"id\":\"@0\",\"parentId\":null}\n"
	    "{\"type\":\"message\"," T ",\"message\":{\"role\":\"user\"},\"id\":\"@1\",\"parentId\":\"@0\"}\n"
	    "{\"type\":\"custom\"," T ",\"message\":{\"role\":\"user\"},\"id\":\"@2\",\"parentId\":\"@1\"}\n");
	assert_migrated(HEADER_V1, "{\"type\":\"session\",\"id\":\"sid\",\"version\":3}\n");
}

/* Existing keys keep their place; earlier ids do not count. */
static void key_order_is_kept(void **state)
{
	(void)state;
	assert_migrated(
	    "{\"version\":1,\"type\":\"session\",\"id\":\"sid\"}\n"
	    "{\"id\":\"x\",\"type\":\"custom\",\"parentId\":\"y\",\"data\":{\"id\":7, \"a\\u0062\":[1.50]}}\n"
	    "{}\n",
	    "{\"version\":3,\"type\":\"session\",\"id\":\"sid\"}\n"
	    "{\"id\":\"@0\",\"type\":\"custom\",\"parentId\":null,\"data\":{\"id\":7, \"a\\u0062\":[1.50]}}\n"
	    "{\"id\":\"@1\",\"parentId\":\"@0\"}\n");
}

static void first_kept_entry_is_translated(void **state)
{
	(void)state;
	/* Counted with the header as 0. */
	assert_migrated(HEADER_V1 V1("custom")
	                    V1("custom") "{\"type\":\"compaction\",\"firstKeptEntryIndex\":2,\"summary\":\"s\"}\n",
	                "{\"type\":\"session\",\"id\":\"sid\",\"version\":3}\n"
	                "{\"type\":\"custom\"," T ",\"message\":{\"role\":\"user\"},\"id\":\"@0\",\"parentId\":null}\n"
	                "{\"type\":\"custom\"," T
	                ",\"message\":{\"role\":\"user\"},\"id\":\"@1\",\"parentId\":\"@0\"}\n"
	                "{\"type\":\"compaction\",\"summary\":\"s\",\"id\":\"@2\",\"parentId\":\"@1\","
	                "\"firstKeptEntryId\":\"@1\"}\n");
}

/* The header, a later entry, a missing one: no id. Other values than numbers stay. */
static void invalid_first_kept_entry_is_dropped(void **state)
{
	static const char *const gone[] = {"0", "2", "3", "99", "-1", "1.5", "1e300"};

	(void)state;
	for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
		CLEANUP_BUF struct buf old = BUF_INIT;
		buf_addf(&old, HEADER_V1 "{\"type\":\"compaction\",\"firstKeptEntryIndex\":%s}\n{\"type\":\"x\"}\n",
		         gone[i]);
		assert_span_migrated(buf_span(&old), "{\"type\":\"session\",\"id\":\"sid\",\"version\":3}\n"
		                                     "{\"type\":\"compaction\",\"id\":\"@0\",\"parentId\":null}\n"
		                                     "{\"type\":\"x\",\"id\":\"@1\",\"parentId\":\"@0\"}\n");
	}
	assert_migrated(HEADER_V1 "{\"type\":\"compaction\",\"firstKeptEntryIndex\":\"1\"}\n"
	                          "{\"type\":\"custom\",\"firstKeptEntryIndex\":1}\n",
	                "{\"type\":\"session\",\"id\":\"sid\",\"version\":3}\n"
	                "{\"type\":\"compaction\",\"firstKeptEntryIndex\":\"1\",\"id\":\"@0\",\"parentId\":null}\n"
	                "{\"type\":\"custom\",\"firstKeptEntryIndex\":1,\"id\":\"@1\",\"parentId\":\"@0\"}\n");
}

static void hook_role_becomes_custom(void **state)
{
	(void)state;
	assert_migrated(
	    HEADER_V1 "{\"type\":\"message\",\"message\":{\"a\":1,\"role\":\"hookMessage\",\"b\":\"hookMessage\"}}\n"
		      "{\"type\":\"custom\",\"message\":{\"role\":\"hookMessage\"}}\n",
	    "{\"type\":\"session\",\"id\":\"sid\",\"version\":3}\n"
	    "{\"type\":\"message\",\"message\":{\"a\":1,\"role\":\"custom\",\"b\":\"hookMessage\"},\"id\":\"@0\","
	    "\"parentId\":null}\n"
	    "{\"type\":\"custom\",\"message\":{\"role\":\"hookMessage\"},\"id\":\"@1\",\"parentId\":\"@0\"}\n");
}

/* Unparsable lines are dropped, and so are lines that pi ignores; later headers stay. */
static void unparsable_lines_are_dropped(void **state)
{
	(void)state;
	assert_span_migrated(SPAN_LIT("not json\n\n" HEADER_V1 "{\"type\":\"a\"}\r\n{\"type\n"
	                              "{\"type\":\"session\",\"id\":\"later\",\"version\":2,\"x\":1}\n   \n"
	                              "{\"type\":\"b\"}\n\xff\n{\"type\":\"torn"),
	                     "{\"type\":\"session\",\"id\":\"sid\",\"version\":3}\n"
	                     "{\"type\":\"a\",\"id\":\"@0\",\"parentId\":null}\n"
	                     "{\"type\":\"session\",\"id\":\"later\",\"version\":3,\"x\":1}\n"
	                     "{\"type\":\"b\",\"id\":\"@1\",\"parentId\":\"@0\"}\n");
}

/* Deeper than the scanner's own stack. */
static void deeply_nested_values_are_copied(void **state)
{
	enum { DEPTH = 2 * JSON_DEPTH };
	CLEANUP_BUF struct buf old = BUF_INIT, want = BUF_INIT;

	(void)state;
	buf_adds(&old, HEADER_V1 "{\"a\":");
	for (int i = 0; i < DEPTH; i++)
		buf_addc(&old, '[');
	for (int i = 0; i < DEPTH; i++)
		buf_addc(&old, ']');
	buf_adds(&want, "{\"type\":\"session\",\"id\":\"sid\",\"version\":3}\n");
	buf_addspan(&want, (struct span){old.p + strlen(HEADER_V1), old.n - strlen(HEADER_V1)});
	buf_adds(&old, ",\"b\":1}\n");
	buf_adds(&want, ",\"b\":1,\"id\":\"@0\",\"parentId\":null}\n");
	assert_span_migrated(buf_span(&old), buf_cstr(&want));
}

/* A last line without a newline counts once it parses. */
static void unterminated_last_line_is_kept(void **state)
{
	(void)state;
	assert_migrated(HEADER_V1 "{\"type\":\"a\"}", "{\"type\":\"session\",\"id\":\"sid\",\"version\":3}\n"
	                                              "{\"type\":\"a\",\"id\":\"@0\",\"parentId\":null}\n");
}

/* More than one write gathers. */
static void large_file_is_migrated(void **state)
{
	CLEANUP(fixture_release) struct fixture f, after;
	CLEANUP_BUF struct buf old = BUF_INIT, out = BUF_INIT;

	(void)state;
	buf_adds(&old, HEADER_V1);
	for (unsigned i = 0; i < 40000; i++)
		buf_addf(&old, "{\"type\":\"custom\",\"n\":%u}\n{bad\n", i);
	assert_int_equal(open_bytes(&f, old.p, old.n), 0);
	migrated(f.s, &out);
	assert_int_equal(open_bytes(&after, out.p, out.n), 0);
	assert_int_equal(session_count(after.s), 40000);
	assert_int_equal(session_problem_count(after.s), 0);
	assert_path(f.s, 2, "0 1 2 ");
	assert_true(span_eq(session_entry_id(after.s, 39999), session_entry_id(f.s, 39999)));
	assert_int_equal(session_entry(after.s, 39999)->parent, 39998);
}

static void write_errors_are_returned(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct session *s = open_text(&f, HEADER_V1 V1("message"));
	CLEANUP_CLOSE int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(migrate_write(s, -1), -EBADF);
	if (full >= 0)
		assert_int_equal(migrate_write(s, full), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(entries_get_ids_and_parents),    cmocka_unit_test(key_order_is_kept),
	    cmocka_unit_test(first_kept_entry_is_translated), cmocka_unit_test(invalid_first_kept_entry_is_dropped),
	    cmocka_unit_test(hook_role_becomes_custom),       cmocka_unit_test(unparsable_lines_are_dropped),
	    cmocka_unit_test(unterminated_last_line_is_kept), cmocka_unit_test(large_file_is_migrated),
	    cmocka_unit_test(write_errors_are_returned),      cmocka_unit_test(deeply_nested_values_are_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
