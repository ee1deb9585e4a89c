/* SPDX-License-Identifier: MIT */
/* The internals of the catalog, shared by the files of this folder. `lock` guards everything, except where a comment
 * says otherwise; functions here are called with it held.
 *
 * A `file` is a name on disk (a path relative to the source). It keeps its names as long as the catalog lives; if it
 * is gone and never had any, its place is for the next new name in the directory. A new directory gets the place of one
 * that is gone and had no files. A `slot` is a session file at one generation; the file knows its current one.
 * References are indexes, because arrays move when they grow. */
#ifndef SESSIONFS_CATALOG_IMPL_H
#define SESSIONFS_CATALOG_IMPL_H

#include "sessionfs/catalog/catalog.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/map.h"
#include "sessionfs/base/node.h"
#include "sessionfs/base/pool.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/file/rights.h"

#include "sessionfs/catalog/header.h"

#define NONE MAP_NONE

/* A growing array of numbers. */
struct u32_list {
	uint32_t *v;
	size_t n, cap;
};
int list_add(struct u32_list *l, uint32_t value);
/* Returns how many numbers in a sorted list are below this one. */
size_t list_count_below(const struct u32_list *l, uint64_t value);
void list_drop_first(struct u32_list *l, size_t n); /* removes the first n */
void list_release(struct u32_list *l);

/* How much of a file or directory a call requires. */
enum depth {
	NAMES,   /* of a directory */
	ATTRS,   /* of files; and the header of a session with changed attributes */
	HEADERS, /* whether each file is a session, and which */
	DEPTHS
};

/* The states of a file. A failed scan (scanned.err) changes none.
 *
 *	GONE --listed, or scanned--> UNKNOWN --header read--> SESSION, no slot --name_sessions--> SESSION with a slot
 *	 ^                            ^    \                        |                                 |
 *	 |                            |     +--no session, refused--+---------> OTHER <---------------+
 *	 |                            |                                           |
 *	 |                            +--other attributes (OTHER), other file (SESSION; slot_retire)
 *	 +--no such name: from each
 *
 * With a slot, it is a SESSION, and has a project and a stem. Without one it waits for it (`waits`), unless its project
 * is not known: X.jsonl next to X was not read. One that was refused is a SESSION once its header can be read.
 * tests/unit/schedule_states.h checks what cannot be, here and below. */
enum file_state {
	FILE_GONE,    /* no such name */
	FILE_UNKNOWN, /* a regular file with an unread header */
	FILE_SESSION, /* its header was read */
	FILE_OTHER,   /* not a session: `reason` or `err` says why */
};

/* A scan is the I/O for one file or directory. It runs without the lock; only its result is applied under it.
 * `tick` orders scans and marks: what we know of a file is as new as its current scan, and a mark means that the file
 * may have changed since. A result is applied only if no later scan has replaced it.
 *
 * State is *current* for a call that began at tick `asof` if nothing was marked since the current scan began, and it
 * has not expired; or if that scan began after the call did: so a call never waits for a file that is written to
 * constantly. */
struct scan_state {
	uint64_t marked;        /* the tick of the last mark */
	uint64_t began;         /* the tick at which the current scan began, 0: never */
	int64_t at;             /* the time of that */
	struct disk_scan *scan; /* in progress; or NULL */
	int err;                /* the transient error of the current scan; 0, or a negative errno */
	int failed_err;         /* `err` as of the last failed_update */
	bool foreign;           /* a scan may wait for a server: the pool runs it */
};

/* A file, or (file NONE) a directory. */
struct place {
	uint32_t dir, file;
};

