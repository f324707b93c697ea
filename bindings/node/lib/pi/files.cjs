"use strict";

// Finds files of sessions without loading them.

const fs = require("node:fs");
const path = require("node:path");
const { resolve } = require("./paths.cjs");

const BLOCK = 4096;
const LIMIT = 1 << 20;

/** Returns the first JSON value in the lines of a file if it is a header. Reads at most 1 MiB. */
function readHeader(file) {
	const fd = fs.openSync(file, "r");
	try {
		let text = Buffer.alloc(0);
		for (let size = BLOCK; ; size *= 4) {
			const bytes = Buffer.alloc(Math.min(size, LIMIT));
			const got = fs.readSync(fd, bytes, 0, bytes.length, 0);
			text = bytes.subarray(0, got);
			const found = firstValue(text, got < bytes.length);
			if (found) return found.type === "session" && typeof found.id === "string" ? found : undefined;
			if (got < bytes.length || size >= LIMIT) return undefined;
		}
	} finally {
		fs.closeSync(fd);
	}
}

function firstValue(bytes, isWhole) {
	const lines = bytes.toString("utf8").split("\n");
	if (!isWhole) lines.pop();
	for (const line of lines) {
		try {
			const value = JSON.parse(line);
			if (value) return value;
		} catch {
			// not JSON: the header may be in a later line
		}
	}
	return undefined;
}

function headerOf(file) {
	try {
		return readHeader(file);
	} catch {
		return undefined;
	}
}

function sessionFiles(dir) {
	try {
		return fs.readdirSync(dir).filter((name) => name.endsWith(".jsonl")).map((name) => path.join(dir, name));
	} catch {
		return [];
	}
}

const isOf = (header, cwd) => cwd === undefined || (Boolean(header.cwd) && resolve(header.cwd) === resolve(cwd));

/** Returns the session file that was modified last; with `cwd`, the last one among the sessions of that directory. */
function findMostRecentSession(dir, cwd) {
	const files = sessionFiles(resolve(dir)).flatMap((file) => {
		try {
			return [{ file, time: fs.statSync(file).mtimeMs }];
		} catch {
			return [];
		}
	});
	files.sort((a, b) => b.time - a.time);
	for (const { file } of files) {
		const header = headerOf(file);
		if (header && isOf(header, cwd)) return file;
	}
	return null;
}

/** Returns the file of the session with exactly this id. */
function findFile(dir, id, cwd) {
	return sessionFiles(resolve(dir)).find((file) => {
		const header = headerOf(file);
		return header?.id === id && isOf(header, cwd);
	});
}

module.exports = { findFile, findMostRecentSession };
