/* SPDX-License-Identifier: MIT */
/* facts: what the tables of all sessions need from each session, kept in memory while its file is unchanged.
 *
 * They are collected on all cores, from the index of each session, which is released at once. After a change, only the
 * facts of the changed sessions are collected again. Thread-safe. The caller must not hold a session's index, since
 * helper threads need some. What the facts mean: sessionfs(5), by-date, sessions.tsv, usage.tsv and problems.tsv. */
#ifndef SESSIONFS_FACTS_H
#define SESSIONFS_FACTS_H

#include "sessionfs/base/date.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/catalog/catalog.h"
#include "sessionfs/render/render.h"

/* The usage of one model on one day, either by tool results or by other entries. */
struct fact_usage {
	date_t date;
	uint32_t entries;
	bool of_results;
	struct span model; /* clean text; "unknown" without one */
	struct usage sum;
};

/* A label that is set. */
struct fact_label {
	uint32_t entry;
	uint64_t number;  /* identifies the text in all lists */
	struct span text; /* exact bytes */
	struct span name; /* of the entry's link, without its number (match_name) */
	struct span row;  /* in labels.tsv, after the session's place: entry, time, role, text */
};

/* The contents of one session file. Texts are valid UTF-8 without NUL. */
struct session_facts {
	double created, modified; /* ms since 1970, as in info.json, or NAN */
	uint32_t entries, messages;
	uint64_t bytes;    /* of the file */
	const char *state; /* or NULL */
	bool has_problems;
	bool is_automatic; /* render_is_automatic */
	bool has_usage;
	struct usage usage;
	double active;                /* seconds, or NAN: session_active_seconds */
	struct span id, title, model; /* model: the last one, or empty */
	date_t date;                  /* of `created`, or NO_DATE */
	size_t n_usage;
	const struct fact_usage *usage_rows;
	struct span files; /* the rows of files.tsv, as render_files_rows makes them */
	size_t n_labels;   /* in order of entries */
	const struct fact_label *labels;
};

/* A session: its catalog data (strings that live as long as the catalog) and its facts. */
struct fact {
	uint32_t slot, place, project_number;
	uint32_t parent;                         /* the slot of its `parent`; NO_SLOT: none */
	const char *project, *stem, *sid, *file; /* as in slot_info; the project's name */
	uint32_t stem_at;
	struct timespec mtime;
	bool has_subagents;
	bool is_started;            /* by its parent */
	bool is_shared;             /* it, or a session that it started, has entries that count for another session */
	double cost_with_subagents; /* as in facts_sum_subagents; without subagents, its own */
	struct usage counted;       /* the part of facts->usage that counts for this session */
	const struct session_facts *facts;
};

/* Returns whether a person had the conversation: no other session started it, and programs did not write all of it. */
static inline bool fact_is_by_person(const struct fact *f)
{
	return !f->is_started && !f->facts->is_automatic;
}

/* The usage of tool results counts for the subagents' own sessions, if there are any. */
static inline bool fact_use_counts(const struct fact *f, const struct fact_usage *use)
{
	return !use->of_results || !f->has_subagents;
}

/* All sessions as of one moment, newest first by `modified`, then in byte order of `file`. Immutable. */
struct fact_list {
	uint64_t serial; /* lists with equal serials have equal contents */
	int error;       /* a negative errno if sessions are missing because they could not be read; else 0 */
	size_t n;
	const struct fact *v;
	struct catalog *catalog; /* whose sessions they are */
};

struct facts;

/* Both must outlive it. The facts count in the budget. They are evicted if it is exceeded and the last call was ten
 * seconds ago. */
int facts_open(struct catalog *catalog, struct budget *budget, struct facts **ret);
void facts_close(struct facts *f);

/* Gets all sessions as of now; release with facts_release, which accepts NULL. Returns 0 or a negative errno. After
 * -EINTR (cancel_check), the next call uses what was already read. Missing sessions are no failure: the list has their
 * error. */
int facts_get(struct facts *f, const struct fact_list **ret);
/* Returns the error if the list cannot be used: no session could be read, or the reason was not in the files. Else
 * 0. */
static inline int facts_list_error(const struct fact_list *l)
{
	return l->n > 0 && error_is_about_file(l->error) ? 0 : l->error;
}
void facts_release(const struct fact_list *list);
/* Sums what a session and those that it started, at every depth, used: what usage.tsv would show if there were no
 * others. Reads only these, if their files changed since the last call. *ret_serial changes with each of these files;
 * 0: it has no subagents, and *ret is not set. Returns 0 or a negative errno; leaves out unreadable sessions: then
 * *ret_serial is never valid again. `made` is the list that the calling thread makes now, which gets their error; or
 * NULL. */
int facts_sum_subagents(struct facts *f, const struct fact_list *made, uint32_t slot, struct usage *ret,
                        uint64_t *ret_serial);
/* Returns the current list if it was made at this serial of the catalog, else NULL. Reads nothing, and does
 * not count as a use. */
const struct fact_list *facts_get_cached(struct facts *f, uint64_t serial);

#endif
