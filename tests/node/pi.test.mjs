// grove-sessions/pi on files, in memory and in SQLite: what pi's own manager does, and what its code relies on.
import assert from "node:assert/strict";
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { assistant, lines, newHome, scratch, user } from "./lib.mjs";
import { carryOut, program, state } from "./programs.mjs";
import * as pi from "../../bindings/node/pi.mjs";
import paths from "../../bindings/node/lib/pi/paths.cjs";

const { SessionManager, onStore } = pi;

/** Every kind of place a manager can be made in. */
const places = {
	files: () => SessionManager.create("/tmp", scratch()),
	memory: () => SessionManager.inMemory("/tmp"),
	sqlite: () => onStore(`sqlite:${path.join(scratch(), "s.db")}`).create("/tmp"),
};

function everywhere(name, body) {
	for (const [place, make] of Object.entries(places)) {
		test(`${name}: ${place}`, () => {
			newHome();
			body(make(), place);
		});
	}
}

const types = (entries) => entries.map((entry) => entry.type);
const ids = (entries) => entries.map((entry) => entry.id);

// ------------------------------------------------------------------------- entries

everywhere("a new session is empty", (sm) => {
	assert.equal(sm.getLeafId(), null);
	assert.equal(sm.getLeafEntry(), undefined);
	assert.deepEqual(sm.getEntries(), []);
	assert.deepEqual(sm.getBranch(), []);
	assert.deepEqual(sm.getTree(), []);
	assert.equal(sm.getEntryCount(), 0);
	assert.deepEqual(sm.buildSessionContext(), { messages: [], thinkingLevel: "off", model: null });
	assert.equal(sm.getHeader().id, sm.getSessionId());
	assert.equal(sm.getHeader().version, 3);
	assert.equal(sm.getSessionName(), undefined);
});

everywhere("each append goes below the last", (sm) => {
	const message = user("hi");
	const all = [
		sm.appendMessage(message),
		sm.appendThinkingLevelChange("high"),
		sm.appendModelChange("p", "m"),
		sm.appendCustomEntry("mine", { n: 1 }),
		sm.appendCustomMessageEntry("mine", "text", true, { d: 2 }),
		sm.appendSessionInfo("a name"),
		sm.appendUsage("warm", "p", "m", { input: 1 }, "note").id,
		sm.appendLabelChange(sm.getEntries()[0].id, "here"),
		sm.appendMessage(assistant("ho")),
	];
	assert.deepEqual(ids(sm.getEntries()), all);
	assert.deepEqual(ids(sm.getBranch()), all);
	assert.deepEqual(sm.getEntries().map((entry) => entry.parentId), [null, ...all.slice(0, -1)]);
	assert.equal(sm.getEntryCount(), 9);
	assert.equal(sm.getLeafId(), all.at(-1));
	assert.equal(sm.getEntry(all[0]).message, message);
	assert.equal(sm.getSessionName(), "a name");
	assert.equal(sm.getLabel(all[0]), "here");
});

everywhere("entries and messages are the same objects in every call", (sm) => {
	const [one, two] = [user("one"), assistant("two")];
	const a = sm.appendMessage(one);
	sm.appendMessage(two);
	assert.equal(sm.getEntry(a), sm.getBranch()[0]);
	assert.equal(sm.getEntry(a), sm.getEntries()[0]);
	assert.equal(sm.getTree()[0].entry, sm.getEntry(a));
	assert.deepEqual(sm.buildSessionContext().messages.map((message) => message === one || message === two), [true, true]);
	assert.equal(sm.buildSessionProjection().entries[0].sourceEntry, sm.getEntry(a));
	assert.notEqual(sm.getBranch(), sm.getBranch());
	assert.notEqual(sm.getEntries(), sm.getEntries());
	sm.getBranch().push("not ours");
	assert.equal(sm.getBranch().length, 2);
});

