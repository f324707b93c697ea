"use strict";

// SessionStorage as xcsh and oh-my-pi know it, for hosts without an IndexedSessionStorage.
//
// What is asked synchronously is answered from an index that is read once and kept up to date
// with what this storage writes. Writes are queued, for each path in order; the first one that
// fails is told by its writer, by drain() and by every read of that path.

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

	/** A line with its LF. It is in its place at once, and written after those before it. */
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

	/** Nothing can be waited for synchronously: it says what is known to have failed. */
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
	#index = new Map(); // path → { size, mtimeMs }
	#queues = new Map(); // path → the last write that is under way

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

	/** What others have written meanwhile. */
	async refresh() {
		await this.drain();
		const all = await this.#backend.loadIndex();
		this.#index = new Map(Array.from(all, ({ path: file, size, mtimeMs }) => [file, { size, mtimeMs }]));
	}

	// ----------------------------------------------------------- the queue

	/** Queues a write; one that follows a failed one fails with it. */
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

	/** All that was queued for this path is stored; rejects if it is not. */
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
		// A write of everything makes good what failed before it.
		const before = (this.#queues.get(file) ?? Promise.resolve()).catch(() => {});
		this.#queues.set(file, before);
		return this.#queue(file, () => this.#backend.writeFull(file, text, Date.now(), undefined, expectedSize));
	}

	/** The same for who waits for it: if it is refused, everything is as it was. */
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
		this.put(file, text, expectedSize).catch(() => {}); // told by drain() and by reads
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
