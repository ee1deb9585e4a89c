/* SPDX-License-Identifier: MIT */
/* Adds up the usage of entries as they are scanned. The index keeps no model's name, only where one stands. */
#include "session_impl.h"

static struct usage usage_sum(const struct json_value fields[USAGE_FIELDS])
{
	double n[USAGE_FIELDS];

	for (size_t i = 0; i < USAGE_FIELDS; i++)
		if (!json_double(fields[i], &n[i]))
			n[i] = 0;
	double total = n[4] != 0 ? n[4] : n[0] + n[1] + n[2] + n[3];
	return (struct usage){n[0], n[1], n[2], n[3], total, n[5]};
}

struct usage usage_of(struct json_value usage)
{
	static const struct span names[] = {SPAN_LIT("input"),      SPAN_LIT("output"),      SPAN_LIT("cacheRead"),
	                                    SPAN_LIT("cacheWrite"), SPAN_LIT("totalTokens"), SPAN_LIT("cost")};
	struct json_value fields[USAGE_FIELDS] = {0};

	if (usage.kind == JSON_OBJECT) {
		json_get_all(usage, names, USAGE_FIELDS, fields);
		fields[5] = json_get(fields[5], "total");
	}
	return usage_sum(fields);
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

/* The sum for this day and model, if one of the latest has it; else a new one. NULL without memory. */
static struct session_use *use_get(struct session *s, date_t day, uint64_t model)
{
	uint32_t record = s->at.count;

	for (size_t n = s->uses.n; n > 0 && s->uses.n - n < USES_OPEN; n--) {
		struct session_use *use = &s->uses.v[n - 1];
		if (use->model != model)
			continue;
		if (use->day == day)
			return use;
		record = use->record;
	}
	if (!vec_reserve(&s->uses, 1))
		return NULL;
	s->uses.v[s->uses.n] = (struct session_use){.day = day, .record = record, .model = model};
	return &s->uses.v[s->uses.n++];
}

bool usage_take(struct session *s, const struct entry *e, const struct record_head *head)
{
	struct json_value usage = json_truthy(head->usage) ? head->usage : head->msg.usage;
	struct json_value provider = head->msg.provider, model = head->msg.model;

	if (!json_truthy(usage))
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
	/* A day begins with a minute in all zones of today. */
	int64_t minute = e->time < 0 ? e->time : e->time / 60000;
	if (minute != s->at.minute)
		s->at.day = e->time == NO_TIME ? NO_DATE : date_at((double)e->time);
	s->at.minute = minute;
	struct session_use *use = use_get(s, s->at.day, hash);
	if (!use)
		return false;
	bool usual = head->numbers[0].kind && usage.text.p == head->msg.usage.text.p;
	struct usage sum = usual ? usage_sum(head->numbers) : usage_of(usage);
	use->entries++;
	usage_add(&use->sum, sum);
	usage_add(&s->at.usage, sum);
	return true;
}

struct session_usage session_usage(const struct session *s)
{
	return (struct session_usage){s->at.usage, s->uses.n, s->uses.v};
}
