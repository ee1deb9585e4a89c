/* tree_impl: what the engine (tree.c, tree_list.c, tree_read.c) and the table (tree_kinds.c) share. */
#ifndef SESSIONFS_TREE_IMPL_H
#define SESSIONFS_TREE_IMPL_H

#include "sessionfs/base/clock.h"
#include "sessionfs/base/fault.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/session/part.h"
#include "sessionfs/write/scratch.h"
#include "sessionfs/tree/tree.h"
#include "sessionfs/write/value.h"

/* In the order of listings: in a directory, what cannot be removed comes before what can, so that who removes all of it
 * is refused before anything is gone. */
enum kind_id {
	K_NONE,
	K_ROOT,
	K_README,
	K_PROJECTS,
	K_SESSIONS,
	K_LATEST,
	K_SESSION_LINK,
	K_PROJECT,
	K_PROJECT_LATEST,
	K_SESSION,
	K_SESSION_JSONL,
	K_HEADER_JSON,
	K_INFO_JSON,
	K_TITLE,
	K_CWD,
	K_TREE_TXT,
	K_CONTEXT_MD,
	K_CONTEXT_JSON,
	K_TRANSCRIPT_MD,
	K_PARENT_SESSION,
	K_PROBLEMS,
	K_ERRORS,
	K_FORKS,
	K_FORK,
	K_ENTRIES,
	K_BRANCHES,
	K_CURRENT,
	K_LABELS,
	K_LABEL_LINK,
	K_NAME,
	K_LEAF,
	K_LABELS_TSV,
	K_BRANCH,
	K_BRANCH_CONTEXT_MD,
	K_BRANCH_CONTEXT_JSON,
	K_BRANCH_TRANSCRIPT_MD,
	K_PATH_LINK,
	K_ENTRY,
	K_ENTRY_JSON,
	K_TYPE,
	K_ROLE,
	K_MODEL,
	K_TEXT,
	K_THINKING,
	K_USAGE,
	K_TOOL_CALLS,
	K_CALL,
	K_ARGUMENTS,
	K_RESULT,
	K_CALL_LINK,
	K_IMAGES,
	K_IMAGE,
	K_PARENT,
	K_CHILDREN,
	K_CHILD,
	K_BRANCH_SUMMARY,
	K_LABEL,
	K_COUNT,
	/* Values that are kept in the cache under a node id but are no names. */
	K_PATH_VIEW = K_COUNT,
	K_LABEL_VIEW,
	K_SEGMENT_VIEW, /* a long segment of a transcript; part 1: in a branch */
	/* Editors' side files: the number is in place of slot, entry and part. */
	K_SCRATCH,
};

_Static_assert(K_SCRATCH < 1 << NODE_KIND_BITS, "kinds fit their bits of a node id");

/* How much must be at hand before a kind can be looked at; each includes those before it. */
enum scope {
	SCOPE_MOUNT,   /* nothing */
	SCOPE_PROJECT, /* the project's facts */
	SCOPE_SLOT,    /* the session file's facts: no index is built */
	SCOPE_INDEX,   /* the index, locked for reading */
	SCOPE_RECORD,  /* and the entry's line, viewed */
};

/* Whose time a kind shows (namespace.md "Attributes"). */
enum stamp { STAMP_ALL, STAMP_PROJECT, STAMP_SESSION, STAMP_ENTRY, STAMP_LABEL, STAMP_BRANCH };

/* How long the kernel may keep the name and its attributes. */
enum keep {
	KEEP_LIVE,  /* comes and goes with what the session file says */
	KEEP_TOLD,  /* is there as long as its directory; tree_stale_* tells when it changes */
	KEEP_NAME,  /* as KEEP_TOLD, and the name is there for good */
	KEEP_FIXED, /* neither changes while the session is the same */
	KEEP_QUIET, /* one of many that follow the session file: kept for long only while that lies untouched */
};

#define TREE_STATES 64
#define TREE_REFUSALS 64
#define TREE_WARNED 256

/* A writable name that is for a moment not what the session file says (tree_state.c). */
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

