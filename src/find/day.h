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
/* The day at a time in ms since 1970. */
struct day day_at(int64_t ms);
/* The day so many days later, or earlier. */
struct day day_plus(struct day d, int days);
/* When it begins, ms since 1970: the first second of this day or, if the calendar skips it, of the next one. */
int64_t day_begin(struct day d);

#endif
