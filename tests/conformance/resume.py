# SPDX-License-Identifier: MIT
"""Resumes sessions in directories with odd names with the real pi.

    resume.py make T     session files in T/src, their directories in T/cwd
    resume.py check T    resumes each of them in the mount T/mnt
"""
import json
import os
import subprocess
import sys

import model

NAMES = [b"plain", b"two words", b"it's", b'"quoted"', b"$HOME `id`", b"a\nb", b"end\n", b"-x", b"back\\slash", b"\xc3\xa9"]
MESSAGE = {"type": "message", "id": "aaaa0001", "parentId": None, "timestamp": "2026-03-02T09:15:03.460Z",
           "message": {"role": "user", "content": [{"type": "text", "text": "the old words"}], "timestamp": 1}}
T = os.fsencode(sys.argv[2])
SOURCE = T + b"/src/--odd--/"


def make():
    os.makedirs(SOURCE)

    def put(name, id, cwd):
        header = {"type": "session", "version": 3, "id": id, "timestamp": "2026-03-02T09:15:03.460Z", "cwd": cwd}
        with open(SOURCE + name + b".jsonl", "wb") as f:
            for o in (header, MESSAGE):
                f.write(json.dumps({k: v for k, v in o.items() if k != "cwd" or v is not None}).encode() + b"\n")

    for i, name in enumerate(NAMES):
        os.makedirs(T + b"/cwd/" + name)
        put(name, f"n{i:02}", (T + b"/cwd/" + name).decode())
    put(b"gone", "gone", "/no such/directory")
    put(b"none", "none", None)
    put(b"not UTF-8 \xff", "odd", (T + b"/cwd/plain").decode())


def answer(said):
    """Prints the working directory in hex, and ends once it is known."""
    return (None, "done here") if said[-1]["role"] == "tool" else ("pwd -P | od -An -v -tx1 | tr -d ' \\n'", None)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def files():
    return {os.path.join(d, f): read(os.path.join(d, f)) for top in (T + b"/src", T + b"/cwd") for d, _, fs in os.walk(top) for f in fs}


def fork(env, server):
    """Resumes an earlier place of a session, in a directory without sessions."""
    server.said.clear()
    session = os.path.realpath(T) + b"/mnt/projects/odd/plain"
    os.mkdir(T + b"/elsewhere")
    run = subprocess.run([T + b"/bin/pi", "--fork", session + b"/branches/aaaa0001/session.jsonl", "--session-dir", T + b"/src/--forked--",
                          "--provider", "fake", "--model", "m", "-p", "another way"], env=env, cwd=T + b"/elsewhere", stdin=subprocess.DEVNULL,
                         capture_output=True, timeout=120)
    assert run.returncode == 0 and b"done here" in run.stdout, run
    said = json.dumps(server.said[0])
    assert "the old words" in said and "another way" in said and "go on" not in said, said
    made, = (T + b"/mnt/projects/forked/" + name for name in os.listdir(T + b"/mnt/projects/forked") if name != b".latest")
    assert read(made + b"/cwd") == os.path.realpath(T) + b"/elsewhere\n"
    assert read(made + b"/parent") == b"projects/odd/plain\n"
    assert read(session + b"/forks") == os.path.relpath(made, T + b"/mnt") + b"\n"
    assert read(made + b"/last/text.md") == b"done here\n"
    print("ok fork")


def check():
    server = model.serve(T + b"/agent", answer)
    env = {**os.environ, "PI_CODING_AGENT_DIR": os.fsdecode(T + b"/agent"), "HOME": os.fsdecode(T + b"/home"), "PI_OFFLINE": "1"}

    def resume(id):
        server.said.clear()
        return subprocess.run([T + b"/mnt/sessions/" + id.encode() + b"/resume", "--provider", "fake", "--model", "m", "-p", "go on"],
                              env=env, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=120)

    before = files()
    # A session without a directory is resumed in one that exists.
    for id, name in [(f"n{i:02}", name) for i, name in enumerate(NAMES)] + [("none", b"none")]:
        file = SOURCE + name + b".jsonl"
        cwd = b"/" if id == "none" else os.path.realpath(T) + b"/cwd/" + name
        run = resume(id)
        assert run.returncode == 0 and b"done here" in run.stdout, (name, run)
        old, new = before[file], read(file)
        assert new.startswith(old) and len(new) > len(old), (name, "is not what pi appended to")
        added = [json.loads(line) for line in new[len(old):].splitlines()]
        where = [o["message"]["content"][0]["text"] for o in added if o.get("message", {}).get("role") == "toolResult"]
        assert [bytes.fromhex(w.strip()) for w in where] == [cwd + b"\n"], (name, where)
        assert "the old words" in json.dumps(server.said[0]), (name, "pi did not know what was said")
        assert read(T + b"/mnt/sessions/" + id.encode() + b"/last/text.md") == b"done here\n", name
        before[file] = new
        print("ok", name)
    for id, why in (("gone", b"pi --fork '" + os.path.realpath(T) + b"/src/--odd--/gone.jsonl'\n"), ("odd", b"not UTF-8")):
        run = resume(id)
        assert run.returncode != 0 and run.stderr and why in run.stderr and not server.said, (id, run)
        print("ok", id)
    assert files() == before, "other files have changed"
    fork(env, server)
    for file in files().keys() - before.keys():
        os.unlink(file)
    assert files() == before, "what was forked has changed"
    # There is no session in pi's own directory either.
    assert not [f for _, _, fs in os.walk(T + b"/agent") for f in fs if f.endswith(b".jsonl")]
    print(len(NAMES) + 3, "sessions resumed or refused as they should be")


make() if sys.argv[1] == "make" else check()
