/* The directories that a mount connects. Two mistakes cost much: a source that has no sessions shows nothing and says
 * nothing, and a mountpoint that has some hides them from pi. */
#include "sessionfs/cmd/places.h"

#include "sessionfs/base/clock.h"
#include "sessionfs/base/log.h"
#include "sessionfs/catalog/catalog.h"
#include "sessionfs/catalog/header.h"
#include "sessionfs/catalog/source.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

/* How far places_warn_empty looks. */
#define MOST_LEVELS 5
#define MOST_NAMES 8192
#define MOST_MS 1000

/* --- what is in a directory -------------------------------------------------------- */

static bool is_below(const char *path, const char *dir)
{
	size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

/* As pi names the directory of a project. */
static bool is_project(const char *name)
{
	size_t n = strlen(name);
	return n >= 4 && memcmp(name, "--", 2) == 0 && memcmp(name + n - 2, "--", 2) == 0;
}

static bool is_session(const char *dir, const char *name, struct header *h)
{
	struct buf path CLEANUP_BUF = BUF_INIT;
	size_t n = strlen(name);
	if (n < 6 || strcmp(name + n - 6, ".jsonl") != 0)
		return false;
	buf_addf(&path, "%s/%s", dir, name);
	return buf_cstr(&path) && header_read(&(struct reach_at){NULL, path.p}, REACH_WAIT, h);
}

static void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* The next name but `.` and `..`; NULL at the end, or with an error in errno. */
static const struct dirent *next_name(DIR *d)
{
	const struct dirent *e;
	do {
		errno = 0;
		e = readdir(d);
	} while (e && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0));
	return e;
}

/* --- the source ------------------------------------------------------------------------ */

/* Why the directory cannot be read, as an errno; 0 if it can. */
static int reading_fault(const char *path)
{
	DIR *d CLEANUP(cleanup_dir) = opendir(path);
	if (!d || faccessat(AT_FDCWD, path, R_OK | X_OK, AT_EACCESS) < 0)
		return errno;
	return next_name(d) ? 0 : errno;
}

char *places_source(const char *given)
{
	struct buf standard CLEANUP_BUF = BUF_INIT;
	const char *why = NULL, *path = given;
	if (!path) {
		int rc = source_default(&standard, &why);
		path = rc ? NULL : buf_cstr(&standard);
		if (!path) {
			log_error("source: %s", why ? why : strerror(rc ? -rc : ENOMEM));
			return NULL;
		}
	}
	char *real = realpath(path, NULL);
	int err = real ? reading_fault(real) : errno;
	if (err == 0)
		return real;
	free(real);
	if (err == ENOENT && !given)
		log_error("pi has no sessions here (%s: %s); to show others: sessionfs SOURCE MOUNTPOINT, or -S SOURCE",
		          path, strerror(err));
	else
		log_error("%s: %s", path, strerror(err));
	return NULL;
}

/* Directories that are still to be looked at: those of a level before those below. */
struct hunt {
	struct buf paths; /* each ends in NUL */
	size_t names;
	int64_t until_ms;
	struct header header;
};

static void hunt_release(struct hunt *h)
{
	buf_release(&h->paths);
	header_release(&h->header);
}

static void add_path(struct hunt *h, const char *dir, const char *name)
{
	buf_addf(&h->paths, "%s/%s", dir, name);
	buf_addc(&h->paths, '\0');
}

