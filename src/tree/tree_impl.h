/* SPDX-License-Identifier: MIT */
/* tree_impl: declarations shared by the engine (tree.c, list.c, read.c) and the table. */
#ifndef SESSIONFS_TREE_IMPL_H
#define SESSIONFS_TREE_IMPL_H

#include "sessionfs/base/clock.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/base/hash.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/find/groups.h"
#include "sessionfs/session/part.h"
#include "sessionfs/write/scratch.h"
#include "sessionfs/tree/tree.h"

#include <sys/stat.h>

/* Kinds with fixed numbers. All but the first are not rows of the table: editors' scratch files, whose ids hold their
 * number in place of slot, entry and part, and cached values. */
enum {
	KIND_ROOT = 1, /* a row: the first */
	KIND_SCRATCH = (1 << NODE_KIND_BITS) - 1,
	KIND_PATH_VIEW = KIND_SCRATCH - 1,
	KIND_LABEL_VIEW = KIND_SCRATCH - 2,
	KIND_CALL_VIEW = KIND_SCRATCH - 3, /* the names of the calls of an entry */
};

/* The data that a ctx fetches for a kind. Each scope includes those before it. A node of the kind has the numbers that
 * its scope needs, and no others. */
enum scope {
	SCOPE_MOUNT,   /* nothing */
	SCOPE_QUERY,   /* only its number: a query, or a name in its directory */
	SCOPE_PROJECT, /* the project's facts */
	SCOPE_SLOT,    /* the session file's facts, without an index */
	SCOPE_INDEX,   /* the index, locked for reading */
	SCOPE_ENTRY,   /* also an entry in it */
	SCOPE_RECORD,  /* also the entry's line, parsed */
};

/* Source of a kind's mtime (sessionfs(5), "Attributes"). */
enum mtime_source {
	MTIME_AS_SOURCE,
	MTIME_ALL,
	MTIME_PROJECT,
	MTIME_GROUP,
	MTIME_SESSION,
	MTIME_ENTRY,
	MTIME_LABEL,
	MTIME_BRANCH,
	MTIME_EDIT
};

/* The input of a kind, and properties that depend on it. */
struct kind_source {
	enum scope scope;
	enum mtime_source mtime;
	/* The most that the kernel may cache of it. In a read-only mount TREE_UNCACHED is TREE_LIVE. */
	enum tree_class class;
	/* From all sessions: it can change with each of them while its mtime stays the same. Only our user has
	 * access. */
	bool covers_all_sessions;
};
extern const struct kind_source from_mount, from_all, from_query, from_project, from_file, from_session, from_branch,
    from_entry, from_record;

/* The kernel's caching of a kind, if other than in `from`. */
enum cache_override {
	CACHE_AS_SOURCE,
	CACHE_NOTHING = 1 + TREE_UNCACHED,
	CACHE_LEASE = 1 + TREE_LEASE,
	CACHE_FIXED = 1 + TREE_FIXED,
};

#define TREE_HIDDEN 64
#define TREE_REFUSALS 64
#define TREE_REMOVAL_BLOCKS 256

/* A writable name that is hidden briefly (state.c). */
struct hidden_name {
	node_t node;      /* 0: unused */
	int64_t until_ms; /* CLOCK_MONOTONIC */
};

/* Why a write was refused. */
struct refusal {
	uint32_t slot, place; /* the place stays the same when the file is replaced */
	struct buf text;
};

/* A process that must not remove names for a while (state.c). */
struct removal_block {
	pid_t process;
	node_t failed_write;  /* a write of this name was refused, and only this name is blocked; 0: a removal was
	                         refused, and all names are blocked */
	uint32_t reported_in; /* the session whose `errors` reports this, plus one; NO_SLOT: the log alone */
	int64_t at_ms;        /* CLOCK_MONOTONIC; 0: unused */
};

/* A label that was saved by writing a labels.tsv (state.c). */
struct saved_label {
	uint32_t slot, line, entry;
	uint32_t order; /* 0: unused; the greatest is the newest */
	uint64_t label; /* hash of the label */
};
#define TREE_SAVED_SETS 2048
#define TREE_SAVED_WAYS 8

/* Positions in a long line where a walk can begin, in order. */
struct block_marks {
	struct block_iter *v;
	size_t n, cap;
};

