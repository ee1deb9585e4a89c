/* SPDX-License-Identifier: MIT */
/* plot: the usage over time, as a picture. */
#ifndef SESSIONFS_PLOT_H
#define SESSIONFS_PLOT_H

#include "sessionfs/find/facts.h"

/* Smaller amounts, in dollars, have four decimals, also in index.html. */
#define PLOT_FINE_AMOUNT 0.1

/* Appends an SVG of the cost by day, stacked by model, for the last twelve months with usage; of the tokens if all
 * costs are 0. The numbers are the ones in usage.tsv. With `alone` it is a file of its own, else part of a page with
 * the style of html_index. The page also gets a folded plot of all time if there is older usage: by week, month or more
 * years. Returns 0 or a negative errno. */
int plot_usage(const struct fact_list *list, bool alone, struct buf *out);

#endif
