"use strict";

// Watch: an async iterator over what happens to sessions.

const binding = require("./binding.cjs");

const WATCH_LIST = 1;

class Watch {
	#handle;
	#events = [];
	#waiting = []; // the { resolve, reject } of each next() that has no event yet
	#end; // set once the watch has ended: { error } or {}
	#forget = () => {};

	constructor(world, what, { since, list, cursor, signal, onError }) {
		signal?.throwIfAborted();
		const names = what === undefined || what === null ? [] : Array.isArray(what) ? what : [what];
		this.#handle = binding.watchOpen(world, names, since, list ? WATCH_LIST : 0, cursor, (event, error) => {
			if (event !== undefined) this.#take(JSON.parse(event));
			else if (error === undefined) this.#finish({});
			else onError?.(error); // the addon tries again, and no event is lost
		});
		if (signal) {
			const abort = () => this.#finish({ error: signal.reason });
			signal.addEventListener("abort", abort, { once: true });
			this.#forget = () => signal.removeEventListener("abort", abort);
		}
	}

	#take(event) {
		const waiting = this.#waiting.shift();
		if (waiting) waiting.resolve({ value: event, done: false });
		else this.#events.push(event);
	}

	#finish(end) {
		if (this.#end) return;
		this.#end = end;
		this.#forget();
		binding.watchClose(this.#handle);
		for (const waiting of this.#waiting.splice(0)) this.#answer(waiting);
	}

	/** Answers a next() after the end. If there is an error, only the first one gets it. */
	#answer({ resolve, reject }) {
		const { error } = this.#end;
		this.#end = {};
		if (error === undefined) resolve({ value: undefined, done: true });
		else reject(error);
	}

	next() {
		if (this.#events.length > 0) return Promise.resolve({ value: this.#events.shift(), done: false });
		return new Promise((resolve, reject) => {
			if (this.#end) this.#answer({ resolve, reject });
			else this.#waiting.push({ resolve, reject });
		});
	}

	async return(value) {
		this.#events.length = 0;
		this.#finish({});
		return { value, done: true };
	}

	close() {
		this.#events.length = 0;
		this.#finish({});
	}

	[Symbol.asyncIterator]() {
		return this;
	}
}
if (Symbol.dispose) Object.defineProperty(Watch.prototype, Symbol.dispose, { value: Watch.prototype.close });
if (Symbol.asyncDispose) Object.defineProperty(Watch.prototype, Symbol.asyncDispose, { value: Watch.prototype.return });

module.exports = { Watch };
