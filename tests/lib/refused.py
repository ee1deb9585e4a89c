# SPDX-License-Identifier: MIT
"""Writes the session of the examples in "REFUSED REQUESTS" of sessionfs(7).

    refused.py FILE CWD
"""
import json
import os
import sys

KEY = "tok_8f3b1c9d2e"


def entries():
    usage = {"input": 10, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 12,
             "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}
    answer = {"role": "assistant", "api": "openai-completions", "provider": "fake", "model": "m", "usage": usage}

    def text(t):
        return {"type": "text", "text": t}

    def call(id, command):
        return {**answer, "content": [{"type": "toolCall", "id": id, "name": "bash", "arguments": {"command": command}}], "stopReason": "toolUse"}

    def result(id, t):
        return {"role": "toolResult", "toolCallId": id, "toolName": "bash", "content": [text(t)], "isError": False}

    yield {"role": "user", "content": "Is it raining?"}
    yield result("c9", "rain")
    yield {**answer, "content": [{"type": "thinking", "thinking": "Look outside.", "thinkingSignature": "reasoning_content"}, text("Yes.")], "stopReason": "stop"}
    yield {"role": "user", "content": "Since when? Read the log."}
    yield call("c1", "cat login")
    yield result("c1", f"user ada\ntoken {KEY}\n")
    yield call("c2", "cat rain.log")
    yield result("c2", "12.00 rain\n" * 200000)
    yield {**answer, "content": [text("Since noon.")], "stopReason": "stop"}


def write(file, cwd):
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "w") as f:
        print(json.dumps({"type": "session", "version": 3, "id": "rain", "timestamp": "2026-02-05T10:00:00.000Z", "cwd": cwd}), file=f)
        parent = None
        for n, message in enumerate(entries(), 1):
            entry = {"type": "message", "id": f"a{n:07}", "parentId": parent, "timestamp": f"2026-02-05T10:00:{n:02}.000Z"}
            print(json.dumps({**entry, "message": {**message, "timestamp": 1770285600000 + n * 1000}}), file=f)
            parent = entry["id"]
    os.utime(file, (1770285609, 1770285609))


if __name__ == "__main__":
    write(*sys.argv[1:])
