// How things end: workers, exit with work under way, copies, descriptors, memory.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { Worker } from "node:worker_threads";
import { child, descriptors, long, newHome, packageDir, resident, scratch, user } from "./lib.mjs";
import * as grove from "../../bindings/node/index.mjs";

const load = "const grove = await import(process.env.GROVE_TEST_PACKAGE); const user = (content) => ({ role: 'user', content });";

/** A home with sessions that take a while to list. */
function busyHome() {
	const home = newHome();
	const s = grove.create({ cwd: "/tmp" });
	s.appendMany(Array.from({ length: 3000 }, (_, i) => user(`${i} `.repeat(500))));
	for (let i = 0; i < 10; i++) s.fork().close();
	s.close();
	return home;
}

function worker(text, data) {
	const w = new Worker(text, { eval: true, workerData: data });
	return { w, ended: new Promise((resolve, reject) => w.on("error", reject).on("exit", resolve)) };
}

test("workers have sessions of their own", async () => {
	newHome();
	const text = `
		const { workerData, parentPort } = require("node:worker_threads");
		const grove = require(workerData.package);
		const s = grove.create({ cwd: "/tmp" });
		for (let i = 0; i < 100; i++) s.append({ role: "user", content: "w" + i });
		grove.list().then((all) => parentPort.postMessage([s.id, s.length, all.length > 0]));`;
	const ids = await Promise.all(
		Array.from({ length: 4 }, async () => {
			const { w, ended } = worker(text, { package: packageDir });
			const [id, count, listed] = await new Promise((resolve) => w.once("message", resolve));
			assert.equal(count, 100);
			assert.equal(listed, true);
			assert.equal(await ended, 0);
			return id;
		}),
	);
	assert.equal(new Set(ids).size, 4);
	assert.equal((await grove.list()).length, 4);
});

test("a worker's own variables count", async () => {
	newHome();
	const home = scratch();
	const text = `
		const { workerData, parentPort } = require("node:worker_threads");
		process.env.HOME = workerData.home;
		parentPort.postMessage(require(workerData.package).create({ cwd: "/tmp" }).path);`;
	const { w, ended } = worker(text, { package: packageDir, home });
	assert.ok((await new Promise((resolve) => w.once("message", resolve))).startsWith(home));
	await ended;
});

test("a worker is terminated with open sessions and running jobs", async () => {
	busyHome();
	const text = `
		const { workerData, parentPort } = require("node:worker_threads");
		const grove = require(workerData.package);
		globalThis.held = Array.from({ length: 20 }, () => grove.create({ cwd: "/tmp" }));
		for (const s of held) s.append({ role: "user", content: "x" });
		for (let i = 0; i < 8; i++) grove.list({ shape: true, onProgress() {} }).catch(() => {});
		parentPort.postMessage("up");`;
	for (let i = 0; i < 3; i++) {
		const { w } = worker(text, { package: packageDir });
		await new Promise((resolve) => w.once("message", resolve));
		await w.terminate();
	}
	assert.ok((await grove.list()).length > 0);
});

test("a process exits with open sessions and running jobs", async () => {
	busyHome();
	for (const end of ["process.exit(7)", "process.exitCode = 7", "throw new Error('on purpose')", "setTimeout(() => process.exit(7), 5)"]) {
		const { status, signal, stderr } = await child(`${load}
			globalThis.s = grove.create({ cwd: "/tmp" }); s.append(user("x"));
			for (let i = 0; i < 8; i++) grove.list({ shape: true, onProgress() {} }).catch(() => {});
			grove.search("nothing").catch(() => {});
			${end}`);
		assert.deepEqual([signal, status], [null, end.startsWith("throw") ? 1 : 7], `${end}: ${stderr}`);
	}
});

test("a job that is forgotten does not keep its session's world alive for ever", async () => {
	newHome();
	const { status, stderr } = await child(`${load}
		for (let i = 0; i < 200; i++) { new grove.Grove({ env: { HOME: process.env.HOME } }); }
		gc(); await new Promise(setImmediate); gc(); await grove.list();`, { args: ["--expose-gc"] });
	assert.equal(status, 0, stderr);
});

