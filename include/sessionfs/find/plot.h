/* SPDX-License-Identifier: MIT */
/* plot: what was used over time, as a picture. */
#ifndef SESSIONFS_PLOT_H
#define SESSIONFS_PLOT_H

#include "sessionfs/find/facts.h"

/* Below so many dollars an amount has four decimals, in index.html, too. */
#define PLOT_FINE_AMOUNT 0.1

/* Appends an SVG of the cost by day, stacked by model, of the last twelve months with use; of the tokens if nothing has
 * cost anything in them. The numbers are those of usage.tsv. With `alone` it is a file of its own, else it is for a
 * page with the style of html_index; there a picture of all time follows, folded, if there is more, by week, month or
 * more years if it is long. 0 or a negative errno. */
int plot_usage(const struct fact_list *list, bool alone, struct buf *out);

#endif
