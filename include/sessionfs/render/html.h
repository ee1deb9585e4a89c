/* SPDX-License-Identifier: MIT */
/* html: text in web pages. Session text is never markup, because only these functions write text and attribute values.
 * Pure: text in, bytes out. Texts are valid UTF-8 without NUL (JSON_CLEAN). Errors stick to `out`, unless a function
 * returns them. */
#ifndef SESSIONFS_HTML_H
#define SESSIONFS_HTML_H

#include "sessionfs/base/buf.h"
#include "sessionfs/json/json.h"

/* Appends a text for an element or a double-quoted attribute value. */
void html_add_text(struct span clean, struct buf *out);
/* Escapes the same way the contents of `out` from `start` on. */
void html_escape_from(struct buf *out, size_t start);
/* Appends a value: a string decoded, any other value as its JSON text, nothing if it is absent or null. */
void html_add_value(struct json_value v, struct buf *out);
/* Appends a relative path as a URL for a double-quoted attribute value, or for a link in Markdown. Percent-encodes each
 * byte that has a meaning in URLs, so the result never has a scheme, host, query or fragment. */
void html_add_url(struct span path, struct buf *out);

/* Appends a number of tokens: 950, 12.3k, 1.2M. */
void html_add_count(double n, struct buf *out);
/* Appends an amount: $12.34; below `fine` dollars, $0.0123. A very large one is written as in the tables. */
void html_dollars(double dollars, double fine, struct buf *out);
/* Appends a time (ms since 1970; NAN: nothing) to the minute, in the zone of the process. */
void html_time(double ms, struct buf *out);
/* Appends the name of that zone, or both of its names in the year of `ms`: CET/CEST. */
void html_zone(double ms, struct buf *out);
/* Appends a session's state (NULL: nothing). A working session that was not changed for an hour is abandoned. The
 * length does not depend on `now`, because a page is read in parts. Times are in ms since 1970. */
void html_state(const char *state, int64_t changed, int64_t now, struct buf *out);
/* Returns a title as pages show it: without the `#` of a Markdown heading. */
struct span html_title(struct span title);
void html_add_base64(struct span bytes, struct buf *out);
/* Appends a Markdown text as elements. Raw HTML is shown as text. Only links to http:, https: and mailto: are kept; a
 * picture becomes a link to it. Headings are below h2, without gaps, and elements have no ids. A text that would take
 * too long, or grow to more than a small multiple of its size, is shown unchanged in a <pre>. Returns 0 or a negative
 * errno (-EINTR by cancel_check). */
int html_add_markdown(struct span clean, struct buf *out);

/* The styles and scripts of a kind of page. They are constants without end tags. A page has them without indentation
 * and without comments, each of which is one line. */
struct html_assets {
	const char *styles[3], *scripts[2]; /* end at NULL */
};
extern const struct html_assets html_session, html_index, html_hits;
/* The style of plots, which html_index also has. */
extern const char *const html_plot_style;

/* Appends the beginning of a page, up to and including <body>. Its Content-Security-Policy allows the style and the
 * script by their SHA-256, pictures from data: URLs, and nothing else. */
void html_begin(struct span title, const struct html_assets *assets, struct buf *out);
/* Appends the scripts and the end of the page. */
void html_end(const struct html_assets *assets, struct buf *out);

#endif
