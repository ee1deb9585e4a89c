/* SPDX-License-Identifier: MIT */
#include "wire.h"

#include "../unit/files.h"
#include "../unit/later.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

static int open_below(struct wire *w, const char *path, int flags)
{
	char full[512];
	snprintf(full, sizeof full, "%s/%s", w->source, path);
	for (char *slash = full + strlen(w->source) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	int fd = open(full, flags | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	return fd;
}

static void put_text(struct wire *w, const char *path, const char *text, int flags)
{
	int fd = open_below(w, path, flags);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

void wire_file(struct wire *w, const char *path, const char *text)
{
	put_text(w, path, text, O_WRONLY | O_CREAT | O_TRUNC);
}

void wire_append(struct wire *w, const char *path, const char *text)
{
	put_text(w, path, text, O_WRONLY | O_APPEND);
}

void wire_age(struct wire *w, const char *path, long seconds)
{
	struct timespec times[2];
	int fd = open_below(w, path, O_WRONLY);
	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= seconds;
	times[1] = times[0];
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

void wire_remove(struct wire *w, const char *path)
{
	char full[512];
	snprintf(full, sizeof full, "%s/%s", w->source, path);
	assert_int_equal(unlink(full), 0);
}

void wire_chmod(struct wire *w, const char *path, mode_t mode)
{
	char full[512];
	snprintf(full, sizeof full, "%s/%s", w->source, path);
	assert_int_equal(chmod(full, mode), 0);
}

void wire_wait_for_look(void)
{
	/* A scan is valid for several times as long as it took, which can be long on a busy machine: now it takes no
	 * time. */
	let_stand(CATALOG_CLOCK);
	let_pass(CATALOG_CLOCK, 2 * WIRE_FRESH_MS);
}

void wire_source(struct wire *w)
{
	*w = (struct wire){.source = "/tmp/sessionfs-wire-XXXXXX", .fd = -1, .kept = BUF_INIT};
	make_temporary(w->source);
}

void wire_let_pass(clockid_t clock, int64_t ms)
{
	let_pass(clock, ms);
}

void wire_let_stand(clockid_t clock)
{
	let_stand(clock);
}

/* The number of the request whose reply is refused. */
static _Atomic uint64_t withdrawn;

static ssize_t io_writev(int fd, struct iovec *iov, int count, void *userdata)
{
	uint64_t unique = ((const struct fuse_out_header *)iov[0].iov_base)->unique;
	if (unique && atomic_compare_exchange_strong(&withdrawn, &unique, 0))
		return errno = ENOENT, -1;
	return writev(fd, iov, count);
}

static ssize_t io_read(int fd, void *p, size_t n, void *userdata)
{
	ssize_t got = recv(fd, p, n, 0);
	if (got != 0)
		return got;
	errno = ENODEV; /* as after an unmount */
	return -1;
}

static void *run(void *arg)
{
	struct wire *w = arg;
	fs_loop(w->fs, w->threads, NULL, NULL);
	return NULL;
}

void wire_connect(struct wire *w)
{
	static const struct fuse_custom_io io = {.writev = io_writev, .read = io_read};
	int fds[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	w->fd = fds[0];
	int rc = fuse_session_custom_io(w->se, &io, fds[1]);
	/* cmocka cannot skip a test in its setup. */
	if (rc == -EOPNOTSUPP) {
		puts("skipped: this libfuse is built without custom io");
		exit(77);
	}
	assert_int_equal(rc, 0);
}

void wire_shake_hands(struct wire *w, uint32_t flags)
{
	struct fuse_init_in in = {.major = 7, .minor = 36, .max_readahead = 1 << 17, .flags = flags};
	assert_int_equal(wire_get(w, FUSE_INIT, 0, &in, sizeof in, &w->init, 0), 0);
	assert_int_equal(w->init.major, 7);
}

void wire_open(struct wire *w, bool read_only, uint32_t flags)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);

	w->budget = (struct budget)BUDGET_INIT(1 << 20);
	assert_int_equal(catalog_open(w->source,
	                              &(struct catalog_options){
					  .budget = &w->budget, .watch = !w->unwatched, .fresh_ms = WIRE_FRESH_MS},
	                              &w->catalog),
	                 0);
	assert_int_equal(cache_open(&w->budget, &w->cache), 0);
	assert_int_equal(
	    tree_open(&(struct tree_options){.catalog = w->catalog, .cache = w->cache, .read_only = read_only},
	              &w->tree),
	    0);
	assert_int_equal(fs_open(&(struct fs_options){w->tree, w->catalog, read_only, w->refuse_own}, &w->fs), 0);
	assert_int_equal(fuse_opt_add_arg(&args, "wire"), 0);
	w->se = fuse_session_new(&args, &fs_operations, sizeof fs_operations, w->fs);
	assert_non_null(w->se);
	fs_attach(w->fs, w->se);
	fuse_opt_free_args(&args);
	wire_connect(w);
	assert_int_equal(pthread_create(&w->thread, NULL, run, w), 0);
	wire_shake_hands(w, flags);
}

void wire_stop(struct wire *w)
{
	shutdown(w->fd, SHUT_WR);
	pthread_join(w->thread, NULL);
	fs_stop(w->fs);
}

void wire_close(struct wire *w)
{
	fuse_session_destroy(w->se);
	fs_close(w->fs);
	tree_close(w->tree);
	cache_close(w->cache);
	catalog_close(w->catalog);
	close(w->fd);
	buf_release(&w->kept);
	remove_all(w->source);
}

uint64_t wire_send(struct wire *w, uint32_t opcode, uint64_t node, const void *arg, size_t n, const void *more,
                   size_t more_n)
{
	struct fuse_in_header in = {
	    .len = (uint32_t)(sizeof in + n + more_n),
	    .opcode = opcode,
	    .unique = w->unique += 2, /* as the kernel counts: odd numbers are interrupts */
	    .nodeid = node,
	    .uid = w->uid,
	    .gid = w->uid,
	    .pid = w->pid ? w->pid : (uint32_t)getpid(),
	};
	struct iovec parts[] = {{&in, sizeof in}, {(void *)(uintptr_t)arg, n}, {(void *)(uintptr_t)more, more_n}};
	assert_int_equal(writev(w->fd, parts, 3), in.len);
	return in.unique;
}

void wire_send_withdrawn(struct wire *w, uint32_t opcode, uint64_t node, const void *arg, size_t n, const void *more,
                         size_t more_n)
{
	atomic_store(&withdrawn, w->unique + 2);
	wire_send(w, opcode, node, arg, n, more, more_n);
}

bool wire_wait(struct wire *w, int ms)
{
	struct pollfd p = {.fd = w->fd, .events = POLLIN};
	int n;
	/* libFuzzer sends a signal to find hanging inputs. */
	do
		n = poll(&p, 1, ms);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static struct fuse_out_header receive(struct wire *w, struct reply *ret)
{
	struct fuse_out_header out;
	struct iovec parts[] = {{&out, sizeof out}, {ret->p, sizeof ret->p}};
	wire_wait(w, -1);
	ssize_t got = readv(w->fd, parts, 2);
	assert_true(got >= (ssize_t)sizeof out);
	assert_int_equal(got, out.len);
	if (out.unique == 0) {
		if (out.error == FUSE_NOTIFY_INVAL_INODE) {
			memcpy(&w->dropped, ret->p, sizeof w->dropped);
			w->drops += w->counted && w->dropped.ino == w->counted && w->dropped.off == 0;
		} else {
			struct fuse_notify_inval_entry_out of;
			assert_int_equal(out.error, FUSE_NOTIFY_INVAL_ENTRY);
			memcpy(&of, ret->p, sizeof of);
			w->drops +=
			    w->counted_name && span_is((struct span){ret->p + sizeof of, of.namelen}, w->counted_name);
		}
		w->notifications++;
	}
	return out;
}

uint64_t wire_receive_any(struct wire *w, struct reply *ret)
{
	struct fuse_out_header out = receive(w, ret);
	ret->error = out.error;
	ret->n = out.len - sizeof out;
	return out.unique;
}

uint64_t wire_receive(struct wire *w, struct reply *ret)
{
	uint64_t unique;
	do
		unique = wire_receive_any(w, ret);
	while (unique == 0);
	return unique;
}

void wire_notification(struct wire *w)
{
	static struct reply r;
	assert_int_equal(wire_receive_any(w, &r), 0);
}

int wire_receive_of(struct wire *w, uint64_t unique, struct reply *ret)
{
	static struct reply any;
	ret = ret ? ret : &any;
	assert_int_equal(wire_receive(w, ret), unique);
	return ret->error;
}

int wire_call(struct wire *w, uint32_t opcode, uint64_t node, const void *arg, size_t n, struct reply *ret)
{
	return wire_receive_of(w, wire_send(w, opcode, node, arg, n, NULL, 0), ret);
}

int wire_get(struct wire *w, uint32_t opcode, uint64_t node, const void *arg, size_t n, void *ret, size_t ret_n)
{
	static struct reply r;
	int rc = wire_call(w, opcode, node, arg, n, &r);
	if (rc == 0) {
		assert_true(ret_n == 0 || r.n == ret_n);
		memcpy(ret, r.p, r.n);
	}
	return rc;
}

int wire_lookup(struct wire *w, uint64_t parent, const char *name, struct fuse_entry_out *ret)
{
	return wire_get(w, FUSE_LOOKUP, parent, name, strlen(name) + 1, ret, sizeof *ret);
}

struct fuse_entry_out wire_walk(struct wire *w, const char *path)
{
	struct fuse_entry_out e = {.nodeid = FUSE_ROOT_ID};
	char names[512];
	snprintf(names, sizeof names, "%s", path);
	for (char *name = strtok(names, "/"); name; name = strtok(NULL, "/")) {
		int rc = wire_lookup(w, e.nodeid, name, &e);
		if (rc || e.nodeid == 0)
			fail_msg("%s: no %s (%s)", path, name, strerror(-rc));
	}
	return e;
}

int wire_open_file(struct wire *w, uint64_t node, uint32_t flags, struct fuse_open_out *ret)
{
	struct fuse_open_in in = {.flags = flags};
	return wire_get(w, FUSE_OPEN, node, &in, sizeof in, ret, sizeof *ret);
}

int wire_open_dir(struct wire *w, const char *path)
{
	struct fuse_open_in in = {.flags = O_RDONLY | O_DIRECTORY};
	struct fuse_open_out open;
	int rc = wire_get(w, FUSE_OPENDIR, wire_walk(w, path).nodeid, &in, sizeof in, &open, sizeof open);
	return rc ? rc : (int)(open.open_flags & FOPEN_CACHE_DIR);
}

int wire_flush(struct wire *w, uint64_t node, uint64_t fh)
{
	struct fuse_flush_in in = {.fh = fh};
	return wire_call(w, FUSE_FLUSH, node, &in, sizeof in, NULL);
}

void wire_release(struct wire *w, uint64_t node, uint64_t fh)
{
	struct fuse_release_in in = {.fh = fh};
	assert_int_equal(wire_call(w, FUSE_RELEASE, node, &in, sizeof in, NULL), 0);
}

int wire_read(struct wire *w, uint64_t node, uint64_t fh, uint64_t off, uint32_t n, struct reply *ret)
{
	struct fuse_read_in in = {.fh = fh, .offset = off, .size = n};
	return wire_call(w, FUSE_READ, node, &in, sizeof in, ret);
}

int wire_readdirplus(struct wire *w, uint64_t node, uint64_t off, uint32_t n, struct reply *ret)
{
	struct fuse_read_in in = {.offset = off, .size = n};
	return wire_call(w, FUSE_READDIRPLUS, node, &in, sizeof in, ret);
}

struct fuse_attr_out wire_attr(struct wire *w, uint64_t node)
{
	struct fuse_getattr_in in = {0};
	struct fuse_attr_out out;
	assert_int_equal(wire_get(w, FUSE_GETATTR, node, &in, sizeof in, &out, sizeof out), 0);
	return out;
}

unsigned wire_told(struct wire *w, uint64_t dir)
{
	unsigned before = w->notifications;
	wire_attr(w, dir);
	if (w->notifications > before) {
		assert_int_equal(w->dropped.ino, dir);
		assert_int_equal(w->dropped.off, 0);
		assert_int_equal(w->dropped.len, 0);
	}
	return w->notifications - before;
}

struct listed *wire_list(struct wire *w, uint64_t dir, uint32_t piece, size_t *ret_n)
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

void wire_list_away(struct wire *w, uint64_t dir)
{
	size_t n;
	free(wire_list(w, dir, 4096, &n));
}
