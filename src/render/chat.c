/* SPDX-License-Identifier: MIT */
/* chat.md: the text of user and assistant, and a line for each tool call. A line of session text is unchanged in the
 * file. Each heading and line ends in the ID of its entry, which leads to entries/ID.
 *
 * The line of a call is at its result, so that the file only grows as results come; a call without a result is shown
 * where the model continues without it. A result is read only if it failed, or has pictures, nested calls or a
 * duration; the index has the rest. */
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/number.h"
#include "sessionfs/session/part.h"
#include "sessionfs/session/context.h"

#include "calls.h"
#include "md.h"
#include "pieces.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define FAILED "\u2717 "

enum { COMMAND_CHARACTERS = 120, REASON_CHARACTERS = 160 };

/* The max number of entries between results of one message. */
enum { VISIBLE_SKIPPED = 16 };
/* A result further away shows its call if finding that costs no more than parsing this many bytes. */
#define CALL_LOOKUP_BYTES_MAX ((uint64_t)64 << 10)

/* A longer time between two entries more likely means that the session was left and resumed. */
#define DURATION_MAX_MS (24 * 60 * 60 * 1000.0)

/* --- visibility ------------------------------------------------------------------- */

/* Whether an entry has a heading, a line or a mark. Custom messages must be read to know. */
enum visibility { VISIBLE_NO, VISIBLE_YES, VISIBLE_MAYBE };

static enum visibility entry_visibility(const struct session *s, uint32_t i)
{
	const struct entry *e = session_entry(s, i);

	if (e->flags & ENTRY_NO_MESSAGE)
		return VISIBLE_NO;
	switch (part_role_as(e->type, e->role)) {
	case ROLE_ASSISTANT:
		return e->flags & ENTRY_NO_TEXT && session_label_record(s, i) == NO_ENTRY ? VISIBLE_NO : VISIBLE_YES;
	case ROLE_BRANCH_SUMMARY:
		return e->type == RECORD_MESSAGE || e->flags & ENTRY_SUMMARY ? VISIBLE_YES : VISIBLE_NO;
	case ROLE_USER:
	case ROLE_TOOL_RESULT:
	case ROLE_BASH_EXECUTION:
	case ROLE_COMPACTION_SUMMARY:
		return VISIBLE_YES;
	case ROLE_CUSTOM:
		return VISIBLE_MAYBE;
	default:
		return VISIBLE_NO;
	}
}

static bool is_displayed(const struct record *r)
{
	return json_is_truthy(r->type == RECORD_MESSAGE ? r->msg.display : r->display);
}

bool chat_has_entry(const struct session *s, uint32_t i, const struct record *r)
{
	enum visibility shown = entry_visibility(s, i);
	return shown == VISIBLE_YES || (shown == VISIBLE_MAYBE && is_displayed(r));
}

/* Appends the entry's marks and ID, and ends the line. */
static void chat_end_entry_line(const struct session *s, uint32_t i, struct buf *out)
{
	const struct md m = {.s = s, .entry = i, .out = out};
	const char *edit = context_edit_mark(s, i);

	if (edit)
		buf_addf(out, DOT "%s", edit);
	md_add_label(&m);
	buf_adds(out, DOT);
	session_entry_name(s, i, out);
	buf_addc(out, '\n');
}

/* --- calls without a result --------------------------------------------------------- */

/* Returns the last assistant message from `above` up, if it made calls that can get no more results: the model
 * continues, or, if pi does not send the message, an entry other than a result follows. */
static uint32_t unanswered_caller(const struct session *s, uint32_t above, bool goes_on)
{
	uint32_t ring = NO_ENTRY;
	bool said = false;

	for (uint32_t i = above; i != NO_ENTRY && (goes_on || !said); i = session_walk_parent(s, i, &ring)) {
		const struct entry *e = session_entry(s, i);
		if (e->role == ROLE_ASSISTANT)
			return e->flags & ENTRY_HAS_CALLS && (entry_is_unsent(e) ? !said : goes_on) ? i : NO_ENTRY;
		said = said ||
		       (e->flags & ENTRY_CONVERSATION && !(e->flags & ENTRY_NO_MESSAGE) && e->role != ROLE_TOOL_RESULT);
	}
	return NO_ENTRY;
}

