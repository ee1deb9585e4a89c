// SPDX-License-Identifier: MIT
// A real Chromium for the tests: one process, driven over a pipe by the DevTools protocol.
//
//	const browser = await start("/usr/bin/chromium", "/tmp/profile");
//	const page = await browser.open("file:///mnt/html/index.html", { dark: true, width: 390 });
//	await page.run((css) => document.querySelectorAll(css).length, "article");
//	page.trouble			what a page must not do, as lines: see watch()
//	await page.close();
//	await browser.end();
//
// Functions of a test run in a world of their own in the page (run, click): they see the document and no variable of
// the page, the page's Content-Security-Policy does not apply to them, and they run where the page's scripts are
// switched off.
import { spawn } from "node:child_process";
import fs from "node:fs";
import { waitFor } from "../lib/waiting.mjs";

export async function start(program, directory) {
	fs.mkdirSync(directory, { recursive: true });
	const log = fs.openSync(`${directory}/log`, "w");
	const child = spawn(
		program,
		[
			"--headless=new",
			"--remote-debugging-pipe",
			`--user-data-dir=${directory}/profile`,
			"--no-first-run",
			"--no-default-browser-check",
			"--disable-background-networking",
			"--disable-component-update",
			"--disable-sync",
			"--disable-extensions",
			"--disable-gpu",
			"--disable-dev-shm-usage",
			"--disable-features=Translate,OptimizationHints,MediaRouter,AutofillServerCommunication",
			"--password-store=basic",
			"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
			"--force-color-profile=srgb",
			...(process.getuid() === 0 || process.env.BROWSER_NO_SANDBOX ? ["--no-sandbox"] : []),
			"about:blank",
		],
		{ stdio: ["ignore", log, log, "pipe", "pipe"], env: { ...process.env, HOME: directory, XDG_CONFIG_HOME: directory, XDG_CACHE_HOME: directory } },
	);
	fs.closeSync(log);
	const browser = new Browser(child, new Wire(child));
	await browser.begin();
	return browser;
}

// Messages are JSON with a NUL at the end.
class Wire {
	constructor(child) {
		this.out = child.stdio[3];
		this.last = 0;
		this.waiting = new Map();
		this.heard = new Map(); // by session: the handler of its events
		let pieces = [];
		child.stdio[4].on("data", (data) => {
			for (let at; (at = data.indexOf(0)) >= 0; data = data.subarray(at + 1)) {
				pieces.push(data.subarray(0, at));
				this.take(JSON.parse(Buffer.concat(pieces)));
				pieces = [];
			}
			pieces.push(data);
		});
		this.out.on("error", () => {});
		child.on("exit", (code, signal) => this.fail(new Error(`the browser ended (${code ?? signal})`)));
		child.on("error", (e) => this.fail(e));
	}
	fail(error) {
		this.dead = error;
		for (const { reject } of this.waiting.values()) reject(error);
		this.waiting.clear();
	}
	take(message) {
		if (!message.id) return this.heard.get(message.sessionId)?.(message.method, message.params);
		const w = this.waiting.get(message.id);
		this.waiting.delete(message.id);
		if (message.error) w?.reject(new Error(`${w.method}: ${message.error.message}`));
		else w?.resolve(message.result);
	}
	call(method, params = {}, sessionId = undefined) {
		if (this.dead) return Promise.reject(this.dead);
		const id = ++this.last;
		const answer = new Promise((resolve, reject) => {
			this.waiting.set(id, { method, resolve, reject });
			this.out.write(JSON.stringify({ id, method, params, sessionId }) + "\0");
		});
		return waitFor(`the answer to ${method}`, answer);
	}
}

