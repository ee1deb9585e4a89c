/* SPDX-License-Identifier: MIT */
/* day: days of the calendar in the time zone of the process. Private to find. */
#ifndef SESSIONFS_FIND_DAY_H
#define SESSIONFS_FIND_DAY_H

#include <stdbool.h>
#include <stdint.h>

struct day {
	int year, month, day; /* month and day from 1 */
};

bool day_is_valid(struct day d);
/* Returns the day at a time in ms since 1970. */
struct day day_at(int64_t ms);
/* Returns the day `days` later, or earlier if negative. */
struct day day_plus(struct day d, int days);
/* Returns when it begins, in ms since 1970: the first second of this day, or of the next if the calendar skips this
 * one. */
int64_t day_begin(struct day d);

#endif
