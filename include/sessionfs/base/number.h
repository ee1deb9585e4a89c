/* SPDX-License-Identifier: MIT */
/* number: numbers and times as JavaScript prints them, so that generated JSON is the same text as pi's JSON.stringify
 * writes. */
#ifndef SESSIONFS_NUMBER_H
#define SESSIONFS_NUMBER_H

#include "sessionfs/base/buf.h"

/* Appends x as JSON.stringify writes it: the shortest text that reads back as x; null for infinities and NaN. */
void number_add(double x, struct buf *out);

/* Appends x with `decimals` decimals (at most 9) as toFixed does: halves are rounded away from 0, not to even. */
void number_add_fixed(double x, int decimals, struct buf *out);

/* Returns x rounded in the same way. */
double number_round(double x, int decimals);

/* Rounds to the nearest whole number, halves up, as Math.round(). */
double number_round_whole(double x);

/* A sum of numbers with at most 9 decimals, the same in any order, without infinities and NaN. The script of index.html
 * adds the same way. */
struct number_sum {
	double whole, billionths;
};
void number_sum_add(struct number_sum *sum, double x);
double number_sum_value(struct number_sum sum);

/* Appends a count. */
void number_add_unsigned(unsigned x, struct buf *out);

#define NUMBER_TIME 28 /* "-271821-04-20T00:00:00.000Z" */

/* Writes ms since 1970 as Date.prototype.toISOString does. Returns false outside of its range. */
bool number_time(double ms, char ret[NUMBER_TIME]);

/* Appends the same. Returns false and appends nothing outside of its range. */
bool number_add_time(double ms, struct buf *out);

#endif
