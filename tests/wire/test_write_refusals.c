/* SPDX-License-Identifier: MIT */
/* Refusals, and requests that no kernel sends: the file is unchanged, and the reason is in `errors`. */
#include "write_requests.h"
#include "../unit/linux_only.h"

/* --- refusals -------------------------------------------------------------------------- */

/* Asserts that it is refused, and that the listing of the session is dropped before the answer. */
#define assert_told_of_refusal(w, session, refused)                                                                    \
	do {                                                                                                           \
		unsigned drops_before = (w)->drops;                                                                    \
		wire_list_away(w, session);                                                                            \
		assert_true((refused) < 0);                                                                            \
		assert_true((w)->drops > drops_before);                                                                \
	} while (0)

/* `errors` appears, and nothing else changes. */
WIRED(i5_refusal_notifies_before_reply)
{
	NEEDS_WATCHES();
	uint64_t session = w->counted = wire_walk(w, SESSION).nodeid;
	assert_int_equal(wire_open_dir(w, SESSION), -ENOSYS);
	assert_int_equal(wire_attr(w, session).attr_valid, 60);
	assert_false(is_listed(w, SESSION, "errors"));
	struct opened o = must_open(w, LABELLED "/label", O_WRONLY | O_TRUNC);
	assert_told_of_refusal(w, session, put(w, o, 0, "two\nlines"));
	assert_true(is_listed(w, SESSION, "errors"));
	shut(w, o);
	o = must_open(w, LABELLED "/label", O_WRONLY | O_TRUNC);
	assert_int_equal(put(w, o, 0, "half \303"), 0);
	assert_told_of_refusal(w, session, flush(w, o));
	release(w, o);
	assert_told_of_refusal(w, session, set_size(w, wire_walk(w, LABELLED "/label").nodeid, 0, 20));
	assert_told_of_refusal(w, session, link_to(w, SESSION "/labels", "two%0Alines", "../entries/aaaa0001"));
	o = must_make(w, LABELLED, "side");
	assert_int_equal(put(w, o, 0, "two\nlines"), 0);
	shut(w, o);
	assert_told_of_refusal(w, session, move(w, LABELLED, "side", LABELLED, "label", 0));
	w->pid = 1 << 29;
	assert_int_equal(remove_too(w, SESSION, "title"), -EPERM);
	assert_told_of_refusal(w, session, remove_too(w, LABELLED, "label"));
	w->pid = 0;
}

/* The number of reasons is limited over all sessions: the oldest are dropped, and `errors` with them. */
WIRED(i7_dropped_errors_are_notified)
{
	NEEDS_WATCHES();
	wire_file(w, PROJECT "other.jsonl", LINE({"type":"session","id":"other"}));
	struct opened o = must_open(w, LABELLED "/label", O_WRONLY | O_TRUNC);
	assert_true(put(w, o, 0, "two\nlines") < 0);
	shut(w, o);
	assert_true(is_listed(w, SESSION, "errors"));
	/* The notification is repeated a second later. */
	while (wire_wait(w, 1500))
		wire_notification(w);
	w->counted = wire_walk(w, SESSION).nodeid;
	for (int i = 0; i < 64; i++)
		assert_true(link_to(w, "projects/home-w-app/other/labels", "100%", "../entries/x") < 0);
	while (wire_wait(w, 500))
		wire_notification(w);
	assert_int_equal(w->drops, 1);
	assert_false(is_listed(w, SESSION, "errors"));
}

WIRED(refused_write_appends_nothing)
{
	static char long_text[4098];
	memset(long_text, 'x', sizeof long_text - 1);
	assert_false(is_there(w, SESSION, "errors"));
	for (int is_long = 0; is_long < 2; is_long++) {
		const int rc = is_long ? -EFBIG : -EINVAL;
		struct opened o = must_open(w, LABELLED "/label", O_WRONLY | O_TRUNC);
		assert_int_equal(put(w, o, 0, is_long ? long_text : "two\nlines"), rc);
		/* From here on the handle refuses writes. */
		assert_int_equal(put(w, o, 0, "good\n"), rc);
		assert_int_equal(set_size(w, o.node, o.fh, 0), rc);
		assert_int_equal(sync_file(w, o), rc);
		assert_int_equal(shut(w, o), rc);
		assert_reads(w, LABELLED "/label", "counting\n");
	}
	assert_nothing_added(w);
	assert_true(is_there(w, SESSION, "errors"));
}

static void *refused_thread(void *arg)
{
	atomic_store((_Atomic uint32_t *)arg, (uint32_t)gettid());
	pause();
	return NULL;
}

