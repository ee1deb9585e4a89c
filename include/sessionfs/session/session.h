/* SPDX-License-Identifier: MIT */
/* session: the index of one session file at one generation.
 *
 * It holds the place of each line, the tree of entries, labels, name and leaf. It never holds contents, which are read
 * again with pread. Lines are only added: if the file shrank, was replaced or changed before its end, session_grow()
 * returns -ESTALE, and the caller opens a new session.
 *
 * Locking: callers of session_grow() hold the lock for writing; callers of all other functions hold it for reading
 * (session_rdlock / session_unlock). Ownership: returned spans point into the index and live as long as the lock is
 * held.
 *
 * Entries are numbered in file order from 0 (type session excluded). These numbers never change in one generation.
 * Rules: sessionfs(5) and pi's session manager. */
#ifndef SESSIONFS_SESSION_H
#define SESSIONFS_SESSION_H

#include "sessionfs/base/date.h"
#include "sessionfs/file/resolver.h"
#include "sessionfs/session/format.h"

#include <sys/stat.h>

#define NO_ENTRY UINT32_MAX

enum entry_flags {
	ENTRY_ADDRESSED = 1 << 0,      /* can be found by its id; otherwise the name is ~LINE */
	ENTRY_CONVERSATION = 1 << 1,   /* message, custom_message, compaction, branch_summary */
	ENTRY_HAS_BELOW = 1 << 2,      /* a conversation entry is below it */
	ENTRY_HAS_CALLS = 1 << 3,      /* its message makes tool calls */
	ENTRY_NO_MESSAGE = 1 << 4,     /* type message without `message`: absent from every view */
	ENTRY_WALK_ENDS = 1 << 5,      /* has a parent in the tree, but pi's walk ends here (parentId "") */
	ENTRY_ORPHAN = 1 << 6,         /* its parentId matches no entry */
	ENTRY_SUMMARY = 1 << 7,        /* branch_summary or compaction with a non-empty summary; the same bit */
	ENTRY_HAS_FILE_CALLS = 1 << 7, /* of an assistant: a call has a file_action (entry_has_file_calls) */
	ENTRY_RESULT_FAILED = 1 << 7,  /* of a toolResult: its details report an error */
	ENTRY_ASSIGNED_NAME = 1 << 8,  /* its component can differ from the encoded id (collision, cut) */
	ENTRY_CYCLE = 1 << 9,          /* its parents lead back to itself */
	ENTRY_HAS_IMAGES = 1 << 10,    /* its content has image blocks */
	ENTRY_FAILED = 1 << 12,        /* it has an error: part_has_error */
	ENTRY_NO_TEXT = 1 << 13,       /* of an assistant: ended by itself without text; the same bit */
	ENTRY_NESTED = 1 << 13,        /* of a toolResult: it has nestedCalls (entry_has_nested) */
	ENTRY_NULL_ID = 1 << 11,       /* its id is null: if it is the leaf, pi has no leaf */
};

/* One entry. Read it through session_entry(). */
struct entry {
	uint64_t offset;  /* of the line in the file */
	int64_t time;     /* ms since 1970, NO_TIME if none */
	uint32_t length;  /* of the line, without newline and CR */
	uint32_t line;    /* physical line, counted from 1 */
	uint32_t parent;  /* in the tree as pi draws it; NO_ENTRY for roots */
	uint32_t child;   /* newest child, or NO_ENTRY */
	uint32_t sibling; /* next older child of the same parent, or NO_ENTRY */
	uint32_t nearest; /* metadata: nearest conversation ancestor or NO_ENTRY; conversation: newest metadata whose
	                     `nearest` is this, or NO_ENTRY */
	uint32_t id;      /* position of its id in the index */
	uint16_t flags;
	uint8_t type;        /* enum record_type */
	uint8_t role : 5;    /* enum record_role */
	bool partial : 1;    /* of an assistant: the rest comes later, or the output limit cut it off (it failed) */
	uint8_t content : 2; /* enum content_problem */
};

static inline bool entry_has_nested(const struct entry *e)
{
	return e->role == ROLE_TOOL_RESULT && e->flags & ENTRY_NESTED;
}

/* Returns whether pi does not send an assistant's message: it ended in an error, or was aborted. */
static inline bool entry_is_unsent(const struct entry *e)
{
	return e->role == ROLE_ASSISTANT && e->flags & ENTRY_FAILED && !e->partial;
}

/* Can be true for nested calls without files: only the record knows. */
static inline bool entry_has_file_calls(const struct entry *e)
{
	return (e->role == ROLE_ASSISTANT && e->flags & ENTRY_HAS_FILE_CALLS) || entry_has_nested(e);
}

