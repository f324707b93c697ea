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
		const args = ["--strict", "--noEmit", "--module", module, "--target", "es2022", "--lib", "es2022,dom,esnext.disposable", "--types", ""];
		const files = ["use.mts", "use.cts", "sockets.mts"];
		const { status, stdout } = spawnSync(compiler[0], [...compiler.slice(1), ...args, ...files], { cwd: project, encoding: "utf8" });
		assert.equal(status, 0, stdout);
	}
});
