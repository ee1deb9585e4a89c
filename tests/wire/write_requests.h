/* SPDX-License-Identifier: MIT */
/* write_requests: the requests that change something, each as one call, and assertions on their replies and on the
 * session file. */
#ifndef WRITE_REQUESTS_H
#define WRITE_REQUESTS_H

#include "fixture.h"
#include "sessionfs/base/log.h"

#include "files.h"

#define FIRST_ENTRY SESSION "/entries/aaaa0001"
#define LABELLED SESSION "/entries/aaaa0002"

static void read_session(struct wire *w, struct buf *out)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", w->source, FILE_ONE);
	assert_true(read_file(path, out));
	assert_non_null(buf_cstr(out));
}

/* --- requests ------------------------------------------------------------------ */

static int ask(struct wire *w, uint32_t opcode, uint64_t node, const void *arg, size_t n, const void *rest,
               size_t rest_n, struct reply *ret)
{
	return wire_receive_of(w, wire_send(w, opcode, node, arg, n, rest, rest_n), ret);
}

struct opened {
	uint64_t node, fh;
	struct fuse_entry_out entry;
};

static int make(struct wire *w, const char *dir, const char *name, uint32_t flags, struct opened *ret)
{
	static struct reply r;
	struct fuse_create_in in = {.flags = O_WRONLY | O_CREAT | flags, .mode = S_IFREG | 0600};
	int rc = ask(w, FUSE_CREATE, wire_walk(w, dir).nodeid, &in, sizeof in, name, strlen(name) + 1, &r);
	if (rc)
		return rc;
	struct fuse_open_out open;
	assert_int_equal(r.n, sizeof ret->entry + sizeof open);
	memcpy(&ret->entry, r.p, sizeof ret->entry);
	memcpy(&open, r.p + sizeof ret->entry, sizeof open);
	assert_true(open.open_flags & FOPEN_DIRECT_IO);
	assert_false(open.open_flags & FOPEN_NOFLUSH);
	ret->node = ret->entry.nodeid;
	ret->fh = open.fh;
	return 0;
}

static struct opened must_make(struct wire *w, const char *dir, const char *name)
{
	struct opened o;
	assert_int_equal(make(w, dir, name, 0, &o), 0);
	return o;
}

static struct opened must_open(struct wire *w, const char *path, uint32_t flags)
{
	struct fuse_open_out open;
	struct opened o = {.entry = wire_walk(w, path)};
	assert_int_equal(wire_open_file(w, o.entry.nodeid, flags, &open), 0);
	o.node = o.entry.nodeid;
	o.fh = open.fh;
	return o;
}

static int put(struct wire *w, struct opened o, uint64_t off, const char *text)
{
	static struct reply r;
	size_t n = strlen(text);
	struct fuse_write_in in = {.fh = o.fh, .offset = off, .size = (uint32_t)n};
	int rc = ask(w, FUSE_WRITE, o.node, &in, sizeof in, text, n, &r);
	if (rc == 0)
		assert_int_equal(((const struct fuse_write_out *)(const void *)r.p)->size, n);
	return rc;
}

static int flush(struct wire *w, struct opened o)
{
	return wire_flush(w, o.node, o.fh);
}

static int sync_file(struct wire *w, struct opened o)
{
	struct fuse_fsync_in in = {.fh = o.fh};
	return wire_call(w, FUSE_FSYNC, o.node, &in, sizeof in, NULL);
}

static int sync_dir(struct wire *w, const char *dir)
{
	struct fuse_fsync_in in = {0};
	return wire_call(w, FUSE_FSYNCDIR, dir ? wire_walk(w, dir).nodeid : FUSE_ROOT_ID, &in, sizeof in, NULL);
}

static void release(struct wire *w, struct opened o)
{
	wire_release(w, o.node, o.fh);
}

/* As close(2) does. Returns the error of FLUSH. */
static int shut(struct wire *w, struct opened o)
{
	int rc = flush(w, o);
	release(w, o);
	return rc;
}

/* Writes the text and closes the file. */
static void save(struct wire *w, struct opened o, const char *text)
{
	assert_int_equal(put(w, o, 0, text), 0);
	assert_int_equal(shut(w, o), 0);
}

/* As truncate(2) if fh is 0, else as ftruncate(2). */
static int set_size(struct wire *w, uint64_t node, uint64_t fh, uint64_t size)
{
	struct fuse_setattr_in in = {.valid = FATTR_SIZE | (fh ? FATTR_FH : 0), .fh = fh, .size = size};
	return wire_call(w, FUSE_SETATTR, node, &in, sizeof in, NULL);
}

