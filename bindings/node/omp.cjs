"use strict";

// grove-sessions/omp: where oh-my-pi and xcsh keep their sessions, on any store, a row a line.
//
//     import * as omp from "@oh-my-pi/pi-coding-agent";
//     import { openStorage } from "grove-sessions/omp";
//
//     const storage = await openStorage("mysql://me@host/sessions", omp);
//     omp.SessionManager.create(cwd, dir, storage);
//
// A path is a key: its directory is the project, its name the session. What lies in the directory
// of a session belongs to it. What is stored are ordinary sessions: `grove --store URL ls` shows them.

const path = require("node:path");
const { StringDecoder } = require("node:string_decoder");
const { Logs } = require("./lib/logs.cjs");
const { missing, SessionStorage } = require("./lib/storage.cjs");

const SUFFIX = ".jsonl";
const TITLE = "omp.title";
const UNENDED = "omp.unended"; // "1": the text is not ended by an LF, its line in the log is
const AT_ONCE = 16; // questions to the store while the index is read
const PATIENCE = 5000; // ms, with who has locked a session
const PAUSE = 20;

/** The lines of a text; what follows the last LF is a line of its own. */
function linesOf(text) {
	if (text === "") return [];
	return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** The first and the last bytes of a text, no character cut in two. */
function slices(text, head, tail) {
	const bytes = Buffer.from(text);
	let from = Math.max(0, bytes.length - tail);
	while (from > 0 && from < bytes.length && (bytes[from] & 0xc0) === 0x80) from++;
	const first = head < bytes.length ? new StringDecoder("utf8").write(bytes.subarray(0, head)) : text;
	return [first, bytes.toString("utf8", from)];
}

async function inGroups(list, fn) {
	const results = [];
	for (let i = 0; i < list.length; i += AT_ONCE) results.push(...(await Promise.all(list.slice(i, i + AT_ONCE).map(fn))));
	return results;
}

/** The back end of oh-my-pi's IndexedSessionStorage. */
class SessionStorageBackend {
	#logs;
	#keys = new Map(); // path → [project, session, subpath], of what there is
	#asked = new Map(); // path → what is asked before it is removed
	#Conflict;

	constructor(url, { SessionWriteConflictError, sync } = {}) {
		this.#logs = new Logs(url, { sync });
		this.#Conflict = SessionWriteConflictError;
	}

	// ----------------------------------------------------------------- paths

	/** A name without .jsonl gets a slash at its end, which no name of a file has. */
	#nameOf(file) {
		return file.endsWith(SUFFIX) && file !== SUFFIX ? file.slice(0, -SUFFIX.length) : `${file}/`;
	}

	#fileOf(name) {
		return name.endsWith("/") ? name.slice(0, -1) : name + SUFFIX;
	}

	#key(file) {
		let key = this.#keys.get(file);
		if (key === undefined) {
			const dir = path.dirname(file);
			const owner = this.#keys.get(dir + SUFFIX);
			const name = this.#nameOf(path.basename(file));
			key = owner && owner[2] === undefined ? [owner[0], owner[1], name] : [dir, name, undefined];
		}
		return key;
	}

	#pathOf({ project, session, subpath }) {
		const file = path.join(project ?? "", this.#fileOf(session));
		return subpath === null ? file : path.join(file.slice(0, -SUFFIX.length), this.#fileOf(subpath));
	}

	#log(file) {
		return this.#logs.at(...this.#key(file));
	}

	/** The log of a path that is about to be written to. */
	#made(file) {
		const key = this.#key(file);
		this.#keys.set(file, key);
		return this.#logs.at(...key);
	}

	// --------------------------------------------------------------- reading

	async init() {
		await this.#logs.list();
	}

	async #title(file) {
		const text = await this.#log(file).value(TITLE);
		if (text === null) return {};
		const { title, source, updatedAt } = JSON.parse(text);
		return { title, titleSource: source, titleUpdatedAt: updatedAt };
	}

	/** Is it a text of its own kind, such as a draft? Sessions are lines. */
	#isText(file) {
		return !file.endsWith(SUFFIX);
	}

	async #isUnended(file) {
		return this.#isText(file) && (await this.#log(file).value(UNENDED)) === "1";
	}

	/** What is known besides its lines. */
	async #known(file, bytes) {
		if (this.#isText(file)) return { size: (await this.#isUnended(file)) ? bytes - 1 : bytes };
		return { size: bytes, ...(await this.#title(file)) };
	}

	async loadIndex() {
		const sessions = await this.#logs.list();
		const below = await inGroups(sessions, ({ project, session }) => this.#logs.list(project ?? undefined, session));
		const all = [...sessions, ...below.flat()];
		for (const log of all) this.#keys.set(this.#pathOf(log), [log.project ?? undefined, log.session, log.subpath ?? undefined]);
		return inGroups(all, async (log) => {
			const file = this.#pathOf(log);
			return { path: file, mtimeMs: log.modified, ...(await this.#known(file, log.bytes)) };
		});
	}

	async readFull(file) {
		const text = await this.#log(file).read();
		return text !== null && (await this.#isUnended(file)) ? text.slice(0, -1) : text;
	}

	async readSlices(file, head, tail) {
		if (this.#isText(file)) return slices((await this.readFull(file)) ?? "", head, tail);
		return (await this.#log(file).readEnds(head, tail)) ?? ["", ""];
	}

	// --------------------------------------------------------------- writing

	async #conflict(file, expected, error) {
		if (error.code !== "CONFLICT" || expected === undefined) return error;
		const text = await this.readFull(file);
		const actual = text === null ? null : Buffer.byteLength(text);
		return this.#Conflict ? new this.#Conflict(file, expected, actual) : error;
	}

	async writeFull(file, text, mtimeMs, title, expectedSize) {
		const log = this.#made(file);
		const more = expectedSize && (await this.#isUnended(file)) ? 1 : 0;
		try {
			await log.replace(linesOf(text), expectedSize === undefined ? {} : { bytes: (expectedSize ?? 0) + more });
		} catch (error) {
			throw await this.#conflict(file, expectedSize, error);
		}
		if (this.#isText(file)) await log.setValue(UNENDED, text === "" || text.endsWith("\n") ? "" : "1");
		if (title !== undefined) await log.setValue(TITLE, JSON.stringify(title));
	}

	async append(file, line, mtimeMs) {
		if (await this.#isUnended(file)) return this.writeFull(file, (await this.readFull(file)) + line, mtimeMs);
		await this.#append(file, line);
		if (this.#isText(file) && !line.endsWith("\n")) await this.#log(file).setValue(UNENDED, "1");
	}

	async #append(file, line) {
		for (const until = Date.now() + PATIENCE; ; ) {
			try {
				await this.#made(file).append(linesOf(line), { quiet: true });
				return;
			} catch (error) {
				// another has the lock, for a moment
				if (error.code !== "CONFLICT" || Date.now() > until) throw error;
				await new Promise((done) => setTimeout(done, PAUSE));
			}
		}
	}

	/** A session begins with a line that has room for its title, where other programs find it. */
	async updateSessionTitle(file, title) {
		const log = this.#log(file);
		await log.setValue(TITLE, JSON.stringify(title));
		await log.setTitle(title);
	}

	/**
	 * Keeps other processes from writing to a session, which is what this returns, until that is called;
	 * undefined if it was not written yet.
	 */
	lockSync(file) {
		const log = this.#log(file);
		const known = this.#keys.has(file) && !log.busy;
		try {
			return log.lockSync();
		} catch (error) {
			if (error.code !== "NOTFOUND") throw error;
			if (known) throw missing(file);
			return undefined;
		}
	}

	truncate(file, mtimeMs) {
		return this.writeFull(file, "", mtimeMs);
	}

	#forget(file) {
		const below = file.slice(0, -SUFFIX.length) + path.sep;
		for (const other of [...this.#keys.keys()]) {
			if (other === file || (this.#keys.get(other)[2] !== undefined && other.startsWith(below))) this.#keys.delete(other);
		}
	}

	async remove(files) {
		const file = files.find((name) => this.#asked.has(name));
		if (file !== undefined && !(await this.#removeAsked(file))) return;
		for (const name of files) {
			if (name !== file) await this.#logs.remove(...this.#key(name));
			this.#forget(name);
		}
	}

	/** A failure is not the queue's, which goes on: removeIf() tells it. */
	async #removeAsked(file) {
		const asked = this.#asked.get(file);
		try {
			asked.answer = await this.#logs.removeIf(this.#key(file), asked.shouldDelete);
		} catch (error) {
			asked.error = error.code === "NOTFOUND" ? missing(file) : error;
		}
		return asked.answer;
	}

	/**
	 * Deletes a session by `remove`, which calls remove() of this object, if `shouldDelete(text)` says so
	 * while nobody else can write to it. Answers whether it did.
	 */
	async removeIf(file, shouldDelete, remove) {
		const asked = { shouldDelete, answer: false };
		this.#asked.set(file, asked);
		try {
			await remove();
		} finally {
			this.#asked.delete(file);
		}
		if (asked.error) throw asked.error;
		return asked.answer;
	}

	async move(from, to) {
		const old = this.#key(from);
		this.#keys.delete(from);
		await this.#logs.remove(...this.#key(to));
		this.#keys.delete(to);
		await this.#logs.move(old, this.#key(to));
		this.#keys.set(to, this.#key(to));
	}
}

/** The host's storage, and what only a store that others can be kept from makes possible. */
function withLocks(Storage) {
	return class extends Storage {
		#backend;

		constructor(backend) {
			super(backend);
			this.#backend = backend;
		}

		/** What `operation` writes is written before others can write again. */
		withSessionFileLockSync(file, operation) {
			const unlock = this.#backend.lockSync(file);
			try {
				return operation();
			} finally {
				if (unlock) this.confirmWrites(file).then(unlock, unlock).catch(() => {}); // it ends by itself
			}
		}

		async deleteSessionWithArtifactsIf(file, shouldDelete) {
			await this.confirmWrites(file);
			let deleted = false;
			try {
				deleted = await this.#backend.removeIf(file, shouldDelete, () => this.deleteSessionWithArtifacts(file));
			} finally {
				if (!deleted) await this.refresh(); // it is still there
			}
			return deleted;
		}
	};
}

/** A back end in the store with this URL, for an IndexedSessionStorage of one's own. */
function openBackend(url, options) {
	return new SessionStorageBackend(url, options);
}

/**
 * A storage in the store with this URL: a directory, "sqlite:FILE", "mysql://…" or "memory:". `host`
 * is oh-my-pi's module, whose IndexedSessionStorage does the rest; without one, as for xcsh, the
 * SessionStorage of this package does.
 */
async function openStorage(url, host, options = {}) {
	const Host = host?.IndexedSessionStorage ?? SessionStorage;
	// older ones cannot tell when something was written
	const Storage = Host.prototype.confirmWrites && Host.prototype.refresh ? withLocks(Host) : Host;
	const storage = new Storage(
		openBackend(url, { ...options, SessionWriteConflictError: host?.SessionWriteConflictError }),
	);
	await storage.initialize();
	return storage;
}

module.exports = { openBackend, openStorage, SessionStorage, SessionStorageBackend };
