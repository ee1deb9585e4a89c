/* tree_impl: what the engine (tree.c, list.c, read.c) and the table (kinds.c) share. */
#ifndef SESSIONFS_TREE_IMPL_H
#define SESSIONFS_TREE_IMPL_H

#include "sessionfs/base/clock.h"
#include "sessionfs/base/fault.h"
#include "sessionfs/base/hash.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/session/part.h"
#include "sessionfs/write/scratch.h"
#include "sessionfs/tree/tree.h"

/* Ids that are no names: editors' side files, whose number is in place of slot, entry and part, and values that are
 * kept in the cache. */
enum {
	KIND_SCRATCH = (1 << NODE_KIND_BITS) - 1,
	KIND_PATH_VIEW = KIND_SCRATCH - 1,
	KIND_LABEL_VIEW = KIND_SCRATCH - 2,
	KIND_SEGMENT_VIEW = KIND_SCRATCH - 3, /* a long segment: segment_id */
	KIND_CALL_VIEW = KIND_SCRATCH - 4,    /* the names of an entry's calls */
};

/* How much must be at hand before a kind can be looked at; each includes those before it. Its nodes have the numbers
 * that are needed for that, and no others. */
enum scope {
	SCOPE_MOUNT,   /* nothing */
	SCOPE_PROJECT, /* the project's facts */
	SCOPE_SLOT,    /* the session file's facts: no index is built */
	SCOPE_INDEX,   /* the index, locked for reading */
	SCOPE_ENTRY,   /* and an entry in it */
	SCOPE_RECORD,  /* and the entry's line, viewed */
};

/* Whose time a kind shows (sessionfs(5), "Attributes"). */
enum stamp { STAMP_ALL, STAMP_PROJECT, STAMP_SESSION, STAMP_ENTRY, STAMP_LABEL, STAMP_BRANCH };

#define TREE_STATES 64
#define TREE_REFUSALS 64
#define TREE_WARNED 256

/* A writable name that is for a moment not what the session file says (state.c). */
struct name_state {
	node_t node;          /* 0: unused */
	unsigned fresh;       /* how many are making it and have not written it yet */
	uint64_t made;        /* tells those who make it now from those whose file was removed */
	int64_t hidden_until; /* CLOCK_MONOTONIC, ms; 0: not hidden */
};

/* Why a write was refused. */
struct refusal {
	uint32_t slot;
	struct buf text;
};

/* A process that may not remove names for a moment (state.c). */
struct warned {
	pid_t process;
	node_t spoilt; /* the only name that is kept from it, a write of which was refused; 0: all are, for a refused
	                  removal */
	uint32_t told; /* one more than the session whose `errors` says so */
	int64_t at_ms; /* CLOCK_MONOTONIC; 0: unused */
};

/* A label that was saved from a labels.tsv (state.c). */
struct saved {
	uint32_t slot, line, entry;
	uint32_t turn;  /* 0: unused; the greater the newer */
	uint64_t label; /* a hash of it */
};
#define TREE_SAVED_SETS 2048
#define TREE_SAVED_WAYS 8

/* Where a search for a call, or an image, of a line that has very many can begin. */
struct mark {
	unsigned n; /* calls, or images, before it */
	struct block_iter rest;
};
struct marks {
	enum marks_of { MARKS_CALLS = 1, MARKS_IMAGES } of;
	size_t n, cap;
	struct mark *v;
};

/* lines.c: the last lines that were looked at, viewed; the last one is for a long line. */
#define LINES_KEPT 9
/* A line whose memory is more is not kept as one of several. */
#define LINE_SHORT (256 * 1024)
struct lines {
	struct lock lock;
	uint64_t clock;
	struct kept_line {
		struct line line;
		struct record record;
		struct marks marks;
		uint32_t slot, entry;
		uint64_t given; /* when it came back, 0: never */
	} kept[LINES_KEPT];
};

void lines_init(struct lines *l);
void lines_release(struct lines *l);
/* True if *line, *record and *marks now are those of the entry; else *line is memory to be used again. */
bool lines_take(struct lines *l, uint32_t slot, uint32_t entry, struct line *line, struct record *record,
                struct marks *marks);
/* Takes the line back; entry NO_ENTRY: only its memory. *line and *marks are empty afterwards. */
void lines_give(struct lines *l, uint32_t slot, uint32_t entry, struct line *line, const struct record *record,
                struct marks *marks);