/* The calls without a result on a path that can get no more results; `left` is their number. */
struct unanswered {
	uint32_t caller;
	unsigned n, left;
	bool *answered; /* by call */
};

static void unanswered_release(struct unanswered *u)
{
	free(u->answered);
}

/* Finds them on the path from `above` (or NO_ENTRY) up to the last assistant message. `goes_on`: an assistant message
 * follows, or nothing. Returns 0 or -ENOMEM. */
static int unanswered_find(const struct session *s, uint32_t above, bool goes_on, struct unanswered *u)
{
	uint32_t ring = NO_ENTRY;
	unsigned k = 0;

	*u = (struct unanswered){.caller = unanswered_caller(s, above, goes_on)};
	if (u->caller == NO_ENTRY)
		return 0;
	u->n = u->left = session_call_count(s, u->caller);
	u->answered = calloc(u->n + 1, 1);
	if (!u->answered)
		return -ENOMEM;
	for (uint32_t i = above; i != NO_ENTRY && i != u->caller; i = session_walk_parent(s, i, &ring)) {
		if (session_call(s, i, &k) != u->caller || k == 0 || k > u->n || u->answered[k - 1])
			continue;
		u->answered[k - 1] = true;
		u->left--;
	}
	return 0;
}

/* --- lines -------------------------------------------------------------------------- */

/* The lines of a list have no blank line between them. Looks for what is shown last up to `above`: an entry, or calls
 * without a result before an entry that is not shown. */
static void chat_begin_line(const struct session *s, uint32_t above, struct buf *out)
{
	bool is_line = false, found = false;
	uint32_t ring = NO_ENTRY;

	for (uint32_t i = above, next; i != NO_ENTRY && !found; i = next) {
		const struct entry *e = session_entry(s, i);
		struct unanswered u CLEANUP(unanswered_release) = {.left = 0};
		next = session_walk_parent(s, i, &ring);
		is_line = e->role == ROLE_TOOL_RESULT || e->role == ROLE_BASH_EXECUTION;
		found = entry_visibility(s, i) != VISIBLE_NO;
		if (found || !(e->flags & ENTRY_CONVERSATION) || e->flags & ENTRY_NO_MESSAGE)
			continue;
		int rc = unanswered_find(s, next, e->role == ROLE_ASSISTANT, &u);
		out->err = rc < 0 ? rc : out->err;
		is_line = found = u.left > 0;
	}
	buf_adds(out, is_line ? "- " : "\n- ");
}

static uint32_t entry_above(const struct session *s, uint32_t i)
{
	uint32_t ring = NO_ENTRY;
	return session_walk_parent(s, i, &ring);
}

static void add_duration(double ms, struct buf *out)
{
	if (!(ms >= 0 && ms < INFINITY))
		return;
	buf_adds(out, DOT);
	text_add_duration(ms, out);
}

void chat_duration(const struct session *s, uint32_t caller, uint32_t result, const struct record *r, struct buf *out)
{
	double ms;

	if (json_double(r->msg.duration, &ms) && ms >= 0 && ms < INFINITY) {
		add_duration(ms, out);
	} else if (caller != NO_ENTRY) {
		int64_t begin = session_entry(s, caller)->time, end = session_entry(s, result)->time;
		ms = (double)end - (double)begin;
		if (begin != NO_TIME && end != NO_TIME && ms > 0 && ms <= DURATION_MAX_MS)
			add_duration(ms, out);
	}
}

/* Returns the most informative line of an error: pi's bash ends with the result of the command. */
static struct span error_reason_line(struct span error)
{
	static const char ended[] = "Command ";
	const char *p = error.p, *end = p + error.n;

