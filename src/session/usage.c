/* SPDX-License-Identifier: MIT */
/* Adds up the usage of entries as they are scanned. The index keeps no model name, only an entry that has one. */
#include "record_impl.h"
#include "session_impl.h"

const struct span usage_names[USAGE_FIELDS] = {SPAN_LIT("input"),      SPAN_LIT("output"),      SPAN_LIT("cacheRead"),
                                               SPAN_LIT("cacheWrite"), SPAN_LIT("totalTokens"), SPAN_LIT("cost")};

static struct usage usage_from_fields(const struct json_value fields[USAGE_FIELDS])
{
	double n[USAGE_FIELDS];

	for (size_t i = 0; i < USAGE_FIELDS; i++) {
		struct json_value v =
		    fields[i].kind == JSON_OBJECT && i == 5 ? json_get(fields[i], "total") : fields[i];
		if (!json_double(v, &n[i]))
			n[i] = 0;
	}
	double total = n[4] != 0 ? n[4] : n[0] + n[1] + n[2] + n[3];
	/* Routers write a cost below 0 if they do not know it. */
	return (struct usage){n[0], n[1], n[2], n[3], total, n[5] > 0 ? n[5] : 0};
}

struct usage usage_from_json(struct json_value usage)
{
	struct json_value fields[USAGE_FIELDS];

	json_get_all(usage, usage_names, USAGE_FIELDS, fields);
	return usage_from_fields(fields);
}

void usage_add(struct usage *u, struct usage more)
{
	u->input += more.input;
	u->output += more.output;
	u->cache_read += more.cache_read;
	u->cache_write += more.cache_write;
	u->total += more.total;
	u->cost += more.cost;
}

/* Returns the sum for this day and model: one of the latest, or a new one. Returns NULL if out of memory. */
static struct usage_bucket *usage_bucket_get(struct session *s, date_t day, uint64_t model)
{
	uint32_t record = s->extent.entry_count;

	for (size_t n = s->uses.n; n > 0 && s->uses.n - n < USAGE_BUCKETS_TRIED; n--) {
		struct usage_bucket *use = &s->uses.v[n - 1];
		if (use->model != model)
			continue;
		if (use->day == day && use->entries < USAGE_BUCKET_ENTRIES_MAX)
			return use;
		record = use->record;
	}
	if (!vec_reserve(&s->uses, 1))
		return NULL;
	s->uses.v[s->uses.n] = (struct usage_bucket){.day = day, .record = record, .model = model};
	return &s->uses.v[s->uses.n++];
}

/* Returns the hash of an entry for usage_mark. In version 1 the id is derived from the session's id and the line. */
static uint64_t usage_mark_hash(const struct session *s, const struct entry *e, const struct usage *sum)
{
	static const struct hash_key fixed = {UINT64_C(0x243f6a8885a308d3), UINT64_C(0x9e3779b97f4a7c15)};
	struct key id = {.text = buf_span(&s->sid)};
	uint64_t kind = e->line;
	struct {
		int64_t time;
		struct usage sum;
	} what = {.time = e->time};

	if (s->format->has_ids) {
		if (!e->id)
			return 0;
		id = arena_get(&s->ids, e->id);
		kind = id.kind;
	}
	id.value += 0.0; /* -0 becomes 0, as in the sums */
	if (id.kind == KEY_NUMBER)
		id.text = (struct span){(const char *)&id.value, sizeof id.value};
	usage_add(&what.sum, *sum);
	uint64_t hash = hash_bytes(&fixed, kind, id.text.p, id.text.n);
	return hash_bytes(&fixed, hash, (const char *)&what, sizeof what) >> 2;
}

bool usage_add_entry(struct session *s, const struct entry *e, const struct record_head *head)
{
	struct json_value usage = json_is_truthy(head->usage) ? head->usage : head->msg.usage;
	struct json_value provider = head->msg.provider, model = head->msg.model;

	if (!json_is_truthy(usage))
		return true;
	if (head->type != RECORD_MESSAGE) {
		provider = head->provider;
		model = head->model;
	}
	uint64_t hash = 0;
	if (provider.kind == JSON_STRING && model.kind == JSON_STRING) {
		hash = hash_bytes(&s->secret, 2, provider.text.p, provider.text.n);
		hash = hash_bytes(&s->secret, hash, model.text.p, model.text.n) | 1;
	}
	/* Results have their own sums: usage.tsv omits some of them. */
	if (e->role == ROLE_TOOL_RESULT)
		hash ^= 2;
	/* A day begins with a minute in all zones of today. */
	int64_t minute = e->time < 0 ? e->time : e->time / 60000;
	if (minute != s->extent.usage_minute)
		s->extent.usage_day = e->time == NO_TIME ? NO_DATE : date_at((double)e->time);
	s->extent.usage_minute = minute;
	struct usage_bucket *use = usage_bucket_get(s, s->extent.usage_day, hash);
	if (!use || !vec_reserve(&s->use_marks, 1))
		return false;
	bool is_message = usage.text.p == head->msg.usage.text.p;
	struct usage sum = is_message ? usage_from_fields(head->numbers) : usage_from_json(usage);
	use->entries++;
	usage_add(&use->sum, sum);
	usage_add(&s->extent.usage, sum);
	s->use_marks.v[s->use_marks.n++] =
	    (struct usage_mark){usage_mark_hash(s, e, &sum), s->extent.entry_count, (uint32_t)(use - s->uses.v)};
	return true;
}

struct session_usage session_usage(const struct session *s)
{
	return (struct session_usage){s->extent.usage, s->uses.n, s->uses.v, s->use_marks.n, s->use_marks.v};
}

void usage_add_model(const struct record *r, enum json_decode how, struct buf *out)
{
	struct json_value provider = r->msg.provider, model = r->msg.model;
	if (r->type != RECORD_MESSAGE) {
		provider = r->provider;
		model = r->model;
	}
	if (provider.kind == JSON_STRING && model.kind == JSON_STRING) {
		json_decode(provider.text, how, out);
		buf_addc(out, '/');
		json_decode(model.text, how, out);
	} else {
		buf_adds(out, "unknown");
	}
}