/* segments.c: memory that the runs of one view leave to those of the next */
#define RUNS_MOST 4
struct spare {
	struct lock lock;
	struct buf runs[RUNS_MOST];
};

void spare_init(struct spare *s);
void spare_release(struct spare *s);

struct tree {
	struct catalog *catalog;
	struct cache *cache;
	struct lines lines;
	struct spare spare;
	struct scratch *scratch;
	const char *mountpoint;
	bool read_only, is_private;
	_Atomic uint64_t commits; /* see tree_commits */
	struct lock state_lock;   /* guards the nine that follow */
	struct name_state states[TREE_STATES];
	struct refusal refusals[TREE_REFUSALS];
	size_t refused;
	uint64_t made;
	struct warned warned[TREE_WARNED];
	int64_t warned_ms; /* when one was warned last; 0: never */
	struct hash_key secret;
	struct saved *saved; /* TREE_SAVED_SETS of TREE_SAVED_WAYS; NULL: nothing was */
	uint32_t saves;
	struct tree_handle *handles; /* of files that are open for writing */
	uid_t uid;
};

struct kind;
struct producer;

/* One node under inspection. Opened for a node, it can be turned to others of
 * the same session as a listing goes on. */
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
	struct marks marks;   /* in that line */
	uint32_t loaded;      /* the entry whose line `record` views, or NO_ENTRY */
	uint32_t loaded_slot; /* its session */
};

/* Where a listing goes. */
struct lister {
	tree_emit emit;
	void *arg;
	enum tree_want want;
	bool *stopped;             /* emit said so */
	const struct kind *family; /* the row whose names are listed */
};

/* Family cookies come after those of the fixed names. */
#define COOKIE_FAMILY 256

/* One row of the table. */
struct kind {
	const char *name; /* NULL: a family, named by list and match */
	mode_t type;      /* S_IFDIR, S_IFREG, S_IFLNK */
	/* The numbers of the directories it stands in, 0 after the last. The first one is `..` of a directory. */
	unsigned char in[3];
	enum scope scope;
	enum stamp stamp;
	/* What the kernel may keep of it at most; in a read-only mount TREE_ASKED is TREE_LIVE. */
	enum tree_class class;
	/* Its name is there as long as its session. */
	bool lasts;
	/* What can be written (write_impl.h). Mode and keeping follow from it. */
	const struct writable *write;
	/* Directories in which names can be made. */
	bool takes_names;
	/* Those in which no link is made: `ln -s` onto a link to them ends up there. */
	bool takes_no_links;
	/* Directories that the links which can be written lead to. */
	bool is_target;
	/* Directories that are told when a name comes to be in them. */
	bool tells_new;
	/* Directories that name sessions of any project: listed by those who may list them all. */
	bool gathers;
	/* Files that are made from all of the session, not only from some lines of it. */
	bool whole;
	/* Files whose contents change in the middle as the session grows. */
	bool rewritten;
	/* Files whose contents change while their attributes, but perhaps for the size, stay the same. */
	bool untimed;
	/* Whether it exists for this ctx; NULL: always. */
	bool (*has)(struct ctx *c);
	/* Whether it can go while the rest of its directory stays, whatever `class` says. */
	bool (*may_go)(const struct ctx *c);
	/* Whether the name comes, goes or leads elsewhere with the session s: then *slot is that of the directory, and
	 * *name what it is called there (for a fixed name it is that already). */
	bool (*moves_with)(struct tree *t, const struct slot_info *s, uint32_t *slot, struct span *name);
	/* Files that are made to be measured, and not kept. */
	bool is_small;
	/* Exact size where that is cheaper than the contents; NULL: the contents are made and kept. */
	int (*size)(struct ctx *c, uint64_t *ret);
	/* Files: the contents. Links: the target. */
	int (*show)(struct ctx *c, struct buf *out);
	/* Files of which any part can be had alone. */
	int (*part)(struct ctx *c, uint64_t off, size_t n, struct buf *out);
	/* Files that are made in pieces. */
	const struct producer *producer;
	/* Families: the name of a node. */
	void (*called)(struct ctx *c, struct buf *out);
	/* Families, called with the ctx of the directory: emit names after `cookie` (0: all), find the node of a name.
	 */
	int (*list)(struct ctx *dir, uint64_t cookie, const struct lister *l);
	int (*match)(struct ctx *dir, struct span name, struct node *ret);
};

