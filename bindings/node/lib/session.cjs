"use strict";

// Session: one open session. All its calls are synchronous.

const binding = require("./binding.cjs");
const { Entries, NO_ENTRY } = require("./entries.cjs");

const ROOT = "root";
const APPEND_IF_SEQ = 1;
const APPEND_LINES = 2;
const SYNC = { none: 0, flush: 1, always: 2 };
const LEAF_PERSIST = 1;
const LEAF_IN_CONVERSATION = 2;
const CONTEXT = { snips: 1, whole: 2, llm: 4, explain: 8 };
const SNAPSHOT = { blobs: 1, project: 2 };
const SNAPSHOT_ENTRIES = { all: 0, path: 1, none: 2 };
const FORK = { sameIds: 1, memory: 2, defer: 4 };
const OUTCOMES = ["append", "switch", "replay"];

const isText = (value) => typeof value === "string";

function bits(names, options) {
	return Object.keys(names).reduce((sum, name) => (options[name] ? sum | names[name] : sum), 0);
}

function pick(names, value, what) {
	if (value === undefined) return undefined;
	if (!Object.hasOwn(names, value)) throw new TypeError(`${what} must be one of ${Object.keys(names).join(", ")}`);
	return names[value];
}

/** As JSON.stringify, but refuses what has no JSON, such as undefined. */
function json(value) {
	const text = JSON.stringify(value);
	if (text === undefined) throw new TypeError("an entry or a message is expected");
	return text;
}

/** Checks an id that stands for an entry. null stands for the place before the first entry. */
function target(id) {
	if (id === null) return ROOT;
	if (id !== undefined && !isText(id)) throw new TypeError("the id of an entry is expected");
	return id;
}

function appendOptions({ parent, ifSeq, sync } = {}) {
	const flags = APPEND_LINES | (ifSeq === undefined ? 0 : APPEND_IF_SEQ);
	return [flags, target(parent), ifSeq, pick(SYNC, sync, "sync")];
}

class Session {
	#handle;
	#about;
	#entries;

	constructor(handle) {
		this.#handle = handle;
		this.#entries = new Entries(handle);
	}

	// ------------------------------------------------------------------ about

