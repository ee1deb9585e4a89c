// SPDX-License-Identifier: MIT
// Opens branches/ID/session.jsonl with the real pi: node branches.mjs PACKAGE TMP SOURCE MOUNT. See branches.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { count, end, same, skip } from "./count.mjs";

const [pack, tmp, source, mount] = process.argv.slice(2);
const pi = await import(pathToFileURL(path.join(pack, "dist/bundle/index.js")).href);
const elsewhere = path.join(tmp, "elsewhere");
const forkDir = path.join(source, "--forks--");
const MORE = 12; // also this many entries of a session that end no branch
fs.mkdirSync(elsewhere, { recursive: true });

// A copy, since pi writes to what it opens.
function open(bytes) {
	const file = path.join(tmp, "copy.jsonl");
	fs.writeFileSync(file, bytes);
	return { sm: pi.SessionManager.open(file), kept: () => Buffer.compare(fs.readFileSync(file), bytes) === 0 };
}

// Here pi would loop forever.
function isRing(entries) {
	const byId = new Map(entries.map((e) => [e.id, e]));
	const seen = new Set();
	let e = entries.at(-1);
	for (; e && !seen.has(e); e = e.parentId ? byId.get(e.parentId) : undefined) seen.add(e);
	return e !== undefined;
}

function chosen(dir) {
	const all = fs.readdirSync(path.join(dir, "entries"));
	const tips = fs.readdirSync(path.join(dir, "branches")).filter((b) => b !== "current");
	return [...new Set([...tips, ...all.filter((_, i) => i % Math.ceil(all.length / MORE) === 0)])];
}

const forks = [];
for (const project of fs.readdirSync(path.join(mount, "projects"))) {
	for (const stem of fs.readdirSync(path.join(mount, "projects", project))) {
		if (stem === ".latest") continue;
		const name = `projects/${project}/${stem}`;
		const dir = path.join(mount, name);
		const whole = open(fs.readFileSync(path.join(dir, "session.jsonl"))).sm;
		// pi forks the lines as they are, and migrates only what it opens.
		const isOld = JSON.parse(fs.readFileSync(path.join(dir, "info.json"))).version < 3;
		for (const id of chosen(dir)) {
			const where = (count.where = `${name}/branches/${id}`);
			const file = path.join(mount, where, "session.jsonl");
			if (isOld) {
				same("no file", false, fs.existsSync(file));
				continue;
			}
			const bytes = fs.readFileSync(file);
			same("size", bytes.length, fs.statSync(file).size);
			const { sm, kept } = open(bytes);
			same("nothing to migrate", true, kept());
			const entries = sm.getEntries();
			if (isRing(entries) || entries.some((e) => e.type === "message" && (e.message ?? null) === null)) {
				skip();
				continue;
			}
			// pi does not find an entry without an id once it is the last one.
			if (!id.startsWith("~") || sm.getLeafId())
				same("context", JSON.parse(fs.readFileSync(path.join(mount, where, "context.json"))), sm.buildSessionContext());
			const addressed = id.startsWith("~") ? [] : entries.filter((e) => e.type !== "label");
			same("labels", addressed.map((e) => whole.getLabel(e.id)), addressed.map((e) => sm.getLabel(e.id)));
			const fork = pi.SessionManager.forkFrom(file, elsewhere, forkDir);
			same("what is forked", entries, fork.getEntries());
			forks.push([fork.getSessionId(), name]);
		}
	}
}
for (const [id, name] of forks) same(`the parent of fork ${id}`, `${name}\n`, fs.readFileSync(path.join(mount, "sessions", id, "parent"), "utf8"));
console.log(`# ${forks.length} branches`);
count.where = source;
same("branches", true, forks.length > 0);
end();
