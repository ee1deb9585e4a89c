// SPDX-License-Identifier: MIT
// Makes sessions that the samples do not have: node sessions.mjs pages|costs|large DIRECTORY
import fs from "node:fs";
import zlib from "node:zlib";
import { code } from "./check.mjs";

const [what, directory] = process.argv.slice(2);

// A session file, written line by line.
class Session {
	constructor(project, stem, header = {}) {
		fs.mkdirSync(`${directory}/${project}`, { recursive: true });
		this.file = fs.openSync(`${directory}/${project}/${stem}.jsonl`, "w");
		this.clock = Date.UTC(2026, 4, 1, 8);
		this.n = 0;
		this.leaf = null;
		this.bytes = 0;
		this.line({ type: "session", version: 3, id: stem, timestamp: this.time(), cwd: "/home/ada/pages", ...header });
	}
	time() {
		return new Date((this.clock += 1500)).toISOString();
	}
	line(o) {
		const text = JSON.stringify(o) + "\n";
		this.bytes += text.length;
		fs.writeSync(this.file, text);
	}
	add(entry) {
		const id = (++this.n).toString(16).padStart(8, "0");
		this.line({ id, parentId: this.leaf, timestamp: this.time(), ...entry });
		return (this.leaf = id);
	}
	message(message) {
		return this.add({ type: "message", message: { timestamp: this.clock, ...message } });
	}
	user(...content) {
		return this.message({ role: "user", content: content.map(block) });
	}
	assistant(...content) {
		const usage = { input: 900, output: 120, cacheRead: 0, cacheWrite: 0, totalTokens: 1020, cost: { input: 0.0027, output: 0.0018, cacheRead: 0, cacheWrite: 0, total: 0.0045 } };
		const stopReason = content.some((b) => b.type === "toolCall") ? "toolUse" : "stop";
		return this.message({ role: "assistant", provider: "anthropic", model: "claude-sonnet-4-5", usage, stopReason, content: content.map(block) });
	}
	result(toolCallId, toolName, content, more = {}) {
		return this.message({ role: "toolResult", toolCallId, toolName, content: [block(content)], isError: false, ...more });
	}
	end() {
		fs.closeSync(this.file);
	}
}
const block = (b) => (typeof b === "string" ? { type: "text", text: b } : b);
const thinking = (text) => ({ type: "thinking", thinking: text });
const call = (id, name, args) => ({ type: "toolCall", id, name, arguments: args });
const image = (mimeType, data) => ({ type: "image", mimeType, data: Buffer.from(data).toString("base64") });

// A PNG of random grey, which does not compress.
function png(width, height) {
	const chunk = (type, data) => {
		const body = Buffer.concat([Buffer.from(type), data]);
		const ends = [Buffer.alloc(4), body, Buffer.alloc(4)];
		ends[0].writeUInt32BE(data.length);
		ends[2].writeUInt32BE(crc(body));
		return Buffer.concat(ends);
	};
	const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0]);
	head.writeUInt32BE(width, 0);
	head.writeUInt32BE(height, 4);
	let x = 1;
	const rows = Buffer.alloc((width + 1) * height, 0).map((_, i) => (i % (width + 1) ? (x = (x * 48271) % 0x7fffffff) & 255 : 0));
	return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk("IHDR", head), chunk("IDAT", zlib.deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}
function crc(bytes) {
	let c = ~0;
	for (const b of bytes) {
		c ^= b;
		for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
	}
	return ~c >>> 0;
}
const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><rect width="40" height="30" fill="teal"/></svg>';
const words = "the wind from north brings rain and then sun over quiet water while boats wait near old stone walls".split(" ");
const lines = (n, length = 12) => Array.from({ length: n }, (_, i) => `${i + 1}: ${Array.from({ length }, (_, k) => words[(i * 7 + k * 3) % words.length]).join(" ")}`).join("\n");

