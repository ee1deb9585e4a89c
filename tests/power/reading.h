/* SPDX-License-Identifier: MIT */
/* reading: which entries, labels and values a session file has: as sessionfs reads it, and as a model that only knows
 * which lines were ever written. A line counts for the model if it has all the bytes of one of them. */
#ifndef POWER_READING_H
#define POWER_READING_H

#include "sessionfs/base/buf.h"
#include "sessionfs/tree/write.h"

#include "disk.h"

/* A line that was written as a whole, without its newline. */
struct known_line {
	struct span text, type, id, parent, target, value;
};

struct known {
	struct known_line *v;
	size_t n;
	struct buf *texts; /* own the texts; one for each */
};

/* Finds them: in the files at first, and in each recorded write. */
void known_load(struct known *k, const struct disk *d);
void known_release(struct known *k);
/* Adds a line, and takes it off again if it is the last one. */
void known_add(struct known *k, struct span line);
void known_remove_last(struct known *k);

/* The whole lines of a file, in order; the header is not among them. */
struct model {
	struct known_line entries[128];
	size_t n;
	bool has_header;
	size_t bad; /* other lines that are not blank */
};
void model_read(struct model *m, const struct known *k, struct span file);
/* Appends JSON: ids, the leaf, labels, the name. */
void model_describe(const struct model *m, struct buf *out);
/* Sets *ret to the text of a writable name below the session's directory, without newline and quotes. Returns false if
 * the name does not exist. */
bool model_value(const struct model *m, const char *name, struct span *ret);

/* A session in a tree of its own, as a program has it that starts now. */
struct opened_session {
	struct budget budget;
	struct catalog *catalog;
	struct cache *cache;
	struct tree *tree;
};
#define READING_PROJECT "--p--"
#define READING_FILE "s.jsonl"
#define READING_SESSION "projects/p/s"

/* Opens the session SOURCE/READING_PROJECT/READING_FILE. */
void opened_session_begin(struct opened_session *o, const char *source);
void opened_session_end(struct opened_session *o);
/* The same as model_describe, as sessionfs reads the file. Returns 0 or a negative errno. */
int opened_session_describe(struct opened_session *o, struct buf *out);
/* Appends the contents of a name below the session's directory. Returns 0 or a negative errno. */
int opened_session_value(struct opened_session *o, const char *name, struct buf *out);
/* Returns the number of lines that sessionfs reports as not JSON. */
size_t opened_session_count_bad(struct opened_session *o);
/* Writes it, as a shell does. */
int opened_session_put(struct opened_session *o, const char *dir, const char *name, struct span text);

#endif
