"use strict";

// Logs: lines under a key in one store, asynchronously. What claude.cjs and omp.cjs stand on.
//
// Calls on one log are made one after the other, in the order in which they came. Appends that
// come while another is under way wait together, and are one append when it is their turn.

const binding = require("./binding.cjs");

const IDLE = 64; // logs that stay open, each with a descriptor or a statement
const SYNC = { none: 0, flush: 1, always: 2 };
const LOCK = 30000; // ms: nobody waits longer for a program that was killed
const IF_BYTES = 2;
const FORCE = 8;

function variables() {
	return Object.entries(process.env).filter(([, value]) => value !== undefined).flat();
}

class Logs {
	#world;
	#open = new Map(); // the key as JSON → Log, the one used last at the end
	#sync;

	constructor(url, options = {}) {
		if (typeof url !== "string" || url === "") throw new TypeError("the URL of a store is expected");
		const sync = options.sync ?? "none";
		if (!(sync in SYNC)) throw new TypeError(`sync must be one of ${Object.keys(SYNC).join(", ")}`);
		this.#sync = SYNC[sync];
		this.#world = binding.worldOpen(process.cwd(), undefined, variables(), [url], options.dialect, "");
	}

	/** The log of a key. */
	at(project, session, subpath) {
		const name = JSON.stringify([project, session, subpath]);
		const log = this.#open.get(name) ?? new Log(binding.logNew(this.#world, project, session, subpath), this.#sync);
		this.#open.delete(name);
		this.#open.set(name, log);
		for (const [other, old] of this.#open) {
			if (this.#open.size <= IDLE) break;
			if (old !== log && !old.busy) this.#open.delete(other);
		}
		return log;
	}

	async list(project, session) {
		return JSON.parse(await binding.logEach(this.#world, project, session));
	}

	/** The logs that go with this one. */
	#with(project, session, subpath) {
		const all = [...this.#open].filter(([name]) => {
			const [p, s, sub] = JSON.parse(name);
			return p === project && s === session && (subpath === undefined || (sub ?? undefined) === subpath);
		});
		return all.map(([, log]) => log);
	}

	/** Deletes a log, after what is under way for it. Answers whether there was one. */
	remove(project, session, subpath) {
		const others = this.#with(project, session, subpath);
		return this.at(project, session, subpath).after(others, () => binding.logRemove(this.#world, project, session, subpath));
	}

	/** The same, if `wanted(text)` says so while nobody can write to it. Answers whether it did. */
	removeIf([project, session, subpath], wanted) {
		const others = this.#with(project, session, subpath);
		return this.at(project, session, subpath).locked(others, async (text) => {
			const yes = wanted(text);
			if (yes) await binding.logRemove(this.#world, project, session, subpath);
			return yes;
		});
	}

	move(from, to) {
		const own = this.at(...from);
		return own.after([this.at(...to)], () => binding.logMove(this.#world, from[0], from[1], from[2], to[0], to[1], to[2]));
	}
}

class Log {
	#handle;
	#sync;
	#last = Promise.resolve(); // settles when all calls so far have
	#waiting; // an append that has not begun and takes more lines
	#calls = 0;

	constructor(handle, sync) {
		this.#handle = handle;
		this.#sync = sync;
	}

	get busy() {
		return this.#calls > 0;
	}

	/** Runs `fn` when its turn has come, after all that these others have under way, too. */
	after(others, fn) {
		const before = Promise.allSettled([this.#last, ...others.map((log) => log.#last)]);
		this.#waiting = undefined;
		this.#calls++;
		const answer = before.then(fn);
		this.#last = answer.then(
			() => void this.#calls--,
			() => void this.#calls--,
		);
		return answer;
	}

	/**
	 * Appends lines: strings without line ends. With `idMember`, those whose id is there are skipped.
	 * Answers { stored, skipped, bytes, modified }, of all that was appended together; `alone`: of these.
	 * `quiet`: nobody wants the last two, which a database would have to be asked for.
	 */
	append(lines, { idMember, alone = false, quiet = false } = {}) {
		if (lines.length === 0) return Promise.resolve({ stored: 0, skipped: 0, bytes: 0, modified: 0 });
		const text = lines.join("\n");
		if (!alone && this.#waiting && this.#waiting.idMember === idMember && this.#waiting.length + text.length < 1 << 20) {
			this.#waiting.texts.push(text);
			this.#waiting.length += text.length;
			return this.#waiting.answer;
		}
		const batch = { texts: [text], length: text.length, idMember };
		batch.answer = this.after([], async () => {
			if (this.#waiting === batch) this.#waiting = undefined;
			return JSON.parse(await binding.logAppend(this.#handle, batch.texts.join("\n"), idMember, this.#sync, quiet ? 1 : 0));
		});
		if (!alone) this.#waiting = batch;
		return batch.answer;
	}

	/** Puts these lines in the place of all. `bytes`: only if the log has so many. */
	replace(lines, { bytes } = {}) {
		const text = lines.length ? lines.join("\n") : undefined;
		const flags = FORCE | (bytes === undefined ? 0 : IF_BYTES);
		return this.after([], async () => JSON.parse(await binding.logReplace(this.#handle, text, undefined, 0, 0, flags, bytes)));
	}

	/** The lines [from, to), or all, as one text, an LF after each; null if the log does not exist. */
	read(from, to) {
		return this.after([], () => binding.logRead(this.#handle, from, to));
	}

	/** The first and the last bytes of what read() answers, no character cut in two; null without a log. */
	readEnds(head, tail) {
		return this.after([], () => binding.logReadEnds(this.#handle, head, tail));
	}

	/** Puts a title into the first line. Answers whether that has a place for it. */
	setTitle({ title, source, updatedAt }) {
		return this.after([], () => binding.logSetTitle(this.#handle, title, source, updatedAt));
	}

	/** Runs `fn(text)` while nobody else can write to this log; NOTFOUND if there is none. */
	locked(others, fn) {
		return this.after(others, async () => {
			await binding.logLock(this.#handle, LOCK);
			try {
				return await fn(await binding.logRead(this.#handle));
			} finally {
				await binding.logUnlock(this.#handle);
			}
		});
	}

	/** Keeps all others from writing, from now on until what is returned is called and what is under way is done. */
	lockSync() {
		binding.logLockSync(this.#handle, LOCK);
		this.#calls++;
		return () => {
			this.#calls--;
			return this.after([], () => binding.logUnlock(this.#handle));
		};
	}

	value(name) {
		return this.after([], () => binding.logValueGet(this.#handle, name));
	}

	setValue(name, text) {
		return this.after([], () => binding.logValuePut(this.#handle, name, text));
	}
}

/** The values of lines that are JSON; a line that a crash has cut off is no value. */
function parseLines(text) {
	const values = [];
	for (let from = 0; from < text.length; ) {
		const lf = text.indexOf("\n", from);
		const line = text.slice(from, lf < 0 ? undefined : lf);
		from = lf < 0 ? text.length : lf + 1;
		try {
			values.push(JSON.parse(line));
		} catch {
			// left by a writer that was killed in the middle of it
		}
	}
	return values;
}

module.exports = { Logs, parseLines };
