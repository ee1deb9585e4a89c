/* SPDX-License-Identifier: MIT */
/* index: html/index.html, the page of all sessions. */
#ifndef SESSIONFS_INDEX_H
#define SESSIONFS_INDEX_H

#include "sessionfs/find/facts.h"

/* Appends the page: a plot of the usage and a row for each session. link() appends the path of a session's page,
 * relative to this page's directory. Returns 0 or a negative errno. Format: sessionfs(5). */
int index_page(const struct fact_list *list, int (*link)(void *arg, const struct fact *f, struct buf *out), void *arg,
               struct buf *out);

#endif
