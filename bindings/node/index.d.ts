/// <reference lib="esnext.disposable" />
/**
 * Sessions of coding agents: open, branch, append, list and search them.
 *
 * Calls that agents make all the time, such as opening a session, reading its entries or appending, are
 * synchronous. Calls over all sessions (list, search, usage) take longer: they return promises and work on
 * another thread.
 */

// ----------------------------------------------------------------------- entries

/** Anything that JSON.stringify accepts. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json | undefined };

/** A message as its agent stores it: a role, and the members that the agent gives such a message. */
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

export interface SnapshotOptions {
  /** Which entries are included: all (the default), only those of the active path, or none. */
  entries?: "all" | "path" | "none";
  /** The seq of an earlier snapshot. Only entries after it are included. */
  after?: number;
  /** The most entries that are included. Default: no limit. */
  limit?: number;
  /** Texts with more bytes than this become { $ref, bytes }. Default: none do. */
  maxBody?: number;
  /** Include the bytes that are kept in blobs. */
  blobs?: boolean;
  /** Give results of sub-agents their projection in metadata. */
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

/** What the model would be sent. */
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
  /** The file that the error concerns; `line` and `offset` are the place in it. */
  readonly path?: string;
  readonly line?: number;
  readonly offset?: number;
}

// ---------------------------------------------------------------------- sessions

/**
 * What has happened to the entries when a call returns. "none": they are passed to the system. "flush":
 * writing to disk has started. "always": they are on disk.
 */
export type Sync = "none" | "flush" | "always";

export interface AppendOptions {
  /** The id of the parent; null: no parent. Default: the leaf. */
  parent?: string | null;
  /** Append only if the log has this many lines, including its header; otherwise throw CONFLICT. */
  ifSeq?: number;
  sync?: Sync;
}

export interface LeafOptions {
  /** Move the leaf for other readers, too. Default: it moves only in this handle, until something is appended. */
  persist?: boolean;
  /** A summary of the branch that is left, appended at the new place. */
  summary?: string;
  details?: Json;
  usage?: Json;
  fromHook?: boolean;
}

export interface ContextOptions {
  /** The entry at which the context ends; null: an empty context. Default: the session's leaf. */
  leaf?: string | null;
  /** Return plain messages for a model. */
  llm?: boolean;
  /** Add the reason why each entry is or is not part of the context. */
  explain?: boolean;
  /** Claude: continue above a compaction. */
  whole?: boolean;
  /** Claude: leave out what was snipped. */
  snips?: boolean;
  /** Claude: build the context as its command-line program does, or as its SDK does. */
  mode?: "cli" | "sdk";
}

export interface ForkOptions {
  /** Copy only the path to this entry. Default: the whole tree. */
  leaf?: string;
  cwd?: string;
  dir?: string;
  id?: string;
  /** Keep the session in memory; it never has a file. */
  memory?: boolean;
  /** Write nothing before the first message. */
  defer?: boolean;
  /** Claude: copy only the conversation, with the same record ids. */
  sameIds?: boolean;
  sync?: Sync;
}

/** One open session. Close it when you are done; the garbage collector closes those you forget. */
export class Session implements Iterable<Entry> {
  private constructor();

  readonly id: string;
  /** The file of the session; null in memory and in databases. */
  readonly path: string | null;
  readonly dir: string | null;
  readonly cwd: string | null;
  readonly dialect: "pi" | "omp" | "xcsh" | "claude" | (string & {});
  readonly agent: string;
  readonly version: number;
  readonly name: string | null;
  /** The id of the entry below which the next append goes; null if there is none. */
  readonly leaf: string | null;
  /** The number of entries. */
  readonly length: number;
  /** The number of entries that are in this handle but not yet in the log. */
  readonly pending: number;
  readonly header: Entry | null;

  entry(id: string): Entry | undefined;
  /** The entry at a position, like Array.prototype.at. */
  at(index: number): Entry | undefined;
  /** All entries, in the order in which they were appended. The array is new each time; the entries are the same objects. */
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
   * Appends without waiting for the store: the entry gets its id and its parent at once, and a thread writes
   * the entries in order. After the first failure, every later call throws that error, including flush().
   */
  submit(entry: object, options?: Omit<AppendOptions, "ifSeq">): Entry;
  /** Waits until all submitted entries are written; with `sync: "always"`, until they are on disk. */
  flush(options?: { sync?: "none" | "flush" | "always" }): void;

  /** Continues from another entry; null: from before the first one. The next append starts a branch. */
  setLeaf(id: string | null, options?: LeafOptions): { leaf: string | null; summaryId?: string };
  /**
   * Continues from another entry as agents do: if it is a prompt, the leaf becomes its parent, and `content` is
   * the prompt, for the user to edit.
   */
  continueFrom(id: string, options?: { persist?: boolean; inConversation?: boolean }): {
    outcome: "append" | "switch" | "replay";
    leaf: string | null;
    content?: any;
  };

