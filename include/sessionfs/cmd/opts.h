/* SPDX-License-Identifier: MIT */
/* opts: the command line as a struct. Strings point into argv; only `fuse` is owned. */
#ifndef SESSIONFS_OPTS_H
#define SESSIONFS_OPTS_H

#include "sessionfs/base/buf.h"

#include <stdint.h>
#include <stdio.h>

enum opts_action {
	OPTS_MOUNT,
	OPTS_HELP,
	OPTS_VERSION,
	OPTS_CAT,
	OPTS_LS,
	OPTS_TREE,
	OPTS_CHECK,
	OPTS_SECRETS,
	OPTS_REPAIR,
	OPTS_EVENTS,
	OPTS_SEARCH,
	OPTS_COPY,
	OPTS_PICK,
	OPTS_UNMOUNT,
};

enum opts_color { OPTS_COLOR_AUTO, OPTS_COLOR_ALWAYS, OPTS_COLOR_NEVER };

struct opts {
	enum opts_action action;
	const char *source;   /* NULL: pi's own sessions */
	const char *target;   /* the mountpoint; the path in the tree to cat, ls, tree or copy; or the query. NULL:
	                         unmount the only mount */
	size_t cache;         /* bytes */
	unsigned log_level;   /* enum log_level */
	unsigned color;       /* enum opts_color */
	unsigned max_threads; /* threads that answer requests */
	unsigned poll_ms;     /* how often to poll the source; 0: only where inotify does not work */
	bool read_only, redact, allow_other, allow_root, default_permissions, nonempty, foreground, debug,
	    single_thread, json, names;
	bool entries;          /* a search prints a table of entries */
	unsigned lines, limit; /* max lines of each entry, and max entries of a search; 0: all */
	const char *root;      /* prefix of the paths that a search prints, or NULL */
	const char *to;        /* the directory that a copy writes to */
	bool copy_deletes;     /* remove other names there */
	struct buf fuse;       /* libfuse's options, as one -o list, or empty */
	FILE *out, *messages;  /* the caller's: standard output and error, without commands to a terminal */
};

#define OPTS_INIT                                                                                                      \
	{                                                                                                              \
		.fuse = BUF_INIT                                                                                       \
	}

/* Parses argv into *ret, initialised with OPTS_INIT. Returns 0, -ENOMEM, or -EINVAL with one line (no newline) appended
 * to `why`. If the program is called as mount.*, ignores mount(8)'s -f, -n, -s, -v and -t TYPE. */
int opts_parse(int argc, char *const argv[], struct opts *ret, struct buf *why);
void opts_release(struct opts *o);

/* Prints the usage text, from the same table. */
void opts_usage(FILE *out);

#endif
