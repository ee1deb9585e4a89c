/* SPDX-License-Identifier: MIT */
/* limits: limits in size and time that change no answer. `make SMALL=1` builds with the small ones, so that tests
 * exceed them. */
#ifndef SESSIONFS_LIMITS_H
#define SESSIONFS_LIMITS_H

#ifdef SESSIONFS_SMALL_LIMITS
#define LIMIT(most, small) (small)
#else
#define LIMIT(most, small) (most)
#endif

#endif
