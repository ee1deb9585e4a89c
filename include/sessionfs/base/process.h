/* SPDX-License-Identifier: MIT */
/* process: what /proc says of the processes that make requests. Where it says nothing (another user's process, a
 * container without /proc) nothing is known. */
#ifndef SESSIONFS_PROCESS_H
#define SESSIONFS_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Each thread of ours but the first adds itself before it does anything else. */
extern atomic_uint process_threads_begun;

/* The process that the thread belongs to; the thread itself if that is not known. */
pid_t process_of_thread(pid_t thread);

/* Whether the thread was killed and only ends its system call. The kernel gives SIGKILL to each thread of a process
 * that dies of any signal, or that leaves by another thread. */
bool process_is_dying(pid_t thread);

/* Whether the process of this thread, or a child that inherited the descriptor, has a file with this inode number open
 * for writing. A child's descriptor that is closed on exec does not count. If there are very many processes or
 * descriptors, only the first ones are examined. */
bool process_writes(pid_t thread, uint64_t inode);

#endif
