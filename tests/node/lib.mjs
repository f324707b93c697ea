// What the tests of the Node package share: a home of their own, and a few messages.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export const packageDir = fileURLToPath(new URL("../../bindings/node/", import.meta.url));

const made = [];
process.on("exit", () => made.forEach((dir) => fs.rmSync(dir, { recursive: true, force: true })));

/** A directory that goes with the process. */
export function scratch() {
	made.push(fs.mkdtempSync(path.join(os.tmpdir(), "grove-node-")));
	return made.at(-1);
}

/** Makes a new, empty home the process's own. */
export function newHome() {
	const home = scratch();
	for (const name of Object.keys(process.env)) {
		if (/^(PI_|CLAUDE_|OMP_|XDG_|GROVE_(?!NODE_ADDON|TEST))/.test(name)) delete process.env[name];
	}
	process.env.HOME = home;
	return home;
}

export const user = (text) => ({ role: "user", content: text, timestamp: 1777777777000 });
export const assistant = (text) => ({
	role: "assistant", content: [{ type: "text", text }], api: "x", provider: "p", model: "m",
	usage: { input: 10, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 12, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.5 } },
	stopReason: "stop", timestamp: 1777777777001,
});

export const lines = (file) => fs.readFileSync(file, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));

/** Runs a module's text in another process; { status, signal, stdout, stderr, seconds }. */
export async function child(text, { env = {}, args = [], timeout = 60000 } = {}) {
	const from = Date.now();
	const p = spawn(process.execPath, [...args, "--input-type=module", "-e", text], {
		env: { ...process.env, ...env, GROVE_TEST_PACKAGE: path.join(packageDir, "index.mjs") }, timeout,
	});
	let stdout = "";
	let stderr = "";
	p.stdout.on("data", (data) => (stdout += data));
	p.stderr.on("data", (data) => (stderr += data));
	const [status, signal] = await new Promise((resolve) => p.on("close", (...end) => resolve(end)));
	return { status, signal, stdout, stderr, seconds: (Date.now() - from) / 1000 };
}

/** How many descriptors this process has, and how much memory in MiB. */
export const descriptors = () => fs.readdirSync("/proc/self/fd").length;
export const resident = () => process.memoryUsage().rss / 1048576;

export const long = Boolean(process.env.GROVE_TEST_LONG);
