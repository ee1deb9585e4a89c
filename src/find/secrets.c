/* SPDX-License-Identifier: MIT */
/* secrets.tsv. Files are read for it when it is asked for, on all cores: making an index need not look for keys. What
 * was found in a file is kept with its facts. */
#include "sessionfs/find/tables.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/parallel.h"
#include "sessionfs/base/secret.h"
#include "sessionfs/file/opened.h"
#include "sessionfs/find/match.h"

#include "find_impl.h"

#include <errno.h>
#include <fcntl.h>

#define SECRETS_HEADING "project\tstem\tentry\tkind\tstart\tlength\n"

enum { PIECE = LIMIT(256 * 1024, 100) };

/* Where a key stands in a file, and what the table shows of it. */
struct place {
	uint64_t at;
	struct secret secret;
	char start[4];
};

struct places {
	VEC(struct place);
};

size_t places_memory(const struct places *p)
{
	return p ? sizeof *p + vec_held(p) : 0;
}

void places_free(struct places *p)
{
	if (p)
		vec_release(p);
	free(p);
}

/* --- one file --------------------------------------------------------------------- */

/* Adds the keys in whole lines that begin at `off`. */
static int places_add(struct span text, uint64_t off, struct places *to)
{
	struct secrets found CLEANUP(secrets_release) = {0};
	int rc = secrets_find(text, &found);
	if (rc < 0 || !vec_reserve(to, found.n))
		return -ENOMEM;
	for (size_t i = 0; i < found.n; i++) {
		struct place *p = &to->v[to->n++];
		*p = (struct place){.at = off + found.v[i].at, .secret = found.v[i]};
		memcpy(p->start, text.p + found.v[i].at, secret_shown(&found.v[i]));
	}
	return 0;
}

/* Looks through the bytes as they are stored. A line that is too long is skipped. */
static int places_read(struct opened *file, struct places *to)
{
	struct buf bytes CLEANUP_BUF = BUF_INIT;
	uint64_t off = 0; /* of the bytes */
	bool is_long = false;
	int rc = 0;
	for (ssize_t got = 1; rc == 0 && got > 0;) {
		char *p = buf_reserve(&bytes, PIECE);
		got = p ? opened_stored(file, p, PIECE, off + bytes.n) : buf_err(&bytes);
		if (got < 0)
			return (int)got;
		const char *newline = memrchr(p, '\n', (size_t)got);
		bytes.n += (size_t)got;
		size_t n = newline ? (size_t)(newline + 1 - bytes.p) : got == 0 || bytes.n > SECRET_LINE ? bytes.n : 0;
		struct span text = {bytes.p, n};
		if (is_long || (n > SECRET_LINE && !memchr(text.p, '\n', SECRET_LINE + 1))) {
			const char *end = memchr(text.p, '\n', text.n);
			is_long = !end && got > 0;
			text = (struct span){end ? end : text.p + n, end ? (size_t)(text.p + n - end) : 0};
		}
		rc = places_add(text, off + (size_t)(text.p - bytes.p), to);
		off += n;
		bytes.n -= n;
		memmove(bytes.p, bytes.p + n, bytes.n);
		if (rc == 0)
			rc = cancel_check();
	}
	return rc;
}

static struct kept *kept_of(const struct fact *f)
{
	return (struct kept *)((char *)f->of - offsetof(struct kept, of));
}

/* Finds the keys in a session. One that is gone makes the next table another. */
static int secrets_look(void *arg, size_t i)
{
	const struct fact_list *list = arg;
	struct kept *kept = kept_of(&list->v[i]);
	const struct source_path at = {catalog_resolver(list->catalog), list->v[i].file};
	struct resolved got = RESOLVED_INIT;
	struct opened *file;
	struct places *found, *none = NULL;
	if (atomic_load(&kept->places))
		return 0;
	int rc = resolve_file(&at, RESOLVER_WAIT, O_RDONLY, &got);
	if (rc == 0)
		rc = opened_new(at.resolver, &got, &file);
	if (rc < 0)
		return rc == -ENOENT || rc == -ESTALE ? 0 : rc;
	found = calloc(1, sizeof *found);
	rc = found ? places_read(file, found) : -ENOMEM;
	opened_put(file);
	if (found)
		vec_trim(found);
	if (rc < 0 || !atomic_compare_exchange_strong(&kept->places, &none, found))
		places_free(found);
	return rc;
}

/* --- the table -------------------------------------------------------------------- */

static int add_secrets(const struct fact_list *list, const struct fact *f, const struct places *found, struct buf *out)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	struct session *s;
	int rc = found && found->n ? catalog_get(list->catalog, f->slot, &s) : -ESTALE;
	/* One that is gone makes the next table another. */
	if (rc < 0)
		return rc == -ESTALE ? 0 : rc;
	for (size_t i = 0; i < found->n && rc == 0; i++) {
		const struct place *p = &found->v[i];
		uint32_t entry = match_entry_at(s, p->at);
		buf_reset(&name);
		if (entry < session_count(s) && session_entry(s, entry)->offset <= p->at)
			session_entry_name(s, entry, &name);
		text_cell(span_of(f->project), out);
		buf_addc(out, '\t');
		text_cell(span_of(f->stem), out);
		buf_addc(out, '\t');
		text_cell(buf_span(&name), out);
		buf_addf(out, "\t%s\t%.*s\t%zu\n", secret_kind(&p->secret), (int)secret_shown(&p->secret), p->start,
		         p->secret.n);
		rc = cancel_check();
	}
	catalog_put(list->catalog, s);
	return rc < 0 ? rc : buf_err(&name);
}

int table_secrets(const struct fact_list *list, struct buf *out)
{
	int rc = facts_error(list);
	if (rc == 0)
		rc = parallel_for(list->n, secrets_look, (void *)list);
	buf_adds(out, SECRETS_HEADING);
	for (size_t i = 0; i < list->n && rc == 0; i++)
		rc = add_secrets(list, &list->v[i], atomic_load(&kept_of(&list->v[i])->places), out);
	return rc < 0 ? rc : buf_err(out);
}
