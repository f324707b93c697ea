// The package as npm has it: packed, installed into an empty project, and what it says when it cannot work.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { createRequire } from "node:module";
import { execFileSync, spawnSync } from "node:child_process";
import { long, newHome, packageDir, scratch } from "./lib.mjs";

const require = createRequire(import.meta.url);
const npm = spawnSync("npm", ["--version"]).status === 0;

/** A process without the addon that the build has made. */
const bare = { ...process.env, HOME: newHome(), npm_config_cache: scratch(), npm_config_update_notifier: "false" };
delete bare.GROVE_NODE_ADDON;

test("the list of sources is that of the build", { skip: !process.env.GROVE_TEST_BUILD }, () => {
	const { findLibrary, listSources } = require(path.join(packageDir, "scripts", "sources.cjs"));
	const targets = JSON.parse(execFileSync("meson", ["introspect", "--targets", process.env.GROVE_TEST_BUILD], { maxBuffer: 1 << 26 }));
	const built = targets.find((t) => t.name === "grove" && t.type === "shared library").target_sources[0].sources;
	const uses = (part) => built.some((file) => file.endsWith(part));
	const has = { sqlite: uses("/sqlite.c"), mariadb: uses("/mysql.c"), pcre2: uses("/regex.c") };
	assert.deepEqual(listSources(findLibrary(), has).sort(), built.map((file) => path.resolve(file)).sort());
	const without = listSources(findLibrary(), {}).map((file) => path.basename(file));
	for (const name of ["regex_none.c", "sqlite_none.c", "mysql_none.c", "search_none.c", "history_none.c", "catalog_none.c"]) {
		assert.ok(without.includes(name), name);
	}
	assert.ok(!without.includes("sql.c"));
});

test("without the addon there is one clear error", () => {
	const copy = path.join(scratch(), "copy");
	for (const name of ["package.json", "index.cjs", "index.mjs", "lib"]) {
		fs.cpSync(path.join(packageDir, name), path.join(copy, name), { recursive: true });
	}
	const load = (how) => spawnSync(process.execPath, ["-e", how], { env: bare, encoding: "utf8" });
	for (const how of [`require(${JSON.stringify(copy)})`, `import(${JSON.stringify(path.join(copy, "index.mjs"))})`]) {
		const { status, stderr } = load(how);
		assert.equal(status, 1);
		assert.match(stderr, /grove-sessions: the addon has not been built/);
		assert.match(stderr, new RegExp(`node ${path.join(copy, "scripts", "install.cjs")}`));
	}
	const addon = path.join(copy, "prebuilds", `${process.platform}-${process.arch}`, "grove.node");
	fs.mkdirSync(path.dirname(addon), { recursive: true });
	fs.writeFileSync(addon, "no library");
	assert.match(load(`require(${JSON.stringify(copy)})`).stderr, /grove\.node cannot be loaded: .*(invalid ELF|too short)/);

	// one that needs a library which is not there
	const cc = (...args) => execFileSync("cc", ["-shared", "-x", "c", "/dev/null", ...args]);
	fs.unlinkSync(addon);
	cc("-Wl,-soname,libnowhere.so.7", "-o", path.join(copy, "libnowhere.so"));
	cc("-Wl,--no-as-needed", path.join(copy, "libnowhere.so").replace(/^/, "-Wl,"), "-o", addon);
	const { stderr } = load(`require(${JSON.stringify(copy)})`);
	assert.match(stderr, /needs the shared library libnowhere\.so\.7, which is not installed/);
	assert.match(stderr, /install\.cjs --force/);
});

test("a prebuilt file tells which glibc it needs", { skip: !process.env.GROVE_NODE_ADDON }, () => {
	const { needs } = require(path.join(packageDir, "scripts", "needs.cjs"));
	const told = needs(process.env.GROVE_NODE_ADDON);
	const symbols = execFileSync("objdump", ["-T", process.env.GROVE_NODE_ADDON], { encoding: "utf8", maxBuffer: 1 << 26 });
	const asked = [...symbols.matchAll(/GLIBC_(\d+)\.(\d+)/g)].map(([, major, minor]) => major * 1000 + +minor);
	const [major, minor] = told.glibc.split(".").map(Number);
	assert.equal(major * 1000 + minor, Math.max(...asked));
	assert.ok(told.libraries.includes("libc.so.6") && told.libraries.some((name) => name.startsWith("libcrypto.so")));

	// on a machine with an older one, the error says so
	const copy = path.join(scratch(), "copy");
	for (const name of ["package.json", "index.cjs", "lib"]) {
		fs.cpSync(path.join(packageDir, name), path.join(copy, name), { recursive: true });
	}
	const addon = path.join(copy, "prebuilds", `${process.platform}-${process.arch}`, "grove.node");
	fs.mkdirSync(path.dirname(addon), { recursive: true });
	const later = "9".repeat(told.glibc.length - 2);
	const bytes = fs.readFileSync(process.env.GROVE_NODE_ADDON, "latin1");
	fs.writeFileSync(addon, bytes.replaceAll(`GLIBC_${told.glibc}\0`, `GLIBC_9.${later}\0`), "latin1");
	const { stderr } = spawnSync(process.execPath, ["-e", `require(${JSON.stringify(copy)})`], { env: bare, encoding: "utf8" });
	assert.match(stderr, new RegExp(`needs glibc 9\\.${later}, and this machine has an older one`));
});

