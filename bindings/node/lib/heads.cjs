"use strict";

// Entries out of heads: many in one crossing, and each no more than what is looked at.
//
// The library says which shape an entry has (include/grove/view.h): a JSON object in which
// {"$": …} stands for what comes from columns. There are a few dozen shapes in a session, so
// each becomes a function that makes its entries, with all members in their order. Two things
// come later:
//
//   - an object in it with values from columns, as `message` and `usage`, is made of them when it
//     is first read;
//   - what the columns do not have is taken from the entry's line, which is read and parsed then.
//     Of the blocks of a message's content the types are known before: tool calls can be counted
//     without reading any.
//
// All are own, enumerable accessors, so that spreading, Object.keys, JSON.stringify and
// structuredClone see an ordinary object. The accessors of one place are the same two functions in
// all entries; they find their entry, and what they found before, by private fields, which none
// of these sees.

const HOLE = "$";
/** Reading along: how near the next entry must be, and how many are read at most. */
const NEAR = 64;
const AHEAD = 256;

/** The base of classes that give private fields to objects that are there already. */
class Given {
	constructor(object) {
		return object;
	}
}

/** Gives any object private fields that say where it comes from, and hold what was read of it. */
class Source extends Given {
	#heads;
	#row;
	#values = undefined; // by key
	constructor(object, heads, row) {
		super(object);
		this.#heads = heads;
		this.#row = row;
	}
	static isSettled(object, key) {
		return object.#values !== undefined && Object.hasOwn(object.#values, key);
	}
	static value(object, key) {
		return object.#values[key];
	}
	static settle(object, key, value) {
		object.#values ??= {};
		if (key === "__proto__") settle(object.#values, key, value);
		else object.#values[key] = value;
	}
	static part(object, place) {
		return object.#heads.part(object.#row, place);
	}
	static whole(object) {
		return object.#heads.whole(object.#row);
	}
	static blocks(object, place, text) {
		return object.#heads.blocks(object.#row, place, text);
	}
	static left(object) {
		return object.#heads.left(object.#row);
	}
}

/** As an ordinary member. Only for the rare ones: engines make objects slow that change so. */
function settle(object, key, value) {
	Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
	return value;
}

function accessor(key, read) {
	const get = function () {
		if (!Source.isSettled(this, key)) read(this);
		return Source.value(this, key);
	};
	const set = function (value) {
		Source.settle(this, key, value);
	};
	return { get, set, enumerable: true, configurable: true };
}

/** Of an object in an entry that is made of columns. */
function laterPart(key) {
	return accessor(key, (object) => Source.settle(object, key, Source.part(object, key)));
}

const walk = (value, place) => place.reduce((at, key) => at?.[key], value);

/** Of what is in the line alone; with it goes all else that the same object lacks. */
function laterValue(place) {
	const within = place.slice(0, -1);
	const isBeside = (other) => other.length === place.length && within.every((name, i) => other[i] === name);
	return accessor(place.at(-1), (object) => {
		const from = walk(Source.whole(object), within);
		for (const other of Source.left(object)) {
			const name = other.at(-1);
			if (isBeside(other) && !Source.isSettled(object, name)) Source.settle(object, name, from?.[name]);
		}
	});
}

/** Of a list of blocks, whose members come later still. */
function laterBlocks(place, text) {
	const key = place.at(-1);
	return accessor(key, (object) => Source.settle(object, key, Source.blocks(object, place, text)));
}

/** The accessors of each place, once for all entries: then their objects are alike for the engine. */
const accessors = new Map();
function accessorOf(kind, place, text) {
	const name = JSON.stringify([kind, place, text]);
	if (!accessors.has(name)) {
		accessors.set(name, kind === "part" ? laterPart(place.at(-1)) : text === undefined ? laterValue(place) : laterBlocks(place, text));
	}
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
		return accessorOf("value", place, value[HOLE] === "blocks" ? this.texts++ : undefined);
	}
}

// ------------------------------------------------------------------------- blocks

