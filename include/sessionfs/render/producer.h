/* SPDX-License-Identifier: MIT */
/* producer: a view of a session made in pieces: a front, one segment for each item of a list, and a back. The file is
 * their concatenation. When the session has grown, the tree appends segments, and makes front and back again.
 *
 * There is one const object for each view and syntax. Its functions never lock, open files or know node ids. Several
 * threads may make segments at once. Each function appends to `out`, asks cancel_check while it reads, and returns 0 or
 * a negative errno, including the error of `out`. */
#ifndef SESSIONFS_PRODUCER_H
#define SESSIONFS_PRODUCER_H

#include "sessionfs/render/render.h"

/* The session and the path that a view shows. */
struct render_target {
	const struct session *session; /* locked for reading by the caller */
	uint32_t leaf;                 /* the last entry of the path, or NO_ENTRY */
	const char *prefix;            /* the beginning of links: the path from the file's directory to the session's */
	const char *related_pages;     /* a page: paths to pages, each followed by a newline: first its own, then the
	                                  parent's (or empty), then those to the subagents. NULL: unknown */
	const struct usage *with_subagents; /* a page: its usage with theirs; NULL: it has none */
	int64_t now;                        /* ms since 1970 */
};

/* Facts about all segments, for the front and the back. */
struct render_totals {
	struct usage usage;       /* the usage of all segments, summed in their order */
	uint32_t model, thinking; /* the entries that set them, or NO_ENTRY */
};
#define TOTALS_INIT                                                                                                    \
	{                                                                                                              \
		.model = NO_ENTRY, .thinking = NO_ENTRY                                                                \
	}

struct producer {
	/* The size of an item. It begins with the number of its entry, a uint32_t. */
	size_t item_size;
	/* Returns the items, which the caller frees, and sets the model and thinking level of *t. */
	int (*list)(const struct render_target *p, struct render_totals *t, void **ret, size_t *ret_n);
	/* Returns the items of the entries from number `first` on, and updates *t with them. Returns none if the item
	 * before them is not the one of entry `last` (NO_ENTRY: any). NULL: growth can change existing segments. */
	int (*list_appended)(const struct render_target *p, uint32_t first, uint32_t last, struct render_totals *t,
	                     void **ret, size_t *ret_n);
	/* The segment of an entry shows its label, and whether it is edited: such a record changes existing segments.
	 */
	bool has_labels;
	/* NULL: no front. */
	int (*front)(const struct render_target *p, const struct render_totals *t, struct buf *out);
	/* Adds the entry's usage to `usage`, unless that is NULL. */
	int (*segment)(const struct render_target *p, const void *item, bool is_first, struct reader *reader,
	               struct usage *usage, struct buf *out);
	/* Appends the end of a file with n segments. NULL: nothing. With a back, the file does not grow at its end. */
	int (*back)(const struct render_target *p, const struct render_totals *t, size_t n, struct buf *out);
	/* The back describes only the last items. A reader that follows the file gets later segments after it. */
	bool back_is_transient;
};

extern const struct producer producer_transcript_md, producer_context_md, producer_context_json, producer_all_txt,
    producer_page_html, producer_chat_md, producer_branch_jsonl;

#endif
