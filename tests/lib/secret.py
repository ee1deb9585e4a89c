#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Likely keys, found with regular expressions over the bytes of lines: their places, and the masked text.

secret.py tables MOST DIR SOURCE...  for each, in a file of its name in DIR: the output of --secrets, in the order of facts.py; a
                             line of more than MOST bytes is not scanned
secret.py mask MOST FILE...  the files as a mount with -o redact has them; a line of more than MOST bytes is hidden
secret.py masked MOST DIR FILE...  whether DIR/STEM/session.jsonl is that, with the file's size, for each file STEM.jsonl
secret.py keys               the examples' keys, a line each (of a private key its first line)
secret.py check              that each example is found as its kind, and other text is not
secret.py plant DIR          sessions with each example at each kind of place
secret.py leaks FILE...      looks for the examples' keys in files; status 1, and where, if one is there
"""
import contextlib
import json
import os
import random
import re
import sys

import facts
import stored

W = rb"[A-Za-z0-9_-]"
A = rb"[A-Za-z0-9]"
# kind, before, key, after, needs, characters shown, example. Each contains a blank, so that this file is not a leak.
FORMS = [
    ("anthropic", b"", rb"sk-ant-W{20,}", b"", "digit", 4, "sk-ant- api03-example0example0example0"),
    ("openai", b"", rb"sk-W{20,}", b"", "digit", 4, "sk- proj-example0example0example0"),
    ("github", b"", rb"gh[pousr]_A{36,}", b"", "", 4, "ghp_ example0example0example0example01234"),
    ("github", b"", rb"github_pat_[A-Za-z0-9_]{22,}", b"", "", 4, "github_pat_ example0example0example01234"),
    ("gitlab", b"", rb"gl(?:pat|dt|rt|cbt|ptt|soat|oas)-W{20,}(?:\.A{2}\.A{9})?", b"", "", 4, "glpat- example0example01234"),
    ("aws", b"", rb"(?:AKIA|ASIA)[A-Z2-7]{16}", b"", "", 4, "AKIA EXAMPLE234567ABC"),
    ("google", b"", rb"AIzaW{35}", b"", "", 4, "AIza example0example0example0example0123"),
    ("google", b"", rb"ya29\.W{20,}", b"", "", 4, "ya29. example0example0example0"),
    ("google", b"", rb"AQ\.W{30,}", b"", "digit", 3, "AQ. example0example0example0example0"),
    ("google", b"", rb"GOCSPX-W{28}", b"", "", 4, "GOCSPX- example0example0example01234"),
    ("slack", b"", rb"xox[abeoprs]-[A-Za-z0-9-]{10,}", b"", "digit", 4, "xoxb- 000000000000-example0example"),
    ("slack", b"", rb"xapp-[0-9]-[A-Za-z0-9-]{20,}", b"", "", 4, "xapp- 1-EXAMPLE0000-000000000000-example"),
    ("discord", b"", rb"[MNO]W{23,27}\.W{6}\.W{27,38}", b"", "", 4, "M TAwMDAwMDAwMDAwMDAwMDAw.Exampl.example0example0example0123"),
    ("telegram", b"", rb"[0-9]{8,10}:AAW{33}", b"", "", 4, "0000000000: AAexample0example0example0example01"),
    ("telegram", b"bot", rb"[0-9]{8,10}:AAW{33}", b"", "", 4, "https://api.telegram.org/ bot0000000000:AAexample0example0example0example01/getMe"),
    ("stripe", b"", rb"[rs]k_(?:live|test)_A{16,}", b"", "", 4, "sk_live_ example0example0"),
    ("stripe", b"", rb"whsec_[A-Za-z0-9+/]{32,}", b"", "", 4, "whsec_ example0example0example0example0"),
    ("npm", b"", rb"npm_A{36}", b"", "", 4, "npm_ example0example0example0example01234"),
    ("pypi", b"", rb"pypi-W{50,}", b"", "", 4, "pypi- example0example0example0example0example0example0example0"),
    ("huggingface", b"", rb"hf_A{30,}", b"", "", 4, "hf_ example0example0example0example0"),
    ("groq", b"", rb"gsk_A{40,}", b"", "", 4, "gsk_ example0example0example0example0example0"),
    ("xai", b"", rb"xai-A{40,}", b"", "", 4, "xai- example0example0example0example0example0"),
    ("perplexity", b"", rb"pplx-A{32,}", b"", "", 4, "pplx- example0example0example0example0"),
    ("nvidia", b"", rb"nvapi-W{40,}", b"", "", 4, "nvapi- example0example0example0example0example0"),
    ("tavily", b"", rb"tvly-W{20,}", b"", "digit", 4, "tvly- dev-example0example0example0"),
    ("brave", b"", rb"BSAW{27,28}", b"", "apart", 4, "BSA example0example0example0123"),
    ("elevenlabs", b"", rb"sk_[0-9a-f]{48}", b"", "", 4, "sk_ 000000000000000000000000000000000000000000000000"),
    ("replicate", b"", rb"r8_A{37}", b"", "", 4, "r8_ example0example0example0example012345"),
    ("sendgrid", b"", rb"SG\.W{16,32}\.W{32,64}", b"", "", 4, "SG. example0example0.example0example0example0example0"),
    ("digitalocean", b"", rb"do[opr]_v1_[0-9a-f]{64}", b"", "", 4, "dop_v1_ " + "0" * 64),
    ("shopify", b"", rb"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}", b"", "", 4, "shpat_ " + "0" * 32),
    ("notion", b"", rb"ntn_A{40,}", b"", "", 4, "ntn_ example0example0example0example0example0"),
    ("linear", b"", rb"lin_(?:api|oauth)_A{32,}", b"", "", 4, "lin_api_ example0example0example0example0"),
    ("vault", b"", rb"hv[sbr]\.W{24,}", b"", "", 4, "hvs. example0example0example0"),
    ("age", b"", rb"AGE-SECRET-KEY-1[0-9A-Z]{58}", b"", "", 4, "AGE-SECRET-KEY- 1EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0EX"),
    ("jwt", b"", rb"eyJW{10,}\.eyJW{10,}\.W{10,}", b"", "", 4, "eyJ example0example0.eyJexample0example0.example0example0"),
    ("bearer", b"[Bb]earer ", rb"[A-Za-z0-9._~+/=-]{20,}", b"", "digit", 0, "Bearer  example0example0example0"),
    ("basic", b"[Bb]asic ", rb"[A-Za-z0-9+/=]{20,}", b"", "digit", 0, "Basic  example0example0example0"),
    ("named", rb"""[A-Za-z0-9_-]{0,40}(?i:(?:app|client|api|access|auth|bot|secret|private|signing|encryption)[_-]?(?:secret|key|token)|app[_-]?password)[\\"']{0,4} ?[:=] ?[\\"']{0,4}""",
     rb"[A-Za-z0-9_+/=~-]{16,}(?:\.W{8,})*", b"", "digit", 0, "APP_SECRET= example0example01"),
    ("named", rb"""[A-Za-z0-9_-]{0,40}(?i:passw(?:or)?d)[\\"']{0,4} ?[:=] ?[\\"']{0,4}""", rb"""[^\x00-\x20"'\\,;<>(){}$*]{12,}""", b"", "digit", 0, '"db_password":"example0 example1"'),
    ("named", rb"""(?i:secret|token)[\\"']{0,4} ?[:=] ?[\\"']{0,4}""", rb"[A-Za-z0-9_+/=~-]{20,}(?:\.W{8,})*", b"", "digit", 0, '"token":" example0example0example0"'),
    ("named", rb"""--[a-z-]{0,20}(?:token|key|secret|password)[ =][\\"']{0,4}""", rb"[A-Za-z0-9_+/=~.-]{16,}", b"", "digit", 0, "--token  example0example01"),
    ("url", rb"://[A-Za-z0-9._%+~-]{0,100}:", rb"""[^\x00-\x20/@"'\\:<>{}$*]{3,200}""", rb"@[A-Za-z0-9[]", "", 0, "https://user: example@example.com"),
    ("private key", rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----", rb"(?:-{0,4}(?:\\+[nrt]|[A-Za-z0-9+/=:,.()_ ]))*", b"", "", 0,
     "-----BEGIN  PRIVATE KEY-----\\nexample0example0example0\\n-----END PRIVATE KEY-----"),
]
NONE = [
    "task- number01number02number03number04", "00000000-0000-4000- 8000-000000000000",
    "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "sk- learn-is-a-library-without-a-number",
    "https://example.com:8080/a @b", "git@example.com:org/a .git", "sha512- x/BSAnumber01number02number03456+x==",
    "Bearer  $TOKEN_FROM_THE_ENVIRONMENT", "-----BEGIN  PRIVATE KEY-----",
    # At each limit: one byte less, one more, or another character before or after.
    "npm_ example0example0example0example0123", "npm_ example0example0example0example012345", "xghp_ example0example0example0example01234",
    "-ghp_ example0example0example0example01234", "glpat- example0example0123", "AKIA EXAMPLE234567AB1",
    "https://user: ex@example.com", "https://user:example@ -example.com", "eyJ example0example0.eyJexample0", "BSA example0example0example01",
    "+BSA example0example0example0123", "-----BEGIN  PRIVATE KEY-----\\nexample0exampl\\n", "12345678901: AAexample0example0example0example01",
    "\\npm_ example0example0example0example01234",
    "token= example0example01", "author= example0example01", "api_key= example0example", "api_key= exampleexampleexample", "api__key= example0example01", "api_key   = example0example01",
    "x" * 41 + "_api_key= example0example01", "api_key=:example0 example01", "token= example0example0exa", "mytoken= example0example0example0", "tokens= example0example0example0", "--token  exampleexampleexample", "--Token  example0example01", "x--token  example0example01",
    "--token  example0exampl", "Basic  understanding-of-things-is-enough", "Basic  example0example0exa", "AQ. exampleexampleexampleexampleexample", "AQ. example0example0example0exa", "password:   example0exam", "password: example0exa", "passwort: example0example1", "app password:'''''example0example1", "\\api_key= example0example01",
]

