import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";
import { assistant, newHome, user } from "./lib.mjs";
import * as grove from "../../bindings/node/index.mjs";

function some(nr) {
	newHome();
	return Array.from({ length: nr }, (_, i) => {
		const s = grove.create({ cwd: i % 2 ? "/tmp" : "/" });
		s.append(user(`find needle number ${i}`));
		s.append(assistant("there"));
		if (i === 0) s.rename("zero");
		s.close();
		return s.id;
	});
}

test("sessions are listed", async () => {
	const ids = some(5);
	const told = [];
	const all = await grove.list({ onProgress: (done, total) => told.push([done, total]) });
	assert.deepEqual(all.map((item) => item.id).sort(), [...ids].sort());
	assert.equal(all[0].messageCount, 2);
	assert.deepEqual(told.at(-1), [5, 5]);
	assert.equal((await grove.list({ cwd: "/tmp" })).length, 2);
	assert.deepEqual((await grove.list({ named: true })).map((item) => item.name), ["zero"]);
	assert.equal((await grove.list({ limit: 3, sort: "created" })).length, 3);
	assert.equal((await grove.list({ query: "number 4" }))[0].id, ids[4]);
	assert.deepEqual(await grove.list({ cwd: "/elsewhere" }), []);
	await assert.rejects(async () => grove.list({ sort: "colour" }), TypeError);
	await assert.rejects(grove.list({ query: "re:(" }), { code: "INVAL" });
});

test("text is found", async () => {
	const ids = some(3);
	const [hit] = await grove.search('"number 2"');
	assert.equal(hit.sessionId, ids[2]);
	assert.equal((await grove.search("needle", { limit: 2 })).length, 2);
	assert.deepEqual(await grove.search("needle", { role: "assistant" }), []);
	assert.equal((await grove.search("re:n[e]+dle", { index: false, in: ["text"] })).length, 3);
	assert.deepEqual(await grove.search("needle", { until: new Date(1) }), []);
	await assert.rejects(grove.search("needle", { since: "no day" }), TypeError);
	await assert.rejects(grove.search(""), { code: "INVAL" });
});

test("tokens are counted", async () => {
	some(2);
	const { totals, rows } = await grove.usage({ by: "model" });
	assert.equal(totals.totalTokens, 24);
	assert.equal(rows.length, 1);
	for (const since of ["yesterday", "2026-1-2", "2026-02-30", ""]) await assert.rejects(grove.usage({ since }), { code: "INVAL" });
	const today = new Date().toISOString().slice(0, 10);
	assert.equal((await grove.usage({ since: "2000-01-01", until: "2000-01-01" })).totals.totalTokens, 0);
	assert.equal((await grove.usage({ since: "2000-01-01", until: today })).totals.totalTokens, 24);
	await assert.rejects(async () => grove.usage({ by: "colour" }), TypeError);
});

test("a signal ends the work", async () => {
	some(3);
	await assert.rejects(grove.list({ signal: AbortSignal.abort() }), { name: "AbortError" });
	const why = new Error("enough");
	const control = new AbortController();
	const listing = grove.list({ signal: control.signal });
	control.abort(why);
	await assert.rejects(listing, why);
	assert.equal((await grove.list({ signal: new AbortController().signal })).length, 3);
});

test("many jobs at once, and the store changes meanwhile", async () => {
	const ids = some(4);
	const s = grove.session(ids[0]);
	const jobs = Array.from({ length: 40 }, (_, i) => (i % 3 ? grove.list() : i % 2 ? grove.usage() : grove.search("needle")));
	for (let i = 0; i < 200; i++) s.append(user(`more ${i}`));
	for (const answer of await Promise.all(jobs)) assert.ok(answer);
	assert.equal(s.length, 203);
	s.close();
});

test("a store is named by its URL", async () => {
	const url = `sqlite:${path.join(newHome(), "s.db")}`;
	const s = grove.create({ store: url, cwd: "/tmp" });
	s.append(user("a needle"));
	s.close();
	assert.deepEqual(await grove.list(), []);
	assert.equal((await grove.list({ store: url }))[0].id, s.id);
	assert.equal((await grove.search("needle", { store: url }))[0].sessionId, s.id);
});
