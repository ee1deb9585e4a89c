/* SPDX-License-Identifier: MIT */
/* The directories that a mount connects. Two mistakes are costly: a source without sessions shows nothing and reports
 * no error, and a mountpoint with sessions hides them from pi. */
#include "places.h"

#include "sessionfs/base/clock.h"
#include "sessionfs/base/log.h"
#include "sessionfs/base/sys.h"
#include "sessionfs/catalog/catalog.h"
#include "sessionfs/catalog/header.h"
#include "sessionfs/cmd/source.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* Limits of the search of places_warn_empty. */
#define HUNT_LEVELS_MAX 5
#define HUNT_NAMES_MAX 8192
#define HUNT_TIME_MAX_MS 1000

#define MOUNT_TYPE "fuse.sessionfs"

static int dir_is_same(void *arg, int dir, const struct statx *x)
{
	const struct stat *st = arg;
	(void)dir;
	return x->stx_ino == st->st_ino && makedev(x->stx_dev_major, x->stx_dev_minor) == st->st_dev;
}

/* Returns whether the path leads through the directory, which a bind mount can show under several names. */
static bool path_is_below(const char *path, const char *dir)
{
	struct stat st;
	return stat(dir, &st) == 0 && resolve_each_dir(path, dir_is_same, &st) > 0;
}

/* Returns whether pi names directories of projects like this. */
static bool name_is_project(const char *name)
{
	size_t n = strlen(name);
	return n >= 4 && memcmp(name, "--", 2) == 0 && memcmp(name + n - 2, "--", 2) == 0;
}

static bool name_is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool places_is_session(const char *dir, const char *name, struct header *h)
{
	struct buf path CLEANUP_BUF = BUF_INIT;
	if (header_name(name, NULL) == NAME_OTHER)
		return false;
	buf_addf(&path, "%s/%s", dir, name);
	return buf_cstr(&path) && header_read(&(struct source_path){NULL, path.p}, RESOLVER_WAIT, h);
}

/* Returns the end of a message for a missing directory: a bare word may have been meant as a command. */
static const char *hint_for_word(const char *path)
{
	return strchr(path, '/') ? "" : "; for commands: sessionfs --help";
}

/* --- the source ------------------------------------------------------------------------ */

struct mount_wanted {
	struct buf *source;
	dev_t device;
};

static int mount_add_source(void *arg, const struct sys_mount *m)
{
	const struct mount_wanted *w = arg;
	if (m->device != w->device || strcmp(m->type, MOUNT_TYPE) != 0)
		return false;
	buf_adds(w->source, m->source);
	return true;
}

/* Appends the source of the mount of sessions that the directory is in. Returns whether it is in one. The device tells:
 * a path of the list of mounts can lead elsewhere by now. */
static int mount_find_source(void *arg, int dir, const struct statx *x)
{
	struct mount_wanted w = {arg, makedev(x->stx_dev_major, x->stx_dev_minor)};
	(void)dir;
	return sys_each_mount(mount_add_source, &w);
}

/* Returns whether the path leads into a mount of sessions, without asking it: it can be stuck. */
static bool path_is_in_mount(const char *path, struct buf *ret_source)
{
	return resolve_each_dir(path, mount_find_source, ret_source) > 0;
}

char *places_source(const char *given)
{
	struct buf meant CLEANUP_BUF = BUF_INIT;
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
	if (path_is_in_mount(path, &meant)) {
		bool known = buf_cstr(&meant) && *meant.p == '/';
		log_error("%s: in a mount of sessions%s%s", path, known ? "; to use its source: " : "",
		          known ? meant.p : "");
		return NULL;
	}
	char *real = realpath(path, NULL);
	DIR *d CLEANUP_CLOSEDIR = real ? opendir(real) : NULL;
	if (d && faccessat(AT_FDCWD, real, X_OK, AT_EACCESS) == 0)
		return real;
	if (errno == ENOENT && given)
		log_error("%s: no such source (%s)%s", path, strerror(errno), hint_for_word(path));
	else if (errno == ENOENT)
		log_error("no sessions of pi (%s: %s); to show others: sessionfs SOURCE MOUNTPOINT, or -S SOURCE; see "
		          "sessionfs --help",
		          path, strerror(errno));
	else
		log_error("%s: %s%s", path, strerror(errno),
		          errno == ENOTDIR ? "; a source is a directory of session files" : "");
	free(real);
	return NULL;
}