everywhere("entries are plain objects", (sm) => {
	const id = sm.appendMessage(assistant("x"));
	const entry = sm.getEntry(id);
	assert.deepEqual(Object.keys(entry), ["type", "id", "parentId", "timestamp", "message"]);
	assert.equal(Object.getPrototypeOf(entry), Object.prototype);
	assert.deepEqual(structuredClone(entry), { ...entry });
	entry.extra = 1;
	assert.equal(sm.getEntries()[0].extra, 1);
});

everywhere("values are written as JSON.stringify writes them", (sm) => {
	sm.appendMessage({ ...user("x"), gone: undefined, nan: NaN, date: new Date(0) });
	const stored = JSON.parse(JSON.stringify(sm.getEntries()[0])).message;
	assert.equal("gone" in stored, false);
	assert.equal(stored.nan, null);
	assert.equal(stored.date, "1970-01-01T00:00:00.000Z");
});

test("what cannot be written is refused, and nothing happened", () => {
	newHome();
	for (const make of [places.files, places.sqlite]) {
		const sm = make();
		sm.appendMessage(user("first"));
		const before = sm.getLeafId();
		assert.throws(() => sm.appendMessage({ ...user("x"), n: 1n }), TypeError);
		assert.equal(sm.getLeafId(), before);
		assert.equal(sm.getEntryCount(), 1);
		sm.appendMessage(assistant("second"));
		assert.equal(sm.getEntries()[1].parentId, before);
	}
});

// -------------------------------------------------------------------- tree and leaf

everywhere("branch moves the leaf, and the next append begins a branch", (sm) => {
	const a = sm.appendMessage(user("a"));
	const b = sm.appendMessage(assistant("b"));
	sm.branch(a);
	assert.equal(sm.getLeafId(), a);
	const c = sm.appendMessage(assistant("c"));
	assert.deepEqual(ids(sm.getBranch()), [a, c]);
	assert.deepEqual(ids(sm.getBranch(b)), [a, b]);
	assert.deepEqual(ids(sm.getChildren(a)), [b, c]);
	assert.deepEqual(ids(sm.getTree()[0].children.map((node) => node.entry)), [b, c]);
	assert.deepEqual(sm.buildSessionContext().messages.map((m) => m.content[0].text ?? m.content), ["a", "c"]);
});

everywhere("resetLeaf goes before the first entry", (sm) => {
	sm.appendMessage(user("a"));
	sm.resetLeaf();
	assert.equal(sm.getLeafId(), null);
	assert.deepEqual(sm.getBranch(), []);
	assert.deepEqual(sm.buildSessionContext().messages, []);
	const b = sm.appendMessage(user("b"));
	assert.equal(sm.getEntry(b).parentId, null);
	assert.equal(sm.getTree().length, 2);
});

everywhere("a branch summary says where it came from", (sm) => {
	const a = sm.appendMessage(user("a"));
	const b = sm.appendMessage(assistant("b"));
	const s = sm.branchWithSummary(a, "what was tried", { files: [] }, false);
	const entry = sm.getEntry(s);
	assert.deepEqual([entry.parentId, entry.fromId, entry.summary, entry.fromHook], [a, b, "what was tried", false]);
	sm.resetLeaf();
	const root = sm.branchWithSummary(null, "again");
	assert.equal(sm.getEntry(root).fromId, "root");
	assert.equal(sm.getEntry(root).parentId, null);
});

everywhere("unknown entries are refused in pi's words", (sm) => {
	sm.appendMessage(user("a"));
	const before = sm.getEntryCount();
	for (const call of [
		() => sm.branch("nope"),
		() => sm.branchWithSummary("nope", "x"),
		() => sm.appendLabelChange("nope", "x"),
		() => sm.appendContextEdit("nope", null),
		() => sm.createBranchedSession("nope"),
	]) {
		assert.throws(call, { message: "Entry nope not found" });
	}
	assert.equal(sm.getEntryCount(), before);
	assert.equal(sm.getEntry("nope"), undefined);
	assert.deepEqual(sm.getBranch("nope"), []);
	assert.equal(sm.getLabel("nope"), undefined);
});

