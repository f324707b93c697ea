/** grove-sessions/omp: where oh-my-pi keeps its sessions, on any store, a row a line. */

export interface SessionTitle {
	title: string;
	source?: string;
	updatedAt?: string;
}

export interface SessionIndexEntry {
	path: string;
	size: number;
	mtimeMs: number;
	title?: string;
	titleSource?: any;
	titleUpdatedAt?: string;
}

export interface SessionStorageBackendOptions {
	/** The host's class for a write that found something else than it expected. */
	SessionWriteConflictError?: new (path: string, expected: any, actual: any) => Error;
	/** When an append is acknowledged: it was given to the system ("none"), or is on the disk ("always"). */
	sync?: "none" | "flush" | "always";
}

/** The back end of oh-my-pi's IndexedSessionStorage. */
export declare class SessionStorageBackend {
	constructor(url: string, options?: SessionStorageBackendOptions);
	init(): Promise<void>;
	loadIndex(): Promise<SessionIndexEntry[]>;
	readFull(path: string): Promise<string | null>;
	readSlices(path: string, prefixBytes: number, suffixBytes: number): Promise<[string, string]>;
	writeFull(path: string, text: string, mtimeMs: number, title?: any, expectedSize?: number | null): Promise<void>;
	append(path: string, line: string, mtimeMs: number): Promise<void>;
	updateSessionTitle(path: string, title: any, mtimeMs: number): Promise<void>;
	truncate(path: string, mtimeMs: number): Promise<void>;
	remove(paths: string[]): Promise<void>;
	move(from: string, to: string, mtimeMs: number): Promise<void>;
}

/** A storage for oh-my-pi in the store with this URL; `host` is oh-my-pi's module. */
export declare function openStorage(url: string, host: any, options?: { sync?: "none" | "flush" | "always" }): Promise<any>;
