/* SPDX-License-Identifier: MIT */
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
struct string_pool {
	struct string_chunk *newest;
};
const char *string_pool_copy(struct string_pool *s, struct span text); /* NULL without memory */
void string_pool_release(struct string_pool *s);

/* A growing array of numbers. */
struct u32_list {
	uint32_t *v;
	size_t n, cap;
};
int list_add(struct u32_list *l, uint32_t value);
/* How many numbers in a sorted list are below this one. */
size_t list_count_below(const struct u32_list *l, uint64_t value);
void list_drop_first(struct u32_list *l, size_t n); /* takes the first n off */
void list_release(struct u32_list *l);

/* How much of a file or directory is to be known. */
enum depth {
	NAMES,   /* of a directory */
	ATTRS,   /* of files; and the header of a session whose attributes have changed */
	HEADERS, /* whether each file is a session, and which */
	DEPTHS
};

enum file_state {
	FILE_GONE,    /* no such name */
	FILE_UNKNOWN, /* a regular file whose header was not read yet */
	FILE_SESSION, /* its header was read */
	FILE_OTHER,   /* not a session: `reason` or `err` says why */
};

/* A look is the I/O that says how one file or directory is. It is made without the lock; only its result is taken in
 * under it. `tick` orders looks and marks: what is known of a file is as new as the look that stands, and a mark says
 * that the file may have changed since. What a look found is taken in only if no later one stands.
 *
 * What is known is *settled* for a call that began at tick `asof` if nothing was marked since the look that stands
 * began, and the clock does not say otherwise; or if that look began after the call did: so no call waits for a file
 * that is written to all the time. */
struct seen {
	uint64_t marked;   /* the tick of the last mark */
	uint64_t began;    /* the tick at which the look that stands began, 0: none */
	int64_t at;        /* when that was */
	int err;           /* that look failed, and says nothing about the file; 0, or a negative errno */
	struct look *look; /* on its way; NULL: none */
	bool foreign;      /* a look may wait for somebody else: it is made by the pool */
	bool logged;       /* the user was told that it cannot be looked at */
};

struct file {
	struct seen seen;
	const char *path;     /* relative to the source */
	const char *stem;     /* component in `stem_project`, NULL if none was given yet */
	const char *sid_name; /* component under sessions/, NULL if none was given yet */
	struct span sid;      /* as in the header */
	struct span parent;   /* parentSession as in the header, p NULL if none */
	const char *reason;
	dev_t dev;
	ino_t ino, listed_ino; /* from stat and from readdir: they differ on some file systems */
	off_t size;
	struct timespec mtime, ctime;
	mode_t mode, shown; /* from stat; what each class may do, by its ACL too */
	uid_t uid;
	gid_t gid;
	int err;
	uint32_t base;    /* where the file name begins in `path` */
	uint32_t stem_at; /* where that begins of which the stem is made */
	uint32_t dir, project, stem_project, slot;
	uint32_t scan; /* the directory scan that saw it last */
	enum file_state state;
	bool placed;       /* since it came, its project was found */
	bool waits;        /* is in its project's list of files that need a slot */
	bool linked;       /* may change under another name, unseen by inotify */
	bool noted;        /* is in `changes`, or would be if these were not lost */
	bool marked;       /* is in the list of marked files */
	bool type_unknown; /* its directory does not say whether it is a regular file */
	bool unseen;       /* the last look failed to get its attributes */
	bool reread;       /* its header is to be read again, whatever its attributes */
	bool acl_unread;
};

/* Everything below was found settled at once, for a call that began at that tick: that still holds while nothing is
 * marked, until a time. So does `err`: something below cannot be looked at. */
struct pass {
	uint64_t asof;
	int64_t until;
	int err;
};

/* Directories whose sessions may be of the same project. groups[0] are those of which any project may have sessions:
 * the source, and what is in a directory beside a flat file. Each other directory in the source is a group with what is
 * below it. */
struct dir_group {
	struct u32_list dirs;
	uint64_t marked; /* the tick of the last mark in one of them */
	struct pass passes[DEPTHS];
	size_t blind; /* of these directories, as in struct watching */
};

/* Sessions are found so many levels below the source. */
#define DIR_LEVELS_MAX 8

