/* SPDX-License-Identifier: MIT */
/* The names below an entry's directory: tool-calls/ and images/. */
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/render/entry_text.h"
#include "sessionfs/render/files.h"
#include "rows.h"

#include <errno.h>
#include <stdio.h>

/* The distance of marks in a line, in bytes. */
#define MARK LIMIT(16 << 10, 256)

/* Begins a walk at a mark before the n-th block of the type. The calls of a result are not in its content: the marks
 * belong to the part that was walked last. */
static void block_walk_begin(struct ctx *c, enum block_type type, uint64_t n, struct block_iter *ret)
{
	struct json_value content = part_content(&c->record);
	bool nested = type == BLOCK_TOOL_CALL && c->record.role == ROLE_TOOL_RESULT;
	size_t low = 0, high;
	if (c->marks.n > 0 && c->marks.v[0].nested != nested)
		c->marks.n = 0;
	high = c->marks.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (c->marks.v[middle].seen[type] < n)
			low = middle + 1;
		else
			high = middle;
	}
	*ret = low ? c->marks.v[low - 1] : (struct block_iter){.live = false};
	if (!low && nested)
		part_calls_begin(&c->record, ret);
	else if (!low && content.kind == JSON_ARRAY && (type != BLOCK_TOOL_CALL || c->record.role == ROLE_ASSISTANT))
		block_iter_init(ret, content);
}

/* Returns the next block of the type. Without memory for a mark, later walks begin at an earlier one. */
static bool block_walk_next(struct ctx *c, enum block_type type, struct block_iter *rest, struct block *ret)
{
	struct block_marks *m = &c->marks;
	const char *begin = rest->nested ? c->record.msg.nested_calls.text.p : part_content(&c->record).text.p;
	do {
		if (!block_next(rest, ret))
			return false;
		const char *last = m->n ? m->v[m->n - 1].j.p : begin;
		if (rest->j.p - last >= MARK && vec_reserve(m, 1))
			m->v[m->n++] = *rest;
	} while (ret->type != type);
	return ret->n < node_parts(c->loaded);
}

static bool block_find(struct ctx *c, enum block_type type, uint32_t n, struct block *ret)
{
	struct block_iter rest;
	block_walk_begin(c, type, n, &rest);
	while (block_walk_next(c, type, &rest, ret) && ret->n <= n)
		if (ret->n == n)
			return true;
	return false;
}

static bool call_find(struct ctx *c, uint32_t n, struct part_call *ret)
{
	struct block b;
	bool found = block_find(c, BLOCK_TOOL_CALL, n, &b);
	if (found)
		part_call_of(&b, c->record.role == ROLE_TOOL_RESULT, ret);
	return found;
}

static void call_append_name(struct ctx *c, uint32_t n, struct buf *out)
{
	struct part_call call;
	if (call_find(c, n, &call))
		part_call_component(&call, out);
}

/* On return, c views the record of its own entry again. */
static int call_names_build(struct ctx *c, void *entry, struct view *v)
{
	struct block_iter rest = {.live = false};
	struct part_call call;
	struct block b;
	int rc = ctx_load(c, *(uint32_t *)entry);
	if (rc == 0)
		block_walk_begin(c, BLOCK_TOOL_CALL, 0, &rest);
	while (rc == 0 && block_walk_next(c, BLOCK_TOOL_CALL, &rest, &b)) {
		if (v->n == v->cap && !vec_grow(&v->ends, &v->cap, v->n + 1, sizeof *v->ends))
			return -ENOMEM;
		part_call_of(&b, rest.nested, &call);
		part_call_component(&call, &v->bytes);
		v->ends[v->n++] = v->bytes.n;
		rc = cancel_check();
	}
	if (rc == 0)
		rc = ctx_load(c, c->node.entry);
	return rc < 0 ? rc : buf_err(&v->bytes);
}

static int call_append_cached_name(struct ctx *c, uint32_t entry, uint32_t n, struct buf *out)
{
	node_t id = node_pack((struct node){.kind = KIND_CALL_VIEW, .slot = c->node.slot, .entry = entry});
	int rc = 0;
	const struct view *v = ctx_get_view(c, id, 0, call_names_build, &entry, &rc);
	if (!v)
		return rc;
	if (n <= v->n)
		buf_addspan(out, view_name(v, n - 1));
	cache_release(c->tree->cache, v);
	return 0;
}

/* The results of several messages can alternate. For a long message, cache the names of its calls instead of its line:
 * otherwise the lines would evict each other, and each result would read one again. */
