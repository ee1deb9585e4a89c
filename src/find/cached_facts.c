/* SPDX-License-Identifier: MIT */
/* The facts of one session: collected from its index, then packed into one block of memory. */
#include "find_impl.h"
#include "query_impl.h"

#include "sessionfs/base/clock.h"
#include "sessionfs/base/counters.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/number.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/find/match.h"
#include "sessionfs/render/files.h"
#include "sessionfs/session/part.h"

#include <errno.h>
#include <math.h>

struct use_key {
	date_t day;
	uint32_t of_results;
};

/* The facts while they are collected. */
struct facts_collector {
	/* Texts here and in `labels` have only a length: `texts` has the bytes, in the order of pack_facts. */
	struct session_facts facts;
	struct buf texts;
	VEC(struct fact_label) labels;
	struct counters usage; /* struct fact_usage, by struct use_key and model */
	struct buf key;
	uint64_t *marks; /* as in struct cached_facts */
};

static void facts_collector_release(struct facts_collector *g)
{
	counters_release(&g->usage);
	free(g->marks);
	buf_release(&g->key);
	buf_release(&g->texts);
	vec_release(&g->labels);
}

/* Adds a bucket of the index to the row of its day and model. A bucket without entries has the usage of its record. */
static int collect_usage_bucket(const struct session *s, const struct usage_bucket *more, struct reader *reader,
                                struct facts_collector *g)
{
	/* As in the entry's usage.json: the day of the entry, else of the file's mtime. */
	struct use_key key = {more->day, 0};
	struct record r;
	int rc = session_read(s, more->record, reader, &r);
	if (rc < 0)
		return rc;
	if (key.day == NO_DATE)
		key.day = date_at((double)session_stat(s)->st_mtim.tv_sec * 1000);
	key.of_results = r.role == ROLE_TOOL_RESULT;
	buf_reset(&g->key);
	buf_add(&g->key, &key, sizeof key);
	usage_add_model(&r, JSON_CLEAN, &g->key);
	struct fact_usage *use = counters_get(&g->usage, buf_span(&g->key));
	if (!use || buf_err(&g->key))
		return -ENOMEM;
	use->date = key.day;
	use->of_results = key.of_results;
	use->entries += more->entries ? more->entries : 1;
	usage_add(&use->sum, more->entries ? more->sum : usage_from_json(part_usage(&r)));
	return 0;
}

/* Finds the entries to exclude. */
static int collect_marks(const struct session *s, uint32_t slot, const struct cached_facts *before,
                         struct duplicate_table *d, struct facts_collector *g)
{
	struct session_usage used = session_usage(s);
	bool repeats = false;
	g->marks = calloc(used.n_marks + 1, sizeof *g->marks);
	if (!g->marks)
		return -ENOMEM;
	for (size_t i = 0; i < used.n_marks; i++) {
		g->marks[i] = used.marks[i].hash;
		repeats |= !(session_entry(s, used.marks[i].entry)->flags & ENTRY_ADDRESSED);
	}
	int rc = duplicates_add_session(d, slot, g->marks, used.n_marks, repeats);
	for (size_t i = 0; before && i < used.n_marks && i < before->n_marks; i++)
		g->marks[i] = used.marks[i].hash | (before->marks[i] & MARK_DUPLICATE ? MARK_EXCLUDED : 0);
	return rc;
}

/* Buckets with an excluded entry are summed again from their other entries. */
static int collect_usage(const struct session *s, struct reader *reader, struct facts_collector *g)
{
	struct session_usage used = session_usage(s);
	bool *apart CLEANUP_FREE = calloc(used.n + 1, sizeof *apart);
	int rc = apart ? 0 : -ENOMEM;
	for (size_t i = 0; i < used.n_marks && rc == 0; i++)
		apart[used.marks[i].bucket] |= g->marks[i] & MARK_EXCLUDED;
	for (size_t i = 0; i < used.n && rc == 0; i++)
		rc = apart[i] ? 0 : collect_usage_bucket(s, &used.v[i], reader, g);
	for (size_t i = 0; i < used.n_marks && rc == 0; i++) {
		const struct usage_mark *m = &used.marks[i];
		const struct usage_bucket one = {.day = used.v[m->bucket].day, .record = m->entry};
		if (apart[m->bucket] && !(g->marks[i] & MARK_EXCLUDED))
			rc = collect_usage_bucket(s, &one, reader, g);
	}
	return rc;
}

