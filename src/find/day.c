/* SPDX-License-Identifier: MIT */
/* The start of a day needs a search, since clock changes can skip or repeat midnight. */
#include "day.h"

#include <time.h>

enum { HOUR = 60 * 60, DAY = 24 * HOUR };

static time_t day_noon_utc(struct day d)
{
	struct tm tm = {.tm_year = d.year - 1900, .tm_mon = d.month - 1, .tm_mday = d.day, .tm_hour = 12};

	return timegm(&tm);
}

static struct day day_of(const struct tm *tm)
{
	return (struct day){tm->tm_year + 1900, tm->tm_mon + 1, tm->tm_mday};
}

static struct day day_at_second(time_t t)
{
	struct tm tm = {0};

	localtime_r(&t, &tm);
	return day_of(&tm);
}

struct day day_at(int64_t ms)
{
	return day_at_second((time_t)(ms / 1000 - (ms % 1000 < 0)));
}

struct day day_plus(struct day d, int days)
{
	struct tm tm = {0};
	time_t t = day_noon_utc(d) + (time_t)days * DAY;

	gmtime_r(&t, &tm);
	return day_of(&tm);
}

bool day_is_valid(struct day d)
{
	if (d.month < 1 || d.month > 12 || d.day < 1 || d.day > 31)
		return false;
	struct day same = day_plus(d, 0);
	return same.month == d.month && same.day == d.day;
}

int64_t day_begin(struct day d)
{
	/* No time zone is further from UTC. */
	time_t low = day_noon_utc(d) - 2 * DAY, high = day_noon_utc(d) + 2 * DAY;

	while (low < high) {
		time_t middle = low + (high - low) / 2;
		if (day_noon_utc(day_at_second(middle)) < day_noon_utc(d))
			low = middle + 1;
		else
			high = middle;
	}
	return (int64_t)low * 1000;
}
