"use strict";

// grove-sessions/omp: the storage of oh-my-pi and xcsh, in any store, with one row for each line.
//
//     import * as omp from "@oh-my-pi/pi-coding-agent";
//     import { openStorage } from "grove-sessions/omp";
//
//     const storage = await openStorage("mysql://me@host/sessions", omp);
//     omp.SessionManager.create(cwd, dir, storage);
//
// <grove/storage.h> says which path is which session. What is stored are ordinary sessions, which
// `grove --store URL ls` shows.

const path = require("node:path");
const binding = require("./lib/binding.cjs");
const { missing, SessionStorage } = require("./lib/storage.cjs");
const { openWorld, syncOf, Turns } = require("./lib/turns.cjs");

const SUFFIX = ".jsonl";
const IDLE = 64; // beyond this number of paths, the queues of idle ones are dropped
const TOGETHER = 1 << 20; // the most characters that are appended at once
const PATIENCE = 5000; // ms for which an append is tried again while another program has locked the session
const PAUSE = 20; // ms between two tries
const LOCK = 30000; // ms after which a lock ends by itself, in case the program that has it was killed

/** The queue of the calls for one path. */
class File extends Turns {
	waiting; // an append that has not begun yet, to which text can be added

	after(others, fn) {
		this.waiting = undefined;
		return super.after(others, fn);
	}
}

/** The back end of oh-my-pi's IndexedSessionStorage. */
class SessionStorageBackend {
	#storage;
	#sync;
	#files = new Map(); // from a path to its File
	#asked = new Map(); // from a path that removeIf() removes to the question and its answer
	#Conflict;

	constructor(url, { SessionWriteConflictError, sync } = {}) {
		this.#storage = binding.storageNew(openWorld(url));
		this.#sync = syncOf(sync);
		this.#Conflict = SessionWriteConflictError;
	}

	#at(file) {
		const own = this.#files.get(file) ?? new File();
		this.#files.set(file, own);
		if (this.#files.size > IDLE) {
			for (const [other, turns] of this.#files) if (turns !== own && !turns.busy) this.#files.delete(other);
		}
		return own;
	}

