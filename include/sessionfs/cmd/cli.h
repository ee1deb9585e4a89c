/* cli: the tree without a mount, for --cat, --ls and --tree. The same bytes as
 * the mount gives, from the same code. Each writes to `out` and returns 0 or a
 * negative errno; the caller prints the message. Paths are relative to the mount root. */
#ifndef SESSIONFS_CLI_H
#define SESSIONFS_CLI_H

#include "sessionfs/tree/tree.h"

#include <stdio.h>

/* The file's bytes; links are followed. -EISDIR for a directory. */
int cli_cat(struct tree *t, const char *path, FILE *out);

/* A long listing of a directory, or the one line of a file or link; `json`: an array, one object a line. */
int cli_ls(struct tree *t, const char *path, bool json, FILE *out);

/* Every name below `path`, indented by depth. */
int cli_tree(struct tree *t, const char *path, FILE *out);

#endif
