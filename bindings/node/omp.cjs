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
const { Logs } = require("./lib/logs.cjs");
const { SessionStorage } = require("./lib/storage.cjs");

const SUFFIX = ".jsonl";
const TITLE = "omp.title";
const AT_ONCE = 16; // questions to the store while the index is read

/** The lines of a text; what follows the last LF is a line of its own. */
function linesOf(text) {
	if (text === "") return [];
	return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** The first and the last bytes of a text, no character cut in two. */
function slices(text, head, tail) {
	const bytes = Buffer.from(text);
	const cut = (from, to) => {
		while (from > 0 && from < bytes.length && (bytes[from] & 0xc0) === 0x80) from++;
		while (to > from && to < bytes.length && (bytes[to] & 0xc0) === 0x80) to--;
		return bytes.toString("utf8", from, to);
	};
	return [cut(0, Math.min(head, bytes.length)), tail > 0 ? cut(Math.max(0, bytes.length - tail), bytes.length) : ""];
}

/** The first line of a session with another title in it; undefined if it has no room for one. */
function withTitle(line, { title, source, updatedAt }) {
	let slot;
	try {
		slot = JSON.parse(line);
	} catch {
		return undefined;
	}
	if (slot?.type !== "title" || typeof slot.pad !== "string") return undefined;
	Object.assign(slot, { title, source, updatedAt, pad: "" });
	const room = Buffer.byteLength(line) - Buffer.byteLength(JSON.stringify(slot));
	return room < 0 ? undefined : JSON.stringify({ ...slot, pad: " ".repeat(room) });
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

	async loadIndex() {
		const sessions = await this.#logs.list();
		const below = await inGroups(sessions, ({ project, session }) => this.#logs.list(project ?? undefined, session));
		const all = [...sessions, ...below.flat()];
		for (const log of all) this.#keys.set(this.#pathOf(log), [log.project ?? undefined, log.session, log.subpath ?? undefined]);
		return inGroups(all, async (log) => {
			const file = this.#pathOf(log);
			return { path: file, size: log.bytes, mtimeMs: log.modified, ...(await this.#title(file)) };
		});
	}

	readFull(file) {
		return this.#log(file).read();
	}

	async readSlices(file, head, tail) {
		return slices((await this.readFull(file)) ?? "", head, tail);
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
		try {
			await log.replace(linesOf(text), expectedSize === undefined ? {} : { bytes: expectedSize ?? 0 });
		} catch (error) {
			throw await this.#conflict(file, expectedSize, error);
		}
		if (title !== undefined) await log.setValue(TITLE, JSON.stringify(title));
	}

	async append(file, line) {
		await this.#made(file).append(linesOf(line), { quiet: true });
	}

	async updateSessionTitle(file, title) {
		const log = this.#log(file);
		await log.setValue(TITLE, JSON.stringify(title));
		await this.#fillSlot(log, title);
	}

	/**
	 * A session begins with a line that has room for its title, where other programs find it. It keeps
	 * its length. If others write meanwhile it is theirs to fill in.
	 */
	async #fillSlot(log, title) {
		const old = (await log.read(0, 1))?.trimEnd();
		const slot = old ? withTitle(old, title) : undefined;
		if (slot === undefined || slot === old) return;
		const text = await log.read();
		if (!text?.startsWith(old)) return;
		try {
			await log.replace([slot, ...linesOf(text).slice(1)], { bytes: Buffer.byteLength(text) });
		} catch (error) {
			if (error.code !== "CONFLICT") throw error;
		}
	}

	async truncate(file) {
		await this.#made(file).replace([]);
	}

	async remove(files) {
		for (const file of files) {
			await this.#logs.remove(...this.#key(file));
			const below = file.slice(0, -SUFFIX.length) + path.sep;
			for (const other of [...this.#keys.keys()]) {
				if (other === file || (this.#keys.get(other)[2] !== undefined && other.startsWith(below))) this.#keys.delete(other);
			}
		}
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

/**
 * A storage in the store with this URL: a directory, "sqlite:FILE", "mysql://…" or "memory:". `host`
 * is oh-my-pi's module, whose IndexedSessionStorage does the rest; without one, as for xcsh, the
 * SessionStorage of this package does.
 */
async function openStorage(url, host, options = {}) {
	const Storage = host?.IndexedSessionStorage ?? SessionStorage;
	const storage = new Storage(
		new SessionStorageBackend(url, { ...options, SessionWriteConflictError: host?.SessionWriteConflictError }),
	);
	await storage.initialize();
	return storage;
}

module.exports = { openStorage, SessionStorage, SessionStorageBackend };
