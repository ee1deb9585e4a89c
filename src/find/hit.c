/* SPDX-License-Identifier: MIT */
/* The texts of a matching entry: the best lines of its files, and its row. */
#include "match_impl.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/name.h"
#include "sessionfs/base/node.h"
#include "sessionfs/base/number.h"
#include "sessionfs/base/space.h"
#include "sessionfs/base/utf8.h"
#include "sessionfs/file/secret.h"
#include "sessionfs/render/render.h"

#include <inttypes.h>

/* Each line is compared with each part of a key until that took about 0.1 s, then with KEY_PARTS of them. */
enum { KEY_PARTS = 64, COMPARED_BYTES = 64 << 20, COMPARED_LEAST = 64 };

/* One pass over the texts of an entry. It keeps the best lines in m->lines, and their texts in m->kept. */
struct hit_pass {
	struct matcher *m;
	size_t most;         /* lines to keep */
	size_t least;        /* lines of a lower rank are not kept */
	size_t best, n_best; /* the highest rank there can be, and the number of its lines */
	unsigned marks;      /* of a query without words: the lines of the error or of the keys rank higher */
	bool is_error;       /* the current text is the error */
	size_t n_kept;       /* how many lines were kept, with those dropped later */
	struct span stored;
	struct secrets secrets;        /* in `stored` */
	size_t compared;               /* bytes that were compared with them */
	const struct hash_key *secret; /* for the copy key; or NULL */
};

/* Returns whether the line is of the error or has a key, or a part of one. */
static bool hit_is_marked(struct hit_pass *h, struct span line)
{
	size_t i = 0, from = 0, n = 0;

	while (i < h->secrets.n && (n < KEY_PARTS || h->compared < COMPARED_BYTES)) {
		const struct secret *key = &h->secrets.v[i];
		struct span part = secret_hidden_part(key, h->stored.p, from);
		if (part.n > 0 && memmem(line.p, line.n, part.p, part.n))
			return true;
		h->compared += line.n + COMPARED_LEAST;
		n++;
		from = part.n > 0 ? (size_t)(part.p + part.n - h->stored.p) - key->at : 0;
		i += part.n == 0;
	}
	return h->is_error;
}

