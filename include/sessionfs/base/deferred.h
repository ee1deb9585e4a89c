/* SPDX-License-Identifier: MIT */
/* deferred: errors of lookups that cannot return one, reported by the function that gives the whole answer.
 *
 * Many functions cannot return an error: they return a name, a number, or a bool. Such a function notes the error
 * (deferred_set) and answers "none". The function that returns the whole answer to a caller, or caches it, checks for a
 * deferred error (deferred_begin, deferred_end), and returns that instead. The note belongs to the thread. */
#ifndef SESSIONFS_DEFERRED_H
#define SESSIONFS_DEFERRED_H

/* Records rc, a negative errno, if it is the first error. Ignores 0. */
void deferred_set(int rc);

/* Sets aside an earlier deferred error. Returns it, for deferred_end. */
int deferred_begin(void);

/* Returns the deferred error since deferred_begin, else rc, and clears it: for a caller that retries. */
int deferred_take(int rc);

/* Returns the deferred error since deferred_begin, else rc, and restores the one that was set aside. */
int deferred_end(int before, int rc);

#endif