static uint64_t size_of(struct wire *w, uint64_t node, uint64_t fh)
{
	struct fuse_attr_out out;
	struct fuse_getattr_in in = {.getattr_flags = fh ? FUSE_GETATTR_FH : 0, .fh = fh};
	assert_int_equal(wire_get(w, FUSE_GETATTR, node, &in, sizeof in, &out, sizeof out), 0);
	return out.attr.size;
}

static int remove_too(struct wire *w, const char *dir, const char *name)
{
	return wire_call(w, FUSE_UNLINK, wire_walk(w, dir).nodeid, name, strlen(name) + 1, NULL);
}

/* As rm(1), each time as another process. No real process has such a number. */
static int remove_name(struct wire *w, const char *dir, const char *name)
{
	static uint32_t others = 1 << 30;
	w->pid = ++others;
	int rc = remove_too(w, dir, name);
	w->pid = 0;
	return rc;
}

static int link_to(struct wire *w, const char *dir, const char *name, const char *target)
{
	return ask(w, FUSE_SYMLINK, wire_walk(w, dir).nodeid, name, strlen(name) + 1, target, strlen(target) + 1, NULL);
}

static int move(struct wire *w, const char *dir, const char *name, const char *to_dir, const char *to_name,
                uint32_t flags)
{
	char names[512];
	int n = snprintf(names, sizeof names, "%s%c%s", name, '\0', to_name);
	struct fuse_rename2_in in = {.newdir = wire_walk(w, to_dir).nodeid, .flags = flags};
	return ask(w, FUSE_RENAME2, wire_walk(w, dir).nodeid, &in, sizeof in, names, (size_t)n + 1, NULL);
}

/* --- assertions ------------------------------------------------------------------ */

/* Asserts that exactly this many lines were appended since the last check, and that they contain these parts in this
 * order (up to NULL). */
static void assert_added(struct wire *w, size_t lines, ...)
{
	struct buf now CLEANUP_BUF = BUF_INIT;
	size_t n = 0;
	va_list parts;
	read_session(w, &now);
	assert_true(now.n >= w->kept.n);
	assert_memory_equal(now.p, w->kept.p, w->kept.n);
	const char *at = now.p + w->kept.n;
	for (const char *p = at; (p = strchr(p, '\n')); p++)
		n++;
	if (n != lines)
		fail_msg("%zu lines were appended, not %zu: %s", n, lines, at);
	va_start(parts, lines);
	for (const char *part; (part = va_arg(parts, const char *));) {
		const char *found = strstr(at, part);
		if (!found)
			fail_msg("no %s in %s", part, at);
		at = found + strlen(part);
	}
	va_end(parts);
	assert_int_equal(now.p[now.n - 1], '\n');
	buf_reset(&w->kept);
	buf_addspan(&w->kept, buf_span(&now));
}

#define assert_nothing_added(w) assert_added(w, 0, NULL)

static void assert_reads(struct wire *w, const char *path, const char *text)
{
	static struct reply r;
	struct opened o = must_open(w, path, O_RDONLY);
	assert_int_equal(o.entry.attr.size, strlen(text));
	assert_int_equal(wire_read(w, o.node, o.fh, 0, 4096, &r), 0);
	r.p[r.n] = '\0';
	assert_string_equal(r.p, text);
	release(w, o);
}

static bool is_there(struct wire *w, const char *dir, const char *name)
{
	struct fuse_entry_out e;
	assert_int_equal(wire_lookup(w, wire_walk(w, dir).nodeid, name, &e), 0);
	return e.nodeid != 0;
}

static bool is_listed(struct wire *w, const char *dir, const char *name)
{
	static struct reply r;
	assert_int_equal(wire_readdirplus(w, wire_walk(w, dir).nodeid, 0, sizeof r.p, &r), 0);
	for (size_t at = 0; at < r.n;) {
		const struct fuse_direntplus *d = (const void *)(r.p + at);
		if (d->dirent.namelen == strlen(name) && memcmp(d->dirent.name, name, d->dirent.namelen) == 0)
			return true;
		at += FUSE_DIRENTPLUS_SIZE(d);
	}
	return false;
}

/* Before all cases, whose writes are refused: only errors are logged. */
static int expect_refusals(void **state)
{
	log_setup(LOG_LEVEL_ERROR, LOG_TO_STDERR);
	return 0;
}

#endif
