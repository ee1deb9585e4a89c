/* The same index once more. A reader can be at work for long, and nobody may change what he reads: so that the others
 * need not wait for him to see what the file has more, a copy grows in place of what he has. Copying moves some 64
 * bytes an entry; reading the file anew would be a hundred times that. */
#include "session_impl.h"

/* Ids are found while entries are linked, by whoever holds the session for writing; the rest is made again when it is
 * asked for. v1 files derive even that. */
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

/* Copies every member that is no pointer; `copy` keeps its own path, lock and derived data. */
static void copy_plain(const struct session *s, struct session *copy)
{
	const struct session own = *copy;

	/* Others read and wait for its lock meanwhile. */
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
	/* All of them, whatever fails: none may be shared. */
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
