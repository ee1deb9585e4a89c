#include "samples.h"
#include "wire.h"

#include "../../src/fs_impl.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define ALL_FLAGS                                                                                                      \
	(FUSE_ASYNC_READ | FUSE_ATOMIC_O_TRUNC | FUSE_BIG_WRITES | FUSE_AUTO_INVAL_DATA | FUSE_DO_READDIRPLUS |        \
	 FUSE_READDIRPLUS_AUTO | FUSE_WRITEBACK_CACHE | FUSE_NO_OPEN_SUPPORT | FUSE_PARALLEL_DIROPS |                  \
	 FUSE_CACHE_SYMLINKS | FUSE_NO_OPENDIR_SUPPORT | FUSE_MAX_PAGES)

static struct wire *prepare(void)
{
	struct wire *w = malloc(sizeof *w);
	wire_source(w);
	wire_file(w, FILE_ONE, one);
	wire_file(w, PROJECT "2026-01-02T04-00-00-000Z_two.jsonl", fork_of_one);
	wire_file(w, "flat.jsonl", "{\"type\":\"session\",\"id\":\"flat\"}\n");
	wire_age(w, FILE_ONE, 1000);
	return w;
}

static int setup(void **state)
{
	struct wire *w = prepare();
	wire_open(w, false, ALL_FLAGS);
	*state = w;
	return 0;
}

static int setup_read_only(void **state)
{
	struct wire *w = prepare();
	wire_open(w, true, ALL_FLAGS);
	*state = w;
	return 0;
}

static int setup_unwatched(void **state)
{
	struct wire *w = prepare();
	w->unwatched = true;
	wire_open(w, true, ALL_FLAGS);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct wire *w = *state;
	wire_stop(w);
	wire_close(w);
	free(w);
	return 0;
}

static void settles_what_the_kernel_may_do(void **state)
{
	struct wire *w = *state;
	uint32_t flags = w->init.flags;
	assert_true(flags & FUSE_DO_READDIRPLUS);
	assert_true(flags & FUSE_AUTO_INVAL_DATA);
	assert_true(flags & FUSE_ATOMIC_O_TRUNC);
	assert_false(flags & FUSE_READDIRPLUS_AUTO);
	assert_false(flags & FUSE_WRITEBACK_CACHE);
	assert_false(flags & FUSE_CACHE_SYMLINKS);
}

static void reads_what_lookup_found(void **state)
{
	struct wire *w = *state;
	struct reply r;
	struct fuse_open_out open;
	struct fuse_entry_out e = wire_walk(w, SESSION "/entries/aaaa0001/text.md");
	assert_int_equal(e.attr.ino, e.nodeid);
	assert_int_equal(e.attr.mode & (mode_t)S_IFMT, S_IFREG);
	assert_int_equal(e.attr.mode & 0222, 0);
	assert_int_equal(e.attr.size, strlen("How big is it?\n"));
	assert_int_equal(e.attr.blocks, 1);
	assert_int_equal(e.attr.nlink, 1);
	assert_int_equal(e.attr.mtime, 1767323046);
	assert_true(e.entry_valid >= 3600 && e.attr_valid >= 3600);
	assert_int_equal(wire_open_file(w, e.nodeid, O_RDONLY, &open), 0);
	assert_true(open.open_flags & FOPEN_KEEP_CACHE);
	assert_true(open.open_flags & FOPEN_NOFLUSH);
	assert_false(open.open_flags & FOPEN_DIRECT_IO);
	assert_int_equal(wire_read(w, e.nodeid, open.fh, 0, 4096, &r), 0);
	assert_int_equal(r.n, e.attr.size);
	assert_memory_equal(r.p, "How big is it?\n", r.n);
	struct fuse_release_in release = {.fh = open.fh};
	assert_int_equal(wire_call(w, FUSE_RELEASE, e.nodeid, &release, sizeof release, &r), 0);
}

static void says_for_how_long_a_name_is_missing(void **state)
{
	struct wire *w = *state;
	struct fuse_entry_out e;
	uint64_t project = wire_walk(w, "projects/home-w-app").nodeid, session = wire_walk(w, SESSION).nodeid;
	/* What can never be; what would be told; what may be written at any moment. */
	assert_int_equal(wire_lookup(w, FUSE_ROOT_ID, ".gitignore", &e), 0);
	assert_int_equal(e.nodeid, 0);
	assert_true(e.entry_valid >= 3600);
	assert_int_equal(wire_lookup(w, project, "no-such-session", &e), 0);
	assert_int_equal(e.nodeid, 0);
	assert_int_equal(e.entry_valid, 60);
	assert_int_equal(wire_lookup(w, session, "errors", &e), 0);
	assert_int_equal(e.nodeid, 0);
	assert_int_equal(e.entry_valid + e.entry_valid_nsec, 0);
}

/* What was given out above the sessions is told of at once, also when nothing of the session was. */
static void tells_what_is_above_a_session(void **state)
{
	struct wire *w = *state;
	struct fuse_entry_out e;
	wire_age(w, PROJECT "2026-01-02T04-00-00-000Z_two.jsonl", 1000);
	wire_age(w, "flat.jsonl", 1000);
	assert_int_equal(wire_lookup(w, FUSE_ROOT_ID, "projects", &e), 0);
	assert_int_equal(e.attr_valid, 60);
	wire_append(w, FILE_ONE, more);
	wire_notification(w);
	/* With the session it would begin there. */
	assert_int_equal(w->dropped.ino, FUSE_ROOT_ID);
	wire_notification(w);
	assert_int_not_equal(w->dropped.ino, FUSE_ROOT_ID);
}