test("two copies of the package in one process", async () => {
	const home = newHome();
	const copy = path.join(scratch(), "copy");
	for (const name of ["package.json", "index.cjs", "index.mjs", "lib"]) {
		fs.cpSync(path.join(packageDir, name), path.join(copy, name), { recursive: true });
	}
	const addon = path.join(copy, "build", "grove.node");
	fs.mkdirSync(path.dirname(addon));
	fs.copyFileSync(process.env.GROVE_NODE_ADDON, addon);
	const { status, stderr, stdout } = await child(`
		import fs from "node:fs";
		const one = await import(process.env.GROVE_TEST_PACKAGE);
		delete process.env.GROVE_NODE_ADDON;
		const two = await import(${JSON.stringify(path.join(copy, "index.mjs"))});
		if (one.Session === two.Session) throw new Error("one copy");
		for (const url of [undefined, "sqlite:" + process.env.HOME + "/s.db"]) {
			const a = one.create({ cwd: "/tmp", store: url });
			a.append({ role: "user", content: "one" });
			const b = two.session(a.path ?? a.id, { store: url });
			b.append({ role: "user", content: "two" });
			a.append({ role: "user", content: "three" });
			b.refresh();
			console.log(a.length, b.length, (await one.list({ store: url })).length, (await two.list({ store: url })).length);
		}
		try { two.session("none") } catch (e) { console.log(e instanceof two.GroveError, e instanceof one.GroveError) }
		console.log(fs.readFileSync("/proc/self/maps", "utf8").split("\\n").filter((l) => / r-xp .*grove\\.node/.test(l)).length);`);
	assert.equal(status, 0, stderr);
	assert.equal(stdout, "3 3 1 1\n3 3 1 1\ntrue false\n2\n");
	assert.ok(home);
});

test("open, append, close, over and over: memory and descriptors stay as they are", async () => {
	newHome();
	const first = grove.create({ cwd: "/tmp" });
	first.append(user("begin"));
	first.close();
	const small = fs.readFileSync(first.path);
	const cycle = async (nr) => {
		for (let i = 0; i < nr; i++) {
			const s = grove.session(first.path);
			s.append(user("again"));
			s.close();
			if (i % 100 !== 99) continue;
			fs.writeFileSync(first.path, small);
			// Node frees what belongs to handles between turns of its event loop.
			await new Promise(setImmediate);
		}
	};
	await cycle(2000);
	const before = [descriptors(), resident()];
	await cycle(long ? 1000000 : 8000);
	assert.equal(descriptors(), before[0]);
	assert.ok(resident() < before[1] + 30, `${before[1].toFixed(1)} MiB became ${resident().toFixed(1)}`);
});

test("sessions that nobody closes go with the garbage", async () => {
	newHome();
	const { status, stdout, stderr } = await child(`${load}
		import fs from "node:fs";
		const first = grove.create({ cwd: "/tmp" });
		first.append(user("x"));
		let most = 0;
		for (let i = 0; i < 2000; i++) {
			grove.session(first.path).append(user("y" + i));
			if (i % 50 === 0) await new Promise(setImmediate);
			most = Math.max(most, fs.readdirSync("/proc/self/fd").length);
		}
		console.log(most);`);
	assert.equal(status, 0, stderr);
	assert.ok(Number(stdout) < 1000, `${stdout} descriptors`);
});

test("a function that is told of progress may throw", async () => {
	busyHome();
	const { status, stderr, stdout } = await child(`${load}
		process.on("uncaughtException", (e) => console.log("caught", e.message));
		const all = await grove.list({ onProgress() { throw new Error("mine"); } });
		console.log(all.length);`);
	assert.equal(status, 0, stderr);
	assert.match(stdout, /caught mine\n/);
	assert.match(stdout, /^11$/m);
});