  /** Sets the label of an entry; null clears it. */
  label(id: string, label: string | null): Entry;
  labelOf(id: string): string | undefined;
  /** Names the session. Returns false if the user has chosen another name, which is kept. */
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

  /** Reads what other programs have written. Returns true if there was something. */
  refresh(): boolean;
  /** Writes a session that has not been written yet because it waits for its first message. */
  ensure(): void;
  /** Waits until everything is on disk. */
  sync(): void;
  close(): void;
  [Symbol.dispose](): void;
}

// ------------------------------------------------------------------------- where

/** Where sessions are. By default, the environment of the process decides. */
export interface GroveOptions {
  /** A URL (sqlite:…, mysql://…) or a directory, or several. */
  store?: string | string[];
  home?: string;
  env?: Record<string, string | undefined>;
  cwd?: string;
  dialect?: string;
  /** The directory for caches; false: use no caches. */
  cache?: string | false;
}

type Where = Pick<GroveOptions, "store" | "home" | "env" | "cache">;

export interface OpenOptions {
  /** Default: "write". */
  mode?: "read" | "write";
  /** Throw CONFLICT instead of appending below what another program has written. */
  strict?: boolean;
  /** Allow rewriting the file even while another program has it open. */
  force?: boolean;
  /** Make a session of an empty file. */
  init?: boolean;
  /** Open for reading only, and read nothing before it is needed. */
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
  /** Keep the session in memory; it never has a file. */
  memory?: boolean;
  /** Make a session in memory that begins with these entries, which may have a header in front. */
  entries?: object[];
}

export interface JobOptions {
  signal?: AbortSignal;
  onProgress?: (done: number, total: number) => void;
}

export interface ListOptions extends JobOptions {
  /** List only sessions of this directory. Default: all sessions. */
  cwd?: string;
  /** List only sessions that match: words, "phrases", or re:PATTERN. */
  query?: string;
  sort?: "modified" | "created" | "size" | "messages" | "name" | "relevance";
  limit?: number;
  named?: boolean;
  /** List each session after the one it was forked from. */
  threads?: boolean;
  /** Include the numbers of entries, branches and compactions, for which each session is read. */
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
  /** false: scan all logs instead of using the index. The query may then be re:PATTERN. */
  index?: boolean;
}

export interface Hit {
  sessionId: string;
  path?: string;
  entryId?: string;
  role?: string;
  /** A passage of the text, in which matches are between ** and **. */
  snippet: string;
  score: number;
  onActivePath: boolean;
  inContext: boolean;
  /** How many other sessions have the same passage, such as forks. */
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
  /** The first day, in UTC, such as "2026-05-03". `until` is the last day; both are included. */
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
  /** The last rev you have seen: events since then come first. Default: only events from now on. */
  since?: number;
  /** Also report which sessions appear, change and disappear. */
  list?: boolean;
  /** The cursor of an event: watch the same sessions again, each from where it was at that event. */
  cursor?: string;
  signal?: AbortSignal;
  /** Called if something cannot be read. The watch tries again, and no event is lost. */
  onError?: (error: GroveError) => void;
}

export interface WatchEvent {
  kind: "append" | "update" | "leaf" | "rename" | "reset" | "delete" | "create" | "change" | "remove";
  rev: number;
  sessionId: string | null;
  entryId: string | null;
  seq: number | null;
  /** The positions of the entries that the event concerns: [first, first + nr). */
  first: number;
  nr: number;
  /** A name of the session that session() accepts. */
  key: string | null;
  /** The state of all sessions of the watch at this event; pass it as `cursor` to resume there. */
  cursor: string;
}

/** The iteration ends when no session is left to watch, and by break, close() or an abort. */
export interface Watch extends AsyncIterableIterator<WatchEvent> {
  close(): void;
  [Symbol.dispose](): void;
}

export interface RemoveOptions {
  /** false: delete permanently, even if there is a trash. */
  trash?: boolean;
}

/** The sessions of one environment, which does not change after the object was made. */
export class Grove {
  constructor(options?: GroveOptions);
  /** Opens a session by path, id, the beginning of an id, or "last". */
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
  /** Closes the object. Its stores are released once the sessions and watches made from it are closed, too. */
  close(): void;
  [Symbol.dispose](): void;
}

/** Opens the sessions of a store by its URL (a directory, "sqlite:FILE", "mysql://…"), or of another environment. */
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
/** Creates what a store needs, such as tables; does nothing if that exists. */
export function initStore(store: string, options?: Where): void;
/** The version of the library. */
export const version: string;
