/* SPDX-License-Identifier: MIT */
/* The messages logged when session numbers run out; the build of this test has few. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

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
static void slot_exhaustion_is_logged_early(void **state)
{
	struct source_fixture *p = *state;
	make_dir(p, "w");
	put(p, "w/a.jsonl", HEADER("a", "/"));
	put(p, "w/b.jsonl", HEADER("b", "/"));
	open_place(p);
	uint32_t kept = look_for(p, "a");
	for (unsigned used = 2; used < SLOTS_MAX + 4; used++) {
		assert_int_equal(count_said("7/8 of the numbers"), used >= SLOTS_WARN_AT);
		assert_int_equal(count_said("no numbers left for new sessions"), used > SLOTS_MAX);
		assert_int_equal(look_for(p, "b") == NO_SLOT, used > SLOTS_MAX);
		replace(p, "w/b.jsonl", HEADER("b", "/"));
		wait_stale();
		look_for(p, "b");
	}
	assert_int_equal(look_for(p, "a"), kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(slot_exhaustion_is_logged_early),
	};
	said = tmpfile();
	if (!said)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
