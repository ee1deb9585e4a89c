/* SPDX-License-Identifier: MIT */
/* date: days in the local time zone. */
#ifndef SESSIONFS_DATE_H
#define SESSIONFS_DATE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* A day, counted from 1970-01-01. */
typedef int32_t date_t;
#define NO_DATE INT32_MIN

/* Converts a time in ms to local time. Returns false if it has none. */
bool date_local(double ms, struct tm *ret);
/* Returns the day of a time in ms; NO_DATE if it is not a time. */
date_t date_at(double ms);
#define DATE_NAME 48
/* YYYY-MM-DD */
void date_name(date_t day, char ret[DATE_NAME]);

#endif
