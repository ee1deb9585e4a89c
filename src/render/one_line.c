/* SPDX-License-Identifier: MIT */
/* The small text files of a session. In texts that pi shows on one line (title, rows), control characters become
 * spaces. Values (name, cwd) stay unchanged, except for characters that a text file cannot have. */
#include "sessionfs/render/render.h"

#include "text.h"
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/space.h"
#include "sessionfs/base/utf8.h"
#include "sessionfs/session/context.h"

#include <errno.h>
#include <inttypes.h>

#define SUMMARY_CHARACTERS 60
#define TITLE_CHARACTERS 200

/* Appends the text of the first message of this role with text, for a title with text that titles show. If no user
 * message has words, the first one's text is used. */
static int first_message(const struct session *s, enum record_role role, bool for_title, struct buf *out)
{
	struct line line CLEANUP_LINE = LINE_INIT;
	struct buf whole CLEANUP_BUF = BUF_INIT;
	size_t start = out->n;

	for (uint32_t i = 0; i < session_count(s) && out->n == start; i++) {
		const struct entry *e = session_entry(s, i);
		enum words_kind kind = WORDS_OF_USER;
		struct record r;
		if (e->role != role || e->flags & ENTRY_NO_TEXT)
			continue;
		int rc = session_load(s, i, &line, &r);
		rc = rc == 0 ? cancel_check() : rc;
		if (rc < 0)
			return rc;
		if (for_title && role == ROLE_USER)
			kind = render_add_words(&r, " ", JSON_READ, out);
		else
			text_add_blocks(&r, " ", for_title ? JSON_READ : JSON_CLEAN, out);
		if (for_title)
			text_make_line_from(out, start);
		if (kind == WORDS_OF_USER)
			continue;
		if (whole.n == 0)
			buf_add(&whole, out->p + start, out->n - start);
		out->n = start;
	}
	if (out->n == start)
		buf_addspan(out, buf_span(&whole));
	return buf_err(&whole) ? buf_err(&whole) : buf_err(out);
}

int render_first_message(const struct session *s, struct buf *out)
{
	return first_message(s, ROLE_USER, false, out);
}

int render_is_automatic(const struct session *s)
{
	struct reader reader CLEANUP_READER = READER_INIT;
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct record r;
	bool found = false;
	int rc = 0;

	for (uint32_t i = 0; i < session_count(s) && rc == 0; i++) {
		if (session_entry(s, i)->role != ROLE_USER)
			continue;
		rc = session_read(s, i, &reader, &r);
		if (rc < 0)
			return rc;
		buf_reset(&text);
		found = render_add_words(&r, " ", JSON_READ, &text) == WORDS_OF_PROGRAM;
		if (!found)
			return buf_err(&text);
		rc = cancel_check();
	}
	return rc < 0 ? rc : found;
}

int render_title(const struct session *s, struct buf *out)
{
	struct buf exact CLEANUP_BUF = BUF_INIT;
	size_t start = out->n;
	int rc = 0;

	session_name(s, &exact);
	text_make_line_from(&exact, 0);
	if (exact.n == 0)
		rc = first_message(s, ROLE_USER, true, &exact);
	if (rc == 0 && exact.n == 0)
		rc = first_message(s, ROLE_ASSISTANT, true, &exact);
	if (rc < 0 || buf_err(&exact))
		return rc < 0 ? rc : buf_err(&exact);
	text_add_clean(buf_span(&exact), out);
	if (out->n == start)
		buf_adds(out, "(no messages)");
	text_shorten_from(out, start, TITLE_CHARACTERS);
	buf_addc(out, '\n');
	return buf_err(out);
}

int render_name(const struct session *s, struct buf *out)
{
	struct buf exact CLEANUP_BUF = BUF_INIT;

	if (!session_name(s, &exact) || buf_err(&exact))
		return buf_err(&exact);
	text_add_clean(buf_span(&exact), out);
	buf_addc(out, '\n');
	return buf_err(out);
}

int render_cwd(const struct session *s, struct buf *out)
{
	struct json_value cwd = session_header(s)->cwd;

	if (cwd.kind != JSON_STRING || cwd.text.n == 0)
		return 0;
	json_decode(cwd.text, JSON_CLEAN, out);
	buf_addc(out, '\n');
	return buf_err(out);
}

/* Appends the bytes as one word for sh, whatever they are. */
static void add_quoted(struct span text, struct buf *out)
{
	buf_addc(out, '\'');
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == '\'')
			buf_adds(out, "'\\''");
		else
			buf_addc(out, text.p[i]);
	buf_addc(out, '\'');
}

/* Two pis that append to one session make two branches of it. The script finds out when it runs, not when it is read,
 * whether the session file changed recently. A find without -mmin prints nothing, and the session is continued. */
static void add_question(struct span path, bool can_fork, struct buf *out)
{
	buf_adds(out, "if [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && [ -n \"$(find -L ");
	add_quoted(path, out);
	buf_adds(out, " -mmin -1 2>/dev/null)\" ]; then\n"
	              "\techo 'resume: pi seems to be at work in this session: it changed in the last minute' >&2\n"
	              "\tprintf '");
	buf_adds(out, can_fork ? "f: fork it instead, " : "");
	buf_adds(out, "c: continue anyway, Enter: leave: ' >&2\n"
	              "\tanswer=\n\tIFS= read -r answer\n"
	              "\tcase $answer in\n");
	if (can_fork) {
		buf_adds(out, "\tf) exec pi --fork ");
		add_quoted(path, out);
		buf_adds(out, " \"$@\" ;;\n");
	}
	buf_adds(out, "\tc) ;;\n\t*) exit 1 ;;\n\tesac\nfi\n");
}

