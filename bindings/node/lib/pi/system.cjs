"use strict";

// Combines the system messages in a list of messages into the one that is in force at its end: texts are
// joined, later sections replace or remove earlier ones of the same name, and tools are added and removed.

function textOf(content) {
	if (typeof content === "string") return content;
	return Array.isArray(content) ? content.map((block) => block?.text ?? "").join("\n") : "";
}

function currentSystemMessage(messages) {
	const system = messages.filter((message) => message?.role === "system");
	const sections = new Map();
	const tools = new Map();
	for (const message of system) {
		for (const section of entriesOf(message.sections)) {
			if (section[1] === null) sections.delete(section[0]);
			else sections.set(...section);
		}
		for (const name of message.toolsRemoved ?? []) tools.delete(name);
		for (const tool of message.toolsAdded ?? []) tools.set(tool.name, tool);
	}
	if (system.length === 0) return undefined;
	return {
		role: "system",
		content: system.map((message) => textOf(message.content)).filter(Boolean).join("\n\n"),
		...(sections.size > 0 ? { sections: Object.fromEntries(sections) } : {}),
		...(tools.size > 0 ? { toolsAdded: [...tools.values()] } : {}),
		timestamp: system[0].timestamp ?? 0,
	};
}

const entriesOf = (sections) => (sections && typeof sections === "object" ? Object.entries(sections) : []);

module.exports = { currentSystemMessage };
