/* SPDX-License-Identifier: MIT */
/* replay: passes the named files to a target, without libFuzzer. Prints each name first, so that the output ends with
 * the input that stopped it. */
#include "fuzz.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		CLEANUP_BUF struct buf text = BUF_INIT;
		printf("%s\n", argv[i]);
		fflush(stdout);
		if (!read_file(argv[i], &text)) {
			perror(argv[i]);
			return 1;
		}
		/* A block of exactly that size, so that a memory checker sees a read past its end. */
		CLEANUP_FREE uint8_t *exact = malloc(text.n ? text.n : 1);
		assert_non_null(exact);
		if (text.n)
			memcpy(exact, text.p, text.n);
		LLVMFuzzerTestOneInput(exact, text.n);
	}
	return 0;
}
