/* SPDX-License-Identifier: MIT */
/* date: days in the time zone that we run in. */
#ifndef SESSIONFS_DATE_H
#define SESSIONFS_DATE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* A day, counted from 1970-01-01. */
typedef int32_t date_t;
#define NO_DATE INT32_MIN

/* A time in ms as the zone has it. False if it has none. */
bool date_local(double ms, struct tm *ret);
/* The day of a time in ms; NO_DATE if it is none. */
date_t date_at(double ms);
#define DATE_NAME 48
/* YYYY-MM-DD */
void date_name(date_t day, char ret[DATE_NAME]);

#endif
