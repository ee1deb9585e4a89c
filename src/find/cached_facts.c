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
	uint32_t messages;
	struct counters usage; /* struct fact_usage, by struct use_key and model */
	struct buf model, key;
	struct buf texts; /* id and title, one after the other */
	size_t id_size;   /* size of the id; the model has its own buffer */
	uint64_t *marks;  /* as in struct cached_facts */
	bool may_repeat_ids;
	const char *state;
	VEC(struct fact_label) labels; /* their texts, names and rows are in `label_texts`, one after the other */
	struct buf label_texts;
	struct buf files; /* rows */
	bool has_files;
};

static void facts_collector_release(struct facts_collector *g)
{
	counters_release(&g->usage);
	free(g->marks);
	buf_release(&g->model);
	buf_release(&g->key);
	buf_release(&g->texts);
	vec_release(&g->labels);
	buf_release(&g->label_texts);
	buf_release(&g->files);
}

/* Adds a bucket of the index to the row of its day and model. A bucket without entries has the usage of its record. */
static int collect_usage_bucket(const struct session *s, const struct usage_bucket *more, struct reader *reader,
                                struct facts_collector *g)
{
	/* The same day as in the entry's usage.json: its own, else the file's. */
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
	render_usage_model(&r, JSON_CLEAN, &g->key);
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
	g->marks = calloc(used.n_marks + 1, sizeof *g->marks);
	if (!g->marks)
		return -ENOMEM;
	for (size_t i = 0; i < used.n_marks; i++) {
		g->marks[i] = used.marks[i].hash;
		g->may_repeat_ids |= !(session_entry(s, used.marks[i].entry)->flags & ENTRY_ADDRESSED);
	}
	int rc = duplicates_add_session(d, slot, g->marks, used.n_marks, g->may_repeat_ids);
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

static int collect_entries(const struct session *s, struct facts_collector *g)
{
	struct reader reader CLEANUP_READER = READER_INIT;
	struct record r;
	int rc = collect_usage(s, &reader, g);
	for (uint32_t i = session_count(s); i-- > 0 && rc == 0;) {
		const struct entry *e = session_entry(s, i);
		g->messages += e->type == RECORD_MESSAGE && !(e->flags & ENTRY_NO_MESSAGE);
		/* The last model counts. */
		if (g->model.n || (e->role != ROLE_ASSISTANT && e->type != RECORD_MODEL_CHANGE))
			continue;
		rc = session_read(s, i, &reader, &r);
		if (rc == 0)
			part_model(&r, &g->model);
	}
	return rc < 0 ? rc : buf_err(&g->model);
}

double info_time_ms(double ms)
{
	char text[NUMBER_TIME];
	return number_time(ms, text) ? (double)(int64_t)ms : NAN;
}

static int collect_texts(const struct session *s, struct facts_collector *g)
{
	struct buf *texts = &g->texts;
	json_decode(session_header(s)->id.text, JSON_CLEAN, texts);
	g->id_size = texts->n;
	int rc = render_title(s, texts);
	if (rc < 0)
		return rc;
	texts->n--; /* the newline */
	return buf_err(texts);
}

static int gather_label_row(const struct session *s, uint32_t entry, struct buf *out)
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
	struct buf *texts = &g->label_texts;
	struct matcher *m = NULL;
	if (!vec_reserve(&g->labels, n))
		return -ENOMEM;
	int rc = n > 0 ? matcher_open(&no_words, &m) : 0;
	for (size_t i = 0; i < n && rc == 0; i++) {
		size_t start = texts->n, text, name;
		uint32_t entry = session_nth_labelled(s, i);
		if (!session_label(s, entry, texts))
			continue;
		text = texts->n - start;
		rc = match_name(m, s, entry, texts);
		name = texts->n - start - text;
		rc = rc < 0 ? rc : gather_label_row(s, entry, texts);
		g->labels.v[g->labels.n++] = (struct fact_label){
		    .entry = entry,
		    .text.n = text,
		    .name.n = name,
		    .row.n = texts->n - start - text - name,
		};
	}
	matcher_close(m);
	return rc < 0 ? rc : buf_err(texts);
}

