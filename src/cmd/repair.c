/* SPDX-License-Identifier: MIT */
/* --repair: prints a session that pi can open from a file that it cannot. */
#include "sessionfs/cmd/cli.h"

#include "sessionfs/base/log.h"
#include "sessionfs/file/resolver.h"
#include "sessionfs/session/repair.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct repair_output {
	const char *file;
	FILE *out, *messages;
};

static int repair_print(void *arg, struct span bytes)
{
	return cli_put(((const struct repair_output *)arg)->out, bytes);
}

static void repair_log_change(void *arg, uint32_t line, const char *what)
{
	const struct repair_output *to = arg;
	fprintf(to->messages, "%s:%u: %s\n", to->file, line, what);
}

int cli_repair(const char *file, FILE *out, FILE *messages)
{
	struct repair_output to = {file, out, messages};
	struct repair *r = NULL;
	struct stat st, target;
	const char *name = strrchr(file, '/');
	int fd CLEANUP_CLOSE = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int rc = fd < 0 || fstat(fd, &st) < 0 ? -errno
	         : S_ISDIR(st.st_mode)        ? -EISDIR
	         : !S_ISREG(st.st_mode)       ? -EINVAL
	                                      : 0;

	if (rc == 0 && fstat(fileno(out), &target) == 0 && stat_is_same_file(&target, &st)) {
		log_error("%s: the output is the same file; write to another file, then check it", file);
		return 1;
	}
	rc = rc < 0 ? rc : repair_open(fd, (uint64_t)st.st_size, name ? name + 1 : file, &r);
	if (rc == 0)
		rc = repair_write(r, repair_print, &to);
	if (rc == 0 && fflush(out) != 0)
		rc = -errno;
	if (rc < 0)
		log_error("%s: %s", file, rc == -ENODATA ? "no entry of a session can be read" : strerror(-rc));
	else
		repair_each_change(r, repair_log_change, &to);
	repair_close(r);
	return rc < 0;
}
