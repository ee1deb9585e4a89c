/* SPDX-License-Identifier: MIT */
/* The first line that parses to a truthy value decides whether a file is a session, as in pi. Lines before it are
 * skipped, and lines after it are not read. A last line without a newline counts if it parses. */
#include "sessionfs/catalog/header.h"

#include "sessionfs/session/format.h"
#include "sessionfs/file/opened.h"
#include "sessionfs/file/rights.h"

#include <fcntl.h>
#include <string.h>

/* The first read should contain the header, and of a deeper file the first entry, too. */
#define FIRST_READ 512
#define FIRST_READ_DEEP 4096
#define NEXT_READ 65536 /* the most, after reads that get longer */

static bool name_ends(struct span *name, struct span end)
{
	bool ends = name->n >= end.n && memcmp(name->p + name->n - end.n, end.p, end.n) == 0;
	name->n -= ends ? end.n : 0;
	return ends;
}

enum header_name header_name(const char *path, size_t *ret_at)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	struct span name = span_of(base);
	enum header_name kind = NAME_OTHER;
	bool packed = name_ends(&name, SPAN_LIT(".gz")) || name_ends(&name, SPAN_LIT(".zst")) ||
	              name_ends(&name, SPAN_LIT(".xz"));
	if (name_ends(&name, SPAN_LIT(".jsonl")))
		kind = NAME_SESSION;
	for (size_t at = name.n; at-- > 0 && kind == NAME_OTHER;) {
		const struct span rest = {name.p + at, name.n - at};
		if (span_begins(rest, SPAN_LIT(".jsonl.reset.")) || span_begins(rest, SPAN_LIT(".jsonl.deleted."))) {
			name.n = at;
			kind = NAME_ARCHIVE;
		}
	}
	if (ret_at)
		*ret_at = (size_t)(name.p + name.n - path);
	return packed && kind != NAME_OTHER ? NAME_COMPRESSED : kind;
}

void header_release(struct header *h)
{
	buf_release(&h->id);
	buf_release(&h->cwd);
	buf_release(&h->parent);
}

/* Reads the string's text; empty if `v` is not a string. */
static void header_read_string(struct json_value v, struct buf *out)
{
	buf_reset(out);
	if (v.kind == JSON_STRING)
		json_decode(v.text, JSON_EXACT, out);
}

static const char *header_check(const struct record *r, struct header *h)
{
	const char *why = format_rejects_file(r, &h->is_later);
	if (why)
		return why;
	/* A file without ids is never written. */
	h->has_ids = format_of(r->version)->has_ids;
	h->mode &= h->has_ids ? 0777 : 0555;
	header_read_string(r->id, &h->id);
	header_read_string(r->cwd, &h->cwd);
	header_read_string(r->parent_session, &h->parent);
	if (h->parent.n == 0)
		header_read_string(r->branched_from, &h->parent);
	h->err = buf_err(&h->id);
	if (!h->err)
		h->err = buf_err(&h->cwd);
	if (!h->err)
		h->err = buf_err(&h->parent);
	return NULL;
}

/* The state before a line. */
struct lines {
	uint32_t number, malformed;
	bool is_deep, has_header;
};

/* Checks one line. Returns true if it decides; then h holds the result. */
static bool header_check_line(struct span line, struct lines *l, struct buf *deep, struct header *h)
{
	struct record r;
	uint32_t number = l->number++, *malformed = &l->malformed;
	if (record_parse(line, NULL, deep, &r)) {
		if (l->has_header) {
			bool is_entry = r.kind == JSON_OBJECT && r.id.kind == JSON_STRING;
			h->line = is_entry ? h->line : number;
			h->reason = is_entry ? NULL : "not a session: the id of its first entry is not a string";
			return true;
		}
		h->line = number;
		h->reason = header_check(&r, h);
		if (h->reason && !h->is_later && *malformed) {
			h->line = *malformed;
			h->reason = "no session header: this line is malformed; try sessionfs --repair";
		}
		l->has_header = !h->reason && !h->err && l->is_deep;
		return !l->has_header;
	}
	if (*malformed == 0 && !span_only(line, SPAN_LIT(" \t\r\n")) && !json_valid(line, deep))
		*malformed = number;
	return false;
}