static void reads_links(void **state)
{
	struct wire *w = *state;
	struct reply r;
	struct fuse_entry_out e = wire_walk(w, SESSION "/labels/counting");
	assert_int_equal(e.attr.mode & (mode_t)S_IFMT, S_IFLNK);
	assert_int_equal(wire_call(w, FUSE_READLINK, e.nodeid, NULL, 0, &r), 0);
	assert_int_equal(r.n, e.attr.size);
	assert_memory_equal(r.p, "../entries/aaaa0002", r.n);
	assert_int_equal(wire_call(w, FUSE_READLINK, FUSE_ROOT_ID, NULL, 0, &r), -EINVAL);
}

static void knows_its_file_system(void **state)
{
	struct wire *w = *state;
	struct reply r;
	assert_int_equal(wire_call(w, FUSE_STATFS, FUSE_ROOT_ID, NULL, 0, &r), 0);
	const struct fuse_statfs_out *out = (const void *)r.p;
	assert_int_equal(out->st.namelen, 255);
	assert_true(out->st.blocks > 0 && out->st.bsize > 0);
}

/* --- listings ---------------------------------------------------------------- */

struct listed {
	char name[256];
	uint64_t ino, off;
	uint32_t type;
	struct fuse_entry_out entry;
};

/* Everything in a directory, read in pieces of so many bytes. The caller frees it. */
static struct listed *list(struct wire *w, uint64_t dir, uint32_t piece, size_t *ret_n)
{
	static struct reply r;
	struct listed *all = NULL;
	size_t n = 0;
	uint64_t off = 0;
	for (;;) {
		assert_int_equal(wire_readdirplus(w, dir, off, piece, &r), 0);
		assert_true(r.n <= piece);
		if (r.n == 0)
			break;
		for (size_t at = 0; at < r.n;) {
			const struct fuse_direntplus *d = (const void *)(r.p + at);
			struct listed l = {
			    .ino = d->dirent.ino, .off = d->dirent.off, .type = d->dirent.type, .entry = d->entry_out};
			assert_in_range(d->dirent.namelen, 1, 255);
			memcpy(l.name, d->dirent.name, d->dirent.namelen);
			all = realloc(all, (n + 1) * sizeof *all);
			all[n++] = l;
			at += FUSE_DIRENTPLUS_SIZE(d);
		}
		off = all[n - 1].off;
	}
	*ret_n = n;
	return all;
}

static void lists_the_same_in_any_portion(void **state)
{
	struct wire *w = *state;
	static const char *const dirs[] = {"",
	                                   "projects",
	                                   "projects/home-w-app",
	                                   SESSION,
	                                   SESSION "/entries",
	                                   SESSION "/entries/aaaa0002",
	                                   SESSION "/branches",
	                                   SESSION "/branches/aaaa0006"};
	for (size_t d = 0; d < sizeof dirs / sizeof *dirs; d++) {
		uint64_t dir = wire_walk(w, dirs[d]).nodeid;
		size_t whole_n, pieces_n;
		struct listed *whole = list(w, dir, 100000, &whole_n), *pieces = list(w, dir, 256, &pieces_n);
		assert_int_equal(whole_n, pieces_n);
		for (size_t i = 0; i < whole_n; i++) {
			assert_string_equal(whole[i].name, pieces[i].name);
			assert_int_equal(whole[i].off, pieces[i].off);
			assert_true((int64_t)whole[i].off > 0);
		}
		assert_string_equal(whole[0].name, ".");
		assert_string_equal(whole[1].name, "..");
		assert_int_equal(whole[0].entry.nodeid | whole[1].entry.nodeid, 0);
		assert_int_equal(whole[0].ino, dir);
		free(whole);
		free(pieces);
	}
}

static uint64_t parent_listed(struct wire *w, const char *path)
{
	size_t n;
	struct listed *all = list(w, wire_walk(w, path).nodeid, 100000, &n);
	uint64_t parent = all[1].ino;
	free(all);
	return parent;
}

static void knows_parents(void **state)
{
	struct wire *w = *state;
	assert_int_equal(parent_listed(w, ""), FUSE_ROOT_ID);
	assert_int_equal(parent_listed(w, "projects"), FUSE_ROOT_ID);
	assert_int_equal(parent_listed(w, "projects/home-w-app"), wire_walk(w, "projects").nodeid);
	assert_int_equal(parent_listed(w, SESSION), wire_walk(w, "projects/home-w-app").nodeid);
	assert_int_equal(parent_listed(w, SESSION "/entries"), wire_walk(w, SESSION).nodeid);
	assert_int_equal(parent_listed(w, SESSION "/entries/aaaa0002"), wire_walk(w, SESSION "/entries").nodeid);
	assert_int_equal(parent_listed(w, SESSION "/entries/aaaa0002/tool-calls"),
	                 wire_walk(w, SESSION "/entries/aaaa0002").nodeid);
	assert_int_equal(parent_listed(w, SESSION "/branches/aaaa0003"), wire_walk(w, SESSION "/branches").nodeid);
}

