#include "sessionfs/base/terminal.h"

#include <stdlib.h>
#include <unistd.h>

bool terminal_has_colours(int fd)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
	return isatty(fd) && !(none && *none) && !(term && strcmp(term, "dumb") == 0);
}

void terminal_make_harmless(struct buf *out, size_t start)
{
	size_t end = start;
	for (size_t i = start; i < out->n; i++) {
		unsigned char c = (unsigned char)out->p[i];
		/* In UTF-8 the second half of the control characters are these two bytes. */
		bool is_second =
		    c == 0xc2 && i + 1 < out->n && (unsigned char)out->p[i + 1] < 0xa0 && (out->p[i + 1] & 0x80);
		bool is_control = (c < ' ' && c != '\t') || c == 0x7f || is_second;
		out->p[end++] = is_control ? '?' : out->p[i];
		i += is_second;
	}
	out->n = end;
}
