/* SPDX-License-Identifier: MIT */
/* notify: notifies the service manager of the state of the mount, as sd_notify(3) does. */
#ifndef SESSIONFS_NOTIFY_H
#define SESSIONFS_NOTIFY_H

#include <sys/socket.h>
#include <sys/un.h>

/* The address of the service manager; `size` 0: none. */
struct notify {
	struct sockaddr_un to;
	socklen_t size;
};

/* Reads NOTIFY_SOCKET and removes it from the environment. Not thread-safe: call before threads start. */
void notify_from_env(struct notify *n);
/* Sends lines of NAME=VALUE. Logs a failure. */
void notify_send(const struct notify *n, const char *text);

#endif
