// oh-my-pi on a storage of grove's, under Bun: a conversation with its agent, then opening, listing, forking, deleting.
//   OMP=…/@oh-my-pi/pi-coding-agent/src/index.ts GROVE=…/bindings/node bun omp.mjs NAME URL
// Without a URL, a file of SQLite or (NAME "files") a directory below a place of its own. Prints a line of TAP.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { call, lastAsked, startModel } from "./model.mjs";

const [name, url] = process.argv.slice(2);
const root = fs.mkdtempSync(path.join(os.tmpdir(), "grove-sockets-omp-"));
const [agentDir, cwd, dir] = ["agent", "work", "sessions"].map((part) => path.join(root, part));
for (const one of [agentDir, cwd, dir]) fs.mkdirSync(one);
Object.assign(process.env, { HOME: root, PI_CODING_AGENT_DIR: agentDir, PI_OFFLINE: "1", OMP_OFFLINE: "1" });
process.chdir(cwd);

const omp = await import(process.env.OMP);
const { initStore } = await import(path.join(process.env.GROVE, "index.mjs"));
const { openStorage } = await import(path.join(process.env.GROVE, "omp.mjs"));

async function startAgent(model, sessionManager) {
	const models = path.join(agentDir, "models.yml");
	fs.writeFileSync(
		models,
		`providers:\n  mock:\n    baseUrl: ${model.url}\n    apiKey: none\n    api: anthropic-messages\n` +
			"    models:\n      - { id: m1, name: Mock, contextWindow: 200000, maxTokens: 4096 }\n",
	);
	const authStorage = await omp.discoverAuthStorage(agentDir);
	const modelRegistry = new omp.ModelRegistry(authStorage, models);
	await modelRegistry.refresh?.("offline");
	const { session } = await omp.createAgentSession({
		cwd, agentDir, authStorage, modelRegistry, model: modelRegistry.find("mock", "m1"), sessionManager,
		settings: omp.Settings.isolated({ "compaction.enabled": true, "compaction.keepRecentTokens": 1 }),
		disableExtensionDiscovery: true, enableMCP: false, enableLsp: false, skipPythonPreflight: true, hasUI: false,
		skills: [], rules: [], contextFiles: [], promptTemplates: [], slashCommands: [], toolNames: ["bash"],
	});
	return session;
}

async function converse(storage) {
	const model = await startModel((body) => (body.tools ?? []).some((tool) => /bash/i.test(tool.name)));
	const manager = omp.SessionManager.create(cwd, dir, storage);
	const session = await startAgent(model, manager);
	model.push([{ type: "text", text: "I look" }, call("toolu_1", "_bash", { command: "echo hello-from-tool" })], "it said hello", "second answer");
	await session.prompt("first question");
	await session.prompt("second question");
	assert.match(lastAsked(model), /hello-from-tool/);
	const user = manager.getBranch().find((entry) => entry.type === "message" && entry.message.role === "user");
	await session.navigateTree(user.id, {});
	model.push("on a branch");
	await session.prompt("another first question");
	assert.doesNotMatch(lastAsked(model), /second question/);
	await manager.setSessionName("a name", "user");
	const file = manager.getSessionFile();
	const count = manager.getEntries().length;
	await manager.flush();
	await session.dispose?.();
	await manager.close?.();
	await storage.drain?.();
	model.close();
	return { file, count };
}

/** A session that has only a draft is removed when the draft is gone and the session is closed. */
async function draft(storage) {
	const manager = omp.SessionManager.create(cwd, dir, storage);
	await manager.saveDraft("half a thought");
	const file = manager.getSessionFile();
	await manager.close();
	assert.equal(storage.existsSync(file), true);
	const again = await omp.SessionManager.open(file, dir, storage);
	assert.equal(await again.consumeDraft(), "half a thought");
	await again.close();
	await storage.drain();
	assert.equal(storage.existsSync(file), false);
}

async function main() {
	const where = url ?? (name === "files" ? path.join(root, "store") : `sqlite:${path.join(root, "sessions.db")}`);
	if (/^(sqlite|mysql):/.test(where)) initStore(where);
	const { file, count } = await converse(await openStorage(where, omp));

	// Another storage on the same store knows only what is in the store.
	const storage = await openStorage(where, omp);
	const again = await omp.SessionManager.open(file, dir, storage);
	assert.ok(again.getEntries().length >= count);
	const list = await omp.SessionManager.list(cwd, dir, storage);
	assert.deepEqual(list.map(({ title }) => title), ["a name"]);
	const fork = await omp.SessionManager.forkFrom(file, cwd, dir, storage);
	assert.notEqual(fork.getSessionFile(), file);
	await draft(storage);
	await storage.deleteSessionWithArtifacts(file);
	assert.equal(storage.existsSync(file), false);
	await storage.drain?.();
}

try {
	await main();
	console.log(`ok - oh-my-pi on ${name}`);
} catch (error) {
	console.log(`not ok - oh-my-pi on ${name}`);
	console.error(error);
} finally {
	fs.rmSync(root, { recursive: true, force: true });
}
process.exit(0);
