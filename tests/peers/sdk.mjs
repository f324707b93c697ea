// sdk.mjs SDK: questions to Claude's Agent SDK, a line of JSON each.
// {"ask":"getSessionMessages","args":[…]} -> {"answer":…} or {"error":"…"}
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

const sdk = await import(pathToFileURL(process.argv[2]));

for await (const line of readline.createInterface({ input: process.stdin })) {
	const { ask, args } = JSON.parse(line);
	let reply;

	try {
		reply = { answer: (await sdk[ask](...args)) ?? null };
	} catch (e) {
		reply = { error: String(e) };
	}
	process.stdout.write(JSON.stringify(reply) + '\n');
}
