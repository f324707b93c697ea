// Entries are made of columns and of lines, when they are looked at: nobody may see a difference.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { assistant, lines, newHome, scratch, user } from "./lib.mjs";
import * as grove from "../../bindings/node/index.mjs";

const header = { type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/tmp" };
const at = (n) => `2026-01-01T00:00:${String(n % 60).padStart(2, "0")}.000Z`;
const longText = "a long text, ".repeat(40);

const stored = [
	{ type: "message", id: "a", parentId: null, timestamp: at(1), message: user("short") },
	{ type: "message", id: "b", parentId: "a", timestamp: at(2), message: assistant(longText) },
	{ type: "message", id: "c", parentId: "b", timestamp: at(3), message: { role: "toolResult", toolCallId: "t", toolName: "bash", content: [{ type: "text", text: longText }], details: { a: longText, b: [1, 2] }, isError: false, timestamp: 3 } },
	{ type: "compaction", id: "d", parentId: "c", timestamp: at(4), summary: longText, firstKeptEntryId: "b", tokensBefore: 1.5, details: { files: [longText] } },
	{ type: "custom", id: "e", parentId: "d", timestamp: at(5), customType: "x", data: { "odd key": 1, "ключ": "знач\u{1f600}", "": [], $: "text", deep: { $: { $: "left" } } } },
	{ type: "label", id: "f", parentId: "e", timestamp: at(6), targetId: "a", label: "é" },
	{ type: "session_info", id: "g", parentId: "f", timestamp: at(7), name: "a name" },
	{ type: "unknown_thing", id: "h", parentId: "orphan", timestamp: "yesterday", "10": "ten", "2": "two", extra: null, list: [1, "two", { three: 3 }] },
	{ timestamp: at(9), message: { content: "order of members", role: "user" }, parentId: "h", id: "i", type: "message" },
	{ type: "message", id: "j", parentId: "i", timestamp: at(10), message: { role: "user", content: "" }, more: longText, evenMore: { x: longText, n: -0.5e-7 } },
	{ type: "message", id: "k", parentId: "j", timestamp: at(11), message: { role: "user", content: "\u2028 \u0000 \ud800 \"\\" } },
];

function open(entries = stored, extra = "") {
	newHome();
	const file = path.join(scratch(), "s.jsonl");
	fs.writeFileSync(file, [header, ...entries].map((e) => `${JSON.stringify(e)}\n`).join("") + extra);
	return grove.session(file);
}

test("an entry is what its line says, member by member", () => {
	const s = open();
	assert.deepEqual(s.entries().map((e) => JSON.stringify(e)), stored.map((e) => JSON.stringify(e)));
	s.close();
	const t = open();
	assert.deepStrictEqual(t.entries(), stored);
	t.close();
});

test("keys are there before values are", () => {
	const s = open();
	for (const [i, e] of s.entries().entries()) {
		assert.deepEqual(Object.keys(e), Object.keys(stored[i]));
		if (e.message) assert.deepEqual(Object.keys(e.message), Object.keys(stored[i].message));
		assert.equal(Object.getPrototypeOf(e), Object.prototype);
	}
	s.close();
});

test("entries can be spread, cloned and told", () => {
	const s = open();
	const e = s.entry("b");
	assert.deepEqual({ ...e }, stored[1]);
	assert.deepEqual(structuredClone(s.entry("c")), stored[2]);
	assert.deepEqual({ ...s.entry("d") }.summary, longText);
	const { message, ...rest } = s.entry("j");
	assert.equal(rest.more, longText);
	assert.equal(message, s.entry("j").message);
	s.close();
});

test("what is read is the same object again, and what a host changes it sees again", () => {
	const s = open();
	const e = s.entry("b");
	assert.equal(e.message, s.entries()[1].message);
	assert.equal(e.message.content, e.message.content);
	e.message.content[0].text = "changed";
	e.message.stopReason = "length";
	e.mine = 1;
	assert.equal(s.at(1).message.content[0].text, "changed");
	assert.equal(s.at(1).mine, 1);
	const c = s.entry("c");
	const { message } = c;
	c.message = { role: "user", content: "another" };
	assert.equal(s.entry("c").message.content, "another");
	assert.equal(message.content[0].text, longText, "what it had is still there for those who hold it");
	message.details = null;
	assert.equal(message.details, null);
	const d = s.entry("d");
	d.summary = "set before it was read";
	assert.equal(d.summary, "set before it was read");
	assert.deepEqual(d.details, stored[3].details);
	delete s.entry("j").more;
	assert.equal("more" in s.entry("j"), false);
	assert.equal(s.entry("j").evenMore.x, longText);
	s.close();
	assert.equal(lines(s.path)[2].message.content[0].text, longText, "the file does not change");
});

test("entries that came by an append are whole", () => {
	const s = open();
	const e = s.append(user(longText));
	assert.equal(s.entry(e.id), e);
	assert.equal(s.entries().at(-1), e);
	s.close();
});

test("chunks of rows, in any order", () => {
	const many = Array.from({ length: 1500 }, (_, i) => ({
		type: "message", id: `m${i}`, parentId: i ? `m${i - 1}` : null, timestamp: at(i), message: i % 2 ? assistant(`${i}`) : user(`${i}`),
	}));
	const s = open(many);
	for (const row of [1499, 0, 700, 256, 255, 1024]) assert.deepEqual(s.at(row), many[row]);
	for (let i = 0; i < 300; i++) s.append(user(`more ${i}`));
	assert.equal(s.branch().length, 1800);
	assert.deepEqual(s.branch().slice(0, 1500), many);
	assert.equal(s.at(1500).message.content, "more 0");
	const other = grove.session(s.path);
	other.append(user("from another"));
	s.append(user("after it"));
	assert.deepEqual(s.entries().slice(-2).map((e) => e.message.content), ["from another", "after it"]);
	other.close();
	s.close();
});

test("lines that are no entries are passed over", () => {
	const s = open(stored, 'not json\n\n{"type":"message","id":"z","parentId":"k","timestamp":"x","message":{"role":"user","content":"last"}}\n{"torn');
	assert.equal(s.length, stored.length + 1);
	assert.equal(s.at(-1).message.content, "last");
	s.close();
});

test("__proto__ is a member like another", () => {
	const s = open([], `{"type":"custom","id":"p","parentId":null,"timestamp":"${at(1)}","customType":"x","__proto__":{"n":1},"data":{"__proto__":2,"t":"${longText}"}}\n`);
	const [e] = s.entries();
	assert.deepEqual(Object.keys(e), ["type", "id", "parentId", "timestamp", "customType", "__proto__", "data"]);
	assert.equal(Object.getPrototypeOf(e), Object.prototype);
	assert.equal(e.n, undefined);
	assert.deepEqual(Object.keys(e.data), ["__proto__", "t"]);
	s.close();
});

test("after a rewrite, old entries find the rest of themselves, or say that it is gone", () => {
	const s = open();
	const [a, b, c, , , , , , , j] = s.entries().map((e) => (e.message, e));
	s.update("a", "/message/content", "NEW");
	assert.equal(s.entry("a").message.content, "NEW");
	assert.notEqual(s.entry("a"), a);
	s.forget("b");
	assert.equal(s.entry("b"), undefined);
	assert.equal(c.message.content[0].text, longText);
	assert.equal(j.more, longText);
	assert.throws(() => JSON.stringify(b.message.content), { code: "STALE" });
	s.close();
});

test("another program rewrites the file", () => {
	const s = open();
	assert.equal(s.entry("c").id, "c");
	const kept = [header, stored[0], { ...stored[2], parentId: "a" }];
	fs.writeFileSync(`${s.path}.new`, kept.map((e) => `${JSON.stringify(e)}\n`).join(""));
	fs.renameSync(`${s.path}.new`, s.path);
	assert.equal(s.refresh(), true);
	assert.deepEqual(s.entries().map((e) => e.id), ["a", "c"]);
	assert.equal(s.at(1).parentId, "a");
	s.close();
});

test("blocks tell their type before their line is read, and are plain", () => {
	const s = open();
	const { content } = s.entry("c").message;
	assert.deepEqual(content.map((block) => block.type), stored[2].message.content.map((block) => block.type));
	assert.deepEqual(content.map((block) => Object.keys(block)), stored[2].message.content.map((block) => Object.keys(block)));
	assert.deepEqual(structuredClone(content), stored[2].message.content);
	content[0].text = "changed";
	assert.equal(s.entry("c").message.content[0].text, "changed");
	assert.equal(JSON.stringify(content[0]), JSON.stringify({ ...stored[2].message.content[0], text: "changed" }));
	s.close();
});

/** So many that their messages are left alone until somebody looks at one. */
const MANY = 5000;
const many = () => {
	const entries = [];
	for (let i = 0; i < MANY; i++) {
		const { id, parentId, ...rest } = stored[i % stored.length];
		entries.push({ ...rest, type: rest.type, id: `${id}${i}`, parentId: i ? entries[i - 1].id : null });
	}
	return entries.map(({ type, id, parentId, timestamp, ...rest }) => ({ type, id, parentId, timestamp, ...rest }));
};

test("of many entries each is what its line says", () => {
	const entries = many();
	const s = open(entries);
	const branch = s.branch();
	assert.equal(branch.length, MANY);
	assert.deepEqual(Object.keys(branch[MANY - 1]), Object.keys(entries[MANY - 1]));
	const { message } = branch[12];
	assert.equal(message.role, "assistant");
	assert.equal(s.entry(branch[12].id), branch[12]);
	assert.deepEqual(branch.map((e) => JSON.stringify(e)), entries.map((e) => JSON.stringify(e)));
	assert.equal(s.entries()[12].message, message);
	assert.deepStrictEqual(structuredClone(branch), entries);
	s.close();
});

test("of many entries a message can be changed before it is looked at", () => {
	const s = open(many());
	const branch = s.branch();
	branch[11].message = { role: "user", content: "another" };
	assert.deepEqual(s.branch()[11].message, { role: "user", content: "another" });
	branch[22].message.role = "system";
	assert.equal(s.entry(branch[22].id).message.role, "system");
	const added = s.append(user("one more"));
	assert.equal(s.branch().at(-1), added);
	assert.equal(s.branch()[MANY - 1].message?.content, branch[MANY - 1].message?.content);
	s.close();
});

test("of many entries the time is a member like another", () => {
	const entries = many();
	const s = open(entries);
	const branch = s.branch();
	assert.deepEqual(branch.map((e) => e.timestamp), entries.map((e) => e.timestamp));
	branch[12].timestamp = "another time";
	assert.equal(s.entry(branch[12].id).timestamp, "another time");
	assert.equal(branch[13].timestamp, entries[13].timestamp);
	assert.deepEqual({ ...branch[12] }, { ...entries[12], timestamp: "another time" });
	assert.deepEqual(Object.keys(branch[12]), Object.keys(entries[12]));
	delete branch[14].timestamp;
	assert.equal("timestamp" in branch[14], false);
	s.close();
	assert.equal(branch[11].timestamp, entries[11].timestamp);
});

test("going through many entries leaves alone what a host has changed", () => {
	const entries = many();
	const s = open(entries);
	const branch = s.branch();
	const mine = { role: "assistant", content: [{ type: "text", text: "mine" }] };
	branch[1001].message = mine;
	branch[1012].message.content = "changed";
	branch[2003].message = branch[2014].message; // both are assistants', and made of other rows
	const later = branch[4004].message;
	const blocks = branch.filter((e) => e.message?.role === "assistant" && Array.isArray(e.message.content)).map((e) => e.message.content.length);
	assert.ok(blocks.length > MANY / stored.length - 2);
	assert.equal(branch[1001].message, mine);
	assert.equal(branch[1012].message.content, "changed");
	assert.equal(branch[2003].message, branch[2014].message);
	assert.equal(branch[4004].message, later);
	assert.deepEqual(structuredClone(branch[2014].message), entries[2014].message);
	const other = new Set([1001, 1012, 2003]);
	branch.forEach((e, i) => other.has(i) || assert.equal(JSON.stringify(e), JSON.stringify(entries[i])));
	s.close();
});

test("of many entries what another process wrote is there", () => {
	const entries = many();
	const s = open(entries);
	assert.equal(s.branch().length, MANY);
	const other = grove.session(s.path);
	for (let i = 0; i < 600; i++) other.append(user(`another ${i}`));
	other.close();
	s.refresh();
	assert.equal(s.entries().length, MANY + 600);
	assert.equal(s.entries()[MANY + 599].message.content, "another 599");
	assert.deepEqual(s.entries()[MANY - 1].message, entries[MANY - 1].message);
	s.close();
});

test("of many entries those that were read outlive a rewritten log", () => {
	const s = open(many());
	const branch = s.branch();
	const { id, message: { role } } = branch[1];
	s.forget(branch[0].id);
	assert.equal(s.entry(id).message.role, role);
	assert.equal(branch[12].message.role, "assistant");
	assert.throws(() => JSON.stringify(branch[0]), { code: "STALE" });
	s.close();
});

test("a closed session says so when the rest is asked for", () => {
	const s = open();
	const e = s.entry("b");
	s.close();
	assert.equal(e.type, "message");
	assert.equal(e.message.role, "assistant");
	assert.throws(() => JSON.stringify(e.message.content), { code: "INVAL", message: /closed/ });
});
