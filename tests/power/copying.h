/* SPDX-License-Identifier: MIT */
/* copying: loss of power during and after `--copy`. */
#ifndef POWER_COPYING_H
#define POWER_COPYING_H

#include "disk.h"

/* A copy of PATH from SOURCE to a new directory. In each state, the file of a name is whole, or the next copy replaces
 * it: it differs in size or time. After the copy has succeeded, everything is there, even if a copy before it was
 * killed. Without one of the syncs, this is not so. The states of all names together are copied to once more. */
struct copying {
	const char *source, *path;
	size_t states, syncs, bad; /* results: of all syncs that are left out, the wrong states */
};
void copying_run(struct copying *c);

#endif
