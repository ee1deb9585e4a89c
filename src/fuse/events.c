/* SPDX-License-Identifier: MIT */
/* Each place (the path of a session file) is compared with its last published state. A session at a free place was
 * created. Another slot means another file under the same name. In a session that grew, the entries that end after the
 * published bytes are new. The thread that follows the catalog finds the changed places (catalog_wait).
 *
 * The comparison starts from the state of the catalog when the first reader opens. */
#include "sessionfs/fuse/events.h"
#include "sessionfs/json/json.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/map.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/session/context.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* The session at a place, as last published. */
struct events_session {
	uint32_t slot; /* NO_SLOT: no session */
	uint32_t next; /* in a list of removed sessions: the next one with this file; MAP_NONE: none */
	const char *project, *stem, *sid;
	struct file_id {
		dev_t dev;
		ino_t ino;
	} file;
	uint64_t published_end; /* bytes of the file whose entries were published */
};

struct events_sessions {
	struct events_session *v;
	size_t n, cap;
	struct map by_file; /* of removed sessions: the first one with each file */
};

struct events_reader {
	struct events_reader *next;
	uint64_t position;  /* of the next byte to read in the log */
	struct buf partial; /* the unread rest of lines that it reads in pieces */
	void *poll;
};

struct pending_read {
	struct pending_read *next;
	struct events_reader *reader;
	void *request;
	size_t n;
};

struct events {
	struct catalog *catalog;
	const struct events_ops *ops;
	struct lock publish_lock;        /* guards `sessions`; held while an index grows, which takes time */
	struct events_sessions sessions; /* by place */
	struct lock lock;                /* guards the rest; separate, so that reads never wait for an index */
	struct buf log;                  /* the newest lines, at most EVENTS_BACKLOG bytes, for all readers */
	uint64_t begin;                  /* position of the log's first byte; a reader before it has lost lines */
	struct events_reader *readers;
	struct pending_read *waiting; /* oldest first */
};

static void events_sessions_release(struct events_sessions *l)
{
	cleanup_free(&l->v);
	map_release(&l->by_file);
	*l = (struct events_sessions){0};
}

static struct events_session *events_sessions_at(struct events_sessions *l, uint32_t place)
{
	if (!vec_grow(&l->v, &l->cap, (size_t)place + 1, sizeof *l->v))
		return NULL;
	for (; l->n <= place; l->n++)
		l->v[l->n] = (struct events_session){.slot = NO_SLOT};
	return &l->v[place];
}

static struct events_session events_session_from_slot(const struct slot_info *s, const char *project)
{
	return (struct events_session){
	    .slot = s->slot,
	    .project = project,
	    .stem = s->stem,
	    .sid = s->sid,
	    .file = {s->st.st_dev, s->st.st_ino},
	    .published_end = (uint64_t)s->st.st_size,
	};
}

/* Lists all sessions. The first reader gets no events for these. */
static int events_load_sessions(struct catalog *c, struct events_sessions *ret)
{
	struct events_sessions l CLEANUP(events_sessions_release) = {0};
	struct project_info project = {.project = NO_SLOT};
	struct slot_info slot;
	uint64_t cookie = 0;

	while (catalog_slot_next(c, NO_SLOT, &cookie, &slot)) {
		if (slot.project != project.project && !catalog_project(c, slot.project, &project)) {
			project.project = NO_SLOT;
			continue;
		}
		struct events_session *s = events_sessions_at(&l, slot.place);
		if (!s)
			return -ENOMEM;
		*s = events_session_from_slot(&slot, project.name);
	}
	*ret = l;
	l = (struct events_sessions){0};
	return 0;
}

/* ---- lines ---- */

static void events_add_time(struct buf *out)
{
	struct timespec now;
	struct tm tm;
	char text[32];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
	buf_addf(out, "{\"time\":\"%s.%03ldZ\"", text, now.tv_nsec / 1000000);
}

