/* SPDX-License-Identifier: MIT */
/* json_check FILE: exits with 0 if JSON.parse accepts the file, 1 if not, 2 if it cannot be read. */
#include "sessionfs/json/json.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	CLEANUP_BUF struct buf text = BUF_INIT, deep = BUF_INIT;
	size_t got;

	if (argc != 2) {
		fputs("usage: json_check FILE\n", stderr);
		return 2;
	}
	FILE *f = fopen(argv[1], "rb");
	if (!f) {
		perror(argv[1]);
		return 2;
	}
	do {
		char *to = buf_reserve(&text, 65536);
		got = to ? fread(to, 1, 65536, f) : 0;
		text.n += got;
	} while (got > 0);
	bool failed = ferror(f) || buf_err(&text);
	fclose(f);
	if (failed) {
		perror(argv[1]);
		return 2;
	}
	return json_valid(buf_span(&text), &deep) ? 0 : 1;
}
