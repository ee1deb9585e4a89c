/* SPDX-License-Identifier: MIT */
/* One list for Markdown and for pages, so that both show the same metadata. */
#include "facts.h"

struct facts {
	unsigned n;
	struct fact *v;
};

static void fact_add(struct facts *f, enum fact_of of, const char *before, struct json_value v)
{
	f->v[f->n++] = (struct fact){.of = of, .before = before, .v = v};
}

static void fact_value(struct facts *f, enum fact_of of, struct json_value v)
{
	if (v.kind > JSON_NULL)
		fact_add(f, of, "", v);
}

static void fact_flag(struct facts *f, bool set, const char *what)
{
	if (set)
		fact_add(f, FACT_TEXT, what, (struct json_value){0});
}

static void fact_model(struct facts *f, struct json_value provider, struct json_value model)
{
	if (model.kind > JSON_NULL)
		f->v[f->n++] = (struct fact){FACT_MODEL, "", model, provider, false};
}

static void facts_of_message(struct facts *f, const struct record *r)
{
	double code;

	switch (r->role) {
	case ROLE_ASSISTANT:
		fact_model(f, r->msg.provider, r->msg.model);
		if (!json_equals(r->msg.stop_reason, "stop") && !json_equals(r->msg.stop_reason, "toolUse"))
			fact_value(f, FACT_TEXT, r->msg.stop_reason);
		return;
	case ROLE_TOOL_RESULT:
		fact_value(f, FACT_TEXT, r->msg.tool_name);
		fact_add(f, FACT_CALL, "", r->msg.tool_call_id);
		return;
	case ROLE_BASH_EXECUTION:
		if (json_double(r->msg.exit_code, &code) && code != 0)
			fact_add(f, FACT_EXIT, "exit ", r->msg.exit_code);
		fact_flag(f, json_is_truthy(r->msg.cancelled), "cancelled");
		fact_flag(f, json_is_truthy(r->msg.truncated), "truncated");
		fact_flag(f, json_is_truthy(r->msg.exclude_from_context), "not sent");
		return;
	default:
		fact_value(f, FACT_TEXT, r->msg.custom_type);
		fact_flag(f, r->msg.display.kind == JSON_FALSE, "hidden");
		return;
	}
}

unsigned facts_of(const struct record *r, struct fact ret[FACTS_MOST])
{
	struct facts f = {.v = ret};
	bool labels = json_is_truthy(r->label);

	switch (r->type) {
	case RECORD_MESSAGE:
		facts_of_message(&f, r);
		break;
	case RECORD_CUSTOM_MESSAGE:
	case RECORD_CUSTOM:
		fact_value(&f, FACT_TEXT, r->custom_type);
		fact_flag(&f, r->display.kind == JSON_FALSE, "hidden");
		break;
	case RECORD_COMPACTION:
		fact_value(&f, FACT_TOKENS, r->tokens_before);
		break;
	case RECORD_BRANCH_SUMMARY:
		if (r->from_id.kind > JSON_NULL)
			fact_add(&f, FACT_ENTRY, "from ", r->from_id);
		break;
	case RECORD_MODEL_CHANGE:
		fact_model(&f, r->provider, r->model_id);
		break;
	case RECORD_THINKING_LEVEL_CHANGE:
		fact_value(&f, FACT_TEXT, r->thinking_level);
		break;
	case RECORD_USAGE:
		fact_value(&f, FACT_TEXT, r->usage_kind);
		fact_model(&f, r->provider, r->model);
		break;
	case RECORD_CONTEXT_EDIT:
		fact_add(&f, FACT_ENTRY, r->replacement.kind == JSON_NULL ? "omits " : "replaces ", r->target_id);
		break;
	case RECORD_LABEL:
		if (labels)
			fact_add(&f, FACT_TEXT, "", r->label);
		fact_add(&f, FACT_ENTRY, labels ? "on " : "cleared on ", r->target_id);
		ret[f.n - 1].goes_on = labels;
		break;
	case RECORD_SESSION_INFO:
		fact_value(&f, FACT_TEXT, r->name);
		break;
	default:
		break;
	}
	return f.n;
}
