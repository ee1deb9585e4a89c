# SPDX-License-Identifier: MIT
"""Compares the problems of sessions with the requests of the real pi, and mends them.

    provider.py T MANUAL     the mount T/mnt of T/src; `pi` in PATH; MANUAL is sessionfs(7), whose recipes are run
"""
import base64
import json
import os
import re
import shutil
import subprocess
import sys

import model

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import examples  # noqa: E402
import refused  # noqa: E402

T, MANUAL = sys.argv[1:]
FILE, SESSION = T + "/src/--x--/s.jsonl", T + "/mnt/projects/x/s"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
BAD = "bm90IGEgcGljdHVyZQ=="
LARGE = base64.b64encode(base64.b64decode(PNG) + bytes(5 << 20)).decode()
MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8"}


# --- what a provider refuses ----------------------------------------------------------------

def picture(type, data):
    if not base64.b64decode(data).startswith(MAGIC.get(type, b"\xff none")):
        return "Could not process image"
    return "image exceeds 5 MB maximum" if len(base64.b64decode(data)) > 5 << 20 else None


def url(data):
    type, data = re.fullmatch("data:(.*);base64,(.*)", data).groups()
    return picture(type, data)


def blocks(content):
    return content if isinstance(content, list) else []


def anthropic(body):
    calls = []
    for m in body["messages"]:
        content = m["content"] if isinstance(m["content"], list) else [{"type": "text", "text": m["content"]}]
        for b in content:
            if b["type"] == "text" and not b["text"].strip():
                yield "text content blocks must contain non-whitespace text"
            if b["type"] == "tool_result" and b["tool_use_id"] not in calls:
                yield "unexpected `tool_use_id` found in `tool_result` blocks"
            for image in [b] + blocks(b.get("content")):
                if image["type"] == "image":
                    yield picture(image["source"]["media_type"], image["source"]["data"])
        calls = [b["id"] for b in content if b["type"] == "tool_use"]


def completions(body):
    calls = []
    for m in body["messages"]:
        if m["role"] == "tool" and m["tool_call_id"] not in calls:
            yield "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
        if m["role"] == "user" and not isinstance(m["content"], list) and not m["content"].strip():
            yield "the message must not be empty"
        for b in blocks(m["content"]):
            if b["type"] == "text" and not b["text"].strip():
                yield "the text must not be empty"
            if b["type"] == "image_url":
                yield url(b["image_url"]["url"])
        if m["role"] != "tool":
            calls = [c["id"] for c in m.get("tool_calls", [])]


def responses(body):
    calls = []
    for m in body["input"]:
        if m.get("type") == "function_call":
            calls.append(m["call_id"])
        if m.get("type") == "function_call_output" and m["call_id"] not in calls:
            yield "No tool call found for function call output"
        for b in blocks(m.get("content")) + blocks(m.get("output")):
            if b["type"] == "input_text" and not b["text"].strip():
                yield "the text must not be empty"
            if b["type"] == "input_image":
                yield url(b["image_url"])


def refuse(path, body):
    """The error of this API; for one that has no answers here, at least a refusal."""
    rules = {"/v1/chat/completions": completions, "/v1/responses": responses}.get(path, anthropic)
    reasons = [reason for reason in rules(body) if reason]
    return reasons[0] if reasons else None if rules == completions else "recorded"


# --- sessions -------------------------------------------------------------------------------

def text(t):
    return {"type": "text", "text": t}


def image(data, type="image/png"):
    return {"type": "image", "data": data, "mimeType": type}


def user(content):
    return {"role": "user", "content": content}