/* line_cache.c: the lines used last, with their records. The last element is for a long line. */
#define LINE_CACHE_SIZE 9
/* A line that takes more memory than this is long: only one is cached. */
#define LINE_SHORT (256 * 1024)
struct line_cache {
	struct lock lock;
	uint64_t clock;
	struct cached_line {
		struct line line;
		struct record record;
		struct block_marks marks;
		uint32_t slot, entry;
		uint64_t released_at; /* order of line_cache_put; 0: never */
	} lines[LINE_CACHE_SIZE];
};

void line_cache_init(struct line_cache *l);
void line_cache_destroy(struct line_cache *l);
/* Returns true if *line, *record and *marks now belong to the entry. If not, *line is memory to reuse. */
bool line_cache_get(struct line_cache *l, uint32_t slot, uint32_t entry, struct line *line, struct record *record,
                    struct block_marks *marks);
/* Takes the line back, or with entry NO_ENTRY only its memory. Sets *line and *marks to empty. */
void line_cache_put(struct line_cache *l, uint32_t slot, uint32_t entry, struct line *line, const struct record *record,
                    struct block_marks *marks);

struct tree {
	struct catalog *catalog;
	struct cache *cache;
	struct facts *facts;
	struct line_cache lines;
	struct scratch *scratch;
	struct searches *searches;
	const char *mountpoint;
	bool read_only, is_private, coloured;
	uint64_t kind_keys[1 << NODE_KIND_BITS]; /* constant: kind_key of each kind */
	_Atomic uint64_t commits;                /* see tree_commit_count */
	struct lock state_lock;                  /* guards the next nine members, up to `handles` */
	struct hidden_name hidden[TREE_HIDDEN];
	struct refusal refusals[TREE_REFUSALS];
	size_t refused;
	struct removal_block removal_blocks[TREE_REMOVAL_BLOCKS];
	struct hash_key secret;
	struct saved_label *saved_labels; /* TREE_SAVED_SETS sets of TREE_SAVED_WAYS; NULL: none was saved */
	uint32_t saved_count;
	struct stat synced;          /* see state_synced */
	struct tree_handle *handles; /* list of the files that are open for writing */
	uid_t uid;
};

struct kind;
struct producer;

/* One node under inspection. It is opened for a node; a listing switches it to other nodes of the same session. */
struct ctx {
	struct tree *tree;
	struct node node;
	const struct kind *kind;
	enum scope scope;
	struct project_info project;
	struct slot_info slot;
	struct session *session;
	struct line line;
	struct record record;
	struct block_marks marks;      /* of that line */
	uint32_t loaded;               /* the entry whose line `record` views, or NO_ENTRY */
	uint32_t loaded_slot;          /* its session */
	uint64_t record_size;          /* of the node, if it is a RECORD; 0: not measured */
	const struct fact_list *facts; /* of all sessions; NULL: not loaded yet (ctx_load_facts) */
	struct buf to_session;         /* from the kind's to_session */
	struct buf related;            /* from the kind's related */
	struct usage with_subagents;   /* as facts_sum_subagents, like the next: for SUMS_SUBAGENTS */
	uint64_t subagents_serial;     /* 0: it has none */
	int missed;                    /* the error of sessions that an answer from all sessions lacks */
};

/* The destination of a listing. */
struct lister {
	tree_emit emit;
	void *arg;
	enum tree_want want;
	bool *stopped;              /* emit returned non-zero */
	bool *emitted;              /* emit was called */
	const struct kind *dynamic; /* the row whose names are listed */
};

/* Dynamic names have greater cookies than fixed names. */
#define COOKIE_DYNAMIC 256

/* How to make contents, a target or names. Members that do not apply are not set: see the macros below. */
struct kind_ops {
	mode_t type; /* S_IFDIR, S_IFREG, S_IFLNK */
	const struct kind_rows *rows;
	enum group_key key; /* of groups of links: all of them, or one */
	int (*text)(const struct session *s, struct buf *out);
	size_t (*record)(const struct record *r, struct buf *out);
	int (*table)(const struct fact_list *all, struct buf *out);
	int (*show)(struct ctx *c, struct buf *out);
	int (*size)(struct ctx *c, uint64_t *ret);
	int (*part)(struct ctx *c, uint64_t off, size_t n, struct buf *out);
	const struct producer *producer;
	int (*to_session)(struct ctx *c, struct buf *out);
	int (*related)(struct ctx *c, struct buf *out); /* as related_pages of struct render_target */
	uint64_t (*serial)(struct ctx *c);
};

