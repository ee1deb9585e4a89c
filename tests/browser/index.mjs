// SPDX-License-Identifier: MIT
// node index.mjs CHROMIUM DIRECTORY MOUNT EMPTY COPIED: called by index.sh. EMPTY is a mount without sessions, COPIED
// a copy of html/.
import fs from "node:fs";
import { start } from "./browser.mjs";
import { fileBase, is, ok, quiet, sessions, steps } from "./check.mjs";

const [chromium, work, mount, empty, copied] = process.argv.slice(2);
const browser = await start(chromium, work);
const all = sessions(mount);
const url = `${fileBase(mount)}html/index.html`;

const table = () => ({
	head: [...document.querySelectorAll("#list thead th")].map((th) => th.textContent),
	rows: [...document.querySelectorAll("#list tbody tr")].map((tr) => ({
		link: decodeURIComponent(tr.querySelector("a[href]").pathname),
		cells: [...tr.cells].map((td) => td.textContent),
		values: [...tr.cells].map((td) => td.dataset.v),
		titles: [...tr.cells].map((td) => td.title),
		shown: tr.checkVisibility(),
		started: tr.classList.contains("started"),
		of: tr.querySelector("small")?.textContent,
		parent: decodeURIComponent(tr.querySelector("small a")?.pathname ?? ""),
	})),
	count: document.getElementById("count")?.textContent,
	dates: [...document.querySelectorAll("#list tbody time")].map((time) => time.getClientRects().length),
	small: [...document.querySelectorAll("main > svg.plot text")].filter((t) => t.checkVisibility() && t.getBoundingClientRect().height < 10).length,
	search: document.getElementById("search")?.textContent,
	plot: document.querySelector("svg.plot .head").textContent,
	bars: document.querySelectorAll("svg.plot rect").length,
	wide: document.documentElement.scrollWidth - innerWidth,
});
const fileOf = (s) => `${mount}/html/${s.project}/${s.stem}.html`;
// The sessions that another one started, and what each row says of a session's parent.
const agents = new Set(all.flatMap((s) => { const at = `${mount}/projects/${s.project}/${s.stem}/subagents`; return fs.existsSync(at) ? fs.readFileSync(at, "utf8").trimEnd().split("\n") : []; }));
const place = (s) => `projects/${s.project}/${s.stem}`;
const isAgent = (s) => agents.has(place(s));
const people = all.filter((s) => !isAgent(s));
ok(agents.size > 0 && all.some((s) => s.parent && !isAgent(s)), "a subagent and a fork");
const tick = () => document.getElementById("started").click();
async function typeFilter(page, text) {
	await page.click(() => document.getElementById("filter"));
	await page.run(() => document.getElementById("filter").select());
	await page.type(text);
}
const oneLine = (text) => text.replace(/\s+/g, " ").trim();

async function everySession(page) {
	const t = await page.run(table);
	is(all.map(fileOf), t.rows.map((r) => r.link), "the sessions, in the order of sessions.tsv");
	t.rows.forEach((r, n) => {
		ok(fs.existsSync(r.link), `${r.link} is there`);
		is(!isAgent(all[n]), r.shown, `whether ${r.link} is shown`);
		const parent = all.find((s) => place(s) === all[n].parent);
		is(parent ? `${isAgent(all[n]) ? "subagent" : "fork"} of ${oneLine(parent.title)}` : undefined, r.of && oneLine(r.of), `the parent of ${r.link}`);
		is(parent ? fileOf(parent) : "", r.parent, `the link to the parent of ${r.link}`);
		ok(oneLine(r.cells.join(" ")).includes(oneLine(all[n].title).slice(0, 60)), `the title of ${r.link}`);
	});
	await page.run(tick);
	ok((await page.run(table)).rows.every((r) => r.shown), "all are shown with the switch");
	ok(t.bars > 3, `the plot has ${t.bars} bars`);
	ok(t.dates.every((n) => n <= 1), "each date in one line");
	is(0, t.small, "texts of the plot of less than 10 pixels");
	ok(t.search.includes("search/"), "a word on search/");
	ok(t.wide <= 0, `the page is ${t.wide} pixels wider than the window`);
}

