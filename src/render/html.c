/* SPDX-License-Identifier: MIT */
#include "sessionfs/render/html.h"
#include "sessionfs/render/render.h"
#include "sessionfs/base/embed.h"
#include "sessionfs/base/date.h"
#include "sessionfs/base/number.h"

#include <errno.h>
#include <math.h>
#include "sessionfs/base/sha256.h"
#include <string.h>

/* --- text ------------------------------------------------------------------------ */

/* The escape of each byte that needs one. */
static const char *const escapes[256] = {
    ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;",
};

static const unsigned char more_bytes[256] = {['&'] = 4, ['<'] = 3, ['>'] = 3, ['"'] = 5, ['\''] = 4};

void html_add_text(struct span clean, struct buf *out)
{
	const char *end = clean.p + clean.n;
	for (const char *p = clean.p; p < end;) {
		const char *plain = p;
		while (p < end && !more_bytes[(unsigned char)*p])
			p++;
		buf_add(out, plain, (size_t)(p - plain));
		if (p < end)
			buf_adds(out, escapes[(unsigned char)*p++]);
	}
}

/* Works backwards, so that each byte is moved before it is overwritten. */
void html_escape_from(struct buf *out, size_t start)
{
	size_t more = 0;

	for (size_t i = start; i < out->n; i++)
		more += more_bytes[(unsigned char)out->p[i]];
	if (more == 0 || !buf_reserve(out, more))
		return;
	char *from = out->p + out->n, *to = from + more;
	while (to > from) {
		const char *instead = escapes[(unsigned char)*--from];
		size_t n = instead ? strlen(instead) : 1;
		to -= n;
		memcpy(to, instead ? instead : from, n);
	}
	out->n += more;
}

void html_add_value(struct json_value v, struct buf *out)
{
	size_t start = out->n;

	if (v.kind == JSON_STRING)
		json_decode(v.text, JSON_CLEAN, out);
	else if (v.kind > JSON_NULL)
		json_decode(json_raw(v), JSON_CLEAN, out);
	text_drop_commands_from(out, start, true);
	html_escape_from(out, start);
}

void html_add_url(struct span path, struct buf *out)
{
	static const char plain[] = "-._~/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	for (size_t i = 0; i < path.n; i++) {
		if (path.p[i] && strchr(plain, path.p[i]))
			buf_addc(out, path.p[i]);
		else
			buf_addf(out, "%%%02X", (unsigned char)path.p[i]);
	}
}

/* A larger number is written as in the tables. */
#define AMOUNT_MOST 1e12

void html_dollars(double dollars, double fine, struct buf *out)
{
	buf_addc(out, '$');
	if (dollars < AMOUNT_MOST)
		number_add_fixed(dollars, dollars < fine ? 4 : 2, out);
	else
		number_add(dollars, out);
}

void html_add_count(double n, struct buf *out)
{
	static const char *const steps[] = {"k", "M", "G", "T"};
	size_t i = 0;

	if (n < 1000) {
		number_add_fixed(n, 0, out);
		return;
	}
	for (n /= 1000; n >= 999.95 && i + 1 < sizeof steps / sizeof *steps; i++)
		n /= 1000;
	if (n < 1e6)
		number_add_fixed(n, 1, out);
	else
		buf_addf(out, "%.0g", n);
	buf_adds(out, steps[i]);
}

void html_time(double ms, struct buf *out)
{
	char iso[NUMBER_TIME], text[64];
	struct tm tm;

	if (isnan(ms) || !number_time(ms, iso) || !date_local(ms, &tm))
		return;
	strftime(text, sizeof text, "%Y-%m-%d %H:%M", &tm);
	buf_addf(out, "<time datetime=\"%s\">%s</time>", iso, text);
}

void html_zone(double ms, struct buf *out)
{
	struct tm year, at[2];

	if (isnan(ms) || !date_local(ms, &year))
		return;
	for (int i = 0; i < 2; i++) {
		struct tm day = {.tm_year = year.tm_year, .tm_mon = 6 * i, .tm_mday = 1};
		time_t t = timegm(&day);
		if (!localtime_r(&t, &at[i]))
			return;
	}
	/* In the southern hemisphere summer is in January. */
	const char *standard = at[at[0].tm_isdst > 0].tm_zone, *summer = at[at[0].tm_isdst <= 0].tm_zone;
	buf_adds(out, *standard == '+' || *standard == '-' ? "UTC" : "");
	html_add_text(span_of(standard), out);
	if (strcmp(standard, summer) == 0)
		return;
	buf_addc(out, '/');
	html_add_text(span_of(summer), out);
}

void html_state(const char *state, int64_t changed, int64_t now, struct buf *out)
{
	bool is_left = now - changed > INT64_C(3600000);

	if (!state || strcmp(state, "working") != 0) {
		buf_adds(out, state ? state : "");
		return;
	}
	buf_adds(out, "<span class=\"working\" title=\"");
	number_add_time((double)changed, out);
	buf_adds(out, is_left ? "\">abandoned</span>" : "\">working  </span>");
}

