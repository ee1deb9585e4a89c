/* SPDX-License-Identifier: MIT */
/* Each term of a query is checked where that costs least: in the raw bytes, then the index, then the record. */
#include "match_impl.h"

#include "sessionfs/base/cancel.h"

#include <errno.h>
#include <stdlib.h>

int matcher_open(const struct query *q, struct matcher **ret)
{
	struct matcher *m = calloc(1, sizeof *m);

	if (!m)
		return -ENOMEM;
	m->q = q;
	int rc = needles_make(q, &m->needles);
	rc = rc < 0 ? rc : scanner_init(&m->scanner);
	rc = rc < 0 ? rc : words_init(&m->words, q);
	if (rc < 0)
		matcher_close(m);
	else
		*ret = m;
	return rc;
}

void matcher_close(struct matcher *m)
{
	if (!m)
		return;
	needles_release(&m->needles);
	scanner_release(&m->scanner);
	words_release(&m->words);
	match_drop_lines(m);
	vec_release(&m->lines);
	vec_release(&m->kept);
	reader_release(&m->reader);
	line_release(&m->label);
	entry_text_release(&m->parts);
	buf_release(&m->value);
	buf_release(&m->path);
	buf_release(&m->cut);
	free(m);
}

void matcher_reset(struct matcher *m, const struct session *s)
{
	m->s = s;
	buf_reset(&m->reader.line.bytes);
	m->is_named = query_names_id(m->q, session_id(s));
	m->may_name = query_may_name_computed(m->q, session_format(s)->has_ids);
}

int match_next_candidate(struct matcher *m, const struct match_file *file, bool has_ids, uint64_t from, size_t *words,
                         uint64_t *ret_at)
{
	uint64_t at = m->q->in_session ? 0 : from;
	size_t found = words ? *words : 0;

	scanner_set(&m->scanner, file);
	int rc = query_may_name_computed(m->q, has_ids) ? 1
	         : m->q->in_session                     ? scanner_find_each(&m->scanner, &m->needles, from, &found)
	                                                : scanner_find(&m->scanner, &m->needles, from, &at);
	if (words && rc >= 0)
		*words = found;
	if (rc == 1 && ret_at)
		*ret_at = at;
	return rc;
}

/* --- checking ---------------------------------------------------------------------- */

/* Returns whether the index alone rejects the entry. */
static bool index_rejects_entry(struct matcher *m)
{
	for (size_t k = 0; k < m->q->terms.n; k++) {
		const struct filter *f = &query_filters[m->q->terms.v[k].kind];
		m->term = &m->q->terms.v[k];
		enum verdict v = f->index ? f->index(m) : VERDICT_UNKNOWN;
		if (v != VERDICT_UNKNOWN && (v == VERDICT_YES) == m->term->negated)
			return true;
	}
	return false;
}

/* Returns the kind of text.md of an entry. */
static enum query_what record_what(const struct record *r)
{
	return r->role == ROLE_TOOL_RESULT || r->role == ROLE_BASH_EXECUTION ? WHAT_OUTPUT : WHAT_SAID;
}

void match_begin_parts(struct matcher *m)
{
	m->parts.repeats_error = !query_searches(m->q, record_what(&m->r));
	entry_text_begin(&m->parts, &m->r);
}

bool match_searches_part(const struct matcher *m)
{
	const struct record *r = m->parts.r;
	const enum query_what whats[] = {[TEXT_OF_MESSAGE] = record_what(r),
	                                 [TEXT_OF_THINKING] = WHAT_THINKING,
	                                 [TEXT_OF_ARGUMENTS] = WHAT_CALL,
	                                 [TEXT_OF_ERROR] = WHAT_ERROR,
	                                 [TEXT_OF_VALUE] = r->type == RECORD_LABEL ? WHAT_LABEL : WHAT_NAME};

	return query_searches(m->q, whats[m->parts.kind]);
}

/* Checks the terms that the index cannot decide, apart from words and kinds of text. Returns 1 if the record has them,
 * or 0, or a negative errno. */
static int record_check_terms(struct matcher *m)
{
	for (size_t k = 0; k < m->q->terms.n; k++) {
		const struct term *t = &m->q->terms.v[k];
		const struct filter *f = &query_filters[t->kind];
		bool has = false;
		m->term = t;
		if ((!f->value && !f->values) || (f->index && f->index(m) != VERDICT_UNKNOWN))
			continue;
		int rc = match_read_values(m);
		if (rc < 0)
			return rc;
		struct span all = buf_span(&m->value);
		for (const char *v = all.p; !has && v < all.p + all.n; v += strlen(v) + 1)
			has = (f->is_exact ? text_equals : text_contains)(span_of(v), t->text);
		if (has == t->negated)
			return 0;
	}
	return 1;
}

/* --- found entries ------------------------------------------------------------------ */