/* Stops rendering once the rows do not fit. */
static int collect_files(const struct session *s, struct file_rows_budget *room, struct facts_collector *g)
{
	size_t used = atomic_load(&room->used), left = used < room->max ? room->max - used : 0;
	int rc = render_files_rows(s, left, &g->files);
	size_t n = g->files.n;
	g->has_files = n > 0;
	if (rc > 0 || atomic_fetch_add(&room->used, n) + n > room->max) {
		if (rc == 0)
			atomic_fetch_sub(&room->used, n);
		buf_release(&g->files);
	}
	return rc < 0 ? rc : 0;
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

static struct span pack_text(struct span text, char **at)
{
	char *p = *at;
	if (text.n)
		memcpy(p, text.p, text.n);
	*at += text.n;
	return (struct span){p, text.n};
}

static int pack_facts(const struct session *s, const struct facts_collector *g, double created,
                      struct cached_facts **ret)
{
	const struct stat *st = session_stat(s);
	struct session_usage used = session_usage(s);
	size_t size = sizeof(struct cached_facts) + g->usage.n * sizeof(struct fact_usage) +
	              g->labels.n * sizeof(struct fact_label) + used.n_marks * sizeof(uint64_t) + g->texts.n +
	              g->model.n + g->label_texts.n + g->files.n;
	for (size_t i = 0; i < g->usage.n; i++)
		size += usage_row_repeats_model(&g->usage, i) ? 0 : usage_row_model(&g->usage, i).n;
	struct cached_facts *k = malloc(size);
	if (!k)
		return -ENOMEM;
	struct fact_label *labels = (void *)&k->usage_rows[g->usage.n];
	uint64_t *marks = (void *)&labels[g->labels.n];
	char *at = (char *)&marks[used.n_marks];
	*k = (struct cached_facts){
	    .refs = 1,
	    .size = st->st_size,
	    .mtime = st->st_mtim,
	    .ctime = st->st_ctim,
	    .memory = size,
	    .facts = {.created = created,
	              .modified = info_time_ms(render_modified(s)),
	              .entries = session_count(s),
	              .messages = g->messages,
	              .bytes = (uint64_t)st->st_size,
	              .state = g->state,
	              .has_problems = session_problem_count(s) > 0,
	              .has_files = g->has_files,
	              .has_usage = used.n > 0,
	              .usage = used.sum,
	              .date = isnan(created) ? NO_DATE : date_at(created),
	              .n_usage = g->usage.n,
	              .n_labels = g->labels.n},
	    .marks = marks,
	    .n_marks = used.n_marks,
	    .may_repeat_ids = g->may_repeat_ids,
	};
	k->facts.usage_rows = k->usage_rows;
	k->facts.labels = k->labels = labels;
	if (used.n_marks)
		memcpy(marks, g->marks, used.n_marks * sizeof *marks);
	for (size_t i = 0; i < g->usage.n; i++) {
		k->usage_rows[i] = *(const struct fact_usage *)counters_value(&g->usage, i);
		bool is_same = usage_row_repeats_model(&g->usage, i);
		k->usage_rows[i].model =
		    is_same ? k->usage_rows[i - 1].model : pack_text(usage_row_model(&g->usage, i), &at);
	}
	const char *p = g->texts.p;
	k->facts.id = pack_text((struct span){p, g->id_size}, &at);
	k->facts.title = pack_text((struct span){p + g->id_size, g->texts.n - g->id_size}, &at);
	/* Without its newline. */
	k->facts.model = pack_text((struct span){g->model.p, g->model.n ? g->model.n - 1 : 0}, &at);
	k->facts.files = pack_text(buf_span(&g->files), &at);
	p = pack_text(buf_span(&g->label_texts), &at).p;
	for (size_t i = 0; i < g->labels.n; p = labels[i].row.p + labels[i].row.n, i++) {
		labels[i] = g->labels.v[i];
		labels[i].text.p = p;
		labels[i].name.p = p + labels[i].text.n;
		labels[i].row.p = labels[i].name.p + labels[i].name.n;
	}
	*ret = k;
	return 0;
}

int cached_facts_read(struct catalog *c, uint32_t slot, const struct cached_facts *before, struct duplicate_table *d,
                      struct file_rows_budget *room, struct cached_facts **ret)
{
	struct facts_collector g CLEANUP(facts_collector_release) = {.usage = COUNTERS_INIT(struct fact_usage)};
	struct session *s;
	int deferred = deferred_push();
	int rc = catalog_get_to_read(c, slot, &s);
	if (rc == 0) {
		double created = info_time_ms(render_created(s));
		rc = collect_marks(s, slot, before, d, &g);
		if (rc == 0)
			rc = collect_entries(s, &g);
		if (rc == 0)
			rc = context_state(s, session_leaf(s), &g.state);
		if (rc == 0)
			rc = collect_labels(s, &g);
		if (rc == 0)
			rc = collect_texts(s, &g);
		if (rc == 0)
			rc = collect_files(s, room, &g);
		if (rc == 0)
			rc = pack_facts(s, &g, created, ret);
		if (rc == 0)
			(*ret)->slot = slot;
		catalog_session_put(c, s);
	}
	return deferred_pop(deferred, rc);
}

void cached_facts_release(struct cached_facts *k)
{
	if (k && atomic_fetch_sub(&k->refs, 1) == 1)
		free(k);
}

bool cached_facts_match(const struct cached_facts *k, const struct slot_state *now)
{
	return k->slot == now->slot && k->size == now->size && time_is_same(k->mtime, now->mtime) &&
	       time_is_same(k->ctime, now->ctime);
}
