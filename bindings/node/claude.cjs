"use strict";

// grove-sessions/claude: a SessionStore of the Claude Agent SDK in any store.
//
//     import { query } from "@anthropic-ai/claude-agent-sdk";
//     import { openStore } from "grove-sessions/claude";
//
//     const sessionStore = openStore("sqlite:sessions.db");
//     query({ prompt, options: { sessionStore } });
//
// Entries become lines of an ordinary session, which `grove --store sqlite:sessions.db ls` shows.

const { Logs, parseLines } = require("./lib/logs.cjs");

const SUMMARY = "claude.summary";

function key(given) {
	if (given === null || typeof given !== "object") throw new TypeError("a key is an object");
	for (const part of ["projectKey", "sessionId"]) {
		if (typeof given[part] !== "string") throw new TypeError(`${part} must be a string`);
	}
	return [given.projectKey, given.sessionId, given.subpath || undefined];
}

class SessionStore {
	#logs;
	#fold;
	#turns = new WeakMap();

	constructor(url, options = {}) {
		this.#logs = new Logs(url, { dialect: "claude", sync: options.sync });
		this.#fold = options.foldSessionSummary;
		if (this.#fold === undefined) {
			// Without the SDK's function there are no summaries: the SDK then loads the sessions instead.
			Object.defineProperty(this, "listSessionSummaries", { value: undefined, configurable: true });
		}
	}

	async append(k, entries) {
		const [project, session, subpath] = key(k);
		if (entries.length === 0) return;
		// The entries are turned into text now, since the caller may change them while the append waits.
		const lines = entries.map((entry) => JSON.stringify(entry));
		const log = this.#logs.at(project, session, subpath);
		const folds = this.#fold !== undefined && subpath === undefined;
		const done = log.append(lines, { idMember: "uuid", alone: folds });
		if (folds) await this.#inTurn(log, async () => this.#summarise(log, { ...k }, lines, await done));
		else await done;
	}

	async load(k) {
		const text = await this.#logs.at(...key(k)).read();
		const entries = text === null ? [] : parseLines(text);
		return entries.length ? entries : null;
	}

	async listSessions(projectKey) {
		const found = await this.#logs.list(projectKey);
		return found.filter((log) => log.bytes > 0).map((log) => ({ sessionId: log.session, mtime: log.modified }));
	}

	async listSubkeys(k) {
		const [project, session] = key(k);
		const found = await this.#logs.list(project, session);
		return found.filter((log) => log.bytes > 0).map((log) => log.subpath);
	}

	async delete(k) {
		await this.#logs.remove(...key(k));
	}

	// ---------------------------------------------------------------- summaries

	/** Runs `fn` after the earlier calls for this log, so that the summary of a session is folded in order. */
	#inTurn(log, fn) {
		const turn = (this.#turns.get(log) ?? Promise.resolve()).then(fn, fn);
		this.#turns.set(log, turn);
		return turn;
	}

	/**
	 * The summary that is stored with a session, and the size that the session had then. If another process
	 * has appended since, the size differs: the summary is out of date, and is made again from the entries.
	 */
	async #kept(log) {
		const text = await log.value(SUMMARY);
		return text === null ? undefined : JSON.parse(text);
	}

	async #keep(log, summary, bytes) {
		await log.setValue(SUMMARY, JSON.stringify({ bytes, summary }));
		return summary;
	}

	async #summarise(log, k, lines, done) {
		const kept = await this.#kept(log);
		if (kept?.bytes === done.bytes) return;
		const added = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
		const alone = done.skipped === 0 && done.stored === lines.length && (kept?.bytes ?? 0) + added === done.bytes;
		if (!alone) return; // listSessionSummaries() makes the summary again when somebody calls it
		const entries = lines.map((line) => JSON.parse(line));
		await this.#keep(log, this.#fold(kept?.summary, k, entries, { mtime: done.modified }), done.bytes);
	}

	async #summary(projectKey, { session, bytes, modified }) {
		const k = { projectKey, sessionId: session };
		const log = this.#logs.at(projectKey, session, undefined);
		const kept = await this.#kept(log);
		let summary = kept?.bytes === bytes ? kept.summary : undefined;
		if (summary === undefined) {
			const entries = await this.load(k);
			if (entries === null) return undefined;
			summary = await this.#keep(log, this.#fold(undefined, k, entries, { mtime: modified }), bytes);
		}
		return { ...summary, sessionId: session, mtime: modified };
	}

	async listSessionSummaries(projectKey) {
		const found = (await this.#logs.list(projectKey)).filter((log) => log.bytes > 0);
		const all = await Promise.all(found.map((log) => this.#summary(projectKey, log)));
		return all.filter((summary) => summary !== undefined);
	}
}

/**
 * Opens a SessionStore in the store with this URL: a directory, "sqlite:FILE", "mysql://…" or "memory:".
 * With the SDK's `foldSessionSummary`, lists need not load the sessions.
 */
function openStore(url, options) {
	return new SessionStore(url, options);
}

module.exports = { openStore, SessionStore };
