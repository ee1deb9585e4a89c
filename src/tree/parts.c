/* SPDX-License-Identifier: MIT */
/* What stands below an entry's directory: tool-calls/ and images/. */
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/render/entry_text.h"
#include "rows.h"

#include <errno.h>
#include <stdio.h>

/* The calls or images from one mark to the next. */
enum { MARK = 128 };

/* The last mark that has at most n before it; {0} if there is none. */
static struct mark mark_before(const struct marks *m, enum marks_of of, unsigned n)
{
	size_t low = 0, high = m->of == of ? m->n : 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (m->v[middle].n <= n)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? m->v[low - 1] : (struct mark){0};
}

/* Notes where a search continues behind the n-th. Without memory for that, it begins further up. */
static void mark_add(struct marks *m, enum marks_of of, unsigned n, const struct block_iter *rest)
{
	if (m->of != of)
		m->n = 0;
	m->of = of;
	if (n % MARK || (m->n && m->v[m->n - 1].n >= n))
		return;
	if (!vec_reserve(m, 1))
		return;
	m->v[m->n++] = (struct mark){n, *rest};
}

/* The call after call->n. At the beginning of a search only `n` need be set. */
static bool call_next(struct ctx *c, struct part_call *call)
{
	if (call->n && !call->rest.live) {
		unsigned n = call->n;
		struct mark mark = mark_before(&c->marks, MARKS_CALLS, n);
		*call = (struct part_call){.n = mark.n, .rest = mark.rest};
		while (call->n < n)
			if (!part_call_next(&c->record, call))
				return false;
	}
	bool found = part_call_next(&c->record, call) && call->n < node_parts(c->loaded);
	if (found)
		mark_add(&c->marks, MARKS_CALLS, call->n, &call->rest);
	return found;
}

static bool call_find(struct ctx *c, uint32_t n, struct part_call *ret)
{
	struct part_call call = {.n = n ? mark_before(&c->marks, MARKS_CALLS, n - 1).n : 0};
	while (call.n < n && call_next(c, &call)) {
		if (call.n == n) {
			*ret = call;
			return true;
		}
	}
	return false;
}

static void call_name(struct ctx *c, uint32_t n, struct buf *out)
{
	struct part_call call;
	if (call_find(c, n, &call))
		part_call_component(&call, out);
}

/* Afterwards c views the record of the node's own entry again. */
static int make_call_names(struct ctx *c, void *entry, struct view *v)
{
	struct part_call call = {0};
	int rc = ctx_load(c, *(uint32_t *)entry);
	while (rc == 0 && call_next(c, &call)) {
		if (v->n == v->cap && !vec_grow(&v->ends, &v->cap, v->n + 1, sizeof *v->ends))
			return -ENOMEM;
		part_call_component(&call, &v->bytes);
		v->ends[v->n++] = v->bytes.n;
		rc = cancel_check();
	}
	if (rc == 0)
		rc = ctx_load(c, c->node.entry);
	return rc < 0 ? rc : buf_err(&v->bytes);
}

static int call_name_kept(struct ctx *c, uint32_t entry, uint32_t n, struct buf *out)
{
	node_t id = node_pack((struct node){.kind = KIND_CALL_VIEW, .slot = c->node.slot, .entry = entry});
	int rc = 0;
	const struct view *v = view_get(c, id, 0, make_call_names, &entry, &rc);
	if (!v)
		return rc;
	if (n <= v->n)
		buf_addspan(out, view_name(v, n - 1));
	cache_release(c->tree->cache, v);
	return 0;
}

/* The results of several messages can alternate. For a long message the names of its calls are kept, not its line:
 * otherwise the lines would evict each other, and be read again for every result. */
int call_name_of(struct ctx *c, uint32_t entry, uint32_t n, struct buf *out)
{
	if (session_entry(c->session, entry)->length > LINE_SHORT && cache_budget(c->tree->cache)->limit)
		return call_name_kept(c, entry, n, out);
	int rc = ctx_load(c, entry);
	if (rc < 0)
		return rc;
	call_name(c, n, out);
	return ctx_load(c, c->node.entry);
}

static int call_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	struct part_call call = {.n = (unsigned)cookie};
	int rc = 0;
	while (rc == 0 && call_next(dir, &call)) {
		struct node n = {.slot = dir->node.slot, .entry = dir->node.entry, .part = call.n};
		buf_reset(&name);
		part_call_component(&call, &name);
		if (list_child(dir, l, n, buf_span(&name), COOKIE_DYNAMIC + call.n))
			break;
		rc = cancel_check();
	}
	return rc < 0 ? rc : buf_err(&name);
}

/* The number at the beginning of a name; 0 if there is none, or if it is too great for a part. */
static uint32_t leading_number(struct span name)
{
	uint32_t n = 0;
	for (size_t i = 0; i < name.n && name.p[i] >= '0' && name.p[i] <= '9' && n < NODE_WIDE_PARTS; i++)
		n = n * 10 + (uint32_t)(name.p[i] - '0');
	return n < NODE_WIDE_PARTS ? n : 0;
}

