/* The lines of hits.txt of one entry: what grep finds in its files. */
#include "match_impl.h"

#include "sessionfs/base/node.h"
#include "sessionfs/base/stop.h"

#include <inttypes.h>
#include <stdio.h>

/* The hits of one entry on their way to the caller. */
struct hits {
	struct matcher *m;
	int (*add)(void *arg, const struct hit *hit);
	void *arg;
	size_t dir; /* the bytes of the entry's directory in m->path */
};

/* Hands over the lines of the text that have a word. */
static int add_lines(struct hits *h, struct span text)
{
	const char *p = text.p, *end = text.n ? p + text.n : p, *next;
	bool all = h->m->words.wanted == 0;

	if (!all && !words_any(&h->m->words, text))
		return 0;
	for (uint64_t line = 1; p < end; line++, p = next) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		struct hit hit = {buf_span(&h->m->path), {p, (size_t)((newline ? newline : end) - p)}, line};
		next = newline ? newline + 1 : end;
		int rc = line % 1024 ? 0 : stop_check();
		if (rc == 0 && (all || words_any(&h->m->words, hit.text)))
			rc = h->add(h->arg, &hit);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* The text of a file, which is in m->text, and its path below the entry's directory. */
static int add_file(struct hits *h, const char *directory, struct span name, const char *file)
{
	struct buf *path = &h->m->path;
	int rc = buf_err(&h->m->text);

	if (rc < 0 || h->m->text.n == 0)
		return rc;
	path->n = h->dir;
	buf_adds(path, directory);
	buf_addspan(path, name);
	buf_adds(path, file);
	return buf_err(path) ? buf_err(path) : add_lines(h, buf_span(&h->m->text));
}

static int add_calls(struct hits *h, uint32_t i, const struct record *r)
{
	struct part_call call = {0};
	struct buf *name = &h->m->value;
	int rc = 0;

	while (rc == 0 && part_call_next(r, &call) && call.n < node_parts(i)) {
		buf_reset(name);
		part_call_component(&call, name);
		buf_reset(&h->m->text);
		part_arguments(&call, &h->m->text);
		rc = buf_err(name) ? buf_err(name) : add_file(h, "tool-calls/", buf_span(name), "/arguments.json");
		rc = rc == 0 ? stop_check() : rc;
	}
	return rc;
}

/* The error, where it is another text than text.md. */
static int add_error(struct hits *h, const struct record *r)
{
	CLEANUP_BUF struct buf text = BUF_INIT;

	if (!part_has_error(r))
		return 0;
	part_text(r, &text);
	buf_reset(&h->m->text);
	part_error(r, &h->m->text);
	if (buf_err(&text))
		return buf_err(&text);
	return span_eq(buf_span(&text), buf_span(&h->m->text)) ? 0 : add_file(h, "", SPAN_LIT("error"), "");
}

int hits_each(struct matcher *m, const struct session *s, uint32_t i, const struct record *r,
              int (*add)(void *arg, const struct hit *hit), void *arg)
{
	struct hits h = {m, add, arg, 0};

	buf_reset(&m->path);
	buf_adds(&m->path, "entries/");
	session_entry_name(s, i, &m->path);
	buf_addc(&m->path, '/');
	h.dir = m->path.n;
	buf_reset(&m->text);
	part_text(r, &m->text);
	int rc = add_file(&h, "", SPAN_LIT("text.md"), "");
	if (rc != 0)
		return rc;
	buf_reset(&m->text);
	part_thinking(r, &m->text);
	rc = add_file(&h, "", SPAN_LIT("thinking.md"), "");
	rc = rc == 0 ? add_calls(&h, i, r) : rc;
	return rc == 0 ? add_error(&h, r) : rc;
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
