/* Shared by the files of record. */
#ifndef SESSIONFS_RECORD_IMPL_H
#define SESSIONFS_RECORD_IMPL_H

#include "sessionfs/session/record.h"

/* Whether a string, often a key, says `name`. */
static inline bool key_is(struct json_value key, const char *name, size_t n)
{
	if (__builtin_expect(key.escaped, false))
		return json_key_is(key, name);
	return key.text.n == n && memcmp(key.text.p, name, n) == 0;
}

/* OTHER for anything that is not a known name. */
enum record_type record_type_of(struct json_value v);
enum record_role record_role_of(struct json_value v);

/* A date and time as a text gives them. Each field is within its range; the day is up to 31 in any month. */
struct date {
	int64_t year;
	int month, day, hour, minute, second, ms;
	bool local;
	int64_t zone; /* seconds east of UTC, if it is not local */
};

/* As Date.parse(). False where that is NaN. */
bool record_date(struct span text, struct date *ret);

#endif
