// The OpenAI Agents SDK's Session on any store: run(agent, input, { session: new GroveSession({ … }) }).
// Items are entries of a session, so "grove --store URL ls" and "show" work on it. Nothing is ever
// overwritten: an item that popItem() takes away stays in the session, on a branch that was left.
import { create, initStore, session } from "grove-sessions";

const TYPE = "openai-item";

export class GroveSession {
	#session;

	/** Options: { sessionId, store, cwd }, all optional. If a session with that id exists, it is continued. */
	constructor({ sessionId, store, cwd = process.cwd() } = {}) {
		if (store) initStore(store);
		try {
			if (sessionId !== undefined) this.#session = session(sessionId, { store });
		} catch (error) {
			if (error.code !== "NOTFOUND") throw error;
		}
		this.#session ??= create({ id: sessionId, store, cwd, now: true });
	}

	/** The entries of the branch that are items, oldest first. */
	#items() {
		return this.#session.branch().filter((entry) => entry.type === "custom" && entry.customType === TYPE);
	}

	async getSessionId() {
		return this.#session.id;
	}

	async getItems(limit) {
		const items = this.#items().map((entry) => structuredClone(entry.data));
		return limit === undefined ? items : limit > 0 ? items.slice(-limit) : [];
	}

	async addItems(items) {
		this.#session.appendMany(items.map((data) => ({ type: "custom", customType: TYPE, data })), { sync: "always" });
	}

	async popItem() {
		const last = this.#items().at(-1);
		if (last) this.#session.setLeaf(last.parentId ?? null, { persist: true });
		return last && structuredClone(last.data);
	}

	async clearSession() {
		this.#session.setLeaf(null, { persist: true });
	}

	close() {
		this.#session.close();
	}
}
