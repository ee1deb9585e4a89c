// SPDX-License-Identifier: MIT
// node dates.mjs TIME_CHECK SEED: see dates.
import { spawnSync } from "node:child_process";

const [check, seed] = process.argv.slice(2);
const MUTATIONS = 40000;
const SHOWN = 20;

// ---- forms: every day with every time with every zone ----

const days = [
	"2026-03-03", "2026-3-3", "2026-03", "2026", "2026/03/03", "2026/3/3", "03/04/2026", "3/4/26", "31/12/2026", "2026.03.03", "03.04.2026",
	"20260303", "2026-063", "+002026-03-03", "-000001-03-03", "-000000-03-03", "+2026-03-03", "2026-02-30", "2026-13-01", "2026-00-10", "2026-03-32",
	"3 Mar 2026", "03 Mar 2026", "Mar 3 2026", "Mar 3, 2026", "March 3, 2026", "3-Mar-2026", "2026-Mar-03", "Mar-3-2026", "3 Mar 49", "3 Mar 50", "Mar 3",
	"Mar 2026", "Tue, 03 Mar 2026", "Tue Mar 03 2026", "Tuesday, March 3, 2026", "Tue Mar  3", "12 Sept 2026", "3 MARCH 2026", "3 mär 2026", "3rd March 2026",
	"2026 03 03", "99999-01-01", "275760-09-13", "1/1/1970", "0/0/0", "2/30/2026", "Thu, 01 Jan 1970", "1 Jan 0099", "2026-03-08", "2026-11-01",
	"2026-03-29", "2026-10-25", "2026-04-05", "2026-10-04", "1883-11-18", "1901-12-13", "1850-01-01", "2038-01-19", "2100-07-01", "", "soon",
];
const times = [
	"", "T10:20:30", "T10:20", "T10", "T24:00", "T24:00:01", "T10:20:30.5", "T10:20:30.123456789", "T10:20:30.", "T10:60", "T1:02:03", "t10:20:30",
	" 10:20:30", " 10:20", " 10", " 1:2:3", " 10:20:30.123", " 10:20:30.5", " 10:20:60", " 24:00", " 24:00:00", " 24:01", " 25:00", " 10:20 PM", " 10:20PM",
	" 12:00 am", " 12:30 pm", " 13:00 PM", " 10 pm", ", 10:20:30", " at 10:20", "  10:20:30", "\t10:20:30", " 10.20.30", " 10::30", " 102030", " 10:20:30:400",
	" 02:30", " 02:15:00", " 01:30", " 00:00", "T02:30", "T01:30:00", "T02:15:00", " 10h20", " 10:20.30", "\u00a010:20", "\u202810:20", " 23:59:59.999",
];
const zones = [
	"", "Z", "z", " Z", "+01:00", "-01:00", "+0100", "+01", "+1", " +0100", " -0330", " +01:00", " GMT", " UTC", " UT", " GMT+0100", " GMT-8", " GMT+01:00", " UTC+2",
	" EST", " edt", " PST", " CET", " (CET)", " +0100 (CET)", " GMT+0100 (Central European Standard Time)", "+24:00", "+23:59", "+00000", "+100", " +", "-", " A", " Zulu",
	" (", " )", " (a (b) c)", "+01:60", "+1:2", " GMT+123456789:00", " GMT+99:99", ".", "\u0000x", " 2026", " am", " T", "Z+01:00", "+01:00Z", "\u2028", "\ufeff",
];
const forms = days.flatMap((d) => times.flatMap((t) => zones.map((z) => d + t + z)));
const reordered = times.flatMap((t) => days.map((d) => `${t.trim()} ${d}`));
for (const t of times.slice(0, 20)) for (const z of zones) reordered.push(`Tue Mar 3${t}${z} 2026`, `Tue, 3 Mar${t} 2026${z}`);

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

const texts = [...new Set([...forms, ...reordered, ...mutated])];
const input = texts.map((t) => `${JSON.stringify(t)}\n`).join("");
const r = spawnSync(check, [], { input, encoding: "utf8", maxBuffer: 2 ** 30 });
if (r.status !== 0) {
	console.error(`dates: ${check} ended with ${r.status ?? r.signal}: ${r.stderr}`);
	process.exit(2);
}
const ours = r.stdout.split("\n");
let failed = 0;
// The forms that we parse. V8 parses some of the others; we use its value, or none.
const clock = "\\d\\d:[0-5]\\d(:[0-5]\\d(\\.\\d+)?)?", offset = "(Z|[+-]([01]\\d|2[0-3]):?[0-5]\\d)?";
const spaced = `${clock}( +(GMT|UTC?|[ECMP][SD]T)| *${offset})`;
const known = [
	`((?!-000000)[+-]\\d{6}|\\d{4})(-\\d\\d(-\\d\\d)?)?(T${clock}${offset})?`, `\\d{4}-\\d\\d-\\d\\d +${spaced}`, `\\d{4}/\\d\\d?/\\d\\d?( +${spaced})?`,
	`((Mon|Tue|Wed|Thu|Fri|Sat|Sun),)? *\\d\\d? +(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\\d{4} +${spaced}( *\\([^()]*\\))?`,
].map((form) => new RegExp(`^${form}$`, "i"));
// For years of less than three digits followed by more text, V8 has rules of its own.
const is_known = (text) => known.some((form) => form.test(text)) && !/^0\d{3}[^T]*[ /]|^[^:]* 00\d\d /i.test(text);
texts.forEach((text, i) => {
	const theirs = `${new Date(text).getTime()}`;
	if (ours[i] === theirs || (ours[i] === "NaN" && !is_known(text))) return;
	if (failed++ < SHOWN) console.log(`${JSON.stringify(text)}: expected ${theirs}, got ${ours[i]}`);
});
const times_ = texts.filter((t) => !Number.isNaN(Date.parse(t))).length;
console.log(`${process.env.TZ}: ${texts.length - failed} passed, ${failed} failed, of which ${times_} are times`);
process.exit(failed ? 1 : 0);
