/* What the files of record share. */
#ifndef SESSIONFS_RECORD_IMPL_H
#define SESSIONFS_RECORD_IMPL_H

#include "sessionfs/record.h"

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

#endif
