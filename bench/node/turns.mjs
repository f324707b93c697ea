#!/usr/bin/env node
// bench/node/turns.mjs: what a large session costs pi's own agent, on pi's sessions and on grove's.
//
//   PI=…/pi-coding-agent/dist/bundle/index.js node --expose-gc bench/node/turns.mjs [--rounds N] [--size 100M]
//
// Opening, starting an agent on it, a turn with a tool, a plain turn, the first statistics, and memory before and after
// these. Each run is a process of its own, pi and grove in turn; of each figure the best run counts. CPU time of all
// threads; for turns also what of it was spent inside the session manager.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { execFileSync } from "node:child_process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { call, startModel } from "../../tests/peers/sockets/model.mjs";

const here = fileURLToPath(import.meta.url);
const top = path.join(path.dirname(here), "..", "..");
const option = (name, value) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : value);

/** The same object, which counts the time that is spent in its members. */
function timed(manager, clock) {
	let depth = 0;
	const within = (fn, args) => {
		const from = performance.now();
		depth++;
		try {
			return fn.apply(manager, args);
		} finally {
			depth--;
			if (depth === 0) clock.ms += performance.now() - from;
		}
	};
	return new Proxy(manager, {
		get(target, key) {
			const value = Reflect.get(target, key, target);
			return typeof value === "function" && typeof key !== "symbol" ? (...args) => within(value, args) : value;
		},
	});
}

async function home(file) {
	const root = fs.mkdtempSync(path.join(os.tmpdir(), "grove-bench-turns-"));
	const [agentDir, cwd] = ["agent", "work"].map((name) => path.join(root, name));
	for (const dir of [agentDir, cwd]) fs.mkdirSync(dir);
	fs.copyFileSync(file, path.join(root, "s.jsonl"));
	Object.assign(process.env, { HOME: root, PI_CODING_AGENT_DIR: agentDir, PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1" });
	process.chdir(cwd);
	const model = await startModel();
	const models = [{ id: "m1", contextWindow: 2000000, maxTokens: 4096, input: ["text"] }];
	const providers = { mock: { baseUrl: model.url, apiKey: "none", api: "anthropic-messages", models } };
	fs.writeFileSync(path.join(agentDir, "models.json"), JSON.stringify({ providers }));
	return { root, agentDir, cwd, model, file: path.join(root, "s.jsonl") };
}

async function measure({ who, file }) {
	const { root, agentDir, cwd, model, file: copy } = await home(file);
	const pi = await import(pathToFileURL(process.env.PI).href);
	const { SessionManager } = who === "pi" ? pi : await import(path.join(top, "bindings", "node", "pi.mjs"));
	const modelRuntime = await pi.ModelRuntime.create({
		authPath: path.join(agentDir, "auth.json"), modelsPath: path.join(agentDir, "models.json"),
	});
	const settingsManager = pi.SettingsManager.inMemory({ compaction: { enabled: true }, retry: { enabled: false } });
	const figures = {};
	const clock = { ms: 0 };
	const figure = async (name, work) => {
		clock.ms = 0;
		const from = process.cpuUsage();
		const result = await work();
		const { user, system } = process.cpuUsage(from);
		figures[`${name}, ms`] = (user + system) / 1000;
		if (name.includes("turn")) figures[`${name}, in the manager`] = clock.ms;
		return result;
	};
	/** What the process has, and that without what the engine keeps in reserve for new objects. */
	const look = () => {
		globalThis.gc();
		const { rss, heapTotal, heapUsed } = process.memoryUsage();
		return { all: rss, used: rss - (heapTotal - heapUsed) };
	};
	const memory = (when) => {
		const now = look();
		figures[`memory ${when} statistics, MB`] = (now.all - before.all) / 1e6;
		figures[`of it in use ${when} statistics, MB`] = (now.used - before.used) / 1e6;
	};

	const before = look();
	const manager = await figure("open", () => SessionManager.open(copy, undefined, cwd));
	const { session } = await figure("createAgentSession", () =>
		pi.createAgentSession({
			cwd, agentDir, modelRuntime, settingsManager, model: modelRuntime.getModel("mock", "m1"), thinkingLevel: "off",
			tools: ["bash"], sessionManager: timed(manager, clock),
		}),
	);
	model.push([call("toolu_1", "bash", { command: "true" })], "done");
	await figure("turn with a tool", () => session.prompt("go on"));
	await figure("plain turn", () => session.prompt("and on"));
	memory("before");
	await figure("first statistics", () => session.getSessionStats());
	memory("after");
	model.close();
	fs.rmSync(root, { recursive: true, force: true });
	return figures;
}

function main() {
	const rounds = Number(option("--rounds", "3"));
	const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "grove-bench-turns-")), "large.jsonl");
	execFileSync("python3", [path.join(top, "bench", "gen"), option("--size", "100M"), file], { stdio: "ignore" });
	const best = { pi: {}, grove: {} };
	for (let round = 0; round < rounds; round++) {
		for (const who of ["pi", "grove"]) {
			const out = execFileSync(process.execPath, ["--expose-gc", here, "--measure", JSON.stringify({ who, file })], { encoding: "utf8" });
			for (const [name, value] of Object.entries(JSON.parse(out.trimEnd().split("\n").at(-1)))) {
				best[who][name] = Math.min(value, best[who][name] ?? Infinity);
			}
		}
	}
	fs.rmSync(path.dirname(file), { recursive: true, force: true });
	console.log(`Node ${process.version}, ${rounds} rounds\n${"".padEnd(38)}${"pi".padStart(9)}${"grove".padStart(9)}${"ratio".padStart(8)}`);
	for (const name of Object.keys(best.pi)) {
		const [a, b] = [best.pi[name], best.grove[name]];
		const cell = (value) => value.toFixed(value < 10 ? 1 : 0).padStart(9);
		console.log(`${name.padEnd(38)}${cell(a)}${cell(b)}${`${(a / b).toFixed(1)}×`.padStart(8)}`);
	}
}

if (process.argv[2] === "--measure") {
	console.log(JSON.stringify(await measure(JSON.parse(process.argv[3]))));
	process.exit(0);
}
main();
