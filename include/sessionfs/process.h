/* process: what /proc says of those who ask. What it does not say (another user's process, a container without /proc)
 * counts as nothing known. */
#ifndef SESSIONFS_PROCESS_H
#define SESSIONFS_PROCESS_H

#include <sys/types.h>

/* The process that a thread is one of; the thread itself where that is not known. */
pid_t process_of(pid_t thread);

#endif
