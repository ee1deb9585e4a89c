/* SPDX-License-Identifier: MIT */
#include "disk.h"

#include "sessionfs/base/cleanup.h"
#include "sessionfs/base/sys.h"
#include "sessionfs/base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISK_PAGE 4096
#define DISK_SECTOR 512
/* Of more units, any one is lost, or all after one of them. */
#define SUBSETS_MAX 6
/* A longer write is torn at each byte only near its ends and near the ends of sectors. */
#define WHOLLY_TORN_MAX 1024
#define NAME_SIZE 64
#define NO_FILE ((size_t)-1)

enum call_kind { CALL_WRITE, CALL_TRUNCATE, CALL_SYNC, CALL_NAME, CALL_RENAME, CALL_SYNC_DIR, CALL_PROMISE };

struct call {
	enum call_kind kind;
	size_t file;
	uint64_t at;      /* of a write; the size after a truncation */
	struct buf bytes; /* of a write, or promised */
	char name[NAME_SIZE], to[NAME_SIZE];
};

struct file {
	dev_t dev;
	ino_t ino;
	struct buf start;
	char name[NAME_SIZE]; /* at first; "" if it was created later */
};

struct disk {
	char dir[256];
	int fd;
	struct stat self;
	enum disk_trouble trouble;
	VEC(struct call) calls;
	VEC(struct file) files;
};

static struct disk *recorded;
static pthread_mutex_t recording = PTHREAD_MUTEX_INITIALIZER;

/* --- recording ------------------------------------------------------------------------ */

static void check(bool ok, const char *what)
{
	if (!ok) {
		perror(what);
		abort();
	}
}

static void load(int dir, const char *name, struct buf *out)
{
	int fd CLEANUP_CLOSE = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;
	check(fd >= 0, name);
	while (n > 0) {
		char *to = buf_reserve(out, 65536);
		check(to != NULL, name);
		n = read(fd, to, 65536);
		check(n >= 0, name);
		out->n += (size_t)n;
	}
}

static size_t file_of(const struct disk *d, int fd)
{
	struct stat st;
	if (d && fstat(fd, &st) == 0)
		for (size_t i = 0; i < d->files.n; i++)
			if (d->files.v[i].dev == st.st_dev && d->files.v[i].ino == st.st_ino)
				return i;
	return NO_FILE;
}

static bool is_dir(const struct disk *d, int fd)
{
	struct stat st;
	return d && fstat(fd, &st) == 0 && st.st_dev == d->self.st_dev && st.st_ino == d->self.st_ino;
}

static struct call *add(struct disk *d, enum call_kind kind, size_t file)
{
	check(vec_reserve(&d->calls, 1), "a call");
	struct call *c = &d->calls.v[d->calls.n++];
	*c = (struct call){.kind = kind, .file = file, .bytes = BUF_INIT};
	return c;
}

static size_t add_file(struct disk *d, const char *name, bool is_new)
{
	struct stat st;
	check(vec_reserve(&d->files, 1) && fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0, name);
	struct file *f = &d->files.v[d->files.n];
	*f = (struct file){.dev = st.st_dev, .ino = st.st_ino, .start = BUF_INIT};
	if (is_new)
		snprintf(add(d, CALL_NAME, d->files.n)->name, NAME_SIZE, "%s", name);
	else
		snprintf(f->name, sizeof f->name, "%s", name);
	if (!is_new)
		load(d->fd, name, &f->start);
	return d->files.n++;
}

static void add_write(struct disk *d, size_t file, const void *p, size_t n, uint64_t at)
{
	struct call *c = add(d, CALL_WRITE, file);
	c->at = at;
	buf_add(&c->bytes, p, n);
}

static uint64_t size_of(int fd)
{
	struct stat st;
	check(fstat(fd, &st) == 0, "fstat");
	return (uint64_t)st.st_size;
}

