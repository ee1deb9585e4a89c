/* What all lines and headings of chat.md have in common, and which entries have one. */
#include "chat.h"

#include "md.h"

static enum chat_shown shows_message(const struct session *s, uint32_t i, const struct entry *e)
{
	switch (e->role) {
	case ROLE_ASSISTANT:
		return e->flags & ENTRY_SILENT && session_label_record(s, i) == NO_ENTRY ? CHAT_NOT : CHAT_SURELY;
	case ROLE_USER:
	case ROLE_TOOL_RESULT:
	case ROLE_BASH_EXECUTION:
	case ROLE_BRANCH_SUMMARY:
	case ROLE_COMPACTION_SUMMARY:
		return CHAT_SURELY;
	case ROLE_CUSTOM:
		return CHAT_MAYBE;
	default:
		return CHAT_NOT;
	}
}

enum chat_shown chat_shows(const struct session *s, uint32_t i)
{
	const struct entry *e = session_entry(s, i);

	if (e->flags & ENTRY_NO_MESSAGE)
		return CHAT_NOT;
	switch (e->type) {
	case RECORD_MESSAGE:
		return shows_message(s, i, e);
	case RECORD_CUSTOM_MESSAGE:
		return CHAT_MAYBE;
	case RECORD_COMPACTION:
		return CHAT_SURELY;
	case RECORD_BRANCH_SUMMARY:
		return e->flags & ENTRY_SUMMARY ? CHAT_SURELY : CHAT_NOT;
	default:
		return CHAT_NOT;
	}
}

void chat_end_line(const struct session *s, uint32_t i, struct buf *out)
{
	const struct md m = {.s = s, .entry = i, .out = out};

	md_label(&m);
	buf_adds(out, DOT);
	session_entry_name(s, i, out);
	buf_addc(out, '\n');
}