const head = (n) => document.querySelectorAll("#list thead th")[n].querySelector("button");
const isSorted = (list, sign, compare) => list.every((x, i) => i === 0 || sign * compare(list[i - 1], x) <= 0);

async function sort(page) {
	await page.run(tick);
	const before = await page.run(table);
	for (let n = 0; n < before.head.length; n++) {
		const seen = [];
		for (const _ of [1, 2]) {
			await page.click(head, n);
			const t = await page.run(table);
			is(before.rows.map((r) => r.link).sort(), t.rows.map((r) => r.link).sort(), `the rows sorted by ${before.head[n]}`);
			const order = await page.run((n) => document.querySelectorAll("#list thead th")[n].getAttribute("aria-sort"), n);
			seen.push(order);
			const sign = order === "ascending" ? 1 : -1;
			if (t.rows.some((r) => r.values[n] != null)) {
				const values = t.rows.map((r) => Number(r.values[n] ?? -Infinity));
				ok(new Set(values).size > 1 && isSorted(values, sign, (a, b) => (a === b ? 0 : a - b)), `${order} by ${before.head[n]}: ${values}`);
			} else {
				const texts = t.rows.map((r) => r.cells[n]);
				ok(await page.run((texts, sign) => { const c = new Intl.Collator(undefined, { numeric: true }); return texts.every((x, i) => i === 0 || sign * c.compare(texts[i - 1], x) <= 0); }, texts, sign), `${order} by ${before.head[n]}: ${texts}`);
			}
		}
		is(["ascending", "descending"], [...seen].sort(), `both ways by ${before.head[n]}`);
	}
}

// The switch: what it hides counts all the same, with the filter and in any order; the address has it too.
async function subagents() {
	const page = await browser.open(url);
	const whole = await page.run(table);
	const links = async () => (await page.run(table)).rows.map((r) => r.link).sort();
	for (const text of ["ada-costs", "subagent of", "fork of"]) {
		await typeFilter(page, text);
		const found = whole.rows.filter((r) => r.cells.join("\n").toLowerCase().includes(text));
		is(found.filter((r) => !r.started).map((r) => r.link).sort(), await links(), `the rows with ${text}`);
		is(totals(found), (await page.run(table)).count, `the totals of ${text}, hidden or not`);
		await page.run(tick);
		is(found.map((r) => r.link).sort(), await links(), `all rows with ${text}`);
		is(totals(found), (await page.run(table)).count, `the totals of ${text}`);
		is(`#find=${text.replace(" ", "+")}&subagents=shown`, await page.run(() => location.hash), "the address");
		await page.run(tick);
		is(`#find=${text.replace(" ", "+")}`, await page.run(() => location.hash), "the address without them");
	}
	await page.run(() => { location.hash = ""; });
	is(people.map(fileOf).sort(), await links(), "the rows without a filter");
	is(whole.count, (await page.run(table)).count, "the totals of all");
	await page.click(head, 0);
	is(people.map(fileOf).sort(), await links(), "the rows in another order");
	// On paper, too, the parent is smaller than the title, and each state is in one line.
	for (const media of ["", "print"]) {
		await page.look({ media });
		const sizes = await page.run(() => [document.querySelector("#list small"), document.querySelector("#list tbody th > a")].map((e) => parseFloat(getComputedStyle(e).fontSize)));
		ok(sizes[0] < sizes[1], `sizes of parent and title (${media}): ${sizes}`);
		is([], await page.run(() => [...document.querySelectorAll("#list tbody tr")].map((row) => row.cells[8].lastChild).filter((e) => e?.nodeType === 1 && e.getClientRects().length > 1).map((e) => e.textContent)), `states in two lines (${media})`);
	}
	quiet(page, "the index");
	await page.close();
	const again = await browser.open(`${url}#subagents=shown`);
	is([all.map(fileOf), true], await again.run(() => [[...document.querySelectorAll("#list tbody th > a")].map((a) => decodeURIComponent(a.pathname)), document.getElementById("started").checked]), "the rows of that address");
	await again.close();
}

