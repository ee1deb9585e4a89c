/* SPDX-License-Identifier: MIT */
/* facts: what questions about all sessions need to know of each, kept in memory while its file stays the same.
 *
 * They are made on all cores, from each session's index, which is given back at once. Of a session that has changed
 * they are made anew, and of no other. Thread-safe; the caller holds no session's index, since threads that help take
 * some. What the facts are: sessionfs(5), by-date, sessions.tsv, usage.tsv and problems.tsv. */
#ifndef SESSIONFS_FACTS_H
#define SESSIONFS_FACTS_H

#include "sessionfs/base/date.h"
#include "sessionfs/base/deferred.h"
#include "sessionfs/catalog/catalog.h"
#include "sessionfs/render/render.h"

/* What the entries of one day used of one model, either results of tools or other entries. */
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
	uint64_t number;  /* stands for the text, in all lists */
	struct span text; /* exact bytes */
	struct span name; /* of the entry's link, without its number (match_name) */
	struct span row;  /* in labels.tsv, after the session's place: entry, time, role, text */
};

/* What the file of one session says. Texts are valid UTF-8 without NUL. */
struct session_facts {
	double created, modified; /* ms since 1970, as info.json has them; NAN: it has none */
	uint32_t entries, messages;
	uint64_t bytes;    /* of the file */
	const char *state; /* NULL: it has none */
	bool has_problems; /* whether it has any */
	bool has_usage;
	struct usage usage;
	struct span id, title, model; /* model: the last one, empty if there is none */
	date_t date;                  /* of `created`; NO_DATE without it */
	size_t n_usage;
	const struct fact_usage *usage_rows;
	bool has_files;    /* whether files.tsv has rows of it */
	struct span files; /* these, as render_files_rows has them; empty if there was no room for them */
	size_t n_labels;   /* by entry */
	const struct fact_label *labels;
};

/* A session: what the catalog says of it (these strings live as long as the catalog), and its facts. */
struct fact {
	uint32_t slot, place, project_number;
	const char *project, *stem, *sid, *file; /* as in slot_info; the project's name */
	uint32_t stem_at;
	struct timespec mtime;
	bool has_subagents;   /* known only of a session whose results used something */
	struct usage counted; /* the part of of->usage that counts for it: the sum of the uses that count */
	const struct session_facts *facts;
};

/* What its results used counts for its subagents' own sessions. */
static inline bool fact_use_counts(const struct fact *f, const struct fact_usage *use)
{
	return !use->of_results || !f->has_subagents;
}

/* All sessions as of one moment: newest first by `modified`, equal ones in byte order of `file`. It does not change. */
struct fact_list {
	uint64_t serial; /* another list with this serial says the same */
	int error;       /* a negative errno: some sessions, which could not be read now, are not among them; or 0 */
	size_t n;
	const struct fact *v;
	struct catalog *catalog; /* whose sessions they are */
};

struct facts;

/* Both outlive it; the facts are counted in the budget, and are let go when that is exceeded and
 * nobody has asked for ten seconds. */
int facts_open(struct catalog *catalog, struct budget *budget, struct facts **ret);
void facts_close(struct facts *f);

/* All sessions as of now; give it back with facts_release (NULL: nothing). 0 or a negative errno (-EINTR by
 * cancel_check: what was read is kept for the next call). `missed` is no error here: it is that of who lists or does
 * not find one. */
int facts_get(struct facts *f, const struct fact_list **ret);
/* Why nothing is said of all sessions: all are missed, or not because of themselves. 0: what is there counts. */
static inline int facts_list_error(const struct fact_list *l)
{
	return l->n > 0 && error_is_about_file(l->error) ? 0 : l->error;
}
void facts_release(const struct fact_list *list);
/* The list that was made when the catalog had this serial, if it is still there; else NULL. Reads nothing. */
const struct fact_list *facts_get_cached(struct facts *f, uint64_t serial);

/* A number that differs from an earlier one if anything that lists of all sessions show may have changed since; 0 if
 * that is not known. */
uint64_t facts_serial(struct facts *f);

#endif
