/* SPDX-License-Identifier: MIT */
/* catalog: the session files found under the source, numbered.
 *
 * A slot is one session file at one generation. Its number is never reused in
 * one mount: a file that was replaced or rewritten gets a new slot and keeps its names. Finding the files costs one
 * readdir a directory. A header is read only when a call needs what is in it (is it a session, its SID, the project of
 * a flat file). An index is built only for catalog_session_get.
 *
 * Every call sees what is on the disk. Where inotify reports every change (`watch`), the call first takes in the
 * pending events. Elsewhere (network filesystems, other FUSE filesystems, linked files) it looks at the disk again if
 * the last look is older than `fresh_ms`. Thread-safe; own locks inside. It may be called while a session is locked for
 * reading: the lock order is session, then catalog (lock.h). */
#ifndef SESSIONFS_CATALOG_H
#define SESSIONFS_CATALOG_H

#include "sessionfs/base/budget.h"
#include "sessionfs/session/session.h"

#define CATALOG_FRESH_MS 200
/* Watched files are looked at again after this time, too: a write through mmap(2) causes no event. */
#define CATALOG_WATCHED_MS 5000

struct catalog;

struct catalog_options {
	/* Limits the memory of the indexes. Beyond it the least recently used are dropped, but never the one used last.
	 * catalog_session_get and catalog_session_put settle it. Must outlive the catalog. */
	struct budget *budget;
	bool watch;        /* note changes for catalog_wait, and use inotify */
	unsigned fresh_ms; /* how long a look stays valid without inotify; 0: CATALOG_FRESH_MS */
	bool poll;         /* do not use inotify */
	bool redact;       /* hide what looks like a key in all that is read: opened_pread */
	bool tidy;         /* remove temporary files of writers that were killed: store_remove_leftover */
};

int catalog_open(const char *source, const struct catalog_options *o, struct catalog **ret);
void catalog_close(struct catalog *c);
const char *catalog_source(const struct catalog *c);        /* absolute, real path */
struct resolver *catalog_resolver(const struct catalog *c); /* the handle through which its files are reached */

#define NO_SLOT UINT32_MAX

/* Project numbers are never reused either. For a listing, pass *cookie = 0 first and then the same cookie; false at the
 * end. The order is stable while names come and go. */
struct project_info {
	uint32_t project;
	const char *name;      /* component; lives as long as the catalog */
	struct timespec mtime; /* newest session's */
	mode_t mode;           /* as catalog_root_mode, for its directory and the classes of `gid` */
	gid_t gid;             /* of its directory on disk */
	mode_t names_mode;     /* which of these classes may list all its sessions: 0700, 0070 and 0007 */
	bool watched;          /* catalog_wait will report its every change */
};
bool catalog_project_next(struct catalog *c, uint64_t *cookie, struct project_info *ret);
bool catalog_project_by_name(struct catalog *c, struct span name, struct project_info *ret);
/* If false, ret->name is the last name of the project, or NULL. */
bool catalog_project(struct catalog *c, uint32_t project, struct project_info *ret);

/* A session file. Its header shows that it is one: the calls below skip files that are not.
 * SIDs depend on all headers: `sid` is NULL until a call has read them all (catalog_slot_next of all projects,
 * catalog_slot_by_sid). */
struct slot_info {
	uint32_t slot, project;
	const char *stem; /* component under its project */
	const char *sid;  /* component under sessions/ */
	const char *file; /* path relative to the source */
	uint32_t stem_at; /* where in `file` that begins of which `stem` is made */
	uint32_t place;   /* the number of that path; stays the same when the file is replaced */
	struct stat st;   /* as of the last look */
	mode_t mode;      /* 0777 at most: what its ACL and the directories above grant each class */
	bool watched;     /* catalog_wait will report its every change */
};
/* Appends the text of which the STEM is made. */
void catalog_stem_text(const char *file, uint32_t stem_at, struct buf *out);
/* The strings live as long as the catalog. Sessions of one project, or of all (project NO_SLOT). */
bool catalog_slot_next(struct catalog *c, uint32_t project, uint64_t *cookie, struct slot_info *ret);
bool catalog_slot_by_stem(struct catalog *c, uint32_t project, struct span stem, struct slot_info *ret);
bool catalog_slot_by_sid(struct catalog *c, struct span sid, struct slot_info *ret);
/* 0, or -ESTALE if the slot is gone or was replaced. */
int catalog_slot(struct catalog *c, uint32_t slot, struct slot_info *ret);
/* The session that is now at the place of this slot. The slot may be gone: a file that was replaced or rewritten has
 * another one. Looks at the disk, however fresh the last look is. 0; -ESTALE if no session is there, or
 * one of another project; or another negative errno. */
int catalog_slot_now(struct catalog *c, uint32_t slot, struct slot_info *ret);
/* Call after a write to that session: removes leftover temporary files from its directory (catalog_options.tidy). Costs
 * nothing if none was seen there. */
void catalog_remove_leftovers(struct catalog *c, uint32_t slot);
/* Newest by mtime, then the greater name, in one project or (NO_SLOT) all, but for deeper directories and archives.
 * False if there is none. */
bool catalog_latest(struct catalog *c, uint32_t project, struct slot_info *ret);
/* The newest mtime of all session files (by stat alone), or that of the source if there are none. */
struct timespec catalog_mtime(struct catalog *c);