static void check_contents(struct wire *w, const struct fuse_entry_out *e, const char *path)
{
	static struct reply r;
	struct fuse_open_out open;
	int rc = wire_open_file(w, e->nodeid, O_RDONLY, &open);
	if (rc == 0)
		rc = wire_read(w, e->nodeid, open.fh, 0, 100000, &r);
	if (rc || r.n != e->attr.size)
		fail_msg("%s: %s, %zu bytes read, %zu promised", path, strerror(-rc), r.n, (size_t)e->attr.size);
	struct fuse_release_in release = {.fh = open.fh};
	assert_int_equal(wire_call(w, FUSE_RELEASE, e->nodeid, &release, sizeof release, &r), 0);
}

static void check_link(struct wire *w, const struct fuse_entry_out *e, const char *path)
{
	static struct reply r;
	assert_int_equal(wire_call(w, FUSE_READLINK, e->nodeid, NULL, 0, &r), 0);
	if (r.n != e->attr.size || r.n == 0)
		fail_msg("%s: a link of %zu bytes, %zu promised", path, r.n, (size_t)e->attr.size);
}

/* Every listed name is found, as what it was listed; every file has as many bytes as it says. */
static unsigned check_below(struct wire *w, uint64_t dir, const char *path)
{
	size_t n;
	unsigned count = 0;
	struct listed *all = list(w, dir, 4096, &n);
	for (size_t i = 2; i < n; i++) {
		const struct listed *l = &all[i];
		struct fuse_entry_out e;
		char below[1024];
		snprintf(below, sizeof below, "%s/%s", path, l->name);
		if (wire_lookup(w, dir, l->name, &e) || e.nodeid == 0)
			fail_msg("%s is listed but not found", below);
		if (e.nodeid != l->ino || (e.attr.mode & (mode_t)S_IFMT) >> 12 != l->type)
			fail_msg("%s is not what was listed", below);
		if (l->entry.nodeid &&
		    (l->entry.nodeid != e.nodeid || memcmp(&l->entry.attr, &e.attr, sizeof e.attr) != 0))
			fail_msg("%s was listed with other attributes", below);
		count++;
		if (S_ISDIR(e.attr.mode))
			count += check_below(w, e.nodeid, below);
		else if (S_ISLNK(e.attr.mode))
			check_link(w, &e, below);
		else
			check_contents(w, &e, below);
	}
	free(all);
	return count;
}

static void keeps_every_promise_of_the_tree(void **state)
{
	struct wire *w = *state;
	assert_true(check_below(w, FUSE_ROOT_ID, "") > 100);
}

static void lists_plainly_too(void **state)
{
	struct wire *w = *state;
	struct reply r;
	struct fuse_read_in in = {.size = 4096};
	assert_int_equal(wire_call(w, FUSE_READDIR, FUSE_ROOT_ID, &in, sizeof in, &r), 0);
	const struct fuse_dirent *d = (const void *)r.p;
	assert_int_equal(d->ino, FUSE_ROOT_ID);
	assert_int_equal(d->off, 1);
	assert_memory_equal(d->name, ".", 1);
	bool found = false;
	for (size_t at = 0; at < r.n; at += FUSE_DIRENT_SIZE(d)) {
		d = (const void *)(r.p + at);
		found |= d->namelen == 8 && memcmp(d->name, "projects", 8) == 0 && d->type == S_IFDIR >> 12;
		assert_false(d->namelen == 7 && memcmp(d->name, ".events", 7) == 0);
	}
	assert_true(found);
}

static int open_dir(struct wire *w, const char *path)
{
	static struct reply r;
	struct fuse_open_in in = {.flags = O_RDONLY | O_DIRECTORY};
	int rc = wire_call(w, FUSE_OPENDIR, wire_walk(w, path).nodeid, &in, sizeof in, &r);
	return rc ? rc : (int)(((const struct fuse_open_out *)(const void *)r.p)->open_flags & FOPEN_CACHE_DIR);
}

/* How many notifications about it come when the kernel asks for the attributes of a node. */
static unsigned told_by_getattr(struct wire *w, uint64_t node)
{
	static struct reply r;
	unsigned before = w->notifications;
	assert_int_equal(
	    wire_call(w, FUSE_GETATTR, node, &(struct fuse_getattr_in){0}, sizeof(struct fuse_getattr_in), &r), 0);
	if (w->notifications > before) {
		assert_int_equal(w->dropped.ino, node);
		assert_int_equal(w->dropped.off, 0);
		assert_int_equal(w->dropped.len, 0);
	}
	return w->notifications - before;
}

static void list_away(struct wire *w, uint64_t dir)
{
	size_t n;
	free(list(w, dir, 4096, &n));
}

