// Moving the leaf: idle → asking → pending → switching → idle. The move is never shown before the server
// said yes. 409 leads back to pending with a fresh plan; no answer leads to unknown, where the session is
// read again to see what is true. Pure: the caller does what `effect` says and feeds back what came of it.
import type { Plan } from '../api/types.ts';

export interface Written {
  id: string;
  author: string;
  text: string;
}

export interface PendingLeafConfirmation {
  entryId: string;
  outcome: Plan['outcome'];
  leafAfter: string | null;
  leavesBehind: number;
  contextTokens: number | null;
  model: string | null;
  text: string | null;
  expectedRev: number;
  openBy: Plan['openBy'];
}

export interface Conflict {
  entries: Written[];
  live: boolean;
}

export type LeafState =
  | { at: 'idle'; draft: string | null; moved: string | null | undefined }
  | { at: 'asking'; entryId: string }
  | { at: 'pending'; pendingLeafConfirmation: PendingLeafConfirmation; conflict: Conflict | null }
  | { at: 'switching'; switchingLeafEntryId: string; pendingLeafConfirmation: PendingLeafConfirmation }
  | { at: 'unknown'; pendingLeafConfirmation: PendingLeafConfirmation }
  | { at: 'refused'; entryId: string; message: string };

export type LeafEvent =
  | { on: 'continue'; entryId: string }
  | { on: 'plan'; plan: Plan }
  | { on: 'confirm' }
  | { on: 'cancel' }
  | { on: 'moved'; leaf: string | null }
  | { on: 'conflict'; entries: Written[]; live: boolean; plan: Plan }
  | { on: 'silence' }
  | { on: 'found'; leaf: string | null; plan: Plan | null }
  | { on: 'refusal'; message: string };

export const idle: LeafState = { at: 'idle', draft: null, moved: undefined };

export function textOf(content: unknown): string | null {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return null;
  const texts = content.filter((b) => b?.type === 'text' && typeof b.text === 'string').map((b) => b.text as string);
  return texts.length ? texts.join('\n') : null;
}

export function pendingFrom(entryId: string, plan: Plan): PendingLeafConfirmation {
  return {
    entryId,
    outcome: plan.outcome,
    leafAfter: plan.leafAfter ?? null,
    leavesBehind: plan.leavesBehind ?? 0,
    contextTokens: plan.contextTokens ?? null,
    model: plan.model ?? null,
    text: textOf(plan.content),
    expectedRev: plan.rev,
    openBy: plan.openBy ?? null,
  };
}

export function step(s: LeafState, e: LeafEvent): LeafState {
  switch (e.on) {
    case 'continue':
      return s.at === 'idle' || s.at === 'refused' ? { at: 'asking', entryId: e.entryId } : s;
    case 'plan':
      if (s.at !== 'asking') return s;
      // At the leaf nothing has to move: the leaf card is focused, no dialog.
      return e.plan.outcome === 'append'
        ? { at: 'idle', draft: null, moved: e.plan.leafAfter }
        : { at: 'pending', pendingLeafConfirmation: pendingFrom(s.entryId, e.plan), conflict: null };
    case 'confirm':
      return s.at === 'pending'
        ? {
            at: 'switching',
            switchingLeafEntryId: s.pendingLeafConfirmation.entryId,
            pendingLeafConfirmation: s.pendingLeafConfirmation,
          }
        : s;
    case 'cancel':
      return s.at === 'switching' ? s : idle;
    case 'moved':
      return s.at === 'switching' || s.at === 'unknown' ? done(s.pendingLeafConfirmation, e.leaf) : s;
    case 'conflict':
      return s.at === 'switching' || s.at === 'unknown'
        ? {
            at: 'pending',
            pendingLeafConfirmation: pendingFrom(s.pendingLeafConfirmation.entryId, e.plan),
            conflict: { entries: e.entries, live: e.live },
          }
        : s;
    case 'silence':
      return s.at === 'switching' ? { at: 'unknown', pendingLeafConfirmation: s.pendingLeafConfirmation } : s;
    case 'found':
      if (s.at !== 'unknown') return s;
      if (e.leaf === s.pendingLeafConfirmation.leafAfter) return done(s.pendingLeafConfirmation, e.leaf);
      return {
        at: 'pending',
        pendingLeafConfirmation: e.plan
          ? pendingFrom(s.pendingLeafConfirmation.entryId, e.plan)
          : s.pendingLeafConfirmation,
        conflict: null,
      };
    case 'refusal':
      return s.at === 'asking'
        ? { at: 'refused', entryId: s.entryId, message: e.message }
        : s.at === 'switching'
          ? { at: 'refused', entryId: s.switchingLeafEntryId, message: e.message }
          : s;
  }
}

function done(p: PendingLeafConfirmation, leaf: string | null): LeafState {
  return { at: 'idle', draft: p.outcome === 'replay' ? p.text : null, moved: leaf };
}

export const busy = (s: LeafState): boolean => s.at === 'switching' || s.at === 'unknown' || s.at === 'asking';
