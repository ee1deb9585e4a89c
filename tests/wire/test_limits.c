/* SPDX-License-Identifier: MIT */
/* Behaviour beyond limits: built with small ones (base/limits.h). */
#include "../unit/linux_only.h"
#include "fixture.h"

#include "../../src/fuse/fs_impl.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ENTRIES = 40 }; /* of a session: more than the leases at a time */

#define A PROJECT "a.jsonl"
#define B PROJECT "b.jsonl"
#define ENTRIES_OF(name) "projects/home-w-app/" name "/entries"

static void put_session(struct wire *w, const char *path)
{
	wire_file(w, path, HEADER_OF("x", "/home/w/app"));
	for (int i = 0; i < ENTRIES; i++) {
		char line[256];
		snprintf(line, sizeof line,
		         LINE({"type":"message","id":"%08x","parentId":null,"message":{"role":"user","content":"Go."}}),
		               i);
		wire_append(w, path, line);
	}
	wire_age(w, path, 10000);
}

static int set_up(void **state)
{
	struct wire *w = prepare();
	put_session(w, A);
	put_session(w, B);
	wire_open(w, false, ALL_FLAGS);
	*state = w;
	return 0;
}

/* Returns the number of the session's entries that the kernel may keep. Sets *ret_slot to its slot. */
static unsigned look_at_all(struct wire *w, const char *entries, uint32_t *ret_slot)
{
	uint64_t dir = wire_walk(w, entries).nodeid;
	unsigned kept = 0;
	for (int i = 0; i < ENTRIES; i++) {
		char name[16];
		struct fuse_entry_out e;
		snprintf(name, sizeof name, "%08x", i);
		assert_int_equal(wire_lookup(w, dir, name, &e), 0);
		kept += e.attr_valid > 0;
	}
	*ret_slot = node_unpack(dir).slot;
	return kept;
}

static void wait_for_end(struct wire *w, uint32_t slot)
{
	while (leases_may_be_active(w->fs, slot))
		usleep(10 * 1000);
	/* Expired leases are collected at intervals. */
	usleep(50 * 1000);
}

STATE_CASE(expired_leases_are_reused, set_up, teardown)
{
	uint32_t a, b;
	NEEDS_WATCHES();
	unsigned most = look_at_all(w, ENTRIES_OF("a"), &a);
	assert_in_range(most, 1, ENTRIES - 1);
	assert_int_equal(look_at_all(w, ENTRIES_OF("b"), &b), 0);
	for (int i = 0; i < 2; i++) {
		wait_for_end(w, a);
		assert_int_equal(look_at_all(w, ENTRIES_OF("b"), &b), most);
		assert_int_equal(look_at_all(w, ENTRIES_OF("a"), &a), 0);
		wait_for_end(w, b);
		assert_int_equal(look_at_all(w, ENTRIES_OF("a"), &a), most);
	}
}

RUN_CASES(NULL, NULL)