# As long as they can be.
LONGEST = [
    "x" * 39 + "_encryption-secret= example0example01", "://" + "u" * 100 + ": example@example.com", "://user: " + "p" * 200 + "@example.com",
    "M " + "x" * 27 + ".Exampl." + "y" * 38, "BSA " + "x" * 28, "SG. " + "x" * 32 + "." + "y" * 64, "-- " + "a" * 20 + "token=example0example01",
]


def compile_form(form):
    kind, before, key, after, *_ = form
    key = key.replace(b"W{", W + b"{").replace(b"A{", A + b"{")
    front = b"" if kind == "url" else rb"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf]))"
    behind = b"" if kind in ("url", "private key") else rb"(?![A-Za-z0-9_-])"
    return re.compile(front + before + b"(?P<key>" + key + b")" + behind + after)


RE = [compile_form(f) for f in FORMS]


def places(line):
    """Returns (begin, end, number of the form) in a line, as bytes."""
    found = []
    for i, (form, regex) in enumerate(zip(FORMS, RE)):
        at = 0
        while m := regex.search(line, at):
            key, needs = m["key"], form[4]
            fits = {"digit": re.search(rb"[0-9]", key), "": True, "apart": line[m.start() - 1 : m.start()] not in (b"+", b"/") and line[m.end() : m.end() + 1] not in (b"+", b"/")}[needs]
            if form[0] == "private key":
                fits = re.search(rb"[A-Za-z0-9+/=]{16}", key)
            # The letter of an escape before a key is not part of it.
            before = line[: m.start()]
            if (len(before) - len(before.rstrip(b"\\"))) % 2:
                fits = None
            if fits:
                found.append((m.start("key"), -len(key), i, m.end("key")))
            # A candidate that does not count hides no key that begins inside it.
            at = m.end() if fits else m.start() + 1
    found.sort()
    taken, kept = 0, []
    for begin, _, i, end in found:
        if begin >= taken:
            kept.append((begin, end, i))
            taken = end
    return kept