/* `key` precedes the text: a bracket or comma, the name, and a colon. */
static void events_add_text(const char *key, struct span text, struct buf *out)
{
	buf_adds(out, key);
	json_quote(text, out);
}

/* As events_add_text, but keeps the text's out-of-memory error. */
static void events_add_buf(const char *key, const struct buf *text, struct buf *out)
{
	events_add_text(key, buf_span(text), out);
	if (buf_err(text))
		out->err = buf_err(text);
}

static void events_add_path(const char *key, const struct events_session *s, struct buf *out)
{
	struct buf path CLEANUP_BUF = BUF_INIT;
	buf_addf(&path, "projects/%s/%s", s->project, s->stem);
	events_add_buf(key, &path, out);
}

static void events_begin_line(const char *event, const struct events_session *s, struct buf *out)
{
	buf_reset(out);
	events_add_time(out);
	buf_addf(out, ",\"event\":\"%s\"", event);
	events_add_text(",\"session\":", span_of(s->sid ? s->sid : ""), out);
	events_add_path(",\"path\":", s, out);
}

/* All readers lose a line, and all lines they have not read. */
static void events_mark_lost(struct events *e)
{
	e->begin += e->log.n + 1;
	buf_reset(&e->log);
}

/* A line that is too long, or that does not fit in memory, is lost. */
static void events_end_line(struct events *e, struct buf *line)
{
	buf_adds(line, "}\n");
	LOCKED(&e->lock);
	/* Makes room: drops the older half of the log's capacity. */
	while (e->log.n > 0 && e->log.n + line->n > EVENTS_BACKLOG) {
		size_t half = EVENTS_BACKLOG / 2, n = e->log.n;
		const char *end = n > half ? memchr(e->log.p + half, '\n', n - half) : NULL;
		size_t dropped = end ? (size_t)(end - e->log.p) + 1 : n;
		memmove(e->log.p, e->log.p + dropped, n - dropped);
		e->log.n -= dropped;
		e->begin += dropped;
	}
	if (line->n <= EVENTS_BACKLOG && !buf_err(line))
		buf_addspan(&e->log, buf_span(line));
	if (line->n > EVENTS_BACKLOG || buf_err(line) || buf_err(&e->log))
		events_mark_lost(e);
}

/* Returns the state of the branch that ends at entry `at` (NO_ENTRY: empty); NULL if none, or if it cannot be read. */
static const char *branch_state_at(const struct session *s, uint32_t at)
{
	const char *state;
	return context_state(s, at, &state) < 0 ? NULL : state;
}

/* Publishes a change of a session, with its state if it exists. */
static void events_add_change(struct events *e, const char *event, const struct events_session *seen)
{
	struct buf line CLEANUP_BUF = BUF_INIT;
	struct session *s;
	events_begin_line(event, seen, &line);
	if (catalog_session_get(e->catalog, seen->slot, &s) == 0) {
		const char *state = branch_state_at(s, session_leaf(s));
		if (state)
			buf_addf(&line, ",\"state\":\"%s\"", state);
		catalog_session_put(e->catalog, s);
	}
	events_end_line(e, &line);
}

/* ---- growth of a session ---- */

#define ENTRIES_PER_LINE 500

static void events_add_name(const char *key, const struct session *s, uint32_t i, struct buf *out)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	session_entry_name(s, i, &name);
	events_add_buf(key, &name, out);
}

/* Not copied raw: raw text can be half a surrogate pair, at which jq ends. */
static void events_add_string(const char *key, struct json_value string, struct buf *out)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	json_decode(string.text, JSON_CLEAN, &text);
	events_add_buf(key, &text, out);
}

