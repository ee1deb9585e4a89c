/* SPDX-License-Identifier: MIT */
/* The table of --secrets. Reads all files, on all cores: making an index does not search for keys. */
#include "find_impl.h"
#include "sessionfs/find/tables.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/parallel.h"
#include "sessionfs/base/progress.h"
#include "sessionfs/file/opened.h"
#include "sessionfs/file/secret.h"
#include "sessionfs/find/match.h"

#include <errno.h>
#include <fcntl.h>

#define SECRETS_HEADING "project\tstem\tentry\tkind\tstart\tlength\n"

enum { SECRETS_READ_SIZE = LIMIT(256 * 1024, 100) };

/* The result for one session. */
struct secret_scan {
	const struct fact_list *list;
	const struct fact *fact;
	struct session *session; /* held; NULL until a key is found */
	_Atomic size_t *done;    /* sessions searched, of all */
	struct buf rows;
	int error; /* why the rest of it could not be read */
};

/* --- one file --------------------------------------------------------------------- */

/* Adds the keys in the complete lines that begin at `off`. */
static int secrets_add_rows(struct secret_scan *l, struct span text, uint64_t off)
{
	struct secrets found CLEANUP(secrets_release) = {0};
	struct buf name CLEANUP_BUF = BUF_INIT;
	int rc = secrets_find(text, &found);
	if (rc == 0 && found.n && !l->session)
		rc = catalog_session_get(l->list->catalog, l->fact->slot, &l->session);
	for (size_t i = 0; i < found.n && rc == 0; i++) {
		const struct secret *secret = &found.v[i];
		uint64_t at = off + secret->at;
		uint32_t entry = match_entry_at(l->session, at);
		buf_reset(&name);
		if (entry < session_count(l->session) && session_entry(l->session, entry)->offset <= at)
			session_entry_name(l->session, entry, &name);
		tables_add_location(l->fact, &l->rows);
		text_add_cell(buf_span(&name), &l->rows);
		buf_addf(&l->rows, "\t%s\t%.*s\t%zu\n", secret_kind(secret), (int)secret_prefix_size(secret),
		         text.p + secret->at, secret->n);
		rc = cancel_check();
	}
	return rc < 0 ? rc : buf_err(&name);
}

/* Scans the raw bytes. Lines over SECRET_LINE bytes are skipped. */
static int secrets_scan_file(struct secret_scan *l, struct opened *file)
{
	struct buf bytes CLEANUP_BUF = BUF_INIT;
	uint64_t off = 0; /* of `bytes` in the file */
	bool is_long = false;
	int rc = 0;
	for (ssize_t got = 1; rc == 0 && got > 0;) {
		char *p = buf_reserve(&bytes, SECRETS_READ_SIZE);
		got = p ? opened_pread_raw(file, p, SECRETS_READ_SIZE, off + bytes.n) : buf_err(&bytes);
		if (got < 0)
			return (int)got;
		const char *newline = memrchr(p, '\n', (size_t)got);
		bytes.n += (size_t)got;
		size_t n = newline ? (size_t)(newline + 1 - bytes.p) : got == 0 || bytes.n > SECRET_LINE ? bytes.n : 0;
		size_t skip = 0;
		if (is_long || (n > SECRET_LINE && !memchr(bytes.p, '\n', SECRET_LINE + 1))) {
			const char *end = memchr(bytes.p, '\n', n);
			is_long = !end && got > 0;
			skip = end ? (size_t)(end - bytes.p) : n;
		}
		rc = secrets_add_rows(l, (struct span){bytes.p + skip, n - skip}, off + skip);
		off += n;
		bytes.n -= n;
		memmove(bytes.p, bytes.p + n, bytes.n);
		if (rc == 0)
			rc = cancel_check();
	}
	return rc;
}

/* --- the table -------------------------------------------------------------------- */

/* Finds the keys in a session. A removed one has none, and invalidates this table. */
static int secrets_scan_session(void *arg, size_t i)
{
	struct secret_scan *l = (struct secret_scan *)arg + i;
	const struct source_path at = {catalog_resolver(l->list->catalog), l->fact->file};
	struct resolved got = RESOLVED_INIT;
	struct opened *file = NULL;
	int rc = resolve_file(&at, RESOLVER_WAIT, O_RDONLY, &got);
	if (rc == 0)
		rc = opened_new(at.resolver, &got, &file);
	if (rc == 0)
		rc = secrets_scan_file(l, file);
	opened_put(file);
	if (l->session)
		catalog_session_put(l->list->catalog, l->session);
	size_t done = atomic_fetch_add(l->done, 1) + 1;
	progress_show((double)done / (double)l->list->n, "searched %zu of %zu sessions", done, l->list->n);
	l->error = error_is_about_file(rc) ? rc : 0;
	if (l->error)
		catalog_log_unreadable(l->list->catalog, l->fact->slot, rc);
	return l->error || error_is_absence(rc) ? 0 : rc;
}

int table_secrets(const struct fact_list *list, struct buf *out)
{
	struct secret_scan *all CLEANUP_FREE = calloc(list->n + 1, sizeof *all);
	_Atomic size_t done = 0;
	int rc = all ? facts_list_error(list) : -ENOMEM;
	for (size_t i = 0; all && i < list->n; i++)
		all[i] = (struct secret_scan){.list = list, .fact = &list->v[i], .done = &done, .rows = BUF_INIT};
	if (rc == 0)
		rc = parallel_for(list->n, secrets_scan_session, all);
	buf_adds(out, SECRETS_HEADING);
	for (size_t i = 0; all && i < list->n; i++) {
		rc = rc < 0 ? rc : all[i].error ? all[i].error : buf_err(&all[i].rows);
		buf_addspan(out, buf_span(&all[i].rows));
		buf_release(&all[i].rows);
	}
	return rc < 0 ? rc : buf_err(out);
}
