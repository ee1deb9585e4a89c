/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/mutant.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* MUTANT_IDS is the largest id and one more; run.py defines it. */
static unsigned char unshared[MUTANT_IDS];

/* Of cmocka, in a test. MUTANT_CASE=NAME runs one case only. */
extern void cmocka_set_test_filter(const char *pattern) __attribute__((weak));

int mutant_id;
unsigned char *mutant_reached = unshared;

/* Before any other constructor, since these can reach mutants. */
__attribute__((constructor(101))) static void mutant_begin(void)
{
	const char *id = getenv("MUTANT"), *file = getenv("MUTANT_REACHED"), *name = getenv("MUTANT_CASE");
	if (id)
		mutant_id = atoi(id);
	if (name && cmocka_set_test_filter)
		cmocka_set_test_filter(name);
	if (!file)
		return;
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *map = MAP_FAILED;
	if (fd >= 0 && ftruncate(fd, MUTANT_IDS) == 0)
		map = mmap(NULL, MUTANT_IDS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		abort();
	mutant_reached = map;
	close(fd);
}
