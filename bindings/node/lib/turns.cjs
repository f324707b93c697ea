"use strict";

// What calls on one store share: its environment, and their turns.

const binding = require("./binding.cjs");

const SYNC = { none: 0, flush: 1, always: 2 };

/** An environment with this store alone. */
function openWorld(url, dialect) {
	if (typeof url !== "string" || url === "") throw new TypeError("the URL of a store is expected");
	const variables = Object.entries(process.env).filter(([, value]) => value !== undefined).flat();
	return binding.worldOpen(process.cwd(), undefined, variables, [url], dialect, "");
}

/** The addon's number for when an append is acknowledged. */
function syncOf(sync = "none") {
	if (!(sync in SYNC)) throw new TypeError(`sync must be one of ${Object.keys(SYNC).join(", ")}`);
	return SYNC[sync];
}

/** Calls that are made one after the other, in the order in which they came. */
class Turns {
	#last = Promise.resolve(); // settles when all calls so far have
	#calls = 0;

	get busy() {
		return this.#calls > 0;
	}

	/** Runs `fn` when its turn has come, after all that these others have under way, too. */
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

	/** Counts as a call until what is returned is called. */
	hold() {
		this.#calls++;
		return () => void this.#calls--;
	}
}

module.exports = { openWorld, syncOf, Turns };
