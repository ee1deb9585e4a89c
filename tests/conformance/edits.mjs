// SPDX-License-Identifier: MIT
// Compares contexts with pi's: node edits.mjs PI-DIRECTORY TMP STATES
// Each line of STATES has a session file, its size at that time, and its context.json.
import assert from "node:assert";
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";
import { count, end, fail } from "./count.mjs";

const [piDirectory, tmp, states] = process.argv.slice(2);
const { SessionManager } = await import(pathToFileURL(path.join(piDirectory, "newest/dist/bundle/index.js")).href);

for await (const line of readline.createInterface({ input: fs.createReadStream(states) })) {
	const { file, size, context } = JSON.parse(line);
	count.where = file;
	const copy = path.join(tmp, "s.jsonl");
	fs.writeFileSync(copy, fs.readFileSync(file).subarray(0, size));
	const expected = JSON.parse(JSON.stringify(SessionManager.open(copy).buildSessionContext()));
	try {
		assert.deepStrictEqual(JSON.parse(context), expected);
		count.passed++;
	} catch (e) {
		fail(`the first ${size} bytes`, e.message);
	}
}
end();
