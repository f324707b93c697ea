/// <reference lib="esnext.disposable" />
/**
 * Sessions of coding agents: open, branch, append, list and search them.
 *
 * What agents do all the time is synchronous: a session, its entries, an append. What takes long
 * (all sessions: list, search, usage) answers by a promise and works on another thread.
 */

// ----------------------------------------------------------------------- entries

/** Anything that JSON.stringify takes. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json | undefined };

/** A message as its agent stores it: a role, and whatever belongs to it. */
export interface Message {
  role: string;
  [name: string]: any;
}

/**
 * An entry as it is stored. It is an ordinary object; long values, such as the content of a message,
 * are read from the session when they are first looked at.
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
  | "CANCELLED" | "AMBIGUOUS" | "ACCESS" | "FULL";

export class GroveError extends Error {
  readonly code: ErrorCode | (string & {});
  /** The file it is about, and the place in it. */
  readonly path?: string;
  readonly line?: number;
  readonly offset?: number;
}

// ---------------------------------------------------------------------- sessions

/** none: given to the system. flush: the disk has begun. always: on the disk. */
export type Sync = "none" | "flush" | "always";

export interface AppendOptions {
  /** The id of the entry to go below; null: none. Default: the leaf. */
  parent?: string | null;
  /** Only if the log has so many lines, its header included; else CONFLICT. */
  ifSeq?: number;
  sync?: Sync;
}

export interface LeafOptions {
  /** Other readers land there, too. Default: the move lives in this handle until something is appended. */
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
  /** With the reason why each entry is, or is not, part of it. */
  explain?: boolean;
  /** Claude: go on above a compaction. */
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
  /** Nothing is written while nobody has spoken in it. */
  defer?: boolean;
  /** Claude: the conversation alone, its records with the ids they have. */
  sameIds?: boolean;
  sync?: Sync;
}

/** One open session. Close it when you are done; what you forget is closed by the garbage collector. */
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
  /** The entry that the next one goes below; null: none yet. */
  readonly leaf: string | null;
  /** How many entries there are. */
  readonly length: number;
  /** Entries that this handle holds and no file does yet. */
  readonly pending: number;
  readonly header: Entry | null;

  entry(id: string): Entry | undefined;
  /** By position, as Array.prototype.at. */
  at(index: number): Entry | undefined;
  /** All of them, as they were appended. The array is yours; the entries are the same objects each time. */
  entries(): Entry[];
  [Symbol.iterator](): Iterator<Entry>;
  /** The conversation that ends at an entry; default: at the leaf. */
  branch(id?: string | null): Entry[];
  /** null: the roots. */
  children(id: string | null): Entry[];
  tree(): TreeNode[];
  context(options?: ContextOptions): Context;
  /** All that a user interface loads at once. */
  snapshot(options?: SnapshotOptions): Snapshot;

  /** A message {role, …} or an entry {type, …}; the answer is the entry as it was stored. */
  append(entry: object, options?: AppendOptions): Entry;
  /** Each below the one before it; all of them or none. */
  appendMany(entries: Iterable<object>, options?: AppendOptions): Entry[];
  /**
   * An append that does not wait for the store: the entry has its id and its parent at once, and is written
   * by a thread, in order. The first failure stays: every later call throws it, and so does flush().
   */
  submit(entry: object, options?: Omit<AppendOptions, "ifSeq">): Entry;
  /** Waits until all that was submitted is written, with `sync: "always"` until it is on the disk. */
  flush(options?: { sync?: "none" | "flush" | "always" }): void;

  /** Continue from another entry; null: before the first. What is appended next makes a branch. */
  setLeaf(id: string | null, options?: LeafOptions): { leaf: string | null; summaryId?: string };
  /** As agents do it: from a prompt, its text comes back to be edited, and the leaf is what it answered. */
  continueFrom(id: string, options?: { persist?: boolean; inConversation?: boolean }): {
    outcome: "append" | "switch" | "replay";
    leaf: string | null;
    content?: any;
  };

  /** null clears it. */
  label(id: string, label: string | null): Entry;
  labelOf(id: string): string | undefined;
  /** false: the user chose another name, which stays. */
  rename(name: string, options?: { by?: "user" | "agent" }): boolean;
  fork(options?: ForkOptions): Session;
  /** To the place of another working directory. */
  move(cwd: string): void;

  /** Another value at a JSON pointer, "/message/content". The log is written anew. */
  update(id: string, pointer: string, value: Json): void;
  /** Takes an entry out; the answer is how many entries now hang below its parent. */
  forget(id: string): number;

  getValue(name: string): string | null;
  setValue(name: string, text: string): void;

  /** Takes in what others appended; true if there was something. */
  refresh(): boolean;
  /** Writes a session that was deferred. */
  ensure(): void;
  /** Waits until everything is on the disk. */
  sync(): void;
  close(): void;
  [Symbol.dispose](): void;
}

