// pi with sessions in grove: its agent, its runtime and its program do the same as on pi's own sessions.
//   PI=…/dist/bundle/index.js GROVE=…/bindings/node node pi.mjs
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { spawn } from "node:child_process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { after, test } from "node:test";
import { call, comparable, lastAsked, startModel } from "./model.mjs";

const { PI, GROVE } = process.env;
const STATICS = ["create", "open", "continueRecent", "inMemory", "forkFrom", "findById", "list", "listAll"];
const made = [];
after(() => made.forEach((dir) => fs.rmSync(dir, { recursive: true, force: true })));

/** Creates a home with a model for pi. */
async function newHome() {
	const root = fs.mkdtempSync(path.join(os.tmpdir(), "grove-sockets-pi-"));
	made.push(root);
	const home = { root, agentDir: path.join(root, "agent"), cwd: path.join(root, "work"), dir: path.join(root, "sessions") };
	for (const dir of [home.agentDir, home.cwd, home.dir]) fs.mkdirSync(dir);
	home.model = await startModel();
	const models = [{ id: "m1", contextWindow: 200000, maxTokens: 4096, input: ["text"] }];
	fs.writeFileSync(
		path.join(home.agentDir, "models.json"),
		JSON.stringify({ providers: { mock: { baseUrl: home.model.url, apiKey: "none", api: "anthropic-messages", models } } }),
	);
	return home;
}

