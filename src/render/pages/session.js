"use strict";
{
	const tree = document.getElementById("~tree"), nav = tree.closest("nav"), fold = tree.parentElement;
	const wide = matchMedia("(min-width: 56.01rem)");
	const all = (css, under = document) => [...under.querySelectorAll(css)];
	const make = (tag, text, more) => Object.assign(document.createElement(tag), { textContent: text }, more);
	const decode = (text) => {
		try {
			return decodeURIComponent(text);
		} catch {
			return text;
		}
	};
	for (const span of all(".top .working")) if (Date.now() - Date.parse(span.title) > 3600000) span.textContent = "abandoned";
	const zone = document.getElementById("~zone"), two = (n) => String(n).padStart(2, "0");
	if (zone) zone.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
	for (const time of all("time")) {
		const at = new Date(time.dateTime);
		time.title = `${at.toISOString().slice(0, -8).replace("T", " ")} UTC`;
		time.textContent = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
	}
	/* A page elsewhere than in the mount or in a copy of html/ has no other files around it. */
	const page = document.querySelector(".top").dataset.page?.slice(2), path = decode(location.pathname);
	for (const a of all("a[href^='../']"))
		if (!path.endsWith(a.matches("[href^='../../']") ? `/html${page}` : page)) (a.closest(".top > p, .top dl > div") ?? a).remove();

	const articles = all("article");
	const places = new Map(articles.map((article, n) => [article, n]));
	const rows = new Map([...tree.children].map((row) => [document.getElementById(decode(row.firstChild.hash.slice(1))), row]));
	const rowOf = (article) => {
		for (let n = places.get(article); n >= 0; n--) if (rows.has(articles[n])) return rows.get(articles[n]);
	};

	/* Characters that a search compares as the first of their set. */
	const sets = ["'\u2018\u2019\u201b\u02bc", "-\u2010-\u2015\u2212", " \u00a0\u202f\u2007\u2009"];
	const plain = (text) => sets.reduce((text, set) => text.replace(RegExp(`[${set}]`, "g"), set[0]), text.toLowerCase().normalize());

	/* The text of an entry without its heading. */
	const texts = new Map();
	const textOf = (article) => {
		if (!texts.has(article)) texts.set(article, [...article.children].slice(1).map((e) => e.textContent).join("\n"));
		return texts.get(article);
	};
	const lower = new Map();
	const says = (article, row) => {
		if (!lower.has(article)) lower.set(article, plain(`${row.textContent}\n${textOf(article)}`));
		return lower.get(article);
	};

	/* The address: #ID&view=VIEW&find=WORDS, without parts that are unset. */
	const views = ["chat", "all", "user", "labelled"];
	let view = views[0];
	const at = (id) => document.getElementById(id) ?? document.getElementById(decode(id));
	const keep = (id) => {
		const state = new URLSearchParams();
		if (view !== views[0]) state.set("view", view);
		if (input.value.trim()) state.set("find", input.value.trim());
		const hash = [id, state.toString()].filter(Boolean).join("&");
		if (hash !== location.hash.slice(1)) history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
	};
	const read = () => {
		const hash = location.hash.slice(1), and = hash.indexOf("&");
		if (at(hash) || (and < 0 && !/^(view|find)=/.test(hash))) return { id: hash };
		const id = /^(view|find)=/.test(hash) ? "" : hash.slice(0, and);
		return { id, state: new URLSearchParams(id ? hash.slice(and + 1) : hash) };
	};

	/* Shows the rows that have all words and "phrases", ignoring case. */
	const filter = () => {
		const words = [...plain(input.value).matchAll(/"([^"]+)"|\S+/g)].map(([word, phrase]) => phrase ?? word);
		for (const [article, row] of rows) row.hidden = !words.every((word) => says(article, row).includes(word));
		word = words.length && RegExp(words.map((text) => sets.reduce((text, set) => text.replaceAll(set[0], `[${set}]`), text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&").replace(/[^\0-~]/gu, (c) => `(?:${c}|${c.normalize("NFD")})`))).join("|"), "giu");
		found = hit = undefined;
		remark();
	};

	/* The words of the filter are marked in the parts in view. */
	let word, found, marks;
	/* The entry of a search, also without all words: the page can have cut its text. */
	let hit;
	const isFound = (article) => article === hit || rows.get(article)?.hidden === false;
	const finds = (article) => {
		const ranges = [];
		if (!word || !isFound(article)) return ranges;
		for (const walk = document.createTreeWalker(article, NodeFilter.SHOW_TEXT); walk.nextNode() && ranges.length < 2000; ) {
			const node = walk.currentNode;
			if (article.firstChild.contains(node)) continue;
			for (const { 0: text, index } of node.data.matchAll(word)) ranges.push(new StaticRange({ startContainer: node, startOffset: index, endContainer: node, endOffset: index + text.length }));
		}
		return ranges;
	};
	const near = new Set();
	const seen = new IntersectionObserver((changes) => {
		for (const { target, isIntersecting } of changes) {
			if (!target.matches("pre")) near[isIntersecting ? "add" : "delete"](target);
			else if (isIntersecting) seen.unobserve(target), paint(target);
		}
		remark();
	});
	all(".part, pre").forEach((e) => seen.observe(e));
	const remark = () => {
		if (CSS.highlights) marks ??= requestAnimationFrame(() => {
			marks = undefined;
			const marked = new Highlight();
			for (const part of near) for (const article of part.children) for (const range of finds(article)) marked.add(range);
			CSS.highlights.set("find", marked).set("found", new Highlight(...(found?.ranges ?? [])));
		});
	};
	/* Goes to the next find, around the ends of the page. */
	const findNext = (step) => {
		let n = found ? found.n + step : 0, at = places.get(found?.article ?? here) ?? 0;
		for (let tries = 0; tries <= articles.length; tries++, at = (at + step + articles.length) % articles.length) {
			const article = articles[at];
			if (!isFound(article)) continue;
			all("pre", article).forEach(paint);
			const ranges = finds(article), last = Math.max(ranges.length - 1, 0);
			if (tries) n = step > 0 ? 0 : last;
			if (n < 0 || n > last) continue;
			const node = ranges[n]?.startContainer;
			unfold(node, (details) => !details.firstChild.contains(node));
			go(article, { article, n, ranges: ranges.slice(n, n + 1) });
			return remark();
		}
	};
	const unfold = (from, has = () => true) => {
		for (let up = from; up; up = up.parentElement) if (up.tagName === "DETAILS" && has(up)) up.open = true;
	};
	/* Goes to the words in an entry, or in the result that shows its call, and unfolds what has them. */
	/* If the page has cut them, goes to the link to the complete file. */
	const findIn = (entry) => {
		let ranges = [];
		for (const block of [entry, ...all(`.call[id^="${CSS.escape(entry.id)}/"]`)]) {
			hit = block.closest("article");
			all("pre", hit).forEach(paint);
			ranges = finds(hit);
			if (ranges.length) break;
		}
		if (!ranges.length) hit = entry;
		const end = !ranges.length && all(".cut", hit).find((cut) => cut.textContent.startsWith("Cut"))?.firstChild;
		if (end) ranges = [new StaticRange({ startContainer: end, startOffset: 0, endContainer: end, endOffset: end.length })];
		const row = rowOf(hit);
		if (row) row.hidden = false;
		for (const { startContainer } of ranges) unfold(startContainer);
		if (!ranges.length) all("details", hit).forEach((details) => (details.open = true));
		unfold(hit);
		go(hit, { article: hit, n: 0, ranges: ranges.slice(0, 1) });
		remark();
	};
	const show = (which) => {
		view = views.includes(which) ? which : views[0];
		document.body.dataset.view = view;
		switches.forEach((button, n) => button.setAttribute("aria-pressed", views[n] === view));
	};
	const setFolds = (open) => {
		for (const details of all("main details")) details.open = open;
	};

	/* Code: names of languages, comments, strings, words. What begins matches to its end or the text's: so time is linear. */
	const quoted = /"""[^]*?(?:"""|(?![^]))|'''[^]*?(?:'''|(?![^]))|"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?/, hash = /(?<!\S)#.*|<#[^]*?(?:#>|(?![^]))/;
	const block = /\/\*[^]*?(?:\*\/|(?![^]))/, slashes = RegExp(`//.*|${block.source}`), key = "(?<![\\w-])[\\w-]+(?=:(?:\\s|$))";
	const sql = "add all alter and as asc between by case check column create default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references right select set table then union unique update using values view when where with";
	const languages = new Map([
		["ts typescript tsx js javascript jsx java json", slashes, RegExp(`${quoted.source}|\`(?:\\\\[^]|[^\`\\\\])*\`?`), "abstract as async await boolean break case catch class const continue default delete do else enum export extends false final finally for from function if implements import in instanceof int interface let new null of package private protected public readonly return static super switch this throw throws true try type typeof undefined var void while yield"],
		["command bash sh powershell", hash, /"(?:[\\`][^]|[^"\\`])*"?|'[^']*'?/, "break case catch do done elif else elseif esac exit export fi finally for foreach function if in local param return then throw try until while"],
		["python toml", hash, quoted, "False None True and as assert async await break class continue def del elif else except false finally for from global if import in is lambda nonlocal not or pass raise return self true try while with yield"],
		["lua", /--\[\[[^]*?(?:]]|(?![^]))|--.*/, quoted, "and break do else elseif end false for function if in local nil not or repeat return then true until while"],
		["html", /<!--[^]*?(?:-->|(?![^]))/, quoted, /<\/?[\w-]+|\/?>/],
		["c cpp c++ h", slashes, quoted, "alignas auto bool break case catch char class const constexpr continue default define delete do double elif else endif enum explicit extern false final float for friend goto if ifdef ifndef include inline int long mutable namespace new noexcept nullptr operator override pragma private protected public register restrict return short signed sizeof static static_assert struct switch template this throw true try typedef typename undef union unsigned using virtual void volatile while NULL"],
		["rust rs", slashes, /"(?:\\[^]|[^"\\])*"?|'(?:\\[^][^'\n]*|[^'\\\n])'/, "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while"],
		["go golang", slashes, RegExp(`${quoted.source}|\`[^\`]*\`?`), "break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil package range return select struct switch true type var"],
		["sql", RegExp(`--.*|${block.source}`), /'[^']*'?|"[^"]*"?|`[^`]*`?/, `${sql} ${sql.toUpperCase()}`],
		["yaml yml", hash, RegExp(`(?<!\\w)(?:${quoted.source})`), RegExp(`${key}|\\b(?:true|false|null)\\b`)],
		["css", block, quoted, RegExp(`@[\\w-]+|!important|${key}`)],
	].flatMap(([names, comment, string, words]) => {
		const word = words.source ?? `\\b(?:${words.replaceAll(" ", "|")})\\b`;
		const token = RegExp(`(?<c>${comment.source})|(?<s>${string.source})|(?<n>\\b\\d[\\d_]*(?:\\.\\d+)?(?:e[+-]?\\d+)?\\w*)|(?<k>${word})`, "g");
		return names.split(" ").map((name) => [`language-${name}`, token]);
	}));
	/* Colours code that comes into view, and adds a button that copies it. */
	const fresh = new Set(all("pre"));
	const paint = (pre) => {
		if (!fresh.delete(pre)) return;
		const code = pre.querySelector("code") ?? pre, text = code.textContent, token = languages.get(code.className);
		if (token) {
			let end = 0;
			code.textContent = "";
			for (const { 0: part, index, groups } of text.matchAll(token)) {
				code.append(text.slice(end, index), make("span", part, { className: Object.keys(groups).find((kind) => groups[kind]) }));
				end = index + part.length;
			}
			code.append(text.slice(end));
		}
		const copy = make("button", "", { type: "button", className: "copy", ariaLabel: "Copy" });
		copy.addEventListener("click", async () => {
			try {
				await navigator.clipboard.writeText(text);
				copy.ariaLabel = "Copied";
			} catch {
				getSelection().selectAllChildren(code);
			}
		});
		pre.prepend(copy);
		remark();
	};
	addEventListener("beforeprint", () => fresh.forEach((pre) => pre.checkVisibility() && paint(pre)));

	/* The target of a jump, until it is in view. */
	let goal;
	/* The reader's position: the last link's target while its beginning is in view, else the entry at the top. */
	let here;
	const mark = (article) => {
		if (!article || article === here) return;
		rowOf(here)?.classList.remove("here");
		here = article;
		const row = rowOf(here);
		row?.classList.add("here");
		/* While the mouse is in the tree, the reader searches there. */
		if (!row || !wide.matches || nav.matches(":hover")) return;
		const r = row.getBoundingClientRect(), n = nav.getBoundingClientRect();
		if (r.top < n.top || r.bottom > n.bottom) nav.scrollTop += r.top - n.top - n.height / 2;
	};
	const look = () => {
		if (goal) return;
		const target = document.querySelector("article:target"), top = target?.getBoundingClientRect().top;
		let found = target && top >= -1 && top < innerHeight ? target : undefined;
		const { left, width } = document.querySelector("main").getBoundingClientRect();
		for (let y = 20; !found && y < innerHeight; y += 20) found = document.elementFromPoint(left + width / 2, y)?.closest("article");
		mark(found);
	};
	let looks = false;
	const soon = () => {
		/* Entries are found only after they are drawn. */
		if (!looks) requestAnimationFrame(() => setTimeout(() => { looks = false; look(); }));
		looks = true;
	};

	/* Entries are laid out when they come into view, and then move again. */
	const arrive = (article, times = 4) => {
		goal = article;
		/* The next key can come before the page is drawn. */
		mark(article);
		const find = found?.article === article && found.ranges[0];
		if (find) {
			const range = new Range();
			range.setStart(find.startContainer, find.startOffset);
			scrollBy(0, range.getBoundingClientRect().top - innerHeight / 3);
		} else article.scrollIntoView();
		if (times) requestAnimationFrame(() => setTimeout(() => { if (article === goal) arrive(article, times - 1); }));
		else {
			goal = undefined;
			soon();
		}
	};
	const find = (text) => {
		if (input.value.trim() === text) return false;
		input.value = text;
		filter();
		return word;
	};
	/* Chromium opens the elements around a target itself. */
	const reveal = () => {
		const { id, state } = read();
		if (state) {
			show(state.get("view"));
			if (find(state.get("find") ?? "") && at(id)) return findIn(at(id));
			/* Makes the entry the target, which the full address does not. */
			if (at(id) && !at(id).matches(":target")) location.replace(`#${id}`);
		} else if (!id) {
			show();
			find("");
		}
		unfold(at(id));
		keep(id);
		if (at(id)) arrive(at(id));
		else soon();
	};
	const go = (article, find) => {
		if (!article) return;
		found = find;
		location.replace(`#${encodeURIComponent(article.id)}`);
		keep(location.hash.slice(1));
		arrive(article);
	};
	const leap = (y, article) => {
		goal = undefined;
		scrollTo(0, y);
		mark(article);
	};
	const next = (step, css) => {
		const from = here ? places.get(here) : -1;
		for (let n = from + step; n >= 0 && n < articles.length; n += step)
			if (articles[n].matches(css) && articles[n].checkVisibility()) return articles[n];
	};
	const keys = [
		["j", "next entry", () => go(next(1, "article"))],
		["k", "previous entry", () => go(next(-1, "article"))],
		["n", "next message of the user, or next find of the filter", () => (word ? findNext(1) : go(next(1, ".user")))],
		["p", "previous one", () => (word ? findNext(-1) : go(next(-1, ".user")))],
		["/", "filter; Enter leads to the first find, Escape leaves", () => { fold.open = true; input.focus(); }],
		["g", "to the beginning", () => leap(0, articles.find((article) => article.checkVisibility()))],
		["G", "to the end", () => leap(document.body.scrollHeight, articles.findLast((article) => article.checkVisibility()))],
		["?", "these keys", () => { help.open = !help.open; help.scrollIntoView({ block: "nearest" }); }],
	];

	const tools = make("div", "", { className: "tools" });
	const button = (text, act) => {
		const made = make("button", text, { type: "button" });
		made.addEventListener("click", act);
		return made;
	};
	const input = make("input", "", { type: "search", placeholder: "Filter by text of entries" });
	input.setAttribute("aria-label", "Filter the tree");
	input.addEventListener("input", () => { filter(); keep(read().id); });
	input.addEventListener("keydown", (event) => {
		if (event.isComposing || !["Enter", "Escape"].includes(event.key)) return;
		event.preventDefault();
		input.blur();
		if (event.key === "Enter" && word) findNext(event.shiftKey ? -1 : 1);
	});
	const switches = ["Chat", "All", "User", "Labelled"].map((text, n) =>
		button(text, () => {
			show(views[n]);
			keep(read().id);
			/* The reader stays here, or goes to the entry before. */
			const near = here?.checkVisibility() ? here : next(-1, "article");
			if (near) arrive(near);
			else soon();
		}));
	switches[3].disabled = !document.querySelector(".labelled");
	const help = make("details", "");
	const list = make("dl", "");
	for (const [key, what] of keys) list.append(make("dt", key), make("dd", what));
	help.append(make("summary", "? Keys"), list);
	const group = (ariaLabel, ...buttons) => {
		const made = make("div", "", { role: "group", ariaLabel });
		made.append(...buttons);
		return made;
	};
	tools.append(group("View", ...switches), group("Folds", button("Unfold all", () => setFolds(true)), button("Fold all", () => setFolds(false))), help);
	fold.before(tools);
	tree.before(input);
	fold.open = wide.matches;

	addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.("input")) return;
		const name = event.key === "Enter" && word && event.target === document.body ? (event.shiftKey ? "p" : "n") : event.key;
		const key = keys.find(([key]) => key === name);
		if (!key) return;
		event.preventDefault();
		key[2]();
	});
	/* A row shows the beginning of this text; a browser shows about this much of it. */
	tree.addEventListener("mouseover", ({ target }) => {
		const row = target.closest("li");
		if (row && !row.title) row.title = textOf(document.getElementById(decode(row.firstChild.hash.slice(1)))).trim().slice(0, 2000) || row.textContent;
	});
	addEventListener("scroll", soon, { passive: true });
	addEventListener("hashchange", reveal);
	/* After loading, a browser searches the entries for the whole address. */
	addEventListener("load", () => read().state && reveal());
	show();
	reveal();
}
