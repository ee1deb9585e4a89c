/* SPDX-License-Identifier: MIT */
/* md: one entry of transcript.md or context.md. What adds text adds to the end of `out`. */
#ifndef SESSIONFS_RENDER_MD_H
#define SESSIONFS_RENDER_MD_H

#include "sessionfs/session/part.h"
#include "sessionfs/session/session.h"

/* Between what is said on one line. */
#define DOT " · "

/* Everything that showing one entry needs. */
struct md {
	const struct session *s;
	uint32_t entry;
	const struct record *r;
	const char *prefix;
	struct buf *out;
	bool has_images;      /* images of this content are files of the entry */
	const char *language; /* text is output of a tool, in this language ("": none); NULL: it is not */
	bool thinking;        /* the last text shown was thinking */
};

static inline bool md_has_text(struct json_value v)
{
	return v.kind == JSON_STRING && v.text.n > 0;
}

/* Ends the last line, unless there is none. */
void md_end_line(struct buf *out);
/* A string as a paragraph. A fence that it leaves open is closed. */
void md_add_paragraph(struct json_value v, struct buf *out);
/* A fence that is longer than any run of backticks in what is appended between the two calls. */
size_t md_begin_fence(const char *info, struct buf *out);
void md_end_fence(size_t mark, struct buf *out);
/* A string in a fence. */
void md_add_fenced(const char *info, struct json_value v, struct buf *out);
/* Text of one line as code; nothing if there is none. */
void md_add_code_span(struct span clean, struct buf *out);

/* The entry's label, if it has one. */
void md_add_label(const struct md *m);
/* A link to a picture, if it is a file of the entry, else a note. */
void md_show_image(struct md *m, const struct block *b);

#endif