static void drops_listings_that_other_files_change(void **state)
{
	struct wire *w = *state;
	struct fuse_entry_out e;
	uint64_t project = wire_walk(w, "projects/home-w-app").nodeid, projects = wire_walk(w, "projects").nodeid;
	uint64_t session = wire_walk(w, SESSION).nodeid, entry = wire_walk(w, SESSION "/entries/aaaa0001").nodeid;
	assert_int_equal(open_dir(w, "projects"), -ENOSYS);
	/* What was found on the way changes the catalog's epoch: the first listings do not count. */
	wire_age(w, PROJECT "2026-01-02T04-00-00-000Z_two.jsonl", 1000);
	wire_age(w, "flat.jsonl", 1000);
	usleep(2 * CATALOG_FRESH_MS * 1000);
	for (int i = 0; i < 2; i++) {
		list_away(w, FUSE_ROOT_ID);
		list_away(w, projects);
		list_away(w, project);
		list_away(w, session);
		list_away(w, entry);
	}
	assert_int_equal(told_by_getattr(w, project) + told_by_getattr(w, session) + told_by_getattr(w, entry), 0);

	wire_file(w, PROJECT "old.jsonl", "{\"type\":\"session\",\"id\":\"old\"}\n");
	wire_age(w, PROJECT "old.jsonl", 100000);
	usleep(2 * CATALOG_FRESH_MS * 1000);
	assert_int_equal(told_by_getattr(w, project), 1);
	assert_int_equal(told_by_getattr(w, session), 1);
	assert_int_equal(told_by_getattr(w, entry), 0);
	/* And again until it is listed, whichever way the attributes come. */
	assert_int_equal(told_by_getattr(w, project), 1);
	unsigned before = w->notifications;
	assert_int_equal(wire_lookup(w, projects, "home-w-app", &e), 0);
	assert_int_equal(w->notifications, before + 1);
	list_away(w, projects);
	assert_int_equal(w->notifications, before + 2);
	assert_int_equal(w->dropped.ino, project);
	list_away(w, project);
	list_away(w, project);
	assert_int_equal(told_by_getattr(w, project), 0);

	wire_remove(w, PROJECT "old.jsonl");
	usleep(2 * CATALOG_FRESH_MS * 1000);
	assert_int_equal(told_by_getattr(w, project), 1);
}

static void drops_listings_made_just_after_a_change(void **state)
{
	struct wire *w = *state;
	uint64_t entry = wire_walk(w, SESSION "/entries/aaaa0001").nodeid;
	wire_append(w, FILE_ONE, more);
	usleep(2 * CATALOG_FRESH_MS * 1000);
	list_away(w, entry);
	assert_int_equal(told_by_getattr(w, entry), 1);
	wire_age(w, FILE_ONE, 1000);
	usleep(2 * CATALOG_FRESH_MS * 1000);
	list_away(w, entry);
	assert_int_equal(told_by_getattr(w, entry), 0);
}

/* Directories of live sessions are noted as they come; those that were listed again since are forgotten. */
static void notes_of_listings_do_not_pile_up(void **state)
{
	enum { ROUNDS = 100, AT_ONCE = 100 };
	struct wire *w = *state;
	struct fs fs = {.tree = w->tree, .catalog = w->catalog, .no_opendir = true};
	struct node dir = node_unpack(wire_walk(w, SESSION "/entries/aaaa0001").nodeid);
	struct tree_attr young, old = {0};
	listings_init(&fs.listings);
	for (uint32_t i = 0; i < ROUNDS * AT_ONCE; i++) {
		dir.entry = i;
		young.node = node_pack(dir);
		clock_gettime(CLOCK_REALTIME, &young.mtime);
		assert_int_equal(listings_begin(&fs, &young), 0);
		assert_true(listings_is_noted(&fs, young.node));
		if (i < AT_ONCE)
			continue;
		dir.entry = i - AT_ONCE;
		old.node = node_pack(dir);
		assert_int_equal(listings_begin(&fs, &old), 0);
		assert_false(listings_is_noted(&fs, old.node));
	}
	for (uint32_t i = (ROUNDS - 1) * AT_ONCE; i < ROUNDS * AT_ONCE; i++) {
		dir.entry = i;
		assert_true(listings_is_noted(&fs, node_pack(dir)));
	}
	assert_true(fs.listings.cap <= AT_ONCE * 8);
	listings_release(&fs.listings);
}

/* --- bad requests ------------------------------------------------------------ */

static void bounds_of_reads(void **state)
{
	struct wire *w = *state;
	struct reply r;
	static const char *const files[] = {SESSION "/session.jsonl", SESSION "/transcript.md", SESSION "/title",
	                                    SESSION "/entries/aaaa0001/text.md", "README.md"};
	static const uint64_t far[] = {100000000, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct fuse_entry_out e = wire_walk(w, files[i]);
		for (size_t j = 0; j < sizeof far / sizeof *far; j++) {
			int rc = wire_read(w, e.nodeid, 0, far[j], 4096, &r);
			assert_true(rc == 0 || rc == -EINVAL);
			assert_int_equal(r.n, 0);
		}
		assert_int_equal(wire_read(w, e.nodeid, 0, 0, 0, &r), 0);
		assert_int_equal(r.n, 0);
		assert_int_equal(wire_read(w, e.nodeid, 0, 0, UINT32_MAX, &r), 0);
		assert_int_equal(r.n, e.attr.size);
		assert_int_equal(wire_read(w, e.nodeid, 0, e.attr.size - 1, 100, &r), 0);
		assert_int_equal(r.n, 1);
		assert_int_equal(wire_read(w, e.nodeid, 0, e.attr.size, 100, &r), 0);
		assert_int_equal(r.n, 0);
	}
	assert_int_equal(wire_read(w, wire_walk(w, SESSION).nodeid, 0, 0, 100, &r), -EISDIR);
}

