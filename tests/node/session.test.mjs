import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { assistant, lines, newHome, user } from "./lib.mjs";
import * as grove from "../../bindings/node/index.mjs";

/** A session with two turns: a, b, c, d. */
function talk(options = {}) {
	newHome();
	const s = grove.create({ cwd: "/tmp", ...options });
	const [a, b, c, d] = [user("one"), assistant("two"), user("three"), assistant("four")].map((m) => s.append(m).id);
	return { s, a, b, c, d };
}

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
	assert.equal(s.pending, 0);
	const second = s.append(assistant("hi"));
	assert.deepEqual(Object.keys(first), ["type", "id", "parentId", "timestamp", "message"]);
	assert.equal(first.parentId, null);
	assert.equal(second.parentId, first.id);
	assert.equal(s.leaf, second.id);
	assert.equal(s.length, 2);
	assert.deepEqual(lines(s.path).slice(1), [first, second]);
	assert.deepEqual(s.header, lines(s.path)[0]);
	s.close();

	const again = grove.session(s.id);
	assert.equal(again.leaf, second.id);
	assert.deepEqual(again.context().messages, [user("héllo \u{1f600}"), assistant("hi")]);
	assert.deepEqual([again.id, again.cwd, again.dialect, again.agent], [s.id, "/tmp", "pi", "pi"]);
	assert.equal(again.dir, path.dirname(again.path));
	again.close();
});

test("a session is deferred until somebody speaks", () => {
	newHome();
	const s = grove.create({ cwd: "/tmp" });
	s.append({ type: "model_change", provider: "p", modelId: "m" });
	assert.equal(s.pending, 1);
	assert.ok(!fs.existsSync(s.path));
	s.ensure();
	assert.equal(s.pending, 0);
	assert.equal(lines(s.path).length, 2);
	s.close();
});

test("entries are the same objects whenever they are asked for", () => {
	const { s, a, d } = talk();
	assert.equal(s.entry(a), s.at(0));
	assert.equal(s.entries()[3], s.entry(d));
	assert.equal(s.at(-1), s.entry(d));
	assert.deepEqual([s.at(4), s.at(-5), s.at(0.5), s.entry("none"), s.entry(undefined)], Array(5).fill(undefined));
	assert.notEqual(s.entries(), s.entries());
	assert.deepEqual([...s], s.entries());
	s.close();
});

test("moving the leaf makes a branch", () => {
	const { s, a, b, c, d } = talk();
	assert.deepEqual(s.branch().map((e) => e.id), [a, b, c, d]);
	assert.deepEqual(s.setLeaf(b), { leaf: b });
	const e = s.append(user("other")).id;
	assert.deepEqual(s.branch().map((x) => x.id), [a, b, e]);
	assert.deepEqual(s.branch(c).map((x) => x.id), [a, b, c]);
	assert.deepEqual(s.branch(null), []);
	assert.deepEqual(s.children(b).map((x) => x.id), [c, e]);
	assert.deepEqual(s.children(null).map((x) => x.id), [a]);
	const { leaf, summaryId } = s.setLeaf(d, { summary: "went elsewhere" });
	assert.equal(leaf, summaryId);
	assert.equal(s.entry(summaryId).summary, "went elsewhere");
	assert.equal(s.setLeaf(null).leaf, null);
	assert.throws(() => s.setLeaf("none"), { code: "NOTFOUND" });
	s.close();
});

test("a prompt can be taken up again", () => {
	const { s, b, c } = talk();
	assert.deepEqual(s.continueFrom(c), { outcome: "replay", leaf: b, content: "three" });
	assert.deepEqual(s.continueFrom(b), { outcome: "append", leaf: b });
	s.close();
});

test("labels, names and the tree", () => {
	const { s, a, b } = talk();
	assert.equal(s.name, null);
	assert.equal(s.rename("  a name "), true);
	assert.equal(s.name, "a name");
	assert.equal(s.label(b, "here").targetId, b);
	assert.equal(s.labelOf(b), "here");
	assert.equal(s.labelOf(a), undefined);
	const [root] = s.tree();
	assert.equal(root.entry, s.entry(a));
	assert.equal(root.children[0].label, "here");
	s.label(b, null);
	assert.equal(s.labelOf(b), undefined);
	assert.throws(() => s.label("none", "x"), { code: "NOTFOUND" });
	s.close();
});

