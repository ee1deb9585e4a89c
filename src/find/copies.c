/* SPDX-License-Identifier: MIT */
/* Copies of an entry, which forks, checkpoints and growing copies of sessions contain: a search shows only the first
 * one (sessionfs(5), search). Copies have the same id, time and text. */
#include "find_impl.h"
#include "match_impl.h"
#include "search_impl.h"

#include <errno.h>

uint64_t copy_key_begin(struct matcher *m, const struct session *s, uint32_t i, const struct hash_key *k)
{
	/* The name in entries/: it tells entries of one session with the same id apart, and is the same in copies. */
	buf_reset(&m->value);
	session_entry_name(s, i, &m->value);
	/* Mixed first: times differ in few bits, as names do, and hash_bytes could let one cancel out the other. */
	uint64_t hash = hash_mix((uint64_t)session_entry(s, i)->time ^ k->seed, k->factor);
	return hash_bytes(k, hash, m->value.p, m->value.n) | 1;
}

uint64_t copy_key_add(const struct hash_key *k, uint64_t key, const struct entry_text *text)
{
	uint64_t hash = hash_bytes(k, key, text->what.p, text->what.n);

	return hash_bytes(k, hash, text->text.p, text->text.n) | 1;
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