struct file {
	struct scan_state scanned;
	const char *path;     /* relative to the source */
	const char *stem;     /* component in `stem_project`, NULL if not named yet */
	const char *sid_name; /* component under sessions/, NULL if not named yet; mostly the end of `stem` */
	struct span sid;      /* as in the header; mostly a part of `path` */
	struct span parent;   /* parentSession as in the header, p NULL if absent */
	const char *reason;   /* of the last rejection, as `err` */
	dev_t dev;
	ino_t ino, listed_ino; /* from stat and from readdir: they differ on some file systems */
	uint64_t key;          /* a hash of `path`, and another one after each replacement; 0: no slot yet */
	off_t size;
	struct timespec mtime, ctime;
	mode_t mode, shown; /* from stat; without group and others if it has an ACL */
	uid_t uid;
	gid_t gid;
	int err;
	uint32_t base;                             /* offset of the file name in `path` */
	uint32_t stem_at;                          /* offset of the part that makes the stem */
	uint32_t dir, project, stem_project, slot; /* project NONE: not found since it appeared */
	uint32_t scan;                             /* the last directory scan that saw it */
	enum file_state state : 8;
	bool has_ids : 1; /* as in struct header */
	bool waits : 1;   /* is in a project's list of files that need a slot, until name_sessions passes over it */
	bool linked : 1;  /* may change under another name, unseen by inotify; never ends */
	bool noted : 1;   /* is in `changes`, or would be if changes were not lost */
	bool unseen : 1;  /* the last scan failed to get its attributes */
	bool reread : 1;  /* its header must be read again, whatever its attributes; its scan failed, or it is marked */
	bool acl_unread : 1;
	bool unread : 1; /* its attributes have changed since its header was read */
};

/* Directories, with all that was current in them at once: that holds for the next calls until one of them is marked, or
 * for a time. */
struct dir_tree {
	uint64_t marked; /* the tick of the last mark in it */
	struct validity {
		uint64_t asof; /* the tick at which the call began that found it current */
		int64_t until;
	} valid[DEPTHS];
	uint32_t unwatched; /* number of its directories where inotify does not report every change */
};

/* Sessions are found up to this many levels below the source. */
#define DIR_LEVELS_MAX 8

/* dirs[0] is the source itself, with the name "". The states of a directory:
 *
 *	new (scan 0) --> read (err 0) <--> unreadable (err) --absent, or not listed--> gone --listed--> as before
 *
 * A directory with a watch was read, unless a scan of it is running or failed. One that is gone has none; its trees do
 * not count it as unwatched. `trusted` means that it was read, and ends with each mark of its names. */
struct dir {
	struct scan_state scanned;       /* its names and rights */
	struct dir_tree tree;            /* of it and all directories below it */
	const char *name;                /* its path relative to the source */
	const char *reason;              /* why some of its directories are not searched; or NULL */
	uint32_t parent, child, sibling; /* its parent, the parent's newest child, and the next older one; or NONE */
	uint32_t top;                    /* its ancestor on the first level; the source has itself */
	uint32_t namesake;               /* X.jsonl next to this X on the first level; or NONE */
	uint32_t listed;                 /* the last scan of its parent that saw it */
	unsigned depth;
	struct u32_list files; /* the names seen in it; of those that are gone, at least the ones that were shown */
	size_t next_unused;    /* in `files`: where dir_find_unused continues */
	struct stat st;        /* when the names were read; zero if it is unreadable */
	struct rights rights;  /* as of the last scan */
	int acl_err;           /* the error reading its ACL then; or 0 */
	uint32_t project;
	uint32_t scan;     /* counts them; starts at 1 if it appeared after the first one of the source */
	int err;           /* the error reading it */
	int wd;            /* its inotify watch; or 0 */
	dev_t watched_dev; /* the directory that it watches */
	ino_t watched_ino;
	bool gone;    /* not in its parent's names: not scanned until it is again */
	bool linked;  /* has had linked files */
	bool trusted; /* the names are current while `st` is */
};

/* The newest session's file, as last seen: of all, and of the sessions that pi lists, which excludes deeper directories
 * and archives. */
enum { NEWEST_OF_ALL, NEWEST_LISTED };
struct newest {
	uint32_t file;  /* NONE: no session */
	uint64_t epoch; /* 0: find it again */
};

struct project {
	struct span key;         /* its directory name on disk, or the name that one would have */
	const char *name;        /* NULL until it is shown */
	struct u32_list slots;   /* in order; dead ones too */
	struct u32_list waiting; /* sessions without a slot yet */
	uint32_t dir;            /* NONE: only flat files */
	struct newest newest[2];
	struct {
		uint64_t scans, epoch; /* of directories, and the epoch then */
		mode_t mode;
	} names_mode; /* the last result of rights_to_list */
};