	while (p < end && end[-1] == '\n')
		end--;
	const char *last = p < end ? memrchr(p, '\n', (size_t)(end - p)) : NULL;
	last = last ? last + 1 : p;
	if ((size_t)(end - last) > sizeof ended - 1 && memcmp(last, ended, sizeof ended - 1) == 0)
		return (struct span){last, (size_t)(end - last)};
	while (p < end && *p == '\n')
		p++;
	const char *eol = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
	return (struct span){p, (size_t)((eol ? eol : end) - p)};
}

void chat_reason(struct span clean, struct buf *out)
{
	struct span reason = error_reason_line(clean);
	size_t start = out->n;

	buf_addspan(out, reason);
	text_shorten_from(out, start, REASON_CHARACTERS);
}

/* Appends the error of the result, or of a nested call. */
static void add_failure(const struct record *r, const struct part_call *call, struct buf *out)
{
	struct buf error CLEANUP_BUF = BUF_INIT;

	if (call)
		part_call_error(call, &error);
	else
		part_error(r, &error);
	out->err = buf_err(&error) ? buf_err(&error) : out->err;
	buf_adds(out, DOT FAILED "failed: ");
	chat_reason(buf_span(&error), out);
}

/* Names a result without its call. */
static void add_tool_name(const struct record *r, struct buf *out)
{
	struct buf name CLEANUP_BUF = BUF_INIT;

	text_add_inline(r->msg.tool_name, &name);
	text_shorten_from(&name, 0, COMMAND_CHARACTERS);
	out->err = buf_err(&name) ? buf_err(&name) : out->err;
	if (name.n > 0)
		md_add_code_span(buf_span(&name), out);
	else
		buf_adds(out, "tool");
}

/* Returns the entry above, skipping a few that neither make nor answer calls. */
static uint32_t nearest_call_above(const struct session *s, uint32_t i)
{
	uint32_t ring = NO_ENTRY, role;
	unsigned k = 0;

	do {
		i = session_walk_parent(s, i, &ring);
		role = i != NO_ENTRY ? session_entry(s, i)->role : ROLE_ASSISTANT;
	} while (role != ROLE_ASSISTANT && role != ROLE_TOOL_RESULT && k++ < VISIBLE_SKIPPED);
	return i;
}

/* Returns whether the summary of call n, which result i answers, is cached or cheap to read: the summaries of one
 * message are cached. */
static bool call_is_near(const struct session *s, uint32_t i, uint32_t caller, unsigned n)
{
	uint32_t above = nearest_call_above(s, i);
	unsigned k = 0;

	if (above == caller || (above != NO_ENTRY && session_entry(s, above)->role == ROLE_TOOL_RESULT &&
	                        session_call(s, above, &k) == caller))
		return true;
	return (uint64_t)session_entry(s, caller)->length * n <= CALL_LOOKUP_BYTES_MAX;
}

/* Appends links to the pictures of a result on its line. */
static void add_pictures(const struct md *m)
{
	struct block_iter it;
	struct block b;

	block_iter_init_of(&it, m->r, part_content(m->r));
	while (block_next(&it, &b)) {
		if (b.type != BLOCK_IMAGE)
			continue;
		buf_adds(m->out, DOT);
		md_add_image(m, &b);
	}
	md_add_unseen(m->r, m->out);
}

void chat_nested_end(const struct part_call *call, struct buf *out)
{
	double ms;

	if (call->nested == NESTED_FAILED)
		add_failure(NULL, call, out);
	if (call->nested == NESTED_OPEN)
		buf_adds(out, DOT "unfinished");
	if (json_double(call->duration, &ms))
		add_duration(ms, out);
}

