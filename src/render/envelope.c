/* SPDX-License-Identifier: MIT */
/* The text that pi and programs that embed it, mainly OpenClaw, put before and after a user's words. */
#include "text.h"
#include "sessionfs/base/space.h"

/* Limits the text that is read, so that long texts cost little, and the length of a `*` and of a name. */
#define ENVELOPES_BYTES ((size_t)65536)
#define ENVELOPE_GAP_MAX 512
#define SPEAKER_MAX 64

/* The forms, from real sessions and OpenClaw's source. sessionfs(5) lists them; scripts/check-names compares. In a form
 * 0 is a digit; * is any text within a line and without a closing bracket; ~ is the same without a space; % is any
 * text. All match as little as possible. A line may also end in CR. White space after a form belongs to it. */
static const struct envelope_form {
	enum envelope_place {
		BEFORE,    /* before the words, in any order; `then` can follow */
		SPEAKER,   /* the same, but only after another form */
		AFTER,     /* after the words; a newline at the start: on a line of its own */
		AROUND,    /* the words are between this line and `then` */
		PROMPT,    /* after the forms before the words: a program wrote the message */
		DIRECTIVE, /* at the start of an assistant's text; `then` can end the text */
	} place;
	const char *form, *then;
} forms[] = {
    /* Conversation info (untrusted metadata):
     * ```json
     * {"sender": "Ada"}
     * ``` */
    {BEFORE, "* (untrusted metadata):\n```json\n%\n```", NULL},
    {BEFORE, "* (untrusted, for context):\n```json\n%\n```", NULL},
    /* System: [2026-02-24 11:51:07 GMT+7] WhatsApp gateway connected. And all lines up to an empty one. */
    {BEFORE, "System: [0000-00-00 *]%\n\n", NULL},
    {BEFORE, "System (untrusted): [0000-00-00 *]%\n\n", NULL},
    {BEFORE, "[cron:*] ", NULL},
    {BEFORE, "[Thread starter - for context]\n%\n\n", NULL},
    {BEFORE, "[Chat messages since your last reply - for context]\n%\n[Current message - respond to this]\n", "User: "},
    /* [Slack #weather +30m 2026-01-05 10:00 UTC] Ada (U0EXAMPLE): a channel names the user, as a group does */
    {BEFORE, "[Slack #* 0000-00-00 00:00 ~] * (U~): ", NULL},
    /* [Telegram weather id:-1000001 2026-01-05 10:00 UTC] Ada (1000001): */
    {BEFORE, "[* id:-* 0000-00-00 00:00 ~] * (00000~): ", NULL},
    /* [Wed 2026-04-08 01:21 UTC], [Discord ada user id:7290 +55m Tue 2026-03-03 07:24 UTC] */
    {BEFORE, "[* 0000-00-00 00:00 ~] ", NULL},
    /* [Mon 2026-03-23 13:12] */
    {BEFORE, "[* 0000-00-00 00:00] ", NULL},
    /* [Telegram Ada (@ada) id:6632 +2m 2026-01-27T21:04Z] */
    {BEFORE, "[* 0000-00-00T00:00Z] ", NULL},
    {BEFORE, "[message_id: *]\n", NULL},
    {BEFORE, "[media attached*]\n", NULL},
    {BEFORE, "<media:~>\n", NULL},
    {BEFORE, "To send an image back, prefer the message tool%\n", NULL},
    {BEFORE, "[Subagent Context] %\n[Subagent Task]", ":"},
    {BEFORE, "[Queued *messages while agent was busy]\n\n---\nQueued #1\n", NULL},
    {BEFORE, "[System Message] [sessionId: *] ", NULL},
    {BEFORE, "Note: The previous agent run was aborted by the user. Resume carefully or ask for clarification.\n",
     NULL},
    /* A plugin of OpenClaw: "the user's original query". */
    {BEFORE, "Note: Reference memory below%</memory>%\nuser\u200b\u539f\u200b\u59cb\u200bquery\u200b\uff1a*\n", NULL},
    {SPEAKER, "ou_~: ", NULL},
    {SPEAKER, "[Replying to: \"%\"]\n\n", NULL},
    {AFTER, "\n[message_id: *]", NULL},
    {AFTER, "[slack message id: *]", NULL},
    {AFTER, "\n[from: * (*)]", NULL},
    {AFTER, "\n[System: The content may include mention tags*]", NULL},
    {AFTER, "\n[System: If user_id is *]", NULL},
    {AFTER, "\n[System: Feishu users mentioned in the incoming message*]", NULL},
    {AFTER, "\n[System: Your reply will automatically @mention*]", NULL},
    {AFTER, "\n[System: The bot encountered *]", NULL},
    {AROUND, "<user_input>\n", "\n</user_input>"},
    {AROUND, "<user_request>\n", "\n</user_request>"},
    {PROMPT, "A new session was started via /new or /reset. ", NULL},
    {PROMPT, "Read HEARTBEAT.md if it exists (workspace context). ", NULL},
    {PROMPT, "[OpenClaw heartbeat poll]", NULL},
    {PROMPT, "A scheduled reminder has been triggered. ", NULL},
    {PROMPT, "A scheduled cron event was triggered, ", NULL},
    {PROMPT, "An async command you ran earlier has completed. ", NULL},
    {PROMPT, "An async command the user already approved has completed. ", NULL},
    {PROMPT, "Pre-compaction memory flush. ", NULL},
    {PROMPT, "[System: The bot encountered ", NULL},
    {PROMPT, "[Subagent Context] You are running as a subagent", NULL},
    {DIRECTIVE, "[[reply_to_current]]", NULL},
    {DIRECTIVE, "[[reply_to:*]]", NULL},
    {DIRECTIVE, "<final>", "</final>"},
};
#define FORMS (sizeof forms / sizeof *forms)

