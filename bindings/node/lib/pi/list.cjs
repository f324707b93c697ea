"use strict";

// Lists of sessions as pi shows them.

const jobs = require("../jobs.cjs");
const { Grove } = require("../world.cjs");
const { resolve } = require("./paths.cjs");

/**
 * Private fields that say which session of a list an object describes. Nobody who copies or prints the
 * object sees them.
 */
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

/**
 * All sessions share this accessor, so that the engine treats their objects as alike. When it is first read,
 * a plain value replaces it.
 */
const allMessagesText = {
	get() {
		const value = Place.text(this);
		Object.defineProperty(this, "allMessagesText", { value, writable: true, enumerable: true });
		return value;
	},
	enumerable: true,
	configurable: true,
};

/** A session in the form that pi's list has. The whole text of a session is only read when somebody asks for it. */
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

/** Returns a test for items of this directory. It remembers directories, since most items name one seen before. */
function ofDirectory(cwd) {
	if (cwd === undefined) return () => true;
	const wanted = resolve(cwd);
	const known = new Map([[undefined, false], ["", false]]);
	return (item) => {
		if (!known.has(item.cwd)) known.set(item.cwd, resolve(item.cwd) === wanted);
		return known.get(item.cwd);
	};
}

/** Lists the sessions of a store; with `cwd`, only those of that directory. */
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