/* Appends a line for each call that the tool of a result made. */
static int chat_show_nested(const struct session *s, const struct record *r, struct buf *out)
{
	struct tool_use use CLEANUP_TOOL = TOOL_USE_INIT;
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct part_call call = {0};
	int rc = 0;

	while (rc == 0 && part_call_next(r, &call)) {
		tool_read(call.name, call.arguments, &use);
		buf_reset(&text);
		call_add_summary(s, &use, &text);
		buf_adds(out, "  - ");
		md_add_code_span(buf_span(&text), out);
		chat_nested_end(&call, out);
		buf_addc(out, '\n');
		rc = buf_err(&text) ? buf_err(&text) : cancel_check();
	}
	if (json_get(r->msg.nested_calls, "complete").kind == JSON_FALSE)
		buf_adds(out, "  - and others\n");
	return rc;
}

/* Appends the line of a toolResult: what its call did. */
static int chat_show_result(const struct render_target *p, uint32_t i, struct reader *reader, struct buf *out)
{
	const struct session *s = p->session;
	unsigned n = 0;
	uint32_t caller = session_call(s, i, &n);
	bool failed = session_entry(s, i)->flags & ENTRY_FAILED;
	bool has_images = session_entry(s, i)->flags & ENTRY_HAS_IMAGES;
	bool has_nested = entry_has_nested(session_entry(s, i));
	bool near = caller != NO_ENTRY && call_is_near(s, i, caller, n);
	struct span summary = {NULL, 0};
	struct record r = {0};
	int rc = near ? call_texts_get(s, caller, n, call_add_summary, reader, &summary) : 0;

	if (rc == 0 && (failed || has_images || !near || has_nested || session_has_durations(s)))
		rc = session_read(s, i, reader, &r);
	if (rc < 0)
		return rc;
	chat_begin_line(s, entry_above(s, i), out);
	if (near)
		md_add_code_span(summary, out);
	else
		add_tool_name(&r, out);
	if (failed)
		add_failure(&r, NULL, out);
	chat_duration(s, caller, i, &r, out);
	struct md m = {.s = s, .entry = i, .r = &r, .prefix = p->prefix, .out = out, .has_images = true};
	if (has_images)
		add_pictures(&m);
	chat_end_entry_line(s, i, out);
	if (has_nested)
		rc = chat_show_nested(s, &r, out);
	return rc < 0 ? rc : buf_err(out);
}

/* Appends a line, with `end` at its end, for each of the calls that unanswered_find finds. */
static int chat_show_unanswered(const struct session *s, uint32_t above, bool goes_on, const char *end,
                                struct reader *reader, struct buf *out)
{
	struct unanswered u CLEANUP(unanswered_release) = {.left = 0};
	struct span summary;
	bool begun = false;
	int rc = unanswered_find(s, above, goes_on, &u);

	for (unsigned k = 1; rc == 0 && u.left > 0 && k <= u.n; k++) {
		if (u.answered[k - 1])
			continue;
		rc = call_texts_get(s, u.caller, k, call_add_summary, reader, &summary);
		if (rc < 0)
			return rc;
		if (begun)
			buf_adds(out, "- ");
		else
			chat_begin_line(s, above, out);
		begun = true;
		md_add_code_span(summary, out);
		buf_adds(out, end);
	}
	return rc < 0 ? rc : buf_err(out);
}

/* --- commands of the user ----------------------------------------------------------- */

static void chat_show_command(const struct session *s, uint32_t i, const struct record *r, struct buf *out)
{
	struct buf command CLEANUP_BUF = BUF_INIT;
	double code;

	buf_adds(&command, json_is_truthy(r->msg.exclude_from_context) ? "!!" : "!");
	if (r->msg.command.kind == JSON_STRING)
		text_add_prefix(r->msg.command, 2 * COMMAND_CHARACTERS, &command);
	text_shorten_from(&command, 0, COMMAND_CHARACTERS);
	out->err = buf_err(&command) ? buf_err(&command) : out->err;
	chat_begin_line(s, entry_above(s, i), out);
	md_add_code_span(buf_span(&command), out);
	if (json_is_truthy(r->msg.cancelled)) {
		buf_adds(out, DOT FAILED "cancelled");
	} else if (json_double(r->msg.exit_code, &code)) {
		buf_adds(out, code != 0 ? DOT FAILED "exit " : DOT "exit ");
		number_add(code, out);
	}
	chat_end_entry_line(s, i, out);
}

