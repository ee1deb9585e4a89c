#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --copy html writes a site: any web server can serve it, its index links to each page, and its pages equal the mount's.
. "$(dirname "$0")/../lib/lib.sh"
need python3
samples "$T/src"
"$SESSIONFS" -S "$T/src" --copy html "$T/site" >/dev/null
python3 -u -m http.server --bind 127.0.0.1 --directory "$T/site" 0 >"$T/log" 2>&1 &
server=$!
clean_first() { kill "$server" 2>/dev/null; }
await "the web server" grep -q ' port [0-9]' "$T/log"
port=$(sed -n 's/.* port \([0-9]*\).*/\1/p' "$T/log" | sed -n 1p)

python3 - "http://127.0.0.1:$port/" "$T/site" >"$T/pages" <<'END'
import html, os, re, sys, urllib.parse, urllib.request
base, site = sys.argv[1:]
def get(url):
    with urllib.request.urlopen(url) as answer:
        return answer.headers.get_content_type(), answer.read()
kind, index = get(base)
assert kind == "text/html" and b"</html>" in index, "the index"
links = {html.unescape(l) for l in re.findall(r'href="([^"#:]+\.html)', index.decode())}
for link in sorted(links):
    url = urllib.parse.urljoin(base, link)
    assert url.startswith(base), f"{link} leads out of the site"
    kind, page = get(url)
    path = urllib.parse.unquote(url[len(base):])
    with open(os.path.join(site, path), "rb") as f:
        assert kind == "text/html" and page == f.read() and b"</html>" in page, path
    print(path)
END
is "$(cd "$T/site" && find . -mindepth 2 -name '*.html' -printf '%P\n' | sort)" "$(sort "$T/pages")" "the pages that the index leads to"
while IFS= read -r page; do
	"$SESSIONFS" -S "$T/src" --cat "html/$page" | cmp - "$T/site/$page" >&2 || die "$page has other bytes than the tree"
done <"$T/pages"
