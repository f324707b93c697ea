/** grove-sessions/omp: the storage of oh-my-pi and xcsh, in any store, with one row for each line. */

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
	/** The host's error class for a write that finds a file of another size than expected. */
	SessionWriteConflictError?: new (path: string, expected: any, actual: any) => Error;
	/**
	 * When an append is acknowledged: once it is passed to the system ("none", the default), once writing to disk
	 * has started ("flush"), or once it is on disk ("always").
	 */
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
	/**
	 * Keeps other processes from writing to a session until the returned function is called. Returns undefined
	 * if the session has not been written yet.
	 */
	lockSync(path: string): (() => Promise<void>) | undefined;
	/**
	 * Deletes a session if `shouldDelete`, called while nobody else can write to it, returns true. `remove` must
	 * call remove() of this object with the path. Resolves to whether the session was deleted.
	 */
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

/** The methods that openStorage() adds to a SessionStorage, and to the storage of oh-my-pi. */
export interface SessionStorageLocks {
	/** Runs `operation`. Other processes can write to that session again only after everything that it wrote is stored. */
	withSessionFileLockSync<T>(path: string, operation: () => T): T;
	/** Deletes a session if `shouldDelete`, called while nobody else can write to it, returns true. */
	deleteSessionWithArtifactsIf(path: string, shouldDelete: (text: string) => boolean): Promise<boolean>;
}

/** Opens a back end for an IndexedSessionStorage of your own. */
export declare function openBackend(url: string, options?: ConstructorParameters<typeof SessionStorageBackend>[1]): SessionStorageBackend;

/**
 * Opens a storage in the store with this URL. `host` is oh-my-pi's module, whose IndexedSessionStorage is used;
 * without it, the result is a SessionStorage.
 */
export declare function openStorage(url: string, host?: any, options?: { sync?: "none" | "flush" | "always" }): Promise<any>;