/* dirs[0] is the source itself, with the name "". */
struct dir {
	struct seen seen; /* its names and rights */
	const char *name; /* its path relative to the source */
	uint32_t parent, child,
	    sibling;         /* the directory that it is in, the last in it, and the one before in the same; or NONE */
	uint32_t top, group; /* on the first level, of those on the way to it; the source has itself */
	uint32_t beside;     /* X.jsonl beside this X on the first level; or NONE */
	uint32_t listed;     /* the scan of its parent that saw it last */
	unsigned depth;
	struct u32_list files; /* every name ever seen in it */
	struct stat st;        /* at the last scan; st_mode 0: never, or not there */
	struct rights rights;  /* as of the last scan */
	int acl_err;           /* why its ACL could not be read then; 0: it could */
	uint64_t marked;       /* the tick of the last mark of it or of a file in it */
	struct pass passes[DEPTHS];
	uint32_t project, scan;
	int err;           /* why it could not be read */
	int wd;            /* its inotify watch; 0: none */
	dev_t watched_dev; /* what that watches */
	ino_t watched_ino;
	bool watched;      /* its changes are reported: it has a watch, or it is gone and its parent has one */
	bool gone;         /* not in its parent's names: not looked at until it is again */
	bool linked;       /* has linked files */
	bool came;         /* appeared after the first scan of the source */
	bool unwatched;    /* a watch was refused and the user was told */
	bool untidy;       /* may hold leftover temporary files */
	bool incomplete;   /* some of its names could not be taken in */
	bool type_unknown; /* has such files */
	bool racy;         /* changed so soon before the scan that a later change may have the same mtime */
	bool deep;         /* has directories that are too deep to be entered */
};

/* The newest session's file, as last seen: of all, and of those that pi lists, which are in no deeper directory and no
 * archives. */
enum { NEWEST_OF_ALL, NEWEST_LISTED };
struct newest {
	uint32_t file; /* NONE: no session */
	bool ages;     /* it is to be found again */
	uint64_t epoch;
};

struct project {
	struct span key;         /* its directory name on disk, or the name it would have */
	const char *name;        /* NULL until it is shown */
	struct u32_list slots;   /* in order; dead ones too */
	struct u32_list waiting; /* files that are sessions but have no slot yet */
	uint32_t dir;            /* NONE: only flat files */
	struct newest newest[2];
	struct {
		uint64_t looks, epoch; /* at directories, and what the epoch was, then */
		mode_t mode;
	} names_mode; /* what rights_to_list returned last */
};

/* What a dropped index knew about its file: shows at the next opening whether that is the same file, grown. */
struct file_fingerprint {
	uint64_t size, hash;
};

struct slot {
	struct open_index *index; /* the index while it is open */
	struct file_fingerprint trace;
	uint32_t file;                  /* NONE: dead */
	uint32_t place;                 /* the file, dead or alive */
	uint32_t parent;                /* as of forks_epoch */
	uint32_t first_fork, next_fork; /* of this slot; of the same parent, as of when forks were last found */
	bool logged;                    /* the user was told that it cannot be read */
};

