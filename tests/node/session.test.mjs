import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { assistant, lines, newHome, user } from "./lib.mjs";
import * as grove from "../../bindings/node/index.mjs";

test("the world is opened on first use, and again when HOME changes", () => {
	for (let i = 0; i < 2; i++) {
		const home = newHome();
		const s = grove.create({ cwd: "/tmp" });
		assert.ok(s.path.startsWith(path.join(home, ".pi")), s.path);
		s.close();
	}
});

test("a session is created, written and opened again", () => {
	newHome();
	const s = grove.create({ cwd: "/tmp" });
	const first = s.append(user("héllo \u{1f600}"));
	const second = s.append(assistant("hi"));
	assert.deepEqual(Object.keys(first), ["type", "id", "parentId", "timestamp", "message"]);
	assert.equal(first.parentId, null);
	assert.equal(second.parentId, first.id);
	assert.equal(s.leaf, second.id);
	assert.equal(s.length, 2);
	assert.deepEqual(lines(s.path).slice(1), [first, second]);
	s.close();

	const again = grove.open(s.id);
	assert.equal(again.leaf, second.id);
	assert.deepEqual(again.context().messages, [user("héllo \u{1f600}"), assistant("hi")]);
	again.close();
});

test("errors have a code and a detail", () => {
	newHome();
	assert.throws(() => grove.open("nothing"), (e) => {
		assert.ok(e instanceof grove.GroveError && e instanceof Error);
		assert.equal(e.name, "GroveError");
		assert.equal(e.code, "NOTFOUND");
		assert.match(e.detail.message, /nothing/);
		return true;
	});
	const s = grove.create({ cwd: "/tmp" });
	assert.throws(() => s.append({ type: "label", targetId: "none", label: "x" }), { code: "NOTFOUND" });
	assert.throws(() => s.append({ role: "user", content: 1n }), TypeError);
	assert.throws(() => grove.open(7), TypeError);
	s.close();
	s.close();
	assert.throws(() => s.append(user("x")), { code: "INVAL", message: /closed/ });
	const file = path.join(process.env.HOME, "no.jsonl");
	fs.writeFileSync(file, '{"type":"nothing"}\n');
	assert.throws(() => grove.open(file), (e) => e.code === "DAMAGED" && e.detail.path === file);
});

test("list, search and usage answer by a promise", async () => {
	newHome();
	const s = grove.create({ cwd: "/tmp" });
	s.append(user("find the needle"));
	s.append(assistant("there"));
	s.close();
	const told = [];
	const [item] = await grove.list({ onProgress: (done, total) => told.push([done, total]) });
	assert.equal(item.id, s.id);
	assert.equal(item.messageCount, 2);
	assert.deepEqual(told.at(-1), [1, 1]);
	assert.deepEqual(await grove.list({ cwd: "/elsewhere" }), []);
	const [hit] = await grove.search("needle");
	assert.equal(hit.sessionId, s.id);
	assert.equal((await grove.usage({ by: "model" })).rows[0].totalTokens, 12);
	await assert.rejects(grove.list({ query: "re:(" }), { code: "INVAL" });
	await assert.rejects(grove.list({ signal: AbortSignal.abort() }), { name: "AbortError" });
});
