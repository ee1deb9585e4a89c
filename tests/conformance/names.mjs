// SPDX-License-Identifier: MIT
// The names sessionfs must give to entries, computed from the file by the rules of sessionfs(5).
import { createHash } from "node:crypto";

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
const strict = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

// A byte that is not UTF-8, as a character of its own: names show it, although pi decodes it as U+FFFD.
const RAW = 0x10ff00;
const isRaw = (code) => code >= RAW + 0x80 && code <= RAW + 0xff;

const decoded = (bytes) => {
	try {
		return strict.decode(bytes);
	} catch {
		return null;
	}
};
function exact(bytes) {
	const whole = decoded(bytes);
	if (whole !== null) return whole;
	let text = "";
	for (let i = 0; i < bytes.length; ) {
		const lead = bytes[i];
		const n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
		const c = decoded(bytes.subarray(i, i + n));
		text += c ?? String.fromCodePoint(RAW + lead);
		i += c === null ? 1 : n;
	}
	return text;
}

// The entries of a session file as pi parses them, with their physical lines.
export function entriesOf(bytes) {
	const parsed = [];
	let line = 0;
	for (let from = 0; from <= bytes.length; ) {
		let to = bytes.indexOf(10, from);
		if (to < 0) to = bytes.length;
		line++;
		let value = null;
		let id;
		try {
			value = JSON.parse(utf8.decode(bytes.subarray(from, to)));
			id = JSON.parse(exact(bytes.subarray(from, to)))?.id;
		} catch {
			// pi skips it too
		}
		if (value) parsed.push({ line, value, id });
		from = to + 1;
	}
	return { header: parsed[0]?.value, sid: parsed[0]?.id, entries: parsed.filter((p) => p.value.type !== "session") };
}

// The bytes of a string, a lone surrogate as three bytes.
function wtf8(text) {
	const out = [];
	for (const c of text) {
		const code = c.codePointAt(0);
		if (isRaw(code)) out.push(code - RAW);
		else if (code >= 0xd800 && code <= 0xdfff) out.push(0xed, 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f));
		else out.push(...Buffer.from(c));
	}
	return Buffer.from(out);
}

export function encode(text) {
	if (text === "") return "%";
	const percent = (bytes) => [...bytes].map((b) => `%${b.toString(16).toUpperCase().padStart(2, "0")}`).join("");
	const pieces = [...text].map((c, i) => {
		const code = c.codePointAt(0);
		const plain = code >= 0x20 && code !== 0x7f && c !== "/" && c !== "%" && !(code >= 0xd800 && code <= 0xdfff) && !isRaw(code);
		return plain && !(i === 0 && (c === "." || c === "~")) ? c : percent(wtf8(c));
	});
	const whole = pieces.join("");
	if (Buffer.byteLength(whole) <= 255) return whole;
	let cut = "";
	for (const piece of pieces) {
		if (Buffer.byteLength(cut + piece) > 255 - 9) break;
		cut += piece;
	}
	return `${cut}~${createHash("sha256").update(wtf8(text)).digest("hex").slice(0, 8)}`;
}

// The component under entries/ of each entry, in file order.
export function entryNames({ header, sid, entries }) {
	const v1 = (header.version ?? 1) < 2;
	const taken = new Set();
	const lastOf = new Map(entries.map((e, i) => [e.value.id, i]));
	return entries.map(({ line, value, id }, i) => {
		let name;
		if (v1) {
			for (let n = 0; ; n++) {
				const hash = createHash("sha256").update(wtf8(`${sid}\n${line}${n ? `\n${n}` : ""}`));
				name = hash.digest("hex").slice(0, 8);
				if (!taken.has(name)) break;
			}
		} else if ((typeof value.id === "string" || typeof value.id === "number") && lastOf.get(value.id) === i) {
			const base = encode(String(id));
			name = base;
			for (let n = 2; taken.has(name); n++) name = `${base}~${n}`;
		} else {
			name = `~${line}`;
		}
		taken.add(name);
		return name;
	});
}