#define KIND_OPS(of_type, ...)                                                                                         \
	{                                                                                                              \
		.type = (of_type), __VA_ARGS__                                                                         \
	}
#define DIR(names) KIND_OPS(S_IFDIR, .rows = &rows_##names)
#define GROUP(names, by) KIND_OPS(S_IFDIR, .rows = &rows_##names, .key = GROUP_##by)
/* The target. */
#define LINK(make) KIND_OPS(S_IFLNK, .show = (make))
/* Files: made of a session; */
#define TEXT(make) KIND_OPS(S_IFREG, .text = (make))
/* of an entry's line, by a function of part.h: the file does not exist if the size is 0; */
#define RECORD(make) KIND_OPS(S_IFREG, .record = (make))
/* of all sessions; */
#define TABLE(make) KIND_OPS(S_IFREG, .table = (make))
/* of anything; */
#define SHOW(make) KIND_OPS(S_IFREG, .show = (make))
/* of anything, and the exact size is cheaper to get than the contents. */
#define SIZED(make, measure) KIND_OPS(S_IFREG, .show = (make), .size = (measure))
/* The same, and the contents have a number of their own. */
#define NUMBERED(make, measure, number) KIND_OPS(S_IFREG, .show = (make), .size = (measure), .serial = (number))
/* Any range can be read without rendering the rest. */
#define RANGE(measure, read) KIND_OPS(S_IFREG, .size = (measure), .part = (read))
/* In segments. For a file outside its session, `to` appends the path to the session's directory, with a slash at the
 * end. */
