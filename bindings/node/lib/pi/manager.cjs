"use strict";

// pi's SessionManager on grove, with the same members and statics, the same objects and the same
// error texts. A place (places.cjs) knows where sessions are kept; a log (stored.cjs, memory.cjs)
// knows what is in one session.

const { selectFrom } = require("./context.cjs");
const { currentSystemMessage } = require("./system.cjs");
const { assertValidSessionId, newSessionId } = require("./paths.cjs");

const EDITABLE_ROLES = ["user", "assistant", "toolResult"];

/**
 * The current time as text. To write a time as text takes as long as to find an id, so entries that are
 * appended in the same millisecond share the text.
 */
let spelled = { ms: NaN, text: "" };
function timeNow() {
	const ms = Date.now();
	if (ms !== spelled.ms) spelled = { ms, text: new Date(ms).toISOString() };
	return spelled.text;
}

class SessionManager {
	#place;
	#log;

	constructor(place, log) {
		this.#place = place;
		this.#log = log;
	}

	// ------------------------------------------------------------------ about

	isPersisted() {
		return this.#place.isPersisted;
	}
	getCwd() {
		return this.#place.cwd;
	}
	getSessionDir() {
		return this.#place.dir;
	}
	usesDefaultSessionDir() {
		return this.#place.usesDefaultDir;
	}
	getSessionId() {
		return this.#log.header.id;
	}
	getSessionFile() {
		return this.#place.fileOf(this.#log);
	}
	getHeader() {
		return this.#log.header;
	}

	getSessionName() {
		return this.#log.name;
	}

	// ---------------------------------------------------------------- entries

	getLeafId() {
		return this.#log.leaf;
	}
	getLeafEntry() {
		return this.#log.leaf === null ? undefined : this.#log.find(this.#log.leaf);
	}
	getEntry(id) {
		return this.#log.find(id);
	}
	getEntries() {
		return this.#log.entries();
	}
	getEntryCount() {
		return this.#log.count;
	}
	getLabel(id) {
		return this.#log.label(id);
	}
	getChildren(parentId) {
		return this.#log.entries().filter((entry) => entry.parentId === parentId);
	}
	getBranch(fromId) {
		return this.#log.path(fromId ?? this.#log.leaf);
	}

	getTree() {
		const labels = this.#log.labels();
		const nodes = new Map();
		for (const entry of this.#log.entries()) nodes.set(keyOf(entry), node(entry, labels.get(entry.id)));
		const roots = [];
		const below = new Set();
		for (const one of nodes.values()) {
			const { id, parentId } = one.entry;
			const parent = parentId === id ? undefined : nodes.get(parentId);
			if (parent && !inCircle(one, nodes, below)) parent.children.push(one);
			else roots.push(one);
		}
		for (const one of nodes.values()) one.children.sort(byTime);
		return roots;
	}

	// ---------------------------------------------------------------- context

	buildContextEntries() {
		return selectFrom(this.#log.path(this.#log.leaf));
	}
	buildSessionProjection() {
		return this.#log.projection().whole();
	}
	buildSessionContext() {
		return this.#log.projection().context();
	}

	// ----------------------------------------------------------------- append

	#base(type) {
		return {
			type,
			id: this.#log.newId(),
			parentId: this.#log.leaf,
			timestamp: timeNow(),
		};
	}

	#append(entry) {
		this.#log.append(entry);
		return entry.id;
	}

