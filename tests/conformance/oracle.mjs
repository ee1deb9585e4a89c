// SPDX-License-Identifier: MIT
// Opens session files with the real pi. It writes to the files it opens: give it copies.
//   node oracle.mjs PACKAGE
// A request is a line of JSON: {"open": FILE} or {"list": DIRECTORY}; the answer is a line of JSON.
// Entries are named by their number in file order.
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const dir = process.argv[2];
const main = ["dist/bundle/index.js", "dist/index.js"].map((f) => path.join(dir, f)).find((f) => fs.existsSync(f));
const pi = await import(pathToFileURL(main).href);

const conversation = new Set(["message", "custom_message", "compaction", "branch_summary"]);
const isConversation = (e) => conversation.has(e.type);
// sessionfs leaves these out of every view; pi throws on most of them. pi gets them as metadata.
const lacksMessage = (e) => e.type === "message" && (e.message ?? null) === null;
if (pi.initTheme) pi.initTheme("dark");
const role = (e) => (e.type === "message" && typeof e.message?.role === "string" ? e.message.role : null);

function open(file) {
	const sm = pi.SessionManager.open(file);
	const entries = sm.getEntries();
	const byId = new Map(entries.map((e) => [e.id, e]));
	const number = new Map(entries.map((e, i) => [e, i]));
	const usable = (id) => typeof id === "string" || typeof id === "number";
	const addressed = (e) => usable(e.id) && byId.get(e.id) === e;

	// The path of pi's getBranch, from the root; ends at a repeated entry, where pi would loop forever.
	const walk = (i) => {
		const seen = new Set();
		let e = entries[i];
		while (e && !seen.has(e)) {
			seen.add(e);
			e = e.parentId ? byId.get(e.parentId) : undefined;
		}
		return { path: [...seen].reverse().map((x) => number.get(x)), cyclic: e !== undefined };
	};
	// The parent in pi's getTree.
	const parent = (e) => (usable(e.parentId) && e.parentId !== e.id ? byId.get(e.parentId) : undefined);
	const conversationAbove = (e) => {
		const seen = new Set([e]);
		for (let p = parent(e); p && !seen.has(p); p = parent(p)) {
			if (isConversation(p)) return number.get(p);
			seen.add(p);
		}
		return -1;
	};

	const shown = entries.map((e) => (lacksMessage(e) ? { ...e, type: "custom" } : e));
	const shownById = new Map(shown.map((e) => [e.id, e]));
	const last = entries.length - 1;
	// Returns what pi's function of that name makes of the branch that ends there; null: pi has no answer.
	const at = (i, name) => {
		if (i >= 0 && walk(i).cyclic) return null;
		if (i === last && leafEntry === undefined && entries[i].id === null) return sm[name]();
		if (i === last) return pi[name](shown, undefined, shownById);
		const e = entries[i];
		return addressed(e) && e.id ? pi[name](shown, e.id, shownById) : null;
	};
	const contextAt = (i) => {
		const context = at(i, "buildSessionContext");
		return context && JSON.stringify(context);
	};
	// The rows of context.tsv: entry, role, name and tokens, null where pi has no number. undefined: the old pi.
	const numberShown = new Map(shown.map((e, i) => [e, i]));
	const rowsOf = (projection) => projection?.entries.flatMap(({ sourceEntry: e, messages }) =>
		messages.map((m) => [number.get(e) ?? numberShown.get(e), m?.role, m?.role === "toolResult" ? m.toolName : "", tokens(m)]));
	const tokensAt = (i) => pi.buildSessionProjection && rowsOf(at(i, "buildSessionProjection"));

	const leafEntry = sm.getLeafEntry();
	const leaf = leafEntry ? number.get(leafEntry) : last;
	const hasBelow = new Set();
	const newestMetadata = new Map();
	entries.forEach((e, i) => {
		const above = conversationAbove(e);
		if (isConversation(e)) hasBelow.add(above);
		else newestMetadata.set(above, i);
	});
	const branches = {};
	entries.forEach((e, i) => {
		if (isConversation(e) && !hasBelow.has(i)) branches[i] = { at: newestMetadata.get(i) ?? i };
	});
	let current = -1;
	if (leaf >= 0) {
		current = isConversation(entries[leaf]) ? leaf : conversationAbove(entries[leaf]);
		if (current >= 0) branches[current] = { at: leaf };
	}
	for (const b of Object.values(branches)) {
		b.context = contextAt(b.at);
		b.tokens = tokensAt(b.at);
	}

	const unique = byId.size === entries.length && entries.every((e) => usable(e.id));
	const result = {
		leaf,
		current,
		branches,
		name: sm.getSessionName() ?? null,
		labels: {},
		parents: unique ? entries.map((e) => number.get(parent(e)) ?? -1) : null,
		roots: unique ? sm.getTree().map((n) => number.get(n.entry)) : null,
		// Returns the role, or else the type; null where sessionfs has to choose a word itself.
		kinds: entries.map((e) => role(e) ?? (typeof e.type === "string" && e.type !== "" ? e.type : null)),
		roles: count(entries.map(role).filter((r) => r !== null).map((r) => r.toWellFormed())),
		path: null, // null: pi would never end
		context: null,
		ids: entries.map((e) => (addressed(e) ? e.id : null)),
		usage: usage(entries),
	};
	if (leaf < 0 || !walk(leaf).cyclic) {
		// pi's own answers wherever it has one, not only those of the functions it exports.
		result.path = leafEntry ? sm.getBranch().map((e) => number.get(e)) : leaf < 0 ? [] : walk(leaf).path;
		const lacking = entries.some(lacksMessage);
		result.context = lacking ? contextAt(leaf) : JSON.stringify(sm.buildSessionContext());
		if (pi.buildSessionProjection) result.tokens = lacking ? tokensAt(leaf) : rowsOf(sm.buildSessionProjection());
	}
	entries.forEach((e, i) => {
		const label = addressed(e) ? sm.getLabel(e.id) : undefined;
		if (label !== undefined) result.labels[i] = label;
	});
	result.rows = unique && pi.TreeSelectorComponent && result.path ? rows(sm, entries, number, current) : null;
	// Deliberate differences of the old pi.
	result.grown = entries.some(
		(e) =>
			e.type === "context_edit" ||
			(e.type === "compaction" && e.systemMessage) ||
			(e.type === "custom_message" && (e.content ?? null) === null) ||
			(e.type === "message" && (e.message?.role === "system" || (e.message?.content ?? null) === null)),
	);
	return result;
}

