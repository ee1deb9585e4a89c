/* SPDX-License-Identifier: MIT */
/* fuzz_wire: fs*.c, src/tree below libfuse, over a socket (tests/wire). Requests as a kernel could send them,
 * well-formed but in any order, with any node, handle, offset and name. Each gets one answer, with a fitting errno, and
 * the session file only grows.
 *
 * Input: a byte of options; then requests: the opcode's place in `requests`, the node, and the arguments. With a
 * FUZZ_STEP, the bytes before it are the session file. */
#include "fuzz.h"

#include "sessionfs/base/log.h"
#include "samples.h"
#include "wire.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

enum { MOST_REQUESTS = 250, NODES = 64, HANDLES = 16, DEPTH = 4 };

#define FLAGS                                                                                                          \
	(FUSE_ASYNC_READ | FUSE_ATOMIC_O_TRUNC | FUSE_BIG_WRITES | FUSE_AUTO_INVAL_DATA | FUSE_DO_READDIRPLUS |        \
	 FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES)

/* Without size: no argument, or only names. */
struct request {
	uint32_t opcode;
	size_t size; /* of the argument, which is filled from the input */
	unsigned names;
};

static const struct request requests[] = {
    {FUSE_LOOKUP, 0, 1},
    {FUSE_GETATTR, sizeof(struct fuse_getattr_in), 0},
    {FUSE_SETATTR, sizeof(struct fuse_setattr_in), 0},
    {FUSE_READLINK, 0, 0},
    {FUSE_OPEN, sizeof(struct fuse_open_in), 0},
    {FUSE_CREATE, sizeof(struct fuse_create_in), 1},
    {FUSE_READ, sizeof(struct fuse_read_in), 0},
    {FUSE_WRITE, sizeof(struct fuse_write_in), 0},
    {FUSE_FLUSH, sizeof(struct fuse_flush_in), 0},
    {FUSE_FSYNC, sizeof(struct fuse_fsync_in), 0},
    {FUSE_RELEASE, sizeof(struct fuse_release_in), 0},
    {FUSE_SYMLINK, 0, 2},
    {FUSE_UNLINK, 0, 1},
    {FUSE_RENAME2, sizeof(struct fuse_rename2_in), 2},
    {FUSE_READDIR, sizeof(struct fuse_read_in), 0},
    {FUSE_READDIRPLUS, sizeof(struct fuse_read_in), 0},
    {FUSE_OPENDIR, sizeof(struct fuse_open_in), 0},
    {FUSE_RELEASEDIR, sizeof(struct fuse_release_in), 0},
    {FUSE_POLL, sizeof(struct fuse_poll_in), 0},
    {FUSE_ACCESS, sizeof(struct fuse_access_in), 0},
    {FUSE_STATFS, 0, 0},
    {FUSE_RENAME, sizeof(struct fuse_rename_in), 2},
    {FUSE_MKDIR, sizeof(struct fuse_mkdir_in), 1},
    {FUSE_MKNOD, sizeof(struct fuse_mknod_in), 1},
    {FUSE_RMDIR, 0, 1},
    {FUSE_LINK, sizeof(struct fuse_link_in), 1},
    {FUSE_LSEEK, sizeof(struct fuse_lseek_in), 0},
    {FUSE_FALLOCATE, sizeof(struct fuse_fallocate_in), 0},
    {FUSE_GETXATTR, sizeof(struct fuse_getxattr_in), 1},
    {FUSE_INTERRUPT, sizeof(struct fuse_interrupt_in), 0},
    {FUSE_FORGET, sizeof(struct fuse_forget_in), 0},
    {4000, 16, 0},
    {FUSE_FSYNCDIR, sizeof(struct fuse_fsync_in), 0},
};

/* libfuse leaks an interrupt that matched no request when its session ends. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libfuse3";
}

struct play {
	struct wire w;
	struct feed f;
	bool threaded;
	uint64_t nodes[NODES], handles[HANDLES];
	size_t n_nodes, n_handles;
	/* Sent and not answered. */
	struct waiting {
		uint64_t unique;
		uint32_t opcode;
		bool optional; /* an answer is optional */
	} waiting[MOST_REQUESTS];
	size_t n_waiting;
};

static struct reply r;

static void know_node(struct play *p, uint64_t node)
{
	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i] == node)
			return;
	if (node && p->n_nodes < NODES)
		p->nodes[p->n_nodes++] = node;
}

static void take_entry(struct play *p, size_t at)
{
	struct fuse_entry_out e;
	assert_true(r.n >= at + sizeof e);
	memcpy(&e, r.p + at, sizeof e);
	assert_true(e.nodeid == 0 || e.attr.ino > 1);
	know_node(p, e.nodeid);
}

