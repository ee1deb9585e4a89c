/* catalog: the session files found under the source, numbered.
 *
 * A slot is one session file at one generation. Its number is never reused in
 * one mount: a file that was replaced or rewritten gets a new slot, under the names of the old one. Finding
 * costs one readdir; a header is read only when somebody asks for what is in it
 * (is it a session, its SID, the project of a flat file), the index only for session_open.
 *
 * Every call sees what is on the disk. Where inotify tells of every change (`watch`), it takes in what inotify has to
 * say; elsewhere (network filesystems, other FUSE ones, linked files) it looks at the disk again if its last look
 * is older than `fresh_ms`. Thread-safe; own locks inside. It may be asked while a session is held for reading: the
 * order is session, then catalog (lock.h). */
#ifndef SESSIONFS_CATALOG_H
#define SESSIONFS_CATALOG_H

#include "sessionfs/base/budget.h"
#include "sessionfs/session/session.h"

#define CATALOG_FRESH_MS 200
/* What inotify tells of is looked at all the same from time to time: a write through mmap(2) tells nobody. */
#define CATALOG_TOLD_MS 5000

struct catalog;

struct catalog_options {
	/* Of the indexes kept. Beyond it the least recently used are dropped, but never the one used last. catalog_get
	 * and catalog_put settle it. Outlives the catalog. */
	struct budget *budget;
	bool watch;        /* keep note of changes, for catalog_wait, and be told by inotify */
	unsigned fresh_ms; /* how long a look holds where inotify does not tell; 0: CATALOG_FRESH_MS */
	bool poll;         /* do without inotify */
	bool tidy;         /* remove what was left behind by whoever was killed while it wrote: store_tidy */
};

int catalog_open(const char *source, const struct catalog_options *o, struct catalog **ret);
void catalog_close(struct catalog *c);
const char *catalog_source(const struct catalog *c);  /* absolute, real path */
struct reach *catalog_reach(const struct catalog *c); /* the same, as what its files are reached from */

#define NO_SLOT UINT32_MAX

/* Projects are numbered too, never reused. *ret_more: pass *cookie = 0 first, and the same cookie on; false at the end.
 * A listing is in a stable order while names come and go. */
struct project_info {
	uint32_t project;
	const char *name;      /* component; lives as long as the catalog */
	struct timespec mtime; /* newest session's */
	mode_t mode;           /* as catalog_mode, of the names of its directory and in the classes of its group */
	gid_t gid;             /* of its directory */
	bool told;             /* every change of it will be noted: catalog_wait */
};
bool catalog_project_next(struct catalog *c, uint64_t *cookie, struct project_info *ret);
bool catalog_project_by_name(struct catalog *c, struct span name, struct project_info *ret);
/* When false, ret->name is the name it had, or NULL. */
bool catalog_project(struct catalog *c, uint32_t project, struct project_info *ret);

/* A session file. Reading its header is what makes it one: all of these skip files that are none.
 * SIDs depend on all headers: `sid` is NULL until all sessions were asked for (catalog_slot_next of all,
 * catalog_slot_by_sid). */
struct slot_info {
	uint32_t slot, project;
	const char *stem; /* component under its project */
	const char *sid;  /* component under sessions/ */
	const char *file; /* path relative to the source */
	uint32_t place;   /* the number of that path: stays when the file under it is replaced */
	struct stat st;   /* as of the last look */
	mode_t mode;      /* 0777 at most: what each class may do with it, by its ACL and the directories above */
	bool told;        /* every change of it will be noted: catalog_wait */
};
/* The strings live as long as the catalog. Sessions of one project, or of all (project NO_SLOT). */
bool catalog_slot_next(struct catalog *c, uint32_t project, uint64_t *cookie, struct slot_info *ret);
bool catalog_slot_by_stem(struct catalog *c, uint32_t project, struct span stem, struct slot_info *ret);
bool catalog_slot_by_sid(struct catalog *c, struct span sid, struct slot_info *ret);
/* 0, or -ESTALE if the slot is gone or was replaced. */
int catalog_slot(struct catalog *c, uint32_t slot, struct slot_info *ret);
/* The session that is now at the place of this one, which may be gone: another file, or the same written anew, has
 * another slot. Looks at the disk, however fresh the last look is. 0, or -ESTALE if no session is there, or
 * one of another project. */