	/** The queue of the session to which a path may belong: a write of the path waits until the session is written. */
	#owner(file) {
		const owner = this.#files.get(path.dirname(file) + SUFFIX);
		return owner ? [owner] : [];
	}

	/** The queues of all paths that belong to a session. */
	#below(file) {
		const dir = `${file.slice(0, -SUFFIX.length)}/`;
		return [...this.#files].filter(([other]) => file.endsWith(SUFFIX) && other.startsWith(dir)).map(([, turns]) => turns);
	}

	// --------------------------------------------------------------- reading

	async init() {
		await this.loadIndex();
	}

	async loadIndex() {
		return JSON.parse(await binding.storageEach(this.#storage));
	}

	async #read(file, nothing, fn) {
		try {
			return await this.#at(file).after([], fn);
		} catch (error) {
			if (error.code !== "NOTFOUND") throw error;
			return nothing;
		}
	}

	readFull(file) {
		return this.#read(file, null, () => binding.storageRead(this.#storage, file));
	}

	readSlices(file, head, tail) {
		return this.#read(file, ["", ""], () => binding.storageReadSlices(this.#storage, file, head, tail));
	}

	// --------------------------------------------------------------- writing

	async #conflict(file, expected, error) {
		if (error.code !== "CONFLICT" || expected === undefined || !this.#Conflict) return error;
		const text = await this.readFull(file);
		return new this.#Conflict(file, expected, text === null ? null : Buffer.byteLength(text));
	}

	async writeFull(file, text, mtimeMs, title, expectedSize) {
		const bytes = expectedSize === undefined ? undefined : (expectedSize ?? 0);
		const { title: words, source, updatedAt } = title ?? {};
		try {
			await this.#at(file).after(this.#owner(file), () =>
				binding.storageWrite(this.#storage, file, text, bytes, title === undefined ? 0 : 1, words, source, updatedAt),
			);
		} catch (error) {
			throw await this.#conflict(file, expectedSize, error);
		}
	}

	/** Appends a line. Texts that are appended while an earlier call is under way are written together. */
	append(file, line, mtimeMs) {
		const own = this.#at(file);
		const text = line === "" || line.endsWith("\n") || !file.endsWith(SUFFIX) ? line : `${line}\n`;
		if (own.waiting && own.waiting.text.length + text.length < TOGETHER) {
			own.waiting.text += text;
			return own.waiting.answer;
		}
		const batch = { text };
		batch.answer = own.after(this.#owner(file), () => {
			if (own.waiting === batch) own.waiting = undefined;
			return this.#append(file, batch.text);
		});
		own.waiting = batch;
		return batch.answer;
	}

	async #append(file, text) {
		for (const until = Date.now() + PATIENCE; ; ) {
			try {
				await binding.storageAppend(this.#storage, file, text, this.#sync);
				return;
			} catch (error) {
				// another program has locked the session, which should not take long
				if (error.code !== "CONFLICT" || Date.now() > until) throw error;
				await new Promise((done) => setTimeout(done, PAUSE));
			}
		}
	}

	/** Writes the title into the line at the start of the session that has room for it, where other programs look. */
	async updateSessionTitle(file, { title, source, updatedAt }) {
		await this.#at(file).after([], () => binding.storageSetTitle(this.#storage, file, title, source, updatedAt));
	}

	/**
	 * Keeps other processes from writing to a session, and returns a function that allows it again. Returns
	 * undefined if the session has not been written yet.
	 */
	lockSync(file) {
		const own = this.#at(file);
		let there = false;
		try {
			there = binding.storageLockSync(this.#storage, file, LOCK);
		} catch (error) {
			if (error.code !== "NOTFOUND") throw error;
			if (!own.busy) throw missing(file);
		}
		if (!there) return undefined;
		const release = own.hold();
		return () => {
			release();
			return own.after([], () => binding.storageUnlock(this.#storage, file));
		};
	}

	truncate(file, mtimeMs) {
		return this.writeFull(file, "", mtimeMs);
	}

	async remove(files) {
		const file = files.find((name) => this.#asked.has(name));
		if (file !== undefined && !(await this.#removeAsked(file))) return;
		for (const name of files) {
			if (name !== file) await this.#at(name).after(this.#below(name), () => binding.storageRemove(this.#storage, name));
		}
	}

	/**
	 * Removes a path for removeIf(). If that fails, removeIf() throws the error; this function does not, so that
	 * the host's queue goes on.
	 */
	async #removeAsked(file) {
		const asked = this.#asked.get(file);
		try {
			asked.answer = await this.#at(file).after(this.#below(file), () => this.#removeLocked(file, asked.shouldDelete));
		} catch (error) {
			asked.error = error.code === "NOTFOUND" ? missing(file) : error;
		}
		return asked.answer;
	}

	async #removeLocked(file, shouldDelete) {
		await binding.storageLock(this.#storage, file, LOCK);
		try {
			const yes = shouldDelete(await binding.storageRead(this.#storage, file));
			if (yes) await binding.storageRemove(this.#storage, file);
			return yes;
		} finally {
			await binding.storageUnlock(this.#storage, file);
		}
	}

	/**
	 * Deletes a session if `shouldDelete(text)`, which is called while nobody else can write to the session,
	 * returns true. `remove` must call remove() of this object. Resolves to whether the session was deleted.
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
		await this.#at(from).after([this.#at(to), ...this.#below(from)], () => binding.storageRename(this.#storage, from, to));
	}
}

/** Extends the host's storage class by the methods that need a store in which sessions can be locked. */
function withLocks(Storage) {
	return class extends Storage {
		#backend;

		constructor(backend) {
			super(backend);
			this.#backend = backend;
		}

		/** Runs `operation`. Other processes can write again only after everything that it has written is stored. */
		withSessionFileLockSync(file, operation) {
			const unlock = this.#backend.lockSync(file);
			try {
				return operation();
			} finally {
				if (unlock) this.confirmWrites(file).then(unlock, unlock).catch(() => {}); // if that fails, the lock ends by itself
			}
		}

		async deleteSessionWithArtifactsIf(file, shouldDelete) {
			await this.confirmWrites(file);
			let deleted = false;
			try {
				deleted = await this.#backend.removeIf(file, shouldDelete, () => this.deleteSessionWithArtifacts(file));
			} finally {
				if (!deleted) await this.refresh(); // the host's index must have the session again
			}
			return deleted;
		}
	};
}

/** Opens a back end in the store with this URL, for an IndexedSessionStorage of your own. */
function openBackend(url, options) {
	return new SessionStorageBackend(url, options);
}

/**
 * Opens a storage in the store with this URL: a directory, "sqlite:FILE", "mysql://…" or "memory:".
 * `host` is oh-my-pi's module, whose IndexedSessionStorage is used. Without it, as for xcsh, the
 * SessionStorage of this package is used.
 */
async function openStorage(url, host, options = {}) {
	const Host = host?.IndexedSessionStorage ?? SessionStorage;
	// older hosts cannot tell when something has been written
	const Storage = Host.prototype.confirmWrites && Host.prototype.refresh ? withLocks(Host) : Host;
	const storage = new Storage(
		openBackend(url, { ...options, SessionWriteConflictError: host?.SessionWriteConflictError }),
	);
	await storage.initialize();
	return storage;
}

module.exports = { openBackend, openStorage, SessionStorage, SessionStorageBackend };
