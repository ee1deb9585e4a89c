/* SPDX-License-Identifier: MIT */
/* Reads the bytes appended since the last growth of the index, and turns lines into entries.
 *
 * One buffer is read, cut at newlines and passed to record_head(), which validates and parses in one pass. In nearly
 * every line the parent is the entry of the previous line: comparing two ids shows that, and only the others are left
 * to session_link() to look up. */
#include "sessionfs/base/space.h"
#include "session_impl.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/utf8.h"

enum { CHUNK = 256 * 1024 }; /* fits the second-level cache */

/* In a scan of at most this many bytes, most lines are cached for the reads that follow: titles, models, but not the
 * output of tools. */
#define SHORT_SCAN ((uint64_t)4 << 20)

struct scan {
	struct session *s;
	struct id_refs pending; /* entries whose parent must be looked up */
	struct buf deep, id_text, parent_text;
	struct buf long_line; /* a line too long for the window */
	bool is_short;        /* cache most lines, not only those with calls that have a file */
	int err;
};

static void scan_release(struct scan *sc)
{
	id_refs_release(&sc->pending);
	buf_release(&sc->deep);
	buf_release(&sc->id_text);
	buf_release(&sc->parent_text);
	buf_release(&sc->long_line);
}

static bool scan_fail(struct scan *sc, int err)
{
	sc->err = err;
	return false;
}

static bool scan_header(struct scan *sc, struct span line, const struct record_head *head)
{
	struct session *s = sc->s;

	if (head->kind != JSON_OBJECT || head->type != RECORD_SESSION || head->id.kind != JSON_STRING)
		return scan_fail(sc, ERROR_NO_SESSION);
	buf_addspan(&s->header_line, line);
	json_decode(head->id.text, JSON_EXACT, &s->sid);
	if (buf_err(&s->header_line) || buf_err(&s->sid))
		return scan_fail(sc, -ENOMEM);
	record_parse(buf_span(&s->header_line), NULL, &sc->deep, &s->header);
	s->format = format_of(s->header.version);
	return true;
}

static bool scan_add_problem(struct scan *sc, const struct entry *e, enum problem_reason reason)
{
	return problem_record_add(&sc->s->faults, e->offset, e->line, reason) || scan_fail(sc, -ENOMEM);
}

/* Keeps the id and sets the flags for it. */
static bool scan_entry_id(struct scan *sc, struct entry *e, const struct key *id, struct span text)
{
	struct session *s = sc->s;
	bool raw = !is_ascii(text) && utf8_prefix(text) < text.n;

	e->id = arena_add(&s->ids, id);
	if (!e->id)
		return scan_fail(sc, -ENOMEM);
	e->flags |= ENTRY_ADDRESSED;
	if (!raw && id->kind == KEY_TEXT)
		return true;
	if (!vec_reserve(&s->odd_seeds, 1))
		return scan_fail(sc, -ENOMEM);
	s->odd_seeds.v[s->odd_seeds.n++] = s->extent.entry_count;
	return true;
}

static bool scan_entry_parent(struct scan *sc, struct entry *e, const struct json_value *parent, const struct key *id)
{
	struct session *s = sc->s;
	struct key key;

	if (parent->kind == JSON_NULL)
		return true;
	if (parent->kind == JSON_NONE)
		return scan_add_problem(sc, e, REASON_NO_PARENT_ID);
	if (!id_key(parent, &sc->parent_text, &key)) {
		e->flags |= ENTRY_ORPHAN;
		return true;
	}
	if (id && key_equal(id, &key))
		return scan_add_problem(sc, e, REASON_SELF_PARENT);
	uint32_t before = s->extent.entry_count ? session_entry_at(s, s->extent.entry_count - 1)->id : 0;
	if (key.kind == KEY_TEXT && key.text.n && before && arena_is(&s->ids, before, key.text)) {
		e->parent = s->extent.entry_count - 1;
		return true;
	}
	return id_refs_add(&sc->pending, s->extent.entry_count, &key) || scan_fail(sc, -ENOMEM);
}

