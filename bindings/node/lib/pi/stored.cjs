"use strict";

// A log in a store of grove's: a file, or rows of a database. Entries are read when they
// are asked for. What is asked in every turn, the path to the leaf and what the model is
// sent of it, is kept and grows with the log.

const binding = require("../binding.cjs");
const { Entries } = require("../entries.cjs");
const { Projection } = require("./context.cjs");
const { newEntryId } = require("./paths.cjs");

/** Below the leaf these add to a projection and change nothing before them. */
const ADDS = new Set([
	"message", "custom_message", "custom", "thinking_level_change", "model_change", "usage", "label", "session_info",
]);

class StoredLog {
	#handle;
	#entries;
	#header;
	#leaf;
	#path; // the entries from the root to #leaf
	#projection; // of #path
	#labels;
	#inFile;

	constructor(handle) {
		this.#handle = handle;
		this.#inFile = Boolean(binding.sessionAbout(handle).path);
		this.#entries = new Entries(handle);
		this.#leaf = binding.sessionLeaf(handle);
	}

	get header() {
		this.#header ??= JSON.parse(binding.viewHeader(this.#handle));
		return this.#header;
	}

	get handle() {
		return this.#handle;
	}

	get leaf() {
		return this.#leaf;
	}

	get count() {
		return this.#entries.length;
	}

	entries() {
		return this.#entries.all();
	}

	find(id) {
		return this.#entries.find(id);
	}

	path(id) {
		if (id !== this.#leaf) return this.#pathTo(id);
		this.#path ??= this.#pathTo(id);
		return this.#path.slice();
	}

	#pathTo(id) {
		if (typeof id !== "string" || binding.viewFind(this.#handle, id) < 0) return [];
		return this.#entries.rows(binding.viewConversation(this.#handle, id));
	}

	projection() {
		this.#projection ??= new Projection(this.path(this.#leaf));
		return this.#projection;
	}

	get name() {
		return binding.viewName(this.#handle) ?? undefined;
	}

	label(id) {
		if (this.#labels) return this.#labels.get(id)?.[0];
		const row = typeof id === "string" ? binding.viewFind(this.#handle, id) : -1;
		return row < 0 ? undefined : (binding.viewLabel(this.#handle, row)[0] ?? undefined);
	}

	/** By the id of the entry: [label, timestamp]. */
	labels() {
		if (!this.#labels) {
			this.#labels = new Map();
			for (const entry of this.entries()) this.#note(entry);
		}
		return this.#labels;
	}

	#note(entry) {
		if (entry.type !== "label") return;
		if (entry.label) this.#labels.set(entry.targetId, [entry.label, entry.timestamp]);
		else this.#labels.delete(entry.targetId);
	}

	/** Not looked for among the others: append() is told if it is taken. */
	newId() {
		return newEntryId(() => false);
	}

	/**
	 * Stores an entry below the leaf, and gives the object the place that it was given
	 * there: after what others wrote meanwhile, if they did.
	 */
	append(entry) {
		const stored = this.#store(entry);
		if (typeof stored === "number") this.#place(entry, stored);
		else this.#placeAfterOthers(entry, stored);
		this.#leaf = entry.id;
	}

	#place(entry, row) {
		// In a file nobody moves our leaf: if no entry came in between, it went below that.
		entry.parentId = this.#inFile ? this.#leaf : this.#parentOf(row);
		this.#entries.set(row, entry);
		if (entry.parentId === this.#leaf) this.#grow(entry);
		else this.#moved();
		if (this.#labels) this.#note(entry);
	}

	#placeAfterOthers(entry, [row, others]) {
		if (others < 0) this.#forget();
		entry.parentId = this.#parentOf(row);
		this.#entries.set(row, entry);
		this.#moved();
		this.#labels = undefined;
	}

	#store(entry) {
		// Where it goes is the log's to say: a parent that is named would be taken for a wish.
		entry.parentId = undefined;
		try {
			return binding.sessionPut(this.#handle, JSON.stringify(entry));
		} catch (error) {
			if (error.code !== "CONFLICT" || binding.viewFind(this.#handle, entry.id) < 0) throw error;
			const taken = entry.id;
			entry.id = this.newId();
			if (entry.firstKeptEntryId === taken) entry.firstKeptEntryId = entry.id;
			return this.#store(entry);
		}
	}

	#parentOf(row) {
		return JSON.parse(binding.viewLine(this.#handle, row)).parentId;
	}

	#grow(entry) {
		this.#path?.push(entry);
		if (this.#projection === undefined) return;
		if (ADDS.has(entry.type)) this.#projection.add(entry);
		else this.#projection = undefined;
	}

	#moved() {
		this.#path = undefined;
		this.#projection = undefined;
	}

	/** The log was rewritten: what was known of it is worth nothing. */
	#forget() {
		this.#entries.reset();
		this.#header = undefined;
		this.#labels = undefined;
		this.#moved();
	}

	moveLeaf(id) {
		binding.sessionSetLeaf(this.#handle, id ?? undefined);
		if (id !== this.#leaf) this.#moved();
		this.#leaf = id;
	}
}

module.exports = { StoredLog };
