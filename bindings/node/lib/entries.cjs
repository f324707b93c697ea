"use strict";

// The entries of one open session as objects. Each object is made when somebody first asks for
// the entry, and the same object is returned from then on; arrays of entries are new each time.

const binding = require("./binding.cjs");
const { GroveError } = require("./errors.cjs");
const { Heads } = require("./heads.cjs");

const NO_ENTRY = 0xffffffff;
/** Values of enum grove_kind. */
const KIND = { label: 11, name: 12 };
/** Heads are fetched for at least this many rows at a time. */
const CHUNK = 256;
/** Long arrays are made with room for this many more entries, which can then be added without copying the array. */
const ROOM = 1024;

/** Makes an array with room to grow: engines keep the memory of an array that becomes a little shorter. */
function arrayWithRoom(length) {
	const array = new Array(length + ROOM);
	array.length = length;
	return array;
}

/**
 * The entries by row. When the log is rewritten, rows stand for other lines: this object is then
 * marked as stale, and a new one takes its place.
 */
class Rows {
	known = []; // entries by row
	#handle;
	#made = []; // by row / CHUNK: the heads from which entries are made
	#stale = false;

	constructor(handle) {
		this.#handle = handle;
	}

	/** Fetches the heads of the rows [from, to) that are missing, with one call of the addon for each gap. */
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
			// The last chunk may not be full yet. Entries that come later are not in these heads, so the
			// heads are not kept for that chunk; its entries are all made now.
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

	/** Reads the line of one entry and returns it as an object. */
	whole(row) {
		let at = row;
		if (this.#stale) {
			const { id } = this.known[row] ?? {};
			at = typeof id === "string" ? binding.viewFind(this.#handle, id) : -1;
			if (at < 0) throw new GroveError("the log was rewritten, and this entry is gone", "STALE");
		}
		return JSON.parse(binding.viewLine(this.#handle, at));
	}

	/** Reads the lines of several entries, with one call of the addon. */
	wholes(rows) {
		return this.#stale ? rows.map((row) => this.whole(row)) : JSON.parse(binding.viewLines(this.#handle, Uint32Array.from(rows)));
	}

	/**
	 * Marks these rows as stale after the log was rewritten. Entries that callers still hold read
	 * their remaining values by their id from then on.
	 */
	leave() {
		this.#stale = true;
		this.#made = [];
	}
}

class Entries {
	#handle;
	#rows;
	#last; // the row of the entry that was set last
	#lastId; // the id of that entry

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
		// Most callers that append an entry look at it next.
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

	/** The entries of these rows, which are a Uint32Array. */
	rows(rows) {
		const { length } = this;
		// The rows are mostly nearly all those of some range, whose heads are fetched with one call.
		if (rows.length > CHUNK) this.#rows.fetch(rows[0], rows.at(-1) + 1, length);
		const entries = arrayWithRoom(rows.length);
		for (let i = 0; i < rows.length; i++) entries[i] = this.#rows.at(rows[i], length);
		return entries;
	}

	/** Records the answer of an append, and returns an array of the new entries. */
	appended([first, nr, lines, , others]) {
		if (others < 0) this.reset();
		if (nr === 0) return [];
		const parsed = nr === 1 ? [JSON.parse(lines)] : lines.split("\n", nr).map((line) => JSON.parse(line));
		for (let i = 0; i < nr; i++) this.#rows.known[first + i] = parsed[i];
		return parsed;
	}

	/** Makes this object the entry of a row. */
	set(row, entry) {
		this.#rows.known[row] = entry;
		this.#last = row;
		this.#lastId = entry.id;
	}

	/**
	 * To be called after a refresh: starts anew if the log was rewritten. That is so if the last or
	 * the first entry that we know has another row now.
	 */
	refreshed() {
		const known = this.#rows.known;
		const isKnown = (entry) => entry !== undefined;
		for (const row of [known.findLastIndex(isKnown), known.findIndex(isKnown)]) {
			const id = known[row]?.id;
			if (typeof id === "string" && binding.viewFind(this.#handle, id) !== row) return this.reset();
		}
	}

	/** Makes these objects the entries of the first rows; undefined stands for an entry that is made later. */
	adopt(entries) {
		const known = arrayWithRoom(entries.length);
		for (let row = 0; row < entries.length; row++) known[row] = entries[row];
		this.#rows.known = known;
	}

	/** The entry of a row if its object has been made already, otherwise undefined. */
	known(row) {
		return this.#rows.known[row];
	}

	/** For each entry, the row of its parent, or NO_ENTRY if it has none. */
	parents() {
		return this.#column(0);
	}

	/** For each entry, its kind (enum grove_kind, of which KIND names two). */
	kinds() {
		return this.#column(1);
	}

	#column(which) {
		const cells = binding.viewRows(this.#handle);
		const column = new Uint32Array(cells.length / 4);
		for (let row = 0; row < column.length; row++) column[row] = cells[4 * row + which];
		return column;
	}

	/** Starts anew after the log was rewritten. */
	reset() {
		this.#rows.leave();
		this.#rows = new Rows(this.#handle);
		this.#lastId = undefined;
	}
}

module.exports = { Entries, KIND, NO_ENTRY };
