"use strict";

// Lists of sessions as pi shows them.

const jobs = require("../jobs.cjs");
const { Grove } = require("../world.cjs");
const { resolve } = require("./paths.cjs");

/** Says which session of a list an object tells of: a private field, which nobody sees who copies or prints it. */
class Place extends class {
	constructor(object) {
		return object;
	}
} {
	#said;
	#index;
	constructor(object, said, index) {
		super(object);
		this.#said = said;
		this.#index = index;
	}
	static text(object) {
		return object.#said(object.#index) ?? "";
	}
}

/** One accessor for all sessions, so that their objects are alike for the engine. It becomes a value when it is read. */
const allMessagesText = {
	get() {
		const value = Place.text(this);
		Object.defineProperty(this, "allMessagesText", { value, writable: true, enumerable: true });
		return value;
	},
	enumerable: true,
	configurable: true,
};

/** A session as pi's list has it. All its text is read only if somebody asks for it. */
function infoOf(item, said, index) {
	const info = {
		path: item.path || item.id,
		id: item.id,
		cwd: item.cwd ?? "",
		name: item.name || undefined,
		parentSessionPath: item.parentSession || undefined,
		created: new Date(item.created),
		modified: new Date(item.modified),
		messageCount: item.messageCount,
		firstMessage: item.firstMessage,
	};
	new Place(info, said, index);
	return Object.defineProperty(info, "allMessagesText", allMessagesText);
}

/** Is an item of this directory? Most items name one that was looked at before. */
function ofDirectory(cwd) {
	if (cwd === undefined) return () => true;
	const wanted = resolve(cwd);
	const known = new Map([[undefined, false], ["", false]]);
	return (item) => {
		if (!known.has(item.cwd)) known.set(item.cwd, resolve(item.cwd) === wanted);
		return known.get(item.cwd);
	};
}

/** `cwd`: only the sessions of that directory. */
async function listStore(grove, { cwd, onProgress, signal }) {
	const { items, said } = await jobs.listWithTexts(Grove.worldOf(grove), { all: true, signal, onProgress });
	const isWanted = ofDirectory(cwd);
	const infos = [];
	items.forEach((item, i) => {
		if (isWanted(item)) infos.push(infoOf(item, said, i));
	});
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
