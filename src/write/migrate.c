/* SPDX-License-Identifier: MIT */
#include "sessionfs/write/migrate.h"

#include "sessionfs/base/deferred.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/render/migrated.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#define MIGRATION_FLUSH_SIZE ((size_t)LIMIT(1 << 20, 64))

struct migration {
	const struct session *s;
	int fd;
	struct buf out;
};

static int migration_flush(struct migration *m)
{
	if (buf_err(&m->out))
		return buf_err(&m->out);
	for (size_t done = 0; done < m->out.n;) {
		ssize_t n = write(m->fd, m->out.p + done, m->out.n - done);
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	buf_reset(&m->out);
	return 0;
}

/* Copies the headers between entries. Other lines there do not parse, or pi ignores them. */
static int migration_copy_headers(struct migration *m, uint64_t from, uint64_t to)
{
	struct buf gap CLEANUP_BUF = BUF_INIT, deep CLEANUP_BUF = BUF_INIT;
	if (to <= from)
		return 0;
	if (to - from > SSIZE_MAX)
		return -ENOMEM;
	char *p = buf_reserve(&gap, (size_t)(to - from));
	ssize_t n = p ? session_pread(m->s, p, (size_t)(to - from), from) : buf_err(&gap);
	if (n < 0)
		return (int)n;
	gap.n = (size_t)n;
	struct span rest = buf_span(&gap), line;
	while (span_line(&rest, &line)) {
		struct record r;
		if (!record_parse(line, session_format(m->s), &deep, &r) || r.type != RECORD_SESSION)
			continue;
		int rc = migrated_add_header(&r, &m->out);
		if (rc < 0)
			return rc;
		buf_addc(&m->out, '\n');
	}
	return buf_err(&m->out);
}

static int migration_add_entries(struct migration *m)
{
	struct line line CLEANUP_LINE = LINE_INIT;
	uint64_t at = 0;
	uint32_t n = session_count(m->s);
	for (uint32_t i = 0; i < n; i++) {
		const struct entry *e = session_entry(m->s, i);
		struct record r;
		int rc = migration_copy_headers(m, at, e->offset);
		if (rc == 0)
			rc = session_load(m->s, i, &line, &r);
		if (rc < 0)
			return rc;
		rc = migrated_add_entry(m->s, i, &r, &m->out);
		buf_addc(&m->out, '\n');
		if (rc == 0 && m->out.n > MIGRATION_FLUSH_SIZE)
			rc = migration_flush(m);
		if (rc < 0)
			return rc;
		at = e->offset + e->length;
	}
	int rc = migration_copy_headers(m, at, (uint64_t)session_stat(m->s)->st_size);
	return rc < 0 ? rc : migration_flush(m);
}

int migrate_write(const struct session *s, int fd)
{
	struct migration m = {.s = s, .fd = fd, .out = BUF_INIT};
	int deferred = deferred_push();
	int rc = deferred_pop(deferred, migration_add_entries(&m));
	buf_release(&m.out);
	return rc;
}
