/* all.txt: everything that was said, on every branch, in the order of the file. Each line of text has in front of it
 * which entry says it, and as what, so that a line that grep finds leads there by itself.
 *
 * A segment depends on its entry alone, so the file grows at its end as the session does, whatever is appended. */
#include "sessionfs/render/said.h"

#include "pieces.h"

#include <errno.h>
#include <stdlib.h>

/* One that says something is looked for among the first entries: so many are read, none longer than that. */
enum { LOOKED_AT = 1024, PROBES = 8, PROBE_BYTES = 64 * 1024 };

/* One segment in the making. */
struct lines {
	struct buf *out;
	struct buf prefix; /* ID WHAT: */
	size_t id;         /* bytes of it that are the ID and a blank */
};

static void all_lines_release(struct lines *l)
{
	buf_release(&l->prefix);
}

static int list_entries(const struct place *p, uint32_t first, void **ret, size_t *ret_n)
{
	uint32_t count = session_count(p->session);
	size_t n = first < count ? count - first : 0;
	uint32_t *items = malloc(n * sizeof *items + 1);
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		items[i] = first + (uint32_t)i;
	*ret = items;
	*ret_n = n;
	return 0;
}

static int items_all(const struct place *p, struct totals *t, void **ret, size_t *ret_n)
{
	(void)t;
	return list_entries(p, 0, ret, ret_n);
}

static int items_newer(const struct place *p, uint32_t first, uint32_t last, struct totals *t, void **ret,
                       size_t *ret_n)
{
	(void)last, (void)t;
	return list_entries(p, first, ret, ret_n);
}

static int lines_add(struct lines *l, const struct said *said)
{
	l->prefix.n = l->id;
	buf_addspan(&l->prefix, buf_span(&said->what));
	buf_adds(&l->prefix, ": ");
	if (buf_err(&l->prefix))
		return buf_err(&l->prefix);
	const char *p = said->text.p, *end = p + said->text.n;
	for (const char *next; p < end; p = next) {
		next = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;
		size_t n = (size_t)(next - p);
		char *to = buf_reserve(l->out, l->prefix.n + n);
		if (!to)
			return buf_err(l->out);
		memcpy(to, l->prefix.p, l->prefix.n);
		memcpy(to + l->prefix.n, p, n);
		l->out->n += l->prefix.n + n;
	}
	return 0;
}

static int all_segment(const struct place *p, const void *item, bool is_first, struct reader *reader,
                       struct render_usage *usage, struct buf *out)
{
	struct lines l CLEANUP(all_lines_release) = {.out = out, .prefix = BUF_INIT};
	uint32_t i = *(const uint32_t *)item;
	struct record r;

	(void)is_first, (void)usage;
	if (!said_any_of(session_entry(p->session, i)->type))
		return 0;
	int rc = session_read(p->session, i, reader, &r);
	if (rc < 0)
		return rc;
	session_entry_name(p->session, i, &l.prefix);
	buf_addc(&l.prefix, ' ');
	l.id = l.prefix.n;
	struct said said = {.what = reader->room[0], .text = reader->room[1]};
	said_begin(&said, &r);
	while ((rc = said_next(&said)) > 0 && (rc = lines_add(&l, &said)) == 0)
		;
	reader->room[0] = said.what;
	reader->room[1] = said.text;
	return rc < 0 ? rc : buf_err(out);
}

const struct producer producer_all_txt = {
    .item = sizeof(uint32_t),
    .list = items_all,
    .newer = items_newer,
    .segment = all_segment,
};

/* Most sessions say something at once. */
bool render_all_begins(const struct session *s)
{
	struct said said CLEANUP_SAID = {0};
	struct line line CLEANUP_LINE = LINE_INIT;
	uint32_t count = session_count(s), n = count < LOOKED_AT ? count : LOOKED_AT;
	unsigned probes = 0;
	int rc = 0;

	for (uint32_t i = 0; i < n && rc == 0 && probes < PROBES; i++) {
		const struct entry *e = session_entry(s, i);
		struct record r;
		if (!said_any_of(e->type) || e->length > PROBE_BYTES)
			continue;
		probes++;
		rc = session_load(s, i, &line, &r);
		if (rc == 0) {
			said_begin(&said, &r);
			rc = said_next(&said);
		}
	}
	return rc > 0;
}
