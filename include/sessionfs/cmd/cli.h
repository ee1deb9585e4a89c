/* SPDX-License-Identifier: MIT */
/* cli: the tree without a mount, for --cat, --ls, --tree, --copy, --search and --events: the bytes of the mount, from
 * the same code. Functions write to `out` and return 0 or a negative errno; the caller prints the message. A positive
 * errno: the answer was printed, but lacks something. Paths are relative to the mount root. */
#ifndef SESSIONFS_CLI_H
#define SESSIONFS_CLI_H

#include "sessionfs/tree/tree.h"

#include <stdio.h>

/* Prints a file, following links; tree.txt, which can have colours, to `tree`. -EISDIR for a directory. */
int cli_cat(struct tree *t, const char *path, FILE *out, FILE *tree);

/* Lists a directory, a file or a link in long form. `json`: an array with one object per line. */
int cli_ls(struct tree *t, const char *path, bool json, FILE *out);
/* Prints the names in a directory, one per line, with a slash after a directory or a link to one. Prints nothing for
 * other nodes. Computes no size. */
int cli_ls_names(struct tree *t, const char *path, FILE *out);

/* Prints every name below `path`, indented by depth. */
int cli_tree(struct tree *t, const char *path, FILE *out);
/* Prints a session that pi can open from a damaged file, and each change to `messages`. Returns the exit status: 0 if a
 * session was printed, 1 if that is not possible. A sound file is printed unchanged. */
int cli_repair(const char *file, FILE *out, FILE *messages);

/* As tree_lookup, with the size of a table. */
int cli_attr(struct tree *t, node_t dir, struct span name, struct tree_attr *ret);
int cli_put(FILE *out, struct span s);
/* The same for a descriptor, without a buffer. */
int cli_write(int fd, struct span s);

/* The names of a directory, in byte order. They are collected before they are looked up, so that no lock is held
 * then. */
struct cli_names {
	char **v;
	size_t n, cap;
	int err;
};
/* *ret must be all zero. Call cli_names_release even after an error. */
int cli_names_load(struct tree *t, node_t dir, struct cli_names *ret);
void cli_names_release(struct cli_names *all);
/* Returns whether the catalog has logged the file or directory that is the reason for this error of a listing: it has
 * if the listing is above the sessions. */
bool cli_error_is_named(node_t dir, int rc);
bool cli_names_contain(const struct cli_names *all, const char *name);
#define CLI_READ_SIZE ((size_t)1 << 20)
/* Returns the bytes of one read from a file of the tree: all, if it can change in its middle between two reads. */
static inline size_t cli_read_size(node_t node)
{
	return tree_text_change(node) < TREE_REWRITTEN ? CLI_READ_SIZE : SIZE_MAX;
}
/* max depth of a directory in the tree */
#define TREE_LEVELS_MAX 16

/* copy.c: writes `what`, the node at `path`, as real files below the directory `to`, a real path. Keeps existing files
 * of the same size and time. A file replaces only a file, and a link only a link. `removes`: removes names that are not
 * in the tree or are in the way, but nothing from a mount below `to`. Logs each error and copies the rest; prints
 * counts to `out`. Returns false if anything failed. SIGINT, SIGTERM and SIGHUP end the copy between two files, and
 * then the process. */
bool cli_copy(struct tree *t, const char *path, const struct tree_attr *what, const char *to, bool removes, FILE *out);

/* search.c: output of a query: the lines of hits.txt, or sanitized for a terminal, with colours; or the rows of
 * entries.tsv, raw or as one JSON object each. */
enum cli_search_style { CLI_SEARCH_PLAIN, CLI_SEARCH_COLOURED, CLI_SEARCH_ENTRIES, CLI_SEARCH_JSON };
struct cli_search {
	const char *text;      /* the query */
	const char *root;      /* a prefix of each path, or NULL */
	size_t lines, entries; /* max lines of each entry (HIT_LINES: as hits.txt), and max entries */
	enum cli_search_style style;
};
/* Prints the hits, and the number of lines to `messages` (NULL: nowhere). Returns 1, or 0 if nothing was found; -EINVAL
 * for an invalid query, with the reason in `why`. */
int cli_search(struct tree *t, const struct cli_search *how, FILE *out, FILE *messages, struct buf *why);

/* events.c: prints a line for each change until the pipe or socket `fd` has no reader, and then returns 0; or until the
 * source is gone, and then returns -ENOENT. Scans the source every poll_ms (0: four times a second) where inotify does
 * not report changes. Requires catalog_options.watch. Ignores SIGPIPE. */
int cli_events(struct catalog *c, unsigned poll_ms, int fd);

/* pick.c: replaces the process by a shell that runs scripts/sessionfs-pick, where the user chooses a session; an empty
 * query: of all. `given`: the source; NULL: pi's own. `redact` masks keys in all that the script shows. Returns only
 * after an error that it logs, EXIT_FAILURE. */
int cli_pick(const char *given, const char *query, bool redact);

#endif
