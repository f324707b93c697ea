// json_node.mjs LINES OURS [SIMDJSON]: does JSON.parse agree with us?
//
// LINES are the lines, OURS what json_verdict says of them, SIMDJSON a third
// opinion that is only counted: simdjson has limits on depth and numbers that
// JSON.parse does not have, and rejects lone surrogates and bad UTF-8.
//
// Of every line that is JSON the wanted members are compared as well: the span
// that we found, parsed by itself, must give the value that Node found.
import { readFileSync } from "node:fs";

// json_verdict.c has the same table.
const members = [
	["type", -1], ["id", -1], ["parentId", -1], ["timestamp", -1],
	["targetId", -1], ["label", -1], ["name", -1], ["version", -1],
	["cwd", -1], ["message", -1],
	["role", 9], ["timestamp", 9], ["content", 9],
];

const [linesPath, oursPath, simdjsonPath] = process.argv.slice(2);
const bytes = readFileSync(linesPath);
const ours = readFileSync(oursPath, "latin1").split("\n");
const simdjson = simdjsonPath ? readFileSync(simdjsonPath, "latin1").split("\n") : [];

const isObject = (v) => typeof v === "object" && v !== null && !Array.isArray(v);

// The wanted members of a value, by their place in the table.
function wanted(value) {
	const found = new Map();
	members.forEach(([name, parent], i) => {
		const object = parent < 0 ? value : found.get(parent);
		if (isObject(object) && Object.prototype.hasOwnProperty.call(object, name))
			found.set(i, object[name]);
	});
	return found;
}

const text = (v) => JSON.stringify(v, (_, x) => (Object.is(x, -0) ? "-0" : x === Infinity ? "inf" : x));

// What is wrong with our answer, or "".
function disagreement(line, answer) {
	const decoded = line.toString("utf8");
	let value;
	let verdict = "V";
	try {
		value = JSON.parse(decoded);
	} catch {
		verdict = /^[ \t\r]*$/.test(decoded) ? "-" : "B";
	}
	const [said, off, len, ...spans] = answer.split(" ");
	if (said !== verdict)
		return `Node says ${verdict}`;
	if (verdict !== "V")
		return "";
	const slice = (o, n) => line.subarray(Number(o), Number(o) + Number(n)).toString("utf8");
	const trimmed = slice(off, len);
	if (trimmed !== decoded.replace(/^[ \t\r]+|[ \t\r]+$/g, ""))
		return "the value is not trimmed";
	const found = wanted(value);
	if (found.size !== spans.length)
		return `Node finds ${found.size} members`;
	for (const span of spans) {
		const [i, o, n] = span.split(":");
		if (!found.has(Number(i)))
			return `Node finds no ${members[i][0]}`;
		if (text(JSON.parse(slice(o, n))) !== text(found.get(Number(i))))
			return `${members[i][0]} differs`;
	}
	return "";
}

let nr = 0, wrong = 0, valid = 0, bad = 0, blank = 0, other = 0, alone = 0;
for (let at = 0; at < bytes.length; nr++) {
	const lf = bytes.indexOf(10, at);
	const end = lf < 0 ? bytes.length : lf;
	const line = bytes.subarray(at, end);
	const answer = ours[nr] ?? "";
	const why = disagreement(line, answer);
	const differs = simdjsonPath && simdjson[nr] !== answer[0];
	if (answer[0] === "V")
		valid++;
	else if (answer[0] === "B")
		bad++;
	else
		blank++;
	other += differs ? 1 : 0;
	if (why) {
		wrong++;
		alone += differs ? 1 : 0;
		if (wrong <= 20)
			console.log(`line ${nr + 1}: we say ${answer}; ${why}: ${JSON.stringify(line.toString("latin1"))}`);
	}
	at = end + 1;
}
console.log(`${nr} lines: ${valid} valid, ${bad} bad, ${blank} blank; ${wrong} disagreements with Node` +
	(simdjsonPath ? `; simdjson differs in ${other}, together with Node in ${alone}` : ""));
process.exit(wrong || nr === 0 ? 1 : 0);
