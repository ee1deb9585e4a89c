/* SPDX-License-Identifier: MIT */
/* samples: the session files that the wire tests serve: one with most kinds of entries, a fork of it, and lines to
 * append to it. */
#ifndef WIRE_SAMPLES_H
#define WIRE_SAMPLES_H

#include "session_lines.h"

#define PROJECT "--home-w-app--/"
#define STEM "2026-01-02T03-04-05-000Z_one"
#define FILE_ONE PROJECT STEM ".jsonl"
#define FILE_TWO PROJECT "2026-01-02T04-00-00-000Z_two.jsonl"
#define SESSION "projects/home-w-app/" STEM

static const char one[] =
    AS_IS(
    LINE({"type":"session","version":3,"id":"one","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/home/w/app"})
    MESSAGE_AT("aaaa0001", null, "2026-01-02T03:04:06.000Z", "role":"user","content":"How big is it?",
        "timestamp":1767323046000)
    MESSAGE_AT("aaaa0002", "aaaa0001", "2026-01-02T03:04:07.000Z", "role":"assistant","content":[THINKING("Count."),
        SAY("Let me see."),CALL("call_1", "bash", "command":"wc -l x")],"provider":"p","model":"m","usage":{"input":1,
        "output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,
        "cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":1767323047000)
    MESSAGE_AT("aaaa0003", "aaaa0002", "2026-01-02T03:04:08.000Z", "role":"toolResult","toolCallId":"call_1",
        "toolName":"bash","content":[SAY("7 x"),IMAGE("image/png", "iVBORw0KGgo=")],"isError":false,
        "timestamp":1767323048000)
    ENTRY_AT("label", "aaaa0004", "aaaa0003", "2026-01-02T03:04:09.000Z", "targetId":"aaaa0002","label":"counting")
    ENTRY_AT("session_info", "aaaa0005", "aaaa0004", "2026-01-02T03:04:10.000Z", "name":"Sizes")
    "this line is not JSON\n"
    MESSAGE_AT("aaaa0006", "aaaa0001", "2026-01-02T03:04:11.000Z", "role":"user","content":"Never mind.",
        "timestamp":1767323051000));

static const char fork_of_one[] =
    AS_IS(
    LINE({"type":"session","version":3,"id":"two","timestamp":"2026-01-02T04:00:00.000Z","cwd":"/home/w/app",
        "parentSession":"/elsewhere/2026-01-02T03-04-05-000Z_one.jsonl"})
    MESSAGE_AT("bbbb0001", null, "2026-01-02T04:00:01.000Z", "role":"user","content":"A fork.",
        "timestamp":1767326401000));

static const char more[] = AS_IS(
    MESSAGE_AT("aaaa0007", "aaaa0006", "2026-01-02T03:04:12.000Z", "role":"user","content":"One more.",
        "timestamp":1767323052000));

#endif
