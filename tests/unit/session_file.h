/* SPDX-License-Identifier: MIT */
/* session_file: one session file with a unique name, and its index. */
#ifndef SESSION_FILE_H
#define SESSION_FILE_H

#include "sessionfs/session/session.h"

#include "files.h"
#include "session_lines.h"

struct fixture {
	char path[64];
	struct session *s;
};

static inline void append(const struct fixture *f, const void *p, size_t n)
{
	write_at(f->path, O_APPEND, p, n);
}

/* An empty file. */
static inline void fixture_init(struct fixture *f)
{
	*f = (struct fixture){.path = "/tmp/sessionfs-test-XXXXXX"};
	int fd = mkstemp(f->path);
	assert_true(fd >= 0);
	close(fd);
}

static inline void fixture_release(struct fixture *f)
{
	session_close(f->s);
	unlink(f->path);
}

#define CLEANUP_FIXTURE CLEANUP(fixture_release)

static inline int open_bytes(struct fixture *f, const void *p, size_t n)
{
	fixture_init(f);
	append(f, p, n);
	return session_open(&(struct source_path){NULL, f->path}, false, &f->s);
}

static inline struct session *open_text(struct fixture *f, const char *text)
{
	assert_int_equal(open_bytes(f, text, strlen(text)), 0);
	return f->s;
}

/* Appends the lines, and indexes them. */
static inline void append_lines(const struct fixture *f, const char *lines)
{
	append(f, lines, strlen(lines));
	assert_int_equal(session_grow(f->s), 1);
}

#endif
