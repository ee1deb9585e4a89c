/* SPDX-License-Identifier: MIT */
/* number: numbers and times as JavaScript prints them, so that generated JSON
 * has the text that pi's JSON.stringify would write. */
#ifndef SESSIONFS_NUMBER_H
#define SESSIONFS_NUMBER_H

#include "sessionfs/base/buf.h"

/* Appends x as JSON.stringify writes it: the shortest text that reads back as x; null for infinities and NaN. */
void number_add(double x, struct buf *out);

/* Appends x with so many decimals (at most 9) as toFixed does: halves are rounded away from 0, not to even. */
void number_add_fixed(double x, int decimals, struct buf *out);

/* x rounded to so many decimals, like that. */
double number_round(double x, int decimals);

/* A sum of numbers with at most 9 decimals, the same in any order, without infinities and NaN. The script of index.html
 * adds like this. */
struct number_sum {
	double whole, billionths;
};
void number_sum_add(struct number_sum *sum, double x);
double number_sum_value(struct number_sum sum);

/* Appends a count. */
void number_add_unsigned(unsigned x, struct buf *out);

#define NUMBER_TIME 28 /* "-271821-04-20T00:00:00.000Z" */

/* ms since 1970 as Date.prototype.toISOString writes it. False outside of its range. */
bool number_time(double ms, char ret[NUMBER_TIME]);

/* The same, appended. If false, nothing is appended. */
bool number_add_time(double ms, struct buf *out);

#endif
