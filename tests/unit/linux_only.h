/* SPDX-License-Identifier: MIT */
/* linux_only: skips tests of promises that only a build for Linux keeps. */
#ifndef LINUX_ONLY_H
#define LINUX_ONLY_H

#ifdef SESSIONFS_PORTABLE
enum { IS_PORTABLE = 1 };
#else
enum { IS_PORTABLE = 0 };
#endif

/* Skips the test: it is about the watches of inotify, and a portable build polls. */
#define NEEDS_WATCHES()                                                                                                \
	do                                                                                                             \
		if (IS_PORTABLE)                                                                                       \
			skip();                                                                                        \
	while (0)

#endif
