// grove-sessions/claude: what the Claude Agent SDK expects of a SessionStore, on every kind of store.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { newHome, scratch } from "./lib.mjs";
import { Grove, initStore } from "../../bindings/node/index.mjs";
import { openStore } from "../../bindings/node/claude.mjs";

newHome();
let nr = 0;
const kinds = {
	memory: { url: () => "memory:" },
	files: { url: () => scratch(), shared: true },
	sqlite: { url: () => `sqlite:${scratch()}/sessions.db`, shared: true },
};
if (process.env.GROVE_TEST_MYSQL) {
	kinds.mariadb = { url: () => `${process.env.GROVE_TEST_MYSQL}_claude_${process.pid}_${nr++}`, shared: true };
	for (const kind of ["memory", "files", "sqlite"]) delete kinds[kind];
}

const main = (sessionId = "s", projectKey = "p") => ({ projectKey, sessionId });
const sub = (subpath, sessionId = "s", projectKey = "p") => ({ projectKey, sessionId, subpath });
const entry = (uuid, more = {}) => ({ type: "user", uuid, sessionId: "s", ...more });
const sorted = (list) => [...list].sort();
const ids = async (store, project = "p") => sorted((await store.listSessions(project)).map((s) => s.sessionId));

// A summary in the SDK's shape: how many entries there were, and the last title.
const foldSessionSummary = (prev, key, entries, { mtime }) => ({
	sessionId: key.sessionId,
	mtime,
	data: {
		count: (prev?.data.count ?? 0) + entries.length,
		title: entries.filter((e) => e.title).at(-1)?.title ?? prev?.data.title,
		odd: { "\u0000": [null, 1.5, "\ud83c\udf33"] },
	},
});

