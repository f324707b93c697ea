// Random sequences of calls on a SessionManager, and what they lead to, told without ids and times.
// record-pi.mjs runs them on pi itself and keeps the answers; pi.test.mjs compares ours.

/** Small, seeded, the same everywhere. */
export function chance(seed) {
	let state = seed >>> 0;
	const next = () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let t = Math.imul(state ^ (state >>> 15), state | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
	};
	return { below: (n) => Math.floor(next() * n), pick: (list) => list[Math.floor(next() * list.length)] };
}

const WORDS = ["fix", "the", "tests", "naïve", "日本", "🌱", "a \"quote\"", "line\nend", "tab\t", "\u2028", "\ud800", "\udc00x", ""];

function text(c) {
	return Array.from({ length: 1 + c.below(4) }, () => c.pick(WORDS)).join(" ");
}

function message(c) {
	const timestamp = 1700000000000 + c.below(1000000);
	switch (c.below(7)) {
		case 0:
			return { role: "system", content: text(c), timestamp, ...(c.below(2) ? { toolsAdded: [{ name: text(c), description: "d" }] } : {}) };
		case 1:
		case 2:
			return { role: "user", content: c.below(2) ? text(c) : [{ type: "text", text: text(c) }], timestamp };
		case 3:
			return { role: "toolResult", toolCallId: "t1", toolName: "bash", content: [{ type: "text", text: text(c) }], isError: c.below(2) === 0, timestamp };
		case 4:
			return { role: "bashExecution", command: text(c), output: text(c), exitCode: c.below(2), cancelled: false, truncated: false, timestamp };
		default:
			return {
				role: "assistant", provider: "p", model: `m${c.below(3)}`, api: "a", stopReason: "stop", timestamp,
				content: [{ type: "thinking", thinking: text(c) }, { type: "text", text: text(c) }, { type: "toolCall", id: "t1", name: "bash", arguments: { n: c.below(9) / 4 } }],
				usage: { input: c.below(100), output: 1, cost: { total: c.below(1000) / 7 } },
			};
	}
}

/** An entry is named by its number; numbers may be too high, too: then it is none. */
const STEPS = {
	message: (c) => [message(c)],
	thinking: (c) => [c.pick(["off", "low", "high"])],
	model: (c) => ["p", `m${c.below(4)}`],
	usage: (c) => ["warm", "p", "m", { input: c.below(9) }, c.pick([undefined, "", "note"])],
	compaction: (c, n) => [text(c), c.below(3) ? { entry: c.below(n + 1) } : null, c.below(2000) / 8, c.pick([undefined, { d: 1 }]), c.pick([undefined, true, false]), c.pick([undefined, { input: 1 }])],
	custom: (c) => ["mine", c.pick([undefined, null, 0, { a: [1, { b: null }] }, "x"])],
	customMessage: (c) => ["mine", c.pick([text(c), [{ type: "text", text: text(c) }]]), c.below(2) === 0, c.pick([undefined, { d: 1 }])],
	name: (c) => [c.pick(["one", "  two \r\n three ", " ", "", text(c)])],
	label: (c, n) => [{ entry: c.below(n + 1) }, c.pick(["mark", "other", "", undefined, text(c)])],
	edit: (c, n) => [{ entry: c.below(n + 1) }, c.pick([null, { content: "new" }, { content: text(c), why: 1 }, { content: [{ type: "text", text: "new" }] }, { content: 5 }])],
	branch: (c, n) => [{ entry: c.below(n + 1) }],
	reset: () => [],
	summary: (c, n) => [c.below(3) ? { entry: c.below(n + 1) } : null, c.pick(["what was tried", ""]), c.pick([undefined, { files: [] }]), c.pick([undefined, true, false])],
	branched: (c, n) => [{ entry: c.below(n + 1) }],
};
const OFTEN = ["message", "message", "message", "message", "label", "branch", ...Object.keys(STEPS)];

/** A program: its steps as JSON. */
export function program(seed) {
	const c = chance(seed);
	const steps = [];
	for (let i = 4 + c.below(20); i > 0; i--) {
		const name = c.pick(OFTEN);
		steps.push([name, ...STEPS[name](c, steps.length)]);
	}
	return steps;
}

const CALLS = {
	message: "appendMessage", thinking: "appendThinkingLevelChange", model: "appendModelChange", usage: "appendUsage",
	compaction: "appendCompaction", custom: "appendCustomEntry", customMessage: "appendCustomMessageEntry",
	name: "appendSessionInfo", label: "appendLabelChange", edit: "appendContextEdit", branch: "branch", reset: "resetLeaf",
	summary: "branchWithSummary", branched: "createBranchedSession",
};

/** Ids as numbers in the order of the log, times away. */
function teller(manager) {
	const ids = new Map(manager.getEntries().map((entry, i) => [entry.id, `#${i}`]));
	return (value) =>
		JSON.parse(
			JSON.stringify(value, (key, inner) => {
				if (typeof inner === "string" && ids.has(inner)) return ids.get(inner);
				if (/Id$/.test(key) && /^[0-9a-f]{8}$/.test(inner)) return "gone";
				if (key === "timestamp" && (typeof inner === "string" || inner > 1790000000000)) return "time";
				return key === "labelTimestamp" ? "time" : inner;
			}),
		);
}

function flat(nodes, depth = 0) {
	return nodes.flatMap((node) => [[node.entry.id, depth, node.label ?? null], ...flat(node.children, depth + 1)]);
}

/** Everything that can be asked of a manager. */
export function state(manager) {
	const tell = teller(manager);
	const projection = manager.buildSessionProjection();
	return tell({
		entries: manager.getEntries(),
		leaf: manager.getLeafId(),
		branch: manager.getBranch().map((entry) => entry.id),
		tree: flat(manager.getTree()),
		name: manager.getSessionName() ?? null,
		labels: manager.getEntries().map((entry) => manager.getLabel(entry.id) ?? null),
		chosen: manager.buildContextEntries().map((entry) => entry.id),
		sources: projection.entries.map((entry) => [entry.sourceEntry.id, entry.messages.length]),
		context: manager.buildSessionContext(),
		count: manager.getEntryCount(),
	});
}

/** Carries a program out; what each step said, and how it ended. */
export function carryOut(manager, steps) {
	const said = steps.map(([name, ...args]) => {
		const entries = manager.getEntries();
		const given = args.map((arg) => (arg && typeof arg === "object" && "entry" in arg ? (entries[arg.entry]?.id ?? "nobody") : arg));
		try {
			manager[CALLS[name]](...given);
			return teller(manager)(manager.getLeafId());
		} catch (error) {
			const ids = new Map(manager.getEntries().map((entry, i) => [entry.id, `#${i}`]));
			return { error: error.message.replace(/[0-9a-f]{8}/, (id) => ids.get(id) ?? id) };
		}
	});
	return { said, ...state(manager) };
}