/** Blocks of one list: where they are read from, all of them when the first is looked into. */
class List {
	#heads;
	#row;
	#place;
	#read;

	constructor(heads, row, place) {
		this.#heads = heads;
		this.#row = row;
		this.#place = place;
	}

	at(i) {
		this.#read ??= walk(this.#heads.whole(this.#row), this.#place);
		return this.#read[i];
	}
}

/** Gives a block of a list its place. */
class Block extends Given {
	#list;
	#i;
	#members = undefined;
	constructor(object, list, i) {
		super(object);
		this.#list = list;
		this.#i = i;
	}
	static members(object) {
		object.#members ??= object.#list.at(object.#i);
		return object.#members;
	}
}

const blockAccessors = new Map();
function blockAccessor(key) {
	if (!blockAccessors.has(key)) {
		blockAccessors.set(key, {
			get() {
				return Block.members(this)[key];
			},
			set(value) {
				settle(this, key, value);
			},
			enumerable: true,
			configurable: true,
		});
	}
	return blockAccessors.get(key);
}

/** The function that makes blocks of a shape: their type is there, all else comes when it is read. */
function blockMaker(shape) {
	const members = Object.entries(shape).map(([key, value]) => [key, isHole(value) ? blockAccessor(key) : undefined, value]);
	return (list, i) => {
		const block = {};
		for (const [key, later, value] of members) {
			if (later) Object.defineProperty(block, key, later);
			else block[key] = value;
		}
		new Block(block, list, i);
		return block;
	};
}

const BLOCK_FIRST = "!".charCodeAt(0);
const BLOCK_ODD = "~";

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
		kind: `${shape.type} ${shape.message?.role}`,
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
	#blocks;
	#ahead = new Map(); // whole entries by row, read along
	#last = -1;
	#many = 1;

	constructor(entries, from, [shapes, shape, number, text, numbers, textAt, strings, blocks]) {
		this.#entries = entries;
		this.#from = from;
		this.#shape = shape;
		this.#number = number;
		this.#text = text;
		this.#numbers = numbers;
		this.#texts = (at) => strings.slice(textAt[at], textAt[at + 1]);
		this.#blocks = JSON.parse(blocks).map(blockMaker);
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

	/** The list at `place`; `text` says what its blocks are. */
	blocks(row, place, text) {
		const letters = this.#texts(this.#text[row - this.#from] + text);
		if (letters.includes(BLOCK_ODD)) return walk(this.whole(row), place);
		const list = new List(this, row, place);
		return Array.from(letters, (letter, i) => this.#blocks[letter.charCodeAt(0) - BLOCK_FIRST](list, i));
	}

	left(row) {
		return this.#shapes[this.#shape[row - this.#from]].left;
	}

	/**
	 * The entry of a row, all of it. Whoever asks for one after the other, as a count of all
	 * tool calls does, gets the next ones of the same shape read along, more each time.
	 */
	whole(row) {
		const read = this.#ahead.get(row);
		if (read) {
			this.#ahead.delete(row);
			return read;
		}
		const onward = row > this.#last && row - this.#last <= NEAR;
		this.#many = onward ? Math.min(this.#many * 2, AHEAD) : 1;
		const rows = this.#many === 1 ? [row] : this.#alike(row, this.#many);
		this.#last = rows.at(-1);
		if (rows.length === 1) return this.#entries.whole(row);
		this.#ahead = new Map();
		this.#entries.wholes(rows).forEach((entry, i) => this.#ahead.set(rows[i], entry));
		return this.whole(row);
	}

	#alike(row, many) {
		const kind = this.#kindOf(row);
		const rows = [];
		const end = this.#from + this.#shape.length;
		for (let at = row; at < end && rows.length < many; at++) if (this.#kindOf(at) === kind) rows.push(at);
		return rows;
	}

	#kindOf(row) {
		return this.#shapes[this.#shape[row - this.#from]]?.kind;
	}

	id(row) {
		return this.#entries.id(row);
	}
}

module.exports = { Heads };