struct session_hunt {
	int64_t until_ms;
	size_t names;
	struct header header;
	struct buf found; /* a directory that holds a session */
};

/* Searches for a session `levels` levels below. */
static bool find_sessions_at_depth(struct session_hunt *h, const char *dir, unsigned levels)
{
	DIR *d CLEANUP_CLOSEDIR = opendir(dir);
	const struct dirent *e;
	struct statx st;
	while (d && h->names < HUNT_NAMES_MAX && clock_ms(CLOCK_MONOTONIC) < h->until_ms && (e = readdir(d))) {
		struct buf below CLEANUP_BUF = BUF_INIT;
		h->names++;
		if (name_is_dots(e->d_name))
			continue;
		if (levels == 0 && e->d_type != DT_LNK && places_is_session(dir, e->d_name, &h->header)) {
			buf_adds(&h->found, dir);
			return true;
		}
		if (levels == 0 || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) ||
		    sys_statx(dirfd(d), e->d_name, STATX_UNASKED, STATX_TYPE, &st) < 0 || !S_ISDIR(st.stx_mode))
			continue;
		/* The server of a mount can be silent. */
		if (st.stx_attributes & STATX_ATTR_MOUNT_ROOT)
			continue;
		buf_addf(&below, "%s/%s", dir, e->d_name);
		if (buf_cstr(&below) && find_sessions_at_depth(h, below.p, levels - 1))
			return true;
	}
	return false;
}

/* Tries the usual places below a home, pi's directory and the agent's; then one level after another. */
static bool find_sessions_below(struct session_hunt *h, const char *source)
{
	static const char *const usual[] = {".pi/agent/sessions", "agent/sessions", "sessions"};
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
	int at CLEANUP_CLOSE = sys_openat(AT_FDCWD, source, O_PATH | O_CLOEXEC);
	bool found = false;
	for (size_t i = 0; !found && i < sizeof usual / sizeof *usual; i++) {
		int fd CLEANUP_CLOSE = sys_openat2(at, usual[i], &how, sizeof how);
		struct buf dir CLEANUP_BUF = BUF_INIT;
		buf_addf(&dir, "%s/%s", source, usual[i]);
		found = fd >= 0 && buf_cstr(&dir) && find_sessions_at_depth(h, dir.p, 1);
	}
	for (unsigned levels = 2; !found && levels <= HUNT_LEVELS_MAX; levels++)
		found = find_sessions_at_depth(h, source, levels);
	return found;
}

/* Returns the length of the deepest directory named `sessions` in the first n bytes of a path, or 0. */
static size_t path_find_sessions(const char *path, size_t n)
{
	static const char name[] = "/sessions/";
	const size_t k = sizeof name - 1;
	while (n >= k && memcmp(path + n - k, name, k) != 0)
		n--;
	return n >= k ? n - 1 : 0;
}

/* Returns whether a mount would show any session: links count, too. Appends the path of the deepest directory named
 * `sessions` below the source that holds all of them, if there is one; otherwise of one of several that do. */
static bool source_has_sessions(const char *source, struct buf *out, bool *ret_several)
{
	struct budget nothing = BUDGET_INIT(0);
	struct buf first CLEANUP_BUF = BUF_INIT, path CLEANUP_BUF = BUF_INIT;
	struct catalog *c;
	struct slot_info any;
	if (catalog_open(source, &(struct catalog_options){.budget = &nothing}, &c) < 0)
		return false;
	uint64_t cookie = 0;
	bool has = false, each = true;
	size_t common = 0;
	while (catalog_slot_next(c, NO_SLOT, &cookie, &any)) {
		struct buf *to = has ? &path : &first;
		buf_reset(to);
		buf_addf(to, "/%s", any.file);
		common = has ? common : to->n;
		has = true;
		each = each && path_find_sessions(to->p, to->n) > 0;
		size_t n = 0;
		while (n < common && n < to->n && first.p[n] == to->p[n])
			n++;
		common = n;
	}
	catalog_close(c);
	size_t one = path_find_sessions(first.p, common), some = each ? path_find_sessions(first.p, first.n) : 0;
	*ret_several = !one;
	if (one || some)
		buf_addf(out, "%s%.*s", source + (source[1] ? 0 : 1), (int)(one ? one : some), first.p);
	return has;
}