int catalog_slot_now(struct catalog *c, uint32_t slot, struct slot_info *ret);
/* After a write to that session: removes what was left behind in its directory (catalog_options.tidy). Costs nothing
 * where no such name was seen. */
void catalog_tidy(struct catalog *c, uint32_t slot);
/* Newest by mtime, then the greater name, in one project or (NO_SLOT) all. False if there is none. */
bool catalog_latest(struct catalog *c, uint32_t project, struct slot_info *ret);
/* The newest mtime of all session files (by stat alone), or that of the source if there are none. */
struct timespec catalog_mtime(struct catalog *c);

/* What the classes of the user that we run as and of a group (NULL: the source's) may do with the names in the source:
 * r to list them, x to get to one. That user may do both. */
mode_t catalog_mode(struct catalog *c, const gid_t *gid, gid_t *ret_gid);
/* Which classes of (uid, gid) may list every directory of sessions: 0700, 0070 and 0007. */
mode_t catalog_names_mode(struct catalog *c, uid_t uid, gid_t gid);

/* Whether every change under the source will be noted. */
bool catalog_is_told(struct catalog *c);

/* Something that changed since the last catalog_wait. */
struct catalog_change {
	uint32_t place; /* of the file that came, grew, or otherwise changed */
	uint32_t died;  /* the slot it had, if that is gone; else NO_SLOT */
	bool came;      /* there was nothing before, or for somebody else */
};
/* Waits up to timeout_ms (-1: for ever) for changes, or for catalog_wake; one thread only. Returns how many, *ret is
 * freed by the caller; 0 if there are none, -EINVAL without `watch`, or another negative errno. What inotify does not
 * tell is found when somebody asks for it, and by `look`, which looks at everything now. */
ssize_t catalog_wait(struct catalog *c, int timeout_ms, bool look, struct catalog_change **ret);
void catalog_wake(struct catalog *c);
/* What is at a place: true if it is a session. Else only slot (NO_SLOT) and what was last known of project, stem,
 * sid and file is filled in; those may be NO_SLOT and NULL. Does not wait for other headers to be read: `sid` is NULL
 * for a session, too, until somebody asked for all of them. */
bool catalog_at(struct catalog *c, uint32_t place, struct slot_info *ret);

/* Rises whenever a session file came, went or was replaced: names listed at one number hold while it stays. */
uint64_t catalog_epoch(struct catalog *c);

/* The session this one was forked from (sessionfs(5), "A session"), NO_SLOT if it is not in the mount. */
uint32_t catalog_parent(struct catalog *c, uint32_t slot);
/* The sessions forked from this one. Those of several projects can have one stem: *ret_n numbers them from 1. */
bool catalog_fork_next(struct catalog *c, uint32_t slot, uint64_t *cookie, struct slot_info *ret, uint32_t *ret_n);
/* The n-th of them with that stem. */
bool catalog_fork_by_stem(struct catalog *c, uint32_t slot, struct span stem, uint32_t n, struct slot_info *ret);

/* The slot's index, grown to what the file holds now and locked for reading; hand it back with
 * catalog_put, which unlocks. A thread holds one index at a time: growing one waits for its readers. 0, -ESTALE if the
 * slot was replaced or is gone, or another negative errno. */
int catalog_get(struct catalog *c, uint32_t slot, struct session **ret);
/* The same, grown to what the file holds even if it was looked at a moment ago. */
int catalog_get_now(struct catalog *c, uint32_t slot, struct session **ret);
void catalog_put(struct catalog *c, struct session *s);

/* Why a file named *.jsonl under the source is not listed, for --check; every file, and every directory that cannot
 * be read, in byte order of the relative path: calls fn with reason NULL for sessions. Stops when fn returns non-zero,
 * returns that. */
int catalog_each_file(struct catalog *c, int (*fn)(void *arg, const char *file, uint32_t slot, const char *reason),
                      void *arg);

#endif
