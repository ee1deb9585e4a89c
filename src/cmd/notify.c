/* SPDX-License-Identifier: MIT */
/* Each message is one datagram. An address that begins with @ is abstract: it has no file. */
#include "notify.h"

#include "sessionfs/base/log.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void notify_from_env(struct notify *n)
{
	const char *name = getenv("NOTIFY_SOCKET");
	size_t size = name ? strlen(name) : 0;
	*n = (struct notify){.to.sun_family = AF_UNIX};
	if (size > 1 && size < sizeof n->to.sun_path && strchr("/@", *name)) {
		memcpy(n->to.sun_path, name, size);
		if (*name == '@')
			n->to.sun_path[0] = '\0';
		n->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
	} else if (size) {
		log_warning("NOTIFY_SOCKET=%s: not the address of a Unix socket", name);
	}
	unsetenv("NOTIFY_SOCKET");
}

void notify_send(const struct notify *n, const char *text)
{
	if (!n->size)
		return;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&n->to, n->size) < 0)
		log_warning("NOTIFY_SOCKET: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
}
