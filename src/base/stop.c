/* SPDX-License-Identifier: MIT */
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

int stop_wait_begin(void)
{
	return current && current->waits && !current->waits(current->arg, true) ? -EAGAIN : 0;
}

void stop_wait_end(void)
{
	if (current && current->waits)
		current->waits(current->arg, false);
}

int stop_check(void)
{
	return current && current->is_asked(current->arg) ? -EINTR : 0;
}