everywhere("labels: set, replaced, cleared, with their time", (sm) => {
	const a = sm.appendMessage(user("a"));
	sm.appendLabelChange(a, "one");
	const id = sm.appendLabelChange(a, "two");
	assert.equal(sm.getLabel(a), "two");
	const [node] = sm.getTree();
	assert.deepEqual([node.label, node.labelTimestamp], ["two", sm.getEntry(id).timestamp]);
	sm.appendLabelChange(a, undefined);
	assert.equal(sm.getLabel(a), undefined);
	assert.equal(sm.getTree()[0].label, undefined);
	const empty = sm.appendLabelChange(a, "");
	assert.equal(JSON.parse(JSON.stringify(sm.getEntry(empty))).label, "");
});

everywhere("a blank name clears it; line ends become blanks", (sm) => {
	sm.appendMessage(user("a"));
	sm.appendSessionInfo("  one\r\ntwo ");
	assert.equal(sm.getSessionName(), "one two");
	sm.appendSessionInfo("   ");
	assert.equal(sm.getSessionName(), undefined);
});

// -------------------------------------------------------------------------- context

everywhere("a compaction keeps what it names", (sm) => {
	sm.appendMessage({ role: "system", content: "be brief", timestamp: 1 });
	const a = sm.appendMessage(user("a"));
	const b = sm.appendMessage(assistant("b"));
	const c = sm.appendCompaction("the story", b, 12.5, { d: 1 }, false, { input: 3 });
	sm.appendMessage(user("d"));
	const entry = sm.getEntry(c);
	assert.deepEqual(JSON.parse(JSON.stringify({ ...entry, id: 0, parentId: 0, timestamp: 0 })), {
		type: "compaction", id: 0, parentId: 0, timestamp: 0, summary: "the story", firstKeptEntryId: b, tokensBefore: 12.5,
		details: { d: 1 }, usage: { input: 3 }, fromHook: false,
		systemMessage: { role: "system", content: "be brief", timestamp: Date.parse(entry.timestamp) },
	});
	assert.deepEqual(types(sm.buildContextEntries()), ["compaction", "message", "message"]);
	assert.deepEqual(sm.buildSessionContext().messages.map((m) => m.role), ["system", "compactionSummary", "assistant", "user"]);
	const nothing = sm.appendCompaction("all of it", null, 1);
	assert.equal(sm.getEntry(nothing).firstKeptEntryId, nothing);
	assert.deepEqual(sm.buildSessionContext().messages.map((m) => m.role), ["system", "compactionSummary"]);
	assert.equal(sm.getEntry(a).message.content, "a");
});

everywhere("context edits replace and leave out", (sm) => {
	const a = sm.appendMessage(user("a"));
	const b = sm.appendMessage(assistant("b"));
	sm.appendContextEdit(b, { content: "other" });
	assert.deepEqual(sm.buildSessionContext().messages[1].content, [{ type: "text", text: "other" }]);
	sm.appendContextEdit(a, null);
	assert.deepEqual(sm.buildSessionContext().messages.map((m) => m.role), ["assistant"]);
	assert.equal(sm.getEntry(b).message.content[0].text, "b");
	assert.throws(() => sm.appendContextEdit(a, 5), { message: "Context edit replacement must be null or contain string/array content" });
	const change = sm.appendModelChange("p", "m");
	assert.throws(() => sm.appendContextEdit(change, null), { message: `Entry ${change} does not contribute editable model content` });
	sm.branch(a);
	assert.throws(() => sm.appendContextEdit(b, null), { message: `Entry ${b} is not on the active branch` });
});

everywhere("model and thinking level are those at the leaf", (sm) => {
	const a = sm.appendModelChange("p", "m1");
	sm.appendThinkingLevelChange("high");
	sm.appendMessage(user("x"));
	assert.deepEqual(sm.buildSessionContext().model, { provider: "p", modelId: "m1" });
	sm.appendMessage(assistant("y"));
	const { model, thinkingLevel } = sm.buildSessionProjection();
	assert.deepEqual([model, thinkingLevel], [{ provider: "p", modelId: "m" }, "high"]);
	sm.branch(a);
	assert.equal(sm.buildSessionContext().thinkingLevel, "off");
});

