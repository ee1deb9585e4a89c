/* A copy of the index. A reader can be at work for long, and what it reads must not change. The others need not wait
 * for it to see what was appended: a copy grows instead. Copying moves some 64 bytes an entry; reading the file again
 * would cost a hundred times that. */
#include "session_impl.h"

/* The table of ids is filled while entries are linked, under the lock for writing, so it is copied. The rest is derived
 * again when it is needed; for v1 files the table is, too. */
static bool copy_table(const struct session *s, struct session *copy)
{
	const struct id_table *from = &s->derived->table;
	if (!s->format->has_ids || !from->size)
		return true;
	uint32_t *slots = malloc(from->size * sizeof *slots);
	if (!slots)
		return false;
	memcpy(slots, from->slots, from->size * sizeof *slots);
	copy->derived->table = *from;
	copy->derived->table.slots = slots;
	return true;
}

/* The header's record points into the line that it was read from. */
static bool copy_header(const struct session *s, struct session *copy)
{
	CLEANUP_BUF struct buf deep = BUF_INIT;

	buf_addspan(&copy->header_line, buf_span(&s->header_line));
	buf_addspan(&copy->sid, buf_span(&s->sid));
	if (buf_err(&copy->header_line) || buf_err(&copy->sid))
		return false;
	record_parse(buf_span(&copy->header_line), NULL, &deep, &copy->header);
	return true;
}

/* Copies every member that is not a pointer; `copy` keeps its own path, lock and derived data. */
static void copy_plain(const struct session *s, struct session *copy)
{
	const struct session own = *copy;

	/* Not *s as a whole: meanwhile other threads use its lock. */
	size_t from = offsetof(struct session, lock), to = from + sizeof s->lock;
	memcpy(copy, s, from);
	memcpy((char *)copy + to, (const char *)s + to, sizeof *s - to);
	copy->path = own.path;
	copy->derived = own.derived;
	copy->header_line = own.header_line;
	copy->sid = own.sid;
	copy->file = s->file ? opened_get(s->file) : NULL;
}

int session_copy(const struct session *s, struct session **ret)
{
	struct session *copy = session_new(&(struct reach_at){s->reach, s->path});
	bool done = true;

	if (!copy)
		return -ENOMEM;
	copy_plain(s, copy);
	/* Goes through all of them even if one fails: none may be shared. */
#define COPY(vec) done &= vec_copy(&copy->vec.v, &copy->vec.cap, copy->vec.n, sizeof *copy->vec.v);
	SESSION_VECTORS(COPY)
	done = done && copy_header(s, copy) && copy_table(s, copy);
	if (!done) {
		session_close(copy);
		return -ENOMEM;
	}
	*ret = copy;
	return 0;
}
