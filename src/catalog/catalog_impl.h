/* The internals of the catalog, shared by the files of this folder. `lock` guards everything,
 * except where a comment says otherwise; functions here are called with it held.
 *
 * A `file` is a name on disk (a path relative to the source). It keeps the names
 * it was given as long as the catalog lives. A `slot` is a session file at one generation; the
 * file knows its current one. Everything is referred to by index, because arrays move when they grow. */
#ifndef SESSIONFS_CATALOG_IMPL_H
#define SESSIONFS_CATALOG_IMPL_H

#include "sessionfs/catalog/catalog.h"
#include "sessionfs/base/clock.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/map.h"
#include "sessionfs/base/node.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/file/rights.h"

#include "sessionfs/catalog/header.h"

#define NONE MAP_NONE

/* Strings that live as long as the catalog, NUL-terminated. */
struct strings {
	struct chunk *newest;
};
const char *strings_copy(struct strings *s, struct span text); /* NULL without memory */
void strings_release(struct strings *s);

/* A growing array of numbers. */
struct list {
	uint32_t *v;
	size_t n, cap;
};
int list_add(struct list *l, uint32_t value);
/* How many numbers in a sorted list are below this one. */
size_t list_below(const struct list *l, uint64_t value);
void list_release(struct list *l);

enum file_state {
	FILE_GONE,    /* no such name */
	FILE_UNKNOWN, /* a regular file whose header was not read yet */
	FILE_SESSION, /* its header was read */
	FILE_OTHER,   /* not a session: `reason` or `err` says why */
};

struct file {
	const char *path;     /* relative to the source */
	const char *stem;     /* component in `stem_project`, NULL if none was given yet */
	const char *sid_name; /* component under sessions/, NULL if none was given yet */
	struct span sid;      /* as in the header */
	struct span parent;   /* parentSession as in the header, p NULL if none */
	const char *reason;
	int64_t checked; /* when it was last looked at; 0: look again */
	dev_t dev;
	ino_t ino, listed_ino; /* from stat and from readdir: they differ on some file systems */
	off_t size;
	struct timespec mtime, ctime;
	mode_t mode, shown; /* from stat; what each class may do, by its ACL too */
	uid_t uid;
	gid_t gid;
	int err;
	int trouble;       /* why the last look failed, 0: it did not; says nothing about what the file is */
	uint64_t tried;    /* the call in which the look failed */
	struct look *look; /* on its way; NULL: none */
	uint32_t base;     /* where the file name begins in `path` */
	uint32_t dir, project, stem_project, slot;
	uint32_t scan; /* the directory scan that saw it last */
	enum file_state state;
	bool waits;   /* is in its project's list of files that need a slot */
	bool linked;  /* may change under another name, unseen by inotify */
	bool noted;   /* is in `changes`, or would be if these were not lost */
	bool foreign; /* looking at it may block: not under the lock */
	bool unseen;  /* the last look failed to get its attributes */
	bool said;    /* the user was told that it cannot be looked at */
	bool acl_unread;
};

/* dirs[0] is the source itself, with the name "". */
struct dir {
	const char *name;
	struct list files;               /* every name ever seen in it */
	struct stat st;                  /* at the last scan; st_mode 0: never, or not there */
	struct rights rights;            /* as of the last scan */
	int acl_err;                     /* why its ACL could not be read then; 0: it could */
	int64_t looked, statted, headed; /* when last: it was scanned; its files; its unknown headers */
	uint32_t project, scan;
	int err;           /* why it could not be read */
	int trouble;       /* as in a file */
	uint64_t tried;    /* as in a file */
	struct look *look; /* on its way; NULL: none */
	int wd;            /* its inotify watch; 0: none */
	bool foreign;      /* as of a file; if the source is, its server is that of all */
	bool told;         /* its changes are reported: it has a watch, or it is gone and the source has one */
	bool linked;       /* has linked files */
	bool came;         /* appeared after the first scan of the source */
	bool unwatched;    /* a watch was refused and the user was told */
	bool untidy;       /* may hold leftover temporary files */
	bool lacks;        /* some of its names could not be taken in */
	bool said;         /* the user was told that it cannot be looked at */
	bool racy;         /* changed so soon before the scan that a later change may have the same mtime */
};

