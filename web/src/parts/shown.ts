// What the rows of a conversation need of the session they show. The viewer gives one that is connected to a
// server; a page that is one file gives one that holds everything.
import type { ContextFigures, Entry, SessionRecord, Subagents } from '../api/types.ts';
import type { LeafState } from '../model/leaf.ts';
import type { Skeleton } from '../model/skeleton.ts';
import type { Source } from './source.ts';

type Value<T> = { readonly value: T };

export interface Shown extends Source {
  readonly key: string;
  readonly sub: string | null;
  readonly skeleton: Skeleton;
  readonly sessionMeta: Value<SessionRecord | null>;
  readonly subagents: Value<Subagents>;
  readonly viewPath: Value<number[]>;
  readonly viewLeaf: Value<number>;
  readonly isPreview: Value<boolean>;
  readonly context: Value<ContextFigures | null>;
  readonly leafState: Value<LeafState>;
  readonly edits: Value<ReadonlyMap<number, string | null>>;
  readonly acting: boolean;
  readonly mayWrite: boolean;
  body(i: number): Entry | undefined;
  words(i: number): string;
  keptFrom(seam: number): number;
  contextAfter(i: number): number | null;
  address(entryId: string): string;
  copy(text: string, what: string): void;
  continueFrom(entryId: string): Promise<void>;
  finishDraft(): void;
  append(prompt: string): Promise<void>;
}