static void bounds_of_listings(void **state)
{
	struct wire *w = *state;
	struct reply r;
	static const char *const dirs[] = {"",
	                                   "projects",
	                                   "sessions",
	                                   "projects/home-w-app",
	                                   SESSION,
	                                   SESSION "/forks",
	                                   SESSION "/entries",
	                                   SESSION "/labels",
	                                   SESSION "/branches",
	                                   SESSION "/branches/aaaa0006",
	                                   SESSION "/entries/aaaa0002/tool-calls",
	                                   SESSION "/entries/aaaa0003/images",
	                                   SESSION "/entries/aaaa0001/children"};
	static const uint64_t far[] = {3, 66, 1000000, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		uint64_t dir = wire_walk(w, dirs[i]).nodeid;
		for (size_t j = 0; j < sizeof far / sizeof *far; j++)
			wire_readdirplus(w, dir, far[j], 4096, &r);
		assert_int_equal(wire_readdirplus(w, dir, 0, 0, &r), 0);
		assert_int_equal(r.n, 0);
		assert_int_equal(wire_readdirplus(w, dir, 0, 10, &r), 0);
		assert_int_equal(r.n, 0);
		assert_int_equal(wire_readdirplus(w, dir, 0, UINT32_MAX, &r), 0);
	}
	assert_int_equal(wire_readdirplus(w, wire_walk(w, SESSION "/title").nodeid, 0, 4096, &r), -ENOTDIR);
}

/* Ids nobody was given, into every operation that takes one: an answer each time, never a crash. */
static void unknown_nodes(void **state)
{
	struct wire *w = *state;
	struct reply r;
	uint64_t title = wire_walk(w, SESSION "/title").nodeid,
		 entry = wire_walk(w, SESSION "/entries/aaaa0001").nodeid;
	uint64_t ids[300] = {
	    0, 3, UINT64_MAX, UINT64_C(1) << 63, title + 1, title ^ (UINT64_C(1) << 40), entry + (1 << 24)};
	srand(1);
	for (size_t i = 7; i < 300; i++)
		ids[i] = (uint64_t)(i % 128) << 57 | (uint64_t)(rand() % 4) << 36 | (uint64_t)(rand() % 9) << 12 |
		         (uint64_t)(rand() % 4);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		struct fuse_getattr_in getattr = {0};
		struct fuse_open_in open = {.flags = O_RDONLY};
		struct fuse_access_in access = {.mask = R_OK};
		struct fuse_entry_out e;
		wire_call(w, FUSE_GETATTR, ids[i], &getattr, sizeof getattr, &r);
		wire_call(w, FUSE_ACCESS, ids[i], &access, sizeof access, &r);
		wire_lookup(w, ids[i], "entries", &e);
		wire_lookup(w, ids[i], "", &e);
		wire_lookup(w, ids[i], "1", &e);
		wire_call(w, FUSE_READLINK, ids[i], NULL, 0, &r);
		wire_call(w, FUSE_OPENDIR, ids[i], &open, sizeof open, &r);
		wire_readdirplus(w, ids[i], 0, 4096, &r);
		wire_read(w, ids[i], 0, 0, 4096, &r);
		if (i < 4)
			assert_int_not_equal(wire_call(w, FUSE_GETATTR, ids[i], &getattr, sizeof getattr, &r), 0);
	}
}

static void unknown_handles(void **state)
{
	struct wire *w = *state;
	struct reply r;
	uint64_t node = wire_walk(w, SESSION "/title").nodeid;
	assert_int_equal(wire_read(w, node, 1, 0, 100, &r), -EBADF);
	assert_int_equal(wire_read(w, node, UINT64_MAX, 0, 100, &r), -EBADF);
	struct fuse_release_in release = {.fh = 17};
	assert_int_equal(wire_call(w, FUSE_RELEASE, node, &release, sizeof release, &r), 0);
}

static void forgets_without_an_answer(void **state)
{
	struct wire *w = *state;
	struct fuse_entry_out e = wire_walk(w, SESSION "/title");
	struct fuse_forget_in one_lookup = {.nlookup = 1};
	struct fuse_batch_forget_in batch = {.count = 1};
	struct fuse_forget_one nodes[] = {{e.nodeid, 1}};
	wire_send(w, FUSE_FORGET, e.nodeid, &one_lookup, sizeof one_lookup, NULL, 0);
	wire_send(w, FUSE_BATCH_FORGET, 0, &batch, sizeof batch, nodes, sizeof nodes);
	assert_false(wire_wait(w, 50));
	assert_int_equal(wire_walk(w, SESSION "/title").nodeid, e.nodeid);
}

