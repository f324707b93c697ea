import assert from "node:assert/strict";
import test from "node:test";
import { Worker } from "node:worker_threads";
import { child, newHome, packageDir, user } from "./lib.mjs";
import * as grove from "../../bindings/node/index.mjs";

function begin() {
	newHome();
	const s = grove.create({ cwd: "/tmp" });
	s.append(user("one"));
	return s;
}

async function take(watch, nr) {
	const events = [];
	while (events.length < nr) events.push((await watch.next()).value);
	return events;
}

test("events come as they happen, and a loop ends the watch", async () => {
	const s = begin();
	const watch = grove.watch(s.path);
	const ids = [s.append(user("two")).id, s.append(user("three")).id];
	const seen = [];
	for await (const event of watch) {
		if (event.kind === "append") seen.push(event.entryId);
		assert.equal(event.sessionId, s.id);
		if (seen.length === 2) break;
	}
	assert.deepEqual(seen, ids);
	assert.deepEqual(await watch.next(), { value: undefined, done: true });
	s.close();
});

test("what was missed comes first", async () => {
	const s = begin();
	const watch = grove.watch(s.id);
	s.append(user("two"));
	const [{ rev, cursor, kind, seq, first, nr }] = await take(watch, 1);
	assert.deepEqual([kind, seq, first, nr], ["append", 2, 1, 1]);
	watch.close();
	const { id } = s.append(user("three"));
	for (const how of [{ since: rev }, { cursor }]) {
		const again = grove.watch(how.cursor ? undefined : s.id, how);
		assert.equal((await take(again, 1))[0].entryId, id);
		again.close();
	}
	s.close();
});

test("several sessions, and the list of them", async () => {
	const a = begin();
	const b = grove.create({ cwd: "/tmp" });
	b.append(user("b"));
	const watch = grove.watch([a.id, b.id], { list: true });
	a.append(user("x"));
	b.append(user("y"));
	const c = grove.create({ cwd: "/tmp" });
	c.append(user("z"));
	const seen = new Set();
	for await (const { kind, sessionId } of watch) {
		seen.add(`${kind} ${sessionId}`);
		if ([`append ${a.id}`, `append ${b.id}`, `create ${c.id}`].every((one) => seen.has(one))) break;
	}
	for (const s of [a, b, c]) s.close();
});

test("a deleted session ends it", async () => {
	const s = begin();
	s.close();
	const watch = grove.watch(s.path);
	grove.remove(s.id, { trash: false });
	const kinds = [];
	for await (const { kind } of watch) kinds.push(kind);
	assert.deepEqual(kinds, ["delete"]);
});

test("a signal ends it, and errors are told", async () => {
	const s = begin();
	const control = new AbortController();
	const watch = grove.watch(s.path, { signal: control.signal });
	const waiting = watch.next();
	const why = new Error("enough");
	control.abort(why);
	await assert.rejects(waiting, why);
	assert.equal((await watch.next()).done, true);
	assert.throws(() => grove.watch(s.path, { signal: AbortSignal.abort() }), { name: "AbortError" });
	assert.throws(() => grove.watch("nothing"), { code: "NOTFOUND" });
	assert.throws(() => grove.watch(s.path, { cursor: "none" }), { code: "INVAL" });
	assert.throws(() => grove.watch(7), TypeError);
	s.close();
});

test("a process exits with watches that wait", async () => {
	const s = begin();
	const text = (end) => `
		const grove = await import(process.env.GROVE_TEST_PACKAGE);
		globalThis.watches = Array.from({ length: 5 }, () => grove.watch(${JSON.stringify(s.path)}, { list: true }));
		watches[0].next();
		${end}`;
	for (const end of ["process.exit(3)", "setTimeout(() => process.exit(3), 50)", "watches.forEach((w) => w.close()); process.exitCode = 3"]) {
		const { status, signal, stderr } = await child(text(end));
		assert.deepEqual([status, signal], [3, null], `${end}: ${stderr}`);
	}
	s.close();
});

test("a worker is terminated with watches that wait", async () => {
	const s = begin();
	for (let i = 0; i < 3; i++) {
		const w = new Worker(
			`const { workerData, parentPort } = require("node:worker_threads");
			const grove = require(workerData.package);
			globalThis.watches = Array.from({ length: 5 }, () => grove.watch(workerData.path));
			watches[0].next();
			parentPort.postMessage("up");`,
			{ eval: true, workerData: { package: packageDir, path: s.path } },
		);
		await new Promise((resolve) => w.once("message", resolve));
		s.append(user("while it waits"));
		await w.terminate();
	}
	s.close();
});

test("a watch that is closed leaves no thread behind", async () => {
	const s = begin();
	const { status, stdout, stderr } = await child(
		`
		import fs from "node:fs";
		const grove = await import(process.env.GROVE_TEST_PACKAGE);
		for (let i = 0; i < 20; i++) { const w = grove.watch(${JSON.stringify(s.path)}); w.close(); }
		for (let i = 0; i < 5; i++) { gc(); await new Promise((resolve) => setTimeout(resolve, 20)); }
		console.log(fs.readdirSync("/proc/self/task").length < 20);`,
		{ args: ["--expose-gc"] },
	);
	assert.equal(status, 0, stderr);
	assert.equal(stdout, "true\n");
	s.close();
});
