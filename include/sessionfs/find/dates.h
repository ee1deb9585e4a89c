/* SPDX-License-Identifier: MIT */
/* dates: days in the time zone that we run in. */
#ifndef SESSIONFS_DATES_H
#define SESSIONFS_DATES_H

#include "sessionfs/find/facts.h"

/* The day of a time in ms; NO_DATE if it is none. */
date_t date_at(double ms);
#define DATE_NAME 48
/* YYYY-MM-DD */
void date_name(date_t day, char ret[DATE_NAME]);

#endif
