/* SPDX-License-Identifier: MIT */
/* The attributes in a listing.
 *
 * If a name is listed with its attributes, the kernel knows it: a process that reads or stats the files next causes no
 * lookup for each. But then the kernel makes a dentry and an inode, about a kilobyte, for every listed name. That is
 * gigabytes for a walk through millions of names that needs only the names (find -name, fd, ls -R).
 *
 * We cannot see how the names are used unless some attributes are missing. So now and then one file is listed by its
 * name alone, as a probe. Unused probes mean that the kernel holds attributes that no process uses. After
 * READDIRPLUS_UNUSED_MAX of them in a row, some hundred megabytes, listings include only the attributes of directories,
 * until a file is looked up. */
#include "fs_impl.h"

enum readdirplus_mode readdirplus_choose(struct readdirplus *p, bool first)
{
	enum readdirplus_mode brings = READDIRPLUS_ALL;
	LOCKED(&p->lock);
	if (p->unused < READDIRPLUS_UNUSED_MAX && first && ++p->listings >= READDIRPLUS_PROBE_EVERY) {
		p->unused += p->probed;
		p->probed = false;
		brings = READDIRPLUS_PROBE;
	}
	if (p->unused >= READDIRPLUS_UNUSED_MAX)
		brings = READDIRPLUS_DIRS;
	return brings;
}

void readdirplus_probed(struct readdirplus *p)
{
	LOCKED(&p->lock);
	p->probed = true;
	p->listings = 0;
}

void readdirplus_used(struct readdirplus *p)
{
	LOCKED(&p->lock);
	p->probed = false;
	p->unused = 0;
}
