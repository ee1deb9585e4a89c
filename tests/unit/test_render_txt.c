/* SPDX-License-Identifier: MIT */
#include "cases.h"
#include "render_fixture.h"

static void assert_title(const char *lines, const char *want)
{
	assert_renders(render_title, lines, want);
}

CASE(title_falls_back_to_first_message)
{
	assert_title(HEADER USER("a", null, "") MESSAGE("b", "a", "role":"assistant","content":"no")
	    MESSAGE("c", "b", "role":"user","content":[SAY("\n one"),{"type":"image","data":""},SAY("tw\u0000o")])
	    USER("d", "c", "later"),
	    "one tw o\n");
	assert_title(HEADER, "(no messages)\n");
	assert_title(HEADER USER("a", null, " \n\u00a0\ufeff"), "(no messages)\n");
}

/* Also if the name or the user's message has no printable text. */
CASE(title_falls_back_to_first_answer)
{
	assert_title(HEADER ASSISTANT("a", null, THINKING("hm")) ASSISTANT("b", "a", SAY(" "), SAY("so"), SAY("it\u001b is"))
	    MESSAGE("c", "b", "role":"assistant","content":"later"),
	    "so it  is\n");
	assert_title(HEADER USER("a", null, "\u0001\u0085 \u2028") MESSAGE("b", "a", "role":"assistant","content":"x")
	    INFO("c", "b", "\u0007"),
	    "x\n");
	assert_title(HEADER USER("a", null, " ") USER("b", "a", "y"), "y\n");
	assert_title(HEADER ASSISTANT("a", null, ), "(no messages)\n");
}

#define SENDER "Sender (untrusted metadata):\\n```json\\n{\\n  label: ui\\n}\\n```\\n\\n"
#define STAMP "[Mon 2026-03-16 18:21 GMT+5:30] "

#define CHAT                                                                                                           \
	"[Chat messages since your last reply - for context]\\nAda: Hi\\n\\nBob: b\\n\\n"                              \
	"[Current message - respond to this]\\n"
#define NAMED "Sender (untrusted metadata):\\n```json\\n{\\n  \\\"name\\\": \\\"Ada L.\\\"\\n}\\n```\\n\\n"

/* Each form alone, then two and more of them. */
CASE(envelopes_are_stripped_from_title)
{
	static const char *const before[] = {
	    SENDER,
	    "Conversation info (untrusted metadata):\\n```json\\n{}\\n```\\n",
	    "Replied message (untrusted, for context):\\n```json\\n{body: a\\\\n```\\\\nb}\\n```\\n\\n",
	    "System: [2026-02-24 11:51:07 GMT+7] WhatsApp gateway connected.\\n\\n",
	    "System: [2026-02-24 11:51:07 UTC] a\\nSystem: [2026-02-24 11:51:08 UTC] b\\nReason: c\\n\\n",
	    "[cron:f0d6d6bc-210a-47c9-8609-e45582f92ea1 even minutes] ",
	    STAMP,
	    "[Mon 2026-03-23 13:12] ",
	    "[Telegram Ada (@ada) id:66 +17m Fri 2026-02-13 07:23 GMT+8] ",
	    "[Telegram Ada (@ada) id:66 +2m 2026-01-27T21:04Z] ",
	    "[message_id: 1778399c-1eaf]\\n",
	    "[media attached: /in/a.txt (text/plain) | /in/a.txt]\\n",
	    "[Telegram Ada id:66 2026-01-05 10:00 UTC] <media:video>\\n",
	    "To send an image back, prefer the message tool (media/path). Keep the caption in the text.\\n",
	    "[Subagent Context] You are one (depth 1/1).\\n\\n[Subagent Task]: ",
	    "[Subagent Context] You are one (depth 1/2).\\n\\n[Subagent Task]\\n\\n",
	    "[Subagent Context] You are one (depth 1/2).\\n[Subagent Task] ",
	    "System (untrusted): [2026-04-16 09:58:10 UTC] Exec failed (a, code 1)\\n\\n",
	    "[Queued messages while agent was busy]\\n\\n---\\nQueued #1\\n",
	    "[Queued announce messages while agent was busy]\\n\\n---\\nQueued #1\\n",
	    "[System Message] [sessionId: 8caa07d9] ",
	    "Note: The previous agent run was aborted by the user. Resume carefully or ask for clarification.\\n\\n",
	    "[Thread starter - for context]\\n[Slack Ada 2026-01-05 09:30 UTC] Late\\n[slack message id: 17.1]\\n\\n",
	    "[Slack #a-b +30m 2026-01-05 10:00 UTC] Ada (U0EXAMPLE): ",
	    "[Thread starter - for context]\\nLate\\n\\n[Slack #a 2026-01-05 10:00 UTC] Ada (x) (U0EXAMPLE): ",
	    "Sender (untrusted metadata):\\r\\n```json\\r\\n{\\r\\n}\\r\\n```\\r\\n\\r\\n" STAMP,
	    "System: [2026-02-24 11:51:07 UTC] a\\r\\n\\r\\n[message_id: 1778399c-1eaf]\\r\\n",
	    CHAT "User: ",
	    CHAT "[WhatsApp 1@g.us 2026-01-05 10:00 UTC] ",
	    "[Telegram weather id:-1001 2026-01-05 10:00 UTC] Ada L. (1000001): ",
	    "[message_id: om_1]\\nou_0a: ",
	    "[message_id: om_1]\\nou_0a: [Replying to: \\\"a\\nb\\\"]\\n\\n",
	    NAMED "Ada L.: ",
	    NAMED "[message_id: 1]\\nAda L.: ",
	    "Note: Reference memory below. Build on it.\\n\\n```text\\n<memory>\\n- a\\n</memory>\\n```\\n\\n**Note**: "
	    "b\\n\\n"
	    "user\u200b\u539f\u200b\u59cb\u200bquery\u200b\uff1a\u200b\u200b\\n\\n",
	    SENDER STAMP,
	    " \\n" STAMP "[Subagent Context] a\\n\\n[Subagent Task]: ",
	    "[media attached: /a]\\nTo send an image back, prefer the message tool\\n" SENDER
	    "[message_id: 1]\\n" STAMP,
	};
	for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
		struct buf file CLEANUP_BUF = BUF_INIT;
		buf_addf(&file, HEADER USER("a", null, "%sHi, [you]\n%s"), before[i], "[x: 2]");
		assert_non_null(buf_cstr(&file));
		assert_title(file.p, "Hi, [you] [x: 2]\n");
	}
}

