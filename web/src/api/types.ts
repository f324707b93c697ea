// The server's shapes (wire.ts) under the names that the viewer uses, with what the viewer adds to them.
import type { Reply } from './http.ts';
import type * as wire from './wire.ts';

export type { ContextRun, DiffSide, Facets, Hit, HitInside, SearchGroup, Subagent, Subagents } from './wire.ts';
export type { Projection, UsageRow, UsageSum, Worker } from './wire.ts';

// `placed`: under which day it stands while the list is held.
export type ListItem = wire.ListItem & { placed?: string | null };
export type ListReply = Reply<'/sessions'>;
export type Me = Reply<'/me'>;
// Who has it open comes with events.
export type SessionRecord = wire.Session & { live?: wire.Live | null };
export type EntriesReply = Reply<'/sessions/{id}/entries'>;
export type SearchReply = Reply<'/search'>;
export type UsageReply = Reply<'/usage'>;
export type DiffReply = Reply<'/sessions/{id}/diff'>;
export type Plan = wire.Routes['POST /sessions/{id}/continue']['reply'];
export type DeletePlan = wire.Routes['DELETE /sessions/{id}']['reply'];

// A page of columns: of a tree, or of an event. `gap` is made here: see model/stretch.ts.
type TreeReply = Reply<'/sessions/{id}/tree'>;
export type TreeWire = Omit<wire.AppendEvent, 'key' | 'leafEntryId' | 'rev' | 'generation'> &
  Partial<Pick<TreeReply, 'session' | 'level' | 'leaf' | 'next' | 'run' | 'text' | 'failed'>> & {
    gap?: Map<number, number>;
  };

// What a context weighs, without the messages; and with how each begins (messages=head).
export type ContextFigures = Omit<Reply<'/sessions/{id}/context'>, 'messages' | 'entryIds'>;
export type ContextReply = ContextFigures & { messages: MessageHead[]; entryIds: (string | null)[] };
export interface MessageHead {
  role: string;
  title?: string;
  head: string;
  bytes: number;
  tokens: number;
}

// A stored entry: each agent's own.
export type Entry = { type: string; id?: string; uuid?: string; timestamp?: string | number; [key: string]: unknown };

// What replaces a long text, or an image, in an entry (view=ui).
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