/* kinds.c: the table, as kind.c reads it. Row 0 is none. */
extern const struct kind tree_kinds[];
extern const size_t tree_kind_count;
extern const unsigned tree_root_kind;

/* kind.c */

/* The number that a row has in node ids. */
unsigned kind_id(const struct kind *k);
/* The row of a number, or NULL. */
const struct kind *kind_at(unsigned id);
/* The rows one after the other: after NULL the first, after the last NULL. */
const struct kind *kind_next(const struct kind *after);
/* The same of those that stand in a directory with that number. */
const struct kind *kind_next_in(unsigned dir, const struct kind *after);
bool kind_is_in(const struct kind *k, unsigned dir);
/* Whether its size is known without contents that are worth keeping. */
bool kind_is_cheap(const struct kind *k);
/* Whether what is there can be removed. */
bool kind_is_removable(const struct kind *k);
/* The root's id is given (FUSE); all others are packed. */
struct node tree_node(node_t id);
node_t tree_id(struct node n);

/* The row of a node; NULL: it is none of the tree's names. */
static inline const struct kind *kind_of(struct node n)
{
	return kind_at(n.kind);
}

/* The directory of kind `up` that node n stands in; the root if its session is gone. */
struct node node_above(struct tree *t, struct node n, unsigned up);

/* tree.c */

int ctx_open(struct ctx *c, struct tree *t, struct node n, enum scope scope);
/* In two steps: what needs nothing but the id, then at least `scope`. */
int ctx_init(struct ctx *c, struct tree *t, struct node n);
int ctx_reach(struct ctx *c, enum scope scope);
/* Turns the ctx to a child of the same session, or of the same mount. */
int ctx_turn(struct ctx *c, struct node n);
void ctx_close(struct ctx *c);
node_t ctx_id(const struct ctx *c);
int ctx_size(struct ctx *c, uint64_t *ret);
int ctx_attr(struct ctx *c, struct tree_attr *ret);
/* Attributes of a writable name that was created a moment ago and is still empty. */
int ctx_fresh_attr(struct ctx *c, struct tree_attr *ret);
void tree_scratch_attr(const struct scratch_attr *s, struct tree_attr *ret);
/* What follows a session file without being watched. In a mount that can be written, what was written reads back at
 * once. */
enum tree_class tree_unwatched(const struct tree *t);
/* Whether what c is opened for can be written, by what it is. */
bool ctx_is_writable(const struct ctx *c);
/* Where in the tree a view is of: the leaf, or the end of a branch. */
uint32_t ctx_position(const struct ctx *c);
/* Makes sure that the record of entry i is viewed. */
int ctx_load(struct ctx *c, uint32_t i);
#define CLEANUP_CTX CLEANUP(ctx_close)

/* Editors' side files. */
static inline bool node_is_scratch(struct node n)
{
	return n.kind == KIND_SCRATCH;
}

static inline uint64_t scratch_id(node_t node)
{
	return node & (((node_t)1 << (64 - NODE_KIND_BITS)) - 1);
}

static inline node_t scratch_node(uint64_t id)
{
	return (node_t)KIND_SCRATCH << (64 - NODE_KIND_BITS) | id;
}

int tree_resolve_from(struct tree *t, node_t from, const char *path, bool follow, struct tree_attr *ret);

/* list.c */

/* Whether names may be made in this directory: 0, -EPERM, -EROFS, -EACCES, ... */
int tree_writable_dir(struct tree *t, node_t dir);
/* The writable file or link that has this name in `dir`, whether it is there now or not. */
bool tree_writable_name(node_t dir, struct span name, struct node *ret);
/* Emits one name of the family that is listed: the child of `dir` at `child`. Non-zero stops the listing. */
int list_child(struct ctx *dir, const struct lister *l, struct node child, struct span name, uint64_t cookie);

/* mode.c: owner and mode (sessionfs(5), "Attributes") */
void ctx_own(const struct ctx *c, struct tree_attr *a);

/* state.c */
bool state_is_hidden(struct tree *t, struct node n);
bool state_is_fresh(struct tree *t, struct node n);
/* Whether any name in the directory is hidden, or made and not written yet. */
bool state_is_in(struct tree *t, struct node dir);
/* Rises with every refusal. */
uint64_t state_serial(struct tree *t);
void state_errors(struct tree *t, uint32_t slot, struct buf *out);
void state_close(struct tree *t);

