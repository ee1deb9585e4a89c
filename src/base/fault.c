/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/fault.h"

static _Thread_local int noted;

void fault_note(int rc)
{
	if (!noted)
		noted = rc;
}

int fault_begin(void)
{
	int before = noted;
	noted = 0;
	return before;
}

int fault_take(int rc)
{
	int found = noted;
	noted = 0;
	return found ? found : rc;
}

int fault_end(int before, int rc)
{
	int found = noted;
	noted = before;
	return found ? found : rc;
}
