"use strict";

// What the modules for one store share: the environment that they open, and the queue of their calls.

const binding = require("./binding.cjs");

const SYNC = { none: 0, flush: 1, always: 2 };

/** Opens an environment that has only this store. */
function openWorld(url, dialect) {
	if (typeof url !== "string" || url === "") throw new TypeError("the URL of a store is expected");
	const variables = Object.entries(process.env).filter(([, value]) => value !== undefined).flat();
	return binding.worldOpen(process.cwd(), undefined, variables, [url], dialect, "");
}

/** Turns the option `sync` (when an append is acknowledged) into the addon's number for it. */
function syncOf(sync = "none") {
	if (!(sync in SYNC)) throw new TypeError(`sync must be one of ${Object.keys(SYNC).join(", ")}`);
	return SYNC[sync];
}

/** Runs calls one after the other, in the order in which they came. */
class Turns {
	#last = Promise.resolve(); // resolves when all calls so far have ended
	#calls = 0;

	get busy() {
		return this.#calls > 0;
	}

	/** Runs `fn` when its turn has come and all calls that the other queues have so far have ended, too. */
	after(others, fn) {
		const before = Promise.allSettled([this.#last, ...others.map((other) => other.#last)]);
		this.#calls++;
		const answer = before.then(fn);
		this.#last = answer.then(
			() => void this.#calls--,
			() => void this.#calls--,
		);
		return answer;
	}

	/** Keeps this queue busy, as a call would, until the function that is returned is called. */
	hold() {
		this.#calls++;
		return () => void this.#calls--;
	}
}

module.exports = { openWorld, syncOf, Turns };
