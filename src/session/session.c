/* SPDX-License-Identifier: MIT */
/* One session file's index: open, grow, read. See session_impl.h for the parts. Whether the file is still the same
 * depends on its device and inode, its length, and a hash of its first and of its last indexed bytes. */
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/number.h"
#include "sessionfs/file/secret.h"

#include "session_impl.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>

enum {
	FINGERPRINT_SIZE = 4096,      /* bytes hashed at either end */
	HASH_READ_SIZE = 1024 * 1024, /* read with one call, between two calls of cancel_check */
	READ_AHEAD = 128 * 1024       /* the most that a reader prefetches */
};
enum { ACTIVE_PAUSE_MAX_MS = 300 * 1000 };
enum { WHOLE_MAX = LIMIT(64 * 1024, 512) }; /* the longest file that is read as a whole */

/* The mutex is held, or no other thread derives: session_memory must not wait for one that does. */
static void derived_count_memory(struct derived *d)
{
	atomic_store(&d->memory, sizeof *d + d->table.size * sizeof *d->table.slots + vec_held(&d->ids) +
	                             vec_held(&d->labels) + vec_held(&d->edits) + vec_held(&d->answers) +
	                             vec_held(&d->problems));
}

int derive_once(const struct session *s, _Atomic uint64_t *made_at, int (*make)(const struct session *s))
{
	int rc = 0;

	if (atomic_load_explicit(made_at, memory_order_acquire) == s->serial)
		return 0;
	while (!lock_try_for(&s->derived->mutex, LOCK_LOOK_NS))
		if (cancel_check() < 0) {
			deferred_set(-EINTR);
			return -EINTR;
		}
	if (atomic_load_explicit(made_at, memory_order_relaxed) != s->serial) {
		int before = deferred_begin();
		rc = deferred_end(before, make(s));
		derived_count_memory(s->derived);
		if (rc == 0)
			atomic_store_explicit(made_at, s->serial, memory_order_release);
	}
	lock_release(&s->derived->mutex);
	deferred_set(rc);
	return rc;
}

/* ---- the file ---- */

ssize_t session_read_file(const struct session *s, char *p, size_t n, uint64_t off)
{
	if (!s->whole.n)
		return opened_pread(s->file, p, n, off);
	size_t rest = off < s->whole.n ? s->whole.n - (size_t)off : 0;
	n = n < rest ? n : rest;
	if (n)
		memcpy(p, s->whole.p + off, n);
	return (ssize_t)n;
}

/* is_stored: not redacted. */
static ssize_t read_full(const struct session *s, char *p, size_t n, uint64_t off, bool is_stored)
{
	size_t got = 0;

	while (got < n) {
		/* A line can be gigabytes. */
		if (got > 0 && cancel_check() < 0)
			return -EINTR;
		size_t most = n - got < HASH_READ_SIZE ? n - got : HASH_READ_SIZE;
		ssize_t r = is_stored && !s->whole.n ? opened_pread_raw(s->file, p + got, most, off + got)
		                                     : session_read_file(s, p + got, most, off + got);
		if (r < 0)
			return r;
		if (r == 0)
			break;
		got += (size_t)r;
	}
	return (ssize_t)got;
}

static int read_exactly(const struct session *s, uint64_t off, size_t n, size_t ahead, bool is_stored, struct buf *out)
{
	char *p = buf_reserve(out, n + ahead);
	if (!p)
		return buf_err(out);
	ssize_t got = read_full(s, p, n + ahead, off, is_stored);
	if (got < 0)
		return (int)got;
	out->n = (size_t)got;
	return out->n < n ? -ESTALE : 0;
}

int session_read_bytes(const struct session *s, uint64_t off, size_t n, size_t ahead, struct buf *out)
{
	buf_reset(out);
	return readahead_get(s, off, n, ahead, out) ? buf_err(out) : read_exactly(s, off, n, ahead, false, out);
}

/* Hashes raw bytes: redaction of an unfinished last line changes when it grows, although the file is the same. */
static int hash_range(const struct session *s, uint64_t from, size_t n, uint64_t *ret)
{
	char bytes[FINGERPRINT_SIZE];
	ssize_t got = read_full(s, bytes, n, from, true);

	if (got < 0)
		return (int)got;
	*ret = key_hash(s, &(struct key){.text = {bytes, (size_t)got}});
	return 0;
}