static void take_handle(struct play *p, size_t at)
{
	struct fuse_open_out open;
	assert_int_equal(r.n, at + sizeof open);
	memcpy(&open, r.p + at, sizeof open);
	p->handles[p->n_handles++ % HANDLES] = open.fh;
}

static void take_listing(struct play *p)
{
	for (size_t at = 0; at < r.n;) {
		const struct fuse_direntplus *d = (const void *)(r.p + at);
		assert_true(d->dirent.namelen > 0 && d->dirent.namelen <= 255);
		know_node(p, d->entry_out.nodeid);
		at += FUSE_DIRENTPLUS_SIZE(d);
		assert_true(at <= r.n);
	}
}

static void take_reply(struct play *p, uint32_t opcode)
{
	if (opcode == FUSE_LOOKUP || opcode == FUSE_SYMLINK)
		take_entry(p, 0);
	else if (opcode == FUSE_CREATE) {
		take_entry(p, 0);
		take_handle(p, sizeof(struct fuse_entry_out));
	} else if (opcode == FUSE_OPEN)
		take_handle(p, 0);
	else if (opcode == FUSE_READDIRPLUS)
		take_listing(p);
}

/* Answers the last request on this thread, unless the filesystem has threads of its own. */
static void serve(struct play *p)
{
	CLEANUP_FREE void *mem = NULL;
	struct fuse_buf b = {0};
	if (p->threaded)
		return;
	int n = fuse_session_receive_buf(p->w.se, &b);
	mem = b.mem;
	assert_true(n > 0);
	fuse_session_process_buf(p->w.se, &b);
}

/* Receives the next message: a notification, without an answer, or the answer to a pending request. */
static void receive(struct play *p)
{
	uint64_t unique = wire_receive_any(&p->w, &r);
	size_t i = 0;
	if (unique == 0)
		return;
	while (i < p->n_waiting && p->waiting[i].unique != unique)
		i++;
	if (i == p->n_waiting)
		fail_msg("%llu was answered but did not wait", (unsigned long long)unique);
	struct waiting it = p->waiting[i];
	p->waiting[i] = p->waiting[--p->n_waiting];
	assert_true(r.error <= 0 && r.error > -200 && r.error != -EFAULT && r.error != -ENOMEM);
	if (r.error == 0)
		take_reply(p, it.opcode);
}

static size_t must_wait(const struct play *p)
{
	size_t n = 0;
	for (size_t i = 0; i < p->n_waiting; i++)
		n += !p->waiting[i].optional;
	return n;
}

/* --- a request ----------------------------------------------------------------------- */

static uint64_t some_number(struct play *p)
{
	uint64_t n = 0;
	struct span s = feed_bytes(&p->f, sizeof n);
	if (s.n)
		memcpy(&n, s.p, s.n);
	return n;
}

static uint64_t some_node(struct play *p)
{
	unsigned which = feed_byte(&p->f);
	return which >= 0xf0 ? some_number(p) : p->nodes[which % p->n_nodes];
}

static uint64_t some_handle(struct play *p)
{
	unsigned which = feed_byte(&p->f);
	size_t n = p->n_handles < HANDLES ? p->n_handles : HANDLES;
	return which >= 0xf0 || n == 0 ? which & 0xf : p->handles[which % n];
}

/* A kernel sends no slash and no NUL, and no name longer than the max path. */
static void add_name(struct play *p, struct buf *out)
{
	static const char *const names[] = {"projects",
	                                    "home-w-app",
	                                    STEM,
	                                    "entries",
	                                    "labels",
	                                    "branches",
	                                    "aaaa0001",
	                                    "aaaa0002",
	                                    "label",
	                                    "name",
	                                    "branch",
	                                    "leaf",
	                                    "labels.tsv",
	                                    ".status",
	                                    "text.md",
	                                    "transcript.md",
	                                    "counting",
	                                    ".swp",
	                                    "Cu12aB9",
	                                    "../aaaa0001",
	                                    "errors",
	                                    "title",
	                                    "current",
	                                    "tool-calls",
	                                    "sessions",
	                                    "latest",
	                                    ".latest",
	                                    "4913",
	                                    "../entries/aaaa0001",
	                                    "entries/aaaa0001",
	                                    "session.jsonl"};
	unsigned which = feed_byte(&p->f);
	if (which < 0xf0) {
		buf_adds(out, names[which % (sizeof names / sizeof *names)]);
	} else {
		struct span s = feed_bytes(&p->f, feed_byte(&p->f));
		for (size_t i = 0; i < s.n; i++)
			buf_addc(out, s.p[i] ? s.p[i] : '0');
		if (s.n == 0)
			buf_addc(out, 'x');
	}
	buf_addc(out, '\0');
}

