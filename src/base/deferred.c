/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/deferred.h"

static _Thread_local int noted;

void deferred_set(int rc)
{
	if (!noted)
		noted = rc;
}

int deferred_begin(void)
{
	int before = noted;
	noted = 0;
	return before;
}

int deferred_take(int rc)
{
	int found = noted;
	noted = 0;
	return found ? found : rc;
}

int deferred_end(int before, int rc)
{
	int found = noted;
	noted = before;
	return found ? found : rc;
}