test("several entries are appended at once, or none", () => {
	const { s, d } = talk();
	const [x, y] = s.appendMany([user("x"), assistant("y")], { sync: "always" });
	assert.equal(x.parentId, d);
	assert.equal(y.parentId, x.id);
	const before = s.length;
	assert.throws(() => s.appendMany([user("z"), { type: "label", targetId: "none" }]), { code: "NOTFOUND" });
	assert.equal(s.length, before);
	assert.deepEqual(s.appendMany([]), []);
	s.close();
});

test("entries are submitted, and written by a thread", () => {
	const home = newHome();
	const store = `sqlite:${home}/sessions.db`;
	grove.initStore(store);
	const session = grove.create({ store, cwd: home });
	session.append(user("hello"));
	session.append(assistant("hi"));
	const submitted = Array.from({ length: 50 }, (_, i) => session.submit(user(`question ${i}`)));
	assert.equal(submitted[1].parentId, submitted[0].id);
	session.flush({ sync: "always" });
	const again = grove.session(session.id, { store, mode: "read" });
	assert.deepEqual(again.branch().slice(2).map((entry) => entry.id), submitted.map((entry) => entry.id));
	assert.equal(session.entry(submitted[7].id), submitted[7]);
	session.close();
	again.close();
});

test("what a thread could not write is told by all later calls", () => {
	const home = newHome();
	const dir = path.join(home, "sessions");
	const session = grove.create({ cwd: home, dir });
	session.append(user("hello"));
	session.append(assistant("hi"));
	session.flush();
	fs.rmSync(dir, { recursive: true });
	session.submit(user("into nothing"));
	const failure = (fn) => {
		try {
			fn();
		} catch (error) {
			return error.code;
		}
	};
	const code = failure(() => session.flush());
	assert.equal(typeof code, "string");
	assert.equal(failure(() => session.flush()), code);
	assert.equal(failure(() => session.submit(user("more"))), code);
	assert.equal(failure(() => session.append(user("more"))), code);
	session.close();
});

test("a program that is run has the variables of this one", () => {
	const home = newHome();
	const bin = path.join(home, "bin");
	const told = path.join(home, "told");
	fs.mkdirSync(bin);
	fs.writeFileSync(path.join(bin, "trash"), '#!/bin/sh\nprintf %s "$TOLD_BY_THE_TEST" >"$TOLD_BY_THE_TEST"\nrm -r "$1"\n', { mode: 0o755 });
	const session = grove.create({ cwd: home, now: true });
	session.close();
	const before = process.env.PATH;
	try {
		Object.assign(process.env, { PATH: `${bin}:${before}`, TOLD_BY_THE_TEST: told });
		grove.remove(session.path);
	} finally {
		process.env.PATH = before;
		delete process.env.TOLD_BY_THE_TEST;
	}
	assert.equal(fs.existsSync(session.path), false);
	assert.equal(fs.readFileSync(told, "utf8"), told);
});

test("an append may name its parent, and what it expects", () => {
	const { s, a } = talk();
	assert.equal(s.append(user("x"), { parent: a }).parentId, a);
	assert.equal(s.append(user("y"), { parent: null }).parentId, null);
	const lineCount = lines(s.path).length;
	assert.throws(() => s.append(user("z"), { ifSeq: 1 }), { code: "CONFLICT" });
	s.append(user("z"), { ifSeq: lineCount });
	assert.throws(() => s.append(user("x"), { parent: 7 }), TypeError);
	assert.throws(() => s.append(user("x"), { sync: "maybe" }), TypeError);
	s.close();
});

test("values are written as JSON.stringify has them", () => {
	newHome();
	const s = grove.create({ cwd: "/tmp" });
	s.append(user("begin"));
	const odd = { type: "custom", customType: "odd", data: { u: undefined, n: NaN, d: new Date(0), f: 0.1, lone: "\ud800", zero: "\0" } };
	const entry = s.append(odd);
	assert.deepEqual(entry.data, JSON.parse(JSON.stringify(odd.data)));
	assert.deepEqual(lines(s.path).at(-1).data, entry.data);
	assert.throws(() => s.append({ role: "user", content: 1n }), TypeError);
	assert.throws(() => s.append(undefined), TypeError);
	const big = "é".repeat(300000);
	assert.equal(s.append(user(big)).message.content, big);
	assert.equal(s.length, 3);
	s.close();
});

