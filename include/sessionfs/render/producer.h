/* SPDX-License-Identifier: MIT */
/* producer: how a view of a session is made in pieces: a front, one segment for each item of a list, and a back. The
 * file is their concatenation. The tree makes all pieces once, to learn where each ends, and later any piece alone. So
 * a view of any size takes little memory.
 *
 * One const object for each view and syntax. Its functions never lock, open files or know node ids. Several threads may
 * make segments at once. Each function returns 0 or a negative errno, including that of `out`, asks cancel_check while
 * it reads, and appends to what `out` holds. */
#ifndef SESSIONFS_PRODUCER_H
#define SESSIONFS_PRODUCER_H

#include "sessionfs/render/render.h"

/* The place that a view shows. */
struct render_target {
	const struct session *session; /* locked for reading by the caller */
	uint32_t leaf;                 /* the last entry of the path, or NO_ENTRY */
	const char *prefix;            /* the beginning of links: the way from the file's directory to the session's */
	const char *related_pages; /* a page: ways to other pages, each with a newline; the first to the parent's (or
	                            * empty), the others to those of subagents. NULL: not known */
	int64_t now;               /* ms since 1970 */
};

/* What front and back need to know of the segments. */
struct render_totals {
	struct usage usage;       /* the usage of all segments, added up in their order */
	uint32_t model, thinking; /* the entries that set them, or NO_ENTRY */
};
#define TOTALS_INIT                                                                                                    \
	{                                                                                                              \
		.model = NO_ENTRY, .thinking = NO_ENTRY                                                                \
	}

struct producer {
	/* The bytes of an item. It begins with the number of its entry, a uint32_t. */
	size_t item_size;
	/* The items; the caller frees *ret. Sets the model and thinking level of *t. */
	int (*list)(const struct render_target *p, struct render_totals *t, void **ret, size_t *ret_n);
	/* The items of the entries from number `first` on; none if the item before them is not that of entry `last`
	 * (NO_ENTRY: any will do). Updates *t with them. NULL: growth may change segments that were made. */
	int (*list_appended)(const struct render_target *p, uint32_t first, uint32_t last, struct render_totals *t,
	                     void **ret, size_t *ret_n);
	/* The segment of an entry shows its label, so a label record changes segments that were made. */
	bool has_labels;
	/* NULL: there is no front. */
	int (*front)(const struct render_target *p, const struct render_totals *t, struct buf *out);
	/* Adds the entry's usage to `usage`, unless that is NULL. */
	int (*segment)(const struct render_target *p, const void *item_size, bool is_first, struct reader *reader,
	               struct usage *usage, struct buf *out);
	/* What follows n segments. NULL: nothing. With a back the file does not grow at its end with the session. */
	int (*back)(const struct render_target *p, const struct render_totals *t, size_t n, struct buf *out);
	/* The back is only about the last items: who follows the file gets the next segments behind it. */
	bool back_is_transient;
};

extern const struct producer producer_transcript_md, producer_context_md, producer_context_json, producer_all_txt,
    producer_page_html, producer_chat_md, producer_branch_jsonl;

#endif