static void without_slashes(struct buf *b, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (b->p[i] == '/')
			b->p[i] = '_';
}

/* Sets known handles; appends the bytes of a write; limits most sizes. */
static void mend(struct play *p, uint32_t opcode, struct buf *arg)
{
	void *in = arg->p;
	if (opcode == FUSE_WRITE) {
		struct span s = feed_bytes(&p->f, feed_byte(&p->f));
		struct fuse_write_in *w = in;
		w->fh = some_handle(p);
		w->size = (uint32_t)s.n;
		w->offset &= w->offset & 1 ? 0xff : UINT64_MAX;
		buf_addspan(arg, s);
	} else if (opcode == FUSE_READ || opcode == FUSE_READDIR || opcode == FUSE_READDIRPLUS) {
		struct fuse_read_in *read = in;
		read->fh = opcode == FUSE_READ ? some_handle(p) : 0;
		read->size &= 0x1ffff; /* a kernel's max */
	} else if (opcode == FUSE_FLUSH || opcode == FUSE_FSYNC || opcode == FUSE_RELEASE || opcode == FUSE_POLL ||
	           opcode == FUSE_LSEEK || opcode == FUSE_FALLOCATE) {
		uint64_t fh = some_handle(p);
		memcpy(in, &fh, sizeof fh); /* it comes first in all of them */
	} else if (opcode == FUSE_SETATTR) {
		((struct fuse_setattr_in *)in)->fh = some_handle(p);
	} else if (opcode == FUSE_GETATTR) {
		((struct fuse_getattr_in *)in)->fh = some_handle(p);
	} else if (opcode == FUSE_RENAME || opcode == FUSE_RENAME2 || opcode == FUSE_LINK) {
		uint64_t node = some_node(p);
		memcpy(in, &node, sizeof node);
	} else if (opcode == FUSE_INTERRUPT) {
		uint64_t unique = p->w.unique - 2 * (feed_byte(&p->f) % 4);
		memcpy(in, &unique, sizeof unique);
	}
}

static void send_one(struct play *p)
{
	CLEANUP_BUF struct buf arg = BUF_INIT;
	const struct request *q = &requests[feed_byte(&p->f) % (sizeof requests / sizeof *requests)];
	uint64_t node = some_node(p);

	struct span bytes = feed_bytes(&p->f, q->size < 24 ? q->size : 24);
	assert_non_null(buf_reserve(&arg, q->size + 1));
	memset(arg.p, 0, q->size + 1);
	if (bytes.n)
		memcpy(arg.p, bytes.p, bytes.n);
	arg.n = q->size;
	if (q->size)
		mend(p, q->opcode, &arg);
	for (unsigned i = 0; i < q->names; i++) {
		size_t from = arg.n;
		add_name(p, &arg);
		if (i == 0 || q->opcode != FUSE_SYMLINK) /* a target can have slashes */
			without_slashes(&arg, from, arg.n);
	}
	uint64_t unique = wire_send(&p->w, q->opcode, node, arg.p, arg.n, NULL, 0);
	serve(p);
	if (q->opcode == FUSE_FORGET)
		return;
	p->waiting[p->n_waiting++] = (struct waiting){
	    .unique = unique,
	    .opcode = q->opcode,
	    /* An interrupt gets an answer only if it matches no request. */
	    .optional = q->opcode == FUSE_INTERRUPT,
	};
}

/* --- a run ------------------------------------------------------------------------------ */

static void put(struct play *p, const char *path, struct span text)
{
	CLEANUP_BUF struct buf full = BUF_INIT;
	buf_addf(&full, "%s/%s", p->w.source, path);
	fuzz_file(buf_cstr(&full), text, O_CREAT, 1000);
}

static void read_session(const struct play *p, struct buf *out)
{
	CLEANUP_BUF struct buf full = BUF_INIT;
	buf_addf(&full, "%s/%s", p->w.source, FILE_ONE);
	assert_true(read_file(buf_cstr(&full), out));
}

/* Looks up a node to use; 0 if it does not exist. */
static uint64_t know_below(struct play *p, uint64_t dir, const char *name)
{
	struct fuse_entry_out e = {0};
	if (dir == 0)
		return 0;
	uint64_t unique = wire_send(&p->w, FUSE_LOOKUP, dir, name, strlen(name) + 1, NULL, 0);
	serve(p);
	if (wire_receive_of(&p->w, unique, &r) == 0)
		memcpy(&e, r.p, sizeof e);
	know_node(p, e.nodeid);
	return e.nodeid;
}