/* Returns the size of the beginning that matches the form; 0 without a match. The first match after a gap is always
 * right, since only the end of a form is open. */
static size_t envelope_form_size(struct span text, const char *form)
{
	size_t at = 0;
	while (*form) {
		char gap = strchr("*~%", *form) ? *form++ : '\0';
		size_t most = gap == '%' ? text.n : ENVELOPE_GAP_MAX;
		size_t n = strcspn(form, "*~%"), same = 0, end = at;
		for (size_t begin = at; text.n - at >= n; at++) {
			for (same = 0, end = at; same < n && end < text.n; same++, end++) {
				end += form[same] == '\n' && text.p[end] == '\r' && end + 1 < text.n;
				char c = text.p[end];
				if (form[same] == '0' ? c < '0' || c > '9' : c != form[same])
					break;
			}
			if (same == n || !gap || at - begin == most ||
			    (gap != '%' && strchr(gap == '~' ? " \n]" : "\n]", text.p[at])))
				break;
		}
		if (same < n)
			return 0;
		at = end;
		form += n;
	}
	return at;
}

/* Returns the first form of that place at the start of the text, or NULL; sets *ret_size to its size, or 0. */
static const struct envelope_form *envelope_find(struct span text, enum envelope_place place, size_t *ret_size)
{
	for (const struct envelope_form *f = forms; f < forms + FORMS; f++) {
		size_t n = f->place == place ? envelope_form_size(text, f->form) : 0;
		struct span rest = {text.p + n, text.n - n};
		bool follows = place == BEFORE && f->then && span_begins(rest, span_of(f->then));
		*ret_size = n + (follows ? strlen(f->then) : 0);
		if (n > 0)
			return f;
	}
	*ret_size = 0;
	return NULL;
}

/* Returns the text from `at` on, without blanks at its start. */
static struct span text_after(struct span text, size_t at)
{
	while (at < text.n && memchr(" \t\r\n", text.p[at], 4))
		at++;
	return (struct span){text.p + at, text.n - at};
}

/* Returns the size of the `NAME: ` at the start of the text, if `before` has "NAME" as JSON does, or `after` has
 * `[from: NAME `. */
static size_t speaker_size(struct span text, struct span before, struct span after)
{
	const char *colon = memmem(text.p, text.n < SPEAKER_MAX ? text.n : SPEAKER_MAX, ": ", 2);
	size_t n = colon ? (size_t)(colon - text.p) : 0;
	char json[SPEAKER_MAX + 3], from[SPEAKER_MAX + 9];

	if (n == 0 || memchr(text.p, '\n', n) || memchr(text.p, '"', n))
		return 0;
	size_t n_json = (size_t)snprintf(json, sizeof json, "\"%.*s\"", (int)n, text.p);
	size_t n_from = (size_t)snprintf(from, sizeof from, "[from: %.*s ", (int)n, text.p);
	return memmem(before.p, before.n, json, n_json) || memmem(after.p, after.n, from, n_from) ? n + 2 : 0;
}

/* Returns the text after the forms before the words. */
static struct span words_begin(struct span text, struct span after)
{
	struct span rest = text_after(text, 0);
	bool named = false;
	size_t n;

	do {
		struct span before = {text.p, (size_t)(rest.p - text.p)};
		if (!envelope_find(rest, BEFORE, &n) && before.n > 0 && !envelope_find(rest, SPEAKER, &n) && !named)
			named = (n = speaker_size(rest, before, after)) > 0;
		rest = text_after(rest, n);
	} while (n > 0);
	return rest;
}

/* Returns the size of the text before the forms after the words. */
static size_t words_end(struct span text)
{
	struct span rest = space_trim(text);
	size_t end = text.n, n;

	do {
		size_t most = rest.n < ENVELOPE_GAP_MAX ? rest.n : ENVELOPE_GAP_MAX;
		const char *p = memrchr(rest.p + rest.n - most, '[', most);
		n = 0;
		for (const struct envelope_form *f = forms; p && n == 0 && f < forms + FORMS; f++) {
			size_t size = (size_t)(rest.p + rest.n - p) + (*f->form == '\n');
			struct span last = {rest.p + rest.n - size, size};
			if (f->place == AFTER && size <= rest.n && envelope_form_size(last, f->form) == size)
				n = size;
		}
		rest = space_trim((struct span){rest.p, rest.n - n});
		end = n > 0 ? (size_t)(rest.p - text.p) + rest.n : end;
	} while (n > 0);
	return end;
}