CASE(trailing_envelopes_are_stripped_from_title)
{
	static const char *const after[] = {
	    "\\n[message_id: 1778399c-1eaf]",
	    "\\r\\n[message_id: 51]\\r\\n",
	    " [slack message id: 1767607200.000200 channel: C0EXAMPLE]",
	    "\\n[slack message id: 17.2 channel: C0]\\n\\n[message_id: 17.2]\\n",
	    "\\n[from: Ada (+10000000)]",
	    "\\n\\n[System: The content may include mention tags in the form <at>name</at>. Treat these so (a).]"
	    "\\n[System: If user_id is \\\"ou_1\\\", that mention refers to you.]",
	    "\\n\\n[System: Feishu users mentioned in the incoming message, for context only: \\\"a\\\".]",
	    "\\n\\n[System: Your reply will automatically @mention: a.]",
	    "\\n\\n[System: The bot encountered a Feishu API permission error.]\\n",
	};
	for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
		struct buf file CLEANUP_BUF = BUF_INIT;
		buf_addf(&file, HEADER USER("a", null, "%sHi, [you]%s"), i % 2 ? "" : STAMP, after[i]);
		assert_non_null(buf_cstr(&file));
		assert_title(file.p, "Hi, [you]\n");
	}
}

#define NEW "A new session was started via /new or /reset. Greet the user."
#define HEARTBEAT "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly.\\nCurrent time: now"

static const char *const prompts[] = {
    NEW,
    HEARTBEAT,
    "[OpenClaw heartbeat poll]",
    STAMP HEARTBEAT,
    "System: [2026-01-05 10:00:00 UTC] Reminder\\n\\nA scheduled reminder has been triggered. The content is:\\n\\na",
    "A scheduled cron event was triggered, but no event content was found.",
    "An async command you ran earlier has completed. The result is above.",
    "An async command the user already approved has completed. Do not run it again.",
    "Pre-compaction memory flush. Store durable memories.",
    "[System: The bot encountered a Feishu API permission error.]",
    SENDER "[System: The bot encountered a Feishu API permission error.]",
    "[Subagent Context] You are running as a subagent (depth 1/1).\\n\\nBegin.",
};

static void assert_automatic(const char *lines, int want)
{
	CLEANUP_OPENED struct fixture f;

	fixture_open(&f, lines, strlen(lines));
	assert_int_equal(render_is_automatic(f.s), want);
}

