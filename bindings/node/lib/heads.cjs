"use strict";

// Makes entries from heads. One call of the addon fetches the heads of many entries, and of each
// entry only what somebody looks at is made.
//
// The library tells which shape an entry has (include/grove/view.h): a JSON object in which
// {"$": …} stands for a value that is in the columns. A session has a few dozen shapes, and most
// of them differ only in words, such as the name of a model. Shapes with the same members share one
// function, which makes their entries with all members in order and gets the words as an argument:
// engines compile functions that run often, and the fewer functions there are, the less that costs.
//
// A value that is not in the columns comes from the entry's line, which is read and parsed when
// somebody looks at such a value. Of the blocks of a message's content, the types and short texts
// are known without that, so tool calls can be counted without reading a line. When a caller goes
// from message to message, the next ones are made in advance: making many in one loop costs less
// than as many calls.
//
// Members whose values come later are own, enumerable accessors, so that spreading, Object.keys,
// JSON.stringify and structuredClone see an ordinary object. The accessor of one place is the same
// pair of functions in all entries. These functions keep what they have read, and the heads that
// the object belongs to, in private fields, which none of those operations sees.
//
// Objects with accessors are made by a constructor whose prototype is Object.prototype. Engines keep
// all members of such an object in the object itself, but not those that are added to a literal.

const HOLE = "$";
const MESSAGE = "message";
const CONTENT = "content";
/** A caller goes forward if the next row that it asks for is at most this much further on. */
const NEAR = 64;
/** The most lines that are read in advance at once. */
const LINES = 256;
/** The most objects that are made in advance at once. */
const OBJECTS = 4096;

/**
 * Decides how much is made in advance. While a caller goes forward from entry to entry, twice as much
 * is made each time.
 */
class Pace {
	#most;
	#last = -1;
	#many = 1;

	constructor(most) {
		this.#most = most;
	}

	/** The number of entries to make from this row on, which the caller has just asked for. */
	from(row) {
		const onward = row > this.#last && row - this.#last <= NEAR;
		this.#many = onward ? Math.min(this.#many * 2, this.#most) : 1;
		this.#last = row;
		return this.#many;
	}

	/** Tells the pace which row is the last one that was made or read. */
	upTo(row) {
		this.#last = row;
	}
}

/** The base of classes whose constructors add private fields to an object that exists already. */
class Given {
	constructor(object) {
		return object;
	}
}

/**
 * The first values of the private fields of the next object. They are not arguments, so that the fields
 * can have initialisers: engines then make room for the fields at once.
 */
let nextFrom;
let nextAt = 0;

const NOT_READ = Symbol("not read");

/** By object: the values that were read of it, by key, except those that Source has a field for. Few objects have any. */
const others = new WeakMap();

/** Private fields that say which heads and row an object comes from, and hold what was read of it. */
class Source extends Given {
	#heads = nextFrom;
	#row = nextAt;
	#main = NOT_READ; // of an entry its message, of a message its content
	static main(object) {
		return object.#main;
	}
	static setMain(object, value) {
		object.#main = value;
	}
	static whole(object) {
		return object.#heads.whole(object.#row);
	}
	static blocks(object) {
		return object.#heads.blocks(object.#row, object);
	}
	static block(object, i) {
		return object.#heads.block(object.#row, i);
	}
	static left(object) {
		return object.#heads.left(object.#row);
	}
	static part(object, name) {
		return object.#heads.part(object.#row, name);
	}
	static lacksMain(object) {
		return #main in object && object.#main === NOT_READ;
	}
	/** The message of an entry if it has been made, otherwise undefined. Accepts any object. */
	static mainOf(object) {
		return #main in object && object.#main !== NOT_READ && isObject(object.#main) ? object.#main : undefined;
	}
	static isOf(object, heads, row) {
		return #main in object && object.#heads === heads && object.#row === row;
	}
	/** Does this message have a content that nobody has looked at? It is not null then: heads would say so. */
	static hasUnread(message) {
		return Source.lacksMain(message) && Object.hasOwn(message, "content");
	}
}

