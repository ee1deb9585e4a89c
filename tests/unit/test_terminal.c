/* SPDX-License-Identifier: MIT */
#include "cases.h"

#include "sessionfs/base/terminal.h"

#include <fcntl.h>
#include <unistd.h>

static void assert_harmless(struct span text, const char *want)
{
	struct buf out CLEANUP_BUF = BUF_INIT;
	buf_adds(&out, "\x1b");
	buf_addspan(&out, text);
	terminal_sanitize(&out, 1);
	assert_true(out.p[0] == '\x1b');
	assert_string_equal(buf_cstr(&out) + 1, want);
}

CASE(control_characters_are_replaced)
{
	assert_harmless(SPAN_LIT(""), "");
	assert_harmless(SPAN_LIT("caf\u00e9\t\u2717 \U0001f600"), "caf\u00e9\t\u2717 \U0001f600");
	assert_harmless(SPAN_LIT("\x1b[31m\r\n\a\x7f"), "?[31m?\n??");
	assert_harmless(SPAN_LIT("\0x"), "?x");
	/* The first and the last control character above U+0080, and their neighbours. */
	assert_harmless(SPAN_LIT("\x7f\xc2\x80\xc2\x9b"
	                         "2J\xc2\x9f\xc2\xa0"),
	                "???2J?\xc2\xa0");
	/* Bytes that are C1 without UTF-8; in a character they stay. */
	assert_harmless(SPAN_LIT("\x9b"
	                         "2J \x80\x9f\xa0\xc3 \xe2\x9b\xff \xf0\x9f\x98\x80"),
	                "?2J ??\xa0\xc3 \xe2?\xff \xf0\x9f\x98\x80");
	/* Halves of characters stay, and bytes after the end are not read. */
	assert_harmless(SPAN_LIT("\xe2\x9b\x80\xc3\x9b\xc2"), "\xe2\x9b\x80\xc3\x9b\xc2");
	assert_harmless((struct span){"\xc2\x9b", 1}, "\xc2");
	assert_harmless(SPAN_LIT("\xc2\x1b"), "\xc2?");
}

/* Opens a terminal of our own, which no process reads. */
static int open_terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	int fd = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_true(fd >= 0);
	return fd;
}

/* However it is cut into writes, a stream to a terminal is the text without commands, with a character that is
 * incomplete at its end; to another file it is the file. */
CASE(stream_to_terminal_is_sanitized)
{
	const struct span text =
	    SPAN_LIT("a\x1b[m \xc2\x9b \xc3\x9b \xe2\x9b\x80 \xf0\x9f\x98\x80 \x9b \xe2\x9b|\n\xc3");
	static const char want[] = "a?[m ? \xc3\x9b \xe2\x9b\x80 \xf0\x9f\x98\x80 ? \xe2?|\r\n\xc3";
	FILE *file = tmpfile();
	assert_ptr_equal(terminal_stream(file), file);
	fclose(file);
	for (size_t cut = 0; cut < text.n; cut++) {
		char got[128];
		int fd, master = posix_openpt(O_RDWR | O_NOCTTY);
		assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
		fd = open(ptsname(master), O_RDWR | O_NOCTTY);
		FILE *out = fdopen(fd, "w"), *stream = terminal_stream(out);
		assert_true(stream != out);
		assert_int_equal(fwrite(text.p, 1, cut, stream), cut);
		assert_int_equal(fflush(stream), 0);
		assert_int_equal(fwrite(text.p + cut, 1, text.n - cut, stream), text.n - cut);
		terminal_close(&stream);
		fclose(out);
		ssize_t n = 0;
		for (ssize_t more; n < (ssize_t)sizeof want - 1; n += more) {
			more = read(master, got + n, sizeof got - (size_t)n);
			assert_true(more > 0);
		}
		assert_int_equal(n, sizeof want - 1);
		assert_memory_equal(got, want, sizeof want - 1);
		close(master);
	}
}

CASE(color_requires_terminal)
{
	int fd = open_terminal(), file = open("/dev/null", O_WRONLY);
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	assert_true(terminal_supports_color(fd));
	assert_false(terminal_supports_color(file));
	setenv("NO_COLOR", "", 1);
	assert_true(terminal_supports_color(fd));
	setenv("NO_COLOR", "0", 1);
	assert_false(terminal_supports_color(fd));
	unsetenv("NO_COLOR");
	setenv("TERM", "dumb", 1);
	assert_false(terminal_supports_color(fd));
	unsetenv("TERM");
	assert_true(terminal_supports_color(fd));
	close(file);
	close(fd);
}

RUN_CASES(NULL, NULL)