static void events_add_entry(const struct session *s, uint32_t i, struct reader *reader, struct buf *out)
{
	struct record r;
	const struct entry *e = session_entry(s, i);
	/* The index knows the rest. */
	bool is_read = e->type == RECORD_OTHER || e->role == ROLE_OTHER || e->role == ROLE_ASSISTANT;
	if (!is_read || session_read(s, i, reader, &r) < 0)
		memset(&r, 0, sizeof r);
	events_add_name("{\"id\":", s, i, out);
	if (e->type != RECORD_OTHER)
		events_add_text(",\"type\":", span_of(record_type_name(e->type)), out);
	else if (r.type_.kind == JSON_STRING)
		events_add_string(",\"type\":", r.type_, out);
	else
		buf_adds(out, ",\"type\":null");
	const char *role = record_role_name(e->role);
	if (role)
		events_add_text(",\"role\":", span_of(role), out);
	else if (e->role == ROLE_OTHER && r.msg.role.kind == JSON_STRING && r.msg.role.text.n)
		events_add_string(",\"role\":", r.msg.role, out);
	if (e->role == ROLE_ASSISTANT && r.msg.stop_reason.kind == JSON_STRING)
		events_add_string(",\"stopReason\":", r.msg.stop_reason, out);
	buf_addc(out, '}');
}

/* `state`: the new state if the entries change it, or NULL. */
static void events_add_entries(struct events *e, const struct events_session *seen, const struct session *s,
                               uint32_t from, uint32_t to, const char *state)
{
	struct reader reader CLEANUP_READER = READER_INIT;
	struct buf line CLEANUP_BUF = BUF_INIT;
	events_begin_line("appended", seen, &line);
	buf_adds(&line, ",\"entries\":[");
	for (uint32_t i = from; i < to; i++) {
		if (i > from)
			buf_addc(&line, ',');
		events_add_entry(s, i, &reader, &line);
	}
	buf_addc(&line, ']');
	if (state)
		buf_addf(&line, ",\"state\":\"%s\"", state);
	events_end_line(e, &line);
}

static void events_add_label(struct events *e, const struct events_session *seen, const struct session *s, uint32_t i)
{
	struct buf line CLEANUP_BUF = BUF_INIT;
	struct line text CLEANUP_LINE = LINE_INIT;
	struct record r;
	if (session_load(s, i, &text, &r) < 0)
		return;
	uint32_t target = session_entry_by_id(s, r.target_id);
	if (target == NO_ENTRY)
		return;
	events_begin_line("label", seen, &line);
	events_add_name(",\"entry\":", s, target, &line);
	/* Any truthy value is a label. */
	if (!json_is_truthy(r.label)) {
		buf_adds(&line, ",\"label\":null");
	} else if (r.label.kind == JSON_STRING) {
		events_add_string(",\"label\":", r.label, &line);
	} else {
		buf_adds(&line, ",\"label\":");
		json_well_formed(r.label.text, &line);
	}
	events_end_line(e, &line);
}

static void events_add_session_name(struct events *e, const struct events_session *seen, const struct session *s)
{
	struct buf line CLEANUP_BUF = BUF_INIT, name CLEANUP_BUF = BUF_INIT;
	events_begin_line("renamed", seen, &line);
	if (session_name(s, &name))
		events_add_text(",\"name\":", buf_span(&name), &line);
	else
		buf_adds(&line, ",\"name\":null");
	events_end_line(e, &line);
}

static void events_add_growth(struct events *e, struct events_session *seen)
{
	struct session *s;
	if (catalog_session_get(e->catalog, seen->slot, &s) < 0)
		return; /* another change will report the reason */
	uint32_t n = session_count(s), first = n;
	while (first > 0 &&
	       session_entry(s, first - 1)->offset + session_entry(s, first - 1)->length > seen->published_end)
		first--;
	bool named = false;
	const char *before = branch_state_at(s, first > 0 ? first - 1 : NO_ENTRY),
		   *state = branch_state_at(s, session_leaf(s));
	for (uint32_t i = first; i < n; i += ENTRIES_PER_LINE) {
		bool is_last = n - i <= ENTRIES_PER_LINE;
		events_add_entries(e, seen, s, i, is_last ? n : i + ENTRIES_PER_LINE,
		                   is_last && state != before ? state : NULL);
	}
	for (uint32_t i = first; i < n; i++) {
		if (session_entry(s, i)->type == RECORD_LABEL)
			events_add_label(e, seen, s, i);
		named = named || session_entry(s, i)->type == RECORD_SESSION_INFO;
	}
	if (named)
		events_add_session_name(e, seen, s);
	if (first < n)
		seen->published_end = session_entry(s, n - 1)->offset + session_entry(s, n - 1)->length;
	catalog_session_put(e->catalog, s);
}

