// SPDX-License-Identifier: MIT
// Tells a small story with pi's SessionManager; called by make-samples, which see.
// node make-samples.mjs PI_PACKAGE AGENT_DIR
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { createRequire, syncBuiltinESMExports } from "node:module";

const [piDir, agentDir] = process.argv.slice(2);

// ---- A clock and ids of our own, in place before pi is loaded.

const RealDate = Date;
let clock = 0;
globalThis.Date = class extends RealDate {
	constructor(...args) {
		if (args.length) super(...args);
		else super((clock += 1730));
	}
	static now() {
		return (clock += 1730);
	}
};
const at = (iso) => (clock = RealDate.parse(iso));

const crypto = createRequire(import.meta.url)("node:crypto");
let drawn = 0;
const draw = () => crypto.createHash("sha256").update(`sample ${drawn++}`).digest();
crypto.randomUUID = () => draw().toString("hex"); // of which pi takes the first eight digits
syncBuiltinESMExports();
globalThis.crypto.getRandomValues = (array) => {
	array.set(draw().subarray(0, array.length));
	return array;
};

const { SessionManager } = await import(path.join(piDir, "dist/bundle/index.js"));

// ---- Building blocks

function png(width, height, pixel) {
	const crcOf = (bytes) => {
		let c = ~0;
		for (const b of bytes) {
			c ^= b;
			for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
		}
		return ~c >>> 0;
	};
	const u32 = (n) => {
		const b = Buffer.alloc(4);
		b.writeUInt32BE(n);
		return b;
	};
	const chunk = (type, data) => {
		const body = Buffer.concat([Buffer.from(type), data]);
		return Buffer.concat([u32(data.length), body, u32(crcOf(body))]);
	};
	const rows = [];
	for (let y = 0; y < height; y++) {
		rows.push(0);
		for (let x = 0; x < width; x++) rows.push(...pixel(x, y));
	}
	return Buffer.concat([
		Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
		chunk("IHDR", Buffer.concat([u32(width), u32(height), Buffer.from([8, 2, 0, 0, 0])])),
		chunk("IDAT", zlib.deflateSync(Buffer.from(rows), { level: 9 })),
		chunk("IEND", Buffer.alloc(0)),
	]).toString("base64");
}
const temperatures = [4, 7, 9, 6, 3, 8, 11, 10];
const chart = (shift) => png(64, 24, (x, y) => (24 - y <= temperatures[(x >> 3) % 8] * 2 + shift ? [70, 130, 220] : [250, 250, 245]));

const text = (t) => ({ type: "text", text: t });
const image = (data) => ({ type: "image", data, mimeType: "image/png" });
const think = (t, more = {}) => ({ type: "thinking", thinking: t, ...more });
const call = (id, name, args) => ({ type: "toolCall", id, name, arguments: args });
const blocks = (c) => (typeof c === "string" ? [text(c)] : c);
const cost = (input, output) => {
	const c = { input: (input * 3) / 1e6, output: (output * 15) / 1e6, cacheRead: 0, cacheWrite: 0 };
	return { input, output, cacheRead: 0, cacheWrite: 0, totalTokens: input + output, cost: { ...c, total: c.input + c.output } };
};
const SONNET = { api: "anthropic-messages", provider: "anthropic", model: "claude-sonnet-4-5" };
const GPT = { api: "openai-responses", provider: "openai", model: "gpt-5.2" };
const user = (c) => ({ role: "user", content: blocks(c), timestamp: Date.now() });
const assistant = (c, more = {}) => ({
	role: "assistant", content: blocks(c), ...SONNET, usage: cost(900, 120),
	stopReason: blocks(c).some((b) => b.type === "toolCall") ? "toolUse" : "stop", timestamp: Date.now(), ...more,
});
const result = (id, name, c, more = {}) => ({
	role: "toolResult", toolCallId: id, toolName: name, content: blocks(c), isError: false, timestamp: Date.now(), ...more,
});
const shell = (command, output, more = {}) => ({
	role: "bashExecution", command, output, exitCode: 0, cancelled: false, truncated: false, timestamp: Date.now(), ...more,
});
const tool = (name, description) => ({
	name, description, parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
});
const system = (content, more = {}) => ({ role: "system", content, timestamp: Date.now(), ...more });