/**
 * How the value of a member is kept once it has been read. Nearly always the member is the message of
 * an entry or the content of a message, for which Source has a field; other values go into `others`.
 */
function keeping(place) {
	const key = place.at(-1);
	if (key === [MESSAGE, CONTENT][place.length - 1]) return { get: Source.main, set: Source.setMain };
	return {
		get: (object) => (others.get(object)?.has(key) ? others.get(object).get(key) : NOT_READ),
		set: (object, value) => {
			if (!others.has(object)) others.set(object, new Map());
			others.get(object).set(key, value);
		},
	};
}

/** A member whose value is read later. `read` gives it its value, and may also give other members theirs. */
function laterMember(place, read) {
	const { get, set } = keeping(place);
	return {
		give(object, value) {
			if (get(object) === NOT_READ) set(object, value);
		},
		accessor: {
			get() {
				if (get(this) === NOT_READ) read(this);
				return get(this);
			},
			set(value) {
				set(this, value);
			},
			enumerable: true,
			configurable: true,
		},
	};
}

/** Replaces a computed member that somebody has set by a plain value. That is rare; engines make such objects slow. */
function settle(object, key, value) {
	Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

/** A member that `compute` computes each time it is read. */
function computedMember(key, compute) {
	return {
		accessor: {
			get() {
				return compute(this);
			},
			set(value) {
				settle(this, key, value);
			},
			enumerable: true,
			configurable: true,
		},
	};
}

const walk = (value, place) => place.reduce((at, key) => at?.[key], value);

/** A member whose value is only in the line. Reading it also fills in the other members that the same object lacks. */
function laterValue(place) {
	const within = place.slice(0, -1);
	const isBeside = (other) => other.length === place.length && within.every((name, i) => other[i] === name);
	const member = laterMember(place, (object) => {
		const from = walk(Source.whole(object), within);
		for (const other of Source.left(object)) if (isBeside(other)) memberAt("left", other).give(object, from?.[other.at(-1)]);
	});
	return member;
}

/** A member that `make` makes: a list of blocks, whose own members come later still, or an object made from columns. */
function laterMade(place, make) {
	const member = laterMember(place, (object) => member.give(object, make(object, place)));
	return member;
}

function laterPart(place, name) {
	return laterMade(place, (object) => Source.part(object, name));
}

const LATER = {
	left: laterValue,
	blocks: (place) => laterMade(place, Source.blocks),
	part: (place) => laterPart(place, place.join(".")),
};

/** The member of each place. All entries share it, so that the engine treats their objects as alike. */
const members = new Map();
function memberAt(kind, place) {
	const name = JSON.stringify([kind, place]);
	if (!members.has(name)) members.set(name, LATER[kind](place));
	return members.get(name);
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isHole = (value) => isObject(value) && Object.hasOwn(value, HOLE);
const isLeft = (value) => isHole(value) && ["left", "blocks"].includes(value[HOLE]);

const hasUnreadContent = (message) => isObject(message) && Source.hasUnread(message);

/**
 * Makes a constructor for objects that have `size` plain members, and others that come later. Engines look at the
 * first objects of a constructor to learn how much room its objects need, so the first ones are made here.
 */
function constructorFor(Stamp, size) {
	function Made(from, at) {
		nextFrom = from;
		nextAt = at;
		new Stamp(this);
		nextFrom = undefined; // otherwise it would keep the session alive
	}
	Made.prototype = Object.prototype;
	for (let n = 0; n < 16; n++) {
		const object = new Made(undefined, 0);
		for (let i = 0; i < size; i++) object[`member${i}`] = n;
	}
	return Made;
}

/** Turns a number into an integer if it is one: engines store those directly, but box numbers from an array of doubles. */
function whole(number) {
	const integer = number | 0;
	return integer === number && (integer !== 0 || 1 / number > 0) ? integer : number;
}

/** Returns a function that gives the constructor for a number of plain members. */
function constructorsFor(Stamp) {
	const made = [];
	return (size) => {
		made[size] ??= constructorFor(Stamp, size);
		return made[size];
	};
}

const sourced = constructorsFor(Source);

/** Writes the functions that make objects of one shape. */
class Writer {
	numbers = 0;
	texts = 0;
	left = []; // the places of values that are left out, such as ["message", "content"]
	letters = undefined; // the index of the text that has a letter for each block
	blocksAt = undefined; // the place of the list of blocks
	parts = {}; // by name, such as "message": the statements that make an object later, as `o`
	values = []; // values that the functions are given as K0, K1, …
	words = 0;
	functions = [];

	given(value) {
		this.values.push(value);
		return `K${this.values.length - 1}`;
	}

	/** The expression for a value. */
	value(value, place) {
		if (value === null || typeof value !== "object") return `W[${this.words++}]`;
		if (Array.isArray(value)) return `[${value.map((item, i) => this.value(item, [...place, i])).join(",")}]`;
		return isHole(value) ? this.hole(value[HOLE]) : this.object(value, place);
	}

	hole(kind) {
		switch (kind) {
			case "text":
				return `T(x+${this.texts++})`;
			case "json":
				return `JSON.parse(T(x+${this.texts++}))`;
			case "number":
				return `whole(N[n+${this.numbers++}])`;
			case "parent":
				return `H.id(N[n+${this.numbers++}])`;
			default:
				throw new Error(`grove-sessions: unknown part of an entry: ${kind}`);
		}
	}

	/** Is this an object that is only made when somebody looks at it, such as a message? */
	isPart(value, place) {
		return place.length === 1 && isObject(value) && Object.values(value).some(isLeft);
	}

	object(shape, place) {
		const names = Object.keys(shape);
		if (!names.some((name) => isLeft(shape[name]) || this.isPart(shape[name], [...place, name]))) {
			return `{${names.map((name) => `${JSON.stringify(name)}:${this.value(shape[name], [...place, name])}`).join(",")}}`;
		}
		const making = this.making(shape, place);
		const name = `C${this.functions.length}`;
		this.functions.push(`function ${name}(H,N,n,T,x,W,row){${making}return o;}`);
		return `${name}(H,N,n,T,x,W,row)`;
	}

	/** The statements that make `o`, an object with members that come later. */
	making(shape, place) {
		const own = Object.keys(shape).map((name) => this.member(name, shape[name], [...place, name]));
		const Made = this.given(this.constructorOf(own.filter((statement) => statement.startsWith("o[")).length));
		return `const o=new ${Made}(H,row);${own.join("")}`;
	}

	constructorOf(size) {
		return sourced(size);
	}

	/** The statement that adds a member to `o`. */
	member(name, value, place) {
		const key = JSON.stringify(name);
		const isPart = this.isPart(value, place);
		if (!isPart && !isLeft(value)) return `o[${key}]=${this.value(value, place)};`;
		const { accessor } = isPart ? this.part(value, place) : this.later(value[HOLE], place);
		return `define(o,${key},${this.given(accessor)});`;
	}

	later(kind, place) {
		this.numbers++; // the columns have the length of the value as a number
		if (kind === "blocks") {
			this.letters = this.texts++;
			this.blocksAt = place;
		} else this.left.push(place);
		return memberAt(kind, place);
	}

	part(value, place) {
		this.parts[place.join(".")] = this.making(value, place);
		return memberAt("part", place);
	}

	/**
	 * Compiles the functions. Their parameters are H: the heads, N: numbers, n: the index of the first
	 * number, T: a function that returns a text, x: the index of the first text, W: words, and row.
	 */
	compile(shape) {
		const make = `(H,N,n,T,x,W,row)=>(${this.value(shape, [])})`;
		const parts = Object.entries(this.parts).map(([name, it]) => `${JSON.stringify(name)}:(H,N,n,T,x,W,row)=>{${it}return o;}`);
		const text = `"use strict";${this.functions.join("")}return {make:${make},parts:{${parts.join(",")}}}`;
		const names = this.values.map((_, i) => `K${i}`);
		return new Function("define", "whole", ...names, text)(Object.defineProperty, whole, ...this.values);
	}
}

// ------------------------------------------------------------------------- blocks

/** Private fields that say which block of which message an object is. */
class Place extends Given {
	#message = nextFrom;
	#i = nextAt;
	static members(object) {
		return Source.block(object.#message, object.#i);
	}
}

const placed = constructorsFor(Place);

const blockMembers = new Map();
function blockMember(key) {
	if (!blockMembers.has(key)) {
		blockMembers.set(key, computedMember(key, (block) => Place.members(block)[key]));
	}
	return blockMembers.get(key);
}

class BlockWriter extends Writer {
	constructorOf(size) {
		return placed(size);
	}

	isPart() {
		return false;
	}

	later(_kind, place) {
		return blockMember(place.at(-1));
	}
}

const BLOCK_FIRST = "!".charCodeAt(0);
const BLOCK_ODD = "~";

/** The literal values in a shape, in the order in which a Writer comes to them. */
function wordsOf(value) {
	if (value === null || typeof value !== "object") return [value];
	return isHole(value) ? [] : Object.values(value).flatMap(wordsOf);
}

/** A copy of a shape that has 0 in place of each word, and the kind of each hole in place of the hole. */
function withoutWords(value) {
	if (value === null || typeof value !== "object") return 0;
	if (isHole(value)) return value[HOLE];
	if (Array.isArray(value)) return value.map(withoutWords);
	return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutWords(member)]));
}

