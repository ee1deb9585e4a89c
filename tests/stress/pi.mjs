// SPDX-License-Identifier: MIT
// The real pi of tests/stress/load: appends to all sessions in turn until OVER exists, RATE messages a second.
//   node pi.mjs INDEX.js append TOP SESSIONS RATE   acknowledges in TOP/acks/pi, as tests/stress/users.py describes;
//                                                   prints the seconds of each append
//   node pi.mjs INDEX.js judge TOP SESSIONS         opens each session: its branch must hold all its messages
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const [index, command, top, sessions, rate] = process.argv.slice(2);
const { SessionManager } = await import(pathToFileURL(index));
const file = (s) => `${top}/src/--load--/s${String(s).padStart(2, "0")}.jsonl`;
const open = Array.from({ length: Number(sessions) }, (_, s) => SessionManager.open(file(s)));

function message(k, text) {
	const content = [{ type: "text", text }];
	if (k % 4 === 0) return { role: "user", content, timestamp: Date.now() };
	if (k % 4 === 2) return { role: "toolResult", toolCallId: `call-${k - 1}`, toolName: "read", content, isError: false, timestamp: Date.now() };
	if (k % 4 === 1) content.push({ type: "toolCall", id: `call-${k}`, name: "read", arguments: { path: `file-${k}.md` } });
	const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.001 };
	const usage = { input: 10, output: k % 100, cacheRead: 0, cacheWrite: 0, totalTokens: 10 + (k % 100), cost };
	return { role: "assistant", content, api: "a", provider: "p", model: "m", usage, stopReason: "stop", timestamp: Date.now() };
}

if (command === "append") {
	const count = open.map(() => 0);
	const start = performance.now();
	for (let n = 0; !existsSync(`${top}/over`); n++) {
		const s = n % open.length;
		const k = count[s]++;
		const before = process.hrtime.bigint();
		const id = open[s].appendMessage(message(k, `mark${s}x${k} at ${before}; and some words more`));
		console.log(Number(process.hrtime.bigint() - before) / 1e9);
		appendFileSync(`${top}/acks/pi`, `${JSON.stringify([s, k, id])}\n`);
		await sleep(Math.max(0, start + ((n + 1) * 1000) / Number(rate) - performance.now()));
	}
} else {
	const acks = readFileSync(`${top}/acks/pi`, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
	for (const [s, session] of open.entries()) {
		const expected = acks.filter((a) => a[0] === s).map((a) => a[2]);
		const branch = new Set(session.getBranch().map((e) => e.id));
		const lost = expected.filter((id) => !branch.has(id));
		if (lost.length) {
			console.error(`session ${s}: pi's branch lacks ${lost.length} of ${expected.length} messages`);
			process.exitCode = 1;
		}
	}
}
