"use strict";

// A log in a store of grove: a file, or rows of a database. Entries are read when somebody asks for
// them. The path to the leaf and what the model is sent of it are needed in every turn, so they are
// kept, and extended when the log grows.

const binding = require("../binding.cjs");
const { Entries, KIND } = require("../entries.cjs");
const { Projection } = require("./context.cjs");
const { newEntryId } = require("./paths.cjs");

/** The types of entries that, appended below the leaf, extend a projection and change nothing before them. */
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
	#labels; // from the id of an entry to its [label, timestamp]; undefined: not read yet
	#named; // the entry that has the session's name; null: there is none; undefined: not looked for yet
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

	/** The name is taken from the entry itself, since not every JavaScript string can be a string in C. */
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

	/** Updates the name and the labels that are known, which a new entry may change. */
	#note(entry) {
		if (entry.type === "session_info") this.#named = entry;
		if (entry.type === "label" && this.#labels) this.#label(entry);
	}

	/**
	 * Takes over the entries of another log, after this log was made from the path to one of them. As in pi,
	 * the same objects are the entries of both logs, so a caller that holds an entry finds it here, with its
	 * message. Only entries that have another parent here, and compactions that keep another first entry, are new
	 * objects.
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

	/** Makes an id without looking whether an entry has it: if one has, append() makes another. */
	newId() {
		return newEntryId(() => false);
	}

	/**
	 * Stores an entry below the leaf, and sets the object's parent to the one that the entry has in the log.
	 * If other programs have written in the meantime, the entry comes after theirs.
	 */
	append(entry) {
		const stored = this.#store(entry);
		if (typeof stored === "number") this.#place(entry, stored);
		else this.#placeAfterOthers(entry, stored);
		this.#leaf = entry.id;
	}

	#place(entry, row) {
		// In a file, nobody else moves our leaf. No entry has come in between, so the parent is our leaf.
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
		// The log decides where the entry goes. If the entry named a parent, it would be put below that one.
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

	/** Discards everything that was read from the log, which is out of date after the log was rewritten. */
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