/* ---- answers ---- */

static bool reader_has_data(const struct events *e, const struct events_reader *r)
{
	return r->partial.n > 0 || r->position != e->begin + e->log.n;
}

/* Moves as many whole lines as fit in n out of the log, but at least one: the log can drop it before it is read. */
static void reader_take_log_lines(const struct events *e, struct events_reader *r, size_t n)
{
	uint64_t next = e->begin;
	if (r->position < e->begin) {
		events_add_time(&r->partial);
		buf_adds(&r->partial, ",\"event\":\"lost\"}\n");
	} else if (e->log.n > r->position - e->begin) {
		size_t read = (size_t)(r->position - e->begin);
		struct span log = {e->log.p + read, e->log.n - read};
		const char *end = log.n <= n ? log.p + log.n - 1 : memrchr(log.p, '\n', n);
		end = end ? end : memchr(log.p, '\n', log.n);
		next = r->position + (size_t)(end + 1 - log.p);
		buf_add(&r->partial, log.p, (size_t)(end + 1 - log.p));
	}
	if (buf_err(&r->partial))
		buf_release(&r->partial);
	else if (r->partial.n > 0)
		r->position = next;
}

/* Returns true if the request was answered. */
static bool events_serve(struct events *e, struct events_reader *r, size_t n, void *request)
{
	if (r->partial.n == 0)
		reader_take_log_lines(e, r, n);
	if (r->partial.n == 0 && n > 0)
		return false;
	size_t some = r->partial.n < n ? r->partial.n : n;
	e->ops->answer(request, 0, (struct span){r->partial.p, some});
	r->partial.n -= some;
	if (r->partial.n)
		memmove(r->partial.p, r->partial.p + some, r->partial.n);
	else
		buf_release(&r->partial);
	return true;
}

static void events_serve_all(struct events *e)
{
	for (struct pending_read **at = &e->waiting; *at;) {
		struct pending_read *x = *at;
		if (!events_serve(e, x->reader, x->n, x->request)) {
			at = &x->next;
			continue;
		}
		*at = x->next;
		free(x);
	}
}

/* Detaches a poll whose reader has data; NULL: none. */
static void *events_detach_poll(struct events *e)
{
	LOCKED(&e->lock);
	struct events_reader *r = e->readers;
	while (r && (!r->poll || !reader_has_data(e, r)))
		r = r->next;
	void *poll = r ? r->poll : NULL;
	if (r)
		r->poll = NULL;
	return poll;
}

/* ---- changes of places ---- */

static struct span events_key(const struct events_session *s)
{
	return (struct span){(const char *)&s->file, sizeof s->file};
}

/* Indexes removed sessions by file, for events_add_created. Sessions with one file form a list, in order of removal. */
static int events_index_removed(struct events_sessions *went)
{
	int rc = 0;
	for (size_t i = went->n; i > 0 && rc == 0; i--) {
		struct events_session *s = &went->v[i - 1];
		s->next = map_get(&went->by_file, 0, events_key(s));
		if (s->sid)
			rc = map_put(&went->by_file, 0, events_key(s), (uint32_t)(i - 1));
	}
	return rc;
}