/* read.c */

/* Appends up to n bytes at off of the file that c is opened for. */
int ctx_read(struct ctx *c, uint64_t off, size_t n, struct buf *out);
/* Appends up to n bytes of s from `off` on. */
void add_slice(struct buf *out, struct span s, uint64_t off, size_t n);
/* The view kept under this id, made by `make` if need be; release with cache_release. NULL and *ret_err on failure. */
const struct view *view_get(struct ctx *c, node_t id, uint64_t serial,
                            int (*make)(struct ctx *c, void *arg, struct view *ret), void *arg, int *ret_err);
/* The kept view of the ctx's node, made if need be; release with cache_release. NULL and *ret_err on failure. */
const struct view *ctx_view(struct ctx *c, int *ret_err);
/* The contents of one entry never change in a generation; everything else is as of a serial. */
uint64_t view_serial(const struct ctx *c);

/* moved.c: what was asked of the node ended with *rc, or with a fault, which *rc is then. True if it is to be
 * asked of another one, that has its place by now: each time it is true another file has come there. */
bool tree_moved(struct tree *t, int *rc, node_t *node);

/* segments.c: what kinds with a producer show */
int segments_make(struct ctx *c, struct view *ret);
/* Appends up to n bytes at off of a view that is not kept with all its bytes. */
int segments_read(struct ctx *c, const struct view *v, uint64_t off, size_t n, struct buf *out);

/* view.c: views that are lists; release with cache_release */

/* Entry i of a view whose items are entries. */
static inline uint32_t view_entry(const struct view *v, size_t i)
{
	return ((const uint32_t *)v->items)[i];
}

/* The path to `at`, root first: its items are the entries. */
const struct view *view_path(struct ctx *c, uint32_t at, int *ret_err);
/* Name number i of a view of names. */
struct span view_name(const struct view *v, size_t i);
/* The names of labels/, and the entries that they are of, rising. */
const struct view *view_labels(struct ctx *c, int *ret_err);
/* The number of this name, or -1. */
ssize_t view_label_find(const struct view *v, struct span name);

/* families.c: names that come from the data */
int project_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int project_match(struct ctx *dir, struct span name, struct node *ret);
int session_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int session_match(struct ctx *dir, struct span name, struct node *ret);
int session_link_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int session_link_match(struct ctx *dir, struct span name, struct node *ret);
bool session_moves(struct tree *t, const struct slot_info *s, uint32_t *slot, struct span *name);
bool session_link_moves(struct tree *t, const struct slot_info *s, uint32_t *slot, struct span *name);
bool project_moves(struct tree *t, const struct slot_info *s, uint32_t *slot, struct span *name);
bool latest_moves(struct tree *t, const struct slot_info *s, uint32_t *slot, struct span *name);
bool project_latest_moves(struct tree *t, const struct slot_info *s, uint32_t *slot, struct span *name);
int fork_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int fork_match(struct ctx *dir, struct span name, struct node *ret);
int entry_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int entry_match(struct ctx *dir, struct span name, struct node *ret);
void entry_called(struct ctx *c, struct buf *out);
int child_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int child_match(struct ctx *dir, struct span name, struct node *ret);
int label_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int label_match(struct ctx *dir, struct span name, struct node *ret);
int branch_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int branch_match(struct ctx *dir, struct span name, struct node *ret);
int path_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int path_match(struct ctx *dir, struct span name, struct node *ret);
int call_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int call_match(struct ctx *dir, struct span name, struct node *ret);
int image_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int image_match(struct ctx *dir, struct span name, struct node *ret);
/* Appends the name of entry i under branches/. */
void branch_name(struct ctx *c, uint32_t i, struct buf *out);
/* Call n, image n of the record viewed; false if there is none (or the image decodes to nothing). */
bool call_find(struct ctx *c, uint32_t n, struct part_call *ret);
bool image_find(struct ctx *c, uint32_t n, struct part_image *ret);
/* Appends the name of call n of another entry than c's. */
int call_name_of(struct ctx *c, uint32_t entry, uint32_t n, struct buf *out);

/* readme.c: README.md of the mount root */
struct span readme_text(void);

#endif
