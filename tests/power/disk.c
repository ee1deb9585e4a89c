/* SPDX-License-Identifier: MIT */
/* The states. */
#include "disk_impl.h"

#include "sessionfs/base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISK_PAGE 4096
#define DISK_SECTOR 512
/* Of more units, any one is lost, or all after one of them. */
#define SUBSETS_MAX 6
/* A longer write is torn at each byte only near its ends and near the ends of sectors. */
#define WHOLLY_TORN_MAX 1024

static bool changes_file(const struct call *c, size_t file)
{
	return c->file == file && c->kind <= CALL_MODE;
}

static bool changes_names(const struct call *c, size_t dir)
{
	return c->dir == dir && (c->kind == CALL_NAME || c->kind == CALL_RENAME || c->kind == CALL_UNNAME);
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
		if (c->kind == sync->kind && c->file == sync->file && c->dir == sync->dir)
			return false;
		if (is_name ? changes_names(c, sync->dir) : changes_file(c, sync->file))
			return true;
	}
	return false;
}

bool disk_is_dir_sync(const struct disk *d, size_t call)
{
	return d->calls.v[call].kind == CALL_SYNC_DIR;
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
	struct disk_state state; /* of the next one, but its bytes */
	struct disk_seen seen;   /* states */
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
		disk_check(seen->places != NULL, "hashes");
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
	struct disk_state *s = &m->state;
	s->exists = exists;
	s->bytes = bytes;
	const long long all[] = {exists, exists ? (long long)s->mode : 0, exists ? (long long)s->time.tv_sec : 0,
	                         exists ? s->time.tv_nsec : 0, s->all_promised};
	uint64_t hash = disk_hash(0, (struct span){(const char *)all, sizeof all});
	if (disk_seen_add(&m->seen, disk_hash(disk_hash(hash, bytes), s->promise)))
		m->fn(m->arg, s);
}

static bool counts(const struct maker *m, size_t call)
{
	return m->without != DISK_NO_SYNC && m->without != call;
}

static void set_size(struct buf *b, uint64_t size)
{
	if (b->n < size) {
		char *p = buf_reserve(b, (size_t)size - b->n);
		disk_check(p != NULL, "a state");
		memset(p, 0, (size_t)size - b->n);
	}
	b->n = (size_t)size;
}

/* Applies the first n bytes of a write; of a truncation, all. */
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