// With the list of states, alone and with the filter; the address has it too.
async function states() {
	const page = await browser.open(url);
	await page.run(tick);
	const choose = (state) => page.run((state) => {
		const list = document.getElementById("state");
		list.value = state;
		list.dispatchEvent(new Event("input", { bubbles: true }));
	}, state);
	// Those that were working, and have not changed for an hour, are abandoned.
	const stateOf = (s) => (s.state === "working" && Date.now() - fs.statSync(fileOf(s)).mtimeMs > 3600000 ? "abandoned" : s.state);
	for (const state of ["done", "working", "abandoned", "failed", "stopped", ""]) {
		await choose(state);
		const t = await page.run(table);
		const wanted = all.filter((s) => !state || stateOf(s) === state);
		is(wanted.map(fileOf), t.rows.map((r) => r.link), `the rows that are ${state || "all"}`);
		is(totals(t.rows), t.count, `the totals of ${state}`);
		is(`#${state && `state=${state}&`}subagents=shown`, await page.run(() => location.hash), "the address");
	}
	ok(["done", "working", "abandoned"].every((state) => all.some((s) => stateOf(s) === state)), "sessions of more than one state");
	quiet(page, "the index");
	await page.close();
	const again = await browser.open(`${url}#state=working&subagents=shown`);
	is(all.filter((s) => stateOf(s) === "working").map(fileOf), (await again.run(table)).rows.map((r) => r.link), "the rows of that address");
	await again.run(() => { location.hash = "#state=odd"; });
	is(people.length, (await again.run(table)).rows.length, "the rows of an address of nothing");
	quiet(again, "the index by its address");
	await again.close();
}

const short = (n) => {
	let step = 0;
	for (; n >= (step ? 999.95 : 1000); step++) n /= 1000;
	return step ? n.toFixed(1) + "kMGT"[step - 1] : `${n}`;
};
const billionths = (numbers) => numbers.reduce((all, n) => all + Math.round(Number(n) * 1e9), 0);
// The number, tokens and cost of these rows, without empty ones.
function totals(rows) {
	const sum = (n) => billionths(rows.map((r) => r.values[n] ?? 0)) / 1e9;
	const tokens = sum(5), cost = sum(6), of = rows.length < all.length ? `${rows.length} of ` : "All ";
	const started = rows.filter((r) => r.started).length;
	return `${of}${all.length} sessions${started ? `, ${started} automatic` : ""}${tokens ? `, ${short(tokens)} tokens` : ""}${cost ? `, $${cost.toFixed(cost < 0.1 ? 4 : 2)}` : ""}`;
}

// The address has the filter and the order, and opens with them.
async function address() {
	const page = await browser.open(url);
	const hash = () => location.hash;
	const state = () => [document.getElementById("filter").value, [...document.querySelectorAll("#list thead th")].map((th) => th.getAttribute("aria-sort"))];
	const whole = await page.run(table);
	is(totals(whole.rows), whole.count, "the totals of all");
	is("", await page.run(hash), "the address as it opens");
	await page.run(tick);
	await page.click(head, 6);
	is("#subagents=shown&sort=-cost", await page.run(hash), "the address after a click on Cost");
	await page.click(() => document.getElementById("filter"));
	await page.type("weather sonnet");
	const made = await page.run(hash);
	is("#find=weather+sonnet&subagents=shown&sort=-cost", made, "the address after a filter");
	const [rows, how] = [await page.run(table), await page.run(state)];
	quiet(page, "the index");
	await page.close();
	const again = await browser.open(url + made);
	is(rows, await again.run(table), "the rows of that address");
	is(how, await again.run(state), "the filter and the sort of that address");
	await again.run(() => { location.hash = ""; });
	is(whole.rows.filter((r) => !r.started), (await again.run(table)).rows, "the rows without it");
	await again.run(() => { location.hash = "#find=%&sort=-nothing"; });
	is(1, (await again.run(state))[1].filter((s) => s).length, "columns sorted by an address of nothing");
	quiet(again, "the index by its address");
	await again.close();
}

