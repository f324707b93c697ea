// grove-sessions/omp: the back end of oh-my-pi's storage, on every kind of store.
import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";
import { newHome, scratch } from "./lib.mjs";
import { Grove, initStore } from "../../bindings/node/index.mjs";
import { openStorage, SessionStorageBackend } from "../../bindings/node/omp.mjs";

newHome();
let nr = 0;
const kinds = process.env.GROVE_TEST_MYSQL
	? { mariadb: { url: () => `${process.env.GROVE_TEST_MYSQL}_omp_${process.pid}_${nr++}`, shared: true } }
	: {
			memory: { url: () => "memory:" },
			files: { url: () => scratch(), shared: true },
			sqlite: { url: () => `sqlite:${scratch()}/sessions.db`, shared: true },
		};

class Conflict extends Error {
	constructor(path, expected, actual) {
		super(`${path}: ${expected}, ${actual}`);
		Object.assign(this, { path, expected, actual });
	}
}
const open = (where) => new SessionStorageBackend(where, { SessionWriteConflictError: Conflict });
const a = "/home/me/.omp/agent/sessions/--work--/2026-05-03T09-00-00-000Z_a.jsonl";
const b = "/home/me/.omp/agent/sessions/--work--/2026-05-03T09-00-00-000Z_b.jsonl";
const index = async (backend) => new Map((await backend.loadIndex()).map((e) => [e.path, e]));

