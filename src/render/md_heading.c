/* What stands above an entry: what it is, its name, its time, and what else can be said on one line. */
#include "md.h"

#include "sessionfs/base/number.h"

#include "facts.h"
#include "text.h"

static void md_call_fact(const struct md *m)
{
	unsigned n = 0;
	uint32_t caller = session_call(m->s, m->entry, &n);

	if (caller != NO_ENTRY) {
		buf_adds(m->out, DOT "call ");
		number_add_unsigned(n, m->out);
		buf_adds(m->out, " of ");
		session_entry_name(m->s, caller, m->out);
	}
	buf_adds(m->out, json_truthy(m->r->msg.is_error) ? DOT "error" : "");
}

static void md_fact(const struct md *m, const struct fact *f)
{
	double code = 0;

	if (f->of == FACT_CALL) {
		md_call_fact(m);
		return;
	}
	buf_adds(m->out, f->goes_on ? " " : DOT);
	buf_adds(m->out, f->before);
	if (f->provider.kind > JSON_NULL) {
		text_inline(f->provider, m->out);
		buf_addc(m->out, '/');
	}
	if (f->of == FACT_EXIT && json_double(f->v, &code))
		number_add(code, m->out);
	else
		text_inline(f->v, m->out);
	buf_adds(m->out, f->of == FACT_TOKENS ? " tokens before" : "");
}

static void md_facts(const struct md *m)
{
	struct fact facts[FACTS_MOST];
	unsigned n = facts_of(m->r, facts);

	for (unsigned i = 0; i < n; i++)
		md_fact(m, &facts[i]);
}

void md_label(const struct md *m)
{
	struct buf label CLEANUP_BUF = BUF_INIT;

	if (!session_label(m->s, m->entry, &label))
		return;
	buf_adds(m->out, DOT "[");
	text_inline_exact(buf_span(&label), m->out);
	buf_addc(m->out, ']');
}

void md_heading(const struct md *m, const char *what)
{
	int64_t time = session_entry(m->s, m->entry)->time;
	size_t start = m->out->n;

	if (what)
		buf_adds(m->out, what);
	else
		text_role(m->r, m->out);
	if (m->out->n == start)
		buf_adds(m->out, m->r->kind == JSON_OBJECT ? "no type" : "no object");
	buf_adds(m->out, DOT);
	session_entry_name(m->s, m->entry, m->out);
	if (time != NO_TIME) {
		buf_adds(m->out, DOT);
		number_add_time((double)time, m->out);
	}
	if (!what)
		md_facts(m);
	md_label(m);
}
