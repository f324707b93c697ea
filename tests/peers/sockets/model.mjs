// A stand-in for a model, for agents that speak Anthropic's Messages API. Each request of a conversation
// gets the next answer that was pushed: a text, or a list of content blocks. `requests` keeps all requests.
import http from "node:http";

function* eventsOf({ id, model, content, stop, usage }) {
	const message = { id, type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null, usage };
	yield ["message_start", { message }];
	for (const [index, block] of content.entries()) {
		const isText = block.type === "text";
		const empty = isText ? { type: "text", text: "" } : { ...block, input: {} };
		const delta = isText
			? { type: "text_delta", text: block.text }
			: { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
		yield ["content_block_start", { index, content_block: empty }];
		yield ["content_block_delta", { index, delta }];
		yield ["content_block_stop", { index }];
	}
	yield ["message_delta", { delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: usage.output_tokens } }];
	yield ["message_stop", {}];
}

function send(response, status, value) {
	response.statusCode = status;
	response.setHeader("content-type", "application/json");
	response.end(JSON.stringify(value));
}

function stream(response, answer) {
	response.setHeader("content-type", "text/event-stream");
	for (const [type, data] of eventsOf(answer)) response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
	response.end();
}

/**
 * `isMain` tells whether a request belongs to the conversation itself. Others (titles, summaries)
 * use up no answer.
 */
export async function startModel(isMain = (body) => (body.tools ?? []).length > 0) {
	const steps = [];
	const requests = [];

	function answerTo(body) {
		const nr = requests.push(body);
		const step = (isMain(body) && steps.shift()) || `reply ${nr}`;
		const content = typeof step === "string" ? [{ type: "text", text: step }] : step;
		return {
			id: `msg_${String(nr).padStart(6, "0")}`,
			model: body.model,
			content,
			stop: content.some((block) => block.type === "tool_use") ? "tool_use" : "end_turn",
			usage: { input_tokens: 10 * nr, output_tokens: 5, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
		};
	}

	const server = http.createServer(async (request, response) => {
		let text = "";
		for await (const chunk of request) text += chunk;
		if (request.method !== "POST" || !request.url.startsWith("/v1/messages")) {
			return send(response, 404, { type: "error", error: { type: "not_found_error", message: request.url } });
		}
		if (request.url.includes("count_tokens")) return send(response, 200, { input_tokens: 100 });
		const body = JSON.parse(text);
		const answer = answerTo(body);
		if (body.stream) return stream(response, answer);
		const { id, model, content, stop, usage } = answer;
		send(response, 200, { id, type: "message", role: "assistant", model, content, stop_reason: stop, stop_sequence: null, usage });
	});
	await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
	return {
		url: `http://127.0.0.1:${server.address().port}`,
		requests,
		push: (...more) => steps.push(...more),
		close: () => {
			server.closeAllConnections?.();
			server.close();
		},
	};
}

/** Returns what the model was sent last, as text. */
export const lastAsked = (model) => JSON.stringify(model.requests.at(-1).messages);

export const call = (id, name, input) => ({ type: "tool_use", id, name, input });

/**
 * Replaces ids, times and paths by numbers in the order in which they occur, so that two runs can
 * be compared.
 */
export function comparable(text, paths) {
	const names = new Map();
	const nameOf = (kind, value) => {
		if (!names.has(kind + value)) names.set(kind + value, `<${kind} ${names.size + 1}>`);
		return names.get(kind + value);
	};
	return paths
		.reduce((all, [from, to]) => all.replaceAll(from, to), text)
		.replace(/"durationMs":\d+/g, '"durationMs":0')
		.replace(/\b\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d[-.]\d{3}Z/g, "<time>")
		.replace(/"timestamp":\d{13}/g, '"timestamp":0')
		.replace(/(?<![0-9a-f])[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])/g, (id) => nameOf("uuid", id))
		.replace(/"([0-9a-f]{8})"/g, (_, id) => `"${nameOf("id", id)}"`);
}
