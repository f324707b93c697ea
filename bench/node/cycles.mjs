#!/usr/bin/env node
// bench/node/cycles.mjs: opens a session, appends to it and closes it, a million times, and watches memory and descriptors.
//
//   node --expose-gc bench/node/cycles.mjs [--cycles 1000000] [--pi]
//
// With --pi it is done with pi's SessionManager, which nobody closes: the garbage collector has to find it. A session is
// given up for a new one every 200 cycles, so that opening stays as cheap as it is at the start. Prints a line for every
// twentieth of the cycles, and fails if memory grows by more than 8 MB in the second half of them, if a descriptor is left, or
// if an entry is lost. What is left to the collector takes some 60,000 cycles to come to rest.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const top = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "..", "bindings", "node");
const option = (name, value) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : value);
const cycles = Number(option("--cycles", "1000000"));
const EACH = 200;

const root = fs.mkdtempSync(path.join(os.tmpdir(), "grove-bench-cycles-"));
process.env.HOME = root;
const message = (i) => ({ role: i % 2 ? "assistant" : "user", content: [{ type: "text", text: `message ${i}` }], timestamp: i });

const { create, session } = await import(path.join(top, "index.mjs"));
const { SessionManager } = await import(path.join(top, "pi.mjs"));

/** One cycle: gives the number of entries that the session has after it. */
function cycle(file, i) {
	if (process.argv.includes("--pi")) {
		const manager = SessionManager.open(file, root);
		manager.appendMessage(message(i));
		return manager.getEntryCount();
	}
	const one = session(file);
	one.append(message(i));
	const { length } = one;
	one.close();
	return length;
}

function newSession(before) {
	if (before) fs.rmSync(before);
	const one = create({ cwd: root, dir: path.join(root, "sessions") });
	one.append(message(1)); // pi's files begin with the first answer
	const { path: file } = one;
	one.close();
	return file;
}

async function look(done, from) {
	await new Promise(setImmediate);
	globalThis.gc?.();
	await new Promise(setImmediate);
	const { rss, heapUsed, external } = process.memoryUsage();
	const now = { rss: rss / 1e6, descriptors: fs.readdirSync("/proc/self/fd").length };
	const seconds = (performance.now() - from) / 1000;
	console.log(
		`${String(done).padStart(9)} cycles ${seconds.toFixed(0).padStart(5)} s  ${now.rss.toFixed(1)} MB, ` +
			`heap ${(heapUsed / 1e6).toFixed(1)} MB, external ${(external / 1e6).toFixed(1)} MB, ${now.descriptors} descriptors`,
	);
	return now;
}

const from = performance.now();
const seen = [];
let file;
for (let i = 0; i < cycles; i++) {
	if (i % EACH === 0) file = newSession(file);
	const length = cycle(file, i);
	if (length !== (i % EACH) + 2) throw new Error(`cycle ${i}: ${length} entries`);
	if (i % 1000 === 999) await new Promise(setImmediate);
	if ((i + 1) % Math.ceil(cycles / 20) === 0) seen.push(await look(i + 1, from));
}
fs.rmSync(root, { recursive: true, force: true });
const [first, last] = [seen[9], seen.at(-1)];
const grown = last.rss - first.rss;
console.log(`memory ${grown.toFixed(1)} MB more than after half of them, descriptors ${last.descriptors - first.descriptors} more`);
if (grown > 8 || last.descriptors > first.descriptors) process.exit(1);
