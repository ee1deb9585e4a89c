/* SPDX-License-Identifier: MIT */
/* The members of struct session, only for the files of the index.
 *
 * session.c  open, grow, copy, read lines, walk
 * scan.c     lines to entries
 * id.c       the table of ids
 * link.c     parents, children, cycles
 * name.c     names under entries/
 * label.c    labels, the display name
 * call.c     which result answers which call
 * problem.c  problems in the file
 * usage.c    tokens and cost
 *
 * Data that only some readers need is derived on first use. It is in struct derived, which has its own mutex, since
 * readers share the session's lock. */
#ifndef SESSIONFS_SESSION_IMPL_H
#define SESSIONFS_SESSION_IMPL_H

#include "sessionfs/base/deferred.h"
#include "sessionfs/base/hash.h"
#include "sessionfs/base/limits.h"
#include "sessionfs/base/lock.h"
#include "sessionfs/base/map.h"
#include "sessionfs/base/node.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/file/opened.h"
#include "sessionfs/session/session.h"

#include <stddef.h>
#include <stdatomic.h>

#define SESSION_ENTRIES NODE_ENTRIES

/* When indexing, a longer line is read on its own, not through the window. */
#define SESSION_LINE_LONG ((size_t)4 << 20)

/* V8's strings have at most this many UTF-16 units, so pi does not open a session with a longer line of ASCII. */
#define SESSION_LINE_MAX ((uint64_t)0x1fffffe8)

/* Characters of an id derived for a v1 file. */
#define DERIVED_ID 8

/* An id of this many bytes fits a component in any encoding. For a longer one the index keeps a digest. */
#define NAME_ID_BYTES_MAX 85

/* Private flags of an entry, above the public ones. */
enum {
	ENTRY_SETS_LABEL = 1 << 10, /* a label record whose label is truthy */
	ENTRY_LINKED = 1 << 14,     /* while relinking: done */
	ENTRY_OPEN = 1 << 15,       /* while relinking: on the stack */
};

/* The number of latest usage sums that are searched for the one of an entry. */
#define USAGE_BUCKETS_TRIED 8
/* A sum has at most this many entries, so that little is read again if some of them do not count. */
#define USAGE_BUCKET_ENTRIES_MAX LIMIT(64, 20)

enum key_kind { KEY_TEXT, KEY_NUMBER, KEY_ID_DIGEST };

/* An id as a key. As in a JavaScript Map, 12 and "12" differ; 12 and 12.0 do not. */
struct key {
	struct span text; /* decoded as JSON_READ; or the digest of that */
	enum key_kind kind;
	double value; /* of a number, which has no text */
};

/* Replaces `out` with the n bytes from `off` on, a line, and up to `ahead` more. Returns 0; -ESTALE if the file has
 * fewer than n; or a negative errno. */
int session_read_bytes(const struct session *s, uint64_t off, size_t n, size_t ahead, struct buf *out);

/* Keys, each after a byte that gives its kind. Position 0 means none. */
typedef VEC(char) arena_t;

/* An entry and a key kept in an arena. */
struct id_ref {
	uint32_t entry;
	uint32_t key; /* position in the arena; 0: the value cannot be an id */
};

/* Entries that refer to another one by id. */
struct id_refs {
	VEC(struct id_ref) list;
	arena_t keys;
};

/* Open addressing. A slot holds an entry number plus one below eight bits of the hash, so that nearly every miss is
 * seen without touching the entry. */
struct id_table {
	uint32_t *slots;
	uint32_t size, used;
	uint32_t upto; /* entries below this number are in it */
};

enum problem_reason {
	REASON_MALFORMED,
	REASON_TORN,
	REASON_FALSY,
	REASON_NO_OBJECT,
	REASON_NO_ID,
	REASON_NO_PARENT_ID,
	REASON_SELF_PARENT,
	REASON_NO_MESSAGE,
	REASON_TOO_LONG,
	REASON_TOO_MANY,
	REASON_TOO_MANY_PARTS,
	REASON_DUPLICATE,
	REASON_ORPHAN,
	REASON_CYCLE,
	REASON_LABEL,
	REASON_BAD_FIRST_KEPT,
	REASON_NO_CALL, /* from here to REASON_LARGE_PICTURE: a provider refuses it; as enum content_problem */
	REASON_EMPTY,
	REASON_NO_PICTURE,
	REASON_LARGE_PICTURE,
	REASON_AND_MORE,
};

