"use strict";

// The entries of one open session as objects. Each is made when it is first asked for
// and is the same object from then on; arrays of them are fresh.

const binding = require("./binding.cjs");

const NO_ENTRY = 0xffffffff;

class Entries {
	#handle;
	#known = []; // by index

	constructor(handle) {
		this.#handle = handle;
	}

	get length() {
		return binding.viewCount(this.#handle);
	}

	at(index) {
		return (this.#known[index] ??= JSON.parse(binding.viewLine(this.#handle, index)));
	}

	/** The entry with this id, or undefined. */
	find(id) {
		const index = typeof id === "string" ? binding.viewFind(this.#handle, id) : -1;
		return index < 0 ? undefined : this.at(index);
	}

	all() {
		return Array.from({ length: this.length }, (_, index) => this.at(index));
	}

	/** Those of these rows: a Uint32Array. */
	rows(rows) {
		return Array.from(rows, (index) => this.at(index));
	}

	/** Takes in the lines of an append; the answer is an array of its entries. */
	appended([first, nr, lines]) {
		const parsed = lines.split("\n", nr).map((line) => JSON.parse(line));
		parsed.forEach((entry, i) => {
			this.#known[first + i] = entry;
		});
		return parsed;
	}

	/** For each entry the row of its parent; NO_ENTRY: none. */
	parents() {
		const rows = binding.viewRows(this.#handle);
		return Uint32Array.from({ length: rows.length / 4 }, (_, i) => rows[4 * i]);
	}

	/** After a rewrite rows mean other lines. */
	reset() {
		this.#known = [];
	}
}

module.exports = { Entries, NO_ENTRY };
