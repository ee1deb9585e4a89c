/* SPDX-License-Identifier: MIT */
/* Writing, request by request: the replies, and the end of the session file. */
#include "write_requests.h"
#include "../unit/linux_only.h"

#include <stdatomic.h>
#include <sys/file.h>

/* The number of syncs of files since the last check, and whether syncs fail. */
static atomic_uint syncs;
static atomic_bool disk_fails;

static int sync_or_fail(int fd)
{
	struct stat st;
	syncs += fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	return disk_fails ? (errno = EIO, -1) : 0;
}

__typeof__(fsync) *const sys_fsync = sync_or_fail;
__typeof__(fdatasync) *const sys_fdatasync = sync_or_fail;

#define assert_syncs(n) assert_int_equal(atomic_exchange(&syncs, 0), n)

static void assert_links(struct wire *w, const char *path, const char *target)
{
	static struct reply r;
	assert_int_equal(wire_call(w, FUSE_READLINK, wire_walk(w, path).nodeid, NULL, 0, &r), 0);
	r.p[r.n] = '\0';
	assert_string_equal(r.p, target);
}

/* --- labels and names ------------------------------------------------------------ */

WIRED(a_label_is_set_and_read_back)
{
	assert_false(is_there(w, FIRST_ENTRY, "label"));
	struct opened o = must_make(w, FIRST_ENTRY, "label");
	assert_int_equal(o.entry.entry_valid, 0);
	assert_int_equal(o.entry.entry_valid_nsec, 0);
	assert_int_equal(o.entry.attr_valid, 0);
	assert_int_equal(put(w, o, 0, "auth works\n"), 0);
	assert_nothing_added(w);
	assert_int_equal(flush(w, o), 0);
	assert_added(w, 1, "{\"type\":\"label\",\"id\":\"", JSON("parentId":"aaaa0006"), JSON("targetId":"aaaa0001"),
	    "\"label\":\"auth works\"}\n", NULL);
	assert_reads(w, FIRST_ENTRY "/label", "auth works\n");
	assert_links(w, SESSION "/labels/auth works", "../entries/aaaa0001");
	/* Another close of the same file, and the last one, add nothing. */
	assert_int_equal(flush(w, o), 0);
	assert_int_equal(sync_file(w, o), 0);
	release(w, o);
	assert_nothing_added(w);
}

/* Another program holds the lock of the session file: only the writer waits for it, and no other request, however few
 * threads there are (here one). */
WIRED(foreign_flock_blocks_only_the_writer)
{
	char path[256];
	static struct reply r;
	snprintf(path, sizeof path, "%s/%s", w->source, FILE_ONE);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	uint64_t waiting[4];
	struct fuse_flush_in in;
	struct opened o;
	for (size_t i = 0; i < 4; i++) {
		o = must_make(w, FIRST_ENTRY, "label");
		assert_int_equal(put(w, o, 0, "late\n"), 0);
		in = (struct fuse_flush_in){.fh = o.fh};
		waiting[i] = wire_send(w, FUSE_FLUSH, o.node, &in, sizeof in, NULL, 0);
		assert_reads(w, LABELLED "/label", "counting\n");
	}
	/* A request of the same open file waits for the writer, until it is interrupted. */
	struct fuse_interrupt_in stop = {.unique = wire_send(w, FUSE_FLUSH, o.node, &in, sizeof in, NULL, 0)};
	wire_send(w, FUSE_INTERRUPT, 0, &stop, sizeof stop, NULL, 0);
	assert_true(wire_wait(w, 10000));
	assert_int_equal(wire_receive_of(w, stop.unique, NULL), -EINTR);
	assert_nothing_added(w);
	assert_int_equal(flock(fd, LOCK_UN), 0);
	for (size_t i = 0, seen = 0; i < 4; i++) {
		uint64_t unique = wire_receive(w, &r);
		assert_int_equal(r.error, 0);
		for (size_t k = 0; k < 4; k++)
			seen |= unique == waiting[k] ? (size_t)1 << k : 0;
		assert_int_equal(__builtin_popcountll(seen), i + 1);
	}
	assert_added(w, 1, "\"label\":\"late\"}\n", NULL);
	close(fd);
}

