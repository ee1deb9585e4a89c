/* SPDX-License-Identifier: MIT */
/* Caches the lines of one message: the one requested last. */
#include "calls.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/session/part.h"

/* Lines of a longer message are made only when a result requests them: it may have no results. */
#define CALL_TEXTS_MAX ((uint64_t)64 << 10)

/* The reader's scratch[2] has the lines of one message's calls, scratch[3] the number of its entry and the end of each
 * line. */

/* Returns the n-th cached line, if it belongs to entry i. */
static bool call_texts_find(uint32_t i, unsigned n, const struct reader *reader, struct span *ret)
{
	const uint64_t *kept = (const void *)reader->scratch[3].p;
	size_t count = reader->scratch[3].n / sizeof *kept;

	if (count == 0 || kept[0] != i)
		return false;
	*ret = (struct span){"", 0};
	if (n > 0 && n < count) {
		uint64_t from = n > 1 ? kept[n - 1] : 0;
		*ret = (struct span){reader->scratch[2].p + from, (size_t)(kept[n] - from)};
	}
	return true;
}

static void cache_add_number(struct buf *kept, uint64_t n)
{
	buf_add(kept, (const char *)&n, sizeof n);
}

static int call_texts_build(const struct session *s, uint32_t i, const struct record *r, call_text *make,
                            struct reader *reader)
{
	struct tool_use use CLEANUP_TOOL = TOOL_USE_INIT;
	struct buf *texts = &reader->scratch[2], *kept = &reader->scratch[3];
	struct part_call call = {0};
	int rc = 0;

	buf_reset(texts);
	buf_reset(kept);
	cache_add_number(kept, i);
	while (rc == 0 && part_call_next(r, &call)) {
		tool_read(call.name, call.arguments, &use);
		make(s, &use, texts);
		cache_add_number(kept, texts->n);
		rc = cancel_check();
	}
	rc = buf_err(texts) ? buf_err(texts) : rc;
	rc = buf_err(kept) ? buf_err(kept) : rc;
	if (rc < 0)
		buf_reset(kept);
	return rc;
}

int call_texts_cache(const struct session *s, uint32_t i, const struct record *r, call_text *make,
                     struct reader *reader)
{
	const struct entry *e = session_entry(s, i);

	return e->flags & ENTRY_HAS_CALLS && e->length <= CALL_TEXTS_MAX ? call_texts_build(s, i, r, make, reader) : 0;
}

int call_texts_get(const struct session *s, uint32_t i, unsigned n, call_text *make, struct reader *reader,
                   struct span *ret)
{
	struct record r;

	if (call_texts_find(i, n, reader, ret))
		return 0;
	int rc = session_read(s, i, reader, &r);
	rc = rc == 0 ? call_texts_build(s, i, &r, make, reader) : rc;
	if (rc == 0)
		call_texts_find(i, n, reader, ret);
	return rc;
}

static bool skip_prefix(struct span *text, struct span start)
{
	if (text->n == start.n || !span_begins(*text, start))
		return false;
	*text = (struct span){text->p + start.n, text->n - start.n};
	return true;
}

/* Removes the session's directory from the beginning of a path, and "cd DIRECTORY" from a command's: they are long, and
 * the same in most calls. Compares raw JSON, including escapes: one program wrote it. */
static void tool_use_strip_cwd(struct span cwd, struct tool_use *u)
{
	struct span path = u->path.text, command = u->command.text;

	if (cwd.n == 0)
		return;
	if (u->path.kind == JSON_STRING && skip_prefix(&path, cwd) && skip_prefix(&path, SPAN_LIT("/")))
		u->path.text = path;
	if (u->command.kind == JSON_STRING && skip_prefix(&command, SPAN_LIT("cd ")) && skip_prefix(&command, cwd) &&
	    skip_prefix(&command, SPAN_LIT(" && ")))
		u->command.text = command;
}

void call_add_summary(const struct session *s, const struct tool_use *u, struct buf *out)
{
	struct json_value cwd = session_header(s)->cwd;
	struct tool_use shown = *u;

	if (cwd.kind == JSON_STRING)
		tool_use_strip_cwd(cwd.text, &shown);
	tool_add_summary(&shown, out);
}
