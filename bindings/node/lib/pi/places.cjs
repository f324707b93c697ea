"use strict";

// Places, where the sessions of a manager are: a directory of files, memory, or a store with a URL.

const fs = require("node:fs");
const path = require("node:path");
const binding = require("../binding.cjs");
const { Grove, groveFor } = require("../world.cjs");
const { MemoryLog } = require("./memory.cjs");
const { StoredLog } = require("./stored.cjs");
const { branchedEntries, newHeader } = require("./branch.cjs");
const { getDefaultSessionDir, newSessionId, resolve } = require("./paths.cjs");

const READ = 0;
const WRITE = 1;
const INIT = 8;
const FORK_DEFER = 4;

/** A directory of files, as pi keeps them. */
class FilePlace {
	isPersisted = true;

	constructor(cwd, dir) {
		this.cwd = resolve(cwd);
		this.dir = dir === undefined ? getDefaultSessionDir(this.cwd) : resolve(dir);
		fs.mkdirSync(this.dir, { recursive: true });
	}

	get usesDefaultDir() {
		return this.dir === getDefaultSessionDir(this.cwd);
	}

	get #world() {
		return Grove.worldOf(groveFor());
	}

	fileOf(log) {
		return binding.sessionAbout(log.handle).path;
	}

	create({ id, parentSession, file }) {
		const dir = file === undefined ? this.dir : undefined;
		return new StoredLog(
			binding.sessionCreate(this.#world, 0, "pi", this.cwd, id, dir, file, undefined, parentSession),
		);
	}

	openFile(place) {
		const file = resolve(place);
		const size = sizeOf(file);
		if (size === undefined) return this.create({ id: newSessionId(), file });
		return new StoredLog(openAs(this.#world, file, size === 0 ? WRITE | INIT : WRITE, "Session file is not a valid pi session"));
	}

	forkFile(place, id) {
		const file = resolve(place);
		const failure = "Cannot fork: source session file is empty or invalid";
		if (!sizeOf(file)) throw new Error(`${failure}: ${file}`);
		const source = openAs(this.#world, file, READ, failure);
		try {
			return new StoredLog(binding.sessionFork(source, undefined, this.cwd, this.dir, id));
		} finally {
			binding.sessionClose(source);
		}
	}

	branched(log, leafId) {
		const made = binding.sessionFork(log.handle, leafId, undefined, this.dir, newSessionId(), FORK_DEFER);
		return new StoredLog(made).adopt(log, leafId);
	}

	close(log) {
		binding.sessionClose(log.handle);
	}
}

function sizeOf(file) {
	try {
		return fs.statSync(file).size;
	} catch (error) {
		if (error.code === "ENOENT") return undefined;
		throw error;
	}
}

/** Opens a file. If it is not a session of pi, throws the error that pi would throw. */
function openAs(world, file, flags, failure) {
	let handle;
	try {
		handle = binding.sessionOpen(world, file, flags);
	} catch (error) {
		if (error.code === "DAMAGED" || error.code === "NOTSUP") throw new Error(`${failure}: ${file}`, { cause: error });
		throw error;
	}
	if (binding.sessionAbout(handle).dialect !== "claude") return handle;
	binding.sessionClose(handle);
	throw new Error(`${failure}: ${file}`);
}

/** Memory: sessions here are not stored anywhere. */
class MemoryPlace {
	isPersisted = false;
	usesDefaultDir = false;
	dir = "";

	constructor(cwd) {
		this.cwd = resolve(cwd);
	}

	fileOf() {
		return undefined;
	}

	create({ id, parentSession }) {
		return new MemoryLog(newHeader({ id, cwd: this.cwd, parentSession }));
	}

	branched(log, leafId) {
		const header = newHeader({ id: newSessionId(), cwd: this.cwd });
		return new MemoryLog(header, branchedEntries(log.path(leafId), log.labels()));
	}

	openFile(file) {
		return new FilePlace(this.cwd, path.dirname(resolve(file))).openFile(file);
	}

	close() {}
}

/**
 * A store with a URL. For pi, its sessions have no file. pi's runtime therefore forks and starts sessions
 * by calls on the manager itself, so that they are in the same store.
 */
class StorePlace {
	isPersisted = false;
	usesDefaultDir = false;
	dir = "";

	constructor(grove, cwd) {
		this.grove = grove;
		this.cwd = resolve(cwd);
	}

	fileOf() {
		return undefined;
	}

	create({ id, parentSession }) {
		const world = Grove.worldOf(this.grove);
		return new StoredLog(
			binding.sessionCreate(world, 0, "pi", this.cwd, id, undefined, undefined, undefined, parentSession),
		);
	}

	openFile(what) {
		return new StoredLog(binding.sessionOpen(Grove.worldOf(this.grove), what, WRITE));
	}

	/** Opens the session of this directory that was written to last, or creates one. */
	recent() {
		return new StoredLog(binding.sessionRecent(Grove.worldOf(this.grove), 0, "pi", this.cwd, newSessionId()));
	}

	has(id) {
		try {
			binding.sessionClose(binding.sessionOpen(Grove.worldOf(this.grove), id, READ));
			return true;
		} catch (error) {
			if (error.code === "NOTFOUND" || error.code === "AMBIGUOUS") return false;
			throw error;
		}
	}

	forkFile(what, id) {
		const source = binding.sessionOpen(Grove.worldOf(this.grove), what, READ);
		try {
			return new StoredLog(binding.sessionFork(source, undefined, this.cwd, undefined, id));
		} finally {
			binding.sessionClose(source);
		}
	}

	branched(log, leafId) {
		const made = binding.sessionFork(log.handle, leafId, undefined, undefined, newSessionId(), FORK_DEFER);
		return new StoredLog(made).adopt(log, leafId);
	}

	close(log) {
		binding.sessionClose(log.handle);
	}
}

module.exports = { FilePlace, MemoryPlace, StorePlace };