class Browser {
	constructor(child, wire) {
		this.child = child;
		this.wire = wire;
		this.pages = new Map(); // by target
		this.strays = []; // windows opened without a request
	}
	async begin() {
		this.version = (await this.wire.call("Browser.getVersion")).product;
		// A window that a page opens counts as that page's trouble.
		this.wire.heard.set(undefined, (method, { targetInfo: t } = {}) => {
			if (method === "Target.targetCreated" && t.openerId) this.strays.push(`a page opened a window: ${t.url}`);
		});
		await this.wire.call("Target.setDiscoverTargets", { discover: true });
	}
	// scripts: whether the page's scripts run; free: its Content-Security-Policy is ignored.
	async open(url, { scripts = true, free = false, dark = false, width = 1280, height = 800, before } = {}) {
		const { targetId } = await this.wire.call("Target.createTarget", { url: "about:blank" });
		const { sessionId } = await this.wire.call("Target.attachToTarget", { targetId, flatten: true });
		const page = new Page(this, targetId, (method, params) => this.wire.call(method, params, sessionId));
		this.wire.heard.set(sessionId, (method, params) => page.hear(method, params));
		await page.prepare({ scripts, free, dark, width, height });
		await before?.(page);
		await page.go(url);
		return page;
	}
	async end() {
		const gone = new Promise((resolve) => (this.child.exitCode !== null || this.child.signalCode ? resolve() : this.child.once("exit", resolve)));
		await this.wire.call("Browser.close").catch(() => {});
		await waitFor("the end of the browser", gone);
	}
}

