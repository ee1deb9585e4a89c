/* SPDX-License-Identifier: MIT */
/* The texts of a matching entry: the best lines of its files, and its row. */
#include "match_impl.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/name.h"
#include "sessionfs/base/node.h"
#include "sessionfs/base/number.h"
#include "sessionfs/base/secret.h"
#include "sessionfs/base/space.h"
#include "sessionfs/base/utf8.h"
#include "sessionfs/render/render.h"

#include <inttypes.h>

/* Passes the hits of one entry to add(). m->path is the file that contains them. */
struct hit_search {
	struct matcher *m;
	const struct session *s;
	const struct record *r;
	uint32_t entry;
	int (*add)(void *arg, const struct hit *hit);
	void *arg;
	size_t max;
	bool is_counting;   /* the first pass counts lines by rank, and reports none */
	size_t first, best; /* the ranks of the worst hit, and of the best */
	size_t left;        /* remaining hits among lines of the worst rank */
	size_t reported;
	bool has_best;
	unsigned marks; /* of a query without words: the lines of the error or of the keys rank higher */
	bool is_error;  /* the current text is the error */
	struct span stored;
	struct secrets secrets;        /* in `stored` */
	const struct hash_key *secret; /* for copy_key, until the first pass has read all texts; or NULL */
	uint64_t copy_key;             /* a hash of the entry's id, time and all text, not 0 */
};

/* Lines with more different words rank higher, then those with more whole words. Returns the rank of a line that has
 * all words as whole words, or 1. */
static size_t rank_max(const struct words *w)
{
	return w->n_required > 0 ? w->n_required * (w->n_required + 2) : 1;
}

/* Returns whether the line is of the error or has a key, or a part of one. */
static bool hit_is_marked(const struct hit_search *h, struct span line)
{
	struct span part;

	for (size_t i = 0; i < h->secrets.n; i++)
		for (size_t from = 0; (part = secret_hidden_part(&h->secrets.v[i], h->stored.p, from)).n > 0;
		     from = (size_t)(part.p + part.n - h->stored.p) - h->secrets.v[i].at)
			if (memmem(line.p, line.n, part.p, part.n))
				return true;
	return h->is_error;
}

/* Checks a line. Returns 1 if no further line is needed. */
static int hit_check_line(struct hit_search *h, struct span text, uint64_t line)
{
	struct words *w = &h->m->words;
	unsigned whole, words = words_count(w, text, &whole);
	size_t rank = words * (w->n_required + 1) + whole + (h->marks && hit_is_marked(h, text));

	if (h->is_counting)
		return ++h->m->line_counts[rank] >= h->max && rank == rank_max(w);
	if (rank < h->first || (rank == h->first && h->left == 0))
		return 0;
	h->left -= rank == h->first;
	struct buf *cut = &h->m->cut;
	buf_reset(cut);
	int rc = words_cut(w, text, HIT_CHARACTERS, cut);
	struct hit hit = {.path = buf_span(&h->m->path),
	                  .text = buf_span(cut),
	                  .whole = text,
	                  .what = buf_span(&h->m->parts.what),
	                  .line = line,
	                  .is_best = rank == h->best && !h->has_best};
	h->has_best |= hit.is_best;
	rc = rc < 0 ? rc : h->add(h->arg, &hit);
	return rc == 0 && ++h->reported == h->max ? 1 : rc;
}

/* Checks each line of a file's text, or of a part of the only line of the file. */
static int hit_add_lines(struct hit_search *h, struct span text, bool is_file)
{
	bool any = (h->first == 0 && !h->is_counting) || h->marks || words_count(&h->m->words, text, NULL) > 0;
	struct span s;
	int rc = 0;

	for (uint64_t line = 1; rc == 0 && any && span_line(&text, &s); line++) {
		rc = line % 1024 ? 0 : cancel_check();
		rc = rc < 0 ? rc : hit_check_line(h, s, is_file ? line : 1);
	}
	return rc;
}

