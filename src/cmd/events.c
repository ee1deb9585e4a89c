/* SPDX-License-Identifier: MIT */
/* --events: changes of the sessions, without a mount. A process that waits in a read of a file of a mount keeps the
 * machine from suspending; a reader of this output does not. */
#include "sessionfs/cmd/cli.h"

#include "sessionfs/base/terminal.h"
#include "sessionfs/find/events.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

enum { EVENTS_POLL_MS = 250 };

int cli_events(struct catalog *c, unsigned poll_ms, int fd)
{
	struct events *e;
	int rc = events_open(c, &e);
	if (rc < 0)
		return rc;
	signal(SIGPIPE, SIG_IGN);
	while (rc == 0) {
		struct catalog_change *changes CLEANUP_FREE = NULL;
		struct buf lines CLEANUP_BUF = BUF_INIT;
		bool polls = !catalog_is_watched(c);
		int timeout_ms = !polls ? -1 : poll_ms ? (int)poll_ms : EVENTS_POLL_MS;
		ssize_t n = catalog_wait(c, timeout_ms, fd, polls, &changes);
		if (n > 0)
			events_make_lines(e, changes, (size_t)n, &lines);
		if (isatty(fd))
			terminal_sanitize(&lines, 0);
		rc = n < 0 ? (int)n : buf_err(&lines) ? buf_err(&lines) : cli_write(fd, buf_span(&lines));
	}
	events_close(e);
	return rc == -EPIPE ? 0 : rc;
}
