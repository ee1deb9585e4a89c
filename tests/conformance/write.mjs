// SPDX-License-Identifier: MIT
// Writes to sessions through a mount, and checks them with the real pi: node write.mjs SESSIONFS PI-DIRECTORY TMP
// SOURCE MOUNT DATA
// SOURCE is empty and mounted at MOUNT; copies of the sessions in DATA are put there, a directory for each operation.
//
// The meaning of an operation is pi's own result for the same request on a copy: pi's own lines, and pi's state in
// memory afterwards. See write.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { count, end, fail, same, skip } from "./count.mjs";
import { encode, entriesOf, entryNames } from "./names.mjs";

const [program, piDirectory, tmp, source, mount, data] = process.argv.slice(2);
const here = path.dirname(fileURLToPath(import.meta.url));
const load = (file) => import(pathToFileURL(path.join(piDirectory, file)).href);
const pis = {
	"the newest pi": await load("newest/dist/bundle/index.js"),
	"the old pi": await load("old/node_modules/@mariozechner/pi-coding-agent/dist/index.js"),
};
const newest = pis["the newest pi"].SessionManager;

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);

// ---- session files ----

const isConversation = (e) => ["message", "custom_message", "compaction", "branch_summary"].includes(e?.type);
const hasAssistant = (entries) => entries.some((e) => e.value.message?.role === "assistant");

let copies = 0;
// pi writes to the files it opens, so it gets copies.
function copy(bytes) {
	const dir = path.join(tmp, "copies");
	fs.mkdirSync(dir, { recursive: true });
	const file = path.join(dir, `${copies++}.jsonl`);
	fs.writeFileSync(file, bytes);
	return file;
}
function withCopy(bytes, f) {
	const file = copy(bytes);
	try {
		return f(file);
	} finally {
		fs.rmSync(file);
	}
}

// The lines as JSON with every id replaced by the number of its entry, and without the times of entries from `from`.
function comparable(bytes, from) {
	const { header, entries } = entriesOf(bytes);
	const numbers = new Map(entries.map((e, i) => [e.value.id, `#${i}`]));
	const number = (value) => numbers.get(value) ?? value;
	const lines = entries.map(({ value }, i) => {
		const e = { ...value };
		for (const key of ["id", "parentId", "targetId", "fromId", "firstKeptEntryId"]) if (key in e) e[key] = number(e[key]);
		if (i >= from) e.timestamp = "now";
		return e;
	});
	return { header, lines };
}

// The visible state of a session that pi has open.
function state(sm) {
	const entries = sm.getEntries();
	const number = new Map(entries.map((e, i) => [e.id, i]));
	const context = sm.buildSessionContext();
	// A summary made by pi in memory has another time, and the old pi writes fromId in its own way.
	const messages = context.messages.map((m) =>
		m.role === "branchSummary" ? { ...m, timestamp: undefined, fromId: undefined } : m,
	);
	return {
		leaf: number.get(sm.getLeafId()),
		path: sm.getBranch().map((e) => number.get(e.id)),
		name: sm.getSessionName() ?? null,
		labels: [...number].map(([id, i]) => [i, sm.getLabel(id)]).filter(([, l]) => l !== undefined),
		context: { ...context, messages },
	};
}

// ---- one session of the mount ----

class Session {
	constructor(operation, file) {
		this.operation = operation;
		this.stem = path.basename(file, ".jsonl");
		this.file = path.join(source, operation, path.basename(file));
		this.dir = path.join(mount, "projects", operation, encode(this.stem));
		fs.mkdirSync(path.dirname(this.file), { recursive: true });
		fs.copyFileSync(file, this.file);
		const parsed = entriesOf(fs.readFileSync(this.file));
		this.version = parsed.header.version ?? 1;
		this.hasAssistant = hasAssistant(parsed.entries);
		this.names = entryNames(parsed);
		const addressed = this.names.map((name, i) => i).filter((i) => !this.names[i].startsWith("~"));
		this.all = addressed;
		this.conversation = addressed.filter((i) => isConversation(parsed.entries[i].value));
		this.metadata = addressed.filter((i) => !isConversation(parsed.entries[i].value));
		const n = this.conversation.length;
		[this.a, this.b, this.c] = [0, n >> 1, n - 1].map((i) => this.conversation[i]);
	}