static int fingerprint_file(const struct session *s, uint64_t end, struct fingerprints *ret)
{
	size_t n = end < FINGERPRINT_SIZE ? (size_t)end : FINGERPRINT_SIZE;
	struct fingerprints now = {.end = end};
	int rc = hash_range(s, 0, n, &now.head);

	now.tail = now.head;
	if (rc == 0 && n < end)
		rc = hash_range(s, end - n, n, &now.tail);
	if (rc == 0)
		*ret = now;
	return rc;
}

struct fingerprints session_fingerprints(const struct session *s)
{
	return s->fingerprints;
}

int session_check_beginning(const struct session *s, const struct fingerprints *before)
{
	struct fingerprints now = s->fingerprints;
	int rc = now.end == before->end ? 0 : fingerprint_file(s, before->end, &now);

	return rc < 0 ? rc : now.head == before->head && now.tail == before->tail ? 0 : -ESTALE;
}

/* ---- life ---- */

static struct source_path session_place(const struct session *s)
{
	return (struct source_path){s->resolver, s->path};
}

/* A FIFO, a device or a directory is not a session. */
static int session_open_file(struct session *s)
{
	struct resolved got = RESOLVED_INIT;
	const struct source_path at = session_place(s);
	int rc = resolve_file(&at, RESOLVER_WAIT, O_RDONLY, &got);
	if (rc < 0)
		return rc == -EISDIR ? ERROR_NO_SESSION : rc;
	s->st = got.st;
	return opened_new(s->resolver, &got, &s->file);
}

static struct session *session_new(const struct source_path *at)
{
	struct session *s = calloc(1, sizeof *s);
	struct derived *d = calloc(1, sizeof *d);
	char *copy = strdup(at->path);

	if (!s || !d || !copy) {
		free(s);
		free(d);
		free(copy);
		return NULL;
	}
	lock_rw_init(&s->lock, LOCK_SESSION);
	lock_init(&d->mutex, LOCK_DERIVED);
	lock_init(&d->readahead_lock, LOCK_READAHEAD);
	s->derived = d;
	s->resolver = at->resolver;
	s->path = copy;
	s->serial = 1;
	s->extent.last_with_id = s->extent.newest_info = NO_ENTRY;
	s->extent.usage_minute = NO_TIME;
	s->extent.usage_day = NO_DATE;
	if (at->resolver)
		s->secret = *resolver_hash_key(at->resolver);
	else
		hash_key_draw(&s->secret);
	/* Another index of the file must not have the same count. */
	s->relinks = (uint32_t)clock_ns(CLOCK_MONOTONIC);
	atomic_init(&s->renamed, NO_ENTRY);
	return s;
}

static void cleanup_session(struct session **s)
{
	session_close(*s);
}

/* The serial rises with each change. Indexing the unchanged file again gives the same serial, so that views made from
 * an evicted index stay valid; a changed file gives another. */
