/* fault: what could not be looked up while an answer was made.
 *
 * Much of what is asked has no place for an error: a name, a number, whether there is one. Where one of these cannot be
 * found out, for want of memory or because the disk fails, whoever finds that notes it (fault_note) and answers as if
 * there were none. Whoever gives the whole answer to somebody else, or keeps it, looks whether there was a fault on the
 * way (fault_begin, fault_end) and gives the error instead. The note belongs to the thread. */
#ifndef SESSIONFS_FAULT_H
#define SESSIONFS_FAULT_H

/* rc: a negative errno; 0 notes nothing. The first counts. */
void fault_note(int rc);

/* Sets aside what was noted before. Returns it, for fault_end. */
int fault_begin(void);

/* What was noted since fault_begin, else rc; from here on nothing was. For who tries again. */
int fault_take(int rc);

/* What was noted since fault_begin, else rc. What was set aside is noted again. */
int fault_end(int before, int rc);

#endif
