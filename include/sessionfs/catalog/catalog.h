/* SPDX-License-Identifier: MIT */
/* catalog: the numbered session files under the source.
 *
 * A slot is one session file at one generation. A mount never reuses its number: a replaced or rewritten file gets a
 * new slot and keeps its names. Finding the files costs one readdir per directory. A header is read only when a call
 * needs its contents (is it a session, its SID, the project of a flat file). Only catalog_session_get builds an index.
 *
 * Every call sees the current state of the disk. Where inotify reports every change (`watch`), the call first reads the
 * pending events. Elsewhere (network filesystems, other FUSE filesystems, linked files) it scans again if the last scan
 * is older than `fresh_ms`. Thread-safe, with its own locks. A caller may hold a session's read lock: the lock order is
 * session, then catalog (lock.h). */
#ifndef SESSIONFS_CATALOG_H
#define SESSIONFS_CATALOG_H

#include "sessionfs/base/budget.h"
#include "sessionfs/session/session.h"

#define CATALOG_FRESH_MS 200
/* Watched files are scanned again after this time, too: a write through mmap(2) causes no event. */
#define CATALOG_WATCHED_MS 5000

struct catalog;

struct catalog_options {
	/* Limits the memory of the indexes; evicts the least recently used, but never the last one used.
	 * catalog_session_get and catalog_session_put enforce it. Must outlive the catalog. */
	struct budget *budget;
	bool watch;        /* record changes for catalog_wait, and use inotify */
	unsigned fresh_ms; /* how long a scan stays valid without inotify; 0: CATALOG_FRESH_MS */
	bool poll;         /* do not use inotify */
	bool redact;       /* mask likely keys in all contents: opened_pread */
	/* A file or directory without permission to read it is a failure, not absent: for commands, which must not
	 * present a part as the whole. */
	bool strict;
};

int catalog_open(const char *source, const struct catalog_options *o, struct catalog **ret);
void catalog_close(struct catalog *c);
const char *catalog_source(const struct catalog *c);        /* absolute, real path */
struct resolver *catalog_resolver(const struct catalog *c); /* the handle that opens its files */

#define NO_SLOT UINT32_MAX

/* Project numbers are never reused either. To list, pass *cookie = 0 first and then the same cookie. Returns false at
 * the end. The order is stable while names appear and disappear. */
struct project_info {
	uint32_t project;
	const char *name;      /* component; lives as long as the catalog, as does `dir` */
	struct span dir;       /* its directory name on disk, or the name that one would have */
	struct timespec mtime; /* newest session's */
	mode_t mode;           /* as catalog_root_mode, for its directory and the classes of `gid` */
	gid_t gid;             /* of its directory on disk */
	mode_t names_mode;     /* which of these classes may list all its sessions: 0700, 0070 and 0007 */
	bool watched;          /* catalog_wait reports its every change */
};
bool catalog_project_next(struct catalog *c, uint64_t *cookie, struct project_info *ret);
bool catalog_project_by_name(struct catalog *c, struct span name, struct project_info *ret);
/* If it returns false, ret->name is the last name of the project, or NULL. */
bool catalog_project(struct catalog *c, uint32_t project, struct project_info *ret);

/* A session file; the calls below skip files whose header is not a session's. SIDs depend on all headers: `sid` is NULL
 * until a call has read them all (catalog_slot_next of all projects, catalog_slot_by_sid). */
struct slot_info {
	uint32_t slot, project;
	const char *stem; /* component under its project */
	const char *sid;  /* component under sessions/ */
	const char *file; /* path relative to the source */
	uint32_t stem_at; /* offset in `file` of the part that makes `stem` */
	uint32_t place;   /* the number of that path; unchanged when the file is replaced */
	uint64_t key;     /* a hash of that path, the same in every mount; another one if the file was replaced */
	struct stat st;   /* as of the last scan */
	mode_t mode;      /* at most 0777: each class's rights by the file and the directories above */
	bool watched;     /* catalog_wait reports its every change */
};
/* Appends the text that makes the STEM. */
void catalog_stem_text(const char *file, uint32_t stem_at, struct buf *out);
/* Sessions of one project, or of all (project NO_SLOT). The strings live as long as the catalog. */
bool catalog_slot_next(struct catalog *c, uint32_t project, uint64_t *cookie, struct slot_info *ret);
bool catalog_slot_by_stem(struct catalog *c, uint32_t project, struct span stem, struct slot_info *ret);
bool catalog_slot_by_sid(struct catalog *c, struct span sid, struct slot_info *ret);
/* Returns 0, or -ESTALE if the slot is gone or was replaced. */
int catalog_slot(struct catalog *c, uint32_t slot, struct slot_info *ret);
/* Returns the current session at the place of this slot, even if the slot is gone: a replaced or rewritten file has
 * another one. Reads the disk, however fresh the last scan is. Returns 0; -ESTALE if no session is there, or one of
 * another project; or another negative errno. */
int catalog_slot_now(struct catalog *c, uint32_t slot, struct slot_info *ret);
/* Newest by mtime, then the greater name, in one project or (NO_SLOT) all, except deeper directories and archives.
 * Returns false if none exists. */
bool catalog_latest(struct catalog *c, uint32_t project, struct slot_info *ret);
/* Returns the newest mtime of all session files (by stat alone), or the source's without session files. */
struct timespec catalog_mtime(struct catalog *c);

/* The rights of each class to the names in the source: r to list them, x to reach one. The classes are the user that we
 * run as, who has both, and a group (NULL: the source's). */
