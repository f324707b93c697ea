"use strict";

// The entries of one open session as objects. Each is made when it is first asked for
// and is the same object from then on; arrays of them are fresh.

const binding = require("./binding.cjs");
const { GroveError } = require("./errors.cjs");
const { Heads } = require("./heads.cjs");

const NO_ENTRY = 0xffffffff;
/** Of enum grove_kind. */
const KIND = { label: 11, name: 12 };
/** Heads are fetched for so many rows at a time, or more. */
const CHUNK = 256;
/** Long arrays are made with room for so many more entries: then they need not be copied to take them. */
const ROOM = 1024;

/** Engines keep what is left over when an array becomes a little shorter. */
function arrayWithRoom(length) {
	const array = new Array(length + ROOM);
	array.length = length;
	return array;
}

/** Rows, until the log is rewritten: then they mean other lines, and a new one of these begins. */
class Rows {
	known = []; // entries by row
	#handle;
	#made = []; // by row / CHUNK: the heads that entries are made of
	#stale = false;

	constructor(handle) {
		this.#handle = handle;
	}

	/** Fetches heads for [from, to) where they are missing, each gap at once. */
	fetch(from, to, count) {
		if (this.known.length === 0) this.known = arrayWithRoom(count);
		const last = Math.ceil(to / CHUNK);
		for (let chunk = Math.floor(from / CHUNK); chunk < last; chunk++) {
			if (this.#made[chunk]) continue;
			let end = chunk + 1;
			while (end < last && !this.#made[end]) end++;
			const from = chunk * CHUNK;
			const heads = new Heads(this, from, binding.viewHeads(this.#handle, from, Math.min(end * CHUNK, count)));
			for (; chunk < end; chunk++) if ((chunk + 1) * CHUNK <= count) this.#made[chunk] = heads;
			// The last chunk may not be full yet: what comes later is not in these heads, so they are
			// not kept for it, and all its entries are made of them now.
			if (end * CHUNK > count) for (let row = (end - 1) * CHUNK; row < count; row++) this.#make(heads, row);
		}
	}

	#make(heads, row) {
		this.known[row] ??= heads.entry(row) ?? this.whole(row);
		return this.known[row];
	}

	at(row, count) {
		const entry = this.known[row];
		if (entry !== undefined) return entry;
		const heads = this.#made[Math.floor(row / CHUNK)];
		if (heads) return this.#make(heads, row);
		this.fetch(row, row + 1, count);
		return this.known[row] ?? this.at(row, count);
	}

	id(row) {
		return this.known[row]?.id ?? binding.viewId(this.#handle, row);
	}

	/** A line of its own, as an object. */
	whole(row) {
		let at = row;
		if (this.#stale) {
			const { id } = this.known[row] ?? {};
			at = typeof id === "string" ? binding.viewFind(this.#handle, id) : -1;
			if (at < 0) throw new GroveError("the log was rewritten, and this entry is gone", "STALE");
		}
		return JSON.parse(binding.viewLine(this.#handle, at));
	}

	/** Several of them, in one crossing. */
	wholes(rows) {
		return this.#stale ? rows.map((row) => this.whole(row)) : JSON.parse(binding.viewLines(this.#handle, Uint32Array.from(rows)));
	}

	/** The log was rewritten: whoever still has an entry of before finds the rest of it by its id. */
	leave() {
		this.#stale = true;
		this.#made = [];
	}
}

class Entries {
	#handle;
	#rows;
	#last; // row and id of the entry that was set last
	#lastId;

	constructor(handle) {
		this.#handle = handle;
		this.#rows = new Rows(handle);
	}

	get length() {
		return binding.viewCount(this.#handle);
	}

	at(row) {
		return this.#rows.known[row] ?? this.#rows.at(row, this.length);
	}

	/** The entry with this id, or undefined. */
	find(id) {
		// Whoever appends an entry mostly looks at it next.
		if (id === this.#lastId && this.#lastId !== undefined) return this.at(this.#last);
		const row = typeof id === "string" ? binding.viewFind(this.#handle, id) : -1;
		return row < 0 ? undefined : this.at(row);
	}

	all() {
		const { length } = this;
		this.#rows.fetch(0, length, length);
		for (let row = 0; row < length; row++) this.#rows.at(row, length);
		return this.#rows.known.slice(0, length);
	}

	/** Those of these rows: a Uint32Array. */
	rows(rows) {
		const { length } = this;
		// Mostly they are nearly all of some range: then one crossing brings them.
		if (rows.length > CHUNK) this.#rows.fetch(rows[0], rows.at(-1) + 1, length);
		const entries = arrayWithRoom(rows.length);
		for (let i = 0; i < rows.length; i++) entries[i] = this.#rows.at(rows[i], length);
		return entries;
	}

	/** Takes in the answer of an append: an array of its entries. */
	appended([first, nr, lines, , others]) {
		if (others < 0) this.reset();
		if (nr === 0) return [];
		const parsed = nr === 1 ? [JSON.parse(lines)] : lines.split("\n", nr).map((line) => JSON.parse(line));
		for (let i = 0; i < nr; i++) this.#rows.known[first + i] = parsed[i];
		return parsed;
	}

	/** From now on this object is the entry of a row. */
	set(row, entry) {
		this.#rows.known[row] = entry;
		this.#last = row;
		this.#lastId = entry.id;
	}

	/** After a refresh: if what we know stands elsewhere now, the log was rewritten. */
	refreshed() {
		const known = this.#rows.known;
		const isKnown = (entry) => entry !== undefined;
		for (const row of [known.findLastIndex(isKnown), known.findIndex(isKnown)]) {
			const id = known[row]?.id;
			if (typeof id === "string" && binding.viewFind(this.#handle, id) !== row) return this.reset();
		}
	}

	/** These objects are the entries of the first rows; undefined: nobody has one yet. */
	adopt(entries) {
		const known = arrayWithRoom(entries.length);
		for (let row = 0; row < entries.length; row++) known[row] = entries[row];
		this.#rows.known = known;
	}

	/** The entry of a row if somebody has asked for it. */
	known(row) {
		return this.#rows.known[row];
	}

	/** For each entry the row of its parent; NO_ENTRY: none. */
	parents() {
		return this.#column(0);
	}

	/** For each entry its kind, one of KIND or another. */
	kinds() {
		return this.#column(1);
	}

	#column(which) {
		const cells = binding.viewRows(this.#handle);
		const column = new Uint32Array(cells.length / 4);
		for (let row = 0; row < column.length; row++) column[row] = cells[4 * row + which];
		return column;
	}

	/** The log was rewritten. */
	reset() {
		this.#rows.leave();
		this.#rows = new Rows(this.#handle);
		this.#lastId = undefined;
	}
}

module.exports = { Entries, KIND, NO_ENTRY };