struct problem_record {
	uint64_t offset;
	uint32_t line; /* or the entry, if a provider refuses it */
	enum problem_reason reason;
};

typedef VEC(struct problem_record) problem_records_t;

struct label {
	uint32_t target, record;
};

typedef VEC(struct label) labels_t;

/* A tool call or result: see call.c. */
enum { CALL_PLACE_BITS = 6, CALL_HASH_BITS = 42 };
#define CALL_HASH_MAX ((UINT64_C(1) << CALL_HASH_BITS) - 1)
struct call_item {
	uint64_t place : CALL_PLACE_BITS, hash : CALL_HASH_BITS;
} __attribute__((packed));

/* Compare structs by the number, or the two numbers, they begin with: for qsort and bsearch. */
int leading_number_cmp(const void *a, const void *b);
int two_numbers_cmp(const void *a, const void *b);

/* A name that differs from the encoded id; see name.c. */
struct assigned_name {
	uint32_t entry;
	uint32_t number; /* of ID, ID~2, ID~3, ... */
	uint64_t hash;   /* of the name */
};

/* A line cached during a scan, or all lines of a short file. */
struct scanned_line {
	uint64_t off;   /* in the file */
	uint32_t at, n; /* in `bytes` */
};

enum { READAHEAD_PLACES = 4 };

/* Data computed on demand, so it changes although the session is const. Each `_at` is the serial for which the data was
 * computed; 0: never. */
struct derived {
	struct lock mutex;
	struct lock readahead_lock; /* guards the next two; can be acquired while mutex is held */
	struct readahead_bytes {
		struct buf bytes;
		uint64_t at;           /* where in the file */
	} readahead[READAHEAD_PLACES]; /* the one used last comes first */
	struct scanned {
		bool wanted;
		VEC(char) bytes;
		VEC(struct scanned_line) lines; /* by `off` */
	} scanned;
	_Atomic uint64_t ids_at, labels_at, edits_at, answers_at, problems_at;
	struct id_table table;  /* filled by session_link, except for v1 files */
	VEC(char) ids;          /* v1: eight characters an entry */
	labels_t labels;        /* by target */
	labels_t edits;         /* the same of the context edits on the branch in use */
	size_t edits_end;       /* the leaf of that branch plus one; 0: rebuild it */
	size_t label_records;   /* how many label records it covers; 0: rebuild it */
	size_t labels_resolved; /* how many of all label records have an entry */
	VEC(uint32_t) answers;  /* see call.c */
	problem_records_t problems;
	_Atomic size_t memory; /* of all these */
};

/* readahead.c: caches a line during a scan, if wanted and within the limit. No other thread may use the session. */
void scanned_add(const struct session *s, uint64_t off, struct span line);
/* session_read_bytes from memory, if the line is cached or short: then more than the line is read. Returns false if it
 * is not there, with nothing appended; if true, see buf_err. */
bool readahead_get(const struct session *s, uint64_t off, size_t n, size_t more, struct buf *out);
/* Frees the cached bytes. Call it when the file may have changed. */
void readahead_drop(struct derived *d);
size_t readahead_memory(struct derived *d);

/* How the bytes after the last newline were indexed. */
enum tail {
	TAIL_NONE,    /* no bytes, or blank */
	TAIL_INDEXED, /* a complete value: counts as a line */
	TAIL_TORN,    /* not (yet) a value; or a falsy one */
};

/* How much of the file is indexed. */
struct extent {
	uint64_t whole_end; /* end of the last whole line */
	uint64_t end;       /* bytes seen: `whole_end` plus the tail */
	uint32_t lines;     /* whole lines, and the tail if indexed */
	uint32_t entry_count;
	uint32_t last_with_id; /* v1: the newest entry with an id */
	uint32_t newest_info;  /* the newest session_info */
	double last_active;    /* session_last_active */
	int64_t usage_minute;  /* of the newest usage, and its day */
	date_t usage_day;
	struct usage usage; /* session_usage */
	bool has_context_edits;
	bool durations; /* a message has durationMs */
	enum tail tail;
	enum problem_reason tail_problem; /* why the tail was not indexed */
	bool tail_is_entry;
	bool is_full; /* more entries than the maximum */
};

