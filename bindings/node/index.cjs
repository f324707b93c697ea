"use strict";

const { Grove, groveFor, open } = require("./lib/world.cjs");
const { Session } = require("./lib/session.cjs");
const { GroveError } = require("./lib/errors.cjs");
const binding = require("./lib/binding.cjs");

module.exports = {
	open,
	session: (what, options) => groveFor(options).session(what, options),
	create: (options) => groveFor(options).create(options),
	recent: (options) => groveFor(options).recent(options),
	list: (options) => groveFor(options).list(options),
	search: (query, options) => groveFor(options).search(query, options),
	usage: (options) => groveFor(options).usage(options),
	watch: (what, options) => groveFor(options).watch(what, options),
	find: (what, options) => groveFor(options).find(what),
	remove: (what, options) => groveFor(options).remove(what, options),
	copy: (what, store, options) => groveFor(options).copy(what, store),
	initStore: (store, options) => groveFor(options).initStore(store),
	Grove,
	Session,
	GroveError,
	version: binding.version(),
};