struct project {
	struct span key;     /* its directory name on disk, or the name it would have */
	const char *name;    /* NULL until it is shown */
	struct list slots;   /* in order; dead ones too */
	struct list waiting; /* files that are sessions but have no slot yet */
	uint32_t dir;        /* NONE: only flat files */
	uint32_t newest;     /* a file; NONE: no session */
	int64_t newest_at;   /* when `newest` was found */
	uint64_t newest_epoch;
};

/* What a dropped index knew about its file: shows at the next opening whether that is the same file, grown. */
struct trace {
	uint64_t size, hash;
};

struct slot {
	struct held *held; /* the index while it is open */
	struct trace trace;
	uint32_t file;   /* NONE: dead */
	uint32_t place;  /* the file, dead or alive */
	uint32_t parent; /* as of forks_epoch */
	bool said;       /* the user was told that it cannot be read */
};

struct fork {
	uint32_t parent, child;
};

/* A look that may block; made without the lock. */
struct look {
	struct probe probe;
	struct reach *reach;
	int64_t began;
	bool is_dir, late; /* late: was waited for once; guarded by the catalog's lock */
	bool is_session;
	int rc, acl_err;
	struct stat st;
	struct header header; /* of a regular file */
	struct rights rights; /* of a directory */
	struct buf names;     /* names_read */
	char path[];
};

struct catalog {
	struct lock lock;
	/* About the call that holds the lock: */
	int64_t begin;        /* when it began */
	uint64_t call;        /* its number */
	int missed;           /* a look failed, so "not found" may be wrong; 0 or a negative errno */
	int doubt;            /* what was found may be wrong; 0 or a negative errno */
	bool may_wait;        /* another round may follow, with the results of `wanted` */
	bool may_repeat;      /* another round may follow if a look failed */
	struct look **wanted; /* each with a reference */
	size_t wanted_count, wanted_cap;
	uint64_t calls;        /* how many so far */
	char *source;          /* constant */
	struct reach *reach;   /* constant */
	uid_t uid;             /* constant: the user that we run as */
	struct budget *budget; /* constant */
	struct strings strings;
	struct map paths, dir_names, project_keys, project_names, stems, sids;
	struct map stem_tails, sid_tails; /* the last ~N given to a name */
	struct file *files;
	size_t file_count, file_cap;
	struct dir *dirs;
	size_t dir_count, dir_cap;
	struct project *projects;
	size_t project_count, project_cap;
	struct slot *slots;
	size_t slot_count, slot_cap;
	struct list nameless; /* files with a slot and no name under sessions/ */
	bool named_all;       /* SIDs were needed once: from then on each file gets one when it comes */
	uint64_t changes;     /* rises when the attributes of a file turn out to have changed */
	uint64_t epoch; /* rises when a slot is made or dies, a file turns out to be no session, or a parent another */
	int64_t refreshed_at, loaded_at, statted_at; /* when all directories, headers, files were last looked at */
	uint64_t named_epoch;                        /* the epoch at which projects were last named */
	uint32_t newest;                             /* a file: the newest of all */
	int64_t newest_at;
	uint64_t newest_epoch;
	struct fork *forks; /* by parent, then child */
	size_t fork_count, fork_cap;
	uint64_t forks_epoch;
	bool forks_known;  /* they were found once: from then on it is noted when they change */
	bool said;         /* that of some file or directory */
	bool acl_said;     /* the user was told that ACLs cannot be read */
	bool full;         /* out of slot numbers; the user was told */
	unsigned fresh_ms; /* constant */
	bool tidy;         /* constant */
	struct watching {
		int inotify, wake; /* descriptors, -1: none; both constant */
		uint32_t *by_wd;   /* directories, NONE: none */
		size_t cap;
		size_t blind; /* directories where inotify does not report every change */
		struct catalog_change *changes;
		size_t n, room;
		bool lost;           /* anything may have changed */
		bool on;             /* constant: catalog_wait is in use */
		bool draining, said; /* events are being taken in; the user was told that no watches are left */
	} watching;
	struct header header; /* scratch */
	struct open_indexes {
		struct held *newest, *oldest; /* all, held or not, by last use */
		struct held **by_session;     /* hash chains */
		size_t count, most;           /* most: constant */
		struct hash_key secret;       /* of traces */
		struct keeper keeper;         /* counts their memory */
		pthread_cond_t opened;
	} open;
};

