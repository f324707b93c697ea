// A session that stands whole in the page: nothing is asked for, nothing is changed.
import type { ContextReply, Entry, SessionRecord, Subagents, TreeWire } from '../api/types.ts';
import { firstWords } from '../model/body.ts';
import { idle } from '../model/leaf.ts';
import { Skeleton } from '../model/skeleton.ts';
import type { Shown } from '../parts/shown.ts';

// What the page is given: the shape, every entry by its place in it, and the workers' projections.
export interface Given { session: SessionRecord; tree: TreeWire; entries: Entry[]; subagents?: Subagents }

const none: Subagents = { projectionByEntryId: {}, processEventsByEntryId: {}, evidenceSummariesByEntryId: {}, toolRuntimeRoutesByEntryId: {}, subagentRuntimeByBatchId: {}, toolRuntimeRoutesByBatchId: {} };

export class Held implements Shown {
  readonly key: string;
  readonly sub = null;
  readonly skeleton: Skeleton;
  readonly sessionMeta: { value: SessionRecord };
  readonly subagents: { value: Subagents };
  readonly viewPath: { value: number[] };
  readonly viewLeaf: { value: number };
  readonly isPreview: { value: boolean };
  readonly context: { value: ContextReply | null } = { value: null };
  readonly leafState = { value: idle };
  readonly acting = false;
  readonly mayWrite = false;

  constructor(private readonly given: Given, leaf?: string) {
    const s = Skeleton.from(given.tree);
    const at = leaf === undefined ? s.leaf : s.index.get(leaf) ?? s.leaf;
    this.key = given.session.id;
    this.skeleton = s;
    this.sessionMeta = { value: given.session };
    this.subagents = { value: given.subagents ?? none };
    this.viewLeaf = { value: at };
    this.viewPath = { value: s.path(at) };
    this.isPreview = { value: at !== s.leaf };
  }

  body(i: number): Entry | undefined { return this.given.entries[i]; }
  words(i: number): string { const e = this.body(i); return this.skeleton.text.get(i) ?? (e ? firstWords(e) : ''); }
  address(entryId: string): string { return `#${entryId}`; }
  copy(): void { /* What is on the page can be selected. */ }
  more(): Promise<never> { return Promise.reject(new Error('everything is here')); }
  media(): null { return null; }
  continueFrom(): Promise<void> { return Promise.resolve(); }
  finishDraft(): void { /* There is no draft. */ }
}
