// SPDX-License-Identifier: MIT
// node dates.mjs TIME_CHECK SEED: see dates.
import { spawnSync } from "node:child_process";

const [check, seed] = process.argv.slice(2);
const MUTATIONS = 40000;
const SHOWN = 20;

// ---- forms: every day with every time with every zone ----

const days = [
	"2026-03-03", "2026-3-3", "2026-03", "2026", "2026/03/03", "03/04/2026", "20260303", "+002026-03-03", "-000001-03-03", "2026-02-30", "2026-13-01",
	"2026-00-10", "2026-03-32", "2026-02-29", "2024-02-29", "2000-02-29", "1900-02-29", "Tue, 03 Mar 2026", "0000-01-01", "0001-12-31", "9999-12-31",
	"1969-12-31", "1970-01-01", "1901-12-13", "2038-01-19", "2100-07-01", "275760-09-13", "", "soon",
];
const times = [
	"", "T10:20:30", "T10:20", "T10", "T24:00:00", "T10:20:30.5", "T10:20:30.12", "T10:20:30.123", "T10:20:30.123456789", "T10:20:30.", "T10:60:00",
	"T1:02:03", "t10:20:30", " 10:20:30", " 10:20 PM", "T10:20:60", "T25:00:00", "T00:00:00", "T23:59:59.999", "  10:20:30", "T10:20:30:400",
];
const zones = [
	"", "Z", "z", " Z", "+01:00", "-01:00", "+0100", "+01", "+24:00", "+23:59", "-23:59", "+01:60", "+1:2", " GMT", " EST", " +0100 (CET)", ".",
	"\u0000x", "Z+01:00", "+01:00Z", "Z ", "+00:000",
];
const forms = days.flatMap((d) => times.flatMap((t) => zones.map((z) => d + t + z)));

// ---- mutations ----

let state = Number(seed) >>> 0;
function random(n) {
	state = (state + 0x6d2b79f5) >>> 0;
	let t = state;
	t = Math.imul(t ^ (t >>> 15), t | 1);
	t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
	return ((t ^ (t >>> 14)) >>> 0) % n;
}
const pieces = [..."0123456789:-+.,/() TZazAPM\u00e9\u3000\u2028", "00", "12", "2026", "Jan", "GMT", "pm", "0000000000001", "123456789012"];
function mutate(form) {
	const chars = [...form];
	for (let n = 1 + random(3); n > 0; n--) {
		const at = random(chars.length + 1);
		const what = random(4);
		if (what === 0) chars.splice(at, 1);
		else if (what === 1) chars.splice(at, 0, pieces[random(pieces.length)]);
		else if (what === 2) chars.splice(at, 1, pieces[random(pieces.length)]);
		else chars.splice(at, 0, ...chars.slice(random(chars.length + 1), random(chars.length + 1)));
	}
	return chars.join("");
}
const mutated = Array.from({ length: MUTATIONS }, () => mutate(forms[random(forms.length)]));

// ---- the comparison ----

const texts = [...new Set([...forms, ...mutated])];
const input = texts.map((t) => `${JSON.stringify(t)}\n`).join("");
const r = spawnSync(check, [], { input, encoding: "utf8", maxBuffer: 2 ** 30 });
if (r.status !== 0) {
	console.error(`dates: ${check} ended with ${r.status ?? r.signal}: ${r.stderr}`);
	process.exit(2);
}
const ours = r.stdout.split("\n");
let failed = 0;
// The forms that we parse. V8 parses some of the others; we use its value, or none.
const known = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
texts.forEach((text, i) => {
	if (/\.\d{10}/.test(text)) return; // V8 misreads ten digits and more
	const theirs = `${new Date(text).getTime()}`;
	if (ours[i] === theirs || (ours[i] === "NaN" && !known.test(text))) return;
	if (failed++ < SHOWN) console.log(`${JSON.stringify(text)}: expected ${theirs}, got ${ours[i]}`);
});
const times_ = texts.filter((t) => !Number.isNaN(Date.parse(t))).length;
console.log(`${texts.length - failed} passed, ${failed} failed, of which ${times_} are times`);
process.exit(failed ? 1 : 0);
