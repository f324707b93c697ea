// What the server answers, as far as the viewer reads it.

export interface ListItem {
  id: string;
  key: string;
  path?: string;
  agent: string;
  agentId: string | null;
  dialect: string;
  store: string;
  cwd: string;
  name?: string | null;
  created: string;
  modified: string;
  messageCount?: number;
  firstMessage?: string;
  parentSession?: string | null;
  size?: number;
  entries?: number;
  branches?: number;
  cost?: number | null;
  estimated?: number; // the part of the cost that comes from list prices
  tokens?: number;
  labels?: string[];
  writable?: boolean;
  live?: { agent: string; since: string } | null;
  expires?: string;
  damaged?: { malformed: number; torn: boolean };
  placed?: string; // made here, never sent: under which day it stands while the list is held
}

export interface Facets {
  project?: Record<string, number>;
  agent?: Record<string, number>;
  store?: Record<string, number>;
  view?: Record<string, number>;
}

export interface ListReply {
  sessions: ListItem[];
  next: string | null;
  total: number;
  rev?: number;
  facets?: Facets;
  away?: string[];
}

export interface Me {
  version: string;
  scopes: string[];
  stores: { store: string; provider: string; writable: boolean }[];
  agents: { agent: string; resume?: string }[];
  limits: { page: number; text: number; ids: number };
}

export interface SessionRecord {
  id: string;
  provider: string;
  store: string;
  dialect: string;
  agent: string;
  agentId: string | null;
  cwd: string | null;
  name: string | null;
  rootEntryId: string | null;
  leafEntryId: string | null;
  parentSession: string | null;
  createdAt: string | null;
  updatedAt: string | null;
  entryCount: number;
  seq: number;
  rev: number;
  generation: number;
  key?: string;
  writable?: boolean;
  live?: { agent: string; since: string } | null;
  damaged?: { malformed: number; torn: boolean };
  expires?: string;
  cost?: number | null;
}

export interface TreeWire {
  session?: SessionRecord;
  level: 'turns' | 'all';
  n: number;
  seq: number[];
  id: string[];
  parent: number[];
  parentId?: Record<string, string>;
  kind: string;
  role: string;
  flags: number[];
  bytes: number[];
  time: number[];
  labels?: Record<string, string>;
  leaf?: number;
  next?: number | null;
  run?: number[];
  gap?: Map<number, number>; // made here, never sent: see model/stretch.ts
  failed?: number[];
  text?: (string | null)[];
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Entry = { type: string; id?: string; uuid?: string; timestamp?: string | number; [key: string]: any };

export interface EntriesReply {
  rev: number;
  generation: number;
  entries: { seq: number; entry: Entry }[];
  more?: [number, number][];
}

export interface Ref {
  $ref: string;
  pointer: string;
  bytes: number;
}
export interface Media {
  $media: number;
  type: string;
  bytes: number;
  width?: number;
  height?: number;
}

export interface Worker {
  taskId: string;
  agent: string;
  status: string;
  summary?: string;
  prompt?: string;
  events: any[];
  evidence: any[];
  toolRoutes: any[];
  durationMs?: number;
  tokens?: number;
}
export interface Projection {
  batchId: string;
  status: string;
  workers: Worker[];
  diagnostics: { selectedSource: string; inputSources: string[]; fallbackUsed: boolean };
}
export interface Subagents {
  projectionByEntryId: Record<string, Projection>;
  processEventsByEntryId: Record<string, any>;
  evidenceSummariesByEntryId: Record<string, any>;
  toolRuntimeRoutesByEntryId: Record<string, any>;
  subagentRuntimeByBatchId: Record<string, any>;
  toolRuntimeRoutesByBatchId: Record<string, any>;
}
export interface Snapshot {
  session: SessionRecord;
  labelsByEntryId?: Record<string, string>;
  subagents?: Subagents;
}

// messages=head: who said it, how it begins, what it weighs.
export interface MessageHead {
  role: string;
  title?: string;
  head: string;
  bytes: number;
  tokens: number;
}
export interface ContextReply {
  messages: MessageHead[];
  entryIds: (string | null)[];
  thinkingLevel?: string;
  model?: { provider?: string; modelId?: string } | null;
  leaf: string | null;
  parts?: { part: string; tokens: number; bytes: number; count: number }[];
  window?: { used: number; limit: number | null; source: 'usage' | 'estimate' };
  explain?: { from: number; to: number; included: boolean; reason: string; count: number }[];
  leafReason?: { rule: string; entryId: string | null };
}

// What a context weighs, without the messages.
export type ContextFigures = Omit<ContextReply, 'messages' | 'entryIds'>;

export interface Plan {
  outcome: 'append' | 'replay' | 'switch';
  leafAfter: string | null;
  leavesBehind: number;
  content?: any;
  contextTokens?: number;
  model?: string;
  rev: number;
  openBy?: { agent: string; pid: number } | null;
}

export interface Hit {
  entryId: string;
  seq?: number;
  role: string;
  snippet: string;
  marks?: [number, number][];
  onActivePath: boolean;
  inContext: boolean;
}
export interface SearchReply {
  groups: { session: ListItem; hits: Hit[]; more: number }[];
  total: number;
  tookMs?: number;
  index?: { state: string; behind: number };
  suggest?: string;
  next?: string | null;
  away?: string[];
}

export interface UsageRow {
  key: string;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  totalTokens: number;
  cost: number | null;
  estimated?: number;
  stack?: Record<string, UsageRow>;
}
export interface UsageReply {
  totals: UsageRow;
  rows: UsageRow[];
  copies?: number;
  replies?: number;
  unpriced?: { model: string; totalTokens: number }[];
  away?: string[];
}

export interface DiffSide {
  leaf: string;
  entries: number;
  seq: [number, number][];
  cost?: number | null;
  estimated?: number;
  tokens?: number;
  files: { path: string; added: number; removed: number; edits: number }[];
}
export interface DiffReply {
  fork: string | null;
  common: number;
  a: DiffSide;
  b: DiffSide;
}
export interface AgentLog {
  agentId: string;
  name?: string;
  entries: number;
  status?: string;
}
