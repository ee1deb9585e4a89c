/* SPDX-License-Identifier: MIT */
/* hits_page: search/QUERY/hits.html, hits.txt as a page. */
#ifndef SESSIONFS_HITS_PAGE_H
#define SESSIONFS_HITS_PAGE_H

#include "sessionfs/find/search.h"

/* Appends the page: the query, the hints (lines), and for each session its title and its entries, with the lines of
 * hits.txt. link() appends the path of a session's page, relative to this page's directory; if it fails, the session is
 * skipped, because it was removed. Returns 0 or a negative errno (-EINTR: cancel_check). Format: sessionfs(5). */
/* Appends a field for a query, also for index.html. */
void hits_add_field(struct span query, struct buf *out);
int hits_page(const struct answer *h, struct span hints, int (*link)(void *arg, uint32_t slot, struct buf *out),
              void *arg, struct buf *out);

#endif
