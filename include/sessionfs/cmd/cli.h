/* SPDX-License-Identifier: MIT */
/* cli: the tree without a mount, for --cat, --ls and --tree: the bytes that
 * the mount shows, from the same code. Each writes to `out` and returns 0 or a
 * negative errno; the caller prints the message. Paths are relative to the mount root. */
#ifndef SESSIONFS_CLI_H
#define SESSIONFS_CLI_H

#include "sessionfs/tree/tree.h"

#include <stdio.h>

/* The file's bytes; links are followed. -EISDIR for a directory. */
int cli_cat(struct tree *t, const char *path, FILE *out);

/* Lists a directory in long form, or one file or link. `json`: an array with one object a line. */
int cli_ls(struct tree *t, const char *path, bool json, FILE *out);
/* The names in a directory, one a line; a slash ends that of a directory, or of a link to one. Of anything else
 * nothing. No size is found out for it. */
int cli_ls_names(struct tree *t, const char *path, FILE *out);

/* Prints every name below `path`, indented by depth. */
int cli_tree(struct tree *t, const char *path, FILE *out);

/* tree_lookup, with the size of a table. */
int cli_attr(struct tree *t, node_t dir, struct span name, struct tree_attr *ret);
int cli_put(FILE *out, struct span s);

/* The names of a directory, in byte order, collected before they are looked up, so that no lock is held meanwhile. */
struct cli_names {
	char **v;
	size_t n, cap;
	int err;
};
/* Into what is all zero. cli_names_release is called whatever is returned. */
int cli_names_load(struct tree *t, node_t dir, struct cli_names *ret);
void cli_names_release(struct cli_names *all);
bool cli_names_contain(const struct cli_names *all, const char *name);
/* Bytes that one read of a file of the tree asks for. */
#define CLI_READ_SIZE ((size_t)1 << 20)
/* No directory in the tree is deeper. */
#define TREE_LEVELS_MAX 16

/* copy.c: writes `what`, to which `path` leads, as real files below the directory `to`, a real path; what is there and
 * has the same size and time stays. A file replaces only a file, and a link only a link. `removes`: what is not in the
 * tree is removed, also what is in the way, but nothing from a mount below `to`. What fails is logged, and the rest
 * copied; how much was done goes to `out`. False if anything failed. SIGINT, SIGTERM and SIGHUP end it between two
 * files, and then the process. */
bool cli_copy(struct tree *t, const char *path, const struct tree_attr *what, const char *to, bool removes, FILE *out);

/* search.c: what a query finds: the lines of hits.txt, as they are, or for a terminal, perhaps with colours; or the
 * rows of entries.tsv, as they are or a JSON object each. */
enum cli_search_style {
	CLI_SEARCH_PLAIN,
	CLI_SEARCH_SANITIZED,
	CLI_SEARCH_COLOURED,
	CLI_SEARCH_ENTRIES,
	CLI_SEARCH_JSON
};
struct cli_search {
	const char *text;      /* the query */
	const char *root;      /* a directory to put before each path, or NULL */
	size_t lines, entries; /* at most so many lines of each entry (HIT_LINES: those of hits.txt), and entries */
	enum cli_search_style style;
};
/* Prints it. How many lines there were goes to `messages` (NULL: nowhere). 1, or 0 if nothing was found; -EINVAL for a
 * text that is no query, with the reason in `why`. */
int cli_search(struct tree *t, const struct cli_search *how, FILE *out, FILE *messages, struct buf *why);

/* pick.c: becomes the shell that runs scripts/sessionfs-pick, where the user chooses a session; an empty query: of all.
 * `given`: the source, NULL for pi's own. Returns only after a message, EXIT_FAILURE. */
int cli_pick(const char *given, const char *query);

#endif
