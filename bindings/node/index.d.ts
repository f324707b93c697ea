/// <reference lib="esnext.disposable" />
/**
 * Sessions of coding agents: open, branch, append, list and search them.
 *
 * Calls that agents make all the time are synchronous: a session, its entries, an append. Calls that
 * take long (over all sessions: list, search, usage) return promises and work on another thread.
 */

// ----------------------------------------------------------------------- entries

/** Anything that JSON.stringify accepts. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json | undefined };

/** A message as its agent stores it: a role, and whatever belongs to it. */
export interface Message {
  role: string;
  [name: string]: any;
}

/**
 * An entry as it is stored. It is an ordinary object; long values, such as the content of a message,
 * are read from the session when they are first used.
 */
export interface Entry {
  type: string;
  id?: string;
  parentId?: string | null;
  timestamp?: string;
  message?: Message;
  [name: string]: any;
}

export interface TreeNode {
  entry: Entry;
  children: TreeNode[];
  label?: string;
}

/** What the model would be sent. */
export interface SnapshotOptions {
  /** Those of the active path alone, or none. Default: all. */
  entries?: "all" | "path" | "none";
  /** The seq of an earlier snapshot: only entries after it. */
  after?: number;
  limit?: number;
  /** Longer texts become { $ref, bytes }. */
  maxBody?: number;
  /** With the bytes that are kept in blobs. */
  blobs?: boolean;
  /** Results of sub-agents have their projection in metadata. */
  project?: boolean;
}

export interface Snapshot {
  session: { id: string; [name: string]: any };
  entries: Entry[];
  activePath: string[];
  childrenByParentId: { [id: string]: string[] };
  labelsByEntryId: { [id: string]: string };
  [name: string]: any;
}

export interface Context {
  messages: Message[];
  [name: string]: any;
}

// ------------------------------------------------------------------------ errors

export type ErrorCode =
  | "NOMEM" | "IO" | "INVAL" | "NOTFOUND" | "EXIST" | "CONFLICT" | "DAMAGED" | "JSON" | "NOTSUP" | "STALE" | "TOOBIG"
  | "CANCELLED" | "AMBIGUOUS" | "ACCESS" | "FULL" | "AWAY";

export class GroveError extends Error {
  readonly code: ErrorCode | (string & {});
  /** The file it is about, and the place in it. */
  readonly path?: string;
  readonly line?: number;
  readonly offset?: number;
}

// ---------------------------------------------------------------------- sessions

/** none: passed to the system. flush: writing to disk has started. always: on disk. */
export type Sync = "none" | "flush" | "always";

export interface AppendOptions {
  /** The id of the parent; null: none. Default: the leaf. */
  parent?: string | null;
  /** Append only if the log has this many lines, including its header; otherwise CONFLICT. */
  ifSeq?: number;
  sync?: Sync;
}

export interface LeafOptions {
  /** Move it for other readers, too. Default: only in this handle, until something is appended. */
  persist?: boolean;
  /** A summary of the branch that is left, appended at the new place. */
  summary?: string;
  details?: Json;
  usage?: Json;
  fromHook?: boolean;
}

export interface ContextOptions {
  /** Default: the session's leaf; null: nothing. */
  leaf?: string | null;
  /** As plain messages for a model. */
  llm?: boolean;
  /** With the reason why each entry is or is not part of it. */
  explain?: boolean;
  /** Claude: continue above a compaction. */
  whole?: boolean;
  /** Claude: leave out what was snipped. */
  snips?: boolean;
  /** Claude. */
  mode?: "cli" | "sdk";
}

export interface ForkOptions {
  /** Only the path to this entry. Default: the whole tree. */
  leaf?: string;
  cwd?: string;
  dir?: string;
  id?: string;
  /** Never a file. */
  memory?: boolean;
  /** Write nothing before the first message. */
  defer?: boolean;
  /** Claude: only the conversation, with the same record ids. */
  sameIds?: boolean;
  sync?: Sync;
}

/** One open session. Close it when you are done; the garbage collector closes those you forget. */
export class Session implements Iterable<Entry> {
  private constructor();

  readonly id: string;
  /** null in memory and in databases */
  readonly path: string | null;
  readonly dir: string | null;
  readonly cwd: string | null;
  readonly dialect: "pi" | "omp" | "xcsh" | "claude" | (string & {});
  readonly agent: string;
  readonly version: number;
  readonly name: string | null;
  /** The entry that the next append goes below; null: none yet. */
  readonly leaf: string | null;
  /** The number of entries. */
  readonly length: number;
  /** The number of entries that are in this handle but not yet in the log. */
  readonly pending: number;
  readonly header: Entry | null;

