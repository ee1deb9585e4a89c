/* SPDX-License-Identifier: MIT */
/* all.txt: the text of all entries, on all branches, in file order. Each line begins with the entry's ID and the kind
 * of text, so a line found by grep identifies its entry.
 *
 * A segment depends on its entry alone, so the file only grows at its end. */
#include "sessionfs/render/entry_text.h"

#include "pieces.h"

#include <errno.h>
#include <stdlib.h>

/* Limits for the search of a first entry with text: the number of entries, of those read, and the size of each. */
enum { ALL_ENTRIES_TRIED = 1024, ALL_PROBES_MAX = 8, PROBE_BYTES = 64 * 1024 };

/* Existing items are kept. */
static int all_items_newer(const struct render_target *p, uint32_t first, uint32_t last, struct render_totals *t,
                           void **ret, size_t *ret_n)
{
	uint32_t count = session_count(p->session);
	size_t n = first < count ? count - first : 0;
	uint32_t *items = malloc(n * sizeof *items + 1);

	(void)last, (void)t;
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		items[i] = first + (uint32_t)i;
	*ret = items;
	*ret_n = n;
	return 0;
}

static int all_items(const struct render_target *p, struct render_totals *t, void **ret, size_t *ret_n)
{
	return all_items_newer(p, 0, NO_ENTRY, t, ret, ret_n);
}

/* Appends the lines of a part. `prefix` holds the ID and a space, `id` bytes; the kind of text follows in each line. */
static int all_add_lines(const struct entry_text *parts, struct buf *prefix, size_t id, struct buf *out)
{
	prefix->n = id;
	buf_addspan(prefix, buf_span(&parts->what));
	buf_adds(prefix, ": ");
	if (buf_err(prefix))
		return buf_err(prefix);
	const char *p = parts->text.p, *end = p + parts->text.n;
	for (const char *next; p < end; p = next) {
		next = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;
		size_t n = (size_t)(next - p);
		char *to = buf_reserve(out, prefix->n + n);
		if (!to)
			return buf_err(out);
		memcpy(to, prefix->p, prefix->n);
		memcpy(to + prefix->n, p, n);
		out->n += prefix->n + n;
	}
	return 0;
}

static int all_segment(const struct render_target *p, const void *item, bool is_first, struct reader *reader,
                       struct usage *usage, struct buf *out)
{
	struct buf *prefix = &reader->scratch[2];
	uint32_t i = *(const uint32_t *)item;
	struct record r;

	(void)is_first, (void)usage;
	if (!entry_text_type_has_any(session_entry(p->session, i)->type))
		return 0;
	int rc = session_read(p->session, i, reader, &r);
	if (rc < 0)
		return rc;
	buf_reset(prefix);
	session_entry_name(p->session, i, prefix);
	buf_addc(prefix, ' ');
	size_t id = prefix->n;
	struct entry_text parts = {.what = reader->scratch[0], .text = reader->scratch[1]};
	entry_text_begin(&parts, &r);
	while ((rc = entry_text_next(&parts)) > 0 && (rc = all_add_lines(&parts, prefix, id, out)) == 0)
		;
	reader->scratch[0] = parts.what;
	reader->scratch[1] = parts.text;
	return rc < 0 ? rc : buf_err(out);
}

const struct producer producer_all_txt = {
    .item_size = sizeof(uint32_t),
    .list = all_items,
    .list_appended = all_items_newer,
    .segment = all_segment,
};

/* Most sessions have text at the beginning. */
bool render_all_exists(const struct session *s)
{
	struct entry_text parts CLEANUP_ENTRY_TEXT = {0};
	struct line line CLEANUP_LINE = LINE_INIT;
	uint32_t count = session_count(s), n = count < ALL_ENTRIES_TRIED ? count : ALL_ENTRIES_TRIED;
	unsigned probes = 0;
	int rc = 0;

	for (uint32_t i = 0; i < n && rc == 0 && probes < ALL_PROBES_MAX; i++) {
		const struct entry *e = session_entry(s, i);
		struct record r;
		if (!entry_text_type_has_any(e->type) || e->length > PROBE_BYTES)
			continue;
		probes++;
		rc = session_load(s, i, &line, &r);
		if (rc == 0) {
			entry_text_begin(&parts, &r);
			rc = entry_text_next(&parts);
		}
	}
	return rc > 0;
}
