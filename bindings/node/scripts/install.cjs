"use strict";

// Builds grove.node from the C sources: a compiler and pkg-config are all it takes.
//
//   node install.cjs              unless there is one that can be loaded
//   node install.cjs --force      in any case
//   node install.cjs --prebuild   into prebuilds/, for packages that bring it along; what the
//                                 file needs is told in grove.node.json beside it

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { execFileSync, spawn, spawnSync } = require("node:child_process");
const { needs } = require("./needs.cjs");
const { findLibrary, listSources, pricesSource } = require("./sources.cjs");

const root = path.join(__dirname, "..");
const prebuilt = path.join(root, "prebuilds", `${process.platform}-${process.arch}`, "grove.node");
const built = path.join(root, "build", "grove.node");
const cc = (process.env.CC || "cc").split(" ");

const REQUIRED = { libcrypto: "1.1.1", libutf8proc: "2.0" };
const OPTIONAL = {
	sqlite: ["sqlite3", "3.35", "SQLite"],
	mariadb: ["libmariadb", "3.1", "MariaDB"],
	pcre2: ["libpcre2-8", "10.34", "regular expressions"],
};
const PACKAGES = "gcc libc6-dev pkg-config libssl-dev libutf8proc-dev libsqlite3-dev libmariadb-dev libpcre2-dev";

function fail(why) {
	console.error(`grove-sessions: cannot build the addon: ${why}`);
	process.exit(1);
}

function runs(command, args) {
	return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

function pkgConfig(...args) {
	return execFileSync("pkg-config", args, { encoding: "utf8" }).trim().split(/\s+/).filter(Boolean);
}

/** The directory of node_api.h. */
function findHeaders() {
	const places = [
		path.join(fs.realpathSync(process.execPath), "..", "..", "include", "node"),
		...(process.env.npm_config_nodedir ? [path.join(process.env.npm_config_nodedir, "include", "node")] : []),
		"/usr/include/node",
	];
	try {
		places.push(path.join(path.dirname(require.resolve("node-api-headers/package.json")), "include"));
	} catch {
		// not installed
	}
	const found = places.find((place) => fs.existsSync(path.join(place, "node_api.h")));
	if (!found) fail(`node_api.h is not found. Run "npm install node-api-headers", or on Debian "apt-get install libnode-dev".`);
	return found;
}

/** What this machine has: { sqlite, mariadb, pcre2 } and the flags for all of it. */
function findDependencies() {
	if (!runs(cc[0], [...cc.slice(1), "--version"])) fail(`there is no C compiler. On Debian: apt-get install ${PACKAGES}`);
	if (!runs("pkg-config", ["--version"])) fail(`there is no pkg-config. On Debian: apt-get install ${PACKAGES}`);
	const present = (name, version) => runs("pkg-config", [`--atleast-version=${version}`, name]);
	for (const [name, version] of Object.entries(REQUIRED)) {
		if (!present(name, version)) fail(`${name} ${version} or later is not found. On Debian: apt-get install ${PACKAGES}`);
	}
	const has = {};
	const names = Object.keys(REQUIRED);
	for (const [what, [name, version]] of Object.entries(OPTIONAL)) {
		has[what] = present(name, version);
		if (has[what]) names.push(name);
	}
	return { has, cflags: pkgConfig("--cflags", ...names), libs: pkgConfig("--libs", ...names) };
}

function run(command, args) {
	return new Promise((resolve, reject) => {
		const child = spawn(command, args, { stdio: ["ignore", "inherit", "inherit"] });
		child.on("error", reject);
		child.on("close", (status) => (status === 0 ? resolve() : reject(new Error(`${command} ${args.join(" ")} failed`))));
	});
}

/** Runs `work` on all items, as many at a time as there are processors. */
async function inParallel(items, work) {
	const left = [...items];
	const worker = async () => {
		try {
			for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
		} finally {
			left.length = 0; // after a failure nothing else is begun
		}
	};
	const ended = await Promise.allSettled(Array.from({ length: os.cpus().length || 1 }, worker));
	for (const { reason } of ended) if (reason) throw reason;
}

async function build(target) {
	const library = findLibrary();
	const headers = findHeaders();
	const { has, cflags, libs } = findDependencies();
	const work = fs.mkdtempSync(path.join(os.tmpdir(), "grove-node-build-"));
	try {
		const prices = path.join(work, "prices_built_in.c");
		fs.writeFileSync(prices, pricesSource(library));
		const flags = [
			"-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-pthread", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", "-w",
			'-DGROVE_PRICES_FILE="/usr/local/share/grove/prices.json"',
			`-ffile-prefix-map=${library}=.`, `-ffile-prefix-map=${root}=.`,
			"-include", path.join(library, "lib", "base", "banned.h"),
			`-I${path.join(library, "lib")}`, `-I${path.join(library, "include")}`, "-isystem", headers, ...cflags,
			...(process.env.CFLAGS ?? "").split(/\s+/).filter(Boolean),
		];
		const own = fs.readdirSync(path.join(root, "src")).filter((name) => name.endsWith(".c"));
		const sources = [...own.map((name) => path.join(root, "src", name)), ...listSources(library, has), prices];
		const object = (source) => path.join(work, `${source.replace(/[^\w.-]+/g, "_")}.o`);
		const about = Object.keys(OPTIONAL).filter((what) => has[what]).map((what) => OPTIONAL[what][2]);
		console.log(`grove-sessions: compiling ${sources.length} files, with ${about.join(", ") || "files only"}`);
		await inParallel(sources, (source) =>
			run(cc[0], [...cc.slice(1), ...flags, "-c", source, "-o", object(source)]),
		);
		const made = path.join(work, "grove.node");
		const visible = path.join(work, "visible.map");
		fs.writeFileSync(visible, "{ global: napi_register_module_v1; node_api_module_get_api_version_v1; local: *; };\n");
		await run(cc[0], [
			...cc.slice(1), "-shared", "-s", "-pthread", "-o", made, ...sources.map(object),
			`-Wl,--version-script=${visible}`, "-Wl,-Bsymbolic", "-Wl,-z,nodelete", ...libs, "-ldl",
		]);
		fs.mkdirSync(path.dirname(target), { recursive: true });
		// Another process may have the old one loaded: it is replaced, not written to.
		fs.copyFileSync(made, `${target}.new`);
		fs.renameSync(`${target}.new`, target);
	} finally {
		fs.rmSync(work, { recursive: true, force: true });
	}
}

function loads(file) {
	const load = `process.dlopen({exports:{}}, ${JSON.stringify(file)}, ${os.constants.dlopen.RTLD_NOW | (os.constants.dlopen.RTLD_DEEPBIND ?? 0)})`;
	return fs.existsSync(file) && runs(process.execPath, ["-e", load]);
}

async function main() {
	const wanted = process.argv[2];
	if (process.platform !== "linux") fail("only Linux is supported.");
	if (wanted === undefined && (loads(built) || loads(prebuilt))) return;
	const target = wanted === "--prebuild" ? prebuilt : built;
	await build(target);
	if (!loads(target)) fail(`${target} was built and cannot be loaded`);
	if (target === prebuilt) fs.writeFileSync(`${target}.json`, `${JSON.stringify(needs(target), null, 2)}\n`);
}

main().catch((error) => fail(error.message));
