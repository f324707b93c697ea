// NODE_OPTIONS="--import /path/to/node_modules/grove-sessions/pi/register.mjs" pi
//
// Puts pi's own program on grove: the class inside pi gets our statics before pi starts.
// With GROVE_STORE, sessions are in that store instead of files.
//
// Other programs run under the same NODE_OPTIONS, as all that pi's own tools start: nothing of grove is
// loaded before there is a pi.

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const NAME = "@earendil-works/pi-coding-agent";
const MAKING = ["create", "open", "continueRecent", "forkFrom"];
const FINDING = ["findById", "list", "listAll"];

/** pi's module: beside the program that is being started, or installed where it can see it. */
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

/** pi without its store would lose what is said in it: the program ends with the reason. */
function orEnd(work) {
	try {
		return work();
	} catch (error) {
		console.error(`grove-sessions: GROVE_STORE: ${error.message}`);
		process.exit(1);
	}
}

/**
 * The statics of pi's class for a store. Before its first use the store is asked whether it is there.
 *
 * pi's runtime looks whether the session before has a file: where it has none, as in a store, the next one is to
 * be in memory, `inMemory(cwd)`. Once there is a session in the store, such a one belongs there too. Sessions
 * that nobody wants to keep, of --no-session and for drafts, are made with more arguments.
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

/** Puts our statics on pi's class, whose module is given. */
export async function register(pi, store = process.env.GROVE_STORE) {
	const { SessionManager, onStore } = await import("../pi.mjs");
	Object.assign(pi.SessionManager, store ? inStore(onStore, store) : inFiles(SessionManager));
}

const [file] = modules();
if (file) await register(await import(pathToFileURL(file).href));