def mask(line):
    out = bytearray(line)
    for begin, end, i in places(line):
        stars = b"*" * (end - begin)
        if FORMS[i][0] == "private key":
            stars = b"".join(p if j % 2 else b"*" * len(p) for j, p in enumerate(re.split(rb"(\\+[nrt])", line[begin:end])))
        out[begin:end] = stars
    return bytes(out)


def mask_file(data, most=64 << 20):
    lines = lines_of(data)
    masked = [mask(line) if len(line) <= most else b"*" * len(line) for line in lines]
    # Candidates that can still become a key.
    if lines[-1] and not lines[-1].rstrip(b" \t\r").endswith(b"}"):
        masked[-1] = b"*" * len(lines[-1])
    return b"\n".join(masked)


def masked(name, most):
    with open(name, "rb") as f:
        return mask_file(f.read(), most)


def lines_of(data):
    return data.split(b"\n")


def names(data):
    """Returns the name of the entry of each line, or nothing."""
    header, entries = stored.entries_of(data)
    of = stored.names_of(entries, stored.below(header, 2), stored.exact(header[b"id"]))
    return [of.get(n, b"").decode() for n in range(1, data.count(b"\n") + 2)]


def table(source, most=64 << 20):
    print("project\tstem\tentry\tkind\tstart\tlength")
    for s in sorted(facts.sessions(source), key=lambda s: -int(s.modified())):
        with open(os.path.join(source, s.file), "rb") as f:
            data = f.read()
        for line, name in zip(lines_of(data), names(data)):
            for begin, end, i in places(line) if len(line) <= most else []:
                kind, shown = FORMS[i][0], FORMS[i][5]
                print("\t".join([facts.cell(s.project()), facts.cell(s.stem()), facts.cell(name), kind, line[begin : begin + shown].decode(), str(end - begin)]))


