/* SPDX-License-Identifier: MIT */
#ifndef SESSIONFS_NOTIFY_H
#define SESSIONFS_NOTIFY_H

/* Notifies the service manager of the state of the mount, as sd_notify(3) does: sends lines of NAME=VALUE to the socket
 * NOTIFY_SOCKET, if that is set. Logs a failure. */
void notify_send(const char *text);

#endif
