"use strict";

// Logs: lines under a key in one store, read and written asynchronously. claude.cjs is built on them.
//
// Appends to a log that are made while another call for it is under way are collected, and become
// one append when it is their turn.

const binding = require("./binding.cjs");
const { openWorld, syncOf, Turns } = require("./turns.cjs");

const IDLE = 64; // the most idle logs that stay open; each has a descriptor or a statement

class Logs {
	#world;
	#open = new Map(); // from the key as JSON to its Log; the Log that was used last comes last
	#sync;

	constructor(url, options = {}) {
		this.#world = openWorld(url, options.dialect);
		this.#sync = syncOf(options.sync);
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

	/** The open logs that are removed with this key: without a subpath, all those of the session. */
	#with(project, session, subpath) {
		const all = [...this.#open].filter(([name]) => {
			const [p, s, sub] = JSON.parse(name);
			return p === project && s === session && (subpath === undefined || (sub ?? undefined) === subpath);
		});
		return all.map(([, log]) => log);
	}

	/** Deletes a log once all calls for it have ended. Resolves to whether there was one. */
	remove(project, session, subpath) {
		const others = this.#with(project, session, subpath);
		return this.at(project, session, subpath).after(others, () => binding.logRemove(this.#world, project, session, subpath));
	}
}

class Log extends Turns {
	#handle;
	#sync;
	#waiting; // an append that has not begun yet, to which lines can be added

	constructor(handle, sync) {
		super();
		this.#handle = handle;
		this.#sync = sync;
	}

	after(others, fn) {
		this.#waiting = undefined;
		return super.after(others, fn);
	}

	/**
	 * Appends lines: strings without line ends. With `idMember`, lines whose id is already stored are
	 * skipped. Resolves to { stored, skipped, bytes, modified } of all lines that were appended together;
	 * with `alone`, these lines are not combined with others.
	 */
	append(lines, { idMember, alone = false } = {}) {
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
			return JSON.parse(await binding.logAppend(this.#handle, batch.texts.join("\n"), idMember, this.#sync));
		});
		if (!alone) this.#waiting = batch;
		return batch.answer;
	}

	/** Resolves to the lines [from, to), or all lines, as one text with an LF after each; null if there is no log. */
	read(from, to) {
		return this.after([], () => binding.logRead(this.#handle, from, to));
	}

	value(name) {
		return this.after([], () => binding.logValueGet(this.#handle, name));
	}

	setValue(name, text) {
		return this.after([], () => binding.logValuePut(this.#handle, name, text));
	}
}

/** Parses lines of JSON. A line that is not JSON is skipped: a crash has cut it off. */
function parseLines(text) {
	const values = [];
	for (let from = 0; from < text.length; ) {
		const lf = text.indexOf("\n", from);
		const line = text.slice(from, lf < 0 ? undefined : lf);
		from = lf < 0 ? text.length : lf + 1;
		try {
			values.push(JSON.parse(line));
		} catch {
			// left behind by a writer that was killed in the middle of the line
		}
	}
	return values;
}

module.exports = { Logs, parseLines };
