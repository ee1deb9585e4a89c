#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads the pages of a mount as a browser does, and compares them with the sessions.

pages.py MOUNT [PAGE...]   all pages, or these (paths below the mount)

For each page: its size equals the bytes read; it names its own path; every element is closed; each entry of entries/ is
one article; each link within the page has a target; every row of tree.txt is a row of its tree; each linked file exists;
every word of a message is in its article; the bar of the context has the sum of context.tsv.
"""
import collections
import html.parser
import os
import re
import sys
import urllib.parse

VOID = {"meta", "link", "br", "hr", "img", "input"}
ATTRIBUTES = {"id", "class", "href", "src", "alt", "loading", "lang", "charset", "content", "name", "rel", "http-equiv",
              "datetime", "tabindex", "start", "title", "aria-label", "aria-current", "data-page"}
# An element that closes an open one before it.
ELEMENTS = VOID | set("""html head title style script body header nav main article h1 h2 h3 h4 h5 h6 p div span dl dt dd
    ol ul li a b strong em code pre details summary time ins del blockquote table thead tbody tr th td svg rect""".split())
DRAWING = {"class", "viewbox", "preserveaspectratio", "aria-hidden", "x", "width", "height"}


class Page(html.parser.HTMLParser):
    def __init__(self, where):
        super().__init__(convert_charrefs=True)
        self.where, self.open, self.ids = where, [], collections.Counter()
        self.articles, self.rows, self.links, self.titles = [], [], [], []
        self.own = None
        self.bar = []
        self.text = collections.defaultdict(list)

    def wrong(self, what):
        sys.exit(f"{self.where}:{self.getpos()[0]}: {what}")

    def handle_starttag(self, tag, attributes):
        if tag not in ELEMENTS:
            self.wrong(f"<{tag}>")
        for name, value in attributes:
            if name not in (DRAWING if tag in ("svg", "rect") else ATTRIBUTES) or value is None:
                self.wrong(f"<{tag} {name}={value!r}>")
        of = dict(attributes)
        self.say(*[of[name] for name in ("href", "title", "class", "start") if name in of and tag != "article"])
        self.own = of.get("data-page", self.own)
        if len(of) != len(attributes):
            self.wrong(f"an attribute twice: <{tag} {attributes}>")
        if tag == "rect" and "x" in of:
            if int(of["x"]) != sum(self.bar):
                self.wrong("a gap in the bar")
            self.bar.append(int(of["width"]))
        if "id" in of:
            self.ids[of["id"]] += 1
        if tag == "article":
            self.articles.append(of["id"])
            if "article" in self.open:
                self.wrong("an article in an article")
        if tag == "a":
            self.links.append(of["href"])
            if "nav" in self.open:
                self.rows.append(of["href"])
            if "a" in self.open:
                self.wrong("a link in a link")
        if tag == "img" and not re.fullmatch(r"data:image/[a-z+]+;base64,[A-Za-z0-9+/]+=*", of["src"]):
            self.wrong("a picture from elsewhere")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong(f"</{tag}> does not close anything")

    def say(self, *texts):
        if "article" in self.open:
            self.text[self.articles[-1]] += texts

    def handle_data(self, data):
        self.say(data)
        if self.open and self.open[-1] == "h1":
            self.titles.append(data)

    def handle_comment(self, data):
        self.wrong("a comment")

    def unknown_decl(self, data):
        self.wrong("a declaration")


def entry_rows(path):
    """Returns the IDs of tree.txt, in order."""
    try:
        with open(path, encoding="utf-8") as f:
            return [line.split("  ")[0].strip() for line in f]
    except FileNotFoundError:
        return []


def words(text):
    return collections.Counter(re.findall("[A-Za-z0-9]+", text))


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return ""


def missing_words(entry, shown):
    """Returns the words of an entry's text that its article lacks. Numbers of lists, marks of tasks and names of
    characters do not count."""
    if read(entry + "/role")[:-1] not in ("user", "assistant") and read(entry + "/type")[:-1] not in ("compaction", "branch_summary", "custom_message"):
        return None
    if "Cut here. " in shown:
        return None
    said = re.sub(r"\b\d+[.)]|\[[xX]\]|&#?\w+;", " ", read(entry + "/text.md"))
    return words(said) - words(" ".join(shown))


def check(mount, path):
    full = os.path.join(mount, path)
    with open(full, "rb") as f:
        data = f.read()
    if os.stat(full).st_size != len(data):
        sys.exit(f"{path}: {os.stat(full).st_size} bytes by its size, {len(data)} by reading")
    page = Page(path)
    page.feed(data.decode("utf-8"))
    page.close()
    if page.open:
        sys.exit(f"{path}: not closed: {page.open}")
    if page.own != f"../{'/'.join(path.split('/')[-2:])}":
        sys.exit(f"{path}: names itself {page.own}")
    files = [link for link in page.links if link.startswith("../../projects/")]
    session = os.path.normpath(os.path.join(mount, os.path.dirname(path), urllib.parse.unquote("/".join(files[0].split("/")[:5]))))
    entries = collections.Counter(os.listdir(session + "/entries"))
    if collections.Counter(page.articles) != entries:
        odd = collections.Counter(page.articles)
        sys.exit(f"{path}: articles and entries differ: {(odd - entries) + (entries - odd)}")
    for article, shown in page.text.items():
        missing = missing_words(f"{session}/entries/{article}", shown)
        if missing:
            sys.exit(f"{path}: {article} lacks words: {missing}")
    total = int((read(session + "/context.tsv") or "0").split()[-1])
    if sum(page.bar) != total or len(page.bar) > 10:
        sys.exit(f"{path}: a bar of {page.bar}, and {total} tokens in context.tsv")
    twice = [i for i, n in page.ids.items() if n > 1]
    if twice:
        sys.exit(f"{path}: ids twice: {twice}")
    for link in page.links:
        if link.startswith("#"):
            if urllib.parse.unquote(link[1:]) not in page.ids:
                sys.exit(f"{path}: {link} leads nowhere")
        elif re.match(r"\.\./\.\./projects/|\.\./[^/]+/[^/]+\.html$", link):
            if not os.path.lexists(os.path.normpath(os.path.join(mount, os.path.dirname(path), urllib.parse.unquote(link)))):
                sys.exit(f"{path}: there is no {link}")
        elif link != "../index.html" and not re.match("https?://|mailto:", link, re.I):
            sys.exit(f"{path}: a link to {link}")
    rows = [urllib.parse.unquote(row[1:]) for row in page.rows]
    want = entry_rows(session + "/tree.txt")
    if len(rows) != len(want) or any(not os.path.lexists(f"{session}/entries/{row}") for row in rows):
        sys.exit(f"{path}: its tree has {len(rows)} rows, tree.txt {len(want)}")
    if [row for row in want if " " not in row] != [row for row in rows if " " not in row]:
        sys.exit(f"{path}: the rows of its tree are not those of tree.txt")
    with open(session + "/title", encoding="utf-8") as f:
        if "".join(page.titles) != f.read()[:-1]:
            sys.exit(f"{path}: the heading is not the title")


def main():
    mount, pages = sys.argv[1], sys.argv[2:]
    if not pages:
        pages = [os.path.join("html", project, page) for project in sorted(os.listdir(mount + "/html"))
                 if os.path.isdir(f"{mount}/html/{project}") for page in sorted(os.listdir(f"{mount}/html/{project}"))]
    for path in pages:
        check(mount, path)
    print(len(pages))


if __name__ == "__main__":
    main()
