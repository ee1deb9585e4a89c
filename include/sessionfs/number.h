/* number: numbers and times as JavaScript prints them, so that generated JSON
 * has the text that pi's JSON.stringify would write. */
#ifndef SESSIONFS_NUMBER_H
#define SESSIONFS_NUMBER_H

#include "sessionfs/buf.h"

/* Appends x as JSON.stringify writes it: the shortest text that reads back as x; null for infinities and NaN. */
void number_add(double x, struct buf *out);

/* Appends ms since 1970 as Date.prototype.toISOString does. False, with nothing appended, outside of its range. */
bool number_add_time(double ms, struct buf *out);

#endif