static void check_refusals(struct wire *w, int refusal)
{
	struct reply r;
	uint64_t dir = wire_walk(w, SESSION "/entries").nodeid, file = wire_walk(w, SESSION "/title").nodeid;
	struct fuse_open_out open;
	struct fuse_write_in write = {.size = 1};
	struct fuse_setattr_in setattr = {.valid = FATTR_SIZE};
	struct fuse_fallocate_in fallocate = {.length = 1};
	struct {
		struct fuse_create_in in;
		char name[8];
	} create = {{.flags = O_WRONLY | O_CREAT}, "new"};
	struct {
		struct fuse_mknod_in in;
		char name[8];
	} mknod = {{.mode = S_IFREG | 0644}, "new"};
	struct {
		struct fuse_mkdir_in in;
		char name[8];
	} mkdir = {{.mode = 0755}, "new"};
	struct {
		struct fuse_rename2_in in;
		char names[10];
	} rename = {{.newdir = dir}, "title\0new"};
	struct {
		struct fuse_link_in in;
		char name[8];
	} link = {{.oldnodeid = file}, "new"};

	assert_int_equal(wire_open_file(w, file, O_WRONLY, &open), refusal);
	assert_int_equal(wire_open_file(w, file, O_RDWR, &open), refusal);
	assert_int_equal(wire_open_file(w, file, O_RDONLY | O_TRUNC, &open), refusal);
	wire_send(w, FUSE_WRITE, file, &write, sizeof write, "x", 1);
	wire_receive(w, &r);
	assert_int_equal(r.error, -EBADF);
	assert_int_equal(wire_call(w, FUSE_SETATTR, file, &setattr, sizeof setattr, &r), refusal);
	assert_int_equal(wire_call(w, FUSE_FALLOCATE, file, &fallocate, sizeof fallocate, &r), refusal);
	assert_int_equal(wire_call(w, FUSE_CREATE, dir, &create, sizeof create, &r), refusal);
	assert_int_equal(wire_call(w, FUSE_MKNOD, dir, &mknod, sizeof mknod, &r), refusal);
	assert_int_equal(wire_call(w, FUSE_MKDIR, dir, &mkdir, sizeof mkdir, &r), refusal);
	assert_int_equal(wire_call(w, FUSE_UNLINK, dir, "title", 6, &r), refusal);
	assert_int_equal(wire_call(w, FUSE_RMDIR, dir, "entries", 8, &r), refusal);
	assert_int_equal(wire_call(w, FUSE_SYMLINK, dir, "new\0target", 11, &r), refusal);
	assert_int_equal(wire_call(w, FUSE_RENAME2, dir, &rename, sizeof rename, &r), refusal);
	assert_int_equal(wire_call(w, FUSE_LINK, dir, &link, sizeof link, &r), refusal);
	assert_int_equal(wire_call(w, FUSE_GETXATTR, file, &(struct fuse_getxattr_in){.size = 100}, 8, &r), -ENOSYS);
}

static void refuses_writes(void **state)
{
	check_refusals(*state, -EPERM);
}

static void refuses_writes_read_only(void **state)
{
	check_refusals(*state, -EROFS);
}

static int may(struct wire *w, const char *path, uint32_t mask)
{
	struct reply r;
	return wire_call(w, FUSE_ACCESS, wire_walk(w, path).nodeid, &(struct fuse_access_in){.mask = mask}, 8, &r);
}

static void tells_who_asks_what_is_allowed(void **state)
{
	struct wire *w = *state;
	assert_int_equal(may(w, SESSION "/title", F_OK), 0);
	assert_int_equal(may(w, SESSION "/title", R_OK), 0);
	assert_int_equal(may(w, SESSION "/title", W_OK), -EACCES);
	assert_int_equal(may(w, SESSION "/title", X_OK), -EACCES);
	assert_int_equal(may(w, SESSION, R_OK | X_OK), 0);
	assert_int_equal(may(w, SESSION, W_OK), 0);
	assert_int_equal(may(w, SESSION "/entries", W_OK), -EACCES);
}

/* --- open files -------------------------------------------------------------- */

static void read_only_opens_nothing(void **state)
{
	struct wire *w = *state;
	struct reply r;
	struct fuse_open_out open;
	struct fuse_entry_out e = wire_walk(w, SESSION "/title");
	assert_int_equal(wire_open_file(w, e.nodeid, O_RDONLY, &open), -ENOSYS);
	assert_int_equal(wire_read(w, e.nodeid, 0, 0, 100, &r), 0);
	assert_int_equal(r.n, e.attr.size);
	/* Or every close would ask. */
	assert_int_equal(
	    wire_call(w, FUSE_FLUSH, e.nodeid, &(struct fuse_flush_in){0}, sizeof(struct fuse_flush_in), &r), -ENOSYS);
	assert_int_equal(may(w, SESSION, W_OK), -EROFS);
	assert_int_equal(wire_lookup(w, FUSE_ROOT_ID, ".events", &e), 0);
	assert_int_equal(e.nodeid, 0);
}

static void old_kernels_open_everything(void **state)
{
	struct wire *w = prepare();
	struct fuse_open_out open;
	wire_open(w, true, FUSE_DO_READDIRPLUS);
	/* Listings are kept of what is told of, and only if nothing happens in there that changes no time. */
	assert_int_equal(open_dir(w, SESSION "/entries"), FOPEN_CACHE_DIR);
	assert_int_equal(open_dir(w, SESSION), 0);
	wire_append(w, FILE_ONE, more);
	assert_int_equal(open_dir(w, SESSION "/entries"), 0);
	assert_int_equal(wire_open_file(w, wire_walk(w, SESSION "/title").nodeid, O_RDONLY, &open), 0);
	*state = w;
	teardown(state);
}