/* A session under a new name was moved if the same batch of changes removed its file from another place. */
static void events_add_created(struct events *e, struct events_sessions *went, struct events_session *seen,
                               struct events_session now)
{
	uint32_t i = now.sid ? map_get(&went->by_file, 0, events_key(&now)) : MAP_NONE;
	struct events_session *from = i == MAP_NONE ? NULL : &went->v[i];
	*seen = now;
	if (!from || map_put(&went->by_file, 0, events_key(from), from->next) != 0) {
		events_add_change(e, "created", seen);
		return;
	}
	struct buf line CLEANUP_BUF = BUF_INIT;
	events_begin_line("renamed", seen, &line);
	events_add_path(",\"from\":", from, &line);
	events_end_line(e, &line);
	seen->published_end = from->published_end;
	from->slot = NO_SLOT;
	events_add_growth(e, seen);
}

/* A new session gets its SID only after all headers have been read, since other sessions can have the same SID. */
static bool events_slot_at_place(struct catalog *c, uint32_t place, struct slot_info *ret)
{
	struct slot_info first;
	uint64_t cookie = 0;
	if (!catalog_session_at_place(c, place, ret))
		return false;
	if (ret->sid)
		return true;
	catalog_slot_next(c, NO_SLOT, &cookie, &first);
	return catalog_session_at_place(c, place, ret);
}

/* Removed sessions are only collected in `went`: they may have moved. */
static int events_add_place_changes(struct events *e, uint32_t place, bool came, struct events_sessions *went)
{
	struct project_info project;
	struct slot_info s;
	bool is_there = events_slot_at_place(e->catalog, place, &s) && catalog_project(e->catalog, s.project, &project);
	struct events_session *seen = events_sessions_at(&e->sessions, place);
	if (!seen)
		return -ENOMEM;
	bool was_there = seen->slot != NO_SLOT;
	if (came != (is_there && !was_there))
		return 0;
	if (came) {
		events_add_created(e, went, seen, events_session_from_slot(&s, project.name));
	} else if (was_there && !is_there) {
		struct events_session *to = events_sessions_at(went, (uint32_t)went->n);
		if (!to)
			return -ENOMEM;
		*to = *seen;
		seen->slot = NO_SLOT;
	} else if (was_there && seen->slot != s.slot) {
		*seen = events_session_from_slot(&s, project.name);
		events_add_change(e, "replaced", seen);
	} else if (was_there) {
		events_add_growth(e, seen);
	}
	return 0;
}

static void events_publish_places(struct events *e, const struct catalog_change *changes, size_t n)
{
	LOCKED(&e->publish_lock);
	if (!events_have_readers(e))
		return;
	struct events_sessions went CLEANUP(events_sessions_release) = {0};
	int rc = 0;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = events_add_place_changes(e, changes[i].place, false, &went);
	if (rc == 0)
		rc = events_index_removed(&went);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = events_add_place_changes(e, changes[i].place, true, &went);
	for (size_t i = 0; i < went.n && rc == 0; i++)
		if (went.v[i].slot != NO_SLOT)
			events_add_change(e, "deleted", &went.v[i]);
	lock_acquire(&e->lock);
	if (rc < 0)
		events_mark_lost(e);
	events_serve_all(e);
	lock_release(&e->lock);
}

void events_publish(struct events *e, const struct catalog_change *changes, size_t n)
{
	events_publish_places(e, changes, n);
	/* Without our locks, because this notifies the kernel. */
	for (void *poll; (poll = events_detach_poll(e));)
		e->ops->ready(poll);
}

bool events_have_readers(struct events *e)
{
	LOCKED(&e->lock);
	return e->readers != NULL;
}

/* ---- opening and closing ---- */

/* Answers waiting reads without bytes: of this reader, or this request, or (both NULL) all. */
static void events_cancel_reads(struct events *e, const struct events_reader *r, const void *request, int err)
{
	for (struct pending_read **at = &e->waiting; *at;) {
		struct pending_read *x = *at;
		if ((r && x->reader != r) || (request && x->request != request)) {
			at = &x->next;
			continue;
		}
		*at = x->next;
		e->ops->answer(x->request, err, (struct span){"", 0});
		free(x);
	}
}