const variables = (home) => ({ PI_CODING_AGENT_DIR: home.agentDir, PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1" });

async function agents(home) {
	Object.assign(process.env, variables(home));
	process.chdir(home.cwd);
	const pi = await import(pathToFileURL(PI).href);
	const modelRuntime = await pi.ModelRuntime.create({
		authPath: path.join(home.agentDir, "auth.json"), modelsPath: path.join(home.agentDir, "models.json"),
	});
	const settingsManager = pi.SettingsManager.inMemory({ compaction: { enabled: true, keepRecentTokens: 1 }, retry: { enabled: false } });
	const common = {
		cwd: home.cwd, agentDir: home.agentDir, modelRuntime, settingsManager,
		model: modelRuntime.getModel("mock", "m1"), thinkingLevel: "off", tools: ["bash"],
	};
	return { pi, common, start: async (sessionManager) => (await pi.createAgentSession({ ...common, sessionManager })).session };
}

const filesOf = (dir) => fs.readdirSync(dir).sort().map((name) => fs.readFileSync(path.join(dir, name), "utf8"));

/**
 * A conversation in which an agent does everything it can do to a session; returns its answers, and
 * the files.
 */
async function converse(SessionManager, home) {
	const { model } = home;
	const { start, common, pi } = await agents(home);
	const log = [];
	const manager = SessionManager.create(home.cwd, home.dir);
	const session = await start(manager);
	const ask = async (text, ...answers) => {
		model.push(...answers);
		await session.prompt(text);
		log.push(lastAsked(model));
	};

	assert.equal(fs.readdirSync(home.dir).length, 0, "no file before the first message");
	await ask("first question", [{ type: "text", text: "I look" }, call("toolu_1", "bash", { command: "echo hello" })], "it said hello");
	await ask("second question", "second answer");
	const users = manager.getBranch().filter((entry) => entry.message?.role === "user");
	const answers = manager.getBranch().filter((entry) => entry.message?.role === "assistant");
	log.push((await session.navigateTree(users[0].id, {})).editorText);
	await ask("another first question", "on a branch");
	await session.navigateTree(answers.at(-2).id, { summarize: true, label: "back here" });
	await ask("third question", "after the summary");
	await session.setSessionName("  a name  ");
	await session.executeBash("echo by-the-user");
	await session.compact();
	await ask("fourth question", "after the compaction");
	const { userMessages, assistantMessages, toolCalls, totalMessages } = session.getSessionStats();
	log.push({ userMessages, assistantMessages, toolCalls, totalMessages });
	session.dispose();

	const again = SessionManager.open(manager.getSessionFile());
	const resumed = await start(again);
	log.push(resumed.messages.length, resumed.sessionName, again.getTree().length);
	model.push("remembered");
	await resumed.prompt("fifth question");
	resumed.dispose();
	log.push(...(await runtime(pi, common, SessionManager, home, manager.getSessionFile())));
	return comparable([...log.map((line) => JSON.stringify(line)), ...filesOf(home.dir)].join("\n"), [[home.root, "<root>"]]);
}

/** pi's runtime calls static methods of its own class: they are replaced, as pi/register does. */
async function runtime(pi, common, SessionManager, { cwd, agentDir, dir, model }, file) {
	const own = Object.fromEntries(STATICS.map((name) => [name, pi.SessionManager[name]]));
	for (const name of STATICS) pi.SessionManager[name] = SessionManager[name].bind(SessionManager);
	const factory = async ({ cwd: at, sessionManager, sessionStartEvent }) => {
		const services = await pi.createAgentSessionServices({
			cwd: at, agentDir, modelRuntime: common.modelRuntime, settingsManager: common.settingsManager,
			resourceLoaderOptions: { noExtensions: true, noSkills: true },
		});
		const { model: which, thinkingLevel, tools } = common;
		const made = await pi.createAgentSessionFromServices({ services, sessionManager, sessionStartEvent, model: which, thinkingLevel, tools });
		return { ...made, services, diagnostics: services.diagnostics };
	};
	try {
		const host = await pi.createAgentSessionRuntime(factory, { cwd, agentDir, sessionManager: pi.SessionManager.continueRecent(cwd, dir) });
		const log = [host.session.sessionFile === file];
		const prompts = host.session.getUserMessagesForForking();
		log.push(prompts.map(({ text }) => text), (await host.fork(prompts[1].entryId)).selectedText);
		model.push("on the fork");
		await host.session.prompt("asked on the fork");
		await host.fork(host.session.sessionManager.getLeafId(), { position: "at" });
		log.push(host.session.messages.length);
		await host.newSession({ parentSession: file });
		model.push("in the new session");
		await host.session.prompt("a new session");
		log.push(host.session.sessionManager.getHeader().parentSession === file);
		await host.switchSession(file);
		log.push(host.session.messages.length);
		const list = await pi.SessionManager.list(cwd, dir);
		log.push(list.map(({ messageCount }) => messageCount).sort(), list.filter(({ name }) => name).length);
		log.push(list.map(({ allMessagesText }) => allMessagesText.length).sort());
		await host.dispose();
		return log;
	} finally {
		Object.assign(pi.SessionManager, own);
	}
}

/** The second process of the tests with databases, which knows only the id. */
async function resume({ store, id, ...home }) {
	const { onStore } = await import(pathToFileURL(path.join(GROVE, "pi.mjs")).href);
	const { start } = await agents(home);
	const session = await start(onStore(store).open(id));
	await session.prompt("do you remember");
	session.dispose();
	process.exit(0);
}
if (process.argv[2] === "--resume") await resume(JSON.parse(process.argv[3]));

test("pi's agent and runtime write the same on grove as on their own", async () => {
	const { SessionManager: theirs } = await import(pathToFileURL(PI).href);
	const { SessionManager: ours } = await import(pathToFileURL(path.join(GROVE, "pi.mjs")).href);
	const homes = [await newHome(), await newHome()];
	const wanted = await converse(theirs, homes[0]);
	const got = await converse(ours, homes[1]);
	homes.forEach(({ model }) => model.close());
	assert.deepEqual(got.split("\n"), wanted.split("\n"));
});

/** Starts pi's program with the package's module loaded first, or with `isOwn` without it. */
function startProgram(home, { store, isOwn = false }, ...args) {
	const program = path.join(path.dirname(PI), "cli.js");
	const before = isOwn ? [] : ["--import", pathToFileURL(path.join(GROVE, "pi", "register.mjs")).href];
	const env = { ...process.env, HOME: home.root, ...variables(home), ...(store ? { GROVE_STORE: store } : {}) };
	return spawn(process.execPath, [...before, program, "--provider", "mock", "--model", "m1", ...args], {
		cwd: home.cwd, env, stdio: ["pipe", "pipe", "inherit"],
	});
}

const ended = (p) => new Promise((resolve) => p.on("close", resolve));

test("the program itself, with --import grove-sessions/pi/register", async () => {
	const home = await newHome();
	const run = async (...args) => {
		const p = startProgram(home, {}, ...args);
		p.stdin.end();
		let out = "";
		p.stdout.on("data", (data) => (out += data));
		assert.equal(await ended(p), 0);
		return out;
	};
	const sessions = () => fs.readdirSync(path.join(home.agentDir, "sessions"), { recursive: true }).filter((name) => name.endsWith(".jsonl"));

	home.model.push([call("toolu_1", "bash", { command: "echo hi" })], "first answer");
	assert.match(await run("-p", "first question"), /first answer/);
	home.model.push("second answer");
	assert.match(await run("-c", "-p", "second question"), /second answer/);
	assert.match(lastAsked(home.model), /first question/);
	assert.equal(sessions().length, 1);
	const [, id] = /_([^_]+)\.jsonl$/.exec(sessions()[0]);
	home.model.push("third answer");
	assert.match(await run("--session", id.slice(0, 13), "-p", "by its id"), /third answer/);
	home.model.push("fourth answer");
	assert.match(await run("--fork", id, "-p", "on a fork"), /fourth answer/);
	assert.equal(sessions().length, 2);
	home.model.push("fifth answer");
	assert.match(await run("--no-session", "-p", "nothing is kept"), /fifth answer/);
	assert.equal(sessions().length, 2);
	home.model.close();
});

/**
 * Runs pi's program and controls it through standard input: `ask` returns its answer, `prompt`
 * waits until it is done.
 */
function startRpc(home, how) {
	const p = startProgram(home, how, "--mode", "rpc");
	const waiting = []; // [which record is waited for, what to do with it]
	let rest = "";
	p.stdout.setEncoding("utf8").on("data", (data) => {
		const lines = (rest + data).split("\n");
		rest = lines.pop();
		for (const record of lines.map((line) => JSON.parse(line))) {
			const at = waiting.findIndex(([isIt]) => isIt(record));
			if (at >= 0) waiting.splice(at, 1)[0][1](record);
		}
	});
	const next = (isIt) => new Promise((resolve) => waiting.push([isIt, resolve]));
	let nr = 0;
	const ask = async (type, members = {}) => {
		const id = `ask-${++nr}`;
		const answer = next((record) => record.type === "response" && record.id === id);
		p.stdin.write(`${JSON.stringify({ id, type, ...members })}\n`);
		const { success, data, error } = await answer;
		assert.ok(success, `${type}: ${error}`);
		return data;
	};
	return {
		ask,
		prompt: async (message) => {
			const done = next(({ type }) => type === "agent_settled");
			await ask("prompt", { message });
			await done;
		},
		end: async () => {
			p.stdin.end();
			assert.equal(await ended(p), 0);
		},
	};
}

/** A user who begins one session after another. */
async function beginMany(home, how) {
	const { ask, prompt, end } = startRpc(home, how);
	home.model.push([{ type: "text", text: "I look" }, call("toolu_1", "bash", { command: "echo hi" })], "first answer");
	await prompt("first question");
	await prompt("second question");
	await ask("new_session");
	await prompt("in a new session");
	await ask("set_session_name", { name: "the second" });
	const { messages } = await ask("get_fork_messages");
	await ask("fork", { entryId: messages[0].entryId });
	await prompt("asked otherwise");
	await ask("clone");
	await prompt("in the clone");
	await ask("new_session");
	await prompt("in the last session");
	await end();
}

/**
 * Returns all lines of a store's sessions, in the order in which they were begun, with parents
 * given by their ids.
 */
async function sessionsIn(home, store) {
	const { open } = await import(pathToFileURL(path.join(GROVE, "index.mjs")).href);
	const grove = open({ store, home: home.root, dialect: "pi" });
	const ids = (await grove.list({ all: true })).map(({ id }) => id).sort();
	const lines = ids.flatMap((id) => {
		const one = grove.session(id, { mode: "read" });
		return [one.header, ...one.entries()].map((line) => JSON.stringify(line));
	});
	const text = lines.join("\n").replace(/"[^"]*_([0-9a-f-]{36})\.jsonl"/g, '"$1"');
	return { count: ids.length, lines: comparable(text, [[home.root, "<root>"]]).split("\n") };
}

const kept = {
	"pi's own files": { isOwn: true },
	files: {},
	"a directory": { store: (root) => path.join(root, "kept") },
	SQLite: { store: (root) => `sqlite:${path.join(root, "sessions.db")}` },
};
if (process.env.GROVE_TEST_MYSQL) kept.MariaDB = { store: () => `${process.env.GROVE_TEST_MYSQL}_rpc` };

test("sessions that are begun one after the other are kept, on every store as in pi's own files", async (t) => {
	const { initStore } = await import(pathToFileURL(path.join(GROVE, "index.mjs")).href);
	let wanted;
	for (const [name, { store, isOwn }] of Object.entries(kept)) {
		await t.test(name, async () => {
			const home = await newHome();
			const url = store?.(home.root);
			if (url?.includes(":")) initStore(url);
			await beginMany(home, { store: url, isOwn });
			const before = await sessionsIn(home, url ?? path.join(home.agentDir, "sessions"));
			assert.equal(before.count, 5);
			wanted ??= before.lines;
			assert.deepEqual(before.lines, wanted);

			const nothing = startProgram(home, { store: url, isOwn }, "--no-session", "-p", "nothing is kept");
			nothing.stdin.end();
			assert.equal(await ended(nothing), 0);
			assert.deepEqual(await sessionsIn(home, url ?? path.join(home.agentDir, "sessions")), before);
			home.model.close();
		});
	}
});

const stores = { SQLite: (root) => `sqlite:${path.join(root, "sessions.db")}` };
if (process.env.GROVE_TEST_MYSQL) stores.MariaDB = () => `${process.env.GROVE_TEST_MYSQL}_sockets`;

for (const [name, url] of Object.entries(stores)) {
	test(`pi on ${name}, resumed by its id in another process`, async () => {
		const home = await newHome();
		const store = url(home.root);
		const { initStore } = await import(pathToFileURL(path.join(GROVE, "index.mjs")).href);
		const { onStore } = await import(pathToFileURL(path.join(GROVE, "pi.mjs")).href);
		initStore(store);
		const { start } = await agents(home);
		const manager = onStore(store).create(home.cwd);
		const session = await start(manager);
		home.model.push([call("toolu_1", "bash", { command: "echo hi" })], "hello", "again", "on a branch");
		await session.prompt("first");
		await session.prompt("second");
		await session.navigateTree(manager.getBranch().find((entry) => entry.message?.role === "user").id, {});
		await session.prompt("other first");
		session.dispose();

		home.model.push("I do");
		const p = spawn(process.execPath, [fileURLToPath(import.meta.url), "--resume", JSON.stringify({ ...home, model: undefined, store, id: manager.getSessionId() })], { stdio: ["ignore", "ignore", "inherit"] });
		assert.equal(await new Promise((resolve) => p.on("close", resolve)), 0);
		assert.match(lastAsked(home.model), /other first.*do you remember/);
		assert.equal(fs.readdirSync(home.root, { recursive: true }).filter((file) => file.endsWith(".jsonl")).length, 0, "no file anywhere");
		assert.equal(onStore(store).open(manager.getSessionId()).getTree().length > 0, true);
		home.model.close();
	});
}