/* Threads of one program are one process; a directory counts as a file does. */
WIRED(refused_removal_blocks_others)
{
	pthread_t thread;
	_Atomic uint32_t tid = 0;
	assert_int_equal(pthread_create(&thread, NULL, refused_thread, (void *)&tid), 0);
	while (tid == 0)
		sched_yield();
	w->pid = tid;
	assert_int_equal(wire_call(w, FUSE_RMDIR, wire_walk(w, "projects").nodeid, "home-w-app", 11, NULL), -EPERM);
	w->pid = 0;
	assert_int_equal(remove_too(w, LABELLED, "label"), -EPERM);
	assert_nothing_added(w);
	assert_int_equal(remove_name(w, LABELLED, "label"), 0);
	assert_added(w, 1, "\"targetId\":\"aaaa0002\"}\n", NULL);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

WIRED(create_errors)
{
	struct opened o;
	static char name[400];
	assert_int_equal(make(w, FIRST_ENTRY, "text.md", O_EXCL, &o), -EEXIST);
	assert_int_equal(make(w, SESSION, "leaf", 0, &o), -EPERM);
	assert_int_equal(link_to(w, FIRST_ENTRY, "label", "x"), -EPERM);
	assert_int_equal(remove_name(w, SESSION, "entries"), -EISDIR);
	memset(name, 'n', sizeof name - 1);
	assert_int_equal(make(w, FIRST_ENTRY, name, 0, &o), -ENAMETOOLONG);
	assert_int_equal(link_to(w, SESSION "/labels", name, "../entries/aaaa0001"), -ENAMETOOLONG);
	assert_nothing_added(w);
}

/* The kernel remembers the answer and returns success to programs. */
WIRED_READ_ONLY(read_only_mount_syncs_nothing)
{
	assert_int_equal(sync_file(w, (struct opened){.node = wire_walk(w, LABELLED "/label").nodeid}), -ENOSYS);
	assert_int_equal(sync_dir(w, SESSION), -ENOSYS);
}

/* --- requests that no kernel sends ------------------------------------------------------- */

WIRED(closed_handles_are_refused)
{
	static const uint64_t fhs[] = {0, 2, 17, 4096, UINT32_MAX, INT64_MAX, UINT64_MAX};
	struct opened o = must_make(w, FIRST_ENTRY, "label");
	save(w, o, "once\n");
	assert_added(w, 1, JSON("label":"once"), NULL);
	assert_int_equal(put(w, o, 0, "after\n"), -EBADF);
	assert_int_equal(flush(w, o), 0);
	assert_int_equal(sync_file(w, o), 0);
	release(w, o);
	for (size_t i = 0; i < sizeof fhs / sizeof *fhs; i++) {
		o.fh = fhs[i];
		assert_int_equal(put(w, o, 0, "x\n"), -EBADF);
		assert_int_equal(flush(w, o), 0);
		assert_int_equal(sync_file(w, o), 0);
		release(w, o);
	}
	assert_nothing_added(w);
}

/* A size can only be set through a handle of the same file. */
WIRED(handles_of_another_file_are_refused)
{
	struct opened side = must_make(w, FIRST_ENTRY, ".label.swp"), label = must_make(w, FIRST_ENTRY, "label");
	struct fuse_getattr_in in = {.getattr_flags = FUSE_GETATTR_FH, .fh = side.fh};
	assert_int_equal(set_size(w, label.node, side.fh, 1 << 20), -EBADF);
	assert_int_equal(set_size(w, side.node, label.fh, 5), -EBADF);
	assert_int_equal(wire_call(w, FUSE_GETATTR, label.node, &in, sizeof in, NULL), -EBADF);
	assert_int_equal(shut(w, side), 0);
	assert_int_equal(shut(w, label), 0);
	assert_nothing_added(w);
}

WIRED(huge_offsets_are_efbig)
{
	static const uint64_t far[] = {(uint64_t)1 << 27, UINT32_MAX,     INT64_MAX,
	                               (uint64_t)1 << 63, UINT64_MAX - 1, UINT64_MAX};
	static const char *const files[] = {LABELLED "/label", SESSION "/name", SESSION "/labels.tsv"};
	for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
		for (size_t j = 0; j < sizeof files / sizeof *files; j++) {
			struct opened o = must_open(w, files[j], O_RDWR);
			assert_int_equal(put(w, o, far[i], "x\n"), -EFBIG);
			release(w, o);
			o = must_open(w, files[j], O_RDWR);
			assert_int_equal(set_size(w, o.node, o.fh, far[i]), -EFBIG);
			release(w, o);
			assert_int_equal(set_size(w, o.node, 0, far[i]), -EFBIG);
		}
		struct opened o = must_make(w, FIRST_ENTRY, "side");
		assert_true(put(w, o, far[i], "x\n") < 0);
		assert_true(set_size(w, o.node, o.fh, far[i]) < 0);
		assert_int_equal(size_of(w, o.node, 0), 0);
		release(w, o);
		assert_int_equal(remove_name(w, FIRST_ENTRY, "side"), 0);
	}
	assert_nothing_added(w);
}

WIRED(scratch_files_are_bounded)
{
	struct opened o;
	int rc = 0, n = 0;
	for (; rc == 0 && n < 100000; n++) {
		char name[32];
		snprintf(name, sizeof name, "side-%d", n);
		rc = make(w, FIRST_ENTRY, name, 0, &o);
	}
	assert_int_equal(rc, -ENOSPC);
	assert_int_equal(n, 1024 + 1);
	/* Labels can still be written. The handles are left open, as by programs killed with the mount. */
	o = must_make(w, FIRST_ENTRY, "label");
	save(w, o, "all the same\n");
	assert_added(w, 1, JSON("label":"all the same"), NULL);
}

