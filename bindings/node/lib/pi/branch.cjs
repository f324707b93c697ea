"use strict";

// Makes a session from one path of another session: pi's createBranchedSession(), for entries in memory.

const { CURRENT_SESSION_VERSION } = require("./entries.cjs");
const { newEntryId } = require("./paths.cjs");

function newHeader({ id, cwd, parentSession }) {
	return {
		type: "session",
		version: CURRENT_SESSION_VERSION,
		id,
		timestamp: new Date().toISOString(),
		cwd,
		...(parentSession ? { parentSession } : {}),
	};
}

/** Returns the entries of a path without the label entries; the parent of each is the one before it. */
function rechained(path) {
	const kept = path.filter((entry) => entry.type !== "label");
	const nextOf = new Map(); // from the id of a label entry that is left out to the id of the entry that takes its place
	path.forEach((entry, i) => {
		if (entry.type === "label") nextOf.set(entry.id, path.slice(i + 1).find((later) => later.type !== "label")?.id);
	});
	return kept.map((entry, i) => {
		const parentId = i === 0 ? null : kept[i - 1].id;
		const moved = entry.parentId === parentId ? entry : { ...entry, parentId };
		const first = entry.type === "compaction" ? nextOf.get(entry.firstKeptEntryId) : undefined;
		return first ? { ...moved, firstKeptEntryId: first } : moved;
	});
}

/** `labels` are those of the whole session. Label entries for the entries of the path are added at the end. */
function branchedEntries(path, labels) {
	const entries = rechained(path);
	const ids = new Set(entries.map((entry) => entry.id));
	for (const [targetId, [label, timestamp]] of labels) {
		if (!ids.has(targetId)) continue;
		const id = newEntryId((one) => ids.has(one));
		const parentId = entries.at(-1)?.id ?? null;
		ids.add(id);
		entries.push({ type: "label", id, parentId, timestamp, targetId, label });
	}
	return entries;
}

module.exports = { branchedEntries, newHeader };