void places_warn_empty(const char *source)
{
	struct session_hunt h = {.header = HEADER_INIT, .until_ms = clock_ms(CLOCK_MONOTONIC) + HUNT_TIME_MAX_MS};
	struct buf all CLEANUP_BUF = BUF_INIT;
	/* A session here, or in a directory of another name, is not below a directory named `sessions`. */
	bool several = false;
	bool any =
	    find_sessions_at_depth(&h, source, 0) || (find_sessions_at_depth(&h, source, 1) && buf_cstr(&h.found) &&
	                                              strcmp(strrchr(h.found.p, '/'), "/sessions") != 0);
	buf_reset(&h.found);
	if (!any && !source_has_sessions(source, &all, &several)) {
		bool found = find_sessions_below(&h, source) && buf_cstr(&h.found);
		char *last = found ? strrchr(h.found.p, '/') : NULL;
		if (last && name_is_project(last + 1))
			*last = '\0';
		log_warning("%s: no sessions%s%s", source, found ? "; found some in " : "", found ? h.found.p : "");
	} else if (all.n > 0 && buf_cstr(&all)) {
		log_warning("%s: all sessions are below %s; to tell their projects apart, use %s as the source: %s",
		            source, several ? "several directories" : "one directory", several ? "one" : "it", all.p);
	}
	header_release(&h.header);
	buf_release(&h.found);
}

/* --- the mountpoint ------------------------------------------------------------------ */

struct mount_count {
	const char *dir; /* or NULL: all mounts of this user */
	size_t n;
	struct buf *out;
};

static int mount_count_add(void *arg, const struct sys_mount *m)
{
	struct mount_count *k = arg;
	char user[32];
	snprintf(user, sizeof user, ",user_id=%u,", (unsigned)getuid());
	bool is_sessionfs = strcmp(m->type, MOUNT_TYPE) == 0, is_ours = is_sessionfs && strstr(m->options, user);
	if (k->dir && strcmp(m->dir, k->dir) != 0)
		return 0;
	if (k->out && is_ours)
		buf_addf(k->out, "%s%s", k->out->n > 0 ? ", " : "", m->dir);
	k->n = k->dir ? is_sessionfs : k->n + is_ours;
	return 0;
}

/* Returns the number of mounts of sessions on `dir` (0 or 1; NULL: by this user). Appends the directories of this
 * user's mounts to `out`, with commas. */
static size_t count_session_mounts(const char *dir, struct buf *out)
{
	struct mount_count k = {dir, 0, out};
	sys_each_mount(mount_count_add, &k);
	return k.n;
}

bool places_is_fuse_fd(const char *mountpoint)
{
	return strncmp(mountpoint, "/dev/fd/", 8) == 0;
}

/* Returns why the contents of the mountpoint forbid a mount, or NULL. mount(2) checks a directory that cannot be
 * read. */
static const char *mountpoint_contents_error(const char *real, bool nonempty)
{
	struct header h CLEANUP_HEADER = HEADER_INIT;
	DIR *d CLEANUP_CLOSEDIR = opendir(real);
	const struct dirent *e;
	bool any = false;
	while (d && (e = readdir(d))) {
		if (name_is_dots(e->d_name))
			continue;
		any = true;
		if ((e->d_type != DT_REG && name_is_project(e->d_name)) || places_is_session(real, e->d_name, &h))
			return "contains sessions, which a mount would hide; the order is SOURCE MOUNTPOINT";
	}
	return any && !nonempty ? "not empty; -o nonempty allows a mount to hide its contents" : NULL;
}

/* Returns the real path of the directory of pi's sessions, or NULL. */
static char *places_pi_sessions(void)
{
	struct buf standard CLEANUP_BUF = BUF_INIT, meant CLEANUP_BUF = BUF_INIT;
	const char *why;
	bool known = source_default(&standard, &why) == 0 && buf_cstr(&standard);
	return known && !path_is_in_mount(standard.p, &meant) ? realpath(standard.p, NULL) : NULL;
}

static const char *mountpoint_error(const char *real, const char *source, bool nonempty)
{
	if (path_is_below(real, source))
		return "is inside the directory of sessions; choose a directory elsewhere";
	if (path_is_below(source, real))
		return "would hide the directory of sessions; choose another one";
	if (count_session_mounts(real, NULL) > 0)
		return "sessions are already mounted here; to unmount them: sessionfs -u";
	char *pi CLEANUP_FREE = places_pi_sessions();
	return pi && path_is_below(pi, real) ? "would hide the sessions of pi; choose another directory"
	                                     : mountpoint_contents_error(real, nonempty);
}

