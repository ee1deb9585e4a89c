/* SPDX-License-Identifier: MIT */
/* plot: what was used over time, as a picture. */
#ifndef SESSIONFS_PLOT_H
#define SESSIONFS_PLOT_H

#include "sessionfs/find/facts.h"

/* Appends an SVG of the cost by day, stacked by model; of the tokens if nothing has cost anything. A long time is shown
 * by week, month or more years. The numbers are those of usage.tsv. Without `alone` it is an element for a page with
 * the style of html_index, else a file of its own. 0 or a negative errno. */
int plot_usage(const struct fact_list *list, bool alone, struct buf *out);

#endif
