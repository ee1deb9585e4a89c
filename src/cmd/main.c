/* SPDX-License-Identifier: MIT */
/* The life of the program, in an order that can still report every failure: parse, check, open, resolve every path (a
 * daemon's working directory is /), mount, and only then leave the terminal. So when the command returns 0, the
 * filesystem is mounted. */
#include "sessionfs/cmd/check.h"
#include "sessionfs/cmd/cli.h"
#include "sessionfs/base/log.h"
#include "sessionfs/base/progress.h"
#include "sessionfs/base/sys.h"
#include "sessionfs/base/terminal.h"
#include "sessionfs/cmd/opts.h"
#include "sessionfs/find/tables.h"
#include "notify.h"
#include "places.h"
#ifndef SESSIONFS_NO_FUSE
#include "sessionfs/fuse/fs.h"
#include "sessionfs/fuse/fuse_compat.h"
#endif

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define SUBTYPE "sessionfs"

enum { EXIT_USAGE = 2, EXIT_INCOMPLETE = 2 };

/* Parts that all actions on the tree need. */
struct app_parts {
	struct budget budget; /* must not move: the others point to it */
	struct catalog *catalog;
	struct cache *cache;
	struct tree *tree;
};

static void app_close(struct app_parts *p)
{
	if (p->tree)
		tree_close(p->tree);
	if (p->cache)
		cache_close(p->cache);
	if (p->catalog)
		catalog_close(p->catalog);
	*p = (struct app_parts){0};
}

static bool opts_use_color(const struct opts *o)
{
	return o->color == OPTS_COLOR_ALWAYS || (o->color == OPTS_COLOR_AUTO && terminal_supports_color(STDOUT_FILENO));
}

/* Returns 0 or a negative errno. After a failure, app_close closes what was opened. */
static int app_open(const char *source, const struct opts *o, struct app_parts *p)
{
	p->budget = (struct budget)BUDGET_INIT(o->cache);
	const struct catalog_options options = {
	    .budget = &p->budget,
	    .watch = o->action == OPTS_MOUNT || o->action == OPTS_EVENTS,
	    .poll = o->poll_ms > 0,
	    .fresh_ms = o->poll_ms,
	    .redact = o->redact,
	    .strict = o->action != OPTS_MOUNT && o->action != OPTS_EVENTS,
	};
	int rc = catalog_open(source, &options, &p->catalog);
	if (rc == 0)
		rc = cache_open(&p->budget, &p->cache);
	if (rc == 0)
		rc = tree_open(
		    &(struct tree_options){
			.catalog = p->catalog,
			.cache = p->cache,
			.read_only = o->read_only,
			.is_private = o->allow_root,
			.coloured = o->action == OPTS_CAT && opts_use_color(o),
		    },
		    &p->tree);
	return rc;
}

/* Keeps files off closed standard streams, also in the programs that we run: printf must fail, not write into them. */
static bool reserve_standard_fds(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0) {
		log_error("/dev/null: %s", strerror(errno));
		return false;
	}
	close(fd);
	return true;
}

static void set_resource_limits(void)
{
	struct rlimit limit = {0, 0};
	/* If root mounts, memory also holds other users' conversations. */
	setrlimit(RLIMIT_CORE, &limit);
	/* Each session in use keeps a file open. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	/* Exceeding the file size limit must fail the write, not kill us. */
	signal(SIGXFSZ, SIG_IGN);
	sys_tune_memory();
}

#ifdef SESSIONFS_NO_FUSE

static int act_mount(const struct opts *o, const struct app_parts *parts, const char *source)
{
	(void)parts, (void)source;
	log_error("%s: built without libfuse, cannot mount; to write files instead: "
	          "sessionfs --copy / DIR",
	          o->target);
	return EXIT_FAILURE;
}

#else

static void log_libfuse_message(enum fuse_log_level level, const char *format, va_list ap)
{
	char text[1024];
	int n = vsnprintf(text, sizeof text, format, ap);
	if (n <= 0)
		return;
	size_t end = strcspn(text, "\n");
	text[end] = '\0';
	if (level <= FUSE_LOG_ERR)
		log_error("%s", text);
	else if (level <= FUSE_LOG_WARNING)
		log_warning("%s", text);
	else
		log_debug("%s", text);
}