/* Sets the id and parent of an object line. */
static bool scan_entry_links(struct scan *sc, struct entry *e, const struct record_head *head)
{
	struct session *s = sc->s;
	struct key id;

	if (!s->format->has_ids) {
		e->flags |= ENTRY_ADDRESSED;
		e->parent = s->extent.last_with_id;
		s->extent.last_with_id = s->extent.entry_count;
		return true;
	}
	bool usable = id_key(&head->id, &sc->id_text, &id);
	if (head->id.kind == JSON_NULL)
		e->flags |= ENTRY_NULL_ID;
	if (usable ? !scan_entry_id(sc, e, &id, head->id.text) : !scan_add_problem(sc, e, REASON_NO_ID))
		return false;
	return scan_entry_parent(sc, e, &head->parent_id, usable ? &id : NULL);
}

/* Returns the time of a message for pi's list of sessions, ms: a time that is not a number means the entry's. */
static double message_sort_time(const struct record_head *head, const struct entry *e)
{
	double t;

	if (json_double(head->message_time, &t))
		return t;
	if (head->timestamp.kind == JSON_NULL || head->timestamp.kind == JSON_FALSE ||
	    head->timestamp.kind == JSON_TRUE)
		return head->timestamp.kind == JSON_TRUE;
	return e->time == NO_TIME ? 0 : (double)e->time;
}

static bool scan_object_line(struct scan *sc, struct entry *e, const struct record_head *head)
{
	struct session *s = sc->s;

	e->time = record_time(head->timestamp);
	e->type = (uint8_t)head->type;
	e->role = (head->old_custom && s->format->has_old_custom ? ROLE_CUSTOM : head->role) & 0x1f;
	e->partial = head->partial;
	e->content = head->problem & 0x3;
	bool sums_up = head->type == RECORD_COMPACTION || head->type == RECORD_BRANCH_SUMMARY;
	e->flags |=
	    (uint16_t)((record_is_conversation(head->type) ? ENTRY_CONVERSATION : 0) |
	               (head->calls ? ENTRY_HAS_CALLS : 0) | (head->has_file_call ? ENTRY_HAS_FILE_CALLS : 0) |
	               (head->details_failed ? ENTRY_RESULT_FAILED : 0) | (head->images ? ENTRY_HAS_IMAGES : 0) |
	               (head->has_error ? ENTRY_FAILED : 0) | (head->no_text ? ENTRY_NO_TEXT : 0) |
	               (sums_up && json_is_truthy(head->summary) ? ENTRY_SUMMARY : 0));
	if (head->type == RECORD_SESSION_INFO)
		s->extent.newest_info = s->extent.entry_count;
	s->extent.has_context_edits |= head->type == RECORD_CONTEXT_EDIT;
	if ((head->role == ROLE_USER || head->role == ROLE_ASSISTANT) && head->has_content) {
		double t = message_sort_time(head, e);
		s->extent.last_active = t > s->extent.last_active ? t : s->extent.last_active;
	}
	uint32_t parts = head->calls > head->images ? head->calls : head->images;
	s->extent.durations |= head->duration.kind == JSON_NUMBER;
	if (e->role == ROLE_TOOL_RESULT && head->nested_calls.kind == JSON_OBJECT) {
		struct block_iter it;
		struct block b;
		block_iter_init_nested(&it, head->nested_calls);
		while (block_next(&it, &b))
			parts = b.type == BLOCK_TOOL_CALL && b.n > parts ? b.n : parts;
		e->flags |= ENTRY_NESTED;
	}
	if (parts >= node_parts(s->extent.entry_count) && !scan_add_problem(sc, e, REASON_TOO_MANY_PARTS))
		return false;
	if (head->message_missing) {
		e->flags |= ENTRY_NO_MESSAGE;
		if (!scan_add_problem(sc, e, REASON_NO_MESSAGE))
			return false;
	}
	if (!scan_entry_links(sc, e, head))
		return false;
	if (!usage_add_entry(s, e, head))
		return scan_fail(sc, -ENOMEM);
	if (head->type != RECORD_LABEL && head->type != RECORD_CONTEXT_EDIT)
		return true;
	if (head->type == RECORD_LABEL && json_is_truthy(head->label))
		e->flags |= ENTRY_SETS_LABEL;
	struct key key;
	/* pi fails at an edit without a replacement. */
	bool usable = (head->type == RECORD_LABEL || head->replacement.kind != JSON_NONE) &&
	              id_key(&head->target_id, &sc->parent_text, &key);
	return id_refs_add(&s->labels, s->extent.entry_count, usable ? &key : NULL) || scan_fail(sc, -ENOMEM);
}