/* Where something is mounted, a server may not answer. */
static bool is_plain_directory(DIR *d, const char *name)
{
	struct statx st;
	return statx(dirfd(d), name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE, &st) ==
	           0 &&
	       S_ISDIR(st.stx_mode) && !(st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* Whether a session lies in this directory; notes the directories that do. */
static bool hunt_in(struct hunt *h, const char *dir, bool deeper)
{
	DIR *d CLEANUP(cleanup_dir) = opendir(dir);
	const struct dirent *e;
	while (d && h->names < MOST_NAMES && clock_ms(CLOCK_MONOTONIC) < h->until_ms && (e = next_name(d))) {
		h->names++;
		if ((e->d_type == DT_REG || e->d_type == DT_UNKNOWN) && is_session(dir, e->d_name, &h->header))
			return true;
		if (deeper && (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN) && is_plain_directory(d, e->d_name))
			add_path(h, dir, e->d_name);
	}
	return false;
}

static unsigned level_of(const char *path, const char *source)
{
	unsigned n = 0;
	for (const char *p = path + strlen(source); *p; p++)
		n += *p == '/';
	return n;
}

/* Whether the source has a session, in itself or in a project. Else appends the directory that is found first to have
 * some, if one is. */
static bool find_sessions(const char *source, struct buf *out)
{
	/* Where pi has them below a home, below its own directory and below the agent's. */
	static const char *const usual[] = {".pi/agent/sessions", "agent/sessions", "sessions"};
	struct hunt h CLEANUP(hunt_release) = {.header = HEADER_INIT, .until_ms = clock_ms(CLOCK_MONOTONIC) + MOST_MS};
	buf_addspan(&h.paths, span_of(source));
	buf_addc(&h.paths, '\0');
	for (size_t at = 0; at < h.paths.n && buf_err(&h.paths) == 0;) {
		char *dir CLEANUP_FREE = strdup(h.paths.p + at);
		if (!dir)
			break;
		unsigned level = level_of(dir, source);
		if (hunt_in(&h, dir, level < MOST_LEVELS)) {
			char *last = strrchr(dir, '/');
			if (level == 0 || (level == 1 && last[1] != '.'))
				return true;
			if (is_project(last + 1))
				*last = '\0';
			buf_adds(out, dir);
			break;
		}
		for (size_t i = 0; at == 0 && i < sizeof usual / sizeof *usual; i++)
			add_path(&h, source, usual[i]);
		at += strlen(dir) + 1;
	}
	return false;
}

/* As it will be shown: links count, and how deep they lie. */
static bool has_sessions(const char *source)
{
	struct budget nothing = BUDGET_INIT(0);
	struct catalog *c;
	struct slot_info newest;
	if (catalog_open(source, &(struct catalog_options){.budget = &nothing}, &c) < 0)
		return false;
	bool has = catalog_latest(c, NO_SLOT, &newest);
	catalog_close(c);
	return has;
}

void places_warn_empty(const char *source)
{
	struct buf found CLEANUP_BUF = BUF_INIT;
	if (find_sessions(source, &found) || has_sessions(source))
		return;
	const char *where = buf_cstr(&found);
	log_warning("%s: there are no sessions here%s%s", source, where && *where ? "; there are some in " : "",
	            where ? where : "");
}

/* --- the mountpoint ------------------------------------------------------------------ */

static bool is_mounted(const char *dir)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent entry;
	char line[3 * PATH_MAX];
	bool found = false;
	while (mounts && getmntent_r(mounts, &entry, line, sizeof line)) {
		if (strcmp(entry.mnt_dir, dir) == 0)
			found = strcmp(entry.mnt_type, "fuse.sessionfs") == 0;
	}
	if (mounts)
		endmntent(mounts);
	return found;
}

bool places_is_descriptor(const char *mountpoint)
{
	return strncmp(mountpoint, "/dev/fd/", 8) == 0;
}

static bool would_hide_pi(const char *real)
{
	struct buf standard CLEANUP_BUF = BUF_INIT;
	const char *why;
	char *pi CLEANUP_FREE =
	    source_default(&standard, &why) == 0 && buf_cstr(&standard) ? realpath(standard.p, NULL) : NULL;
	return pi && is_below(pi, real);
}

/* What speaks against what is in it. A directory that cannot be read is left to the mount. */
static const char *contents_fault(const char *real, bool nonempty)
{
	struct header h CLEANUP_HEADER = HEADER_INIT;
	DIR *d CLEANUP(cleanup_dir) = opendir(real);
	const struct dirent *e;
	bool any = false;
	while (d && (e = next_name(d))) {
		any = true;
		if ((e->d_type != DT_REG && is_project(e->d_name)) || is_session(real, e->d_name, &h))
			return "holds sessions, which a mount would hide; the order is SOURCE MOUNTPOINT";
	}
	return any && !nonempty ? "is not empty, and a mount would hide what is in it: -o nonempty allows that" : NULL;
}

static const char *mountpoint_fault(const char *real, const char *source, bool nonempty)
{
	if (is_below(real, source))
		return "is inside the directory of sessions";
	if (is_below(source, real))
		return "would hide the directory of sessions";
	if (is_mounted(real))
		return "sessions are mounted here already";
	return would_hide_pi(real) ? "would hide the sessions of pi" : contents_fault(real, nonempty);
}

char *places_mountpoint(const char *path, const char *source, bool nonempty)
{
	struct stat st;
	struct statvfs fs;
	if (places_is_descriptor(path))
		return strdup(path);
	int err = stat(path, &st) < 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
	/* For a dead mount the kernel may answer stat from its cache, but never statvfs. */
	if (err == ENOTCONN || (statvfs(path, &fs) < 0 && errno == ENOTCONN)) {
		log_error("%s: the program that was mounted here is gone; to clear it: fusermount3 -u '%s'", path,
		          path);
		return NULL;
	}
	if (err == ENOENT) {
		log_error("%s: there is no such mountpoint (%s); to make it: mkdir -p '%s'", path, strerror(err), path);
		return NULL;
	}
	char *real = err ? NULL : realpath(path, NULL);
	const char *fault = real ? mountpoint_fault(real, source, nonempty) : strerror(err ? err : errno);
	if (!fault)
		return real;
	log_error("%s: %s", path, fault);
	free(real);
	return NULL;
}