/* Sets m->path to a file of entry i. */
static struct buf *hit_set_path(struct hit_search *h, uint32_t i, const char *file)
{
	struct buf *path = &h->m->path;

	buf_reset(path);
	buf_adds(path, "entries/");
	session_entry_name(h->s, i, path);
	buf_addc(path, '/');
	buf_adds(path, file);
	return path;
}

/* Checks a label or name: a current one has a file; an older one is only in the line of its record. */
static int hit_add_value(struct hit_search *h, struct span text)
{
	struct buf *path = &h->m->path;
	const struct record *r = h->r;
	uint32_t target = NO_ENTRY;

	/* Find the entry whose current label this record set. Its file has a value that is not text in raw form. */
	if (r->type == RECORD_LABEL && r->label.kind != JSON_ARRAY && r->label.kind != JSON_OBJECT)
		target = session_entry_by_id(h->s, r->target_id);
	if (target != NO_ENTRY && session_label_record(h->s, target) != h->entry)
		target = NO_ENTRY;
	buf_reset(path);
	if (session_name_record(h->s) == h->entry)
		buf_adds(path, "name");
	else if (target != NO_ENTRY)
		hit_set_path(h, target, "label");
	bool is_file = path->n > 0;
	if (!is_file)
		hit_set_path(h, h->entry, "entry.json");
	return buf_err(path) ? buf_err(path) : hit_add_lines(h, text, is_file);
}

static int hit_add_part(struct hit_search *h, const struct entry_text *parts)
{
	static const char *const files[] = {[TEXT_OF_MESSAGE] = "text.md",
	                                    [TEXT_OF_THINKING] = "thinking.md",
	                                    [TEXT_OF_ARGUMENTS] = "tool-calls/",
	                                    [TEXT_OF_ERROR] = "error"};
	struct span text = buf_span(&parts->text);

	/* The text of a failed result is its error. */
	h->is_error = h->marks >> MARK_ERROR & 1 &&
	              (parts->kind == TEXT_OF_ERROR ||
	               (parts->kind == TEXT_OF_MESSAGE && h->r->role == ROLE_TOOL_RESULT && part_has_error(h->r)));
	if (parts->kind == TEXT_OF_VALUE)
		return hit_add_value(h, text);
	bool of_call = parts->kind == TEXT_OF_ARGUMENTS || (parts->kind == TEXT_OF_ERROR && parts->call.n > 0);
	if (of_call && parts->call.n >= node_parts(h->entry))
		return 0;
	struct buf *path = hit_set_path(h, h->entry, files[of_call ? TEXT_OF_ARGUMENTS : parts->kind]);
	if (of_call) {
		part_call_component(&parts->call, path);
		buf_adds(path, parts->kind == TEXT_OF_ERROR ? "/error" : "/arguments.txt");
	}
	return buf_err(path) ? buf_err(path) : hit_add_lines(h, text, true);
}

static void hit_add_to_copy_key(struct hit_search *h, struct span text)
{
	h->copy_key = hash_bytes(h->secret, h->copy_key, text.p, text.n) | 1;
}

static int hit_search_entry(struct hit_search *h)
{
	struct entry_text *parts = &h->m->parts;
	int rc = 0, end = 0;

	match_begin_parts(h->m, h->r);
	while (end >= 0 && (end == 0 || h->secret) && (rc = entry_text_next(parts)) > 0) {
		if (h->secret) {
			hit_add_to_copy_key(h, buf_span(&parts->what));
			hit_add_to_copy_key(h, buf_span(&parts->text));
		}
		if (end == 0 && match_searches_part(h->m))
			end = hit_add_part(h, parts);
	}
	h->secret = NULL;
	return rc < 0 ? rc : end < 0 ? end : 0;
}