for (const [kind, { url, shared }] of Object.entries(kinds)) {
	const rule = (name, fn) =>
		test(`${kind}: ${name}`, async () => {
			const where = url();
			if (/^mysql/.test(where)) initStore(where);
			const backend = open(where);
			await backend.init();
			await fn(backend, where);
		});

	rule("what is read is what was written", async (backend) => {
		assert.equal(await backend.readFull(a), null);
		assert.deepEqual(await backend.loadIndex(), []);
		const text = '{"type":"session","id":"x"}\n{"t":"\u00e4\ud83c\udf33"}\n\n{"y":1}\n';
		await backend.writeFull(a, text, 1);
		assert.equal(await backend.readFull(a), text);
		await backend.append(a, '{"z":1}\n', 2);
		assert.equal(await backend.readFull(a), `${text}{"z":1}\n`);
		await backend.append(b, "1\n", 2);
		assert.equal(await backend.readFull(b), "1\n");
		const all = await index(backend);
		assert.deepEqual([...all.keys()].sort(), [a, b]);
		assert.equal(all.get(a).size, Buffer.byteLength(text) + 8);
		assert.ok(Number.isInteger(all.get(a).mtimeMs));
		await backend.truncate(a, 3);
		assert.equal(await backend.readFull(a), "");
		assert.equal((await index(backend)).get(a).size, 0);
	});

	rule("slices cut no character in two", async (backend) => {
		const text = `${"\u00e4".repeat(10)}\n${"\ud83c\udf33".repeat(10)}\n`;
		await backend.writeFull(a, text, 1);
		assert.deepEqual(await backend.readSlices(a, 5, 0), ["\u00e4\u00e4", ""]);
		assert.deepEqual(await backend.readSlices(a, 0, 7), ["", "\ud83c\udf33\n"]);
		assert.deepEqual(await backend.readSlices(a, 1000, 1000), [text, text]);
		assert.deepEqual(await backend.readSlices(b, 10, 10), ["", ""]);
	});

	rule("a text that is no session is what it was, with or without an LF at its end", async (backend, where) => {
		const draft = `${a.slice(0, -6)}/draft.txt`;
		await backend.append(a, "1\n", 1);
		await backend.writeFull(draft, "half a th\u00f6ught", 1);
		assert.equal(await backend.readFull(draft), "half a th\u00f6ught");
		assert.deepEqual(await backend.readSlices(draft, 10, 5), ["half a th", "ught"]);
		assert.deepEqual(await backend.readSlices(draft, 0, 6), ["", "\u00f6ught"]);
		assert.equal((await index(shared ? open(where) : backend)).get(draft).size, 15);
		await backend.append(draft, "s", 2);
		await backend.append(draft, "\n", 2);
		assert.equal(await backend.readFull(draft), "half a th\u00f6ughts\n");
		await backend.append(draft, "x", 2);
		assert.equal(await backend.readFull(draft), "half a th\u00f6ughts\nx");
		await assert.rejects(backend.writeFull(draft, "y", 3, undefined, 19), (e) => e instanceof Conflict && e.actual === 18);
		await backend.writeFull(draft, "y\n\n", 3, undefined, 18);
		assert.equal(await backend.readFull(draft), "y\n\n");
		await backend.truncate(draft, 4);
		assert.equal(await backend.readFull(draft), "");
	});

	rule("a write that expects another size is refused", async (backend) => {
		await backend.writeFull(a, "1\n", 1, undefined, null);
		await assert.rejects(backend.writeFull(a, "2\n", 1, undefined, null), (e) => e instanceof Conflict && e.expected === null && e.actual === 2);
		await assert.rejects(backend.writeFull(a, "2\n", 1, undefined, 7), (e) => e instanceof Conflict && e.expected === 7 && e.actual === 2);
		assert.equal(await backend.readFull(a), "1\n");
		await backend.writeFull(a, "2\n", 1, undefined, 2);
		assert.equal(await backend.readFull(a), "2\n");
	});

	rule("appends at once come in call order", async (backend) => {
		await Promise.all(Array.from({ length: 200 }, (_, i) => backend.append(a, `{"i":${i}}\n`, i)));
		assert.equal(await backend.readFull(a), Array.from({ length: 200 }, (_, i) => `{"i":${i}}\n`).join(""));
	});

	rule("a title is in the index, and in the line that has room for it", async (backend) => {
		const slot = JSON.stringify({ type: "title", v: 1, title: "", source: "auto", updatedAt: "", pad: " ".repeat(100) });
		await backend.writeFull(a, `${slot}\n{"x":1}\n`, 1, { title: "one", source: "auto", updatedAt: "t1" });
		assert.equal((await index(backend)).get(a).title, "one");
		await backend.updateSessionTitle(a, { title: "the \ud83c\udf33", source: "user", updatedAt: "t2" }, 2);
		const entry = (await index(backend)).get(a);
		assert.deepEqual([entry.title, entry.titleSource, entry.titleUpdatedAt], ["the \ud83c\udf33", "user", "t2"]);
		const [first, second] = (await backend.readFull(a)).split("\n");
		assert.equal(JSON.parse(first).title, "the \ud83c\udf33");
		assert.equal(Buffer.byteLength(first), Buffer.byteLength(slot));
		assert.equal(second, '{"x":1}');
	});

	rule("sessions move and go with what belongs to them", async (backend) => {
		const below = `${a.slice(0, -6)}/0-Task.jsonl`;
		await backend.append(a, "1\n", 1);
		await backend.append(below, "2\n", 1);
		await backend.append(b, "3\n", 1);
		assert.deepEqual([...(await index(backend)).keys()].sort(), [a, b, below].sort());
		await backend.move(b, "/elsewhere/c.jsonl", 2);
		assert.equal(await backend.readFull(b), null);
		assert.equal(await backend.readFull("/elsewhere/c.jsonl"), "3\n");
		await backend.append(b, "new\n", 2);
		await backend.move(b, "/elsewhere/c.jsonl", 2);
		assert.equal(await backend.readFull("/elsewhere/c.jsonl"), "new\n");
		await backend.remove([a, "/nowhere/x.jsonl"]);
		assert.equal(await backend.readFull(a), null);
		assert.equal(await backend.readFull(below), null);
		assert.deepEqual([...(await index(backend)).keys()], ["/elsewhere/c.jsonl"]);
	});

	rule("another process sees it, as an ordinary session", async (backend, where) => {
		if (!shared) return;
		const line = (o) => `${JSON.stringify(o)}\n`;
		const below = `${a.slice(0, -6)}/0-Task.jsonl`;
		await backend.writeFull(a, line({ type: "session", version: 3, id: "01a1e3b9", timestamp: "2026-05-03T09:00:00.000Z", cwd: "/work" }), 1);
		await backend.append(a, line({ type: "message", id: "m1", parentId: null, timestamp: "2026-05-03T09:00:01.000Z", message: { role: "user", content: "where is the ferry", timestamp: 1 } }), 1);
		await backend.append(below, "{}\n", 1);
		const other = open(where);
		await other.init();
		assert.deepEqual([...(await index(other)).keys()].sort(), [a, below].sort());
		await other.append(below, "{}\n", 1);
		assert.equal(await backend.readFull(below), "{}\n{}\n");
		const grove = new Grove({ store: where, cache: false });
		assert.ok((await grove.list()).some((s) => s.firstMessage === "where is the ferry"));
		if (kind === "files") assert.ok(!fs.existsSync(`${where}/home`));
	});
}

test("the host's storage is made on it", async () => {
	class IndexedSessionStorage {
		constructor(backend) {
			this.backend = backend;
		}
		async initialize() {
			await this.backend.init();
			this.ready = await this.backend.loadIndex();
		}
	}
	const storage = await openStorage("memory:", { IndexedSessionStorage, SessionWriteConflictError: Conflict });
	assert.deepEqual(storage.ready, []);
});

