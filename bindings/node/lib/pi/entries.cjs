"use strict";

// Entries outside of any store: parses them, and migrates old versions.

const { newEntryId } = require("./paths.cjs");

const CURRENT_SESSION_VERSION = 3;

function parseLine(line) {
	try {
		return { value: JSON.parse(line) };
	} catch {
		return undefined;
	}
}

function parseSessionEntries(content) {
	return content
		.trim()
		.split("\n")
		.filter((line) => line.trim())
		.map(parseLine)
		.filter(Boolean)
		.map(({ value }) => value);
}

/** Migrates version 1, which had no tree: entries get ids, and the parent of each is the one before it. */
function giveIds(entries) {
	const ids = new Set();
	let last = null;
	for (const entry of entries) {
		if (entry.type === "session") {
			entry.version = 2;
			continue;
		}
		entry.id = newEntryId((id) => ids.has(id));
		ids.add(entry.id);
		entry.parentId = last;
		last = entry.id;
		if (entry.type === "compaction" && typeof entry.firstKeptEntryIndex === "number") {
			const kept = entries[entry.firstKeptEntryIndex];
			if (kept && kept.type !== "session") entry.firstKeptEntryId = kept.id;
			delete entry.firstKeptEntryIndex;
		}
	}
}

/** Migrates version 2, in which the role of messages of extensions was "hookMessage". */
function renameHooks(entries) {
	for (const entry of entries) {
		if (entry.type === "session") entry.version = 3;
		else if (entry.type === "message" && entry.message?.role === "hookMessage") entry.message.role = "custom";
	}
}

/** Changes the entries in place. Returns whether there was anything to do. */
function migrate(entries) {
	const version = entries.find((entry) => entry.type === "session")?.version ?? 1;
	if (version >= CURRENT_SESSION_VERSION) return false;
	if (version < 2) giveIds(entries);
	renameHooks(entries);
	return true;
}

function migrateSessionEntries(entries) {
	migrate(entries);
}

module.exports = { CURRENT_SESSION_VERSION, migrate, migrateSessionEntries, parseSessionEntries };
