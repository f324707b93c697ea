// grove-sessions/pi/register in front of a program that calls its sessions as pi does. Pi itself is run by
// tests/peers/sockets.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { assistant, lines, newHome, packageDir, scratch, user } from "./lib.mjs";
import { initStore, open } from "../../bindings/node/index.mjs";

const register = pathToFileURL(path.join(packageDir, "pi", "register.mjs")).href;

/** Where the program looks for its sessions, and in memory it says so. */
const INDEX = `
export class SessionManager {}
for (const name of ["create", "open", "continueRecent", "inMemory", "forkFrom", "findById", "list", "listAll"]) {
	SessionManager[name] = () => { throw new Error("pi's own " + name); };
}`;

/** One prompt, and with "new" another in a new session, as pi's runtime makes it; the drafts of a compaction. */
const CLI = `
import { SessionManager } from "./index.js";
const [text, ...more] = process.argv.slice(2);
const cwd = process.cwd();
const say = (manager, text) => {
	manager.appendMessage(${JSON.stringify(user("?"))});
	manager.appendMessage({ ...${JSON.stringify(assistant("!"))}, content: [{ type: "text", text }] });
};
let manager = more.includes("--no-session") ? SessionManager.inMemory(cwd, undefined) : SessionManager.create(cwd, undefined, {});
say(manager, text);
const draft = SessionManager.inMemory(cwd, undefined, [manager.getHeader(), ...manager.getBranch()]);
say(draft, "in a draft");
if (more.includes("new")) {
	const parentSession = manager.getSessionFile() ?? manager.getSessionId();
	manager = manager.isPersisted() ? SessionManager.create(cwd, manager.getSessionDir()) : SessionManager.inMemory(cwd);
	manager.newSession({ parentSession });
	say(manager, "after " + text);
}
for (const again of more.filter((word) => word === "again")) {
	try {
		say(manager, again);
	} catch (error) {
		console.log(error.message);
	}
}
console.log(manager.getEntryCount());`;

/** A machine with that program in the place of pi; `run` gives what came of it. */
function machine() {
	const home = newHome();
	const dist = path.join(home, "node_modules", "@earendil-works", "pi-coding-agent", "dist");
	fs.mkdirSync(dist, { recursive: true });
	fs.writeFileSync(path.join(dist, "..", "package.json"), '{"type":"module"}');
	fs.writeFileSync(path.join(dist, "index.js"), INDEX);
	fs.writeFileSync(path.join(dist, "cli.js"), CLI);
	const run = async (env, ...args) => {
		const p = spawn(process.execPath, ["--import", register, ...args], { cwd: home, env: { ...process.env, ...env } });
		const said = { stdout: "", stderr: "" };
		for (const name of ["stdout", "stderr"]) p[name].on("data", (data) => (said[name] += data));
		const status = await new Promise((resolve) => p.on("close", resolve));
		return { ...said, status };
	};
	return { home, run, pi: (store, ...args) => run(store ? { GROVE_STORE: store } : {}, path.join(dist, "cli.js"), ...args) };
}

const texts = (grove, id) => grove.session(id, { mode: "read" }).entries().flatMap(({ message }) => message?.content?.[0]?.text ?? []);

const stores = {
	directory: (home) => path.join(home, "kept"),
	SQLite: (home) => `sqlite:${path.join(home, "kept.db")}`,
	...(process.env.GROVE_TEST_MYSQL && { MariaDB: () => `${process.env.GROVE_TEST_MYSQL}_register` }),
};

for (const [name, url] of Object.entries(stores)) {
	test(`a session that is begun after another is in the store too: ${name}`, async () => {
		const { home, pi } = machine();
		const store = url(home);
		if (store.includes(":")) initStore(store);
		assert.deepEqual(await pi(store, "one", "--no-session", "new"), { stdout: "2\n", stderr: "", status: 0 });
		const grove = open({ store, cwd: home });
		assert.deepEqual(await grove.list(), []);
		assert.deepEqual(await pi(store, "one", "new"), { stdout: "2\n", stderr: "", status: 0 });
		const list = (await grove.list()).sort((a, b) => (a.id < b.id ? -1 : 1));
		assert.deepEqual(list.map(({ id }) => texts(grove, id)), [["one"], ["after one"]]);
		assert.deepEqual(list.map(({ parentSession }) => parentSession), [undefined, list[0].id]);
	});
}

test("without a store sessions are in pi's files", async () => {
	const { home, pi } = machine();
	assert.deepEqual(await pi(undefined, "one", "new"), { stdout: "2\n", stderr: "", status: 0 });
	const files = fs.readdirSync(path.join(home, ".pi"), { recursive: true }).filter((name) => name.endsWith(".jsonl")).sort();
	assert.equal(files.length, 2);
	assert.equal(lines(path.join(home, ".pi", files[1]))[0].parentSession, path.join(home, ".pi", files[0]));
});

test("other programs do not load the addon", async () => {
	const { run } = machine();
	const env = { GROVE_STORE: "nonsense://x", GROVE_NODE_ADDON: "/nowhere/grove.node" };
	const loaded = "console.log(/grove[.]node/.test(require('node:fs').readFileSync('/proc/self/maps', 'utf8')))";
	const elsewhere = path.join(scratch(), "program.cjs");
	fs.writeFileSync(elsewhere, loaded);
	assert.deepEqual(await run(env, elsewhere), { stdout: "false\n", stderr: "", status: 0 });
});

test("a store that cannot be used is one sentence", async () => {
	const { home, pi } = machine();
	const refused = async (store, why) => {
		const { status, stdout, stderr } = await pi(store, "one");
		assert.deepEqual([status, stdout], [1, ""], store);
		assert.match(stderr, why);
		assert.match(stderr, /^grove-sessions: GROVE_STORE: [^\n]+\n$/, store);
	};
	await refused("postgres://me@host/x", /unknown kind of store/);
	await refused("http://host/x", /unknown kind of store/);
	await refused("mysql://me@127.0.0.1:1/x", /connect/i);
	const file = path.join(home, "text");
	fs.writeFileSync(file, "this is no database, and long enough to be looked at as one\n".repeat(20));
	await refused(`sqlite:${file}`, /text: /);
	// whoever keeps nothing needs none
	assert.deepEqual(await pi("mysql://me@127.0.0.1:1/x", "one", "--no-session"), { stdout: "2\n", stderr: "", status: 0 });
});