everywhere("what is sent grows with each append, as if made anew", (sm) => {
	for (let turn = 0; turn < 5; turn++) {
		sm.appendMessage(user(`q${turn}`));
		sm.appendMessage(assistant(`a${turn}`));
		if (turn === 2) sm.appendCompaction("s", sm.getEntries()[2].id, 5);
		const whole = pi.buildSessionProjection(sm.getEntries(), sm.getLeafId());
		assert.deepEqual(sm.buildSessionProjection(), whole);
		assert.deepEqual(sm.buildContextEntries(), pi.buildContextEntries(sm.getEntries(), sm.getLeafId()));
	}
});

// ---------------------------------------------------------- one object, another session

everywhere("createBranchedSession makes a session of one path", (sm, place) => {
	const a = sm.appendMessage(user("a"));
	const b = sm.appendMessage(assistant("b"));
	sm.appendLabelChange(a, "mark");
	const c = sm.appendMessage(user("c"));
	sm.branch(b);
	sm.appendMessage(user("other"));
	const [before, file] = [sm.getSessionId(), sm.getSessionFile()];
	const made = sm.createBranchedSession(c);
	assert.notEqual(sm.getSessionId(), before);
	assert.deepEqual(types(sm.getEntries()), ["message", "message", "message", "label"]);
	assert.deepEqual(sm.getBranch().map((entry) => entry.message?.content?.[0]?.text ?? entry.message?.content ?? entry.label), ["a", "b", "c", "mark"]);
	assert.equal(sm.getLabel(a), "mark");
	assert.equal(made, sm.getSessionFile());
	if (place === "files") {
		assert.equal(sm.getHeader().parentSession, file);
		assert.equal(lines(made).length, 5);
	} else {
		assert.equal(made, undefined);
	}
});

everywhere("newSession begins anew on the same object", (sm) => {
	sm.appendMessage(user("a"));
	const before = sm.getSessionId();
	sm.newSession({ parentSession: "/p.jsonl" });
	assert.notEqual(sm.getSessionId(), before);
	assert.equal(sm.getHeader().parentSession, "/p.jsonl");
	assert.equal(sm.getEntryCount(), 0);
	sm.newSession({ id: "my.id-1" });
	assert.equal(sm.getSessionId(), "my.id-1");
	assert.throws(() => sm.newSession({ id: "-x" }), /^Error: Session id must be non-empty/);
});

// ---------------------------------------------------------------------------- files

everywhere("an edit keeps the object that it was given", (sm) => {
	const a = sm.appendMessage(user("hi"));
	const replacement = { content: "other", note: { why: 1 } };
	const id = sm.appendContextEdit(a, replacement);
	assert.equal(sm.getEntry(id).replacement, replacement);
	const b = sm.appendMessage(assistant("ho"));
	const blocks = sm.appendContextEdit(b, { content: "new", note: 1 });
	assert.deepEqual(sm.getEntry(blocks).replacement, { content: [{ type: "text", text: "new" }] });
	if (sm.getSessionFile()) assert.deepEqual(lines(sm.getSessionFile())[2].replacement, replacement);
});

everywhere("names and labels are any text", (sm) => {
	const id = sm.appendMessage(user("hi"));
	for (const text of ["a\ud800", "\udc00b", "c\0d", "\u2028", "naïve 日本 🌱"]) {
		sm.appendSessionInfo(text);
		sm.appendLabelChange(id, text);
		assert.equal(sm.getSessionName(), text.trim() || undefined);
		assert.equal(sm.getLabel(id), text);
		assert.equal(sm.getTree()[0].label, text);
	}
	sm.appendSessionInfo(" ");
	sm.appendLabelChange(id, undefined);
	assert.equal(sm.getSessionName(), undefined);
	assert.equal(sm.getLabel(id), undefined);
});

test("names and labels of a file that is opened again are any text", () => {
	const sm = places.files();
	const id = sm.appendMessage(user("hi"));
	sm.appendSessionInfo("first");
	sm.appendSessionInfo("a\ud800\0b");
	sm.appendLabelChange(id, "c\udc00\0d");
	const again = SessionManager.open(sm.getSessionFile());
	assert.equal(again.getSessionName(), "a\ud800\0b");
	assert.equal(again.getLabel(id), "c\udc00\0d");
	assert.equal(again.getLabel("nobody"), undefined);
});