WIRED(a_handle_can_be_written_again_after_a_commit)
{
	struct opened o = must_open(w, SESSION "/name", O_RDWR | O_TRUNC);
	assert_int_equal(put(w, o, 0, "First\n"), 0);
	assert_int_equal(sync_file(w, o), 0);
	assert_added(w, 1, JSON("type":"session_info"), JSON("name":"First"), NULL);
	save(w, o, "Other");
	assert_added(w, 1, JSON("name":"Other"), NULL);
	assert_reads(w, SESSION "/name", "Other\n");
}

/* The kernel takes the offset from a size that can be stale: longer or shorter than the value. */
WIRED(o_append_writes_at_the_end)
{
	static const uint64_t sizes[] = {20, 1};
	for (size_t i = 0; i < 2; i++) {
		save(w, must_open(w, SESSION "/name", O_WRONLY | O_TRUNC), "  First  \n");
		assert_added(w, 1, "\"name\":\"First\"}", NULL);
		struct opened o = must_open(w, SESSION "/name", O_WRONLY | O_APPEND);
		struct fuse_write_in in = {.fh = o.fh, .offset = sizes[i], .size = 5, .flags = O_WRONLY | O_APPEND};
		assert_int_equal(ask(w, FUSE_WRITE, o.node, &in, sizeof in, "more\n", 5, NULL), 0);
		assert_int_equal(shut(w, o), 0);
		assert_added(w, 1, "\"name\":\"First more\"}", NULL);
	}
}

WIRED(unchanged_value_appends_nothing)
{
	save(w, must_open(w, LABELLED "/label", O_WRONLY | O_TRUNC), "counting");
	/* Opened and closed, created and closed. */
	assert_int_equal(shut(w, must_open(w, LABELLED "/label", O_RDWR)), 0);
	assert_int_equal(shut(w, must_make(w, FIRST_ENTRY, "label")), 0);
	assert_nothing_added(w);
	assert_false(is_there(w, FIRST_ENTRY, "label"));
}

/* As cp -p and install do: mode, owner and times, before and after the text, with and without the handle. */
WIRED(setattr_of_times_and_owner_is_ignored)
{
	static struct reply r;
	struct opened o = must_make(w, FIRST_ENTRY, "label");
	struct fuse_setattr_in in = {
	    .valid = FATTR_MODE | FATTR_UID | FATTR_MTIME | FATTR_FH, .fh = o.fh, .mode = 0700, .uid = 1, .mtime = 1};
	assert_int_equal(wire_call(w, FUSE_SETATTR, o.node, &in, sizeof in, &r), 0);
	assert_int_equal(set_size(w, o.node, o.fh, 0), 0);
	assert_int_equal(put(w, o, 0, "kept\n"), 0);
	assert_int_equal(wire_call(w, FUSE_SETATTR, o.node, &in, sizeof in, &r), 0);
	assert_int_equal(((const struct fuse_attr_out *)(const void *)r.p)->attr.size, 5);
	assert_int_equal(shut(w, o), 0);
	in.valid = FATTR_MODE | FATTR_ATIME_NOW | FATTR_MTIME_NOW;
	assert_int_equal(wire_call(w, FUSE_SETATTR, o.node, &in, sizeof in, &r), 0);
	assert_int_equal(((const struct fuse_attr_out *)(const void *)r.p)->attr.mode & 0777, 0644);
	assert_added(w, 1, JSON("label":"kept"), NULL);
	in.valid = FATTR_MODE;
	assert_int_equal(wire_call(w, FUSE_SETATTR, wire_walk(w, FIRST_ENTRY "/text.md").nodeid, &in, sizeof in, &r),
	                 -EPERM);
}