/* A program still writing at unmount has not closed: a truncation is not meant as the final text, and neither is a
 * part. */
CASE(unmount_discards_uncommitted_text)
{
	assert_int_equal(setup(state), 0);
	struct wire *w = *state;
	char path[256];
	struct stat before, after;
	snprintf(path, sizeof path, "%s/%s", w->source, FILE_ONE);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &before), 0);
	must_open(w, LABELLED "/label", O_WRONLY | O_TRUNC);
	struct opened o = must_open(w, SESSION "/name", O_WRONLY | O_TRUNC);
	assert_int_equal(put(w, o, 0, "half of a na"), 0);
	teardown(state);
	assert_int_equal(fstat(fd, &after), 0);
	assert_int_equal(before.st_size, after.st_size);
	close(fd);
}

#define HANDLES 24

struct chaos {
	struct opened open[HANDLES];
	uint32_t seed;
};

static uint32_t dice(struct chaos *c, uint32_t sides)
{
	c->seed = c->seed * 1664525 + 1013904223;
	return (c->seed >> 8) % sides;
}

static const char *any_name(struct chaos *c)
{
	static const char *const names[] = {"label", "name", "labels.tsv", "leaf",     "branch",   "a",     "b",
	                                    "label", "name", ".#x",        "CuAAAAAA", "counting", "title", "entries"};
	return names[dice(c, sizeof names / sizeof *names)];
}

static const char *any_dir(struct chaos *c)
{
	static const char *const dirs[] = {FIRST_ENTRY, LABELLED,          SESSION "/entries/aaaa0006",
	                                   SESSION,     SESSION "/labels", SESSION "/entries"};
	return dirs[dice(c, sizeof dirs / sizeof *dirs)];
}

static const char *any_text(struct chaos *c)
{
	static const char *const texts[] = {"one\n", "two", "", "a\nb\n", "\n", "\xc3", "aaaa0001\tx\n", "#\n"};
	return texts[dice(c, sizeof texts / sizeof *texts)];
}

static const char *any_target(struct chaos *c)
{
	static const char *const targets[] = {"../entries/aaaa0001", "entries/aaaa0002", "../entries/aaaa0003", "", "/",
	                                      "../labels/counting",  "CuAAAAAA"};
	return targets[dice(c, sizeof targets / sizeof *targets)];
}

static void any_request(struct chaos *c, struct wire *w)
{
	static struct reply r;
	struct opened *slot = &c->open[dice(c, HANDLES)], o = *slot, other = c->open[dice(c, HANDLES)];
	if (dice(c, 8) == 0)
		o.node = other.node; /* a handle of another file */
	switch (dice(c, 11)) {
	case 0:
	case 1:
		make(w, any_dir(c), any_name(c), dice(c, 2) ? O_TRUNC : 0, slot);
		break;
	case 2:
	case 3:
		put(w, o, dice(c, 4) ? 0 : dice(c, 100), any_text(c));
		break;
	case 4:
		flush(w, o);
		break;
	case 5:
		sync_file(w, o);
		break;
	case 6:
		release(w, o);
		break;
	case 7:
		if (o.node)
			set_size(w, o.node, dice(c, 2) ? o.fh : 0, dice(c, 20));
		break;
	case 8:
		remove_name(w, any_dir(c), any_name(c));
		break;
	case 9:
		link_to(w, any_dir(c), any_name(c), any_target(c));
		break;
	default:
		move(w, any_dir(c), any_name(c), any_dir(c), any_name(c), dice(c, 3));
		break;
	}
	if (o.node)
		wire_read(w, o.node, o.fh, 0, 100, &r);
}

/* Any requests in any order: existing bytes stay, and only whole lines of kinds we write are added. */
WIRED(random_requests_never_damage_file)
{
	struct chaos c = {.seed = 1};
	struct buf now CLEANUP_BUF = BUF_INIT;
	for (int i = 0; i < 3000; i++)
		any_request(&c, w);
	read_session(w, &now);
	assert_true(now.n > w->kept.n);
	assert_memory_equal(now.p, w->kept.p, w->kept.n);
	assert_int_equal(now.p[now.n - 1], '\n');
	for (const char *line = now.p + w->kept.n; *line; line = strchr(line, '\n') + 1) {
		size_t n = (size_t)(strchr(line, '\n') - line);
		if (strncmp(line, "{\"type\":\"label\",", 16) != 0 &&
		    strncmp(line, "{\"type\":\"session_info\",", 23) != 0 &&
		    strncmp(line, "{\"type\":\"branch_summary\",", 25) != 0)
			fail_msg("a strange line: %.*s", (int)n, line);
		assert_int_equal(line[n - 1], '}');
	}
	assert_reads(w, FIRST_ENTRY "/text.md", "How big is it?\n");
}

RUN_CASES(expect_refusals, NULL)