static int collect_entries(const struct session *s, bool usage_only, struct facts_collector *g)
{
	struct reader reader CLEANUP_READER = READER_INIT;
	struct record r;
	size_t start = g->texts.n;
	int rc = collect_usage(s, &reader, g);
	for (uint32_t i = usage_only ? 0 : session_count(s); i-- > 0 && rc == 0;) {
		const struct entry *e = session_entry(s, i);
		g->facts.messages += e->type == RECORD_MESSAGE && !(e->flags & ENTRY_NO_MESSAGE);
		/* The last model counts. */
		if (g->texts.n > start || (e->role != ROLE_ASSISTANT && e->type != RECORD_MODEL_CHANGE))
			continue;
		rc = session_read(s, i, &reader, &r);
		if (rc == 0)
			part_model(&r, &g->texts);
	}
	g->texts.n -= g->texts.n > start; /* the newline */
	g->facts.model.n = g->texts.n - start;
	return rc;
}

double info_time_ms(double ms)
{
	char text[NUMBER_TIME];
	return number_time(ms, text) ? (double)(int64_t)ms : NAN;
}

static int collect_numbers(const struct session *s, struct session_facts *ret)
{
	struct session_usage used = session_usage(s);
	ret->created = info_time_ms(session_created(s));
	ret->modified = info_time_ms(session_modified(s));
	ret->date = isnan(ret->created) ? NO_DATE : date_at(ret->created);
	ret->entries = session_count(s);
	ret->bytes = (uint64_t)session_stat(s)->st_size;
	ret->has_problems = session_problem_count(s) > 0;
	ret->has_usage = used.n > 0;
	ret->usage = used.sum;
	return session_active_seconds(s, &ret->active);
}

static int collect_texts(const struct session *s, struct facts_collector *g)
{
	struct buf *texts = &g->texts;
	size_t start = texts->n;
	json_decode(session_header(s)->id.text, JSON_CLEAN, texts);
	g->facts.id.n = texts->n - start;
	int rc = render_title(s, texts);
	if (rc < 0)
		return rc;
	texts->n--; /* the newline */
	g->facts.title.n = texts->n - start - g->facts.id.n;
	rc = render_is_automatic(s);
	g->facts.is_automatic = rc > 0;
	return rc < 0 ? rc : 0;
}

static int collect_label_row(const struct session *s, uint32_t entry, struct buf *out)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	session_entry_name(s, entry, &name);
	text_add_cell(buf_span(&name), out);
	buf_addc(out, '\t');
	if (session_entry(s, entry)->time != NO_TIME)
		number_add_time((double)session_entry(s, entry)->time, out);
	buf_addc(out, '\t');
	int rc = render_add_label_cells(s, entry, out);
	return rc < 0 ? rc : buf_err(&name);
}

static int collect_labels(const struct session *s, struct facts_collector *g)
{
	static const struct query no_words;
	size_t n = session_label_count(s);
	struct buf *texts = &g->texts;
	struct matcher *m = NULL;
	if (!vec_reserve(&g->labels, n))
		return -ENOMEM;
	int rc = n > 0 ? matcher_open(&no_words, &m) : 0;
	for (size_t i = 0; i < n && rc == 0; i++) {
		struct fact_label l = {.entry = session_nth_labelled(s, i)};
		size_t start = texts->n;
		if (!session_label(s, l.entry, texts))
			continue;
		l.text.n = texts->n - start;
		rc = match_name(m, s, l.entry, texts);
		l.name.n = texts->n - start - l.text.n;
		rc = rc < 0 ? rc : collect_label_row(s, l.entry, texts);
		l.row.n = texts->n - start - l.text.n - l.name.n;
		g->labels.v[g->labels.n++] = l;
	}
	matcher_close(m);
	return rc;
}

static struct span usage_row_model(const struct counters *uses, size_t i)
{
	struct span key = counters_name(uses, i);
	return (struct span){key.p + sizeof(struct use_key), key.n - sizeof(struct use_key)};
}

/* Returns whether row i has the same model as the row before, as most do. */
static bool usage_row_repeats_model(const struct counters *uses, size_t i)
{
	return i > 0 && span_eq(usage_row_model(uses, i), usage_row_model(uses, i - 1));
}

