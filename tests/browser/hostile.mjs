// SPDX-License-Identifier: MIT
// node hostile.mjs CHROMIUM DIRECTORY MOUNT OTHER: called by hostile.sh. OTHER has an ordinary session.
import fs from "node:fs";
import { start } from "./browser.mjs";
import { fileBase, is, ok, pageOf, quiet, sessions, steps } from "./check.mjs";
import { chunks, corpus, fragments } from "./corpus.mjs";

const [chromium, work, mount, other] = process.argv.slice(2);
const browser = await start(chromium, work);
const all = sessions(mount);

// The elements of our pages, with their attributes. No page has any others.
const allowed = {
	"*": "id class dir title hidden tabindex role aria-label aria-current aria-labelledby aria-describedby aria-hidden aria-sort aria-pressed aria-expanded aria-controls aria-live",
	html: "lang", head: "", meta: "charset name content http-equiv", link: "rel href", title: "", style: "", script: "", body: "data-view",
	header: "data-page", main: "", nav: "", section: "", article: "", footer: "", div: "", span: "", p: "", h1: "", h2: "", h3: "", h4: "", h5: "", h6: "",
	a: "href rel", b: "", strong: "", em: "", code: "", pre: "", ins: "", del: "", kbd: "", small: "", br: "", hr: "", blockquote: "", time: "datetime",
	details: "open", summary: "", mark: "", ol: "start", ul: "", li: "", dl: "", dt: "", dd: "", img: "src alt loading width height",
	table: "", caption: "", thead: "", tbody: "", tr: "", th: "scope data-n", td: "data-v",
	button: "type disabled", select: "", option: "value", input: "type placeholder name autocomplete value", label: "for", output: "for",
	svg: "xmlns viewBox y width height preserveAspectRatio", g: "transform fill", rect: "x y width height fill", line: "x1 y1 x2 y2 stroke", path: "d fill stroke", text: "x y text-anchor fill transform font-size", desc: "", tspan: "x y dy",
};

