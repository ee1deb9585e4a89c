/* SPDX-License-Identifier: MIT */
/* The hits of one session, without copies of an entry, which forks, checkpoints and growing copies of sessions contain:
 * a search shows only the first one (sessionfs(5), search). Copies have the same id, time and text. */
#include "match_impl.h"
#include "search_impl.h"

#include "sessionfs/base/budget.h"

#include <errno.h>

struct session_hits *session_hits_new(const struct session_hits *of)
{
	struct session_hits *f = calloc(1, sizeof *f);
	if (!f)
		return NULL;
	/* Not `refs`, which other threads change. */
	memcpy(&f->slot, &of->slot, sizeof *f - offsetof(struct session_hits, slot));
	atomic_init(&f->refs, 1);
	f->found =
	    (struct found_list){.project = of->found.project, .stem = of->found.stem, .secret = of->found.secret};
	f->title = (struct buf)BUF_INIT;
	buf_addspan(&f->title, buf_span(&of->title));
	if (buf_err(&f->title)) {
		session_hits_put(f);
		return NULL;
	}
	return f;
}

struct session_hits *session_hits_get(struct session_hits *f)
{
	atomic_fetch_add(&f->refs, 1);
	return f;
}

void session_hits_put(struct session_hits *f)
{
	if (!f || atomic_fetch_sub(&f->refs, 1) > 1)
		return;
	found_release(&f->found);
	buf_release(&f->title);
	free(f);
}

size_t session_hits_memory(const struct session_hits *f)
{
	size_t n = budget_heap_size(sizeof *f) + budget_heap_size(f->found.cap * sizeof *f->found.v) +
	           budget_heap_size(f->title.cap);
	for (int k = 0; k < FOUND_TEXTS; k++)
		n += budget_heap_size(buf_memory(&f->found.texts[k]));
	return n;
}

int found_list_add_entry(struct found_list *to, const struct found_list *from, size_t i)
{
	struct found begin = found_entry_begin(from, i), end = from->v[i], found = found_entry_begin(to, to->n);
	if (!vec_reserve(to, 1))
		return -ENOMEM;
	found.copy_key = end.copy_key;
	found.entry = end.entry;
	found.lines += end.lines - begin.lines;
	for (int k = 0; k < FOUND_TEXTS; k++) {
		struct span text = {from->texts[k].p + begin.ends[k], end.ends[k] - begin.ends[k]};
		buf_addspan(&to->texts[k], text);
		if (buf_err(&to->texts[k]))
			return buf_err(&to->texts[k]);
		found.ends[k] += (uint32_t)text.n;
	}
	to->v[to->n++] = found;
	return 0;
}

int session_hits_drop_copies(struct session_hits **hits, struct duplicate_table *seen)
{
	const struct session_hits *f = *hits;
	bool *is_copy CLEANUP_FREE = calloc(f->found.n + 1, sizeof *is_copy), any = false;
	if (!is_copy || !duplicates_reserve(seen, f->found.n))
		return -ENOMEM;
	for (size_t i = 0; i < f->found.n; i++)
		any |= is_copy[i] = duplicates_set_owner(seen, f->found.v[i].copy_key, 1);
	if (!any)
		return 0;
	struct session_hits *next = session_hits_new(f);
	int rc = next ? 0 : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < f->found.n; i++)
		rc = is_copy[i] ? 0 : found_list_add_entry(&next->found, &f->found, i);
	if (rc < 0) {
		session_hits_put(next);
		return rc;
	}
	next->lacks_copies = true;
	session_hits_put(*hits);
	*hits = next;
	return 0;
}

bool session_hits_include(const struct session_hits *f, const struct session_hits *before)
{
	size_t k = 0;
	for (size_t i = 0; i < before->found.n; i++) {
		while (k < f->found.n && f->found.v[k].copy_key != before->found.v[i].copy_key)
			k++;
		if (k++ >= f->found.n)
			return false;
	}
	return true;
}