const WEATHER = "/home/ada/weather", NOTES = "/home/ada/notes", SITE = "/srv/site:v2";
const create = (cwd, when) => {
	at(when);
	return SessionManager.create(cwd);
};
const prompt = (cwd) => system("You are an expert coding assistant.", {
	sections: { rules: "Be brief. Run the tests after each change.", cwd: `Current directory: ${cwd}` },
	toolsAdded: [tool("read", "Read a file"), tool("edit", "Edit a file"), tool("write", "Write a file")],
});
/** Lines that no SessionManager writes: of other programs and other times. */
const appendRaw = (file, ...entries) => fs.appendFileSync(file, entries.map((e) => `${JSON.stringify(e)}\n`).join(""));
const writeRaw = (relative, ...entries) => {
	const file = path.join(agentDir, "sessions", relative);
	fs.mkdirSync(path.dirname(file), { recursive: true });
	appendRaw(file, ...entries);
};

// ---- weather: the forecast command, two attempts, labels, a name

const forecast = create(WEATHER, "2026-03-02T09:15:00.000Z");
let works;
{
	const s = forecast;
	s.appendModelChange("anthropic", "claude-sonnet-4-5");
	s.appendThinkingLevelChange("medium");
	s.appendMessage(prompt(WEATHER));
	const ask = s.appendMessage(user("Add a `forecast` command that prints the next three days.\nKeep `now` as it is."));
	s.appendMessage(assistant([
		think("The commands live in weather.py.\nRead it, and see who calls fetch()."),
		text("Let me look at the code first."),
		call("toolu_01", "read", { path: "weather.py", offset: 1, limit: 40 }),
		call("toolu_02", "grep", { pattern: "fetch\\(", path: "." }),
	], { thinkingLevel: "medium" }));
	s.appendMessage(result("toolu_01", "read",
		"import json, sys, urllib.request\n\nURL = \"https://weather.example/v1/{}?city={}\"\n\n\ndef fetch(kind, city):\n    with urllib.request.urlopen(URL.format(kind, city), timeout=5) as r:\n        return json.load(r)\n\n\ndef now(city):\n    d = fetch(\"now\", city)\n    print(f\"{d['temp']} °C, {d['sky']}\")\n"));
	s.appendMessage(result("toolu_02", "grep", "weather.py:6:def fetch(kind, city):\nweather.py:12:    d = fetch(\"now\", city)\n"));
	s.appendMessage(assistant([
		text("`fetch` already takes the kind, so the new command is short."),
		call("toolu_03", "edit", { path: "weather.py", edits: [{ oldText: "def now(city):", newText: "def forecast(city):\n    for d in fetch(\"forecast\", city)[:3]:\n        print(f\"{d['day']}: {d['temp']} °C, {d['sky']}\")\n\n\ndef now(city):" }] }),
		call("toolu_04", "write", { path: "test_weather.py", content: "import unittest\nimport weather\n\n\nclass Forecast(unittest.TestCase):\n    def test_three_days(self):\n        weather.fetch = lambda kind, city: [{\"day\": n, \"temp\": n, \"sky\": \"clear\"} for n in range(5)]\n        weather.forecast(\"Oslo\")\n" }),
	]));
	s.appendMessage(result("toolu_03", "edit", "Successfully replaced 1 block(s) in weather.py.", { details: { diff: "+def forecast(city):" } }));
	s.appendMessage(result("toolu_04", "write", "Successfully wrote 292 bytes to test_weather.py"));
	s.appendMessage(assistant([call("toolu_05", "bash", { command: "python3 -m unittest -q", timeout: 60 })]));
	s.appendMessage(result("toolu_05", "bash", "ERROR: test_three_days (test_weather.Forecast)\nNameError: name 'forcast' is not defined\n\nCommand exited with code 1", { isError: true }));
	s.appendMessage(assistant([
		think("", { thinkingSignature: "c2lnbmF0dXJl", redacted: true }),
		text("A typo in the command table."),
		call("toolu_06", "bash", { command: "sed -i 's/forcast/forecast/' weather.py && python3 -m unittest -q" }),
	]));
	s.appendMessage(result("toolu_06", "bash", "----------------------------------------------------------------------\nRan 1 test in 0.001s\n\nOK\n"));
	works = s.appendMessage(assistant("`weather forecast CITY` prints three days, one a line:\n\n```\nMon: 7 °C, rain\nTue: 9 °C, clear\nWed: 6 °C, fog\n```\n"));
	s.appendSessionInfo("Forecast command");
	s.appendLabelChange(works, "forecast works");
	s.appendMessage(shell("git diff --stat", " test_weather.py | 8 ++++++++\n weather.py      | 5 +++++\n 2 files changed, 13 insertions(+)\n"));
	s.appendMessage(shell("printenv WEATHER_KEY", "not-a-real-key\n", { excludeFromContext: true }));
	s.appendMessage(user("Make it a table with columns."));
	const table = s.appendMessage(assistant([text("Columns it is."), call("toolu_07", "edit", { path: "weather.py", edits: [{ oldText: "{d['day']}: ", newText: "{d['day']:<4}" }] })]));
	s.appendMessage(result("toolu_07", "edit", "Successfully replaced 1 block(s) in weather.py."));
	const tabled = s.appendMessage(assistant("Done. Long sky texts will break the last column, though."));
	s.appendLabelChange(table, "output: table/columns");
	s.appendLabelChange(tabled, "todo");

	s.branch(works);
	s.appendMessage(user("Rather print JSON, so that other programs can use it."));
	s.appendModelChange("openai", "gpt-5.2");
	const json = s.appendMessage(assistant("Adding `--json` keeps the text output for people:\n\n    weather forecast Oslo --json | jq .[0].temp\n", { ...GPT, usage: cost(1400, 60) }));
	s.appendLabelChange(json, "output: json");
	s.appendLabelChange(json, "output: JSON ✓");
	s.appendLabelChange(ask, "start");
	s.appendLabelChange(ask, undefined);
	s.branchWithSummary(works, "Tried `--json` as an option of `forecast`.\nIt works, but `now` needs it too: the option belongs to the program.", { readFiles: ["weather.py"], modifiedFiles: [] }, false, cost(2000, 80));
	s.appendMessage(user("Make `--json` an option of the program, for both commands."));
	const last = s.appendMessage(assistant([think("Parse it before the command."), text("Both commands take `--json` now.")]));
	s.appendLabelChange(last, "todo");
}