const make = {
	// Parts of a page: branches in branches, long outputs, edits, thinking, pictures, wide tables and code.
	pages() {
		const s = new Session("--home-ada-pages--", "all-there-is");
		const first = s.user("Show **everything** once.\n\n| a | b |\n|---|---|\n" + `| ${"wide ".repeat(60)}| ${"x".repeat(300)} |\n\n\`\`\`c\nint main(void) { return 0; } ${"/* long */ ".repeat(40)}\n\`\`\`\n`);
		s.assistant(thinking("First I look around.\n\nThen I answer."), "Looking.", call("c1", "bash", { command: "seq 100000" }), call("c2", "read", { path: "src/a.ts" }));
		const fork = s.result("c1", "bash", lines(20000, 4));
		s.result("c2", "read", image("image/png", png(60, 40)));
		s.assistant("An edit.", call("c3", "edit", { path: "src/a.ts", oldText: "one\ntwo\nthree\n", newText: "one\n2\nthree\nfour\n" }), call("c4", "write", { path: "b.py", content: "print('x')\n" }));
		s.result("c3", "edit", "ok");
		s.result("c4", "write", "No such directory", { isError: true });
		s.user("Pictures:", image("image/svg+xml", svg), image("image/png", png(30, 30)), image("image/tiff", "II*\0"));
		s.leaf = fork;
		s.user("Another branch");
		const inner = s.assistant(thinking("Hm."), "On the other branch.");
		s.user("A branch of the branch");
		s.assistant("Deep.");
		s.leaf = inner;
		s.user("A second one");
		s.assistant("Deep too.", call("c5", "bash", { command: "false" }));
		s.leaf = first;
		s.add({ type: "model_change", provider: "openai", modelId: "gpt-5.2" });
		s.assistant("The last branch is the current one.");
		s.add({ type: "label", targetId: fork, label: "numbers" });
		s.end();

		// Ids with a meaning in URLs and scripts.
		const odd = new Session("--home-ada-pages--", "a#b?c%20d&e");
		for (const id of ["é%3C", "a b", "100%", "%41", "A", "#", "?x=1", "__proto__", "constructor", "toString", "~main", "~tree", "main", "\u{1f600}", "a/b", "..", "\ud800", "&lt;", "'", '"']) {
			odd.line({ type: "message", id, parentId: odd.leaf, timestamp: odd.time(), message: { role: "user", content: `This is ${id}` } });
			odd.leaf = id;
		}
		odd.end();
		new Session("--home-ada-pages--", "empty").end();

		// Code, a subagent, a provider with a long name, and a model without one.
		const coded = new Session("--home-ada-pages--", "coded", { parentSession: "all-there-is.jsonl" });
		for (const [language, [text]] of Object.entries(code)) coded.user(`In ${language}:\n\n\`\`\`${language}\n${text}\n\`\`\``);
		for (const provider of ["anthropic", "a-provider-with-a-name-of-some-length"]) coded.message({ role: "assistant", provider, model: "claude-sonnet-4-5", stopReason: "stop", content: [block("Done.")], usage: { input: 900, output: 120, cacheRead: 3400, totalTokens: 4420 } });
		coded.message({ role: "assistant", content: [block("Done again. It\u2019s\u00a0a well\u2010known cafe\u0301.")] });
		coded.end();
	},
	// A conversation, a fork, a copy and a subagent; and many costs that end in half a cent, or whose sum depends
	// on the order.
	costs() {
		const used = (s, role, total) => s.message({ role, provider: "acme", model: "half-cent", content: [], usage: { input: 1000, output: 250, cacheRead: 0, cacheWrite: 0, totalTokens: 1250, cost: { total } } });
		const shared = (s) => { used(s, "assistant", 0.625); used(s, "toolResult", 5); used(s, "assistant", -110000); };
		const session = (stem, header, ...fill) => { const s = new Session("--home-ada-costs--", stem, header); fill.forEach((f) => f(s)); s.end(); };
		session("parent", {}, shared);
		session("fork", { parentSession: "parent.jsonl", timestamp: "2026-05-02T08:00:00.000Z" }, shared, (s) => used(s, "assistant", 0.005));
		session("copy", { parentSession: "parent.jsonl", timestamp: "2026-05-03T08:00:00.000Z" }, shared);
		fs.mkdirSync(`${directory}/--home-ada-costs--/parent`);
		session("parent/run", { parentSession: "../parent.jsonl" }, (s) => used(s, "assistant", 5));
		for (let i = 0; i < 40; i++) session(`many${i}`, { timestamp: `2026-05-04T08:00:${i + 10}.000Z` }, (s) => used(s, "assistant", [0.005, 0.1, 1 / 3, 70.003125][i % 4]));
	},
	// Of 50 MB, like long real ones: calls with long outputs, files that were read and written, pictures, a few branches.
	large() {
		const s = new Session("--home-ada-pages--", "large");
		const picture = png(300, 300);
		for (let turn = 0; s.bytes < 50e6; turn++) {
			if (turn % 50 === 49) s.leaf = s.back;
			if (turn % 50 === 20) s.back = s.leaf;
			s.user(`Question ${turn}: ${lines(4)}`);
			for (let k = 0; k < 6; k++) {
				const id = `c${turn}.${k}`;
				s.assistant(thinking(lines(6)), `Step ${k}.`, call(id, ["bash", "read", "edit", "write"][k % 4], [{ command: `make ${k}` }, { path: `src/${k}.c` }, { path: `src/${k}.c`, oldText: lines(20), newText: lines(22) }, { path: `src/${k}.c`, content: lines(200) }][k % 4]));
				s.result(id, "bash", k % 4 < 2 ? lines(turn % 10 === 0 ? 2000 : 400) : "ok");
			}
			if (turn % 10 === 5) s.user("A picture", image("image/png", picture));
			s.assistant(`## Done ${turn}\n\n${lines(12)}\n\n* one\n* two\n\n\`\`\`c\n${lines(10)}\n\`\`\`\n`);
		}
		s.end();
	},
};
make[what]();