/* --- lines ------------------------------------------------------------------ */

/* Appends a time to the minute, in UTC. */
static void add_minute(int64_t time, struct buf *out)
{
	char text[NUMBER_TIME];

	if (time == NO_TIME || !number_time((double)time, text))
		return;
	char *t = strchr(text, 'T');
	*t = ' ';
	buf_adds(out, DOT);
	buf_add(out, text, (size_t)(t - text) + sizeof " hh:mm" - 1);
	buf_addc(out, 'Z');
}

static void chat_end_heading(const struct md *m)
{
	add_minute(session_entry(m->s, m->entry)->time, m->out);
	chat_end_entry_line(m->s, m->entry, m->out);
}

/* --- messages --------------------------------------------------------------- */

/* Shows what programs put around the user's words, and a skill, as a line. */
static void chat_show_text(const struct md *m, struct json_value v)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct user_text t;
	size_t start = m->out->n;

	json_decode(v.text, JSON_CLEAN, &text);
	text_split(m->r->role, buf_span(&text), &t);
	text_add_metadata("\n- ", t.before, "\n", m->out);
	if (t.skill.n > 0) {
		buf_adds(m->out, m->out->n > start ? "- skill " : "\n- skill ");
		size_t name = m->out->n;
		buf_addspan(m->out, t.skill);
		text_shorten_from(m->out, name, COMMAND_CHARACTERS);
		buf_addc(m->out, '\n');
	}
	buf_adds(m->out, t.words.n > 0 ? "\n" : "");
	start = m->out->n;
	buf_addspan(m->out, t.words);
	if (t.words.n > 0)
		md_end_paragraph(start, m->out);
	text_add_metadata("\n- ", t.after, "\n", m->out);
	m->out->err = buf_err(&text) ? buf_err(&text) : m->out->err;
}

static void chat_show_content(struct md *m)
{
	struct block_iter it;
	struct block b;

	block_iter_init_of(&it, m->r, part_content(m->r));
	while (block_next(&it, &b)) {
		if (b.type == BLOCK_TEXT && md_has_text(b.text))
			chat_show_text(m, b.text);
		else if (b.type == BLOCK_IMAGE)
			md_show_image(m, &b);
	}
}

/* Shows how a message ended, unless it is the usual way. */
static void chat_show_ending(struct md *m)
{
	struct buf error CLEANUP_BUF = BUF_INIT;

	if (!part_has_error(m->r))
		return;
	part_error(m->r, &error);
	m->out->err = buf_err(&error) ? buf_err(&error) : m->out->err;
	buf_adds(m->out,
	         json_equals(m->r->msg.stop_reason, "aborted") ? "\n*" FAILED "aborted" : "\n*" FAILED "failed");
	if (json_is_truthy(m->r->msg.error_message) || !entry_is_unsent(session_entry(m->s, m->entry))) {
		buf_adds(m->out, ": ");
		chat_reason(buf_span(&error), m->out);
	}
	buf_adds(m->out, "*\n");
}

static void chat_show_mark(const struct md *m, const char *what, struct json_value tokens)
{
	double n;

	buf_addf(m->out, "\n*%s", what);
	if (json_double(tokens, &n)) {
		buf_adds(m->out, DOT);
		number_add(n, m->out);
		buf_adds(m->out, " tokens before");
	}
	buf_adds(m->out, "*");
	chat_end_heading(m);
}

