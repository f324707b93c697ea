// pi.mjs BUNDLE: runs pi's own session manager; questions come as lines of JSON.
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

const { SessionManager, convertToLlm } = await import(pathToFileURL(process.argv[2]));

const undefinedIsNull = (v) => (v === undefined ? null : v);

function context(m) {
	const { entries, messages, thinkingLevel, model } = m.buildSessionProjection();
	const entryIds = entries.flatMap((e) => e.messages.map(() => undefinedIsNull(e.sourceEntry.id)));

	return { messages, entryIds, thinkingLevel, model };
}

// Builds a tree without recursion: it may be deeper than the stack.
function tree(roots) {
	const rows = [];
	const rest = roots.map((node) => [node, 0]).reverse();

	while (rest.length && rows.length < 100000) {
		const [node, depth] = rest.pop();

		rows.push([undefinedIsNull(node.entry.id), depth, node.label ?? null]);
		for (const child of [...node.children].reverse())
			rest.push([child, depth + 1]);
	}
	return rows;
}

const attempt = (fn) => {
	try {
		return undefinedIsNull(fn());
	} catch (e) {
		return { error: String(e?.message ?? e) };
	}
};

function read({ path, leaves = [] }) {
	const m = SessionManager.open(path);
	const leaf = m.getLeafId();
	const answer = {
		leaf: undefinedIsNull(leaf),
		name: undefinedIsNull(m.getSessionName()),
		id: m.getSessionId(),
		context: attempt(() => context(m)),
		llm: attempt(() => convertToLlm(m.buildSessionContext().messages)),
		tree: attempt(() => tree(m.getTree())),
	};

	for (const id of leaves)
		answer['context at ' + id] = attempt(() => (id === 'root' ? m.resetLeaf() : m.branch(id), context(m)));
	return answer;
}

const steps = {
	message: (m, s) => m.appendMessage(s.message),
	thinking_level_change: (m, s) => m.appendThinkingLevelChange(s.thinkingLevel),
	model_change: (m, s) => m.appendModelChange(s.provider, s.modelId),
	usage: (m, s) => m.appendUsage(s.kind, s.provider, s.model, s.usage, s.note).id,
	compaction: (m, s) =>
		m.appendCompaction(s.summary, s.firstKeptEntryId, s.tokensBefore, s.details, s.fromHook, s.usage),
	custom: (m, s) => m.appendCustomEntry(s.customType, s.data),
	custom_message: (m, s) => m.appendCustomMessageEntry(s.customType, s.content, s.display, s.details),
	context_edit: (m, s) => m.appendContextEdit(s.targetId, s.replacement),
	label: (m, s) => m.appendLabelChange(s.targetId, s.label),
	session_info: (m, s) => m.appendSessionInfo(s.name),
	branch_summary: (m, s) => m.branchWithSummary(s.at ?? null, s.summary, s.details, s.fromHook, s.usage),
};

// Takes one step on the file as it is now, as another process would.
function take({ path, parent, step }) {
	const m = SessionManager.open(path);

	if (parent === 'root')
		m.resetLeaf();
	else if (parent)
		m.branch(parent);
	return { id: steps[step.type](m, step) };
}

const asked = {
	read,
	take,
	create: ({ cwd, dir, id, message }) => {
		const m = SessionManager.create(cwd, dir, { id });

		m.appendMessage(message);
		return { path: m.getSessionFile() };
	},
	place: ({ cwd }) => ({ path: SessionManager.create(cwd).getSessionFile() }),
	fork: ({ path, cwd, dir }) => ({ path: SessionManager.forkFrom(path, cwd, dir).getSessionFile() }),
	branch: ({ path, leaf }) => ({ path: SessionManager.open(path).createBranchedSession(leaf) }),
	list: async ({ dir }) => (await SessionManager.listAll(dir)).map((s) => ({
		...s, modified: attempt(() => s.modified.toISOString()), created: attempt(() => s.created.toISOString()),
	})),
};

for await (const line of readline.createInterface({ input: process.stdin })) {
	const question = JSON.parse(line);
	let answer;

	try {
		answer = await asked[question.ask](question);
	} catch (e) {
		answer = { error: String(e?.message ?? e) };
	}
	process.stdout.write(JSON.stringify(answer) + '\n');
}
