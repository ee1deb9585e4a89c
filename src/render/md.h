/* SPDX-License-Identifier: MIT */
/* md: one entry of transcript.md or context.md. Functions append to `out`. */
#ifndef SESSIONFS_RENDER_MD_H
#define SESSIONFS_RENDER_MD_H

#include "sessionfs/session/part.h"
#include "sessionfs/session/session.h"

/* Separates facts on one line. */
#define DOT " · "

/* The context for showing one entry. */
struct md {
	const struct session *s;
	uint32_t entry;
	const struct record *r;
	const char *prefix;
	struct buf *out;
	bool has_images;      /* images of this content are files in the entry's directory */
	const char *language; /* the language of a tool's output ("": unknown); NULL: other text */
	bool thinking;        /* the last text shown is thinking */
};

static inline bool md_has_text(struct json_value v)
{
	return v.kind == JSON_STRING && v.text.n > 0;
}

/* Appends a string as a paragraph. */
void md_add_paragraph(struct json_value v, struct buf *out);
/* Ends the paragraph that begins at `start`: closes a fence that it leaves open. */
void md_end_paragraph(size_t start, struct buf *out);
/* Appends a one-line text as code; nothing if it is empty. */
void md_add_code_span(struct span clean, struct buf *out);

/* Appends the entry's label, if it has one. */
void md_add_label(const struct md *m);
/* Appends a link to a picture if it is a file of the entry, else a note; md_show_image does so as a paragraph. */
void md_add_image(const struct md *m, const struct block *b);
void md_show_image(const struct md *m, const struct block *b);
/* Appends to a line which model did not get the pictures of this result, if that is known. */
void md_add_unseen(const struct record *r, struct buf *out);
/* Appends a line for each of an assistant's diagnostics, such as what the provider changed: its type and its reasons,
 * between `begin` and `end`. */
void md_add_diagnostics(const struct record *r, const char *begin, const char *end, bool is_html, struct buf *out);

#endif