/** npm works in place: a copy of the clone, so that tests that run meanwhile see nothing of it. */
function copyOfClone() {
	const from = scratch();
	const clone = path.join(packageDir, "..", "..");
	for (const name of ["lib", "include", "data", "LICENSE"]) fs.cpSync(path.join(clone, name), path.join(from, name), { recursive: true });
	fs.cpSync(packageDir, path.join(from, "bindings", "node"), {
		recursive: true, filter: (file) => !/\/(build|prebuilds|library|node_modules)$/.test(file),
	});
	return from;
}

function emptyProject() {
	const project = scratch();
	fs.writeFileSync(path.join(project, "package.json"), '{"name":"empty","private":true}');
	return project;
}

const building = { ...bare, CFLAGS: "-O0", npm_config_offline: "true" };
const install = (cwd, what = [], env = building) =>
	execFileSync("npm", ["install", "--foreground-scripts", ...what], { cwd, env, stdio: ["ignore", "ignore", "inherit"] });

/** Packs the package of a clone into `project`: { filename, files }. */
function pack(own, project) {
	const [packed] = JSON.parse(execFileSync("npm", ["pack", "--json", "--pack-destination", project], { cwd: own, env: bare }));
	return { ...packed, files: packed.files.map((file) => file.path) };
}

/** What an installed package says to CommonJS and to modules. */
function useIn(project) {
	const use = `
		const s = grove.create({ cwd: "/tmp" });
		s.append({ role: "user", content: "hello" });
		grove.list().then((all) => console.log(all[0].firstMessage, s.length));`;
	const run = (...args) => execFileSync(process.execPath, args, { cwd: project, env: { ...bare, HOME: newHome() }, encoding: "utf8" });
	assert.equal(run("-e", `const grove = require("grove-sessions"); ${use}`), "hello 1\n");
	assert.equal(run("--input-type=module", "-e", `import * as grove from "grove-sessions"; ${use}`), "hello 1\n");
}

test("a clone's package builds itself where it lies, and a project takes it", { skip: (!npm && "npm is not installed") || (!long && "one of the long tests") }, () => {
	const own = path.join(copyOfClone(), "bindings", "node");
	install(own);
	assert.ok(fs.existsSync(path.join(own, "build", "grove.node")));
	const project = emptyProject();
	install(project, [own]);
	useIn(project);
});

test("with a prebuilt file in it, a packed package needs no compiler", { skip: (!npm && "npm is not installed") || (!long && "one of the long tests") }, () => {
	const { needs } = require(path.join(packageDir, "scripts", "needs.cjs"));
	const own = path.join(copyOfClone(), "bindings", "node");
	execFileSync(process.execPath, ["scripts/install.cjs", "--prebuild"], { cwd: own, env: building, stdio: ["ignore", "ignore", "inherit"] });
	const addon = `prebuilds/${process.platform}-${process.arch}/grove.node`;
	const told = JSON.parse(fs.readFileSync(path.join(own, `${addon}.json`), "utf8"));
	assert.deepEqual(told, needs(path.join(own, addon)));
	assert.match(told.glibc, /^2\.\d+$/);

	const project = emptyProject();
	const { filename, files } = pack(own, project);
	assert.ok(files.includes(addon) && files.includes(`${addon}.json`));
	install(project, [`./${filename}`], { ...building, CC: "false" });
	assert.ok(!fs.existsSync(path.join(project, "node_modules", "grove-sessions", "build")));
	useIn(project);
});

test("a packed package builds itself in an empty project", { skip: !npm && "npm is not installed" }, () => {
	const project = emptyProject();
	const from = copyOfClone();
	const { filename, files } = pack(path.join(from, "bindings", "node"), project);
	assert.ok(files.includes("library/include/grove.h"));
	assert.ok(files.includes("LICENSE"));
	assert.ok(!fs.existsSync(path.join(from, "bindings", "node", "library")), "what was carried in is gone");

	install(project, [`./${filename}`]);
	useIn(project);
	const addon = fs.readFileSync(path.join(project, "node_modules", "grove-sessions", "build", "grove.node"));
	assert.ok(!addon.includes(project), "it tells nothing about where it was built");
});