static void chat_show_entry(struct md *m)
{
	const struct record *r = m->r;
	bool is_message = r->type == RECORD_MESSAGE;
	size_t start;

	switch (part_role_as(r->type, r->role)) {
	case ROLE_USER:
	case ROLE_ASSISTANT:
		buf_addf(m->out, "\n## %s", record_role_name(r->role));
		chat_end_heading(m);
		chat_show_content(m);
		chat_show_ending(m);
		return;
	case ROLE_BASH_EXECUTION:
		chat_show_command(m->s, m->entry, r, m->out);
		return;
	case ROLE_CUSTOM:
		if (!is_displayed(r))
			return;
		buf_adds(m->out, "\n## ");
		start = m->out->n;
		text_add_inline(is_message ? r->msg.custom_type : r->custom_type, m->out);
		buf_adds(m->out, m->out->n == start ? "custom" : "");
		chat_end_heading(m);
		chat_show_content(m);
		return;
	case ROLE_BRANCH_SUMMARY:
		chat_show_mark(m, "branch summary", (struct json_value){0});
		return;
	case ROLE_COMPACTION_SUMMARY:
		chat_show_mark(m, "compaction", is_message ? r->msg.tokens_before : r->tokens_before);
		return;
	default:
		return;
	}
}

/* --- existence -------------------------------------------------------------- */

bool render_chat_exists(const struct session *s, uint32_t at)
{
	struct line line CLEANUP_LINE = LINE_INIT;
	uint32_t ring = NO_ENTRY;
	struct record r;

	for (uint32_t i = at; i != NO_ENTRY; i = session_walk_parent(s, i, &ring)) {
		enum visibility shown = entry_visibility(s, i);
		bool calls = session_entry(s, i)->flags & ENTRY_HAS_CALLS;
		if (shown == VISIBLE_YES || calls ||
		    (shown == VISIBLE_MAYBE && (session_load(s, i, &line, &r) < 0 || is_displayed(&r))))
			return true;
	}
	return false;
}

/* --- the view --------------------------------------------------------------- */

static int chat_front(const struct render_target *p, const struct render_totals *t, struct buf *out)
{
	(void)t;
	buf_adds(out, "# ");
	return render_title(p->session, out);
}

static int chat_segment(const struct render_target *p, const void *item, bool is_first, struct reader *reader,
                        struct usage *usage, struct buf *out)
{
	const struct session *s = p->session;
	uint32_t i = *(const uint32_t *)item;
	const struct entry *e = session_entry(s, i);
	struct record r;

	(void)is_first, (void)usage;
	if (!(e->flags & ENTRY_CONVERSATION) || e->flags & ENTRY_NO_MESSAGE)
		return 0;
	if (e->role == ROLE_TOOL_RESULT)
		return chat_show_result(p, i, reader, out);
	int rc = chat_show_unanswered(s, entry_above(s, i), e->role == ROLE_ASSISTANT, DOT "no result\n", reader, out);
	if (rc < 0 || entry_visibility(s, i) == VISIBLE_NO)
		return rc;
	rc = session_read(s, i, reader, &r);
	if (rc == 0)
		rc = call_texts_cache(s, i, &r, call_add_summary, reader);
	if (rc < 0)
		return rc;
	struct md m = {.s = s, .entry = i, .r = &r, .prefix = p->prefix, .out = out, .has_images = true};
	chat_show_entry(&m);
	return buf_err(out);
}

/* Shows the calls made last that have no result yet. Each line is the beginning of its final line, so that the file
 * never gets shorter. */
static int chat_back(const struct render_target *p, const struct render_totals *t, size_t n, struct buf *out)
{
	struct reader reader CLEANUP_READER = READER_INIT;

	(void)t, (void)n;
	return chat_show_unanswered(p->session, p->leaf, true, "\n", &reader, out);
}

/* A segment depends only on its entry, its label and its ancestors. */
const struct producer producer_chat_md = {
    .item_size = sizeof(uint32_t),
    .list = path_items,
    .list_appended = path_items_newer,
    .has_labels = true,
    .front = chat_front,
    .segment = chat_segment,
    .back = chat_back,
    .back_is_transient = true,
};
