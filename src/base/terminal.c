/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/terminal.h"
#include "sessionfs/base/space.h"

#include <stdlib.h>
#include <unistd.h>

bool terminal_supports_color(int fd)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
	return isatty(fd) && !(none && *none) && !(term && strcmp(term, "dumb") == 0);
}

void terminal_sanitize(struct buf *out, size_t start)
{
	size_t end = start;
	for (size_t i = start; i < out->n;) {
		size_t n = out->p[i] == '\t' ? 0 : control_size((struct span){out->p + i, out->n - i});
		out->p[end++] = n ? '?' : out->p[i];
		i += n ? n : 1;
	}
	out->n = end;
}