/** Compiled functions, by the kind of writer and the shape without its words. */
const compiled = new Map();
function functionsFor(shape, SomeWriter) {
	const text = `${SomeWriter.name} ${JSON.stringify(withoutWords(shape))}`;
	if (compiled.has(text)) return compiled.get(text);
	const w = new SomeWriter();
	const made = { ...w.compile(shape), left: w.left, letters: w.letters, blocksAt: w.blocksAt, texts: w.texts };
	if (compiled.size < 1000) compiled.set(text, made);
	return made;
}

function compile(shape, SomeWriter) {
	return { ...functionsFor(shape, SomeWriter), words: wordsOf(shape), kind: `${shape.type} ${shape.message?.role}` };
}

const isContent = (place) => place?.length === 2 && place[0] === MESSAGE && place[1] === CONTENT;

/** The heads of the rows from `from` on, and the entries made from them. `entries` knows the ids and lines of all rows. */
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
	#read = new Map(); // by row: the blocks of the entry, read from its line
	#ahead = new Map(); // by row: whole entries that were read in advance
	#lines = new Pace(LINES);
	#parts = new Pace(OBJECTS);
	#lists = new Pace(OBJECTS);

	constructor(entries, from, [shapes, shape, number, text, numbers, textAt, strings, blocks]) {
		this.#entries = entries;
		this.#from = from;
		this.#shape = shape;
		this.#number = number;
		this.#text = text;
		this.#numbers = numbers;
		this.#texts = (at) => strings.slice(textAt[at], textAt[at + 1]);
		this.#blocks = JSON.parse(blocks).map((block) => compile(block, BlockWriter));
		this.#shapes = JSON.parse(shapes).map((s) => (isHole(s) ? null : compile(s, Writer)));
	}

	get #end() {
		return this.#from + this.#shape.length;
	}

	#shapeOf(row) {
		return this.#shapes[this.#shape[row - this.#from]];
	}

	/** Makes the entry of a row. Returns undefined if the library has not taken its line apart. */
	entry(row) {
		const shape = this.#shapeOf(row);
		return shape ? this.#make(row, shape.make, shape.words) : undefined;
	}

	#make(row, fn, words) {
		const i = row - this.#from;
		return fn(this, this.#numbers, this.#number[i], this.#texts, this.#text[i], words, row);
	}

	/** Makes an object in an entry, such as its message. */
	part(row, name) {
		const many = this.#parts.from(row);
		if (many > 1 && name === MESSAGE) this.#messagesAlong(row + 1, Math.min(row + many, this.#end));
		const shape = this.#shapeOf(row);
		return this.#make(row, shape.parts[name], shape.words);
	}

	/** Makes the messages of those entries in [from, to) that exist as objects, but have no message yet. */
	#messagesAlong(from, to) {
		const { known } = this.#entries;
		for (let row = from; row < to; row++) {
			const entry = known[row];
			if (entry === undefined || !Source.lacksMain(entry)) continue;
			const shape = this.#shapeOf(row);
			if (shape?.parts[MESSAGE]) Source.setMain(entry, this.#make(row, shape.parts[MESSAGE], shape.words));
		}
		this.#parts.upTo(to - 1);
	}

	has(row) {
		return row >= this.#from && row < this.#end;
	}

	/** Makes the list of blocks of a message, which is in the entry of this row. */
	blocks(row, message) {
		const many = this.#lists.from(row);
		if (many > 1 && isContent(this.#shapeOf(row).blocksAt)) this.#listAlong(row, many);
		return this.#list(row, message) ?? walk(this.whole(row), this.#shapeOf(row).blocksAt);
	}

	#list(row, message) {
		const shape = this.#shapeOf(row);
		const first = this.#text[row - this.#from];
		const letters = this.#texts(first + shape.letters);
		if (letters.includes(BLOCK_ODD)) return undefined;
		const blocks = new Array(letters.length);
		for (let i = 0, text = first + shape.texts; i < blocks.length; i++) {
			const kind = this.#blocks[letters.charCodeAt(i) - BLOCK_FIRST];
			blocks[i] = kind.make(message, undefined, 0, this.#texts, text, kind.words, i);
			text += kind.texts;
		}
		return blocks;
	}

	/** Makes the lists of the next entries of the same kind, if their messages have been made. */
	#listAlong(row, many) {
		const { kind } = this.#shapeOf(row);
		const { known } = this.#entries;
		const end = Math.min(row + many, this.#end);
		for (let at = row + 1; at < end; at++) {
			const shape = this.#shapeOf(at);
			if (shape?.kind !== kind || !isContent(shape.blocksAt)) continue;
			const message = known[at] && Source.mainOf(known[at]);
			if (!message || !Source.isOf(message, this, at) || !Source.lacksMain(message)) continue;
			const blocks = this.#list(at, message);
			if (blocks) Source.setMain(message, blocks);
		}
		this.#lists.upTo(end - 1);
	}

	/** A block of an entry. When somebody looks into the first block, all blocks of the entry are read. */
	block(row, i) {
		if (!this.#read.has(row)) this.#read.set(row, walk(this.whole(row), this.#shapeOf(row).blocksAt));
		return this.#read.get(row)[i];
	}

	left(row) {
		return this.#shapeOf(row).left;
	}

	/** The whole entry of a row, read from its line. Further entries of the same kind may be read in advance. */
	whole(row) {
		const read = this.#ahead.get(row);
		if (read) {
			this.#ahead.delete(row);
			return read;
		}
		const many = this.#lines.from(row);
		const rows = many === 1 ? [row] : this.#alike(row, many);
		if (rows.length === 1) return this.#entries.whole(row);
		this.#lines.upTo(rows.at(-1));
		this.#ahead = new Map();
		this.#entries.wholes(rows).forEach((entry, i) => this.#ahead.set(rows[i], entry));
		return this.whole(row);
	}

	#alike(row, many) {
		const kind = this.#shapeOf(row)?.kind;
		const rows = [];
		for (let at = row; at < this.#end && rows.length < many; at++) if (this.#shapeOf(at)?.kind === kind) rows.push(at);
		return rows;
	}

	id(row) {
		return this.#entries.id(row);
	}
}

module.exports = { Heads, hasUnreadContent };