int events_open(struct catalog *c, const struct events_ops *ops, struct events **ret)
{
	struct events *e = calloc(1, sizeof *e);
	if (!e)
		return -ENOMEM;
	lock_init(&e->publish_lock, LOCK_PUBLISH);
	lock_init(&e->lock, LOCK_EVENTS);
	e->catalog = c;
	e->ops = ops;
	*ret = e;
	return 0;
}

static void events_reader_free(struct events *e, struct events_reader *r)
{
	if (r->poll)
		e->ops->forget(r->poll);
	buf_release(&r->partial);
	free(r);
}

void events_close(struct events *e)
{
	if (!e)
		return;
	lock_acquire(&e->lock);
	events_cancel_reads(e, NULL, NULL, 0);
	lock_release(&e->lock);
	while (e->readers) {
		struct events_reader *r = e->readers;
		e->readers = r->next;
		events_reader_free(e, r);
	}
	buf_release(&e->log);
	events_sessions_release(&e->sessions);
	lock_destroy(&e->lock);
	lock_destroy(&e->publish_lock);
	free(e);
}

/* The caller holds e->publish_lock. */
static int events_add_reader(struct events *e, struct events_reader *r)
{
	/* Without readers the list was not updated. */
	if (!events_have_readers(e)) {
		struct events_sessions now = {0};
		int rc = events_load_sessions(e->catalog, &now);
		if (rc)
			return rc;
		events_sessions_release(&e->sessions);
		e->sessions = now;
	}
	LOCKED(&e->lock);
	r->position = e->begin + e->log.n;
	r->next = e->readers;
	e->readers = r;
	return 0;
}

int events_reader_open(struct events *e, struct events_reader **ret)
{
	struct events_reader *r CLEANUP_FREE = calloc(1, sizeof *r);
	if (!r)
		return -ENOMEM;
	/* events_publish can hold the lock for long, while an index grows. */
	while (!lock_try_for(&e->publish_lock, LOCK_LOOK_NS))
		if (cancel_check() < 0)
			return -EINTR;
	int rc = events_add_reader(e, r);
	lock_release(&e->publish_lock);
	if (rc == 0) {
		*ret = r;
		r = NULL;
	}
	return rc;
}

void events_reader_close(struct events *e, struct events_reader *r)
{
	LOCKED(&e->lock);
	events_cancel_reads(e, r, NULL, -EINTR);
	struct events_reader **at = &e->readers;
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	events_reader_free(e, r);
	if (!e->readers)
		buf_release(&e->log);
}

void events_read(struct events *e, struct events_reader *r, size_t n, bool wait, void *request)
{
	struct pending_read *x CLEANUP_FREE = malloc(sizeof *x);
	LOCKED(&e->lock);
	if (events_serve(e, r, n, request))
		return;
	int err = e->ops->is_interrupted(request) ? -EINTR : !wait ? -EAGAIN : !x ? -ENOMEM : 0;
	if (err) {
		e->ops->answer(request, err, (struct span){"", 0});
		return;
	}
	*x = (struct pending_read){.reader = r, .request = request, .n = n};
	struct pending_read **end = &e->waiting;
	while (*end)
		end = &(*end)->next;
	*end = x;
	x = NULL;
}

void events_interrupt(struct events *e, void *request)
{
	LOCKED(&e->lock);
	events_cancel_reads(e, NULL, request, -EINTR);
}

bool events_poll(struct events *e, struct events_reader *r, void *poll)
{
	LOCKED(&e->lock);
	bool ready = reader_has_data(e, r);
	if (poll) {
		if (r->poll)
			e->ops->forget(r->poll);
		r->poll = poll;
	}
	return ready;
}