static void scan_on_call(void *arg, struct json_value id)
{
	struct scan *sc = arg;

	if (!sc->err && !call_item_add(sc->s, &id, &sc->id_text))
		sc->err = -ENOMEM;
}

static bool scan_add_entry(struct scan *sc, const struct record_head *head, struct span line, uint64_t offset,
                           size_t calls)
{
	struct session *s = sc->s;

	if (!vec_reserve(&s->entries, 1))
		return scan_fail(sc, -ENOMEM);
	struct entry *e = &s->entries.v[s->extent.entry_count];
	*e = (struct entry){.offset = offset,
	                    .time = NO_TIME,
	                    .length = (uint32_t)line.n,
	                    .line = s->extent.lines,
	                    .parent = NO_ENTRY,
	                    .child = NO_ENTRY,
	                    .sibling = NO_ENTRY,
	                    .nearest = NO_ENTRY};
	if (head->kind != JSON_OBJECT ? !scan_add_problem(sc, e, REASON_NO_OBJECT) : !scan_object_line(sc, e, head))
		return false;
	size_t items = head->calls;
	if (e->role == ROLE_TOOL_RESULT) {
		items = 1;
		scan_on_call(sc, head->tool_call_id);
	}
	if (sc->err || !call_items_set_entry(s, s->extent.entry_count, calls, items))
		return scan_fail(sc, -ENOMEM);
	s->extent.entry_count++;
	s->entries.n++;
	if (entry_has_file_calls(e) || (sc->is_short && e->role != ROLE_TOOL_RESULT))
		scanned_add(s, offset, line);
	return true;
}

enum scan_result { SCAN_STOPPED, SCAN_NO_ENTRY, SCAN_ENTRY, SCAN_OTHER };

/* A line without an entry is blank or a problem. If the last line is unfinished, only the problem is recorded. */
static enum scan_result scan_reject_line(struct scan *sc, uint64_t offset, enum problem_reason reason, bool tail)
{
	struct extent *at = &sc->s->extent;

	if (tail) {
		at->tail_problem = reason;
		return SCAN_STOPPED;
	}
	at->lines++;
	if (!problem_record_add(&sc->s->faults, offset, at->lines, reason))
		scan_fail(sc, -ENOMEM);
	return SCAN_NO_ENTRY;
}

static enum scan_result scan_later_header(struct scan *sc)
{
	struct session *s = sc->s;

	if (!s->format->has_kept_index)
		return SCAN_OTHER;
	if (!vec_reserve(&s->headers, 1)) {
		scan_fail(sc, -ENOMEM);
		return SCAN_STOPPED;
	}
	s->headers.v[s->headers.n] = 1 + s->extent.entry_count + (uint32_t)s->headers.n;
	s->headers.n++;
	return SCAN_OTHER;
}

