/* SPDX-License-Identifier: MIT */
/* fuse_compat: includes libfuse, and is the only place that depends on its version. */
#ifndef SESSIONFS_FUSE_COMPAT_H
#define SESSIONFS_FUSE_COMPAT_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 13)
#error "sessionfs needs libfuse 3.13 or newer"
#endif

/* Turns a capability on (if the kernel has it) or off. From libfuse 3.17 on, flags have 64 bits and are set by a
 * function. */
static inline void compat_want(struct fuse_conn_info *conn, unsigned cap, int on)
{
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
	if (on)
		fuse_set_feature_flag(conn, cap);
	else
		fuse_unset_feature_flag(conn, cap);
#else
	conn->want = on ? conn->want | (conn->capable & cap) : conn->want & ~cap;
#endif
}

static inline int compat_is_capable(const struct fuse_conn_info *conn, unsigned cap)
{
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
	return (conn->capable_ext & cap) != 0;
#else
	return (conn->capable & cap) != 0;
#endif
}

#endif
