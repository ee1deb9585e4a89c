/* SPDX-License-Identifier: MIT */
/* A session's index knows its problems; the catalog knows why other files are not sessions. This prints both as lines
 * that grep, sort and editors understand. */
#include "sessionfs/cmd/check.h"

#include "sessionfs/catalog/catalog.h"
#include "sessionfs/base/progress.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/space.h"
#include "sessionfs/base/sys.h"
#include "sessionfs/base/utf8.h"

#include "sessionfs/catalog/header.h"

struct check_run {
	struct catalog *catalog;
	struct header header; /* scratch */
	struct buf line;      /* scratch */
	FILE *out;
	size_t found, files, done;
};

/* Appends text on one line: control characters, ill-formed bytes and, with `backslash`, backslashes become \xNN. */
static void check_add_escaped(struct buf *out, struct span s, bool backslash)
{
	for (size_t i = 0; i < s.n;) {
		int n = utf8_next(s.p + i, s.n - i);
		size_t bytes = (size_t)(n > 0 ? n : -n);
		bool control = control_size((struct span){s.p + i, s.n - i}) > 0;
		bool hex = n < 0 || control || (s.p[i] == '\\' && backslash);
		if (!hex)
			buf_add(out, s.p + i, bytes);
		for (size_t k = 0; hex && k < bytes; k++)
			buf_addf(out, "\\x%02X", (unsigned char)s.p[i + k]);
		i += bytes;
	}
}

static int check_report(struct check_run *c, const char *file, uint32_t line, const char *reason)
{
	progress_clear();
	buf_reset(&c->line);
	check_add_escaped(&c->line, span_of(file), true);
	buf_addf(&c->line, ":%u: ", line ? line : 1);
	check_add_escaped(&c->line, span_of(reason), false);
	buf_addc(&c->line, '\n');
	if (buf_err(&c->line))
		return -ENOMEM;
	c->found++;
	return fwrite(c->line.p, 1, c->line.n, c->out) == c->line.n ? 0 : -EIO;
}

/* Counts the messages on the path to each entry. `stack` has room for all of them. */
static void check_count_messages(const struct session *s, uint32_t *messages, uint32_t *stack)
{
	uint32_t count = session_count(s);
	memset(messages, 0xff, count * sizeof *messages); /* not counted yet */
	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = 0, k = i;
		while (k != NO_ENTRY && messages[k] == UINT32_MAX) {
			const struct entry *e = session_entry(s, k);
			messages[k] = 0; /* a cycle ends here */
			stack[n++] = k;
			k = e->flags & ENTRY_WALK_ENDS ? NO_ENTRY : e->parent;
		}
		uint32_t above = k == NO_ENTRY ? 0 : messages[k];
		while (n > 0) {
			const struct entry *e = session_entry(s, stack[--n]);
			above += e->type == RECORD_MESSAGE && !(e->flags & ENTRY_NO_MESSAGE);
			messages[stack[n]] = above;
		}
	}
}

/* Reports a longer branch than the leaf's: after the leaf was moved, the user may look for the rest of the session. */
static int check_report_leaf(struct check_run *c, const char *file, const struct session *s)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	uint32_t leaf = session_leaf(s), longest = leaf;
	uint32_t *messages CLEANUP_FREE = malloc(session_count(s) * sizeof *messages + 1);
	uint32_t *stack CLEANUP_FREE = malloc(session_count(s) * sizeof *stack + 1);
	if (!messages || !stack)
		return -ENOMEM;
	if (leaf == NO_ENTRY)
		return 0;
	check_count_messages(s, messages, stack);
	for (uint32_t i = 0; i < session_count(s); i++)
		if (session_is_tip(s, i) && (session_entry(s, i)->flags & ENTRY_ADDRESSED) &&
		    messages[i] > messages[longest])
			longest = i;
	if (messages[leaf] >= (messages[longest] + 9) / 10)
		return 0;
	buf_addf(&text, "messages to this entry: %u, to the leaf: %u; to continue from here, `ln -sfn entries/",
	         messages[longest], messages[leaf]);
	session_entry_name(s, longest, &text);
	buf_adds(&text, " leaf` in the directory of the session in a mount");
	const char *reason = buf_cstr(&text);
	return reason ? check_report(c, file, session_entry(s, longest)->line, reason) : -ENOMEM;
}

static int check_report_session(struct check_run *c, const char *file, uint32_t slot)
{
	struct buf reason CLEANUP_BUF = BUF_INIT;
	struct session *s;

	int rc = catalog_session_get(c->catalog, slot, &s);
	if (rc == -ENOMEM)
		return rc;
	if (rc < 0)
		return check_report(c, file, 1, rc == -ESTALE ? "changed while it was read" : strerror(-rc));
	int deferred = deferred_begin();
	size_t n = session_problem_count(s);
	rc = deferred_end(deferred, rc);
	for (size_t i = 0; i < n && rc == 0; i++) {
		struct problem p = session_problem(s, i);
		buf_reset(&reason);
		session_problem_add_reason(s, &p, &reason);
		const char *text_of = buf_cstr(&reason);
		rc = text_of ? check_report(c, file, p.line, text_of) : -ENOMEM;
	}
	if (rc == 0)
		rc = check_report_leaf(c, file, s);
	catalog_session_put(c->catalog, s);
	return rc;
}

static int count_file(void *arg, const char *file, uint32_t slot, int err, const char *reason)
{
	struct check_run *c = arg;
	(void)file;
	(void)slot;
	(void)err;
	(void)reason;
	c->files++;
	return 0;
}

static int check_file(void *arg, const char *file, uint32_t slot, int err, const char *reason)
{
	struct check_run *c = arg;
	int rc;
	if (err) {
		rc = check_report(c, file, 1, resolver_error_text(err));
	} else if (reason) {
		/* The catalog knows why the file is not a session. This finds the line. */
		const struct source_path at = {catalog_resolver(c->catalog), file};
		bool is_found = !header_read(&at, RESOLVER_WAIT, &c->header) && c->header.reason &&
		                strcmp(c->header.reason, reason) == 0;
		rc = check_report(c, file, is_found ? c->header.line : 1, reason);
	} else {
		rc = check_report_session(c, file, slot);
	}
	c->done++;
	progress_show((double)c->done / (double)c->files, "checked %zu of %zu files, %zu problems", c->done, c->files,
	              c->found);
	return rc;
}

int check_source(const char *source, const struct check_options *o, FILE *out, FILE *progress, size_t *ret_found)
{
	/* Cache no index: each is used once. */
	struct budget nothing = BUDGET_INIT(0);
	struct check_run c = {.out = out, .header = HEADER_INIT};
	struct progress shown;

	progress_init(&shown, progress, o && o->progress_ms ? o->progress_ms : PROGRESS_DELAY_MS,
	              o && o->progress_always);
	int rc = catalog_open(source, &(struct catalog_options){.budget = &nothing}, &c.catalog);
	if (rc < 0)
		return rc;
	const struct cancel *outer = cancel_set(&(struct cancel){.progress = &shown});
	int deferred = deferred_begin();
	rc = catalog_each_file(c.catalog, count_file, &c);
	if (rc == 0)
		rc = catalog_each_file(c.catalog, check_file, &c);
	rc = deferred_end(deferred, rc);
	progress_clear();
	cancel_set(outer);
	catalog_close(c.catalog);
	header_release(&c.header);
	buf_release(&c.line);
	if (rc == 0 && (fflush(out) != 0 || ferror(out)))
		rc = -EIO;
	if (rc == 0)
		*ret_found = c.found;
	return rc;
}