// ---- weather: pictures

let icons;
{
	const s = (icons = create(WEATHER, "2026-03-03T14:02:10.500Z"));
	s.appendMessage(user([text("The bars in this chart are cut off. Why?"), image(chart(0))]));
	s.appendMessage(assistant([text("Let me draw it again with a margin."), call("call_1|fc_1", "bash", { command: "./chart.py --margin 1 > chart.png" }), call("call_1|fc_2", "read", { path: "chart.png" })], GPT));
	s.appendMessage(result("call_1|fc_1", "bash", "(no output)"));
	s.appendMessage(result("call_1|fc_2", "read", [text("Read image file [image/png]"), image(chart(2))]));
	s.appendMessage(assistant("The scale began at the lowest value. It begins one below it now.", GPT));
	s.appendCustomMessageEntry("screenshot", [text("The window after the change:"), image(chart(3))], true, { window: "chart" });
	s.appendMessage(user([image(chart(3))]));
	s.appendMessage(assistant("", { ...GPT, stopReason: "aborted", errorMessage: "Request was aborted" }));
	s.appendMessage(user("Now it is right."));
}

// ---- weather: a long one, compacted twice, edited

{
	const s = create(WEATHER, "2026-03-05T08:30:00.000Z");
	s.appendThinkingLevelChange("high");
	s.appendMessage(prompt(WEATHER));
	s.appendMessage(user("Cache the answers of the service for ten minutes."));
	s.appendMessage(assistant([call("t1", "find", { pattern: "*.py" }), call("t2", "ls", { path: "." })]));
	s.appendMessage(result("t1", "find", "weather.py\ntest_weather.py\n"));
	const listing = s.appendMessage(result("t2", "ls", `total 24\n${Array.from({ length: 12 }, (_, n) => `cache-${n}.json`).join("\n")}\n`));
	const plan = s.appendMessage(assistant("I would keep one file for each city in `~/.cache/weather`."));
	s.appendContextEdit(listing, { content: "(a long listing)" });
	s.appendMessage(user("Yes, but no more than a hundred files."));
	s.appendMessage(system("", { sections: { rules: "Be brief.", skills: "cache: how to keep files" }, toolsRemoved: [{ name: "write" }], toolsAdded: [tool("bash", "Run a command")] }));
	const keep = s.appendMessage(user("And write them atomically."));
	s.appendMessage(assistant([think("A temporary file in the same directory, then rename."), text("Written beside it, then renamed.")]));
	s.appendUsage("summarization", "anthropic", "claude-haiku-4-5", cost(5000, 300), "compaction");
	s.appendCompaction("## Goal\nCache the service's answers for ten minutes.\n\n## Done\n- one file for each city, at most 100\n", keep, 48210, { readFiles: ["weather.py"], modifiedFiles: ["cache.py"] }, false, cost(5000, 300));
	s.appendMessage(user("What happens when the clock goes back?"));
	const clockAnswer = s.appendMessage(assistant("The file looks as if it came from the future; it is then read anew."));
	s.appendContextEdit(plan, null);
	s.appendLabelChange(clockAnswer, "clock");
	const kept = s.appendMessage(user("Add a test for that."));
	s.appendMessage(assistant([call("t3", "bash", { command: "python3 -m unittest -q test_cache" })]));
	s.appendMessage(result("t3", "bash", "Ran 4 tests in 0.012s\n\nOK\n"));
	s.appendCompaction("## Goal\nA cache with tests.\n\n## Done\n- cache.py, test_cache.py\n- a clock that goes back is handled\n", kept, 61034, undefined, true);
	s.appendMessage(assistant("The cache is finished and tested.", { responseId: "resp_31", responseModel: "claude-sonnet-4-5-20250929" }));
	s.appendSessionInfo("Cache");
	s.appendSessionInfo("Cache for ten minutes");
}