/* What each class may do with the names in the source: r to list them, x to reach one. The classes are those of the
 * user that we run as, who may do both, and of a group (NULL: the source's). */
mode_t catalog_root_mode(struct catalog *c, const gid_t *gid, gid_t *ret_gid);
/* Which classes of (uid, gid) may list every directory of sessions: 0700, 0070 and 0007. */
mode_t catalog_list_all_mode(struct catalog *c, uid_t uid, gid_t gid);

/* Whether catalog_wait will report every change under the source. */
bool catalog_is_watched(struct catalog *c);

/* The calling thread begins a request that only reads, or ends it. In between only its first call asks what changed
 * before: that the request sees. What changes later, the next one sees. */
void catalog_set_reading(bool begins);

/* A change since the last catalog_wait. */
struct catalog_change {
	uint32_t place; /* of the file that appeared, grew, or otherwise changed */
	uint32_t died;  /* the slot it had, if that is gone; else NO_SLOT */
	bool names;     /* names may lead elsewhere: the file came, went or was replaced, or its rights changed */
};
/* Waits up to timeout_ms (-1: for ever) for changes, or for catalog_wake; one thread only. Returns how many there are;
 * the caller frees *ret. 0 if there are none, -EINVAL without `watch`, or another negative errno. A change that inotify
 * does not report is found when a call looks at the file, or with `look`, which looks at everything now. */
ssize_t catalog_wait(struct catalog *c, int timeout_ms, bool look, struct catalog_change **ret);
void catalog_wake(struct catalog *c);
/* Has catalog_wait report the session, for what is said of it elsewhere. */
void catalog_add_change(struct catalog *c, uint32_t slot);
/* What is at a place: true if it is a session. Otherwise slot is NO_SLOT, and only project, stem, sid and file are
 * filled in, as last known (or NO_SLOT and NULL). Does not read all headers: even a session has no `sid` until another
 * call has read them. */
bool catalog_session_at_place(struct catalog *c, uint32_t place, struct slot_info *ret);

/* What is known at this moment: with `watch` nothing is waited for, but looked at later by catalog_wait. */
struct catalog_status {
	bool told;     /* inotify tells of each change, or would in a mount; if not, it is looked for */
	bool scanning; /* some names are not known yet, or may have changed, or the source does not answer */
	size_t watches, sessions;
};
void catalog_status(struct catalog *c, struct catalog_status *ret);

/* Rises whenever a session file comes, goes or is replaced, or another session is its parent: a listing of names is
 * valid while it stays the same. */
uint64_t catalog_epoch(struct catalog *c);

/* A session among all others: what slot_info has, and with which attributes of the file. */
struct slot_state {
	uint32_t slot, project, place, stem_at;
	const char *project_name, *stem, *sid, *file;
	off_t size;
	struct timespec mtime, ctime;
};
/* All sessions in the order of their slots; the caller frees *ret. If nothing has changed since *serial was returned
 * (0: never), *ret is NULL; `ret` itself can be NULL, too. 0, or a negative errno: then what is not in *ret may be
 * there all the same, and the next call finds a change. */
int catalog_list_states(struct catalog *c, uint64_t *serial, struct slot_state **ret, size_t *ret_n);
/* The serial that catalog_list_states would return; 0 if something cannot be looked at now. */
uint64_t catalog_serial(struct catalog *c);

/* The session this one was forked from (sessionfs(5), "A session"); NO_SLOT if it is not in the mount. */
uint32_t catalog_parent(struct catalog *c, uint32_t slot);
/* The sessions whose parent this one is, in no order that means anything: those below the directory that is this file's
 * path without .jsonl (it started them), or the others (they were forked from it). */
bool catalog_fork_next(struct catalog *c, uint32_t slot, bool below, uint64_t *cookie, struct slot_info *ret);
/* Has catalog_wait report the sessions whose parent or forks are others now, if anybody has asked for these, and if
 * catalog_is_watched. Call it after changes. It takes long if there are many sessions, and one came or went. */
void catalog_report_forks(struct catalog *c);

/* The slot's index, grown to what the file holds now and locked for reading. catalog_session_put unlocks it and gives
 * it back. A thread may hold one index at a time: growing one waits for its readers. 0, -ESTALE if the slot was
 * replaced or is gone, or another negative errno. */
int catalog_session_get(struct catalog *c, uint32_t slot, struct session **ret);
/* The same, but checks whether the file has grown even if it was looked at a moment ago. */
int catalog_session_get_fresh(struct catalog *c, uint32_t slot, struct session **ret);
/* catalog_session_get for the tables of all sessions: if the index is made for that, the lines they need are not read
 * again. */
int catalog_get_to_read(struct catalog *c, uint32_t slot, struct session **ret);
void catalog_session_put(struct catalog *c, struct session *s);
/* Call when something is answered without this session, which cannot be read (error_is_about_file): that is logged
 * once, until an index of the session can be made again. */
void catalog_log_unreadable(struct catalog *c, uint32_t slot, int err);

/* For --check: calls fn for every file under the source that header_name knows, and every directory that cannot be
 * read, in byte order of the relative path. `reason` says why the file is not listed; NULL for a session. Stops when fn
 * returns non-zero, and returns that; else 0 or a negative errno. */
int catalog_each_file(struct catalog *c, int (*fn)(void *arg, const char *file, uint32_t slot, const char *reason),
                      void *arg);

#endif
