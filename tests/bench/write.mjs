// SPDX-License-Identifier: MIT
// Labels one entry as a script does with pi, and prints the seconds without the start of node.
//   node write.mjs INDEX.js FILE ID LABEL
import { pathToFileURL } from "node:url";

const [index, file, id, label] = process.argv.slice(2);
const { SessionManager } = await import(pathToFileURL(index));
const before = performance.now();
SessionManager.open(file).appendLabelChange(id, label);
const after = performance.now();
console.log(((after - before) / 1000).toFixed(6));
