"use strict";

// Entries out of heads: many in one crossing, and each no more than what is looked at.
//
// The library says which shape an entry has (include/grove/view.h): a JSON object in which
// {"$": …} stands for what comes from columns. There are a few dozen shapes in a session, and most
// differ only in words, as the name of a model. Those that have the same members share a function
// that makes their entries, with all members in their order, and is given the words: engines
// compile what runs often, and the fewer functions that are the less it costs. What the columns
// do not have is taken from the entry's line, which is read and parsed when somebody looks at it.
// Of the blocks of a message's content types and short texts are known before: tool calls can be
// counted without reading any. Whoever goes from message to message finds the next ones made: many
// in one loop cost less than as many calls.
//
// What comes later are own, enumerable accessors, so that spreading, Object.keys, JSON.stringify and
// structuredClone see an ordinary object. The accessors of one place are the same two functions in
// all entries; they find their entry, and what they found before, by private fields, which none
// of these sees.
//
// Objects with accessors come from a constructor whose prototype is Object's own: engines then keep
// all members in the object itself, which literals that grow afterwards do not get.

const HOLE = "$";
const MESSAGE = "message";
const CONTENT = "content";
/** Going along: how near the next entry must be, how many lines are read at most, and how many objects made. */
const NEAR = 64;
const LINES = 256;
const OBJECTS = 4096;

/** Whoever asks for one entry after the other gets the next ones along with it, twice as many each time. */
class Pace {
	#most;
	#last = -1;
	#many = 1;

	constructor(most) {
		this.#most = most;
	}

	/** How many there should be from this row on. */
	from(row) {
		const onward = row > this.#last && row - this.#last <= NEAR;
		this.#many = onward ? Math.min(this.#many * 2, this.#most) : 1;
		this.#last = row;
		return this.#many;
	}

	/** The last row that was made or read. */
	upTo(row) {
		this.#last = row;
	}
}

/** The base of classes that give private fields to objects that are there already. */
class Given {
	constructor(object) {
		return object;
	}
}

/** What the private fields of the next object begin with: engines make room for these at once. */
let nextFrom;
let nextAt = 0;

const NOT_READ = Symbol("not read");

/** What was read of an object besides, by key: few have any. */
const others = new WeakMap();

/** Says where an object comes from, and holds what was read of it. */
class Source extends Given {
	#heads = nextFrom;
	#row = nextAt;
	#main = NOT_READ; // the message of an entry, the content of a message
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
	/** The same of any object: undefined if it has none. */
	static mainOf(object) {
		return #main in object && object.#main !== NOT_READ && isObject(object.#main) ? object.#main : undefined;
	}
	static isOf(object, heads, row) {
		return #main in object && object.#heads === heads && object.#row === row;
	}
	/** Has this message a content that nobody has looked at? Then it is something: null would be known. */
	static hasUnread(message) {
		return Source.lacksMain(message) && Object.hasOwn(message, "content");
	}
}

/** How a member is kept that comes later: nearly all of them are these two, which have a field. */
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

/** A member that comes later: `read` gives it its value, and perhaps others theirs with it. */
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