  entry(id: string): Entry | undefined;
  /** By position, like Array.prototype.at. */
  at(index: number): Entry | undefined;
  /** All entries, in the order they were appended. The array is yours; the entries are the same objects each time. */
  entries(): Entry[];
  [Symbol.iterator](): Iterator<Entry>;
  /** The conversation that ends at an entry; default: at the leaf. */
  branch(id?: string | null): Entry[];
  /** The children of an entry; null: the roots. */
  children(id: string | null): Entry[];
  tree(): TreeNode[];
  context(options?: ContextOptions): Context;
  /** Everything a user interface loads at once. */
  snapshot(options?: SnapshotOptions): Snapshot;

  /** Appends a message {role, …} or an entry {type, …}, and returns the entry as it was stored. */
  append(entry: object, options?: AppendOptions): Entry;
  /** Appends several entries, each below the one before it: all of them or none. */
  appendMany(entries: Iterable<object>, options?: AppendOptions): Entry[];
  /**
   * An append that does not wait for the store: the entry gets its id and its parent at once, and is written
   * by a thread, in order. The first failure is sticky: every later call throws it, including flush().
   */
  submit(entry: object, options?: Omit<AppendOptions, "ifSeq">): Entry;
  /** Waits until all submitted entries are written; with `sync: "always"`, until they are on disk. */
  flush(options?: { sync?: "none" | "flush" | "always" }): void;

  /** Continues from another entry; null: before the first. The next append starts a branch. */
  setLeaf(id: string | null, options?: LeafOptions): { leaf: string | null; summaryId?: string };
  /** As agents do it: for a prompt, its text is returned to be edited, and the leaf is its parent. */
  continueFrom(id: string, options?: { persist?: boolean; inConversation?: boolean }): {
    outcome: "append" | "switch" | "replay";
    leaf: string | null;
    content?: any;
  };

  /** Sets the label of an entry; null clears it. */
  label(id: string, label: string | null): Entry;
  labelOf(id: string): string | undefined;
  /** Returns false if the user chose another name, which stays. */
  rename(name: string, options?: { by?: "user" | "agent" }): boolean;
  fork(options?: ForkOptions): Session;
  /** Makes it a session of another working directory, and moves its file accordingly. */
  move(cwd: string): void;

  /** Replaces the value at a JSON pointer, such as "/message/content". The log is rewritten. */
  update(id: string, pointer: string, value: Json): void;
  /** Removes an entry. Returns the number of its children, which are attached to its parent. */
  forget(id: string): number;

  getValue(name: string): string | null;
  setValue(name: string, text: string): void;

  /** Reads what others have appended. Returns true if there was something. */
  refresh(): boolean;
  /** Writes a session that was deferred. */
  ensure(): void;
  /** Waits until everything is on disk. */
  sync(): void;
  close(): void;
  [Symbol.dispose](): void;
}

// ------------------------------------------------------------------------- where

/** Where sessions are. Default: as the environment of the process says. */
export interface GroveOptions {
  /** A URL (sqlite:…, mysql://…) or a directory, or several. */
  store?: string | string[];
  home?: string;
  env?: Record<string, string | undefined>;
  cwd?: string;
  dialect?: string;
  /** The directory for caches; false: none. */
  cache?: string | false;
}

type Where = Pick<GroveOptions, "store" | "home" | "env" | "cache">;

export interface OpenOptions {
  /** Default: "write". */
  mode?: "read" | "write";
  /** Throw CONFLICT instead of appending below what another program has written. */
  strict?: boolean;
  /** Rewrite even while another program has the file open. */
  force?: boolean;
  /** An empty file becomes a session. */
  init?: boolean;
  /** Read only, and read nothing before it is needed. */
  lazy?: boolean;
}

export interface CreateOptions {
  /** "pi", "omp", "xcsh", "claude". Default: "pi". */
  dialect?: string;
  cwd?: string;
  id?: string;
  dir?: string;
  path?: string;
  name?: string;
  parentSession?: string;
  /** Write the header at once. Default: with the first message. */
  now?: boolean;
  /** Never a file. */
  memory?: boolean;
  /** A session in memory that begins with these entries, with or without a header in front. */
  entries?: object[];
}

export interface JobOptions {
  signal?: AbortSignal;
  onProgress?: (done: number, total: number) => void;
}

export interface ListOptions extends JobOptions {
  /** Only sessions of this directory. Default: all. */
  cwd?: string;
  /** Words, "phrases", or re:PATTERN. */
  query?: string;
  sort?: "modified" | "created" | "size" | "messages" | "name" | "relevance";
  limit?: number;
  named?: boolean;
  /** List each session after the one it was forked from. */
  threads?: boolean;
  /** Include entries, branches and compactions; reads each session. */
  shape?: boolean;
}

export interface ListItem {
  id: string;
  path?: string;
  dialect: string;
  agent: string;
  store: string;
  cwd: string;
  name?: string;
  parentSession?: string;
  created?: string;
  modified?: string;
  messageCount?: number;
  firstMessage: string;
  size: number;
  [name: string]: any;
}

