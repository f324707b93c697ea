// tests/diff/js_node.mjs: ask js_values and this JavaScript engine the same
// questions and compare the answers.
//
//     node js_node.mjs BINARY [SEED [ROUNDS]]
//
// The questions are a fixed list of known corners and random ones from a seed,
// which is printed: the same seed asks the same questions. ROUNDS multiplies
// the random ones. Exits 1 if an answer differs, 2 if it could not ask.

import { spawnSync } from "node:child_process";
import { existsSync, writeSync } from "node:fs";
import process, { env, argv } from "node:process";

function giveUp(message) {
	writeSync(2, message + "\n");
	process.exit(2);
}

const [binary, seedArg, roundsArg] = argv.slice(2);
if (!binary)
	giveUp("usage: js_node.mjs BINARY [SEED [ROUNDS]]");
const seed = seedArg ? Number(seedArg) : 20260503;
const rounds = roundsArg ? Number(roundsArg) : 1;

// ---- randomness that can be repeated ----

let state = seed >>> 0;

function random() {
	state = (state + 0x9e3779b9) >>> 0;
	let z = state;
	z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
	z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
	return ((z ^ (z >>> 15)) >>> 0) / 4294967296;
}

const below = (n) => Math.floor(random() * n);
const between = (lo, hi) => lo + below(hi - lo + 1);
const pick = (list) => list[below(list.length)];
const chance = (p) => random() < p;
const digits = (n) => Array.from({ length: n }, () => below(10)).join("");
const pad = (n, width) => String(n).padStart(width, "0");

// ---- text ----

// A string of UTF-16 units as UTF-8, lone surrogates as their three bytes.
function wtf8(text) {
	const parts = [];
	for (const ch of text) {
		const cp = ch.codePointAt(0);
		if (cp >= 0xd800 && cp <= 0xdfff)
			parts.push(Buffer.from([0xe0 | (cp >> 12), 0x80 | ((cp >> 6) & 63), 0x80 | (cp & 63)]));
		else
			parts.push(Buffer.from(ch));
	}
	return Buffer.concat(parts);
}

const spaces = "\t\n\v\f\r \u00a0\u1680\u2000\u2005\u200a\u2028\u2029\u202f\u205f\u3000\ufeff";
const oddUnits = [
	0, 1, 8, 9, 10, 11, 12, 13, 0x1b, 0x1f, 0x20, 0x22, 0x2f, 0x5c, 0x7f, 0x80, 0x85, 0xa0,
	0x7ff, 0x800, 0x180e, 0x200b, 0x2028, 0x2029, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff,
	0xe000, 0xfdd0, 0xfffd, 0xfffe, 0xffff,
];

function randomText() {
	let s = "";
	for (let n = below(pick([3, 10, 60])); n > 0; n--) {
		const kind = below(10);
		if (kind < 4)
			s += "plain text, of some length. ".slice(0, between(1, 28));
		else if (kind < 6)
			s += String.fromCharCode(pick(oddUnits));
		else if (kind < 7)
			s += String.fromCodePoint(between(0x10000, 0x10ffff));
		else if (kind < 8)
			s += String.fromCharCode(between(0x80, 0xffff));
		else if (kind < 9)
			s += pick(spaces);
		else
			s += String.fromCharCode(between(0, 0x7f));
	}
	return s;
}

function randomBytes() {
	const pieces = [];
	const odd = [0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf,
		0xe0, 0xe1, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff];
	for (let n = between(1, 8); n > 0; n--) {
		if (chance(0.5)) {
			pieces.push(Buffer.from(Array.from({ length: between(1, 4) }, () => pick(odd))));
		} else {
			const whole = Buffer.from(randomText().slice(0, 6));
			pieces.push(chance(0.3) ? whole.subarray(0, below(whole.length + 1)) : whole);
		}
	}
	return Buffer.concat(pieces);
}

// ---- numbers ----

const view = new DataView(new ArrayBuffer(8));

function fromBits(bits) {
	view.setBigUint64(0, bits);
	return view.getFloat64(0);
}

function toBits(d) {
	view.setFloat64(0, d);
	return view.getBigUint64(0).toString(16).padStart(16, "0");
}