async function filter(page) {
	await page.run(tick);
	const has = (r, ...words) => words.every((w) => r.cells.join("").toLowerCase().includes(w));
	for (const text of ["FORECAST", "weather  sonnet", "home-ada", "qqq[(*"]) {
		await typeFilter(page, text);
		const t = await page.run(table);
		const words = text.toLowerCase().split(/\s+/);
		const wanted = t.rows.filter((r) => has(r, ...words));
		is(wanted.map((r) => r.link), t.rows.filter((r) => r.shown).map((r) => r.link), `the rows with ${text}`);
		is(totals(wanted), t.count, `the totals of ${text}`);
		ok(text.startsWith("qqq") ? !wanted.length : wanted.length && wanted.length < all.length, `${text} is in ${wanted.length} rows`);
	}
}

// The usage has one sum, whatever is shown, in any order: that in usage.tsv.
async function oneSum(page) {
	const [names, ...used] = fs.readFileSync(`${mount}/usage.tsv`, "utf8").trimEnd().split("\n").map((row) => row.split("\t"));
	const whole = await page.run(table);
	const sum = (rows, n) => billionths(rows.map((r) => r.values[n] ?? 0));
	for (const [n, name] of [[5, "tokens"], [6, "cost"]]) is(billionths(used.map((row) => row[names.indexOf(name)])), sum(whole.rows, n), `${name} of usage.tsv and of the rows`);
	is(totals(whole.rows), whole.count, "the totals as the page opens");
	await page.run(tick);
	is(`Cost by day and model: $${(sum(whole.rows, 6) / 1e9).toFixed(2)}`, whole.plot, "the total of the plot");
	const shows = async (text) => {
		await typeFilter(page, text);
		const t = await page.run(table);
		is(totals(t.rows), t.count, `the totals of ${text}`);
		ok(t.rows.length > 0 && sum(t.rows, 6) <= sum(whole.rows, 6) && sum(t.rows, 5) <= sum(whole.rows, 5), `${text} is in ${t.rows.length} rows, and not more than all`);
		return t;
	};
	for (const text of ["ada-costs", "ada", "half-cent", "sonnet"]) await shows(text);
	const costs = (await shows("ada-costs")).rows.map((r) => [r.link.split("/").at(-1), r.cells[6], r.titles[6]]).filter(([link]) => !link.startsWith("many")).sort();
	const elsewhere = (cost) => `${cost} including entries counted in other sessions`;
	is([["copy.html", "", elsewhere("$5.63")], ["fork.html", "$0.0050", elsewhere("$5.63")], ["parent+run.html", "$5.00", ""], ["parent.html", "$0.63", elsewhere("$5.63")]], costs, "the costs of a fork, its parent and a subagent");
	await page.run(() => { location.hash = ""; });
	for (let n = 0; n < whole.head.length; n++) {
		await page.click(head, n);
		is(whole.count, (await page.run(table)).count, `the totals, sorted by ${whole.head[n]}`);
	}
	ok(await page.run(() => [5, 6].every((n) => document.querySelectorAll("#list thead th")[n].title.includes("counts once"))), "Tokens and Cost say that an entry counts once");
}

