/** grove-sessions/claude: a SessionStore of the Claude Agent SDK in any store. */

export interface SessionKey {
	projectKey: string;
	sessionId: string;
	subpath?: string;
}

export interface SessionSummary {
	sessionId: string;
	mtime: number;
	data: Record<string, unknown>;
}

type Fold = (prev: any, key: any, entries: any[], options?: any) => any;

export interface SessionStoreOptions {
	/** The SDK's foldSessionSummary. Without it, listSessionSummaries is undefined, and the SDK loads the sessions. */
	foldSessionSummary?: Fold;
	/**
	 * When an append is acknowledged: once it is passed to the system ("none", the default), once writing to disk
	 * has started ("flush"), or once it is on disk ("always").
	 */
	sync?: "none" | "flush" | "always";
}

export declare class SessionStore {
	constructor(url: string, options?: SessionStoreOptions);
	append(key: SessionKey, entries: any[]): Promise<void>;
	load(key: SessionKey): Promise<any[] | null>;
	listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>;
	listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]>;
	delete(key: SessionKey): Promise<void>;
	listSessionSummaries(projectKey: string): Promise<SessionSummary[]>;
}

/** Opens a SessionStore in the store with this URL: a directory, "sqlite:FILE", "mysql://…" or "memory:". */
export declare function openStore(url: string, options?: SessionStoreOptions): SessionStore;
