// NODE_OPTIONS="--import /path/to/node_modules/grove-sessions/pi/register.mjs" pi
//
// Puts pi's own program on grove: the class inside pi gets our statics before pi starts.
// With GROVE_STORE, sessions are in that store instead of files.

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { SessionManager, onStore } from "../pi.mjs";

const NAME = "@earendil-works/pi-coding-agent";
const STATICS = ["create", "open", "continueRecent", "inMemory", "forkFrom", "findById", "list", "listAll"];

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

/** Puts our statics on pi's class, whose module is given. */
export function register(pi, ours = process.env.GROVE_STORE ? onStore(process.env.GROVE_STORE) : SessionManager) {
	for (const name of STATICS) pi.SessionManager[name] = ours[name].bind(ours);
}

const [file] = modules();
// Other programs may run under the same NODE_OPTIONS: without pi there is nothing to do.
if (file) register(await import(pathToFileURL(file).href));
