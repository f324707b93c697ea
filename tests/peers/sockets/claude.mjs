// The Claude Agent SDK with sessions in a store of grove's: a conversation with the real SDK and Claude
// Code, its continuation in another process from the store alone, and every function about sessions.
//   SDK=…/claude-agent-sdk/sdk.mjs GROVE=…/bindings/node node claude.mjs
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { call, lastAsked, startModel } from "./model.mjs";

const sdk = await import(pathToFileURL(process.env.SDK).href);
const { initStore } = await import(pathToFileURL(path.join(process.env.GROVE, "index.mjs")).href);
const { openStore } = await import(pathToFileURL(path.join(process.env.GROVE, "claude.mjs")).href);
const made = [];
after(() => made.forEach((dir) => fs.rmSync(dir, { recursive: true, force: true })));

/** Creates a directory for one conversation, and a model. */
async function newPlace() {
	const root = fs.mkdtempSync(path.join(os.tmpdir(), "grove-sockets-claude-"));
	made.push(root);
	for (const dir of ["work", "home"]) fs.mkdirSync(path.join(root, dir));
	return { root, work: path.join(root, "work"), model: await startModel(), configs: 0 };
}

/** Runs one turn in a process with an empty configuration, which knows only what is in the store. */
async function ask(place, sessionStore, prompt, options = {}) {
	const config = path.join(place.root, `config${place.configs++}`);
	fs.mkdirSync(config);
	process.env.CLAUDE_CONFIG_DIR = config;
	const env = {
		PATH: process.env.PATH, HOME: path.join(place.root, "home"), CLAUDE_CONFIG_DIR: config,
		ANTHROPIC_BASE_URL: place.model.url, ANTHROPIC_API_KEY: "sk-ant-none", DISABLE_TELEMETRY: "1",
		DISABLE_ERROR_REPORTING: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1",
	};
	const answer = { errors: [] };
	const how = {
		cwd: place.work, sessionStore, env, allowedTools: ["Bash", "Task", "Agent"], settingSources: [], model: "claude-sonnet-4-5", ...options,
	};
	for await (const message of sdk.query({ prompt, options: how })) {
		if (message.session_id) answer.sessionId = message.session_id;
		if (message.type === "result") answer.text = message.result;
		if (message.subtype === "mirror_error") answer.errors.push(message.error);
	}
	return answer;
}

const uuids = (entries) => entries.filter(({ uuid }) => uuid).map(({ uuid }) => uuid);
function assertNoneTwice(entries) {
	assert.equal(new Set(uuids(entries)).size, uuids(entries).length);
}

/** Wraps a store so that it notes the keys it was given. */
function telling(store, keys) {
	return {
		append: (key, entries) => {
			keys.push(key);
			return store.append(key, entries);
		},
		load: (key) => store.load(key),
		listSessions: (project) => store.listSessions(project),
		listSubkeys: (key) => store.listSubkeys(key),
		delete: (key) => store.delete(key),
	};
}

const stores = {
	memory: () => "memory:",
	files: (root) => path.join(root, "store"),
	SQLite: (root) => `sqlite:${path.join(root, "sessions.db")}`,
};
if (process.env.GROVE_TEST_MYSQL) stores.MariaDB = () => `${process.env.GROVE_TEST_MYSQL}_sockets_claude`;

for (const [name, url] of Object.entries(stores)) {
	test(`the SDK on ${name}`, async () => {
		const place = await newPlace();
		const where = url(place.root);
		if (/^(sqlite|mysql):/.test(where)) initStore(where);
		const store = openStore(where, { foldSessionSummary: sdk.foldSessionSummary });
		const keys = [];

		place.model.push(
			[{ type: "text", text: "I look" }, call("toolu_1", "Bash", { command: "echo hello-from-tool", description: "say hello" })],
			[call("toolu_2", "Agent", { description: "look closer", prompt: "look closer please", subagent_type: "general-purpose" })],
			"the sub-agent found nothing",
			"all is well",
		);
		const first = await ask(place, telling(store, keys), "first question");
		// Claude Code may send the model other requests as well, so it is not known which answer is
		// the last.
		assert.ok(first.text);
		assert.deepEqual(first.errors, []);
		const { projectKey } = keys[0];
		const key = { projectKey, sessionId: first.sessionId };
		const stored = await store.load(key);
		assert.ok(stored.some(({ type }) => type === "assistant"));
		assert.equal((await store.listSubkeys(key)).length, 1, "the sub-agent has a log of its own");

		place.model.push("yes, I remember");
		const second = await ask(place, store, "do you remember", { resume: first.sessionId });
		assert.equal(second.sessionId, first.sessionId);
		assert.match(lastAsked(place.model), /first question.*hello-from-tool.*do you remember/);
		assertNoneTwice(await store.load(key));

		await useFunctions(place, store, first.sessionId);
		await loseAnswers(place, store, key);
		place.model.close();
	});
}

async function useFunctions({ root, work }, store, sessionId) {
	process.env.CLAUDE_CONFIG_DIR = path.join(root, "config-of-nobody");
	const options = { dir: work, sessionStore: store };
	assert.deepEqual((await sdk.listSessions(options)).map((session) => session.sessionId), [sessionId]);
	const messages = await sdk.getSessionMessages(sessionId, options);
	assert.ok(messages.length >= 4);
	await sdk.renameSession(sessionId, "a title", options);
	await sdk.tagSession(sessionId, "a-tag", options);
	const { customTitle, tag } = await sdk.getSessionInfo(sessionId, options);
	assert.deepEqual([customTitle, tag], ["a title", "a-tag"]);
	const [agent] = await sdk.listSubagents(sessionId, options);
	assert.ok((await sdk.getSubagentMessages(sessionId, agent, options)).length > 0);
	const fork = await sdk.forkSession(sessionId, { ...options, upToMessageId: messages[1].uuid, title: "the fork" });
	assert.equal((await sdk.listSessions(options)).length, 2);
	await sdk.deleteSession(fork.sessionId, options);
	assert.equal((await sdk.listSessions(options)).length, 1);
	process.env.CLAUDE_CONFIG_DIR = path.join(root, "config0");
	await sdk.importSessionToStore(sessionId, store, { dir: work });
}

/** If an append was stored but its answer was lost, it is sent again. */
async function loseAnswers(place, store, key) {
	let losses = 2;
	const lossy = telling(store, []);
	lossy.append = async (to, entries) => {
		await store.append(to, entries);
		if (losses-- > 0) throw new Error("the answer was lost");
	};
	place.model.push("after trouble");
	const answer = await ask(place, lossy, "over a bad line", { resume: key.sessionId });
	assert.ok(answer.text);
	const entries = await store.load(key);
	assert.ok(entries.some((entry) => JSON.stringify(entry).includes("over a bad line")));
	assertNoneTwice(entries);
}
