// The names sessionfs must give to entries, worked out from the file by the rules of sessionfs(5).
import { createHash } from "node:crypto";

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

// The entries of a session file as pi parses them, with their physical lines.
export function entriesOf(bytes) {
	const parsed = [];
	let line = 0;
	for (let from = 0; from <= bytes.length; ) {
		let to = bytes.indexOf(10, from);
		if (to < 0) to = bytes.length;
		line++;
		let value = null;
		try {
			value = JSON.parse(utf8.decode(bytes.subarray(from, to)));
		} catch {
			// pi skips it too
		}
		if (value) parsed.push({ line, value });
		from = to + 1;
	}
	return { header: parsed[0]?.value, entries: parsed.filter((p) => p.value.type !== "session") };
}

// The bytes of a string, a lone surrogate as three.
function wtf8(text) {
	const out = [];
	for (const c of text) {
		const code = c.codePointAt(0);
		if (code >= 0xd800 && code <= 0xdfff) out.push(0xed, 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f));
		else out.push(...Buffer.from(c));
	}
	return Buffer.from(out);
}

export function encode(text) {
	if (text === "") return "%";
	const percent = (bytes) => [...bytes].map((b) => `%${b.toString(16).toUpperCase().padStart(2, "0")}`).join("");
	const pieces = [...text].map((c, i) => {
		const code = c.codePointAt(0);
		const plain = code >= 0x20 && code !== 0x7f && c !== "/" && c !== "%" && !(code >= 0xd800 && code <= 0xdfff);
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
export function entryNames({ header, entries }) {
	const v1 = (header.version ?? 1) < 2;
	const taken = new Set();
	const lastOf = new Map(entries.map((e, i) => [e.value.id, i]));
	return entries.map(({ line, value }, i) => {
		let name;
		if (v1) {
			for (let n = 0; ; n++) {
				const hash = createHash("sha256").update(wtf8(`${header.id}\n${line}${n ? `\n${n}` : ""}`));
				name = hash.digest("hex").slice(0, 8);
				if (!taken.has(name)) break;
			}
		} else if ((typeof value.id === "string" || typeof value.id === "number") && lastOf.get(value.id) === i) {
			const base = encode(String(value.id));
			name = base;
			for (let n = 2; taken.has(name); n++) name = `${base}~${n}`;
		} else {
			name = `~${line}`;
		}
		taken.add(name);
		return name;
	});
}