everywhere("a branched session has the same objects", (sm) => {
	const first = user("hi");
	const a = sm.appendMessage(first);
	const mark = sm.appendLabelChange(a, "here");
	const answer = assistant("ho");
	const b = sm.appendMessage(answer);
	const c = sm.appendCompaction("so far", mark, 7, undefined, false);
	const before = sm.getBranch();
	sm.appendMessage(user("not on the path"));
	sm.createBranchedSession(c);
	assert.equal(sm.getEntry(a), before[0]);
	assert.equal(sm.getEntry(a).message, first);
	// Its parent, a label, did not come along: another entry with the same message.
	assert.equal(sm.getEntry(b).parentId, a);
	assert.equal(before[2].parentId, mark);
	assert.equal(sm.getEntry(b).message, answer);
	assert.equal(sm.getEntry(c).firstKeptEntryId, b);
	assert.equal(before[3].firstKeptEntryId, mark);
	assert.ok("details" in sm.getEntry(c), "also what has no value");
	assert.deepEqual(types(sm.getEntries()), ["message", "message", "compaction", "label"]);
	assert.equal(sm.getLabel(a), "here");
});

test("an entry without an id hides nothing", () => {
	const made = places.files();
	const [a, b] = [made.appendMessage(user("hi")), made.appendMessage(assistant("ho"))];
	const file = made.getSessionFile();
	for (const name of ["one", 2]) {
		const line = { type: "session_info", parentId: b, timestamp: "2026-01-01T00:00:00.000Z", name };
		fs.appendFileSync(file, `${JSON.stringify(line)}\n`);
	}
	const sm = SessionManager.open(file);
	const [root, ...more] = sm.getTree();
	assert.equal(more.length, 0);
	assert.equal(root.entry.id, a);
	assert.deepEqual(Object.keys(root), ["entry", "children", "label", "labelTimestamp"]);
	assert.deepEqual(root.children[0].children.map((node) => node.entry.name), ["one", 2]);
	assert.equal(sm.getSessionName(), undefined, "a name that is no text");
});

test("a branched session reads on what was not read yet", () => {
	const made = places.files();
	made.appendMessage(user("long ".repeat(100)));
	const id = made.appendMessage(assistant("ho ".repeat(100)));
	const sm = SessionManager.open(made.getSessionFile());
	const before = sm.getBranch();
	sm.createBranchedSession(id);
	assert.deepEqual(sm.getBranch(), made.getBranch());
	assert.equal(sm.getBranch()[1], before[1]);
	assert.deepEqual(sm.buildSessionContext().messages, made.buildSessionContext().messages);
});

test("a file comes with the first message of the user or the assistant", () => {
	newHome();
	const dir = scratch();
	const sm = SessionManager.create("/tmp", dir);
	sm.appendModelChange("p", "m");
	sm.appendMessage({ role: "system", content: "x", timestamp: 1 });
	assert.deepEqual(fs.readdirSync(dir), []);
	sm.appendMessage(user("now"));
	assert.deepEqual(fs.readdirSync(dir), [path.basename(sm.getSessionFile())]);
	assert.deepEqual(types(lines(sm.getSessionFile())), ["session", "model_change", "message", "message"]);
});

test("sessions are where pi keeps them", () => {
	const home = newHome();
	const sm = SessionManager.create("/tmp/a/b");
	assert.equal(sm.getSessionDir(), path.join(home, ".pi/agent/sessions/--tmp-a-b--"));
	assert.equal(sm.usesDefaultSessionDir(), true);
	assert.equal(sm.isPersisted(), true);
	assert.equal(sm.getCwd(), "/tmp/a/b");
	sm.appendMessage(user("x"));
	assert.match(path.basename(sm.getSessionFile()), new RegExp(`^\\d{4}-\\d\\d-\\d\\dT\\d\\d-\\d\\d-\\d\\d-\\d{3}Z_${sm.getSessionId()}\\.jsonl$`));
});