static ssize_t record_write(int fd, const void *p, size_t n)
{
	pthread_mutex_lock(&recording);
	size_t file = file_of(recorded, fd);
	enum disk_trouble trouble = file == NO_FILE ? DISK_SOUND : recorded->trouble;
	uint64_t at = file == NO_FILE ? 0 : size_of(fd);
	bool is_part = trouble == DISK_SHORT || trouble == DISK_FULL;
	ssize_t done = trouble == DISK_NO_ROOM ? (errno = ENOSPC, -1) : write(fd, p, is_part ? n / 2 : n);
	if (file != NO_FILE && done > 0)
		add_write(recorded, file, p, (size_t)done, at);
	if (trouble == DISK_FULL)
		recorded->trouble = DISK_NO_ROOM;
	else if (trouble == DISK_SHORT || trouble == DISK_NO_ROOM)
		recorded->trouble = DISK_SOUND;
	pthread_mutex_unlock(&recording);
	return done;
}

static ssize_t record_pwrite(int fd, const void *p, size_t n, off_t at)
{
	pthread_mutex_lock(&recording);
	size_t file = file_of(recorded, fd);
	ssize_t done = pwrite(fd, p, n, at);
	if (file != NO_FILE && done > 0)
		add_write(recorded, file, p, (size_t)done, (uint64_t)at);
	pthread_mutex_unlock(&recording);
	return done;
}

static int record_ftruncate(int fd, off_t size)
{
	pthread_mutex_lock(&recording);
	size_t file = file_of(recorded, fd);
	int rc = ftruncate(fd, size);
	if (file != NO_FILE && rc == 0)
		add(recorded, CALL_TRUNCATE, file)->at = (uint64_t)size;
	pthread_mutex_unlock(&recording);
	return rc;
}

/* The sync is of the bytes before this line. */
static void append_meanwhile(struct disk *d, size_t file)
{
	static const char line[] = "{\"type\":\"custom\",\"id\":\"meanwhile\",\"parentId\":null}\n";
	int fd CLEANUP_CLOSE = openat(d->fd, d->files.v[file].name, O_WRONLY | O_APPEND | O_CLOEXEC);
	check(fd >= 0, d->files.v[file].name);
	uint64_t at = size_of(fd);
	load(d->fd, d->files.v[file].name, &add(d, CALL_PROMISE, NO_FILE)->bytes);
	check(write(fd, line, strlen(line)) == (ssize_t)strlen(line), d->files.v[file].name);
	add_write(d, file, line, strlen(line), at);
	d->trouble = DISK_SOUND;
}

/* The real disk is not asked: only the record says what is on this one. */
static int record_sync(int fd)
{
	pthread_mutex_lock(&recording);
	size_t file = file_of(recorded, fd);
	int rc = 0;
	if (file != NO_FILE && recorded->trouble == DISK_BROKEN) {
		recorded->trouble = DISK_SOUND;
		errno = EIO;
		rc = -1;
	} else if (file != NO_FILE) {
		add(recorded, CALL_SYNC, file);
		if (recorded->trouble == DISK_CROWDED)
			append_meanwhile(recorded, file);
	} else if (is_dir(recorded, fd)) {
		add(recorded, CALL_SYNC_DIR, NO_FILE);
	}
	pthread_mutex_unlock(&recording);
	return rc;
}

static int record_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	pthread_mutex_lock(&recording);
	int rc = renameat(from_dir, from, to_dir, to);
	if (rc == 0 && is_dir(recorded, from_dir) && is_dir(recorded, to_dir)) {
		struct call *c = add(recorded, CALL_RENAME, NO_FILE);
		snprintf(c->name, sizeof c->name, "%s", from);
		snprintf(c->to, sizeof c->to, "%s", to);
	}
	pthread_mutex_unlock(&recording);
	return rc;
}

static int record_openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	pthread_mutex_lock(&recording);
	int fd = openat(dir, path, flags, mode);
	if (fd >= 0 && flags & O_CREAT && is_dir(recorded, dir) && file_of(recorded, fd) == NO_FILE)
		add_file(recorded, path, true);
	pthread_mutex_unlock(&recording);
	return fd;
}

__typeof__(write) *const sys_write = record_write;
__typeof__(pwrite) *const sys_pwrite = record_pwrite;
__typeof__(ftruncate) *const sys_ftruncate = record_ftruncate;
__typeof__(fsync) *const sys_fsync = record_sync;
__typeof__(fdatasync) *const sys_fdatasync = record_sync;
__typeof__(renameat) *const sys_renameat = record_renameat;
__typeof__(openat) *const sys_openat = record_openat;

