"use strict";

// Makes what the model is sent from plain entries, by pi's rules (the specification of format version 3).
// A message is the stored object itself unless something in it has to be changed.

const { hasUnreadContent } = require("../heads.cjs");

/** The entries from the root to the leaf. If the leaf is not given or is unknown, the path ends at the last entry. */
function pathTo(entries, leafId, byId) {
	if (leafId === null || entries.length === 0) return [];
	const known = byId ?? new Map(entries.map((entry) => [entry.id, entry]));
	const path = [];
	const seen = new Set();
	let at = (leafId && known.get(leafId)) || entries[entries.length - 1];
	while (at && !seen.has(at)) {
		seen.add(at);
		path.push(at);
		at = at.parentId ? known.get(at.parentId) : undefined;
	}
	return path.reverse();
}

function getLatestCompactionEntry(entries) {
	for (let i = entries.length - 1; i >= 0; i--) {
		if (entries[i].type === "compaction") return entries[i];
	}
	return null;
}

const isSystem = (entry) => entry.type === "message" && entry.message?.role === "system";

/**
 * The entries of a path that are sent: the last compaction, the entries before it that it keeps (except
 * system messages), and the entries after it. Without a compaction, all entries.
 */
function selectFrom(path) {
	const at = path.lastIndexOf(getLatestCompactionEntry(path));
	if (at < 0) return path.slice();
	const compaction = path[at];
	const earlier = path.slice(0, at);
	const kept = earlier.findLastIndex((entry) => entry.id === compaction.firstKeptEntryId);
	const before = kept < 0 ? [] : earlier.slice(kept).filter((entry) => !isSystem(entry));
	return [compaction, ...before, ...path.slice(at + 1)];
}

function buildContextEntries(entries, leafId, byId) {
	return selectFrom(pathTo(entries, leafId, byId));
}

const timeOf = (entry) => new Date(entry.timestamp).getTime();

/** The message as it is sent. If it has no content, it gets an empty one of the type that its role has. */
function storedMessage(message) {
	if (!message || hasUnreadContent(message) || (message.content !== null && message.content !== undefined)) return message;
	if (message.role === "system") return { ...message, content: "" };
	return ["user", "assistant", "toolResult"].includes(message.role) ? { ...message, content: [] } : message;
}

function sessionEntryToContextMessages(entry) {
	switch (entry.type) {
		case "message":
			return entry.message ? [storedMessage(entry.message)] : [];
		case "custom_message":
			return [
				{
					role: "custom",
					customType: entry.customType,
					content: entry.content ?? [],
					display: entry.display,
					details: entry.details,
					timestamp: timeOf(entry),
				},
			];
		case "branch_summary":
			return entry.summary
				? [{ role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp: timeOf(entry) }]
				: [];
		case "compaction":
			return [
				...(entry.systemMessage ? [entry.systemMessage] : []),
				{ role: "compactionSummary", summary: entry.summary, tokensBefore: entry.tokensBefore, timestamp: timeOf(entry) },
			];
		default:
			return [];
	}
}

const EDITABLE = ["user", "assistant", "toolResult", "custom"];

function edited(message, content) {
	if (!EDITABLE.includes(message.role)) return message;
	const blocks = typeof content === "string" && ["assistant", "toolResult"].includes(message.role);
	return { ...message, content: blocks ? [{ type: "text", text: content }] : content };
}

function projectContextEntry(entry, edit) {
	if (!edit) return sessionEntryToContextMessages(entry);
	if (!edit.replacement) return [];
	return sessionEntryToContextMessages(entry).map((message) => edited(message, edit.replacement.content));
}

/** Maps the id of an entry to its last edit, of the edits that are among the selected entries. */
function editsAmong(selected) {
	const edits = new Map();
	for (const entry of selected) {
		if (entry.type === "context_edit" && entry.replacement !== undefined) edits.set(entry.targetId, entry);
	}
	return edits;
}

function modelOf(entry) {
	if (entry.type === "model_change") return { provider: entry.provider, modelId: entry.modelId };
	if (entry.type !== "message" || entry.message?.role !== "assistant") return undefined;
	return { provider: entry.message.provider, modelId: entry.message.model };
}

/**
 * The model and the thinking level at the end of a path; `before` has those at its beginning. The search
 * begins at the end, so that most messages need not be made.
 */
function settingsAlong(path, before = { thinkingLevel: "off", model: null }) {
	const level = path.findLast((entry) => entry.type === "thinking_level_change");
	let model;
	for (let i = path.length - 1; i >= 0 && !model; i--) model = modelOf(path[i]);
	return { thinkingLevel: level ? level.thinkingLevel : before.thinkingLevel, model: model ?? before.model };
}

/** What an entry contributes: its message if it is a plain message, otherwise an array of messages. */
function contribution(entry, edit) {
	return entry.type === "message" && entry.message && !edit ? storedMessage(entry.message) : projectContextEntry(entry, edit);
}

/**
 * What the model is sent of a path, which may grow. `entries` of whole() says which entry each message comes
 * from. It is only made when somebody looks at it, since few callers do, and a path may be long.
 */
class Projection {
	#selected;
	#contributed = []; // for each selected entry, what it contributes
	#messages = [];
	#settings;

	constructor(path) {
		this.#selected = selectFrom(path);
		this.#settings = settingsAlong(path);
		const edits = editsAmong(this.#selected);
		// An older compaction among the kept entries contributes nothing: the later summary includes its own.
		this.#selected.forEach((entry, i) =>
			this.#contribute(entry.type === "compaction" && i > 0 ? [] : contribution(entry, edits.get(entry.id))),
		);
	}

	#contribute(one) {
		this.#contributed.push(one);
		if (Array.isArray(one)) this.#messages.push(...one);
		else this.#messages.push(one);
	}

	/** Adds an entry below the path. It must not change what the entries before it contribute. */
	add(entry) {
		this.#selected.push(entry);
		this.#contribute(contribution(entry, undefined));
		this.#settings = settingsAlong([entry], this.#settings);
	}

	context() {
		return { messages: this.#messages.slice(), ...this.#settings };
	}

	#entries(count) {
		return this.#selected.slice(0, count).map((sourceEntry, i) => {
			const one = this.#contributed[i];
			return { sourceEntry, messages: Array.isArray(one) ? one.slice() : [one] };
		});
	}

	whole() {
		const count = this.#selected.length;
		const make = () => this.#entries(count);
		let entries;
		return {
			get entries() {
				entries ??= make();
				return entries;
			},
			set entries(value) {
				entries = value;
			},
			...this.context(),
		};
	}
}

function buildSessionProjection(entries, leafId, byId) {
	return new Projection(pathTo(entries, leafId, byId)).whole();
}

function buildSessionContext(entries, leafId, byId) {
	return new Projection(pathTo(entries, leafId, byId)).context();
}

module.exports = {
	Projection,
	buildContextEntries,
	buildSessionContext,
	buildSessionProjection,
	getLatestCompactionEntry,
	projectContextEntry,
	selectFrom,
	sessionEntryToContextMessages,
};
