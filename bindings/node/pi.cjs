"use strict";

// grove-sessions/pi: pi's SessionManager and the functions beside it.

const path = require("node:path");
const context = require("./lib/pi/context.cjs");
const entries = require("./lib/pi/entries.cjs");
const { findFile, findMostRecentSession } = require("./lib/pi/files.cjs");
const { listDirectory, listStore } = require("./lib/pi/list.cjs");
const { SessionManager: Manager } = require("./lib/pi/manager.cjs");
const { MemoryLog } = require("./lib/pi/memory.cjs");
const paths = require("./lib/pi/paths.cjs");
const { FilePlace, MemoryPlace, StorePlace } = require("./lib/pi/places.cjs");
const { newHeader } = require("./lib/pi/branch.cjs");
const { Grove } = require("./lib/world.cjs");

function idOf(options) {
	if (options?.id !== undefined) paths.assertValidSessionId(options.id);
	return options?.id ?? paths.newSessionId();
}

/** Makes a log in memory from the given entries: with a header they are a session, without one they begin a new session. */
function memoryLog(place, options, given) {
	const header = given.find((entry) => entry.type === "session");
	if (header) entries.migrate(given);
	const made = header ?? newHeader({ id: idOf(options), cwd: place.cwd, parentSession: options?.parentSession });
	return new MemoryLog(made, given.filter((entry) => entry.type !== "session"));
}

/**
 * The directory to look for sessions in, and the `cwd` that they must have (undefined: any). pi's own directory
 * for `cwd` has only sessions of `cwd`; in any other directory, the rest must be filtered out.
 */
function scopeOf(cwd, sessionDir) {
	const standard = paths.getDefaultSessionDir(cwd);
	const dir = sessionDir === undefined ? standard : paths.resolve(sessionDir);
	return { dir, cwd: dir === standard ? undefined : cwd };
}

/** Opens a log in a place. The working directory of the place is that of the log, unless the caller gives another. */
function opened(place, what, cwdOverride) {
	const log = place.openFile(what);
	if (cwdOverride === undefined && typeof log.header.cwd === "string") place.cwd = paths.resolve(log.header.cwd);
	return [place, log];
}

class SessionManager extends Manager {
	static create(cwd, sessionDir, options) {
		const id = idOf(options);
		const place = new FilePlace(cwd, sessionDir);
		return new SessionManager(place, place.create({ id, parentSession: options?.parentSession }));
	}

	static open(file, sessionDir, cwdOverride) {
		const resolved = paths.resolve(file);
		const place = new FilePlace(cwdOverride ?? process.cwd(), sessionDir ?? path.dirname(resolved));
		return new SessionManager(...opened(place, resolved, cwdOverride));
	}

	static continueRecent(cwd, sessionDir) {
		const scope = scopeOf(cwd, sessionDir);
		const file = findMostRecentSession(scope.dir, scope.cwd);
		return file ? SessionManager.open(file, scope.dir, cwd) : SessionManager.create(cwd, scope.dir);
	}

	static inMemory(cwd = process.cwd(), options = undefined, given = undefined) {
		const place = new MemoryPlace(cwd);
		return new SessionManager(place, given ? memoryLog(place, options, given) : memoryLog(place, options, []));
	}

	static forkFrom(sourcePath, targetCwd, sessionDir, options) {
		const id = idOf(options);
		const place = new FilePlace(targetCwd, sessionDir);
		return new SessionManager(place, place.forkFile(sourcePath, id));
	}

	static findById(cwd, id, sessionDir) {
		const scope = scopeOf(cwd, sessionDir);
		return findFile(scope.dir, id, scope.cwd);
	}

	static async list(cwd, sessionDir, onProgress, signal) {
		const scope = scopeOf(cwd, sessionDir);
		return listDirectory(scope.dir, { cwd: scope.cwd, onProgress, signal });
	}

	static async listAll(...args) {
		const dir = typeof args[0] === "function" ? undefined : args.shift();
		const [onProgress, signal] = args;
		return listDirectory(dir ?? path.join(paths.agentDirectory(), "sessions"), { onProgress, signal });
	}
}

/**
 * Returns pi's class for a store: "sqlite:sessions.db", "mysql://user@host/db", or a directory. Its sessions
 * are opened by id.
 */
function onStore(url, options) {
	const grove = new Grove({ ...options, store: url, dialect: "pi" });

	return class StoreSessionManager extends Manager {
		static create(cwd, _dir, how) {
			const id = idOf(how);
			const place = new StorePlace(grove, cwd);
			return new StoreSessionManager(place, place.create({ id, parentSession: how?.parentSession }));
		}

		static open(what, _dir, cwdOverride) {
			return new StoreSessionManager(...opened(new StorePlace(grove, cwdOverride ?? process.cwd()), what, cwdOverride));
		}

		static continueRecent(cwd) {
			const place = new StorePlace(grove, cwd);
			return new StoreSessionManager(place, place.recent());
		}

		static inMemory(...args) {
			return SessionManager.inMemory(...args);
		}

		static forkFrom(what, targetCwd, _dir, how) {
			const id = idOf(how);
			const place = new StorePlace(grove, targetCwd);
			return new StoreSessionManager(place, place.forkFile(what, id));
		}

		static findById(_cwd, id) {
			return new StorePlace(grove, process.cwd()).has(id) ? id : undefined;
		}

		static list(cwd, _dir, onProgress, signal) {
			return listStore(grove, { cwd, onProgress, signal });
		}

		static listAll(...args) {
			const [onProgress, signal] = typeof args[0] === "function" ? args : args.slice(1);
			return listStore(grove, { onProgress, signal });
		}
	};
}

module.exports = {
	SessionManager,
	onStore,
	CURRENT_SESSION_VERSION: entries.CURRENT_SESSION_VERSION,
	assertValidSessionId: paths.assertValidSessionId,
	buildContextEntries: context.buildContextEntries,
	buildSessionContext: context.buildSessionContext,
	buildSessionProjection: context.buildSessionProjection,
	findMostRecentSession,
	getDefaultSessionDir: paths.getDefaultSessionDir,
	getLatestCompactionEntry: context.getLatestCompactionEntry,
	migrateSessionEntries: entries.migrateSessionEntries,
	parseSessionEntries: entries.parseSessionEntries,
	projectContextEntry: context.projectContextEntry,
	sessionEntryToContextMessages: context.sessionEntryToContextMessages,
};
