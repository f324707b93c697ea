"use strict";

// Entries out of heads: many in one crossing, and each no more than what is looked at.
//
// The library says which shape an entry has (include/grove/view.h): a JSON object in which
// {"$": …} stands for what comes from columns. There are a few dozen shapes in a session, so
// each becomes a function that makes its entries, with all members in their order. An entry has
// two parts that come later:
//
//   - an object in it with values from columns, as `message` and `usage`, is made of them when it
//     is first read;
//   - what the columns do not have, as the content of a message, is taken from the entry's line,
//     which is read and parsed then.
//
// Until then they are own, enumerable accessors, so that spreading, Object.keys, JSON.stringify and
// structuredClone see an ordinary object. The accessors of one place are the same two functions in
// all entries; they find their entry by a private field, which none of these sees.

const HOLE = "$";

/** Gives any object a private field that says where it comes from. */
class Source extends (function (object) { return object; }) {
	#heads;
	#row;
	constructor(object, heads, row) {
		super(object);
		this.#heads = heads;
		this.#row = row;
	}
	static part(object, place) {
		return object.#heads.part(object.#row, place);
	}
	static whole(object) {
		return object.#heads.whole(object.#row);
	}
	static left(object) {
		return object.#heads.left(object.#row);
	}
}

function settle(object, key, value) {
	Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
	return value;
}

function accessor(key, get) {
	const set = function (value) {
		settle(this, key, value);
	};
	return { get, set, enumerable: true, configurable: true };
}

/** Of an object in an entry that is made of columns. */
function laterPart(key) {
	return accessor(key, function () {
		return settle(this, key, Source.part(this, key));
	});
}

const walk = (value, place) => place.reduce((at, key) => at?.[key], value);

/** Of what is in the line alone; with it goes all else that the same object lacks. */
function laterValue(place) {
	const within = place.slice(0, -1);
	const key = place.at(-1);
	return accessor(key, function () {
		const from = walk(Source.whole(this), within);
		for (const other of Source.left(this)) {
			if (other.length !== place.length || other.slice(0, -1).join("\0") !== within.join("\0")) continue;
			const name = other.at(-1);
			if (Object.getOwnPropertyDescriptor(this, name)?.get) settle(this, name, from?.[name]);
		}
		return this[key];
	});
}

