/* The catalog's inside, shared by src/catalog*.c. All of it is guarded by `lock`,
 * but for what the comments exempt; functions here are called with it held.
 *
 * A `file` is a name on disk (a path relative to the source) and keeps the names
 * it was given as long as the catalog lives; a `slot` is a session file at one generation, and
 * the file knows its present one. Everything is referred to by index: arrays move when they grow. */
#ifndef SESSIONFS_CATALOG_IMPL_H
#define SESSIONFS_CATALOG_IMPL_H

#include "sessionfs/catalog.h"
#include "sessionfs/node.h"

#include "catalog_header.h"

#include <pthread.h>

#define NONE UINT32_MAX

/* Strings that live as long as the catalog, NUL-terminated. */
struct strings {
	struct chunk *newest;
};
const char *strings_copy(struct strings *s, struct span text); /* NULL without memory */
void strings_release(struct strings *s);

/* (scope, text) to a number. The keys are borrowed from `strings`. Nothing is ever removed. */
struct map {
	struct cell *cells;
	size_t cap, n;
};
uint32_t map_get(const struct map *m, uint32_t scope, struct span key); /* NONE if it is not there */
int map_put(struct map *m, uint32_t scope, struct span key, uint32_t value);
void map_release(struct map *m);

/* A growing array of numbers. */
struct list {
	uint32_t *v;
	size_t n, cap;
};
int list_add(struct list *l, uint32_t value);
void list_release(struct list *l);

/* The array, moved if need be, with room for one more element. NULL without memory; the old one stays. */
void *array_room(void *p, size_t n, size_t *cap, size_t size);

enum file_state {
	FILE_GONE,    /* no such name */
	FILE_UNKNOWN, /* a regular file; its header was not read yet */
	FILE_SESSION, /* its header was read */
	FILE_OTHER,   /* no session: `reason` or `err` says why */
};

struct file {
	const char *path;     /* relative to the source */
	const char *stem;     /* component in `stem_project`, NULL if none was given yet */
	const char *sid_name; /* component under sessions/, NULL if none was given yet */
	struct span sid;      /* as in the header */
	struct span parent;   /* parentSession as in the header, p NULL if none */
	const char *reason;
	int64_t checked; /* when it was looked at last, 0: look again */
	dev_t dev;
	ino_t ino, listed_ino; /* as stat and as readdir give it: not the same on every file system */
	off_t size;
	struct timespec mtime, ctime;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	int err;
	uint32_t base; /* where the file name begins in `path` */
	uint32_t dir, project, stem_project, slot;
	uint32_t scan; /* the directory scan that saw it last */
	enum file_state state;
	bool waits; /* for a slot, in its project's list */
};

/* dirs[0] is the source itself, with the name "". */
struct dir {
	const char *name;
	struct list files;               /* every name ever seen in it */
	struct stat st;                  /* at the last scan; st_mode 0: never, or not there */
	int64_t looked, statted, headed; /* when: at it; at all its files; into those that are no session yet */
	uint32_t project, scan;
	int err;   /* why it could not be read */
	bool racy; /* changed so shortly before the scan that a later change may have the same mtime */
};

struct project {
	struct span key;     /* directory name on disk, or what it would be */
	const char *name;    /* NULL until it is shown */
	struct list slots;   /* in order; dead ones too */
	struct list waiting; /* files that were found to be sessions and have no slot yet */
	uint32_t dir;        /* NONE: only flat files */
	uint32_t newest;     /* file, NONE: no session */
	int64_t newest_at;   /* when that was found out */
	uint64_t newest_epoch;
};

/* What a dropped index knew of its file, to tell at the next opening whether it is the same file grown. */
struct trace {
	uint64_t size, hash;
};

struct slot {
	struct held *held; /* the index while it is open */
	struct trace trace;
	uint32_t file;   /* NONE: dead */
	uint32_t parent; /* as of forks_epoch */
};

struct fork {
	uint32_t parent, child;
};

struct catalog {
	pthread_mutex_t lock;
	char *source;        /* constant */
	size_t index_budget; /* constant */
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
	uint64_t epoch;       /* rises when a slot is made or dies, or a file turns out to be no session */
	int64_t refreshed_at, loaded_at, statted_at; /* when all directories, headers, files were looked at */
	uint64_t named_epoch;                        /* when projects were named last */
	uint32_t newest;                             /* file, of all */
	int64_t newest_at;
	uint64_t newest_epoch;
	struct fork *forks; /* by parent, then child */
	size_t fork_count, fork_cap;
	uint64_t forks_epoch;
	bool full;            /* out of slot numbers, and said so */
	struct header header; /* scratch */
	struct buf path;      /* scratch */
	struct open_indexes {
		struct held *newest, *oldest; /* those that nobody holds too, by last use */
		struct held **by_session;     /* hash chains */
		size_t count, memory;
		pthread_cond_t opened;
	} open;
};

static inline bool is_fresh(int64_t at, int64_t now)
{
	return at != 0 && now - at < CATALOG_FRESH_MS;
}
int64_t catalog_now(void);

/* The absolute path, in c->path until its next use; NULL without memory. */
const char *catalog_path(struct catalog *c, const char *relative);

/* catalog_scan.c */
void scan_refresh(struct catalog *c, int64_t now);             /* the names in the source and in all directories */
void scan_dir(struct catalog *c, uint32_t dir, int64_t now);   /* the names in one directory */
void scan_file(struct catalog *c, uint32_t file, int64_t now); /* its attributes; now 0: even if just looked at */
void scan_files(struct catalog *c, uint32_t dir, int64_t now); /* the attributes of all files in a directory */
/* When a look at many files is to count as made, for is_fresh: so that looking never takes more than a fraction of the
 * time, however many files there are and however slow the disk. */
int64_t scan_rest(int64_t begin, int64_t now);
#define SCAN_REST 8
void scan_header(struct catalog *c, uint32_t file, int64_t now); /* an unknown file becomes a session, or other */
void scan_header_again(struct catalog *c, uint32_t file);        /* whatever was known */
void scan_headers(struct catalog *c, uint32_t dir, int64_t now); /* of all files that are no sessions yet */
static inline bool file_may_be_session(const struct file *f)
{
	return f->state == FILE_UNKNOWN || f->state == FILE_SESSION;
}

/* catalog_names.c */
uint32_t names_project(struct catalog *c, struct span key); /* the project of that key, made if need be; NONE */
void names_projects(struct catalog *c);                     /* names those that have something to show */
void names_slots(struct catalog *c, uint32_t project);      /* gives slots to the files that wait */
void names_sids(struct catalog *c);
void slot_kill(struct catalog *c, uint32_t slot);
struct span flat_project_key(struct span cwd, struct buf *scratch);

/* catalog.c */
void catalog_load_all(struct catalog *c, int64_t now); /* all headers; gives all slots and names */
void catalog_load_project(struct catalog *c, uint32_t project, int64_t now); /* the headers of one project */

/* Looks at the slot's file. True if it still is what it was; slot_get then says what. */
bool slot_is_live(struct catalog *c, uint32_t slot, int64_t now);
bool slot_get(struct catalog *c, uint32_t slot, int64_t now, struct slot_info *ret);

/* catalog_open.c */
int open_indexes_init(struct open_indexes *o);
void open_indexes_release(struct open_indexes *o);
/* The slot died: its index goes as soon as nobody holds it. */
void open_indexes_forget(struct catalog *c, uint32_t slot);

#endif