test("what another handle wrote is taken in", () => {
	const { s, d } = talk();
	const other = grove.session(s.path);
	const x = other.append(user("from elsewhere"));
	assert.equal(s.refresh(), true);
	assert.equal(s.refresh(), false);
	assert.deepEqual(s.entry(x.id), x);
	const y = s.append(assistant("below it"));
	assert.equal(y.parentId, x.id);
	assert.equal(s.branch().length, 6);
	assert.equal(x.parentId, d);
	other.close();
	s.close();
});

test("a fork is a session of its own", () => {
	const { s, b } = talk();
	const f = s.fork({ leaf: b });
	assert.notEqual(f.id, s.id);
	assert.equal(f.length, 2);
	assert.equal(f.header.parentSession, s.path);
	const m = s.fork({ memory: true });
	assert.equal(m.path, null);
	assert.equal(m.length, 4);
	for (const x of [s, f, m]) x.close();
});

test("entries can be changed and forgotten", () => {
	const { s, a, b } = talk();
	s.update(a, "/message/content", "ONE");
	assert.equal(s.entry(a).message.content, "ONE");
	assert.equal(s.forget(b), 1);
	assert.equal(s.entry(b), undefined);
	assert.equal(s.at(1).parentId, a);
	assert.throws(() => s.update("none", "/x", 1), { code: "NOTFOUND" });
	s.close();
});

test("what this program itself has open is not said to be another's", () => {
	const { s, a } = talk();
	const second = grove.session(s.path);
	assert.throws(() => second.forget(a), { code: "CONFLICT", message: /this program has the file open for writing elsewhere/ });
	s.close();
	second.forget(a);
	second.close();
});

test("values stay with a session", () => {
	const { s } = talk();
	assert.equal(s.getValue("metadata"), null);
	s.setValue("metadata", '{"a":1}');
	assert.equal(s.getValue("metadata"), '{"a":1}');
	s.close();
});

test("a session in memory has no file", () => {
	const { s } = talk({ memory: true });
	assert.equal(s.path, null);
	assert.equal(s.context().messages.length, 4);
	assert.deepEqual(fs.readdirSync(process.env.HOME), []);
	s.close();
});

test("the newest session of a directory is continued", () => {
	const { s } = talk();
	s.close();
	const r = grove.recent({ cwd: "/tmp" });
	assert.equal(r.id, s.id);
	r.close();
	const fresh = grove.recent({ cwd: "/" });
	assert.notEqual(fresh.id, s.id);
	fresh.close();
	assert.equal(new grove.Grove({ cwd: "/tmp" }).session("last", { mode: "read" }).id, s.id);
});

test("a store is opened by its URL, and closed", async () => {
	const url = `sqlite:${path.join(newHome(), "sessions.db")}`;
	const world = grove.open(url);
	const s = world.create({ cwd: "/tmp" });
	s.append(user("in a database"));
	assert.equal(world.session(s.id, { mode: "read" }).context().messages.length, 1);
	assert.equal(grove.open({ store: url, cwd: "/tmp" }).session("last", { mode: "read" }).id, s.id);
	assert.deepEqual((await world.list()).map((item) => item.id), [s.id]);
	const found = world.search("database");
	world.close();
	world.close();
	assert.equal((await found).length, 1, "what was begun goes on");
	s.append(user("and on"));
	assert.equal(s.context().messages.length, 2);
	for (const call of [() => world.session(s.id), () => world.create(), () => world.list(), () => world.watch()]) {
		await assert.rejects(async () => call(), { code: "INVAL", message: "this Grove is closed" });
	}
	s.close();
	const again = grove.open({ store: url });
	assert.equal(again.session(s.id, { mode: "read" }).length, 2);
	assert.equal((await grove.open(new URL(`file://${newHome()}`)).list()).length, 0);
	for (const wrong of [7, null, true]) assert.throws(() => grove.open(wrong), TypeError);
});

test("a snapshot has what an interface draws", () => {
	const { s } = talk();
	const whole = s.snapshot();
	assert.deepEqual(whole.entries.map((entry) => entry.id), s.entries().map((entry) => entry.id));
	assert.deepEqual(whole.activePath, s.branch().map((entry) => entry.id));
	assert.equal(whole.session.id, s.id);
	assert.equal(s.snapshot({ entries: "none" }).entries.length, 0);
	assert.equal(s.snapshot({ limit: 1 }).entries.length, 1);
	assert.throws(() => s.snapshot({ entries: "some" }), TypeError);
	s.close();
});