/* Returns whether a result failed, by its isError or its details. */
static inline bool entry_result_failed(const struct entry *e)
{
	return e->role == ROLE_TOOL_RESULT && e->flags & (ENTRY_FAILED | ENTRY_RESULT_FAILED);
}

struct session;

/* Opens and indexes a regular file; the resolver must outlive it. Returns 0 or a negative errno; ERROR_NO_SESSION if
 * the file is not a session: its first truthy line must be an object of type "session" with a string id. One descriptor
 * stays open (O_RDONLY|O_CLOEXEC) until session_close, so that a read costs one pread and a renamed file stays
 * readable; session_grow resolves the name again. The catalog limits the number of open sessions.
 * `keeps_lines`: caches the lines that tables of all sessions need, within a limit, until session_drop_lines. */
int session_open(const struct source_path *at, bool keeps_lines, struct session **ret);
void session_drop_lines(struct session *s);
void session_close(struct session *s);

/* Return 0, -EINTR or -EAGAIN, as lock_rw_acquire. A reader waits for no client and no other session: all readers
 * of a session that has grown wait for the ones before. */
int session_rdlock(struct session *s);
int session_wrlock(struct session *s);
void session_unlock(struct session *s);

/* Indexes the appended lines. Returns 1 if anything changed, 0 if not, -ESTALE if the file is not the same growing
 * one, or another negative errno. */
int session_grow(struct session *s);

/* Returns whether session_grow() failed half way: then the session can only be closed. Requires a lock. */
bool session_is_broken(const struct session *s);

/* Returns whether session_grow() would find a change. Costs one stat; requires the lock for reading. */
bool session_has_grown(const struct session *s);

/* Hashes of the first and of the last of the `end` indexed bytes. Indexes of the same source use the
 * same secret. */
struct fingerprints {
	uint64_t end, head, tail;
};
struct fingerprints session_fingerprints(const struct session *s);
/* Returns 0 if the file begins with the bytes of `before`, -ESTALE if not, or another negative errno. */
int session_check_beginning(const struct session *s, const struct fingerprints *before);

/* Returns the file's attributes as of the last open or grow. */
const struct stat *session_stat(const struct session *s);
/* Returns how many bytes readers of session.jsonl see: up to the end of the last whole line, or all bytes once the file
 * has not changed for a second. */
uint64_t session_size(const struct session *s);
/* Rises with every change that session_grow finds. A view is valid as long as the serial is unchanged. */
uint64_t session_serial(const struct session *s);
/* Rises when existing entries get another parent or another name: an id was repeated, or a parent came after its child.
 * Another index of the same file begins with another number. */
uint32_t session_relink_count(const struct session *s);
/* Returns the first entry that may have taken the name of another one since the last call, or in the file of a new
 * index; later entries may have done so, too. Returns NO_ENTRY if there was none. Any lock is enough. */
uint32_t session_fetch_renamed(struct session *s);
/* Returns the bytes of memory in use. */
size_t session_memory(const struct session *s);

/* Returns the header line (JSON text) and its fields. */
const struct record *session_header(const struct session *s);
struct span session_id(const struct session *s); /* SID, exact bytes */
const struct format *session_format(const struct session *s);
/* Returns 1, 2, 3, ...: a missing version is 1. */
int session_version(const struct session *s);

uint32_t session_count(const struct session *s);
const struct entry *session_entry(const struct session *s, uint32_t i);

/* A line read from the file; release with line_release. Reuse it for many loads. */
struct line {
	struct buf bytes, deep;
};
#define LINE_INIT                                                                                                      \
	{                                                                                                              \
		BUF_INIT, BUF_INIT                                                                                     \
	}
void line_release(struct line *l);
#define CLEANUP_LINE CLEANUP(line_release)

/* Reads entry i's line and views it. *ret points into l until its next use. Returns -ESTALE if the file changed
 * meanwhile. */
int session_load(const struct session *s, uint32_t i, struct line *l, struct record *ret);

/* Reads lines of one session in sequence, under one lock. Adjacent lines are read with one call. Release it with
 * reader_release. */
struct reader {
	struct line line;
	struct blocks blocks;  /* of the last line read */
	uint64_t offset;       /* of line.bytes in the file */
	size_t prefetched;     /* bytes read in advance */
	struct buf scratch[4]; /* for the reader's callers: results made from the lines */
};
#define READER_INIT                                                                                                    \
	{                                                                                                              \
		.line = LINE_INIT, .scratch = { BUF_INIT }                                                             \
	}