WIRED(attributes_of_scratch_file_are_kept)
{
	static struct reply r;
	w->uid = 7;
	struct opened o = must_make(w, FIRST_ENTRY, "new.tmp");
	w->uid = 0;
	struct fuse_setattr_in in = {.valid = FATTR_ATIME | FATTR_MTIME, .atime = 1900000000, .mtime = 1950000000};
	assert_int_equal(wire_call(w, FUSE_SETATTR, o.node, &in, sizeof in, &r), 0);
	const struct fuse_attr *attr = &((const struct fuse_attr_out *)(const void *)r.p)->attr;
	assert_int_equal(attr->atime, 1900000000);
	assert_int_equal(attr->mtime, 1950000000);
	assert_int_equal(attr->mode, S_IFREG | 0600);
	assert_int_equal(attr->uid, 7);
	assert_int_equal(attr->gid, 7);
	assert_int_equal(shut(w, o), 0);
}

WIRED(uncommitted_text_is_private_to_handle)
{
	static struct reply r;
	struct opened o = must_open(w, LABELLED "/label", O_RDWR);
	assert_int_equal(size_of(w, o.node, o.fh), 9);
	assert_int_equal(set_size(w, o.node, o.fh, 5), 0);
	assert_int_equal(put(w, o, 5, "ess"), 0);
	assert_int_equal(size_of(w, o.node, o.fh), 8);
	assert_int_equal(wire_read(w, o.node, o.fh, 0, 100, &r), 0);
	assert_int_equal(r.n, 8);
	assert_memory_equal(r.p, "countess", 8);
	assert_int_equal(wire_read(w, o.node, o.fh, UINT64_MAX, 10, &r), 0);
	assert_int_equal(r.n, 0);
	assert_int_equal(size_of(w, o.node, 0), 9);
	assert_reads(w, LABELLED "/label", "counting\n");
	assert_nothing_added(w);
	assert_int_equal(shut(w, o), 0);
	assert_added(w, 1, JSON("label":"countess"), NULL);
	assert_reads(w, LABELLED "/label", "countess\n");
}

/* Truncating is writing: the line is in the file when close(2) returns. */
WIRED(truncation_is_committed_on_close)
{
	struct opened o = must_open(w, LABELLED "/label", O_WRONLY | O_TRUNC);
	assert_nothing_added(w);
	assert_int_equal(flush(w, o), 0);
	assert_added(w, 1, "\"targetId\":\"aaaa0002\"}\n", NULL);
	release(w, o);
	o = must_open(w, SESSION "/name", O_WRONLY);
	assert_int_equal(set_size(w, o.node, o.fh, 3), 0);
	assert_nothing_added(w);
	assert_int_equal(flush(w, o), 0);
	assert_added(w, 1, JSON("type":"session_info"), NULL);
	release(w, o);
	assert_nothing_added(w);
}

/* If /proc does not show the process, another descriptor of it can still be open: its text must not become a second
 * line. */
WIRED(truncation_by_unknown_process_is_committed_on_release)
{
	w->pid = 1 << 30;
	struct opened o = must_open(w, LABELLED "/label", O_WRONLY | O_TRUNC);
	assert_int_equal(flush(w, o), 0);
	assert_nothing_added(w);
	save(w, o, "new\n");
	assert_added(w, 1, "\"label\":\"new\"}\n", NULL);
	o = must_open(w, LABELLED "/label", O_WRONLY | O_TRUNC);
	assert_int_equal(flush(w, o), 0);
	assert_nothing_added(w);
	release(w, o);
	assert_added(w, 1, "\"targetId\":\"aaaa0002\"}\n", NULL);
}

/* An empty text that is not a value is refused, also if the file is new. If the file is only created, or removed before
 * it is written, it sets no value. */
WIRED(invalid_truncation_fails_on_close)
{
	static const char *const names[] = {"context.json", "branch"};
	struct opened o;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		assert_int_equal(make(w, FIRST_ENTRY, names[i], O_TRUNC, &o), 0);
		assert_int_equal(shut(w, o), -EINVAL);
		assert_int_equal(make(w, FIRST_ENTRY, names[i], 0, &o), 0);
		assert_int_equal(set_size(w, o.node, o.fh, 0), 0);
		assert_int_equal(shut(w, o), -EINVAL);
		assert_int_equal(make(w, FIRST_ENTRY, names[i], 0, &o), 0);
		assert_int_equal(shut(w, o), 0);
		assert_int_equal(make(w, FIRST_ENTRY, names[i], O_TRUNC, &o), 0);
		assert_int_equal(remove_name(w, FIRST_ENTRY, names[i]), 0);
		assert_int_equal(shut(w, o), 0);
	}
	assert_int_equal(make(w, FIRST_ENTRY, "label", O_TRUNC, &o), 0);
	assert_int_equal(shut(w, o), 0);
	assert_int_equal(shut(w, must_open(w, SESSION "/labels.tsv", O_WRONLY | O_TRUNC)), -EINVAL);
	assert_nothing_added(w);
	assert_true(is_there(w, SESSION, "errors"));
}

