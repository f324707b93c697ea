"use strict";

// Lists of sessions as pi shows them.

const jobs = require("../jobs.cjs");
const { Grove } = require("../world.cjs");
const { resolve } = require("./paths.cjs");

/** A session as pi's list has it. All its text is read only if somebody asks for it. */
function infoOf([item, said]) {
	const info = {
		path: item.path || item.id,
		id: item.id,
		cwd: item.cwd ?? "",
		...(item.name ? { name: item.name } : {}),
		...(item.parentSession ? { parentSessionPath: item.parentSession } : {}),
		created: new Date(item.created),
		modified: new Date(item.modified),
		messageCount: item.messageCount,
		firstMessage: item.firstMessage,
	};
	Object.defineProperty(info, "allMessagesText", {
		get() {
			const value = said() ?? "";
			Object.defineProperty(this, "allMessagesText", { value, writable: true, enumerable: true });
			return value;
		},
		enumerable: true,
		configurable: true,
	});
	return info;
}

/** `cwd`: only the sessions of that directory. */
async function listStore(grove, { cwd, onProgress, signal }) {
	const items = await jobs.listWithTexts(Grove.worldOf(grove), { all: true, signal, onProgress });
	const infos = items
		.filter(([item]) => cwd === undefined || (item.cwd && resolve(item.cwd) === resolve(cwd)))
		.map(infoOf);
	onProgress?.(infos.length, infos.length, infos);
	return infos;
}

async function listDirectory(dir, options) {
	try {
		return await listStore(new Grove({ store: dir, dialect: "pi" }), options);
	} catch (error) {
		if (options.signal?.aborted) throw error;
		return [];
	}
}

module.exports = { listDirectory, listStore };
