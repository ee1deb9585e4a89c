// SPDX-License-Identifier: MIT
// Compares sessionfs with pi: node compare.mjs SESSIONFS PI-DIRECTORY TMP (SOURCE VIEW)...
// VIEW is where SOURCE is mounted, or "cli". See run.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { fileURLToPath } from "node:url";
import { count, end, fail, same, skip } from "./count.mjs";
import { encode, entriesOf, entryNames } from "./names.mjs";

const [program, piDirectory, tmp, ...pairs] = process.argv.slice(2);
const here = path.dirname(fileURLToPath(import.meta.url));
const SECONDS = Number(process.env.CONFORMANCE_SECONDS ?? 60); // for one answer of pi, which never comes for some broken files

const tokens = { equal: 0, different: 0, none: 0 };

// ---- sessionfs, mounted or not ----

function mounted(root) {
	const at = (p) => path.join(root, p);
	const or = (f) => {
		try {
			return f();
		} catch (e) {
			if (e.code === "ENOENT") return null;
			throw e;
		}
	};
	return {
		bytes: (p) => or(() => fs.readFileSync(at(p))),
		link: (p) => or(() => fs.readlinkSync(at(p))),
		links: (p) =>
			fs.readdirSync(at(p), { withFileTypes: true })
				.filter((e) => e.isSymbolicLink())
				.map((e) => ({ name: e.name, target: fs.readlinkSync(at(path.join(p, e.name))) })),
		directories: (p) => fs.readdirSync(at(p), { withFileTypes: true }).filter((e) => e.isDirectory()).map((e) => e.name),
		parentsToCheck: Infinity,
	};
}

function unmounted(source) {
	const call = (...args) => {
		const r = spawnSync(program, ["-S", source, ...args], { maxBuffer: 2 ** 31, timeout: SECONDS * 1000 });
		if (r.error) throw r.error;
		if (r.status !== 0 && !/No such file/.test(r.stderr)) throw new Error(`${args.join(" ")}: ${r.stderr}`);
		return r.status === 0 ? r.stdout : null;
	};
	const list = (p) => JSON.parse(call("--ls", p, "--json") ?? "[]");
	return {
		bytes: (p) => call("--cat", p),
		link: (p) => list(p)[0]?.target ?? null,
		links: (p) => list(p).filter((e) => e.type === "link"),
		directories: (p) => list(p).filter((e) => e.type === "directory").map((e) => e.name),
		parentsToCheck: 20, // a process each
	};
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const text = (bytes) => (bytes === null ? null : strict.decode(bytes));

// ---- pi, in a process that can be killed ----

class Oracle {
	constructor(dir) {
		this.dir = dir;
	}
	start() {
		this.child = spawn(process.execPath, [path.join(here, "oracle.mjs"), this.dir], {
			stdio: ["pipe", "pipe", "inherit"],
			env: { ...process.env, PI_CODING_AGENT_DIR: path.join(tmp, "agent"), PI_OFFLINE: "1", FORCE_COLOR: "0" },
		});
		this.lines = readline.createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
	}
	stop() {
		this.child?.kill("SIGKILL");
		this.child = undefined;
	}
	// Returns the answer, or {error}.
	async ask(request) {
		if (!this.child) this.start();
		this.child.stdin.write(`${JSON.stringify(request)}\n`);
		let timer;
		const late = new Promise((done) => {
			timer = setTimeout(() => done({ late: true }), SECONDS * 1000);
		});
		const got = await Promise.race([this.lines.next(), late]);
		clearTimeout(timer);
		if (got.late || got.done) {
			this.stop();
			return { error: got.late ? "pi never answered" : "pi ended" };
		}
		return JSON.parse(got.value);
	}
}

// ---- session files ----

// Regular files named *.jsonl in the directory and one level below, as [relative path].
function sessionFiles(source) {
	const files = [];
	const look = (dir) => {
		for (const name of fs.readdirSync(path.join(source, dir)).sort()) {
			const p = path.join(dir, name);
			const st = fs.statSync(path.join(source, p), { throwIfNoEntry: false });
			if (st?.isFile() && name.endsWith(".jsonl")) files.push(p);
			else if (st?.isDirectory() && dir === "") look(p);
		}
	};
	look("");
	return files;
}

let copies = 0;
// A copy with its times, alone in a directory. Links are followed: pi must not reach the original.
function copy(source, file) {
	const dir = path.join(tmp, "copies", String(copies++));
	fs.mkdirSync(dir, { recursive: true });
	execFileSync("cp", ["-pL", "--", path.join(source, file), dir]);
	return path.join(dir, path.basename(file));
}

// ---- the comparison ----

// Text as files hold it: always UTF-8, never NUL.
const clean = (s) => s.toWellFormed().replaceAll("\0", "\u2400");
const oneLine = (s) => clean(s.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, " ").trim());
const cellText = (s) => clean(s).replace(/[\x01-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]/g, " ");
// Returns the rows of a table, without its headings.
function tableRows(table) {
	const cell = (c) => c.replace(/\\(.)/g, (_, e) => ({ t: "\t", n: "\n" })[e] ?? e);
	return table.split("\n").slice(1, -1).map((row) => row.split("\t").map(cell));
}
const labelText = (cell) => cell.replace(/\\(.)/g, (_, c) => ({ t: "\t", n: "\n", r: "\r", 0: "\u2400", "\\": "\\" })[c]);