/* Like pi, resolves a relative directory from here, without $CDPATH or the meaning of `cd -`. */
int render_resume(const struct session *s, struct span path, struct buf *out)
{
	struct buf cwd CLEANUP_BUF = BUF_INIT;
	struct json_value said = session_header(s)->cwd;
	const char *state;
	bool can_fork = !format_is_old(session_format(s));
	int rc = context_state(s, session_leaf(s), &state);
	if (rc)
		return rc;
	if (said.kind == JSON_STRING && said.text.n > 0 && said.text.p[0] != '/')
		buf_adds(&cwd, "./");
	if (said.kind == JSON_STRING && said.text.n > 0)
		json_decode(said.text, JSON_EXACT, &cwd);
	if (buf_err(&cwd))
		return buf_err(&cwd);
	buf_addf(out, "#!/bin/sh\n# Continues this session%s. Passes its arguments to pi.\n",
	         cwd.n > 0 ? ", in its directory" : "");
	const char *why = NULL;
	if (cwd.n > 0 && memchr(cwd.p, '\0', cwd.n))
		why = "the name of the directory of the session has a NUL";
	/* Node.js would change the path, and pi would begin a new session there. */
	else if (utf8_prefix(path) < path.n)
		why = "pi cannot open the session file: its path is not UTF-8";
	if (why) {
		buf_addf(out, "echo 'resume: %s' >&2\nexit 1\n", why);
		return buf_err(out);
	}
	if (cwd.n > 0) {
		struct buf command CLEANUP_BUF = BUF_INIT;
		add_quoted(path, &command);
		buf_adds(out, "cd -P -- ");
		add_quoted(buf_span(&cwd), out);
		buf_addf(out,
		         " 2>/dev/null || {\n\tprintf 'resume: cannot enter %%s\\n"
		         "resume: to continue elsewhere: pi --%s %%s\\n' ",
		         can_fork ? "fork" : "session");
		cwd.n = space_flatten(cwd.p, cwd.n, '?', "");
		command.n = space_flatten(command.p, command.n, '?', "");
		add_quoted(buf_span(&cwd), out);
		buf_addc(out, ' ');
		add_quoted(buf_span(&command), out);
		buf_adds(out, " >&2\n\texit 1\n}\n");
		if (buf_err(&command))
			return buf_err(&command);
	}
	if (state == context_states[STATE_WORKING])
		add_question(path, can_fork, out);
	buf_adds(out, "exec pi --session ");
	add_quoted(path, out);
	buf_adds(out, " \"$@\"\n");
	return buf_err(out);
}

int render_problems(const struct session *s, struct buf *out)
{
	for (size_t n = 0; n < session_problem_count(s); n++) {
		struct problem p = session_problem(s, n);
		buf_addf(out, "%u\t%llu\t", p.line, (unsigned long long)p.offset);
		session_problem_add_reason(s, &p, out);
		buf_addc(out, '\n');
	}
	return buf_err(out);
}

/* Appends a label for the table's second column. */
void render_add_label_cell(struct span label, struct buf *out)
{
	struct buf escaped CLEANUP_BUF = BUF_INIT;
	const char *cr;

	for (; label.n > 0 && (cr = memchr(label.p, '\r', label.n));
	     label = (struct span){cr + 1, label.n - (size_t)(cr + 1 - label.p)}) {
		text_add_cell((struct span){label.p, (size_t)(cr - label.p)}, &escaped);
		buf_adds(&escaped, "\\r");
	}
	text_add_cell(label, &escaped);
	if (buf_err(&escaped))
		out->err = buf_err(&escaped);
	else
		text_add_clean(buf_span(&escaped), out);
}

int render_labels_tsv(const struct session *s, struct buf *out)
{
	struct row_source src CLEANUP(row_source_release);
	struct buf label CLEANUP_BUF = BUF_INIT;

	row_source_init(&src, s);
	size_t start = out->n;
	/* When the table is saved, this number tells from which state it was made. */
	buf_addf(out, RENDER_LABELS_HEADING "\tas of line %" PRIu32 "\n", session_line_count(s));
	size_t rows = out->n;
	for (uint32_t i = 0; i < session_count(s); i++) {
		const struct entry *e = session_entry(s, i);
		bool shown = (e->flags & ENTRY_CONVERSATION) && !(e->flags & ENTRY_NO_MESSAGE);
		if (!(e->flags & ENTRY_ADDRESSED))
			continue;
		buf_reset(&label);
		if (!session_label(s, i, &label) && !shown)
			continue;
		if (buf_err(&label))
			return buf_err(&label);
		session_entry_name(s, i, out);
		buf_addc(out, '\t');
		render_add_label_cell(buf_span(&label), out);
		buf_addc(out, '\t');
		int rc = row_add_summary(&src, i, ": ", SUMMARY_CHARACTERS, out);
		if (rc < 0)
			return rc;
		buf_addc(out, '\n');
	}
	if (out->n == rows)
		out->n = start;
	return buf_err(out);
}

int render_add_label_cells(const struct session *s, uint32_t i, struct buf *out)
{
	struct row_source src CLEANUP(row_source_release);
	struct buf text CLEANUP_BUF = BUF_INIT;

	row_source_init(&src, s);
	/* Both are one-line texts without TABs. */
	int rc = row_add_summary(&src, i, "\t", SUMMARY_CHARACTERS, &text);
	if (rc < 0)
		return rc;
	struct span role = {text.p, (size_t)((char *)memchr(text.p, '\t', text.n) - text.p)};
	text_add_cell(role, out);
	buf_addc(out, '\t');
	text_add_cell((struct span){role.p + role.n + 1, text.n - role.n - 1}, out);
	return buf_err(out);
}
