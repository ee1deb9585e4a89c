/* SPDX-License-Identifier: MIT */
/* One list, so that Markdown and pages show the same metadata. */
#include "heading_fields.h"

struct heading_fields {
	unsigned n;
	struct heading_field *v;
};

static void heading_field_add(struct heading_fields *f, enum heading_field_kind of, const char *before,
                              struct json_value v)
{
	f->v[f->n++] = (struct heading_field){.kind = of, .before = before, .v = v};
}

static void heading_field_add_value(struct heading_fields *f, enum heading_field_kind of, struct json_value v)
{
	if (v.kind > JSON_NULL)
		heading_field_add(f, of, "", v);
}

static void heading_field_add_flag(struct heading_fields *f, bool set, const char *what)
{
	if (set)
		heading_field_add(f, HEADING_TEXT, what, (struct json_value){0});
}

static void heading_field_add_model(struct heading_fields *f, struct json_value provider, struct json_value model)
{
	if (model.kind > JSON_NULL)
		f->v[f->n++] = (struct heading_field){HEADING_MODEL, "", model, provider, false};
}

static void heading_fields_of_message(struct heading_fields *f, const struct record *r)
{
	double code;

	switch (r->role) {
	case ROLE_ASSISTANT:
		heading_field_add_model(f, r->msg.provider, r->msg.model);
		if (!json_equals(r->msg.stop_reason, "stop") && !json_equals(r->msg.stop_reason, "toolUse"))
			heading_field_add_value(f, HEADING_TEXT, r->msg.stop_reason);
		return;
	case ROLE_TOOL_RESULT:
		heading_field_add_value(f, HEADING_TEXT, r->msg.tool_name);
		heading_field_add(f, HEADING_CALL, "", r->msg.tool_call_id);
		return;
	case ROLE_BASH_EXECUTION:
		if (json_double(r->msg.exit_code, &code) && code != 0)
			heading_field_add(f, HEADING_EXIT, "exit ", r->msg.exit_code);
		heading_field_add_flag(f, json_is_truthy(r->msg.cancelled), "cancelled");
		heading_field_add_flag(f, json_is_truthy(r->msg.truncated), "truncated");
		heading_field_add_flag(f, json_is_truthy(r->msg.exclude_from_context), "not sent");
		return;
	default:
		heading_field_add_value(f, HEADING_TEXT, r->msg.custom_type);
		heading_field_add_flag(f, r->msg.display.kind == JSON_FALSE, "hidden");
		return;
	}
}

unsigned heading_fields_of_record(const struct record *r, struct heading_field ret[HEADING_FIELDS_MAX])
{
	struct heading_fields f = {.v = ret};
	bool labels = json_is_truthy(r->label);

	switch (r->type) {
	case RECORD_MESSAGE:
		heading_fields_of_message(&f, r);
		break;
	case RECORD_CUSTOM_MESSAGE:
	case RECORD_CUSTOM:
		heading_field_add_value(&f, HEADING_TEXT, r->custom_type);
		heading_field_add_flag(&f, r->display.kind == JSON_FALSE, "hidden");
		break;
	case RECORD_COMPACTION:
		heading_field_add_value(&f, HEADING_TOKENS, r->tokens_before);
		break;
	case RECORD_BRANCH_SUMMARY:
		if (r->from_id.kind > JSON_NULL)
			heading_field_add(&f, HEADING_ENTRY, "from ", r->from_id);
		break;
	case RECORD_MODEL_CHANGE:
		heading_field_add_model(&f, r->provider, r->model_id);
		break;
	case RECORD_THINKING_LEVEL_CHANGE:
		heading_field_add_value(&f, HEADING_TEXT, r->thinking_level);
		break;
	case RECORD_USAGE:
		heading_field_add_value(&f, HEADING_TEXT, r->usage_kind);
		heading_field_add_model(&f, r->provider, r->model);
		break;
	case RECORD_CONTEXT_EDIT:
		heading_field_add(&f, HEADING_ENTRY, r->replacement.kind == JSON_NULL ? "omits " : "replaces ",
		                  r->target_id);
		break;
	case RECORD_LABEL:
		if (labels)
			heading_field_add(&f, HEADING_TEXT, "", r->label);
		heading_field_add(&f, HEADING_ENTRY, labels ? "on " : "cleared on ", r->target_id);
		ret[f.n - 1].continues = labels;
		break;
	case RECORD_SESSION_INFO:
		heading_field_add_value(&f, HEADING_TEXT, r->name);
		break;
	default:
		break;
	}
	return f.n;
}