static void a_reader_of_a_growing_session_sees_one_text(void **state)
{
	struct wire *w = *state;
	static struct reply before, after, now;
	struct fuse_open_out open, other;
	uint64_t node = wire_walk(w, SESSION "/tree.txt").nodeid;
	assert_int_equal(wire_open_file(w, node, O_RDONLY, &open), 0);
	assert_true(open.open_flags & FOPEN_KEEP_CACHE);

	wire_age(w, FILE_ONE, 3);
	usleep(2 * CATALOG_FRESH_MS * 1000);
	assert_int_equal(wire_open_file(w, node, O_RDONLY, &open), 0);
	assert_true(open.open_flags & FOPEN_DIRECT_IO);
	assert_false(open.open_flags & FOPEN_KEEP_CACHE);
	assert_int_equal(wire_read(w, node, open.fh, 0, 100000, &before), 0);
	assert_int_equal(before.n, wire_walk(w, SESSION "/tree.txt").attr.size);

	wire_append(w, FILE_ONE, more);
	usleep(2 * CATALOG_FRESH_MS * 1000);
	assert_int_equal(wire_open_file(w, node, O_RDONLY, &other), 0);
	assert_int_not_equal(open.fh, other.fh);
	assert_int_equal(wire_read(w, node, open.fh, 0, 100000, &after), 0);
	assert_int_equal(wire_read(w, node, other.fh, 0, 100000, &now), 0);
	assert_int_equal(before.n, after.n);
	assert_memory_equal(before.p, after.p, before.n);
	assert_true(now.n > before.n);
	assert_int_equal(wire_read(w, node, open.fh, 10, 5, &after), 0);
	assert_int_equal(after.n, 5);
	assert_memory_equal(before.p + 10, after.p, 5);
	assert_int_equal(wire_read(w, node, open.fh, UINT64_MAX, 5, &after), 0);
	assert_int_equal(after.n, 0);
	struct fuse_release_in release = {.fh = open.fh};
	assert_int_equal(wire_call(w, FUSE_RELEASE, node, &release, sizeof release, &after), 0);
	assert_int_equal(wire_read(w, node, open.fh, 0, 5, &after), -EBADF);
	/* The other one is left open, as by a program that is killed with the mount. */
}

static void many_open_files(void **state)
{
	struct wire *w = *state;
	static struct reply r;
	struct fuse_open_out open[50];
	uint64_t node = wire_walk(w, SESSION "/tree.txt").nodeid;
	wire_age(w, FILE_ONE, 1);
	usleep(2 * CATALOG_FRESH_MS * 1000);
	for (size_t i = 0; i < 50; i++) {
		assert_int_equal(wire_open_file(w, node, O_RDONLY, &open[i]), 0);
		assert_int_equal(open[i].fh, i + 1);
	}
	struct fuse_release_in release = {.fh = 20};
	assert_int_equal(wire_call(w, FUSE_RELEASE, node, &release, sizeof release, &r), 0);
	assert_int_equal(wire_open_file(w, node, O_RDONLY, &open[19]), 0);
	assert_int_equal(open[19].fh, 20);
}

/* --- .events ----------------------------------------------------------------- */

static uint64_t open_events(struct wire *w, uint64_t *ret_node)
{
	struct fuse_open_out open;
	struct fuse_entry_out e = wire_walk(w, ".events");
	assert_int_equal(e.attr.mode, S_IFREG | 0444);
	assert_int_equal(e.attr.size, 0);
	assert_int_equal(wire_open_file(w, e.nodeid, O_RDONLY, &open), 0);
	assert_true(open.open_flags & FOPEN_DIRECT_IO);
	assert_true(open.open_flags & FOPEN_NONSEEKABLE);
	*ret_node = e.nodeid;
	return open.fh;
}

static uint64_t send_read(struct wire *w, uint64_t node, uint64_t fh, uint32_t flags)
{
	struct fuse_read_in in = {.fh = fh, .size = 4096, .flags = flags};
	return wire_send(w, FUSE_READ, node, &in, sizeof in, NULL, 0);
}

static void events_come_when_something_happens(void **state)
{
	struct wire *w = *state;
	struct reply r;
	uint64_t node, fh = open_events(w, &node);
	uint64_t waiting = send_read(w, node, fh, 0);
	assert_false(wire_wait(w, 100));
	/* Others are answered meanwhile. */
	wire_walk(w, SESSION "/title");
	wire_append(w, FILE_ONE, more);
	assert_int_equal(wire_receive(w, &r), waiting);
	assert_int_equal(r.error, 0);
	r.p[r.n] = '\0';
	assert_non_null(
	    strstr(r.p, "\"event\":\"appended\",\"session\":\"one\",\"path\":\"" SESSION "\",\"entries\":[{\"id\":"));

	waiting = send_read(w, node, fh, 0);
	wire_remove(w, FILE_ONE);
	assert_int_equal(wire_receive(w, &r), waiting);
	r.p[r.n] = '\0';
	assert_non_null(strstr(r.p, "\"event\":\"deleted\",\"session\":\"one\""));
	struct fuse_release_in release = {.fh = fh};
	assert_int_equal(wire_call(w, FUSE_RELEASE, node, &release, sizeof release, &r), 0);
}

