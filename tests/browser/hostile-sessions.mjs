// SPDX-License-Identifier: MIT
// Sessions with the corpus in every field: node hostile-sessions.mjs DIRECTORY. Each chunk of the corpus gets a session
// with all fields; each text also gets a small session, for fields that exist once. Prints nothing.
import fs from "node:fs";
import { chunks, corpus, svg } from "./corpus.mjs";

const [directory] = process.argv.slice(2);
const at = (n) => corpus[n % corpus.length];
const image = (mimeType, data) => ({ type: "image", mimeType, data });
const base64 = (text) => Buffer.from(text).toString("base64");
const languages = ["html", "ts", "py"];
const time = "2026-01-01T00:00:00.000Z";

// Texts that can be names in a directory.
function name(text) {
	let name = text.toWellFormed?.() ?? text.replace(/[\ud800-\udfff]/g, "?");
	name = name.replace(/[/\0]/g, "\u2215");
	while (Buffer.byteLength(name) > 180) name = name.slice(0, -1);
	return /^\.{1,2}$|^$/.test(name) ? `${name}x` : name;
}

function write(project, stem, lines) {
	fs.mkdirSync(`${directory}/${project}`, { recursive: true });
	fs.writeFileSync(`${directory}/${project}/${stem}.jsonl`, lines.map((l) => JSON.stringify(l) + "\n").join(""));
}

// All entries with the text x; `n` makes ids differ that are not texts of the corpus.
function entries(x, n, leaf) {
	const list = [];
	const add = (entry) => {
		const id = entry.id ?? `e${n}.${list.length}`;
		list.push({ id, parentId: leaf.id, timestamp: time, ...entry });
		leaf.id = id;
	};
	const message = (m, more) => add({ type: "message", message: { timestamp: Date.UTC(2026, 0, 1), ...m }, ...more });
	const call = (id, name, args) => ({ type: "toolCall", id, name, arguments: args });
	const usage = { input: x, output: x, totalTokens: x, cost: { total: x, input: x } };
	const nestedCalls = { calls: [{ name: x, status: "error", error: x, arguments: { [x]: x } }, { name: "write", status: "ok", arguments: { path: x, content: x } }], complete: false };

	message({ role: "user", content: x }, { id: x });
	message({ role: "user", content: `<skill name="${x}" location="/">\n${x}\n</skill>\n\n${x}` });
	message({ role: "user", content: [{ type: "text", text: x }, { type: x, text: x, [x]: x }, image("image/svg+xml", base64(svg)), image(x, base64(x)), image("image/png", x), image("image/svg+xml", base64(x))] }, { timestamp: x });
	message({
		role: "assistant", provider: x, model: x, api: x, stopReason: x, errorMessage: x, usage, responseId: x, diagnostics: [{ type: x, details: { reason: `${x}.`, transformations: [{ reason: x }] } }, { type: x, error: { message: x } }],
		content: [{ type: "thinking", thinking: x, thinkingSignature: x }, { type: "text", text: `**${x}**` }, call(x, x, { [x]: x, command: x, path: x }), call(`${n}.1`, "bash", { command: x, timeout: x }), call(`${n}.2`, "read", { path: x, offset: x, limit: x }), call(`${n}.3`, "edit", { path: x, oldText: x, newText: `${x}\n${x}` }), call(`${n}.4`, "edit", { path: x, edits: [{ oldText: x, newText: "" }] }), call(`${n}.5`, "write", { path: x, content: x }), call(`${n}.6`, x, x), call(`${n}.7`, "apply_patch", { input: `*** Begin Patch\n*** Update File: ${x}\n@@ ${x}\n-${x}\n+${x}\n*** End Patch` }), call(`${n}.8`, "grep", { pattern: x, path: x, glob: x }), ...languages.flatMap((l) => [call(`${n}.${l}r`, "read", { path: `a.${l}` }), call(`${n}.${l}w`, "write", { path: `a.${l}`, content: x })])],
	}, { id: `${x}.` });
	for (const l of languages) message({ role: "toolResult", toolCallId: `${n}.${l}r`, toolName: "read", content: x });
	message({ role: "toolResult", toolCallId: x, toolName: x, isError: n % 2 === 0, content: [{ type: "text", text: x }, image(x, x)], details: { diff: x, imageUnsupportedByModel: x }, nestedCalls });
	message({ role: "toolResult", toolCallId: `${n}.1`, toolName: "bash", isError: n % 2 === 1, content: x });
	message({ role: "bashExecution", command: x, output: x, exitCode: x, cancelled: x, truncated: x, fullOutputPath: x });
	message({ role: "bashExecution", command: `echo ${x}`, output: x, exitCode: 1, excludeFromContext: true });
	message({ role: "assistant", provider: "p", model: "m", stopReason: "error", errorMessage: x, usage, content: x });
	message({ role: x, content: x, summary: x });
	message({ role: "system", content: x, sections: [x], toolsAdded: [x] });
	message({ role: "custom", customType: x, content: x, display: true, details: x });
	message({ role: "branchSummary", summary: x, fromId: x });
	add({ type: "compaction", summary: x, firstKeptEntryId: x, tokensBefore: x, details: { [x]: x } });
	add({ type: "branch_summary", summary: x, fromId: x });
	add({ type: "custom", customType: x, data: { [x]: x } });
	add({ type: "custom_message", customType: x, content: x, display: n % 2 === 0 });
	add({ type: "custom_message", customType: "t", content: [{ type: "text", text: x }], display: true });
	add({ type: "model_change", provider: x, modelId: x });
	add({ type: "thinking_level_change", thinkingLevel: x });
	add({ type: "context_edit", targetId: x, replacement: { content: x } });
	add({ type: "usage", kind: x, provider: x, model: x, usage, note: x });
	add({ type: "label", targetId: `e${n}.1`, label: x });
	add({ type: "label", targetId: x, label: x });
	add({ type: "session_info", name: x });
	add({ type: x, [x]: x });
	return list;
}

