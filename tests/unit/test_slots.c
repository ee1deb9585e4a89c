/* SPDX-License-Identifier: MIT */
/* The messages logged when session numbers run out; the build of this test has few. The places of names that are gone.
 */
#include "cases.h"

#define SLOTS_MAX 16u

#include "../../src/catalog/slots.c"

#include "catalog_fixture.h"

static FILE *said; /* the messages logged during the last scans */

static uint32_t look_for(struct source_fixture *p, const char *stem)
{
	int saved = dup(2);
	assert_int_equal(dup2(fileno(said), 2), 2);
	uint32_t slot = slot_of(p, "w", stem);
	assert_int_equal(dup2(saved, 2), 2);
	close(saved);
	return slot;
}

static unsigned count_said(const char *text)
{
	char line[1024];
	unsigned n = 0;
	rewind(said);
	while (fgets(line, sizeof line, said))
		n += strstr(line, text) != NULL;
	return n;
}

/* Each replacement takes a new number. A warning is logged early, and an error when no numbers are left; known sessions
 * stay. */
FIXTURE_CASE(slot_exhaustion_is_logged_early)
{
	make_dir(p, "w");
	put(p, "w/a.jsonl", HEADER_OF("a", "/"));
	put(p, "w/b.jsonl", HEADER_OF("b", "/"));
	open_place(p);
	uint32_t kept = look_for(p, "a");
	for (unsigned used = 2; used < SLOTS_MAX + 4; used++) {
		assert_int_equal(count_said("7/8 of the numbers"), used >= SLOTS_WARN_AT);
		assert_int_equal(count_said("no numbers left for new sessions"), used > SLOTS_MAX);
		assert_int_equal(look_for(p, "b") == NO_SLOT, used > SLOTS_MAX);
		replace(p, "w/b.jsonl", HEADER_OF("b", "/"));
		wait_stale();
		look_for(p, "b");
	}
	assert_int_equal(look_for(p, "a"), kept);
}

static int append_file_line(void *arg, const char *file, uint32_t slot, int err, const char *reason)
{
	buf_addf(arg, "%s %d %s\n", file, slot != NO_SLOT, reason ? reason : "");
	return 0;
}

static void expect_files(struct source_fixture *p, const char *want)
{
	CLEANUP_BUF struct buf got = BUF_INIT;
	wait_stale();
	assert_int_equal(catalog_each_file(p->c, append_file_line, &got), 0);
	assert_string_equal(buf_cstr(&got), want);
}

#define BAD " 0 no session header: this line is malformed; try sessionfs --repair\n"

/* A name that is gone, and was never shown, makes place for another one in its directory. Names of sessions
 * stay, and so does X.jsonl next to X. */
FIXTURE_CASE(names_that_are_gone_make_place)
{
	char name[64], want[256];
	make_dir(p, "w");
	put(p, "w/a.jsonl", HEADER_OF("a", "/"));
	open_place(p);
	uint32_t slot = look_for(p, "a");
	assert_int_equal(unlink(at(p, "w/a.jsonl")), 0);
	expect_files(p, "");
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "w/%d%.*s.jsonl", i, i % 20, "abcdefghijklmnopqrstuvw");
		put(p, name, "no session");
		snprintf(want, sizeof want, "%s" BAD, name);
		expect_files(p, want);
		assert_int_equal(unlink(at(p, name)), 0);
		expect_files(p, "");
	}
	assert_true(p->c->file_count < 20);
	/* The same name again, and one that has come back. */
	put(p, "w/0.jsonl", "no session");
	put(p, name, HEADER_OF("b", "/"));
	put(p, "w/a.jsonl", HEADER_OF("a", "/"));
	wait_stale();
	snprintf(want, sizeof want, "w/0.jsonl" BAD "%s 1 \nw/a.jsonl 1 \n", name);
	expect_files(p, want);
	assert_true(look_for(p, "a") != NO_SLOT && look_for(p, "a") != slot);
}

int main(void)
{
	said = tmpfile();
	if (!said)
		return 1;
	return run_cases(NULL, NULL);
}