class Page {
	constructor(browser, targetId, call) {
		this.browser = browser;
		this.targetId = targetId;
		this.call = call;
		this.trouble = [];
		this.requests = [];
		this.waits = []; // for an event
	}
	async prepare({ scripts, free, dark, width, height }) {
		this.scripts = scripts;
		for (const domain of ["Page", "Runtime", "Network", "Log", "DOM", "Audits"]) await this.call(`${domain}.enable`);
		await this.call("Page.setBypassCSP", { enabled: free });
		await this.call("Emulation.setScriptExecutionDisabled", { value: !scripts });
		await this.look({ dark, width, height });
		await this.call("Browser.setDownloadBehavior", { behavior: "deny", eventsEnabled: true }).catch(() => {});
	}
	async look({ dark = false, width = 1280, height = 800, media = "" }) {
		await this.call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
		await this.call("Emulation.setEmulatedMedia", {
			media,
			features: [
				{ name: "prefers-color-scheme", value: dark ? "dark" : "light" },
				{ name: "prefers-reduced-motion", value: "reduce" },
			],
		});
	}
	hear(method, params) {
		this.waits = this.waits.filter((w) => !(w.method === method && (w.resolve(params), true)));
		this.watch(method, params);
	}
	// Everything that a page must not do.
	watch(method, p) {
		const say = (...words) => this.trouble.push(words.join(" ").slice(0, 500));
		switch (method) {
			case "Page.javascriptDialogOpening":
				say("dialog:", p.type, p.message);
				return void this.call("Page.handleJavaScriptDialog", { accept: true }).catch(() => {});
			case "Runtime.consoleAPICalled":
				return say("console:", p.type, ...p.args.map((a) => a.value ?? a.description));
			case "Runtime.exceptionThrown":
				return say("exception:", p.exceptionDetails.exception?.description ?? p.exceptionDetails.text);
			case "Log.entryAdded":
				return say("log:", p.entry.level, p.entry.text, p.entry.url ?? "");
			case "Audits.issueAdded":
				if (p.issue.code === "ContentSecurityPolicyIssue" || p.issue.code === "QuirksModeIssue") say("issue:", JSON.stringify(p.issue));
				return;
			case "Network.requestWillBeSent":
				this.requests.push(p.request.url);
				if (p.type === "Image" && p.request.url.startsWith("data:image/")) return;
				if (p.type === "Document" && p.request.url === this.asked) return void (this.asked = undefined);
				return say("request:", p.type, p.request.url);
			case "Network.webSocketCreated":
				return say("socket:", p.url);
			case "Page.frameAttached":
				return say("a frame in the page");
			case "Page.downloadWillBegin":
				return say("download:", p.url);
			case "Page.windowOpen":
				return say("window:", p.url);
			case "Page.frameRequestedNavigation":
			case "Page.frameScheduledNavigation":
				if (p.url.replace(/#.*/s, "") !== this.expected) say("leaves for:", p.url);
				return;
			case "Inspector.targetCrashed":
				return say("the page crashed");
		}
	}
	event(method) {
		return waitFor(method, new Promise((resolve) => this.waits.push({ method, resolve })));
	}
	async go(url) {
		const loaded = this.event("Page.loadEventFired");
		this.asked = this.expected = url.replace(/#.*/s, "");
		const { errorText, isDownload } = await this.call("Page.navigate", { url });
		if (errorText || isDownload) throw new Error(`${url}: ${errorText ?? "is a download"}`);
		await loaded;
		await this.enter();
	}
	// Makes the test's world in the current document.
	async enter() {
		const { frameTree } = await this.call("Page.getFrameTree");
		const { executionContextId } = await this.call("Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: "test" });
		this.world = executionContextId;
	}
	// Runs a function of the test in the page, with values as its arguments, and returns its result.
	async run(f, ...values) {
		const code = typeof f === "string" ? f : `(${f})(...${JSON.stringify(values)})`;
		return this.evaluate(code, { contextId: this.world });
	}
	// Runs code among the page's own scripts.
	async inside(code) {
		return this.evaluate(code, {});
	}
	async evaluate(expression, where) {
		const { result, exceptionDetails: e } = await this.call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true, userGesture: true, ...where });
		if (e) throw new Error(`in the page: ${e.exception?.description ?? e.text}`);
		return result.value;
	}
	// Clicks with the mouse on the first line of the element that a function of the test returns. Layout can
	// happen only once it is in view, so that the element moves once more.
	async click(f, ...values) {
		await this.press(f, values);
		await this.settled();
	}
	async press(f, values) {
		const find = `((...values) => {
			const e = (${f})(...values);
			if (!e) return null;
			e.scrollIntoView({ block: "center", behavior: "instant" });
			const r = e.getClientRects()[0];
			return r && { x: r.left + Math.min(r.width / 2, 40), y: r.top + r.height / 2 };
		})(...${JSON.stringify(values)})`;
		let at, before;
		do {
			before = at;
			at = await this.run(find);
			if (!at) throw new Error(`nothing to click on: ${f} ${JSON.stringify(values)}`);
			await this.call("Input.dispatchMouseEvent", { type: "mouseMoved", ...at });
			await this.drawn();
		} while (at.x !== before?.x || at.y !== before.y);
		const mouse = (type) => this.call("Input.dispatchMouseEvent", { type, ...at, button: "left", clickCount: 1 });
		await mouse("mousePressed");
		await mouse("mouseReleased");
	}
	// Makes the browser draw the visible part.
	async drawn() {
		if (this.scripts) return this.settled();
		await this.call("Page.captureScreenshot", { format: "jpeg", quality: 1, clip: { x: 0, y: 0, width: 1, height: 1, scale: 1 } });
	}
	// Clicks on a link to another page.
	async follow(f, ...values) {
		const loaded = this.event("Page.loadEventFired");
		const url = await this.run(`((...values) => (${f})(...values)?.href)(...${JSON.stringify(values)})`);
		this.asked = this.expected = url?.replace(/#.*/s, "");
		await this.press(f, values);
		await loaded;
		await this.enter();
		return url;
	}
	// Waits for the page at this address, to which an action leads.
	async reach(url, act) {
		const loaded = this.event("Page.loadEventFired");
		this.asked = this.expected = url;
		await act();
		await loaded;
		await this.enter();
	}
	async type(text) {
		await this.call("Input.insertText", { text });
		await this.settled();
	}
	// Waits until the page has completed earlier requests. (Without scripts nothing in it can be waited for.)
	async settled() {
		await this.run(this.scripts ? () => new Promise((done) => requestAnimationFrame(() => setTimeout(done))) : () => {});
	}
	// Waits until a function of the test returns a true value in the page, and returns it.
	async becomes(what, f, ...values) {
		const comes = async () => {
			for (;;) {
				const value = await this.run(f, ...values);
				if (value) return value;
				await new Promise((done) => setTimeout(done, 20));
			}
		};
		return waitFor(what, comes());
	}
	async picture() {
		const { data } = await this.call("Page.captureScreenshot", { format: "png" });
		return Buffer.from(data, "base64");
	}
	async pdf() {
		const { data } = await this.call("Page.printToPDF", { printBackground: true });
		return Buffer.from(data, "base64");
	}
	async close() {
		await this.browser.wire.call("Target.closeTarget", { targetId: this.targetId });
	}
}
