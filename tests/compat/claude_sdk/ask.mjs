// ask.mjs SDK: answers questions to Claude's Agent SDK, a JSON line each.
// {"fn":"getSessionMessages","args":[…]} -> {"answer":…} or {"error":"…"}
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

const sdk = await import(pathToFileURL(process.argv[2]));

for await (const line of readline.createInterface({ input: process.stdin })) {
	const { fn, args } = JSON.parse(line);
	let reply;

	try {
		reply = { answer: (await sdk[fn](...args)) ?? null };
	} catch (e) {
		reply = { error: String(e) };
	}
	process.stdout.write(JSON.stringify(reply) + '\n');
}