struct slot {
	struct open_index *index;       /* the index while it is open */
	struct fingerprints trace;      /* of the last evicted index; all zero: none */
	uint32_t file;                  /* NONE: dead */
	uint32_t place;                 /* the file, even if dead */
	uint32_t parent;                /* as of forks_epoch */
	uint32_t first_fork, next_fork; /* of this slot; of the same parent; both as of the last search for forks */
};

/* Messages that are logged once. */
enum logged {
	LOGGED_FAILURE,    /* of a file or directory */
	LOGGED_UNWATCHED,  /* a directory that has no watch */
	LOGGED_NO_WATCHES, /* none are left */
	LOGGED_FULL,       /* no slot numbers are left */
	LOGGED_ACL,        /* ACLs are unreadable */
};

struct catalog {
	struct lock lock;
	pthread_cond_t scanned; /* a scan's result was applied */
	uint64_t tick;
	struct dir_tree flat;      /* of what can be of any project: dir_is_flat */
	char *source;              /* constant */
	struct resolver *resolver; /* constant */
	uid_t uid;                 /* constant: the user that we run as */
	bool strict;               /* constant: as in catalog_options */
	struct budget *budget;     /* constant */
	struct pool *strings;
	struct map paths, dir_names, project_keys, project_names, stems, sids;
	struct map stem_tails, sid_tails; /* the last ~N of each name */
	struct map logged;                /* by enum logged, and the path or "" */
	VEC(struct place) failed;         /* whose last scan failed; has room for all */
	struct file *files;
	size_t file_count, file_cap;
	struct dir *dirs;
	size_t dir_count, dir_cap, next_gone; /* next_gone: where dir_find_gone continues */
	struct project *projects;
	size_t project_count, project_cap;
	struct slot *slots;
	size_t slot_count, slot_cap;
	size_t waiting;           /* total of all projects */
	struct u32_list nameless; /* files with a slot and no name under sessions/ */
	bool named_all;           /* SIDs were required once: since then each new file gets one */
	uint64_t changes;         /* rises when the attributes of a file have changed */
	/* Rises when a slot is made or dies, a file starts or stops being a possible session, or a parent changes. */
	uint64_t epoch;
	uint64_t named_epoch;    /* the epoch at which projects were last named */
	struct newest newest[2]; /* of all projects */
	struct {
		uint64_t scans; /* of directories, applied until then */
		uid_t uid;
		gid_t gid;
		mode_t mode;
	} names_mode; /* the last result of catalog_list_all_mode */
	uint64_t dir_scans;
	uint64_t forks_epoch; /* the epoch at which parents of forks were last found; 0: never */
	unsigned fresh_ms;    /* constant */
	struct watching {
		int inotify, wake[2]; /* descriptors, or -1; constant; wake: a pipe, if catalog_wait is in use */
		uint32_t *by_wd;      /* directories, or NONE */
		size_t cap;
		size_t count; /* of watches */
		struct catalog_change *changes;
		size_t n, changes_cap;
		VEC(struct place) pending; /* marked, and not yet scanned by catalog_wait */
		bool lost;                 /* anything may have changed */
		bool polls;                /* constant: without inotify */
	} watching;
	struct open_indexes {
		struct open_index *newest, *oldest; /* all, in use or not, by last use */
		size_t count, most;                 /* most: constant */
		struct budget_client keeper;        /* counts their memory */
		pthread_cond_t opened;
	} open;
};

static inline bool watching_is_on(const struct watching *w)
{
	return w->wake[0] >= 0;
}

static inline int64_t catalog_now(void)
{
	return clock_ms(CLOCK_MONOTONIC_COARSE) + 1;
}

static inline struct scan_state *scan_state_of(const struct catalog *c, uint32_t dir, uint32_t file)
{
	return file == NONE ? &c->dirs[dir].scanned : &c->files[file].scanned;
}

static inline const char *place_path(const struct catalog *c, uint32_t dir, uint32_t file)
{
	return file == NONE ? c->dirs[dir].name : c->files[file].path;
}

/* It was marked since the current scan began. */
static inline bool scan_state_is_marked(const struct scan_state *s)
{
	return s->marked > s->began;
}

/* Returns whether files in the directory can be of any project: it is the source, or X or below next to X.jsonl. */
static inline bool dir_is_flat(const struct catalog *c, uint32_t dir)
{
	return dir == 0 || c->dirs[c->dirs[dir].top].namesake != NONE;
}

