/* What a listing brings along besides the names.
 *
 * With its attributes a name is known to the kernel: who reads or stats the files next does not ask for each of them.
 * But then the kernel makes a name and an inode, about a kilobyte, for everything that is listed. That is gigabytes
 * where somebody walks through millions of names and wants nothing else of them (find -name, fd, ls -R).
 *
 * What is done with the names does not show, unless something is missing. So now and then one file is listed by its
 * name alone, a probe. When so many in a row have not been looked up that the kernel has some hundred megabytes of
 * what nobody wants, listings bring along the attributes of directories only, until somebody looks up a file. */
#include "fs_impl.h"

enum plus readdirplus_begin(struct readdirplus *p, bool first)
{
	enum plus brings = PLUS_ALL;
	LOCKED(&p->lock);
	if (p->unused < PLUS_UNUSED_MAX && first && ++p->listings >= PLUS_PROBE_EVERY) {
		p->unused += p->probed;
		p->probed = false;
		brings = PLUS_PROBE;
	}
	if (p->unused >= PLUS_UNUSED_MAX)
		brings = PLUS_DIRS;
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
