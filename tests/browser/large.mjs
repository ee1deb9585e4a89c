// SPDX-License-Identifier: MIT
// node large.mjs CHROMIUM DIRECTORY MOUNT: called by large.sh. Prints how long steps take; that is not part of the test.
import fs from "node:fs";
import { start } from "./browser.mjs";
import { directory, entries, fileBase, is, ok, pageOf, quiet, sessions, steps } from "./check.mjs";

const [chromium, work, mount] = process.argv.slice(2);
const browser = await start(chromium, work);
const [s] = sessions(mount);
const file = `${mount}/html/${s.project}/${s.stem}.html`;
const bytes = fs.statSync(file).size;
console.log(`session ${fs.statSync(`${directory(mount, s)}/session.jsonl`).size >> 20} MiB, page ${(bytes / (1 << 20)).toFixed(1)} MiB`);

let last = Date.now();
const took = (what) => console.log(`${what}: ${Date.now() - last} ms`, (last = Date.now()) && "");
const row = (n) => {
	const rows = document.querySelectorAll("nav ol a");
	return rows[(rows.length + n) % rows.length];
};
const target = () => {
	const e = document.querySelector(":target");
	const r = e?.getBoundingClientRect();
	return r && e.checkVisibility() && r.bottom > 0 && r.top < innerHeight && e.id;
};
// Returns the longest time without a frame while f runs: each drawn frame requests the next.
const watch = () => {
	globalThis.worst = 0;
	let before = performance.now();
	const frame = (now) => {
		globalThis.worst = Math.max(globalThis.worst, now - before);
		before = now;
		requestAnimationFrame(frame);
	};
	requestAnimationFrame(frame);
};
const worst = async (page) => {
	const ms = await page.run(() => [globalThis.worst, (globalThis.worst = 0)][0]);
	return `longest frame ${Math.round(ms)} ms`;
};

await steps(browser, [
	["a large page", async () => {
		const page = await browser.open(pageOf(fileBase(mount), s));
		took("opened");
		await page.drawn();
		took("drawn");
		await page.run(watch);
		is(entries(directory(mount, s)).length, await page.run(() => document.querySelectorAll("main article").length), "entries");
		took("counted");
		for (const n of [-1, 0, 5000, 1234]) {
			await page.click(row, n);
			const id = await page.becomes(`row ${n} leads to its entry`, target);
			took(`row ${n} to ${id}, ${await worst(page)}`);
		}
		await page.click(() => document.querySelector("nav input"));
		await page.type("question 12");
		took(`filter, ${await worst(page)}`);
		for (const what of ["Unfold all", "Fold all"]) {
			await page.click((what) => [...document.querySelectorAll("button")].find((b) => b.textContent === what), what);
			took(`${what}, ${await worst(page)}`);
		}
		await page.run(() => scrollTo(0, document.body.scrollHeight));
		await page.drawn();
		took(`scrolled to the end, ${await worst(page)}`);
		const { metrics } = await (await page.call("Performance.enable"), page.call("Performance.getMetrics"));
		console.log(metrics.filter((m) => /^(Nodes|JSHeapUsedSize|LayoutDuration|RecalcStyleDuration)$/.test(m.name)).map((m) => `${m.name} ${m.value}`).join(", "));
		ok(bytes < 35e6, `the page has ${bytes} bytes`);
		quiet(page, "a large page");
		await page.close();
	}],
]);