/* --- links ------------------------------------------------------------------------ */

WIRED(links_in_labels)
{
	assert_int_equal(link_to(w, SESSION "/labels", "size", "../entries/aaaa0001"), 0);
	assert_added(w, 1, JSON("targetId":"aaaa0001"), JSON("label":"size"), NULL);
	assert_int_equal(link_to(w, SESSION "/labels", "size", "../entries/aaaa0001"), -EEXIST);
	assert_int_equal(link_to(w, SESSION "/labels", "none", ""), -EINVAL);
	assert_nothing_added(w);
	assert_int_equal(move(w, SESSION "/labels", "size", SESSION "/labels", "how big", RENAME_NOREPLACE), 0);
	assert_added(w, 1, JSON("label":"how big"), NULL);
	assert_int_equal(move(w, SESSION "/labels", "how big", SESSION "/labels", "counting", RENAME_NOREPLACE),
	                 -EEXIST);
	assert_int_equal(move(w, SESSION "/labels", "how big", SESSION "/labels", "counting", RENAME_EXCHANGE),
	                 -EINVAL);
	assert_nothing_added(w);
	/* As GNU ln -sfn: created next to it, moved over it. */
	assert_int_equal(link_to(w, SESSION "/labels", "CuAbC123", "../entries/aaaa0003"), 0);
	assert_links(w, SESSION "/labels/CuAbC123", "../entries/aaaa0003");
	assert_nothing_added(w);
	assert_int_equal(move(w, SESSION "/labels", "CuAbC123", SESSION "/labels", "counting", 0), 0);
	assert_added(w, 2, "\"targetId\":\"aaaa0002\"}", JSON("targetId":"aaaa0003"), JSON("label":"counting"), NULL);
	assert_false(is_there(w, SESSION "/labels", "CuAbC123"));
	assert_links(w, SESSION "/labels/counting", "../entries/aaaa0003");
}

/* --- scratch files -------------------------------------------------------------------- */

WIRED(scratch_file_keeps_its_text)
{
	struct opened o = must_make(w, FIRST_ENTRY, ".label.swp");
	assert_int_equal(put(w, o, 4, "text"), 0);
	assert_int_equal(put(w, o, 0, "some"), 0);
	assert_true(is_listed(w, FIRST_ENTRY, ".label.swp"));
	assert_reads(w, FIRST_ENTRY "/.label.swp", "sometext");
	assert_int_equal(set_size(w, o.node, o.fh, 4), 0);
	assert_reads(w, FIRST_ENTRY "/.label.swp", "some");
	assert_int_equal(make(w, FIRST_ENTRY, ".label.swp", O_EXCL, &(struct opened){0}), -EEXIST);
	assert_int_equal(remove_name(w, FIRST_ENTRY, ".label.swp"), 0);
	assert_false(is_listed(w, FIRST_ENTRY, ".label.swp"));
	/* An unnamed file lives while it is open. */
	assert_int_equal(put(w, o, 0, "x"), 0);
	assert_int_equal(size_of(w, o.node, o.fh), 4);
	assert_int_equal(shut(w, o), 0);
	assert_true(
	    wire_call(w, FUSE_GETATTR, o.node, &(struct fuse_getattr_in){0}, sizeof(struct fuse_getattr_in), NULL) < 0);
	assert_nothing_added(w);
}

