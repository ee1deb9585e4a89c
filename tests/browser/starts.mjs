// SPDX-License-Identifier: MIT
// Whether a browser starts: node starts.mjs CHROMIUM DIRECTORY
import { start } from "./browser.mjs";

const browser = await start(...process.argv.slice(2));
const page = await browser.open("data:text/plain,x");
await page.close();
await browser.end();
