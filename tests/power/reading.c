/* SPDX-License-Identifier: MIT */
#include "reading.h"

#include "sessionfs/json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- what was written ----------------------------------------------------------------- */

/* Returns the string after the first "NAME":" in the line, without unescaping it; an empty one without that
 * name. */
static struct span line_field(struct span line, const char *name)
{
	char key[32];
	size_t n = (size_t)snprintf(key, sizeof key, "\"%s\":\"", name);
	const char *at = memmem(line.p, line.n, key, n);
	const char *end = at ? memchr(at + n, '"', (size_t)(line.p + line.n - at) - n) : NULL;
	return end ? (struct span){at + n, (size_t)(end - at) - n} : (struct span){"", 0};
}

static bool line_is_known(const struct known *k, struct span line)
{
	for (size_t i = 0; i < k->n; i++)
		if (span_eq(k->v[i].text, line))
			return true;
	return false;
}

void known_add(struct known *k, struct span line)
{
	struct known_line l = {0};
	if (line.n == 0 || line.p[0] != '{' || line.p[line.n - 1] != '}' || line_is_known(k, line))
		return;
	k->v = realloc(k->v, (k->n + 1) * sizeof *k->v);
	k->texts = realloc(k->texts, (k->n + 1) * sizeof *k->texts);
	if (!k->v || !k->texts)
		abort();
	struct buf *text = &k->texts[k->n];
	*text = (struct buf)BUF_INIT;
	buf_addspan(text, line);
	l.text = buf_span(text);
	l.type = line_field(l.text, "type");
	l.id = line_field(l.text, "id");
	l.parent = line_field(l.text, "parentId");
	l.target = line_field(l.text, "targetId");
	l.value = line_field(l.text, span_is(l.type, "label")            ? "label"
	                             : span_is(l.type, "session_info")   ? "name"
	                             : span_is(l.type, "branch_summary") ? "summary"
	                                                                 : "content");
	k->v[k->n++] = l;
}

static struct span next_line(struct span *rest, bool *ret_ended)
{
	const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
	struct span line = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
	*ret_ended = end != NULL;
	rest->p += line.n + (end != NULL);
	rest->n -= line.n + (end != NULL);
	return line;
}

void known_load(struct known *k, const struct disk *d)
{
	*k = (struct known){0};
	for (size_t i = 0; i < disk_count_files(d) + disk_count_calls(d); i++) {
		struct span rest = i < disk_count_files(d) ? disk_start(d, i) : disk_bytes(d, i - disk_count_files(d));
		while (rest.n > 0) {
			bool ended;
			struct span line = next_line(&rest, &ended);
			if (ended)
				known_add(k, line);
		}
	}
}

void known_release(struct known *k)
{
	for (size_t i = 0; i < k->n; i++)
		buf_release(&k->texts[i]);
	free(k->texts);
	free(k->v);
}

void known_remove_last(struct known *k)
{
	buf_release(&k->texts[--k->n]);
}

/* --- the model ------------------------------------------------------------------------ */

void model_read(struct model *m, const struct known *k, struct span file)
{
	*m = (struct model){0};
	while (file.n > 0) {
		bool ended;
		struct span line = next_line(&file, &ended);
		const struct known_line *found = NULL;
		for (size_t i = 0; i < k->n && !found; i++)
			if (span_eq(k->v[i].text, line))
				found = &k->v[i];
		if (found && span_is(found->type, "session"))
			m->has_header = m->n == 0;
		else if (found && m->n < sizeof m->entries / sizeof *m->entries)
			m->entries[m->n++] = *found;
		else
			m->bad += line.n > 0;
	}
}

static const struct known_line *model_by_id(const struct model *m, struct span id)
{
	for (size_t i = 0; id.n > 0 && i < m->n; i++)
		if (span_eq(m->entries[i].id, id))
			return &m->entries[i];
	return NULL;
}

/* Returns the newest record of a type for an entry: its target, or the parent of a summary. An empty entry is any. */
static const struct known_line *model_newest(const struct model *m, const char *type, struct span entry)
{
	for (size_t i = m->n; i-- > 0;) {
		const struct known_line *l = &m->entries[i];
		struct span of = span_is(l->type, "branch_summary") ? l->parent : l->target;
		if (span_is(l->type, type) && (entry.n == 0 || span_eq(of, entry)))
			return l;
	}
	return NULL;
}

/* Returns the nearest edit of the entry on the way from the leaf to the root. */
static const struct known_line *model_edit(const struct model *m, struct span entry)
{
	for (const struct known_line *l = m->n ? &m->entries[m->n - 1] : NULL; l; l = model_by_id(m, l->parent))
		if (span_is(l->type, "context_edit") && span_eq(l->target, entry))
			return l;
	return NULL;
}

static void add_string(struct buf *out, const char *before, struct span text)
{
	buf_adds(out, before);
	buf_addc(out, '"');
	buf_addspan(out, text);
	buf_addc(out, '"');
}

