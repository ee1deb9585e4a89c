// SPDX-License-Identifier: MIT
// Opens branches/ID/session.jsonl with the real pi: node branches.mjs PACKAGE TMP SOURCE MOUNT. See branches.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [pack, tmp, source, mount] = process.argv.slice(2);
const pi = await import(pathToFileURL(path.join(pack, "dist/bundle/index.js")).href);
const elsewhere = path.join(tmp, "elsewhere");
const forkDir = path.join(source, "--forks--");
const MORE = 12; // also this many entries of a session that end no branch
fs.mkdirSync(elsewhere, { recursive: true });

const count = { passed: 0, failed: 0, skipped: 0 };
function same(what, expected, actual) {
	const [a, b] = [JSON.stringify(expected), JSON.stringify(actual)];
	if (a === b) return count.passed++;
	let i = 0;
	while (a && b && a[i] === b[i]) i++;
	console.log(`${what}: expected ${a?.slice(Math.max(0, i - 60), i + 100)}, got ${b?.slice(Math.max(0, i - 60), i + 100)}`);
	count.failed++;
}

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
			const where = `${name}/branches/${id}`;
			const file = path.join(mount, where, "session.jsonl");
			if (isOld) {
				same(`${where}: no file`, false, fs.existsSync(file));
				continue;
			}
			const bytes = fs.readFileSync(file);
			same(`${where}: size`, bytes.length, fs.statSync(file).size);
			const { sm, kept } = open(bytes);
			same(`${where}: nothing to migrate`, true, kept());
			const entries = sm.getEntries();
			if (isRing(entries) || entries.some((e) => e.type === "message" && (e.message ?? null) === null)) {
				count.skipped++;
				continue;
			}
			// pi does not find an entry without an id once it is the last one.
			if (!id.startsWith("~") || sm.getLeafId())
				same(`${where}: context`, JSON.parse(fs.readFileSync(path.join(mount, where, "context.json"))), sm.buildSessionContext());
			const addressed = id.startsWith("~") ? [] : entries.filter((e) => e.type !== "label");
			same(`${where}: labels`, addressed.map((e) => whole.getLabel(e.id)), addressed.map((e) => sm.getLabel(e.id)));
			const fork = pi.SessionManager.forkFrom(file, elsewhere, forkDir);
			same(`${where}: what is forked`, entries, fork.getEntries());
			forks.push([fork.getSessionId(), name]);
		}
	}
}
for (const [id, name] of forks) same(`the parent of a fork`, `${name}\n`, fs.readFileSync(path.join(mount, "sessions", id, "parent"), "utf8"));
console.log(`${forks.length} branches: ${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
process.exit(count.failed || !forks.length ? 1 : 0);