struct catalog {
	struct lock lock;
	pthread_cond_t looked; /* what a look found was taken in */
	uint64_t tick;
	uint64_t marked; /* of all directories */
	struct pass passes[DEPTHS];
	char *source;              /* constant */
	struct resolver *resolver; /* constant */
	uid_t uid;                 /* constant: the user that we run as */
	struct budget *budget;     /* constant */
	struct string_pool strings;
	struct map paths, dir_names, project_keys, project_names, stems, sids;
	struct map stem_tails, sid_tails; /* the last ~N given to a name */
	struct file *files;
	size_t file_count, file_cap;
	struct dir *dirs;
	size_t dir_count, dir_cap;
	struct dir_group *groups;
	size_t group_count, group_cap;
	struct project *projects;
	size_t project_count, project_cap;
	struct slot *slots;
	size_t slot_count, slot_cap;
	size_t waiting;           /* in the lists of all projects */
	struct u32_list nameless; /* files with a slot and no name under sessions/ */
	bool named_all;           /* SIDs were needed once: from then on each file gets one when it comes */
	uint64_t changes;         /* rises when the attributes of a file turn out to have changed */
	uint64_t epoch; /* rises when a slot is made or dies, a file turns out to be no session, or a parent another */
	uint64_t named_epoch;    /* the epoch at which projects were last named */
	struct newest newest[2]; /* of all projects */
	struct {
		uint64_t looks; /* at directories, taken in until then */
		uid_t uid;
		gid_t gid;
		mode_t mode;
	} names_mode; /* what catalog_list_all_mode returned last */
	uint64_t dir_looks;
	uint64_t forks_epoch; /* the epoch at which the parents of forks were found; 0: again */
	bool forks_known;     /* they were found once: from then on it is noted when they change */
	bool said;            /* that of some file or directory */
	bool acl_said;        /* the user was told that ACLs cannot be read */
	bool full;            /* out of slot numbers; the user was told */
	unsigned fresh_ms;    /* constant */
	bool tidy;            /* constant */
	struct watching {
		int inotify, wake; /* descriptors, -1: none; both constant */
		uint32_t *by_wd;   /* directories, NONE: none */
		size_t cap;
		size_t blind; /* directories where inotify does not report every change */
		size_t count; /* of watches */
		struct catalog_change *changes;
		size_t n, changes_cap;
		struct u32_list marked; /* files that events have marked and catalog_wait has not looked at */
		bool lost;              /* anything may have changed */
		bool behind;            /* names in some directory may have */
		bool asked;             /* all names are to be known */
		bool on, polls;         /* constant: catalog_wait is in use; without inotify */
		bool logged;            /* the user was told that no watches are left */
	} watching;
	struct open_indexes {
		struct open_index *newest, *oldest; /* all, in use or not, by last use */
		size_t count, most;                 /* most: constant */
		struct hash_key secret;             /* of traces */
		struct budget_client keeper;        /* counts their memory */
		pthread_cond_t opened;
	} open;
};

static inline int64_t catalog_now(void)
{
	return clock_ms(CLOCK_MONOTONIC_COARSE) + 1;
}

static inline struct seen *seen_of(const struct catalog *c, uint32_t dir, uint32_t file)
{
	return file == NONE ? &c->dirs[dir].seen : &c->files[file].seen;
}

static inline bool file_is_watched(const struct catalog *c, const struct file *f)
{
	return c->dirs[f->dir].watched && !f->linked;
}

/* ---- what each source file defines; it uses only those above it (scripts/check-cycles) ---- */

/* open_index.c */
void open_indexes_init(struct catalog *c);
void open_indexes_release(struct catalog *c);
/* The slot died: its index is closed as soon as nobody holds it. */
void open_indexes_forget(struct catalog *c, uint32_t slot);
/* How many bytes of the slot's file its index, open or dropped, has taken in. */
off_t open_indexes_known_size(const struct catalog *c, uint32_t slot);

/* watch.c: marks, inotify watches, and the changes noted */
int watching_init(struct watching *w, const struct catalog_options *o);
void watching_release(struct watching *w);
/* What was known of everything below the directory at once is to be gathered anew. */
void mark_dir_stale(struct catalog *c, uint32_t dir);
void mark_file_stale(struct catalog *c, uint32_t file); /* it may have changed, come or gone */
void mark_names_stale(struct catalog *c, uint32_t dir); /* names in the directory may have */
void mark_files_stale(struct catalog *c, uint32_t dir); /* both, for all that is in it */
/* Of the directories below `root` the one after `dir`, each after its parent; `root` itself is the first. NONE at the
 * end. */
uint32_t dir_next(const struct catalog *c, uint32_t root, uint32_t dir);
/* Call before the directory that is open as `fd` is read: watches it from now on, if possible. The one system call that
 * is made with the lock held, so that no event comes before it is known whose it is. It waits for nobody: what may wait
 * is looked at by the pool, and gets no watch. */
void watch_dir(struct catalog *c, uint32_t dir, int fd, const struct stat *st);
/* The directory cannot be read. */
void watch_dir_unreadable(struct catalog *c, uint32_t dir, int err);
/* The file has another name, under which it can change without an event. */
void watch_hard_link(struct catalog *c, uint32_t file);
/* Notes a change for catalog_wait. */
void watch_add_change(struct catalog *c, uint32_t file, uint32_t died, bool names);
/* Some change cannot be noted: catalog_wait reports all files. */
void watch_overflow(struct watching *w);
/* Wakes catalog_wait. */
void watch_wake(const struct watching *w);
void watch_drop(struct catalog *c, uint32_t dir);    /* removes its watch */
void watch_removed(struct catalog *c, uint32_t dir); /* it has removed itself */
/* The directory may be another one now, and so all below it: removes their watches, and marks their names. */
void watch_drop_below(struct catalog *c, uint32_t dir);
void dir_set_gone(struct catalog *c, uint32_t dir, bool gone); /* it went, or came back */
void dir_set_group(struct catalog *c, uint32_t dir, uint32_t group);
uint32_t watch_dir_of(const struct watching *w, int wd); /* NONE: no such watch */

