// SPDX-License-Identifier: MIT
// Waits for what must happen. There is no limit: tests/lib/limited ends a test that hangs, and SIGTERM prints for what.
const awaited = new Set();
process.once("SIGTERM", () => {
	for (const what of awaited) console.error(`FAILED: ended by a signal while it waits for ${what}`);
	process.exit(143);
});

// Returns what the promise does.
export async function waitFor(what, promise) {
	awaited.add(what);
	try {
		return await promise;
	} finally {
		awaited.delete(what);
	}
}