mode_t catalog_root_mode(struct catalog *c, const gid_t *gid, gid_t *ret_gid);
/* Returns the classes of (uid, gid) that may list every directory of sessions: 0700, 0070 and 0007. */
mode_t catalog_list_all_mode(struct catalog *c, uid_t uid, gid_t gid);

/* Returns whether catalog_wait reports every change under the source. */
bool catalog_is_watched(struct catalog *c);

/* The calling thread begins or ends a request that only reads. In between, only its first call checks for changes: the
 * request sees changes from before that, and the next request sees later ones. */
void catalog_set_reading(bool begins);

/* A change since the last catalog_wait. */
struct catalog_change {
	uint32_t place; /* of the file that appeared, grew, or otherwise changed */
	uint32_t died;  /* its former slot, if that is gone; else NO_SLOT */
	bool
	    names; /* names may lead elsewhere: the file appeared, disappeared or was replaced, or its rights changed */
};
/* Waits up to timeout_ms (-1: for ever) for changes, or for catalog_wake; one thread only. Returns the number of
 * changes; the caller frees *ret. Returns 0 without changes, -EPIPE once the pipe or socket `output` (-1: none) has no
 * reader, -EBADF if it cannot be written, -EINVAL without `watch`, or another negative errno. A change that inotify
 * does not report is found when a call scans the file, or with `scan`, which scans everything now. */
ssize_t catalog_wait(struct catalog *c, int timeout_ms, int output, bool scan, struct catalog_change **ret);
void catalog_wake(struct catalog *c);
/* Makes catalog_wait report the session after something else about it changed. */
void catalog_add_change(struct catalog *c, uint32_t slot);
/* Finds the session at a place. Returns true if one exists. Otherwise slot is NO_SLOT, and only project, stem, sid and
 * file are set, as last known (or NO_SLOT and NULL). Does not read all headers: even a session has no `sid` until
 * another call has read them. */
bool catalog_session_at_place(struct catalog *c, uint32_t place, struct slot_info *ret);

/* The current state; with `watch` the call waits for nothing, and catalog_wait scans later. */
struct catalog_status {
	bool watched;  /* inotify reports each change, or would in a mount; otherwise we poll */
	bool scanning; /* some names are unknown or may have changed, or the source does not answer */
	size_t watches, sessions;
};
void catalog_status(struct catalog *c, struct catalog_status *ret);

/* Rises whenever a session file appears, disappears or is replaced, or gets another parent: a listing of names is valid
 * until then. */
uint64_t catalog_epoch(struct catalog *c);

/* A session in a list of all: as slot_info, with some attributes of its file. */
struct slot_state {
	uint32_t slot, project, place, stem_at;
	uint32_t parent; /* as catalog_parent; NO_SLOT: none */
	bool is_started; /* its parent started it, see catalog_fork_next */
	bool has_ids;    /* as in struct format */
	const char *project_name, *stem, *sid, *file;
	off_t size;
	struct timespec mtime, ctime;
};
/* Lists all sessions in the order of their slots; the caller frees *ret. If nothing has changed since *serial was
 * returned (0: never), *ret is NULL; `ret` itself can be NULL, too. Returns 0, or a negative errno: then *ret may lack
 * sessions. While the same files and directories cannot be read, nothing has changed; after an error of another kind,
 * the next call finds a change. */
int catalog_list_states(struct catalog *c, uint64_t *serial, struct slot_state **ret, size_t *ret_n);
/* Returns the serial that catalog_list_states would return, which changes when anything in its list may have changed; 0
 * if it is unknown. */
uint64_t catalog_serial(struct catalog *c);

/* Returns the session that this one was forked from (sessionfs(5), "A session"); NO_SLOT if the mount does not have
 * it. */
uint32_t catalog_parent(struct catalog *c, uint32_t slot);
/* Lists the sessions whose parent this one is, in no particular order. With `below`, the sessions under the directory
 * with this file's path without .jsonl (this one started them); else the others (its forks). */
bool catalog_fork_next(struct catalog *c, uint32_t slot, bool below, uint64_t *cookie, struct slot_info *ret);
/* Makes catalog_wait report sessions with a new parent or new forks, if a call has asked for parents or forks and
 * catalog_is_watched. Call it after changes. It is slow if there are many sessions, and one appeared or disappeared. */
void catalog_report_forks(struct catalog *c);

/* Gets the slot's index, grown to the file's current contents and locked for reading. catalog_session_put unlocks and
 * puts it. A thread may hold one index at a time: growing one waits for its readers. Returns 0, -ESTALE if the slot was
 * replaced or is gone, or another negative errno. */
int catalog_session_get(struct catalog *c, uint32_t slot, struct session **ret);
/* The same. GET_NOW: checks whether the file has grown, however fresh the last scan is. GET_KEEPING_LINES: if this call
 * builds the index, it keeps the lines that the tables of all sessions need. */
enum { GET_NOW = 1, GET_KEEPING_LINES = 2 };
int catalog_session_get_as(struct catalog *c, uint32_t slot, unsigned how, struct session **ret);
void catalog_session_put(struct catalog *c, struct session *s);
/* Call when an answer omits this session because it is unreadable (error_is_about_file): logs that once, until an index
 * of the session can be built again. */
void catalog_log_unreadable(struct catalog *c, uint32_t slot, int err);

/* For --check: calls fn for every file under the source that header_name knows, and every unreadable directory, in byte
 * order of the relative path. `reason` says why the file is not listed; NULL for a session, and if `err` does. Stops at
 * and returns the first non-zero result of fn; else returns 0 or a negative errno. */
typedef int (*catalog_file_fn)(void *arg, const char *file, uint32_t slot, int err, const char *reason);
int catalog_each_file(struct catalog *c, catalog_file_fn fn, void *arg);

#endif