static int hit_search_lines(struct hit_search *h)
{
	const struct words *w = &h->m->words;
	size_t lowest = w->n_required + 1, *counts = h->m->line_counts, rank = 0, better = 0;
	int rc = 0;

	h->marks = w->n_required == 0 && !h->m->q->what ? h->m->q->marks : 0;
	if (h->marks >> MARK_SECRET & 1)
		rc = session_find_secrets(h->s, h->entry, &h->m->reader, &h->secrets);
	if (h->secrets.n > 0)
		rc = session_read_line(h->s, h->entry, &h->m->reader, &h->stored);
	if (rc == 0 && (w->n_required > 0 || h->marks)) {
		rank = rank_max(w);
		memset(counts, 0, (rank + 1) * sizeof *counts);
		h->is_counting = true;
		rc = hit_search_entry(h);
		h->is_counting = false;
		while (rank > 0 && counts[rank] == 0)
			rank--;
		h->best = rank;
		for (; rank > lowest && better + counts[rank] < h->max; rank--)
			better += counts[rank];
	}
	/* Without words, and if only the id matches, the first lines are the hits. */
	bool is_first = w->n_required == 0 || match_names_entry(h->m, h->s, h->entry);
	h->first = rank > 0 || is_first ? rank : lowest;
	h->left = h->max - better;
	rc = rc < 0 ? rc : hit_search_entry(h);
	secrets_release(&h->secrets);
	return rc;
}

int match_each_hit_line(struct matcher *m, const struct session *s, uint32_t entry, size_t most,
                        int (*add)(void *arg, const struct hit *hit), void *arg)
{
	struct record r;

	matcher_reset(m, s);
	int rc = session_read(s, entry, &m->reader, &r);
	struct hit_search h = {.m = m, .s = s, .r = &r, .entry = entry, .add = add, .arg = arg, .max = most};
	return rc < 0 ? rc : hit_search_lines(&h);
}

/* --- text --------------------------------------------------------------------------- */

/* The output of hit_append_texts. */
struct hit_output {
	struct matcher *m;
	const struct session *s;
	struct found_list *found;
	uint32_t entry, lines;
	bool has_row;
};

static void hit_add_path(const struct hit_output *o, const struct hit *hit, struct buf *out)
{
	if (o->found->project)
		buf_addf(out, "projects/%s/%s/", o->found->project, o->found->stem);
	buf_addspan(out, hit->path);
}

/* In text from a session, any other control character becomes a blank; names stay exact, since they lead to files. */
static void hit_add_cell(struct span text, bool is_said, char end, struct buf *out)
{
	size_t start = out->n;

	text_add_cell(text, out);
	if (is_said)
		text_flatten_from(out, start);
	buf_addc(out, end);
}

/* Appends WHAT TEXT, as in the name of a link to the entry. */
static int hit_add_name(struct hit_output *o, const struct hit *hit)
{
	struct buf *out = &o->found->texts[FOUND_NAMES], *cut = &o->m->value;
	size_t start = out->n;

	hit_add_cell(hit->what, true, ' ', out);
	for (size_t i = start; i + 1 < out->n; i++)
		out->p[i] = (char)(out->p[i] == ' ' ? '-' : out->p[i]);
	buf_reset(cut);
	int rc = words_cut(&o->m->words, space_trim(hit->whole), NAME_CHARACTERS, cut);
	text_flatten_from(cut, 0);
	buf_addspan(out, space_trim(buf_span(cut)));
	/* Remove the blank before an empty text. */
	out->n -= out->n > start && out->p[out->n - 1] == ' ';
	return rc;
}