/* The event log of `pi --mode json` begins as a session does, so in a deeper directory the first entry counts, too. */
static int header_scan(struct opened *file, bool is_deep, struct header *h)
{
	/* The bytes read, up to 1 MiB, are freed on return. */
	struct buf bytes CLEANUP_BUF = BUF_INIT, deep CLEANUP_BUF = BUF_INIT;
	struct lines l = {.number = 1, .is_deep = is_deep};
	size_t begin = 0, first = is_deep ? FIRST_READ_DEEP : FIRST_READ;

	for (size_t seen = 0;;) {
		/* One byte beyond the limit shows whether the file continues. */
		size_t want = first + 7 * bytes.n < NEXT_READ ? first + 7 * bytes.n : NEXT_READ;
		if (want > HEADER_SCAN + 1 - bytes.n)
			want = HEADER_SCAN + 1 - bytes.n;
		char *to = buf_reserve(&bytes, want);
		ssize_t got = to ? opened_pread(file, to, want, bytes.n) : -ENOMEM;
		if (got < 0)
			return (int)got;
		bytes.n += (size_t)got;
		const char *p = bytes.p, *nl;
		while (got > 0 && (nl = memchr(p + seen, '\n', bytes.n - seen)) != NULL) {
			size_t end = (size_t)(nl - p);
			if (header_check_line((struct span){p + begin, end - begin}, &l, &deep, h))
				return h->err;
			begin = seen = end + 1;
		}
		if (got == 0) {
			if (header_check_line((struct span){p + begin, bytes.n - begin}, &l, &deep, h))
				return h->err;
			break;
		}
		seen = bytes.n;
		if (bytes.n > HEADER_SCAN && !l.has_header) {
			h->line = l.number;
			h->reason = "no session header in the first 1 MiB; try sessionfs --repair";
			return 0;
		}
		if (bytes.n > HEADER_SCAN)
			return 0;
	}
	if (l.has_header)
		return 0;
	h->line = l.malformed ? l.malformed : 1;
	h->reason = l.malformed ? "no session header: this line is malformed; try sessionfs --repair"
	                        : "no session header: nothing but blank lines";
	return 0;
}

static int header_read_file(struct resolver *from, struct resolved *file, bool is_deep, struct header *h)
{
	struct opened *opened;
	struct rights r;

	h->st = file->st;
	h->acl_err = rights_read(file->fd, &h->st, &r);
	h->mode = r.mode & (file->closed ? 0700 : 0777);
	if (error_meaning(h->acl_err) == MEANS_OURS)
		return h->acl_err;
	if (h->st.st_size == 0) {
		h->reason = "empty file";
		return 0;
	}
	int rc = opened_new(from, file, &opened);
	if (rc < 0)
		return rc;
	rc = header_scan(opened, is_deep, h);
	opened_put(opened);
	return rc;
}

bool header_read(const struct source_path *at, enum resolve_how how, struct header *h)
{
	struct resolved file = RESOLVED_INIT;

	*h = (struct header){.id = h->id, .cwd = h->cwd, .parent = h->parent, .line = 1};
	if (header_name(at->path, NULL) == NAME_COMPRESSED) {
		h->reason = "compressed; decompress it to show the session";
		return false;
	}
	int rc = resolve_file(at, how, O_RDONLY, &file);
	if (rc < 0)
		h->reason = rc == -EISDIR ? "is a directory" : rc == ERROR_NO_SESSION ? "not a regular file" : NULL;
	const char *slash = strchr(at->path, '/');
	bool is_deep = slash && strchr(slash + 1, '/');
	h->linked = file.linked;
	h->err = rc == 0 ? header_read_file(at->resolver, &file, is_deep, h) : h->reason ? 0 : rc;
	/* It was changed during each attempt to read it. */
	h->err = h->err == -ESTALE ? -EAGAIN : h->err;
	resolved_release(at->resolver, &file);
	return h->err == 0 && !h->reason;
}
