// SPDX-License-Identifier: MIT
// Opens files that a loss of power left with the real pi: node power.mjs TEST_POWER PI-DIRECTORY STATES WORK
// STATES has the files; WORK is empty. See power.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { count, end, same } from "./count.mjs";

const [reader, piDirectory, states, work] = process.argv.slice(2);
const load = async (file) => (await import(pathToFileURL(path.join(piDirectory, file)).href)).SessionManager;
const newest = await load("newest/dist/bundle/index.js");
const old = await load("old/node_modules/@mariozechner/pi-coding-agent/dist/index.js");

// What sessionfs reads in the files of a directory.
function readings(directory) {
	const r = spawnSync(reader, ["--read", directory], { encoding: "utf8", maxBuffer: 2 ** 31 });
	if (r.status !== 0) throw new Error(`${reader} ended with ${r.status ?? r.error}: ${r.stderr}`);
	return new Map(r.stdout.trimEnd().split("\n").map((line) => {
		const value = JSON.parse(line);
		return [value.file, value];
	}));
}

// What pi reads, in the form of the readings.
function state(sm) {
	const entries = sm.getEntries();
	const ids = entries.map((e) => e.id);
	return {
		ids,
		leaf: sm.getLeafId() ?? "",
		labels: ids.filter((id) => sm.getLabel(id) !== undefined).map((id) => [id, sm.getLabel(id)]),
		name: sm.getSessionName() ?? "",
	};
}

// pi writes to the files that it opens.
const copy = path.join(work, "copy.jsonl");
function open(manager, bytes) {
	fs.writeFileSync(copy, bytes);
	return manager.open(copy);
}

const read = readings(states);
const appended = path.join(work, "appended");
const after = new Map();
fs.mkdirSync(appended);
for (const [file, reading] of read) {
	count.where = file;
	const bytes = fs.readFileSync(path.join(states, file));
	try {
		const sm = open(newest, bytes);
		same("what the newest pi reads", state(sm), reading.read);
		same("the context", sm.buildSessionContext(), reading.context);
		if (file.includes("-again") || reading.read.ids.length === 0) continue;
		// The old pi knows no context_edit: for it this is an entry without a meaning.
		same("what the old pi reads", state(open(old, bytes)), reading.read);
		const again = open(newest, bytes);
		const ids = again.getEntries().map((e) => e.id);
		again.appendLabelChange(ids[0], "by pi");
		again.appendMessage({ role: "user", content: [{ type: "text", text: "Go on." }], timestamp: 1772355602742 });
		const written = fs.readFileSync(copy);
		same("what was there stays", true, written.subarray(0, bytes.length).equals(bytes));
		const last = open(newest, written);
		same("the entries after pi appended", ids, last.getEntries().slice(0, -2).map((e) => e.id));
		after.set(file, [state(last), last.buildSessionContext()]);
		fs.writeFileSync(path.join(appended, file), written);
	} catch (error) {
		same("pi", "no error", error.message);
	}
}
const readAfter = readings(appended);
for (const [file, [expected, context]] of after) {
	count.where = file;
	same("what the newest pi reads after it appended", expected, readAfter.get(file)?.read);
	same("the context after pi appended", context, readAfter.get(file)?.context);
}
end();
