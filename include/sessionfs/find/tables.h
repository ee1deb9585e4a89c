/* SPDX-License-Identifier: MIT */
/* tables: sessions.tsv, usage.tsv, files.tsv, problems.tsv, labels.tsv and the table of --secrets. Formats:
 * sessionfs(5). Each function appends to `out` and returns 0 or a negative errno. */
#ifndef SESSIONFS_TABLES_H
#define SESSIONFS_TABLES_H

#include "sessionfs/find/facts.h"

int table_sessions(const struct fact_list *list, struct buf *out);
int table_usage(const struct fact_list *list, struct buf *out);
int table_files(const struct fact_list *list, struct buf *out);
/* If it leaves out a session that cannot be read now, returns that errno as a positive number. */
int table_problems(const struct fact_list *list, struct buf *out);
int table_labels(const struct fact_list *list, struct buf *out);
/* After the error of a session, `out` has the rows of the others. */
int table_secrets(const struct fact_list *list, struct buf *out);

#endif