/* Whom a removal is refused for a moment (tree_state.c). */
struct warned {
	pid_t process;
	node_t spoilt; /* the only name that is kept from it, a write of which was refused; 0: all are, for a refused
	                  removal */
	uint32_t told; /* one more than the session whose `errors` says so */
	int64_t at_ms; /* CLOCK_MONOTONIC; 0: unused */
};

/* A label that was saved from a labels.tsv (tree_state.c). */
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
	enum kind_id of; /* K_CALL or K_IMAGE */
	size_t n, cap;
	struct mark *v;
};

/* tree_lines.c: the last lines that were looked at, viewed; the last one is for a long line. */
#define LINES_KEPT 9
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

/* tree_transcript.c: memory that the runs of one transcript leave to those of the next */
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
	struct lock state_lock; /* guards the nine that follow */
	struct name_state states[TREE_STATES];
	struct refusal refusals[TREE_REFUSALS];
	size_t refused;
	uint64_t made;
	struct warned warned[TREE_WARNED];
	int64_t warned_ms;   /* when one was warned last; 0: never */
	struct saved *saved; /* TREE_SAVED_SETS of TREE_SAVED_WAYS; NULL: nothing was */
	uint32_t saves;
	struct tree_handle *handles; /* of files that are open for writing */
	uid_t uid;
};

struct kind;

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
	bool *stopped; /* emit said so */
};

/* Family cookies come after those of the fixed names. */
#define COOKIE_FAMILY 64

/* One row of the table. */
struct kind {
	const char *name; /* NULL: a family, named by list and match */
	mode_t type;      /* S_IFDIR, S_IFREG, S_IFLNK */
	enum kind_id parent;
	enum scope scope;
	enum stamp stamp;
	enum keep keep;
	/* Files that can be written: what their text is. Mode and keeping follow from it. */
	enum value_kind value;
	/* Directories that name sessions of any project: listed by those who may list them all. */
	bool gathers;
	/* Files whose contents change in the middle as the session grows. */
	bool rewritten;
	/* Files whose contents change while their attributes, but perhaps for the size, stay the same. */
	bool untimed;
	/* Whether it exists for this ctx; NULL: always. */
	bool (*has)(struct ctx *c);
	/* Exact size where that is cheaper than the contents; NULL: the contents are made and kept. */
	int (*size)(struct ctx *c, uint64_t *ret);
	/* Files: the contents. Links: the target. */
	int (*show)(struct ctx *c, struct buf *out);
	/* Files of which any part can be had alone. */
	int (*part)(struct ctx *c, uint64_t off, size_t n, struct buf *out);
	/* Makes the view where it is more than show's bytes. */
	int (*view)(struct ctx *c, struct view *ret);
	/* Families, called with the ctx of the directory: emit names after `cookie` (0: all), find the node of a name.
	 */
	int (*list)(struct ctx *dir, uint64_t cookie, const struct lister *l);
	int (*match)(struct ctx *dir, struct span name, struct node *ret);
};

extern const struct kind tree_kinds[K_COUNT];

/* tree.c */

int ctx_open(struct ctx *c, struct tree *t, struct node n, enum scope scope);
/* In two steps: what needs nothing but the id, then at least `scope`. */
int ctx_init(struct ctx *c, struct tree *t, struct node n);
int ctx_reach(struct ctx *c, enum scope scope);
/* Turns the ctx to a child of the same session, or of the same mount. */
int ctx_turn(struct ctx *c, struct node n);
void ctx_close(struct ctx *c);
node_t ctx_id(const struct ctx *c);
int ctx_attr(struct ctx *c, struct tree_attr *ret);
/* Of a writable name that was made a moment ago and holds nothing yet. */
int ctx_fresh_attr(struct ctx *c, struct tree_attr *ret);
void tree_scratch_attr(const struct scratch_attr *s, struct tree_attr *ret);
/* In a mount that can be written, what was written reads back at once. */
double tree_live_ttl(const struct tree *t);
/* Where something can be written: names in these directories. */
bool kind_is_writable_dir(unsigned kind);
/* Whether what c is opened for can be written, by what it is. */
bool ctx_is_writable(const struct ctx *c);
/* Makes sure that the record of entry i is viewed. */
int ctx_load(struct ctx *c, uint32_t i);
/* Whether a kind's nodes have an entry number in them. */
bool kind_has_entry(unsigned k);
#define CLEANUP_CTX CLEANUP(ctx_close)

