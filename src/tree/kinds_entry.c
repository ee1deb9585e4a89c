/* An entry's names: has, size and show of the rows of kinds.c. */
#include "sessionfs/base/stop.h"
#include "sessionfs/render/said.h"
#include "kinds_impl.h"

#include <errno.h>

void link_entry(struct ctx *c, const char *up, uint32_t i, struct buf *out)
{
	buf_adds(out, up);
	session_entry_name(c->session, i, out);
}

static void add_entry_name(struct ctx *c, uint32_t i, struct buf *out)
{
	session_entry_name(c->session, i, out);
	buf_addc(out, '\n');
}

bool parent_has(struct ctx *c)
{
	return session_entry(c->session, c->node.entry)->parent != NO_ENTRY;
}

int parent_show(struct ctx *c, struct buf *out)
{
	uint32_t parent = session_entry(c->session, c->node.entry)->parent;
	if (parent == NO_ENTRY)
		return -ESTALE;
	add_entry_name(c, parent, out);
	return 0;
}

bool children_has(struct ctx *c)
{
	return session_entry(c->session, c->node.entry)->child != NO_ENTRY;
}

int children_show(struct ctx *c, struct buf *out)
{
	uint32_t *children CLEANUP_FREE = NULL;
	size_t n;
	int rc = session_children(c->session, c->node.entry, &children, &n);
	for (size_t i = 0; i < n && rc == 0; i++) {
		add_entry_name(c, children[i], out);
		rc = stop_check();
	}
	return rc;
}

/* Their order does not matter here. */
int children_size(struct ctx *c, uint64_t *ret)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	int rc = 0;
	*ret = 0;
	uint32_t i = session_entry(c->session, c->node.entry)->child;
	for (; i != NO_ENTRY && rc == 0; i = session_entry(c->session, i)->sibling) {
		buf_reset(&name);
		add_entry_name(c, i, &name);
		*ret += name.n;
		rc = buf_err(&name) ? buf_err(&name) : stop_check();
	}
	return rc;
}

bool result_has(struct ctx *c)
{
	return session_result(c->session, c->node.entry, c->node.part) != NO_ENTRY;
}

int result_show(struct ctx *c, struct buf *out)
{
	uint32_t result = session_result(c->session, c->node.entry, c->node.part);
	if (result == NO_ENTRY)
		return -ESTALE;
	add_entry_name(c, result, out);
	return 0;
}

/* Whether the result has a text.md. */
bool output_has(struct ctx *c)
{
	uint32_t result = session_result(c->session, c->node.entry, c->node.part);
	if (result == NO_ENTRY || ctx_load(c, result) < 0)
		return false;
	bool has = part_text_size(&c->record) > 0;
	return ctx_load(c, c->node.entry) == 0 && has;
}

int output_show(struct ctx *c, struct buf *out)
{
	uint32_t result = session_result(c->session, c->node.entry, c->node.part);
	if (result == NO_ENTRY)
		return -ESTALE;
	link_entry(c, "../../../", result, out);
	buf_adds(out, "/text.md");
	return 0;
}

bool call_of_has(struct ctx *c)
{
	unsigned n;
	return session_entry(c->session, c->node.entry)->role == ROLE_TOOL_RESULT &&
	       session_call(c->session, c->node.entry, &n) != NO_ENTRY;
}

int call_of_show(struct ctx *c, struct buf *out)
{
	unsigned n;
	uint32_t caller = session_call(c->session, c->node.entry, &n);
	if (caller == NO_ENTRY)
		return -ESTALE;
	session_entry_name(c->session, caller, out);
	buf_adds(out, "/tool-calls/");
	int rc = call_name_of(c, caller, n, out);
	buf_addc(out, '\n');
	return rc;
}

int entry_json_size(struct ctx *c, uint64_t *ret)
{
	*ret = (uint64_t)session_entry(c->session, c->node.entry)->length + 1;
	return 0;
}