for (const [kind, { url, shared }] of Object.entries(kinds)) {
	test(`${kind}: a storage for hosts that have none of their own`, async () => {
		const where = url();
		if (/^mysql/.test(where)) initStore(where);
		const storage = await openStorage(where);
		assert.equal(storage.existsSync(a), false);
		assert.throws(() => storage.statSync(a), { code: "ENOENT" });
		await assert.rejects(storage.readText(a), { code: "ENOENT" });
		storage.ensureDirSync("/home/me");
		storage.writeTextSync(a, "1\n");
		const writer = storage.openWriter(a, { flags: "a" });
		writer.appendSync("2\n");
		writer.writeLine("3");
		assert.equal(storage.statSync(a).size, 6);
		await writer.flush();
		assert.equal(await storage.readText(a), "1\n2\n3\n");
		assert.equal(await storage.readTextPrefix(a, 3), "1\n2");
		assert.deepEqual(storage.listFilesSync(a.slice(0, a.lastIndexOf("/")), "*.jsonl"), [a]);
		await assert.rejects(storage.writeTextAtomic(a, "x\n", { expectedSize: 1 }), { code: "CONFLICT" });
		assert.equal(storage.statSync(a).size, 6);
		assert.equal(await storage.readText(a), "1\n2\n3\n");
		await storage.writeTextAtomic(a, "no\n", { commitGuard: () => false });
		assert.equal(await storage.readText(a), "1\n2\n3\n");
		await storage.writeTextAtomic(a, "x\n", { expectedSize: 6, commitGuard: () => true });
		await writer.close();
		assert.equal(writer.isOpen(), false);
		assert.throws(() => writer.appendSync("4\n"), /closed/);
		await storage.rename(a, b);
		assert.equal(storage.existsSync(a), false);
		await storage.drain();
		if (shared) assert.equal(await (await openStorage(where)).readText(b), "x\n");
		await storage.deleteSessionWithArtifacts(b);
		assert.equal(storage.existsSync(b), false);
		if (shared) assert.equal((await openStorage(where)).existsSync(b), false);
	});

	test(`${kind}: a session is deleted only while it is what it was asked for`, async () => {
		const where = url();
		if (/^mysql/.test(where)) initStore(where);
		const storage = await openStorage(where);
		await assert.rejects(storage.deleteSessionWithArtifactsIf(a, () => true), { code: "ENOENT" });
		storage.writeTextSync(a, "1\n");
		storage.writeTextSync(`${a.slice(0, -6)}/0-Task.jsonl`, "2\n");
		let seen;
		assert.equal(await storage.deleteSessionWithArtifactsIf(a, (text) => ((seen = text), false)), false);
		assert.equal(seen, "1\n");
		assert.equal(storage.existsSync(a), true);
		assert.equal(await storage.readText(a), "1\n");
		if (shared) {
			// another process that writes while it is looked at is made to wait
			const other = await openStorage(where);
			let written;
			assert.equal(
				await storage.deleteSessionWithArtifactsIf(a, () => {
					written = other.openWriter(a).append("late\n");
					return false;
				}),
				false,
			);
			await written;
			assert.equal(await storage.readText(a), "1\nlate\n");
		}
		assert.equal(await storage.deleteSessionWithArtifactsIf(a, () => true), true);
		assert.equal(storage.existsSync(a), false);
		await assert.rejects(storage.readText(a), { code: "ENOENT" });
		if (shared) assert.deepEqual([...(await index(open(where))).keys()], []);
		await assert.rejects(storage.deleteSessionWithArtifactsIf(a, () => { throw new Error("no"); }), { code: "ENOENT" });
		await storage.drain();
	});

	test(`${kind}: what is written under a lock comes before what others write`, async () => {
		const where = url();
		if (/^mysql/.test(where)) initStore(where);
		const storage = await openStorage(where);
		// not written yet: there is nobody to keep out
		storage.writeTextSync(a, "1\n");
		assert.equal(storage.withSessionFileLockSync(a, () => 7), 7);
		await storage.drain();
		const writer = storage.openWriter(a);
		const others = shared ? await openStorage(where) : storage;
		let late;
		const answer = storage.withSessionFileLockSync(a, () => {
			if (shared) late = others.openWriter(a).append("3\n");
			writer.appendSync("2\n");
			return "done";
		});
		assert.equal(answer, "done");
		await late;
		await storage.drain();
		assert.equal(await storage.readText(a), shared ? "1\n2\n3\n" : "1\n2\n");
		assert.throws(() => storage.withSessionFileLockSync(a, () => { throw new Error("mine"); }), /mine/);
		writer.appendSync("4\n");
		await writer.flush();
		// a session that another process has removed is gone
		if (shared) {
			await others.deleteSessionWithArtifacts(a);
			assert.throws(() => storage.withSessionFileLockSync(a, () => writer.appendSync("5\n")), { code: "ENOENT" });
			assert.equal((await openStorage(where)).existsSync(a), false);
		}
	});
}

test("a host's storage that cannot tell when it has written has no locks", async () => {
	class IndexedSessionStorage {
		async initialize() {}
	}
	const storage = await openStorage("memory:", { IndexedSessionStorage });
	assert.equal(storage.withSessionFileLockSync, undefined);
});