void found_release(struct found_list *f)
{
	vec_release(f);
	for (int k = 0; k < FOUND_TEXTS; k++)
		buf_release(&f->texts[k]);
}

struct found found_entry_begin(const struct found_list *f, size_t i)
{
	return i > 0 ? f->v[i - 1] : (struct found){0};
}

static int found_list_add(struct matcher *m, struct found_list *out)
{
	struct found found = found_entry_begin(out, out->n);
	int rc = vec_reserve(out, 1) ? hit_append_texts(m, out) : -ENOMEM;

	found.copy_key = m->copy_key;
	found.entry = m->entry;
	found.lines += (uint32_t)m->lines.n;
	for (int k = 0; k < FOUND_TEXTS; k++) {
		if (rc < 0)
			out->texts[k].n = found.ends[k];
		found.ends[k] = (uint32_t)out->texts[k].n;
	}
	if (rc == 0)
		out->v[out->n++] = found;
	return rc;
}

bool match_names_entry(struct matcher *m)
{
	struct span id = session_entry_id(m->s, m->entry);

	if (m->is_named || query_names_id(m->q, id))
		return true;
	if (id.n > 0 && !(session_entry(m->s, m->entry)->flags & ENTRY_ASSIGNED_NAME))
		return false;
	/* An entry without an id, with another one's, or with one that the index does not keep: a number, a long text.
	 */
	buf_reset(&m->value);
	session_entry_name(m->s, m->entry, &m->value);
	return query_names_id(m->q, buf_span(&m->value));
}

/* Appends the entry if it matches. */
static int match_check(struct matcher *m, struct found_list *out)
{
	bool is_named = match_names_entry(m);
	if (!is_named && index_rejects_entry(m))
		return m->entry % 1024 ? 0 : cancel_check();
	int rc = session_read(m->s, m->entry, &m->reader, &m->r);
	if (rc == 0)
		rc = is_named ? 1 : record_check_terms(m);
	if (rc > 0)
		rc = match_read_texts(m, HIT_LINES, is_named, out->secret);
	return rc > 0 ? found_list_add(m, out) : rc;
}

/* --- a session -------------------------------------------------------------------- */

uint32_t match_entry_at(const struct session *s, uint64_t offset)
{
	uint32_t low = 0, high = session_count(s);

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct entry *e = session_entry(s, middle);
		if (e->offset + e->length <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static ssize_t match_read_session(void *arg, void *p, size_t n, uint64_t off)
{
	return session_pread(arg, p, n, off);
}

/* Goes to the first entry from this one on that can match. */
static int match_next_entry(struct matcher *m)
{
	uint64_t at;

	if (m->is_named || (m->needles.n == 0 && !m->needles.never))
		return 0;
	int rc = scanner_find(&m->scanner, &m->needles, session_entry(m->s, m->entry)->offset, &at);
	uint32_t next = rc > 0 ? match_entry_at(m->s, at) : session_count(m->s);
	while (m->may_name && rc >= 0 && m->entry < next && !match_names_entry(m))
		rc = ++m->entry % 1024 ? rc : cancel_check();
	m->entry = m->may_name ? m->entry : next;
	return rc < 0 ? rc : 0;
}

/* Returns whether the entries together have all words: 1, 0 or a negative errno. Filters exclude no entry here. */
static int session_has_words(struct matcher *m)
{
	int rc = 0;

	words_reset(&m->words);
	for (m->entry = 0; words_seen(&m->words) < m->words.n_required; m->entry++) {
		rc = m->entry < session_count(m->s) ? match_next_entry(m) : 0;
		if (rc < 0 || m->entry >= session_count(m->s))
			return rc;
		rc = session_read(m->s, m->entry, &m->reader, &m->r);
		if (rc == 0)
			match_begin_parts(m);
		while (rc >= 0 && (rc = entry_text_next(&m->parts)) > 0) {
			if (match_searches_part(m))
				words_add_text(&m->words, buf_span(&m->parts.text));
		}
		rc = rc < 0 ? rc : cancel_check();
		if (rc < 0)
			return rc;
	}
	return 1;
}

int match_session(struct matcher *m, const struct session *s, uint32_t from, size_t most, struct found_list *out,
                  uint32_t *ret_next, bool *ret_undated)
{
	struct match_file file = {match_read_session, (void *)s};

	matcher_reset(m, s);
	m->is_undated = false;
	scanner_set(&m->scanner, &file);
	int rc = m->q->in_session && from == 0 ? session_has_words(m) : 1;
	m->entry = rc > 0 ? from : session_count(s);
	rc = rc < 0 ? rc : 0;
	while (rc == 0 && m->entry < session_count(s) && out->n < most) {
		rc = match_next_entry(m);
		if (rc < 0 || m->entry == session_count(s))
			break;
		rc = match_check(m, out);
		m->entry++;
	}
	if (rc == 0)
		*ret_next = m->entry;
	if (ret_undated && m->is_undated)
		*ret_undated = true;
	return rc;
}