const header = (n, more) => ({ type: "session", version: 3, id: `${at(n)}${n}`, timestamp: time, cwd: at(n + 1), parentSession: `${name(at(n + 2))}.jsonl`, ...more });
chunks.forEach((chunk, c) => {
	const leaf = { id: null };
	const lines = [header(c * 7)];
	chunk.forEach((x, k) => {
		lines.push(...entries(x, `${c}x${k}`.length + c * 100 + k, leaf));
		if (k % 2 === 1) leaf.id = lines[1].id; // more branches
	});
	write(`--chunk${c}--`, `c${c}`, lines);
});
corpus.forEach((x, n) => {
	const usage = { input: 10, output: 10, totalTokens: 20, cost: { total: 0.01 } };
	write(n % 2 ? name(x) : `--${name(x)}--`, name(at(n + 1)), [
		header(n, { id: x, cwd: x, timestamp: n % 3 ? time : x }),
		{ type: "message", id: "u", parentId: null, timestamp: time, message: { role: "user", content: x, timestamp: n % 5 ? Date.UTC(2026, 0, 1 + (n % 28)) : x } },
		{ type: "message", id: "a", parentId: "u", timestamp: n % 4 ? `2026-01-${10 + (n % 20)}T00:00:00.000Z` : x, message: { role: "assistant", provider: x, model: x, usage, content: [{ type: "text", text: x }] } },
		...(n % 2 ? [{ type: "session_info", id: "s", parentId: "a", timestamp: time, name: x }] : []),
	]);
});
// Bytes that are not text, as a name and as a line.
const raw = Buffer.concat([Buffer.from(`${directory}/--raw--/`), Buffer.from([0xff, 0xc0, 0xbc]), Buffer.from("<img src=x onerror=alert(1)>.jsonl")]);
fs.mkdirSync(`${directory}/--raw--`, { recursive: true });
fs.writeFileSync(raw, Buffer.concat([Buffer.from('{"type":"session","version":3,"id":"raw"}\n{"type":"message","id":"u","parentId":null,"message":{"role":"user","content":"'), Buffer.from([0xc0, 0xbc]), Buffer.from("script>alert(1)"), Buffer.from([0xe0, 0x80, 0xbc]), Buffer.from('/script>"}}\n<script>alert(1)</script>\n')]));