static unsigned polled(struct wire *w, uint64_t node, uint64_t fh, uint64_t kh)
{
	static struct reply r;
	struct fuse_poll_in in = {.fh = fh, .kh = kh, .flags = FUSE_POLL_SCHEDULE_NOTIFY, .events = POLLIN};
	assert_int_equal(wire_call(w, FUSE_POLL, node, &in, sizeof in, &r), 0);
	return ((const struct fuse_poll_out *)(const void *)r.p)->revents;
}

static void events_can_be_polled(void **state)
{
	struct wire *w = *state;
	struct reply r;
	uint64_t node, fh = open_events(w, &node);
	assert_int_equal(polled(w, node, fh, 7), 0);
	assert_int_equal(polled(w, node, fh, 8), 0);
	wire_append(w, FILE_ONE, more);
	/* The newest poll is woken; what else is told on the way is counted. */
	for (int i = 0; i < 200 && w->woken == 0; i++) {
		usleep(10000);
		wire_walk(w, SESSION "/title");
	}
	assert_int_equal(w->woken, 8);
	assert_int_equal(polled(w, node, fh, 9) & POLLIN, POLLIN);
	assert_int_equal(wire_receive_of(w, send_read(w, node, fh, O_NONBLOCK), &r), 0);
	assert_int_equal(polled(w, node, fh, 10), 0);
	/* Any other file can be read at any time. */
	struct fuse_open_out open;
	uint64_t title = wire_walk(w, SESSION "/title").nodeid;
	assert_int_equal(wire_open_file(w, title, O_RDONLY, &open), 0);
	assert_int_equal(polled(w, title, open.fh, 11) & POLLIN, POLLIN);
}

static void events_can_be_interrupted(void **state)
{
	struct wire *w = *state;
	struct reply r;
	uint64_t node, fh = open_events(w, &node);
	uint64_t waiting = send_read(w, node, fh, 0);
	assert_false(wire_wait(w, 50));
	struct fuse_interrupt_in interrupt = {.unique = waiting};
	wire_send(w, FUSE_INTERRUPT, 0, &interrupt, sizeof interrupt, NULL, 0);
	assert_int_equal(wire_receive(w, &r), waiting);
	assert_int_equal(r.error, -EINTR);
	send_read(w, node, fh, O_NONBLOCK);
	wire_receive(w, &r);
	assert_int_equal(r.error, -EAGAIN);
	waiting = send_read(w, node, fh, 0);
	struct fuse_release_in release = {.fh = fh};
	uint64_t released = wire_send(w, FUSE_RELEASE, node, &release, sizeof release, NULL, 0);
	assert_int_equal(wire_receive(w, &r), waiting);
	assert_int_equal(r.error, -EINTR);
	assert_int_equal(wire_receive(w, &r), released);
}

static void events_end_with_the_mount(void **state)
{
	struct wire *w = prepare();
	struct reply r;
	wire_open(w, false, ALL_FLAGS);
	uint64_t node, fh = open_events(w, &node);
	uint64_t waiting = send_read(w, node, fh, 0);
	assert_false(wire_wait(w, 50));
	wire_stop(w);
	assert_int_equal(wire_receive(w, &r), waiting);
	assert_int_equal(r.error, 0);
	assert_int_equal(r.n, 0);
	wire_close(w);
	free(w);
	(void)state;
}

#define WIRED(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
#define UNWATCHED(t) cmocka_unit_test_setup_teardown(t, setup_unwatched, teardown)
#define WIRED_READ_ONLY(t) cmocka_unit_test_setup_teardown(t, setup_read_only, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    WIRED(settles_what_the_kernel_may_do),
	    WIRED(reads_what_lookup_found),
	    WIRED(says_for_how_long_a_name_is_missing),
	    WIRED(tells_what_is_above_a_session),
	    WIRED(reads_links),
	    WIRED(knows_its_file_system),
	    WIRED(lists_the_same_in_any_portion),
	    WIRED(knows_parents),
	    WIRED(keeps_every_promise_of_the_tree),
	    WIRED(lists_plainly_too),
	    UNWATCHED(drops_listings_that_other_files_change),
	    UNWATCHED(drops_listings_made_just_after_a_change),
	    WIRED_READ_ONLY(notes_of_listings_do_not_pile_up),
	    WIRED(bounds_of_reads),
	    WIRED(bounds_of_listings),
	    WIRED(unknown_nodes),
	    WIRED(unknown_handles),
	    WIRED(forgets_without_an_answer),
	    WIRED(refuses_writes),
	    WIRED_READ_ONLY(refuses_writes_read_only),
	    WIRED(tells_who_asks_what_is_allowed),
	    WIRED_READ_ONLY(read_only_opens_nothing),
	    cmocka_unit_test(old_kernels_open_everything),
	    WIRED(a_reader_of_a_growing_session_sees_one_text),
	    WIRED(many_open_files),
	    WIRED(events_come_when_something_happens),
	    WIRED(events_can_be_polled),
	    WIRED(events_can_be_interrupted),
	    cmocka_unit_test(events_end_with_the_mount),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