void reader_release(struct reader *r);
#define CLEANUP_READER CLEANUP(reader_release)

/* As session_load; *ret points into r until its next use. */
int session_read(const struct session *s, uint32_t i, struct reader *r, struct record *ret);
/* Returns the stored line without a final CR. */
int session_read_line(const struct session *s, uint32_t i, struct reader *r, struct span *ret);
/* Appends the likely keys in the line, even if the file's bytes are redacted. */
struct secrets;
int session_find_secrets(const struct session *s, uint32_t i, struct reader *r, struct secrets *out);
/* Reads raw bytes of the file: up to n at off, fewer only at session_size(). Returns the number of bytes or a negative
 * errno. */
ssize_t session_pread(const struct session *s, void *p, size_t n, uint64_t off);

/* Returns entry i's id (v1: the derived one) if the index keeps it, that is if it is a short text. Otherwise, and for
 * entries without ENTRY_ADDRESSED, returns an empty span. */
struct span session_entry_id(const struct session *s, uint32_t i);
/* Appends the component under entries/: the encoded id, ~LINE, or with ~2 on collisions. */
void session_entry_name(const struct session *s, uint32_t i, struct buf *out);
/* Returns the entry with this component, or NO_ENTRY. Finds exactly the names that session_entry_name appends. */
uint32_t session_entry_by_name(const struct session *s, struct span component);
/* Returns the addressed entry whose id equals this JSON value (string or number), or NO_ENTRY. */
uint32_t session_entry_by_id(const struct session *s, struct json_value id);

/* Returns whether the file has a context_edit. */
bool session_has_edits(const struct session *s);
/* Returns the newest context_edit of entry i on the branch in use, or NO_ENTRY. */
uint32_t session_edit_record(const struct session *s, uint32_t i);
/* Returns whether a message has the duration of its call. */
bool session_has_durations(const struct session *s);

/* Returns the newest time of a message of the user or the assistant, ms since 1970, as in pi's list of sessions, or
 * 0. */
double session_last_active(const struct session *s);
/* Return the times of its creation and last change, as in that list; NAN if unknown. */
double session_created(const struct session *s);
double session_modified(const struct session *s);
/* Sets *ret to the whole seconds that it was worked on: the times between neighbours, when the times of all entries are
 * sorted, each at most five minutes (the contract); NAN if no entry has a time. Returns 0 or -ENOMEM. */
int session_active_seconds(const struct session *s, double *ret);

/* Returns the newest entry of the file, as pi has it after a reload, or NO_ENTRY. */
uint32_t session_leaf(const struct session *s);
/* Returns the leaf itself or its nearest conversation ancestor, or NO_ENTRY: the target of branches/current. */
uint32_t session_current_position(const struct session *s);
/* Returns whether i is a conversation entry with no conversation entry below it. */
bool session_is_tip(const struct session *s, uint32_t i);
/* Returns whether branches/ lists i: the tips and the position. */
bool session_is_branch(const struct session *s, uint32_t i);
/* Returns the end of the branch named after i (sessionfs(5), "A branch"): the leaf for the position, the newest
 * metadata following i for other listed entries, i itself for the rest. */
uint32_t session_branch_end(const struct session *s, uint32_t i);

/* Sorts siblings, which are in file order, as pi's getTree does: by time, equal times in file order. An entry without a
 * time stays after the previous sibling in the file. Returns 0 or -ENOMEM. */
int session_sort_siblings(const struct session *s, uint32_t *v, size_t n);
/* Returns the children of i in that order. The caller frees *ret. Returns 0 or -ENOMEM. */
int session_children(const struct session *s, uint32_t i, uint32_t **ret, size_t *ret_n);

/* Returns the next entry on pi's walk from i to the root, or NO_ENTRY. *ring belongs to the walk: NO_ENTRY before its
 * first step. */
uint32_t session_walk_parent(const struct session *s, uint32_t i, uint32_t *ring);
/* Returns the walk from `at` to the root as pi's getBranch does it, root first. Stops at the first entry seen before.
 * Includes entries without `message`. The caller frees *ret. */
int session_path(const struct session *s, uint32_t at, uint32_t **ret, size_t *ret_n);

/* Returns the record (an entry of type label) that set i's label, or NO_ENTRY: without a label, or cleared. */
uint32_t session_label_record(const struct session *s, uint32_t i);
/* Appends i's label, exact bytes (a number as its JSON text). Returns false without a label. */
bool session_label(const struct session *s, uint32_t i, struct buf *out);
/* Returns the n-th labelled entry in file order, or NO_ENTRY past the end. O(1) after the first call since a change. */
uint32_t session_nth_labelled(const struct session *s, size_t n);
size_t session_label_count(const struct session *s);