static inline uint64_t scratch_id(node_t node)
{
	return node & (((node_t)1 << (64 - NODE_KIND_BITS)) - 1);
}

int tree_resolve_from(struct tree *t, node_t from, const char *path, bool follow, struct tree_attr *ret);

/* tree_list.c */

/* Whether names may be made in this directory: 0, -EPERM, -EROFS, -EACCES, ... */
int tree_writable_dir(struct tree *t, node_t dir);
/* The writable file or link that has this name in `dir`, whether it is there now or not. */
bool tree_writable_name(node_t dir, struct span name, struct node *ret);
/* Emits one name of a family: the child of `dir` of kind k at `child`. Non-zero stops the listing. */
int list_child(struct ctx *dir, const struct lister *l, enum kind_id k, struct node child, struct span name,
               uint64_t cookie);

/* tree_mode.c: owner and mode (namespace.md "Attributes") */
void ctx_own(const struct ctx *c, struct tree_attr *a);

/* tree_state.c */
bool state_is_hidden(struct tree *t, struct node n);
bool state_is_fresh(struct tree *t, struct node n);
/* Whether any name in the directory is hidden, or made and not written yet. */
bool state_is_in(struct tree *t, struct node dir);
/* Rises with every refusal. */
uint64_t state_serial(struct tree *t);
void state_errors(struct tree *t, uint32_t slot, struct buf *out);
void state_close(struct tree *t);

/* tree_read.c */

/* Appends up to n bytes at off of the file that c is opened for. */
int ctx_read(struct ctx *c, uint64_t off, size_t n, struct buf *out);
/* The kept view of the ctx's node, made if need be; release with cache_release. NULL and *ret_err on failure. */
const struct view *ctx_view(struct ctx *c, int *ret_err);
/* What one entry says never changes in a generation; all else is as of a serial. */
uint64_t view_serial(const struct ctx *c);

/* tree_moved.c: what was asked of the node ended with *rc, or with a fault, which *rc is then. True if it is to be
 * asked of another one, that has its place by now: each time it is true another file has come there. */
bool tree_moved(struct tree *t, int *rc, node_t *node);

/* tree_transcript.c, tree_view.c: views that are more than a producer's bytes */
int view_transcript(struct ctx *c, uint32_t at, const char *prefix, struct view *ret);
int view_read(struct ctx *c, const struct view *v, const char *prefix, uint64_t off, size_t n, struct buf *out);
/* From where a transcript is to entries/. */
const char *view_prefix(const struct ctx *c);
/* The path to `at` (entries, root first), kept; release with cache_release. */
const struct view *view_path(struct ctx *c, uint32_t at, int *ret_err);
/* The names of labels/: segment i is the name of entries[i], entries rising. */
const struct view *view_labels(struct ctx *c, int *ret_err);
struct span view_label_name(const struct view *v, size_t i);
/* The segment with this name, or -1. */
ssize_t view_label_find(const struct view *v, struct span name);

/* tree_families.c: names that come from the data */
int project_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int project_match(struct ctx *dir, struct span name, struct node *ret);
int session_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int session_match(struct ctx *dir, struct span name, struct node *ret);
int session_link_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int session_link_match(struct ctx *dir, struct span name, struct node *ret);
int fork_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int fork_match(struct ctx *dir, struct span name, struct node *ret);
int entry_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int entry_match(struct ctx *dir, struct span name, struct node *ret);
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
/* Appends the name of call n of the record viewed. */
void call_name(struct ctx *c, uint32_t n, struct buf *out);

/* readme.c: README.md of the mount root */
struct span readme_text(void);

#endif