test("other agents' dialects", () => {
	for (const dialect of ["claude", "omp", "xcsh"]) {
		const { s } = talk({ dialect });
		assert.equal(s.dialect, dialect);
		assert.equal(s.context().messages.length, 4);
		s.close();
	}
});

test("a database is a store like another", () => {
	const url = `sqlite:${path.join(newHome(), "sessions.db")}`;
	const s = grove.create({ cwd: "/tmp", store: url });
	s.append(user("in a database"));
	assert.equal(s.path, null);
	s.close();
	const again = new grove.Grove({ store: url }).session(s.id);
	assert.equal(again.context().messages.length, 1);
	again.close();
});

test("a session is found, copied and removed", () => {
	const { s } = talk();
	const url = `sqlite:${path.join(process.env.HOME, "copy.db")}`;
	assert.equal(grove.find(s.id.slice(0, 12)).path, s.path);
	assert.equal(grove.find(s.path).messageCount, 4);
	grove.initStore(url);
	assert.deepEqual(grove.copy(s.id, url), { id: s.id });
	assert.equal(grove.session(s.id, { store: url, mode: "read" }).length, 4);
	assert.throws(() => grove.copy(s.id, url), { code: "EXIST" });
	s.close();
	grove.remove(s.id, { trash: false });
	assert.ok(!fs.existsSync(s.path));
	assert.throws(() => grove.find(s.id), { code: "NOTFOUND" });
	assert.throws(() => grove.remove(), TypeError);
});

test("reading only", () => {
	const { s } = talk();
	s.close();
	const r = grove.session(s.path, { mode: "read" });
	assert.equal(r.length, 4);
	assert.throws(() => r.append(user("x")), grove.GroveError);
	r.close();
});

test("errors have a code, and the place that they are about", () => {
	newHome();
	assert.throws(() => grove.session("nothing"), (e) => {
		assert.ok(e instanceof grove.GroveError && e instanceof Error);
		assert.equal(e.name, "GroveError");
		assert.equal(e.code, "NOTFOUND");
		assert.match(e.message, /nothing/);
		assert.ok(!("path" in e) && !("line" in e));
		return true;
	});
	const s = grove.create({ cwd: "/tmp" });
	assert.throws(() => s.append({ type: "label", targetId: "none", label: "x" }), { code: "NOTFOUND" });
	assert.throws(() => grove.session(7), TypeError);
	assert.throws(() => grove.session(), TypeError);
	assert.throws(() => grove.session("x\0y"), TypeError);
	assert.throws(() => grove.create({ id: "../x" }), { code: "INVAL" });
	assert.throws(() => new grove.Grove({ store: "nonsense://x" }), { code: "INVAL" });
	s.close();
	s.close();
	assert.throws(() => s.append(user("x")), { code: "INVAL", message: /closed/ });
	assert.throws(() => s.leaf, { code: "INVAL" });
	const file = path.join(process.env.HOME, "no.jsonl");
	fs.writeFileSync(file, '{"type":"nothing"}\n');
	assert.throws(() => grove.session(file), (e) => e.code === "DAMAGED" && e.path === file);
});

test("a session ends with its block", { skip: !Symbol.dispose }, () => {
	const { s } = talk();
	s[Symbol.dispose]();
	assert.throws(() => s.leaf, { code: "INVAL" });
});

test("a session can be the answer of an async function", async () => {
	const { s } = talk();
	assert.equal(s.then, undefined);
	assert.equal(await (async () => s)(), s);
	s.close();
});

test("import and require give the same module", async () => {
	const { createRequire } = await import("node:module");
	const required = createRequire(import.meta.url)("../../bindings/node");
	assert.equal(required.Session, grove.Session);
	assert.deepEqual(Object.keys(required).sort(), Object.keys(grove).filter((name) => name !== "default").sort());
});

test("a session in memory may begin with given entries", () => {
	newHome();
	const given = [
		{ type: "session", version: 3, id: "given", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/tmp" },
		{ type: "message", id: "a", parentId: "not there", timestamp: "2026-01-01T00:00:01.000Z", message: user("one") },
		{ type: "message", id: "b", parentId: "a", timestamp: "2026-01-01T00:00:02.000Z", message: assistant("two") },
	];
	const s = grove.create({ entries: given });
	assert.equal(s.id, "given");
	assert.equal(s.path, null);
	assert.deepEqual(s.entries(), given.slice(1));
	assert.equal(s.append(user("three")).parentId, "b");
	s.close();
});
