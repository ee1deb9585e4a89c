// SPDX-License-Identifier: MIT
// Opens repaired sessions with the real pi: node repair.mjs PACKAGE DIRECTORY. See repair.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { count, end, fail, skip } from "./count.mjs";

const [pack, directory] = process.argv.slice(2);
const pi = await import(pathToFileURL(path.join(pack, "dist/bundle/index.js")).href);

for (const name of fs.readdirSync(directory)) {
	const file = (count.where = path.join(directory, name));
	const values = fs
		.readFileSync(file, "utf8")
		.split("\n")
		.flatMap((line) => {
			try {
				return [JSON.parse(line)];
			} catch {
				return [];
			}
		});
	if (!values.length) {
		skip(); // no entry could be read
		continue;
	}
	try {
		const session = pi.SessionManager.open(file);
		const want = values.filter((v) => v.type !== "session").length;
		if (session.getHeader().id !== values[0].id) throw new Error("another header");
		if (session.getEntries().length !== want) throw new Error(`${session.getEntries().length} entries, not ${want}`);
		session.buildSessionContext();
		count.passed++;
	} catch (error) {
		fail("pi", error.message);
	}
}
end();
