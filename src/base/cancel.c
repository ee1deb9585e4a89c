/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/cancel.h"

#include <errno.h>
#include <stddef.h>

static _Thread_local const struct cancel *current;

const struct cancel *cancel_set(const struct cancel *s)
{
	const struct cancel *before = current;
	current = s;
	return before;
}

const struct cancel *cancel_get(void)
{
	return current;
}

int cancel_wait_begin(void)
{
	return current && current->on_wait && !current->on_wait(current->arg, true) ? -EAGAIN : 0;
}

void cancel_wait_end(void)
{
	if (current && current->on_wait)
		current->on_wait(current->arg, false);
}

int cancel_check(void)
{
	return current && current->is_cancelled && current->is_cancelled(current->arg) ? -EINTR : 0;
}