/** The accessors of each place, once for all entries: then their objects are alike for the engine. */
const accessors = new Map();
function accessorOf(kind, place) {
	const name = JSON.stringify([kind, place]);
	if (!accessors.has(name)) accessors.set(name, kind === "part" ? laterPart(place.at(-1)) : laterValue(place));
	return accessors.get(name);
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isHole = (value) => isObject(value) && Object.hasOwn(value, HOLE);
const isLeft = (value) => isHole(value) && (value[HOLE] === "left" || value[HOLE] === "blocks");
const hasHoles = (value) => isHole(value) || (value !== null && typeof value === "object" && Object.values(value).some(hasHoles));

/** Writes the functions that make entries of one shape. */
class Writer {
	numbers = 0;
	texts = 0;
	left = []; // places of what is left out: ["message", "content"]
	parts = {}; // by name: the body of a function
	constants = [];

	shape(shape) {
		const statements = [];
		const it = this.object(shape, [], statements);
		return `${statements.join("")}return ${it};`;
	}

	constant(value) {
		this.constants.push(value);
		return `K[${this.constants.length - 1}]`;
	}

	value(value, place, statements) {
		if (value === null || typeof value !== "object") return JSON.stringify(value);
		if (Array.isArray(value)) return `[${value.map((item, i) => this.value(item, [...place, i], statements)).join(",")}]`;
		return isHole(value) ? this.hole(value[HOLE]) : this.object(value, place, statements);
	}

	hole(kind) {
		switch (kind) {
			case "text":
				return `T(x+${this.texts++})`;
			case "json":
				return `JSON.parse(T(x+${this.texts++}))`;
			case "number":
				return `N[n+${this.numbers++}]`;
			case "parent":
				return `H.id(N[n+${this.numbers++}])`;
			default:
				throw new Error(`grove-sessions: unknown part of an entry: ${kind}`);
		}
	}

	/** An object as an expression; what must be done before it goes to `statements`. */
	object(members, place, statements) {
		const isPart = (value) => place.length === 0 && isObject(value) && !isHole(value) && hasHoles(value);
		const later = (name) => isLeft(members[name]) || isPart(members[name]);
		const names = Object.keys(members);
		const first = names.findIndex((name) => later(name) || name === "__proto__");
		const literal = names.slice(0, first < 0 ? names.length : first);
		const text = `{${literal.map((name) => `${JSON.stringify(name)}:${this.value(members[name], [...place, name], statements)}`).join(",")}}`;
		if (first < 0) return text;

		const it = `o${place.length}${statements.length}`;
		statements.push(`const ${it}=${text};`);
		for (const name of names.slice(first)) {
			const key = JSON.stringify(name);
			const at = [...place, name];
			if (later(name)) {
				statements.push(`define(${it},${key},${this.constant(this.later(members[name], at))});`);
				continue;
			}
			const value = this.value(members[name], at, statements);
			// o["__proto__"] = … would not make a member
			statements.push(name === "__proto__" ? `settle(${it},${key},${value});` : `${it}[${key}]=${value};`);
		}
		statements.push(`new Source(${it},H,row);`);
		return it;
	}

	later(value, place) {
		if (!isLeft(value)) {
			const statements = [];
			const it = this.object(value, place, statements);
			this.parts[place[0]] = `${statements.join("")}return ${it};`;
			return accessorOf("part", place);
		}
		this.left.push(place);
		this.numbers++; // how long it is
		if (value[HOLE] === "blocks") this.texts++; // what its blocks are
		return accessorOf("value", place);
	}
}

/** Sessions share most shapes: their functions are kept by their text. */
const compiled = new Map();

function compile(shape) {
	const text = JSON.stringify(shape);
	if (compiled.has(text)) return compiled.get(text);
	const w = new Writer();
	const entry = w.shape(shape);
	const fn = (body) => {
		const text = `"use strict"; return (H, N, n, T, x, row) => {${body}}`;
		return new Function("define", "settle", "Source", "K", text)(Object.defineProperty, settle, Source, w.constants);
	};
	const made = {
		entry: fn(entry),
		parts: Object.fromEntries(Object.entries(w.parts).map(([name, body]) => [name, fn(body)])),
		left: w.left,
	};
	if (compiled.size < 1000) compiled.set(text, made);
	return made;
}

/** The heads of the rows from `from` on, to make entries of. `entries` knows ids and lines of all rows. */
class Heads {
	#entries;
	#from;
	#shape;
	#number;
	#text;
	#numbers;
	#texts;
	#shapes;

	constructor(entries, from, [shapes, shape, number, text, numbers, textAt, strings]) {
		this.#entries = entries;
		this.#from = from;
		this.#shape = shape;
		this.#number = number;
		this.#text = text;
		this.#numbers = numbers;
		this.#texts = (at) => strings.slice(textAt[at], textAt[at + 1]);
		this.#shapes = JSON.parse(shapes).map((s) => (isHole(s) ? null : compile(s)));
	}

	#make(row, fn) {
		const i = row - this.#from;
		return fn(this, this.#numbers, this.#number[i], this.#texts, this.#text[i], row);
	}

	/** The entry of a row; undefined if it was not taken apart. */
	entry(row) {
		const shape = this.#shapes[this.#shape[row - this.#from]];
		return shape ? this.#make(row, shape.entry) : undefined;
	}

	part(row, name) {
		return this.#make(row, this.#shapes[this.#shape[row - this.#from]].parts[name]);
	}

	left(row) {
		return this.#shapes[this.#shape[row - this.#from]].left;
	}

	whole(row) {
		return this.#entries.whole(row);
	}

	id(row) {
		return this.#entries.id(row);
	}
}

module.exports = { Heads };