static int call_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct buf made CLEANUP_BUF = BUF_INIT;
	uint32_t n = leading_number(name);
	if (n == 0)
		return -ENOENT;
	call_name(dir, n, &made);
	if (!span_eq(buf_span(&made), name))
		return buf_err(&made) ? buf_err(&made) : -ENOENT;
	ret->part = n;
	return 0;
}

/* As call_next. */
static bool image_next(struct ctx *c, struct part_image *image)
{
	if (image->n && !image->rest.live) {
		unsigned n = image->n;
		struct mark mark = mark_before(&c->marks, MARKS_IMAGES, n);
		*image = (struct part_image){.n = mark.n, .rest = mark.rest};
		while (image->n < n)
			if (!part_image_next(&c->record, image))
				return false;
	}
	bool found = part_image_next(&c->record, image) && image->n < node_parts(c->loaded);
	if (found)
		mark_add(&c->marks, MARKS_IMAGES, image->n, &image->rest);
	return found;
}

static bool image_find(struct ctx *c, uint32_t n, struct part_image *ret)
{
	struct part_image image = {.n = n ? mark_before(&c->marks, MARKS_IMAGES, n - 1).n : 0};
	while (image.n < n)
		if (!image_next(c, &image))
			return false;
	*ret = image;
	return n > 0 && image.size > 0;
}

static void add_image_name(const struct part_image *image, struct buf *out)
{
	buf_addf(out, "%u.%s", image->n, image->ext);
}

static int image_list(struct ctx *dir, uint64_t cookie, const struct lister *l)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	struct part_image image = {.n = (unsigned)cookie};
	int rc = 0;
	while (rc == 0 && image_next(dir, &image)) {
		rc = cancel_check();
		if (image.size == 0)
			continue;
		struct node n = {.slot = dir->node.slot, .entry = dir->node.entry, .part = image.n};
		buf_reset(&name);
		add_image_name(&image, &name);
		if (list_child(dir, l, n, buf_span(&name), COOKIE_DYNAMIC + image.n))
			break;
	}
	return rc < 0 ? rc : buf_err(&name);
}

static int image_match(struct ctx *dir, struct span name, struct node *ret)
{
	struct buf made CLEANUP_BUF = BUF_INIT;
	struct part_image image;
	uint32_t n = leading_number(name);
	if (!image_find(dir, n, &image))
		return -ENOENT;
	add_image_name(&image, &made);
	if (!span_eq(buf_span(&made), name))
		return buf_err(&made) ? buf_err(&made) : -ENOENT;
	ret->part = n;
	return 0;
}

static bool result_has(struct ctx *c)
{
	return session_result(c->session, c->node.entry, c->node.part) != NO_ENTRY;
}

static int result_show(struct ctx *c, struct buf *out)
{
	uint32_t result = session_result(c->session, c->node.entry, c->node.part);
	if (result == NO_ENTRY)
		return -ESTALE;
	add_entry_line(c, result, out);
	return 0;
}

/* Whether the result has a text.md. */
static bool output_has(struct ctx *c)
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
	link_entry(c, "../../../", result, out);
	buf_adds(out, "/text.md");
	return 0;
}

bool tool_calls_has(struct ctx *c)
{
	struct part_call call = {0};
	return part_call_next(&c->record, &call);
}

static bool arguments_has(struct ctx *c)
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

static bool arguments_txt_has(struct ctx *c)
{
	struct part_call call;
	return call_find(c, c->node.part, &call) && entry_text_any_arguments(&call);
}

static int arguments_txt_show(struct ctx *c, struct buf *out)
{
	struct part_call call;
	return call_find(c, c->node.part, &call) ? entry_text_arguments(&call, out) : -ESTALE;
}

static bool call_has(struct ctx *c)
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

static bool image_has(struct ctx *c)
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
    {NULL, .doc = "a tool call", .from = &from_record, .make = DIR(call), .has = call_has,
     .names = {"N-NAME", call_list, call_match, NULL}, .time = STAMP_SESSION, .keeps = KEEPS_LEASE},
};
const struct rows rows_tool_calls = ROWS(in_tool_calls);

static const struct kind in_call[] = {
    {"arguments.json", .doc = "its arguments", .from = &from_record, .make = SHOW(arguments_show), .has = arguments_has,
     .flags = SMALL},
    {"arguments.txt", .doc = "the same as lines of text", .from = &from_record, .make = SHOW(arguments_txt_show),
     .has = arguments_txt_has, .flags = SMALL},
    {"result", .doc = "the id of the entry that answers it", .from = &from_entry, .make = SHOW(result_show),
     .has = result_has, .flags = SMALL},
    {"output.md", .doc = "the text of the answer (a link)", .from = &from_branch, .make = LINK(output_show),
     .has = output_has},
};
const struct rows rows_call = ROWS(in_call);

static const struct kind in_images[] = {
    {NULL, .doc = "an image", .from = &from_record, .make = SIZED(image_show, image_size), .has = image_has,
     .names = {"N.EXT", image_list, image_match, NULL}},
};
const struct rows rows_images = ROWS(in_images);