/* Applies a line without an entry. */
static enum scan_result scan_other_line(struct scan *sc, const struct record_head *head, struct span line,
                                        uint64_t offset, bool tail)
{
	struct session *s = sc->s;

	if (head->falsy)
		return scan_reject_line(sc, offset, REASON_FALSY, tail);
	if (head->kind == JSON_NONE)
		return scan_reject_line(sc, offset, tail ? REASON_TORN : REASON_MALFORMED, tail);
	s->extent.lines++;
	if (!s->header_line.n)
		return scan_header(sc, line, head) ? SCAN_OTHER : SCAN_STOPPED;
	if (head->type == RECORD_SESSION)
		return scan_later_header(sc);
	if (!s->extent.is_full && !problem_record_add(&s->faults, offset, s->extent.lines, REASON_TOO_MANY))
		scan_fail(sc, -ENOMEM);
	s->extent.is_full = true;
	return SCAN_OTHER;
}

static enum scan_result scan_line(struct scan *sc, struct span line, uint64_t offset, bool tail)
{
	struct session *s = sc->s;
	struct record_head head;
	size_t calls = s->calls.n;

	if (space_trim(line).n == 0) {
		s->extent.lines += !tail;
		return SCAN_NO_ENTRY;
	}
	record_head(line, &sc->deep, &head, scan_on_call, sc);
	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	bool entry = head.kind != JSON_NONE && !head.falsy && s->header_line.n && head.type != RECORD_SESSION;
	if (entry && s->extent.entry_count < SESSION_ENTRIES) {
		s->extent.lines++;
		return scan_add_entry(sc, &head, line, offset, calls) ? SCAN_ENTRY : SCAN_STOPPED;
	}
	s->calls.n = calls;
	return scan_other_line(sc, &head, line, offset, tail);
}

/* ---- reading ---- */

enum { LINE = 64 }; /* bytes per cache line */

struct window {
	char *block; /* has room for `cap` bytes at any offset within a LINE */
	char *p;
	size_t cap;
	size_t n;        /* bytes in it */
	size_t searched; /* how many of these have no newline */
	uint64_t offset; /* of the first byte in the file */
	size_t long_n;   /* bytes of a last line too long for the window */
	bool skipping;   /* inside a skipped line */
	enum problem_reason why;
};

static void window_release(struct window *w)
{
	free(w->block);
}

/* Returns where the window's bytes begin: at the same offset within a LINE as in the file, because the kernel then
 * copies faster. */
static char *window_place(const struct window *w)
{
	return w->block + (size_t)(w->offset - (uintptr_t)w->block) % LINE;
}

static int window_reserve(struct window *w, size_t cap)
{
	size_t at = w->block ? (size_t)(w->p - w->block) : 0;
	char *block = realloc(w->block, cap + LINE);

	if (!block)
		return -ENOMEM;
	w->block = block;
	w->cap = cap;
	w->p = window_place(w);
	memmove(w->p, block + at, w->n);
	return 0;
}

static int window_fill(struct scan *sc, struct window *w, uint64_t to)
{
	if (w->n == w->cap && window_reserve(w, w->cap * 2) < 0)
		return -ENOMEM;
	uint64_t left = to - w->offset - w->n;
	size_t want = w->cap - w->n < left ? w->cap - w->n : (size_t)left;
	ssize_t n = session_read_file(sc->s, w->p + w->n, want, w->offset + w->n);
	if (n <= 0)
		return n < 0 ? (int)n : -ESTALE;
	w->n += (size_t)n;
	return 0;
}

static void window_clear(struct window *w, uint64_t offset)
{
	w->n = w->searched = 0;
	w->offset = offset;
	w->p = window_place(w);
}

/* Skips the rest of this line. */
static void window_skip_line(struct window *w, enum problem_reason why)
{
	if (!w->skipping)
		w->why = why;
	w->skipping = true;
	window_clear(w, w->offset + w->n);
}

/* Finds the end of the line that begins in the window and is too long for it: a newline, or `to`. Stops at the max line
 * length. Overwrites the window. */
