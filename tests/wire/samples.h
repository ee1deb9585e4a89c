/* SPDX-License-Identifier: MIT */
/* samples: the session files that the wire tests serve: one with most kinds of entries, a fork of it, and lines to
 * append to it. */
#ifndef WIRE_SAMPLES_H
#define WIRE_SAMPLES_H

#define PROJECT "--home-w-app--/"
#define STEM "2026-01-02T03-04-05-000Z_one"
#define FILE_ONE PROJECT STEM ".jsonl"
#define SESSION "projects/home-w-app/" STEM

static const char one[] =
    "{\"type\":\"session\",\"version\":3,\"id\":\"one\",\"timestamp\":\"2026-01-02T03:04:05.000Z\",\"cwd\":\"/home/w/"
    "app\"}\n"
    "{\"type\":\"message\",\"id\":\"aaaa0001\",\"parentId\":null,\"timestamp\":\"2026-01-02T03:04:06.000Z\","
    "\"message\":"
    "{\"role\":\"user\",\"content\":\"How big is it?\",\"timestamp\":1767323046000}}\n"
    "{\"type\":\"message\",\"id\":\"aaaa0002\",\"parentId\":\"aaaa0001\",\"timestamp\":\"2026-01-02T03:04:07.000Z\","
    "\"message\":"
    "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"Count.\"},{\"type\":\"text\",\"text\":"
    "\"Let me see.\"},"
    "{\"type\":\"toolCall\",\"id\":\"call_1\",\"name\":\"bash\",\"arguments\":{\"command\":\"wc -l "
    "x\"}}],\"provider\":\"p\",\"model\":\"m\","
    "\"usage\":{\"input\":1,\"output\":2,\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":3,\"cost\":{\"input\":0,"
    "\"output\":0,"
    "\"cacheRead\":0,\"cacheWrite\":0,\"total\":0}},\"stopReason\":\"toolUse\",\"timestamp\":1767323047000}}\n"
    "{\"type\":\"message\",\"id\":\"aaaa0003\",\"parentId\":\"aaaa0002\",\"timestamp\":\"2026-01-02T03:04:08.000Z\","
    "\"message\":"
    "{\"role\":\"toolResult\",\"toolCallId\":\"call_1\",\"toolName\":\"bash\",\"content\":[{\"type\":\"text\",\"text\":"
    "\"7 x\"},"
    "{\"type\":\"image\",\"data\":\"iVBORw0KGgo=\",\"mimeType\":\"image/"
    "png\"}],\"isError\":false,\"timestamp\":1767323048000}}\n"
    "{\"type\":\"label\",\"id\":\"aaaa0004\",\"parentId\":\"aaaa0003\",\"timestamp\":\"2026-01-02T03:04:09.000Z\","
    "\"targetId\":\"aaaa0002\","
    "\"label\":\"counting\"}\n"
    "{\"type\":\"session_info\",\"id\":\"aaaa0005\",\"parentId\":\"aaaa0004\",\"timestamp\":\"2026-01-02T03:04:10."
    "000Z\",\"name\":\"Sizes\"}\n"
    "this line is not JSON\n"
    "{\"type\":\"message\",\"id\":\"aaaa0006\",\"parentId\":\"aaaa0001\",\"timestamp\":\"2026-01-02T03:04:11.000Z\","
    "\"message\":"
    "{\"role\":\"user\",\"content\":\"Never mind.\",\"timestamp\":1767323051000}}\n";

static const char fork_of_one[] = "{\"type\":\"session\",\"version\":3,\"id\":\"two\",\"timestamp\":\"2026-01-02T04:00:"
				  "00.000Z\",\"cwd\":\"/home/w/app\","
				  "\"parentSession\":\"/elsewhere/" STEM ".jsonl\"}\n"
				  "{\"type\":\"message\",\"id\":\"bbbb0001\",\"parentId\":null,\"timestamp\":\"2026-01-"
				  "02T04:00:01.000Z\",\"message\":"
				  "{\"role\":\"user\",\"content\":\"A fork.\",\"timestamp\":1767326401000}}\n";

static const char more[] = "{\"type\":\"message\",\"id\":\"aaaa0007\",\"parentId\":\"aaaa0006\",\"timestamp\":\"2026-"
			   "01-02T03:04:12.000Z\",\"message\":"
			   "{\"role\":\"user\",\"content\":\"One more.\",\"timestamp\":1767323052000}}\n";

#endif