/* Returns whether other users have access. */
static bool opts_allow_others(const struct opts *o)
{
	return o->allow_other || o->allow_root;
}

/* libfuse takes the last of equal options: users can choose an fsname, but not lift nosuid and nodev. */
static int add_fuse_options(struct fuse_args *args, struct opts *o, const char *source)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	char *list CLEANUP_FREE = NULL;
	/* If others have access, the kernel must check the modes: it answers from its caches without asking us. */
	const char *const ours[] = {
	    buf_cstr(&o->fuse),
	    "subtype=" SUBTYPE ",nosuid,nodev",
	    o->read_only ? "ro" : "rw",
	    o->allow_other ? "allow_other" : "",
	    o->allow_root ? "allow_root" : "",
	    opts_allow_others(o) || o->default_permissions ? "default_permissions" : "",
	    o->debug ? "debug" : "",
	};
	buf_addf(&name, "fsname=%s", source);
	if (!buf_cstr(&name) || fuse_opt_add_opt_escaped(&list, buf_cstr(&name)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
		if (!ours[i] || (ours[i][0] && fuse_opt_add_opt(&list, ours[i]) < 0))
			return -ENOMEM;
	}
	const char *const words[] = {"sessionfs", "-o", list};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (fuse_opt_add_arg(args, words[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* libfuse's errors about its options, which come in pieces: "fuse: unknown option(s): `-o A,B'". */
static char option_errors[1024];

static void collect_errors(enum fuse_log_level level, const char *format, va_list ap)
{
	size_t n = strlen(option_errors);
	if (level > FUSE_LOG_ERR)
		log_libfuse_message(level, format, ap);
	else
		vsnprintf(option_errors + n, sizeof option_errors - n, format, ap);
}

/* Returns the device of the file at a path without asking its filesystem; 0: unknown. */
static dev_t mount_device_at(const char *path)
{
	struct statx st;
	return statx(AT_FDCWD, path, STATX_UNASKED, STATX_TYPE, &st) < 0 ? 0
	                                                                 : makedev(st.stx_dev_major, st.stx_dev_minor);
}

/* The process that serves the mount. */
struct server {
	const struct opts *o;
	int report; /* a pipe to the parent process; -1: none, the process is in the foreground */
};

/* Until now, errors went to the user's terminal. */
static void server_ready(void *arg)
{
	struct server *s = arg;
	char ready[64];
	snprintf(ready, sizeof ready, "READY=1\nMAINPID=%d\n", (int)getpid());
	notify_send(ready);
	log_setup(s->o->log_level, s->report >= 0 ? LOG_TO_SYSLOG : LOG_TO_STDERR_NONBLOCK);
	if (s->report >= 0) {
		int null CLEANUP_CLOSE = open("/dev/null", O_RDWR | O_CLOEXEC);
		for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
			dup2(null, fd);
		ssize_t n = write(s->report, "", 1);
		(void)n;
		close(s->report);
	}
	log_install_crash_handler();
}

/* Forks as fuse_daemonize, but the parent process waits until the child is ready or has ended. Returns in the child,
 * and after an error in the parent. */
static int server_fork(struct server *s)
{
	int ends[2], status;
	char byte;
	sigset_t old;
	log_block_signals(&old);
	pid_t child = pipe2(ends, O_CLOEXEC) < 0 ? -1 : fork();
	if (child < 0 || (child == 0 && setsid() < 0))
		return -errno;
	if (child == 0) {
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		s->report = ends[1];
		close(ends[0]);
		return 0;
	}
	close(ends[1]);
	if (ppoll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, NULL, &old) < 0)
		kill(child, SIGKILL); /* a signal ends the wait */
	if (read(ends[0], &byte, 1) == 1)
		_exit(EXIT_SUCCESS);
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		return -EOWNERDEAD;
	_exit(EXIT_FAILURE); /* the child has logged why, and has unmounted */
}

/* Serves the mount. *ret_left: a thread is still running. */
static int mount_serve(struct fs *fs, const struct opts *o, bool *ret_left)
{
	struct server server = {o, -1};
	int rc = chdir("/") < 0 ? -errno : o->foreground ? 0 : server_fork(&server);
	if (rc) {
		log_error("cannot run in the background: %s", rc == -EOWNERDEAD ? "killed" : strerror(-rc));
		return EXIT_FAILURE;
	}
	rc = fs_loop(fs, o->single_thread ? 1 : o->max_threads, server_ready, &server);
	notify_send("STOPPING=1\n");
	*ret_left = rc == -ETIMEDOUT;
	if (rc < 0 && !*ret_left)
		log_error("%s: %s", o->target, rc == -ECANCELED ? "ended before it was mounted" : strerror(-rc));
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* libfuse unmounts by name, lazily, unless its descriptor reports that the filesystem is gone. If another filesystem is
 * mounted there now, this replaces the descriptor by one that reports that. */
static void mount_detach(struct fuse_session *se, const char *mountpoint, dev_t device)
{
	int ends[2];
	if (device && mount_device_at(mountpoint) != device && pipe2(ends, O_CLOEXEC) == 0) {
		close(ends[0]);
		dup3(ends[1], fuse_session_fd(se), O_CLOEXEC);
		close(ends[1]);
	}
	fuse_session_unmount(se);
}

static int run_fuse_session(struct opts *o, const struct app_parts *parts, const char *source, const char *mountpoint)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_session *se;
	struct fs *fs = NULL;
	int status = EXIT_FAILURE;
	bool left = false;

	int rc = fs_open(&(struct fs_options){parts->tree, parts->catalog, o->read_only, .refuse_own = true}, &fs);
	if (rc == 0)
		rc = add_fuse_options(&args, o, source);
	if (rc) {
		log_error("%s: %s", mountpoint, strerror(-rc));
		goto close;
	}
	fuse_set_log_func(collect_errors);
	se = fuse_session_new(&args, &fs_operations, sizeof fs_operations, fs);
	fuse_set_log_func(log_libfuse_message);
	if (!se) {
		const char *refused = buf_cstr(&o->fuse);
		char *quoted = strchr(option_errors, '`'), *end = strrchr(option_errors, '\'');
		if (quoted && end > quoted) {
			*end = '\0';
			refused = quoted + (strncmp(quoted, "`-o ", 4) == 0 ? 4 : 1);
		}
		log_error("-o %s: libfuse rejects this: unknown option or invalid value; see sessionfs --help",
		          refused);
		status = EXIT_USAGE;
		goto close;
	}
	fs_attach(fs, se);
	if (fuse_set_signal_handlers(se) < 0) {
		log_error("signals: %s", strerror(errno));
		goto destroy;
	}
	if (fuse_session_mount(se, mountpoint) < 0) {
		log_error("%s: not mounted%s; --cat, --ls, --search and --copy need no mount", mountpoint,
		          places_mount_remedy());
		goto remove;
	}
	dev_t device = places_is_fuse_fd(mountpoint) ? 0 : mount_device_at(mountpoint);
	resolver_forbid_device(catalog_resolver(parts->catalog), device);
	status = mount_serve(fs, o, &left);
	left = left || !fs_stop(fs);
	if (left) {
		log_error("%s: unmounted while a session file did not answer", o->target);
		status = EXIT_FAILURE;
	}
	mount_detach(se, mountpoint, device);
	/* That thread still uses everything: free nothing. */
	if (left)
		_exit(status);
remove:
	fuse_remove_signal_handlers(se);
destroy:
	fuse_session_destroy(se);
close:
	fuse_opt_free_args(&args);
	fs_close(fs);
	return status;
}

static int act_mount(struct opts *o, const struct app_parts *parts, const char *source)
{
	char *mountpoint CLEANUP_FREE = places_mountpoint(o->target, source, o->nonempty);
	if (!mountpoint)
		return EXIT_FAILURE;
	/* The program that passed the descriptor has already mounted: we cannot add default_permissions. */
	if (opts_allow_others(o) && places_is_fuse_fd(mountpoint) && !o->default_permissions) {
		log_error("others would have access regardless of modes: drop_privileges requires default_permissions "
		          "as an option");
		return EXIT_FAILURE;
	}
	tree_set_mountpoint(parts->tree, mountpoint);
	return run_fuse_session(o, parts, source, mountpoint);
}

#endif

/* The exit codes are grep's. */
static int act_search(const struct opts *o, const struct app_parts *parts)
{
	struct buf why CLEANUP_BUF = BUF_INIT;
	struct cli_search how = {.text = o->target,
	                         .root = o->root,
	                         .lines = o->lines ? o->lines : SIZE_MAX,
	                         .entries = o->limit ? o->limit : SIZE_MAX,
	                         .style = o->json             ? CLI_SEARCH_JSON
	                                  : o->entries        ? CLI_SEARCH_ENTRIES
	                                  : opts_use_color(o) ? CLI_SEARCH_COLOURED
	                                                      : CLI_SEARCH_PLAIN};
	bool counts = isatty(STDOUT_FILENO) && !o->json && !o->entries;
	int rc = cli_search(parts->tree, &how, how.style == CLI_SEARCH_COLOURED ? stdout : o->out,
	                    counts ? o->messages : NULL, &why);
	if (rc < 0)
		log_error("--search: %s", rc == -EINVAL && buf_cstr(&why) ? buf_cstr(&why) : strerror(-rc));
	for (struct span line, hints = buf_span(&why); rc == 0 && span_line(&hints, &line);)
		log_warning("--search: %.*s", (int)line.n, line.p);
	return rc < 0 ? EXIT_USAGE : rc > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Returns the end of the message for a PATH that fails with rc. */
static const char *path_hint(int rc)
{
	return rc == -ENOENT   ? "; a PATH begins at the root of the tree: sessionfs --ls"
	       : rc == -EISDIR ? "; to list a directory: sessionfs --ls PATH"
	                       : "";
}

static int act_copy(const struct opts *o, const struct app_parts *parts, const char *source)
{
	struct slot_info any;
	struct tree_attr what;
	uint64_t cookie = 0;
	int rc = tree_resolve(parts->tree, o->target, true, &what);
	if (rc < 0) {
		log_error("%s: %s%s", o->target, strerror(-rc), path_hint(rc));
		return EXIT_FAILURE;
	}
	if (o->copy_deletes && !catalog_slot_next(parts->catalog, NO_SLOT, &cookie, &any)) {
		log_error("%s: no sessions, and --delete would empty the copy", source);
		return EXIT_FAILURE;
	}
	char *to CLEANUP_FREE = places_prepare_copy(o, source, S_ISREG(what.mode));
	return to && cli_copy(parts->tree, o->target, &what, to, o->copy_deletes, o->out) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int act_secrets(const struct opts *o, struct app_parts *parts, const char *source)
{
	struct buf rows CLEANUP_BUF = BUF_INIT;
	const struct fact_list *all = NULL;
	struct facts *facts;
	int rc = facts_open(parts->catalog, &parts->budget, &facts);
	if (rc == 0) {
		struct progress shown;
		progress_init(&shown, stderr, PROGRESS_DELAY_MS, false);
		const struct cancel *outer = cancel_set(&(struct cancel){.progress = &shown});
		rc = facts_get(facts, &all);
		if (rc == 0)
			rc = table_secrets(all, &rows);
		progress_clear();
		cancel_set(outer);
		int put = cli_put(o->out, buf_span(&rows));
		rc = rc < 0 ? rc : put;
		/* An unreadable session may have some. */
		if (rc == 0)
			rc = all->error;
		facts_release(all);
		facts_close(facts);
	}
	if (rc < 0)
		log_error("%s: %s", source, strerror(-rc));
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int act_on_tree(struct opts *o, const char *source)
{
	struct app_parts parts CLEANUP(app_close) = {0};
	int rc = app_open(source, o, &parts);
	if (rc) {
		log_error("%s: %s", source, strerror(-rc));
		return EXIT_FAILURE;
	}
	switch (o->action) {
	case OPTS_MOUNT:
		return act_mount(o, &parts, source);
	case OPTS_SEARCH:
		return act_search(o, &parts);
	case OPTS_COPY:
		return act_copy(o, &parts, source);
	case OPTS_SECRETS:
		return act_secrets(o, &parts, source);
	case OPTS_EVENTS:
		rc = cli_events(parts.catalog, o->poll_ms, STDOUT_FILENO);
		o->target = rc == -ENOENT ? source : "--events";
		break;
	case OPTS_CAT:
		rc = cli_cat(parts.tree, o->target, o->out, opts_use_color(o) ? stdout : o->out);
		break;
	case OPTS_LS:
		rc = o->names ? cli_ls_names(parts.tree, o->target, o->out)
		              : cli_ls(parts.tree, o->target, o->json, o->out);
		break;
	default:
		rc = cli_tree(parts.tree, o->target, o->out);
		break;
	}
	if (rc)
		log_error("%s: %s%s", *o->target ? o->target : "/", strerror(abs(rc)),
		          o->action == OPTS_EVENTS ? "" : path_hint(rc));
	return rc > 0 ? EXIT_INCOMPLETE : rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int act_on_source(struct opts *o)
{
	char *source CLEANUP_FREE = places_source(o->source);
	if (!source)
		return EXIT_FAILURE;
	/* These print what a path names. */
	if (o->action != OPTS_CAT && o->action != OPTS_LS && o->action != OPTS_TREE)
		places_warn_empty(source);
	if (o->action != OPTS_CHECK)
		return act_on_tree(o, source);
	size_t found = 0;
	int rc = check_source(source, NULL, o->out, stderr, &found);
	if (rc)
		log_error("%s: %s", source, strerror(-rc));
	return rc || found ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int act(struct opts *o)
{
	switch (o->action) {
	case OPTS_HELP:
		opts_usage(o->out);
		return EXIT_SUCCESS;
	case OPTS_VERSION:
		fputs("sessionfs " SESSIONFS_VERSION "\n", o->out);
#ifndef SESSIONFS_NO_FUSE
		fprintf(o->out, "FUSE library version %s\n", fuse_pkgversion());
#endif
		return EXIT_SUCCESS;
	case OPTS_PICK: /* programs that it runs must not inherit our limits */
		return cli_pick(o->source, o->target, o->redact);
	default:
		break;
	}
	sys_forbid_debugging();
	log_setup(o->log_level, LOG_TO_STDERR);
	if (o->action == OPTS_UNMOUNT)
		return places_unmount(o->target);
	if (o->action == OPTS_REPAIR)
		return cli_repair(o->target, o->out, o->messages);
	set_resource_limits();
	return act_on_source(o);
}

int main(int argc, char *argv[])
{
	struct opts o CLEANUP(opts_release) = OPTS_INIT;
	struct buf why CLEANUP_BUF = BUF_INIT;

	if (!reserve_standard_fds())
		return EXIT_FAILURE;
	FILE *out CLEANUP(terminal_close) = terminal_stream(stdout);
	FILE *messages CLEANUP(terminal_close) = terminal_stream(stderr);
	if (!out || !messages)
		return EXIT_FAILURE;
	if (argc == 1 && isatty(STDERR_FILENO)) {
		places_print_hint(messages);
		return EXIT_USAGE;
	}
	int rc = opts_parse(argc, argv, &o, &why);
	if (rc) {
		log_error("%s", rc == -EINVAL && buf_cstr(&why) ? buf_cstr(&why) : strerror(-rc));
		return rc == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
	}
	o.out = out;
	o.messages = messages;
	int status = act(&o);
	if (fflush(out) == 0 && fflush(stdout) == 0 && !ferror(out) && !ferror(stdout))
		return status;
	log_error("standard output: %s", strerror(errno));
	return EXIT_FAILURE;
}