struct span html_title(struct span title)
{
	size_t n = 0;

	while (n < title.n && title.p[n] == '#')
		n++;
	if (n == 0 || n > 6 || n == title.n || title.p[n] != ' ')
		return title;
	while (n < title.n && title.p[n] == ' ')
		n++;
	return (struct span){title.p + n, title.n - n};
}

/* --- pages ----------------------------------------------------------------------- */

void html_add_base64(struct span bytes, struct buf *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	const uint8_t *p = (const uint8_t *)bytes.p;

	for (size_t i = 0; i < bytes.n; i += 3) {
		size_t left = bytes.n - i;
		unsigned v =
		    (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) | (left > 2 ? p[i + 2] : 0);
		buf_addc(out, digits[v >> 18]);
		buf_addc(out, digits[v >> 12 & 63]);
		buf_addc(out, left > 1 ? digits[v >> 6 & 63] : '=');
		buf_addc(out, left > 2 ? digits[v & 63] : '=');
	}
}

/* Embeds the files of pages/ as strings. */
#define ASSET(name, file) EMBED(name, "src/render/pages/" file)

ASSET(asset_base_css, "base.css");
ASSET(asset_session_css, "session.css");
ASSET(asset_session_js, "session.js");
ASSET(asset_plot_css, "plot.css");
ASSET(asset_index_css, "index.css");
ASSET(asset_index_js, "index.js");
ASSET(asset_hits_css, "hits.css");
ASSET(asset_search_js, "search.js");

const struct html_assets html_session = {{asset_base_css, asset_plot_css, asset_session_css}, {asset_session_js}};
const struct html_assets html_index = {{asset_base_css, asset_plot_css, asset_index_css},
                                       {asset_index_js, asset_search_js}};
const struct html_assets html_hits = {{asset_base_css, asset_hits_css}, {asset_search_js}};
const char *const html_plot_style = asset_plot_css;

enum { STYLES = sizeof html_index.styles / sizeof *html_index.styles, SCRIPTS = 2 };

/* Appends the texts without indentation and comments, which have lines of their own, and styles without the space next
 * to their punctuation. */
static void html_add_assets(const char *const *texts, size_t n, bool is_style, struct buf *out)
{
	struct span line;

	for (size_t i = 0; i < n && texts[i]; i++)
		for (struct span rest = span_of(texts[i]); span_line(&rest, &line);) {
			size_t k = strspn(line.p, " \t");
			if (k >= line.n || strncmp(line.p + k, "/*", 2) == 0 || strncmp(line.p + k, "//", 2) == 0)
				continue;
			for (; k < line.n; k++)
				if (!is_style || line.p[k] != ' ' ||
				    !(strchr("{;:,", line.p[k - 1]) || strchr("{}", line.p[k + 1])))
					buf_addc(out, line.p[k]);
			if (!is_style || !strchr("{};,", line.p[line.n - 1]))
				buf_addc(out, '\n');
		}
}

static void html_add_hash(const struct buf *text, struct buf *out)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, (const uint8_t *)text->p, text->n);
	SHA256Final(digest, &sha);
	buf_adds(out, "'sha256-");
	html_add_base64((struct span){(const char *)digest, sizeof digest}, out);
	buf_addc(out, '\'');
}

/* Without an icon, a browser requests one from the server. */
void html_begin(struct span title, const struct html_assets *assets, struct buf *out)
{
	struct buf style CLEANUP_BUF = BUF_INIT, script CLEANUP_BUF = BUF_INIT;

	html_add_assets(assets->styles, STYLES, true, &style);
	html_add_assets(assets->scripts, SCRIPTS, false, &script);
	if (buf_err(&style) || buf_err(&script)) {
		out->err = -ENOMEM;
		return;
	}
	buf_adds(
	    out,
	    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src ");
	html_add_hash(&style, out);
	buf_adds(out, "; script-src ");
	html_add_hash(&script, out);
	buf_adds(out, "; base-uri 'none'; form-action 'none'\">\n"
	              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	              "<meta name=\"color-scheme\" content=\"light dark\">\n"
	              "<meta name=\"referrer\" content=\"no-referrer\">\n"
	              "<link rel=\"icon\" href=\"data:,\">\n<title>");
	html_add_text(title, out);
	buf_adds(out, "</title>\n<style>");
	buf_addspan(out, buf_span(&style));
	buf_adds(out, "</style>\n</head>\n<body>\n");
}

void html_end(const struct html_assets *assets, struct buf *out)
{
	buf_adds(out, "<script>");
	html_add_assets(assets->scripts, SCRIPTS, false, out);
	buf_adds(out, "</script>\n</body>\n</html>\n");
}