/* Messages without words of the user are skipped if a later one has words; otherwise the first one is the title. */
CASE(words_of_a_later_message_are_the_title)
{
	assert_title(HEADER USER("a", null, NEW) USER("b", "a", "Hi"), "Hi\n");
	assert_title(HEADER USER_RAW("a", null, HEARTBEAT) USER("b", "a", "[OpenClaw heartbeat poll]") USER_RAW("c", "b", SENDER)
	    USER_RAW("d", "c", STAMP "Hi"),
	    "Hi\n");
	assert_title(HEADER USER("a", null, NEW) USER_RAW("b", "a", HEARTBEAT), NEW "\n");
	for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++) {
		struct buf file CLEANUP_BUF = BUF_INIT, alone CLEANUP_BUF = BUF_INIT;
		buf_addf(&alone, HEADER USER("a", null, "%s"), prompts[i]);
		assert_non_null(buf_cstr(&alone));
		buf_addf(&file, "%s" USER_RAW("b", "a", STAMP "Hi"), alone.p);
		assert_non_null(buf_cstr(&file));
		assert_title(file.p, "Hi\n");
		assert_automatic(alone.p, 1);
		assert_automatic(file.p, 0);
	}
	assert_automatic(HEADER MESSAGE("a", null, "role":"assistant","content":"x"), 0);
	assert_automatic(HEADER USER_RAW("a", null, SENDER), 0);
	assert_automatic(HEADER USER("a", null, NEW) MESSAGE("b", "a", "role":"user","content":[]), 0);
	assert_title(HEADER USER_RAW("a", null, "System: [2026-02-24 11:51:07 UTC] up\\n\\n" NEW)
	    MESSAGE("b", "a", "role":"assistant","content":"Hello"),
	    NEW "\n");
	assert_title(HEADER USER("a", null, "Read HEARTBEAT.md if it exists, please"),
	    "Read HEARTBEAT.md if it exists, please\n");
}

#define SKILL(name)                                                                                                    \
	"<skill name=\\\"" name "\\\" location=\\\"/s/SKILL.md\\\">\\nRead it.\\n</skill> is text\\n</skill>"

/* The text pi puts before the words of /skill:NAME; without other words the name is the title. */
CASE(a_skill_is_left_out)
{
	assert_title(HEADER USER_RAW("a", null, SKILL("review") "\\n\\nthe parser"), "the parser\n");
	assert_title(HEADER USER_RAW("a", null, SKILL("re\\nview")) USER("b", "a", "x"), "/skill:re view\n");
	assert_title(HEADER USER_RAW("a", null, SKILL("r") "\\n\\n \\n[message_id: 1]"), "/skill:r\n");
	/* The same after other text that no user wrote. */
	assert_title(HEADER USER_RAW("a", null, "[Mon 2026-01-05 10:00 UTC] " SKILL("r") "\\n\\nIs it on?"), "Is it on?\n");
	assert_title(HEADER USER_RAW("a", null, "[cron:1 r] [Mon 2026-01-05 10:00 UTC] " SKILL("r")), "/skill:r\n");
	assert_title(HEADER USER_RAW("a", null, "[Mon 2026-01-05 10:00 UTC] Hi " SKILL("r")),
	    "Hi <skill name=\"r\" location=\"/s/SKILL.md\"> Read it. </skill> is text </skill>\n");
	assert_title(HEADER USER_RAW("a", null, SKILL("r") " x"),
	    "<skill name=\"r\" location=\"/s/SKILL.md\"> Read it. </skill> is text </skill> x\n");
	assert_title(HEADER USER("a", null, "<skill name=\"\" location=\"/\">\n\n</skill>"),
	    "<skill name=\"\" location=\"/\">  </skill>\n");
	assert_title(HEADER USER("a", null, "<skill name=\"a"), "<skill name=\"a\n");
}

