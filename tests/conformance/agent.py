# SPDX-License-Identifier: MIT
"""Runs the real pi in the mount T/mnt, if there is one.

    agent.py T NODE BUNDLE     NODE runs the pi in the directory BUNDLE; T/judge.mjs prints a session file as pi loads it
"""
import json
import os
import re
import subprocess
import sys

import model

T, NODE, BUNDLE = sys.argv[1:]
QUESTION = "What did we say about the option belonging to the program?"


def text(message):
    content = message["content"] or ""
    return content if isinstance(content, str) else "".join(c.get("text", "") for c in content)


def answer(said):
    """Searches as AGENTS.md says, reads around the hits, labels its own messages, and ends."""
    since = [m["role"] for m in said].index("tool") if any(m["role"] == "tool" for m in said) else len(said)
    came = [text(m) for m in said[since:] if m["role"] == "tool"]
    if text(said[-1]) == "And what else?":
        return None, "Nothing else."
    if len(came) == 0:
        return "cut -c1-250 'search/option belongs/hits.txt' | head -5", None
    if len(came) == 1:
        session, entry = re.match(r"(projects/[^/]+/[^/]+)/entries/([^/]+)/", came[0]).groups()
        return f"grep -A 6 {entry} {session}/all.txt | head -c 1000", None
    if len(came) == 2:
        own = 'grep -lxF "$PI_SESSION_FILE" projects/*/*/path'
        return f"echo 'asked before' > \"sessions/$PI_SESSION_ID/last/label\" && {own} && cat sessions/$PI_SESSION_ID/last/label", None
    return None, "The option belongs to the program."


def pi(*args):
    run = subprocess.run([NODE, BUNDLE + "/cli.js", "--provider", "fake", "--model", "m", *args],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run
    return run.stdout


def files():
    return {os.path.join(d, f) for d, _, fs in os.walk(T + "/agent/sessions") for f in fs}


def judge(file):
    """Each message that pi finds in the session, and on its branch, with its label, and how many it sends to the
    model."""
    return json.loads(subprocess.check_output([NODE, T + "/judge.mjs", BUNDLE + "/index.js", file]))


server = model.serve(T + "/agent", answer)
before = files()
assert "The option belongs to the program." in pi("-p", QUESTION)

system = "".join(text(m) for m in server.said[0] if m["role"] in ("system", "developer"))
assert "Start with these commands; the number is the maximum" in system, "pi did not read AGENTS.md"
assert "<name>sessionfs</name>" in system and "skills/sessionfs/SKILL.md" in system, "pi did not find the skill"
print("ok what pi is told")

came = [text(m) for m in server.said[-1] if m["role"] == "tool"]
assert len(came) == 3, came
assert "the option belongs to the program" in came[1], came
print("ok found in two calls")

(own,) = files() - before
assert came[2].splitlines()[0].startswith("projects/") and came[2].splitlines()[1] == "asked before", came[2]
with open(came[2].splitlines()[0]) as f:
    assert f.read() == own + "\n"
print("ok its own session, by PI_SESSION_FILE and by PI_SESSION_ID")

# A question, three calls with results, an answer. The message with the third call has the label.
seen = judge(own)
assert len(seen["all"]) == 8 and seen["branch"] == seen["all"] and seen["sent"] == 8, seen
assert [label for _, label in seen["branch"]] == [None] * 5 + ["asked before", None, None], seen
print("ok all messages on the branch, and the label")

assert "Nothing else." in pi("--continue", "-p", "And what else?")
assert QUESTION in [text(m) for m in server.said[-1]], "what was asked first was not sent again"
seen = judge(own)
assert len(seen["all"]) == 10 and seen["branch"] == seen["all"] and seen["sent"] == 10, seen
assert files() - before == {own}
print("ok gone on with")
print("5 things that an agent did as it should")
