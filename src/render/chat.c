/* chat.md: what user and assistant said, and a line for each tool call. A line of text stands in the file as it was
 * said. Each heading and line ends in the ID of its entry, so that one gets from it to entries/ID. */
#include "chat.h"

#include "sessionfs/base/number.h"
#include "sessionfs/session/part.h"

#include "calls.h"
#include "md.h"
#include "pieces.h"
#include "text.h"

/* --- lines ------------------------------------------------------------------ */

/* To the minute, in UTC. */
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

static void begin_heading(const struct md *m, const char *who)
{
	buf_adds(m->out, "\n## ");
	buf_adds(m->out, who);
}

static void end_heading(const struct md *m)
{
	add_minute(session_entry(m->s, m->entry)->time, m->out);
	chat_end_line(m->s, m->entry, m->out);
}

/* --- messages --------------------------------------------------------------- */

static void show_content(struct md *m, struct json_value content)
{
	struct block_iter it;
	struct block b;

	block_iter_init_of(&it, m->r, content);
	while (block_next(&it, &b)) {
		if (b.type == BLOCK_TEXT && md_has_text(b.text))
			md_text(b.text, m->out);
		else if (b.type == BLOCK_IMAGE)
			md_image(m, &b);
	}
}

static void show_user(struct md *m)
{
	begin_heading(m, "user");
	end_heading(m);
	show_content(m, m->r->msg.content);
}

/* How a message ended, if not as usual. */
static int show_end(struct md *m)
{
	struct buf error CLEANUP_BUF = BUF_INIT;

	if (!part_has_error(m->r))
		return 0;
	part_error(m->r, &error);
	if (buf_err(&error))
		return buf_err(&error);
	buf_adds(m->out,
	         json_is(m->r->msg.stop_reason, "aborted") ? "\n*" CHAT_FAILED "aborted" : "\n*" CHAT_FAILED "failed");
	if (json_truthy(m->r->msg.error_message)) {
		buf_adds(m->out, ": ");
		chat_reason(buf_span(&error), m->out);
	}
	buf_adds(m->out, "*\n");
	return 0;
}

static int show_assistant(struct md *m)
{
	begin_heading(m, "assistant");
	end_heading(m);
	show_content(m, m->r->msg.content);
	return show_end(m);
}

static void show_custom(struct md *m, struct json_value type, struct json_value content)
{
	begin_heading(m, "");
	size_t start = m->out->n;
	text_inline(type, m->out);
	buf_adds(m->out, m->out->n == start ? "custom" : "");
	end_heading(m);
	show_content(m, content);
}

static void show_mark(const struct md *m, const char *what, struct json_value tokens)
{
	double n;

	buf_addf(m->out, "\n*%s", what);
	if (json_double(tokens, &n)) {
		buf_adds(m->out, DOT);
		number_add(n, m->out);
		buf_adds(m->out, " tokens before");
	}
	buf_adds(m->out, "*");
	end_heading(m);
}

static int show_message(struct md *m)
{
	const struct record *r = m->r;

	switch (r->role) {
	case ROLE_USER:
		show_user(m);
		return 0;
	case ROLE_ASSISTANT:
		return show_assistant(m);
	case ROLE_BASH_EXECUTION:
		return chat_bash(m->s, m->entry, r, m->out);
	case ROLE_CUSTOM:
		if (json_truthy(r->msg.display))
			show_custom(m, r->msg.custom_type, r->msg.content);
		return 0;
	case ROLE_BRANCH_SUMMARY:
		show_mark(m, "branch summary", (struct json_value){0});
		return 0;
	case ROLE_COMPACTION_SUMMARY:
		show_mark(m, "compaction", r->msg.tokens_before);
		return 0;
	default:
		return 0;
	}
}

static int show_entry(struct md *m)
{
	switch (m->r->type) {
	case RECORD_MESSAGE:
		return show_message(m);
	case RECORD_CUSTOM_MESSAGE:
		if (json_truthy(m->r->display))
			show_custom(m, m->r->custom_type, m->r->content);
		return 0;
	case RECORD_COMPACTION:
		show_mark(m, "compaction", m->r->tokens_before);
		return 0;
	case RECORD_BRANCH_SUMMARY:
		show_mark(m, "branch summary", (struct json_value){0});
		return 0;
	default:
		return 0;
	}
}

/* --- what is there ---------------------------------------------------------- */

static int is_displayed(const struct session *s, uint32_t i, struct line *line)
{
	struct record r;
	int rc = session_load(s, i, line, &r);
	return rc < 0 ? rc : json_truthy(r.type == RECORD_MESSAGE ? r.msg.display : r.display);
}

bool render_chat_has(const struct session *s, uint32_t at)
{
	struct line line CLEANUP_LINE = LINE_INIT;
	uint32_t ring = NO_ENTRY;

	for (uint32_t i = at; i != NO_ENTRY; i = session_walk_up(s, i, &ring)) {
		enum chat_shown shown = chat_shows(s, i);
		bool calls = session_entry(s, i)->flags & ENTRY_HAS_CALLS;
		if (shown == CHAT_SURELY || calls || (shown == CHAT_MAYBE && is_displayed(s, i, &line) != 0))
			return true;
	}
	return false;
}

/* --- the view --------------------------------------------------------------- */

static int chat_front(const struct place *p, const struct totals *t, struct buf *out)
{
	(void)t;
	buf_adds(out, "# ");
	return render_title(p->session, out);
}

static int chat_segment(const struct place *p, const void *item, bool is_first, struct reader *reader,
                        struct render_usage *usage, struct buf *out)
{
	const struct session *s = p->session;
	uint32_t i = *(const uint32_t *)item, ring = NO_ENTRY;
	const struct entry *e = session_entry(s, i);
	struct record r;

	(void)is_first, (void)usage;
	if (!(e->flags & ENTRY_CONVERSATION) || e->flags & ENTRY_NO_MESSAGE)
		return 0;
	if (e->role == ROLE_TOOL_RESULT)
		return chat_result(s, i, reader, out);
	uint32_t above = session_walk_up(s, i, &ring);
	int rc = chat_unanswered(s, above, e->role == ROLE_ASSISTANT, DOT "no result\n", reader, out);
	if (rc < 0 || chat_shows(s, i) == CHAT_NOT)
		return rc;
	rc = session_read(s, i, reader, &r);
	if (rc == 0 && e->flags & ENTRY_HAS_CALLS)
		rc = calls_keep(s, i, &r, chat_gist, reader);
	if (rc < 0)
		return rc;
	struct md m = {.s = s, .entry = i, .r = &r, .prefix = p->prefix, .out = out, .has_images = true};
	rc = show_entry(&m);
	return rc < 0 ? rc : buf_err(out);
}

/* The calls that were made last and have no result yet. Each line is the beginning of the one that the result will
 * have, so that the file never gets shorter. */
static int chat_back(const struct place *p, const struct totals *t, size_t n, struct buf *out)
{
	struct reader reader CLEANUP_READER = READER_INIT;

	(void)t, (void)n;
	return chat_unanswered(p->session, p->at, true, "\n", &reader, out);
}

/* A segment depends on its entry, its label and its ancestors only. */
const struct producer producer_chat_md = {
    .item = sizeof(uint32_t),
    .list = items_path,
    .newer = items_newer_path,
    .has_labels = true,
    .front = chat_front,
    .segment = chat_segment,
    .back = chat_back,
    .back_passes = true,
};