/* Returns the words inside a prompt template, or the text. */
static struct span words_in_template(struct span text)
{
	size_t most = text.n < ENVELOPES_BYTES ? text.n : ENVELOPES_BYTES;

	for (const struct envelope_form *f = forms; f < forms + FORMS; f++) {
		const char *p = f->place == AROUND ? memmem(text.p, most, f->form, strlen(f->form)) : NULL;
		if (!p || (p > text.p && p[-1] != '\n'))
			continue;
		p += strlen(f->form);
		const char *end = memmem(p, (size_t)(text.p + text.n - p), f->then, strlen(f->then));
		struct span words = {p, end ? (size_t)(end - p) : 0};
		if (space_trim(words).n > 0)
			return words;
	}
	return text;
}

/* Returns the size of the skill that pi put before the words, as its parseSkillBlock() finds it, and its name. */
static size_t skill_size(struct span text, struct span *ret_name)
{
	static const struct span begin = SPAN_LIT("<skill name=\""), end = SPAN_LIT("\n</skill>");
	const char *limit = text.p + text.n, *p = text.p + begin.n;

	if (!span_begins(text, begin) || !(p = memmem(p, text.n - begin.n, "\">\n", 3)))
		return 0;
	/* A quote follows: these searches stop before the end. */
	struct span name = {text.p + begin.n, strcspn(text.p + begin.n, "\"")};
	if (name.n == 0 || strncmp(name.p + name.n, "\" location=\"", 12) != 0)
		return 0;
	for (p += 3; (p = memmem(p, (size_t)(limit - p), end.p, end.n)); p++)
		if (p + end.n == limit ||
		    span_begins((struct span){p, (size_t)(limit - p - 1)}, SPAN_LIT("\n</skill>\n\n"))) {
			*ret_name = name;
			return (size_t)(p - text.p) + end.n;
		}
	return 0;
}

static void user_text_split(struct span text, struct user_text *ret)
{
	size_t end = words_end(text), most = end < ENVELOPES_BYTES ? end : ENVELOPES_BYTES, n;

	size_t at = 0, skill = skill_size((struct span){text.p, end}, &ret->skill);
	if (!skill) {
		struct span rest = words_begin((struct span){text.p, most}, (struct span){text.p + end, text.n - end});
		at = (size_t)(rest.p - text.p);
		skill = skill_size((struct span){rest.p, end - at}, &ret->skill);
	}
	ret->skill_text = (struct span){text.p + at, skill};
	struct span words = {text.p + at + skill, end - at - skill}, rest = text_after(text, at);
	ret->kind = envelope_find(rest, PROMPT, &n) ? WORDS_OF_PROGRAM : WORDS_OF_USER;
	words = skill ? words : ret->kind == WORDS_OF_PROGRAM ? rest : words_in_template(words);
	struct span trimmed = space_trim(words);
	if (trimmed.n == 0 && !skill)
		ret->kind = WORDS_NONE;
	if (ret->kind == WORDS_NONE || words.n == text.n)
		return;
	end = trimmed.n ? (size_t)(trimmed.p - text.p) + trimmed.n : end;
	ret->before = (struct span){text.p, skill ? at : (size_t)(trimmed.p - text.p)};
	ret->words = trimmed;
	ret->after = (struct span){text.p + end, text.n - end};
}

/* Returns an assistant's text without OpenClaw's directives. */
static struct span text_without_directives(struct span text)
{
	struct span rest = text_after(text, 0);
	const char *end = "";
	size_t n;

	for (const struct envelope_form *f; (f = envelope_find(rest, DIRECTIVE, &n)); rest = text_after(rest, n))
		end = f->then ? f->then : end;
	if (rest.n == text_after(text, 0).n)
		return text;
	rest = space_trim(rest);
	n = strlen(end);
	rest.n -= rest.n >= n && memcmp(rest.p + rest.n - n, end, n) == 0 ? n : 0;
	return space_trim(rest);
}

void text_split(enum record_role role, struct span text, struct user_text *ret)
{
	*ret = (struct user_text){.words = text};
	if (text.n == 0)
		return;
	if (role == ROLE_USER)
		user_text_split(text, ret);
	else
		ret->words = role == ROLE_ASSISTANT ? text_without_directives(text) : text;
}

enum words_kind render_add_words(const struct record *r, const char *between, enum json_decode how, struct buf *out)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	struct user_text t;

	text_add_blocks(r, between, how, &text);
	text_split(ROLE_USER, buf_span(&text), &t);
	buf_adds(out, t.words.n == 0 && t.skill.n > 0 ? "/skill:" : "");
	buf_addspan(out, t.words.n == 0 ? t.skill : t.words);
	out->err = buf_err(&text) ? buf_err(&text) : out->err;
	return t.kind;
}

void text_add_metadata(const char *begin, struct span part, const char *end, struct buf *out)
{
	struct span left = space_trim(part), line;
	size_t n = 0;

	while (span_line(&left, &line))
		n++;
	if (n > 0)
		buf_addf(out, "%s%zu line%s of metadata%s", begin, n, n == 1 ? "" : "s", end);
}
