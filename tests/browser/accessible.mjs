// SPDX-License-Identifier: MIT
// node accessible.mjs CHROMIUM DIRECTORY MOUNT AXE: called by accessible.sh. axe runs in the world of the test: the
// page's policy, which forbids loading it, stays in force.
import fs from "node:fs";
import { start } from "./browser.mjs";
import { fail, fileBase, pageOf, quiet, sessions, steps } from "./check.mjs";

const [chromium, work, mount, axe] = process.argv.slice(2);
const browser = await start(chromium, work);
const code = fs.readFileSync(axe, "utf8");
const all = sessions(mount);
const pages = [
	["the index", `${fileBase(mount)}html/index.html`],
	["hits", `${fileBase(mount)}search/forecast/hits.html`],
	...all.filter((s) => s.stem === "all-there-is" || s.title === "Forecast command").map((s) => [s.stem, pageOf(fileBase(mount), s)]),
];

const unfold = () => {
	for (const d of document.querySelectorAll("details")) d.open = true;
	// axe ignores elements without layout.
	for (const e of document.querySelectorAll("main *")) if (getComputedStyle(e).contentVisibility === "auto") e.style.contentVisibility = "visible";
};
const look = async () => {
	const { violations, passes } = await axe.run(document, { resultTypes: ["violations"], preload: false });
	return { passes: passes.length, found: violations.map((v) => [v.id, v.help, ...v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 200)} ${n.failureSummary?.replace(/\s+/g, " ")}`)].join("\n  ")) };
};

async function check(url, how) {
	const page = await browser.open(url, how);
	if (!how.folded) await page.run(unfold);
	await page.run(code + ";0");
	const { passes, found } = await page.run(look);
	if (passes < 10) fail(`axe looked at ${passes} rules only`);
	if (found.length) fail(found.join("\n"));
	quiet(page, url);
	await page.close();
}

const looks = [
	["light", {}],
	["dark", { dark: true }],
	["folded", { folded: true }],
	["narrow", { width: 390 }],
	["narrow and dark", { width: 390, dark: true, folded: true }],
];
await steps(
	browser,
	pages.flatMap(([title, url]) => looks.map(([name, how]) => [`${title}, ${name}`, () => check(url, how)])),
);
