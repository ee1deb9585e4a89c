/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/terminal.h"
#include "sessionfs/base/space.h"
#include "sessionfs/base/sys.h"
#include "sessionfs/base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool terminal_supports_color(int fd)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
	return isatty(fd) && !(none && *none) && !(term && strcmp(term, "dumb") == 0);
}

void terminal_sanitize(struct buf *out, size_t start)
{
	out->n = start + space_flatten(out->p + start, out->n - start, '?', "\t\n");
}

/* A stream to a terminal. */
struct terminal {
	FILE *out;
	struct buf text;
};

static sys_stream_result terminal_write(void *cookie, const char *p, sys_stream_size n)
{
	struct terminal *t = cookie;
	char cut[4]; /* a character whose other bytes follow */
	buf_add(&t->text, p, (size_t)n);
	if (buf_err(&t->text))
		return 0;
	size_t cut_n = utf8_incomplete(buf_span(&t->text));
	t->text.n -= cut_n;
	memcpy(cut, t->text.p + t->text.n, cut_n);
	terminal_sanitize(&t->text, 0);
	bool is_written = fwrite(t->text.p, 1, t->text.n, t->out) == t->text.n && fflush(t->out) == 0;
	buf_reset(&t->text);
	buf_add(&t->text, cut, cut_n);
	return is_written ? (sys_stream_result)n : 0;
}

static int terminal_release(void *cookie)
{
	struct terminal *t = cookie;
	terminal_sanitize(&t->text, 0);
	fwrite(t->text.p, 1, t->text.n, t->out);
	buf_release(&t->text);
	free(t);
	return 0;
}

FILE *terminal_stream(FILE *out)
{
	if (!isatty(fileno(out)))
		return out;
	struct terminal *t = calloc(1, sizeof *t);
	FILE *stream = t ? sys_open_stream(t, terminal_write, terminal_release) : NULL;
	if (stream) {
		t->out = out;
		setvbuf(stream, NULL, _IOLBF, BUFSIZ);
	}
	return stream;
}

void terminal_close(FILE **stream)
{
	if (*stream == stdout || *stream == stderr)
		fflush(*stream);
	else if (*stream)
		fclose(*stream);
}
