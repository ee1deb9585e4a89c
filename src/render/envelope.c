/* SPDX-License-Identifier: MIT */
/* The text that pi and programs that embed it, mainly OpenClaw, put before and after a user's words. */
#include "text.h"
#include "sessionfs/base/space.h"

/* Limits the text that is read, so that long texts cost little, and the length of a `*`. */
#define ENVELOPES_BYTES ((size_t)65536)
#define ENVELOPE_GAP_MAX 512

/* The forms, from real sessions; sessionfs(5) lists them. In a form 0 is a digit; * is any text within a line and
 * without a closing bracket; ~ is the same without a space; % is any text. All match as little as possible. A line may
 * also end in CR. White space after a form belongs to it. */
static const char *const forms[] = {
    /* Sender (untrusted metadata):
     * ```json
     * {"label": "test", "id": "test"}
     * ``` */
    "* (untrusted metadata):\n```json\n%\n```",
    /* Replied message (untrusted, for context): and so on */
    "* (untrusted, for context):\n```json\n%\n```",
    /* System: [2026-02-24 11:51:07 GMT+7] WhatsApp gateway connected. And all lines up to an empty one. */
    "System: [0000-00-00 *]%\n\n",
    /* [cron:f0d6d6bc-210a-47c9-8609-e45582f92ea1 Orchestrator] */
    "[cron:*] ",
    /* [Thread starter - for context] And all lines up to an empty one. */
    "[Thread starter - for context]\n%\n\n",
    /* [Slack #weather +30m 2026-01-05 10:00 UTC] Ada (U0EXAMPLE): a channel names the user */
    "[Slack #* 0000-00-00 00:00 ~] * (U~): ",
    /* [Wed 2026-04-08 01:21 UTC], [Discord ada user id:7290 +55m Tue 2026-03-03 07:24 UTC] */
    "[* 0000-00-00 00:00 ~] ",
    /* [Mon 2026-03-23 13:12] */
    "[* 0000-00-00 00:00] ",
    /* [Telegram Ada (@ada) id:6632 +2m 2026-01-27T21:04Z] */
    "[* 0000-00-00T00:00Z] ",
    /* [message_id: 1778399c] on a line of its own */
    "[message_id: *]\n",
    /* [media attached: /root/.openclaw/media/inbound/959ea576.txt (text/plain)] on a line of its own */
    "[media attached*]\n",
    /* To send an image back, prefer the message tool (media/path/filePath). And the rest of the line. */
    "To send an image back, prefer the message tool%\n",
    /* [Subagent Context] You are running as a subagent (depth 1/1). [...]
     *
     * [Subagent Task]: */
    "[Subagent Context] %\n\n[Subagent Task]: ",
    "[Subagent Context] %\n\n[Subagent Task]\n",
    /* [Queued messages while agent was busy]
     *
     * ---
     * Queued #1 */
    "[Queued *messages while agent was busy]\n\n---\nQueued #1\n",
    /* [System Message] [sessionId: 8caa07d9-476f-4b86-9f2f-7303983dba53] */
    "[System Message] [sessionId: *] ",
    /* Note: The previous agent run was aborted by the user. Resume carefully or ask for clarification. */
    "Note: The previous agent run was aborted by the user. Resume carefully or ask for clarification.\n",
    "[OpenClaw heartbeat poll]",
};

/* The beginnings of messages that no user wrote. */
static const struct span prompts[] = {
    SPAN_LIT("A new session was started via /new or /reset. "),
    SPAN_LIT("Read HEARTBEAT.md if it exists (workspace context). "),
};

/* The forms at the end of a message: the first one on a line of its own. */
static const char *const ends[] = {"[message_id: *]", "[slack message id: *]"};

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

size_t envelope_size(struct span text)
{
	const size_t end = text.n < ENVELOPES_BYTES ? text.n : ENVELOPES_BYTES;
	size_t at = 0, before;
	do {
		before = at;
		for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
			while (at < end && strchr(" \t\r\n", text.p[at]) && text.p[at])
				at++;
			at += envelope_form_size((struct span){text.p + at, end - at}, forms[i]);
		}
	} while (at > before);
	return at;
}

struct span text_words(struct span text)
{
	for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++)
		if (span_begins(text, prompts[i]))
			return (struct span){text.p, 0};
	for (;;) {
		text = space_trim(text);
		size_t most = text.n < ENVELOPE_GAP_MAX ? text.n : ENVELOPE_GAP_MAX;
		const char *p = most ? memrchr(text.p + text.n - most, '[', most) : NULL;
		struct span last = {p, p ? (size_t)(text.p + text.n - p) : 0};
		if (!p || ((envelope_form_size(last, ends[0]) != last.n || (p > text.p && p[-1] != '\n')) &&
		           envelope_form_size(last, ends[1]) != last.n))
			return text;
		text.n -= last.n;
	}
}

size_t text_skill(struct span text, struct span *ret_name)
{
	static const struct span begin = SPAN_LIT("<skill name=\""), end = SPAN_LIT("\n</skill>");
	const char *limit = text.p + text.n, *p = text.p + begin.n;

	if (!span_begins(text, begin) || !(p = memmem(p, text.n - begin.n, "\">\n", 3)))
		return 0;
	/* A quote follows: these searches stop before the end. */
	*ret_name = (struct span){text.p + begin.n, strcspn(text.p + begin.n, "\"")};
	if (ret_name->n == 0 || strncmp(ret_name->p + ret_name->n, "\" location=\"", 12) != 0)
		return 0;
	for (p += 3; (p = memmem(p, (size_t)(limit - p), end.p, end.n)); p++)
		if (p + end.n == limit ||
		    span_begins((struct span){p, (size_t)(limit - p - 1)}, SPAN_LIT("\n</skill>\n\n")))
			return (size_t)(p - text.p) + end.n;
	return 0;
}