/* As wire_open does, but no thread waits for requests. */
static void open_here(struct play *p, bool read_only, uint32_t flags)
{
	struct wire *w = &p->w;
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_init_in in = {.major = 7, .minor = 36, .max_readahead = 1 << 17, .flags = flags};
	const struct catalog_options o = {.budget = &w->budget, .watch = !w->unwatched};

	w->budget = (struct budget)BUDGET_INIT(1 << 20);
	assert_int_equal(catalog_open(w->source, &o, &w->catalog), 0);
	assert_int_equal(cache_open(&w->budget, &w->cache), 0);
	assert_int_equal(
	    tree_open(&(struct tree_options){.catalog = w->catalog, .cache = w->cache, .read_only = read_only},
	              &w->tree),
	    0);
	assert_int_equal(fs_open(&(struct fs_options){w->tree, w->catalog, read_only, false}, &w->fs), 0);
	assert_int_equal(fuse_opt_add_arg(&args, "wire"), 0);
	w->se = fuse_session_new(&args, &fs_operations, sizeof fs_operations, w->fs);
	assert_non_null(w->se);
	fs_attach(w->fs, w->se);
	fuse_opt_free_args(&args);
	wire_connect(w);
	uint64_t unique = wire_send(w, FUSE_INIT, 0, &in, sizeof in, NULL, 0);
	serve(p);
	assert_int_equal(wire_receive_of(w, unique, &r), 0);
}

static void begin(struct play *p, struct span session)
{
	CLEANUP_BUF struct buf path = BUF_INIT;
	unsigned options = feed_byte(&p->f);

	snprintf(p->w.source, sizeof p->w.source, "%s/w", fuzz_dir());
	assert_int_equal(mkdir(p->w.source, 0755), 0);
	buf_addf(&path, "%s/%s", p->w.source, PROJECT);
	assert_int_equal(mkdir(buf_cstr(&path), 0755), 0);
	put(p, FILE_ONE, session);
	put(p, "flat.jsonl", SPAN_LIT("{\"type\":\"session\",\"id\":\"flat\"}\n"));
	p->w.fd = -1;
	/* Threads, and closing an inotify instance, take longer than the rest. */
	p->w.threads = 1 + (options >> 4 & 1);
	p->w.unwatched = (options >> 5) > 1;
	p->threaded = (options >> 5) == 1;
	uint32_t flags = FLAGS | (options & 2 ? FUSE_NO_OPEN_SUPPORT | FUSE_NO_OPENDIR_SUPPORT : 0);
	if (p->threaded)
		wire_open(&p->w, options & 1, flags);
	else
		open_here(p, options & 1, flags);
	know_node(p, FUSE_ROOT_ID);
	know_below(p, FUSE_ROOT_ID, "projects");
	know_node(p, 2); /* none has this number */
}

/* Each tree logs that it does not follow changes. */
void __wrap_log_message(enum log_level level, const char *fmt, ...);
void __wrap_log_message(enum log_level level, const char *fmt, ...)
{
	(void)level, (void)fmt;
}

static void know_session(struct play *p)
{
	static const char *const names[] = {"labels", "branches", "labels.tsv", "transcript.md", "leaf"};
	uint64_t session = know_below(p, know_below(p, p->nodes[1], "home-w-app"), STEM);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		know_below(p, session, names[i]);
	uint64_t entries = know_below(p, session, "entries");
	know_below(p, entries, "aaaa0001");
	know_below(p, know_below(p, entries, "aaaa0002"), "label");
}

static bool is_old(struct span session)
{
	return !memmem(session.p, session.n, "\"version\"", 9);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_BUF struct buf old = BUF_INIT, new = BUF_INIT;
	static struct play p;

	if (size == 0)
		return 0;
	log_setup(LOG_LEVEL_ERROR, LOG_TO_STDERR);
	p = (struct play){.f = feed_of(data, size)};
	struct span session = SPAN_LIT(one);
	if (data[0] == '{') {
		session = feed_step(&p.f);
	}
	begin(&p, session);
	know_session(&p);
	read_session(&p, &old);
	for (unsigned i = 0; p.f.n > 0 && i < MOST_REQUESTS; i++) {
		unsigned depth = feed_byte(&p.f) % DEPTH;
		send_one(&p);
		while (must_wait(&p) > depth)
			receive(&p);
	}
	while (must_wait(&p) > 0)
		receive(&p);
	if (p.threaded)
		wire_stop(&p.w);
	else
		fs_stop(p.w.fs);
	while (p.n_waiting > 0 && wire_wait(&p.w, 0))
		receive(&p);
	for (size_t i = 0; i < p.n_waiting; i++)
		assert_int_equal(p.waiting[i].opcode, FUSE_INTERRUPT);
	read_session(&p, &new);
	if (!is_old(session))
		assert_true(new.n >= old.n &&memcmp(new.p, old.p, old.n) == 0);
	wire_close(&p.w);
	return 0;
}
