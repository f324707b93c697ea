"use strict";

// Grove: an environment in which sessions are found. The Grove for the environment of the process
// is made when it is first used, and made anew when HOME, another variable or the working directory
// has changed.

const { isMainThread } = require("node:worker_threads");
const binding = require("./binding.cjs");
const { Session } = require("./session.cjs");
const { Watch } = require("./watch.cjs");
const jobs = require("./jobs.cjs");

const OPEN = { read: 0, write: 1 };
const REMOVE_NO_TRASH = 1;
const CREATE_NOW = 1;
const CREATE_MEMORY = 2;

/** Checks a text argument. A path may be given as a URL: new URL("session.jsonl", import.meta.url). */
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

	/** Returns the addon's handle of a Grove, for the modules of this package. */
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

	/** Closes this Grove. Sessions and watches made from it stay open, and its jobs go on. */
	close() {
		binding.worldClose(this.#world);
	}
}
if (Symbol.dispose) Object.defineProperty(Grove.prototype, Symbol.dispose, { value: Grove.prototype.close });

/** Returns the Grove for the URL of a store or for options; without either, for the environment of the process. */
function open(where) {
	const isStore = typeof where === "string" || where instanceof URL;
	if (!isStore && where !== undefined && (where === null || typeof where !== "object")) {
		throw new TypeError("the URL of a store or options are expected");
	}
	return new Grove(isStore ? { store: where } : where);
}

/** The lines of the entries with which a session in memory begins. They may have a header in front. */
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
	// In workers and in Bun, process.env is not the environment of the process itself, so all of it is compared.
	return `${shared ? binding.environment() : JSON.stringify(process.env)}\0${process.cwd()}`;
}

/**
 * Returns the Grove for the options of a call: that of the process, unless they name a store, a home or
 * an environment.
 */
function groveFor(options) {
	if (options && (options.store !== undefined || options.home !== undefined || options.env !== undefined)) {
		return new Grove({ store: options.store, home: options.home, env: options.env, cache: options.cache });
	}
	const key = fingerprint();
	if (known.key !== key) known = { key, grove: new Grove() };
	return known.grove;
}

module.exports = { Grove, groveFor, open };
