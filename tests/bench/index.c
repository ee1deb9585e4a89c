/* SPDX-License-Identifier: MIT */
/* index: opens one session file as sessionfs does, once, and prints the cost: seconds, entries, bytes of the file,
 * bytes of memory, bytes of ids among them. */
#include "sessionfs/session/session.h"

#include <stdio.h>
#include <time.h>

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	struct timespec a, b;
	struct session *s;
	clock_gettime(CLOCK_MONOTONIC, &a);
	int rc = session_open(&(struct source_path){NULL, argv[1]}, false, &s);
	clock_gettime(CLOCK_MONOTONIC, &b);
	if (rc < 0) {
		fprintf(stderr, "index: %s: %s\n", argv[1], strerror(-rc));
		return 1;
	}
	size_t ids = 0;
	session_rdlock(s);
	for (uint32_t i = 0; i < session_count(s); i++)
		ids += session_entry_id(s, i).n;
	printf("%.6f %u %lld %zu %zu\n", (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9,
	       session_count(s), (long long)session_stat(s)->st_size, session_memory(s), ids);
	session_unlock(s);
	session_close(s);
	return 0;
}
