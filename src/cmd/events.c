/* SPDX-License-Identifier: MIT */
/* --events: changes of the sessions as JSON lines (sessionfs(5), "Changes"), without a mount. A process that waits in a
 * read of a file of a mount keeps the machine from suspending; a reader of this output does not:
 *
 *	{"time":"2026-03-01T09:30:00.000Z","event":"appended","session":"SID","path":"projects/P/STEM","entries":[...]}
 *
 * Each place (the path of a session file) is compared with its last published state. A session at a free place was
 * created. Another slot means another file under the same name. In a session that grew, the entries that end after the
 * published bytes are new. */
#include "sessionfs/cmd/cli.h"

#include "sessionfs/base/clock.h"
#include "sessionfs/base/map.h"
#include "sessionfs/base/number.h"
#include "sessionfs/base/terminal.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/catalog/catalog.h"
#include "sessionfs/file/resolver.h"
#include "sessionfs/json/json.h"
#include "sessionfs/session/context.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* How often the source is scanned without inotify, and checked to exist with it: its own removal causes no event. */
enum { EVENTS_POLL_MS = 250, EVENTS_CHECK_MS = 10000 };

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

struct events {
	struct catalog *catalog;
	struct events_sessions sessions; /* by place */
	struct buf *out;
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

/* Lists all sessions. They cause no events. */
static int events_load_sessions(struct catalog *c, struct events_sessions *l)
{
	struct project_info project = {.project = NO_SLOT};
	struct slot_info slot;
	uint64_t cookie = 0;

	while (catalog_slot_next(c, NO_SLOT, &cookie, &slot)) {
		if (slot.project != project.project && !catalog_project(c, slot.project, &project)) {
			project.project = NO_SLOT;
			continue;
		}
		struct events_session *s = events_sessions_at(l, slot.place);
		if (!s)
			return -ENOMEM;
		*s = events_session_from_slot(&slot, project.name);
	}
	return 0;
}

/* ---- lines ---- */

static void events_add_time(struct buf *out)
{
	buf_adds(out, "{\"time\":\"");
	number_add_time((double)clock_ms(CLOCK_REALTIME), out);
	buf_addc(out, '"');
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
	events_add_time(out);
	buf_addf(out, ",\"event\":\"%s\"", event);
	events_add_text(",\"session\":", span_of(s->sid ? s->sid : ""), out);
	events_add_path(",\"path\":", s, out);
}

/* Keeps an error that the reader must know: a "lost" event replaces the lines. Another change reports the others. */
static int events_note_error(int rc, struct buf *out)
{
	if (error_is_transient(rc))
		out->err = rc;
	return rc;
}

/* Returns the state of the branch that ends at entry `at` (NO_ENTRY: empty); NULL if none, or if it cannot be read. */
static const char *branch_state_at(const struct session *s, uint32_t at, struct buf *out)
{
	const char *state;
	return events_note_error(context_state(s, at, &state), out) < 0 ? NULL : state;
}

/* Appends a change of a session, with its state if it has one. */
static void events_add_change(struct events *e, const char *event, const struct events_session *seen)
{
	struct session *s;
	events_begin_line(event, seen, e->out);
	if (events_note_error(catalog_session_get(e->catalog, seen->slot, &s), e->out) == 0) {
		const char *state = branch_state_at(s, session_leaf(s), e->out);
		if (state)
			buf_addf(e->out, ",\"state\":\"%s\"", state);
		catalog_session_put(e->catalog, s);
	}
	buf_adds(e->out, "}\n");
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
	if (!is_read || events_note_error(session_read(s, i, reader, &r), out) < 0)
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
static void events_add_entries(const struct events_session *seen, const struct session *s, uint32_t from, uint32_t to,
                               const char *state, struct buf *out)
{
	struct reader reader CLEANUP_READER = READER_INIT;
	events_begin_line("appended", seen, out);
	buf_adds(out, ",\"entries\":[");
	for (uint32_t i = from; i < to; i++) {
		if (i > from)
			buf_addc(out, ',');
		events_add_entry(s, i, &reader, out);
	}
	buf_addc(out, ']');
	if (state)
		buf_addf(out, ",\"state\":\"%s\"", state);
	buf_adds(out, "}\n");
}

static void events_add_label(const struct events_session *seen, const struct session *s, uint32_t i, struct buf *out)
{
	struct line text CLEANUP_LINE = LINE_INIT;
	struct record r;
	if (events_note_error(session_load(s, i, &text, &r), out) < 0)
		return;
	uint32_t target = session_entry_by_id(s, r.target_id);
	if (target == NO_ENTRY)
		return;
	events_begin_line("label", seen, out);
	events_add_name(",\"entry\":", s, target, out);
	/* Any truthy value is a label. */
	if (!json_is_truthy(r.label)) {
		buf_adds(out, ",\"label\":null");
	} else if (r.label.kind == JSON_STRING) {
		events_add_string(",\"label\":", r.label, out);
	} else {
		buf_adds(out, ",\"label\":");
		json_well_formed(r.label.text, out);
	}
	buf_adds(out, "}\n");
}

static void events_add_session_name(const struct events_session *seen, const struct session *s, struct buf *out)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	events_begin_line("renamed", seen, out);
	if (session_name(s, &name))
		events_add_text(",\"name\":", buf_span(&name), out);
	else
		buf_adds(out, ",\"name\":null");
	buf_adds(out, "}\n");
}

static void events_add_growth(struct events *e, struct events_session *seen)
{
	struct session *s;
	if (events_note_error(catalog_session_get(e->catalog, seen->slot, &s), e->out) < 0)
		return;
	uint32_t n = session_count(s), first = n;
	while (first > 0 &&
	       session_entry(s, first - 1)->offset + session_entry(s, first - 1)->length > seen->published_end)
		first--;
	bool named = false;
	const char *before = branch_state_at(s, first > 0 ? first - 1 : NO_ENTRY, e->out),
		   *state = branch_state_at(s, session_leaf(s), e->out);
	for (uint32_t i = first; i < n; i += ENTRIES_PER_LINE) {
		bool is_last = n - i <= ENTRIES_PER_LINE;
		events_add_entries(seen, s, i, is_last ? n : i + ENTRIES_PER_LINE,
		                   is_last && state != before ? state : NULL, e->out);
	}
	for (uint32_t i = first; i < n; i++) {
		if (session_entry(s, i)->type == RECORD_LABEL)
			events_add_label(seen, s, i, e->out);
		named = named || session_entry(s, i)->type == RECORD_SESSION_INFO;
	}
	if (named)
		events_add_session_name(seen, s, e->out);
	if (first < n)
		seen->published_end = session_entry(s, n - 1)->offset + session_entry(s, n - 1)->length;
	catalog_session_put(e->catalog, s);
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
	events_begin_line("renamed", seen, e->out);
	events_add_path(",\"from\":", from, e->out);
	buf_adds(e->out, "}\n");
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

static int events_add_changes(struct events *e, const struct catalog_change *changes, size_t n)
{
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
	return rc < 0 ? rc : buf_err(e->out);
}

/* Replaces the contents of *out by the lines for these changes; no lines if nothing differs from the last call. If
 * memory is short or a session cannot be read, one "lost" event replaces the lines. */
static void events_make_lines(struct events *e, const struct catalog_change *changes, size_t n, struct buf *out)
{
	buf_reset(out);
	e->out = out;
	if (events_add_changes(e, changes, n) == 0)
		return;
	buf_reset(out);
	events_add_time(out);
	buf_adds(out, ",\"event\":\"lost\"}\n");
}

int cli_events(struct catalog *c, unsigned poll_ms, int fd)
{
	struct events e = {.catalog = c};
	unsigned left_ms = 0; /* until the next scan */
	/* A closed output is an error also if nothing happens. */
	int rc = write(fd, "", 0) < 0 ? -errno : events_load_sessions(c, &e.sessions);
	signal(SIGPIPE, SIG_IGN);
	while (rc == 0) {
		struct statvfs space;
		/* The last scan reports what was deleted with the source. */
		bool gone = error_is_absence(resolver_statvfs(catalog_resolver(c), &space));
		struct catalog_change *changes CLEANUP_FREE = NULL;
		struct buf lines CLEANUP_BUF = BUF_INIT;
		bool polls = !catalog_is_watched(c);
		if (left_ms == 0)
			left_ms = !polls ? EVENTS_CHECK_MS : poll_ms ? poll_ms : EVENTS_POLL_MS;
		unsigned wait_ms = left_ms < EVENTS_CHECK_MS ? left_ms : EVENTS_CHECK_MS;
		left_ms -= wait_ms;
		ssize_t n = catalog_wait(c, gone ? 0 : (int)wait_ms, fd, gone || (polls && left_ms == 0), &changes);
		if (n > 0)
			events_make_lines(&e, changes, (size_t)n, &lines);
		if (isatty(fd))
			terminal_sanitize(&lines, 0);
		rc = n < 0 ? (int)n : buf_err(&lines) ? buf_err(&lines) : cli_write(fd, buf_span(&lines));
		if (rc == 0 && gone)
			rc = -ENOENT;
	}
	events_sessions_release(&e.sessions);
	return rc == -EPIPE ? 0 : rc;
}