/* The line as it stands in the file, plus a newline. */
int entry_json_part(struct ctx *c, uint64_t off, size_t n, struct buf *out)
{
	const struct entry *e = session_entry(c->session, c->node.entry);
	if (off > e->length || n == 0)
		return 0;
	size_t left = e->length - (size_t)off, k = n < left ? n : left;
	size_t before = out->n;
	int rc = add_bytes(c, e->offset + off, k, out);
	if (rc < 0 || out->n - before != k)
		return rc < 0 ? rc : -ESTALE;
	if (k < n)
		buf_addc(out, '\n');
	return 0;
}

size_t usage_size(const struct record *r)
{
	struct json_value usage = part_usage(r);
	return usage.kind == JSON_NONE ? 0 : json_raw(usage).n + 1;
}

void usage_show(const struct record *r, struct buf *out)
{
	buf_addspan(out, json_raw(part_usage(r)));
	buf_addc(out, '\n');
}

bool tool_calls_has(struct ctx *c)
{
	struct part_call call = {0};
	return part_call_next(&c->record, &call);
}

bool arguments_has(struct ctx *c)
{
	struct part_call call;
	return call_find(c, c->node.part, &call) && call.arguments.kind != JSON_NONE;
}

int arguments_show(struct ctx *c, struct buf *out)
{
	struct part_call call;
	if (!call_find(c, c->node.part, &call))
		return -ESTALE;
	part_arguments(&call, out);
	return 0;
}

bool arguments_txt_has(struct ctx *c)
{
	struct part_call call;
	return call_find(c, c->node.part, &call) && said_any_arguments(&call);
}

int arguments_txt_show(struct ctx *c, struct buf *out)
{
	struct part_call call;
	return call_find(c, c->node.part, &call) ? said_arguments(&call, out) : -ESTALE;
}

bool call_has(struct ctx *c)
{
	struct part_call call;
	return call_find(c, c->node.part, &call);
}

bool images_has(struct ctx *c)
{
	struct part_image image = {0};
	while (part_image_next(&c->record, &image))
		if (image.size > 0)
			return true;
	return false;
}

bool image_has(struct ctx *c)
{
	struct part_image image;
	return image_find(c, c->node.part, &image);
}

int image_size(struct ctx *c, uint64_t *ret)
{
	struct part_image image;
	if (!image_find(c, c->node.part, &image))
		return -ESTALE;
	*ret = image.size;
	return 0;
}

int image_show(struct ctx *c, struct buf *out)
{
	struct part_image image;
	if (!image_find(c, c->node.part, &image))
		return -ESTALE;
	part_image(&image, out);
	return 0;
}

bool label_has(struct ctx *c)
{
	return session_label_record(c->session, c->node.entry) != NO_ENTRY;
}

/* A field of another record as a text file: the label or summary that was set last. */
static int field_show(struct ctx *c, uint32_t record, bool label, struct buf *out)
{
	if (record == NO_ENTRY)
		return -ESTALE;
	struct line line CLEANUP_LINE = LINE_INIT;
	struct record r;
	int rc = session_load(c->session, record, &line, &r);
	if (rc < 0)
		return rc;
	struct json_value v = label ? r.label : r.summary;
	size_t before = out->n;
	json_decode(v.kind == JSON_STRING ? v.text : json_raw(v), JSON_CLEAN, out);
	if (out->n > before && out->p[out->n - 1] != '\n')
		buf_addc(out, '\n');
	return 0;
}

int label_show(struct ctx *c, struct buf *out)
{
	return field_show(c, session_label_record(c->session, c->node.entry), true, out);
}

bool branch_summary_has(struct ctx *c)
{
	return session_branch_record(c->session, c->node.entry) != NO_ENTRY;
}

int branch_summary_show(struct ctx *c, struct buf *out)
{
	return field_show(c, session_branch_record(c->session, c->node.entry), false, out);
}
