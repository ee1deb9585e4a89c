#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# html/index.html and usage.svg agree with the tables, whatever the names of sessions, and change with them.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
cp -r "$ROOT/tests/data/sessions" "$T/src"
python3 - "$T/src" <<'PY'
import json, os, sys
root = sys.argv[1]
bad = ['</script><script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "' onmouseover='x", "&lt;b&gt;", "javascript:alert(1)", "\u202etxt \ud800", "a\x01b\uffff"]
os.makedirs(f"{root}/--<b>&\"'--")
os.makedirs(f"{root}/--index.html--")
for i, text in enumerate(bad):
    with open(f"{root}/--<b>&\"'--/{i} <i>\".jsonl", "w") as f:
        print(json.dumps({"type": "session", "version": 3, "id": f"bad{i}", "timestamp": "2026-03-01T10:00:00Z", "cwd": text}), file=f)
        print(json.dumps({"type": "message", "id": "m1", "parentId": None, "timestamp": "2026-03-01T10:00:01Z", "message": {"role": "user", "content": text}}), file=f)
        print(json.dumps({"type": "message", "id": "m2", "parentId": "m1", "timestamp": "2026-03-01T10:00:02Z", "message": {"role": "assistant", "content": [],
              "provider": text, "model": text, "usage": {"totalTokens": 7, "cost": {"total": [0.25, 1e999, -3][i % 3]}}}}), file=f)
# A parent, two forks and a subagent, whose costs end in half a cent.
def usage(cost): return {"input": 1000, "output": 250, "totalTokens": 1250, "cost": {"total": cost}}
def used(id, role, cost): return {"type": "message", "id": id, "parentId": None, "timestamp": f"2026-03-02T10:00:0{id[1]}Z",
    "message": {"role": role, "content": [], "provider": "p", "model": "m", "usage": usage(cost)}}
def session(file, at, *entries, **header):
    os.makedirs(os.path.dirname(f"{root}/{file}"), exist_ok=True)
    with open(f"{root}/{file}.jsonl", "w") as f:
        for line in [{"type": "session", "version": 3, "id": file, "timestamp": at, **header}, *entries]: print(json.dumps(line), file=f)
shared = [used("s1", "assistant", 0.125), used("s2", "toolResult", 5), used("s3", "assistant", -110000)]
session("--forks--/parent", "2026-03-02T10:00:00Z", *shared)
session("--forks--/fork", "2026-03-02T11:00:00Z", *shared, used("f1", "assistant", 0.005), parentSession="parent.jsonl")
session("--forks--/copy", "2026-03-02T12:00:00Z", *shared, parentSession="parent.jsonl")
session("--forks--/parent/run-0/session", "2026-03-02T10:00:01Z", used("r1", "assistant", 5), parentSession="../../parent.jsonl")
with open(f"{root}/--index.html--/long{'x' * 245}.jsonl", "w") as f:
    print('{"type":"session","version":3,"id":"long"}', file=f)
PY
cat >"$T/check.py" <<'PY'
import csv, html.parser, re, os, sys, urllib.parse, xml.etree.ElementTree as ET
from decimal import Decimal, ROUND_HALF_UP
root = sys.argv[1]
VOID = {"meta", "link", "input"}

class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.rows, self.cell, self.tags = [], [], None, set()
    def handle_starttag(self, tag, attrs):
        self.tags |= {tag} | {f"@{a}" for a, _ in attrs}
        if tag == "tr": self.rows.append([])
        if tag in ("td", "th"): self.cell = {"text": "", "of": "", **dict(attrs)}; self.rows[-1].append(self.cell)
        if tag == "a" and self.cell is not None: self.cell.setdefault("links", []).append(dict(attrs)["href"])
        if tag not in VOID: self.open.append(tag)
    def handle_startendtag(self, tag, attrs): self.tags |= {tag}
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
        if tag in ("td", "th"): self.cell = None
    def handle_data(self, data):
        if self.cell is not None: self.cell["of" if "small" in self.open else "text"] += data

text = open(f"{root}/html/index.html", newline="").read()
page = Page()
page.feed(text)
assert not page.open, page.open
allowed = set("""details summary code g html head meta link title style body a header h1 p main svg text path rect label input output table thead tbody tr th td time script small span
    @lang @charset @http-equiv @content @name @rel @href @class @viewbox @role @aria-label @x @y @d @width @height @id @hidden @for @type @autocomplete @scope @dir
    select option @value @placeholder @transform @title @data-n @data-v @datetime @aria-sort""".split())
assert page.tags <= allowed, page.tags - allowed
def shown(cost):
    if cost < 0.00005: return ""
    return f"${Decimal(cost).quantize(Decimal('0.0001' if cost < 0.1 else '0.01'), ROUND_HALF_UP)}"
def cell(t): return t.replace("\\t", "\t").replace("\\n", "\n").replace("\\\\", "\\")
want = [line.rstrip("\n").split("\t") for line in open(f"{root}/sessions.tsv", newline="\n")]
head, want = want[0], want[1:]
rows = page.rows[1:]
assert len(rows) == len(want) > 7, (len(rows), len(want))
for got, row in zip(rows, want):
    row = dict(zip(head, map(cell, row)))
    assert got[0]["text"] == row["title"] + (" " if got[0]["of"] else ""), (got[0], row)
    if row["parent"]:
        of = next(s for s in map(lambda s: dict(zip(head, map(cell, s))), want) if f"projects/{s['project']}/{s['stem']}" == row["parent"])
        assert got[0]["of"] == ("subagent of " if row["stem"].startswith(of["stem"] + "+") else "fork of ") + of["title"], (got[0], row)
    else: assert not got[0]["of"], got[0]
    assert got[1]["text"] == row["project"]
    assert got[4]["text"] == row["messages"]
    cost = row["cost"] if row["cost"] not in ("", "null") else None
    # A session with entries that count in another one has a note, and its own cost.
    if " including " in got[6].get("title", ""): assert got[6]["title"] == f"{shown(float(cost))} including entries counted in other sessions", (got[6], row)
    else: assert got[6]["text"] == (shown(float(cost)) if cost else ""), (got[6], row)
    assert got[6]["text"] == shown(float(got[6].get("data-v", 0))), got[6]
    path = urllib.parse.unquote_to_bytes(got[0]["links"][0])
    at = os.path.join(os.fsencode(root), b"html", path)
    assert os.path.isfile(at), path
    assert row["title"].encode() in html.unescape(open(at, newline="").read()).encode(), row["title"]

# One sum: usage.tsv, the total in the page, and the rows.
used = list(csv.DictReader(open(f"{root}/usage.tsv"), delimiter="\t", quoting=csv.QUOTE_NONE))
for column, name in (5, "tokens"), (6, "cost"):
    rows_have = sum(Decimal(row[column].get("data-v", "0")) for row in rows)
    assert rows_have == sum(Decimal(u[name]) for u in used if u[name] != "null"), (name, rows_have)
total = re.search(r"<output[^>]*>([^<]*)</output>", text)[1]
assert total.endswith(f", {shown(float(rows_have))}"), (total, rows_have)
assert f": {shown(float(rows_have))}</text>" in text, rows_have
forks = {row[0]["links"][0].split("/")[-1]: (row[6].get("data-v"), row[6]["text"], row[6].get("title")) for row in rows if row[1]["text"] == "forks"}
elsewhere = "%s including entries counted in other sessions"
assert forks == {"parent.html": ("0.125", "$0.13", elsewhere % "$5.13"), "fork.html": ("0.005", "$0.0050", elsewhere % "$5.13"),
                 "copy.html": ("0", "", elsewhere % "$5.13"), "parent%2Brun-0.html": ("5", "$5.00", None)}, forks

svg = open(f"{root}/usage.svg").read()
tree = ET.fromstring(svg)
assert not [e for e in tree.iter() if e.tag.endswith(("script", "image", "a", "foreignObject"))]
sums = {}
for t in tree.iter("{http://www.w3.org/2000/svg}title"):
    sums[t.text.split(" \u00b7 ")[0]] = sums.get(t.text.split(" \u00b7 ")[0], 0) + float(t.text.split(" \u00b7 ")[-1].lstrip("$"))
days = {}
for row in used:
    cost = float(row["cost"]) if row["cost"] != "null" else 0
    if cost > 0: days[row["day"]] = days.get(row["day"], 0) + cost
if "by day" in svg:
    assert sums.keys() == days.keys(), (sums, days)
    for day in days: assert abs(sums[day] - days[day]) <= 1e-6 * days[day] + 1e-9, (day, sums[day], days[day])
PY
for options in "" "-oro"; do
	mount_watched "$T/src" "$T/mnt" ${options:+"$options"}
	for name in html/index.html usage.svg; do
		is "$(stat -c %s "$T/mnt/$name")" "$(wc -c <"$T/mnt/$name")" "size of $name"
		is 400 "$(stat -c %a "$T/mnt/$name")" "mode of $name"
	done
	python3 "$T/check.py" "$T/mnt" || die "index.html or usage.svg is wrong"
	one=$(find "$T/src" -name '*.jsonl' | sort | tail -n 1)
	cp "$one" "$T/one"
	printf '{"type":"session_info","id":"n1","parentId":null,"name":"Called <now> this"}\n' >>"$one"
	await "a new name" grep -q 'Called &lt;now&gt; this</a>' "$T/mnt/html/index.html"
	python3 "$T/check.py" "$T/mnt" || die "index.html or usage.svg is wrong after a change"
	cat "$T/one" >"$one"
	umount_fs "$T/mnt"
done

# In two years, a bar is a week, which begins on Monday.
mkdir -p "$T/weeks/--p--"
for day in 2024-01-07 2024-01-08 2025-02-28 2025-03-01 2026-03-01; do
	printf '%s\n' '{"type":"session","version":3,"id":"'$day'","timestamp":"'$day'T12:00:00Z"}' \
		'{"type":"message","id":"a","parentId":null,"timestamp":"'$day'T12:00:00Z","message":{"role":"assistant","content":[],"provider":"p","model":"m","usage":{"cost":{"total":1}}}}' \
		>"$T/weeks/--p--/$day.jsonl"
done
"$SESSIONFS" -S "$T/weeks" --cat html/index.html | sed -n '/by week/,$s/.*<title>\([-0-9]*\).*/\1/p' >"$T/bars"
is "2024-01-01 2024-01-08 2025-02-24 2026-02-23" "$(xargs <"$T/bars")" "weeks"
"$SESSIONFS" -S "$T/weeks" --cat usage.svg | sed -n 's/.*<title>\([-0-9]*\).*/\1/p' >"$T/bars"
is "2025-03-01 2026-03-01" "$(xargs <"$T/bars")" "days of the last twelve months"

# The models that cost most have a colour each; others share one, and one without a cost has none.
mkdir -p "$T/models/--p--"
{
	echo '{"type":"session","version":3,"id":"models"}'
	for i in {1..10}; do
		printf '{"type":"message","id":"%s","parentId":null,"timestamp":"2026-03-01T12:00:00Z","message":{"role":"assistant","content":[],"provider":"p","model":"m%s","usage":{"totalTokens":5,"cost":{"total":%s}}}}\n' \
			"$i" "$i" $((10 - i))
	done
} >"$T/models/--p--/models.jsonl"
"$SESSIONFS" -S "$T/models" --cat usage.svg | sed -n '/class="legend"/,$s/.*<text x="20"[^>]*>\([^ ]*\) .*/\1/p' >"$T/legend"
is "p/m1 p/m2 p/m3 p/m4 p/m5 p/m6 p/m7 other" "$(xargs <"$T/legend")" "models with a colour"