function labelsShown(fsx, dir) {
	const labels = {};
	for (const row of (text(fsx.bytes(`${dir}/labels.tsv`)) ?? "").split("\n")) {
		if (row === "" || row.startsWith("#")) continue;
		const [id, label] = row.split("\t");
		if (label !== "") labels[id] = labelText(label);
	}
	return labels;
}

function compareContext(what, pi, fsx, file) {
	const bytes = fsx.bytes(file);
	if (pi === null) {
		skip(); // pi has no answer: a cycle, or an entry that it cannot address
		return;
	}
	// Through JSON twice: values without a JSON form (1e400) are null on both sides.
	same(what, JSON.parse(pi), bytes === null ? undefined : JSON.parse(text(bytes)));
}

// Compares the rows of context.tsv with [entry, role, name, tokens] for each message. A message on which estimateTokens()
// fails only counts.
function compareTokens(what, pi, fsx, file, names) {
	if (pi == null) {
		skip();
		return;
	}
	const cell = (v) => (typeof v === "string" ? cellText(v) : "");
	const bytes = fsx.bytes(file);
	const rows = bytes === null ? [] : tableRows(text(bytes));
	same(`${what}: exists`, pi.length > 0, bytes !== null);
	same(`${what}: rows`, pi.map(([i, role, name]) => [names[i], cell(role), cell(name)]), rows.map((r) => r.slice(0, 3)));
	let total = 0;
	const sums = rows.map((r, i) => (total += pi[i]?.[3] ?? Number(r[3])));
	same(`${what}: total`, sums.map(String), rows.map((r) => r[4]));
	pi.forEach(([i, role, , n], k) => {
		const shown = rows[k]?.[3];
		if (n === null) tokens.none++;
		else if (String(n) === shown) tokens.equal++;
		else {
			tokens.different++;
			fail(what, `${names[i]}, ${role}: pi estimates ${n} tokens, the row has ${shown}`);
		}
	});
}

function comparePath(pi, fsx, dir, names) {
	if (pi.current < 0) {
		same("branches/current", null, fsx.link(`${dir}/branches/current`));
		return;
	}
	if (pi.path === null) {
		skip();
		return;
	}
	const links = fsx
		.links(`${dir}/branches/current/`)
		.map((l) => ({ ...l, n: Number(/^\d{4,}/.exec(l.name)?.[0]) }))
		.sort((a, b) => a.n - b.n);
	same("path", pi.path.map((i) => `../../entries/${names[i]}`), links.map((l) => l.target));
	const position = (n) => String(n + 1).padStart(4, "0");
	// A word with bytes that are not UTF-8 is named by its bytes, which pi does not report.
	const kind = (i, n) => (pi.kinds[i] === null || pi.kinds[i].includes("\ufffd") ? links[n]?.name.slice(position(n).length + 1) : encode(pi.kinds[i]));
	same("names of the path", pi.path.map((i, n) => `${position(n)}-${kind(i, n)}`), links.map((l) => l.name));
}

