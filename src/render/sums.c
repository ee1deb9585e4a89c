/* What is said of a whole session: its times as pi's session list gives them, and for which model usage counts. For
 * info.json and for what is asked about all sessions. */
#include "sessionfs/render/render.h"
#include "sessionfs/session/part.h"

#include <math.h>

double render_time(struct json_value v)
{
	if (v.kind == JSON_NULL || v.kind == JSON_FALSE)
		return 0;
	if (v.kind == JSON_TRUE)
		return 1;
	int64_t t = record_time(v);
	return t == NO_TIME ? NAN : (double)t;
}

double render_created(const struct session *s)
{
	return render_time(session_header(s)->timestamp);
}

/* Rounded as Node does for its Stats.mtime: to the nearest, halves up. */
static double mtime_ms(struct timespec t)
{
	double ms = (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6 + 0.5;
	double whole = (double)(int64_t)ms;
	return whole > ms ? whole - 1 : whole;
}

double render_modified(const struct session *s)
{
	double created = render_created(s);
	if (session_active(s) > 0)
		return session_active(s);
	return session_header(s)->timestamp.kind == JSON_STRING && !isnan(created) ? created
	                                                                           : mtime_ms(session_stat(s)->st_mtim);
}

void render_usage_model(const struct record *r, enum json_decode how, struct buf *out)
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