char *places_mountpoint(const char *path, const char *source, bool nonempty)
{
	struct stat st;
	struct statvfs fs;
	if (places_is_fuse_fd(path))
		return strdup(path);
	int err = stat(path, &st) < 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
	/* For a dead mount the kernel can answer stat from its cache, but never statvfs. */
	if (err == ENOTCONN || (statvfs(path, &fs) < 0 && errno == ENOTCONN)) {
		log_error("%s: the program that was mounted here has died; to remove the mount: sessionfs -u '%s'",
		          path, path);
		return NULL;
	}
	char *real = err ? NULL : realpath(path, NULL);
	const char *fault = real ? mountpoint_error(real, source, nonempty) : strerror(err ? err : errno);
	if (!fault)
		return real;
	if (err == ENOENT)
		log_error("%s: no such mountpoint (%s); to create it: mkdir -p '%s'%s", path, fault, path,
		          hint_for_word(path));
	else
		log_error("%s: %s%s", path, fault, err == ENOTDIR ? "; a mountpoint is an empty directory" : "");
	free(real);
	return NULL;
}

static bool has_fusermount(void)
{
	char *dirs CLEANUP_FREE = strdup(getenv("PATH") ? getenv("PATH") : ""), *rest = dirs, *dir;
	bool found = false;
	while (!found && (dir = strsep(&rest, ":"))) {
		struct buf path CLEANUP_BUF = BUF_INIT;
		buf_addf(&path, "%s/fusermount3", dir);
		found = buf_cstr(&path) && access(path.p, X_OK) == 0;
	}
	return found;
}

const char *places_mount_remedy(void)
{
	if (access("/dev/fuse", F_OK) < 0)
		return "; as root: modprobe fuse";
	if (access("/dev/fuse", R_OK | W_OK) < 0)
		return "; as root: chmod 666 /dev/fuse";
	return geteuid() != 0 && !has_fusermount() ? "; as root: apt-get install fuse3" : "";
}

/* --- the target of a copy ------------------------------------------------------------ */

/* `dir` is the target of the copy, or its parent if the target does not exist. */
static const char *copy_target_error(const char *dir, bool is_made, const char *source, bool removes)
{
	const char *home = getenv("HOME");
	char *pi CLEANUP_FREE = places_pi_sessions(), *real = home ? realpath(home, NULL) : NULL;
	const char *fault = NULL;
	if (path_is_below(dir, source) || (pi && path_is_below(dir, pi)))
		fault = "is inside the directory of sessions; choose a directory elsewhere";
	else if (!is_made && (path_is_below(source, dir) || (pi && path_is_below(pi, dir))))
		fault = "contains the directory of sessions; choose a directory of its own";
	else if (!is_made && removes && (strcmp(dir, "/") == 0 || (real && path_is_below(real, dir))))
		fault = "contains your home, which --delete would empty; choose a directory of its own";
	free(real);
	return fault;
}

/* Appends a word, quoted for a shell. */
static void add_word(struct buf *out, const char *before, const char *word)
{
	const char *quote = word[strcspn(word, " \t\n\"'\\$`&|;<>()*?[]{}#~!")] ? "'" : "";
	buf_addf(out, "%s%s", before, quote);
	for (; *word; word++)
		buf_addf(out, *word == '\'' ? "'\\%c'" : "%c", *word);
	buf_adds(out, quote);
}

static void copy_log_not_dir(const struct opts *o, bool is_file)
{
	struct buf other CLEANUP_BUF = BUF_INIT;
	if (is_file) {
		buf_addf(&other, "; to write one file: sessionfs%s", o->redact ? " -o redact" : "");
		if (o->source)
			add_word(&other, " -S ", o->source);
		add_word(&other, " --cat ", o->target);
		add_word(&other, " > ", o->to);
	}
	log_error("%s: %s%s", o->to, strerror(ENOTDIR), buf_cstr(&other) ? other.p : "");
}