// By the mouse to a page, and back by its link.
async function open(how) {
	for (const n of [0, all.length - 1, all.findIndex((s) => s.stem.startsWith("a#b"))]) {
		const page = await browser.open(url, how);
		await page.follow((n) => document.querySelectorAll("#list tbody tr")[n].querySelector("a"), n);
		is(oneLine(all[n].title), oneLine(await page.run(() => document.querySelector("h1").textContent)), "the heading of the page");
		await page.follow(() => document.querySelector("a[href='../index.html']"));
		is(all.length, await page.run(() => document.querySelectorAll("#list tbody tr").length), "rows of the index, back there");
		quiet(page, "to a page and back");
		await page.close();
	}
}

// The link of a hit opens its entry with the word marked, and in view. A label or name is itself the entry.
async function opens(link, word) {
	const page = await browser.open(link);
	await page.becomes(`${link} shows ${word}`, (word) => document.querySelector(".meta:target")?.checkVisibility() || [...(CSS.highlights.get("found") ?? [])].some((found) => {
		const range = document.createRange();
		range.setStart(found.startContainer, found.startOffset);
		range.setEnd(found.endContainer, found.endOffset);
		const at = range.getBoundingClientRect();
		return range.toString().toLowerCase() === word && at.height > 0 && at.top >= 0 && at.bottom <= innerHeight;
	}), word);
	quiet(page, link);
	await page.close();
}

// Each query leads to a page: its hits, which lead to an entry on the page of its session, what was meant, or the reason.
async function search() {
	const matches = [["forecast", "forecast"], ["role:user \"three days\"", "role:user \"three days\""], ["/", "%2F"], ["100%", "100%25"], [".py", "%2Epy"], ["..", "%2E."]];
	const others = [["zzqq"], ['"open'], ["OR"], ["role:"], ["since:3d"], ["~/x", "%7E%2Fx"], ["C|"], ["a\\b"], ["#x?y=1&z"], ["a+b;c"], ["%4z", "%254z"], ["\u65e5\u672c"], ["a\u0007b", "a%07b"], ["a\ud800b", "a\ufffdb"], ["z".repeat(255)]];
	for (const [query, name = query, found = false] of [...matches.map((match) => [...match, true]), ...others]) {
		const page = await browser.open(url);
		is([true, false], await page.run(() => [document.getElementById("query").checkVisibility(), document.querySelector("#search code").checkVisibility()]), "the field, and the command in its place");
		await page.click(() => document.getElementById("query"));
		if (query.isWellFormed() && !query.includes("\u0007")) await page.type(query);
		else await page.run((query) => (document.getElementById("query").value = query), query);
		const at = `${mount}/search/${name}/hits.html`;
		ok(fs.existsSync(at), `${at} is there`);
		await page.reach(`${fileBase(mount)}search/${encodeURIComponent(name)}/hits.html`, () => page.call("Input.dispatchKeyEvent", { type: "keyDown", key: "Enter" }));
		is(at, decodeURIComponent(await page.run(() => location.pathname)), `the address of the hits of ${query}`);
		const marks = await page.run(() => document.querySelectorAll("mark").length);
		const links = await page.run(() => document.querySelectorAll("a[href*='.html#']").length);
		is([found, found, query.toWellFormed()], [marks > 0, links > 0, await page.run(() => document.getElementById("query").value)], `marks, links and the field of ${query}`);
		quiet(page, `the hits of ${query}`);
		if (query === "forecast")
			for (const link of await page.run(() => [...document.querySelectorAll("li a[href*='#']")].map((a) => a.href))) await opens(link, query);
		await page.close();
	}
	// A query that cannot be a name stays, and nothing is no query. The field is above the filter; / leads to it.
	const page = await browser.open(url), press = (key) => page.call("Input.dispatchKeyEvent", { type: "keyDown", key, text: key.length === 1 ? key : "" });
	const focus = () => document.activeElement.id;
	ok(await page.run(() => document.getElementById("query").getBoundingClientRect().bottom < document.getElementById("filter").getBoundingClientRect().top), "the field is above the filter");
	await press("/");
	is(["query", ""], await page.run(() => [document.activeElement.id, document.activeElement.value]), "where / leads");
	for (const [text, valid] of [["", true], ["x".repeat(256), false], ["\u00fc".repeat(128), false], ["/".repeat(86), false]]) {
		await page.run((text) => (document.getElementById("query").value = text), text);
		await press("Enter");
		await page.settled();
		is([url, valid], await page.run(() => [location.href, document.getElementById("query").validity.valid]), `Enter after ${text.slice(0, 3)}`);
	}
	await page.type("y");
	ok(await page.run(() => document.getElementById("query").validity.valid), "another query is tried again");
	quiet(page, "the field");
	await page.close();
	// A copy of html/ has no search/: there / leads to the filter.
	const copy = await browser.open(`${fileBase(copied)}index.html`);
	await copy.call("Input.dispatchKeyEvent", { type: "keyDown", key: "/", text: "/" });
	is("filter", await copy.run(focus), "where / leads in a copy");
	is([false, true], await copy.run(() => [document.getElementById("query").checkVisibility(), document.querySelector("#search code").checkVisibility()]), "no field in a copy");
	await copy.close();
}

