/* SPDX-License-Identifier: MIT */
/* pages: html/index.html, search/QUERY/hits.html and usage.svg. Each function appends to `out` and returns 0 or
 * a negative errno (-EINTR: cancel_check). Formats: sessionfs(5). */
#ifndef SESSIONFS_PAGES_H
#define SESSIONFS_PAGES_H

#include "sessionfs/find/facts.h"
#include "sessionfs/find/search.h"

/* The page of all sessions: a plot of the usage and a row for each session. link() appends the path of a session's
 * page, relative to this page's directory. */
int index_page(const struct fact_list *list, int (*link)(void *arg, const struct fact *f, struct buf *out), void *arg,
               struct buf *out);

/* hits.txt as a page: the query, the hints (lines), and for each session its title, project, day and entries, with the
 * lines of hits.txt. An entry's link ends in `&find=` and the words of the query, which the script of its page marks.
 * link() is as above; if it fails, the session is skipped, because it was removed. */
int hits_page(const struct answer *h, struct span hints, int (*link)(void *arg, uint32_t slot, struct buf *out),
              void *arg, struct buf *out);

/* An SVG of the cost by day, stacked by model, for the last twelve months with usage; of the tokens if all costs are 0.
 * The numbers are the ones in usage.tsv. With `alone` it is a file of its own, else part of a page with the style of
 * html_index. The page also gets a folded plot of all time if there is older usage: by week, month or more years. */
int plot_usage(const struct fact_list *list, bool alone, struct buf *out);

#endif