/* Sets the mode and time as of the call before `upto`. */
static void set_attributes(struct maker *m, size_t file, size_t upto)
{
	m->state.mode = m->d->files.v[file].mode;
	m->state.time = m->d->files.v[file].time;
	for (size_t i = 0; i < upto; i++) {
		const struct call *c = &m->d->calls.v[i];
		if (!changes_file(c, file))
			continue;
		if (c->kind == CALL_MODE)
			m->state.mode = (m->state.mode & S_IFMT) | (mode_t)c->at;
		else if (c->kind == CALL_TIME)
			m->state.time = c->time;
		else
			m->state.time.tv_nsec = -1;
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
	set_attributes(m, file, synced);
	emit(m, true, buf_span(&durable));
	for (size_t i = synced; i < end; i++) {
		const struct call *c = &m->d->calls.v[i];
		if (!changes_file(c, file))
			continue;
		build(m->d, file, i, &before);
		build(m->d, file, i + 1, &now);
		set_attributes(m, file, i + 1);
		emit(m, true, buf_span(&now));
		if (!S_ISREG(m->state.mode))
			continue;
		if (c->kind == CALL_WRITE)
			tear(m, c, buf_span(&before));
		size_t at = c->kind == CALL_WRITE || c->kind == CALL_TRUNCATE ? (size_t)c->at : 0;
		size_t from = at < durable.n ? at : durable.n;
		lose_units(m, buf_span(&now), buf_span(&durable), from, DISK_PAGE);
		lose_units(m, buf_span(&now), buf_span(&durable), from, DISK_SECTOR);
		/* After a truncation, what was there before can show again. */
		lose_units(m, buf_span(&now), buf_span(&before), from, DISK_PAGE);
	}
}

/* Returns the file that the name leads to, after the first `names` of the calls that change names of the directory. */
static size_t find_file(const struct disk *d, size_t dir, const char *name, size_t names)
{
	size_t end = 0;
	for (; names > 0; end++)
		names -= changes_names(&d->calls.v[end], dir);
	while (end-- > 0) {
		const struct call *c = &d->calls.v[end];
		if (!changes_names(c, dir))
			continue;
		if (c->kind == CALL_RENAME && strcmp(c->to, name) == 0)
			name = c->name;
		else if (strcmp(c->name, name) == 0)
			return c->kind == CALL_NAME ? c->file : NO_FILE;
	}
	for (size_t i = 0; i < d->files.n; i++)
		if (!d->files.v[i].is_new && d->files.v[i].dir == dir && strcmp(d->files.v[i].name, name) == 0)
			return i;
	return NO_FILE;
}

/* The states if the power fails before the call `end`. */
static void each_before(struct maker *m, size_t dir, const char *name, size_t end)
{
	size_t names = 0, synced = 0;
	m->state = (struct disk_state){.exists = false};
	for (size_t i = 0; i < end; i++) {
		const struct call *c = &m->d->calls.v[i];
		names += changes_names(c, dir);
		if (c->kind == CALL_SYNC_DIR && c->dir == dir && counts(m, i))
			synced = names;
		if (c->kind == CALL_PROMISE)
			m->state.promise = buf_span(&c->bytes);
		m->state.all_promised = m->state.all_promised || c->kind == CALL_PROMISE_ALL;
	}
	for (size_t n = synced; n <= names; n++) {
		size_t file = find_file(m->d, dir, name, n);
		if (file == NO_FILE)
			emit(m, false, (struct span){"", 0});
		else
			each_of_file(m, file, end);
	}
}

/* Returns whether the call can change the states of a name in the directory. */
static bool concerns(const struct disk *d, const struct call *c, size_t dir)
{
	return c->dir == dir || (c->file != NO_FILE && d->files.v[c->file].dir == dir) || c->kind >= CALL_PROMISE;
}

size_t disk_each_state(const struct disk *d, const char *name, size_t from, size_t without,
                       void (*fn)(void *arg, const struct disk_state *state), void *arg)
{
	struct maker m = {.d = d, .without = without, .fn = fn, .arg = arg};
	size_t dir = 0;
	for (const char *slash; (slash = strchr(name, '/')); name = slash + 1) {
		size_t i = 0, n = (size_t)(slash - name);
		for (; i < d->files.n; i++)
			if (d->files.v[i].dir == dir && strncmp(d->files.v[i].name, name, n) == 0 &&
			    !d->files.v[i].name[n])
				break;
		disk_check(i < d->files.n, name);
		dir = i;
	}
	for (size_t end = from; end <= d->calls.n; end++)
		if (end == from || concerns(d, &d->calls.v[end - 1], dir))
			each_before(&m, dir, name, end);
	disk_seen_release(&m.seen);
	return m.seen.n;
}

static void add_path(const struct disk *d, size_t dir, const char *name, struct buf *out)
{
	if (d->files.v[dir].dir != NO_FILE) {
		add_path(d, d->files.v[dir].dir, d->files.v[dir].name, out);
		buf_addc(out, '/');
	}
	buf_adds(out, name);
}

void disk_each_name(const struct disk *d, size_t sync, void (*fn)(void *arg, const char *name), void *arg)
{
	const struct call *s = sync < d->calls.n ? &d->calls.v[sync] : NULL;
	struct disk_seen seen = {NULL, 0, 0};
	for (size_t i = 1; i < d->files.n + d->calls.n; i++) {
		const struct file *f = i < d->files.n ? &d->files.v[i] : NULL;
		const struct call *c = f ? NULL : &d->calls.v[i - d->files.n];
		if (f ? f->is_new : !changes_names(c, c->dir))
			continue;
		size_t dir = f ? f->dir : c->dir;
		const char *name = f ? f->name : c->kind == CALL_RENAME ? c->to : c->name;
		struct buf path CLEANUP_BUF = BUF_INIT;
		if (s && dir != (s->kind == CALL_SYNC ? d->files.v[s->file].dir : s->dir))
			continue;
		add_path(d, dir, name, &path);
		if (disk_seen_add(&seen, disk_hash(0, buf_span(&path))))
			fn(arg, buf_cstr(&path));
	}
	disk_seen_release(&seen);
}
