#!/usr/bin/env node
// bench/node/run.mjs: what sessions cost in Node, beside pi itself, in one run.
//
//   PI=…/pi-coding-agent/dist/bundle/index.js node bench/node/run.mjs [--rounds N] [--size 100M]
//
// pi 1.5.0 needs Node 22.19. Each figure is taken in a process of its own, pi and grove in turn, and
// the best of N rounds counts: CPU time (all threads), and memory after a garbage collection.
// Without PI, grove's figures alone are printed.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(import.meta.url);
const top = path.join(path.dirname(here), "..", "..");
const option = (name, value) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : value);

// ----------------------------------------------------------- one measurement

const message = (i) =>
	i % 2
		? { role: "assistant", content: [{ type: "text", text: `${i} `.padEnd(300, "answer ") }], api: "a", provider: "p", model: "m", usage: { input: i, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: i + 1, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } }, stopReason: "stop", timestamp: i }
		: { role: "user", content: `${i} `.padEnd(450, "question "), timestamp: i };

/** Opens a large session. `again`: it was opened before, and its index is there. */
function opening({ again, branch }) {
	return async ({ load, dir, large }) => {
		const { SessionManager } = await load();
		const file = path.join(dir, "large.jsonl");
		fs.copyFileSync(large, file);
		fs.utimesSync(file, 1e9, 1e9); // what was written a moment ago is not indexed
		// … and where it changed while the index was made, the index is compared with all of it
		await new Promise((resolve) => setTimeout(resolve, 300));
		if (again) SessionManager.open(file);
		return () => {
			globalThis.held = SessionManager.open(file);
			if (branch) globalThis.branch = globalThis.held.getBranch();
		};
	};
}

/** What is measured: a function that prepares and gives the work. */
const jobs = {
	"10,000 appends, entry built": async ({ load, dir }) => {
		const { SessionManager } = await load();
		const m = SessionManager.create(dir, path.join(dir, "s"));
		return () => {
			for (let i = 0; i < 10000; i++) if (m.getEntry(m.appendMessage(message(i))).message.timestamp !== i) throw new Error("lost");
		};
	},
	"10,000 appends, own interface": async ({ own, dir }) => {
		const { create } = await own();
		const s = create({ cwd: dir, dir: path.join(dir, "s") });
		return () => {
			for (let i = 0; i < 10000; i++) if (s.append(message(i)).message.timestamp !== i) throw new Error("lost");
		};
	},
	"list of 1,000 sessions, first time": async ({ load, dir, sessions }) => {
		const { SessionManager } = await load();
		return async () => {
			if ((await SessionManager.list("/work", sessions)).length !== 1000) throw new Error("lost");
		};
	},
	"list of 1,000 sessions, again": async ({ load, dir, sessions }) => {
		const { SessionManager } = await load();
		await SessionManager.list("/work", sessions);
		return async () => {
			if ((await SessionManager.list("/work", sessions)).length !== 1000) throw new Error("lost");
		};
	},
	open: opening({}),
	"open, with the index there": opening({ again: true }),
	"open and branch": opening({ branch: true }),
	"open and branch, with the index there": opening({ again: true, branch: true }),
};

async function measure({ job, who, sessions, large }) {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), "grove-bench-node-"));
	process.env.HOME = dir;
	process.env.PI_CODING_AGENT_DIR = path.join(dir, "agent");
	const load = () => import(who === "pi" ? process.env.PI : path.join(top, "bindings", "node", "pi.mjs"));
	const own = () => import(path.join(top, "bindings", "node", "index.mjs"));
	const work = await jobs[job]({ load, own, dir, sessions, large });
	globalThis.gc();
	const before = process.memoryUsage().rss;
	const from = process.cpuUsage();
	await work();
	const { user, system } = process.cpuUsage(from);
	globalThis.gc();
	const memory = process.memoryUsage().rss - before;
	fs.rmSync(dir, { recursive: true, force: true });
	return { ms: (user + system) / 1000, mb: memory / 1e6 };
}

// ------------------------------------------------------------- all of them

function makeSessions(dir) {
	fs.mkdirSync(dir);
	const line = (value) => `${JSON.stringify(value)}\n`;
	for (let n = 0; n < 1000; n++) {
		const timestamp = new Date(1.77e12 + n * 6e4).toISOString();
		const id = `00000000-0000-7000-8000-${String(n).padStart(12, "0")}`;
		let text = line({ type: "session", version: 3, id, timestamp, cwd: "/work" });
		for (let i = 0; i < 100; i++) {
			text += line({ type: "message", id: `e${i}`, parentId: i ? `e${i - 1}` : null, timestamp, message: message(i) });
		}
		fs.writeFileSync(path.join(dir, `${timestamp.replace(/[:.]/g, "-")}_${id}.jsonl`), text);
	}
}

function ask(question) {
	const out = execFileSync(process.execPath, ["--expose-gc", here, "--measure", JSON.stringify(question)], { encoding: "utf8" });
	return JSON.parse(out.trimEnd().split("\n").at(-1));
}

function main() {
	const rounds = Number(option("--rounds", "3"));
	const root = fs.mkdtempSync(path.join(os.tmpdir(), "grove-bench-node-"));
	const sessions = path.join(root, "sessions");
	const large = path.join(root, "large.jsonl");
	makeSessions(sessions);
	execFileSync("python3", [path.join(top, "bench", "gen"), option("--size", "100M"), large], { stdio: "ignore" });
	console.log(`Node ${process.version}, ${rounds} rounds${process.env.PI ? "" : ", without pi (PI is not set)"}`);
	console.log(`${"".padEnd(40)}${"pi".padStart(10)}${"grove".padStart(10)}${"ratio".padStart(9)}${"pi".padStart(10)}${"grove".padStart(10)}`);
	for (const job of Object.keys(jobs)) {
		const best = {};
		for (let round = 0; round < rounds; round++) {
			for (const who of process.env.PI && !job.includes("own") ? ["pi", "grove"] : ["grove"]) {
				const { ms, mb } = ask({ job, who, sessions, large });
				best[who] = { ms: Math.min(ms, best[who]?.ms ?? Infinity), mb: Math.min(mb, best[who]?.mb ?? Infinity) };
			}
		}
		const { pi, grove } = best;
		const cell = (value, unit) => (value === undefined ? "" : `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`).padStart(10);
		console.log(`${job.padEnd(40)}${cell(pi?.ms, "ms")}${cell(grove.ms, "ms")}${(pi ? `${(pi.ms / grove.ms).toFixed(1)}×` : "").padStart(9)}${cell(pi?.mb, "MB")}${cell(grove.mb, "MB")}`);
	}
	fs.rmSync(root, { recursive: true, force: true });
}

if (process.argv[2] === "--measure") console.log(JSON.stringify(await measure(JSON.parse(process.argv[3]))));
else main();
