"use strict";

// Lists of sessions as pi shows them.

const binding = require("../binding.cjs");
const jobs = require("../jobs.cjs");
const { Grove } = require("../world.cjs");
const { StoredLog } = require("./stored.cjs");
const { resolve } = require("./paths.cjs");

function textOf(content) {
	if (typeof content === "string") return content;
	if (!Array.isArray(content)) return "";
	return content.filter((block) => block?.type === "text").map((block) => block.text).join(" ");
}

/** What the user and the assistant said in all of a session. */
function messagesText(grove, what) {
	const handle = binding.sessionOpen(Grove.worldOf(grove), what, 0);
	try {
		return new StoredLog(handle)
			.entries()
			.filter((entry) => entry.type === "message" && ["user", "assistant"].includes(entry.message?.role))
			.map((entry) => textOf(entry.message.content))
			.filter(Boolean)
			.join(" ");
	} finally {
		binding.sessionClose(handle);
	}
}

/** A session as pi's list has it. All its text is read only if somebody asks for it. */
function infoOf(grove, item) {
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
			const value = messagesText(grove, info.path);
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
	const items = await jobs.list(Grove.worldOf(grove), { all: true, signal, onProgress });
	const infos = items
		.filter((item) => cwd === undefined || (item.cwd && resolve(item.cwd) === resolve(cwd)))
		.map((item) => infoOf(grove, item));
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