int call_append_name_of(struct ctx *c, uint32_t entry, uint32_t n, struct buf *out)
{
	if (session_entry(c->session, entry)->length > LINE_SHORT && cache_budget(c->tree->cache)->limit)
		return call_append_cached_name(c, entry, n, out);
	int rc = ctx_load(c, entry);
	if (rc < 0)
		return rc;
	call_append_name(c, n, out);
	return ctx_load(c, c->node.entry);
}

static int call_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	struct block_iter rest;
	struct part_call call;
	struct block b;
	int rc = 0;
	block_walk_begin(dir, BLOCK_TOOL_CALL, cookie + 1, &rest);
	while (rc == 0 && block_walk_next(dir, BLOCK_TOOL_CALL, &rest, &b)) {
		if (b.n <= cookie)
			continue;
		part_call_of(&b, rest.nested, &call);
		struct node n = {.slot = dir->node.slot, .entry = dir->node.entry, .part = call.n};
		buf_reset(&name);
		part_call_component(&call, &name);
		if (list_emit_child(dir, l, n, buf_span(&name), COOKIE_DYNAMIC + call.n))
			break;
		rc = cancel_check();
	}
	return rc < 0 ? rc : buf_err(&name);
}

uint32_t name_leading_number(struct span name)
{
	uint64_t n = 0;
	for (size_t i = 0; i < name.n && char_is_digit(name.p[i]) && n <= UINT32_MAX; i++)
		n = n * 10 + (uint64_t)(name.p[i] - '0');
	return n <= UINT32_MAX ? (uint32_t)n : 0;
}

static int call_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct buf made CLEANUP_BUF = BUF_INIT;
	uint32_t n = name_leading_number(name);
	if (n == 0)
		return -ENOENT;
	call_append_name(dir, n, &made);
	if (!span_eq(buf_span(&made), name))
		return buf_err(&made) ? buf_err(&made) : -ENOENT;
	ret->part = n;
	return 0;
}

static bool image_find(struct ctx *c, uint32_t n, struct part_image *ret)
{
	struct block b;
	if (!block_find(c, BLOCK_IMAGE, n, &b))
		return false;
	part_image_of(&b, ret);
	return ret->size > 0;
}

static void image_append_name(const struct part_image *image, struct buf *out)
{
	buf_addf(out, "%u.%s", image->n, image->ext);
}

static int image_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	struct block_iter rest;
	struct part_image image;
	struct block b;
	int rc = 0;
	block_walk_begin(dir, BLOCK_IMAGE, cookie + 1, &rest);
	while (rc == 0 && block_walk_next(dir, BLOCK_IMAGE, &rest, &b)) {
		if (b.n <= cookie)
			continue;
		rc = cancel_check();
		part_image_of(&b, &image);
		if (image.size == 0)
			continue;
		struct node n = {.slot = dir->node.slot, .entry = dir->node.entry, .part = image.n};
		buf_reset(&name);
		image_append_name(&image, &name);
		if (list_emit_child(dir, l, n, buf_span(&name), COOKIE_DYNAMIC + image.n))
			break;
	}
	return rc < 0 ? rc : buf_err(&name);
}

static int image_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct buf made CLEANUP_BUF = BUF_INIT;
	struct part_image image;
	uint32_t n = name_leading_number(name);
	if (!image_find(dir, n, &image))
		return -ENOENT;
	image_append_name(&image, &made);
	if (!span_eq(buf_span(&made), name))
		return buf_err(&made) ? buf_err(&made) : -ENOENT;
	ret->part = n;
	return 0;
}

static bool result_exists(struct ctx *c)
{
	return session_result(c->session, c->node.entry, c->node.part) != NO_ENTRY;
}

static int result_show(struct ctx *c, struct buf *out)
{
	uint32_t result = session_result(c->session, c->node.entry, c->node.part);
	if (result == NO_ENTRY)
		return -ESTALE;
	append_entry_name_line(c, result, out);
	return 0;
}

/* True if the result has a text.md. */
static bool output_exists(struct ctx *c)
{
	uint32_t result = session_result(c->session, c->node.entry, c->node.part);
	if (result == NO_ENTRY || ctx_load(c, result) < 0)
		return false;
	bool has = part_text(&c->record, NULL) > 0;
	return ctx_load(c, c->node.entry) == 0 && has;
}

static int output_show(struct ctx *c, struct buf *out)
{
	uint32_t result = session_result(c->session, c->node.entry, c->node.part);
	if (result == NO_ENTRY)
		return -ESTALE;
	append_entry_path(c, "../../../", result, out);
	buf_adds(out, "/text.md");
	return 0;
}

static int file_show(struct ctx *c, struct buf *out)
{
	struct part_call call;
	if (!call_find(c, c->node.part, &call))
		return -ESTALE;
	if (call_file_path(c->session, &call, out))
		buf_addc(out, '\n');
	return buf_err(out);
}

