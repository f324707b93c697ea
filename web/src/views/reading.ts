// Going about in a session: what is selected, opened and followed, and the keys for it. Where the place is
// kept (in an address, or nowhere) is the page's own matter.
import { useState } from 'preact/hooks';
import { useSignal, type Signal } from '@preact/signals';
import { promptRow } from '../model/rows.ts';
import type { Keys } from '../state/keys.ts';
import type { Look } from '../state/look.ts';
import type { Jump } from './conversation.tsx';

export interface Reading {
  folds: ReadonlySet<string>; // what was opened
  toggle: (name: string) => void;
  jump: Jump | null;
  setJump: (j: Jump | null) => void;
  jumpTo: (id: string) => void;
  follow: Signal<boolean>;
  window: Signal<{ from: number; to: number } | null>; // read by the tree alone: it changes with every row that passes
  select: (id: string, o?: { scroll?: boolean }) => void;
  goTo: (id: string) => void;
  view: (id: string) => void; // looks at another branch; an empty id goes back to the leaf
  choose: (i: number) => void; // in the tree
  chosen: () => number | null;
  keys: Keys;
}

export interface ReadingOptions {
  follow: boolean;
  // The place changed: the mark moved along the path, it jumped on the path, or another branch is to be looked at.
  // The page shows that branch, and selects the entry.
  placed: (entry: string | null, how: 'moved' | 'jumped' | 'viewed') => void;
  // The entry of the address, which the page may not show yet.
  address?: () => string | null;
  say: (text: string) => void;
}

const TOOLS_MAX = 12;

export function useReading(session: Look, o: ReadingOptions): Reading {
  const [folds, setFolds] = useState<ReadonlySet<string>>(new Set());
  const [jump, setJump] = useState<Jump | null>(null);
  const window = useSignal<{ from: number; to: number } | null>(null);
  const follow = useSignal(o.follow);
  const jumpTo = (entry: string, align: 'start' | 'auto'): void => {
    follow.value = false;
    setJump({ entry, align, n: Date.now() });
  };

  const select = (id: string, how: { scroll?: boolean } = {}): void => {
    if (id === session.selectedEntryId.value && !how.scroll) return;
    session.selectedEntryId.value = id;
    o.placed(id, 'moved');
    if (how.scroll) jumpTo(id, 'auto');
  };
  const view = (id: string): void => {
    if (!id) {
      session.selectedEntryId.value = null;
      follow.value = true;
      o.placed(null, 'viewed');
    } else if (session.skeleton.index.has(id)) {
      session.selectedEntryId.value = null; // until the page shows it
      o.placed(id, 'viewed');
    }
  };
  const goTo = (id: string): void => {
    const i = session.skeleton.index.get(id);
    if (i === undefined) return;
    if (!session.visibleEntries.value.rowOf.has(i)) {
      view(id);
      return;
    }
    session.selectedEntryId.value = id;
    o.placed(id, 'jumped');
    jumpTo(id, 'start');
  };
  const toggle = (name: string): void =>
    setFolds((was) => {
      const next = new Set(was);
      if (!next.delete(name)) next.add(name);
      return next;
    });

  const rows = session.visibleEntries.value.rows;
  // Where one is: keys that follow each other quickly come before the page has caught up.
  const here = (): string | null => session.selectedEntryId.value ?? o.address?.() ?? null;
  const rowAt = (): number => {
    const i = session.skeleton.index.get(here() ?? '');
    return i === undefined ? rows.length - 1 : (session.visibleEntries.value.rowOf.get(i) ?? rows.length - 1);
  };
  const moveTo = (k: number): void => {
    const row = rows[k];
    if (!row) return;
    if (row.entries[0] === undefined) {
      follow.value = true;
      setJump(null);
      return;
    }
    select(session.skeleton.id[row.entries[0]]!, { scroll: true });
    requestAnimationFrame(() =>
      document.querySelector<HTMLElement>(`article[data-row="${k}"]`)?.focus({ preventScroll: true }),
    );
  };
  // The line that counts what is not shown is no entry.
  const toRow = (d: 1 | -1): void => {
    let k = rowAt() + d;
    while (rows[k]?.kind === 'hidden') k += d;
    moveTo(Math.min(rows.length - 1, Math.max(0, k)));
  };
  const toPrompt = (d: 1 | -1): void => {
    const k = promptRow(rows, rowAt(), d);
    if (k >= 0) moveTo(k);
  };
  const chosen = (): number | null =>
    session.skeleton.index.get(here() ?? session.sessionMeta.value?.leafEntryId ?? '') ?? null;
  const toFork = (d: 1 | -1): void => {
    const s = session.skeleton;
    for (let at = chosen() ?? -1; at >= 0; at = s.parent[at]!) {
      const all = s.attempts(at);
      if (all.length > 1) {
        view(s.id[all[(all.indexOf(at) + d + all.length) % all.length]!]!);
        return;
      }
    }
    o.say('There is no other branch on this path.');
  };
  const toBeginning = (): void => {
    const s = session.skeleton;
    let at = chosen();
    if (at === null) return;
    while (s.parent[at]! >= 0 && s.attempts(at).length < 2) at = s.parent[at]!;
    select(s.id[at]!, { scroll: true });
  };
  const toHit = (d: 1 | -1): void => {
    const h = session.hits.value?.hits;
    if (!h?.length) {
      o.say('Nothing is searched for. / searches.');
      return;
    }
    const at = h.findIndex((x) => x.entryId === here());
    view(h[at < 0 && d < 0 ? h.length - 1 : (at + d + h.length) % h.length]!.entryId);
  };
  const toEnd = (): void => {
    setJump(null);
    follow.value = true;
    session.arrived.value = 0;
    session.bodyCount.value++;
  };
  const fold = (): void => {
    const row = rows[rowAt()];
    if (row) for (const part of ['t0', 'h0', 's0', 'sum', 'raw']) toggle(`${row.key}/${part}`);
  };
  const foldTools = (): void =>
    setFolds(
      folds.size
        ? new Set()
        : new Set(
            rows
              .filter((x) => x.kind === 'reply' || x.kind === 'lone')
              .flatMap((x) => Array.from({ length: TOOLS_MAX }, (_, k) => `${x.key}/t${k}`)),
          ),
    );
  const keys: Keys = {
    j: () => toRow(1),
    k: () => toRow(-1),
    J: () => toPrompt(1),
    K: () => toPrompt(-1),
    h: () => toFork(-1),
    l: () => toFork(1),
    u: toBeginning,
    f: toEnd,
    End: toEnd,
    o: fold,
    O: foldTools,
    n: () => toHit(1),
    N: () => toHit(-1),
    1: () => {
      session.chosen('prompts', session.show.value);
    },
    2: () => {
      session.chosen('turns', session.show.value);
    },
    3: () => {
      session.chosen('all', session.show.value);
    },
  };
  return {
    folds,
    toggle,
    jump,
    setJump,
    jumpTo: (id) => jumpTo(id, 'start'),
    follow,
    window,
    select,
    goTo,
    view,
    choose: (i) => goTo(session.skeleton.id[i]!),
    chosen,
    keys,
  };
}
