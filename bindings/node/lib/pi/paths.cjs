"use strict";

// Where pi keeps its sessions, and which ids sessions and entries may have.

const crypto = require("node:crypto");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { fileURLToPath } = require("node:url");

const ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;

function assertValidSessionId(id) {
	if (!ID.test(id)) {
		throw new Error(
			"Session id must be non-empty, contain only alphanumeric characters, '-', '_', and '.', and start and end with an alphanumeric character",
		);
	}
}

/** The home directory. HOME is read first: in some runtimes, os.homedir() returns what it was when they started. */
const home = () => process.env.HOME || os.homedir();

/** Turns "~", "~/x" and file: URLs into paths. */
function normalize(place) {
	if (place === "~") return home();
	if (place.startsWith("~/")) return path.join(home(), place.slice(2));
	return place.startsWith("file://") ? fileURLToPath(place) : place;
}

const resolve = (place) => path.resolve(normalize(place));

function agentDirectory() {
	const named = process.env.PI_CODING_AGENT_DIR;
	return named ? resolve(named) : path.join(home(), ".pi", "agent");
}

/** Returns the directory of a project's sessions, and creates it if needed. */
function getDefaultSessionDir(cwd, agentDir = agentDirectory()) {
	const name = resolve(cwd).replace(/^[/\\]/, "").replace(/[/\\:]/g, "-");
	const dir = path.join(resolve(agentDir), "sessions", `--${name}--`);
	fs.mkdirSync(dir, { recursive: true });
	return dir;
}

/** The time in the last session id, and the counter in it, which begins with a random number. */
const last = { ms: 0, count: crypto.randomBytes(6).readUIntBE(0, 6) % 2 ** 41 };

/**
 * Makes a UUID of version 7, as pi does. The ids that a process makes are in ascending order, even within
 * one millisecond.
 */
function newSessionId() {
	last.ms = Math.max(last.ms, Date.now());
	if (++last.count === 2 ** 41) Object.assign(last, { ms: last.ms + 1, count: 0 });
	const { ms, count } = last;
	const bytes = crypto.randomBytes(16);
	bytes.writeUIntBE(ms, 0, 6);
	bytes[6] = 0x70 | (count / 2 ** 37);
	bytes[7] = (count / 2 ** 29) & 0xff;
	bytes[8] = 0x80 | ((count / 2 ** 23) & 0x3f);
	bytes.writeUInt16BE((count / 2 ** 7) & 0xffff, 9);
	bytes[11] = ((count << 1) & 0xfe) | (bytes[11] & 1);
	return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** A supply of random hex digits, which is made for many ids at a time. */
const digits = { text: "", at: 0 };
function eightDigits() {
	if (digits.at === digits.text.length) Object.assign(digits, { text: crypto.randomBytes(1024).toString("hex"), at: 0 });
	digits.at += 8;
	return digits.text.slice(digits.at - 8, digits.at);
}

/** Makes an id of eight hex digits that no entry has yet. */
function newEntryId(isTaken) {
	for (let tries = 0; tries < 100; tries++) {
		const id = eightDigits();
		if (!isTaken(id)) return id;
	}
	return crypto.randomUUID();
}

function fileNameOf(header) {
	return `${header.timestamp.replace(/[:.]/g, "-")}_${header.id}.jsonl`;
}

module.exports = {
	agentDirectory, assertValidSessionId, fileNameOf, getDefaultSessionDir, newEntryId, newSessionId, normalize, resolve,
};
