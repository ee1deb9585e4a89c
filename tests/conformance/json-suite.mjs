// SPDX-License-Identifier: MIT
// node json-suite.mjs JSON_CHECK TMP SAMPLES [DIRECTORY]: see json-suite.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const [check, tmp, samples, directory] = process.argv.slice(2);
const MUTATIONS = 3000;

// As pi decodes files: ill-formed bytes become U+FFFD, a BOM stays.
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
function accepted(bytes) {
	try {
		JSON.parse(utf8.decode(bytes));
		return true;
	} catch {
		return false;
	}
}

const count = { passed: 0, failed: 0 };
const scratch = path.join(tmp, "case.json");
function compare(name, bytes, file) {
	if (file === undefined) fs.writeFileSync(scratch, bytes);
	const r = spawnSync(check, [file ?? scratch], { timeout: 60000 });
	const ours = r.status === 0 ? true : r.status === 1 ? false : `${r.error ?? r.signal ?? r.stderr}`;
	const theirs = accepted(bytes);
	if (ours === theirs) {
		count.passed++;
		return;
	}
	count.failed++;
	console.log(`${name}: JSON.parse: ${theirs}, sessionfs: ${ours}: ${JSON.stringify(bytes.toString("latin1").slice(0, 200))}`);
}

const odd = [
	"", " ", "\t\r\n", "null", "nul", "nullx", "True", "true ", "  false", "NaN", "Infinity", "undefined",
	"0", "-0", "-", "+1", "01", "-01", "1.", ".5", "0.5", "1e", "1e+", "1E-5", "1e400", "-1e400", "1e-400", "0x10", "1_0", "1n",
	"12345678901234567890123456789012345678901234567890", "0.0000000000000000000000000000000000000001", "1.5e00005", "00", "0e0", "0e",
	'""', '"', '"\\"', '"\\u"', '"\\u12"', '"\\u123g"', '"\\ud83d"', '"\\ude00"', '"\\ud83d\\ude00"', '"\\u0000"', '"\\x41"', '"\\a"',
	'"\\/\\b\\f\\n\\r\\t\\\\\\""', "'a'", '"a', 'a"', '"a" "b"', '"tab\there"', '"line\nbreak"', '"cr\rhere"', '"\x00"', '"\x1f"', '"\x7f"',
	'"\u2028\u2029"', "[", "]", "{", "}", "[]", "{}", "[,]", "[1,]", "[,1]", "[1 2]", "[1,2", "[[]", "[]]", "{]", "[}", "[1]x",
	'{"a"}', '{"a":}', '{"a":1,}', '{,"a":1}', '{"a":1 "b":2}', '{"a" 1}', "{a:1}", "{1:1}", '{"a":1,"a":2}', '{"":0}', '{"a":1}}',
	'{"__proto__":null}', "// a comment\n1", "/**/1", "1 // after", "\ufeff{}", "{}\ufeff", "\u00a0{}", "{\u00a0}", "\v1", "\f1", "\u20281",
	"[1,\n2\t,\r3 ]", "[[[[[[[[]]]]]]]]", '{"a":{"b":[{"c":[]}]}}', "[true,false,null,1,\"x\",{},[]]", "[truefalse]", "[nul]", "-null", "- 1",
	"--1", "1-", "1+1", "1.e5", "1.5.5", "[1e]", "[0.]", "[-]", '["\\u00e9\\u00E9"]', '{"a":"b":"c"}', '[":"]', "[1:2]", "{:1}", "\x00", "1\x00", "\\", '"\\u0041\\', "[\"",
];
for (const text of odd) compare("by hand", Buffer.from(text));

const bytes = (...list) => Buffer.concat(list.map((x) => (typeof x === "string" ? Buffer.from(x) : Buffer.from(x))));
const oddBytes = {
	"a byte that begins nothing": bytes('"', [0xff], '"'),
	"a lone continuation": bytes('"', [0x80], '"'),
	"a cut character before the quote": bytes('"', [0xe4, 0xbd], '"'),
	"a cut character before a backslash": bytes('"', [0xf0, 0x9f], '\\n"'),
	"an overlong quote": bytes('"', [0xc0, 0xa2], '"'),
	"a surrogate in bytes": bytes('"', [0xed, 0xa0, 0x80], '"'),
	"beyond Unicode": bytes('"', [0xf4, 0x90, 0x80, 0x80], '"'),
	"ill-formed between values": bytes("[1,", [0xff], "2]"),
	"ill-formed key": bytes("{", '"', [0xfe], '"', ":1}"),
	"ill-formed in an escape": bytes('"\\u00', [0xff], '0"'),
};
for (const [name, b] of Object.entries(oddBytes)) compare(name, b);

for (const depth of [511, 512, 513, 5000]) {
	compare(`${depth} arrays`, Buffer.from("[".repeat(depth) + "]".repeat(depth)));
	compare(`${depth} arrays, one not closed`, Buffer.from("[".repeat(depth) + "]".repeat(depth - 1)));
	compare(`${depth} objects`, Buffer.from('{"a":'.repeat(depth) + "1" + "}".repeat(depth)));
	compare(`${depth} levels closed the wrong way`, Buffer.from("[".repeat(depth) + "}" + "]".repeat(depth - 1)));
}

// Park and Miller's generator: the same cases every time.
let state = 20260301;
const random = (n) => {
	state = (state * 48271) % 2147483647;
	return state % n;
};

function lines(dir) {
	const all = [];
	for (const e of fs.readdirSync(dir, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
		const p = path.join(dir, e.name);
		if (e.isDirectory()) all.push(...lines(p));
		else if (e.name.endsWith(".jsonl")) {
			let from = 0;
			const b = fs.readFileSync(p);
			while (from < b.length) {
				const to = b.indexOf(10, from) < 0 ? b.length : b.indexOf(10, from);
				all.push(b.subarray(from, to));
				from = to + 1;
			}
		}
	}
	return all;
}

const corpus = lines(samples).filter((l) => l.length > 0 && l.length < 20000);
const telling = Buffer.from('{}[]",:\\/0123456789.eE+-truefalsn \t\r\n\x00\x1f\x7f\x80\xbf\xc2\xe4\xed\xf0\xff', "latin1");
function mutate(line) {
	let b = Buffer.from(line);
	for (let n = 1 + random(3); n > 0 && b.length > 0; n--) {
		const at = random(b.length);
		const some = 1 + random(4);
		const byte = Buffer.from([telling[random(telling.length)]]);
		const change = [
			() => b.subarray(0, at),
			() => Buffer.concat([b.subarray(0, at), byte, b.subarray(at + 1)]),
			() => Buffer.concat([b.subarray(0, at), byte, b.subarray(at)]),
			() => Buffer.concat([b.subarray(0, at), b.subarray(at + some)]),
			() => Buffer.concat([b.subarray(0, at), b.subarray(at, at + 20), b.subarray(at)]),
		];
		b = Buffer.from(change[random(change.length)]());
	}
	return b;
}
corpus.forEach((line, i) => compare(`sample line ${i + 1}`, line));
for (let i = 0; i < MUTATIONS && corpus.length > 0; i++) compare(`mutation ${i + 1}`, mutate(corpus[random(corpus.length)]));

if (directory) {
	for (const name of fs.readdirSync(directory).sort()) {
		const file = path.join(directory, name);
		if (name.endsWith(".json")) compare(name, fs.readFileSync(file), file);
	}
}
console.log(`${count.passed} passed, ${count.failed} failed, 0 skipped`);
process.exit(count.failed ? 1 : 0);