/* Appends the row of the entry with its best line, and its name. */
static int hit_add_row(struct hit_output *o, const struct hit *hit)
{
	struct buf *out = &o->found->texts[FOUND_ROWS], *cell = &o->m->value;
	int64_t time = session_entry(o->s, o->entry)->time;

	o->has_row = true;
	if (time != NO_TIME)
		number_add_time((double)time, out);
	buf_addc(out, '\t');
	hit_add_cell(span_of(o->found->project ? o->found->project : ""), false, '\t', out);
	hit_add_cell(span_of(o->found->stem ? o->found->stem : ""), false, '\t', out);
	buf_reset(cell);
	session_entry_name(o->s, o->entry, cell);
	hit_add_cell(buf_span(cell), false, '\t', out);
	hit_add_cell(hit->what, true, '\t', out);
	buf_reset(cell);
	if (hit->line > 0)
		hit_add_path(o, hit, cell);
	hit_add_cell(buf_span(cell), false, '\t', out);
	buf_addf(out, hit->line > 0 ? "%" PRIu64 "\t" : "\t", hit->line);
	buf_reset(cell);
	int rc = words_cut(&o->m->words, hit->whole, ROW_CHARACTERS, cell);
	hit_add_cell(buf_span(cell), true, '\n', out);
	return rc < 0 ? rc : hit_add_name(o, hit);
}

static int hit_append(void *arg, const struct hit *hit)
{
	struct hit_output *o = arg;
	struct buf *out = &o->found->texts[FOUND_HITS];

	hit_add_path(o, hit, out);
	buf_addf(out, ":%" PRIu64 ":", hit->line);
	buf_addspan(out, hit->text);
	buf_addc(out, '\n');
	o->lines++;
	int rc = hit->is_best ? hit_add_row(o, hit) : 0;
	return rc < 0 ? rc : buf_err(out);
}

int hit_append_texts(struct matcher *m, const struct session *s, uint32_t i, const struct record *r,
                     struct found_list *found, uint32_t *ret_lines, uint64_t *ret_copy_key)
{
	struct hit_output o = {.m = m, .s = s, .found = found, .entry = i};
	struct hit_search h = {.m = m,
	                       .s = s,
	                       .r = r,
	                       .entry = i,
	                       .add = hit_append,
	                       .arg = &o,
	                       .max = HIT_LINES,
	                       .secret = found->secret};
	if (h.secret) {
		/* Mixed first: times differ in few bits, as names do, and hash_bytes could let one cancel out the
		 * other. */
		h.copy_key = hash_mix((uint64_t)session_entry(s, i)->time ^ h.secret->seed, h.secret->factor);
		/* The name in entries/: it tells entries of one session with the same id apart, and is the same in
		 * copies. */
		buf_reset(&m->value);
		session_entry_name(s, i, &m->value);
		hit_add_to_copy_key(&h, buf_span(&m->value));
	}
	int rc = buf_err(&m->value) ? buf_err(&m->value) : hit_search_lines(&h);

	if (rc == 0 && !o.has_row) {
		m->parts.r = r;
		buf_reset(&m->parts.what);
		entry_text_kind(&m->parts);
		const struct hit none = {.what = buf_span(&m->parts.what), .whole = SPAN_LIT("")};
		rc = hit_add_row(&o, &none);
	}
	*ret_lines = o.lines;
	*ret_copy_key = h.copy_key;
	rc = rc < 0 ? rc : buf_err(&m->value);
	rc = rc < 0 ? rc : buf_err(&found->texts[FOUND_NAMES]);
	return rc < 0 ? rc : buf_err(&found->texts[FOUND_ROWS]);
}

int match_name(struct matcher *m, const struct session *s, uint32_t entry, struct buf *out)
{
	struct found_list of CLEANUP(found_release) = {0};
	struct record r;
	uint64_t copy_key;
	uint32_t lines;

	matcher_reset(m, s);
	int rc = session_read(s, entry, &m->reader, &r);
	rc = rc < 0 ? rc : hit_append_texts(m, s, entry, &r, &of, &lines, &copy_key);

	/* A name has no room for more. */
	buf_addspan(out, utf8_first(buf_span(&of.texts[FOUND_NAMES]), NAME_BYTES));
	return rc < 0 ? rc : buf_err(out);
}
