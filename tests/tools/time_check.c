/* SPDX-License-Identifier: MIT */
/* time_check: reads JSON values, one per line, and prints the time of each in ms since 1970, or NaN. */
#include "sessionfs/session/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, stdin)) > 0) {
		struct json j;
		struct json_value v;
		json_init(&j, (struct span){line, (size_t)n}, NULL);
		if (!json_value(&j, &v) || !json_at_end(&j)) {
			fprintf(stderr, "time_check: not JSON: %s", line);
			return 2;
		}
		int64_t time = record_time(v);
		if (time == NO_TIME)
			puts("NaN");
		else
			printf("%" PRId64 "\n", time);
	}
	free(line);
	return 0;
}
