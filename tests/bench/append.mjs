// SPDX-License-Identifier: MIT
// Appends messages to a session as pi does, one every MILLISECONDS, and prints "N BEFORE AFTER" for each: the beginning
// and the end of the append, in nanoseconds of the monotonic clock. The text of number N contains "live-00000N;".
//   node append.mjs INDEX.js FILE COUNT MILLISECONDS
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const [index, file, count, apart] = process.argv.slice(2);
const { SessionManager } = await import(pathToFileURL(index));
const session = SessionManager.open(file);
const start = performance.now();
const times = [];
for (let i = 1; i <= count; i++) {
	await setTimeout(Math.max(0, start + i * apart - performance.now()));
	const text = `live-${String(i).padStart(6, "0")}; What does the forecast say about tomorrow, and the day after?`;
	const message = { role: "user", content: [{ type: "text", text }], timestamp: Date.now() };
	const before = process.hrtime.bigint();
	session.appendMessage(message);
	times.push(`${i} ${before} ${process.hrtime.bigint()}`);
}
console.log(times.join("\n"));
