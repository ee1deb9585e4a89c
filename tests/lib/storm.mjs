// SPDX-License-Identifier: MIT
// The real pi in a storm of writers.
//   node storm.mjs INDEX.js append FILE N PACE STEPS   opens the session and appends N messages (STEPS: see storm.py)
//   node storm.mjs INDEX.js judge FILE N               opens it anew: its active branch must hold them all
import { appendFileSync, readdirSync, statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";

const [index, command, file, n, pace, steps] = process.argv.slice(2);
const { SessionManager } = await import(pathToFileURL(index));
const session = SessionManager.open(file);

let state = 1;
const draw = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32; // the same each time
const size = (name) => statSync(`${steps}/${name}`).size;
const step = async (k) => {
	if ((k + 1) % (Number(n) / 200)) return;
	appendFileSync(`${steps}/pi`, ".");
	while (Math.min(...readdirSync(steps).map(size)) < size("pi") - 1) await sleep(1);
};

if (command === "append") {
	for (let k = 0; k < Number(n); k++) {
		session.appendMessage({ role: "user", content: [{ type: "text", text: `message ${k}` }], timestamp: Date.now() });
		if (draw() < 0.2) await sleep((draw() * Number(pace) * 1000) / 100);
		await step(k);
	}
} else {
	const texts = (entries) => entries.filter((e) => e.type === "message").map((e) => e.message.content[0].text);
	const expected = Array.from({ length: Number(n) }, (_, k) => `message ${k}`);
	const branch = texts(session.getBranch()).filter((t) => t.startsWith("message "));
	const sent = session.buildSessionContext().messages.map((m) => m.content[0].text).filter((t) => t.startsWith("message "));
	for (const [what, found] of Object.entries({ branch, sent })) {
		if (JSON.stringify(found) === JSON.stringify(expected)) continue;
		console.error(`FAILED: pi's ${what} holds ${found.length} of ${n} messages`);
		process.exit(1);
	}
}