static bool call_file_exists(struct ctx *c)
{
	struct buf file CLEANUP_BUF = BUF_INIT;
	return file_show(c, &file) == 0 && file.n > 0;
}

static int change_show(struct ctx *c, struct buf *out)
{
	struct part_call call;
	int rc = ctx_load(c, c->node.entry);
	if (rc == 0 && call_find(c, c->node.part, &call))
		rc = render_change(c->session, &call, session_result(c->session, c->node.entry, call.n), out);
	return rc;
}

static bool change_exists(struct ctx *c)
{
	const struct entry *e = session_entry(c->session, c->node.entry);
	return entry_has_file_calls(e) && (entry_has_nested(e) || result_exists(c)) && view_file_exists(c);
}

bool tool_calls_exist(struct ctx *c)
{
	struct part_call call = {0};
	return part_call_next(&c->record, &call);
}

static bool arguments_exist(struct ctx *c)
{
	struct part_call call;
	return call_find(c, c->node.part, &call) && call.arguments.kind != JSON_NONE;
}

static int arguments_show(struct ctx *c, struct buf *out)
{
	struct part_call call;
	if (!call_find(c, c->node.part, &call))
		return -ESTALE;
	part_arguments(&call, out);
	return 0;
}

static bool arguments_txt_exists(struct ctx *c)
{
	struct part_call call;
	return call_find(c, c->node.part, &call) && entry_text_has_arguments(&call);
}

static int arguments_txt_show(struct ctx *c, struct buf *out)
{
	struct part_call call;
	return call_find(c, c->node.part, &call) ? entry_text_arguments(&call, out) : -ESTALE;
}

static int call_error_show(struct ctx *c, struct buf *out)
{
	struct part_call call;
	if (!call_find(c, c->node.part, &call))
		return -ESTALE;
	part_call_error(&call, out);
	return 0;
}

static bool call_exists(struct ctx *c)
{
	struct part_call call;
	return call_find(c, c->node.part, &call);
}

bool images_exist(struct ctx *c)
{
	struct part_image image = {0};
	while (part_image_next(&c->record, &image))
		if (image.size > 0)
			return true;
	return false;
}

static bool image_exists(struct ctx *c)
{
	struct part_image image;
	return image_find(c, c->node.part, &image);
}

static int image_size(struct ctx *c, uint64_t *ret)
{
	struct part_image image;
	if (!image_find(c, c->node.part, &image))
		return -ESTALE;
	*ret = image.size;
	return 0;
}

static int image_show(struct ctx *c, struct buf *out)
{
	struct part_image image;
	if (!image_find(c, c->node.part, &image))
		return -ESTALE;
	part_image(&image, out);
	return 0;
}

static const struct kind in_tool_calls[] = {
    {NULL, .doc = "a tool call", .from = &from_record, .make = DIR(call), .has = call_exists,
     .names = {"N-NAME", call_list, call_match, NULL}, .time = MTIME_SESSION, .keeps = CACHE_LEASE},
};
const struct kind_rows rows_tool_calls = ROWS(in_tool_calls);

static const struct kind in_call[] = {
    {"arguments.json", .doc = "its arguments", .from = &from_record, .make = SHOW(arguments_show),
     .has = arguments_exist, .flags = UNCACHED_TEXT},
    {"arguments.txt", .doc = "the arguments as lines of text", .from = &from_record, .make = SHOW(arguments_txt_show),
     .has = arguments_txt_exists, .flags = UNCACHED_TEXT},
    {"result", .doc = "the id of the entry that answers it", .from = &from_entry, .make = SHOW(result_show),
     .has = result_exists, .flags = UNCACHED_TEXT},
    {"output.md", .doc = "the text of the answer (a link)", .from = &from_branch, .make = LINK(output_show),
     .has = output_exists},
    {"file", .doc = "the file that it read, wrote or edited", .from = &from_record, .make = SHOW(file_show),
     .has = call_file_exists, .flags = UNCACHED_TEXT},
    {"change.diff", .doc = "the change, as a diff", .from = &from_entry, .make = SHOW(change_show),
     .has = change_exists},
    {"error", .doc = "the error of a call that a tool made", .from = &from_record, .make = SHOW(call_error_show),
     .has = view_file_exists, .flags = UNCACHED_TEXT},
};
const struct kind_rows rows_call = ROWS(in_call);

static const struct kind in_images[] = {
    {NULL, .doc = "an image", .from = &from_record, .make = SIZED(image_show, image_size), .has = image_exists,
     .names = {"N.EXT", image_list, image_match, NULL}},
};
const struct kind_rows rows_images = ROWS(in_images);