/* Returns whether every change of its names is reported. If a directory above has no watch, another directory can get
 * its path without an event. */
static inline bool dir_is_watched(const struct catalog *c, uint32_t dir)
{
	while (dir != 0 && c->dirs[dir].wd)
		dir = c->dirs[dir].parent;
	return c->dirs[dir].wd;
}

/* The error of its last scan. The last known state of a file is used while its server does not answer. */
static inline int file_error(const struct file *f)
{
	return f->scanned.err == -ETIMEDOUT && !f->unread ? 0 : f->scanned.err;
}

static inline bool file_is_watched(const struct catalog *c, const struct file *f)
{
	return !f->linked && dir_is_watched(c, f->dir);
}

/* ---- definitions by source file; each uses only files above it (scripts/check-cycles) ---- */

/* open_index.c */
void open_indexes_init(struct catalog *c);
void open_indexes_release(struct catalog *c);
/* The slot died: closes its index at the last put. */
void open_indexes_forget(struct catalog *c, uint32_t slot);
/* Returns how many bytes of the slot's file its index, open or evicted, has parsed. */
off_t open_indexes_known_size(const struct catalog *c, uint32_t slot);

/* watch.c: marks, inotify watches, and recorded changes */
int watching_init(struct watching *w, const struct catalog_options *o);
void watching_release(struct watching *w);
/* Marks the trees that have the directory. */
void mark_dir_stale(struct catalog *c, uint32_t dir);
void mark_file_stale(struct catalog *c, uint32_t file); /* it may have changed, appeared or disappeared */
void mark_names_stale(struct catalog *c, uint32_t dir); /* names in the directory may have */
void mark_files_stale(struct catalog *c, uint32_t dir); /* both, for all files in it */
void mark_tree_stale(struct catalog *c, uint32_t dir);  /* the same for it and all directories below */
/* Returns the directory after `dir` below `root`, each after its parent, starting at `root` itself. Returns NONE at the
 * end. */
uint32_t dir_next(const struct catalog *c, uint32_t root, uint32_t dir);
/* Call before reading the open directory: watches it from now on, if possible. The lock is held, so that the watch is
 * registered before its first event. It never waits: the pool scans directories that may block. */
void watch_dir(struct catalog *c, uint32_t dir, const struct resolved *at);
/* The file has another name, under which it can change without an event. */
void watch_hard_link(struct catalog *c, uint32_t file);
/* Has catalog_wait scan it. */
void pending_add(struct catalog *c, struct place p);
/* Records a change for catalog_wait. */
void watch_add_change(struct catalog *c, uint32_t file, uint32_t died, bool names);
/* Some change cannot be recorded: catalog_wait reports all files. */
void watch_overflow(struct watching *w);
/* Wakes catalog_wait. */
void watch_wake(const struct watching *w);
void watch_drop(struct catalog *c, uint32_t dir);    /* removes its watch */
void watch_removed(struct catalog *c, uint32_t dir); /* the kernel has removed it */
/* The path of the directory, and so of all below it, can lead elsewhere now: removes the watches, and marks all. */
void watch_drop_below(struct catalog *c, uint32_t dir);
void dir_set_gone(struct catalog *c, uint32_t dir, bool gone); /* it disappeared or came back */
uint32_t watch_dir_of(const struct watching *w, int wd);       /* NONE: no such watch */

/* slots.c */
uint32_t project_for(struct catalog *c, struct span key);           /* finds or adds the project of that key; or NONE */
struct span flat_project_key(struct span cwd, struct buf *scratch); /* of a flat file */
/* Walks all files of the project that can be sessions, some of them twice; returns NONE at the end. */
struct project_walk {
	uint32_t dir; /* 0: the first */
	size_t file, waiting, slot;
};
uint32_t project_next_file(const struct catalog *c, uint32_t project, struct project_walk *at);
bool slot_create(struct catalog *c, uint32_t file); /* false if out of memory */
void slot_retire(struct catalog *c, uint32_t slot);

/* newest.c */
bool newest_is_newer(const struct file *a, const struct file *b);
/* Returns the newest file of a project, or (NO_SLOT) of all, as last seen; or NONE. `which` is NEWEST_OF_ALL or
 * NEWEST_LISTED. */