#define SEGMENTED(view, to) KIND_OPS(S_IFREG, .producer = &producer_##view, .to_session = (to))
/* The same, and it shows related sessions. */
#define SEGMENTED_PAGE(view, to, others)                                                                               \
	KIND_OPS(S_IFREG, .producer = &producer_##view, .to_session = (to), .related = (others))

/* Dynamic names: they come from the data. */
struct dynamic_names {
	const char *doc_name; /* the name in documents */
	/* Called with the ctx of the directory: emit the names after `cookie` (0: all); find the node of a name. */
	int (*list)(struct ctx *dir, uint64_t cookie, const struct lister *l);
	int (*match)(struct ctx *dir, struct span name, struct node *ret);
	/* True if one can disappear while the rest of its directory stays. Overrides `from` and `keeps`. NULL:
	 * never. */
	bool (*can_disappear)(const struct ctx *c);
};

enum flag {
	/* Directories that allow new names. */
	ALLOWS_CREATE = 1 << 0,
	/* Directories that writable links can point to. No link is created in them: `ln -s` onto a link to such a
	 * directory ends up inside it. */
	LINK_TARGET_DIR = 1 << 1,
	/* Directories that the kernel must drop when a new name appears in them. */
	NOTIFY_CREATE = 1 << 2,
	/* Names sessions of all projects. Only users who may list all projects have access. */
	LISTS_ALL_PROJECTS = 1 << 3,
	/* Its name exists as long as its session. */
	PERMANENT = 1 << 4,
	/* As covers_all_sessions in `from`: leads to one session, but was found among all. */
	FROM_ALL_SESSIONS = 1 << 5,
	/* Only our user has access, as with covers_all_sessions. */
	OWNER_ONLY = 1 << 6,
	/* Of the names in the root and in a session, .ignore leaves only these to searches. */
	IGNORE_EXEMPT = 1 << 7,
	/* Files with the execute bit wherever the read bit is set. */
	EXECUTABLE = 1 << 8,
	/* Files made from the whole session, not only from some of its lines. */
	FROM_WHOLE_SESSION = 1 << 9,
	/* Files that are rendered to find their size, and not cached. */
	UNCACHED_TEXT = 1 << 10,
	/* Files that show the current state; their mtime is now. They belong to our user and are not listed; the kernel
	 * caches nothing of them. */
	LIVE_STATUS = 1 << 11,
	/* Files that show what the session used with its subagents. */
	SUMS_SUBAGENTS = 1 << 12,
};

/* One row of the table: a name of a directory. */
struct kind {
	const char *name; /* NULL: `names` */
	const char *doc;  /* its description in README.md; sessionfs(5) says more */
	const struct kind_source *from;
	struct kind_ops make;
	/* True if it exists for this ctx; NULL: always, unless its RECORD is empty. */
	bool (*has)(struct ctx *c);
	unsigned flags; /* enum flag */
	/* How a file changes, if it is more than its other members imply: a file of lines or of fixed text is
	 * TREE_APPENDED, and needs nothing here. See kind_text_stability; test_text_change finds a value that is wrong.
	 */
	enum tree_change changes;
	struct dynamic_names names;
	/* Returns true if the name appears, disappears or leads to another node when session s does. If so, sets *slot
	 * to the slot of the directory, and appends the name to `name` (a fixed name is there already). */
	bool (*moves)(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name);
	/* How to write it (write_impl.h); NULL: not writable. Its mode and class depend on this. */
	const struct writable *write;
	/* What to write instead of a name that is not writable; NULL: what its place implies (kind_instead). */
	const char *instead;
	/* Exceptions to `from`. */
	enum mtime_source time;
	enum cache_override keeps;
};

/* The names of a directory in the order of the listing; a row without a name is for the dynamic names. */
struct kind_rows {
	const struct kind *v;
	size_t n;
};

/* root.c, session.c */
extern const struct kind tree_root;
extern const struct kind_rows rows_root, rows_session;

/* kinds.c */

/* Returns the number of a row in node ids. */
unsigned kind_id(const struct kind *k);
/* Returns the row with this number, or NULL. */
const struct kind *kind_at(unsigned id);
/* Returns the next row: the first one after NULL, and NULL after the last. */
const struct kind *kind_next(const struct kind *after);
/* Returns the row of its directory; NULL for the root. */
const struct kind *kind_above(const struct kind *k);
/* Returns the rows of a directory; none for other nodes. */
const struct kind_rows *kind_rows_of_dir(struct node dir);
bool kind_is_in(const struct kind *k, struct node dir);
enum mtime_source kind_mtime_source(const struct kind *k);
enum tree_class kind_class(const struct kind *k);
bool kind_shows_all_sessions(const struct kind *k);
bool kind_is_owner_only(const struct kind *k);
enum tree_change kind_text_stability(const struct kind *k);
/* True if finding its size renders nothing that is worth caching. */
bool kind_size_is_cheap(const struct kind *k);
/* True if only rendering it from all sessions gives its size: a table above the sessions. */
bool kind_is_table(const struct kind *k);
/* Returns the first of the kind's inode numbers, before they are mixed: a hash of its name and those above it. */
uint64_t kind_key(const struct kind *k);
/* True if a name of this kind can be removed. */
bool kind_is_removable(const struct kind *k);
/* Returns what to write instead of a name that is not writable. */
const char *kind_instead(const struct kind *k);
/* Converts between node ids and numbers. FUSE fixes the root's id; all others are packed. */
struct node tree_node(node_t id);
node_t tree_id(struct node n);

/* Returns the row of a node; NULL if it has none. */
static inline const struct kind *kind_of(struct node n)
{
	return kind_at(n.kind);
}

/* Returns the directory that contains node n: the root if its session is gone, or if it is the root. */
struct node node_parent(struct tree *t, struct node n);

/* tree.c */

int ctx_open(struct ctx *c, struct tree *t, struct node n, enum scope scope);
/* ctx_open in two steps: first what needs only the id, then at least `scope`. */
int ctx_init(struct ctx *c, struct tree *t, struct node n);
int ctx_resolve(struct ctx *c, enum scope scope);
/* Switches the ctx to a child of the same session, or of the same mount. */
int ctx_switch_node(struct ctx *c, struct node n);
void ctx_close(struct ctx *c);
node_t ctx_id(const struct ctx *c);
/* Returns the inode number of c's node. Requires at most SCOPE_SLOT. */
uint64_t ctx_ino(struct ctx *c);
/* True if the name exists. */
bool ctx_name_exists(struct ctx *c);
int ctx_get_size(struct ctx *c, uint64_t *ret);
/* Appends the contents, or the target. */
int ctx_show(struct ctx *c, struct buf *out);
/* For a lookup, leaves out size and version of a table: see tree_is_table. */
int ctx_attr(struct ctx *c, bool is_lookup, struct tree_attr *ret);
/* Returns the attributes of a writable name that was just created and is still empty. */
int ctx_created_attr(struct ctx *c, struct tree_attr *ret);
void tree_scratch_attr(const struct scratch_attr *s, struct tree_attr *ret);
/* The class of names that follow a session file without being watched. In a writable mount it is TREE_UNCACHED, so that
 * writes read back at once. */
enum tree_class tree_unwatched_class(const struct tree *t);
/* True if c's node is writable by its kind and its entry; does not check modes. */
bool ctx_is_writable(const struct ctx *c);
/* Returns the last entry of the conversation: the leaf, or the end of a branch. */
uint32_t ctx_conversation_end(const struct ctx *c);
/* Sets c->facts to the current facts of all sessions, until the ctx is closed. The ctx must hold no index. */
int ctx_load_facts(struct ctx *c);
/* Loads the record of entry i into c->record. */
int ctx_load(struct ctx *c, uint32_t i);
#define CLEANUP_CTX CLEANUP(ctx_close)

/* Editors' scratch files. */
static inline bool node_is_scratch(struct node n)
{
	return n.kind == KIND_SCRATCH;
}

static inline uint64_t scratch_id(node_t node)
{
	return node_mix(node) & (((node_t)1 << (64 - NODE_KIND_BITS)) - 1);
}

static inline node_t scratch_node(uint64_t id)
{
	return node_mix((node_t)KIND_SCRATCH << (64 - NODE_KIND_BITS) | id);
}

/* Where a directory's scratch files are: they belong to the place of its session, since another file can take that.
 * -ENOENT: it has none. */
int scratch_home(struct tree *t, node_t dir, node_t *ret);
/* Returns the directory that has this home now. */
node_t scratch_dir_of(struct tree *t, node_t home);

/* list.c */

/* Finds the writable file or link with this name in `dir`, even if it does not exist now. */
bool tree_writable_name(node_t dir, struct span name, struct node *ret);
/* Emits one of the dynamic names of a listing: node `child` in `dir`. Non-zero stops the listing. */
int list_emit_child(struct ctx *dir, const struct lister *l, struct node child, struct span name, uint64_t cookie);

/* mode.c: owner and mode (sessionfs(5), "Attributes") */
void ctx_set_owner_and_mode(const struct ctx *c, struct tree_attr *a);

/* state.c */
bool state_is_hidden(struct tree *t, struct node n);
bool state_is_created(struct tree *t, struct node n);
/* Increases with every refusal. */
uint64_t state_serial(struct tree *t);
void state_append_errors(struct tree *t, uint32_t place, struct buf *out);
void state_close(struct tree *t);

/* read.c */

/* Appends up to n bytes at off of c's file. */
int ctx_read(struct ctx *c, uint64_t off, size_t n, struct buf *out);
/* Returns the cached view with this id; renders it with `make` if necessary. Release with cache_release. Returns NULL
 * and *ret_err on failure, or if `make` returns other than 0. */
const struct view *ctx_get_view(struct ctx *c, node_t id, uint64_t serial,
                                int (*make)(struct ctx *c, void *arg, struct view *ret), void *arg, int *ret_err);
/* The same for the view of c's node. */
const struct view *ctx_view(struct ctx *c, int *ret_err);
/* Returns the serial of c's view in the cache. The contents of one entry never change in a generation; all else changes
 * with the session's serial. */
uint64_t view_serial(struct ctx *c);

/* moved.c: for an operation on *node that returned *rc, or deferred an error (then sets *rc to it). Returns true if
 * another file took the session's place: *node is its node now, and the caller repeats the operation. */
bool tree_retarget_node(struct tree *t, int *rc, node_t *node);

/* views.c: the contents of kinds with a producer */
int view_render(struct ctx *c, struct view *ret);
/* Returns a number for the current result of the kind's related. */
uint64_t ctx_related_serial(struct ctx *c);

/* Views that are lists. Returns entry i of a view whose items are entries. */
static inline uint32_t view_entry(const struct view *v, size_t i)
{
	return ((const uint32_t *)v->items)[i];
}

/* Returns name i of a view whose bytes are names. */
static inline struct span view_name(const struct view *v, size_t i)
{
	uint64_t begin = i ? v->ends[i - 1] : 0;
	return (struct span){v->bytes.p + begin, (size_t)(v->ends[i] - begin)};
}

/* groups.c: the last change of the newest session of a group, and a hash of the group's name */
struct timespec group_mtime(struct ctx *c);
uint64_t group_key(struct ctx *c);

#endif
