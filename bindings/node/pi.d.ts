// grove-sessions/pi: pi's SessionManager and the functions that belong to it. The types are pi's own, so that
// objects made here can be passed to pi. If pi is not installed, the types are `any`.

// @ts-ignore
import type * as pi from "@earendil-works/pi-coding-agent";
import type { GroveOptions } from "./index.js";

/** pi's class, on grove. */
export type SessionManager = pi.SessionManager;
export declare const SessionManager: typeof pi.SessionManager;

/**
 * Returns pi's class for sessions in a store: "sqlite:sessions.db", "mysql://user@host/db", or a directory.
 * Its sessions are opened by id. For pi they have no file, and isPersisted() returns false.
 */
export declare function onStore(url: string, options?: Omit<GroveOptions, "store" | "dialect">): typeof pi.SessionManager;

export declare const CURRENT_SESSION_VERSION: typeof pi.CURRENT_SESSION_VERSION;
export declare const buildContextEntries: typeof pi.buildContextEntries;
export declare const buildSessionContext: typeof pi.buildSessionContext;
export declare const buildSessionProjection: typeof pi.buildSessionProjection;
export declare const getLatestCompactionEntry: typeof pi.getLatestCompactionEntry;
export declare const migrateSessionEntries: typeof pi.migrateSessionEntries;
export declare const parseSessionEntries: typeof pi.parseSessionEntries;
export declare const sessionEntryToContextMessages: typeof pi.sessionEntryToContextMessages;

type Entry = Parameters<typeof pi.sessionEntryToContextMessages>[0];
/** Returns the messages that an entry contributes to the context when its last edit is applied. */
export declare function projectContextEntry(
	entry: Entry,
	edit: Extract<Entry, { type: "context_edit" }> | undefined,
): ReturnType<typeof pi.sessionEntryToContextMessages>;

/** Throws an error if a session may not have this id. */
export declare function assertValidSessionId(id: string): void;
/** Returns the directory of a project's sessions, and creates it if needed. */
export declare function getDefaultSessionDir(cwd: string, agentDir?: string): string;
/** Returns the session file that was modified last; with `cwd`, the last one among the sessions of that directory. */
export declare function findMostRecentSession(sessionDir: string, cwd?: string): string | null;