test("a file is opened with all that is in it, lazily or not", () => {
	newHome();
	const sm = SessionManager.create("/tmp", scratch());
	for (let i = 0; i < 400; i++) sm.appendMessage(i % 2 ? assistant(`a ${i} ü`) : user(`u ${i}`));
	sm.appendCustomEntry("t", { a: { b: [1] } });
	const again = SessionManager.open(sm.getSessionFile());
	assert.equal(again.getCwd(), "/tmp");
	assert.deepEqual(JSON.stringify(again.getEntries()), JSON.stringify(sm.getEntries()));
	assert.deepEqual(JSON.parse(JSON.stringify(again.getTree())), JSON.parse(JSON.stringify(sm.getTree())));
	assert.deepEqual(JSON.parse(JSON.stringify(again.buildSessionContext())), JSON.parse(JSON.stringify(sm.buildSessionContext())));
	const entry = again.getEntries()[1];
	assert.deepEqual(Object.keys(entry), ["type", "id", "parentId", "timestamp", "message"]);
	assert.deepEqual(structuredClone(entry), { ...entry });
	assert.equal(entry.message, again.getBranch()[1].message);
	entry.message.content = "changed";
	assert.equal(again.getEntry(entry.id).message.content, "changed");
	assert.equal(lines(sm.getSessionFile())[2].message.content[0].text, "a 1 ü");
});

test("the header says the directory, however long it is", () => {
	newHome();
	const file = path.join(scratch(), "long.jsonl");
	const header = { type: "session", version: 3, id: "long", note: "x".repeat(1.1e6), timestamp: new Date().toISOString(), cwd: "/stored/cwd" };
	fs.writeFileSync(file, `${JSON.stringify(header)}\n`);
	assert.equal(SessionManager.open(file).getCwd(), "/stored/cwd");
	assert.equal(SessionManager.open(file, undefined, "/other").getCwd(), "/other");
	assert.equal(SessionManager.open(file).getSessionDir(), path.dirname(file));
});