struct disk *disk_open(const char *dir)
{
	struct disk *d = calloc(1, sizeof *d);
	check(d != NULL, "disk");
	snprintf(d->dir, sizeof d->dir, "%s", dir);
	d->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check(d->fd >= 0 && fstat(d->fd, &d->self) == 0, dir);
	DIR *names CLEANUP_CLOSEDIR = opendir(dir);
	check(names != NULL, dir);
	for (const struct dirent *e; (e = readdir(names));)
		if (e->d_name[0] != '.')
			add_file(d, e->d_name, false);
	pthread_mutex_lock(&recording);
	recorded = d;
	pthread_mutex_unlock(&recording);
	return d;
}

void disk_stop(struct disk *d)
{
	pthread_mutex_lock(&recording);
	if (recorded == d)
		recorded = NULL;
	pthread_mutex_unlock(&recording);
}

void disk_close(struct disk *d)
{
	disk_stop(d);
	for (size_t i = 0; i < d->calls.n; i++)
		buf_release(&d->calls.v[i].bytes);
	for (size_t i = 0; i < d->files.n; i++)
		buf_release(&d->files.v[i].start);
	vec_release(&d->calls);
	vec_release(&d->files);
	close(d->fd);
	free(d);
}

void disk_append(struct disk *d, const char *name, const char *text)
{
	int fd CLEANUP_CLOSE = record_openat(d->fd, name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	check(fd >= 0 && record_write(fd, text, strlen(text)) == (ssize_t)strlen(text), name);
}

void disk_rename(struct disk *d, const char *from, const char *to)
{
	check(record_renameat(d->fd, from, d->fd, to) == 0, from);
}

void disk_promise(struct disk *d, const char *name)
{
	pthread_mutex_lock(&recording);
	load(d->fd, name, &add(d, CALL_PROMISE, NO_FILE)->bytes);
	pthread_mutex_unlock(&recording);
}

void disk_set_trouble(struct disk *d, enum disk_trouble trouble)
{
	pthread_mutex_lock(&recording);
	d->trouble = trouble;
	pthread_mutex_unlock(&recording);
}

static bool changes_file(const struct call *c, size_t file)
{
	return c->file == file && (c->kind == CALL_WRITE || c->kind == CALL_TRUNCATE);
}

size_t disk_count_files(const struct disk *d)
{
	return d->files.n;
}

size_t disk_count_calls(const struct disk *d)
{
	return d->calls.n;
}

bool disk_is_sync(const struct disk *d, size_t call)
{
	const struct call *sync = &d->calls.v[call];
	const bool is_name = sync->kind == CALL_SYNC_DIR;
	if (sync->kind != CALL_SYNC && !is_name)
		return false;
	for (size_t i = call; i-- > 0;) {
		const struct call *c = &d->calls.v[i];
		if (c->kind == sync->kind && c->file == sync->file)
			return false;
		if (is_name ? c->kind == CALL_NAME || c->kind == CALL_RENAME : changes_file(c, sync->file))
			return true;
	}
	return false;
}

struct span disk_start(const struct disk *d, size_t file)
{
	return buf_span(&d->files.v[file].start);
}

struct span disk_bytes(const struct disk *d, size_t call)
{
	return buf_span(&d->calls.v[call].bytes);
}

/* --- states --------------------------------------------------------------------------- */

struct maker {
	const struct disk *d;
	size_t without;
	void (*fn)(void *arg, const struct disk_state *state);
	void *arg;
	struct span promise;
	struct disk_seen seen; /* states */
};

uint64_t disk_hash(uint64_t before, struct span bytes)
{
	for (size_t i = 0; i < bytes.n; i++)
		before = (before ^ (unsigned char)bytes.p[i]) * UINT64_C(0x100000001b3);
	return (before ^ bytes.n) * UINT64_C(0x9e3779b97f4a7c15);
}

static bool seen_put(struct disk_seen *seen, uint64_t hash)
{
	size_t at = hash % seen->size;
	for (; seen->places[at]; at = (at + 1) % seen->size)
		if (seen->places[at] == hash)
			return false;
	seen->places[at] = hash;
	return true;
}

bool disk_seen_add(struct disk_seen *seen, uint64_t hash)
{
	if ((seen->n + 1) * 2 > seen->size) {
		struct disk_seen old = *seen;
		seen->size = old.size ? old.size * 2 : 1024;
		seen->places = calloc(seen->size, sizeof *seen->places);
		check(seen->places != NULL, "hashes");
		for (size_t i = 0; i < old.size; i++)
			if (old.places[i])
				seen_put(seen, old.places[i]);
		free(old.places);
	}
	bool is_new = seen_put(seen, hash + (hash == 0));
	seen->n += is_new;
	return is_new;
}

void disk_seen_release(struct disk_seen *seen)
{
	free(seen->places);
}

static void emit(struct maker *m, bool exists, struct span bytes)
{
	struct disk_state s = {exists, bytes, m->promise};
	if (disk_seen_add(&m->seen, disk_hash(disk_hash(exists, bytes), m->promise)))
		m->fn(m->arg, &s);
}

static bool counts(const struct maker *m, size_t call)
{
	return m->without != DISK_NO_SYNC && m->without != call;
}

static void set_size(struct buf *b, uint64_t size)
{
	if (b->n < size) {
		char *p = buf_reserve(b, (size_t)size - b->n);
		check(p != NULL, "a state");
		memset(p, 0, (size_t)size - b->n);
	}
	b->n = (size_t)size;
}

/* Applies the first n bytes of a write; of other calls, all. */
static void apply(struct buf *b, const struct call *c, size_t n)
{
	if (c->kind == CALL_TRUNCATE)
		set_size(b, c->at);
	if (c->kind != CALL_WRITE || n == 0)
		return;
	if (b->n < c->at + n)
		set_size(b, c->at + n);
	memcpy(b->p + c->at, c->bytes.p, n);
}

/* Replaces *b by the file as of the call before `upto`. */
static void build(const struct disk *d, size_t file, size_t upto, struct buf *b)
{
	buf_reset(b);
	buf_addspan(b, buf_span(&d->files.v[file].start));
	for (size_t i = 0; i < upto; i++)
		if (d->calls.v[i].file == file)
			apply(b, &d->calls.v[i], d->calls.v[i].bytes.n);
}

/* The size of `now` is on the disk, but of its bytes from `from` on only some units: each set of them is lost, or of
 * many units each one, and all after each one. A lost unit has the bytes of `before`, or NULs. */
static void lose_units(struct maker *m, struct span now, struct span before, size_t from, size_t unit)
{
	struct buf b CLEANUP_BUF = BUF_INIT;
	size_t first = from / unit, n = now.n > from ? (now.n - 1) / unit - first + 1 : 0;
	size_t sets = n <= SUBSETS_MAX ? (size_t)1 << n : 2 * n;
	for (size_t set = 0; n > 0 && set < sets; set++) {
		buf_reset(&b);
		buf_addspan(&b, now);
		for (size_t i = 0; i < n; i++) {
			bool lost = n <= SUBSETS_MAX ? set >> i & 1 : set < n ? i == set : i >= set - n;
			size_t begin = i == 0 ? from : (first + i) * unit;
			size_t end = (first + i + 1) * unit < now.n ? (first + i + 1) * unit : now.n;
			for (size_t k = begin; lost && k < end; k++)
				b.p[k] = k < before.n ? before.p[k] : '\0';
		}
		emit(m, true, buf_span(&b));
	}
}

static bool is_torn_at(const struct call *c, size_t n)
{
	size_t sector = (size_t)((c->at + n) % DISK_SECTOR);
	return c->bytes.n <= WHOLLY_TORN_MAX || n < 64 || n + 64 > c->bytes.n || sector <= 1 ||
	       sector == DISK_SECTOR - 1;
}

/* The write, up to each of its bytes: the file ends there, or has NULs up to the write's end. */
static void tear(struct maker *m, const struct call *c, struct span before)
{
	struct buf b CLEANUP_BUF = BUF_INIT;
	for (size_t n = 0; n <= c->bytes.n; n++) {
		if (!is_torn_at(c, n))
			continue;
		buf_reset(&b);
		buf_addspan(&b, before);
		apply(&b, c, n);
		emit(m, true, buf_span(&b));
		if (b.n < c->at + c->bytes.n)
			set_size(&b, c->at + c->bytes.n);
		emit(m, true, buf_span(&b));
	}
}

/* The states of one file if the power fails before the call `end`. */
static void each_of_file(struct maker *m, size_t file, size_t end)
{
	struct buf durable CLEANUP_BUF = BUF_INIT, before CLEANUP_BUF = BUF_INIT, now CLEANUP_BUF = BUF_INIT;
	size_t synced = 0;
	for (size_t i = 0; i < end; i++)
		if (m->d->calls.v[i].kind == CALL_SYNC && m->d->calls.v[i].file == file && counts(m, i))
			synced = i;
	build(m->d, file, synced, &durable);
	emit(m, true, buf_span(&durable));
	for (size_t i = synced; i < end; i++) {
		const struct call *c = &m->d->calls.v[i];
		if (!changes_file(c, file))
			continue;
		build(m->d, file, i, &before);
		build(m->d, file, i + 1, &now);
		emit(m, true, buf_span(&now));
		if (c->kind == CALL_WRITE)
			tear(m, c, buf_span(&before));
		size_t from = c->at < durable.n ? (size_t)c->at : durable.n;
		lose_units(m, buf_span(&now), buf_span(&durable), from, DISK_PAGE);
		lose_units(m, buf_span(&now), buf_span(&durable), from, DISK_SECTOR);
		/* After a truncation, what was there before can show again. */
		lose_units(m, buf_span(&now), buf_span(&before), from, DISK_PAGE);
	}
}

/* Returns the file that the name leads to, after the first `names` of the calls before `end` that change names. */
static size_t find_file(const struct disk *d, const char *name, size_t names, size_t end)
{
	char now[8][NAME_SIZE] = {{0}};
	check(d->files.n <= 8, "too many files");
	for (size_t i = 0; i < d->files.n; i++)
		strcpy(now[i], d->files.v[i].name);
	for (size_t i = 0; i < end && names > 0; i++) {
		const struct call *c = &d->calls.v[i];
		if (c->kind == CALL_NAME)
			strcpy(now[c->file], c->name);
		for (size_t k = 0; c->kind == CALL_RENAME && k < d->files.n; k++)
			if (strcmp(now[k], c->to) == 0)
				now[k][0] = '\0';
		for (size_t k = 0; c->kind == CALL_RENAME && k < d->files.n; k++)
			if (strcmp(now[k], c->name) == 0)
				strcpy(now[k], c->to);
		names -= c->kind == CALL_NAME || c->kind == CALL_RENAME;
	}
	for (size_t i = 0; i < d->files.n; i++)
		if (strcmp(now[i], name) == 0)
			return i;
	return NO_FILE;
}

/* The states if the power fails before the call `end`. */
static void each_before(struct maker *m, const char *name, size_t end)
{
	size_t names = 0, synced = 0;
	m->promise = (struct span){NULL, 0};
	for (size_t i = 0; i < end; i++) {
		const struct call *c = &m->d->calls.v[i];
		names += c->kind == CALL_NAME || c->kind == CALL_RENAME;
		if (c->kind == CALL_SYNC_DIR && counts(m, i))
			synced = names;
		if (c->kind == CALL_PROMISE)
			m->promise = buf_span(&c->bytes);
	}
	for (size_t n = synced; n <= names; n++) {
		size_t file = find_file(m->d, name, n, end);
		if (file == NO_FILE)
			emit(m, false, (struct span){NULL, 0});
		else
			each_of_file(m, file, end);
	}
}

size_t disk_each_state(const struct disk *d, const char *name, size_t without,
                       void (*fn)(void *arg, const struct disk_state *state), void *arg)
{
	struct maker m = {.d = d, .without = without, .fn = fn, .arg = arg};
	for (size_t end = 0; end <= d->calls.n; end++)
		each_before(&m, name, end);
	disk_seen_release(&m.seen);
	return m.seen.n;
}