static inline int64_t catalog_now(void)
{
	return clock_ms(CLOCK_MONOTONIC_COARSE) + 1;
}

/* Whether a look made at that time is still valid. */
static inline bool is_fresh(const struct catalog *c, int64_t at, int64_t now, bool told)
{
	return at != 0 && now - at < (told ? CATALOG_TOLD_MS : c->fresh_ms);
}
/* The same for a look at everything under the source, and at a directory. */
static inline bool is_fresh_all(const struct catalog *c, int64_t at, int64_t now)
{
	return is_fresh(c, at, now, c->watching.blind == 0);
}
static inline bool is_fresh_dir(const struct catalog *c, const struct dir *d, int64_t at, int64_t now)
{
	return is_fresh(c, at, now, d->told && !d->linked);
}
static inline bool is_told_file(const struct catalog *c, const struct file *f)
{
	return c->dirs[f->dir].told && !f->linked;
}

/* ---- what each source file defines; it uses only those above it (scripts/check-cycles) ---- */

/* held.c */
int open_indexes_init(struct catalog *c);
void open_indexes_release(struct catalog *c);
/* The slot died: its index is closed as soon as nobody holds it. */
void open_indexes_forget(struct catalog *c, uint32_t slot);
/* How many bytes of the slot's file its index, open or dropped, has taken in. */
off_t open_indexes_seen(const struct catalog *c, uint32_t slot);

/* watch.c: inotify watches, and the changes noted */
int watching_init(struct watching *w, const struct catalog_options *o);
void watching_release(struct watching *w);
/* Call before the directory is read: watches it from now on, if possible. */
void watch_dir(struct catalog *c, uint32_t dir, int fd);
/* The directory cannot be read. */
void watch_failed(struct catalog *c, uint32_t dir, int err);
/* The file has another name, under which it can change without an event. */
void watch_linked(struct catalog *c, uint32_t file);
/* Notes a change for catalog_wait. */
void watch_note(struct catalog *c, uint32_t file, uint32_t died, bool names);
/* Some change cannot be noted: catalog_wait reports all files. */
void watch_lost(struct watching *w);
/* Wakes catalog_wait. */
void watch_wake(const struct watching *w);
void watch_drop(struct catalog *c, uint32_t dir);        /* removes its watch */
uint32_t watch_dir_of(const struct watching *w, int wd); /* NONE: no such watch */
/* Has the names in the directory looked at again, or its names, headers and attributes, however fresh the last look is.
 */
void watch_look_into(struct catalog *c, uint32_t dir);
void watch_forget(struct catalog *c, uint32_t dir);

/* look.c */

/* Notes a failed look: if the call finds nothing, it must report this error. */
void catalog_misses(struct catalog *c, int err);
/* Notes that even what was found may be wrong, because of `err`; 0: notes nothing. */
void catalog_doubts(struct catalog *c, int err);
/* Whether another round is to follow: then this one must not decide anything permanent, such as names. */
bool catalog_is_void(const struct catalog *c);
/* The result of a look at the path that began in this call; give it back with look_put. NULL: the look was started or
 * is under way, and is noted as missed. */
struct look *look_elsewhere(struct catalog *c, struct look **at, const char *path, bool is_dir);
void look_put(struct catalog *c, struct look *l);

/* The names in a directory, except . and .., one after the other. */
struct name {
	ino_t ino;
	unsigned char type;
	const char *text;
};
int names_read(int fd, struct buf *out);
bool names_next(struct span *rest, struct name *ret);

/* slots.c */
uint32_t project_for(struct catalog *c, struct span key);           /* the project of that key, made if need be; NONE */
struct span flat_project_key(struct span cwd, struct buf *scratch); /* of a flat file */
bool slot_make(struct catalog *c, uint32_t file);                   /* false without memory */
void slot_kill(struct catalog *c, uint32_t slot);

