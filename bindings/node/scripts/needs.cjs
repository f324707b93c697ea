"use strict";

// What a built addon needs from the machine that loads it.

const { execFileSync } = require("node:child_process");

/** The newest version of glibc that it asks for, and the libraries it names: { glibc: "2.34", libraries: [...] }. */
function needs(file) {
	const read = (...args) => execFileSync("readelf", ["--wide", ...args, file], { encoding: "utf8" });
	const versions = [...read("--version-info").matchAll(/Name: GLIBC_([\d.]+)/g)].map((found) => found[1]);
	const order = (a, b) => a.localeCompare(b, "en", { numeric: true });
	return {
		glibc: versions.sort(order).at(-1),
		libraries: [...read("--dynamic").matchAll(/\(NEEDED\).*\[(.+)\]/g)].map((found) => found[1]).sort(),
	};
}

module.exports = { needs };