def whole(example):
    return example.replace(" ", "", 1)


def keys():
    for f in FORMS:
        line = whole(f[6]).encode()
        for begin, end, _ in places(line)[:1]:
            yield max(re.split(rb"(?:\\+[nrt])+", line[begin:end]), key=len)


def check():
    for f in FORMS:
        line = whole(f[6]).encode()
        found = places(line)
        assert [FORMS[i][0] for _, _, i in found] == [f[0]], (f, found)
        for left, right in ((b"", b""), (b"{\"a\":\"", b"\"}"), (b"\\n", b"\\n"), (b"x=", b"&y"), (b"(", b")"), (b"\\\\n", b".")):
            assert len(places(left + line + right)) == 1, (f, left, right)
    for n in NONE:
        assert places(whole(n).encode()) == [], n


def plant(to):
    """Each key in a header, a name, a label, messages, arguments, results, a picture, a broken line, and a line without
    a newline."""
    os.makedirs(os.path.join(to, "--home-u--"), exist_ok=True)
    for n, f in enumerate(FORMS):
        # Already in its JSON form: line ends are escapes.
        key = whole(f[6])
        plain = key.replace("\\n", "\n")
        apart = "." if f[4] == "apart" else "+"

        def line(id_, **v):
            return json.dumps({"type": "message", "id": id_, "parentId": None if id_ == "a" else chr(ord(id_) - 1), "timestamp": f"2026-01-01T00:00:{n % 60:02}.{n // 60:03}Z", **v})

        def said(id_, role, content, **v):
            return line(id_, message={"role": role, "content": content, **v})

        lines = [
            json.dumps({"type": "session", "version": 3, "id": f"s{n:02}", "cwd": f"/srv/a {plain}", "timestamp": "2026-01-01T00:00:00.000Z", "parentSession": f"/x/a {plain}.jsonl"}),
            said("a", "user", f"the first words are {plain} and\n{plain}\n"),
            said("b", "assistant", [{"type": "thinking", "thinking": plain}, {"type": "text", "text": f"```\n{plain}\n```\n<{plain}>"}, {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": f"curl '{plain}'", "n": [plain]}},
                 {"type": "toolCall", "id": "c2", "name": "write", "arguments": {"path": "a.txt", "content": f"{plain}\n"}}], provider="p", model="m", stopReason="toolUse"),
            said("c", "toolResult", [{"type": "text", "text": json.dumps({"out": plain})}, {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo+" + "A" * 300 + apart + key.split("\\n")[0] + apart + "AAAA"}], toolCallId="c1", toolName="bash", isError=True),
            said("d", "bashExecution", None, command=f"echo {plain}", output=plain, exitCode=1),
            line("e", type="label", targetId="a", label=plain.replace("\n", " ") if "\n" in plain else plain),
            line("f", type="session_info", name=plain),
            line("g", type="branch_summary", fromId="a", summary=f"tried {plain}"),
            line("h", type="compaction", summary=plain, firstKeptEntryId="b", tokensBefore=1),
            line("i", type="custom_message", customType="x", content=plain, display=True, details={plain: plain}),
            said("j", "user", "x" * 30000 + f" {plain} " + "y" * 30000),
            said("k", "assistant", [{"type": "text", "text": "done"}], provider="p", model="m", stopReason="error", errorMessage=f"401 {plain}", usage={"input": 1}),
            said("l", "user", "nothing to see"),
            '{"type":"message","id":"x", broken ' + key + " line",
            "not JSON " + key,
        ]
        data = "\r\n".join(lines) + "\r\n" if n % 5 == 0 else "\n".join(lines) + "\n"
        if n % 3 == 0:
            data += said("m", "user", f"the last {plain}")
        if n % 3 == 1:
            data += said("m", "user", f"half {plain}")[: -4 - n % 7]
        path = os.path.join(to, "--home-u--", f"2026-01-01T00-00-00-000Z_s{n:02}.jsonl")
        with open(path, "w", encoding="ascii", newline="") as out:
            out.write(data)
        os.utime(path, (1767225599, 1767225599))


def mix(to, seed):
    random.seed(seed)
    pieces = [b"\\n", b"\\t", b"\\b", b"\\f", b"\\\\n", b"\\\\\\r", b"\\", b"n", b"-", b"_", b".", b":", b"://", b"@", b"/", b"+", b"=", b" ", b'"', b"AA", b"0", b"z", b"Bearer ", b"bearer ", b"-----", b"----", b"-----BEGIN ",
              b"PRIVATE KEY-----", b"PRIVATE KEY", b" BLOCK", b"RSA ", b"eyJ", b".eyJ", b"sk-", b"sk-ant-", b"bot", b"0000000000:", b"\0", b"\xff", b"*", b"[", b"{", b"whsec_", b"hvs.", b"SG.", b"ya29.", b"x" * 13, b"A" * 33, b"BSA", b"glpat-",
              b"api", b"_key", b"-Token", b"app", b"Password", b"passwd", b"_" * 39, b"\\\"", b"\\\\\\\"", b"'", b" = ", b": ",
              b"secret", b"TOKEN", b"=", b"--", b"-a", b"token ", b"key=", b"Basic ", b"AQ.", b".abcdefgh", b".abcdefg", b"~", b"12345678901234567890", b"abcdefghijklmnopqrst"]
    texts = [whole(t).encode() for t in [f[6] for f in FORMS] + NONE + LONGEST]
    lines = [b'{"type":"session","version":3,"id":"mix","timestamp":"2026-01-01T00:00:00.000Z"}']
    for _ in range(3000):
        line = b""
        for _ in range(random.randrange(1, 12)):
            text = random.choice(texts) if random.random() < 0.4 else random.choice(pieces)
            at = random.randrange(len(text) + 1)
            line += text if random.random() < 0.6 else text[:at] + random.choice(pieces) * random.randrange(2) + text[at:]
        lines.append(line)
    os.makedirs(os.path.join(to, "--mix--"), exist_ok=True)
    with open(os.path.join(to, "--mix--", f"mix{seed}.jsonl"), "wb") as f:
        f.write(b"\n".join(lines) + b"\n")


def leaks(files):
    bad, all_ = 0, list(keys())
    for name in files:
        with open(name, "rb") as f:
            data = f.read()
        for key in all_:
            # A lone `example` is also a word of host names.
            if key in data and key != b"example" or b":example@" in data:
                print(f"{name}: {key!r}")
                bad = 1
    return bad


if __name__ == "__main__":
    what = sys.argv[1]
    if what == "tables":
        for source in sys.argv[4:]:
            with open(os.path.join(sys.argv[3], os.path.basename(source)), "w", encoding="utf-8", newline="\n") as out, contextlib.redirect_stdout(out):
                table(source, int(sys.argv[2]))
    elif what == "mask":
        for name in sys.argv[3:]:
            sys.stdout.buffer.write(masked(name, int(sys.argv[2])))
    elif what == "masked":
        for name in sys.argv[4:]:
            shown = os.path.join(sys.argv[3], os.path.basename(name)[: -len(".jsonl")], "session.jsonl")
            with open(shown, "rb") as shows:
                if os.stat(shown).st_size != os.stat(name).st_size or shows.read() != masked(name, int(sys.argv[2])):
                    sys.exit(f"{shown} differs")
    elif what == "keys":
        sys.stdout.buffer.write(b"\n".join(keys()) + b"\n")
    elif what == "check":
        check()
    elif what == "plant":
        plant(sys.argv[2])
    elif what == "mix":
        mix(sys.argv[2], sys.argv[3])
    elif what == "leaks":
        sys.exit(leaks(sys.argv[2:]))
