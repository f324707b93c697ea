// NODE_OPTIONS="--import /path/to/node_modules/grove-sessions/pi/register.mjs" pi
//
// Puts the unmodified pi program on grove: before pi starts, the SessionManager class inside pi gets our
// static methods. With GROVE_STORE, sessions are in that store instead of files.
//
// Other programs run under the same NODE_OPTIONS, such as all that pi's own tools start. Therefore nothing
// of grove is loaded unless pi is found.

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const NAME = "@earendil-works/pi-coding-agent";
const MAKING = ["create", "open", "continueRecent", "forkFrom"];
const FINDING = ["findById", "list", "listAll"];

/** The files that may be pi's module: beside the program that is being started, or installed where that program finds it. */
function modules() {
	const program = process.argv[1] && fs.existsSync(process.argv[1]) ? fs.realpathSync(process.argv[1]) : undefined;
	const found = [];
	if (program && program.includes("pi-coding-agent")) found.push(path.join(path.dirname(program), "index.js"));
	try {
		found.push(createRequire(program ?? path.join(process.cwd(), "x.js")).resolve(NAME));
	} catch {
		// not installed there
	}
	return found.filter((file) => fs.existsSync(file));
}

/** Runs `work`; if it fails, ends the program with the reason, since pi without its store would lose the conversation. */
function orEnd(work) {
	try {
		return work();
	} catch (error) {
		console.error(`grove-sessions: GROVE_STORE: ${error.message}`);
		process.exit(1);
	}
}

/**
 * The static methods of pi's class for a store. Before the first of them runs, a lookup checks that the store
 * can be used.
 *
 * When pi starts another session, it looks whether the previous one has a file. If it has none, as in a store,
 * pi calls `inMemory(cwd)`. Once a session of the store is in use, that call must therefore make a session in
 * the store, too. Sessions that are not to be kept (of --no-session, and for drafts) are made with more
 * arguments, and stay in memory.
 */
function inStore(onStore, url) {
	const ours = orEnd(() => onStore(url));
	let isAsked = false;
	let isUsed = false;
	const call = (name) => (...args) => {
		if (!isAsked) orEnd(() => ours.findById(process.cwd(), "is-it-there"));
		isAsked = true;
		const made = ours[name](...args);
		isUsed ||= MAKING.includes(name);
		return made;
	};
	const statics = Object.fromEntries([...MAKING, ...FINDING].map((name) => [name, call(name)]));
	return {
		...statics,
		inMemory: (...args) => (isUsed && args.length === 1 ? statics.create(...args) : ours.inMemory(...args)),
	};
}

function inFiles(ours) {
	return Object.fromEntries([...MAKING, ...FINDING, "inMemory"].map((name) => [name, ours[name].bind(ours)]));
}

/** Puts our static methods on the SessionManager class of the given pi module. */
export async function register(pi, store = process.env.GROVE_STORE) {
	const { SessionManager, onStore } = await import("../pi.mjs");
	Object.assign(pi.SessionManager, store ? inStore(onStore, store) : inFiles(SessionManager));
}

const [file] = modules();
if (file) await register(await import(pathToFileURL(file).href));
