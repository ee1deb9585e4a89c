/* SPDX-License-Identifier: MIT */
/* session_lines: the lines of a session file, as string literals. JSON is written in these macros as in the file:
 * "a" is a string, and null is null. Each builder has one meaning in all tests; each entry has its fields in pi's
 * order. clang-format leaves alone what it would give blanks (WhitespaceSensitiveMacros). */
#ifndef SESSION_LINES_H
#define SESSION_LINES_H

#include <stdbool.h>

/* As in C23, because the preprocessor would put 1 and 0 into the JSON. */
#if __STDC_VERSION__ < 202311L
#undef true
#undef false
enum { false, true };
#endif

/* The text of the tokens; macros among them are replaced. */
#define JSON_TEXT(...) #__VA_ARGS__
#define JSON(...) JSON_TEXT(__VA_ARGS__)
#define LINE(...) JSON(__VA_ARGS__) "\n"
/* What clang-format leaves as it is. */
#define AS_IS(...) __VA_ARGS__
/* The time of each entry. */
#define TIME "2026-01-02T03:04:05.678Z"

#define HEADER LINE({"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w"})
#define HEADER_OF(id, cwd) LINE({"type":"session","version":3,"id":id,"cwd":cwd})
#define HEADER_AT(id, time) LINE({"type":"session","version":3,"id":id,"timestamp":time})
#define FORK(id, file) LINE({"type":"session","version":3,"id":id,"parentSession":file})

/* An entry with these other members, with another time, or with no other members. */
#define ENTRY(type, id, parent, ...) LINE({"type":type,"id":id,"parentId":parent,"timestamp":TIME,__VA_ARGS__})
#define ENTRY_AT(type, id, parent, time, ...) LINE({"type":type,"id":id,"parentId":parent,"timestamp":time,__VA_ARGS__})
#define BARE(type, id, parent) LINE({"type":type,"id":id,"parentId":parent,"timestamp":TIME})
#define LABEL(id, parent, target, label) ENTRY("label", id, parent, "targetId":target,"label":label)
#define UNLABEL(id, parent, target) ENTRY("label", id, parent, "targetId":target)
#define INFO(id, parent, name) ENTRY("session_info", id, parent, "name":name)
#define CUSTOM(id, parent) BARE("custom", id, parent)
#define SUMMARY(id, parent, from, text) ENTRY("branch_summary", id, parent, "fromId":from,"summary":text)
#define COMPACTION(id, parent, kept)                                                                                   \
	ENTRY("compaction", id, parent, "summary":"s","firstKeptEntryId":kept,"tokensBefore":1)
#define EDIT(id, parent, target, ...) ENTRY("context_edit", id, parent, "targetId":target,"replacement":__VA_ARGS__)

/* A message with these members, and messages with these blocks. */
#define MESSAGE(id, parent, ...) ENTRY("message", id, parent, "message":{__VA_ARGS__})
#define MESSAGE_AT(id, parent, time, ...) ENTRY_AT("message", id, parent, time, "message":{__VA_ARGS__})
#define UNTIMED(id, parent, ...) LINE({"type":"message","id":id,"parentId":parent,"message":{__VA_ARGS__}})
#define USER_AT(id, parent, time, text) MESSAGE_AT(id, parent, time, "role":"user","content":text)
#define USER_MS(id, parent, ms, text) MESSAGE(id, parent, "role":"user","content":text,"timestamp":ms)
#define USER(id, parent, text) MESSAGE(id, parent, "role":"user","content":text)
#define ASSISTANT(id, parent, ...) MESSAGE(id, parent, "role":"assistant","content":[__VA_ARGS__])
#define STOPPED(id, parent, reason, ...)                                                                               \
	MESSAGE(id, parent, "role":"assistant","content":[__VA_ARGS__],"stopReason":reason)
#define RESULT(id, parent, call, ...) MESSAGE(id, parent, "role":"toolResult","toolCallId":call,"content":[__VA_ARGS__])

/* A message with these members, without the end of a line. */
#define RECORD_OF(...) JSON({"type":"message","id":"a","message":{__VA_ARGS__}})

/* A user message with the inside of this C string as its text, for bytes that no token has and for parts of texts. */
#define USER_RAW(id, parent, text)                                                                                     \
	"{\"type\":\"message\",\"id\":" #id ",\"parentId\":" #parent ",\"timestamp\":\"" TIME                          \
	"\",\"message\":{\"role\":\"user\",\"content\":\"" text "\"}}\n"

/* Blocks of a message; a call with these arguments. */
/* clang-format off */
#define SAY(text) {"type":"text","text":text}
#define THINKING(text) {"type":"thinking","thinking":text}
#define IMAGE(mime, data) {"type":"image","data":data,"mimeType":mime}
#define CALL(id, name, ...) {"type":"toolCall","id":id,"name":name,"arguments":{__VA_ARGS__}}
#define USAGE(input, output, read, write, total, cost) \
	{"input":input,"output":output,"cacheRead":read,"cacheWrite":write,"totalTokens":total,"cost":{"total":cost}}
/* An array that contains JSON. */
#define ITEMS(...) {__VA_ARGS__}
/* clang-format on */

#endif
