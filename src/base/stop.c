#include "sessionfs/base/stop.h"

#include <errno.h>
#include <stddef.h>

static _Thread_local const struct stop *current;

const struct stop *stop_set(const struct stop *s)
{
	const struct stop *before = current;
	current = s;
	return before;
}

const struct stop *stop_get(void)
{
	return current;
}

int stop_check(void)
{
	return current && current->is_asked(current->arg) ? -EINTR : 0;
}
