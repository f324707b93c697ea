// oh-my-pi's append to a session of 6 MB on MariaDB: its own SQL storage and ours, in alternation. Needs Bun.
//
//     OMP=…/pi-coding-agent/src/index.ts SQL_URL=mysql://…/theirs STORE=mysql://…/ours bun bench/node/omp.mjs
//
// Both databases exist; ours was made with `grove store init`. Prints the median time of an append.
const { SQL } = await import("bun");
const omp = await import(process.env.OMP);
const { openStorage } = await import("../../bindings/node/omp.mjs");

const line = `${JSON.stringify({ type: "message", id: "x", text: "y".repeat(600) })}\n`;
const text = line.repeat(Math.ceil(6e6 / line.length));
const file = "/sessions/a.jsonl";

async function appender(storage) {
	await storage.writeText(file, text);
	await storage.drain?.();
	const writer = storage.openWriter(file, { flags: "a" });
	return async () => {
		await writer.append(line);
		await writer.flush();
	};
}

const both = [
	await appender(await omp.SqlSessionStorage.create({ client: new SQL(process.env.SQL_URL) })),
	await appender(await openStorage(process.env.STORE, omp)),
];
const times = [[], []];
for (let i = 0; i < 40; i++) {
	for (const [n, append] of both.entries()) {
		const from = performance.now();
		await append();
		times[n].push(performance.now() - from);
	}
}
const [theirs, ours] = times.map((list) => list.sort((a, b) => a - b)[list.length >> 1]);
console.log(`append at 6 MB: oh-my-pi ${theirs.toFixed(2)} ms, grove ${ours.toFixed(2)} ms, ${(theirs / ours).toFixed(1)} times`);
process.exit(0);