static int line_order_cmp(const void *a, const void *b)
{
	const struct kept_line *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

static int line_rank_cmp(const void *a, const void *b)
{
	const struct kept_line *x = a, *y = b;

	return x->rank != y->rank ? (x->rank < y->rank) - (x->rank > y->rank) : line_order_cmp(a, b);
}

/* Sorts the lines by rank, and drops all but the best. Lines of rank 0 are kept only if there are no others. */
static void hit_drop_lines(struct hit_pass *h)
{
	struct kept_line *v = h->m->lines.v;
	size_t n = h->m->lines.n;

	if (n == 0)
		return;
	qsort(v, n, sizeof *v, line_rank_cmp);
	n = n < h->most ? n : h->most;
	while (v[0].rank > 0 && v[n - 1].rank == 0)
		n--;
	if (n == h->most)
		h->least = v[n - 1].rank + 1;
	h->m->lines.n = n;
}

/* Checks each line of a file's text, or of a part of the only line of the file. Lines with more different words rank
 * higher, then those with more whole words. */
static int hit_read_lines(struct hit_pass *h, struct span text, bool is_file)
{
	struct matcher *m = h->m;
	struct span line;
	int rc = 0;

	for (uint64_t n = 1; rc == 0 && h->n_best < h->most && span_line(&text, &line); n++) {
		unsigned whole, words = words_count(&m->words, line, &whole);
		size_t rank = h->marks ? hit_is_marked(h, line) : words * (m->words.n_required + 1) + whole;
		/* Dropping only now and then takes linear time. */
		if (m->lines.n / 2 > h->most)
			hit_drop_lines(h);
		rc = n % 1024 ? 0 : cancel_check();
		if (rank < h->least)
			continue;
		if (!vec_reserve(&m->lines, 1))
			return -ENOMEM;
		struct hit hit = {.path = buf_span(&m->path),
		                  .what = buf_span(&m->parts.what),
		                  .whole = line,
		                  .line = is_file ? n : 1};
		m->lines.v[m->lines.n++] = (struct kept_line){rank, h->n_kept++, hit};
		h->n_best += rank == h->best;
	}
	return rc;
}

/* Sets m->path to a file of entry i. */
static void hit_set_path(const struct hit_pass *h, uint32_t i, const char *file)
{
	struct buf *path = &h->m->path;

	buf_adds(path, "entries/");
	session_entry_name(h->m->s, i, path);
	buf_addc(path, '/');
	buf_adds(path, file);
}

/* Sets m->path for a label or name. Returns whether that is a file of its own: a current one has a file; an older one
 * is only in the line of its record. */
static bool hit_set_value_path(const struct hit_pass *h)
{
	const struct matcher *m = h->m;
	const struct record *r = &m->r;
	uint32_t target = NO_ENTRY;

	/* Find the entry whose current label this record set. Its file has a value that is not text in raw form. */
	if (r->type == RECORD_LABEL && r->label.kind != JSON_ARRAY && r->label.kind != JSON_OBJECT)
		target = session_entry_by_id(m->s, r->target_id);
	if (target != NO_ENTRY && session_label_record(m->s, target) != m->entry)
		target = NO_ENTRY;
	bool is_name = session_name_record(m->s) == m->entry;
	if (is_name)
		buf_adds(&h->m->path, "name");
	else
		hit_set_path(h, target != NO_ENTRY ? target : m->entry, target != NO_ENTRY ? "label" : "entry.json");
	return is_name || target != NO_ENTRY;
}

/* Keeps the best lines of the current part, and moves its text if it has some of them. */
static int hit_read_part(struct hit_pass *h)
{
	static const char *const files[] = {[TEXT_OF_MESSAGE] = "text.md",
	                                    [TEXT_OF_THINKING] = "thinking.md",
	                                    [TEXT_OF_ARGUMENTS] = "tool-calls/",
	                                    [TEXT_OF_ERROR] = "error"};
	struct matcher *m = h->m;
	struct entry_text *parts = &m->parts;
	bool of_call = parts->kind == TEXT_OF_ARGUMENTS || (parts->kind == TEXT_OF_ERROR && parts->call.n > 0);
	bool is_file = true;

	if (h->n_best >= h->most && m->words.n == m->words.n_required)
		return 0;
	bool any = words_add_text(&m->words, buf_span(&parts->text)) || h->marks || h->least == 0;
	if (!any || (of_call && parts->call.n >= node_parts(m->entry)))
		return 0;
	/* The text of a failed result is its error. */
	h->is_error = h->marks >> MARK_ERROR & 1 &&
	              (parts->kind == TEXT_OF_ERROR ||
	               (parts->kind == TEXT_OF_MESSAGE && m->r.role == ROLE_TOOL_RESULT && part_has_error(&m->r)));
	buf_reset(&m->path);
	if (parts->kind == TEXT_OF_VALUE)
		is_file = hit_set_value_path(h);
	else
		hit_set_path(h, m->entry, files[of_call ? TEXT_OF_ARGUMENTS : parts->kind]);
	if (of_call) {
		part_call_component(&parts->call, &m->path);
		buf_adds(&m->path, parts->kind == TEXT_OF_ERROR ? "/error" : "/arguments.txt");
	}
	size_t before = h->n_kept;
	int rc = buf_err(&m->path) ? buf_err(&m->path) : hit_read_lines(h, buf_span(&parts->text), is_file);
	struct buf *const bufs[] = {&parts->text, &parts->what, &m->path};
	if (rc < 0 || before == h->n_kept)
		return rc;
	if (!vec_reserve(&m->kept, 3))
		return -ENOMEM;
	for (int i = 0; i < 3; i++) {
		m->kept.v[m->kept.n++] = *bufs[i];
		*bufs[i] = (struct buf)BUF_INIT;
	}
	return 0;
}

static void hit_add_to_key(struct hit_pass *h, struct span text)
{
	if (h->secret)
		h->m->copy_key = hash_bytes(h->secret, h->m->copy_key, text.p, text.n) | 1;
}

void match_drop_lines(struct matcher *m)
{
	for (size_t i = 0; i < m->kept.n; i++)
		buf_release(&m->kept.v[i]);
	m->kept.n = m->lines.n = 0;
}

int match_read_texts(struct matcher *m, size_t most, bool is_named, const struct hash_key *secret)
{
	const struct words *w = &m->words;
	struct entry_text *parts = &m->parts;
	struct hit_pass h = {.m = m, .most = most, .least = w->n_required > 0 && !is_named, .secret = secret};
	bool has_text = false, more = true;

	h.marks = w->n_required == 0 && !m->q->what ? m->q->marks : 0;
	h.best = h.marks ? 1 : w->n_required * (w->n_required + 2);
	match_drop_lines(m);
	words_reset(&m->words);
	/* Mixed first: times differ in few bits, as names do, and hash_bytes could let one cancel out the other. */
	m->copy_key = 0;
	if (secret)
		m->copy_key = hash_mix((uint64_t)session_entry(m->s, m->entry)->time ^ secret->seed, secret->factor);
	/* The name in entries/: it tells entries of one session with the same id apart, and is the same in copies. */
	buf_reset(&m->value);
	session_entry_name(m->s, m->entry, &m->value);
	hit_add_to_key(&h, buf_span(&m->value));
	int rc = buf_err(&m->value);
	if (rc == 0 && h.marks >> MARK_SECRET & 1)
		rc = session_find_secrets(m->s, m->entry, &m->reader, &h.secrets);
	if (rc == 0 && h.secrets.n > 0)
		rc = session_read_line(m->s, m->entry, &m->reader, &h.stored);
	match_begin_parts(m);
	while (rc == 0 && more && (rc = entry_text_next(parts)) > 0) {
		hit_add_to_key(&h, buf_span(&parts->what));
		hit_add_to_key(&h, buf_span(&parts->text));
		bool is_searched = match_searches_part(m);
		has_text |= is_searched;
		rc = is_searched ? hit_read_part(&h) : 0;
		more = secret || h.n_best < most || w->n > w->n_required;
	}
	hit_drop_lines(&h);
	if (m->lines.n > 0) {
		m->best = m->lines.v[0].hit;
		qsort(m->lines.v, m->lines.n, sizeof *m->lines.v, line_order_cmp);
	}
	secrets_release(&h.secrets);
	bool matches = is_named || (words_match(w) && (has_text || !m->q->what));
	if (rc >= 0 && matches && m->lines.n == 0) {
		buf_reset(&parts->what);
		entry_text_kind(parts);
		m->best = (struct hit){.what = buf_span(&parts->what), .whole = SPAN_LIT("")};
	}
	return rc < 0 ? rc : matches;
}

/* Cuts line number i of those that were kept. Returns 0 or a negative errno. */
static int hit_cut_line(struct matcher *m, size_t i, const struct hit **ret)
{
	struct hit *hit = &m->lines.v[i].hit;

	buf_reset(&m->cut);
	int rc = words_cut(&m->words, hit->whole, HIT_CHARACTERS, &m->cut);
	hit->text = buf_span(&m->cut);
	*ret = hit;
	return rc;
}

/* Reads a matching entry, and keeps its lines. */
static int hit_read_entry(struct matcher *m, const struct session *s, uint32_t i, size_t most)
{
	matcher_reset(m, s);
	m->entry = i;
	int rc = session_read(s, i, &m->reader, &m->r);
	return rc < 0 ? rc : match_read_texts(m, most, match_names_entry(m), NULL);
}

int match_each_hit_line(struct matcher *m, const struct session *s, const struct found_list *of, uint32_t entry,
                        size_t most, hit_fn *fn, void *arg)
{
	int rc = hit_read_entry(m, s, entry, most);
	const struct hit *hit;

	for (size_t i = 0; rc >= 0 && i < m->lines.n; i++) {
		rc = hit_cut_line(m, i, &hit);
		rc = rc < 0 ? rc : fn(arg, of, hit);
	}
	return rc < 0 ? rc : 0;
}

/* --- text --------------------------------------------------------------------------- */

static void hit_add_path(const struct found_list *found, const struct hit *hit, struct buf *out)
{
	buf_addf(out, "projects/%s/%s/", found->project, found->stem);
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

/* Returns the first line of the user's words, if it has as many words of the query. `words` is for their text. */
static struct span hit_prefer_words(struct matcher *m, struct span line, struct buf *words)
{
	struct span rest, first;
	unsigned whole;

	if (m->r.type != RECORD_MESSAGE || m->r.role != ROLE_USER)
		return line;
	render_add_words(&m->r, "\n", JSON_CLEAN, words);
	rest = space_trim(buf_span(words));
	if (!span_line(&rest, &first) || words_count(&m->words, first, &whole) < words_count(&m->words, line, &whole))
		return line;
	return first;
}

/* Appends WHAT TEXT, as in the name of a link to the entry. */
static int hit_add_name(struct matcher *m, const struct hit *hit, struct buf *out)
{
	struct buf words CLEANUP_BUF = BUF_INIT, *cut = &m->value;
	struct span line = hit_prefer_words(m, hit->whole, &words);
	size_t start = out->n;

	hit_add_cell(hit->what, true, ' ', out);
	for (size_t i = start; i + 1 < out->n; i++)
		out->p[i] = (char)(out->p[i] == ' ' ? '-' : out->p[i]);
	buf_reset(cut);
	int rc = buf_err(&words) ? buf_err(&words) : words_cut(&m->words, space_trim(line), NAME_CHARACTERS, cut);
	text_flatten_from(cut, 0);
	buf_addspan(out, space_trim(buf_span(cut)));
	/* Remove the blank before an empty text. */
	out->n -= out->n > start && out->p[out->n - 1] == ' ';
	return rc;
}

/* Appends the row of the entry with its best line. */
static int hit_add_row(struct matcher *m, const struct hit *hit, struct found_list *found)
{
	struct buf *out = &found->texts[FOUND_ROWS], *cell = &m->value;
	int64_t time = session_entry(m->s, m->entry)->time;

	if (time != NO_TIME)
		number_add_time((double)time, out);
	buf_addc(out, '\t');
	hit_add_cell(span_of(found->project), false, '\t', out);
	hit_add_cell(span_of(found->stem), false, '\t', out);
	buf_reset(cell);
	session_entry_name(m->s, m->entry, cell);
	hit_add_cell(buf_span(cell), false, '\t', out);
	hit_add_cell(hit->what, true, '\t', out);
	buf_reset(cell);
	if (hit->line > 0)
		hit_add_path(found, hit, cell);
	hit_add_cell(buf_span(cell), false, '\t', out);
	buf_addf(out, hit->line > 0 ? "%" PRIu64 "\t" : "\t", hit->line);
	buf_reset(cell);
	int rc = words_cut(&m->words, hit->whole, ROW_CHARACTERS, cell);
	hit_add_cell(buf_span(cell), true, '\n', out);
	return rc;
}

int hit_append_texts(struct matcher *m, struct found_list *found)
{
	struct buf *out = &found->texts[FOUND_HITS];
	const struct hit *hit;
	int rc = hit_add_row(m, &m->best, found);

	for (size_t i = 0; rc == 0 && i < m->lines.n; i++) {
		rc = hit_cut_line(m, i, &hit);
		hit_add_path(found, hit, out);
		buf_addf(out, ":%" PRIu64 ":", hit->line);
		buf_addspan(out, hit->text);
		buf_addc(out, '\n');
	}
	if (rc == 0)
		rc = hit_add_name(m, &m->best, &found->texts[FOUND_NAMES]);
	rc = rc < 0 ? rc : buf_err(&m->value);
	for (int k = 0; k < FOUND_TEXTS && rc == 0; k++)
		rc = buf_err(&found->texts[k]);
	return rc;
}

int match_name(struct matcher *m, const struct session *s, uint32_t entry, struct buf *out)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	int rc = hit_read_entry(m, s, entry, 1);

	if (rc < 0)
		return rc;
	rc = hit_add_name(m, &m->best, &name);
	rc = rc < 0 ? rc : buf_err(&m->value);
	rc = rc < 0 ? rc : buf_err(&name);
	/* A name has no room for more. */
	buf_addspan(out, utf8_first(buf_span(&name), NAME_BYTES));
	return rc < 0 ? rc : buf_err(out);
}