function randomDouble() {
	switch (below(6)) {
	case 0: // any exponent
		return fromBits((BigInt(below(0x7ff)) << 52n) | (BigInt(below(2 ** 26)) << 26n) | BigInt(below(2 ** 26)));
	case 1: // around powers of two, where the neighbours are not equally far
		return fromBits((BigInt(between(0, 0x7fe)) << 52n) + BigInt(between(-3, 3)) & 0x7fffffffffffffffn);
	case 2: // sums of cents, as costs are
		return pick([0.1, 0.2, 0.003, 1e-6, 15e-6]) * below(100000) + below(1000) / 1000;
	case 3:
		return below(2 ** 32) * below(2 ** 32) * pick([1, 2, 1024, 1e5]);
	case 4:
		return Number(`${between(1, 9)}.${digits(between(1, 17))}e${between(-12, 24)}`);
	default: // subnormal
		return fromBits(BigInt(below(2 ** between(1, 31))) << BigInt(below(21)));
	}
}

function randomLiteral() {
	const sign = chance(0.2) ? "-" : "";
	const whole = chance(0.4) ? "0" : between(1, 9) + digits(pick([0, 1, 3, 8, 14, 15, 16, 17, 20, 30]));
	const zeros = chance(0.2) ? "0".repeat(below(8)) : "";
	const fraction = chance(0.6) ? "." + zeros + digits(pick([1, 2, 5, 14, 15, 16, 17, 25])) + (chance(0.2) ? "000" : "") : "";
	const exponent = chance(0.3) ? pick(["e", "E"]) + pick(["", "+", "-"]) + pick([below(10), below(25), below(330), pad(below(30), 4)]) : "";
	switch (below(4)) {
	case 0: {
		const d = randomDouble();
		return sign + (Number.isFinite(d) ? String(d) : "1");
	}
	case 1: { // exactly between two doubles, and just beside
		const d = BigInt(2 ** 53) + BigInt(below(2 ** 30)) * 2n;
		return `${d * 2n ** BigInt(below(200)) + BigInt(between(-1, 1))}`;
	}
	default:
		return sign + whole + fraction + exponent;
	}
}

// The decimal value of a literal: [digits without zeros at the end, exponent].
function decimal(literal) {
	const [, sign, whole, fraction = "", exponent = "0"] =
		/^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal);
	let n = (whole + fraction).replace(/^0+/, "");
	let e = BigInt(exponent) - BigInt(fraction.length);
	if (!n)
		return "0";
	const kept = n.replace(/0+$/, "");
	e += BigInt(n.length - kept.length);
	return `${sign}${kept}e${e}`;
}

// The documented difference: a number that JavaScript would change is kept.
function survives(literal) {
	const printed = String(Number(literal));
	return /^-?\d/.test(printed) && decimal(printed) === decimal(literal);
}

// ---- JSON ----