// The rows of /tree as [entry, the part drawn before it]. pi gets an entry that sessionfs never draws as metadata, and
// one that sessionfs always draws, with a label or as the leaf, as one that was cut short. null: some are missing.
function rows(sm, entries, number, current) {
	const roots = sm.getTree();
	let seen = 0;
	for (const stack of [[...roots]]) {
		for (let node; (node = stack.pop()); seen++) {
			const e = node.entry;
			const kept = node.label || number.get(e) === current;
			node.number = number.get(e);
			if (!isConversation(e) || lacksMessage(e)) node.entry = { ...e, type: "custom" };
			else if (kept && e.message?.role === "assistant" && !/^(error|aborted)$/.test(e.message.stopReason))
				node.entry = { ...e, message: { ...e.message, stopReason: "length" } };
			for (const child of node.children) stack.push(child);
		}
	}
	if (seen !== entries.length) return null;
	const nothing = () => {};
	const list = new pi.TreeSelectorComponent(roots, sm.getLeafId(), 40, nothing, nothing, nothing, undefined, "default").treeList;
	return list.filteredNodes.map((row) => {
		const levels = list.multipleRoots ? Math.max(0, row.indent - 1) : row.indent;
		const cells = Array.from({ length: levels }, (_, level) => {
			const gutter = row.gutters.find((g) => g.position === level);
			return gutter?.show ? "│  " : "   ";
		});
		if (row.showConnector && !row.isVirtualRootChild) cells[levels - 1] = row.isLast ? "└─ " : "├─ ";
		return [row.node.number, cells.join("") + (list.activePathIds.has(row.node.entry.id) ? "• " : "")];
	});
}

// sessionfs counts only texts; pi also counts the elements of a list in the place of a text.
function hasList(m) {
	const blocks = Array.isArray(m.content) ? m.content : [];
	const texts = blocks.flatMap((b) => [b?.text, b?.thinking, b?.name]);
	return [m.command, m.output, m.summary, m.sections, ...texts, ...Object.values(m.sections ?? {})].some(Array.isArray);
}

function tokens(message) {
	try {
		if (hasList(message)) return null;
		const n = pi.estimateTokens(message);
		return Number.isFinite(n) ? n : null;
	} catch {
		return null;
	}
}

function count(words) {
	const counts = {};
	for (const w of words) counts[w] = (counts[w] ?? 0) + 1;
	return counts;
}

function usage(entries) {
	const fields = ["input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost"];
	const zero = () => Object.fromEntries(fields.map((f) => [f, 0]));
	const sum = zero();
	const models = {};
	let any = false;
	for (const e of entries) {
		const from = e.type === "message" ? e.message : e;
		const u = e.usage || e.message?.usage;
		if (!u) continue;
		any = true;
		const named = typeof from?.provider === "string" && typeof from?.model === "string";
		const model = named ? `${from.provider}/${from.model}`.toWellFormed() : "unknown";
		models[model] ??= zero();
		const number = (v) => (typeof v === "number" ? v : 0);
		const four = ["input", "output", "cacheRead", "cacheWrite"].reduce((n, f) => n + number(u[f]), 0);
		for (const f of fields) {
			const n = f === "cost" ? Math.max(0, number(typeof u.cost === "number" ? u.cost : u.cost?.total)) : number(u[f]) || (f === "totalTokens" ? four : 0);
			sum[f] += n;
			models[model][f] += n;
		}
	}
	for (const each of [sum, ...Object.values(models)]) {
		if (Math.abs(each.cost) < 2 ** 23) each.cost = Number(each.cost.toFixed(9));
	}
	return any ? { ...sum, models } : null;
}

async function list(directory) {
	const iso = (d) => (d instanceof Date && !Number.isNaN(d.getTime()) ? d.toISOString() : null);
	const infos = await pi.SessionManager.listAll(directory);
	return infos.map((s) => ({
		file: path.basename(s.path),
		id: s.id,
		name: s.name ?? null,
		cwd: s.cwd,
		created: iso(s.created),
		modified: iso(s.modified),
		messageCount: s.messageCount,
		firstMessage: s.firstMessage,
	}));
}

for await (const line of readline.createInterface({ input: process.stdin })) {
	const request = JSON.parse(line);
	let answer;
	try {
		answer = request.list === undefined ? open(request.open) : await list(request.list);
	} catch (e) {
		answer = { error: `${e.name}: ${e.message}` };
	}
	process.stdout.write(`${JSON.stringify(answer)}\n`);
}