def call(id, stop="toolUse"):
    return {"role": "assistant", "content": [{"type": "toolCall", "id": id, "name": "bash", "arguments": {"command": "ls"}}], "api": "x",
            "provider": "acme", "model": "m1", "stopReason": stop,
            "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
                      "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}}


def said(*content):
    return {**call("", "stop"), "content": list(content)}


def result(id, *content):
    return {"role": "toolResult", "toolCallId": id, "toolName": "bash", "content": list(content), "isError": False}


def edit(target, replacement):
    return {"type": "context_edit", "targetId": target, "replacement": replacement}


def compaction(kept):
    return {"type": "compaction", "summary": "s", "firstKeptEntryId": kept, "tokensBefore": 10}


def custom(content):
    return {"type": "custom_message", "customType": "x", "content": content, "display": True}


HI, YES, RAIN = user("hi"), said(text("Yes.")), text("rain")
# The entries of a session, and the numbers of those that a provider refuses.
CASES = {
    "sound": ([HI, call("c1"), result("c1", RAIN), YES], []),
    "no call": ([HI, result("c1", RAIN), YES], [2]),
    "call later": ([HI, result("c1", RAIN), call("c1"), result("c1", RAIN)], [2]),
    "call failed": ([HI, call("c1", "error"), result("c1", RAIN), YES], [3]),
    "call aborted": ([HI, call("c1", "aborted"), result("c1", RAIN), YES], [3]),
    "call cut short": ([HI, call("c1", "length"), result("c1", RAIN), YES], []),
    "call summarized": ([HI, call("c1"), result("c1", RAIN), YES, compaction("a0000003")], [3]),
    "call left out": ([HI, call("c1"), result("c1", RAIN), YES, edit("a0000002", None)], [3]),
    "call replaced": ([HI, call("c1"), result("c1", RAIN), edit("a0000002", {"content": [text("x")]})], [3]),
    "result left out": ([HI, result("c1", RAIN), YES, edit("a0000002", None)], []),
    "two results": ([HI, result("c1", RAIN), YES, user("Ho"), result("c2", RAIN)], [2, 5]),
    "picture": ([user([text("see"), image(PNG)]), YES], []),
    "no picture": ([user([text("see"), image(BAD)]), YES], [1]),
    "other type": ([user([text("see"), image(PNG, "image/jpeg")]), YES], [1]),
    "vector": ([user([text("see"), image(PNG, "image/svg+xml")]), YES], [1]),
    "no picture, result": ([HI, call("c1"), result("c1", text("see"), image(BAD)), YES], [3]),
    "no picture, extension": ([HI, custom([text("see"), image(BAD)]), YES], [2]),
    "no picture, edit": ([HI, YES, edit("a0000001", {"content": [image(BAD)]})], [1]),
    "no picture, assistant": ([HI, said(text("see"), image(BAD))], []),
    "large picture": ([user([text("see"), image(LARGE)]), YES], [1]),
    "empty": ([user(""), YES], [1]),
    "blank": ([user(" \n"), YES], [1]),
    "empty text": ([user([text("")]), YES], [1]),
    "empty, extension": ([HI, custom(""), YES], [2]),
    "empty list": ([user([]), YES], []),
    "empty result": ([HI, call("c1"), result("c1", text("")), YES], []),
    "empty edit": ([HI, YES, edit("a0000001", {"content": ""})], [1]),
}


def put(entries):
    with open(FILE + ".new", "w") as f:
        print(json.dumps({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-05T10:00:00.000Z", "cwd": T + "/cwd"}), file=f)
        for n, e in enumerate(entries, 1):
            e = e if "type" in e else {"type": "message", "message": {**e, "timestamp": 1767607200000 + n}}
            of = {"id": f"a{n:07}", "parentId": f"a{n - 1:07}" if n > 1 else None, "timestamp": f"2026-01-05T10:00:{n:02}.000Z"}
            print(json.dumps({**e, **of}), file=f)
    os.rename(FILE + ".new", FILE)


def read(name):
    with open(SESSION + "/" + name) as f:
        return f.read()


def problems():
    """Each entry that problems.txt reports, with the command that it names."""
    lines = read("problems.txt").splitlines() if os.path.exists(SESSION + "/problems.txt") else []
    return [re.search(r": (echo null > entries/(a\d+)/context\.json)$", line).groups() for line in lines]


def is_refused(provider, file=FILE):
    """Continues a copy of the session, and returns whether this API refuses the first request."""
    shutil.copy(file, T + "/copy.jsonl")
    server.requests.clear()
    run = subprocess.run(["pi", "--provider", provider, "--session", T + "/copy.jsonl", "--no-tools", "-p", "go on"], cwd=T + "/cwd",
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert server.requests, (provider, run)
    return server.refuse(*server.requests[0]) not in (None, "recorded")


server = model.serve(T + "/agent", lambda messages: (None, "Here."), refuse)
for name, (entries, want) in CASES.items():
    put(entries)
    found = problems()
    assert [id for _, id in found] == [f"a{n:07}" for n in want], (name, found)
    by = [api for api in model.APIS if is_refused(api)]
    assert bool(by) == bool(want), (name, want, by)
    for command, _ in found:
        subprocess.run(["sh", "-c", command], cwd=SESSION, check=True)
    assert not os.path.exists(SESSION + "/problems.txt"), (name, read("problems.txt"))
    assert not [api for api in by if is_refused(api)], (name, "is still refused")
    print("ok", name, *by)

# --- the recipes of the manual ---------------------------------------------------------------

def run(block):
    """Runs the commands of a block, which begins in the directory where the last one ended."""
    script = "".join(f"{command}\n" for command, _ in examples.commands(block))
    done = subprocess.run(["bash", "-ec", f"cd -- \"$(cat {T}/pwd)\"\n{script}pwd >{T}/pwd"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (block, done)
    return done.stdout


def tokens():
    with open(T + "/home/old/projects/home-ada-rain/rain/last/usage.json") as f:
        return json.load(f)["input"]


rain = T + "/home/refused/--home-ada-rain--/rain.jsonl"
refused.write(rain, T + "/cwd")
with open(T + "/pwd", "w") as f:
    f.write(T)
with open(T + "/section", "w") as f, open(MANUAL) as manual:
    f.write(re.search(r"^\.Sh REFUSED REQUESTS\n(.*?)^\.Sh", manual.read(), re.M | re.S).group(1))
mend, think, key, shorten = examples.blocks(T + "/section")

assert is_refused("fake", rain)
assert "Here." in run(mend)
assert not is_refused("fake", rain)
print("ok a result without its call")

server.refuse = lambda path, body: "thinking is not accepted" if any("reasoning_content" in m for m in body["messages"]) else refuse(path, body)
assert is_refused("fake", rain)
run(think)
assert not is_refused("fake", rain)
print("ok thinking")

assert refused.KEY in json.dumps(server.requests[0])
run(key)
assert not is_refused("fake", rain) and refused.KEY not in json.dumps(server.requests[0])
with open(rain) as f:
    assert refused.KEY in f.read()
print("ok a key")

# The context had 2.4 MB more, a quarter of which the model counts as tokens.
shutil.copy(rain, T + "/before.jsonl")
run(shorten.replace("$ cd\n", "").replace("$ sessionfs -u ~/old\n", ""))
after = tokens()
is_refused("fake", T + "/before.jsonl")
before = len(json.dumps(server.requests[0][1], separators=(",", ":"))) // 4
assert after < 20000 and before > after + 500000, (before, after)
run("$ cd\n$ sessionfs -u ~/old\n")
print("ok a huge output:", before, "tokens,", after, "tokens")
print(len(CASES) + 4, "sessions compared with what pi sends, and mended")