/* Text that is nothing but envelope is kept, as are names and answers. */
CASE(envelope_lookalikes_are_kept)
{
	static const char *const said[] = {
	    "Why (untrusted metadata): and left?",
	    "Sender (untrusted metadata): ```json {} ``` x",
	    "Sender (untrusted metadata):```json",
	    "System: it is down",
	    "System: [2026-02-24] and no empty line",
	    "[2026-03-22 04:30] ERROR, why?",
	    "[2026-03-22T04:30:11Z] ERROR, why?",
	    "[INFO 2026-03-22 04:30:11] started",
	    "[see 2026-03-22 04:30 in the log] why?",
	    "[x] see [Mon 2026-03-16 18:21 UTC] there",
	    "[Mon 2026-03-16 18:21 UTC](a.md) is dead",
	    "[Mon 16.03. 18:21] Hi",
	    "[WIP] words",
	    "[cron: words",
	    "[message_id: 1] words",
	    "[Subagent Context] words",
	    "Hi " STAMP "there",
	    STAMP,
	    "[message_id: 1]",
	    "Hi [message_id: 1]",
	    "Hi [slack message id: 1",
	    "[Slack #a 10:00] Ada (U0): Hi",
	    "Ada: Hi",
	    "Bill (1000001): paid",
	    "ou_1: Hi",
	    "User: Hi",
	    "<media:video> is what?",
	    "[System: off]",
	    "Hi\\n[System: off]",
	    "Hi [from: Ada (1)]",
	    "<user_input>a</user_input>",
	    "Fill <user_input>\\n in </user_input>",
	    "<user_input>\\n \\n</user_input>",
	    "Pre-compaction memory flush",
	};
	for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
		struct buf file CLEANUP_BUF = BUF_INIT, want CLEANUP_BUF = BUF_INIT;
		buf_addf(&file, HEADER USER("a", null, "%s"), said[i]);
		buf_addf(&want, "%s", said[i]);
		for (char *p; (p = memmem(want.p, want.n, "\\n", 2)); want.n--) {
			*p = ' ';
			memmove(p + 1, p + 2, (size_t)(want.p + want.n - p) - 2);
		}
		while (want.p[want.n - 1] == ' ')
			want.n--;
		buf_addc(&want, '\n');
		assert_true(buf_cstr(&file) && buf_cstr(&want));
		assert_title(file.p, want.p);
	}
	assert_title(HEADER USER_RAW("a", null, SENDER), "Sender (untrusted metadata): ```json {   label: ui } ```\n");
	assert_title(HEADER
	    "{\"id\":\"a\",\"parentId\":null,\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"content\":\"" STAMP "Hi\"}}\n",
	    STAMP "Hi\n");
	assert_title(HEADER
	    "{\"id\":\"b\",\"parentId\":null,\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"type\":\"session_info\",\"name\":\"" STAMP "Hi\"}\n",
	    STAMP "Hi\n");
	assert_renders(render_first_message, HEADER USER_RAW("a", null, STAMP "Hi"), STAMP "Hi");
	/* A name or number before the words is theirs unless the metadata has it. */
	assert_title(HEADER USER_RAW("a", null, NAMED "Fix: it"), "Fix: it\n");
	assert_title(HEADER USER_RAW("a", null, STAMP "Room (100000): it"), "Room (100000): it\n");
	assert_title(HEADER USER_RAW("a", null, NAMED "Ada L.: Ada L.: it"), "Ada L.: it\n");
}

/* Of a prompt template, the words are what the user gave. */
CASE(words_in_a_template_are_found)
{
	assert_title(HEADER USER("a", null, "P.\n\n<user_input>\n a\nb\n</user_input>\n\nGo, `<user_input>`."), "a b\n");
	assert_title(HEADER USER_RAW("a", null, STAMP "<user_request>\\na\\n</user_request>\\nGo."), "a\n");
	assert_renders(render_labels_tsv, HEADER USER("a", null, "P\n<user_input>\na\n</user_input>"),
	    "# ID\tLABEL\tTEXT\tas of line 2\na\t\tuser: a\n");
}

/* The scan is bounded: an envelope that does not end within the bound is text, and further envelopes stay. Without the
 * bound, scanning the bytes once for each envelope would take hours. */
CASE(envelope_scan_is_bounded)
{
	static const struct {
		const char *begin, *again, *title;
	} v[] = {
	    {"", "[cron:a] ", "[cron:a] [cron:a] "},
	    {"", "[cron:[Mon 2026-03-16 18:21 GMT] ", "[cron:["},
	    {"Sender (untrusted metadata):\\n```json\\n", "x", "Sender (untrusted metadata): ```json xxx"},
	    {"System: [2026-02-24 11:51:07 UTC] ", "ab\\n", "System: [2026-02-24 11:51:07 UTC] ab ab "},
	    {"", CHAT, "[Chat messages since your last reply - for context] Ada: Hi"},
	    {NAMED, "Ada L.: ", "Ada L.: Ada L.: "},
	    {"Hi", "\\n[message_id: 1]", "Hi"},
	    {"", "<user_input>\\n\\n</user_input>\\n", "<user_input>  </user_input>"},
	    {"", " ", "(no messages)"},
	};
	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		struct fixture f;
		struct buf file CLEANUP_BUF = BUF_INIT, got CLEANUP_BUF = BUF_INIT;
		buf_adds(&file, HEADER "{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{\"role\":"
		                       "\"user\",\"content\":\"");
		buf_adds(&file, v[i].begin);
		while (file.n < 16 * 1024 * 1024)
			buf_adds(&file, v[i].again);
		buf_adds(&file, "\"}}\n");
		assert_non_null(buf_cstr(&file));
		fixture_open(&f, file.p, file.n);
		assert_int_equal(render_title(f.s, &got), 0);
		fixture_close(&f);
		assert_true(span_begins(buf_span(&got), span_of(v[i].title)));
	}
}

