// omp.ts SESSION-MANAGER: runs oh-my-pi's own session manager; questions come as lines of JSON.
import { dirname, join } from "node:path";

const module = process.argv[2];
const { SessionManager } = await import(module);
const { convertToLlm } = await import(join(dirname(module), "messages.ts"));

function tree(roots: any[]) {
	const rows: any[] = [];
	const rest = roots.map((node) => [node, 0]).reverse();

	while (rest.length && rows.length < 100000) {
		const [node, depth] = rest.pop() as any;

		rows.push([node.entry.id ?? null, depth, node.label ?? null]);
		for (const child of [...node.children].reverse())
			rest.push([child, depth + 1]);
	}
	return rows;
}

function attempt(fn: () => any) {
	try {
		return fn() ?? null;
	} catch (e: any) {
		return { error: String(e?.message ?? e) };
	}
}

async function read({ path, leaves = [] }: any) {
	const m = await SessionManager.open(path);
	const answer: any = {
		leaf: m.getLeafId() ?? null,
		name: m.getSessionName() ?? null,
		context: attempt(() => m.buildSessionContext()),
		llm: attempt(() => convertToLlm(m.buildSessionContext().messages)),
		tree: attempt(() => tree(m.getTree())),
	};

	for (const id of leaves)
		answer["context at " + id] = attempt(() => (m.branch(id), m.buildSessionContext()));
	await m.close();
	return answer;
}

const steps: any = {
	message: (m: any, s: any) => m.appendMessage(s.message),
	thinking_level_change: (m: any, s: any) => m.appendThinkingLevelChange(s.thinkingLevel),
	model_change: (m: any, s: any) => m.appendModelChange(s.model, s.role),
	mode_change: (m: any, s: any) => m.appendModeChange(s.mode, s.data),
	service_tier_change: (m: any, s: any) => m.appendServiceTierChange(s.serviceTier),
	ttsr_injection: (m: any, s: any) => m.appendTtsrInjection(s.injectedRules),
	compaction: (m: any, s: any) =>
		m.appendCompaction(s.summary, s.shortSummary, s.firstKeptEntryId, s.tokensBefore, { details: s.details }),
	custom: (m: any, s: any) => m.appendCustomEntry(s.customType, s.data),
	custom_message: (m: any, s: any) => m.appendCustomMessageEntry(s.customType, s.content, s.display, s.details, s.attribution),
	label: (m: any, s: any) => m.appendLabelChange(s.targetId, s.label),
	branch_summary: (m: any, s: any) => m.branchWithSummary(s.at ?? null, s.summary, s.details),
	name: async (m: any, s: any) => (await m.setSessionName(s.name, "user"), null),
};

async function take({ path, parent, step }: any) {
	const m = await SessionManager.open(path);

	if (parent === "root")
		m.resetLeaf();
	else if (parent)
		m.branch(parent);
	const id = await steps[step.type](m, step);
	await m.flush();
	await m.close();
	return { id };
}

const asked: any = {
	read,
	take,
	create: async ({ cwd, dir, messages }: any) => {
		const m = SessionManager.create(cwd, dir);

		for (const message of messages)
			m.appendMessage(message);
		await m.ensureOnDisk();
		await m.flush();
		await m.close();
		return { path: m.getSessionFile() };
	},
	place: async ({ cwd }: any) => ({ path: SessionManager.create(cwd).getSessionFile() }),
	fork: async ({ path, cwd, dir }: any) => {
		const m = await SessionManager.forkFrom(path, cwd, dir);

		await m.flush();
		await m.close();
		return { path: m.getSessionFile() };
	},
	branch: async ({ path, leaf }: any) => {
		const m = await SessionManager.open(path);
		const made = m.createBranchedSession(leaf);

		await m.flush();
		await m.close();
		return { path: made };
	},
};

for await (const line of console) {
	const question = JSON.parse(line);
	let answer;

	try {
		answer = await asked[question.ask](question);
	} catch (e: any) {
		answer = { error: String(e?.message ?? e) };
	}
	process.stdout.write(JSON.stringify(answer) + "\n");
}
