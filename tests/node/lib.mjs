// What the tests of the Node package share: a home of their own, and a few messages.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const packageDir = fileURLToPath(new URL("../../bindings/node/", import.meta.url));

/** A directory that goes with the process. */
export function scratch() {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), "grove-node-"));
	process.on("exit", () => fs.rmSync(dir, { recursive: true, force: true }));
	return dir;
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
