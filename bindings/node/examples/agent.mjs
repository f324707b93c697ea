// A small agent with branching and resume. Where its conversation is kept is one URL:
//
//   node agent.mjs                                           pi's own files, below ~/.pi
//   STORE=sqlite:agent.db node agent.mjs                     a database
//   STORE=mysql://user:word@host/agents node agent.mjs       a server
//
// Type prompts. "/back" goes back to the point before the last prompt, so that the next one starts a branch;
// "/tree" draws the session. When the program is started again, it continues the same session.
import readline from "node:readline";
import { initStore, recent } from "grove-sessions";

const store = process.env.STORE;
if (store) initStore(store);
const session = recent({ cwd: process.cwd(), store });
if (session.length) console.log(`(going on with ${session.id}, ${session.branch().length} entries)`);

/** Replace this by a call of your model: it gets the messages and returns the answer as a message. */
async function askModel(messages) {
	const { content } = messages.at(-1);
	return { role: "assistant", content: [{ type: "text", text: `${messages.length} messages, the last is "${content}"` }], timestamp: Date.now() };
}

function draw(nodes, depth = 0) {
	for (const { entry, children } of nodes) {
		const { role, content } = entry.message ?? { role: entry.type, content: "" };
		const text = typeof content === "string" ? content : content[0].text;
		console.log(`${"  ".repeat(depth)}${entry.id === session.leaf ? "*" : "-"} ${role}: ${text}`);
		draw(children, children.length > 1 ? depth + 1 : depth);
	}
}

for await (const line of readline.createInterface({ input: process.stdin })) {
	if (line === "/tree") {
		draw(session.tree());
	} else if (line === "/back") {
		const prompt = session.branch().findLast((entry) => entry.message?.role === "user");
		if (prompt) session.setLeaf(prompt.parentId);
	} else {
		session.append({ role: "user", content: line, timestamp: Date.now() });
		const reply = await askModel(session.context().messages);
		session.append(reply, { sync: "always" });
		console.log(reply.content[0].text);
	}
}
session.close();