#define NINE "\u00e9\U0001F600234567 "
#define NINETY NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE

CASE(long_titles_are_cut)
{
	assert_title(HEADER USER_RAW("a", null, " " NINETY NINETY "012345678901234567890 "),
	    NINETY NINETY "0123456789012345678\u2026\n");
	assert_title(HEADER USER_RAW("a", null, " " NINETY NINETY "01234567890123456789 "),
	    NINETY NINETY "01234567890123456789\n");
	assert_title(HEADER
	    "{\"id\":\"b\",\"parentId\":null,\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"type\":\"session_info\",\"name\":\"" NINETY NINETY NINETY "\"}\n",
	    NINETY NINETY NINE NINE "\u00e9\u2026\n");
}

CASE(labels_are_a_table)
{
	assert_renders(render_labels_tsv,
	    HEADER USER("a", null, "one\ntwo") ENTRY("model_change", "m", "a", "modelId":"x")
	    MESSAGE("b", "m", "role":"bashExecution","command":"ls\t-l","output":"")
	    ENTRY("compaction", "c", "b", "summary":"sum","tokensBefore":1499)
	    LABEL("l", "c", "a", "t\tn\r\nz\u0000b\\u\ud800.") LABEL("k", "l", "m", "on") BARE("message", "n", "k"),
	    "# ID\tLABEL\tTEXT\tas of line 8\n"
	    "a\tt\\tn\\r\\nz\\0b\\\\u\uFFFD.\tuser: one two\n"
	    "m\ton\tmodel_change: [model: x]\n"
	    "b\t\tbashExecution: ls -l\n"
	    "c\t\tcompaction: sum\n");
	assert_renders(render_labels_tsv,
	    HEADER MESSAGE("a", null, "role":"user","content":[SAY("one.go"),{"type":"image"},SAY("Go")])
	    ENTRY("custom_message", "b", "a", "content":[SAY("x"),SAY("y")]),
	    "# ID\tLABEL\tTEXT\tas of line 3\n"
	    "a\t\tuser: one.go Go\n"
	    "b\t\tcustom_message: x y\n");
	assert_renders(render_labels_tsv, HEADER, "");
	assert_renders(render_labels_tsv, HEADER CUSTOM("m", null), "");
}

CASE(summaries_are_cut)
{
	assert_renders(render_labels_tsv,
	    HEADER USER("a", null, "0123456789012345678901234567890123456789012345678901234567\ud83d\ude00xyz"),
	    "# ID\tLABEL\tTEXT\tas of line 2\n"
	    "a\t\tuser: 0123456789012345678901234567890123456789012345678901234567\U0001F600x\n");
	assert_renders(render_labels_tsv,
	    HEADER USER("a", null, "01234567890123456789012345678901234567890123456789012345678\ud83d\ude00xyz"),
	    "# ID\tLABEL\tTEXT\tas of line 2\n"
	    "a\t\tuser: 01234567890123456789012345678901234567890123456789012345678\U0001F600\n");
	/* Each character is two UTF-16 units, and an escape of twelve bytes. */
	CLEANUP_BUF struct buf said = BUF_INIT, want = BUF_INIT;
	for (int i = 0; i < 61; i++)
		buf_adds(&said, "\\ud83d\\ude00");
	buf_adds(&want, "# ID\tLABEL\tTEXT\tas of line 2\na\t\tuser: ");
	for (int i = 0; i < 60; i++)
		buf_adds(&want, "\U0001F600");
	buf_addc(&want, '\n');
	struct buf file CLEANUP_BUF = BUF_INIT;
	buf_addf(&file,
	         HEADER LINE({"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"%s"}}),
	                      buf_cstr(&said));
	assert_renders(render_labels_tsv, buf_cstr(&file), buf_cstr(&want));
}

RUN_CASES(NULL, NULL)