void model_describe(const struct model *m, struct buf *out)
{
	const struct span any = {"", 0};
	const struct known_line *name = model_newest(m, "session_info", any);
	const char *before = "[";
	buf_adds(out, "{\"ids\":[");
	for (size_t i = 0; i < m->n; i++)
		add_string(out, i ? "," : "", m->entries[i].id);
	add_string(out, "],\"leaf\":", m->n ? m->entries[m->n - 1].id : any);
	buf_adds(out, ",\"labels\":[");
	for (size_t i = 0; i < m->n; i++) {
		const struct known_line *l = model_newest(m, "label", m->entries[i].id);
		if (!l || l->value.n == 0)
			continue;
		add_string(out, before, m->entries[i].id);
		add_string(out, ",", l->value);
		buf_addc(out, ']');
		before = ",[";
	}
	add_string(out, "],\"name\":", name ? name->value : any);
	buf_addc(out, '}');
}

bool model_value(const struct model *m, const char *name, struct span *ret)
{
	const char *slash = strchr(name, '/'), *file = strrchr(name, '/');
	struct span entry = slash ? (struct span){slash + 1, (size_t)(file - slash) - 1} : (struct span){"", 0};
	const struct known_line *l = slash && !model_by_id(m, entry) ? NULL
	                             : !slash                        ? model_newest(m, "session_info", entry)
	                             : strcmp(file, "/label") == 0   ? model_newest(m, "label", entry)
	                             : strcmp(file, "/branch") == 0  ? model_newest(m, "branch_summary", entry)
	                                                             : model_edit(m, entry);
	if (l)
		*ret = l->value;
	return l && l->value.n > 0;
}

/* --- sessionfs ------------------------------------------------------------------------ */

#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		if ((call) != 0) {                                                                                     \
			fputs(#call " failed\n", stderr);                                                              \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

/* No process has this number. */
static const struct tree_caller caller = {.pid = 1 << 30};

void opened_session_begin(struct opened_session *o, const char *source)
{
	*o = (struct opened_session){.budget = BUDGET_INIT(64 << 20)};
	CHECK(catalog_open(source, &(struct catalog_options){.budget = &o->budget}, &o->catalog));
	CHECK(cache_open(&o->budget, &o->cache));
	CHECK(tree_open(&(struct tree_options){.catalog = o->catalog, .cache = o->cache}, &o->tree));
}

void opened_session_end(struct opened_session *o)
{
	tree_close(o->tree);
	cache_close(o->cache);
	catalog_close(o->catalog);
}

static int find(struct opened_session *o, const char *name, struct tree_attr *ret)
{
	char path[256];
	snprintf(path, sizeof path, READING_SESSION "%s%s", *name ? "/" : "", name);
	return tree_resolve(o->tree, path, false, ret);
}

static int get_session(struct opened_session *o, struct session **ret)
{
	struct tree_attr a;
	int rc = find(o, "", &a);
	return rc < 0 ? rc : catalog_session_get(o->catalog, node_unpack(a.node).slot, ret);
}

size_t opened_session_count_bad(struct opened_session *o)
{
	struct session *s;
	size_t n = 0;
	CHECK(get_session(o, &s));
	for (size_t i = 0; i < session_problem_count(s); i++) {
		const char *reason = session_problem(s, i).reason;
		n += strcmp(reason, "malformed: not JSON") == 0 || strcmp(reason, "the last line is incomplete") == 0;
	}
	catalog_session_put(o->catalog, s);
	return n;
}

int opened_session_describe(struct opened_session *o, struct buf *out)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct session *s;
	int rc = get_session(o, &s);
	if (rc < 0)
		return rc;
	buf_adds(out, "{\"ids\":[");
	for (uint32_t i = 0; i < session_count(s); i++) {
		buf_adds(out, i ? ",\"" : "\"");
		session_entry_name(s, i, out);
		buf_addc(out, '"');
	}
	buf_adds(out, "],\"leaf\":\"");
	if (session_leaf(s) != NO_ENTRY)
		session_entry_name(s, session_leaf(s), out);
	buf_adds(out, "\",\"labels\":[");
	for (size_t i = 0; i < session_label_count(s); i++) {
		buf_adds(out, i ? ",[\"" : "[\"");
		session_entry_name(s, session_nth_labelled(s, i), out);
		buf_adds(out, "\",");
		buf_reset(&text);
		session_label(s, session_nth_labelled(s, i), &text);
		json_quote(buf_span(&text), out);
		buf_addc(out, ']');
	}
	buf_adds(out, "],\"name\":");
	buf_reset(&text);
	session_name(s, &text);
	json_quote(buf_span(&text), out);
	buf_addc(out, '}');
	catalog_session_put(o->catalog, s);
	return buf_err(out);
}

int opened_session_value(struct opened_session *o, const char *name, struct buf *out)
{
	struct tree_attr a;
	int rc = find(o, name, &a);
	return rc < 0 ? rc : tree_read(o->tree, a.node, 0, 1 << 20, out);
}

int opened_session_put(struct opened_session *o, const char *dir, const char *name, struct span text)
{
	struct tree_handle *h;
	struct tree_attr a;
	int rc = find(o, dir, &a);
	rc = rc < 0 ? rc : tree_create(o->tree, a.node, span_of(name), 0644, false, true, &caller, &h, &a);
	if (rc < 0)
		return rc;
	rc = tree_write(o->tree, h, text, 0, &caller);
	rc = rc < 0 ? rc : tree_flush(o->tree, h, &caller);
	tree_release(o->tree, h);
	return rc;
}
