/* SPDX-License-Identifier: MIT */
/* A stage accepts writes at any offset and in any number of pieces, as editors send them. It checks only the bytes
 * before the first gap: a program that writes the end first can still write the beginning, and one that overwrites a
 * longer text can still cut off the rest. */
#include "sessionfs/write/stage.h"

#include <errno.h>

/* Room for bytes around a value: a BOM, CR LF. */
#define STAGE_MARGIN 16

/* Returns the length as a JSON string: its size on disk. */
static size_t json_quoted_size(const char *p, size_t n)
{
	size_t size = n;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];
		if (c < ' ')
			size += strchr("\b\f\n\r\t", c) && c ? 1 : 5;
		else if (c == '"' || c == '\\')
			size++;
	}
	return size;
}

int stage_init(struct stage *st, const struct value_form *form, struct span shown, bool truncated)
{
	*st = (struct stage){.form = form, .bytes = BUF_INIT, .dirty = truncated};
	if (!truncated)
		buf_addspan(&st->bytes, shown);
	st->json_size = json_quoted_size(st->bytes.p, st->bytes.n);
	return buf_err(&st->bytes);
}

void stage_release(struct stage *st)
{
	buf_release(&st->bytes);
}

static int stage_fail(struct stage *st, int rc)
{
	st->error = rc;
	st->dirty = st->was_written = false;
	st->written_end = st->json_size = 0;
	buf_release(&st->bytes);
	return rc;
}

/* Fills up to `size` with NUL. */
static int stage_grow(struct stage *st, size_t size)
{
	if (size <= st->bytes.n)
		return 0;
	size_t more = size - st->bytes.n;
	char *to = buf_reserve(&st->bytes, more);
	if (!to)
		return -ENOMEM;
	memset(to, 0, more);
	st->json_size += json_quoted_size(to, more);
	st->bytes.n = size;
	return 0;
}

int stage_write(struct stage *st, struct span bytes, uint64_t off, bool *ret_whole, const char **ret_why)
{
	*ret_whole = false;
	if (st->error)
		return st->error;
	if (bytes.n == 0)
		return 0;
	uint64_t limit = st->form->limit + STAGE_MARGIN;
	if (off > limit || bytes.n > limit - off) {
		*ret_why = st->form->too_long;
		return stage_fail(st, -EFBIG);
	}
	bool gap = off > st->bytes.n;
	bool first = st->bytes.n == 0 && off == 0 && !st->was_written;
	int rc = stage_grow(st, (size_t)off + bytes.n);
	if (rc < 0)
		return stage_fail(st, rc);
	st->json_size -= json_quoted_size(st->bytes.p + off, bytes.n);
	memcpy(st->bytes.p + off, bytes.p, bytes.n);
	st->json_size += json_quoted_size(bytes.p, bytes.n);
	st->dirty = st->was_written = true;
	if (st->written_end < (size_t)off + bytes.n)
		st->written_end = (size_t)off + bytes.n;
	struct span written = {st->bytes.p, st->written_end};
	/* A table is checked as a whole: checking all of it for each piece would be quadratic. */
	if (!gap && !st->form->is_table)
		rc = value_check_prefix(st->form, written, ret_why);
	/* A NUL can be a gap that is filled later: the commit checks it. */
	if (rc == -EINVAL && memchr(written.p, '\0', written.n) && !memchr(bytes.p, '\0', bytes.n))
		rc = 0;
	if (rc < 0)
		return stage_fail(st, rc);
	*ret_whole = first && value_is_line(st->form, bytes);
	return 0;
}

int stage_resize(struct stage *st, uint64_t size, const char **ret_why)
{
	if (st->error)
		return st->error;
	if (size > st->form->limit + STAGE_MARGIN) {
		*ret_why = st->form->too_long;
		return stage_fail(st, -EFBIG);
	}
	/* Setting an empty text is a change, even of a file that was just created. */
	if (size == st->bytes.n && size > 0)
		return 0;
	int rc = stage_grow(st, (size_t)size);
	if (rc < 0)
		return stage_fail(st, rc);
	st->json_size -= json_quoted_size(st->bytes.p + size, st->bytes.n - (size_t)size);
	st->bytes.n = (size_t)size;
	if (st->written_end > st->bytes.n)
		st->written_end = st->bytes.n;
	st->dirty = true;
	return 0;
}

void stage_finish(struct stage *st, int verdict)
{
	if (verdict < 0)
		stage_fail(st, verdict);
	else {
		st->dirty = st->was_written = false;
		st->written_end = 0;
	}
}