	// Runs a command of the shell in the session's directory. `meaning` does the same to pi's session, whose
	// entries have the ids id(i); without it the command means nothing. `late`: the kernel reports it only after
	// the command has ended.
	write(command, variables, meaning, late = false) {
		count.where = `${this.operation}/${this.stem}: ${command} ${JSON.stringify(variables)}`;
		const before = fs.readFileSync(this.file);
		const r = spawnSync("/bin/sh", ["-c", command], {
			cwd: this.dir,
			env: { ...process.env, TMPDIR: tmp, ...variables },
			encoding: "utf8",
			timeout: 60000,
		});
		same("the command", { status: 0, stderr: "" }, { status: r.status, stderr: r.stderr });
		let after = fs.readFileSync(this.file);
		for (const end = Date.now() + 5000; late && after.equals(before) && Date.now() < end; pause())
			after = fs.readFileSync(this.file);
		if (!meaning) same("what is appended", 0, after.length - before.length);
		else this.compareFile(before, after, meaning);
		this.compareStates(before, after, meaning);
	}

	compareFile(before, after, meaning) {
		const old = entriesOf(before);
		const from = old.entries.length;
		const model = withCopy(before, (file) => {
			const sm = newest.open(file);
			const ids = sm.getEntries().map((e) => e.id);
			meaning(sm, (i) => ids[i]);
			return comparable(fs.readFileSync(file), from);
		});
		const written = comparable(after, from);
		same("what was there stays", true, after.subarray(0, before.length).equals(before));
		same("the appended lines", model.lines.slice(from), written.lines.slice(from));

		const added = after.subarray(before.length).toString();
		const torn = before[before.length - 1] !== 10;
		same("the ends of the lines", [torn, true], [added.startsWith("\n"), added.endsWith("\n")]);
		const lines = added.slice(torn ? 1 : 0, -1).split("\n");
		same("the form of the lines", lines.map((l) => JSON.stringify(JSON.parse(l))), lines);
		for (const { value } of entriesOf(after).entries.slice(from)) {
			same("the form of the id", true, /^[0-9a-f]{8}$/.test(value.id));
			same("the form of the time", new Date(value.timestamp).toISOString(), value.timestamp);
			same("the time is now", true, Math.abs(Date.now() - Date.parse(value.timestamp)) < 60000);
		}
	}

	compareStates(before, after, meaning) {
		const names = entryNames(entriesOf(after));
		for (const [who, pi] of Object.entries(pis)) {
			const expected = withCopy(before, (file) => {
				const sm = pi.SessionManager.open(file);
				const ids = sm.getEntries().map((e) => e.id);
				meaning?.(sm, (i) => ids[i]);
				return state(sm);
			});
			withCopy(after, (file) => {
				const sm = pi.SessionManager.open(file);
				same(`what ${who} sees`, expected, state(sm));
				if (who !== "the newest pi") return;
				same("context.json", sm.buildSessionContext(), JSON.parse(this.read("context.json")));
				same("leaf", `entries/${names.at(-1)}`, fs.readlinkSync(path.join(this.dir, "leaf")));
			});
		}
	}

	read(file) {
		try {
			return fs.readFileSync(path.join(this.dir, file), "utf8");
		} catch (e) {
			if (e.code === "ENOENT") return null;
			throw e;
		}
	}

	// ---- the rows of the table "Writing" ----