uint32_t newest_known(const struct catalog *c, uint32_t project, int which);
/* A file changed (its mtime was `before`): it may have become the newest, or ceased to be. */
void newest_file_changed(struct catalog *c, uint32_t file, struct timespec before);

/* scan.c: scans of the disk, without the lock */

struct disk_scan {
	struct blocking_call call; /* of the pool, if `foreign` */
	struct resolver *resolver;
	uint64_t began;
	int64_t at;
	uint32_t dir, file, base; /* file NONE: a scan of the directory */
	bool foreign;             /* run by the pool */
	bool is_far;              /* a server must answer; so `foreign`, if a thread is free */
	/* LATE: a call timed out that waited for it, so it is foreign, and its place has the error. The lock guards it.
	 */
	enum { SCAN_RUNNING, SCAN_LATE, SCAN_APPLYING } phase;
	/* Whether it reads the header, or the names: if the attributes differ from `known`. Afterwards READ if it did.
	 */
	enum { SCAN_STAT, SCAN_COMPARE, SCAN_READ } reads;
	struct stat known;
	/* The result: */
	int rc, acl_err;
	bool linked; /* with rc -ENOENT: the target of a link is absent, not the name */
	struct stat st;
	struct header found;  /* of a file */
	struct rights rights; /* of a directory */
	struct buf names;     /* for names_next */
	char path[];
};

/* Begins a scan of the file, or (NONE) of the directory. Returns NULL if out of memory. Release it with scan_put. */
struct disk_scan *scan_new(struct catalog *c, uint32_t dir, uint32_t file, bool header);
/* Starts the scan on a thread of the pool; the caller keeps its reference. Returns 0, or -ETIMEDOUT. */
int scan_start(struct catalog *c, struct disk_scan *l);
/* Runs the scans without waiting for a server: `rc` is -EXDEV where that would be necessary. Called without the lock,
 * which it acquires to watch a directory. Returns 0, or a negative errno: then an unknown number of them ran. */
int scan_make(struct catalog *c, struct disk_scan *const *v, size_t n);
void scan_put(struct catalog *c, struct disk_scan *l);
/* If the pool makes the scan, and it began before this tick, ignores what it finds. */
void scan_abandon(struct catalog *c, struct scan_state *s, uint64_t before);

/* The names in a directory, except . and .., in turn. */
struct name {
	ino_t ino;
	unsigned char type;
	const char *text;
};
bool names_next(struct span *rest, struct name *ret);

/* apply.c: applies the results of scans */

/* Applies the result, unless a later scan has replaced it; wakes waiting calls, and puts the scan. Releases the lock
 * from time to time if the directory has many names. */
void apply_scan(struct catalog *c, struct disk_scan *l);
/* The error of the current scan may have changed: updates `failed`. */
void failed_update(struct catalog *c, uint32_t dir, uint32_t file);
/* Marks the state unknown after a failed scan. */
void apply_failure(struct catalog *c, uint32_t dir, uint32_t file, int err);
static inline bool file_may_be_session(const struct file *f)
{
	return f->state == FILE_UNKNOWN || f->state == FILE_SESSION;
}
/* Returns whether the file exists, or may exist. */
static inline bool file_exists(const struct file *f)
{
	return f->state != FILE_GONE || scan_state_is_marked(&f->scanned);
}
bool file_is_candidate(const char *name);                             /* a session, or a file to report as none */
uint32_t file_for(struct catalog *c, uint32_t dir, const char *name); /* finds or adds it; NONE if out of memory */
uint32_t dir_of_name(struct catalog *c, uint32_t parent, const char *name); /* NONE: not known */
/* Queues the session for a slot, if its project is known. Returns false if out of memory. */
bool file_waits(struct catalog *c, uint32_t file);

/* watch_events.c */
void inotify_drain(struct catalog *c); /* applies the pending events */

/* sync.c: one call of the catalog
 *
 *	struct sync a = sync_begin(c, AGE_NONE);
 *	require(&a, OF_TREE, 0, ATTRS);
 *	bool found = ...;
 *	return sync_end(&a, found);
 *
 * The lock is held in between, except while require scans what is not current. Then arrays can move, and slots can die,
 *but indexes stay valid. Nothing permanent (names, slots) may depend on state that require did not find current. */
