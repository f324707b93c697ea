"use strict";

// A log that is only in the memory of JavaScript. It keeps the very objects that it is given as entries.

const { Projection } = require("./context.cjs");
const { newEntryId } = require("./paths.cjs");

class MemoryLog {
	#entries = [];
	#byId = new Map();
	#labels = new Map(); // from the id of an entry to its [label, timestamp]
	leaf = null;

	constructor(header, entries = []) {
		this.header = header;
		for (const entry of entries) this.#take(entry);
	}

	#take(entry) {
		this.#entries.push(entry);
		this.#byId.set(entry.id, entry);
		this.leaf = entry.id;
		if (entry.type !== "label") return;
		if (entry.label) this.#labels.set(entry.targetId, [entry.label, entry.timestamp]);
		else this.#labels.delete(entry.targetId);
	}

	get count() {
		return this.#entries.length;
	}

	entries() {
		return this.#entries.slice();
	}

	find(id) {
		return this.#byId.get(id);
	}

	path(id) {
		const path = [];
		const seen = new Set();
		for (let at = this.#byId.get(id); at && !seen.has(at); at = this.#byId.get(at.parentId)) {
			seen.add(at);
			path.push(at);
		}
		return path.reverse();
	}

	projection() {
		return new Projection(this.path(this.leaf));
	}

	get name() {
		return this.#entries.findLast((entry) => entry.type === "session_info")?.name?.trim() || undefined;
	}

	label(id) {
		return this.#labels.get(id)?.[0];
	}

	labels() {
		return this.#labels;
	}

	newId() {
		return newEntryId((id) => this.#byId.has(id));
	}

	append(entry) {
		this.#take(entry);
	}

	moveLeaf(id) {
		this.leaf = id;
	}
}

module.exports = { MemoryLog };