// Tokens of a valid text: strings and numbers are what we need to tell apart.
const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[^"\d-]+/gs;

// JSON.stringify(JSON.parse(text)), with kept numbers carried through as strings.
function canonical(bytes) {
	const kept = [];
	const text = bytes.toString("utf8").replace(tokens, (token) => {
		if (!/^[-\d]/.test(token) || survives(token))
			return token;
		kept.push(token);
		return `"\u{f0000}number ${kept.length - 1}\u{f0000}"`;
	});
	return JSON.stringify(JSON.parse(text))
		.replace(/"\u{f0000}number (\d+)\u{f0000}"/gu, (_, i) => kept[i]);
}

const space = () => (chance(0.3) ? pick([" ", "\n", "\t", "\r", "  \n "]) : "");

// A string literal with more escapes than needed.
function randomString(text = randomText()) {
	let s = '"';
	for (let i = 0; i < text.length; i++) {
		const unit = text.charCodeAt(i);
		const hex = pad(unit.toString(16), 4);
		const lone = unit >= 0xd800 && unit <= 0xdfff;
		const short = { 8: "b", 9: "t", 10: "n", 12: "f", 13: "r", 34: '"', 47: "/", 92: "\\" }[unit];
		if (short && chance(0.7) && (unit !== 47 || chance(0.5)))
			s += "\\" + short;
		else if (unit < 32 || unit === 34 || unit === 92 || lone || chance(0.05))
			s += "\\u" + (chance(0.5) ? hex : hex.toUpperCase());
		else
			s += text[i];
	}
	return s + '"';
}

function randomKey() {
	switch (below(6)) {
	case 0:
		return randomString(String(pick([0, 1, 2, 10, 9, 99, 4294967293, 4294967294, 4294967295, 4294967296, 1e10])));
	case 1:
		return randomString(pick(["00", "01", "-1", "1.5", "1e3", "", " 1", "+1", "__proto__", "constructor", "length", "toString"]));
	case 2:
		return randomString();
	default:
		return randomString(pick(["a", "b", "c", "id", "parentId", "timestamp", "message"]));
	}
}

function randomJson(depth) {
	const kind = below(depth > 0 ? 10 : 5);
	if (kind < 2)
		return randomString();
	if (kind < 4)
		return randomLiteral();
	if (kind < 5)
		return pick(["null", "true", "false"]);
	const parts = [];
	for (let n = below(pick([2, 5, 30])); n > 0; n--) {
		const value = randomJson(depth - 1);
		parts.push(kind < 8 ? randomKey() + space() + ":" + space() + value : value);
	}
	const inner = parts.join(space() + "," + space());
	const [open, close] = kind < 8 ? "{}" : "[]";
	return open + space() + inner + space() + close;
}

// The same with some bytes inside strings that are not UTF-8.
function spoil(json) {
	const parts = [];
	for (const token of json.match(tokens)) {
		const bytes = Buffer.from(token);
		if (token[0] !== '"' || token.includes("\\") || chance(0.5)) {
			parts.push(bytes);
			continue;
		}
		const at = between(1, bytes.length - 1);
		const bad = Buffer.from(Array.from({ length: between(1, 3) }, () => between(0x80, 0xff)));
		parts.push(bytes.subarray(0, at), bad, bytes.subarray(at));
	}
	return Buffer.concat(parts);
}

// ---- edits: what must hold, whatever the spelling ----

function randomEdit() {
	const object = "{" + Array.from({ length: below(5) }, () =>
		space() + randomString(pick(["a", "b", "c", "d"])) + space() + ":" + space() +
		(chance(0.3) ? `{${space()}"a"${space()}:1${space()},"b":${space()}2${space()}}` : randomJson(1)) + space()).join(",") + space() + "}";
	const path = chance(0.5) ? [pick(["a", "b", "n"])] : [pick(["a", "b"]), pick(["a", "b", "n"])];
	const value = chance(0.4) ? undefined : randomString("new");
	return { object, path, value };
}

function edited({ object, path, value }) {
	const o = JSON.parse(object);
	let at = o;
	for (const name of path.slice(0, -1)) {
		at = Object.hasOwn(at, name) ? at[name] : undefined;
		if (typeof at !== "object" || at === null || Array.isArray(at))
			return JSON.stringify(o);
	}
	const name = path[path.length - 1];
	if (value === undefined)
		delete at[name];
	else
		at[name] = JSON.parse(value);
	return JSON.stringify(o);
}

// ---- dates ----

const months = ["Jan", "February", "mar", "APR", "May", "June", "jul", "Aug", "Sept", "october", "Nov", "Decem"];
const days = ["Sun", "Mon", "Tuesday", "wed", "Thu", "Fri", "Sat"];

const year = () => pick([between(1970, 2037), between(1970, 2037), between(0, 9999), between(1900, 2100), below(100)]);
const two = (hi) => (chance(0.97) ? pad(below(hi), 2) : pick([pad(hi, 2), "60", "24", "99", String(below(10)), "007"]));
const clock = () => `${two(24)}:${two(60)}` + (chance(0.7) ? `:${two(60)}` + (chance(0.5) ? "." + digits(pick([1, 2, 3, 3, 6, 9, 12])) : "") : "");
const offset = () => pick(["", "", "Z", "z", " Z", "+02:00", "-05:30", "+0200", "+02", "-8", " +0100", " GMT", " UTC", " UT", "GMT+2",
	" GMT+0200 (CEST)", " GMT-0730", " EST", " pdt", " PST", "+23:59", "+24:00", " (x(y)z)", "+123", "-00:00", " utc+1", "+1:30"]);

function isoDate() {
	const y = chance(0.1) ? pick(["+", "-"]) + pad(pick([0, year(), 275760, 271821, 271822, below(1000000)]), 6) : pad(year(), 4);
	const m = chance(0.97) ? pad(between(1, 12), 2) : pick(["00", "13", "1", "99"]);
	const d = chance(0.97) ? pad(between(1, 31), 2) : pick(["00", "32", "1", "99"]);
	return pick([y, `${y}-${m}`, `${y}-${m}-${d}`, `${y}-${m}-${d}`, `${y}-${m}-${d}`, `${y}-${m}-${d}`]);
}

function date() {
	const d = between(1, 31), m = between(1, 12), y = year();
	const name = pick(months), day = pick(days);
	const time = chance(0.7) ? clock() + (chance(0.2) ? pick([" AM", " pm", "am", " PM"]) : "") : "";
	switch (below(12)) {
	case 0: case 1: case 2: case 3:
		return isoDate() + (chance(0.8) ? pick(["T", "T", "T", "t"]) + clock() : "") + pick(["", "Z", "z", "+02:00", "-05:30", "+0200", "+23:59", offset()]);
	case 4:
		return `${isoDate()} ${time}${offset()}`;
	case 5:
		return `${day} ${name} ${pad(d, 2)} ${y} ${time}${offset()}`;
	case 6:
		return `${day}, ${pad(d, 2)} ${name} ${y} ${time}${offset()}`;
	case 7:
		return `${name} ${d}, ${y} ${time}${offset()}`;
	case 8:
		return `${d} ${name} ${y}${chance(0.5) ? "," : ""} ${time}${offset()}`;
	case 9:
		return `${y}/${m}/${d} ${time}${offset()}`;
	case 10:
		return `${m}/${d}/${y}${chance(0.2) ? "," : ""} ${time}${offset()}`;
	default:
		return `${d}-${name}-${y} ${time}${offset()}`;
	}
}

// Change a character or two: mostly garbage, some of it still a date.
function damage(text) {
	const alphabet = "0123456789:-+.,/() TZtzabAPM\u00a0é[";
	for (let n = between(1, 2); n > 0; n--) {
		const at = below(text.length + 1);
		text = text.slice(0, at) + (chance(0.7) ? pick(alphabet) : "") + text.slice(at + below(2));
	}
	return text;
}

// Times just around a change of the clocks, in the zones below.
function nearChange() {
	const [y, m, d] = pick([[2026, 3, 29], [2026, 10, 25], [2026, 3, 8], [2026, 11, 1], [2024, 3, 31], [2025, 10, 26], [1999, 3, 28]]);
	return `${y}-${pad(m, 2)}-${pad(d, 2)}T${pad(below(5), 2)}:${pad(below(60), 2)}:${pad(below(60), 2)}`;
}

const knownDates = ["", " ", "Z", "T", "2026", "2026-05", "2026-05-03", "2026-02-30", "2026-02-31", "2026-02-32", "2026-13-01",
	"2026-00-01", "2026-05-00", "2026-05-03T24:00", "2026-05-03T24:00:00", "2026-05-03T24:00:00.000Z", "2026-05-03T24:00:00.001Z",
	"2026-05-03T24:01Z", "2026-05-03T23:60Z", "2026-05-03T", "2026-05-03T09", "2026-05-03T09:00", "2026-05-03t09:00:00z",
	"2026-05-03T09:00:00,123Z", "2026-05-03T09:00:00.Z", "2026-05-03T09:00:00.1239999Z", "2026-05-03T09:00:00.12345678901234567890Z",
	"2026-05-03T09:00:00.0000000001Z", "2026-05-03T09:00:00+02", "2026-05-03T09:00:00+2:00", "2026-05-03T09:00:00 +02:00",
	"2026-05-03 09:00:00", "2026-05-03 09:00:00Z", "2026-05-03 09:00:00.5+02:00", "2026-5-3", "2026-05-3", "2026-05-03Z",
	"-000000", "-000000-01-01", "+000000-01-01", "-000001-01-01", "+275760-09-13", "+275760-09-13T00:00:00.001Z",
	"-271821-04-20", "-271821-04-19T23:59:59.999Z", "+275760-09-13T01:00", "20260503", "0", "1", "12", "13", "31", "32", "49", "50", "99", "100",
	"Sun May 03 2026 09:00:00 GMT+0200 (CEST)", "Sun May 03 2026 09:00:00 GMT+0200 (Central European Summer Time)",
	"Sun, 03 May 2026 09:00:00 GMT", "2026/05/03", "May 3, 2026", "3 May 2026 09:00 UTC", "May 2026", "May 3", "3 May", "May",
	"12:30", "12:30:45 2026", "1/1/2000 12:00 am", "1/1/2000 12:00 pm", "1/1/2000 13:00 pm", "1/1/2000 0:00 pm", "1/1/2000 ::",
	"1/1/2000 5::7", "1/1/2000 5:.7", "1/1/2000 5:6.7", "1/1/2000 5:6:7.8", "1/1/2000 5:6:7:8", "1/1/2000 +", "1/1/2000 5:00 +", "1/1/2000 5:00 -:30",
	"(comment) 1/1/2000", "1/1/2000 (unclosed", "1/1/2000 )", ") 1/1/2000", "foo 1/1/2000", "foo1/1/2000", "1/1/2000 foo",
	"1e3", "NaN", "Invalid Date", "1714726800000", "2026-W18-7", "2026-123", "Mai 3 2026", "99999999999-01-01", "1/1/999999999", "1/1/275760",
	"2026-05-03T09:00:00\u00a0Z", "\ufeff2026-05-03", " 2026-05-03", "2026-05-03 ", "Thu, 01 Jan 1970 00:00:00 GMT+9999", "1/1/2000 5:00 GMT+12345",
	"1/1/2000 5:00 +596523:14", "1/1/2000 5:00 +596523:15", "1/1/275761 5:00 +90000:00", "1/1/275761 5:00Z", "1/1/999999999 5:00Z"];

// ---- base64 ----

const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const bytes = (n) => Buffer.from(Array.from({ length: n }, () => below(256)));

// Mostly letters in long runs; among them what a reader has to pass over, and what ends it.
function base64Text() {
	const odd = pick([0, 0, 0.002, 0.02, 0.2, 0.6]);
	const strange = pick([" \n\r\t", "\n", "-_", " !*.,:\"\\\u0000\u007f", "\u00e9\u00c1\u00ff", "\u0151\u0144\u0100\u2028\u3041", "\u{1f441}\u{10451}\ud851\udc41",
		"=", " =\n-_", "= \u013d-\u0151!"]);
	const units = Array.from(strange);
	let s = "";
	for (let n = below(pick([6, 40, 200, 1000])); n > 0; n--)
		s += chance(odd) ? pick(units) : base64Letters[below(64)];
	if (chance(0.3))
		s += pick(["=", "==", "===", "=\n", "== ", "=A", "=QUJD"]);
	return chance(0.3) ? s.replaceAll("+", "-").replaceAll("/", "_") : s;
}

// ---- asking ----

let asked = 0;
let wrong = 0;

const shorten = (text) => (text.length > 400 ? text.slice(0, 400) + "…" : text);

function readable(answer, isHex) {
	if (!isHex)
		return answer;
	return shorten(JSON.stringify(Buffer.from(answer, "hex").toString("utf8"))) + " " + shorten(answer);
}

// No string may grow without limit: many questions are asked in several goes.
const atOnce = 50000;

// questions: [letter, payload (Buffer), expected answer, expected is hexadecimal]
function compare(title, questions, check) {
	for (let i = 0; i === 0 || i < questions.length; i += atOnce)
		compareSome(title, questions.slice(i, i + atOnce), check);
}

function compareSome(title, questions, check) {
	const input = questions.map(([letter, payload]) => `${letter} ${payload.toString("hex")}\n`).join("");
	const run = spawnSync(binary, [], { input, encoding: "utf8", maxBuffer: 1 << 30, env });
	if (run.error || run.status !== 0)
		giveUp(`${title}: ${run.error ?? "exit " + (run.status ?? run.signal)}\n${run.stderr}`);
	const answers = run.stdout.split("\n");
	if (answers.length !== questions.length + 1)
		giveUp(`${title}: ${answers.length - 1} answers to ${questions.length} questions`);
	let bad = 0;
	questions.forEach(([letter, payload, expected, isHex], i) => {
		if (check ? check(questions[i], answers[i]) : answers[i] === expected)
			return;
		if (bad++ < 10)
			console.log(`${title}: ${letter} ${readable(payload.toString("hex"), true)}\n` +
				`    node   ${readable(expected, isHex)}\n    grove  ${readable(answers[i], isHex)}`);
	});
	asked += questions.length;
	wrong += bad;
	console.log(`${title}: ${questions.length} asked, ${bad} differ`);
}

const times = (n, make) => Array.from({ length: n * rounds }, make);
const hex = (text) => Buffer.from(text).toString("hex");

console.log(`seed ${seed}, node ${process.version}`);

const texts = times(6000, randomText);
compare("length", texts.map((s) => ["l", wtf8(s), String(s.length)]));
compare("trim", texts.map((s) => ["t", wtf8(s), wtf8(s.trim()).toString("hex"), true]));
compare("trim of spaces", times(3000, () => {
	const edge = () => Array.from({ length: below(4) }, () => pick(spaces)).join("");
	return edge() + pick(["", "x", "é", "\u180e", "\u200b", "\u0085", "\ud83d\ude00"]) + edge();
}).map((s) => ["t", Buffer.from(s), hex(s.trim()), true]));
compare("string", texts.map((s) => ["s", wtf8(s), hex(JSON.stringify(s)), true]));
compare("text", texts.map((s) => ["x", Buffer.from(randomString(s)), wtf8(s).toString("hex"), true]));

const spoiled = times(8000, randomBytes);
// A lone surrogate's bytes mean one to us and are bad to Node: not for these two.
const noSurrogates = spoiled.filter((b) => !/ed[ab]/.test(b.toString("hex")));
compare("length of bad bytes", noSurrogates.map((b) => ["l", b, String(b.toString("utf8").length)]));
compare("string of bad bytes", noSurrogates.map((b) => ["s", b, hex(JSON.stringify(b.toString("utf8"))), true]));
compare("text of bad bytes", spoiled.map((b) => b.filter((c) => c !== 0x22 && c !== 0x5c)).map((b) =>
	["x", Buffer.concat([Buffer.from('"'), b, Buffer.from('"')]), hex(b.toString("utf8")), true]));

const knownDoubles = [0, -0, 1, -1, 0.1, 1e21, 1e21 - 65536, 123456789012345680000, 1e-6, 1e-7, 5e-324, 2.2250738585072014e-308,
	2.225073858507201e-308, 1.7976931348623157e308, 2 ** -44, 2 ** 53, 2 ** 53 + 2, 9.5e15, 4.35, 0.3, 0.1 + 0.2, 1 / 3, 100, 1e22, 1e23, NaN, Infinity, -Infinity];
const doubles = knownDoubles.concat(times(60000, randomDouble), times(5000, () => -randomDouble()));
compare("number", doubles.map((d) => ["n", Buffer.from(toBits(d)), hex(String(d)), true]));

const knownLiterals = ["0", "-0", "0.0", "-0.0e5", "1.0", "1e3", "1E5", "0.10", "12345678901234567890", "9007199254740993", "9007199254740992",
	"1e400", "-1e400", "1e-400", "1e21", "0.1234567890123456789", "123456789012345680000", "1152921504606846976", "1e999999999999999999999",
	"1e-999999999999999999999", "0e999999999999999999999", "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308",
	"179769313486231580793728971405301e276", "5e-324", "4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072011e-308",
	"1" + "0".repeat(400), "0." + "0".repeat(400) + "1e401", "0." + "0".repeat(320) + "1", "1" + "0".repeat(1000) + "e-1000",
	"9007199254740993" + "0".repeat(900), "9007199254740993." + "0".repeat(900) + "1", "9007199254740993." + "0".repeat(900),
	"9007199254740993" + "0".repeat(200) + ".0e-200", "0.000001", "0.0000001", "100000000000000000000", "1000000000000000000000"];
const halfway = times(3000, () => { // the digits of a midpoint, all of them, and one more
	const e = between(-1074, 900);
	const odd = (BigInt(between(2 ** 52, 2 ** 53 - 1)) * 2n + 1n);
	const text = e >= 0 ? String(odd * 2n ** BigInt(e)) : `${odd * 5n ** BigInt(-e)}e${e}`;
	return chance(0.5) ? text : text.replace(/(e|$)/, chance(0.5) ? ".0000000000000000001$1" : ".0$1");
});
const long = times(1000, () => // more digits than count
	`${pick(["0." + "0".repeat(below(330)), ""])}${between(1, 9)}${digits(between(700, 900))}e${pick([0, between(-1300, -1000), between(-1300, 400)])}`);
const literals = knownLiterals.concat(times(40000, randomLiteral), halfway, long);
compare("parse", literals.map((s) => ["p", Buffer.from(s), toBits(Number(s))]));
compare("canonical number", literals.map((s) => ["c", Buffer.from(s), hex(canonical(Buffer.from(s))), true]));

const deep = 200000;
const knownJson = ["{}", "[]", " [ ] ", "{ }", '{"a":1,"a":2}', '{"b":1,"7":[2],"b":3}', '{"2":1,"1":2,"x":{"2":1,"1":{"b":1,"0":2}},"2":{"9":0,"1":0}}',
	'{"":1,"":2}', '{"__proto__":1,"a":2,"__proto__":3}', '"\\u0041\\/\\u001F\\ud83d\\ude00\\ude00\\ud83d"', '{"\\u0031":1,"0":2,"1":3}',
	"{" + Array.from({ length: 1000 }, (_, i) => `"${(i * 7919) % 1000}":${i}`).join(",") + "}",
	"{" + Array.from({ length: 1000 }, (_, i) => `"k${(i * 7919) % 500}":${i}`).join(",") + "}"];
const json = knownJson.concat(times(6000, () => randomJson(pick([1, 2, 4]))));
compare("canonical", json.map((s) => Buffer.from(s)).concat(times(3000, () => spoil(randomJson(3)))).map((b) => ["c", b, hex(canonical(b)), true]));
compare("canonical, deep", [ // deeper than Node's own recursion goes: the answer is known
	["[".repeat(deep) + " " + "]".repeat(deep), "[".repeat(deep) + "]".repeat(deep)],
	['{"b":0,"1":'.repeat(deep) + "1.0" + "}".repeat(deep), '{"1":'.repeat(deep) + "1" + ',"b":0}'.repeat(deep)],
	['[{"a":0,"a":'.repeat(deep) + "2" + "}]".repeat(deep), '[{"a":'.repeat(deep) + "2" + "}]".repeat(deep)],
].map(([from, to]) => ["c", Buffer.from(from), hex(to), true]));

const edits = times(8000, randomEdit);
compare("edit", edits.map((e) => ["e", Buffer.from(`{"object":${e.object},"path":${JSON.stringify(e.path)}${e.value ? `,"value":${e.value}` : ""}}`), hex(edited(e)), true]),
	([, , expected], answer) => {
		try {
			return hex(JSON.stringify(JSON.parse(Buffer.from(answer, "hex").toString("utf8")))) === expected;
		} catch {
			return false;
		}
	});

const knownBase64 = ["", "=", "====", "A", "AB", "ABC", "QUJD", "QUJDQ", "QUJDQQ", "QUJDQUI", "QUJD=QUJD", "QU=JD", "Q=UJD", "=QUJD", "QU JD\n", "Q-_8", "Q+/8",
	"QUJDQQ==", "QUJDQQ=", "QUJDQ===", "\u0151UJD", "QUJD\u013dQUJD", "\ud851UJD", "QU\u{1f441}JD", "\u{10451}", "\ufeffQUJD", "A=A=A=A=", "=bad".repeat(100)];
compare("base64 decoded", knownBase64.concat(times(20000, base64Text)).map((s) => ["b", wtf8(s), Buffer.from(s, "base64").toString("hex"), true]));
compare("base64 encoded", times(4000, () => bytes(below(pick([10, 100, 1000])))).map((b) => ["B", b, hex(b.toString("base64")), true]));
compare("base64 there and back", times(1000, () => bytes(below(300))).map((b) => ["b", Buffer.from(b.toString("base64")), b.toString("hex"), true]));
compare("base64 in lines", times(1000, () => bytes(below(600))).map((b) =>
	["b", Buffer.from(b.toString("base64").replace(/.{76}/g, "$&\r\n")), b.toString("hex"), true]));

const instants = [0, -1, 1, 8.64e15, -8.64e15, -62167219200000, -62167219200001, 253402300799999, 253402300800000, 951782400000, 951868799999]
	.concat(times(5000, () => Math.trunc((random() - 0.5) * 2 * pick([8.64e15, 1e15, 4e12, 1e11]))));
compare("toISOString", instants.map((ms) => ["i", Buffer.from(String(ms)), hex(new Date(ms).toISOString()), true]));

const dates = knownDates.concat(times(12000, date), times(6000, () => damage(date())), times(1000, nearChange));
for (const zone of ["UTC", "Europe/Vienna", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia"]) {
	if (zone !== "UTC" && !existsSync(`/usr/share/zoneinfo/${zone}`)) {
		console.log(`Date.parse in ${zone}: left out, the system does not know this zone`);
		continue;
	}
	env.TZ = zone;
	compare(`Date.parse in ${zone}`, dates.map((s) => ["d", Buffer.from(s), String(Date.parse(s))]));
}

console.log(`${asked - wrong} passed, ${wrong} failed`);
process.exitCode = wrong ? 1 : 0; // exit() could cut off what a pipe has not taken yet