	label(i, text) {
		this.write('printf "%s\\n" "$text" >"entries/$id/label"', { id: this.names[i], text }, (sm, id) =>
			sm.appendLabelChange(id(i), text),
		);
		same("label reads back", `${text}\n`, this.read(`entries/${this.names[i]}/label`));
	}
	clearLabel(i, command, late) {
		this.clear(i, command, { id: this.names[i] }, late);
	}
	clear(i, command, variables, late) {
		this.write(command, variables, (sm, id) => sm.appendLabelChange(id(i), undefined), late);
		same("label is gone", null, this.read(`entries/${this.names[i]}/label`));
	}
	link(i, text) {
		const variables = { id: this.names[i], name: encode(text) };
		this.write('ln -s "../entries/$id" "labels/$name"', variables, (sm, id) => sm.appendLabelChange(id(i), text));
	}
	name(text) {
		this.write('printf "%s\\n" "$text" >name', { text }, (sm) => sm.appendSessionInfo(text));
		const title = text.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, " ").trim();
		same("name and title read back", [`${text}\n`, `${title}\n`], [this.read("name"), this.read("title")]);
	}
	branch(i, text) {
		this.write('printf "%s\\n" "$text" >"entries/$id/branch"', { id: this.names[i], text }, (sm, id) =>
			sm.branchWithSummary(id(i), text),
		);
		same("branch reads back", `${text}\n`, this.read(`entries/${this.names[i]}/branch`));
	}
	// pi's own edit; the old pi has none, and skips such a line.
	edit(i, command, text, content) {
		this.write(command, { id: this.names[i], text }, (sm, id) => {
			const replacement = content === null ? null : { content: content ?? sm.getEntries()[i].message?.content ?? sm.getEntries()[i].content ?? [] };
			if (sm.appendContextEdit) sm.appendContextEdit(id(i), replacement);
			else sm.appendCustomEntry("none");
		});
	}
	context(i, content) {
		this.edit(i, 'printf "%s\\n" "$text" >"entries/$id/context.json"', JSON.stringify(content), content);
		same("context.json reads back", `${JSON.stringify(content, null, 2)}\n`, this.read(`entries/${this.names[i]}/context.json`));
	}
	restoreContext(i) {
		this.edit(i, 'rm "entries/$id/context.json"', "");
		same("context.json is gone", null, this.read(`entries/${this.names[i]}/context.json`));
	}
	// The first, middle and last entry of the branch that pi edits.
	editable() {
		const all = withCopy(fs.readFileSync(this.file), (file) => {
			const sm = newest.open(file);
			const entries = sm.getEntries();
			const roles = ["user", "assistant", "toolResult"];
			return sm.getBranch().filter((e) => e.type === "custom_message" || roles.includes(e.message?.role)).map((e) => entries.indexOf(e));
		});
		return [...new Set([all[0], all[all.length >> 1], all.at(-1)])].filter((i) => i !== undefined && !this.names[i].startsWith("~"));
	}
	moveLeaf(i) {
		const before = fs.readFileSync(this.file);
		const stays = i === entriesOf(before).entries.length - 1;
		this.write('ln -sfn "entries/$id" leaf', { id: this.names[i] }, stays ? undefined : (sm, id) =>
			sm.branchWithSummary(id(i), ""),
		);
		for (const [who, pi] of Object.entries(pis)) {
			const there = withCopy(before, (file) => {
				const sm = pi.SessionManager.open(file);
				sm.branch(sm.getEntries()[i].id);
				return sm.buildSessionContext();
			});
			const context = withCopy(fs.readFileSync(this.file), (f) => pi.SessionManager.open(f).buildSessionContext());
			same(`where ${who} opens it`, there, context);
		}
	}
}

const texts = ["auth works", "a/b 100% done", "Grüße ✓ 漢字 👍🏽", '"quoted" \\ and {"json":1}', ".hidden", "tab\tand \u2028 end"];

