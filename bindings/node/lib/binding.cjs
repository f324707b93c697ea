"use strict";

// Finds and loads the addon, grove.node. If that fails, the error says what to do.

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { GroveError } = require("./errors.cjs");

const root = path.join(__dirname, "..");

/**
 * The places where grove.node may be, of which the first that exists is loaded: the file that a variable
 * names, one built by the install script, a prebuilt one, and one in the build directory of a clone.
 */
function places() {
	return [
		process.env.GROVE_NODE_ADDON,
		path.join(root, "build", "grove.node"),
		path.join(root, "prebuilds", `${process.platform}-${process.arch}`, "grove.node"),
		path.join(root, "..", "..", "build", "bindings", "node", "grove.node"),
	].filter(Boolean);
}

function refuse(message) {
	const error = new Error(`grove-sessions: ${message}`);
	error.code = "GROVE_NO_ADDON";
	return error;
}

function load() {
	const file = places().find((place) => fs.existsSync(place));
	if (!file) {
		throw refuse(
			"the addon has not been built, most likely because npm ran with --ignore-scripts. " +
				`Run "node ${path.join(root, "scripts", "install.cjs")}"; it needs a C compiler, pkg-config ` +
				"and the development files of libcrypto and libutf8proc.",
		);
	}
	const module = { exports: {} };
	try {
		// The Node of nodejs.org exports the symbols of the OpenSSL that it contains. With RTLD_DEEPBIND,
		// the libraries that the addon loads (libcrypto, libmariadb) use the OpenSSL they were built for.
		const { RTLD_NOW, RTLD_DEEPBIND } = os.constants.dlopen;
		process.dlopen(module, file, RTLD_NOW | (RTLD_DEEPBIND ?? 0));
	} catch (error) {
		const missing = /([\w.+-]+\.so[\w.]*): cannot open shared object file/.exec(error.message);
		const older = /version `GLIBC_([\d.]+)' not found/.exec(error.message);
		if (older) {
			throw refuse(
				`${file} needs glibc ${older[1]}, and this machine has an older one. ` +
					`Build the addon here: node ${path.join(root, "scripts", "install.cjs")} --force`,
			);
		}
		throw refuse(
			missing
				? `${file} needs the shared library ${missing[1]}, which is not installed. Install it (on Debian 12: ` +
						"apt-get install libssl3 libutf8proc2 libsqlite3-0 libmariadb3 libpcre2-8-0), " +
						`or build the addon for this machine: node ${path.join(root, "scripts", "install.cjs")} --force`
				: `${file} cannot be loaded: ${error.message}`,
		);
	}
	return module.exports;
}

const binding = load();
binding.setUp(GroveError);
// process.exit() waits for the threads that run jobs, so ask the jobs to end early.
process.on("exit", () => binding.shutDown());

module.exports = binding;