/* slots.c */
uint32_t project_for(struct catalog *c, struct span key);           /* the project of that key, made if need be; NONE */
struct span flat_project_key(struct span cwd, struct buf *scratch); /* of a flat file */
bool slot_create(struct catalog *c, uint32_t file);                 /* false without memory */
void slot_retire(struct catalog *c, uint32_t slot);

/* newest.c */
bool newest_is_newer(const struct file *a, const struct file *b);
/* Of a project, or (NO_SLOT) of all, as last seen; NONE: none. `which` is NEWEST_OF_ALL or NEWEST_LISTED. */
uint32_t newest_known(const struct catalog *c, uint32_t project, int which);
/* A file changed (its mtime was `before`): it may be the newest now, or no longer be. */
void newest_file_changed(struct catalog *c, uint32_t file, struct timespec before);

/* look.c: looking at the disk, without the lock */

struct look {
	struct blocking_call call; /* of the pool, if `foreign` */
	struct resolver *resolver;
	uint64_t began;
	int64_t at;
	uint32_t dir, file, base; /* file NONE: a look at the directory */
	bool foreign;             /* made by the pool */
	bool is_far;              /* somebody else has to be asked; so `foreign`, if there is a thread for it */
	bool late, taking;        /* was waited for once; is being taken in; both guarded by the lock */
	bool header;              /* read the header of a regular file, whatever its attributes */
	bool compares;            /* read it if they differ from `known` */
	bool is_unknown;          /* nobody has read it yet */
	bool tidy;
	struct stat known; /* what is known; st_mode 0: read the directory anyway */
	/* What it found: */
	int rc, acl_err;
	bool absent; /* there is no such name; without it, ENOENT says where a link leads */
	bool linked;
	bool was_read; /* the names; or the header */
	bool untidy;
	struct stat st;
	struct header found;  /* of a file */
	struct rights rights; /* of a directory */
	struct buf names;     /* as names_next takes them */
	char path[];
};

/* A look at the file, or (NONE) at the directory, that begins now. NULL without memory. Give it back with look_put. */
struct look *look_new(struct catalog *c, uint32_t dir, uint32_t file, bool header);
/* Hands the look to the pool, whose thread makes it; the caller goes on holding it. 0, or -ETIMEDOUT. */
int look_start(struct catalog *c, struct look *l);
/* Makes the looks, without waiting for anybody else: `rc` is -EXDEV where that would be needed. Called without the
 * lock, which it acquires for a directory, to watch that. 0, or a negative errno: then nobody knows which were made. */
int look_make(struct catalog *c, struct look *const *v, size_t n);
void look_put(struct catalog *c, struct look *l);

/* The names in a directory, except . and .., one after the other. */
struct name {
	ino_t ino;
	unsigned char type;
	const char *text;
};
bool names_next(struct span *rest, struct name *ret);

/* take.c: taking in what a look found */

/* Takes in the result, unless a later one stands, wakes who waits for it, and gives the look back. The lock is released
 * from time to time if the directory has many names. */
void take_look(struct catalog *c, struct look *l);
/* Nobody knows how the file or directory is, because of `err`. */
void take_failure(struct catalog *c, uint32_t dir, uint32_t file, int err);
static inline bool file_may_be_session(const struct file *f)
{
	return f->state == FILE_UNKNOWN || f->state == FILE_SESSION;
}
/* Whether there is such a file, or there may be. */
static inline bool file_exists(const struct file *f)
{
	return f->state != FILE_GONE || f->seen.marked > f->seen.began;
}
bool file_is_candidate(const char *name);                             /* a session, or to be reported that it is none */
uint32_t file_for(struct catalog *c, uint32_t dir, const char *name); /* made if need be; NONE without memory */
uint32_t dir_of_name(struct catalog *c, uint32_t parent, const char *name); /* NONE: not known */
/* The session waits for a slot, if it is known to which project it belongs. False without memory. */
bool file_waits(struct catalog *c, uint32_t file);

