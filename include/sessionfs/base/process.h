/* process: what /proc says of those who ask. What it does not say (another user's process, a container without /proc)
 * counts as nothing known. */
#ifndef SESSIONFS_PROCESS_H
#define SESSIONFS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The process that a thread is one of; the thread itself where that is not known. */
pid_t process_of(pid_t thread);

/* Whether the process of this thread has a file with this inode number open for writing, or one that it has started was
 * left it (not those who close it as soon as they run another program). Not all are looked at where there are very
 * many.
 */
bool process_writes(pid_t thread, uint64_t inode);

#endif
