/* SPDX-License-Identifier: MIT */
/* Shells see the error of write(2) but not of close(2); other tools see only the latter. So a text is refused as
 * soon as its beginning proves it invalid, and checked as a whole when complete. */
#include "sessionfs/base/space.h"
#include "sessionfs/write/value.h"

#include "sessionfs/base/utf8.h"

#include <errno.h>

/* Bytes that may surround a value: a BOM, CR LF. */
#define VALUE_MARGIN 5

static int value_fail(int rc, const char *why, const char **ret_why)
{
	*ret_why = why;
	return rc;
}

static struct span skip_bom(struct span s)
{
	if (s.n >= 3 && memcmp(s.p, "\xef\xbb\xbf", 3) == 0)
		return (struct span){s.p + 3, s.n - 3};
	return s;
}

/* Drops one trailing newline and every CR before it, or at the end. A text is shown with a final newline, so a CR
 * before it would be lost when the text is read and written back. */
static struct span value_trim_newline(struct span s)
{
	if (s.n > 0 && s.p[s.n - 1] == '\n')
		s.n--;
	while (s.n > 0 && s.p[s.n - 1] == '\r')
		s.n--;
	return s;
}

int value_check_prefix(const struct value_form *form, struct span text, const char **ret_why)
{
	/* No continuation can make the text short enough. A value that is trimmed must be checked whole. */
	if (text.n > form->limit + VALUE_MARGIN ||
	    (!form->is_trimmed && value_trim_newline(skip_bom(text)).n > form->limit))
		return value_fail(-EFBIG, form->too_long, ret_why);
	if (memchr(text.p, '\0', text.n))
		return value_fail(-EINVAL, "has a NUL byte; write text", ret_why);
	/* The next write can complete a character. */
	struct span sure = {text.p, text.n - utf8_incomplete(text)};
	if (utf8_prefix(sure) != sure.n)
		return value_fail(-EINVAL, "is not UTF-8; convert it first", ret_why);
	if (form->is_line && text.n > 0) {
		const char *line = memchr(text.p, '\n', text.n);
		if (line && line + 1 < text.p + text.n)
			return value_fail(-EINVAL, "a label is one line", ret_why);
	}
	return 0;
}

bool value_is_line(const struct value_form *form, struct span text)
{
	if (form->is_table || text.n == 0 || text.p[text.n - 1] != '\n')
		return false;
	return memchr(text.p, '\n', text.n - 1) == NULL;
}

/* Drops all CRs before a LF, so that the text reads back as shown. */
static void value_add_lines(struct span s, struct buf *out)
{
	const char *end = s.p + s.n;
	while (s.p < end) {
		const char *lf = memchr(s.p, '\n', (size_t)(end - s.p));
		const char *stop = lf ? lf : end;
		size_t n = (size_t)(stop - s.p);
		while (lf && n > 0 && s.p[n - 1] == '\r')
			n--;
		buf_add(out, s.p, n);
		if (lf)
			buf_addc(out, '\n');
		s.p = lf ? lf + 1 : end;
	}
}

/* Each run of CR and LF becomes one space. */
static void value_add_one_line(struct span s, struct buf *out)
{
	bool in_run = false;
	for (size_t i = 0; i < s.n; i++) {
		bool br = s.p[i] == '\r' || s.p[i] == '\n';
		if (!br)
			buf_addc(out, s.p[i]);
		else if (!in_run)
			buf_addc(out, ' ');
		in_run = br;
	}
}

static size_t parse_label(struct span s, struct buf *out)
{
	s = value_trim_newline(s);
	if (space_trim(s).n == 0)
		s.n = 0;
	buf_addspan(out, s);
	return s.n;
}

static size_t parse_name(struct span s, struct buf *out)
{
	struct buf line CLEANUP_BUF = BUF_INIT;
	value_add_one_line(value_trim_newline(s), &line);
	s = space_trim(buf_span(&line));
	buf_addspan(out, s);
	if (buf_err(&line))
		out->err = buf_err(&line);
	return s.n;
}

static size_t parse_summary(struct span s, struct buf *out)
{
	s = value_trim_newline(s);
	value_add_lines(s, out);
	return s.n;
}

static size_t parse_table(struct span s, struct buf *out)
{
	value_add_lines(s, out);
	return s.n;
}

#define TOO_LONG(most) "too long; at most " most " bytes"

const struct value_form form_label = {
    .limit = 4096, .too_long = TOO_LONG("4,096"), .is_line = true, .parse = parse_label};
const struct value_form form_name = {
    .limit = (size_t)1 << 16, .too_long = TOO_LONG("65,536"), .is_trimmed = true, .parse = parse_name};
const struct value_form form_summary = {.limit = (size_t)1 << 20,
                                        .too_long = TOO_LONG("1,048,576"),
                                        .parse = parse_summary,
                                        .clear_error = "a summary cannot be removed; write another one"};
const struct value_form form_context = {.limit = (size_t)1 << 20,
                                        .too_long = TOO_LONG("1,048,576"),
                                        .parse = parse_summary,
                                        .clear_error =
                                            "write null, a JSON string or an array of blocks; rm restores the content"};
const struct value_form form_table = {
    .limit = (size_t)64 << 20,
    .too_long = TOO_LONG("67,108,864"),
    .is_trimmed = true,
    .is_table = true,
    .parse = parse_table,
    .clear_error = "an empty table clears nothing; keep a line, such as a comment",
};

int value_parse(const struct value_form *form, struct span text, struct buf *out, const char **ret_why)
{
	size_t before = out->n;
	if (text.n > 0) {
		int rc = value_check_prefix(form, text, ret_why);
		if (rc < 0)
			return rc;
		if (utf8_incomplete(text) > 0)
			return value_fail(-EINVAL, "is not UTF-8; convert it first", ret_why);
		if (form->parse(skip_bom(text), out) > form->limit)
			return value_fail(-EFBIG, form->too_long, ret_why);
	}
	if (out->n == before && form->clear_error && !buf_err(out))
		return value_fail(-EINVAL, form->clear_error, ret_why);
	return buf_err(out);
}

int value_check_label(struct span text, const char **ret_why)
{
	struct buf value CLEANUP_BUF = BUF_INIT;
	int rc = value_parse(&form_label, text, &value, ret_why);
	if (rc < 0)
		return rc;
	if (value.n == 0)
		return value_fail(-EINVAL, "a label cannot be white space only", ret_why);
	if (!span_eq(buf_span(&value), text))
		return value_fail(-EINVAL, "a label cannot start with a byte order mark or end in a line break",
		                  ret_why);
	return 0;
}
