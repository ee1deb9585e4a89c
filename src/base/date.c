/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/date.h"

#include <math.h>
#include <stdio.h>

enum { SECONDS_PER_DAY = 86400 };

bool date_local(double ms, struct tm *ret)
{
	int64_t whole = (int64_t)ms;
	time_t t = (time_t)(whole / 1000 - (whole % 1000 < 0));
	return localtime_r(&t, ret) != NULL;
}

date_t date_at(double ms)
{
	struct tm tm;
	if (isnan(ms) || !date_local(ms, &tm))
		return NO_DATE;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	return (date_t)(timegm(&tm) / SECONDS_PER_DAY);
}

void date_name(date_t day, char ret[DATE_NAME])
{
	struct tm tm = {0};
	time_t t = (time_t)day * SECONDS_PER_DAY;
	gmtime_r(&t, &tm);
	snprintf(ret, DATE_NAME, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}
