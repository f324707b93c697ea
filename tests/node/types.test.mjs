// The types, with the real compiler: where it is installed, and from npm in the long tests.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { long, packageDir, scratch } from "./lib.mjs";

const project = scratch();

/** The command that runs the compiler, or undefined. */
function findCompiler() {
	if (process.env.GROVE_TEST_TSC) return [process.execPath, process.env.GROVE_TEST_TSC];
	if (spawnSync("tsc", ["--version"]).status === 0) return ["tsc"];
	const own = path.join(project, "node_modules", "typescript", "bin", "tsc");
	if (long) spawnSync("npm", ["install", "--no-save", "--silent", "--prefix", project, "typescript"], { timeout: 300000 });
	return fs.existsSync(own) ? [process.execPath, own] : undefined;
}

const compiler = findCompiler();

test("what the types allow compiles, and the rest does not", { skip: !compiler && "SKIPPED: tsc is not installed" }, () => {
	const source = fileURLToPath(new URL("types/", import.meta.url));
	for (const name of fs.readdirSync(source)) fs.copyFileSync(path.join(source, name), path.join(project, name));
	fs.mkdirSync(path.join(project, "node_modules"), { recursive: true });
	fs.symlinkSync(packageDir, path.join(project, "node_modules", "grove-sessions"));
	for (const module of ["node16", "nodenext"]) {
		const args = ["--strict", "--noEmit", "--module", module, "--target", "es2022", "--lib", "es2022,dom,esnext.disposable"];
		const files = ["use.mts", "use.cts", "sockets.mts"];
		const { status, stdout } = spawnSync(compiler[0], [...compiler.slice(1), ...args, ...files], { cwd: project, encoding: "utf8" });
		assert.equal(status, 0, stdout);
	}
});

/** The agents' packages, where tests/peers/setup put them. */
const peers = process.env.GROVE_PEERS ?? path.join(process.env.GROVE_TEST_BUILD ?? "", "peers");
const agents = {
	"agents.mts": {
		"@earendil-works/pi-coding-agent": path.join(peers, "pi-new", "node_modules"),
		"@anthropic-ai/claude-agent-sdk": path.join(peers, "claude", "node_modules"),
	},
	"omp.mts": { "@oh-my-pi/pi-coding-agent": path.join(peers, "omp", "node_modules") },
};
const areThere = (packages) => Object.entries(packages).every(([name, dir]) => fs.existsSync(path.join(dir, name)));

for (const [file, packages] of Object.entries(agents)) {
	const skip = (!compiler || !areThere(packages)) && "SKIPPED: tsc or the agents are not there";
	test(`the agents' own types take what the package gives: ${file}`, { skip }, () => checkAgents(file, packages));
}

function checkAgents(file, packages) {
	const dir = scratch();
	const modules = path.join(dir, "node_modules");
	fs.copyFileSync(fileURLToPath(new URL(`types/${file}`, import.meta.url)), path.join(dir, file));
	for (const [name, from] of Object.entries({ ...packages, "grove-sessions": undefined })) {
		fs.mkdirSync(path.dirname(path.join(modules, name)), { recursive: true });
		fs.symlinkSync(from ? path.join(from, name) : packageDir, path.join(modules, name));
	}
	// Links stay as they are: what the package imports is found beside it.
	const args = [
		"--strict", "--noEmit", "--skipLibCheck", "--preserveSymlinks", "--module", "nodenext", "--target", "es2022",
		"--lib", "es2022,dom,esnext.disposable",
	];
	const { status, stdout } = spawnSync(compiler[0], [...compiler.slice(1), ...args, file], { cwd: dir, encoding: "utf8" });
	assert.equal(status, 0, stdout);
}
