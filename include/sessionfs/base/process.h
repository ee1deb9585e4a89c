/* SPDX-License-Identifier: MIT */
/* process: facts from /proc about the processes that make requests. If /proc shows nothing (another user's process, a
 * container without /proc), nothing is known. */
#ifndef SESSIONFS_PROCESS_H
#define SESSIONFS_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Each of our threads except the first increments this before it does anything else. */
extern atomic_uint process_threads_begun;

/* Returns the process of the thread; the thread itself if unknown. */
pid_t process_of_thread(pid_t thread);

/* Returns whether the thread was killed and is only finishing its system call. The kernel sends SIGKILL to each thread
 * of a process that dies of any signal, or that exits in another thread. */
bool process_is_dying(pid_t thread);

/* Returns whether /proc shows the open files of the process of this thread. */
bool process_shows_files(pid_t thread);

/* Returns whether the process of this thread, or a child that inherited the descriptor, has a file with this inode
 * number open for writing. A child's close-on-exec descriptor does not count. Of very many processes or descriptors,
 * only the first are examined. */
bool process_writes(pid_t thread, uint64_t inode);

#endif
