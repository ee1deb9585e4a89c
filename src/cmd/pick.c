/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/embed.h"
#include "sessionfs/base/log.h"
#include "sessionfs/base/sys.h"
#include "sessionfs/cmd/cli.h"
#include "places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Part of the program, as a string: it need not be found where the program is installed. */
EMBED(pick_script, "scripts/sessionfs-pick");

int cli_pick(const char *given, const char *query, bool redact)
{
	char *source CLEANUP_FREE = places_source(given);
	char *self CLEANUP_FREE = sys_program_path();
	if (source && self)
		execl("/bin/sh", "sh", "-c", pick_script, "sessionfs", self, source, query, redact ? "--redact" : NULL,
		      (char *)NULL);
	if (source)
		log_error("/bin/sh: %s", strerror(errno));
	return EXIT_FAILURE;
}
