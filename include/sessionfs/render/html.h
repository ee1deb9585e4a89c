/* SPDX-License-Identifier: MIT */
/* html: text in web pages. What a session says is never markup in a page, since all of it goes through these functions:
 * where text or an attribute's value stands, nothing else writes it. Pure: text in, bytes out. Texts are valid UTF-8
 * without NUL (JSON_CLEAN). Errors stick to `out`, unless a function returns them. */
#ifndef SESSIONFS_HTML_H
#define SESSIONFS_HTML_H

#include "sessionfs/base/buf.h"
#include "sessionfs/json/json.h"

/* Appends a text for an element or for an attribute's value in double quotes. */
void html_add_text(struct span clean, struct buf *out);
/* The same for what `out` holds from `start` on. */
void html_escape_from(struct buf *out, size_t start);
/* Appends a value: a string decoded, anything else as its JSON text, nothing for an absent value or null. */
void html_add_value(struct json_value v, struct buf *out);
/* Appends a relative path as a URL for an attribute's value in double quotes, or for a link in Markdown. Any byte that
 * could mean something in a URL is percent-encoded, so that it never has a scheme, a host, a query or a fragment. */
void html_add_url(struct span path, struct buf *out);

/* Appends a number of tokens: 950, 12.3k, 1.2M. */
void html_add_count(double n, struct buf *out);
/* Appends an amount: $12.34, below `fine` dollars $0.0123. A very large one is written as in the tables. */
void html_dollars(double dollars, double fine, struct buf *out);
/* Appends a time (ms since 1970; NAN: nothing) to the minute, in the zone of the process. */
void html_time(double ms, struct buf *out);
/* Appends the name of that zone, or both that it has in the year of `ms`: CET/CEST. */
void html_zone(double ms, struct buf *out);
/* Appends a session's state (NULL: nothing). One that is working and was not changed for an hour was left. What it
 * appends has one length, whatever the time is now: a page is asked for in parts. Times are ms since 1970. */
void html_state(const char *state, int64_t changed, int64_t now, struct buf *out);
void html_add_base64(struct span bytes, struct buf *out);
/* Appends a text that is Markdown, as elements. Raw HTML in it is text. A link leads to http:, https: or mailto:, or is
 * no link; a picture is a link to it. Its headings are those below an h2, without gaps, and nothing in it has an id.
 * What would take too long, or come to more than a small multiple of the text, is shown as it stands in a <pre>. 0, or
 * a negative errno (-EINTR by cancel_check). */
int html_add_markdown(struct span clean, struct buf *out);

/* The styles and the script of a kind of page. They are ours, and hold no end tag. */
struct html_assets {
	const char *styles[3], *script; /* of the styles NULL: there are no more */
};
extern const struct html_assets html_session, html_index;
/* That of plots, which html_index has too. */
extern const char *const html_plot_style;

/* Appends the beginning of a page, up to and with <body>. Its Content-Security-Policy allows the style and the script
 * by their SHA-256, pictures from data: URLs, and nothing else. */
void html_begin(struct span title, const struct html_assets *assets, struct buf *out);
/* Appends the script, and the end of the page. */
void html_end(const struct html_assets *assets, struct buf *out);

#endif
