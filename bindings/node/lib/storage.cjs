"use strict";

// A SessionStorage as xcsh and oh-my-pi define it, for hosts without an IndexedSessionStorage.
//
// Synchronous calls are answered from an index, which is read once and then updated with what this
// storage writes. Writes are queued, and those of one path are made in order. The first write of a
// path that fails is reported by its writer, by drain() and by every read of that path.

const path = require("node:path");

function missing(file) {
	return Object.assign(new Error(`ENOENT: no such file or directory, open '${file}'`), {
		code: "ENOENT", errno: -2, syscall: "open", path: file,
	});
}

function matches(name, glob) {
	if (glob === undefined || glob === "*") return true;
	return glob.startsWith("*") ? name.endsWith(glob.slice(1)) : name === glob;
}

class Writer {
	#storage;
	#file;
	#error;
	#open = true;
	#onError;

	constructor(storage, file, { flags = "a", onError } = {}) {
		this.#storage = storage;
		this.#file = file;
		this.#onError = onError;
		if (flags === "w") this.#take(storage.put(file, ""));
	}

	#take(written) {
		written.catch((error) => {
			this.#error ??= error;
			this.#onError?.(error);
		});
		return written;
	}

	/** Appends a line, which has its LF. Its place is fixed at once; it is written after the lines before it. */
	append(line) {
		if (this.#error) return Promise.reject(this.#error);
		if (!this.#open) return Promise.reject(new Error("the writer is closed"));
		return this.#take(this.#storage.add(this.#file, line));
	}

	appendSync(line) {
		if (this.#error) throw this.#error;
		if (!this.#open) throw new Error("the writer is closed");
		this.#take(this.#storage.add(this.#file, line));
	}

	writeLine(line) {
		return this.append(line.endsWith("\n") ? line : `${line}\n`);
	}

	async flush() {
		await this.#storage.settled(this.#file);
		if (this.#error) throw this.#error;
	}

	/** Throws the error of a write that is known to have failed. Cannot wait, since writes are asynchronous. */
	flushSync() {
		if (this.#error) throw this.#error;
	}

	fsync() {
		return this.flush();
	}

	async close() {
		this.#open = false;
		await this.flush();
	}

	isOpen() {
		return this.#open;
	}

	getError() {
		return this.#error;
	}
}

class SessionStorage {
	#backend;
	#index = new Map(); // from a path to its { size, mtimeMs }
	#queues = new Map(); // from a path to the promise of the last write that is queued for it

	constructor(backend) {
		this.#backend = backend;
	}

	get defersSyncPublish() {
		return true;
	}

	async initialize() {
		await this.#backend.init();
		await this.refresh();
	}

	/** Reads the index again, which may have changed because other programs have written. */
	async refresh() {
		await this.drain();
		const all = await this.#backend.loadIndex();
		this.#index = new Map(Array.from(all, ({ path: file, size, mtimeMs }) => [file, { size, mtimeMs }]));
	}

	// ----------------------------------------------------------- the queue

	/** Queues a write. If the write before it fails, this one is not made, and fails with the same error. */
	#queue(file, fn) {
		const turn = (this.#queues.get(file) ?? Promise.resolve()).then(fn);
		const ended = turn.then(() => this.#queues.get(file) === ended && this.#queues.delete(file));
		ended.catch(() => {});
		this.#queues.set(file, ended);
		return turn;
	}

	async settled(file) {
		await this.#queues.get(file);
	}

	/** Waits until everything that was queued for this path is stored; rejects if that fails. */
	confirmWrites(file) {
		return this.settled(file);
	}

	async drain() {
		await Promise.all(this.#queues.values());
	}

	add(file, text) {
		const known = this.#index.get(file);
		this.#index.set(file, { size: (known?.size ?? 0) + Buffer.byteLength(text), mtimeMs: Date.now() });
		return this.#queue(file, () => this.#backend.append(file, text, Date.now()));
	}

	put(file, text, expectedSize) {
		this.#index.set(file, { size: Buffer.byteLength(text), mtimeMs: Date.now() });
		// This write replaces the whole file, so failures of earlier writes no longer matter.
		const before = (this.#queues.get(file) ?? Promise.resolve()).catch(() => {});
		this.#queues.set(file, before);
		return this.#queue(file, () => this.#backend.writeFull(file, text, Date.now(), undefined, expectedSize));
	}

	/**
	 * As put(), for callers that wait for the write. If it fails, the index is as it was before, and later
	 * writes do not fail because of it.
	 */
	async #replace(file, text, expectedSize) {
		const known = this.#index.get(file);
		try {
			await this.put(file, text, expectedSize);
		} catch (error) {
			this.#queues.delete(file);
			if (known) this.#index.set(file, known);
			else this.#index.delete(file);
			throw error;
		}
	}

	// --------------------------------------------------------- synchronous

	ensureDirSync() {}

	fsyncDirSync() {}

	existsSync(file) {
		return this.#index.has(file);
	}

	statSync(file) {
		const known = this.#index.get(file);
		if (!known) throw missing(file);
		return { ...known, mtime: new Date(known.mtimeMs) };
	}

	listFilesSync(dir, glob) {
		return [...this.#index.keys()].filter((file) => path.dirname(file) === path.resolve(dir) && matches(path.basename(file), glob));
	}

	writeTextSync(file, text, { expectedSize } = {}) {
		this.put(file, text, expectedSize).catch(() => {}); // drain() and reads report the error
	}

	openWriter(file, options) {
		return new Writer(this, file, options);
	}

	// -------------------------------------------------------- asynchronous

	async exists(file) {
		return this.existsSync(file);
	}

	async readText(file) {
		await this.settled(file);
		const text = await this.#backend.readFull(file);
		if (text === null) throw missing(file);
		return text;
	}

	async readTextSlices(file, head, tail) {
		await this.settled(file);
		if (!this.#index.has(file)) throw missing(file);
		return this.#backend.readSlices(file, head, tail);
	}

	async readTextPrefix(file, bytes) {
		return (await this.readTextSlices(file, bytes, 0))[0];
	}

	writeText(file, text) {
		return this.#replace(file, text);
	}

	async writeTextAtomic(file, text, { expectedSize, commitGuard } = {}) {
		await this.settled(file).catch(() => {});
		if (commitGuard && !commitGuard()) return;
		await this.#replace(file, text, expectedSize);
	}

	async updateSessionTitle(file, title) {
		await this.#queue(file, () => this.#backend.updateSessionTitle(file, title, Date.now()));
	}

	async rename(from, to) {
		const known = this.#index.get(from);
		if (!known) throw missing(from);
		await this.settled(from);
		await this.#queue(to, () => this.#backend.move(from, to, Date.now()));
		this.#index.delete(from);
		this.#index.set(to, known);
	}

	async unlink(file) {
		if (!this.#index.delete(file)) throw missing(file);
		await this.#queue(file, () => this.#backend.remove([file]));
	}

	async deleteSessionWithArtifacts(file) {
		const below = file.replace(/\.jsonl$/, "") + path.sep;
		for (const other of [...this.#index.keys()]) if (other.startsWith(below)) this.#index.delete(other);
		this.#index.delete(file);
		await this.#queue(file, () => this.#backend.remove([file]));
	}
}

module.exports = { missing, SessionStorage };
