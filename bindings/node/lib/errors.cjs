"use strict";

/**
 * Everything that the library refuses or fails at. `code` is "NOTFOUND", "CONFLICT", …;
 * `detail` has the bare message and, where a file is involved, the place in it.
 */
class GroveError extends Error {
	constructor(message, code, path, line, offset) {
		super((path === undefined ? "" : `${path}: `) + (line === undefined ? "" : `line ${line}: `) + message);
		this.code = code;
		this.detail = { message };
		if (path !== undefined) this.detail.path = path;
		if (line !== undefined) Object.assign(this.detail, { line, offset });
	}
}
Object.defineProperty(GroveError.prototype, "name", { value: "GroveError", configurable: true, writable: true });

module.exports = { GroveError };