struct session {
	struct rwlock lock;
	_Atomic uint32_t renamed;  /* see session_fetch_renamed */
	struct resolver *resolver; /* borrowed; with `path` it locates the file */
	char *path;
	struct opened *file; /* NULL before it is open */
	struct span whole;   /* all bytes of a short file, while session_open indexes it; else empty */
	struct stat st;
	uint64_t serial;
	struct hash_key secret;
	struct fingerprints fingerprints;
	bool is_broken; /* a scan failed half way: it can only be closed */

	struct buf header_line, sid;
	struct record header;
	const struct format *format;
	uint32_t relinks; /* how often linked entries were linked again */

	struct extent extent;

	/* From here to `derived` there are only vectors, each listed in SESSION_VECTORS. */
	VEC(struct entry) entries;
	arena_t ids;
	struct id_refs orphans;   /* entries whose parent may still appear */
	struct id_refs labels;    /* label and context_edit records and their targets */
	VEC(uint32_t) headers;    /* v1: indexes of later headers among the parsed lines */
	problem_records_t faults; /* found during the scan */

	/* One item per tool call and tool result, in file order: see call.c. */
	VEC(struct call_item) calls;
	VEC(uint32_t) call_blocks;

	VEC(struct usage_bucket) uses; /* entries go only to the last USAGE_BUCKETS_TRIED */
	VEC(struct usage_mark) use_marks;

	VEC(uint32_t) odd_seeds;       /* entries that cannot be found by their id */
	VEC(struct assigned_name) odd; /* those, and the entries whose names they took, in file order */
	VEC(uint32_t) odd_slots;       /* hashed by name: index into odd plus one, or 0 */

	struct derived *derived;
};

#define SESSION_VECTORS(X)                                                                                             \
	X(entries)                                                                                                     \
	X(ids)                                                                                                         \
	X(headers)                                                                                                     \
	X(faults)                                                                                                      \
	X(calls)                                                                                                       \
	X(call_blocks)                                                                                                 \
	X(uses)                                                                                                        \
	X(use_marks)                                                                                                   \
	X(odd_seeds)                                                                                                   \
	X(odd)                                                                                                         \
	X(odd_slots)                                                                                                   \
	X(orphans.list)                                                                                                \
	X(orphans.keys)                                                                                                \
	X(labels.list)                                                                                                 \
	X(labels.keys)

/* A vector missing here would leak. */
#define SESSION_ADD_SIZE(vec) +sizeof(((struct session *)0)->vec)
_Static_assert(offsetof(struct session, derived) - offsetof(struct session, entries) ==
                   0 SESSION_VECTORS(SESSION_ADD_SIZE),
               "each vector of a session is in SESSION_VECTORS");

static inline struct entry *session_entry_at(const struct session *s, uint32_t i)
{
	return &s->entries.v[i];
}

static inline bool has_flag(const struct session *s, uint32_t i, unsigned flag)
{
	return s->entries.v[i].flags & flag;
}

/* ---- scan.c ---- */

/* Indexes the file up to `size`. On failure the session is unchanged. But after -EINTR (cancel_check), once there is a
 * header, it is the index of a shorter file, and session_grow continues from there. */
int session_scan(struct session *s, uint64_t size);

/* ---- id.c ---- */

/* Converts a string or number to a key; `text` holds it if it had to be decoded. Returns false for other values. */
bool id_key_slow(const struct json_value *v, struct buf *text, struct key *ret);
static inline bool is_ascii(struct span text)
{
	uint64_t word, all = 0;
	size_t i = 0;

	for (; text.n - i >= sizeof word; i += sizeof word) {
		memcpy(&word, text.p + i, sizeof word);
		all |= word;
	}
	for (; i < text.n; i++)
		all |= (unsigned char)text.p[i];
	return !(all & UINT64_C(0x8080808080808080));
}

static inline bool id_key(const struct json_value *v, struct buf *text, struct key *ret)
{
	if (v->kind != JSON_STRING || v->escaped || v->text.n > NAME_ID_BYTES_MAX || !is_ascii(v->text))
		return id_key_slow(v, text, ret);
	*ret = (struct key){.text = v->text};
	return true;
}

