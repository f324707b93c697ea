"use strict";

// Calls that take long and work on another thread. They return promises, and take an AbortSignal and a
// function for progress.

const binding = require("./binding.cjs");

const SORT = ["modified", "created", "size", "messages", "name", "relevance"];
const USAGE_BY = ["day", "model", "session", "project", "agent"];
const SEARCH_IN = { text: 1, calls: 2, results: 4, names: 8 };
const LIST = { all: 1, named: 2, threads: 4, shape: 16 };

function choose(names, value, what) {
	if (value === undefined) return undefined;
	const at = names.indexOf(value);
	if (at < 0) throw new TypeError(`${what} must be one of ${names.join(", ")}`);
	return at;
}

function flags(names, options) {
	return Object.keys(names).reduce((sum, name) => (options[name] ? sum | names[name] : sum), 0);
}

/** Turns a time into milliseconds. It may be a Date, a number of milliseconds, or a text that Date understands. */
function time(value, what) {
	if (value === undefined || value === null) return undefined;
	const ms = new Date(value).getTime();
	if (Number.isNaN(ms)) throw new TypeError(`${what} is not a time`);
	return ms;
}

/**
 * Reports that the work is complete. An error that the caller's onProgress throws does not reject the
 * promise; it is thrown outside of it.
 */
function tellEnd(onProgress, total) {
	try {
		if (total !== undefined) onProgress(total, total);
	} catch (error) {
		process.nextTick(() => {
			throw error;
		});
	}
}

/** Runs start(ticket, onProgress), which `signal` cancels. Its answer is parsed as JSON, or by `read`. */
async function run({ signal, onProgress }, start, read = JSON.parse) {
	let told = [0, 0];
	const tell = onProgress && ((done, total) => onProgress(...(told = [done, total])));
	signal?.throwIfAborted();
	const ticket = signal && binding.ticket();
	const abort = () => binding.cancel(ticket);
	signal?.addEventListener("abort", abort, { once: true });
	try {
		const text = await start(ticket, tell);
		// The work may have ended just before it was cancelled: a caller that cancelled it gets the reason all the same.
		signal?.throwIfAborted();
		const answer = read(text);
		// Several threads share the work, but only one reports progress, so the end may not have been reported.
		if (onProgress && (told[0] !== told[1] || told[1] === 0)) tellEnd(onProgress, told[1] || (answer.items ?? answer).length);
		return answer;
	} catch (error) {
		if (signal?.aborted && error.code === "CANCELLED") throw signal.reason;
		throw error;
	} finally {
		signal?.removeEventListener("abort", abort);
	}
}

function list(world, options) {
	const how = options.cwd === undefined ? { all: true, ...options } : options;
	return run(options, (ticket, onProgress) =>
		binding.list(world, flags(LIST, how), how.cwd, how.query, choose(SORT, how.sort, "sort"), how.limit, ticket, onProgress),
	);
}

/** As list(), with a function `said` that reads what was said in the session at an index; null if that session is gone. */
function listWithTexts(world, options) {
	return run(
		options,
		(ticket, onProgress) =>
			binding.list(world, flags(LIST, options), undefined, undefined, undefined, undefined, ticket, onProgress, 1),
		([text, kept]) => ({ items: JSON.parse(text), said: (i) => binding.listText(kept, i) }),
	);
}

const DAY_MS = 86400000;

/** Turns a day in UTC, such as "2026-05-03", into its first millisecond. */
function day(value, what) {
	if (value === undefined || value === null) return undefined;
	const ms = Date.parse(value);
	// Date.parse() takes the 31st of February for a day in March, so the result is compared with the text.
	if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== value)
		throw Object.assign(new TypeError(`${what} is not a day such as 2026-05-03`), { code: "INVAL" });
	return ms;
}

function usage(world, options) {
	const by = choose(USAGE_BY, options.by, "by");
	return run(options, (ticket, onProgress) => {
		const since = day(options.since, "since"), last = day(options.until, "until");
		const until = last === undefined ? undefined : last + DAY_MS;
		return binding.usage(world, by, since, until, options.prices, ticket, onProgress);
	});
}

function search(world, query, options) {
	const where = (options.in ?? []).reduce((sum, name) => sum | (SEARCH_IN[name] ?? 0), 0);
	return run(options, (ticket, onProgress) =>
		binding.search(
			world, query, options.index === false ? 1 : 0, where, options.role, options.cwd, options.agent,
			time(options.since, "since"), time(options.until, "until"), options.limit, ticket, onProgress,
		),
	);
}

module.exports = { list, listWithTexts, usage, search };
