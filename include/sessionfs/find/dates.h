/* dates: the sessions of a list by the day on which they were begun, each under the name that it has there. */
#ifndef SESSIONFS_DATES_H
#define SESSIONFS_DATES_H

#include "sessionfs/find/facts.h"

/* The day of a time in ms, in the time zone that we run in; NO_DATE if it is none. */
date_t date_at(double ms);
#define DATE_NAME 48
/* YYYY-MM-DD */
void date_name(date_t day, char ret[DATE_NAME]);
/* NO_DATE if it is not the name of a day. */
date_t date_of_name(struct span name);

/* A session under its day. */
struct dated {
	struct span name; /* component, unlike all others of the day */
	uint32_t fact;    /* its number in the list */
};

struct date {
	date_t date;
	size_t first, n;       /* of its sessions in `v`, in the order of their slots */
	struct timespec mtime; /* newest session's */
};

struct dates {
	size_t n;
	const struct date *days; /* in order */
	const struct dated *v;
};

/* Of this list, and for as long. NULL without memory. */
const struct dates *facts_dates(const struct fact_list *list);
/* The day; NULL if no session was begun on it. */
const struct date *dates_find(const struct dates *d, date_t day);
/* The number in the list of the session with that name under the day; NO_FACT if there is none. */
#define NO_FACT UINT32_MAX
uint32_t dates_find_name(const struct dates *d, const struct date *day, struct span name);

#endif