struct requirement {
	uint32_t dir, file; /* file NONE: the directory */
	enum depth depth;   /* of a file */
	bool now;           /* earlier results do not count, however fresh */
	bool optional;      /* a short wait for it is enough */
};
/* Whether earlier results will do if a server takes long to answer. */
enum max_age {
	AGE_NONE,
	AGE_RECENT, /* if they are recent */
	AGE_ANY,    /* always: the result is only a time or a number */
};
/* A call requires, scans what is missing, and requires again, until nothing is missing, or it was interrupted. With
 * AGE_NONE, no requirement is optional, and the call never times out. */
struct sync {
	struct catalog *c;
	uint64_t asof; /* the tick at which it began */
	int64_t now;   /* the time of that */
	struct requirement *missing;
	size_t n, cap;
	int err;        /* a scan of something required failed; 0 or a negative errno */
	bool needs_all; /* then even a found item does not count */
	enum max_age max_age;
	bool timed_out; /* its time is up: it waits only for such other calls */
	bool retried;   /* it has scanned failures twice */
	bool failed;    /* a scan failed, and no earlier call has logged that */
};
struct sync sync_begin(struct catalog *c, enum max_age max_age);
/* Releases the lock. If something was missing, sets deferred_set, so that "none" is not the answer. Returns `found`. */
bool sync_end(struct sync *a, bool found);
/* The same for a call that returns an error itself: -EINTR if it was interrupted, else rc. */
int sync_close(struct sync *a, int rc);
void sync_fail(struct sync *a, int err);
/* The tree of what can be of any project. */
#define FLAT NONE

/* What a call requires. */
enum extent {
	OF_FILE,
	OF_FILE_NOW, /* its attributes, however fresh they are */
	OF_TREE,     /* of a directory and all below it, or FLAT */
	OF_PROJECT,  /* of all files that can be of it; NO_SLOT: of all projects */
	OF_PENDING,  /* of what was marked and not yet reported */
};
/* Scans until it is current. Returns whether permanent decisions can use it: false after a failure that can be
 * transient, or if the call was interrupted. */
bool require(struct sync *a, enum extent extent, uint32_t of, enum depth depth);
/* For decisions in several steps: returns whether the attributes are current, however fresh they were, and the header
 * of another file is read. If not, sync_scan scans them; it returns false if nothing is left to scan, or if the call
 * was interrupted. */
bool require_file_now(struct sync *a, uint32_t file);
bool sync_scan(struct sync *a);
/* Logs failed scans: each once, until it succeeds. Logs nothing below a directory whose scan failed. */
void failed_log(struct catalog *c);

/* names.c. Each of these scans all that it names, assigns only permanent names, and returns true if none are missing.
 */
void names_ensure_projects(struct sync *a); /* finds and names all projects */
/* Reads all headers of the project, and gives slots and STEMs; NO_SLOT: of all projects, and SIDs. */
bool names_ensure_project(struct sync *a, uint32_t project);
bool name_sids(struct sync *a);

/* forks.c */

/* Finds the parents of all sessions, if some can have changed. Returns true if nothing is left to scan. */
bool forks_refresh(struct sync *a);
/* Returns whether the file is below the directory that is its parent's path without .jsonl. */
bool slot_is_started(const struct catalog *c, uint32_t slot);

/* rights.c: what the directories above allow */
mode_t rights_of_slot(const struct catalog *c, const struct file *f);
mode_t rights_of_project(const struct catalog *c, uint32_t project, gid_t *ret_gid);
/* The classes of `gid` that may list the names of all its sessions: 0700, 0070 and 0007. */
mode_t rights_to_list(struct catalog *c, uint32_t project, gid_t gid);

/* slot_info.c */
void slot_fill_info(const struct catalog *c, uint32_t slot, struct slot_info *ret);
/* Scans the slot's file. Returns 0 if it is still the same file; slot_get then also sets *ret. Returns -ESTALE if it is
 * gone or was replaced, another negative errno if the scan failed. */
int slot_check_file(struct sync *a, uint32_t slot);
int slot_get(struct sync *a, uint32_t slot, struct slot_info *ret);

#endif
