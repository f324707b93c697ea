// Compiled by types.test.mjs, never run: what the types allow, and what they do not.
import grove, { create, Grove, GroveError, list, open, recent, search, Session, session as existing, usage, type Entry, type Hit, type ListItem } from "grove-sessions";

const session: Session = create({ cwd: "/tmp", dialect: "claude" });
const entry: Entry = session.append({ role: "user", content: "hello" }, { parent: null, sync: "always" });
const many: Entry[] = session.appendMany([{ role: "user", content: [] }, entry]);
const leaf: string | null = session.setLeaf(entry.id ?? null, { summary: "x" }).leaf;
const again: Session = existing(new URL("file:///tmp/x.jsonl"), { mode: "read", store: "sqlite:x.db" });
for (const { type, message } of again) console.log(type, message?.role, message?.content);
const roles: string[] = again.context({ llm: true }).messages.map((m) => m.role);
const one: Session = recent().fork({ leaf: "abc", memory: true });
const items: ListItem[] = await list({ signal: new AbortController().signal, onProgress: (done, total) => console.log(done / total) });
const hits: Hit[] = await search("x", { in: ["text"], since: new Date() });
const tokens: number = (await usage({ by: "model" })).totals.totalTokens;
const other: Grove = new Grove({ store: ["/a", "/b"], cache: false });
try {
	other.session("last");
} catch (error) {
	if (error instanceof GroveError && error.code === "NOTFOUND") console.log(error.path, error.line);
}
{
	using world = open("sqlite:x.db");
	using s = world.session("last");
	const drawn: string[] = s.snapshot({ entries: "path", limit: 5 }).activePath;
	console.log(drawn, open(), open({ home: "/h" }), grove.session("last"));
	console.log(s.length, many, leaf, roles, one, items, hits, tokens);
}

// @ts-expect-error: sessions are opened, not made
new Session();
// @ts-expect-error: not a way to be durable
session.append({}, { sync: "maybe" });
// @ts-expect-error: an id is a string
session.entry(7);
// @ts-expect-error: read only
session.leaf = "x";
// @ts-expect-error: not a thing to sort by
await list({ sort: "colour" });