const operations = {
	"label-set": (s, text) => {
		for (const i of new Set([s.a, s.b, ...s.metadata.slice(0, 1), ...s.metadata.slice(-1)])) s.label(i, `${text} ${i}`);
	},
	"label-long": (s) => s.label(s.b, "é".repeat(2048)),
	"label-replace": (s, text) => {
		s.label(s.b, text);
		s.label(s.b, `${text}, again`);
		s.write('printf "%s" "$text" >"entries/$id/label"', { id: s.names[s.b], text: `\ufeff${text}, again\r\n` });
	},
	"label-rm": (s, text) => {
		s.label(s.a, text);
		s.clearLabel(s.a, 'rm "entries/$id/label"');
	},
	"label-truncate": (s, text) => {
		s.label(s.c, text);
		s.clearLabel(s.c, ': >"entries/$id/label"', true);
	},
	"label-blank": (s, text) => {
		s.label(s.c, text);
		s.clearLabel(s.c, 'echo "  " >"entries/$id/label"');
	},
	"link-create": (s, text) => {
		s.link(s.b, text);
		same("target", `../entries/${s.names[s.b]}`, fs.readlinkSync(path.join(s.dir, "labels", encode(text))));
	},
	"link-retarget": (s, text) => {
		if (s.a === s.c) return skip();
		s.link(s.a, text);
		s.write('ln -sfn "../entries/$id" "labels/$name"', { id: s.names[s.c], name: encode(text) }, (sm, id) => {
			sm.appendLabelChange(id(s.a), undefined);
			sm.appendLabelChange(id(s.c), text);
		});
	},
	"link-rename": (s, text) => {
		s.link(s.a, text);
		s.write('mv "labels/$from" "labels/$to"', { from: encode(text), to: encode(`${text} done`) }, (sm, id) =>
			sm.appendLabelChange(id(s.a), `${text} done`),
		);
	},
	"link-remove": (s, text) => {
		s.link(s.c, text);
		s.clear(s.c, 'rm "labels/$name"', { name: encode(text) });
	},
	"labels-tsv": (s, text) => {
		if (new Set([s.a, s.b, s.c]).size < 3) return skip();
		s.label(s.a, text);
		s.label(s.c, `${text} to go`);
		const cell = (t) => t.replace(/[\\\t]/g, (c) => (c === "\t" ? "\\t" : "\\\\"));
		const variables = { a: s.names[s.a], b: s.names[s.b], c: s.names[s.c], one: cell(`${text} 1`), two: cell(`${text} 2`) };
		s.write(
			"awk 'BEGIN { FS = OFS = \"\\t\" } $1 == ENVIRON[\"a\"] { $2 = ENVIRON[\"one\"] } " +
				"$1 == ENVIRON[\"b\"] { $2 = ENVIRON[\"two\"] } $1 != ENVIRON[\"c\"]' labels.tsv >\"$TMPDIR/table\" && " +
				'cat "$TMPDIR/table" >labels.tsv',
			variables,
			(sm, id) => {
				sm.appendLabelChange(id(s.a), `${text} 1`);
				sm.appendLabelChange(id(s.b), `${text} 2`);
				sm.appendLabelChange(id(s.c), undefined);
			},
		);
		s.write('cp labels.tsv "$TMPDIR/table" && cat "$TMPDIR/table" >labels.tsv', {});
	},
	"name-set": (s, text) => {
		s.name(text);
		s.name(`${text} and more`);
		s.write('printf "%s\\n" "$text" >name', { text: ` ${text} and more  ` });
	},
	"name-clear": (s, text) => {
		s.name(text);
		s.write("rm name", {}, (sm) => sm.appendSessionInfo(""));
		same("name is gone", null, s.read("name"));
	},
	branch: (s, text) => {
		for (const i of new Set([s.a, s.b, s.c, ...s.metadata.slice(0, 2)])) s.branch(i, `Tried ${text}\n\n\\o/ failed at ${i}`);
	},
	"branch-everywhere": (s) => {
		for (const i of s.conversation) s.branch(i, `Tried ${i}`);
	},
	leaf: (s) => {
		for (const i of s.all) s.moveLeaf(i);
		s.write('ln -sfn "$PWD/entries/$id" leaf', { id: s.names[s.all.at(-1)] }); // an empty summary is there
	},
	"context-omit": (s) => {
		for (const i of s.editable()) {
			s.context(i, null);
			s.write('echo null >"entries/$id/context.json"', { id: s.names[i] });
		}
	},
	"context-text": (s, text) => {
		for (const i of s.editable()) s.context(i, [{ type: "text", text }]);
		for (const i of s.editable()) s.write('cp "entries/$id/context.json" "$TMPDIR/c" && cat "$TMPDIR/c" >"entries/$id/context.json"', { id: s.names[i] });
	},
	"context-restore": (s) => {
		for (const i of s.editable()) {
			s.context(i, []);
			s.restoreContext(i);
		}
	},
	mixed: (s, text) => {
		s.moveLeaf(s.a);
		s.label(s.c, text);
		s.branch(s.b, text);
		s.name(text);
		s.link(s.a, `${text} 2`);
	},
};