for (const [kind, { url, shared }] of Object.entries(kinds)) {
	const contract = (name, fn) =>
		test(`${kind}: ${name}`, async () => {
			const where = url();
			if (/^mysql/.test(where)) initStore(where);
			await fn(openStore(where), where);
		});

	contract("1 what is loaded is what was appended", async (store) => {
		const entries = [
			entry("1", { deep: { a: [{ b: [[{}]] }], nothing: null }, text: "line\nline \u2028 \ud83c\udf33 \\ \"" }),
			{ type: "queue-operation", n: 1e21, small: -0.5, empty: "", list: [] },
			entry("2", { "": 1, __proto: 2 }),
		];
		await store.append(main(), entries);
		assert.deepEqual(await store.load(main()), entries);
		assert.equal(JSON.stringify(await store.load(main())), JSON.stringify(entries));
	});

	contract("2 what was never written is null", async (store) => {
		assert.equal(await store.load(main()), null);
		await store.append(main(), [entry("1")]);
		assert.equal(await store.load(sub("subagents/agent-x")), null);
		assert.equal(await store.load(main("other")), null);
	});

	contract("3 appends come in call order", async (store) => {
		for (let i = 0; i < 5; i++) await store.append(main(), [entry(`${i}`), entry(`${i}b`)]);
		assert.deepEqual((await store.load(main())).map((e) => e.uuid), ["0", "0b", "1", "1b", "2", "2b", "3", "3b", "4", "4b"]);
	});

	contract("4 an empty append makes nothing", async (store) => {
		await store.append(main(), []);
		await store.append(sub("subagents/agent-x"), []);
		assert.equal(await store.load(main()), null);
		assert.deepEqual(await ids(store), []);
		assert.deepEqual(await store.listSubkeys(main()), []);
	});

	contract("5, 6 a sub-agent's log is its own, and so is a project's", async (store) => {
		await store.append(main(), [entry("1")]);
		await store.append(sub("subagents/agent-x"), [entry("2")]);
		await store.append(main("s", "q"), [entry("3")]);
		assert.deepEqual(await store.load(main()), [entry("1")]);
		assert.deepEqual(await store.load(sub("subagents/agent-x")), [entry("2")]);
		assert.deepEqual(await store.load(main("s", "q")), [entry("3")]);
	});

	contract("7, 8 a list has the project's sessions and no sub-agents", async (store) => {
		const before = Date.now() - 2000;
		await store.append(main("a"), [entry("1")]);
		await store.append(main("b"), [entry("1")]);
		await store.append(main("c", "q"), [entry("1")]);
		await store.append(sub("subagents/agent-x", "a"), [entry("1")]);
		await store.append(sub("subagents/agent-x", "alone"), [entry("1")]);
		assert.deepEqual(await ids(store), ["a", "b"]);
		assert.deepEqual(await ids(store, "q"), ["c"]);
		assert.deepEqual(await ids(store, "nobody's"), []);
		for (const { mtime } of await store.listSessions("p")) {
			assert.ok(Number.isInteger(mtime) && mtime >= before && mtime <= Date.now() + 2000, `${mtime}`);
		}
	});

	contract("9 deleting nothing is harmless", async (store) => {
		await store.delete(main());
		await store.delete(sub("subagents/agent-x"));
		await store.append(main(), [entry("1")]);
		await store.delete(main("t"));
		await store.delete(sub("subagents/agent-x"));
		assert.deepEqual(await ids(store), ["s"]);
	});

	contract("10 deleting a session takes its sub-agents and nothing else", async (store) => {
		const others = ["s2", "s-2", "s_", "s%", "S", "s/x", "s.jsonl", ""];
		for (const id of ["s", ...others]) {
			await store.append(main(id), [entry("1")]);
			await store.append(sub("subagents/agent-x", id), [entry("2")]);
		}
		await store.append(main("s", "q"), [entry("1")]);
		await store.delete(main());
		assert.equal(await store.load(main()), null);
		assert.equal(await store.load(sub("subagents/agent-x")), null);
		assert.deepEqual(await store.listSubkeys(main()), []);
		assert.deepEqual(await ids(store), sorted(others));
		for (const id of others) assert.deepEqual(await store.listSubkeys(main(id)), ["subagents/agent-x"]);
		assert.deepEqual(await ids(store, "q"), ["s"]);
		// and it can be begun again
		await store.append(main(), [entry("1")]);
		assert.deepEqual(await store.load(main()), [entry("1")]);
	});

	contract("11, 12, 13 sub-agents are listed and deleted one by one", async (store) => {
		await store.append(main(), [entry("1")]);
		for (const id of ["a", "b", "a/c"]) await store.append(sub(`subagents/agent-${id}`), [entry("1")]);
		await store.append(sub("subagents/agent-z", "other"), [entry("1")]);
		assert.deepEqual(sorted(await store.listSubkeys(main())), ["subagents/agent-a", "subagents/agent-a/c", "subagents/agent-b"]);
		await store.delete(sub("subagents/agent-a"));
		assert.deepEqual(sorted(await store.listSubkeys(main())), ["subagents/agent-a/c", "subagents/agent-b"]);
		assert.deepEqual(await store.load(main()), [entry("1")]);
	});

	contract("14 summaries are folded, with the clock of the list, and go with the session", async (_, where) => {
		const store = openStore(where, { foldSessionSummary });
		await store.append(main("a"), [entry("1", { title: "first" }), entry("2")]);
		await store.append(main("a"), [entry("3")]);
		await store.append(main("b"), [entry("1")]);
		await store.append(sub("subagents/agent-x", "a"), [entry("9")]);
		const summaries = async (from = store) =>
			(await from.listSessionSummaries("p")).sort((x, y) => (x.sessionId < y.sessionId ? -1 : 1));
		const times = Object.fromEntries((await store.listSessions("p")).map((s) => [s.sessionId, s.mtime]));
		const first = await summaries();
		assert.deepEqual(first.map((s) => [s.sessionId, s.data.count, s.data.title]), [["a", 3, "first"], ["b", 1, undefined]]);
		assert.deepEqual(first[0].data.odd, { "\u0000": [null, 1.5, "\ud83c\udf33"] });
		for (const s of first) assert.equal(s.mtime, times[s.sessionId]);
		// a batch that is sent again, appends at once, and what another wrote without a summary
		await store.append(main("a"), [entry("3")]);
		await Promise.all([..."4567"].map((id) => store.append(main("a"), [entry(id)])));
		assert.equal((await summaries())[0].data.count, 7);
		if (shared) {
			await openStore(where).append(main("a"), [entry("8", { title: "other" })]);
			await store.append(main("a"), [entry("10")]);
			const [a] = await summaries(openStore(where, { foldSessionSummary }));
			assert.deepEqual([a.data.count, a.data.title], [9, "other"]);
		}
		await store.delete(main("a"));
		assert.deepEqual((await summaries()).map((s) => s.sessionId), ["b"]);
		await store.append(main("a"), [entry("1")]);
		assert.equal((await summaries())[0].data.count, 1);
		assert.equal(openStore(where).listSessionSummaries, undefined);
	});

	contract("15 a uuid is stored once, entries without one always", async (store) => {
		const batch = [entry("1"), { type: "x" }, entry("1"), entry("2")];
		await store.append(main(), batch);
		await store.append(main(), batch);
		assert.deepEqual((await store.load(main())).map((e) => e.uuid ?? "-"), ["1", "-", "2", "-"]);
		await store.append(sub("subagents/agent-x"), [entry("1")]);
		assert.equal((await store.load(sub("subagents/agent-x"))).length, 1);
	});

	contract("16 keys are any text", async (store, where) => {
		const texts = ["../../etc", "", "x".repeat(300), "\ud83c\udf33".repeat(300), "a\nb", "..", ".", "/", "%", "a/b", "x.jsonl", "-"];
		for (const [i, text] of texts.entries()) {
			await store.append(main("s", text), [entry(`${i}`)]);
			await store.append(main(text), [entry(`${i}`)]);
			if (text) await store.append(sub(text, "t"), [entry(`${i}`)]);
		}
		for (const [i, text] of texts.entries()) {
			assert.deepEqual(await store.load(main("s", text)), [entry(`${i}`)], text);
			assert.deepEqual(await store.load(main(text)), [entry(`${i}`)], text);
			if (text) assert.deepEqual(await store.load(sub(text, "t")), [entry(`${i}`)], text);
			assert.deepEqual(await ids(store, text), ["s"], text);
		}
		assert.deepEqual(await ids(store), sorted(texts));
		assert.deepEqual(sorted(await store.listSubkeys(main("t"))), sorted(texts.filter(Boolean)));
		if (kind === "files") {
			assert.ok(!fs.existsSync(path.join(where, "..", "etc")) && !fs.existsSync(path.join(where, "..", "..", "etc.jsonl")));
		}
		await assert.rejects(store.append(main("a\0b"), [entry("1")]), TypeError);
		await assert.rejects(store.load({ projectKey: "p" }), TypeError);
	});

	contract("17 a second handle sees it", async (store, where) => {
		if (!shared) return;
		const other = openStore(where);
		await store.append(main(), [entry("1")]);
		assert.deepEqual(await other.load(main()), [entry("1")]);
		await other.append(main(), [entry("1"), entry("2")]);
		await store.append(main(), [entry("2"), entry("3")]);
		assert.deepEqual((await other.load(main())).map((e) => e.uuid), ["1", "2", "3"]);
		await other.delete(main());
		assert.equal(await store.load(main()), null);
		await store.append(main(), [entry("1")]);
		assert.deepEqual(await other.load(main()), [entry("1")]);
	});

	contract("18 forty appends at once are whole and in call order", async (store) => {
		await Promise.all(Array.from({ length: 40 }, (_, i) => store.append(main(), [entry(`${i}a`), entry(`${i}b`)])));
		const want = Array.from({ length: 40 }, (_, i) => [`${i}a`, `${i}b`]).flat();
		assert.deepEqual((await store.load(main())).map((e) => e.uuid), want);
		// many sessions at once: more than stay open
		await Promise.all(Array.from({ length: 100 }, (_, i) => store.append(main(`n${i}`), [entry("1")])));
		assert.equal((await ids(store)).length, 101);
	});

	contract("19 an entry of 5 MB, and 500 in a batch", async (store) => {
		const big = entry("big", { text: "x".repeat(5 << 20) });
		const many = Array.from({ length: 500 }, (_, i) => entry(`${i}`, { text: "y".repeat(1000) }));
		await store.append(main(), [big]);
		await store.append(main(), many);
		assert.deepEqual(await store.load(main()), [big, ...many]);
	});

	contract("20 the caller may change what it gave or got", async (store) => {
		const given = [entry("1", { list: [1] })];
		const key = main();
		const done = store.append(key, given);
		given[0].list.push(2);
		given.push(entry("2"));
		key.sessionId = "changed";
		await done;
		const got = await store.load(main());
		assert.deepEqual(got, [entry("1", { list: [1] })]);
		got[0].list.push(3);
		assert.deepEqual(await store.load(main()), [entry("1", { list: [1] })]);
	});

	contract("it is an ordinary session", async (store, where) => {
		if (!shared) return;
		const id = "0b8f2f6e-34a5-4f7e-9a55-0f3d7a1c9e11";
		const record = (uuid, parentUuid, type, message, more) => ({
			parentUuid, isSidechain: false, cwd: "/home/me", sessionId: id, version: "2.1.0", type, message, uuid,
			timestamp: "2026-05-03T09:00:00.000Z", ...more,
		});
		await store.append(main(id, "-home-me"), [
			{ type: "queue-operation", operation: "enqueue", sessionId: id },
			record("11111111-1111-4111-8111-111111111111", null, "user", { role: "user", content: "where is the ferry" }),
			record("22222222-2222-4222-8222-222222222222", "11111111-1111-4111-8111-111111111111", "assistant", {
				id: "msg_1", role: "assistant", model: "claude-sonnet-4-5", content: [{ type: "text", text: "at the pier" }],
				usage: { input_tokens: 10, output_tokens: 20 },
			}),
		]);
		await store.append(sub("subagents/agent-a1", id, "-home-me"), [
			record("33333333-3333-4333-8333-333333333333", null, "user", { role: "user", content: "look closer" }, { isSidechain: true, agentId: "a1" }),
		]);
		const grove = new Grove({ store: where, cache: false });
		const [listed] = await grove.list();
		assert.equal(listed.id, id);
		assert.equal(listed.firstMessage, "where is the ferry");
		const [hit] = await grove.search("pier", { index: false });
		assert.match(JSON.stringify(hit), /pier/);
		assert.match(JSON.stringify(await grove.usage()), /20/);
		if (kind === "files") {
			assert.ok(fs.existsSync(path.join(where, "-home-me", `${id}.jsonl`)));
			assert.ok(fs.existsSync(path.join(where, "-home-me", id, "subagents", "agent-a1.jsonl")));
		}
	});

	contract("a line that a killed writer left behind is passed over", async (store, where) => {
		if (kind !== "files") return;
		await store.append(main(), [entry("1")]);
		fs.appendFileSync(path.join(where, "p", "s.jsonl"), '{"uuid":"2","ty');
		await store.append(main(), [entry("2")]);
		assert.deepEqual(await store.load(main()), [entry("1"), entry("2")]);
	});
}
