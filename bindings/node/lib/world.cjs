"use strict";

// Grove: where sessions are. One for the process's own environment is made on first
// use, and again when HOME, another variable or the working directory has changed.

const { isMainThread } = require("node:worker_threads");
const binding = require("./binding.cjs");
const { Session } = require("./session.cjs");
const { Watch } = require("./watch.cjs");
const jobs = require("./jobs.cjs");

const OPEN = { read: 0, write: 1 };
const REMOVE_NO_TRASH = 1;
const CREATE_NOW = 1;
const CREATE_MEMORY = 2;

/** Paths may be given as URLs: new URL("session.jsonl", import.meta.url). */
function text(value, name) {
	if (value === undefined || value === null) return undefined;
	if (value instanceof URL && value.protocol === "file:") return require("node:url").fileURLToPath(value);
	if (typeof value !== "string") throw new TypeError(`${name} must be a string`);
	return value;
}

function array(value) {
	return value === undefined || value === null ? undefined : Array.isArray(value) ? value : [value];
}

class Grove {
	#world;

	/** @param {import("..").GroveOptions} [options] */
	constructor(options = {}) {
		const env = options.env ?? process.env;
		const variables = Object.entries(env).filter(([, value]) => value !== undefined).flat().map(String);
		this.#world = binding.worldOpen(
			text(options.cwd, "cwd") ?? process.cwd(),
			text(options.home, "home"),
			variables,
			array(options.store)?.map((store) => text(store, "store")),
			text(options.dialect, "dialect"),
			options.cache === false ? "" : text(options.cache, "cache"),
		);
	}

	/** For the modules of this package: the addon's handle. */
	static worldOf(grove) {
		return grove.#world;
	}

	session(what, options = {}) {
		const flags =
			(OPEN[options.mode ?? "write"] ?? OPEN.write) |
			(options.strict ? 2 : 0) | (options.force ? 4 : 0) | (options.init ? 8 : 0) | (options.lazy ? 32 : 0);
		return new Session(binding.sessionOpen(this.#world, text(what, "what"), flags));
	}

	create(options = {}) {
		return new Session(binding.sessionCreate(this.#world, ...created(options)));
	}

	recent(options = {}) {
		return new Session(binding.sessionRecent(this.#world, ...created(options)));
	}

	list(options = {}) {
		return jobs.list(this.#world, options);
	}

	search(query, options = {}) {
		return jobs.search(this.#world, query, options);
	}

	usage(options = {}) {
		return jobs.usage(this.#world, options);
	}

	watch(what, options = {}) {
		return new Watch(this.#world, what, options);
	}

	find(what) {
		return JSON.parse(binding.find(this.#world, text(what, "what")));
	}

	remove(what, { trash = true } = {}) {
		binding.remove(this.#world, text(what, "what"), trash ? 0 : REMOVE_NO_TRASH);
	}

	copy(what, store) {
		const [id, path] = binding.copy(this.#world, text(what, "what"), text(store, "store"));
		return path ? { id, path } : { id };
	}

	initStore(store) {
		binding.storeInit(this.#world, text(store, "store"));
	}

	/** Sessions and watches of it stay open, and jobs go on. */
	close() {
		binding.worldClose(this.#world);
	}
}
if (Symbol.dispose) Object.defineProperty(Grove.prototype, Symbol.dispose, { value: Grove.prototype.close });

/** Sessions by the URL of their store, or by options; without any, where the environment says. */
function open(where) {
	const isStore = typeof where === "string" || where instanceof URL;
	if (!isStore && where !== undefined && (where === null || typeof where !== "object")) {
		throw new TypeError("the URL of a store or options are expected");
	}
	return new Grove(isStore ? { store: where } : where);
}

/** Entries that a session in memory begins with, its header first or not there. */
function givenLines(entries) {
	return entries.map((entry) => JSON.stringify(entry)).join("\n");
}

function created(o) {
	const flags = (o.now ? CREATE_NOW : 0) | (o.memory || o.entries ? CREATE_MEMORY : 0);
	return [
		flags, text(o.dialect, "dialect"), text(o.cwd, "cwd"), text(o.id, "id"), text(o.dir, "dir"), text(o.path, "path"),
		text(o.name, "name"), text(o.parentSession, "parentSession"), o.entries && givenLines(o.entries),
	];
}

// ---------------------------------------------------------------- the default

const shared = isMainThread && !process.versions.bun;
let known = { key: undefined, grove: undefined };

function fingerprint() {
	// Where process.env is not the process's own (workers, Bun), it is compared as a whole.
	return `${shared ? binding.environment() : JSON.stringify(process.env)}\0${process.cwd()}`;
}

/** The Grove for these options of a call: the process's own, unless they name another store. */
function groveFor(options) {
	if (options && (options.store !== undefined || options.home !== undefined || options.env !== undefined)) {
		return new Grove({ store: options.store, home: options.home, env: options.env, cache: options.cache });
	}
	const key = fingerprint();
	if (known.key !== key) known = { key, grove: new Grove() };
	return known.grove;
}

module.exports = { Grove, groveFor, open };