// ---- pi continues ----

const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3,
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.5 } };

// The lines of a turn with pi. The ids of the user's message, which gets the label, and of the last entry.
function turn(sm, text) {
	const user = sm.appendMessage({ role: "user", content: [{ type: "text", text }], timestamp: Date.now() });
	sm.appendMessage({ role: "assistant", content: [{ type: "text", text: `You said ${text}` }], api: "none", provider: "none",
		model: "model", usage, stopReason: "stop", timestamp: Date.now() });
	sm.appendLabelChange(user, `pi on ${text}`);
	const last = sm.appendSessionInfo(`${text}, said pi`);
	return { user, last, text };
}

function compareMount(what) {
	count.where = what;
	const r = spawnSync(process.execPath, [path.join(here, "compare.mjs"), program, piDirectory, tmp, source, mount], {
		encoding: "utf8",
		maxBuffer: 2 ** 30,
	});
	const lines = (r.stdout ?? "").trimEnd().split("\n");
	const total = /^(\d+) passed, (\d+) failed, (\d+) skipped$/.exec(lines.pop());
	if (!total) {
		fail("comparison", `ended with ${r.status ?? r.error}: ${r.stderr}`);
		return;
	}
	for (const line of lines) if (line !== "") console.log(`${what}: ${line}`);
	count.passed += Number(total[1]);
	count.failed += Number(total[2]);
	count.skipped += Number(total[3]);
}

function attempt(what, f) {
	try {
		return f();
	} catch (e) {
		fail(what, e.stack);
	}
}

// ---- all of it ----

const jsonl = (dir, ...names) =>
	fs.readdirSync(path.join(data, dir), { recursive: true })
		.filter((f) => (names.length ? names.includes(f) : f.endsWith(".jsonl")))
		.sort()
		.map((f) => path.join(data, dir, f));
const files = [
	...jsonl("sessions"),
	...jsonl("broken", "no-final-newline.jsonl", "torn-tail.jsonl", "crlf.jsonl", "orphans.jsonl", "odd-labels.jsonl",
		"malformed-line.jsonl", "compaction-kept-missing.jsonl", "dangling-label.jsonl"),
];

const sessions = [];
for (const operation of Object.keys(operations)) for (const file of files) sessions.push(new Session(operation, file));
for (const end = Date.now() + 5000; Date.now() < end; await sleep(50)) if (sessions.every((s) => fs.existsSync(s.dir))) break;

// pi has every third session open all the time, unless that changes the file.
sessions.forEach((s, n) => {
	const held = n % 3 === 2 && s.version >= 3 && !/no-final-newline/.test(s.stem);
	if (held) s.held = newest.open(s.file);
	// A file of version 1 is writable once pi has opened it.
	if (s.version >= 2) attempt("writing", () => operations[s.operation](s, texts[n % texts.length]));
});
compareMount("after writing");

sessions.forEach((s, n) => {
	count.where = `${s.operation}/${s.stem}: pi appends`;
	const pi = n % 3 === 1 && s.hasAssistant ? pis["the old pi"].SessionManager : newest; // the old pi repeats the file otherwise
	s.turn = attempt("pi", () => turn(s.held ?? pi.open(s.file), `turn ${n}`));
});
await sleep(1000);
for (const s of sessions) {
	count.where = `${s.operation}/${s.stem}: after pi appended`;
	if (!s.turn) continue;
	const { user, last, text } = s.turn;
	same("leaf", `entries/${encode(last)}`, fs.readlinkSync(path.join(s.dir, "leaf")));
	same("label", `pi on ${text}\n`, s.read(`entries/${user}/label`));
	same("name", `${text}, said pi\n`, s.read("name"));
}
compareMount("after pi appended");

// The next write counts lines that pi appended meanwhile.
for (const s of sessions) {
	attempt("writing again", () => {
		s.names = entryNames(entriesOf(fs.readFileSync(s.file)));
		s.label(s.names.indexOf(s.turn.user), "seen");
		s.branch(s.names.indexOf(s.turn.user), "Tried this too");
	});
}
compareMount("after writing again");

end();