	#mustHave(id) {
		const entry = this.#log.find(id);
		if (!entry) throw new Error(`Entry ${id} not found`);
		return entry;
	}

	appendMessage(message) {
		const log = this.#log;
		return this.#append({ type: "message", id: log.newId(), parentId: log.leaf, timestamp: timeNow(), message });
	}
	appendThinkingLevelChange(thinkingLevel) {
		return this.#append({ ...this.#base("thinking_level_change"), thinkingLevel });
	}
	appendModelChange(provider, modelId) {
		return this.#append({ ...this.#base("model_change"), provider, modelId });
	}

	appendUsage(kind, provider, model, usage, note) {
		const entry = { ...this.#base("usage"), kind, provider, model, usage, ...(note ? { note } : {}) };
		this.#append(entry);
		return entry;
	}

	appendCompaction(summary, firstKeptEntryId, tokensBefore, details, fromHook, usage) {
		const base = this.#base("compaction");
		const system = currentSystemMessage(this.#log.projection().context().messages);
		const entry = {
			...base, summary, firstKeptEntryId: firstKeptEntryId ?? base.id, tokensBefore, details, usage, fromHook,
		};
		if (system) entry.systemMessage = { ...system, timestamp: Date.parse(base.timestamp) };
		return this.#append(entry);
	}

	appendCustomEntry(customType, data) {
		const { type, ...base } = this.#base("custom");
		return this.#append({ type, customType, data, ...base });
	}
	appendCustomMessageEntry(customType, content, display, details) {
		const { type, ...base } = this.#base("custom_message");
		return this.#append({ type, customType, content, display, details, ...base });
	}
	appendSessionInfo(name) {
		return this.#append({ ...this.#base("session_info"), name: name.replace(/[\r\n]+/g, " ").trim() });
	}

	appendLabelChange(targetId, label) {
		this.#mustHave(targetId);
		return this.#append({ ...this.#base("label"), targetId, label });
	}

	appendContextEdit(targetId, replacement) {
		const content = replacement?.content;
		if (replacement !== null && typeof content !== "string" && !Array.isArray(content)) {
			throw new Error("Context edit replacement must be null or contain string/array content");
		}
		const target = this.#mustHave(targetId);
		if (!this.#log.path(this.#log.leaf).includes(target)) throw new Error(`Entry ${targetId} is not on the active branch`);
		const role = target.type === "message" ? target.message?.role : undefined;
		if (target.type !== "custom_message" && !EDITABLE_ROLES.includes(role)) {
			throw new Error(`Entry ${targetId} does not contribute editable model content`);
		}
		const asBlocks = typeof content === "string" && (role === "assistant" || role === "toolResult");
		const stored = asBlocks ? { content: [{ type: "text", text: content }] } : replacement;
		return this.#append({ ...this.#base("context_edit"), targetId, replacement: stored });
	}

	// ------------------------------------------------------------------- leaf

	branch(branchFromId) {
		this.#mustHave(branchFromId);
		this.#log.moveLeaf(branchFromId);
	}
	resetLeaf() {
		this.#log.moveLeaf(null);
	}

	branchWithSummary(branchFromId, summary, details, fromHook, usage) {
		if (branchFromId !== null) this.#mustHave(branchFromId);
		const fromId = this.#log.leaf ?? "root";
		const before = this.#log.leaf;
		this.#log.moveLeaf(branchFromId);
		try {
			return this.#append({ ...this.#base("branch_summary"), fromId, summary, details, usage, fromHook });
		} catch (error) {
			this.#log.moveLeaf(before);
			throw error;
		}
	}

	// --------------------------------------------- the same object, another session

	createBranchedSession(leafId) {
		this.#mustHave(leafId);
		this.#log = this.#place.branched(this.#log, leafId);
		return this.getSessionFile();
	}

	newSession(options) {
		if (options?.id !== undefined) assertValidSessionId(options.id);
		this.#log = this.#place.create({ id: options?.id ?? newSessionId(), parentSession: options?.parentSession });
		return this.getSessionFile();
	}

	setSessionFile(sessionFile) {
		this.#log = this.#place.openFile(sessionFile);
	}

	/** Closes the file. pi never calls this; the garbage collector then closes the file. */
	close() {
		this.#place.close?.(this.#log);
	}
}
if (Symbol.dispose) Object.defineProperty(SessionManager.prototype, Symbol.dispose, { value: SessionManager.prototype.close });

/** The key under which an entry is found: its id, or the entry itself if it has none and so cannot be a parent. */
function keyOf(entry) {
	return typeof entry.id === "string" ? entry.id : entry;
}

function node(entry, label) {
	return { entry, children: [], label: label?.[0], labelTimestamp: label?.[1] };
}

/**
 * Returns whether this entry is to be a root because it is its own ancestor. If entries are each other's
 * ancestors, only the first of them in the log is. `below` collects entries that are known to be below a root.
 */
function inCircle(one, nodes, below) {
	const way = [];
	const seen = new Set();
	for (let at = one; at && !below.has(at); at = nodes.get(at.entry.parentId)) {
		if (seen.has(at)) {
			below.add(one);
			return at === one;
		}
		seen.add(at);
		way.push(at);
	}
	for (const at of way) below.add(at);
	return false;
}

const byTime = (a, b) => {
	const difference = Date.parse(a.entry.timestamp) - Date.parse(b.entry.timestamp);
	return Number.isNaN(difference) ? 0 : difference;
};

module.exports = { SessionManager };