/* watch_events.c */
void inotify_drain(struct catalog *c); /* marks what the pending inotify events tell of */

/* ask.c: one call of the catalog
 *
 *	bool found = false;
 *	struct ask a = ask_begin(c, HASTE_NONE);
 *	while (ask_wait(&a))
 *		found = ...;
 *	return ask_end(&a, found);
 *
 * In between the lock is held, and nothing is looked at: what the answer depends on is asked for with need_*, which say
 * whether it is settled. ask_wait has the rest looked at, without the lock, and returns true (at first, too): then
 * everything is to be done again with what was found. Nothing permanent (names, slots) may be decided by what is
 * not settled. */
struct want {
	uint32_t dir, file; /* file NONE: the directory */
	enum depth depth;   /* of a file */
	bool now;           /* what was known before does not count, however fresh */
	bool soft;          /* it need not be waited for long */
};
/* Whether what is known will do where somebody else is asked and takes long. */
enum haste {
	HASTE_NONE,
	HASTE_KNOWN,   /* if it was looked at a moment ago */
	HASTE_SUMMARY, /* always: all of it is summed up in a time or a number */
};
struct ask {
	struct catalog *c;
	uint64_t asof; /* the tick at which it began */
	int64_t now;   /* when that was */
	struct want *wants;
	size_t n, cap;
	int err;        /* something that it needs could not be looked at; 0 or a negative errno */
	bool needs_all; /* then even what was found is no answer */
	enum haste haste;
	bool lacks;     /* what is known will not do after all */
	bool hard;      /* something that it wants is not known, or has long not been looked at */
	bool others;    /* another call is looking at something that it wants */
	bool timed_out; /* it has waited long enough: only for the former it goes on waiting */
	bool begun, retried;
	bool failed;    /* a look failed: no earlier call has logged that */
	unsigned tries; /* how often the newest file turned out to be no session */
};
struct ask ask_begin(struct catalog *c, enum haste haste);
bool ask_wait(struct ask *a);
/* Releases the lock. If something was missing, notes that (deferred_set): "none" is no answer then. Returns
 * `found`. */
bool ask_end(struct ask *a, bool found);
/* The same for a call that returns an error itself: -EINTR if it was interrupted, else rc. */
int ask_close(struct ask *a, int rc);
void ask_misses(struct ask *a, int err);
/* Whether what is settled may be used to decide something for good. Not if a failure may be gone in a moment. */
bool ask_may_decide(const struct ask *a);
bool need_names(struct ask *a, uint32_t dir);
bool need_file(struct ask *a, uint32_t file, enum depth depth);
bool need_file_now(struct ask *a, uint32_t file);                 /* its attributes, however fresh they are */
bool need_files(struct ask *a, uint32_t dir, enum depth depth);   /* of all files in it */
bool need_group(struct ask *a, uint32_t group, enum depth depth); /* of all its directories */
bool need_all(struct ask *a, enum depth depth);                   /* of all directories */
/* Logs what could not be looked at: once, until it can be. Below a directory that cannot, nothing. */
void ask_says(struct catalog *c);

/* names.c. Each of these names only what can be named for good now; true if that is all. */
bool name_projects(struct ask *a);
bool name_sessions(struct ask *a, uint32_t project); /* gives slots to the files that wait */
bool name_sids(struct ask *a);

/* rights.c: what the directories above allow */
mode_t rights_of_slot(const struct catalog *c, const struct file *f);
mode_t rights_of_project(const struct catalog *c, uint32_t project, gid_t *ret_gid);
/* The classes of `gid` that may list the names of all its sessions: 0700, 0070 and 0007. */
mode_t rights_to_list(struct catalog *c, uint32_t project, gid_t gid);

/* catalog.c */
void names_ensure_projects(struct ask *a); /* finds and names all projects */
bool names_ensure_all(struct ask *a);      /* all headers; gives all slots and names */
bool names_ensure_project(struct ask *a,
                          uint32_t project); /* the same of one project, without SIDs; NO_SLOT: of all, with them */

/* Looks at the slot's file. 0 if it is still the same file; slot_get then fills in *ret. -ESTALE if it is gone or
 * was replaced, another negative errno if the look failed. */
int slot_check_file(struct ask *a, uint32_t slot);
int slot_get(struct ask *a, uint32_t slot, struct slot_info *ret);

#endif