/** A member that is no longer computed, since somebody has set it: rare, and engines make such objects slow. */
function settle(object, key, value) {
	Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

/** A member that is computed each time, of what columns have anyway. */
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

/** What is in the line alone; with it goes all else that the same object lacks. */
function laterValue(place) {
	const within = place.slice(0, -1);
	const isBeside = (other) => other.length === place.length && within.every((name, i) => other[i] === name);
	const member = laterMember(place, (object) => {
		const from = walk(Source.whole(object), within);
		for (const other of Source.left(object)) if (isBeside(other)) memberAt("left", other).give(object, from?.[other.at(-1)]);
	});
	return member;
}

/** What `make` gives: a list of blocks, whose members come later still, or an object of columns. */
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

/** The member of each place, once for all entries: then their objects are alike for the engine. */
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
 * The constructor of objects that have members which come later, and `size` others: an engine counts the members
 * of the first objects to know how much room the later ones need.
 */
function constructorFor(Stamp, size) {
	function Made(from, at) {
		nextFrom = from;
		nextAt = at;
		new Stamp(this);
		nextFrom = undefined; // or a session would stay alive by it
	}
	Made.prototype = Object.prototype;
	for (let n = 0; n < 16; n++) {
		const object = new Made(undefined, 0);
		for (let i = 0; i < size; i++) object[`member${i}`] = n;
	}
	return Made;
}

/** A number as engines keep it best: they box what comes from an array of doubles. */
function whole(number) {
	const integer = number | 0;
	return integer === number && (integer !== 0 || 1 / number > 0) ? integer : number;
}

/** Constructors by the number of members. */
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
	left = []; // places of what is left out: ["message", "content"]
	letters = undefined; // which text says what the blocks are
	blocksAt = undefined; // their place
	parts = {}; // by name, as "message": the statements that make an object which comes later, `o`
	values = []; // that the functions are given: K0, K1, …
	words = 0;
	functions = [];

	given(value) {
		this.values.push(value);
		return `K${this.values.length - 1}`;
	}

	/** An expression. */
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

	/** Is this an object that is made when somebody looks at it? A message is. */
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

	/** Statements that make `o`, which has members that come later. */
	making(shape, place) {
		const own = Object.keys(shape).map((name) => this.member(name, shape[name], [...place, name]));
		const Made = this.given(this.constructorOf(own.filter((statement) => statement.startsWith("o[")).length));
		return `const o=new ${Made}(H,row);${own.join("")}`;
	}

	constructorOf(size) {
		return sourced(size);
	}

	/** A statement. */
	member(name, value, place) {
		const key = JSON.stringify(name);
		const isPart = this.isPart(value, place);
		if (!isPart && !isLeft(value)) return `o[${key}]=${this.value(value, place)};`;
		const { accessor } = isPart ? this.part(value, place) : this.later(value[HOLE], place);
		return `define(o,${key},${this.given(accessor)});`;
	}

	later(kind, place) {
		this.numbers++; // how long it is
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

	/** Functions of (heads, numbers, the first of them, a function for texts, the first of them, words, row). */
	compile(shape) {
		const make = `(H,N,n,T,x,W,row)=>(${this.value(shape, [])})`;
		const parts = Object.entries(this.parts).map(([name, it]) => `${JSON.stringify(name)}:(H,N,n,T,x,W,row)=>{${it}return o;}`);
		const text = `"use strict";${this.functions.join("")}return {make:${make},parts:{${parts.join(",")}}}`;
		const names = this.values.map((_, i) => `K${i}`);
		return new Function("define", "whole", ...names, text)(Object.defineProperty, whole, ...this.values);
	}
}

// ------------------------------------------------------------------------- blocks

/** Says which block of which message an object is. */
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

/** What a shape says itself, in the order in which a Writer comes to it. */
function wordsOf(value) {
	if (value === null || typeof value !== "object") return [value];
	return isHole(value) ? [] : Object.values(value).flatMap(wordsOf);
}

/** A shape with numbers in the place of words, and texts for holes. */
function withoutWords(value) {
	if (value === null || typeof value !== "object") return 0;
	if (isHole(value)) return value[HOLE];
	if (Array.isArray(value)) return value.map(withoutWords);
	return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutWords(member)]));
}

/** Functions are kept by what they were made for. */
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
	#read = new Map(); // by row: its blocks
	#ahead = new Map(); // whole entries by row, read along
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

	/** The entry of a row; undefined if it was not taken apart. */
	entry(row) {
		const shape = this.#shapeOf(row);
		return shape ? this.#make(row, shape.make, shape.words) : undefined;
	}

	#make(row, fn, words) {
		const i = row - this.#from;
		return fn(this, this.#numbers, this.#number[i], this.#texts, this.#text[i], words, row);
	}

	/** An object in an entry, as its message. */
	part(row, name) {
		const many = this.#parts.from(row);
		if (many > 1 && name === MESSAGE) this.#messagesAlong(row + 1, Math.min(row + many, this.#end));
		const shape = this.#shapeOf(row);
		return this.#make(row, shape.parts[name], shape.words);
	}

	/** The messages of entries that are there, and that nobody has asked for theirs. */
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

	/** The list of blocks in this entry, which are those of a message. */
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

	/** The lists of the next entries alike, of those whose messages are there. */
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

	/** The block of an entry; they are all read when the first is looked into. */
	block(row, i) {
		if (!this.#read.has(row)) this.#read.set(row, walk(this.whole(row), this.#shapeOf(row).blocksAt));
		return this.#read.get(row)[i];
	}

	left(row) {
		return this.#shapeOf(row).left;
	}

	/** The entry of a row, all of it; the next ones of the same kind are read along. */
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