	#ask(name) {
		this.#about ??= binding.sessionAbout(this.#handle);
		return this.#about[name];
	}

	get id() {
		return this.#ask("id");
	}
	get path() {
		return this.#ask("path");
	}
	get dir() {
		return this.#ask("dir");
	}
	get cwd() {
		return this.#ask("cwd");
	}
	get dialect() {
		return this.#ask("dialect");
	}
	get agent() {
		return this.#ask("agent");
	}
	get version() {
		return this.#ask("version");
	}
	get name() {
		return binding.viewName(this.#handle);
	}
	get leaf() {
		return binding.sessionLeaf(this.#handle);
	}
	get length() {
		return this.#entries.length;
	}
	get pending() {
		return binding.sessionPending(this.#handle);
	}
	get header() {
		const text = binding.viewHeader(this.#handle);
		return text ? JSON.parse(text) : null;
	}

	// --------------------------------------------------------------- entries

	entry(id) {
		return this.#entries.find(id);
	}

	at(index) {
		const { length } = this;
		const i = index < 0 ? length + index : index;
		return Number.isInteger(i) && i >= 0 && i < length ? this.#entries.at(i) : undefined;
	}

	entries() {
		return this.#entries.all();
	}

	[Symbol.iterator]() {
		return this.entries()[Symbol.iterator]();
	}

	branch(id) {
		return this.#entries.rows(binding.viewConversation(this.#handle, target(id)));
	}

	children(id) {
		const of = id === null || id === undefined ? NO_ENTRY : binding.viewFind(this.#handle, target(id));
		const found = [];
		this.#entries.parents().forEach((parent, row) => {
			if (parent === of) found.push(this.#entries.at(row));
		});
		return found;
	}

	tree() {
		const parents = this.#entries.parents();
		const nodes = this.#entries.all().map((entry) => ({ entry, children: [] }));
		const roots = [];
		nodes.forEach((node, row) => {
			(parents[row] === NO_ENTRY ? roots : nodes[parents[row]].children).push(node);
			const [label] = binding.viewLabel(this.#handle, row);
			if (label !== null) node.label = label;
		});
		return roots;
	}

	context(options = {}) {
		const { leaf, mode } = options;
		return JSON.parse(binding.viewContext(this.#handle, target(leaf), mode, bits(CONTEXT, options)));
	}

	snapshot(options = {}) {
		const { entries, after, limit, maxBody } = options;
		const which = pick(SNAPSHOT_ENTRIES, entries, "entries");
		return JSON.parse(binding.viewSnapshot(this.#handle, which, after, limit, maxBody, bits(SNAPSHOT, options)));
	}

	// ---------------------------------------------------------------- append

	append(entry, options) {
		const appended = binding.sessionAppend(this.#handle, json(entry), ...appendOptions(options));
		return this.#entries.appended(appended).at(-1) ?? this.#entries.find(appended[3]);
	}

	appendMany(entries, options) {
		return this.#entries.appended(
			binding.sessionAppendMany(this.#handle, Array.from(entries, json), ...appendOptions(options)),
		);
	}

	submit(entry, options) {
		const appended = binding.sessionSubmit(this.#handle, [json(entry)], ...appendOptions(options));
		return this.#entries.appended(appended).at(-1) ?? this.#entries.find(appended[3]);
	}

	flush({ sync } = {}) {
		binding.sessionFlush(this.#handle, pick(SYNC, sync, "sync"));
	}

	label(id, label) {
		return this.#entries.appended(binding.sessionLabel(this.#handle, target(id), label ?? undefined)).at(-1);
	}

	labelOf(id) {
		const row = binding.viewFind(this.#handle, target(id));
		return row < 0 ? undefined : (binding.viewLabel(this.#handle, row)[0] ?? undefined);
	}

	rename(name, { by = "user" } = {}) {
		return binding.sessionRename(this.#handle, name, pick({ user: 0, agent: 1 }, by, "by"));
	}

	// ------------------------------------------------------------------ leaf

	#move(call, id, o) {
		const flags = (o.persist ? LEAF_PERSIST : 0) | (o.inConversation ? LEAF_IN_CONVERSATION : 0);
		const [outcome, leaf, summaryId, content] = call(
			this.#handle, target(id), flags, o.summary, o.details === undefined ? undefined : json(o.details),
			o.usage === undefined ? undefined : json(o.usage), o.fromHook ? 1 : 0,
		);
		const result = { outcome: OUTCOMES[outcome], leaf };
		if (summaryId !== null) result.summaryId = summaryId;
		if (content !== undefined) result.content = JSON.parse(content);
		return result;
	}

	setLeaf(id, options = {}) {
		const { leaf, summaryId } = this.#move(binding.sessionSetLeaf, id, options);
		return summaryId === undefined ? { leaf } : { leaf, summaryId };
	}

	continueFrom(id, options = {}) {
		return this.#move(binding.sessionContinue, id, options);
	}

	// ---------------------------------------------------------------- change

	update(id, pointer, value) {
		binding.sessionUpdate(this.#handle, target(id), pointer, json(value));
		this.#entries.reset();
	}

	forget(id) {
		const relinked = binding.sessionForget(this.#handle, target(id));
		this.#entries.reset();
		return relinked;
	}

	fork(options = {}) {
		const { leaf, cwd, dir, id, sync } = options;
		return new Session(
			binding.sessionFork(this.#handle, target(leaf), cwd, dir, id, bits(FORK, options), pick(SYNC, sync, "sync")),
		);
	}

	move(cwd) {
		binding.sessionMove(this.#handle, cwd);
		this.#about = undefined;
	}

	getValue(name) {
		return binding.sessionValueGet(this.#handle, name);
	}

	setValue(name, text) {
		binding.sessionValuePut(this.#handle, name, text);
	}

	// --------------------------------------------------------------- storage

	ensure() {
		binding.sessionEnsure(this.#handle);
		this.#about = undefined;
	}

	sync() {
		binding.sessionSync(this.#handle);
	}

	refresh() {
		const changed = binding.sessionRefresh(this.#handle);
		if (changed) this.#entries.refreshed();
		return changed;
	}

	close() {
		this.#about ??= binding.sessionAbout(this.#handle);
		binding.sessionClose(this.#handle);
	}
}
if (Symbol.dispose) Object.defineProperty(Session.prototype, Symbol.dispose, { value: Session.prototype.close });

module.exports = { Session };
