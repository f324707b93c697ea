// The examples at work, on files and databases; on MariaDB where a server was started around this.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { spawnSync } from "node:child_process";
import { newHome, packageDir, scratch } from "./lib.mjs";
import { list } from "../../bindings/node/index.mjs";

/** The examples in a project that has the package, as a user has them. */
const project = scratch();
fs.mkdirSync(path.join(project, "node_modules"));
fs.symlinkSync(packageDir, path.join(project, "node_modules", "grove-sessions"));
for (const name of fs.readdirSync(path.join(packageDir, "examples"))) {
	fs.copyFileSync(path.join(packageDir, "examples", name), path.join(project, name));
}

const stores = () => ({
	files: undefined,
	SQLite: `sqlite:${path.join(scratch(), "s.db")}`,
	...(process.env.GROVE_TEST_MYSQL && { MariaDB: process.env.GROVE_TEST_MYSQL }),
});

function agent(store, ...input) {
	const { stdout, stderr, status } = spawnSync(process.execPath, ["agent.mjs"], {
		cwd: project, input: `${input.join("\n")}\n`, encoding: "utf8", env: { ...process.env, ...(store && { STORE: store }) },
	});
	assert.equal(status, 0, stderr);
	return stdout.trimEnd().split("\n");
}

for (const [name, store] of Object.entries(stores())) {
	test(`the agent branches and goes on where it was, on ${name}`, async () => {
		newHome();
		assert.deepEqual(agent(store, "one", "two", "/back", "other two", "/tree"), [
			'1 messages, the last is "one"',
			'3 messages, the last is "two"',
			'3 messages, the last is "other two"',
			"- user: one",
			'- assistant: 1 messages, the last is "one"',
			"  - user: two",
			'  - assistant: 3 messages, the last is "two"',
			"  - user: other two",
			'  * assistant: 3 messages, the last is "other two"',
		]);
		const [resumed, answer] = agent(store, "three");
		assert.match(resumed, /^\(going on with \S+, 4 entries\)$/);
		assert.equal(answer, '5 messages, the last is "three"');
		assert.equal((await list({ store })).length, 1);
	});

	test(`the OpenAI Agents SDK's session, on ${name}`, async () => {
		newHome();
		const { GroveSession } = await import(path.join(project, "openai-session.mjs"));
		const a = new GroveSession({ store, sessionId: "conversation-1" });
		assert.equal(await a.getSessionId(), "conversation-1");
		assert.deepEqual(await a.getItems(), []);
		assert.equal(await a.popItem(), undefined);
		const items = [1, 2, 3, 4].map((n) => ({ type: "message", role: n % 2 ? "user" : "assistant", content: `item ${n}`, extra: { n } }));
		await a.addItems(items.slice(0, 3));
		await a.addItems(items.slice(3));
		await a.addItems([]);
		assert.deepEqual(await a.getItems(), items);
		assert.deepEqual(await a.getItems(2), items.slice(2));
		assert.deepEqual(await a.getItems(0), []);
		assert.deepEqual(await a.popItem(), items[3]);
		(await a.getItems())[0].content = "changed";
		a.close();
		const b = new GroveSession({ store, sessionId: "conversation-1" });
		assert.deepEqual(await b.getItems(), items.slice(0, 3), "another process would see the same");
		await b.addItems([items[3]]);
		assert.deepEqual(await b.getItems(), items);
		await b.clearSession();
		assert.deepEqual(await b.getItems(), []);
		b.close();
		const c = new GroveSession({ store, sessionId: "conversation-1" });
		assert.deepEqual(await c.getItems(), []);
		await c.addItems([items[0]]);
		assert.deepEqual(await c.getItems(), [items[0]]);
		c.close();
	});
}

/** What README.md shows: its blocks, with the kind of each. */
const readme = [...fs.readFileSync(path.join(packageDir, "README.md"), "utf8").matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(
	([, kind, text]) => ({ kind, text }),
);

/** Runs one of them in the project, in an empty home. */
function shown(command, args) {
	const { stdout, stderr, status } = spawnSync(command, args, { cwd: project, encoding: "utf8", env: { ...process.env, HOME: newHome() } });
	assert.equal(status, 0, stderr);
	return stdout;
}

test("the first example of README prints what is said below it", () => {
	const at = readme.findIndex(({ kind }) => kind === "js");
	const plain = (text) => text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID");
	assert.equal(plain(shown(process.execPath, ["--input-type=module", "-e", readme[at].text])), plain(readme[at + 1].text));
});

test("the agent answers as README shows", () => {
	const [command, ...answers] = readme.find(({ text }) => text.startsWith("$ ")).text.split("\n");
	assert.equal(shown("sh", ["-c", command.slice(2)]), answers.join("\n"));
});

test("errors are those of README", () => {
	const { text } = readme.find(({ text }) => text.startsWith("try {"));
	const printed = shown(process.execPath, ["--input-type=module", "-e", `import { session } from "grove-sessions";\n${text}`]);
	assert.equal(printed, `${/ \/\/ (.*)/.exec(text)[1]}\n`);
});
