/* SPDX-License-Identifier: MIT */
/* fault: errors of lookups that cannot return one, reported by the function that gives the whole answer.
 *
 * Many functions cannot return an error: they return a name, a number, or whether there is one. Such a function notes
 * the error (fault_note) and answers "none". The function that gives the whole answer to a caller, or keeps it, asks
 * whether there was a fault on the way (fault_begin, fault_end), and returns the error instead. The note belongs to the
 * thread. */
#ifndef SESSIONFS_FAULT_H
#define SESSIONFS_FAULT_H

#include <errno.h>
#include <stdbool.h>

/* rc: a negative errno; 0 notes nothing. The first counts. */
void fault_note(int rc);

/* Sets aside an earlier fault. Returns it, for fault_end. */
int fault_begin(void);

/* Returns the fault since fault_begin, else rc, and forgets it: for a caller that tries again. */
int fault_take(int rc);

/* Returns the fault since fault_begin, else rc, and restores the one that was set aside. */
int fault_end(int before, int rc);

/* Whether an error is that of the file that was read: not of the request, nor for want of descriptors, nor that the
 * file is gone. */
static inline bool fault_is_of_file(int rc)
{
	return rc < 0 && rc != -EINTR && rc != -EAGAIN && rc != -EMFILE && rc != -ENFILE && rc != -ENOENT &&
	       rc != -ESTALE;
}

#endif