/* If names can change by themselves, the kernel revalidates what it has cached of them, and drops it. */
WIRED(i7_new_names_appear_in_listing)
{
	NEEDS_WATCHES();
	uint64_t session = wire_walk(w, SESSION).nodeid, entry = wire_walk(w, LABELLED).nodeid;
	assert_int_equal(wire_open_dir(w, LABELLED), -ENOSYS);
	wire_list_away(w, session); /* finds the other sessions, which changes the listing */
	wire_list_away(w, session);
	assert_int_equal(wire_told(w, session), 0);
	assert_int_equal(wire_attr(w, session).attr_valid, 60);
	assert_int_equal(wire_attr(w, wire_walk(w, SESSION "/entries").nodeid).attr_valid, 60);
	wire_list_away(w, entry);
	assert_int_equal(wire_told(w, entry), 0);
	/* Hidden for ten seconds. */
	assert_int_equal(move(w, LABELLED, "label", LABELLED, "label~", 0), 0);
	wire_list_away(w, entry);
	assert_int_equal(wire_told(w, entry), 1);
	assert_int_equal(move(w, LABELLED, "label~", LABELLED, "label", 0), 0);
	assert_int_equal(wire_told(w, entry), 1);
	wire_list_away(w, entry);
	assert_int_equal(wire_told(w, entry), 0);
}

/* --- syncs ----------------------------------------------------------------------- */

static void set_label(struct wire *w, const char *text, uint32_t flags)
{
	struct opened o = must_open(w, LABELLED "/label", O_WRONLY | O_TRUNC | flags);
	save(w, o, text);
}

static int sync_read(struct wire *w, const char *path)
{
	struct opened o = must_open(w, path, O_RDONLY);
	int rc = sync_file(w, o);
	release(w, o);
	return rc;
}

WIRED(session_files_and_directories_can_be_synced)
{
	static const char *const files[] = {"label", "text.md", "entry.json", "../../title", "../../session.jsonl"};
	static const char *const dirs[] = {SESSION, SESSION "/labels", SESSION "/entries", FIRST_ENTRY,
	                                   SESSION "/branches"};
	syncs = 0;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char path[256];
		bool above = strncmp(files[i], "../../", 6) == 0;
		snprintf(path, sizeof path, "%s/%s", above ? SESSION : LABELLED, files[i] + (above ? 6 : 0));
		set_label(w, i % 2 ? "odd\n" : "even\n", 0);
		assert_syncs(0);
		assert_int_equal(sync_read(w, path), 0);
		assert_syncs(1);
		/* It is already synced. */
		assert_int_equal(sync_read(w, path), 0);
		assert_syncs(0);
	}
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		assert_int_equal(remove_name(w, LABELLED, "label"), i ? -ENOENT : 0);
		assert_int_equal(link_to(w, SESSION "/labels", i % 2 ? "a" : "b", "../entries/aaaa0001"), 0);
		assert_syncs(0);
		assert_int_equal(sync_dir(w, dirs[i]), 0);
		assert_syncs(1);
		assert_int_equal(sync_dir(w, dirs[i]), 0);
		assert_syncs(0);
		assert_int_equal(remove_name(w, SESSION "/labels", i % 2 ? "a" : "b"), 0);
	}
	struct opened side = must_make(w, FIRST_ENTRY, "side");
	assert_int_equal(sync_file(w, side), 0);
	assert_syncs(1);
	release(w, side);
	/* Lines of pi's are synced too. */
	wire_append(w, FILE_ONE, LINE({"type":"custom","id":"pi","parentId":null}));
	assert_int_equal(sync_dir(w, SESSION), 0);
	assert_syncs(1);
	/* Nothing above the sessions has data to sync. */
	assert_int_equal(sync_dir(w, NULL), 0);
	assert_int_equal(sync_dir(w, "projects"), 0);
	assert_int_equal(sync_read(w, "sessions.tsv"), 0);
	assert_int_equal(sync_read(w, "README.md"), 0);
	assert_syncs(0);
}

