/* SPDX-License-Identifier: MIT */
/* page: what the files of html/PROJECT/STEM.html share.
 *
 * page.c has the producer: what stands where, front, segments, back. page_add_article.c shows an entry, page_text.c
 * texts, pictures and small facts. */
#ifndef SESSIONFS_RENDER_PAGE_H
#define SESSIONFS_RENDER_PAGE_H

#include "sessionfs/render/html.h"
#include "sessionfs/render/producer.h"
#include "sessionfs/session/part.h"

/* A segment of the page. */
struct page_item {
	uint32_t entry;  /* first: struct producer */
	uint32_t number; /* of a row its level; of the first entry of a branch how many entries that has */
	uint32_t next;   /* the entry that follows on the same branch, or NO_ENTRY */
	uint32_t flags;
	uint64_t
	    calls_at_results; /* calls of the entry, the first one in the lowest bit, that stand at their results */
};
enum {
	ITEM_ROW = 1 << 0,         /* a row of the tree; else an entry */
	ITEM_ACTIVE = 1 << 1,      /* a row on the way from the root to the leaf */
	ITEM_LEAF = 1 << 2,        /* the row where the leaf is */
	ITEM_FIRST = 1 << 3,       /* the first entry: the rows end before it */
	ITEM_OPENS = 1 << 4,       /* the first entry of a branch that is not the current one */
	ITEM_CLOSES = 1 << 5,      /* the last one of it */
	ITEM_PART = 1 << 6,        /* the first of some entries that stand in one element, */
	ITEM_PART_ENDS = 1 << 7,   /* and the last of them */
	ITEM_NO_PICTURES = 1 << 8, /* there are more than enough pictures before it */
	ITEM_ANSWERS = 1 << 9,     /* a result where its call stands */
};

/* Everything that showing an entry needs. */
struct page {
	const struct render_target *target;
	const struct session *s;
	const struct page_item *item;
	uint32_t entry;
	struct record r;
	struct buf *text, *more; /* memory to make texts in */
	struct buf name;         /* the entry's, or of the entry whose call is shown */
	struct buf *out;
};

/* To show a call of entry `caller` at its result, the line of the call is read again, if that takes no longer than
 * parsing so many bytes. */
#define PAGE_CALL_BYTES ((uint64_t)256 << 10)
static inline bool call_is_in_page(const struct session *s, uint32_t caller, unsigned n)
{
	return (uint64_t)session_entry(s, caller)->length * n <= PAGE_CALL_BYTES;
}

/* page_add_article.c: the entry as an article. 0 or a negative errno. */
int page_add_article(struct page *g);

/* page_add_files.c: what the session changed; nothing if that is none. 0 or a negative errno. */
int page_add_files(const struct render_target *p, struct buf *out);

/* page_text.c: small facts. An absent one appends nothing. */
void page_add_time(int64_t ms, struct buf *out);     /* html_time */
bool page_add_cost(double dollars, struct buf *out); /* false, and nothing: of less than is shown */
/* The entry's label; `text` is memory to make it in. */
void page_add_label(const struct session *s, uint32_t entry, struct buf *text, struct buf *out);
/* Appends href="..." of an entry in the page, with `/n` behind it unless n is 0. */
void page_add_entry_href(const struct session *s, uint32_t entry, unsigned n, struct buf *out);
/* Appends the beginning of a value on one line, as a text of at most so many UTF-16 units. True if that is not all. */
bool page_add_inline(struct json_value v, size_t units, struct buf *out);

/* Takes the session's working directory out of what `out` holds from `start` on: paths below it are relative. */
void page_strip_cwd(const struct session *s, size_t start, struct buf *out);

/* The same: texts. */

/* Long output of tools is cut after so many bytes or lines; what somebody said only if it is very long. */
#define PAGE_OUTPUT_BYTES ((size_t)16 << 10)
#define PAGE_OUTPUT_LINES 200
#define PAGE_TEXT_BYTES ((size_t)256 << 10)

/* Sets g->text to the beginning of a string, clean; at most `most` bytes of its JSON are decoded. True if that is not
 * all. */
bool page_decode_text(struct page *g, struct json_value v, size_t most);
/* A text as Markdown. `file` is where all of it is, below the entry's directory. */
int page_add_markdown(struct page *g, struct json_value v, const char *file);
/* A text as it stands, in a <pre>; `before` (or NULL) comes first in it. */
void page_add_pre(struct page *g, const char *before, struct json_value v, const char *file);
/* The same of what is in g->text; `truncated`: that is not all. */
void page_add_pre_text(struct page *g, const char *before, bool truncated, const char *file);
/* The lines of a diff, in g->text: coloured, and with their signs. */
void page_add_diff(struct page *g, const char *file);
/* "Cut here", with a link to `file`. */
void page_add_cut_note(struct page *g, const char *file);
/* A picture, where it stands or as a link. */
void page_add_picture(struct page *g, const struct block *b);

#endif
