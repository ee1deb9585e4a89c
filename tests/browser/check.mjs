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

// Runs a test's steps, each with a name that is printed when it fails.
export async function steps(browser, all) {
	let failed = 0;
	for (const [name, step] of all) {
		const start = Date.now();
		try {
			await step();
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
