"use strict";
{
	const tree = document.getElementById("~tree");
	const make = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });

	/* Rows that have all the words, in any case. */
	const filter = (text) => {
		const words = text.toLowerCase().split(/\s+/);
		for (const row of tree.children) {
			const says = row.textContent.toLowerCase();
			row.hidden = !words.every((word) => says.includes(word));
		}
	};
	const fold = (open) => {
		for (const details of document.querySelectorAll("details")) details.open = open;
	};
	/* Chromium does so itself. */
	const reveal = () => {
		const id = location.hash.slice(1);
		let at = document.getElementById(id);
		try {
			at = at || document.getElementById(decodeURIComponent(id));
		} catch { /* no entry is called that */ }
		if (!at) return;
		for (let up = at; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
		at.scrollIntoView();
	};

	const tools = make("div", "");
	tools.className = "tools";
	const input = document.createElement("input");
	input.type = "search";
	input.placeholder = "Filter";
	input.setAttribute("aria-label", "Filter the tree");
	input.addEventListener("input", () => filter(input.value));
	const unfold = make("button", "Unfold all");
	unfold.addEventListener("click", () => fold(true));
	const close = make("button", "Fold all");
	close.addEventListener("click", () => fold(false));
	for (const button of [unfold, close]) button.type = "button";
	tools.append(input, unfold, close);
	tree.before(tools);
	addEventListener("hashchange", reveal);
	reveal();
}
