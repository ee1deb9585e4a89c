// SPDX-License-Identifier: MIT
// node pages.mjs CHROMIUM DIRECTORY MOUNT HTTP ASKED: called by pages.sh.
import fs from "node:fs";
import { start } from "./browser.mjs";
import { code, current, directory, entries, fail, fileBase, is, ok, pageOf, quiet, read, sessions, steps } from "./check.mjs";

const [chromium, work, mount, http, asked] = process.argv.slice(2);
const browser = await start(chromium, work);
const all = sessions(mount);
const local = fileBase(mount);
const rich = all.filter((s) => /^(all-there-is|a#b)/.test(s.stem) || s.title === "Forecast command");
is(3, rich.length, "sessions that are looked at closely");
const most = rich.find((s) => s.stem === "all-there-is"), coded = all.find((s) => s.stem === "coded");
const mostPage = pageOf(local, most), codedPage = pageOf(local, coded);

// --- contents of all pages ----------------------------------------------------------

const shape = () => {
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	const articles = [...document.querySelectorAll("main article")];
	return {
		ids,
		articles: articles.map((e) => e.id),
		inBranches: articles.filter((e) => e.closest("details.branch")).map((e) => e.id),
		texts: Object.fromEntries(articles.map((e) => [e.id, e.textContent])),
		rows: [...document.querySelectorAll("nav ol a")].map((a) => a.getAttribute("href")),
		policy: document.querySelector("meta[http-equiv=Content-Security-Policy]")?.content,
		title: document.title,
		h1: document.querySelectorAll("h1").length,
		open: document.querySelectorAll("main details[open]").length,
		links: [...document.querySelectorAll("a[href]")].map((a) => a.getAttribute("href")),
	};
};

// Words of a text that Markdown does not change.
const words = (text) => text?.slice(0, 1500).match(/[\p{L}\p{N}]{3,}/gu)?.slice(0, -1) ?? [];

function compare(s, is_) {
	const dir = directory(mount, s);
	const ids = entries(dir);
	is([...ids].sort(), [...is_.articles].sort(), "articles, against entries/");
	is(is_.ids.length, new Set(is_.ids).size, `ids that are there twice: ${is_.ids.filter((x, i) => is_.ids.indexOf(x) !== i)}`);
	for (const id of is_.ids)
		if (!ids.includes(id)) ok(/^~[a-z]+$|\//.test(id), `an element has the id ${id}, which may be an entry's`);
	const path = current(dir);
	if (path) is(path, is_.articles.slice(0, path.length), "the current branch, first");
	is([], path?.filter((id) => is_.inBranches.includes(id)) ?? [], "entries of the current branch in a folded one");
	is(0, is_.open, "details that are open at first, but for the tree");
	is(1, is_.h1, "headings of the page");
	for (const id of ids) {
		const e = `${dir}/entries/${id}/`;
		for (const file of ["text.md", "thinking.md", "label", "error"]) {
			const missing = words(read(e + file)).filter((w) => !is_.texts[id].includes(w));
			is([], missing, `words of ${id}/${file} that its article has not`);
		}
	}
	ok(/script-src 'sha256-/.test(is_.policy) && /default-src 'none'/.test(is_.policy) && !/unsafe|https?:/.test(is_.policy), `the policy is ${is_.policy}`);
}

const shown = (id) => {
	const e = document.getElementById(id);
	const r = e.getBoundingClientRect();
	return document.querySelector(":target") === e && e.checkVisibility() && r.bottom > 0 && r.top < innerHeight;
};
const decoded = (href) => decodeURIComponent(href.slice(1));
const row = (n) => document.querySelectorAll("nav ol a")[n];

// Clicks rows of the tree: `most` of them, from the last to the first.
async function clickRows(page, rows, most) {
	const step = Math.ceil(rows.length / most);
	for (let n = rows.length - 1; n >= 0; n -= step) {
		await page.click(row, n);
		await page.becomes(`row ${n} leads to ${rows[n]}`, shown, decoded(rows[n]));
	}
}

async function checkSession(base, s, options) {
	const page = await browser.open(pageOf(base, s), options);
	const has = await page.run(shape);
	const ids = new Set(has.articles);
	compare(s, has);
	for (const href of has.rows) ok(ids.has(decoded(href)), `a row leads to ${href}`);
	// tree.txt has a row for each entry that pi's tree shows.
	const tree = read(`${directory(mount, s)}/tree.txt`)?.trimEnd().split("\n").length ?? 0;
	ok(has.rows.length >= tree, `${has.rows.length} rows, tree.txt has ${tree}`);
	await clickRows(page, has.rows, rich.includes(s) ? 1000 : 5);
	quiet(page, s.stem);
	await page.close();
}

// --- use of a page ------------------------------------------------------------------

const summary = (n) => document.querySelectorAll("main article details > summary")[n];
const isOpen = (n) => {
	const d = document.querySelectorAll("main article details")[n];
	return d.open && [...d.children].every((e) => e.checkVisibility());
};
const openBranches = () => document.querySelectorAll("details.branch").forEach((d) => (d.open = true));

async function unfold(options) {
	for (const s of rich) {
		const page = await browser.open(`${pageOf(local, s)}#view=all`, options);
		await page.run(openBranches);
		const n = await page.run(() => document.querySelectorAll("main article details").length);
		for (let i = 0; i < n && i < 25; i++) {
			await page.click(summary, i);
			await page.becomes(`fold ${i} opens`, isOpen, i);
			await page.click(summary, i);
			await page.becomes(`fold ${i} closes`, (i) => !document.querySelectorAll("main article details")[i].open, i);
		}
		quiet(page, s.stem);
		await page.close();
	}
}

async function pictures() {
	let seen = 0;
	for (const s of all) {
		const dir = directory(mount, s);
		const files = entries(dir).flatMap((id) => (fs.existsSync(`${dir}/entries/${id}/images`) ? fs.readdirSync(`${dir}/entries/${id}/images`).map((f) => [id, f]) : []));
		if (!files.length) continue;
		const page = await browser.open(`${pageOf(local, s)}#view=all`);
		await page.run(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
		const shown = await page.run(async () => {
			const found = [];
			for (const img of document.images) {
				img.scrollIntoView();
				await img.decode().catch(() => {});
				found.push([img.closest("article").id, img.naturalWidth, img.alt]);
			}
			return found;
		});
		if (!/^(odd|refused)/.test(s.stem)) for (const [id, width] of shown) ok(width > 0, `a picture of ${id} is not shown`);
		for (const [id, , alt] of shown) ok(alt, `a picture of ${id} has no text instead`);
		const links = await page.run(() => [...document.querySelectorAll("main a[href*='/images/']")].map((a) => a.pathname));
		for (const [id, file] of files)
			ok(shown.some((p) => p[0] === id) || links.some((l) => decodeURIComponent(l).endsWith(`${id}/images/${file}`)), `${id}/images/${file} is neither shown nor linked`);
		seen += shown.length;
		quiet(page, s.stem);
		await page.close();
	}
	ok(seen >= 5, `${seen} pictures seen`);
}

const fileLink = () => [...document.querySelectorAll("main a[href*='/entries/']")].find((a) => /text\.md$/.test(a.pathname));
// A long output is cut, and a click shows all of it.
async function longOutput(base) {
	const page = await browser.open(pageOf(base, most));
	const whole = read(`${directory(mount, most)}/entries/00000003/text.md`);
	const part = await page.run(() => {
		openAll: for (let e = document.getElementById("00000003"); e; e = e.parentElement) if (e.open === false) e.open = true;
		return document.getElementById("00000003").textContent;
	});
	ok(part.includes("1: the rain") || part.includes("\n2: "), "the output begins in the page");
	ok(part.length < whole.length / 3, `of an output of ${whole.length} characters ${part.length} are in the page`);
	await page.run(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
	quiet(page, "long output");
	await page.follow(fileLink);
	is(whole.trimEnd(), (await page.run(() => document.body.textContent)).trimEnd(), "the file behind the link");
	await page.close();
}

// All links to files have targets in the mount.
async function links() {
	for (const s of all) {
		const page = await browser.open(pageOf(local, s));
		const found = await page.run(() => [...document.querySelectorAll("a[href]")].filter((a) => !a.getAttribute("href").startsWith("#")).map((a) => [a.protocol, a.pathname, a.rel]));
		for (const [protocol, path, rel] of found) {
			if (protocol === "file:") ok(fs.existsSync(decodeURIComponent(path)), `${s.stem}: a link leads to ${path}, where nothing is`);
			else ok(/noopener/.test(rel), `${s.stem}: a link to ${protocol} without rel`);
		}
		await page.close();
	}
}

const button = (text) => [...document.querySelectorAll("button")].find((b) => b.textContent === text);
async function foldAndFilter(page) {
	const open = () => document.querySelectorAll("main details[open]").length;
	const n = await page.run(() => document.querySelectorAll("main details").length);
	await page.click(button, "Unfold all");
	await page.becomes("all is unfolded", (n) => document.querySelectorAll("main details[open]").length === n, n);
	await page.click(button, "Fold all");
	is(0, await page.run(open), "details that are open when all was folded");
	const visible = () => [...document.querySelectorAll("nav ol > li")].filter((r) => r.checkVisibility()).map((r) => r.textContent);
	const rows = await page.run(visible);
	await page.click(() => document.querySelector("nav input"));
	await page.type("BRANCH of");
	const left = await page.run(visible);
	ok(left.length > 0 && left.length < rows.length, `of ${rows.length} rows ${left.length} are left`);
	const has = (words) => [...document.querySelectorAll("nav ol > li")]
		.filter((row) => {
			const entry = document.getElementById(decodeURIComponent(row.firstChild.hash.slice(1)));
			const text = [row, ...[...entry.children].slice(1)].map((e) => e.textContent).join("\n").toLowerCase();
			return words.every((word) => text.includes(word));
		})
		.map((row) => row.textContent);
	is(await page.run(has, ["branch", "of"]), left, "the rows with these words");
	ok(rows.filter((r) => /branch/i.test(r) && /of/i.test(r)).every((r) => left.includes(r)), "also those that say it in the tree");
	// Words far from the beginning of a text are found too, and the address has them.
	await page.run(() => document.querySelector("nav input").select());
	await page.type("19999: ");
	is(0, (await page.run(visible)).length, "rows that say what the page has cut");
	await page.run(() => document.querySelector("nav input").select());
	await page.type("150: the");
	is([], (await page.run(visible)).filter((r) => r.includes("150")), "rows that show what is far behind");
	await page.run(() => document.querySelector("nav input").select());
	await page.type("BRANCH of");
	ok((await page.run(() => location.hash)).includes("find=BRANCH+of"), "the filter is in the address");
	await page.type(" qqq[");
	is([], await page.run(visible), "rows that have none of it");
	await page.run(() => document.querySelector("nav input").select());
	await page.call("Input.dispatchKeyEvent", { type: "keyDown", key: "Delete", code: "Delete", windowsVirtualKeyCode: 46 });
	await page.settled();
	is(rows, await page.run(visible), "rows without a filter");
}

// With a URL fragment, even into a folded branch.
async function arriveInBranch(options) {
	const inner = (await (async () => {
		const page = await browser.open(mostPage, options);
		const has = await page.run(shape);
		await page.close();
		return has.inBranches;
	})()).at(-1);
	const page = await browser.open(`${mostPage}#${inner}`, options);
	await page.becomes(`#${inner} is shown`, shown, inner);
	quiet(page, most.stem);
	await page.close();
}

const overflow = () => [document.documentElement.scrollWidth, innerWidth, [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest("pre, .wide, svg, .skip")).slice(0, 3).map((e) => e.outerHTML.slice(0, 100))];
async function narrow() {
	for (const s of [...rich, ...all.filter((s) => /^(markdown|odd-|surrogates|lanes)/.test(s.stem))]) {
		const page = await browser.open(pageOf(local, s), { width: 390, height: 844 });
		await page.run(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
		const [has, room, who] = await page.run(overflow);
		ok(has <= room, `${s.stem}: the page is ${has} wide where are ${room}: ${who}`);
		await page.click(row, 0);
		quiet(page, s.stem);
		await page.close();
	}
}

// The provider is shown only where the row has room for it.
async function provider(page) {
	const has = await page.run(() => [...document.querySelectorAll(".by")].map((by) => {
		by.closest("article").scrollIntoView();
		const range = document.createRange(), header = by.parentElement.getBoundingClientRect(), box = by.getBoundingClientRect();
		range.selectNodeContents(by);
		const text = range.getBoundingClientRect();
		return [by.previousElementSibling.textContent, by.textContent, text.top < box.bottom - 1 && text.right <= box.right + 1, header.height < 30];
	}));
	is([["claude-sonnet-4-5", "anthropic", true, true], ["claude-sonnet-4-5", "a-provider-with-a-name-of-some-length", false, true]], has, "models, providers, whether they are shown, whether the heading is one line");
	ok((await page.run(() => document.querySelector("main").textContent)).includes("unknown model"), "a model without a name");
}

// Printing shows unfolded parts, dark on light.
async function print(page) {
	await page.run(openBranches);
	await page.run(() => (document.querySelectorAll("main .call > details")[1].open = true));
	ok((await page.pdf()).length > 5000, "a PDF");
	await page.look({ media: "print", dark: true });
	const calls = await page.run(() => [...document.querySelectorAll("main .call pre")].map((e) => [e.checkVisibility(), e.closest("details").open]));
	ok(calls.some(([seen]) => seen) && calls.every(([seen, open]) => seen === open), `what is printed of calls: ${JSON.stringify(calls)}`);
	is([], await page.run(() => [...document.querySelectorAll("main > .part article")].filter((e) => !e.checkVisibility()).map((e) => e.id)), "entries that are not printed");
	ok(!(await page.run(() => document.querySelector("nav").checkVisibility())), "the tree is not printed");
	const light = (c) => Math.max(...c.match(/\d+/g).slice(0, 3).map(Number));
	const [paper, ink] = await page.run(() => [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]);
	ok(light(paper) > 200 && light(ink) < 100, `printed in ${ink} on ${paper} where the screen is dark`);
	quiet(page, "print");
	// If all is unfolded, also all other branches, calls and thinking.
	await page.look({});
	await page.click(button, "Chat");
	await page.click(button, "Unfold all");
	await page.look({ media: "print" });
	is([], await page.run(() => [...document.querySelectorAll("article, article pre, article .md, article img")].filter((e) => !e.checkVisibility() && (e.textContent || e.localName === "img") && !e.matches(".meta, .aside:not(:has(.think))")).map((e) => e.outerHTML.slice(0, 200))), "texts that are not printed where all is unfolded");
}

// --- views, keys and the address ----------------------------------------------------

const visibleEntries = () => [...document.querySelectorAll("main > .part article")].filter((e) => e.checkVisibility()).map((e) => e.id);
async function views() {
	const page = await browser.open(mostPage);
	await page.run(() => document.querySelectorAll(".branch").forEach((d) => (d.open = true)));
	const every = await page.run(() => [...document.querySelectorAll("main > .part article")].map((e) => [e.id, e.className]));
	const wanted = { Chat: (c) => !/aside/.test(c), All: () => true, User: (c) => /user/.test(c), Labelled: (c) => /labelled/.test(c) };
	for (const [name, keeps] of [...Object.entries(wanted), ["Chat", wanted.Chat]]) {
		await page.click(button, name);
		is(every.filter(([, c]) => keeps(c)).map(([id]) => id), await page.run(visibleEntries), `entries in ${name}`);
		is(name === "Chat" ? "" : `#view=${name.toLowerCase()}`, await page.run(() => location.hash), `the address in ${name}`);
	}
	is(0, await page.run(() => [...document.querySelectorAll(".think")].filter((e) => e.checkVisibility()).length), "thinking in the chat");
	// Each of two parallel calls is one block with its result.
	is([true, true], await page.run(() => ["00000003", "00000004"].map((id) => document.getElementById(id).querySelectorAll(".call").length === 1)), "blocks of calls");
	// A call that a link leads to has the whole width, below its heading.
	await page.run(() => (location.hash = "#00000003"));
	await page.becomes("a call in its whole width", () => document.querySelector("article:target .call")?.offsetWidth > document.querySelector("article:target").offsetWidth - 50);
	quiet(page, "views");
	await page.close();
	// A link to an entry that the view hides shows it; a link with both has both.
	const hidden = every.find(([, c]) => /aside/.test(c))[0];
	for (const [hash, view] of [[hidden, "chat"], [`${hidden}&view=user`, "user"]]) {
		const page = await browser.open(`${mostPage}#${hash}`);
		await page.becomes(`#${hash} is shown`, shown, hidden);
		is([view, `#${hash}`], await page.run(() => [document.body.dataset.view, location.hash]), "the view and the address");
		await page.becomes("a row is marked", () => document.querySelectorAll("nav .here").length === 1);
		quiet(page, hash);
		await page.close();
	}
}

// Changing the view keeps the entry that is being read, or one before it. A key can come before the page is drawn.
async function staysThere(page) {
	const press = (text) => page.run((text) => [...document.querySelectorAll("button")].find((b) => b.textContent === text).click(), text);
	const isAtTop = (id) => Math.abs(document.getElementById(id).getBoundingClientRect().top) < 40;
	const [user, next] = await page.run(() => {
		const seen = [...document.querySelectorAll("main > .part article")].filter((e) => e.checkVisibility());
		const at = seen.findIndex((e, n) => n > 0 && e.matches(".user") && !seen[n + 1].matches(".user"));
		return [seen[at].id, seen[at + 1].id];
	});
	await page.run((id) => document.getElementById(id).scrollIntoView(), next);
	await page.becomes("the mark follows", (id) => document.querySelector("nav .here a")?.hash.slice(1) === id, next);
	await press("User");
	await page.becomes(`${user}, which is before it, is at the top`, isAtTop, user);
	await press("All");
	await page.becomes(`${user} is at the top`, isAtTop, user);
	await page.run(() => [..."jjgjj"].forEach((key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }))));
	is((await page.run(visibleEntries))[2], await page.run(() => document.querySelector(":target").id), "where j leads twice behind g");
}

async function keys(page) {
	const press = async (key) => {
		await page.call("Input.dispatchKeyEvent", { type: "keyDown", key, text: key, unmodifiedText: key });
		await page.call("Input.dispatchKeyEvent", { type: "keyUp", key });
		await page.settled();
		await page.settled();
	};
	const seen = await page.run(visibleEntries);
	const users = await page.run(() => [...document.querySelectorAll("main > .part .user")].map((e) => e.id));
	const target = () => document.querySelector(":target")?.id;
	const mark = () => document.querySelector("nav .here")?.textContent;
	const first = await page.becomes("the first row is marked", mark);
	await press("j");
	is(seen[1], await page.run(target), "where j leads");
	await page.becomes("the mark follows", (first) => document.querySelector("nav .here")?.textContent !== first, first);
	await press("k");
	is(seen[0], await page.run(target), "where k leads");
	await press("p");
	is(users[0], await page.run(target), "where p leads");
	await press("?");
	ok((await page.run(() => document.querySelector(".tools details[open]")?.textContent ?? "")).includes("next entry"), "? says what the keys do");
	await press("/");
	ok(await page.run(() => document.activeElement.matches("nav input")), "/ leads to the filter");
	await press("j");
	is("j", await page.run(() => document.querySelector("nav input").value), "what is typed into the filter");
}

// --- code -----------------------------------------------------------------------------

async function codeColours(page) {
	for (const [language, [text, kinds]] of Object.entries(code)) {
		await page.becomes(`${language} has a button`, (language) => document.querySelector(`.language-${CSS.escape(language)}`).previousSibling?.className === "copy", language);
		const has = await page.run((language) => {
			const code = document.querySelector(`.language-${CSS.escape(language)}`);
			return [code.textContent, Object.groupBy([...code.querySelectorAll("span")].map((e) => [e.className, e.textContent]), ([kind]) => kind)];
		}, language);
		is([`${text}\n`, Object.entries(kinds).sort()], [has[0], Object.entries(has[1]).map(([kind, of]) => [kind, of.map(([, text]) => text)]).sort()], `code in ${language}`);
	}
	const colours = await page.run(() => ["c", "s", "n", "k"].map((kind) => getComputedStyle(document.querySelector(`pre .${kind}`)).color));
	is(4, new Set(colours).size, `colours: ${colours}`);
}

async function copies(page) {
	await browser.wire.call("Browser.grantPermissions", { permissions: ["clipboardReadWrite", "clipboardSanitizedWrite"] });
	await page.call("Page.bringToFront");
	for (const [id, n, text] of [["00000003", 0, "seq 100000"], ["00000007", 0, "print('x')\n"], ["00000006", 0, undefined]]) {
		await page.run((id) => document.querySelectorAll(`[id="${id}"] details`).forEach((d) => (d.open = true)), id);
		await page.run((id) => { for (let up = document.getElementById(id); up; up = up.parentElement) if (up.open === false) up.open = true; }, id);
		const pre = ([id, n]) => document.getElementById(id).querySelectorAll("pre")[n];
		await page.run((id) => document.getElementById(id).scrollIntoView(), id);
		await page.becomes(`${id} has a button`, (id) => document.getElementById(id).querySelector(".copy"), id);
		const whole = await page.run((id) => document.getElementById(id).querySelector("pre").textContent, id);
		await page.click((id) => document.getElementById(id).querySelector(".copy"), id);
		await page.becomes("the button says so", (id) => document.getElementById(id).querySelector(".copy").ariaLabel === "Copied", id);
		is(text ?? whole, await page.run(() => navigator.clipboard.readText()), `what is copied of ${id}`);
	}
}

// --- finds ------------------------------------------------------------------------------

const marked = (name) => [...(CSS.highlights.get(name) ?? [])].map((r) => [r.startContainer.parentElement.closest("article").id, r.startContainer.data.slice(r.startOffset, r.endOffset)]);
const foundAt = () => {
	const [r] = CSS.highlights.get("found") ?? [], range = document.createRange();
	if (!r) return undefined;
	range.setStart(r.startContainer, r.startOffset);
	range.setEnd(r.endContainer, r.endOffset);
	const box = range.getBoundingClientRect(), text = range.startContainer.parentElement.closest("article").textContent;
	const before = document.createRange();
	before.setStart(range.startContainer.parentElement.closest("article"), 0);
	before.setEnd(range.startContainer, r.startOffset);
	return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight ? `${range.startContainer.parentElement.closest("article").id} ${before.toString().length} ${range}` : undefined;
};
const filterField = () => document.querySelector("nav input");
async function findsLeadOn(page) {
	const press = async (key, modifiers = 0) => {
		for (const type of ["keyDown", "keyUp"]) await page.call("Input.dispatchKeyEvent", { type, key, modifiers, ...(key.length === 1 && type === "keyDown" ? { text: key } : {}) });
		await page.settled();
	};
	await page.click(filterField);
	await page.type("Branch deep");
	is([], await page.run(marked, "find"), "marks of words that no entry has together");
	await page.run(() => document.querySelector("nav input").select());
	await page.type("BRANCH");
	// Only the text is marked, in entries of the filter.
	await page.becomes("what is in view is marked", (f) => eval(f)("find").length > 0, `(${marked})`);
	ok((await page.run(marked, "find")).every(([, text]) => text.toLowerCase() === "branch"), "only the word is marked");
	const all = await page.run(() => [...document.querySelectorAll("article")].filter((e) => [...e.children].slice(1).some((e) => /branch/i.test(e.textContent)) && [...document.querySelectorAll("nav ol a")].some((a) => a.hash === `#${e.id}`)).flatMap((e) => [...e.textContent.slice(e.firstChild.textContent.length).matchAll(/branch/gi)].map((m) => `${e.id} ${m.index + e.firstChild.textContent.length} ${m[0]}`)));
	ok(all.length > 4, `finds: ${all}`);
	const step = async (key, modifiers) => {
		await press(key, modifiers);
		const before = await page.becomes(`${key} leads to a find in view`, foundAt);
		await page.settled();
		return (await page.run(foundAt)) ?? before;
	};
	const first = all.indexOf(await step("Enter"));
	ok(first >= 0, "the first find is one");
	for (let n = 1; n <= all.length; n++) {
		await press("Enter");
		const want = all[(first + n) % all.length];
		await page.becomes(`Enter leads to ${want}`, (f, want) => eval(f)() === want, `(${foundAt})`, want);
		ok(await page.run(() => document.activeElement === document.body), "the page has the keys");
	}
	const then = (first + all.length - 1) % all.length;
	await press("Enter", 8);
	await page.becomes(`Shift+Enter leads to ${all[then]}`, (f, want) => eval(f)() === want, `(${foundAt})`, all[then]);
	await page.click(filterField);
	await press("Escape");
	is(["BRANCH", false], await page.run(() => [document.querySelector("nav input").value, document.activeElement.matches("input")]), "Escape leaves the field");
	await press("n");
	await page.becomes(`n leads to ${all[first]}`, (f, want) => eval(f)() === want, `(${foundAt})`, all[first]);
	await press("p");
	await page.becomes(`p leads to ${all[then]}`, (f, want) => eval(f)() === want, `(${foundAt})`, all[then]);
}

// A link of a search opens the entry where its words are: the call at its result, in a branch, also words that are cut.
async function hits() {
	const arrives = async (s, hash, id, text, find) => {
		const page = await browser.open(`${pageOf(local, s)}#${hash}`);
		await page.becomes(`#${hash} leads to ${id}`, (id) => document.querySelector(":target")?.id === id && document.querySelector(":target").checkVisibility(), id);
		if (text) {
			const at = await page.becomes(`#${hash} leads to ${text}, in view`, foundAt);
			is([id, text], [at.split(" ")[0], at.split(" ").slice(2).join(" ")], `the find of ${hash}`);
			if (!text.startsWith("Cut")) await page.becomes(`${hash} is marked`, (f, text) => eval(f)("find").some(([, marked]) => marked === text), `(${marked})`, text);
			is(true, await page.run(() => { let e = [...CSS.highlights.get("found")][0].startContainer.parentElement; for (; e; e = e.parentElement) if (e.open === false) return e.outerHTML; return true; }), `what is unfolded for ${hash}`);
		} else {
			is([], await page.run((id) => [...document.querySelectorAll(`[id="${id}"] > .call > details`)].filter((e) => !e.open).map((e) => e.id), id), `what is folded in ${hash}`);
		}
		is([find, true], await page.run((id) => [document.querySelector("nav input").value, [...document.querySelectorAll("nav ol > li")].some((row) => row.firstChild.hash === `#${id}` && row.checkVisibility())], id), `the filter of ${hash}, and whether the tree has the entry`);
		quiet(page, hash);
		return page;
	};
	for (const [hash, ...more] of [
		["00000002&find=100000", "00000003", "100000", "100000"],
		["00000002&find=first%20look%20%22i%20answer%22", "00000002", "First", 'first look "i answer"'],
		["00000003&find=19999%3A", "00000003", "Cut here. ", "19999:"],
		["00000005&find=b.py", "00000007", "b.py", "b.py"],
		["0000000e&find=deep%20nowhere", "0000000e", "Deep", "deep nowhere"],
		["00000010&find=BRANCH&view=all", "00000010", "branch", "BRANCH"],
	]) await (await arrives(most, hash, ...more)).close();
	// The next key goes on; another entry is not searched for the words.
	const page = await arrives(most, "00000010&find=branch", "00000010", "branch", "branch");
	for (const type of ["keyDown", "keyUp"]) await page.call("Input.dispatchKeyEvent", { type, key: "n", ...(type === "keyDown" ? { text: "n" } : {}) });
	await page.becomes("n leads on", (f) => /^(?!00000010)/.test(eval(f)() ?? "00000010"), `(${foundAt})`);
	await page.close();
	// As in a search, typographic quotes, dashes and blanks are equal to plain ones, and accents to composed ones.
	const last = entries(directory(mount, coded)).at(-1);
	await (await arrives(coded, `${last}&find=%22it's%20a%20well-known%20caf%C3%A9%22`, last, "It\u2019s\u00a0a well\u2010known cafe\u0301", "\"it's a well-known caf\u00e9\"")).close();
}

// --- times, groups, other places -----------------------------------------------------------

// The mount is in UTC, the reader in New York.
async function times() {
	for (const scripts of [true, false]) {
		const page = await browser.open(mostPage, { scripts });
		const has = await page.run(() => [document.getElementById("~zone").textContent, ...[document.querySelector(".top time"), document.querySelector("article time")].map((e) => [e.dateTime, e.title, e.textContent])]);
		const time = "2026-05-01T08:00:03.000Z";
		const shown = scripts ? ["2026-05-01 08:00 UTC", "2026-05-01 04:00"] : ["", "2026-05-01 08:00"];
		is([scripts ? "America/New_York" : "UTC", [time, ...shown], [time, ...shown]], has, `times ${scripts ? "with" : "without"} scripts`);
		await page.close();
	}
}

async function groups(page) {
	const has = await page.run(() => [...document.querySelectorAll(".tools [role=group]")].map((e) => [e.ariaLabel, [...e.children].map((b) => b.textContent)]));
	is([["View", ["Chat", "All", "User", "Labelled"]], ["Folds", ["Unfold all", "Fold all"]]], has, "groups of controls");
}

// A page that was copied alone has no links to other files; in a copy of html/, it has links to pages.
async function elsewhere() {
	const from = `${mount}/html/${coded.project}`;
	for (const [to, title, want] of [["alone.html", "alone", 0], [`site/${coded.project}/coded.html`, "a copy of html", 1], [`html/${coded.project}/coded.html`, "a copy of the mount", 2], [`html/other/coded.html`, "another project", 0]]) {
		const file = `${work}/${to}`;
		fs.mkdirSync(file.replace(/[^/]*$/, ""), { recursive: true });
		fs.writeFileSync(file, fs.readFileSync(`${from}/coded.html`));
		const page = await browser.open(`file://${file}`);
		const links = await page.run(() => [...document.querySelectorAll("a[href]")].map((a) => a.getAttribute("href")).filter((href) => href[0] !== "#").sort());
		const pages = ["../index.html", `../${coded.project}/all-there-is.html`], files = [`../../projects/${coded.project}/coded/`];
		is([...(want > 1 ? files : []), ...(want ? pages : [])].sort(), links.sort(), `links of ${title}`);
		is(want > 1, await page.run(() => document.querySelector(".top").textContent.includes("projects/")), `whether ${title} names files of the mount`);
		quiet(page, title);
		await page.close();
	}
}

// The depth of a row is written in two digits.
async function depths(page) {
	const has = await page.run(() => Array.from({ length: 65 }, (_, n) => {
		const row = document.querySelector("nav ol").appendChild(document.createElement("li"));
		row.className = `u d${n % 8}${n > 7 ? ` e${n >> 3}` : ""}`;
		return Math.round(parseFloat(getComputedStyle(row).paddingLeft) / 1.6);
	}));
	is(Array.from({ length: 65 }, (_, n) => 5 + 7 * Math.min(n, 16) + 2 * Math.max(n - 16, 0)), has, "tenths of a rem by depth");
}

// A title of many lines shows two, without remains of the third below them.
async function titles(page) {
	const clip = await page.run(() => {
		const e = [...document.querySelectorAll("#list tbody th a")].find((e) => e.scrollHeight > e.clientHeight + 8);
		e.scrollIntoView({ block: "center" });
		const r = e.getBoundingClientRect();
		return { x: r.left, y: r.bottom + scrollY, width: r.width, height: 5, scale: 1 };
	});
	const strip = async () => (await page.call("Page.captureScreenshot", { format: "png", clip })).data;
	const is_ = await strip();
	await page.run(() => document.querySelectorAll("#list tbody th a").forEach((e) => (e.style.visibility = "hidden")));
	is(is_, await strip(), "pixels below a title");
}

async function telephone() {
	for (const s of rich) {
		const page = await browser.open(pageOf(local, s), { width: 390, height: 844 });
		const top = await page.run(() => [...document.querySelectorAll("article")].find((e) => e.checkVisibility()).getBoundingClientRect().top);
		ok(top < 600, `${s.stem}: the first message begins at ${top} of 844 pixels`);
		await page.close();
	}
}

async function hover(page) {
	const title = await page.run(() => {
		const row = document.querySelector("nav ol a");
		row.dispatchEvent(new Event("mouseover", { bubbles: true }));
		return row.parentElement.title;
	});
	ok(title.includes("x".repeat(300)), `the row says ${title}`);
}

// --- the headers of the web server -------------------------------------------------

function served() {
	const paths = fs.readFileSync(asked, "utf8").match(/"[A-Z]+ [^"]*"/g) ?? [];
	ok(paths.length > 0, "the web server was asked for something");
	for (const p of paths) ok(/^"GET \/html\/\S+\.html /.test(p), `the web server was asked for ${p}`);
}

await steps(browser, [
	...all.map((s) => [`${s.project}/${s.stem}`, () => checkSession(local, s)]),
	...rich.map((s) => [`${s.stem} by HTTP`, () => checkSession(http, s)]),
	...rich.map((s) => [`${s.stem} without scripts`, () => checkSession(local, s, { scripts: false })]),
	["folds open and close", () => unfold()],
	["folds open and close without scripts", () => unfold({ scripts: false })],
	["pictures", pictures],
	["what the web server was asked", served],
	["a long output", () => longOutput(local)],
	["a long output by HTTP", () => longOutput(http)],
	["links to files", links],
	["fold all and filter", foldAndFilter, mostPage],
	["arrive in a branch", () => arriveInBranch()],
	["arrive in a branch without scripts", () => arriveInBranch({ scripts: false })],
	["narrow", narrow],
	["print", print, `${mostPage}#view=all`, { dark: true }],
	["views", views],
	["keys", keys, mostPage, { height: 600 }],
	["another view", staysThere, pageOf(local, rich.find((s) => s.title === "Forecast command")), { height: 120 }],
	["telephone", telephone],
	["hover", hover, mostPage],
	["provider", provider, `${codedPage}#view=all`],
	["colours of code", codeColours, codedPage, { height: 4000 }],
	["copies of code", copies, `${mostPage}#view=all`],
	["finds", findsLeadOn, mostPage],
	["hits", hits],
	["times", times],
	["groups of controls", groups, mostPage],
	["pages in other places", elsewhere],
	["depths of rows", depths, mostPage],
	["titles", titles, `${local}html/index.html`, { width: 390, height: 844 }],
]);