/* Sets where a text begins, and *at to its end. */
static void pack_text(struct span *text, const char **at)
{
	text->p = *at;
	*at += text->n;
}

static int pack_facts(const struct session *s, uint32_t slot, const struct facts_collector *g, struct pool *pool,
                      struct cached_facts **ret)
{
	const struct stat *st = session_stat(s);
	size_t n_marks = session_usage(s).n_marks, n_labels = g->labels.n, n = g->usage.n;
	size_t size = sizeof(struct cached_facts) + n * sizeof(struct fact_usage) +
	              n_labels * sizeof(struct fact_label) + n_marks * sizeof(uint64_t) + g->texts.n;
	for (size_t i = 0; i < n; i++)
		size += usage_row_repeats_model(&g->usage, i) ? 0 : usage_row_model(&g->usage, i).n;
	struct cached_facts *k = pool_alloc(pool, (size + 7) / 8 * 8);
	if (!k)
		return -ENOMEM;
	struct fact_label *labels = (void *)&k->usage_rows[n];
	uint64_t *marks = (void *)&labels[n_labels];
	char *texts = (char *)&marks[n_marks], *model = texts + g->texts.n;
	const char *at = texts;
	*k = (struct cached_facts){
	    .slot = slot,
	    .size = st->st_size,
	    .mtime = st->st_mtim,
	    .ctime = st->st_ctim,
	    .memory = size,
	    .facts = g->facts,
	    .labels = labels,
	    .marks = marks,
	    .n_marks = n_marks,
	};
	k->facts.n_usage = n;
	k->facts.usage_rows = k->usage_rows;
	k->facts.n_labels = n_labels;
	k->facts.labels = labels;
	if (n_marks)
		memcpy(marks, g->marks, n_marks * sizeof *marks);
	if (g->texts.n)
		memcpy(texts, g->texts.p, g->texts.n);
	pack_text(&k->facts.id, &at);
	pack_text(&k->facts.title, &at);
	pack_text(&k->facts.model, &at);
	for (size_t i = 0; i < n_labels; i++) {
		labels[i] = g->labels.v[i];
		pack_text(&labels[i].text, &at);
		pack_text(&labels[i].name, &at);
		pack_text(&labels[i].row, &at);
	}
	pack_text(&k->facts.files, &at);
	for (size_t i = 0; i < n; i++) {
		struct fact_usage *use = &k->usage_rows[i];
		*use = *(const struct fact_usage *)counters_value(&g->usage, i);
		use->model = usage_row_model(&g->usage, i);
		if (usage_row_repeats_model(&g->usage, i)) {
			use->model = use[-1].model;
		} else {
			use->model.p = memcpy(model, use->model.p, use->model.n);
			model += use->model.n;
		}
	}
	*ret = k;
	return 0;
}

int cached_facts_read(struct catalog *c, uint32_t slot, const struct cached_facts *before, struct duplicate_table *d,
                      bool usage_only, struct pool *pool, struct cached_facts **ret)
{
	struct facts_collector g CLEANUP(facts_collector_release) = {.usage = COUNTERS_INIT(struct fact_usage)};
	struct session *s;
	int deferred = deferred_begin();
	int rc = catalog_session_get_as(c, slot, GET_KEEPING_LINES, &s);
	if (rc == 0) {
		rc = collect_numbers(s, &g.facts);
		rc = rc < 0 ? rc : collect_marks(s, slot, before, d, &g);
		rc = rc < 0 || usage_only ? rc : collect_texts(s, &g);
		rc = rc < 0 ? rc : collect_entries(s, usage_only, &g);
		rc = rc < 0 || usage_only ? rc : context_state(s, session_leaf(s), &g.facts.state);
		rc = rc < 0 || usage_only ? rc : collect_labels(s, &g);
		size_t start = g.texts.n;
		rc = rc < 0 || usage_only ? rc : render_files_rows(s, &g.texts);
		g.facts.files.n = g.texts.n - start;
		rc = rc < 0 ? rc : buf_err(&g.texts);
		rc = rc < 0 ? rc : pack_facts(s, slot, &g, pool, ret);
		catalog_session_put(c, s);
	}
	return deferred_end(deferred, rc);
}

bool cached_facts_match(const struct cached_facts *k, const struct slot_state *now)
{
	return k->slot == now->slot && k->size == now->size && time_is_same(k->mtime, now->mtime) &&
	       time_is_same(k->ctime, now->ctime);
}
