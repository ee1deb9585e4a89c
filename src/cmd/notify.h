/* SPDX-License-Identifier: MIT */
/* notify: tells the service manager how the mount is, as sd_notify(3) would. */
#ifndef SESSIONFS_NOTIFY_H
#define SESSIONFS_NOTIFY_H

#include <sys/socket.h>
#include <sys/un.h>

/* Who is told; `size` 0: nobody. */
struct notify {
	struct sockaddr_un to;
	socklen_t size;
};

/* Takes NOTIFY_SOCKET out of the environment. Not thread-safe: call before threads start. */
void notify_from_env(struct notify *n);
/* Sends lines of NAME=VALUE. A failure is logged. */
void notify_send(const struct notify *n, const char *text);

#endif