// ------------------------------------------------------------------------- where

/** Which sessions there are. Default: what the process's environment says. */
export interface GroveOptions {
  /** A URL (sqlite:…, mysql://…) or a directory, or several. */
  store?: string | string[];
  home?: string;
  env?: Record<string, string | undefined>;
  cwd?: string;
  dialect?: string;
  /** A directory for what can be made again; false: none. */
  cache?: string | false;
}

type Where = Pick<GroveOptions, "store" | "home" | "env" | "cache">;

export interface OpenOptions {
  /** Default: "write". */
  mode?: "read" | "write";
  /** CONFLICT instead of going on below what another has written. */
  strict?: boolean;
  /** Rewrite even while another program has the file open. */
  force?: boolean;
  /** An empty file becomes a session. */
  init?: boolean;
  /** Read only: nothing is read before it is asked for. */
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
  /** A session in memory that begins with these, its header first or left out. */
  entries?: object[];
}

export interface JobOptions {
  signal?: AbortSignal;
  onProgress?: (done: number, total: number) => void;
}

export interface ListOptions extends JobOptions {
  /** Sessions of this directory. Default: of all. */
  cwd?: string;
  /** Words, "phrases", or re:PATTERN. */
  query?: string;
  sort?: "modified" | "created" | "size" | "messages" | "name" | "relevance";
  limit?: number;
  named?: boolean;
  /** Each after the one it came from. */
  threads?: boolean;
  /** With what the trees tell; reads each session. */
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
  /** false: look through all logs; re:PATTERN works then. */
  index?: boolean;
}

export interface Hit {
  sessionId: string;
  path?: string;
  entryId?: string;
  role?: string;
  /** What was found stands between ** and **. */
  snippet: string;
  score: number;
  onActivePath: boolean;
  inContext: boolean;
  /** How many other sessions have the same passage, as forks do. */
  copies: number;
  session: { id: string; name?: string; cwd: string; agent: string; modified?: string };
  [name: string]: any;
}

export interface UsageOptions extends JobOptions {
  by?: "day" | "model" | "session" | "project" | "agent";
  /** Days in UTC, "2026-05-03", both included. */
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
  [name: string]: any;
}

export interface Usage {
  totals: UsageRow;
  rows: UsageRow[];
  [name: string]: any;
}

export interface WatchOptions {
  /** The last rev that was seen: what happened since comes first. Default: from now on. */
  since?: number;
  /** Also which sessions appear, change and disappear. */
  list?: boolean;
  /** From an event: the same sessions, each from where it was. */
  cursor?: string;
  signal?: AbortSignal;
  /** Told of what could not be read; it is tried again, and no event is lost. */
  onError?: (error: GroveError) => void;
}

export interface WatchEvent {
  kind: "append" | "update" | "leaf" | "rename" | "reset" | "delete" | "create" | "change" | "remove";
  rev: number;
  sessionId: string | null;
  entryId: string | null;
  seq: number | null;
  /** It is about the entries [first, first + nr). */
  first: number;
  nr: number;
  /** Names the session for session(). */
  key: string | null;
  /** Where all sessions of the watch are now. */
  cursor: string;
}

/** Ends with its last session, with break, close() or an abort. */
export interface Watch extends AsyncIterableIterator<WatchEvent> {
  close(): void;
  [Symbol.dispose](): void;
}

export interface RemoveOptions {
  /** false: delete, whether or not there is a trash. */
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
  /** Lets go of its stores when the sessions and watches that came from it are closed, too. */
  close(): void;
  [Symbol.dispose](): void;
}

/** The sessions of a store by its URL (a directory, "sqlite:FILE", "mysql://…"), or of another environment. */
export function open(where?: string | URL | GroveOptions): Grove;
/** By path, id, the beginning of an id, or "last". */
export function session(what: string | URL, options?: OpenOptions & Where): Session;
/** The file comes with the first message. */
export function create(options?: CreateOptions & Where): Session;
/** The newest session of a directory, or a new one. */
export function recent(options?: CreateOptions & Where): Session;
export function list(options?: ListOptions & Where): Promise<ListItem[]>;
export function search(query: string, options?: SearchOptions & Where): Promise<Hit[]>;
export function usage(options?: UsageOptions & Where): Promise<Usage>;
/** What happens to sessions, whoever does it. */
export function watch(what?: string | string[] | null, options?: WatchOptions & Where): Watch;
/** One session as a list has it. */
export function find(what: string | URL, options?: Where): ListItem;
export function remove(what: string | URL, options?: RemoveOptions & Where): void;
/** Into another store, every line as it is. */
export function copy(what: string | URL, store: string, options?: Where): { id: string; path?: string };
/** Makes what a store needs, such as tables; nothing if it is there. */
export function initStore(store: string, options?: Where): void;
/** Of the library. */
export const version: string;
