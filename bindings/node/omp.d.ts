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
	/** Keeps other processes from writing to a session until what it returns is called; undefined: it was not written yet. */
	lockSync(path: string): (() => Promise<void>) | undefined;
	/** Calls `remove`, which removes this path, but only if `shouldDelete` says so while nobody else can write. */
	removeIf(path: string, shouldDelete: (text: string) => boolean, remove: () => Promise<void>): Promise<boolean>;
}

export interface SessionStorageWriter {
	append(line: string): Promise<void>;
	appendSync(line: string): void;
	writeLine(line: string): Promise<void>;
	flush(): Promise<void>;
	flushSync(): void;
	fsync(): Promise<void>;
	close(): Promise<void>;
	isOpen(): boolean;
	getError(): Error | undefined;
}

/** For hosts without an IndexedSessionStorage, such as xcsh. Writes are queued; drain() waits for them. */
export declare class SessionStorage {
	constructor(backend: SessionStorageBackend);
	readonly defersSyncPublish: boolean;
	initialize(): Promise<void>;
	refresh(): Promise<void>;
	drain(): Promise<void>;
	confirmWrites(path: string): Promise<void>;
	ensureDirSync(dir: string): void;
	fsyncDirSync(dir: string): void;
	existsSync(path: string): boolean;
	statSync(path: string): { size: number; mtimeMs: number; mtime: Date };
	listFilesSync(dir: string, glob?: string): string[];
	writeTextSync(path: string, text: string, options?: { expectedSize?: number | null }): void;
	openWriter(path: string, options?: { flags?: "a" | "w"; onError?: (error: Error) => void }): SessionStorageWriter;
	exists(path: string): Promise<boolean>;
	readText(path: string): Promise<string>;
	readTextPrefix(path: string, bytes: number): Promise<string>;
	readTextSlices(path: string, head: number, tail: number): Promise<[string, string]>;
	writeText(path: string, text: string): Promise<void>;
	writeTextAtomic(path: string, text: string, options?: { expectedSize?: number | null; commitGuard?: () => boolean }): Promise<void>;
	updateSessionTitle(path: string, title: any): Promise<void>;
	rename(from: string, to: string): Promise<void>;
	unlink(path: string): Promise<void>;
	deleteSessionWithArtifacts(path: string): Promise<void>;
}

/** What openStorage() adds to it, and to oh-my-pi's. */
export interface SessionStorageLocks {
	/** Runs `operation`; what it writes is written before other processes can write to that session again. */
	withSessionFileLockSync<T>(path: string, operation: () => T): T;
	/** Deletes a session if `shouldDelete` says so while nobody else can write to it. */
	deleteSessionWithArtifactsIf(path: string, shouldDelete: (text: string) => boolean): Promise<boolean>;
}

/** A back end for an IndexedSessionStorage of one's own. */
export declare function openBackend(url: string, options?: ConstructorParameters<typeof SessionStorageBackend>[1]): SessionStorageBackend;

/** A storage in the store with this URL. `host`: oh-my-pi's module; without one it is a SessionStorage. */
export declare function openStorage(url: string, host?: any, options?: { sync?: "none" | "flush" | "always" }): Promise<any>;
