/* SPDX-License-Identifier: MIT */
/* Mistakes in the rules of the catalog: the checks of schedule_checks.h find each of them. A script of mistakes/ makes
 * one in a copy of a source file, which the Makefile builds with test_catalog_schedules. */
#include "cases.h"
#include "linux_only.h"

#include <dirent.h>
#include <stdbool.h>

#define MISTAKES "tests/unit/mistakes"
#define MISTAKES_MAX 64
/* A mistake is found within this many interleavings. */
#define INTERLEAVINGS "600000"

static const char *build;

static void a_mistake_is_found(void **state)
{
	const char *name = *state, *emulator = getenv("EMULATOR");
	char command[512], said[512] = "";
	bool is_found = false;
	snprintf(command, sizeof command, "SCHEDULES=" INTERLEAVINGS " %s %s/mistakes/%s 2>&1",
	         emulator ? emulator : "", build, name);
	FILE *out = popen(command, "re");
	assert_non_null(out);
	while (fgets(said, sizeof said, out)) {
		if (!is_found && strncmp(said, "world ", 6) == 0) {
			is_found = true;
			print_message("%s: %s", name, said);
		}
	}
	assert_true(is_found);
	assert_int_not_equal(pclose(out), 0);
}

static int is_script(const struct dirent *e)
{
	return strstr(e->d_name, ".sed") != NULL;
}

/* An argument is a pattern for the name of a mistake. */
int main(int argc, char **argv)
{
	if (IS_PORTABLE) {
		puts("skipped: a portable build has no inotify");
		return 77;
	}
	struct CMUnitTest tests[MISTAKES_MAX];
	struct dirent **scripts;
	int n = scandir(MISTAKES, &scripts, is_script, alphasort);
	if (n <= 0 || n > MISTAKES_MAX)
		return 1;
	char *end = strstr(argv[0], "/unit/");
	if (end)
		*end = '\0';
	build = end ? argv[0] : "..";
	for (int i = 0; i < n; i++) {
		*strrchr(scripts[i]->d_name, '.') = '\0';
		tests[i] = (struct CMUnitTest){scripts[i]->d_name, a_mistake_is_found, NULL, NULL, scripts[i]->d_name};
	}
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	int failed = _cmocka_run_group_tests("mistakes", tests, (size_t)n, NULL, NULL);
	for (int i = 0; i < n; i++)
		free(scripts[i]);
	free(scripts);
	return failed;
}