WIRED(synced_scratch_file_is_durable_after_rename)
{
	for (int i = 0; i < 4; i++) {
		const bool by_fsync = i == 1, by_flag = i == 2, later = i == 3;
		char text[] = "name 0";
		text[5] = (char)('0' + i);
		struct opened o;
		assert_int_equal(make(w, SESSION, "name.tmp", by_flag ? O_SYNC : 0, &o), 0);
		assert_int_equal(put(w, o, 0, text), 0);
		assert_syncs(0);
		if (by_fsync)
			assert_int_equal(sync_file(w, o), 0);
		/* None of it is in the session file yet, which was synced in the last round. */
		assert_syncs(0);
		if (!later)
			assert_int_equal(shut(w, o), 0);
		assert_int_equal(move(w, SESSION, "name.tmp", SESSION, "name", 0), 0);
		assert_syncs(by_fsync || by_flag);
		if (later) {
			assert_int_equal(sync_file(w, o), 0);
			assert_syncs(1);
			assert_int_equal(shut(w, o), 0);
		}
		assert_int_equal(sync_dir(w, SESSION), 0);
		assert_syncs(i == 0);
		assert_added(w, 1, "session_info", text, NULL);
	}
}

WIRED(o_sync_makes_each_commit_durable)
{
	static const uint32_t flags[] = {O_SYNC, O_DSYNC, 0};
	for (size_t i = 0; i < 3; i++) {
		set_label(w, "one\n", flags[i]);
		assert_syncs(flags[i] ? 1 : 0);
		struct opened o;
		assert_int_equal(remove_name(w, FIRST_ENTRY, "label"), i ? 0 : -ENOENT);
		assert_int_equal(make(w, FIRST_ENTRY, "label", flags[i], &o), 0);
		save(w, o, "two\n");
		assert_syncs(flags[i] ? 1 : 0);
		set_label(w, "three\n", 0);
		assert_syncs(0);
	}
	/* A truncation closed without a write, and a single write. */
	release(w, must_open(w, LABELLED "/label", O_WRONLY | O_TRUNC | O_SYNC));
	assert_syncs(1);
	struct opened o = must_open(w, FIRST_ENTRY "/label", O_WRONLY | O_TRUNC);
	struct fuse_write_in in = {.fh = o.fh, .size = 4, .flags = O_WRONLY | O_DSYNC};
	assert_int_equal(ask(w, FUSE_WRITE, o.node, &in, sizeof in, "four", 4, NULL), 0);
	assert_int_equal(shut(w, o), 0);
	assert_syncs(1);
}

WIRED(failed_sync_is_returned)
{
	set_label(w, "one\n", 0);
	disk_fails = true;
	assert_int_equal(sync_read(w, SESSION "/title"), -EIO);
	assert_int_equal(sync_dir(w, SESSION "/labels"), -EIO);
	struct opened o = must_make(w, SESSION, "name.tmp");
	assert_int_equal(put(w, o, 0, "new"), 0);
	assert_int_equal(sync_file(w, o), -EIO);
	assert_int_equal(shut(w, o), 0);
	assert_int_equal(move(w, SESSION, "name.tmp", SESSION, "name", 0), -EIO);
	o = must_open(w, LABELLED "/label", O_WRONLY | O_SYNC);
	assert_int_equal(put(w, o, 0, "two\n"), 0);
	assert_int_equal(shut(w, o), -EIO);
	/* Saving it unchanged. */
	o = must_open(w, LABELLED "/label", O_WRONLY);
	assert_int_equal(put(w, o, 0, "one\n"), 0);
	assert_int_equal(sync_file(w, o), -EIO);
	release(w, o);
	disk_fails = false;
	syncs = 0;
	struct buf said CLEANUP_BUF = BUF_INIT;
	struct tree_attr a;
	assert_int_equal(tree_resolve(w->tree, SESSION "/errors", true, &a), 0);
	assert_int_equal(tree_read(w->tree, a.node, 0, 1 << 16, &said), 0);
	const char *at = buf_cstr(&said);
	/* Newest first. */
	static const char *const lines[] = {"Z entries/aaaa0002/label: ",
	                                    "Z entries/aaaa0002/label: ",
	                                    "Z name: ",
	                                    "Z the session: ",
	                                    "Z labels: ",
	                                    "Z title: the session file might not be on the disk (EIO)\n"};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		const char *found = at ? strstr(at, lines[i]) : NULL;
		if (!found)
			fail_msg("no %s in %s", lines[i], said.p);
		at = strchr(found, '\n') + 1;
	}
	/* Only the first label was added. */
	assert_added(w, 1, JSON("label":"one"), NULL);
}

RUN_CASES(expect_refusals, NULL)
