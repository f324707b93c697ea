"use strict";

/**
 * Everything that the library refuses or fails at. `code` is "NOTFOUND", "CONFLICT", …; where a
 * file is involved, `path` names it, and `line` and `offset` the place in it.
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