/* newest.c */
bool newest_is_newer(const struct file *a, const struct file *b);
uint32_t newest_of_both(const struct catalog *c, uint32_t best, uint32_t file); /* `best` may be NONE */
uint32_t newest_seen(const struct catalog *c, uint32_t project); /* of a project, as last seen; NONE: none */
/* A file changed (its mtime was `before`): it may be the newest now, or no longer be. */
void newest_ages(struct catalog *c, uint32_t file, struct timespec before);

/* scan.c */
void scan_refresh(struct catalog *c, int64_t now);             /* the names in the source and in all directories */
void scan_dir(struct catalog *c, uint32_t dir, int64_t now);   /* the names in one directory */
void scan_file(struct catalog *c, uint32_t file, int64_t now); /* its attributes; now 0: even if fresh */
void scan_files(struct catalog *c, uint32_t dir, int64_t now); /* the attributes of all files in a directory */
/* The time at which is_fresh should count a look at many files as made. A slow look counts as later, so that looking
 * takes only a fraction of the time, however many files there are and however slow the disk. */
int64_t scan_rest(int64_t begin, int64_t now);
#define SCAN_REST 8
void scan_header(struct catalog *c, uint32_t file, int64_t now); /* an unknown file becomes a session or other */
void scan_header_again(struct catalog *c, uint32_t file);        /* even if it is known */
void scan_headers(struct catalog *c, uint32_t dir, int64_t now); /* of all files without a slot */
static inline bool file_may_be_session(const struct file *f)
{
	return f->state == FILE_UNKNOWN || f->state == FILE_SESSION;
}

bool file_is_candidate(const char *name);
uint32_t file_for(struct catalog *c, uint32_t dir, const char *name); /* made if need be; NONE without memory */
/* The name came, went or changed: takes in what is there now. */
void scan_touched(struct catalog *c, uint32_t file, int64_t now);

/* names.c */
bool names_projects(struct catalog *c); /* names projects that have something to show; false: no memory */
void names_slots(struct catalog *c, uint32_t project); /* gives slots to the files that wait */
void names_sids(struct catalog *c);

/* watch_events.c */
void watch_drain(struct catalog *c);       /* takes in the pending inotify events */
void watch_look_at_all(struct catalog *c); /* watch_forget for every directory */

/* call.c */

/* Takes the lock and the pending inotify events. Returns catalog_now(). */
int64_t catalog_enter(struct catalog *c);
/* One call of the catalog in as many rounds as it takes:
 *
 *	struct call call = {0};
 *	while (call_round(c, &call))
 *		found = ...;
 *
 *	return call_answer(&call, found);
 *
 * Each round holds the lock and does everything again; after the last one the lock is given back. Then `missed` is
 * the error of a look that failed, and `doubt` one that may make even a found answer wrong. */
struct call {
	int64_t now;
	uint64_t number;
	int missed, doubt;
	unsigned rounds;
	bool repeated;
};
bool call_round(struct catalog *c, struct call *call);
/* "None" is no answer if a look failed, nor is a doubtful find: notes the fault (fault_note).
 * Returns `found`. */
bool call_answer(const struct call *call, bool found);
/* Logs what could not be looked at: once, until it can be. Below a directory that cannot, nothing. */
void call_says(struct catalog *c);

/* rights.c: what the directories above allow */
mode_t rights_of_slot(const struct catalog *c, const struct file *f);
mode_t rights_of_project(const struct catalog *c, uint32_t project, gid_t *ret_gid);

/* catalog.c */
void catalog_load_projects(struct catalog *c, int64_t now); /* finds and names all projects */
void catalog_stat_all(struct catalog *c, int64_t now);      /* the attributes of all files */
void catalog_load_all(struct catalog *c, int64_t now);      /* all headers; gives all slots and names */
void catalog_load_project(struct catalog *c, uint32_t project, int64_t now); /* the headers of one project */

/* Looks at the slot's file. 0 if it is still the same file; slot_get then fills in *ret. -ESTALE if it is gone or
 * was replaced, another negative errno if the look failed. */
int slot_look(struct catalog *c, uint32_t slot, int64_t now);
int slot_get(struct catalog *c, uint32_t slot, int64_t now, struct slot_info *ret);

#endif
