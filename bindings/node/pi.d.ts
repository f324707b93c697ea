// grove-sessions/pi: pi's SessionManager and the functions beside it. The types are pi's own, so that
// what is made here can be handed to pi; without pi installed they are `any`.

// @ts-ignore
import type * as pi from "@earendil-works/pi-coding-agent";
import type { GroveOptions } from "./index.js";

/** pi's class, over grove. */
export type SessionManager = pi.SessionManager;
export declare const SessionManager: typeof pi.SessionManager;

/**
 * pi's class for sessions in a store: "sqlite:sessions.db", "mysql://user@host/db", a directory.
 * A session there is opened by its id; it has no file, and is not "persisted" in pi's sense.
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
/** What an entry contributes to the context, with its last edit. */
export declare function projectContextEntry(
	entry: Entry,
	edit: Extract<Entry, { type: "context_edit" }> | undefined,
): ReturnType<typeof pi.sessionEntryToContextMessages>;

/** Throws unless this may be the id of a session. */
export declare function assertValidSessionId(id: string): void;
/** The directory of a project's sessions, which is created. */
export declare function getDefaultSessionDir(cwd: string, agentDir?: string): string;
/** The file that was written last; with `cwd`, among the sessions of that directory. */
export declare function findMostRecentSession(sessionDir: string, cwd?: string): string | null;