/* Appends the label that a label record sets, exact bytes. */
int session_label_text(const struct session *s, uint32_t record, struct buf *out);

/* The last change to an entry's label within a range of lines. */
struct label_change {
	uint32_t entry, record;
	bool is_set; /* false: it cleared */
};
/* Returns the changes made by the records in the physical lines after `after`, up to and including `upto`: sorted by
 * entry, each entry at most once. The caller frees *ret. Returns 0 or -ENOMEM. */
int session_label_changes(const struct session *s, uint32_t after, uint32_t upto, struct label_change **ret,
                          size_t *ret_n);
/* Returns the change of this entry in `v`, or NULL. */
const struct label_change *session_label_change_find(const struct label_change *v, size_t n, uint32_t entry);
/* Returns the number of physical lines in the index. */
uint32_t session_line_count(const struct session *s);

/* Appends the display name as pi's getSessionName returns it. Returns false without a name. */
bool session_name(const struct session *s, struct buf *out);
/* Returns the record (an entry of type session_info) that last set or cleared the name, or NO_ENTRY. */
uint32_t session_name_record(const struct session *s);
/* Rises when a label or the name is set or cleared, and when an entry appears whose label was set before. */
uint64_t session_label_serial(const struct session *s);
/* Returns the newest branch_summary child of i with a non-empty summary, or NO_ENTRY. */
uint32_t session_branch_record(const struct session *s, uint32_t i);

/* Returns the call that toolResult i answers, or NO_ENTRY: the nearest ancestor that made a call with that id. If a
 * message uses an id twice, the n-th result answers the n-th call, counted along the result's own path. *ret_n counts
 * the call blocks of the message from 1. */
uint32_t session_call(const struct session *s, uint32_t i, unsigned *ret_n);
/* Returns the number of calls that entry i makes. */
unsigned session_call_count(const struct session *s, uint32_t i);
/* Returns the first entry in the file whose session_call is (i, n), or NO_ENTRY. */
uint32_t session_result(const struct session *s, uint32_t i, unsigned n);

/* Returns the first kept entry. v1 only: firstKeptEntryIndex translated as pi's migration does; else the entry named by
 * firstKeptEntryId; NO_ENTRY if unknown. `r` is entry i, loaded. */
uint32_t session_first_kept(const struct session *s, uint32_t i, const struct record *r);

/* The sum of part_usage over entries, in doubles as JavaScript would. If totalTokens is absent or 0, as in older
 * versions of pi and with some providers, the sum of the other four counts. A cost below 0 is unknown and counts as 0;
 * a `cost` that is a number is the total. */
struct usage {
	double input, output, cache_read, cache_write, total, cost;
};
struct usage usage_from_json(struct json_value usage);
void usage_add(struct usage *u, struct usage more);
/* Appends "provider/model" of a record with usage, or "unknown". */
void usage_add_model(const struct record *r, enum json_decode how, struct buf *out);

/* The usage of one model on one day, either by tool results or by other entries. There can be several for the same day
 * and model. */
struct usage_bucket {
	date_t day; /* NO_DATE: the entries have no time */
	uint32_t entries;
	uint32_t record; /* an entry that names the model: for usage_add_model */
	uint64_t model;  /* a hash of the model, and of whether the entries are results */
	struct usage sum;
};

/* An entry with usage, in file order. Its hash covers id, time and usage as numbers, however they are written, and is
 * the same in any file of this process; 0 without an id. It has 62 bits: among 10^8 entries, two different ones have
 * the same hash with a chance of one in a thousand. It has no secret: whoever can write a session can as well repeat an
 * entry. */
struct usage_mark {
	uint64_t hash;
	uint32_t entry, bucket; /* and its sum */
};

/* The usage of all entries, in file order. It points into the index. */
struct session_usage {
	struct usage sum;
	size_t n;
	const struct usage_bucket *v;
	size_t n_marks;
	const struct usage_mark *marks;
};
struct session_usage session_usage(const struct session *s);

/* A line that could not be read or linked, or whose content a provider refuses; in line order. */
struct problem {
	uint32_t line;
	uint64_t offset;
	const char *reason; /* static text */
	uint32_t refused;   /* the entry that a provider refuses, or NO_ENTRY */
};
size_t session_problem_count(const struct session *s);
struct problem session_problem(const struct session *s, size_t n);
/* Appends the reason, one cell of a table, and for an entry that a provider refuses, the command that leaves it out of
 * the context. */
void session_problem_add_reason(const struct session *s, const struct problem *p, struct buf *out);

#endif
