/* SPDX-License-Identifier: MIT */
/* The lines of hits.txt of one entry: what grep finds in its files. */
#include "match_impl.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/node.h"

#include <inttypes.h>
#include <stdio.h>

/* Hands the hits of one entry to the caller. m->path is the file that they are in. */
struct hits {
	struct matcher *m;
	const struct session *s;
	const struct record *r;
	uint32_t entry;
	int (*add)(void *arg, const struct hit *hit);
	void *arg;
};

/* Whether the text has a word; any will do if none is wanted. */
static bool has_hit(struct hits *h, struct span text)
{
	return h->m->words.wanted == 0 || words_any(&h->m->words, text);
}

/* Hands over the lines of a file's text that have a word. */
static int hit_add_lines(struct hits *h, struct span text)
{
	const char *p = text.p, *end = text.p + text.n, *next;
	bool any = has_hit(h, text);

	for (uint64_t line = 1; any && p < end; line++, p = next) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		struct hit hit = {buf_span(&h->m->path), {p, (size_t)((newline ? newline : end) - p)}, line};
		next = newline ? newline + 1 : end;
		int rc = line % 1024 ? 0 : cancel_check();
		if (rc == 0 && has_hit(h, hit.text))
			rc = h->add(h->arg, &hit);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Has m->path be a file of entry i. */
static struct buf *set_path(struct hits *h, uint32_t i, const char *file)
{
	struct buf *path = &h->m->path;

	buf_reset(path);
	buf_adds(path, "entries/");
	session_entry_name(h->s, i, path);
	buf_addc(path, '/');
	buf_adds(path, file);
	return path;
}

/* A label or name: one that is in use is a file; an older one stands in the line of its record alone. */
static int hit_add_value(struct hits *h, struct span text)
{
	const struct reader *reader = &h->m->reader;
	const struct entry *e = session_entry(h->s, h->entry);
	struct buf *path = &h->m->path;
	const struct record *r = h->r;
	uint32_t target = NO_ENTRY;

	/* The entry whose label in use the record has set. The file has what is no text as it is stored. */
	if (r->type == RECORD_LABEL && r->label.kind != JSON_ARRAY && r->label.kind != JSON_OBJECT)
		target = session_entry_by_id(h->s, r->target_id);
	if (target != NO_ENTRY && session_label_record(h->s, target) != h->entry)
		target = NO_ENTRY;
	buf_reset(path);
	if (session_name_record(h->s) == h->entry)
		buf_adds(path, "name");
	else if (target != NO_ENTRY)
		set_path(h, target, "label");
	if (buf_err(path) || path->n > 0)
		return buf_err(path) ? buf_err(path) : hit_add_lines(h, text);
	set_path(h, h->entry, "entry.json");
	const struct hit hit = {buf_span(path), {reader->line.bytes.p + (e->offset - reader->offset), e->length}, 1};
	if (buf_err(path) || !has_hit(h, text))
		return buf_err(path);
	return h->add(h->arg, &hit);
}

static int hit_add_part(struct hits *h, const struct entry_text *parts)
{
	static const char *const files[] = {[TEXT_OF_MESSAGE] = "text.md",
	                                    [TEXT_OF_THINKING] = "thinking.md",
	                                    [TEXT_OF_ARGUMENTS] = "tool-calls/",
	                                    [TEXT_OF_ERROR] = "error"};
	struct span text = buf_span(&parts->text);

	if (parts->of == TEXT_OF_VALUE)
		return hit_add_value(h, text);
	if (parts->of == TEXT_OF_ARGUMENTS && parts->call.n >= node_parts(h->entry))
		return 0;
	struct buf *path = set_path(h, h->entry, files[parts->of]);
	if (parts->of == TEXT_OF_ARGUMENTS) {
		part_call_component(&parts->call, path);
		buf_adds(path, "/arguments.txt");
	}
	return buf_err(path) ? buf_err(path) : hit_add_lines(h, text);
}

int hits_each(struct matcher *m, const struct session *s, uint32_t i, const struct record *r,
              int (*add)(void *arg, const struct hit *hit), void *arg)
{
	struct hits h = {m, s, r, i, add, arg};
	int rc;

	entry_text_begin(&m->parts, r);
	while ((rc = entry_text_next(&m->parts)) > 0 && (rc = hit_add_part(&h, &m->parts)) == 0)
		;
	return rc;
}

int match_hits(struct matcher *m, const struct session *s, uint32_t entry, int (*add)(void *arg, const struct hit *hit),
               void *arg)
{
	struct record r;

	matcher_forget(m);
	int rc = session_read(s, entry, &m->reader, &r);

	return rc < 0 ? rc : hits_each(m, s, entry, &r, add, arg);
}

static int count_hit(void *arg, const struct hit *hit)
{
	struct found *f = arg;
	size_t digits = 1;

	for (uint64_t n = hit->line; n >= 10; n /= 10)
		digits++;
	f->lines++;
	f->bytes += hit->path.n + digits + hit->text.n + 3;
	return 0;
}

int hits_count(struct matcher *m, const struct session *s, uint32_t i, const struct record *r, struct found *ret)
{
	*ret = (struct found){.entry = i};
	return hits_each(m, s, i, r, count_hit, ret);
}

/* Where match_lines writes. */
struct lines {
	struct span prefix;
	struct buf *out;
};

static int write_hit(void *arg, const struct hit *hit)
{
	const struct lines *l = arg;

	buf_addspan(l->out, l->prefix);
	buf_addspan(l->out, hit->path);
	buf_addf(l->out, ":%" PRIu64 ":", hit->line);
	buf_addspan(l->out, hit->text);
	buf_addc(l->out, '\n');
	return buf_err(l->out);
}

int match_lines(struct matcher *m, const struct session *s, uint32_t entry, struct span prefix, struct buf *out)
{
	struct lines l = {prefix, out};

	return match_hits(m, s, entry, write_hit, &l);
}
