/* SPDX-License-Identifier: MIT */
/* Each message is one datagram. An address that begins with @ is abstract: it has no file. */
#include "notify.h"

#include "sessionfs/base/cleanup.h"
#include "sessionfs/base/log.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

void notify_send(const char *text)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const char *name = getenv("NOTIFY_SOCKET");
	size_t n = name ? strlen(name) : 0;
	if (n == 0)
		return;
	if (n == 1 || n >= sizeof to.sun_path || !strchr("/@", *name)) {
		log_warning("NOTIFY_SOCKET=%s: not the address of a Unix socket", name);
		return;
	}
	memcpy(to.sun_path, name, n);
	if (*name == '@')
		to.sun_path[0] = '\0';
	int fd CLEANUP_CLOSE = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&to,
	                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0)
		log_warning("NOTIFY_SOCKET: %s", strerror(errno));
}
