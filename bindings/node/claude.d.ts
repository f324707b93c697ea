/** grove-sessions/claude: the SessionStore of the Claude Agent SDK on any store. */

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
	/** The SDK's foldSessionSummary. Without it there is no listSessionSummaries(). */
	foldSessionSummary?: Fold;
	/** When an append is acknowledged: it was given to the system ("none"), or is on the disk ("always"). */
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

/** A SessionStore in the store with this URL: a directory, "sqlite:FILE", "mysql://…" or "memory:". */
export declare function openStore(url: string, options?: SessionStoreOptions): SessionStore;