test("ids of sessions rise, whichever way they are made", () => {
	newHome();
	const sm = SessionManager.create("/tmp", scratch());
	const ids = [sm.getSessionId()];
	const leaf = sm.appendMessage(user("a"));
	const Stored = onStore(`sqlite:${path.join(scratch(), "s.db")}`);
	for (let i = 0; i < 50; i++) {
		sm.createBranchedSession(leaf);
		ids.push(sm.getSessionId());
		for (const one of [SessionManager.inMemory("/tmp"), Stored.create("/tmp"), Stored.continueRecent("/tmp")]) ids.push(one.getSessionId());
	}
	assert.deepEqual(ids, [...new Set(ids)].sort());
	for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("what is no session of pi's is refused and not touched", () => {
	newHome();
	const file = path.join(scratch(), "x.jsonl");
	fs.writeFileSync(file, "hello\n");
	assert.throws(() => SessionManager.open(file), { message: `Session file is not a valid pi session: ${file}` });
	assert.throws(() => SessionManager.forkFrom(file, "/tmp", scratch()), { message: `Cannot fork: source session file is empty or invalid: ${file}` });
	assert.equal(fs.readFileSync(file, "utf8"), "hello\n");
});

test("a missing file is deferred, an empty one begun", () => {
	newHome();
	const dir = scratch();
	const missing = SessionManager.open(path.join(dir, "new.jsonl"));
	assert.equal(missing.getSessionFile(), path.join(dir, "new.jsonl"));
	assert.equal(fs.existsSync(missing.getSessionFile()), false);
	missing.appendMessage(user("x"));
	assert.equal(lines(missing.getSessionFile()).length, 2);
	fs.writeFileSync(path.join(dir, "empty.jsonl"), "");
	const empty = SessionManager.open(path.join(dir, "empty.jsonl"));
	assert.equal(lines(empty.getSessionFile())[0].id, empty.getSessionId());
});

test("what another manager wrote is taken in by the next append", () => {
	newHome();
	const one = SessionManager.create("/tmp", scratch());
	one.appendMessage(user("a"));
	const two = SessionManager.open(one.getSessionFile());
	const b = two.appendMessage(assistant("b"));
	const c = one.appendMessage(user("c"));
	assert.equal(one.getEntry(c).parentId, b);
	assert.deepEqual(one.getBranch().map((entry) => entry.message.content[0].text ?? entry.message.content), ["a", "b", "c"]);
	assert.equal(one.buildSessionContext().messages.length, 3);
});

test("an id that is taken is made anew", (t) => {
	newHome();
	const sm = SessionManager.create("/tmp", scratch());
	const a = sm.appendMessage(user("a"));
	t.mock.method(crypto, "randomBytes", () => Buffer.from(`${a}12345678`, "hex"));
	while (paths.newEntryId(() => false) !== "12345678"); // what was made before is used up
	const c = sm.appendCompaction("s", null, 1);
	assert.equal(c, "12345678");
	assert.equal(sm.getEntry(c).firstKeptEntryId, c);
	assert.deepEqual(ids(sm.getEntries()), [a, c]);
});

test("continueRecent, findById and list find what is there", async () => {
	newHome();
	const dir = scratch();
	const one = SessionManager.create("/tmp", dir);
	one.appendMessage(user("the first"));
	one.appendMessage(assistant("an answer"));
	one.appendSessionInfo("named");
	const other = SessionManager.create("/elsewhere", dir);
	other.appendMessage(user("not here"));
	assert.equal(SessionManager.continueRecent("/tmp", dir).getSessionId(), one.getSessionId());
	assert.equal(SessionManager.findById("/tmp", one.getSessionId(), dir), one.getSessionFile());
	assert.equal(SessionManager.findById("/tmp", other.getSessionId(), dir), undefined);
	const told = [];
	const list = await SessionManager.list("/tmp", dir, (...args) => told.push(args));
	const { created, modified, ...rest } = list[0];
	assert.ok(modified instanceof Date && created instanceof Date);
	assert.deepEqual(rest, {
		path: one.getSessionFile(), id: one.getSessionId(), cwd: "/tmp", name: "named", parentSessionPath: undefined,
		messageCount: 2, firstMessage: "the first", allMessagesText: "the first an answer",
	});
	assert.deepEqual(Object.keys(list[0]), [
		"path", "id", "cwd", "name", "parentSessionPath", "created", "modified", "messageCount", "firstMessage", "allMessagesText",
	]);
	assert.equal(list[0].allMessagesText, "the first an answer");
	assert.equal(told.at(-1)[2].length, 1);
	assert.equal((await SessionManager.listAll(dir)).length, 2);
	await assert.rejects(SessionManager.list("/tmp", dir, undefined, AbortSignal.abort("stop")), (reason) => reason === "stop");
});

test("forkFrom copies a whole tree to another directory", () => {
	newHome();
	const sm = SessionManager.create("/tmp", scratch());
	const a = sm.appendMessage(user("a"));
	sm.appendMessage(assistant("b"));
	sm.branch(a);
	sm.appendMessage(assistant("c"));
	const fork = SessionManager.forkFrom(sm.getSessionFile(), "/other", scratch(), { id: "fork-1" });
	assert.equal(fork.getSessionId(), "fork-1");
	assert.equal(fork.getCwd(), "/other");
	assert.equal(fork.getHeader().parentSession, sm.getSessionFile());
	assert.deepEqual(ids(fork.getEntries()), ids(sm.getEntries()));
});

// --------------------------------------------------------------------------- memory

test("given entries are adopted as they are", () => {
	const source = SessionManager.inMemory("/w");
	source.appendMessage(user("a"));
	source.appendMessage(assistant("b"));
	const copy = SessionManager.inMemory("/w", undefined, [source.getHeader(), ...source.getBranch()]);
	assert.equal(copy.getSessionId(), source.getSessionId());
	assert.equal(copy.getEntries()[0], source.getEntries()[0]);
	copy.appendCompaction("s", null, 1);
	assert.equal(source.getEntryCount(), 2);
	const bare = SessionManager.inMemory("/w", { id: "x1" }, source.getBranch());
	assert.equal(bare.getSessionId(), "x1");
	assert.equal(bare.getLeafId(), source.getLeafId());
});

test("old entries are brought up to date", () => {
	const old = [
		{ type: "session", id: "s", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/w" },
		{ type: "message", timestamp: "2025-01-01T00:00:01.000Z", message: { role: "hookMessage", content: "x" } },
		{ type: "compaction", timestamp: "2025-01-01T00:00:02.000Z", summary: "s", firstKeptEntryIndex: 1, tokensBefore: 1 },
	];
	pi.migrateSessionEntries(old);
	assert.equal(old[0].version, 3);
	assert.equal(old[1].message.role, "custom");
	assert.equal(old[2].parentId, old[1].id);
	assert.equal(old[2].firstKeptEntryId, old[1].id);
	assert.equal("firstKeptEntryIndex" in old[2], false);
});

// --------------------------------------------------------------------------- stores

test("a session in a database is opened by its id, in another manager", () => {
	newHome();
	const Manager = onStore(`sqlite:${path.join(scratch(), "s.db")}`);
	const sm = Manager.create("/tmp");
	sm.appendMessage(user("a"));
	sm.appendMessage(assistant("b"));
	assert.equal(sm.isPersisted(), false);
	assert.equal(sm.getSessionFile(), undefined);
	const again = Manager.open(sm.getSessionId());
	assert.equal(again.getCwd(), "/tmp");
	assert.deepEqual(JSON.parse(JSON.stringify(again.getEntries())), JSON.parse(JSON.stringify(sm.getEntries())));
	assert.equal(Manager.findById("/tmp", sm.getSessionId()), sm.getSessionId());
	assert.equal(Manager.findById("/tmp", "nope"), undefined);
	assert.equal(Manager.continueRecent("/tmp").getSessionId(), sm.getSessionId());
	const fork = Manager.forkFrom(sm.getSessionId(), "/other");
	assert.notEqual(fork.getSessionId(), sm.getSessionId());
	assert.equal(fork.getEntryCount(), 2);
});

test("sessions in a database are listed", async () => {
	newHome();
	const Manager = onStore(`sqlite:${path.join(scratch(), "s.db")}`);
	for (const text of ["one", "two"]) Manager.create("/tmp").appendMessage(user(text));
	Manager.create("/other").appendMessage(user("three"));
	assert.equal((await Manager.list("/tmp")).length, 2);
	assert.equal((await Manager.listAll()).length, 3);
	assert.equal((await Manager.listAll())[0].allMessagesText.length > 0, true);
});

test("after a failure each later one says why the first was", () => {
	newHome();
	const sm = onStore("mysql://me@127.0.0.1:1/x").create("/tmp");
	assert.throws(() => sm.appendMessage(user("a")), /: Can't connect [^:]*$/);
	for (const text of ["b", "c"]) assert.throws(() => sm.appendMessage(user(text)), /: Can't connect [^:]*$/);
});

// ------------------------------------------------------------- what pi itself answered

const recorded = fs.readFileSync(new URL("data/pi-programs.jsonl", import.meta.url), "utf8").trimEnd().split("\n");
for (const line of recorded) {
	const { seed, ...theirs } = JSON.parse(line);
	test(`program ${seed} ends as with pi, in memory and in files, also when the file is opened again`, () => {
		newHome();
		const steps = program(seed);
		assert.deepEqual(carryOut(SessionManager.inMemory("/w"), steps), theirs);
		const sm = SessionManager.create("/w", scratch());
		// An in-memory session has no file to name as its parent: entries are all the same.
		assert.deepEqual(carryOut(sm, steps), theirs);
		if (!fs.existsSync(sm.getSessionFile())) return;
		const again = SessionManager.open(sm.getSessionFile());
		if (sm.getLeafId() === null) again.resetLeaf();
		else again.branch(sm.getLeafId());
		assert.deepEqual(state(again), state(sm));
	});
}
