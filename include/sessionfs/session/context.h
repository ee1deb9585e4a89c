/* SPDX-License-Identifier: MIT */
/* context: the messages that the model is sent at one place of the tree: the walk to the root, cut by the newest
 * compaction, changed by context edits. The rules are those that pi's buildSessionContext has. */
#ifndef SESSIONFS_CONTEXT_H
#define SESSIONFS_CONTEXT_H

#include "sessionfs/session/session.h"

enum context_kind {
	CONTEXT_MESSAGE,        /* the entry's `message` */
	CONTEXT_CUSTOM,         /* a custom_message as a message of role custom */
	CONTEXT_BRANCH_SUMMARY, /* a branch_summary with text */
	CONTEXT_SYSTEM,         /* the systemMessage of a compaction */
	CONTEXT_COMPACTION,     /* the newest compaction's summary */
};

/* One message of the context: its entry, and the context_edit entry that replaced its content, or NO_ENTRY. */
struct context_item {
	uint32_t entry, edit;
	enum context_kind kind;
};

struct context {
	struct context_item *items;
	size_t n;
	/* The entry that set the model (model_change or assistant message) and the thinking level, on the whole path,
	 * or NO_ENTRY. */
	uint32_t model, thinking;
};

/* Builds the context as of entry `at` (NO_ENTRY: empty). Release it with context_release. Returns 0 or a negative
 * errno. */
int context_build(const struct session *s, uint32_t at, struct context *ret);
void context_release(struct context *c);
#define CLEANUP_CONTEXT CLEANUP(context_release)

/* Returns whether the message of this record goes to the model. The output of a shell command that the user excludes
 * from the context does not go, nor does a message whose role pi does not know. */
bool context_is_sent(const struct record *r);

/* Sets *ret to whether the context as of `at` has a message, or with `sent`, one that goes to the model. Usually takes
 * a step or two. Returns 0 or a negative errno. */
int context_any(const struct session *s, uint32_t at, bool sent, bool *ret);

/* Reads the provider and model that `entry` set, as pointers into `l`; for NO_ENTRY, both are absent. Returns 0 or a
 * negative errno. */
int context_model(const struct session *s, uint32_t entry, struct line *l, struct json_value *ret_provider,
                  struct json_value *ret_model);

/* Returns the content that the model is sent of this entry without an edit: an empty one if none is stored. */
struct json_value context_content(const struct record *r);
/* Sets *ret to what the newest edit of entry i on the branch in use sends instead of the entry's content: null, if it
 * omits the entry, or a content. *ret points into l. JSON_NONE: the content is sent. Returns 0 or a negative errno. */
int context_replacement(const struct session *s, uint32_t i, struct line *l, struct json_value *ret);

/* Returns "left out" if the model is not sent entry i on the branch in use, "edited" if it is sent something else than
 * the entry's content, or NULL. */
const char *context_edit_mark(const struct session *s, uint32_t i);

/* The words in `state` (sessionfs(5)). */
enum { STATE_WORKING, STATE_DONE, STATE_FAILED, STATE_STOPPED, STATES };
extern const char *const context_states[STATES];

/* Sets *ret to the state after the newest message of the user, the assistant or a tool on the way up from entry `at`,
 * or to NULL without such a message. Reads only a message that failed. Returns 0 or a negative errno. */
int context_state(const struct session *s, uint32_t at, const char **ret);

/* Updates both with the settings of these entries, which are in path order. */
void context_settings(const struct session *s, const uint32_t *path, size_t n, uint32_t *model, uint32_t *thinking);

#endif
