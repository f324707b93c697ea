"use strict";

// A log in a store of grove's: a file, or rows of a database. Entries are read when they
// are asked for. What is asked in every turn, the path to the leaf and what the model is
// sent of it, is kept and grows with the log.

const binding = require("../binding.cjs");
const { Entries, KIND } = require("../entries.cjs");
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
	#labels; // by the id of the entry: [label, timestamp]
	#named; // the entry that says the name, or null; undefined: nobody has looked
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

	/** As the entry says it: a text of JavaScript's may be none in C. */
	get name() {
		if (this.#named === undefined) this.#named = this.#ofKind(KIND.name).at(-1) ?? null;
		const name = this.#named?.name;
		return (typeof name === "string" && name.trim()) || undefined;
	}

	label(id) {
		return this.labels().get(id)?.[0];
	}

	labels() {
		if (!this.#labels) {
			this.#labels = new Map();
			for (const entry of this.#ofKind(KIND.label)) this.#label(entry);
		}
		return this.#labels;
	}

	#ofKind(kind) {
		const found = [];
		this.#entries.kinds().forEach((other, row) => {
			if (other === kind) found.push(this.#entries.at(row));
		});
		return found;
	}

	#label(entry) {
		if (entry.label) this.#labels.set(entry.targetId, [entry.label, entry.timestamp]);
		else this.#labels.delete(entry.targetId);
	}

	/** A new entry may change what is known. */
	#note(entry) {
		if (entry.type === "session_info") this.#named = entry;
		if (entry.type === "label" && this.#labels) this.#label(entry);
	}

	/**
	 * This log was made of the path to an entry of another. As in pi, entries go over as the objects
	 * that they were: whoever has one finds it here, and its message. Those whose parent did not
	 * come along are new objects.
	 */
	adopt(log, leafId) {
		const kinds = log.#entries.kinds();
		const rows = binding.viewConversation(log.#handle, leafId).filter((row) => kinds[row] !== KIND.label);
		const entries = Array.from(rows, (row, i) => {
			const entry = log.#entries.known(row);
			if (entry === undefined || entry.id !== binding.viewId(this.#handle, i)) return undefined;
			return this.#adopted(entry, i);
		});
		this.#entries.adopt(entries);
		return this;
	}

	#adopted(entry, row) {
		const parentId = row === 0 ? null : binding.viewId(this.#handle, row - 1);
		const moved = entry.parentId === parentId ? entry : { ...entry, parentId };
		if (entry.type !== "compaction") return moved;
		const { firstKeptEntryId } = JSON.parse(binding.viewLine(this.#handle, row));
		return entry.firstKeptEntryId === firstKeptEntryId ? moved : { ...moved, firstKeptEntryId };
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
		this.#note(entry);
	}

	#placeAfterOthers(entry, [row, others]) {
		if (others < 0) this.#forget();
		entry.parentId = this.#parentOf(row);
		this.#entries.set(row, entry);
		this.#moved();
		this.#labels = undefined;
		this.#named = undefined;
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
		this.#moved();
	}

	moveLeaf(id) {
		binding.sessionSetLeaf(this.#handle, id ?? undefined);
		if (id !== this.#leaf) this.#moved();
		this.#leaf = id;
	}
}

module.exports = { StoredLog };