char *places_prepare_copy(const struct opts *o, const char *source, bool is_file)
{
	const char *path = o->to, *fault = NULL;
	struct buf meant CLEANUP_BUF = BUF_INIT;
	struct stat st;
	if (path_is_in_mount(path, &meant))
		fault = "is in a mount of sessions; choose a directory elsewhere";
	int err = fault ? 0 : stat(path, &st) < 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
	/* A dangling link is in the way, too. */
	if (err == ENOTDIR || (err == ENOENT && lstat(path, &st) == 0)) {
		copy_log_not_dir(o, is_file);
		return NULL;
	}
	char *real = err || fault ? NULL : realpath(path, NULL);
	if (err == ENOENT) {
		char *copy CLEANUP_FREE = strdup(path);
		char *above CLEANUP_FREE = copy ? realpath(dirname(copy), NULL) : NULL;
		fault = above ? copy_target_error(above, true, source, o->copy_deletes) : NULL;
		real = above && !fault && mkdir(path, 0700) == 0 ? realpath(path, NULL) : NULL;
	}
	if (real && !fault)
		fault = copy_target_error(real, false, source, o->copy_deletes);
	if (real && !fault)
		return real;
	log_error("%s: %s%s", path, fault ? fault : strerror(errno),
	          !fault && errno == ENOENT ? "; make the directory above it first" : "");
	free(real);
	return NULL;
}

/* --- without a mountpoint, and after the mount ------------------------------------------ */

void places_print_hint(FILE *out)
{
	struct buf source CLEANUP_BUF = BUF_INIT, mounted CLEANUP_BUF = BUF_INIT, meant CLEANUP_BUF = BUF_INIT;
	const char *why = NULL;
	bool known = source_default(&source, &why) == 0 && buf_cstr(&source);
	bool there = known && !path_is_in_mount(source.p, &meant) && access(source.p, R_OK | X_OK) == 0;
	fprintf(out, "sessionfs: no mountpoint\n");
	if (known)
		fprintf(out, "pi keeps its sessions in %s%s%s.\n", source.p, there ? "" : ": ",
		        there         ? ""
		        : meant.n > 0 ? "in a mount of sessions"
		                      : strerror(errno));
	fprintf(out, "To see %s in ~/pi: mkdir -p ~/pi && sessionfs %s~/pi\n",
	        there ? "them" : "the session files of a directory SOURCE", there ? "" : "SOURCE ");
	if (count_session_mounts(NULL, &mounted) > 0 && buf_cstr(&mounted))
		fprintf(out, "Mounted now: %s\n", mounted.p);
	fprintf(out, "To unmount: sessionfs -u. Options: sessionfs --help. The manual: man sessionfs\n");
}

/* Returns the program's status; 127 if it cannot be run. It fails silently with -q. */
static int run_fusermount(const char *how, const char *dir)
{
	char *const words[] = {"fusermount3", "-u", (char *)how, (char *)dir, NULL};
	pid_t pid;
	int status, rc = posix_spawnp(&pid, words[0], NULL, NULL, words, environ);
	if (rc)
		log_error("%s: %s; as root: apt-get install fuse3, or umount '%s'", words[0], strerror(rc), dir);
	else if (waitpid(pid, &status, 0) == pid && WIFEXITED(status))
		return WEXITSTATUS(status);
	return rc ? 127 : EXIT_FAILURE;
}

int places_unmount(const char *given)
{
	struct buf mounted CLEANUP_BUF = BUF_INIT;
	struct statvfs fs;
	/* With a slash at its end, realpath asks a dead mount. */
	size_t len = given ? strlen(given) : 0;
	while (len > 1 && given[len - 1] == '/')
		len--;
	char *plain CLEANUP_FREE = given ? strndup(given, len) : NULL;
	char *real CLEANUP_FREE = plain ? realpath(plain, NULL) : NULL;
	if (given && !real && errno != ENOTCONN) {
		log_error("%s: %s", given, strerror(errno));
		return EXIT_FAILURE;
	}
	const char *dir = real ? real : plain;
	size_t n = count_session_mounts(dir, &mounted);
	if (!dir)
		dir = buf_cstr(&mounted);
	if (n != 1 || !dir) {
		log_error("%s: %s", dir && *dir ? dir : "-u",
		          n > 1   ? "several mounts; name the one to unmount"
		          : given ? "not a mount of sessions; to list them: findmnt -t " MOUNT_TYPE
		                  : "no mount of sessions");
		return EXIT_FAILURE;
	}
	int status = run_fusermount("-q", dir);
	/* Only now: statvfs can hang if the mount does not answer. A dead mount can be busy, too. */
	bool is_dead = status != 0 && status != 127 && statvfs(dir, &fs) < 0 && errno == ENOTCONN;
	if (status != 0 && status != 127)
		status = run_fusermount(is_dead ? "-z" : "--", dir);
	/* A user who has the right to unmount fails only if the mount is busy. */
	if (status != 0 && status != 127 && !is_dead && (geteuid() == 0 || mounted.n > 0))
		log_error("%s: in use; to list the processes that use it: fuser -vm '%s'", dir, dir);
	return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
