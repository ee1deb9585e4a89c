// SPDX-License-Identifier: MIT
// Opens one session file as pi does, once, and prints the seconds it took.
//   node pi.mjs INDEX.js FILE
import { pathToFileURL } from "node:url";

const { SessionManager } = await import(pathToFileURL(process.argv[2]));
const before = performance.now();
const session = SessionManager.open(process.argv[3]);
const after = performance.now();
if (session.getEntries().length === 0) throw new Error("nothing was opened");
console.log(((after - before) / 1000).toFixed(6));
