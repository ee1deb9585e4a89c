// SPDX-License-Identifier: MIT
// Common parts of the browser tests: sessions as the mount has them, and checks that end the test.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

export function fail(what) {
	throw new Error(what);
}
export function is(expected, actual, what) {
	const [a, b] = [expected, actual].map((x) => JSON.stringify(x));
	if (a !== b) fail(`${what}: expected ${a?.slice(0, 2000)}, got ${b?.slice(0, 2000)}`);
}
export function ok(value, what) {
	if (!value) fail(what);
}
export function quiet(page, what) {
	if (page.trouble.length) fail(`${what}:\n${page.trouble.slice(0, 6).join("\n")}`);
}

// Reads a file of the mount that can be missing.
export function read(file) {
	try {
		return fs.readFileSync(file, "utf8");
	} catch (e) {
		if (e.code !== "ENOENT") throw e;
		return undefined;
	}
}
const list = (dir) => fs.readdirSync(dir);

const uncell = (cell) => cell.replace(/\\(.)/g, (_, c) => ({ t: "\t", n: "\n", "\\": "\\" })[c]);
// The rows of sessions.tsv as objects.
export function sessions(mount) {
	const [head, ...rows] = fs.readFileSync(`${mount}/sessions.tsv`, "utf8").trimEnd().split("\n");
	const names = head.split("\t");
	return rows.map((row) => Object.fromEntries(row.split("\t").map((cell, i) => [names[i], uncell(cell)])));
}

// The directory of a session, or of one of its entries.
export const directory = (mount, s) => path.join(mount, "projects", s.project, s.stem);
export const entries = (dir) => list(`${dir}/entries`);
// Returns the IDs from the root to the leaf of the session.
export const current = (dir) => {
	const at = `${dir}/branches/current/`;
	if (!fs.existsSync(at)) return undefined;
	return list(at)
		.filter((name) => /^\d{4,}-/.test(name))
		.sort((a, b) => parseInt(a) - parseInt(b))
		.map((name) => path.basename(fs.readlinkSync(at + name)));
};

// Returns the URL of a page of the mount, for a base such as file:///mnt/ or http://127.0.0.1:8000/.
const encoded = (names) => names.map(encodeURIComponent).join("/");
export const pageOf = (base, s) => base + encoded(["html", s.project, `${s.stem}.html`]);
export const fileBase = (mount) => pathToFileURL(`${mount}/`).href;

// Opens a page, makes a step with it, and requires that the page did nothing else.
async function onPage(browser, name, step, url, options) {
	const page = await browser.open(url, options);
	await step(page);
	quiet(page, name);
	await page.close();
}

// Runs a test's steps, each with a name that is printed when it fails; if it has a URL, with the page that is there.
export async function steps(browser, all) {
	let failed = 0;
	for (const [name, step, url, options] of all) {
		const start = Date.now();
		try {
			await (url ? onPage(browser, name, step, url, options) : step());
			console.log(`ok ${name} (${Date.now() - start} ms)`);
		} catch (e) {
			failed++;
			console.log(`not ok ${name}: ${e.message.slice(0, 4000)}`);
		}
	}
	for (const stray of browser.strays) failed++, console.log(`not ok: ${stray}`);
	await browser.end();
	process.exit(failed ? 1 : 0);
}

// By language: code, and its comments, strings, numbers and words.
export const code = {
	typescript: ['const n = 0x1f; // a "b"\nf(`c\n"d"`, \'e\')', { k: ["const"], n: ["0x1f"], c: ['// a "b"'], s: ['`c\n"d"`', "'e'"] }],
	javascript: ["/* a\nb */ return x1 + 2.5e3", { c: ["/* a\nb */"], k: ["return"], n: ["2.5e3"] }],
	json: ['{"a\\"": [true, 7]}', { s: ['"a\\""'], k: ["true"], n: ["7"] }],
	bash: ["if true; then # a\necho 'b\nc' $#; fi", { k: ["if", "then", "fi"], c: ["# a"], s: ["'b\nc'"] }],
	python: ['def f(): # a\n  """b\n"c" """\n  return 1', { k: ["def", "return"], c: ["# a"], s: ['"""b\n"c" """'], n: ["1"] }],
	powershell: ['<# a\nb #> foreach ($x in 3) { "c" }', { c: ["<# a\nb #>"], k: ["foreach", "in"], n: ["3"], s: ['"c"'] }],
	html: ['<!-- a\nb --><p class="c">d</p>', { c: ["<!-- a\nb -->"], k: ["<p", ">", "</p", ">"], s: ['"c"'] }],
	lua: ['local t = 5 -- a\n--[[ b\nc ]] return "d', { k: ["local", "return"], n: ["5"], c: ["-- a", "--[[ b\nc ]]"], s: ['"d'] }],
	toml: ['a = true # b\nc = "d"\ne = 6', { k: ["true"], c: ["# b"], s: ['"d"'], n: ["6"] }],
	java: ["public class A { // b\n  int c = 8; }", { k: ["public", "class", "int"], c: ["// b"], n: ["8"] }],
	c: ['#include <a.h> // b\nstatic char c = \'"\', *d = "e"; /* f */ x = 10UL;', { k: ["include", "static", "char"], c: ["// b", "/* f */"], s: ["'\"'", '"e"'], n: ["10UL"] }],
	"c++": ["template <class T> f(0xFF, 'a')", { k: ["template", "class"], n: ["0xFF"], s: ["'a'"] }],
	rust: ["fn f<'a>(x: &'a str) { let c = '\\''; g(\"b\nc\", 1u32) } // d", { k: ["fn", "let"], s: ["'\\''", '"b\nc"'], n: ["1u32"], c: ["// d"] }],
	go: ['func f() { return `a\\`, "b" } // c', { k: ["func", "return"], s: ["`a\\`", '"b"'], c: ["// c"] }],
	sql: ["select a FROM b -- c\nwhere d = 'it''s' AND e = 4", { k: ["select", "FROM", "where", "AND"], c: ["-- c"], s: ["'it'", "'s'"], n: ["4"] }],
	yaml: ["a-b: don't # c\nurl: http://x/\non: [true, 'd', 8080]", { k: ["a-b", "url", "on", "true"], c: ["# c"], s: ["'d'"], n: ["8080"] }],
	css: ['@media x { a:hover { margin: 1.5rem "b" !important; } } /* c */', { k: ["@media", "margin", "!important"], n: ["1.5rem"], s: ['"b"'], c: ["/* c */"] }],
	cobol: ['if "a" // 1', {}],
};