async function none(page) {
	is(1, await page.run(() => document.querySelectorAll("h1").length), "headings of an index without sessions");
}

// Without scripts the time zone is the mount's, with scripts the reader's; either is named.
async function clocks() {
	const shown = () => [...document.querySelectorAll("time")].map((time) => [time.dateTime, time.textContent, time.title]);
	const two = (n) => String(n).padStart(2, "0");
	const local = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
	const utc = (at) => at.toISOString().slice(0, 16).replace("T", " ");
	for (const [file, id] of [[url, "zone"], [`${fileBase(mount)}html/${all[0].project}/${encodeURIComponent(all[0].stem)}.html`, "~zone"]]) {
		const zone = (id) => document.getElementById(id).textContent;
		const plain = await browser.open(file, { scripts: false }), page = await browser.open(file);
		is("IST", await plain.run(zone, id), `the zone of ${file}`);
		is("America/New_York", await page.run(zone, id), `the reader's zone in ${file}`);
		const times = await page.run(shown);
		ok(times.length > 1, `times in ${file}`);
		is(times.map(([iso]) => local(new Date(iso))), times.map(([, text]) => text), `the reader's clock in ${file}`);
		is(times.map(([iso]) => `${utc(new Date(iso))} UTC`), times.map(([, , title]) => title), `UTC on hover in ${file}`);
		is(times.map(([iso]) => utc(new Date(Date.parse(iso) + 330 * 60000))), (await plain.run(shown)).map(([, text]) => text), `the mount's clock in ${file}`);
		await plain.close();
		await page.close();
	}
}

// A page made less than an hour after the last change is opened later.
async function left() {
	const copy = `${work}/left.html`, states = () => [...document.querySelectorAll("#list tbody tr")].map((row) => row.cells[8].textContent.trim());
	fs.writeFileSync(copy, fs.readFileSync(`${mount}/html/index.html`, "utf8").replaceAll(/title="[^"]*">working[^<]*/g, 'title="2026-01-01T00:00:00.000Z">working      '));
	const page = await browser.open(`file://${copy}#state=abandoned`);
	const want = all.filter((s) => s.state === "working");
	ok(want.length > 0, "sessions that are working");
	is(want.map(() => "abandoned"), await page.run(states), "the sessions that were left");
	await page.close();
}

await steps(browser, [
	["clocks", clocks],
	["left", left],
	["every session", everySession, url],
	["every session without scripts", everySession, url, { scripts: false }],
	["every session on a telephone", everySession, url, { width: 390, height: 844 }],
	["sort", sort, url],
	["filter", filter, url],
	["one sum", oneSum, url],
	["subagents", subagents],
	["states", states],
	["address", address],
	["search", search],
	["open", () => open()],
	["open without scripts", () => open({ scripts: false })],
	["no sessions", none, `${fileBase(empty)}html/index.html`],
]);