static int find_line_end(struct scan *sc, struct window *w, uint64_t to, uint64_t *ret)
{
	uint64_t from = w->offset + w->n, most = w->offset + SESSION_LINE_MAX + 1;

	for (*ret = from; *ret < to && *ret <= most;) {
		size_t want = to - *ret < CHUNK ? (size_t)(to - *ret) : CHUNK;
		ssize_t n = opened_pread(sc->s->file, w->p, want, *ret);
		int rc = cancel_check();
		if (rc < 0 || n <= 0)
			return rc < 0 ? rc : n < 0 ? (int)n : -ESTALE;
		const char *newline = memchr(w->p, '\n', (size_t)n);
		*ret += (uint64_t)(newline ? newline - w->p : n);
		if (newline)
			return 1;
	}
	return 0;
}

/* Applies a line that is too long for the window, which holds its beginning. */
static int scan_long_line(struct scan *sc, struct window *w, uint64_t to)
{
	uint64_t end, begin = w->offset;

	int whole = find_line_end(sc, w, to, &end);
	if (whole < 0)
		return whole;
	if (end - begin > SESSION_LINE_MAX) {
		window_skip_line(w, REASON_TOO_LONG);
		return 0;
	}
	int rc = session_read_bytes(sc->s, begin, (size_t)(end - begin), 0, &sc->long_line);
	if (rc < 0)
		return rc;
	window_clear(w, begin + (whole ? end - begin + 1 : 0));
	if (!whole) {
		w->long_n = (size_t)(end - begin);
		return 0;
	}
	scan_line(sc, buf_span(&sc->long_line), begin, false);
	sc->s->extent.whole_end = end + 1;
	return sc->err;
}

/* A hole has no newline. */
static void window_skip_hole(const struct scan *sc, struct window *w, uint64_t to)
{
	int64_t data = opened_seek_data(sc->s->file, w->offset);

	if (data < 0 && data != -ENXIO)
		return;
	uint64_t next = data < 0 || (uint64_t)data > to ? to : (uint64_t)data;
	if (next > w->offset)
		window_clear(w, next);
}

/* Applies the line at `begin`, the first of several that end at `last`. Returns its length. */
static size_t scan_whole_line(struct scan *sc, struct window *w, size_t begin, size_t last)
{
	const char *p = w->p + begin, *newline = memchr(p, '\n', last - begin + 1);
	struct span line = {p, (size_t)(newline - p)};

	if (w->skipping)
		scan_reject_line(sc, sc->s->extent.whole_end, w->why, false);
	else
		scan_line(sc, line, w->offset + begin, false);
	w->skipping = false;
	return line.n;
}

static int scan_window_lines(struct scan *sc, struct window *w, uint64_t to)
{
	struct extent *at = &sc->s->extent;
	const char *newline = memrchr(w->p + w->searched, '\n', w->n - w->searched);

	if (newline) {
		size_t last = (size_t)(newline - w->p), begin = 0;
		while (begin <= last) {
			/* A file can have very many empty lines. */
			if (w->p[begin] == '\n' && !w->skipping)
				at->lines++, begin++;
			else
				begin += scan_whole_line(sc, w, begin, last) + 1;
			if (sc->err)
				return sc->err;
			at->whole_end = w->offset + begin;
		}
		const char *rest = w->p + begin;
		w->n -= begin;
		w->offset += begin;
		w->p = window_place(w);
		memmove(w->p, rest, w->n);
	}
	w->searched = w->n;
	/* A line that cannot be JSON is skipped; one too long for the window is read on its own. */
	if (w->skipping || (w->n >= CHUNK && (!w->p[0] || !strchr("{[\"-0123456789tfn \t\r", w->p[0])))) {
		window_skip_line(w, REASON_MALFORMED);
		return 0;
	}
	return w->n > SESSION_LINE_LONG ? scan_long_line(sc, w, to) : 0;
}

