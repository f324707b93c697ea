"use strict";

const binding = require("./binding.cjs");

class Session {
	#handle;
	#about;

	constructor(handle) {
		this.#handle = handle;
	}

	#ask(name) {
		this.#about ??= binding.sessionAbout(this.#handle);
		return this.#about[name];
	}

	get id() {
		return this.#ask("id");
	}
	get path() {
		return this.#ask("path");
	}
	get leaf() {
		return binding.sessionLeaf(this.#handle);
	}
	get length() {
		return binding.viewCount(this.#handle);
	}

	append(entry) {
		const [, , lines] = binding.sessionAppend(this.#handle, JSON.stringify(entry));
		return JSON.parse(lines);
	}

	context() {
		return JSON.parse(binding.viewContext(this.#handle));
	}

	close() {
		this.#about ??= binding.sessionAbout(this.#handle);
		binding.sessionClose(this.#handle);
	}
}
if (Symbol.dispose) Object.defineProperty(Session.prototype, Symbol.dispose, { value: Session.prototype.close });

module.exports = { Session };