// ---- weather: several beginnings, an error

{
	const s = create(WEATHER, "2026-03-06T17:45:00.000Z");
	s.appendMessage(user("Translate the output to Norwegian"));
	s.appendMessage(assistant("", { stopReason: "error", errorMessage: "529 overloaded_error: the service is busy" }));
	s.resetLeaf();
	s.appendMessage(user("Translate the output to Norwegian (bokmål): vær, «opphold», 風?"));
	s.appendMessage(assistant("Tekstene ligger nå i `nb.json`."));
	s.branchWithSummary(null, "Two attempts at a translation.", undefined, true);
	s.appendMessage(user("Start over: which strings are there?"));
	const strings = s.appendMessage(assistant("Eleven, all in `weather.py`."));
	s.branchWithSummary(strings, "");
}

// ---- forks: within the project, and into another

{
	at("2026-03-07T10:00:00.000Z");
	const s = SessionManager.open(forecast.getSessionFile());
	s.createBranchedSession(works);
	s.appendMessage(user("In this copy: add the wind."));
	s.appendMessage(assistant("`forecast` prints the wind in m/s."));
	s.appendSessionInfo("Forecast with wind");
}
{
	at("2026-03-08T11:20:00.000Z");
	const s = SessionManager.forkFrom(icons.getSessionFile(), NOTES);
	s.appendMessage(user("Use the same chart code for the word counts of my notes."));
	s.appendMessage(assistant("`wordcount --chart` draws one bar a day."));
}

// ---- notes: extensions, unknown things, a compaction that keeps nothing

{
	const s = create(NOTES, "2026-03-09T07:05:00.000Z");
	s.appendMessage(user("Which notes link to nothing?"));
	s.appendCustomEntry("todo-list", { items: [{ text: "find dead links", done: false }] });
	s.appendCustomMessageEntry("reminder", "Two notes are older than a year.", false);
	s.appendMessage(assistant([call("x1", "link_check", { root: ".", skip: ["archive/**"] })]));
	s.appendMessage(result("x1", "link_check", "7 of 212 links are dead", { details: { dead: 7 } }));
	s.appendCompaction("Seven dead links were found.", null, 1499);
	s.appendMessage(user("Remove them."));
	const done = s.appendMessage(assistant("Removed."));
	appendRaw(s.getSessionFile(),
		{ type: "checkpoint", id: "c0ffee01", parentId: done, timestamp: "2026-03-09T07:06:00.000Z", commit: "5f2a" },
		{ type: "message", id: "c0ffee02", parentId: "c0ffee01", timestamp: "2026-03-09T07:06:10.000Z", message: { role: "reviewer", content: [text("A role that pi does not know.")], timestamp: 1773039970000 } },
		{ type: "message", id: "c0ffee03", parentId: "c0ffee02", timestamp: "2026-03-09T07:06:20.000Z", message: { role: "assistant", content: [text("Noted."), { type: "hologram", data: "?" }], ...SONNET, usage: cost(10, 5), stopReason: "stop", timestamp: 1773039980000 } });
}

// ---- what older versions and other programs wrote