function compareTree(pi, fsx, dir, names) {
	if (pi.parents === null) {
		skip(); // ids that are missing or repeated: pi's tree differs, or is endless
		return;
	}
	const parents = pi.parents.map((p) => (p < 0 ? null : `${names[p]}\n`));
	const step = Math.max(1, Math.floor(parents.length / fsx.parentsToCheck));
	const chosen = parents.map((_, i) => i).filter((i) => i % step === 0 || pi.roots.includes(i));
	same("roots and parents", chosen.map((i) => (pi.roots.includes(i) ? null : parents[i])),
		chosen.map((i) => fsx.bytes(`${dir}/entries/${names[i]}/parent`)?.toString() ?? null));
}

// Which entries have a row in the tree, and the lines before them.
function compareRows(pi, fsx, dir, names) {
	// Levels beyond 64 are not drawn.
	if (!pi.rows || pi.rows.some(([, before]) => before.length > 3 * 64)) {
		skip();
		return;
	}
	const drawn = (text(fsx.bytes(`${dir}/tree.txt`)) ?? "").split("\n").slice(0, -1);
	const expected = pi.rows.map(([i, before]) => `${names[i].padEnd(8 + names[i].length - Buffer.byteLength(names[i]))}  ${before}`);
	same("rows of the tree", expected, expected.map((row, n) => drawn[n]?.slice(0, row.length)));
	same("number of rows", expected.length, drawn.length);
}

function compareBranches(pi, fsx, dir, names) {
	const branchName = (i) => (names[i] === "current" ? "current~2" : names[i]);
	const expected = Object.keys(pi.branches).map(Number);
	same("branches", expected.map(branchName).sort(), fsx.directories(`${dir}/branches`).sort());
	const target = fsx.link(`${dir}/branches/current`);
	same("current branch", pi.current < 0 ? null : branchName(pi.current), target);
	for (const i of expected) {
		compareContext(`branches/${branchName(i)}`, pi.branches[i].context, fsx, `${dir}/branches/${branchName(i)}/context.json`);
		if (pi.branches[i].tokens !== undefined)
			compareTokens(`branches/${branchName(i)}/context.tsv`, pi.branches[i].tokens, fsx, `${dir}/branches/${branchName(i)}/context.tsv`, names);
	}
}

// The view of one file by one version of pi.
function compareOpened(pi, fsx, dir, names, info) {
	same("leaf", pi.leaf < 0 ? null : `entries/${names[pi.leaf]}`, fsx.link(`${dir}/leaf`));
	same("name", pi.name?.toWellFormed(), info.name);
	const label = (l) => clean(typeof l === "string" ? l : JSON.stringify(l));
	const labels = Object.fromEntries(Object.entries(pi.labels).map(([i, l]) => [names[i], label(l)]));
	const sorted = (o) => Object.entries(o).sort(([a], [b]) => (a < b ? -1 : 1));
	same("labels", sorted(labels), sorted(labelsShown(fsx, dir)));
	comparePath(pi, fsx, dir, names);
	if (pi.path === null) skip();
	else compareContext("context.json", pi.context, fsx, `${dir}/context.json`);
	if (pi.path !== null && pi.tokens !== undefined) compareTokens("context.tsv", pi.tokens, fsx, `${dir}/context.tsv`, names);
	compareBranches(pi, fsx, dir, names);
}