/* Applies the bytes after the last newline. */
static int scan_tail(struct scan *sc, const struct window *w)
{
	struct extent *at = &sc->s->extent;

	at->tail = TAIL_NONE;
	at->tail_is_entry = false;
	if (w->n == 0 && !w->skipping && !w->long_n)
		return 0;
	struct span text = w->long_n ? buf_span(&sc->long_line) : (struct span){w->p, w->n};
	enum scan_result taken =
	    w->skipping ? scan_reject_line(sc, w->offset, REASON_TORN, true) : scan_line(sc, text, w->offset, true);
	if (taken == SCAN_STOPPED)
		at->tail = TAIL_TORN;
	else if (taken != SCAN_NO_ENTRY)
		at->tail = TAIL_INDEXED;
	at->tail_is_entry = taken == SCAN_ENTRY;
	return sc->err;
}

static int scan_to_offset(struct scan *sc, uint64_t to)
{
	struct extent *at = &sc->s->extent;
	uint64_t from = at->whole_end;
	CLEANUP(window_release) struct window w = {.offset = from};

	if (window_reserve(&w, to - from < CHUNK ? (size_t)(to - from) + 1 : CHUNK) < 0)
		return -ENOMEM;
	while (w.offset + w.n < to && !w.long_n) {
		if (w.skipping && w.n == 0)
			window_skip_hole(sc, &w, to);
		if (w.offset == to)
			break;
		int rc = window_fill(sc, &w, to);
		if (rc == 0)
			rc = scan_window_lines(sc, &w, to);
		if (rc == -EINTR || (rc == 0 && w.offset + w.n < to && cancel_check() < 0)) {
			/* The whole lines read so far are kept: the next scan begins after them. */
			at->end = at->whole_end;
			at->tail = TAIL_NONE;
			at->tail_is_entry = false;
			return -EINTR;
		}
		if (rc < 0)
			return rc;
	}
	at->end = to;
	return scan_tail(sc, &w);
}

/* The tail was indexed as a line. White space and a newline can follow; anything else makes it a different line from
 * the one that was shown. */
static int scan_check_tail(struct scan *sc, uint64_t to)
{
	struct session *s = sc->s;
	char bytes[4096];
	char last = 0;

	while (s->extent.tail == TAIL_INDEXED && s->extent.end < to) {
		size_t want = to - s->extent.end < sizeof bytes ? (size_t)(to - s->extent.end) : sizeof bytes;
		ssize_t n = opened_pread(s->file, bytes, want, s->extent.end);
		if (n <= 0)
			return n == 0 ? -ESTALE : (int)n;
		size_t i = 0;
		for (; i < (size_t)n && bytes[i] != '\n'; i++) {
			if (bytes[i] != ' ' && bytes[i] != '\t' && bytes[i] != '\r')
				return -ESTALE;
			last = bytes[i];
		}
		s->extent.end += i;
		if (s->extent.end - s->extent.whole_end > SESSION_LINE_MAX)
			return -ESTALE;
		if (last && s->extent.tail_is_entry)
			session_entry_at(s, s->extent.entry_count - 1)->length =
			    (uint32_t)(s->extent.end - s->extent.whole_end) - (last == '\r');
		if (i < (size_t)n) {
			s->extent.whole_end = ++s->extent.end;
			s->extent.tail = TAIL_NONE;
		} else if (cancel_check() < 0) {
			return -EINTR;
		}
	}
	return 0;
}

int session_scan(struct session *s, uint64_t size)
{
	const uint32_t before = s->extent.entry_count;
	CLEANUP(scan_release) struct scan sc = {.s = s, .is_short = size - s->extent.end <= SHORT_SCAN};
	int deferred = deferred_begin();

	int rc = scan_check_tail(&sc, size);
	if (rc == 0 && s->extent.tail != TAIL_INDEXED)
		rc = scan_to_offset(&sc, size);
	bool cancelled = rc == -EINTR && s->header_line.n;
	if (cancelled)
		rc = 0;
	if (rc == 0 && !s->header_line.n)
		rc = ERROR_NO_SESSION;
	if (rc == 0)
		rc = session_link(s, before, &sc.pending);
	/* If memory was short, a value can be missing from the index. */
	rc = deferred_end(deferred, rc);
	s->is_broken = rc < 0;
	return rc < 0 ? rc : cancelled ? -EINTR : 0;
}
