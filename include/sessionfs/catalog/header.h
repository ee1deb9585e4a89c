/* SPDX-License-Identifier: MIT */
/* The name and the first line of a session file, read without an index. */
#ifndef SESSIONFS_CATALOG_HEADER_H
#define SESSIONFS_CATALOG_HEADER_H

#include "sessionfs/base/buf.h"
#include "sessionfs/file/resolver.h"

#include <stdint.h>

/* The kind of a file, by the last part of its path. */
enum header_name {
	NAME_OTHER,
	NAME_SESSION,    /* *.jsonl */
	NAME_ARCHIVE,    /* *.jsonl.reset.* or *.jsonl.deleted.*: OpenClaw's names for archived files */
	NAME_COMPRESSED, /* one of the above with .gz, .zst or .xz appended: never read */
};
/* Sets *ret_at (can be NULL) to the offset of `.jsonl` in the path; not meaningful for NAME_OTHER. */
enum header_name header_name(const char *path, size_t *ret_at);

/* The next read reuses the bufs. Release with header_release. */
struct header {
	struct stat st;     /* of the file that was read; st_mode 0 if it could not be opened */
	mode_t mode;        /* each class's rights; the owner's with an ACL or a closed link; no w in v1; 0 as above */
	struct buf id, cwd; /* exact bytes; cwd empty if absent */
	struct buf parent;  /* parentSession, or branchedFrom in old files; empty if absent */
	const char *reason; /* why the file is not a session; NULL if it is one, or if `err` is set */
	bool has_ids;       /* as in struct format */
	bool linked;        /* as in struct resolved */
	bool is_later;      /* `reason` is that its version is too new */
	/* Why its ACL could not be read, so that only the owner has rights; or 0. Some file systems return EIO for
	 * every ACL. */
	int acl_err;
	int err;       /* why the file could not be read: a negative errno, or 0 */
	uint32_t line; /* the line that decided, from 1 */
};
#define HEADER_INIT                                                                                                    \
	{                                                                                                              \
		.line = 1                                                                                              \
	}
void header_release(struct header *h);
#define CLEANUP_HEADER CLEANUP(header_release)

/* Reads as much of the file as needed, at most HEADER_SCAN bytes (pi's own limit). Returns true if it is a session. */
#define HEADER_SCAN ((size_t)1 << 20)
bool header_read(const struct source_path *at, enum resolve_how how, struct header *h);

#endif
