"use strict";

// What the addon is built from.
//
//   node sources.cjs            before npm packs: copies the library's sources into library/
//   node sources.cjs --remove   after that: takes them away again
//
// In a clone the library is two directories up; a packed package carries it in library/.

const fs = require("node:fs");
const path = require("node:path");

const root = path.join(__dirname, "..");
const clone = path.join(root, "..", "..");
const carried = path.join(root, "library");

function isLibrary(dir) {
	return fs.existsSync(path.join(dir, "include", "grove.h")) && fs.existsSync(path.join(dir, "lib", "meson.build"));
}

/** The directory with lib/, include/ and data/. */
function findLibrary() {
	const found = [carried, clone].find(isLibrary);
	if (!found) throw new Error(`the sources of the library are in neither ${carried} nor ${clone}`);
	return found;
}

/**
 * The sources that lib/meson.build lists, for a machine that has these dependencies:
 * { sqlite: true, mariadb: false, pcre2: true }. It is read line by line, as far as it is a list:
 * names in quotes, `if x.found()`, `else`, `endif` and `x.found() ? 'a.c' : 'b.c'`.
 */
function listSources(library, has) {
	const holds = (condition) => condition.split(" or ").some((term) => has[/^(\w+)\.found\(\)$/.exec(term.trim())?.[1]]);
	const within = [];
	const names = [];
	for (const raw of fs.readFileSync(path.join(library, "lib", "meson.build"), "utf8").split("\n")) {
		const line = raw.replace(/^\s*#.*$/, "").trim();
		const [, condition] = /^if (.*)$/.exec(line) ?? [];
		if (condition) within.push(holds(condition));
		else if (line === "else") within.push(!within.pop());
		else if (line === "endif") within.pop();
		else if (within.every(Boolean)) {
			const choice = /(\w+\.found\(\)) \? '([^']+\.c)' : '([^']+\.c)'/.exec(line);
			if (choice) names.push(holds(choice[1]) ? choice[2] : choice[3]);
			else for (const [, name] of line.matchAll(/'([^']+\.c)'/g)) names.push(name);
		}
	}
	return names.map((name) => path.join(library, "lib", name));
}

/** The list of prices as a C source, as data/embed.py makes it. */
function pricesSource(library) {
	const text = JSON.stringify(JSON.parse(fs.readFileSync(path.join(library, "data", "prices.json"), "utf8")));
	const name = "grove__prices_built_in";
	const parts = text.match(/.{1,80}/gsu).map((part) => `\t${JSON.stringify(part)}\n`);
	return `extern const char ${name}[];\nconst char ${name}[] =\n${parts.join("")};\n`;
}

function remove() {
	fs.rmSync(carried, { recursive: true, force: true });
	if (isLibrary(clone)) fs.rmSync(path.join(root, "LICENSE"), { force: true });
}

function carry() {
	if (!isLibrary(clone)) return; // packed again from a package: it has them
	remove();
	for (const name of ["lib", "include", "data/prices.json"]) {
		fs.cpSync(path.join(clone, name), path.join(carried, name), { recursive: true });
	}
	fs.copyFileSync(path.join(clone, "LICENSE"), path.join(root, "LICENSE"));
}

if (require.main === module) (process.argv[2] === "--remove" ? remove : carry)();

module.exports = { findLibrary, listSources, pricesSource };