/* As span_eq, but nearly always without a call: most ids have eight bytes. */
static inline bool text_equal(struct span a, struct span b)
{
	uint64_t x, y;

	if (a.n != b.n || a.n < sizeof x)
		return span_eq(a, b);
	memcpy(&x, a.p, sizeof x);
	memcpy(&y, b.p, sizeof y);
	return x == y && (a.n == sizeof x || memcmp(a.p + sizeof x, b.p + sizeof x, a.n - sizeof x) == 0);
}

static inline bool key_equal(const struct key *a, const struct key *b)
{
	return a->kind == b->kind && (a->kind == KEY_NUMBER ? a->value == b->value : text_equal(a->text, b->text));
}

bool key_is_falsy(const struct key *k);
uint64_t key_hash(const struct session *s, const struct key *k);

/* Keeps a key. Returns its position, or 0 if out of memory or room. */
uint32_t arena_add(arena_t *a, const struct key *k);
struct key arena_get(const arena_t *a, uint32_t at);

/* Returns whether the KEY_TEXT at `at` is `text`. */
static inline bool arena_is(const arena_t *a, uint32_t at, struct span text)
{
	const char *p = a->v + at;
	return (unsigned char)p[0] == text.n << 1 && text_equal((struct span){p + 1, text.n}, text);
}

/* Returns entry i's key, kept or derived. It must have one. */
struct key entry_key(const struct session *s, uint32_t i);

/* Reserves room for the ids of all entries. */
int id_table_reserve(const struct session *s);
/* Adds the missing ids. An entry that loses its id to a later line loses ENTRY_ADDRESSED, and *ret_replaced is set. */
void id_table_add_missing(const struct session *s, bool *ret_replaced);
/* Returns the entry with this id, or NO_ENTRY. */
uint32_t id_table_find(const struct session *s, const struct key *k);
/* v1: derives all ids. Returns 0 or -ENOMEM. */
int ids_ensure(const struct session *s);

/* ---- link.c ---- */

bool id_refs_add(struct id_refs *r, uint32_t entry, const struct key *key);
void id_refs_release(struct id_refs *r);
/* Links the entries from `from` on; `pending` has those whose parent is not the previous entry. */
int session_link(struct session *s, uint32_t from, const struct id_refs *pending);

/* ---- name.c ---- */

/* Appends the exact bytes of a string, or another value as written. */
void add_exact_text(struct json_value v, struct buf *out);
/* Names the entries from `from` on; those before it have their names. Returns 0, or why a line cannot be read. */
int names_update(struct session *s, uint32_t from);

/* ---- call.c ---- */

/* Adds the item of a call or result with this id; `text` is as for id_key. */
bool call_item_add(struct session *s, const struct json_value *id, struct buf *text);
/* Assigns the items from `begin` on to entry i, but only the last `n` of them count. */
bool call_items_set_entry(struct session *s, uint32_t i, size_t begin, size_t n);

/* ---- usage.c ---- */

/* Adds the model and usage of the entry to be added next. Returns false if out of memory. */
bool usage_add_entry(struct session *s, const struct entry *e, const struct record_head *head);

/* ---- label.c ---- */

/* Returns the target of a label or context_edit record, or NO_ENTRY. */
uint32_t label_target(const struct session *s, struct id_ref r);

struct context_item;
/* Adds the ids of the calls that the model is sent with this item. Returns 0 or a negative errno. */
int call_ids_add(const struct session *s, const struct context_item *of, struct map *to);
/* Returns whether the call of a tool result, an entry, is among them. */
bool call_ids_have(const struct session *s, const struct map *ids, uint32_t result);

/* ---- problem.c ---- */

bool problem_record_add(problem_records_t *f, uint64_t offset, uint32_t line, enum problem_reason reason);

/* ---- session.c ---- */

/* As opened_pread of the file. */
ssize_t session_read_file(const struct session *s, char *p, size_t n, uint64_t off);
/* As session_load, but never cancelled: for callers that cannot stop half way. */
int line_load(const struct session *s, uint32_t i, struct line *l, struct record *ret);
/* Calls make under the mutex unless it was called at this serial. */
int derive_once(const struct session *s, _Atomic uint64_t *made_at, int (*make)(const struct session *s));

#endif
