/* SPDX-License-Identifier: MIT */
/* Which mutant the program is. A file that mutate.py wrote holds all its mutants, and asks at each which one is meant.
 */
#ifndef SESSIONFS_MUTANT_H
#define SESSIONFS_MUTANT_H

/* By the environment: MUTANT=ID; 0 is the program as it is. */
extern int mutant_id;

/* One byte an id: it was asked for. MUTANT_REACHED=FILE shares them with that file. */
extern unsigned char *mutant_reached;

static inline int mutant(int id)
{
	mutant_reached[id] = 1;
	return mutant_id == id;
}

/* The subject of a switch without that label. */
static inline long long mutant_subject(int id, long long subject, long long label)
{
	return subject == label && mutant(id) ? -0x7ffffffffffffff1 : subject;
}

#endif
