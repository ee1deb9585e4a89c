/* What stands above an entry: what it is, its name, its time, and what else can be said on one line. */
#include "md.h"

#include "sessionfs/base/number.h"

#include "text.h"

static void add_dotted(struct json_value v, struct buf *out)
{
	if (v.kind <= JSON_NULL)
		return;
	buf_adds(out, DOT);
	text_inline(v, out);
}

static void add_flag(bool set, const char *what, struct buf *out)
{
	if (!set)
		return;
	buf_adds(out, DOT);
	buf_adds(out, what);
}

static void add_model(struct json_value provider, struct json_value model, struct buf *out)
{
	if (model.kind <= JSON_NULL)
		return;
	buf_adds(out, DOT);
	if (provider.kind > JSON_NULL) {
		text_inline(provider, out);
		buf_addc(out, '/');
	}
	text_inline(model, out);
}

static void add_answered_call(const struct md *m)
{
	unsigned n = 0;
	uint32_t caller = session_call(m->s, m->entry, &n);

	add_dotted(m->r->msg.tool_name, m->out);
	if (caller != NO_ENTRY) {
		buf_adds(m->out, DOT "call ");
		number_add_unsigned(n, m->out);
		buf_adds(m->out, " of ");
		session_entry_name(m->s, caller, m->out);
	}
	add_flag(json_truthy(m->r->msg.is_error), "error", m->out);
}

static void add_message_facts(const struct md *m)
{
	const struct record *r = m->r;
	double code;

	switch (r->role) {
	case ROLE_ASSISTANT:
		add_model(r->msg.provider, r->msg.model, m->out);
		if (!json_is(r->msg.stop_reason, "stop") && !json_is(r->msg.stop_reason, "toolUse"))
			add_dotted(r->msg.stop_reason, m->out);
		return;
	case ROLE_TOOL_RESULT:
		add_answered_call(m);
		return;
	case ROLE_BASH_EXECUTION:
		if (json_double(r->msg.exit_code, &code) && code != 0) {
			buf_adds(m->out, DOT "exit ");
			number_add(code, m->out);
		}
		add_flag(json_truthy(r->msg.cancelled), "cancelled", m->out);
		add_flag(json_truthy(r->msg.truncated), "truncated", m->out);
		add_flag(json_truthy(r->msg.exclude_from_context), "not sent", m->out);
		return;
	default:
		add_dotted(r->msg.custom_type, m->out);
		add_flag(r->msg.display.kind == JSON_FALSE, "hidden", m->out);
		return;
	}
}

static void add_facts(const struct md *m)
{
	const struct record *r = m->r;

	switch (r->type) {
	case RECORD_MESSAGE:
		add_message_facts(m);
		return;
	case RECORD_CUSTOM_MESSAGE:
	case RECORD_CUSTOM:
		add_dotted(r->custom_type, m->out);
		add_flag(r->display.kind == JSON_FALSE, "hidden", m->out);
		return;
	case RECORD_COMPACTION:
		add_dotted(r->tokens_before, m->out);
		buf_adds(m->out, r->tokens_before.kind > JSON_NULL ? " tokens before" : "");
		return;
	case RECORD_BRANCH_SUMMARY:
		buf_adds(m->out, r->from_id.kind > JSON_NULL ? DOT "from " : "");
		text_inline(r->from_id, m->out);
		return;
	case RECORD_MODEL_CHANGE:
		add_model(r->provider, r->model_id, m->out);
		return;
	case RECORD_THINKING_LEVEL_CHANGE:
		add_dotted(r->thinking_level, m->out);
		return;
	case RECORD_USAGE:
		add_dotted(r->usage_kind, m->out);
		add_model(r->provider, r->model, m->out);
		return;
	case RECORD_CONTEXT_EDIT:
		buf_adds(m->out, r->replacement.kind == JSON_NULL ? DOT "omits " : DOT "replaces ");
		text_inline(r->target_id, m->out);
		return;
	case RECORD_LABEL:
		add_flag(!json_truthy(r->label), "cleared", m->out);
		if (json_truthy(r->label))
			add_dotted(r->label, m->out);
		buf_adds(m->out, " on ");
		text_inline(r->target_id, m->out);
		return;
	case RECORD_SESSION_INFO:
		add_dotted(r->name, m->out);
		return;
	default:
		return;
	}
}

void md_label(const struct md *m)
{
	struct buf label CLEANUP_BUF = BUF_INIT;

	if (!session_label(m->s, m->entry, &label))
		return;
	buf_adds(m->out, DOT "[");
	text_inline_exact(buf_span(&label), m->out);
	buf_addc(m->out, ']');
}

void md_heading(const struct md *m, const char *what)
{
	int64_t time = session_entry(m->s, m->entry)->time;
	size_t start = m->out->n;

	if (what)
		buf_adds(m->out, what);
	else
		text_role(m->r, m->out);
	if (m->out->n == start)
		buf_adds(m->out, m->r->kind == JSON_OBJECT ? "no type" : "no object");
	buf_adds(m->out, DOT);
	session_entry_name(m->s, m->entry, m->out);
	if (time != NO_TIME) {
		buf_adds(m->out, DOT);
		number_add_time((double)time, m->out);
	}
	if (!what)
		add_facts(m);
	md_label(m);
}