function compareListed(listed, bytes, fsx, dir, info) {
	// pi's list uses a line reader that also ends lines at these, and drops files it cannot parse.
	if (!listed || /\r(?!\n)|\u2028|\u2029/.test(bytes.toString())) {
		skip();
		return;
	}
	same("id", listed.id.toWellFormed(), info.id);
	same("cwd", listed.cwd?.toWellFormed() || undefined, info.cwd);
	same("listed name", listed.name?.toWellFormed(), info.name);
	same("created", listed.created ?? undefined, info.created);
	same("modified", listed.modified ?? undefined, info.modified);
	const none = listed.firstMessage === "(no messages)";
	const first = [...clean(listed.firstMessage)].slice(0, 200).join("");
	same("first message", none ? undefined : first, info.firstMessage);
	// If neither has words pi shows that, and our title is the next message.
	const whole = [...(oneLine(listed.name ?? "") || (none ? "" : oneLine(listed.firstMessage)))];
	// Our title leaves out pi's skill block.
	if (whole.length === 0 || (!listed.name && listed.firstMessage.startsWith("<skill name="))) return;
	const title = whole.length > 200 ? [...whole.slice(0, 199), "\u2026"] : whole;
	same("title", `${title.join("")}\n`, text(fsx.bytes(`${dir}/title`)));
}

const rowsOf = (fsx, name) => tableRows(text(fsx.bytes(name)));

// Listings of all sessions have the values that were compared with pi for each session.
function compareRow(row, dir, info) {
	same("a row of sessions.tsv", true, row !== undefined);
	if (!row) return;
	const numbers = [info.usage?.totalTokens, info.usage?.cost].map((n) => String(n ?? ""));
	const expected = [cellText(info.id), ...dir.split("/").slice(1), info.created ?? "", info.modified ?? "", String(info.entries)];
	same("sessions.tsv", [...expected, ...numbers, info.state ?? "", String(info.bytes), info.title], [...row.slice(0, 6), row[7], row[8], row[10], row[12], row[13]]);
}

// Usage that is in a session, but counts for an older one or for its subagents: rows as in compareUse, negative.
function countedElsewhere(source, shown, fsx) {
	const at = (t) => (Number.isNaN(Date.parse(t)) ? Infinity : Date.parse(t));
	const files = [...shown].map(([file, { dir }]) => ({ file, dir, ...entriesOf(fs.readFileSync(path.join(source, file))) }))
		.sort((a, b) => at(a.header.timestamp) - at(b.header.timestamp) || Buffer.compare(Buffer.from(a.file), Buffer.from(b.file)));
	const seen = new Set();
	const doubles = [];
	for (const { dir, header, sid, entries } of files) {
		const starts = fsx.bytes(`${dir}/subagents`) != null;
		for (const { value: v, line } of entries) {
			const u = v.usage || v.message?.usage;
			const id = (header.version ?? 1) < 2 ? [sid, line] : v.id;
			if (!u) continue;
			const isResult = starts && v.type === "message" && v.message?.role === "toolResult";
			const n = [u.input, u.output, u.cacheRead, u.cacheWrite].map((x) => x || 0);
			n.push(u.totalTokens || n.reduce((a, b) => a + b), Math.max(0, (typeof u.cost === "number" ? u.cost : u.cost?.total) || 0));
			const key = id == null ? v : JSON.stringify([id, Date.parse(v.timestamp), n]);
			const { provider, model } = v.message ?? v;
			if (seen.has(key) || isResult) doubles.push([`${dir.split("/")[1]} ${cellText([provider, model].every((x) => typeof x === "string") ? `${provider}/${model}` : "unknown")}`, ...n.map((x) => -x)]);
			seen.add(key);
		}
	}
	return doubles;
}

// The sums of usage.tsv by project and model are those of the sessions, without usage that counts elsewhere.
function compareUse(source, shown, fsx) {
	const sums = (rows) => {
		const of = new Map();
		for (const [key, ...n] of rows) of.set(key, n.map((x, i) => x + (of.get(key)?.[i] ?? 0)));
		return Object.fromEntries([...of].sort().map(([key, n]) => [key, n.map((x) => Number(x.toFixed(9)))]).filter(([, n]) => n.some((x) => x)));
	};
	const fields = ["input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost"];
	const used = [...shown.values()].flatMap(({ dir, info }) =>
		Object.entries(info.usage?.models ?? {}).map(([model, u]) => [`${dir.split("/")[1]} ${cellText(model)}`, ...fields.map((f) => u[f])]));
	count.where = "usage.tsv";
	same("usage", sums([...used, ...countedElsewhere(source, shown, fsx)]), sums(rowsOf(fsx, "usage.tsv").map(([, project, model, , ...n]) => [`${project} ${model}`, ...n.map(Number)])));
}

