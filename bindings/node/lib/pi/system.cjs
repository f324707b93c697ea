"use strict";

// The system message that is in force after a row of messages: texts joined, sections by
// name, tools added and removed.

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