static uint64_t next_serial(const struct stat *st, uint64_t before)
{
	uint64_t now =
	    (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec + (uint64_t)st->st_size;

	return now > before ? now : before + 1;
}

/* The part read so far is a valid index of a shorter file; the next caller finds that the file has grown, as its
 * attributes are no file's. */
static int session_keep_partial(struct session *s)
{
	s->st.st_size = (off_t)s->extent.end;
	s->st.st_mtim = (struct timespec){0};
	return 0;
}

/* Reads a short file with one call, for the scan, the fingerprints, and the reads until session_drop_lines. If reads
 * are redacted, the scan and the fingerprints need different bytes. */
static int session_read_whole(struct session *s, uint64_t size)
{
	struct scanned *k = &s->derived->scanned;

	if (size > WHOLE_MAX || opened_redacts(s->file))
		return 0;
	if (!vec_reserve(&k->bytes, size) || !vec_reserve(&k->lines, 1))
		return -ENOMEM;
	ssize_t got = read_full(s, k->bytes.v, size, 0, true);
	if (got < (ssize_t)size)
		return got < 0 ? (int)got : -ESTALE;
	k->bytes.n = size;
	k->lines.v[k->lines.n++] = (struct scanned_line){.n = (uint32_t)size};
	s->whole = (struct span){k->bytes.v, size};
	return 0;
}

int session_open(const struct source_path *at, bool keeps_lines, struct session **ret)
{
	CLEANUP(cleanup_session) struct session *s = session_new(at);

	if (!s)
		return -ENOMEM;
	s->derived->scanned.wanted = keeps_lines;
	uint64_t size = 0;
	struct fingerprints before = {0};
	int rc = session_open_file(s);
	if (rc == 0)
		rc = session_read_whole(s, size = (uint64_t)s->st.st_size);
	if (rc == 0)
		rc = fingerprint_file(s, size, &before);
	if (rc == 0)
		rc = session_scan(s, size);
	if (rc == -EINTR && s->header_line.n)
		rc = session_keep_partial(s);
	if (rc == 0)
		rc = fingerprint_file(s, s->extent.end, &s->fingerprints);
	/* If the file was rewritten meanwhile, these fingerprints are not of what was read. */
	if (rc == 0)
		rc = session_check_beginning(s, &before);
	if (rc < 0)
		return rc;
	s->whole = (struct span){0};
	if (!keeps_lines || opened_is_foreign(s->file))
		session_drop_lines(s);
	vec_trim(&s->entries);
	vec_trim(&s->ids);
	vec_trim(&s->calls);
	vec_trim(&s->uses);
	vec_trim(&s->use_marks);
	vec_trim(&s->labels.list);
	vec_trim(&s->labels.keys);
	derived_count_memory(s->derived);
	s->serial = next_serial(&s->st, s->serial);
	*ret = s;
	s = NULL;
	return 0;
}

static void derived_close(struct derived *d)
{
	readahead_drop(d);
	lock_destroy(&d->mutex);
	lock_destroy(&d->readahead_lock);
	free(d->table.slots);
	vec_release(&d->ids);
	vec_release(&d->labels);
	vec_release(&d->edits);
	vec_release(&d->answers);
	vec_release(&d->problems);
	free(d);
}

void session_close(struct session *s)
{
	if (!s)
		return;
	opened_put(s->file);
	lock_rw_destroy(&s->lock);
	derived_close(s->derived);
	buf_release(&s->header_line);
	buf_release(&s->sid);
#define RELEASE(v) vec_release(&s->v);
	SESSION_VECTORS(RELEASE)
	free(s->path);
	free(s);
}

/* ---- locks ---- */

int session_rdlock(struct session *s)
{
	return lock_rw_acquire(&s->lock, false);
}

int session_wrlock(struct session *s)
{
	return lock_rw_acquire(&s->lock, true);
}

void session_unlock(struct session *s)
{
	lock_rw_release(&s->lock);
}

bool session_has_grown(const struct session *s)
{
	struct resolved now = RESOLVED_INIT;
	const struct source_path at = session_place(s);

	return resolve_stat(&at, RESOLVER_WAIT, &now) < 0 || !stat_is_unchanged(&now.st, &s->st);
}

bool session_is_broken(const struct session *s)
{
	return s->is_broken;
}

int session_grow(struct session *s)
{
	struct resolved now = RESOLVED_INIT;
	const struct source_path at = session_place(s);
	int rc = resolve_stat(&at, RESOLVER_WAIT, &now);

	if (rc < 0)
		return rc;
	const struct stat st = now.st;
	if (s->is_broken)
		return -ESTALE;
	if (stat_is_unchanged(&st, &s->st))
		return 0;
	readahead_drop(s->derived);
	if (!stat_is_same_file(&st, &s->st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size < s->extent.end)
		return -ESTALE;
	struct fingerprints prints = {0};
	rc = fingerprint_file(s, s->fingerprints.end, &prints);
	if (rc == 0 && (prints.head != s->fingerprints.head || prints.tail != s->fingerprints.tail))
		rc = -ESTALE;
	if (rc < 0)
		return rc;
	if ((uint64_t)st.st_size > s->extent.end) {
		rc = session_scan(s, (uint64_t)st.st_size);
		if (rc < 0 && (rc != -EINTR || s->is_broken))
			return rc;
		derived_count_memory(s->derived);
		int same = fingerprint_file(s, s->extent.end, &s->fingerprints);
		/* As in session_open. */
		same = same < 0 ? same : session_check_beginning(s, &prints);
		s->is_broken = same < 0;
		if (same < 0)
			return same;
		if (rc == -EINTR) {
			s->serial++;
			session_keep_partial(s);
			return rc;
		}
	}
	s->st = st;
	s->serial = next_serial(&st, s->serial);
	return 1;
}

/* ---- getters ---- */

const struct stat *session_stat(const struct session *s)
{
	return &s->st;
}

uint64_t session_size(const struct session *s)
{
	if (s->extent.tail == TAIL_INDEXED || s->extent.whole_end == s->extent.end)
		return s->extent.end;
	struct timespec second_ago = clock_now(CLOCK_REALTIME);
	second_ago.tv_sec--;
	return time_is_before(second_ago, s->st.st_mtim) ? s->extent.whole_end : s->extent.end;
}

uint64_t session_serial(const struct session *s)
{
	return s->serial;
}

uint32_t session_fetch_renamed(struct session *s)
{
	return atomic_exchange(&s->renamed, NO_ENTRY);
}

uint32_t session_relink_count(const struct session *s)
{
	return s->relinks;
}

size_t session_memory(const struct session *s)
{
	size_t kept = sizeof *s + strlen(s->path) + 1 + s->header_line.cap + s->sid.cap;
#define ADD_HELD(v) kept += vec_held(&s->v);
	SESSION_VECTORS(ADD_HELD)
	return kept + atomic_load(&s->derived->memory) + readahead_memory(s->derived) + opened_memory(s->file);
}

const struct record *session_header(const struct session *s)
{
	return &s->header;
}

struct span session_id(const struct session *s)
{
	return buf_span(&s->sid);
}

const struct format *session_format(const struct session *s)
{
	return s->format;
}

int session_version(const struct session *s)
{
	return format_number(s->format, s->header.version);
}

uint32_t session_count(const struct session *s)
{
	return s->extent.entry_count;
}

const struct entry *session_entry(const struct session *s, uint32_t i)
{
	return session_entry_at(s, i);
}

/* ---- reading ---- */

void line_release(struct line *l)
{
	buf_release(&l->bytes);
	buf_release(&l->deep);
}

int line_load(const struct session *s, uint32_t i, struct line *l, struct record *ret)
{
	const struct entry *e = session_entry_at(s, i);
	int rc = session_read_bytes(s, e->offset, e->length, 0, &l->bytes);

	if (rc < 0)
		return rc;
	return record_parse(buf_span(&l->bytes), s->format, &l->deep, ret) ? 0 : -ESTALE;
}

int session_load(const struct session *s, uint32_t i, struct line *l, struct record *ret)
{
	int rc = cancel_check();

	if (rc == 0)
		rc = line_load(s, i, l, ret);
	deferred_set(rc);
	return rc;
}

void reader_release(struct reader *r)
{
	line_release(&r->line);
	for (size_t i = 0; i < sizeof r->scratch / sizeof *r->scratch; i++)
		buf_release(&r->scratch[i]);
}

/* Reads the line of an entry into r. Once reads turn out to be sequential, it prefetches, more with each read. */
static int reader_fill(const struct session *s, const struct entry *e, struct reader *r)
{
	struct buf *bytes = &r->line.bytes;
	uint64_t end = r->offset + bytes->n;
	bool follows = bytes->n > 0 && e->offset > r->offset && e->offset <= end + 1;
	size_t ahead = follows ? 2 * r->prefetched + e->length : 0;

	if (ahead > READ_AHEAD)
		ahead = READ_AHEAD;
	r->offset = e->offset;
	int rc = session_read_bytes(s, e->offset, e->length, ahead, bytes);
	r->prefetched = rc < 0 ? 0 : ahead;
	return rc;
}

int session_read_line(const struct session *s, uint32_t i, struct reader *r, struct span *ret)
{
	const struct entry *e = session_entry_at(s, i);
	const struct buf *bytes = &r->line.bytes;

	int rc = cancel_check();
	if (rc == 0 && (e->offset < r->offset || e->offset + e->length > r->offset + bytes->n || bytes->n == 0))
		rc = reader_fill(s, e, r);
	if (rc == 0)
		*ret = (struct span){bytes->p + (e->offset - r->offset), e->length};
	deferred_set(rc);
	return rc;
}

int session_read(const struct session *s, uint32_t i, struct reader *r, struct record *ret)
{
	struct span line;
	int rc = session_read_line(s, i, r, &line);

	if (rc < 0)
		return rc;
	return record_parse_blocks(line, s->format, &r->line.deep, ret, &r->blocks) ? 0 : -ESTALE;
}

int session_find_secrets(const struct session *s, uint32_t i, struct reader *r, struct secrets *out)
{
	const struct entry *e = session_entry_at(s, i);
	struct buf stored CLEANUP_BUF = BUF_INIT;
	struct span line;
	int rc = session_read_line(s, i, r, &line);
	/* The shortest key has three bytes. */
	bool redacts = opened_redacts(s->file);
	if (rc < 0 || line.n > SECRET_LINE || (redacts && !memmem(line.p, line.n, "***", 3)))
		return rc;
	if (redacts)
		rc = read_exactly(s, e->offset, line.n, 0, true, &stored);
	return rc < 0 ? rc : secrets_find(redacts ? buf_span(&stored) : line, out);
}

ssize_t session_pread(const struct session *s, void *p, size_t n, uint64_t off)
{
	uint64_t size = session_size(s);

	if (off >= size)
		return 0;
	if (n > size - off)
		n = (size_t)(size - off);
	return read_full(s, p, n < SSIZE_MAX ? n : SSIZE_MAX, off, false);
}

/* ---- the tree ---- */

uint32_t session_leaf(const struct session *s)
{
	return s->extent.entry_count ? s->extent.entry_count - 1 : NO_ENTRY;
}

bool session_has_edits(const struct session *s)
{
	return s->extent.has_context_edits;
}

bool session_has_durations(const struct session *s)
{
	return s->extent.durations;
}

double session_last_active(const struct session *s)
{
	return s->extent.last_active;
}

double session_created(const struct session *s)
{
	return record_date(session_header(s)->timestamp);
}

double session_modified(const struct session *s)
{
	double created = session_created(s);
	struct timespec mtime = session_stat(s)->st_mtim;
	double ms = (double)mtime.tv_sec * 1e3 + (double)mtime.tv_nsec / 1e6; /* rounded as Node does */
	if (session_last_active(s) > 0)
		return session_last_active(s);
	return session_header(s)->timestamp.kind == JSON_STRING && !isnan(created) ? created : number_round_whole(ms);
}

static int time_cmp(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
	return (a > b) - (a < b);
}

/* Sums the times between the entries, or (not NULL) these times. Returns false if they are not in order. */
static bool active_sum(const struct session *s, const int64_t *times, double *ret)
{
	int64_t before = NO_TIME, ms = 0;
	for (uint32_t i = 0; i < session_count(s); i++) {
		int64_t time = times ? times[i] : session_entry_at(s, i)->time;
		if (time == NO_TIME)
			continue;
		if (time < before)
			return false;
		if (before != NO_TIME)
			ms += time - before < ACTIVE_PAUSE_MAX_MS ? time - before : ACTIVE_PAUSE_MAX_MS;
		before = time;
	}
	*ret = before == NO_TIME ? NAN : (double)(ms / 1000);
	return true;
}

int session_active_seconds(const struct session *s, double *ret)
{
	if (active_sum(s, NULL, ret))
		return 0;
	int64_t *times CLEANUP_FREE = malloc(session_count(s) * sizeof *times);
	for (uint32_t i = 0; times && i < session_count(s); i++)
		times[i] = session_entry_at(s, i)->time;
	if (times)
		qsort(times, session_count(s), sizeof *times, time_cmp);
	return times && active_sum(s, times, ret) ? 0 : -ENOMEM;
}

uint32_t session_current_position(const struct session *s)
{
	uint32_t leaf = session_leaf(s);

	if (leaf == NO_ENTRY || has_flag(s, leaf, ENTRY_CONVERSATION))
		return leaf;
	return session_entry_at(s, leaf)->nearest;
}

bool session_is_tip(const struct session *s, uint32_t i)
{
	return (session_entry_at(s, i)->flags & (ENTRY_CONVERSATION | ENTRY_HAS_BELOW)) == ENTRY_CONVERSATION;
}

bool session_is_branch(const struct session *s, uint32_t i)
{
	return session_is_tip(s, i) || i == session_current_position(s);
}

uint32_t session_branch_end(const struct session *s, uint32_t i)
{
	if (i == session_current_position(s))
		return session_leaf(s);
	uint32_t newest = session_entry_at(s, i)->nearest;
	return session_is_tip(s, i) && newest != NO_ENTRY ? newest : i;
}

/* A walk returns to an entry only on a cycle, and then first to the one where it entered the cycle. */
uint32_t session_walk_parent(const struct session *s, uint32_t i, uint32_t *ring)
{
	const struct entry *e = session_entry_at(s, i);

	if (*ring == NO_ENTRY && e->flags & ENTRY_CYCLE)
		*ring = i;
	return e->flags & ENTRY_WALK_ENDS || e->parent == *ring ? NO_ENTRY : e->parent;
}

int session_path(const struct session *s, uint32_t at, uint32_t **ret, size_t *ret_n)
{
	uint32_t ring = NO_ENTRY;
	size_t n = 0;

	for (uint32_t i = at; i != NO_ENTRY; i = session_walk_parent(s, i, &ring))
		n++;
	uint32_t *path = malloc(n * sizeof *path + 1);
	if (!path)
		return -ENOMEM;
	*ret_n = n;
	*ret = path;
	ring = NO_ENTRY;
	for (uint32_t i = at; i != NO_ENTRY; i = session_walk_parent(s, i, &ring))
		path[--n] = i;
	return 0;
}