// Returns everything in the document that is not on the list.
const strange = (allowed) => {
	const found = [];
	const lists = Object.fromEntries(Object.entries(allowed).map(([tag, names]) => [tag, new Set(names.split(" "))]));
	const say = (e, what) => found.length < 20 && found.push(`${what}: ${e.outerHTML?.slice(0, 200)}`);
	for (const e of document.querySelectorAll("*")) {
		const own = Object.hasOwn(lists, e.localName) ? lists[e.localName] : lists["*"];
		if (own === lists["*"]) say(e, "an element");
		for (const a of e.attributes) if (!own.has(a.name) && !lists["*"].has(a.name)) say(e, `the attribute ${a.name}`);
		const href = e.getAttribute("href");
		// The links of texts have a rel, and no others do.
		if (e.localName === "a" && !(e.rel === "noopener noreferrer" ? /^(https?:\/\/|mailto:)/i : /^(#|\.\.\/|[^/:?#]+\/[^/:?#]+\.html$)/).test(href)) say(e, "a link");
		if (e.localName === "img" && !/^data:image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml);base64,[A-Za-z0-9+/=]*$/.test(e.getAttribute("src"))) say(e, "a picture");
		if (!["auto", null].includes(e.getAttribute("dir"))) say(e, "a direction");
		if (e.className && typeof e.className === "string" && !/^[\w .~+#-]*$/.test(e.className)) say(e, "a class");
	}
	const comments = document.createTreeWalker(document, NodeFilter.SHOW_COMMENT);
	while (comments.nextNode()) found.push(`a comment: ${comments.currentNode.data.slice(0, 100)}`);
	return found;
};
// Our own parts: the head without the title, and the script.
const ours = () => {
	const head = document.head.cloneNode(true);
	head.querySelector("title").textContent = "";
	return [head.innerHTML, [...document.scripts].map((s) => [s.textContent, s.parentElement.localName]), document.doctype?.name, document.compatMode, document.characterSet, document.forms.length, document.querySelectorAll("main, .top h1").length];
};
// A page leaves out CSI and OSC sequences, and of a line with CR all but the last part.
const flat = (text) => text.replace(/\x1b\[[0-?]*[ -/]*[@-~]|[^\n]*\r(?![\r\n]|$)|\x1b\][^\0-\x1f\x7f-\x9f\u2028\u2029]*(\x07|\x1b\\)?/g, "").replace(/\0/g, "\u2400").replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd").replace(/[\x01-\x20\x7f-\xa0\u2028\u2029\ufeff]+/g, " ").trim();

const plain = {};
async function usual(url) {
	const page = await browser.open(url);
	const has = await page.run(ours), policy = await page.run(() => document.querySelector("meta[http-equiv]").content.replace(/'sha256-[\w+/]{43}='/g, "HASH"));
	is("default-src 'none'; img-src data:; style-src HASH; script-src HASH; base-uri 'none'; form-action 'none'", policy, `the policy of ${url}`);
	await page.close();
	return has;
}
const ordinary = sessions(other).find((s) => s.stem === "all-there-is");
plain.session = await usual(pageOf(fileBase(other), ordinary));
plain.index = await usual(`${fileBase(other)}html/index.html`);
plain.hits = await usual(`${fileBase(other)}search/type:message/hits.html`);

async function judge(page, kind, what) {
	page.trouble.push(...(await page.run(strange, allowed)));
	if (JSON.stringify(await page.run(ours)) !== JSON.stringify(plain[kind])) page.trouble.push("what is ours in the page was changed");
	if ((await page.inside("typeof pwned")) !== "undefined") page.trouble.push("something of the session's was run");
	quiet(page, what);
}
// The actions of a user who reads a page.
async function use(page, texts) {
	await page.run(() => {
		for (const d of document.querySelectorAll("details")) d.open = true;
	});
	const inputs = await page.run(() => document.querySelectorAll("input").length);
	for (const text of texts) {
		if (!inputs) break;
		await page.run((text) => {
			// Enter in the field that searches leads to another page.
			for (const field of document.querySelectorAll("input[type=search]")) {
				field.value = text;
				field.dispatchEvent(new Event("input", { bubbles: true }));
			}
			const input = document.querySelector("input:not(#query)");
			for (const key of ["Enter", "Escape"]) input.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
		}, text);
	}
	await page.run(() => {
		/* Colours all code. */
		dispatchEvent(new Event("beforeprint"));
		for (const a of [...document.querySelectorAll("nav a[href^='#'], main a[href^='#']")].filter((_, n) => n % 9 === 0).slice(0, 100)) a.click();
		for (const b of document.querySelectorAll("button")) b.click();
		for (const e of document.querySelectorAll("main *")) for (const type of ["mouseover", "focus", "pointerenter", "error", "load", "toggle"]) e.dispatchEvent(new Event(type));
	});
	for (const img of [0, 1]) await page.run((n) => document.images[n]?.scrollIntoView(), img);
	await page.settled();
}

async function look(s, texts, how) {
	const page = await browser.open(pageOf(fileBase(mount), s), how);
	await judge(page, "session", `${s.stem} as it is opened`);
	const text = flat(await page.run(() => document.body.textContent));
	const title = await page.run(() => document.title);
	await use(page, texts.slice(0, 4));
	await judge(page, "session", `${s.stem} in use`);
	await page.close();
	for (const x of texts) ok(text.includes(flat(x).slice(0, 400)), `${JSON.stringify(x)} cannot be read in ${s.stem}`);
	ok(title.length > 0, `${s.stem} has no title`);
}

async function lookAtIndex(how) {
	const page = await browser.open(`${fileBase(mount)}html/index.html`, how);
	await judge(page, "index", "the index as it is opened");
	const text = flat(await page.run(() => document.body.textContent));
	await use(page, corpus.slice(0, 40));
	await judge(page, "index", "the index in use");
	await page.close();
	// A title is at most 200 characters.
	for (const x of corpus) ok(text.includes(flat(x).slice(0, 150).trim()), `${JSON.stringify(x)} cannot be read in the index`);
}

// Queries that find everything, and texts of the corpus as queries.
const name = (query) => query.replace(/[\x00-\x1f\x7f/%]|^[.~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);
const queries = ["type:message", "-qqqq", ...corpus.map((text) => `"${text.replaceAll('"', "").slice(0, 60)}"`)].filter((q) => fs.existsSync(`${mount}/search/${name(q)}/hits.txt`));
async function lookAtHits(how) {
	ok(queries.length > 20, `${queries.length} queries with hits`);
	for (const query of queries.filter((_, n) => n < 2 || n % 8 === 0)) {
		const page = await browser.open(`${fileBase(mount)}search/${encodeURIComponent(name(query))}/hits.html`, how);
		await judge(page, "hits", `the hits of ${query} as they are opened`);
		ok((await page.run(() => document.querySelectorAll("li p").length)) > 0, `lines for ${query}`);
		await use(page, []);
		await judge(page, "hits", `the hits of ${query} in use`);
		await page.close();
	}
}

async function arrive() {
	for (const [kind, url] of [["session", pageOf(fileBase(mount), all.find((s) => s.stem === "c0"))], ["index", `${fileBase(mount)}html/index.html`]]) {
		const page = await browser.open(`${url}#${fragments[0]}`, { free: true });
		for (const fragment of fragments) {
			await page.run((fragment) => void (location.hash = fragment), fragment);
			await page.settled();
		}
		await judge(page, kind, `${kind} by fragments`);
		await page.close();
	}
}

const hows = [
	["", {}],
	[" without its policy", { free: true }],
];
const small = all.filter((s) => !/^c\d+$/.test(s.stem));
await steps(browser, [
	...chunks.flatMap((texts, c) => hows.map(([name, how]) => [`chunk ${c}${name}`, () => look(all.find((s) => s.stem === `c${c}`), texts, how)])),
	...small.filter((_, n) => n % 16 === 0).map((s) => [`${s.project}/${s.stem}`, () => look(s, [], { free: true })]),
	...hows.map(([name, how]) => [`the index${name}`, () => lookAtIndex(how)]),
	...hows.map(([name, how]) => [`hits${name}`, () => lookAtHits(how)]),
	["fragments", arrive],
]);
