// SPDX-License-Identifier: MIT
// Counts comparisons, and prints those that fail, with the place where they are made.
export const count = { where: "", passed: 0, failed: 0, skipped: 0 };

export function fail(what, text) {
	count.failed++;
	console.log(`${count.where}: ${what}: ${text}`);
}
export const skip = () => count.skipped++;

const short = (s) => (s.length <= 200 ? s : `${s.slice(0, 197)}...`);
// Compares the expected value with the actual one, as JSON, so that the order of keys counts.
export function same(what, expected, actual) {
	const [a, b] = [expected, actual].map((v) => JSON.stringify(v) ?? "nothing");
	if (a === b) {
		count.passed++;
		return;
	}
	let i = 0;
	while (a[i] === b[i]) i++;
	const from = Math.max(0, i - 40);
	const cut = (s) => (from ? "..." : "") + short(s.slice(from));
	fail(what, `expected ${cut(a)}, got ${cut(b)}`);
}

// Ends, and prints the counts; it failed, too, if nothing was compared.
export function end() {
	console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
	process.exit(count.failed || !count.passed ? 1 : 0);
}
