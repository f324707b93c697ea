"use strict";

/**
 * The error that is thrown when the library refuses a call or fails. `code` is "NOTFOUND",
 * "CONFLICT", …; if a file is involved, `path` names it, and `line` and `offset` the place in it.
 */
class GroveError extends Error {
	constructor(message, code, path, line, offset) {
		super((path === undefined ? "" : `${path}: `) + (line === undefined ? "" : `line ${line}: `) + message);
		this.code = code;
		if (path !== undefined) this.path = path;
		if (line !== undefined) Object.assign(this, { line, offset });
	}
}
Object.defineProperty(GroveError.prototype, "name", { value: "GroveError", configurable: true, writable: true });

module.exports = { GroveError };
