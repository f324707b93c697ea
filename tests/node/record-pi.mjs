// PI=…/pi-coding-agent/dist/bundle/index.js node record-pi.mjs [COUNT] > data/pi-programs.jsonl
// What pi itself answers to random programs (programs.mjs), one line each.
import { carryOut, program } from "./programs.mjs";

const { SessionManager } = await import(process.env.PI);
for (let seed = 1; seed <= Number(process.argv[2] ?? 100); seed++) {
	process.stdout.write(`${JSON.stringify({ seed, ...carryOut(SessionManager.inMemory("/w"), program(seed)) })}\n`);
}