const old = (iso, message) => ({ type: "message", timestamp: iso, message: { ...message, timestamp: RealDate.parse(iso) } });
const said = (t) => ({ role: "assistant", content: [text(t)], ...SONNET, usage: cost(50, 20), stopReason: "stop" });
writeRaw("--home-ada-notes--/2025-11-20T18-00-00-000Z_7d0f2a54-3f0e-4c5b-9a52-0c1d6f1be8aa.jsonl",
	{ type: "session", id: "7d0f2a54-3f0e-4c5b-9a52-0c1d6f1be8aa", timestamp: "2025-11-20T18:00:00.000Z", cwd: NOTES, provider: "anthropic", modelId: "claude-sonnet-4-5", thinkingLevel: "off" },
	old("2025-11-20T18:00:05.000Z", { role: "user", content: "Sort the notes by date" }),
	old("2025-11-20T18:00:09.000Z", said("Sorted.")),
	old("2025-11-20T18:01:00.000Z", { role: "user", content: "And by name within a day" }),
	old("2025-11-20T18:01:04.000Z", said("By date, then by name.")),
	{ type: "compaction", timestamp: "2025-11-20T18:02:00.000Z", summary: "The notes are sorted by date and name.", firstKeptEntryIndex: 3, tokensBefore: 900 },
	old("2025-11-20T18:03:00.000Z", { role: "user", content: "Thanks" }));
writeRaw("--home-ada-notes--/2025-12-14T12-30-00-000Z_b3a6e0c2-77d1-4f57-8a0b-52f1c9f3d7e1.jsonl",
	{ type: "session", version: 2, id: "b3a6e0c2-77d1-4f57-8a0b-52f1c9f3d7e1", timestamp: "2025-12-14T12:30:00.000Z", cwd: NOTES },
	{ ...old("2025-12-14T12:30:03.000Z", { role: "user", content: [text("Make a backup every night")] }), id: "a1b2c3d4", parentId: null },
	{ ...old("2025-12-14T12:30:05.000Z", { role: "hookMessage", customType: "clock", content: "It is noon.", display: true }), id: "b2c3d4e5", parentId: "a1b2c3d4" },
	{ ...old("2025-12-14T12:30:09.000Z", said("A timer runs `rsync -a` at three.")), id: "c3d4e5f6", parentId: "b2c3d4e5" },
	{ type: "label", id: "d4e5f607", parentId: "c3d4e5f6", timestamp: "2025-12-14T12:31:00.000Z", targetId: "c3d4e5f6", label: "backup" });
writeRaw("--srv-site-v2--/2026-03-10T06-00-00-000Z_site-1.jsonl",
	{ type: "session", version: 4, id: "site-1", timestamp: "2026-03-10T06:00:00.000Z", cwd: SITE, later: { field: true } },
	{ type: "message", id: "1", parentId: null, timestamp: "2026-03-10T06:00:02.000Z", message: { role: "user", content: [text("Is the site up?")], timestamp: 1773122402000 } },
	{ type: "message", id: "2", parentId: "1", timestamp: "2026-03-10T06:00:04.000Z", message: { ...said("It answers in 80 ms."), timestamp: 1773122404000 } });
writeRaw("5b8c1f0e-2f6d-4d3c-8f51-d0a7b6c5e4f3.jsonl",
	{ type: "session", version: 3, id: "5b8c1f0e-2f6d-4d3c-8f51-d0a7b6c5e4f3", timestamp: "2026-03-11T20:10:00.000Z", cwd: WEATHER },
	{ type: "message", id: "e1f2a3b4", parentId: null, timestamp: "2026-03-11T20:10:01.000Z", message: { role: "user", content: "Will it rain tomorrow?", timestamp: 1773259801000 } },
	{ type: "message", id: "f2a3b4c5", parentId: "e1f2a3b4", timestamp: "2026-03-11T20:10:04.000Z", message: { ...said("Yes, from noon on."), timestamp: 1773259804000 } });
writeRaw("scratch.jsonl",
	{ type: "session", version: 3, id: "scratch", timestamp: "2026-02-27T05:00:00.000Z" },
	{ type: "message", id: "aa11bb22", parentId: null, timestamp: "2026-02-27T05:00:01.000Z", message: { role: "user", content: "A session without a directory", timestamp: 1772168401000 } });

// parentSession is an absolute path: it must not tell where the samples were made.
for (const name of fs.readdirSync(path.join(agentDir, "sessions"), { recursive: true })) {
	const file = path.join(agentDir, "sessions", name);
	if (fs.statSync(file).isFile()) fs.writeFileSync(file, fs.readFileSync(file, "utf8").replaceAll(agentDir, "/home/ada/.pi/agent"));
}