export interface SearchOptions extends JobOptions {
  in?: ("text" | "calls" | "results" | "names")[];
  role?: string;
  cwd?: string;
  agent?: string;
  since?: Date | number | string;
  until?: Date | number | string;
  limit?: number;
  /** false: scan all logs instead; then re:PATTERN works. */
  index?: boolean;
}

export interface Hit {
  sessionId: string;
  path?: string;
  entryId?: string;
  role?: string;
  /** Matches are between ** and **. */
  snippet: string;
  score: number;
  onActivePath: boolean;
  inContext: boolean;
  /** How many other sessions have the same passage, as forks do. */
  copies: number;
  /** Where the words are: in this message, in the session, or only some of them in the session. */
  match: "message" | "session" | "some";
  /** Words that the session does not have. */
  missing?: string[];
  session: { id: string; name?: string; cwd: string; agent: string; modified?: string };
  [name: string]: any;
}

export interface UsageOptions extends JobOptions {
  by?: "day" | "model" | "session" | "project" | "agent";
  /** Days in UTC, "2026-05-03", both inclusive. */
  since?: string;
  until?: string;
  prices?: string;
}

export interface UsageRow {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  totalTokens: number;
  cost: number | null;
  /** The part of the cost that is estimated from list prices. */
  estimated?: number;
  [name: string]: any;
}

export interface Usage {
  totals: UsageRow;
  rows: UsageRow[];
  [name: string]: any;
}

export interface WatchOptions {
  /** The last rev you have seen: events since then come first. Default: from now on. */
  since?: number;
  /** Also which sessions appear, change and disappear. */
  list?: boolean;
  /** The cursor of an event: watch the same sessions, each from where it was. */
  cursor?: string;
  signal?: AbortSignal;
  /** Called for what could not be read; it is tried again, and no event is lost. */
  onError?: (error: GroveError) => void;
}

export interface WatchEvent {
  kind: "append" | "update" | "leaf" | "rename" | "reset" | "delete" | "create" | "change" | "remove";
  rev: number;
  sessionId: string | null;
  entryId: string | null;
  seq: number | null;
  /** The entries concerned: [first, first + nr). */
  first: number;
  nr: number;
  /** Names the session for session(). */
  key: string | null;
  /** Where all sessions of the watch are now; pass it as `cursor` to resume. */
  cursor: string;
}

/** Ends with its last session, by break, by close() or by an abort. */
export interface Watch extends AsyncIterableIterator<WatchEvent> {
  close(): void;
  [Symbol.dispose](): void;
}

export interface RemoveOptions {
  /** false: delete permanently, even if there is a trash. */
  trash?: boolean;
}

/** Sessions of one environment, which is fixed when it is made. */
export class Grove {
  constructor(options?: GroveOptions);
  /** By path, id, the beginning of an id, or "last". */
  session(what: string | URL, options?: OpenOptions): Session;
  create(options?: CreateOptions): Session;
  recent(options?: CreateOptions): Session;
  list(options?: ListOptions): Promise<ListItem[]>;
  search(query: string, options?: SearchOptions): Promise<Hit[]>;
  usage(options?: UsageOptions): Promise<Usage>;
  watch(what?: string | string[] | null, options?: WatchOptions): Watch;
  find(what: string | URL): ListItem;
  remove(what: string | URL, options?: RemoveOptions): void;
  copy(what: string | URL, store: string): { id: string; path?: string };
  initStore(store: string): void;
  /** Releases its stores once the sessions and watches made from it are closed, too. */
  close(): void;
  [Symbol.dispose](): void;
}

/** The sessions of a store by its URL (a directory, "sqlite:FILE", "mysql://…"), or of another environment. */
export function open(where?: string | URL | GroveOptions): Grove;
/** Opens a session by path, id, the beginning of an id, or "last". */
export function session(what: string | URL, options?: OpenOptions & Where): Session;
/** Starts a session; its file is created with the first message. */
export function create(options?: CreateOptions & Where): Session;
/** Opens the newest session of a directory, or starts one. */
export function recent(options?: CreateOptions & Where): Session;
export function list(options?: ListOptions & Where): Promise<ListItem[]>;
export function search(query: string, options?: SearchOptions & Where): Promise<Hit[]>;
export function usage(options?: UsageOptions & Where): Promise<Usage>;
/** Iterates over changes to sessions, by any program. */
export function watch(what?: string | string[] | null, options?: WatchOptions & Where): Watch;
/** Finds one session, in the form that lists have. */
export function find(what: string | URL, options?: Where): ListItem;
export function remove(what: string | URL, options?: RemoveOptions & Where): void;
/** Copies a session to another store, line by line, unchanged. */
export function copy(what: string | URL, store: string, options?: Where): { id: string; path?: string };
/** Creates what a store needs, such as tables; does nothing if it exists. */
export function initStore(store: string, options?: Where): void;
/** The version of the library. */
export const version: string;
