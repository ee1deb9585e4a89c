/* SPDX-License-Identifier: MIT */
/* The attributes that listings carry with the names. */
#include "fixture.h"

#include "../../src/fuse/fs_impl.h"

#include <string.h>
#include <sys/stat.h>

/* --- when ------------------------------------------------------------------------------------------- */

/* Chooses for listings, each with a file, until one is a probe. Returns the number of the others. */
static unsigned until_probe(struct readdirplus *p)
{
	unsigned n = 0;
	while (readdirplus_choose(p, true) == READDIRPLUS_ALL)
		n++;
	readdirplus_probed(p);
	return n;
}

static void ignore_probes(struct readdirplus *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(until_probe(p), READDIRPLUS_PROBE_EVERY - 1);
}

/* The result of each probe is known at the next one. */
static void i11_unused_probes_stop_file_attributes(void **state)
{
	struct readdirplus p;
	(void)state;
	p = (struct readdirplus){0};
	lock_init(&p.lock, LOCK_READDIRPLUS);
	ignore_probes(&p, READDIRPLUS_UNUSED_MAX);
	for (unsigned i = 1; i < READDIRPLUS_PROBE_EVERY; i++)
		assert_int_equal(readdirplus_choose(&p, true), READDIRPLUS_ALL);
	for (unsigned i = 0; i < 3 * READDIRPLUS_PROBE_EVERY; i++)
		assert_int_equal(readdirplus_choose(&p, i % 2 == 0), READDIRPLUS_DIRS);
	readdirplus_used(&p);
	until_probe(&p);
	ignore_probes(&p, READDIRPLUS_UNUSED_MAX - 1);
	lock_destroy(&p.lock);
}

static void i11_used_probes_keep_file_attributes(void **state)
{
	struct readdirplus p;
	(void)state;
	p = (struct readdirplus){0};
	lock_init(&p.lock, LOCK_READDIRPLUS);
	for (unsigned i = 0; i < 3; i++) {
		ignore_probes(&p, READDIRPLUS_UNUSED_MAX);
		readdirplus_used(&p);
	}
	lock_destroy(&p.lock);
}

static void i11_counts_listings_with_files_only(void **state)
{
	struct readdirplus p;
	(void)state;
	p = (struct readdirplus){0};
	lock_init(&p.lock, LOCK_READDIRPLUS);
	for (unsigned i = 1; i < READDIRPLUS_PROBE_EVERY; i++) {
		assert_int_equal(readdirplus_choose(&p, true), READDIRPLUS_ALL);
		assert_int_equal(readdirplus_choose(&p, false), READDIRPLUS_ALL);
	}
	/* None of these has a file that could be the probe. */
	for (unsigned i = 0; i < 3 * READDIRPLUS_UNUSED_MAX * READDIRPLUS_PROBE_EVERY; i++) {
		assert_int_equal(readdirplus_choose(&p, true), READDIRPLUS_PROBE);
		assert_int_equal(readdirplus_choose(&p, false), READDIRPLUS_ALL);
	}
	lock_destroy(&p.lock);
}

/* --- which ------------------------------------------------------------------------------------------ */

struct brought {
	unsigned names, dirs, dirs_told, others, others_told;
};

static struct brought list(struct wire *w, const char *path)
{
	size_t n;
	struct brought b = {0};
	struct listed *all = wire_list(w, wire_walk(w, path).nodeid, 4096, &n);
	for (size_t i = 2; i < n; i++) {
		bool dir = all[i].type == S_IFDIR >> 12, told = all[i].entry.nodeid != 0;
		b.names++;
		b.dirs += dir;
		b.dirs_told += dir && told;
		b.others += !dir;
		b.others_told += !dir && told;
	}
	free(all);
	return b;
}

#define ENTRY SESSION "/entries/aaaa0002"

static void i11_unused_probes_keep_directory_attributes(void **state)
{
	struct wire *w = *state;
	struct fuse_entry_out e;
	struct brought all = list(w, ENTRY);
	assert_true(all.dirs > 0);
	assert_int_equal(all.dirs_told, all.dirs);
	assert_true(all.others_told > 4);
	w->fs->coherence.plus.unused = READDIRPLUS_UNUSED_MAX;
	struct brought dirs = list(w, ENTRY);
	assert_int_equal(dirs.names, all.names);
	assert_int_equal(dirs.dirs_told, all.dirs);
	assert_int_equal(dirs.others_told, 0);
	/* A caller that looks up only directories or missing names gets no files. */
	uint64_t entry = wire_walk(w, ENTRY).nodeid;
	assert_int_equal(wire_lookup(w, entry, "tool-calls", &e), 0);
	wire_lookup(w, entry, ".gitignore", &e);
	assert_int_equal(list(w, ENTRY).others_told, 0);
	assert_int_equal(wire_lookup(w, entry, "text.md", &e), 0);
	assert_true(S_ISREG(e.attr.mode));
	assert_int_equal(list(w, ENTRY).others_told, all.others_told);
}

static void i11_probe_omits_one_attribute(void **state)
{
	struct wire *w = *state;
	struct brought all = list(w, ENTRY);
	w->fs->coherence.plus.listings = READDIRPLUS_PROBE_EVERY - 1;
	struct brought probe = list(w, ENTRY), next = list(w, ENTRY);
	assert_int_equal(probe.names, all.names);
	assert_int_equal(probe.dirs_told, all.dirs_told);
	assert_int_equal(probe.others_told, all.others_told - 1);
	assert_int_equal(next.others_told, all.others_told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(i11_unused_probes_stop_file_attributes),
	    cmocka_unit_test(i11_used_probes_keep_file_attributes),
	    cmocka_unit_test(i11_counts_listings_with_files_only),
	    WIRED(i11_unused_probes_keep_directory_attributes),
	    WIRED(i11_probe_omits_one_attribute),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