// Differences from pi that QUIRKS.md names: an id that is true, a time that is a list or that only V8 reads, a list in
// a version 1 file.
function isKnown(bytes) {
	const { header, entries } = entriesOf(bytes);
	const values = entries.map((e) => e.value);
	const old = (header.version ?? 1) < 2 && values.some(Array.isArray);
	const isGuessed = (t) => typeof t === "string" && !/^\d{4}-\d\d-\d\dT[\d:]{8}(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(t) && !Number.isNaN(Date.parse(t));
	const odd = Array.isArray(header.timestamp) || [header, ...values].some((v) => isGuessed(v?.timestamp));
	return old || odd || values.some((v) => v.id === true);
}

async function compareFile(source, file, fsx, shown, rows, oracles) {
	const bytes = fs.readFileSync(path.join(source, file));
	const lists = await oracles.newest.ask({ list: path.dirname(copy(source, file)) });
	const pi = await oracles.newest.ask({ open: copy(source, file) });
	count.where = file;
	const session = shown.get(file);
	if (bytes.length === 0) {
		same("an empty file is shown", false, session !== undefined); // pi makes a new session of it
		return;
	}
	if (pi.error && session) {
		skip();
		console.log(`# ${file}: pi does not open it: ${pi.error}`);
		return;
	}
	same("opens", !pi.error, session !== undefined);
	if (!session) return;

	const { dir, info } = session;
	if (isKnown(bytes)) {
		skip();
		return;
	}
	const parsed = entriesOf(bytes);
	same("entries", pi.kinds.length, parsed.entries.length);
	same("entries in info.json", pi.kinds.length, info.entries);
	const names = entryNames(parsed);
	compareOpened(pi, fsx, dir, names, info);
	compareTree(pi, fsx, dir, names);
	compareRows(pi, fsx, dir, names);
	same("messages", pi.roles, info.messages);
	same("usage", pi.usage ?? undefined, info.usage);
	compareListed(Array.isArray(lists) ? lists[0] : undefined, bytes, fsx, dir, info);
	compareRow(rows.get(dir), dir, info);

	if (pi.grown || process.env.CONFORMANCE_NEWEST) {
		skip();
		return;
	}
	const old = await oracles.old.ask({ open: copy(source, file) });
	count.where = `${file} (the old pi)`;
	if (old.error) skip();
	else compareOpened(old, fsx, dir, names, info);
}

fs.mkdirSync(path.join(tmp, "agent", "sessions"), { recursive: true });
const oracles = {
	newest: new Oracle(path.join(piDirectory, "newest")),
	old: new Oracle(path.join(piDirectory, "old/node_modules/@mariozechner/pi-coding-agent")),
};
for (let i = 0; i < pairs.length; i += 2) {
	const [source, view] = [pairs[i], pairs[i + 1]];
	const fsx = view === "cli" ? unmounted(source) : mounted(view);
	const shown = new Map();
	for (const project of fsx.directories("projects")) {
		for (const stem of fsx.directories(`projects/${project}`)) {
			const dir = `projects/${project}/${stem}`;
			const info = JSON.parse(text(fsx.bytes(`${dir}/info.json`)));
			shown.set(info.file, { dir, info });
		}
	}
	const rows = new Map(rowsOf(fsx, "sessions.tsv").map((row) => [`projects/${row[1]}/${row[2]}`, row]));
	same("rows of sessions.tsv", shown.size, rows.size);
	// pi does not identify broken copies of an entry: tests/lib/facts.py does.
	if (process.env.CONFORMANCE_NEWEST) skip();
	else compareUse(source, shown, fsx);
	for (const file of sessionFiles(source)) {
		try {
			await compareFile(source, file, fsx, shown, rows, oracles);
		} catch (e) {
			count.where = file;
			fail("comparison", e.stack);
		}
	}
}
oracles.newest.stop();
oracles.old.stop();
console.log(`# tokens of messages: ${tokens.equal} as pi's, ${tokens.different} not, ${tokens.none} that pi has no number for`);
end();
