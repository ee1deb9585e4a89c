/* SPDX-License-Identifier: MIT */
/* page: shared by the files that make html/PROJECT/STEM.html.
 *
 * page.c has the producer: order, front, segments, back. page_entry.c shows an entry; page_files.c the changed files;
 * page_text.c texts, pictures and small facts. */
#ifndef SESSIONFS_RENDER_PAGE_H
#define SESSIONFS_RENDER_PAGE_H

#include "sessionfs/base/limits.h"
#include "sessionfs/render/html.h"
#include "sessionfs/render/producer.h"
#include "sessionfs/session/part.h"

/* A segment of the page. */
struct page_item {
	uint32_t entry;  /* first: struct producer */
	uint32_t number; /* a row's level; at the first entry of a branch, the branch's number of entries */
	uint32_t next;   /* the next entry on the same branch, or NO_ENTRY */
	uint32_t flags;
	uint64_t calls_at_results; /* calls that are shown at their results; the lowest bit is the first call */
};
enum {
	ITEM_ROW = 1 << 0,         /* a row of the tree; else an entry */
	ITEM_ACTIVE = 1 << 1,      /* a row on the path from the root to the leaf */
	ITEM_LEAF = 1 << 2,        /* the row of the leaf */
	ITEM_FIRST = 1 << 3,       /* the first entry: the rows end before it */
	ITEM_OPENS = 1 << 4,       /* the first entry of a branch other than the current one */
	ITEM_CLOSES = 1 << 5,      /* the last entry of such a branch */
	ITEM_PART = 1 << 6,        /* the first of several entries in one element, */
	ITEM_PART_ENDS = 1 << 7,   /* and the last of them */
	ITEM_NO_PICTURES = 1 << 8, /* the entries before it have too many pictures */
	ITEM_ANSWERS = 1 << 9,     /* a result that shows its call */
};

/* The context for showing an entry. */
struct page {
	const struct render_target *target;
	const struct session *s;
	const struct page_item *item;
	uint32_t entry;
	struct record r;
	struct buf *text, *more; /* buffers for texts */
	const char *language;    /* of the output that is shown; "": unknown */
	struct buf name;         /* the ID of the entry, or of the entry whose call is shown */
	struct buf *out;
};

/* To show a call of entry `caller` at its result, the call's line is read again if that takes no longer than parsing
 * this many bytes. */
#define PAGE_CALL_BYTES ((uint64_t)256 << 10)
static inline bool call_is_in_page(const struct session *s, uint32_t caller, unsigned n)
{
	return (uint64_t)session_entry(s, caller)->length * n <= PAGE_CALL_BYTES;
}

/* Nested calls shown for a result. */
#define PAGE_NESTED_SHOWN LIMIT(1000, 3)

/* page_entry.c: appends the entry as an article. Returns 0 or a negative errno. */
int page_add_article(struct page *g);

/* page_files.c: appends the files that the session changed; nothing if there were no changes. Returns 0 or a negative
 * errno. */
int page_add_files(const struct render_target *p, struct buf *out);

/* A lower cost is not shown; a cost below a dollar has four decimals. */
#define PAGE_COST_MIN 0.00005
#define PAGE_COST_FINE 1

/* page_text.c: small facts. An absent fact appends nothing. */
/* Appends the entry's label; `text` is a buffer for it. */
void page_add_label(const struct session *s, uint32_t entry, struct buf *text, struct buf *out);
/* Appends href="..." for an entry of the page, followed by `/n` unless n is 0. */
void page_add_entry_href(const struct session *s, uint32_t entry, unsigned n, struct buf *out);
/* Appends the beginning of a value on one line, at most `units` UTF-16 units. Returns true if the value is longer. */
bool page_add_inline(struct json_value v, size_t units, struct buf *out);

/* Appends the tokens by kind: `900 in, 120 out, 3.4k cache read, 5 cache written`, or short, `3.4k cache`; their total
 * if the kinds are unknown. */
void page_add_tokens(const struct usage *u, bool is_short, struct buf *out);

/* Shortens the text after `start` to one line of at most `units` UTF-16 units and an ellipsis, and escapes it. */
void page_shorten_from(struct buf *out, size_t start, size_t units);

/* page_text.c: texts. */

/* Long tool output is cut after this many bytes or lines; other text only if it is very long. */
#define PAGE_OUTPUT_BYTES ((size_t)16 << 10)
#define PAGE_OUTPUT_LINES 200
#define PAGE_TEXT_BYTES (((size_t)256 << 10) - 16)

/* Appends a text as Markdown. `file` has the whole text, relative to the entry's directory. For ROLE_USER and
 * ROLE_ASSISTANT, text_split says which parts are folded or left out. */
int page_add_markdown(struct page *g, enum record_role role, struct json_value v, const char *file);
/* Appends a text unchanged in a <pre> of that language ("": unknown; "command": a command for a shell). */
void page_add_pre(struct page *g, const char *language, struct json_value v, const char *file);
/* Like page_add_pre, for g->text. `truncated`: g->text is only the beginning. */
void page_add_pre_text(struct page *g, const char *language, bool truncated, const char *file);
/* Appends the diff in g->text, coloured and with its signs. */
void page_add_diff(struct page *g, const char *file);
/* Appends "Cut here" with a link to `file`. */
void page_add_cut_note(struct page *g, const char *file);
/* Appends a picture, inline or as a link. */
void page_add_picture(struct page *g, const struct block *b);

#endif
